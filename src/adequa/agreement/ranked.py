"""Systems to rank: human scores of systems, and the rows of text that metrics score them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from adequa.agreement.groups import (
    codes,
    column_names,
    numbered,
    one_system_a_row,
    parts_of_systems,
    rows_by,
    segment_names,
)
from adequa.agreement.human_scores import known_sides, known_systems, mean_ratings, standings
from adequa.agreement.matching import Wanted, scores_by_ids
from adequa.agreement.protocol import Protocol
from adequa.agreement.sources import Source, Texts, both_sides, text_statistics
from adequa.agreement.systems import Ranked, SystemRows, system_scores
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.progress import Progress
from adequa.segments import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Outputs:
    """Texts of systems and human scores of systems, by language pair.

    One entry is one system's translation of one segment; systems may share a text.
    """

    texts: Texts
    corpora: tuple[str, ...]  # of each text, for metrics that look at a whole corpus
    rows: IntArray  # the text of each entry
    columns: tuple[str, ...]  # of each entry, as the columns of the table are named
    systems: tuple[str, ...]  # of each entry
    human: Mapping[tuple[str, str], float]  # by language pair and system
    ratings: FloatArray | None = None  # of each entry
    repeated: bool = False  # whether every system has the whole corpus


def ranked_systems(
    judgements: Judgements, sources: Sequence[Source], protocol: Protocol, progress: Progress
) -> list[Ranked]:
    """The systems of each language pair, with every metric's scores."""
    outputs = _outputs(judgements, protocol)
    scored = [
        _Scored(source, by_system=_system_file(source.path, source.file, outputs))
        if source.file is not None and source.is_of_systems
        else _Scored(
            source,
            statistics=text_statistics(
                source, outputs.texts, outputs.corpora, progress, repeated=outputs.repeated
            ),
        )
        for source in sources
    ]
    return [
        _ranked(column, entries, outputs, scored)
        for column, entries in rows_by(outputs.columns).items()
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """What a source says of texts, or, where it knows no texts, of systems."""

    source: Source
    statistics: FloatArray | None = None  # of each text
    by_system: Mapping[tuple[str, str], float] = field(default_factory=dict)


def _system_file(path: str, file: ScoreFile, outputs: _Outputs) -> Mapping[tuple[str, str], float]:
    """Scores of whole systems from a file, higher or lower is better as it is there."""
    first: dict[tuple[str, str], int] = {}
    for key, row in zip(
        zip(outputs.columns, outputs.systems, strict=True), outputs.rows.tolist(), strict=True
    ):
        first.setdefault(key, row)
    ids = {
        name: tuple(outputs.texts.ids[name][row] for row in first.values())
        for name in ("lp", "year")
        if name in outputs.texts.ids
    }
    rows = Wanted({**ids, "system": tuple(system for _, system in first)}, list(first))
    return dict(zip(first, scores_by_ids(path, file, rows).tolist(), strict=True))


def _outputs(judgements: Judgements, protocol: Protocol) -> _Outputs:
    if isinstance(judgements, Preferences):
        return _compared(judgements, protocol)
    if isinstance(judgements, RatedSystems):
        return _rated_whole(judgements)
    return _rated_by_segment(judgements)


def _rated_whole(judgements: RatedSystems) -> _Outputs:
    ratings, outputs = judgements.ratings, judgements.outputs
    columns = column_names(ratings.ids, len(ratings))
    rated = list(zip(columns, known_systems(ratings), strict=True))
    human = dict(zip(rated, ratings.scores.tolist(), strict=True))
    if len(human) < len(rated):
        column, system = next(key for key in human if rated.count(key) > 1)
        raise AdequaError(f"{column}: system {system} has more than one human score.")
    if outputs is None:
        texts = Texts(ratings.ids, None, ratings.file_rows)
        systems = ratings.ids["system"]
        return _Outputs(texts, columns, np.arange(len(columns)), columns, systems, human)
    columns, systems = column_names(outputs.ids, len(outputs)), outputs.ids["system"]
    keys = list(zip(columns, systems, strict=True))
    if set(keys) != set(human):
        column, system = min(set(keys) ^ set(human))
        has, lacks = (
            ("outputs", "human score") if (column, system) in keys else ("a score", "output")
        )
        raise AdequaError(f"{column}: system {system} has {has}, but no {lacks}; leave it out.")
    return _Outputs(
        texts=Texts(outputs.ids, outputs, judgements.file_rows),
        corpora=tuple(map("\t".join, keys)),
        rows=np.arange(len(outputs)),
        columns=columns,
        systems=systems,
        human=human,
        repeated=True,
    )


def _rated_by_segment(ratings: Ratings) -> _Outputs:
    """Human system scores as means of ratings."""
    columns = column_names(ratings.ids, len(ratings))
    rows, systems = one_system_a_row(parts_of_systems(columns, known_systems(ratings)))
    return _Outputs(
        texts=Texts(ratings.ids, ratings.segments, ratings.file_rows),
        corpora=columns,
        rows=rows,
        columns=tuple(columns[row] for row in rows),
        systems=systems,
        human=mean_ratings(ratings),
        ratings=ratings.scores[rows],
    )


def _compared(preferences: Preferences, protocol: Protocol) -> _Outputs:
    """Human system scores from wins and losses; every text of a system counts once."""
    texts = both_sides(preferences)
    better, worse = known_sides(preferences)
    columns = column_names(preferences.ids, len(preferences)) * 2
    rows, systems = one_system_a_row(parts_of_systems(columns, better + worse))
    segments = codes(segment_names(texts.ids), len(texts))
    human = standings(preferences, protocol.human or "expected-wins", protocol.seed)
    # A segment may have several texts of a system, where it took part twice or numbers repeat.
    said = texts.said or [("", ())] * len(texts)
    first: dict[tuple[object, ...], int] = {}
    for place, (row, system) in enumerate(zip(rows.tolist(), systems, strict=True)):
        if (columns[row], system) in human:  # not one that was only compared with itself
            first.setdefault((columns[row], system, int(segments[row]), said[row]), place)
    places = list(first.values())
    return _Outputs(
        texts=texts,
        corpora=columns,
        rows=rows[places],
        columns=tuple(columns[row] for row in rows[places]),
        systems=tuple(systems[place] for place in places),
        human=human,
    )


def _ranked(column: str, entries: IntArray, outputs: _Outputs, scored: Sequence[_Scored]) -> Ranked:
    systems, names = numbered([outputs.systems[entry] for entry in entries])
    texts = outputs.rows[entries]
    segments = segment_names(outputs.texts.ids)
    rows = SystemRows(
        systems=systems,
        segments=codes(segments and [segments[text] for text in texts], len(texts)),
        ratings=None if outputs.ratings is None else outputs.ratings[entries],
    )
    statistics = tuple(None if s.statistics is None else s.statistics[texts] for s in scored)
    scores = [
        s.source.sign * np.array([s.by_system[column, name] for name in names])
        if found is None
        else system_scores(s.source, found, rows)
        for s, found in zip(scored, statistics, strict=True)
    ]
    return Ranked(
        name=column,
        human=np.array([outputs.human[column, name] for name in names]),
        rows=rows,
        sources=tuple(s.source for s in scored),
        statistics=statistics,
        scores=np.stack(scores),
        systems=tuple(names),
    )
