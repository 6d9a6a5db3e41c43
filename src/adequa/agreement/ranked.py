"""Systems to rank: human scores of systems, and the rows of text that metrics score them by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adequa.agreement.groups import codes, column_names, one_system_a_row, rows_by
from adequa.agreement.protocol import Protocol, seeded
from adequa.agreement.sources import Progress, Source, Texts, both_sides, statistics_of
from adequa.agreement.systems import Ranked, SystemRows, system_scores
from adequa.errors import AdequaError
from adequa.judgements import (
    Ids,
    IntArray,
    Judgements,
    Preferences,
    RatedSystems,
    Ratings,
    all_kept,
)
from adequa.segments import FloatArray
from adequa.statistics.standings import expected_wins, trueskill


@dataclass(frozen=True, slots=True, eq=False)
class _Outputs:
    """Texts of systems and human scores of systems, by language pair.

    One entry is one system's translation of one segment; systems may share a text.
    """

    texts: Texts
    corpora: tuple[str, ...]  # of each text, for metrics that look at a whole corpus
    rows: IntArray  # the text of each entry
    pairs: tuple[str, ...]  # of each entry, as the columns of the table are named
    systems: tuple[str, ...]  # of each entry
    human: Mapping[tuple[str, str], float]  # by language pair and system
    ratings: FloatArray | None = None  # of each entry
    repeated: bool = False  # whether every system has the whole corpus


def ranked_systems(
    judgements: Judgements, sources: Sequence[Source], protocol: Protocol, progress: Progress
) -> list[Ranked]:
    """The systems of each language pair, with every metric's scores."""
    outputs = _outputs(judgements, protocol)
    statistics = tuple(
        None
        if _of_systems_only(source)
        else statistics_of(
            source, outputs.texts, outputs.corpora, progress, repeated=outputs.repeated
        )
        for source in sources
    )
    return [
        _ranked(pair, entries, outputs, tuple(sources), statistics)
        for pair, entries in rows_by(outputs.pairs).items()
    ]


def _outputs(judgements: Judgements, protocol: Protocol) -> _Outputs:
    if isinstance(judgements, Preferences):
        return _compared(judgements, protocol)
    if isinstance(judgements, RatedSystems):
        return _rated_whole(judgements)
    return _rated_by_segment(judgements)


def _rated_whole(judgements: RatedSystems) -> _Outputs:
    ratings, outputs = judgements.ratings, judgements.outputs
    pairs = column_names(ratings.ids, len(ratings))
    human = dict(zip(_entries(pairs, ratings.ids), ratings.scores.tolist(), strict=True))
    if outputs is None:
        texts = Texts(ratings.ids, None, ratings.kept)
        systems = ratings.ids["system"]
        return _Outputs(texts, pairs, np.arange(len(pairs)), pairs, systems, human)
    pairs = column_names(outputs.ids, len(outputs))
    systems = outputs.ids["system"]
    entries = list(_entries(pairs, outputs.ids))
    rows = np.array([row for row, key in enumerate(entries) if key in human], dtype=np.intp)
    return _Outputs(
        texts=Texts(outputs.ids, outputs, all_kept(len(outputs))),
        corpora=tuple(f"{pair} {system}" for pair, system in entries),
        rows=rows,
        pairs=tuple(pairs[row] for row in rows),
        systems=tuple(systems[row] for row in rows),
        human=human,
        repeated=True,
    )


def _rated_by_segment(ratings: Ratings) -> _Outputs:
    """Human system scores as means of ratings."""
    if not all(ratings.ids.get("system", ("",))):
        raise AdequaError(
            "The judgements do not name the system of every output; there are no systems to rank."
        )
    rows, systems = one_system_a_row(ratings.ids["system"])
    names = column_names(ratings.ids, len(ratings))
    pairs = tuple(names[row] for row in rows)
    scores = ratings.scores[rows]
    by_system: dict[tuple[str, str], list[float]] = {}
    for key, score in zip(zip(pairs, systems, strict=True), scores.tolist(), strict=True):
        by_system.setdefault(key, []).append(score)
    return _Outputs(
        texts=Texts(ratings.ids, ratings.segments, ratings.kept),
        corpora=names,
        rows=rows,
        pairs=pairs,
        systems=systems,
        human={key: float(np.mean(found)) for key, found in by_system.items()},
        ratings=scores,
    )


def _compared(preferences: Preferences, protocol: Protocol) -> _Outputs:
    """Human system scores from wins and losses; every output of a system counts once."""
    texts = both_sides(preferences)
    if "system" not in texts.ids:
        raise AdequaError("The judgements do not name systems; there are none to rank.")
    names = column_names(preferences.ids, len(preferences)) * 2
    systems = texts.ids["system"]
    segments = texts.ids.get("segment", ("",) * len(texts))
    first: dict[tuple[str, str, str], int] = {}
    for row, key in enumerate(zip(names, systems, segments, strict=True)):
        first.setdefault(key if key[2] else (*key[:2], f"row {row}"), row)
    rows = np.array(list(first.values()), dtype=np.intp)
    return _Outputs(
        texts=texts,
        corpora=names,
        rows=rows,
        pairs=tuple(names[row] for row in rows),
        systems=tuple(systems[row] for row in rows),
        human=_standings(preferences, protocol),
    )


def _standings(preferences: Preferences, protocol: Protocol) -> dict[tuple[str, str], float]:
    """What wins and losses say of each system, by language pair."""
    ids = preferences.ids
    standings: dict[tuple[str, str], float] = {}
    for pair, rows in rows_by(column_names(ids, len(preferences))).items():
        both = [ids[side][row] for side in ("better_system", "worse_system") for row in rows]
        systems = tuple(dict.fromkeys(both))
        better, worse = np.split(codes(both, len(both)), 2)
        if protocol.human == "trueskill":
            ties = _tie_counts(preferences, pair, systems)
            scores = trueskill(better, worse, len(systems), seeded(protocol, pair).seed, ties=ties)
        else:
            scores = expected_wins(better, worse, len(systems))
        standings |= {(pair, s): score for s, score in zip(systems, scores.tolist(), strict=True)}
    return standings


def _tie_counts(preferences: Preferences, pair: str, systems: Sequence[str]) -> FloatArray:
    """How often people saw two systems as equal, (S, S)."""
    number = {system: code for code, system in enumerate(systems)}
    counts = np.zeros((len(systems), len(systems)))
    for (lp, first, second), count in preferences.ties.items():
        if lp == pair and first in number and second in number:
            counts[number[first], number[second]] += count
    return counts


def _ranked(
    pair: str,
    entries: IntArray,
    outputs: _Outputs,
    sources: tuple[Source, ...],
    statistics: tuple[FloatArray | None, ...],
) -> Ranked:
    names = [outputs.systems[entry] for entry in entries]
    order = tuple(dict.fromkeys(names))
    texts = outputs.rows[entries]
    segments = outputs.texts.ids.get("segment")
    rows = SystemRows(
        systems=codes(names, len(names)),
        segments=codes(segments and [segments[text] for text in texts], len(texts)),
        ratings=None if outputs.ratings is None else outputs.ratings[entries],
    )
    chosen = tuple(None if found is None else found[texts] for found in statistics)
    scores = [
        _looked_up(source, pair, order) if found is None else system_scores(source, found, rows)
        for source, found in zip(sources, chosen, strict=True)
    ]
    return Ranked(
        name=pair,
        human=np.array([outputs.human[pair, system] for system in order]),
        rows=rows,
        sources=sources,
        statistics=chosen,
        scores=np.stack(scores),
    )


def _of_systems_only(source: Source) -> bool:
    ids = source.file.ids if source.file is not None else {}
    return "system" in ids and "segment" not in ids


def _looked_up(source: Source, pair: str, systems: Sequence[str]) -> FloatArray:
    """System scores from a file that has nothing else."""
    file = source.file
    assert file is not None  # noqa: S101 - such a source is a file
    pairs = file.ids.get("lp", (pair,) * len(file.scores))
    of = dict(zip(zip(pairs, file.ids["system"], strict=True), file.scores.tolist(), strict=True))
    missing = [system for system in systems if (pair, system) not in of]
    if missing:
        raise AdequaError(
            f"{source.path} has no score for {len(missing)} of {len(systems)} systems of {pair}, "
            f"the first of them {missing[0]}."
        )
    return source.sign * np.array([of[pair, system] for system in systems])


def _entries(pairs: Sequence[str], ids: Ids) -> Iterator[tuple[str, str]]:
    return zip(pairs, ids["system"], strict=True)
