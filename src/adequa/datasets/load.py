"""Judgements by the name of a dataset or by the path of a file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath

from adequa.datasets.archives import CONVERTERS, members, text_lines
from adequa.datasets.download import locate, not_at_hand, verify
from adequa.datasets.registry import DATASETS, Dataset, dataset
from adequa.errors import AdequaError
from adequa.io.judgements import judgements_of, read_judgements
from adequa.io.rankings import outputs_by_pair, segments_of
from adequa.io.text import STDIN, Advance, FilePath
from adequa.judgements import Judgements, RatedSystems, Ratings

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


_HUMAN = "human.tsv"


def read_rated_systems(archive: Path) -> RatedSystems:
    """Human scores of systems and the outputs of those systems, from one archive."""
    texts = {
        name: text_lines(f"{archive}: {name}", content)
        for name, content in members(archive, _is_wanted)
    }
    human = [name for name in texts if PurePosixPath(name).name == _HUMAN]
    if not human:
        raise AdequaError(f"{archive} has no {_HUMAN} with the human scores of the systems.")
    ratings = _ratings(f"{archive}: {human[0]}", texts[human[0]])
    outputs = outputs_by_pair(
        (name, lines) for name, lines in texts.items() if name.endswith(".txt")
    )
    rated = zip(ratings.ids["lp"], ratings.ids["system"], strict=True)
    return RatedSystems(ratings, segments_of(outputs, rated))


def _is_wanted(name: str) -> bool:
    return name.endswith(".txt") or PurePosixPath(name).name == _HUMAN


def _ratings(place: str, lines: list[str]) -> Ratings:
    header, *rows = (line.split("\t") for line in lines or [""])
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise AdequaError(
                f"{place}, line {number} has {len(row)} cells, but the header names {len(header)}."
            )
    if not {"lp", "system", "score"} <= set(header):
        raise AdequaError(f"{place} needs the columns lp, system and score.")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(header)}
    ratings = judgements_of(place, columns)
    if not isinstance(ratings, Ratings):
        raise AdequaError(f"{place} holds preferences, where the scores of systems should be.")
    return ratings
