"""Lists of candidates: multiple translations of one sentence, from JSONL.

A line is a sentence with a list under `candidates`, or one candidate under `mt` with the `id` of
its sentence, as n-best lists are written; lines of one sentence then follow each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any

from adequa.errors import AdequaError
from adequa.io.columns import places, refuse_half_characters, with_usual_names
from adequa.io.delimited import parsed_lines
from adequa.io.text import Advance, FilePath, display_name, ignore, lines, without_trailing_blanks

_TOGETHER = 256  # lines


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The candidates of one sentence."""

    id: Any  # as the file has it, or the number of the sentence
    candidates: tuple[str, ...]
    references: tuple[str, ...]  # none where the file has none
    place: str
    source: str | None = None  # None where there is none, or a blank one


def read_candidates(
    path: FilePath,
    *,
    with_references: bool = True,
    with_sources: bool = True,
    advance: Advance = ignore,
) -> Iterator[CandidateList]:
    """The lists of candidates of a file, one after the other.

    Without references or sources, what is wrong with them is not checked.
    """
    left_out = [*([] if with_references else ["ref"]), *([] if with_sources else ["src"])]
    rows = ((place, {**row, **dict.fromkeys(left_out)}) for place, row in _rows(path, advance))
    first = next(rows, None)
    if first is None:
        raise AdequaError(f"{display_name(path)} is empty: there are no candidates in it.")
    if "candidates" in first[1]:
        yield _whole(first, 1)
        for number, row in enumerate(rows, 2):
            yield _whole(row, number)
        return
    if "mt" not in first[1] or "id" not in first[1]:
        raise AdequaError(
            f'{first[0]} has neither a list of "candidates" nor one of them under "mt" with the '
            '"id" of its sentence.'
        )
    yield from _joined(chain([first], rows))


def _rows(path: FilePath, advance: Advance) -> Iterator[tuple[str, dict[str, Any]]]:
    left = without_trailing_blanks(lines(path, advance=advance))
    done = 0
    while part := list(islice(left, _TOGETHER)):
        place = places(display_name(path), "line", done + 1)
        for row, values in enumerate(parsed_lines(part, place)):
            yield place(row), with_usual_names(values, place(row))
        done += len(part)


def _whole(row: tuple[str, dict[str, Any]], number: int) -> CandidateList:
    place, values = row
    listed = values.get("candidates")
    if not isinstance(listed, list) or not listed:
        raise AdequaError(f'{place}: "candidates" must be a list of texts, with one at least.')
    texts: list[Any] = [each.get("mt") if isinstance(each, dict) else each for each in listed]
    for number_in_list, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise AdequaError(f"{place}: candidate {number_in_list} is no text.")
    refuse_half_characters(texts, lambda index: f"{place}: candidate {index + 1}")
    name = number if values.get("id") is None else _id(values, place)
    references, source = _references(values, place), _source(values, place)
    return CandidateList(name, tuple(texts), references, place, source)


def _joined(rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[CandidateList]:
    """One candidate a line, put together by sentence."""
    seen: set[str] = set()
    for key, group in groupby(rows, lambda row: _as_json(_id(row[1], row[0]))):
        texts: list[str] = []
        references: tuple[str, ...] = ()
        source: str | None = None
        first, name = "", None
        for place, values in group:
            first, name = first or place, values["id"]
            if key in seen:
                raise AdequaError(
                    f'{place}: the lines of sentence "{name}" do not follow each other.'
                )
            texts.append(_text(values, place))
            others = _references(values, place)
            if references and others and sorted(others) != sorted(references):
                raise AdequaError(
                    f'{place}: "ref" is another than before for the same sentence, "{name}".'
                )
            references = references or others
            other = _source(values, place)
            if source and other and source != other:
                raise AdequaError(
                    f'{place}: "src" is another than before for the same sentence, "{name}".'
                )
            source = source or other
        seen.add(key)
        yield CandidateList(name, tuple(texts), references, first, source)


def _id(row: dict[str, Any], place: str) -> Any:
    name = row.get("id")
    if name is None:
        raise AdequaError(f'{place} has no "id".')
    refuse_half_characters([_as_json(name)], lambda _: f'{place}: "id"')
    return name


def _as_json(name: Any) -> str:
    """What tells names apart: to Python, true and 1 are one, and 1 and 1.0."""
    return json.dumps(name, ensure_ascii=False, sort_keys=True)


def _text(row: dict[str, Any], place: str) -> str:
    text = row.get("mt")
    if not isinstance(text, str):
        raise AdequaError(f'{place}: "mt" is no text.')
    refuse_half_characters([text], lambda _: f'{place}: "mt"')
    return text


def _source(row: dict[str, Any], place: str) -> str | None:
    text = row.get("src")
    if text is None:
        return None
    if not isinstance(text, str):
        raise AdequaError(f'{place}: "src" is no text.')
    refuse_half_characters([text], lambda _: f'{place}: "src"')
    return text if text.strip() else None


def _references(row: dict[str, Any], place: str) -> tuple[str, ...]:
    value = row.get("ref")
    texts = value if isinstance(value, list) else [] if value is None else [value]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise AdequaError(f'{place}: "ref" is no text.')
    refuse_half_characters(texts, lambda _: f'{place}: "ref"')
    return tuple(texts)
