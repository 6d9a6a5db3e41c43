"""From a request's texts to segments, system by system, as far as the limits of a server go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from adequa.comparison.systems import Outputs, outputs_from_batches, outputs_of
from adequa.errors import AdequaError
from adequa.scoring.api import as_segments
from adequa.scoring.stream import UNNAMED
from adequa.segments import Segments
from adequa.service.limits import LONGEST_NAME, Limits, Refusal
from adequa.service.shapes import Input, Row


def systems_of(asked: Input, limits: Limits) -> dict[str, Segments]:
    """The segments of each system, in the order in which they were given."""
    _check_one_way(asked)
    if asked.rows is not None:
        limits.check_segments(len(asked.rows))
        found = {
            name: segments_from([asked.rows[place] for place in places], limits)
            for name, places in by_system(asked.rows).items()
        }
    else:
        _check_names(asked.systems or {}, limits)
        found = _columns(asked, limits)
    if not found:
        raise AdequaError("There is nothing to score: the request has no segments.")
    _check_names(found, limits)
    return found


def outputs_from(asked: Input, limits: Limits) -> Outputs:
    """The same side by side, for a comparison."""
    systems = systems_of(asked, limits)
    if asked.rows is None and asked.systems is not None:
        first = next(iter(systems.values()))
        return outputs_of(
            asked.systems,
            list(first.references),
            sources=asked.sources,
            documents=asked.documents,
        )
    return outputs_from_batches(
        Segments(
            part.hypotheses,
            part.references,
            part.sources,
            {**part.ids, "system": (name,) * len(part)},
        )
        for name, part in systems.items()
    )


def segments_from(rows: Sequence[Row], limits: Limits) -> Segments:
    """Rows as segments."""
    hypotheses = [row.mt for row in rows]
    references = [tuple(row.ref) for row in rows]
    sources = [row.src for row in rows]
    documents = [row.doc for row in rows]
    _check_columns(hypotheses, references, sources, limits, 1)
    return Segments(
        tuple(hypotheses),
        tuple(references),
        _all_or_none("src", sources),
        {name: column for name, column in [("doc", _all_or_none("doc", documents))] if column},
    )


def check_row(row: Row, limits: Limits, number: int) -> None:
    """Raise where a row that is scored by itself goes beyond the limits, or has no reference."""
    _check_columns([row.mt], [tuple(row.ref)], [row.src], limits, number)


def _check_one_way(asked: Input) -> None:
    columns = (asked.systems, asked.references, asked.sources, asked.documents)
    if asked.rows is not None and any(column is not None for column in columns):
        raise AdequaError("Give rows, or systems with their references, and not both.")
    if asked.rows is None and (asked.systems is None or asked.references is None):
        raise AdequaError("There are no texts: give rows, or systems with their references.")


def by_system(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Which rows are of which system, in the order in which they were given."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(UNNAMED if row.system is None else row.system, []).append(place)
    return places


def _columns(asked: Input, limits: Limits) -> dict[str, Segments]:
    systems, references = asked.systems or {}, asked.references or []
    limits.check_segments(sum(map(len, systems.values())))
    listed = [tuple(each) for each in references]
    documents = asked.documents
    if documents is not None and len(documents) != len(references):
        raise AdequaError(
            f"There are references for {len(references)} segments but {len(documents)} documents."
        )
    ids = {} if documents is None else {"doc": tuple(documents)}
    found = {}
    for name, texts in systems.items():
        _check_columns(texts, listed, asked.sources or [], limits, 1)
        try:
            part = as_segments(texts, listed, asked.sources)
        except AdequaError as error:
            raise AdequaError(f"{_shown(name)}: {error}") from None
        found[name] = Segments(part.hypotheses, part.references, part.sources, ids)
    return found


def _check_columns(
    hypotheses: Sequence[str],
    references: Sequence[tuple[str, ...]],
    sources: Iterable[str | None],
    limits: Limits,
    first: int,
) -> None:
    limits.check_texts("The hypothesis of segment", hypotheses, first)
    for row, several in enumerate(references, first):
        if len(several) > limits.references:
            raise Refusal(
                422,
                f"Segment {row:,} has {len(several)} references, and this server takes "
                f"{limits.references} at most.",
            )
        if not several or not all(map(str.strip, several)):
            raise Refusal(
                422, f"Segment {row:,} has an empty reference; every segment needs reference text."
            )
    longest = (max(several, key=len) for several in references)
    limits.check_texts("A reference of segment", longest, first)
    limits.check_texts("The source of segment", (text or "" for text in sources), first)


def _all_or_none(name: str, cells: Sequence[str | None]) -> tuple[str, ...] | None:
    told = tuple(cell for cell in cells if cell is not None)
    if told and len(told) < len(cells):
        raise AdequaError(
            f"Some rows have {name} and others have none; give it to all, or to none."
        )
    return told or None


def _check_names(systems: Collection[str], limits: Limits) -> None:
    limits.check_systems(len(systems))
    for name in systems:
        if len(name) > LONGEST_NAME:
            raise Refusal(
                422,
                f"The name of a system has {len(name):,} characters, and this server takes "
                f"{LONGEST_NAME} at most.",
            )


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
