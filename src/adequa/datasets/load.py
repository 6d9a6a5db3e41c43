"""Judgements by the name of a dataset or by the path of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adequa.datasets.archives import CONVERTERS, members, text_lines
from adequa.datasets.download import locate, not_at_hand, verify
from adequa.datasets.registry import DATASETS, Dataset, dataset
from adequa.errors import AdequaError
from adequa.io.columns import Quoting
from adequa.io.delimited import delimited_table
from adequa.io.judgements import judgements_of, read_judgements, whole_columns
from adequa.io.quoting import DelimitedRows
from adequa.io.rankings import outputs_by_pair, segments_of
from adequa.io.read import open_table
from adequa.io.text import STDIN, Advance, ignore
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, all_rows
from adequa.languages import language_pair

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

# Judgements, or a data frame of them, or the name of a dataset or the path of a file.
JudgementData: TypeAlias = "Judgements | str | os.PathLike[str] | pd.DataFrame"

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".zip")


def load_dataset(
    data: JudgementData, *, quoting: Quoting = "auto", advance: Advance | None = None
) -> Judgements:
    """The judgements of a named dataset, of a file or of a data frame; objects stay as they are.

    Ratings and preferences come from tables and WMT rankings, rated systems from an archive.
    `quoting` says whether quotation marks in TSV enclose cells ("rfc4180") or are text ("none").

    >>> load_dataset(["wmt17-da"])
    Traceback (most recent call last):
    adequa.errors.AdequaError: Judgements are the name of a dataset, the path of a file, a data \
frame, or Ratings, Preferences or RatedSystems; not an object of type list.
    """
    if isinstance(data, (Ratings, Preferences, RatedSystems)):
        return data
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        frame: Any = data
        frame = frame.astype(object).where(frame.notna(), "")
        columns = {str(name): list(map(str, frame[name])) for name in frame.columns}
        return replace(judgements_of("The data frame", columns), name="data frame")
    if not isinstance(data, (str, os.PathLike)):
        raise AdequaError(
            "Judgements are the name of a dataset, the path of a file, a data frame, or Ratings, "
            f"Preferences or RatedSystems; not an object of type {type(data).__name__}."
        )
    path = os.fspath(data)
    judgements = _judgements(path, quoting, advance)
    if isinstance(judgements, RatedSystems):
        return replace(judgements, ratings=replace(judgements.ratings, name=Path(path).name))
    return replace(judgements, name=Path(path).name)


def _judgements(path: str, quoting: Quoting, advance: Advance | None) -> Judgements:
    if path in DATASETS:
        return _registered(DATASETS[path], advance)
    if not (path == STDIN or Path(path).exists() or os.sep in path or Path(path).suffix):
        dataset(path)  # raises: it is neither a name nor anything like a file
    if path.lower().endswith(_ARCHIVES):
        return read_rated_systems(Path(path))
    return read_judgements(path, quoting=quoting, advance=advance)


def _registered(entry: Dataset, advance: Advance | None) -> Judgements:
    if entry.part_of:
        return _part(entry, _registered(dataset(entry.part_of), advance))
    files = locate(entry.name)
    if files is None:
        raise not_at_hand(entry)
    verify(entry, files)
    if files.official:
        return CONVERTERS[entry.name](entry, files.paths)
    if entry.kind == "systems":
        return read_rated_systems(files.paths[0])
    if entry.reference == "post-edit":
        return _post_edited(entry, files.paths[0], advance)
    return read_judgements(files.paths[0], advance=advance)


def _post_edited(entry: Dataset, path: Path, advance: Advance | None) -> Judgements:
    """The rows of a dataset that have a post-edit, with it as the reference."""
    with open_table(path, advance or ignore) as table:
        columns = whole_columns(table)
    return judgements_of(str(path), post_edits_as_references(columns, entry.pairs))


def _part(entry: Dataset, whole: Judgements) -> Ratings:
    """The rows of a part; they count as rows of a file of their own."""
    if not isinstance(whole, Ratings) or whole.segments is None:
        raise AdequaError(f"{entry.part_of}, of which {entry.name} is a part, holds no ratings.")
    blank = ("",) * len(whole)
    columns = (
        whole.ids.get("year", blank),
        whole.segments.references,
        whole.segments.sources or blank,
    )
    rows = [
        row
        for row, (year, references, source) in enumerate(zip(*columns, strict=True))
        if entry.year in {"", year}
        and (entry.split is None or entry.split.contains(references, source))
    ]
    return replace(whole.select(rows), file_rows=all_rows(len(rows)))


_HUMAN = "human.tsv"


def read_rated_systems(archive: Path) -> RatedSystems:
    """Human scores of systems and the outputs of those systems, from one archive."""
    texts = {
        name: text_lines(f"{archive}: {name}", content)
        for name, content in members(archive, _is_text_or_scores)
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


def _is_text_or_scores(name: str) -> bool:
    return name.endswith(".txt") or PurePosixPath(name).name == _HUMAN


def _ratings(place: str, lines: list[str]) -> Ratings:
    if not {"lp", "system", "score"} <= {*"".join(lines[:1]).split("\t")}:
        raise AdequaError(f"{place} needs the columns lp, system and score.")
    ratings = judgements_of(place, whole_columns(delimited_table(DelimitedRows(place, lines))))
    if not isinstance(ratings, Ratings):
        raise AdequaError(f"{place} holds preferences, where the scores of systems should be.")
    return ratings


# Post-edits as references: outputs that a person corrected, which are close to them. Those of
# `mlqe-pe` are tokenised ("I can 't , she said .") and the outputs are not, so that a metric could
# not tell an unchanged output from a corrected one, and would learn that spaces mean nothing.

Side: TypeAlias = Literal["left", "right", "both", "none"]

# The Moses detokenizer treats a backslash as a closing mark, and so do the outputs.
_CLOSING = re.compile(r"[,.?!:;\\%}\])]+")
_OPENING = re.compile(r"[$€£¥₽(\[{¿¡]+")
_QUOTES = re.compile(r"'+|[\"„“”]+")
_SUFFIX = re.compile(r"'[^\W\d_]")  # 's, 't, 'clock
_CONTRACTIONS = frozenset(("s", "t", "m", "d", "ll", "re", "ve"))


def detokenised(text: str) -> str:
    """An English text that the Moses tokenizer has split, with ordinary spaces.

    The rules are those of the Moses detokenizer, because it wrote the outputs that people edited:
    an output that was left alone becomes the same text again. They are written here because the
    library that has them, sacremoses, would be a dependency for this one function.

    >>> detokenised('Sasha said : " I can \\'t pay $ 5 ( 10 % ) . "')
    'Sasha said: "I can\\'t pay $5 (10%)."'
    """
    words = text.split()
    parts: list[str] = []
    open_quotes: set[str] = set()
    joins_next = True  # no space before the first word
    for index, word in enumerate(words):
        side = _attached_side(words, index, open_quotes)
        if not (joins_next or side in {"left", "both"}):
            parts.append(" ")
        parts.append(word)
        joins_next = side in {"right", "both"}
    return "".join(parts)


def _attached_side(words: Sequence[str], index: int, open_quotes: set[str]) -> Side:
    """The side on which a word or mark has no space; `open_quotes` is updated."""
    word = words[index]
    previous = words[index - 1] if index else ""
    if _CLOSING.fullmatch(word) or (_SUFFIX.match(word) and previous[-1:].isalnum()):
        return "left"
    if _OPENING.fullmatch(word):
        return "right"
    if word == "’":
        return "both" if _CONTRACTIONS.intersection(words[index + 1 : index + 2]) else "left"
    return _quote_side(words, index, open_quotes) if _QUOTES.fullmatch(word) else "none"


def _quote_side(words: Sequence[str], index: int, open_quotes: set[str]) -> Side:
    """Quotation marks open and close in turn; after an s, an apostrophe ends a possessive."""
    kind = "'" if words[index].startswith("'") else '"'
    if kind in open_quotes:
        open_quotes.remove(kind)
        return "left"
    if words[index] == "'" and index and words[index - 1].endswith("s"):
        return "left"
    open_quotes.add(kind)
    return "right"


def post_edits_as_references(
    columns: Mapping[str, Sequence[object]], pairs: Sequence[str]
) -> dict[str, list[object]]:
    """The rows of these language pairs that have a post-edit, which becomes the column `ref`.

    >>> columns = {"lp": ["et-en", "en-de", "et-en"], "mt": ["a", "b", "c"], "ref": [None] * 3}
    >>> post_edits_as_references(columns | {"post_edit": ["a .", "b .", None]}, ["et-en"])
    {'lp': ['et-en'], 'mt': ['a'], 'ref': ['a.']}
    """
    rows = [
        row
        for row, (pair, text) in enumerate(zip(columns["lp"], columns["post_edit"], strict=True))
        if language_pair(str(pair)) in pairs and isinstance(text, str) and text.strip()
    ]
    selected = {name: [values[row] for row in rows] for name, values in columns.items()}
    selected.pop("raw", None)  # the same ratings on another scale
    texts = selected.pop("post_edit")
    return selected | {"ref": [detokenised(str(text)) for text in texts]}
