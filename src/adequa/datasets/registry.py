"""The named datasets of human judgements, which `registry.toml` lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from adequa.errors import AdequaError, nearest
from adequa.io.text import read_toml

DatasetKind: TypeAlias = Literal["ratings", "preferences", "similarity", "systems"]
Fifth: TypeAlias = Literal["", "only", "without"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset: human judgements of a campaign, or of a similarity task."""

    name: str
    kind: DatasetKind
    summary: str
    rows: int  # judgements; rated systems where whole systems are rated
    pairs: tuple[str, ...]
    origin: str  # the page that describes it
    mirror_file: str
    sha256: str
    archives: tuple[str, ...] = ()  # official addresses; empty where there is none to read from
    licence: str = ""  # where one is stated, which is rare
    # Who gave a rating: "panel" for the mean of about 15 raters, "one" for one rater or a few.
    raters: Literal["", "panel", "one"] = ""
    # "post-edit" where the corrected output serves as the reference, which is then near to it.
    reference: Literal["", "post-edit"] = ""
    part_of: str = ""  # the dataset whose files hold it, where it is a part of one
    year: str = ""  # of a part: only the rows of this year
    fifth: Fifth = ""  # of a part: only the fifth of references for development, or the others


def _registered() -> dict[str, Dataset]:
    """All datasets, by name; TOML has lists where they have tuples.

    What is not said of a part is as in the whole.
    """
    datasets: dict[str, Dataset] = {}
    for name, entry in read_toml(Path(__file__).with_name("registry.toml")).items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        whole = datasets.get(fields.get("part_of", ""))
        datasets[name] = replace(whole, name=name, **fields) if whole else Dataset(name, **fields)
    return datasets


DATASETS: Mapping[str, Dataset] = _registered()


def dataset(name: str) -> Dataset:
    """The dataset of a name, or a sentence on what there is.

    >>> dataset("wmt17-da").rows
    3920
    """
    if name not in DATASETS:
        raise AdequaError(
            f'There is no dataset "{name}".{nearest(name, DATASETS)} '
            "`adequa datasets` lists them all."
        )
    return DATASETS[name]
