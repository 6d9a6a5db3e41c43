"""Sets of rated systems: an archive of outputs, LP/SYSTEM.txt, and of human scores, human.tsv."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from adequa.datasets.members import members, text_lines
from adequa.errors import AdequaError
from adequa.io.judgements import judgements_of
from adequa.io.system_outputs import outputs_by_pair, segments_of
from adequa.judgements import RatedSystems, Ratings

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
