"""The named datasets of human judgements, which `registry.toml` lists."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from adequa.errors import AdequaError, nearest
from adequa.io.text import read_toml

DatasetKind: TypeAlias = Literal["ratings", "preferences", "similarity", "systems"]


@dataclass(frozen=True, slots=True)
class Split:
    """The rows of a part, chosen by a hash of their reference or source.

    A text is for development if its hash is a multiple of the modulus. This depends on the text
    alone: splits of one modulus agree on it in every dataset.

    >>> Split("reference", 5, "development").is_development("Hello.")
    True
    """

    text: Literal["reference", "source"]
    modulus: int
    rows: Literal["development", "training"]

    def is_development(self, text: str) -> bool:
        """Whether the sha256 of a text, as a number, is a multiple of the modulus."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return int(digest, 16) % self.modulus == 0

    def contains(self, references: Iterable[str], source: str) -> bool:
        """Whether a row with these texts is in the part."""
        texts = references if self.text == "reference" else [source]
        return any(map(self.is_development, texts)) == (self.rows == "development")


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset: human judgements of a campaign, or of a similarity task."""

    name: str
    kind: DatasetKind
    summary: str
    rows: int  # judgements; rated systems where whole systems are rated
    pairs: tuple[str, ...]
    mirror_file: str
    sha256: str
    origin: str = ""  # the page that describes it, where one is stated
    archives: tuple[str, ...] = ()  # official addresses; empty where there is none to read from
    licence: str = ""  # where one is stated, which is rare
    # Who gave a rating: "panel" for the mean of about 15 raters, "one" for one rater or a few.
    raters: Literal["", "panel", "one"] = ""
    # "post-edit" where the corrected output serves as the reference, which is then near to it;
    # "none" where there are sources alone.
    reference: Literal["", "post-edit", "none"] = ""
    part_of: str = ""  # the dataset whose files hold it, where it is a part of one
    year: str = ""  # of a part: only the rows of this year
    split: Split | None = None  # of a part: only its rows for development, or only the others


def _registered() -> dict[str, Dataset]:
    """All datasets, by name; TOML has lists where they have tuples.

    What is not said of a part is as in the whole.
    """
    datasets: dict[str, Dataset] = {}
    for name, entry in read_toml(Path(__file__).with_name("registry.toml")).items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        if "split" in fields:
            fields["split"] = Split(**fields["split"])
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
