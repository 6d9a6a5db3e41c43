"""Judgements by the name of a dataset or by the path of a file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from adequa.datasets.archives import CONVERTERS
from adequa.datasets.cache import locate, not_at_hand, verify
from adequa.datasets.rated_systems import read_rated_systems
from adequa.datasets.registry import DATASETS, Dataset, dataset
from adequa.io.judgements import read_judgements
from adequa.io.text import STDIN, Advance, FilePath
from adequa.judgements import Judgements, RatedSystems

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".zip")


def load_dataset(name_or_path: FilePath, *, advance: Advance | None = None) -> Judgements:
    """The judgements of a named dataset, or of a user's own file.

    Ratings and preferences come from tables and WMT rankings, rated systems from an archive.
    """
    given = os.fspath(name_or_path)
    found = _loaded(given, advance)
    if isinstance(found, RatedSystems):
        return replace(found, ratings=replace(found.ratings, name=Path(given).name))
    return replace(found, name=Path(given).name)


def _loaded(given: str, advance: Advance | None) -> Judgements:
    if given in DATASETS:
        return _named(DATASETS[given], advance)
    if not (given == STDIN or Path(given).exists() or os.sep in given or Path(given).suffix):
        dataset(given)  # raises: it is neither a name nor anything like a file
    if given.lower().endswith(_ARCHIVES):
        return read_rated_systems(Path(given))
    return read_judgements(given, advance=advance)


def _named(entry: Dataset, advance: Advance | None) -> Judgements:
    found = locate(entry.name)
    if found is None:
        raise not_at_hand(entry)
    verify(entry, found)
    if found.official:
        return CONVERTERS[entry.name](entry, found.paths)
    if entry.kind == "systems":
        return read_rated_systems(found.paths[0])
    return read_judgements(found.paths[0], advance=advance)
