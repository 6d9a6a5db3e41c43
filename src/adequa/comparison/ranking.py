"""Rank systems by decisions between their outputs of every segment.

On each segment one of two systems wins: the one that is more likely the better, or neither. The
expected wins of a system are the fraction of such decisions that it wins, over all other systems
and all segments (Koehn, 2012, Simulating Human Judgment in Machine Translation Evaluation
Campaigns), the official score of the WMT13 translation task. WMT leaves ties out; here a tie is
half a win. Bradley-Terry strengths are computed from the same decisions. Intervals come from a
bootstrap of segments.

Ranks mean what they mean in `compare`: the same test (approximate randomisation of two systems'
outputs, here of their wins on each segment), the same correction (Holm) and the same clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from adequa.agreement.protocol import settings_or_default
from adequa.comparison.compare import Systems, check_same_segments, segments_from_lists
from adequa.comparison.significance import adjust_pairs, significance_ranks
from adequa.errors import AdequaError
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage, target_language
from adequa.learned.pairwise.data import UniqueTexts
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.base import ComputeStatistics, Metric, batched_statistics, warning_notes
from adequa.metrics.language import identical_outputs, system_notes, warn_of_languages
from adequa.metrics.registry import load_metric
from adequa.pretrained import ranker_folder
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, ReferenceLayout, Segments
from adequa.statistics.paired import Done, randomisation
from adequa.statistics.resampling import bootstrap_chunks, interval
from adequa.statistics.settings import INTERVALS_AND_RANKS, ComparisonSettings
from adequa.statistics.standings import bradley_terry
from adequa.tables import MISSING, WARNING, Column, LazyRows, Result, Row, Table, plain
from adequa.tables import interval as interval_text

TIE = 0.5
MIN_SYSTEMS = 2
_COPIES = 4  # of a resample's wins that are in memory at once, at least
_DECIMALS = 3


def rank(
    systems: Systems,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    sources: Iterable[str] | None = None,
    settings: ComparisonSettings | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> Ranking:
    """Rank systems, given by name with one output per segment.

    `systems` are those of `compare`, also as `Segments`; `references`, `sources`, `layout` and
    `language` are those of `score`. `metric` is a pairwise ranker, or any metric, of which the
    better score wins a segment; by default it is the small ranker that ships with adequa for
    English, and chrF for other languages.

    >>> systems = {"old": ["a cat", "dogs", "x"], "new": ["the cat", "a dog", "one cow"]}
    >>> ranking = rank(systems, ["the cat", "a dog", "a cow"], metric="chrf")
    >>> ranking.systems, [round(wins.value, 2) for wins in ranking.expected_wins], ranking.ranks
    (('new', 'old'), [1.0, 0.0], (1, 1))
    """
    segments = segments_from_lists(systems, references, sources, layout)
    texts = chain.from_iterable(each.target_texts for each in list(segments.values())[:1])
    target = target_language(language, texts)
    chosen = load_metric(default_ranker(target) if metric is None else metric)
    ranking = rank_segments(segments, chosen, settings, language=target)
    warn_of_languages([ranking.warning], ranking.notes)
    return ranking


def default_ranker(target: TargetLanguage) -> str:
    """What ranks systems where no metric is named: the ranker that ships, or chrF."""
    return ranker_folder() if target.code in {None, "en"} else "chrf"


def rank_segments(
    systems: Mapping[str, Segments],
    metric: Metric,
    settings: ComparisonSettings | None = None,
    progress: Progress = NO_PROGRESS,
    *,
    language: TargetLanguage = UNKNOWN_LANGUAGE,
) -> Ranking:
    """Rank systems by their segments, which have the same references and sources."""
    metric = metric.for_language(language.code)
    wins = win_probabilities(metric, systems, progress)
    first = next(iter(systems.values()))
    has_sources = first.sources is not None
    signature = str(metric.segment_signature(first.reference_count, sources=has_sources))
    notes = chain.from_iterable(
        system_notes(
            name,
            segments,
            language,
            identical=identical_outputs(segments),
            count=len(segments),
        )
        for name, segments in systems.items()
    )
    return replace(
        rank_by_wins(list(systems), wins, settings, signature=signature),
        language=language,
        warning=metric.language_warning(language),
        notes=tuple(notes),
    )


# Results


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
    """Systems from the best to the worst."""

    systems: tuple[str, ...]
    ranks: tuple[int, ...]
    # Fraction of decisions won, over all other systems and all segments; a tie counts half.
    expected_wins: tuple[Estimate, ...]
    strengths: tuple[Estimate, ...]  # Bradley-Terry
    # Mean probability that the system of a row is better than that of a column on a segment.
    probabilities: FloatArray
    # Of each segment and system: the mean probability of a win against the others.
    segments: FloatArray
    settings: ComparisonSettings
    signature: str = ""
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations
    warning: str | None = None  # why the ranks mean little for the target language
    notes: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """The systems in order, and how likely each is better than each other one."""
        interval_heading = f"{100 * self.settings.confidence:g}% interval"
        columns = (
            Column("rank", align="right"),
            Column("system"),
            Column("expected wins", align="right"),
            Column("expected wins interval", heading=interval_heading, align="right"),
            Column("Bradley-Terry", align="right"),
            Column("Bradley-Terry interval", heading=interval_heading, align="right"),
        )
        mark = "" if self.warning is None else WARNING
        rows = [
            (str(place), system, *_estimate_cells(wins, mark), *_estimate_cells(strength, mark))
            for place, system, wins, strength in self._standings()
        ]
        notes = warning_notes([self.warning])
        return Table(columns, rows, notes=notes), self._probability_table()

    def _probability_table(self) -> Table:
        settings = self.settings
        rows = [
            [
                system,
                *(
                    MISSING if row == column else f"{value:.{_DECIMALS}f}"
                    for column, value in enumerate(self.probabilities[row].tolist())
                ),
            ]
            for row, system in enumerate(self.systems)
        ]
        return Table(
            (Column("system", heading=""), *(Column(name, align="right") for name in self.systems)),
            rows,
            "Mean probability that the system of a row is better than that of a column:",
            (
                "expected wins: fraction of segments on which the system is judged better than "
                "another system, over all other systems; a tie counts half",
                f"rank: {settings.meaning_of_ranks} (approximate randomisation of expected wins, "
                f"{settings.swap_count:,} swaps, Holm's correction, p ≤ {settings.alpha:g})",
                f"intervals: of each system by itself, {settings.resamples:,} resamples of "
                f"segments; {INTERVALS_AND_RANKS}",
                self.signature,
            ),
        )

    def long_table(self) -> Table:
        """A row for each system."""
        names = ("expected_wins", "strength")
        columns = (
            Column("rank", "integer"),
            Column("system"),
            *(Column(f"{name}{end}", "number") for name in names for end in ("", "_low", "_high")),
        )
        rows = [
            (place, system, wins.value, wins.low, wins.high, strong.value, strong.low, strong.high)
            for place, system, wins, strong in self._standings()
        ]
        return Table(columns, rows)

    def by_segment(self) -> SegmentRanking:
        """The score of every segment: the mean probability of a win against the other systems."""
        return SegmentRanking(self)

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        """Everything, ready for JSON; `segments` adds the scores of segments."""
        return {
            "signature": self.signature,
            "language": self.language.to_dict(),
            **({} if self.warning is None else {"warning": self.warning}),
            "confidence": self.settings.confidence,
            "systems": [self._system_dict(row, segments) for row in range(len(self.systems))],
        }

    def _system_dict(self, row: int, segments: bool) -> dict[str, Any]:
        others = enumerate(zip(self.systems, self.probabilities[row].tolist(), strict=True))
        content: dict[str, Any] = {
            "rank": self.ranks[row],
            "system": self.systems[row],
            "expected_wins": plain(self.expected_wins[row]),
            "strength": plain(self.strengths[row]),
            "better_than": {name: value for other, (name, value) in others if other != row},
        }
        if segments:
            content["segments"] = self.segments[:, row].tolist()
        return content

    def _standings(self) -> Iterator[tuple[int, str, Estimate, Estimate]]:
        yield from zip(self.ranks, self.systems, self.expected_wins, self.strengths, strict=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentRanking(Result):
    """The scores of segments in a ranking."""

    ranking: Ranking

    def tables(self) -> tuple[Table, ...]:
        """A row for each segment, a column for each system."""
        systems = (Column(name, "number", decimals=_DECIMALS) for name in self.ranking.systems)
        rows = [[row, *scores] for row, scores in enumerate(self.ranking.segments.tolist(), 1)]
        return (
            Table((Column("segment", "integer"), *systems), rows, notes=(self.ranking.signature,)),
        )

    def long_table(self) -> Table:
        """A row for each system and segment, as in score files."""

        def rows() -> Iterator[Row]:
            for index, system in enumerate(self.ranking.systems):
                for number, score in enumerate(self.ranking.segments[:, index].tolist(), 1):
                    yield system, number, score

        columns = (Column("system"), Column("segment", "integer"), Column("score", "number"))
        return Table(columns, LazyRows(rows))

    def to_dict(self) -> dict[str, Any]:
        """The ranking with the scores of segments."""
        return self.ranking.to_dict(segments=True)


def _estimate_cells(estimate: Estimate, mark: str) -> tuple[str, str]:
    return (
        f"{estimate.value:.{_DECIMALS}f}{mark}",
        interval_text(estimate.low, estimate.high, _DECIMALS),
    )


# Decisions on segments


def win_probabilities(
    metric: Metric,
    systems: Mapping[str, Segments],
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> FloatArray:
    """Probabilities that an output beats another one: (segments, systems, systems).

    All systems have the same segments. The inputs of a ranker are computed once an output, and all
    pairs are decided in one batch. Of any other metric the better score wins; `compute` may score
    elsewhere, such as in the queue of a server.
    """
    if len(systems) < MIN_SYSTEMS:
        raise AdequaError("A ranking needs at least two systems; add another one.")
    check_same_segments(systems)
    outputs = list(systems.values())
    count, rows = len(outputs), len(outputs[0])
    if not rows:
        raise AdequaError("There are no segments to rank systems by.")
    metric.check_reads(outputs[0])
    wins = np.full((rows, count, count), TIE)
    pairs = list(combinations(range(count), 2))
    if isinstance(metric, PairwiseRanker):
        decisions = _ranker_decisions(metric, outputs, pairs, progress)
    else:
        progress.stage(f"Scoring with {metric.name}")
        progress.expect(count * rows)
        decisions = _score_decisions(metric, outputs, pairs, compute, progress)
    for (one, other), probability in zip(pairs, decisions, strict=True):
        wins[:, one, other], wins[:, other, one] = probability, 1 - probability
    return wins


def _ranker_decisions(
    metric: PairwiseRanker,
    outputs: Sequence[Segments],
    pairs: Sequence[tuple[int, int]],
    progress: Progress,
) -> FloatArray:
    metric.check_fitted()
    parts = [(output, [""] * len(output)) for output in outputs]
    texts, rows = UniqueTexts.collect(parts, metric.columns)
    first = np.concatenate([rows[one] for one, _ in pairs])
    second = np.concatenate([rows[other] for _, other in pairs])
    return metric.decide_rows(texts, first, second, progress).reshape(len(pairs), -1)


def _score_decisions(
    metric: Metric,
    outputs: Sequence[Segments],
    pairs: Sequence[tuple[int, int]],
    compute: ComputeStatistics,
    progress: Progress,
) -> FloatArray:
    sign = 1.0 if metric.higher_is_better else -1.0
    statistics = [
        batched_statistics(metric, output, progress.texts_scored, compute) for output in outputs
    ]
    scores = [sign * metric.segment_scores(rows) for rows in statistics]
    return np.stack([(1 + np.sign(scores[one] - scores[other])) / 2 for one, other in pairs])


# Statistics


def rank_by_wins(
    systems: Sequence[str],
    wins: FloatArray,
    settings: ComparisonSettings | None = None,
    *,
    signature: str = "",
    done: Done = lambda *_: None,
) -> Ranking:
    """The ranking by probabilities of winning, shape (segments, systems, systems)."""
    count = len(systems)
    settings = settings_or_default(ComparisonSettings, settings, "settings")
    settings = settings.for_systems(count)
    decisions = (1 + np.sign(wins - TIE)) / 2
    expected, strengths = _estimates(decisions, settings, done)
    by_wins = significance_ranks(
        np.array([each.value for each in expected]),
        _p_values(_against_others(decisions), settings, done),
        settings,
    )
    keys = [(by_wins[row], -expected[row].value, -strengths[row].value) for row in range(count)]
    order = sorted(range(count), key=lambda row: keys[row])
    return Ranking(
        systems=tuple(systems[row] for row in order),
        ranks=tuple(by_wins[order].tolist()),
        expected_wins=tuple(expected[row] for row in order),
        strengths=tuple(strengths[row] for row in order),
        probabilities=wins.mean(axis=0)[np.ix_(order, order)],
        segments=_against_others(wins)[:, order],
        settings=settings,
        signature=signature,
    )


def _against_others(wins: FloatArray) -> FloatArray:
    """The mean over the other systems: (..., systems) from (..., systems, systems)."""
    return np.asarray((wins.sum(axis=-1) - TIE) / (wins.shape[-1] - 1))


def _p_values(wins: FloatArray, settings: ComparisonSettings, done: Done) -> FloatArray:
    """Adjusted p-values of all pairs of systems, from expected wins (segments, systems).

    Exchanging the outputs of two systems on a segment exchanges their expected wins there.
    """
    (tests,) = randomisation(
        [wins.T[:, :, np.newaxis]],
        [lambda totals: totals[:, 0] / len(wins)],
        settings.swap_count,
        settings.seed,
        ties=not settings.like_sacrebleu,
        done=done,
    )
    return adjust_pairs(tests.two_sided)


def _estimates(
    decisions: FloatArray, settings: ComparisonSettings, done: Done
) -> tuple[list[Estimate], list[Estimate]]:
    """Expected wins and Bradley-Terry strengths with intervals by a bootstrap of segments."""
    segments, count, _ = decisions.shape
    flat = decisions.reshape(segments, -1)
    resampled, finished = [], 0
    for weights in bootstrap_chunks(
        segments, settings.resamples, settings.seed, per_resample=_COPIES * count**2
    ):
        done(finished, settings.resamples)
        fractions = (weights @ flat / segments).reshape(-1, count, count)
        resampled.append((_against_others(fractions), bradley_terry(fractions * segments)))
        finished += len(weights)
    done(settings.resamples, settings.resamples)
    observed = decisions.mean(axis=0)
    values = (_against_others(observed), bradley_terry(observed * segments))
    expected, strengths = (
        [
            Estimate(float(value), bounds.low, bounds.high)
            for value, bounds in zip(
                of_systems,
                (interval(column, settings.confidence) for column in np.concatenate(samples).T),
                strict=True,
            )
        ]
        for of_systems, samples in zip(values, zip(*resampled, strict=True), strict=True)
    )
    return expected, strengths
