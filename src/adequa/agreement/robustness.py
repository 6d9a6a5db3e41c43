"""Robustness of metrics: how often does one score a translation above its damaged self?

A metric wins a pair where it scores the undamaged text higher; a tie is missed, and counted apart.
Shares of several kinds of damage are the plain mean over the kinds, so that each counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.agreement.damaged_pairs import DamagedPairs, DamageSettings, damaged_pairs
from adequa.agreement.results import MetricInfo
from adequa.agreement.sources import Source, Specification, Texts, sources, text_statistics
from adequa.damage.base import Perturbation
from adequa.errors import AdequaError
from adequa.judgements import all_rows
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray, Segments, concatenate
from adequa.statistics.significance import mean_share_interval

BoolArray: TypeAlias = npt.NDArray[np.bool_]

# Scores that differ by less than this share of the range of all scores tie: what a batch or a
# processor does to the last digits is no judgement.
TIED = 1e-5


@dataclass(frozen=True, slots=True)
class Figure:
    """How often a metric scored the text above its damaged self."""

    pairs: int
    won: int
    tied: int
    share: float  # the mean over kinds; of one kind, or of all pairs alike, won / pairs
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A kind of damage, or several together, with a figure for each metric."""

    name: str
    kinds: tuple[Perturbation, ...]
    figures: tuple[Figure, ...]

    @property
    def pairs(self) -> int:
        """Pairs of a text and its damaged self."""
        return self.figures[0].pairs


@dataclass(frozen=True, slots=True)
class Example:
    """A text and its damaged self, with what the metrics say of both."""

    kind: str
    severity: float
    reference: str
    text: str
    damaged: str
    scores: tuple[tuple[float, float], ...]  # of each metric, as it gives them: text, damaged
    won: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Robustness:
    """Shares won by metrics: in all, by group, by severity and by kind."""

    dataset: str
    settings: DamageSettings
    confidence: float
    texts: int  # that could be damaged
    metrics: tuple[MetricInfo, ...]
    overall: Line
    critical: Line | None  # kinds that a metric must not miss; None where there are none
    held_out: Line | None  # kinds that are never trained on
    pooled: Line  # all pairs alike
    groups: tuple[Line, ...]
    severities: tuple[Line, ...]  # of the kinds whose damage may be milder or graver
    kinds: tuple[Line, ...]
    examples: tuple[Example, ...] = field(repr=False)  # all pairs, by kind, missed ones first
    notes: tuple[str, ...] = ()

    @property
    def summaries(self) -> tuple[Line, ...]:
        """The lines over many kinds that there are."""
        found = (self.overall, self.critical, self.held_out, self.pooled)
        return tuple(line for line in found if line is not None)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """What every metric made of every pair; `won` and `tied` are of shape (metrics, pairs)."""

    kinds: tuple[Perturbation, ...]
    codes: IntArray  # of each pair, its kind
    severities: FloatArray
    won: BoolArray
    tied: BoolArray
    confidence: float

    def line(self, name: str, chosen: BoolArray, *, pooled: bool = False) -> Line:
        """Figures over the chosen pairs, of which there is one at least."""
        there = np.unique(self.codes[chosen])
        # All pairs alike are counted as if they were of one kind.
        codes = np.searchsorted(there, self.codes[chosen]) * (not pooled)
        rows = zip(self.won[:, chosen], self.tied[:, chosen], strict=True)
        figures = tuple(_figure(codes, won, tied, self.confidence) for won, tied in rows)
        return Line(name, tuple(self.kinds[code] for code in there), figures)

    def of_kinds(self, name: str, chosen: Sequence[bool]) -> Line | None:
        """Figures over the pairs of the chosen kinds, where there are any."""
        return self.line(name, np.array(chosen)[self.codes]) if any(chosen) else None

    def by_group(self) -> tuple[Line, ...]:
        """Figures for each group of kinds."""
        groups = np.array([kind.group for kind in self.kinds])[self.codes]
        names = dict.fromkeys(kind.group for kind in self.kinds)
        return tuple(self.line(name, groups == name) for name in names)

    def by_severity(self) -> tuple[Line, ...]:
        """Figures for each severity, of the kinds for which it means something."""
        graded = np.array([bool(kind.severity_meaning) for kind in self.kinds])[self.codes]
        severities = np.unique(self.severities[graded]).tolist()
        return tuple(
            self.line(f"{severity:g}", graded & (self.severities == severity))
            for severity in severities
        )

    def by_kind(self) -> tuple[Line, ...]:
        """Figures for each kind."""
        return tuple(
            self.line(kind.name, self.codes == code) for code, kind in enumerate(self.kinds)
        )


def robustness(
    texts: Segments,
    metrics: Sequence[Specification],
    settings: DamageSettings | None = None,
    *,
    confidence: float = 0.95,
    dataset: str = "",
    progress: Progress = NO_PROGRESS,
) -> Robustness:
    """How often metrics score good translations above their damaged selves.

    `metrics` are metrics with their settings, as on the command line, or objects. Translations that
    equal a reference are left out: nothing is easier than to see damage to a perfect text.

    >>> texts = Segments(("It cost 300 euros.",), (("It has cost 300 euros.",),))
    >>> asked = DamageSettings(kinds=("empty", "number_changed"))
    >>> found = robustness(texts, ["chrf"], asked)
    >>> found.overall.figures[0].won, found.overall.pairs
    (2, 2)
    """
    asked = settings or DamageSettings()
    if not 0 < confidence < 1:
        raise AdequaError(f"The confidence lies between 0 and 1, not at {confidence:g}.")
    found = _metrics(metrics)
    progress.stage("Damaging")
    pairs = damaged_pairs(texts, asked)
    scores = np.stack([_scores(source, pairs, progress) for source in found])
    outcomes = _outcomes(pairs, scores, confidence)
    every = np.full(len(pairs), True)
    kinds = outcomes.kinds
    count = texts.reference_count
    return Robustness(
        dataset=dataset,
        settings=asked,
        confidence=confidence,
        texts=pairs.texts,
        metrics=tuple(MetricInfo(source.name, source.signature(count)) for source in found),
        overall=outcomes.line("overall", every),
        critical=outcomes.of_kinds("critical", [kind.critical for kind in kinds]),
        held_out=outcomes.of_kinds("held out", [kind.held_out for kind in kinds]),
        pooled=outcomes.line("all pairs", every, pooled=True),
        groups=outcomes.by_group(),
        severities=outcomes.by_severity(),
        kinds=outcomes.by_kind(),
        examples=_examples(pairs, scores, outcomes, found),
        notes=(
            *pairs.notes,
            *(note for source in found if source.metric for note in source.metric.remarks()),
        ),
    )


def _metrics(specifications: Sequence[Specification]) -> tuple[Source, ...]:
    found = sources(specifications)
    if not found:
        raise AdequaError("Name at least one metric to test.")
    for source in found:
        if source.metric is None:
            raise AdequaError(
                f"{source.path} holds scores, and damaged texts have none yet; name a metric that "
                "can score them."
            )
    return found


def _scores(source: Source, pairs: DamagedPairs, progress: Progress) -> FloatArray:
    """Scores of the texts and of their damaged selves, (2, pairs), higher is better."""
    segments = concatenate([pairs.before, pairs.after])
    texts = Texts({}, segments, all_rows(len(segments)))
    # As one corpus, in which a text that was damaged in many ways is scored once.
    statistics = text_statistics(source, texts, ("",) * len(segments), progress)
    return source.segment_scores(statistics).reshape(2, -1)


def _outcomes(pairs: DamagedPairs, scores: FloatArray, confidence: float) -> _Outcomes:
    differences = scores[:, 0] - scores[:, 1]
    near = TIED * np.ptp(scores, axis=(1, 2))[:, None]
    kinds = tuple(dict.fromkeys(pairs.kinds))
    codes = {kind: code for code, kind in enumerate(kinds)}
    return _Outcomes(
        kinds=kinds,
        codes=np.array([codes[kind] for kind in pairs.kinds], dtype=np.intp),
        severities=pairs.severities,
        won=differences > near,
        tied=np.abs(differences) <= near,
        confidence=confidence,
    )


def _figure(codes: IntArray, won: BoolArray, tied: BoolArray, confidence: float) -> Figure:
    """The mean over kinds, which the codes number from 0 without gaps."""
    counts, hits = np.bincount(codes), np.bincount(codes, won).astype(np.intp)
    low, high = mean_share_interval(hits, counts, confidence)
    return Figure(
        pairs=len(won),
        won=int(won.sum()),
        tied=int(tied.sum()),
        share=float((hits / counts).mean()),
        low=low,
        high=high,
    )


def _examples(
    pairs: DamagedPairs, scores: FloatArray, outcomes: _Outcomes, found: Sequence[Source]
) -> tuple[Example, ...]:
    """Every pair, by kind; within a kind those first that most metrics missed."""
    own = scores * np.array([[[source.sign]] for source in found])  # as the metrics give them
    order = np.lexsort((outcomes.won.sum(axis=0), outcomes.codes)).tolist()
    return tuple(
        Example(
            kind=pairs.kinds[row].name,
            severity=float(pairs.severities[row]),
            reference=pairs.before.references[row][0],
            text=pairs.before.hypotheses[row],
            damaged=pairs.after.hypotheses[row],
            scores=tuple((float(before), float(after)) for before, after in own[:, :, row]),
            won=tuple(outcomes.won[:, row].tolist()),
        )
        for row in order
    )
