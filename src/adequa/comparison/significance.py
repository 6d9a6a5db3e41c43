"""How sure a difference is: intervals, tests between all pairs of systems, ranks.

And whether people would agree: how often they preferred the better of two systems whose scores
differ by as much. `adequa differences DATA -m METRIC --level system --format json` measures that; a
packed metric may have the file beside its weights, as `differences.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adequa.comparison.results import (
    NAN,
    AgreementBin,
    MetricComparison,
    SystemPair,
    segment_gains,
)
from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.segments import ENVIRONMENT_FIELDS, FloatArray, IntArray
from adequa.statistics.paired import (
    Done,
    Swapped,
    bootstrap_p_values,
    bootstrap_scores,
    randomisation,
    score_scale,
)
from adequa.statistics.resampling import interval
from adequa.statistics.settings import ComparisonSettings
from adequa.statistics.significance import holm, ranks

if TYPE_CHECKING:
    from adequa.comparison.compare import MetricStatistics

AGREEMENT_FILE = "differences.json"
_FILE_DECIMALS = 4  # shown of scores from a file
# Fields of a signature that do not change what a difference means.
_IGNORED_FIELDS = {"nrefs", *ENVIRONMENT_FIELDS}
_ROUNDING = 1e-9


class SignedTexts(NamedTuple):
    """What signatures say of the texts that were compared."""

    reference_count: int | None  # None where segments differ in it
    sources: bool


def compare_metrics(
    statistics: Sequence[MetricStatistics],
    settings: ComparisonSettings,
    agreement: Sequence[AgreementBins | None],
    texts: SignedTexts,
    done: Done,
) -> tuple[MetricComparison, ...]:
    """Intervals, tests and ranks of every metric, all from the same resamples."""
    arrays = [each.statistics for each in statistics if each.statistics is not None]
    resampled: Iterator[tuple[FloatArray, Swapped]] = iter(())
    if arrays:
        functions = [each.score for each in statistics if each.statistics is not None]
        seed, ties = settings.seed, not settings.like_sacrebleu
        scores = bootstrap_scores(arrays, functions, settings.resamples, seed, done=done)
        swaps = randomisation(arrays, functions, settings.swap_count, seed, ties=ties, done=done)
        resampled = zip(scores, swaps, strict=True)
    return tuple(
        _metric_comparison(
            each,
            None if each.statistics is None else _Tests(each, settings, *next(resampled)),
            settings,
            bins,
            texts,
        )
        for each, bins in zip(statistics, agreement, strict=True)
    )


class _Tests:
    """Results of resampling under one metric; higher is better."""

    def __init__(
        self,
        metric: MetricStatistics,
        settings: ComparisonSettings,
        resampled: FloatArray,
        swapped: Swapped,
    ) -> None:
        if metric.statistics is None or metric.segments is None:
            raise ValueError("tests need the statistics of segments")
        self.sign, self.settings = metric.source.sign, settings
        self.statistics, self.segments = metric.statistics, metric.segments
        self.resampled = resampled  # (systems, resamples)
        self.p, self.p_adjusted = swapped.two_sided, adjust_pairs(swapped.two_sided)
        self.p_drop = swapped.leading
        self.p_bootstrap = bootstrap_p_values(
            metric.systems,
            resampled,
            scale=score_scale(metric.statistics, metric.score),
            ties=not settings.like_sacrebleu,
        )
        self.p_bootstrap_adjusted = adjust_pairs(self.p_bootstrap)

    def intervals(self) -> tuple[FloatArray, FloatArray]:
        """Intervals of the systems' scores, in the metric's own direction."""
        bounds = [interval(self.sign * row, self.settings.confidence) for row in self.resampled]
        return np.array([each.low for each in bounds]), np.array([each.high for each in bounds])

    def pair(self, first: int, second: int) -> dict[str, float]:
        """The numbers of a pair that need segments."""
        differences = self.sign * (self.resampled[second] - self.resampled[first])
        bounds = interval(differences, self.settings.confidence)
        gains = segment_gains(self.segments, first, second)
        differing = (self.statistics[first] != self.statistics[second]).any(-1)
        index = (first, second)
        return {
            "low": bounds.low,
            "high": bounds.high,
            "p": float(self.p[index]),
            "p_adjusted": float(self.p_adjusted[index]),
            "p_drop": float(self.p_drop[index]),  # the first leads
            "p_bootstrap": float(self.p_bootstrap[index]),
            "p_bootstrap_adjusted": float(self.p_bootstrap_adjusted[index]),
            "effect": effect_size(gains),
            "wins": int((gains > 0).sum()),
            "ties": int((gains == 0).sum()),
            "losses": int((gains < 0).sum()),
            "differing": int(differing.sum()),
        }


def effect_size(gains: FloatArray) -> float:
    """The mean of the gains over their standard deviation (Cohen's d of paired samples).

    0 where nothing differs, and infinite where all segments gain the same.

    >>> round(effect_size(np.array([1.0, 2.0, 3.0])), 3), effect_size(np.zeros(3))
    (2.0, 0.0)
    """
    mean = float(gains.mean())
    if np.ptp(gains) == 0:
        return float(np.copysign(np.inf, mean)) if mean else 0.0
    return mean / float(gains.std(ddof=1))


def adjust_pairs(p: FloatArray) -> FloatArray:
    """Holm's correction over the pairs of a symmetric matrix of p-values.

    >>> adjust_pairs(np.array([[1.0, 0.01, 0.2], [0.01, 1.0, 0.03], [0.2, 0.03, 1.0]]))[0]
    array([1.  , 0.03, 0.2 ])
    """
    pairs = np.triu_indices(len(p), k=1)
    adjusted = np.ones_like(p)
    adjusted[pairs] = holm(p[pairs])
    return np.asarray(np.minimum(adjusted, adjusted.T))


def significance_ranks(
    scores: FloatArray, p_adjusted: FloatArray, settings: ComparisonSettings
) -> IntArray:
    """Ranks of systems by scores, higher is better, from a symmetric matrix of adjusted p-values.

    Systems that do not differ significantly tie, as `statistics.significance.ranks` explains.
    """
    leads = scores[:, np.newaxis] > scores
    return ranks(scores, np.where(leads, p_adjusted, 1.0), settings.alpha, settings.clusters)


def _metric_comparison(
    metric: MetricStatistics,
    tests: _Tests | None,
    settings: ComparisonSettings,
    agreement: AgreementBins | None,
    texts: SignedTexts,
) -> MetricComparison:
    source, systems = metric.source, metric.systems
    count = len(systems)
    missing = np.full(count, NAN)
    low, high = (missing, missing) if tests is None else tests.intervals()
    p_adjusted = np.ones((count, count)) if tests is None else tests.p_adjusted
    pairs = tuple(
        _system_pair(metric, tests, settings, agreement, pair)
        for pair in combinations(range(count), 2)
    )
    return MetricComparison(
        name=source.name,
        signature=source.signature(texts.reference_count, "system", sources=texts.sources),
        segment_signature=source.signature(texts.reference_count, sources=texts.sources),
        higher_is_better=source.higher_is_better,
        decimals=_FILE_DECIMALS if source.metric is None else source.metric.decimals,
        scores=source.sign * systems,
        low=low,
        high=high,
        ranks=significance_ranks(systems, p_adjusted, settings),
        pairs=pairs,
        segments=None if tests is None else source.sign * tests.segments,
    )


def _system_pair(
    metric: MetricStatistics,
    tests: _Tests | None,
    settings: ComparisonSettings,
    agreement: AgreementBins | None,
    pair: tuple[int, int],
) -> SystemPair:
    gain = float(metric.systems[pair[1]] - metric.systems[pair[0]])
    numbers = {} if tests is None else tests.pair(*pair)
    return SystemPair(
        *pair,
        difference=metric.source.sign * gain + 0.0,  # and never -0
        gain=gain,
        **numbers,  # type: ignore[arg-type]  # counts are whole numbers already
        significant=bool(gain) and numbers.get("p_adjusted", 1.0) <= settings.alpha,
        people=None if agreement is None else agreement.bin_of(gain),
    )


# The smallest p-values that tests can have


def smallest_p(differing: Sequence[int], *, sides: int) -> FloatArray:
    """The smallest p-values that tests on so many differing segments can have.

    Of n segments that differ, all are swapped, or none, in 2 of 2^n cases, and both are as extreme
    as what was observed: a two-sided p-value is at least 2^(1 - n), and a one-sided one 2^-n.
    Holm's correction of these bounds bounds the corrected values.

    >>> smallest_p([0, 1, 5], sides=2), smallest_p([5], sides=1)
    (array([1.    , 1.    , 0.0625]), array([0.03125]))
    """
    return np.minimum(sides * 0.5 ** np.asarray(differing, dtype=np.float64), 1.0)


def too_few_differences(
    metrics: Sequence[MetricComparison], names: Sequence[str], settings: ComparisonSettings
) -> list[str]:
    """A note for each metric under which pairs of systems differ in too few segments."""
    if settings.like_sacrebleu:
        return []  # resamples equal to the observed difference do not count there
    notes = []
    for metric in metrics:
        counts = [pair.differing for pair in metric.pairs]
        bounds = holm(smallest_p(counts, sides=2))
        untestable = [
            pair
            for pair, bound in zip(metric.pairs, bounds.tolist(), strict=True)
            if pair.differing and bound > settings.alpha
        ]
        if not untestable:
            continue
        first = untestable[0]
        others = f" ({len(untestable) - 1:,} more pairs are alike)" if untestable[1:] else ""
        notes.append(
            f"{metric.name} differs between {names[first.first]} and {names[first.second]} in "
            f"{count_segments(first.differing)}{others}, too few for any result to be significant "
            f"at {settings.alpha:g}."
        )
    return notes


def count_segments(count: int) -> str:
    """A number of segments in words.

    >>> count_segments(1), count_segments(2000)
    ('1 segment', '2,000 segments')
    """
    return f"{count:,} segment{'' if count == 1 else 's'}"


# Whether people agree


@dataclass(frozen=True, slots=True)
class AgreementBins:
    """How often people agreed with differences of a metric, by their size."""

    signature: str
    bins: tuple[AgreementBin, ...]

    def bin_of(self, difference: float) -> AgreementBin | None:
        """The bin of a difference, whatever its sign; None where nobody judged such pairs."""
        size = abs(difference)
        for each in self.bins:
            if each.low * (1 - _ROUNDING) <= size < each.high and each.pairs and size > 0:
                return each
        return None

    def fits(self, metric: Metric) -> bool:
        """Whether this metric was measured, with the same settings and weights."""
        return _lasting_fields(self.signature) == _lasting_fields(str(metric.signature(1)))


def shipped_agreement(metric: Metric) -> AgreementBins | None:
    """Measurements that lie beside the weights of a packed metric, if any fit it."""
    # Only packed metrics have a folder; they need not be imported to learn that one is not.
    folder = getattr(metric, "folder", None)
    if folder is None or not (Path(folder) / AGREEMENT_FILE).is_file():
        return None
    measured = read_agreement(Path(folder) / AGREEMENT_FILE)
    return next((each for each in measured if each.fits(metric)), None)


def read_agreement(path: Path) -> tuple[AgreementBins, ...]:
    """Bins from a file that `adequa differences --level system --format json` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        level, data = content["level"], " and ".join(content["datasets"])
        measured = tuple(
            AgreementBins(str(each["signature"]), tuple(_bin(part, data) for part in each["bins"]))
            for each in content["metrics"]
        )
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise AdequaError(
            f"{path} does not hold what `adequa differences --level system --format json` writes."
        ) from error
    if level != "system":
        raise AdequaError(
            f"{path} was measured on single outputs; make it again with --level system."
        )
    return measured


def _bin(content: Mapping[str, Any], data: str) -> AgreementBin:
    def number(name: str, missing: float = NAN) -> float:
        return missing if content[name] is None else float(content[name])

    return AgreementBin(
        low=number("from"),
        high=number("to", inf),
        pairs=int(content["pairs"]),
        share=number("share"),
        share_low=number("share_low"),
        share_high=number("share_high"),
        data=data,
    )


def _lasting_fields(signature: str) -> list[str]:
    name, *fields = signature.split("|")
    return [name, *(field for field in fields if field.partition(":")[0] not in _IGNORED_FIELDS)]
