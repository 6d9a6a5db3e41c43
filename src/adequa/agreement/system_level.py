"""System-level agreement: whole systems ranked by people and by metrics.

Human scores of systems are means of ratings, scores from wins and losses, or given as such. Metrics
score systems by the rows of text that they produced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.agreement.groups import (
    SIDES,
    codes,
    column_names,
    numbered,
    one_system_a_row,
    parts_of_systems,
    rows_by,
    segment_names,
    splitter,
)
from adequa.agreement.protocol import HumanScore, Protocol
from adequa.agreement.results import PairAgreement
from adequa.agreement.segment_level import CORRELATIONS, Statistic, williams_matrix
from adequa.agreement.sources import (
    Source,
    Texts,
    both_sides,
    check_texts,
    scores_by_ids,
    text_statistics,
)
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, Ties
from adequa.progress import Progress
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import ratio
from adequa.statistics.correlation import undefined_reason
from adequa.statistics.kendall import (
    better_probabilities,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    ratio_differences,
    swap_units,
    system_differences,
)
from adequa.statistics.resampling import bootstrap_chunks, bootstrap_counts
from adequa.statistics.standings import expected_wins, trueskill

SYSTEM_STATISTICS: dict[str, Statistic] = {**CORRELATIONS, "accuracy": pairwise_accuracy}
# From one source: statistics of each text, or scores of whole systems by language pair and system.
_SourceScores: TypeAlias = "FloatArray | Mapping[tuple[str, str], float]"
_SPA_RESAMPLES = 1000  # of the tests whose p-values soft pairwise accuracy compares


def mean_ratings(ratings: Ratings) -> dict[tuple[str, str], float]:
    """The mean rating of every system, by column of the table and system."""
    columns = column_names(ratings.ids, len(ratings))
    parts = parts_of_systems(columns, systems_of(ratings))
    rows, systems = one_system_a_row(parts)
    keys = [(columns[row], system) for row, system in zip(rows.tolist(), systems, strict=True)]
    index_of = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([index_of[key] for key in keys], dtype=np.intp)
    means = np.bincount(codes, ratings.scores[rows]) / np.bincount(codes)
    return dict(zip(index_of, means.tolist(), strict=True))


def systems_of(ratings: Ratings) -> tuple[str, ...]:
    """The system of every rating, if all are known."""
    systems = ratings.ids.get("system", ("",))
    if not all(systems):
        raise AdequaError("The judgements do not name the system of every output.")
    return systems


def sides_of(preferences: Preferences) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The better and the worse system of every preference, if all are known."""
    better, worse = (preferences.ids.get(side, ("",)) for side in SIDES)
    if not all(better) or not all(worse):
        raise AdequaError("The judgements do not name the systems of every preference.")
    return better, worse


def preference_scores(
    preferences: Preferences, how: HumanScore, seed: int
) -> dict[tuple[str, str], float]:
    """The score that wins and losses give every system, by column of the table and system.

    A preference between outputs of several systems is one for each two of them.
    """
    columns = column_names(preferences.ids, len(preferences))
    better, worse = sides_of(preferences)
    split = splitter(columns * 2, better + worse)
    score_of: dict[tuple[str, str], float] = {}
    for column, rows in rows_by(columns).items():
        pairs = [
            (winner, loser)
            for row in rows.tolist()
            for winner in split(column, better[row])
            for loser in split(column, worse[row])
            if winner != loser
        ]
        if not pairs:
            raise AdequaError(f"{column}: no preference is between two different systems.")
        winners, losers = zip(*pairs, strict=True)
        codes, systems = numbered(winners + losers)
        better_codes, worse_codes = np.split(codes, 2)
        if how == "trueskill":
            lp = preferences.ids["lp"][int(rows[0])] if "lp" in preferences.ids else ""
            ties = _tie_counts(preferences.ties, lp, systems, partial(split, column))
            scores = trueskill(better_codes, worse_codes, len(systems), seed, ties=ties)
        else:
            scores = expected_wins(better_codes, worse_codes, len(systems))
        score_of |= {
            (column, name): score for name, score in zip(systems, scores.tolist(), strict=True)
        }
    return score_of


def _tie_counts(
    ties: Ties, lp: str, systems: Sequence[str], split: Callable[[str], tuple[str, ...]]
) -> FloatArray:
    """How often people saw two systems as equal, (S, S); ties of joined ones are each one's."""
    number = {system: code for code, system in enumerate(systems)}
    counts = np.zeros((len(systems), len(systems)))
    for (pair, *names), count in ties.items():
        for first, second in product(*map(split, names)) if pair == lp else ():
            if first != second and first in number and second in number:
                counts[number[first], number[second]] += count
    return counts


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
) -> list[RankedSystems]:
    """The systems of each language pair, with every metric's scores."""
    outputs = _outputs(judgements, protocol)
    check_texts(sources, outputs.texts)
    scored: list[_SourceScores] = [
        _system_file(source.path, source.file, outputs)
        if source.file is not None and source.is_of_systems
        else text_statistics(
            source, outputs.texts, outputs.corpora, progress, repeated=outputs.repeated
        )
        for source in sources
    ]
    return [
        _ranked_pair(column, entries, outputs, sources, scored)
        for column, entries in rows_by(outputs.columns).items()
    ]


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
    ids["system"] = tuple(system for _, system in first)
    return dict(zip(first, scores_by_ids(path, file, ids, list(first)).tolist(), strict=True))


def _outputs(judgements: Judgements, protocol: Protocol) -> _Outputs:
    if isinstance(judgements, Preferences):
        return _compared(judgements, protocol)
    if isinstance(judgements, RatedSystems):
        return _rated_whole(judgements)
    return _rated_by_segment(judgements)


def _rated_whole(judgements: RatedSystems) -> _Outputs:
    ratings, outputs = judgements.ratings, judgements.outputs
    columns = column_names(ratings.ids, len(ratings))
    rated = list(zip(columns, systems_of(ratings), strict=True))
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
    rows, systems = one_system_a_row(parts_of_systems(columns, systems_of(ratings)))
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
    better, worse = sides_of(preferences)
    columns = column_names(preferences.ids, len(preferences)) * 2
    rows, systems = one_system_a_row(parts_of_systems(columns, better + worse))
    segments = codes(segment_names(texts.ids), len(texts))
    human = preference_scores(preferences, protocol.human or "expected-wins", protocol.seed)
    # A segment may have several texts of a system, where it took part twice or numbers repeat.
    identities = texts.identities or [("", (), "")] * len(texts)
    first: dict[tuple[object, ...], int] = {}
    for index, (row, system) in enumerate(zip(rows.tolist(), systems, strict=True)):
        if (columns[row], system) in human:  # not one that was only compared with itself
            first.setdefault((columns[row], system, int(segments[row]), identities[row]), index)
    indices = list(first.values())
    return _Outputs(
        texts=texts,
        corpora=columns,
        rows=rows[indices],
        columns=tuple(columns[row] for row in rows[indices]),
        systems=tuple(systems[index] for index in indices),
        human=human,
    )


def _ranked_pair(
    column: str,
    entries: IntArray,
    outputs: _Outputs,
    sources: Sequence[Source],
    scored: Sequence[_SourceScores],
) -> RankedSystems:
    systems, names = numbered([outputs.systems[entry] for entry in entries])
    texts = outputs.rows[entries]
    segments = segment_names(outputs.texts.ids)
    statistics: list[FloatArray | None] = []
    scores = []
    for source, each in zip(sources, scored, strict=True):
        if isinstance(each, np.ndarray):
            statistics.append(each[texts])
            totals = np.stack(
                [each[texts[systems == code]].sum(axis=0) for code in range(len(names))]
            )
            scores.append(source.system_scores(totals))
        else:
            statistics.append(None)
            scores.append(source.sign * np.array([each[column, name] for name in names]))
    return RankedSystems(
        name=column,
        human=np.array([outputs.human[column, name] for name in names]),
        system_codes=systems,
        segments=codes(segments and [segments[text] for text in texts], len(texts)),
        ratings=None if outputs.ratings is None else outputs.ratings[entries],
        sources=tuple(sources),
        statistics=tuple(statistics),
        scores=np.stack(scores),
        systems=names,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RankedSystems:
    """The systems of one language pair: human scores, and the rows that metrics scored.

    A metric that comes as system scores only has no statistics.
    """

    name: str
    human: FloatArray  # (S,)
    system_codes: IntArray  # (N,), the system of each row
    segments: IntArray  # (N,) codes
    ratings: FloatArray | None  # (N,)
    sources: tuple[Source, ...]  # (K,)
    statistics: tuple[FloatArray | None, ...]  # (K,) of (N, k)
    scores: FloatArray  # (K, S), higher is better
    systems: tuple[str, ...]  # (S,), their names

    def sums(self, values: FloatArray, counts: FloatArray) -> FloatArray:
        """Sums (S, R, k) of each system's rows (N, k), segment j drawn `counts[r, j]` times.

        System by system, so that what is held does not grow with their number.
        """
        rows_of = [np.flatnonzero(self.system_codes == code) for code in range(len(self.systems))]
        return np.stack([counts[:, self.segments[rows]] @ values[rows] for rows in rows_of])


def measure_systems(data: RankedSystems, protocol: Protocol) -> PairAgreement:
    """Every metric's agreement on the systems of one language pair."""
    if protocol.statistic == "spa":
        return _soft(data, protocol)
    statistic = SYSTEM_STATISTICS[str(protocol.statistic)]
    return PairAgreement(
        name=data.name,
        items=len(data.human),
        values=np.array([float(statistic(data.human, scores, None)) for scores in data.scores]),
        samples=_samples(data, statistic, protocol),
        differences=_differences(data, statistic, protocol),
        p_values=williams_matrix(data.human, data.scores) if protocol.test == "williams" else None,
        reasons=tuple(undefined_reason(data.human, scores) for scores in data.scores),
    )


def _samples(data: RankedSystems, statistic: Statistic, protocol: Protocol) -> FloatArray:
    """Resampled segments change the scores of systems; resampled systems count by weights."""
    if protocol.over == "none":
        return np.empty((len(data.scores), 0))
    systems = np.ones((protocol.resamples, len(data.human)))
    if protocol.over in {"systems", "both"}:
        systems = bootstrap_counts(len(data.human), protocol.resamples, protocol.seed)
    if protocol.over == "systems":
        return np.stack([np.asarray(statistic(data.human, s, systems)) for s in data.scores])
    parts, done = [], 0
    units = int(data.segments.max()) + 1
    for counts in bootstrap_chunks(units, protocol.resamples, [protocol.seed, 1]):
        system_counts = systems[done : done + len(counts)]
        parts.append(_resampled(data, statistic, counts, system_counts))
        done += len(counts)
    return np.concatenate(parts, axis=1)


def _resampled(
    data: RankedSystems, statistic: Statistic, counts: FloatArray, systems: FloatArray
) -> FloatArray:
    """The statistic of every metric, (K, R), for drawn segments (R, M) and systems (R, S)."""
    present, human = _resampled_human(data, counts)
    samples = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None:
            raise AdequaError(
                f"{source.name} has scores of whole systems only, so that segments cannot be "
                "resampled; use --over systems."
            )
        totals = data.sums(statistics, counts)
        scores = np.zeros_like(human)
        scores[present] = source.system_scores(totals.swapaxes(0, 1)[present])
        samples.append(np.asarray(statistic(human, scores, systems * present)))
    return np.stack(samples)


def _resampled_human(
    data: RankedSystems, counts: FloatArray
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Which systems have rows in each resample (R, S), and their human scores by these.

    Human scores of rated systems do not depend on the segments.
    """
    values = np.ones(len(data.segments)) if data.ratings is None else data.ratings
    columns = np.column_stack([values, np.ones_like(values)])
    sums, totals = data.sums(columns, counts).T
    present = totals > 0
    if data.ratings is None:
        return present, np.broadcast_to(data.human, present.shape).copy()
    return present, np.divide(sums, totals, out=np.zeros_like(sums), where=present)


def _differences(
    data: RankedSystems, statistic: Statistic, protocol: Protocol
) -> Differences | None:
    if protocol.test in {"none", "williams"}:
        return None
    if protocol.test == "systems":
        units = np.arange(len(data.human))
        return general_differences(
            data.human, data.scores, units, statistic, protocol.swap_count, protocol.seed
        )
    segment_scores = _means_only(data)
    rows = data.system_codes
    units = swap_units(str(protocol.test), data.segments, rows, len(rows))
    return system_differences(
        data.human,
        segment_scores,
        rows,
        units,
        statistic,
        protocol.swap_count,
        protocol.seed,
    )


def _means_only(data: RankedSystems) -> FloatArray:
    """Segment scores (K, N), if every metric's system score is the mean of them."""
    scores = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None or not source.is_mean:
            raise AdequaError(
                f"The system score of {source.name} is not the mean of its segment scores, so that "
                "segments cannot be swapped between metrics; use --test systems."
            )
        scores.append(source.segment_scores(statistics))
    return np.stack(scores)


def _soft(data: RankedSystems, protocol: Protocol) -> PairAgreement:
    """Soft pairwise accuracy, from the segments that all systems share."""
    pairs = list(combinations(range(len(data.human)), 2))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    shared = _shared(data)
    matrices = [
        _probabilities(values, data, shared, protocol.seed)
        for values in (_require_ratings(data), *_segment_scores(data))
    ]
    human, *metrics = matrices
    # Both orders of a pair: where a resample ties two systems, one order alone would depend on
    # how systems are listed.
    apart = [np.abs(human - metric) for metric in metrics]
    agreement = np.array([1 - (d[first, second] + d[second, first]) / 2 for d in apart])
    samples = np.empty((len(metrics), 0))
    if protocol.over == "systems":
        counts = bootstrap_counts(len(data.human), protocol.resamples, protocol.seed)
        weights = counts[:, first] * counts[:, second]
        samples = np.asarray(ratio(agreement @ weights.T, weights.sum(axis=1)))
    return PairAgreement(
        name=data.name,
        items=len(data.human),
        values=np.array([soft_pairwise_accuracy(human, metric) for metric in metrics]),
        samples=samples,
        differences=None
        if protocol.test == "none"
        else ratio_differences(
            agreement, np.ones_like(agreement), protocol.swap_count, protocol.seed
        ),
        reasons=("there is only one system",) * len(metrics),
        notes=_unshared_note(data, shared),
    )


def _require_ratings(data: RankedSystems) -> FloatArray:
    if data.ratings is None:
        raise AdequaError(f"{data.name}: soft pairwise accuracy needs ratings of segments.")
    return data.ratings


def _segment_scores(data: RankedSystems) -> Sequence[FloatArray]:
    scores = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None:
            raise AdequaError(f"{source.name} has no segment scores, which spa needs.")
        scores.append(source.segment_scores(statistics))
    return scores


def _shared(data: RankedSystems) -> IntArray:
    """The segments that every system has."""
    distinct = np.unique(np.column_stack([data.system_codes, data.segments]), axis=0)
    shared = np.flatnonzero(np.bincount(distinct[:, 1]) == len(data.human))
    if not len(shared):
        raise AdequaError(f"{data.name}: the systems share no segment, which spa needs.")
    return shared


def _probabilities(
    values: FloatArray, data: RankedSystems, shared: IntArray, seed: int
) -> FloatArray:
    """How sure a test on segments is that one system is better than another, for all pairs."""
    shape = (len(data.human), int(data.segments.max()) + 1)
    cells = data.system_codes * shape[1] + data.segments
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)[:, shared]
    sums = np.bincount(cells, values, minlength=shape[0] * shape[1]).reshape(shape)[:, shared]
    return np.asarray(better_probabilities(sums / counts, _SPA_RESAMPLES, seed))


def _unshared_note(data: RankedSystems, shared: IntArray) -> tuple[str, ...]:
    total = len(np.unique(data.segments))
    if len(shared) == total:
        return ()
    return (
        f"{data.name}: spa uses the {len(shared):,} of {total:,} segments that all systems have.",
    )
