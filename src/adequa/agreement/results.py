"""Results of an evaluation: agreement of every metric, by language pair and over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.agreement.protocol import Protocol
from adequa.segments import FloatArray
from adequa.statistics.permutation import Differences, average, p_values
from adequa.statistics.preference_tau import PREFERENCE_TAUS
from adequa.statistics.resampling import interval
from adequa.statistics.significance import holm, ranks
from adequa.tables import BEST, MISSING, Cell, Column, Result, Table
from adequa.tables import interval as interval_text

AVERAGE = "average"
POOLED = "pooled"
_DECIMALS = 3
_RULES = {
    "greedy": "metrics of one rank do not differ significantly",
    "separated": "every metric beats all of the ranks below",
}
_TESTS = {
    "both": "PERM-BOTH",
    "inputs": "PERM-INPUTS",
    "systems": "PERM-SYS",
    "pairs": "permutation of pairs",
    "williams": "Williams' test",
}


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric as the table names it, and the line that lets someone else get its scores."""

    name: str
    signature: str


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """K metrics on one language pair: statistics, bootstrap resamples, permutation differences."""

    name: str
    items: int  # ratings, preferences or systems
    values: FloatArray  # (K,)
    samples: FloatArray  # (K, R); no columns where nothing was resampled
    differences: Differences | None = None
    p_values: FloatArray | None = None  # (K, K), of a test that needs no resampling
    thresholds: FloatArray | None = None  # (K,), below which a metric's scores tie
    reasons: tuple[str, ...] = ()  # (K,), why a value is undefined, if it is
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AgreementColumn:
    """One language pair, or all of them: K metrics with intervals, tests and ranks."""

    name: str
    items: int  # ratings, preferences or systems behind it
    values: FloatArray  # (K,)
    low: FloatArray  # (K,), NaN without a bootstrap
    high: FloatArray  # (K,)
    p_values: FloatArray | None = None  # (K, K), one-sided: row better than column
    adjusted: FloatArray | None = None  # (K, K), after Holm's correction
    ranks: npt.NDArray[np.intp] | None = None  # (K,)
    thresholds: FloatArray | None = None  # (K,)
    reasons: tuple[str, ...] = ()  # (K,), why a value is undefined
    undefined_resamples: int = 0  # at most, of those behind the intervals


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """What a plot shows of one language pair: human scores and metrics', or metrics' margins."""

    name: str
    human: FloatArray | None  # (n,); None for preferences
    metrics: FloatArray  # (K, n), scores, or by how much the better one is ahead


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """Agreement of metrics with human judgements, and notes that a reader of it should know."""

    dataset: str
    protocol: Protocol
    selection: str  # what was chosen from the judgements; empty for all of them
    metrics: tuple[MetricInfo, ...]
    columns: tuple[AgreementColumn, ...]
    average: AgreementColumn  # the only column where there is one
    pooled: AgreementColumn | None = None  # of pairwise accuracies; other statistics have none
    points: tuple[Points, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def all_columns(self) -> tuple[AgreementColumn, ...]:
        """Language pairs, and where there are more than one, the average and the pooled value."""
        if len(self.columns) == 1:
            return self.columns
        return (*self.columns, self.average, *([] if self.pooled is None else [self.pooled]))

    @property
    def order(self) -> list[int]:
        """Metrics from the best to the worst on average; undefined ones last, in their order.

        Of equals, the one named first comes first.
        """
        values = self.average.values
        return sorted(range(len(values)), key=lambda k: (np.isnan(values[k]), -values[k]))

    def tables(self) -> tuple[Table, ...]:
        """One row a metric, best first; one column a language pair."""
        columns, cells = [Column("metric")], [[metric.name for metric in self.metrics]]
        if self.average.ranks is not None:
            columns.insert(0, Column("rank"))
            cells.insert(0, [self._rank(k) for k in range(len(self.metrics))])
        for each in self.all_columns:
            columns.append(Column(each.name, "number", _DECIMALS, "higher"))
            cells.append(each.values.tolist())
            if each is self.average and self.protocol.over != "none":
                name = f"{self.protocol.confidence * 100:g}% interval"
                columns.append(Column(name, align="right"))
                bounds = zip(each.low.tolist(), each.high.tolist(), strict=True)
                cells.append([interval_text(low, high, _DECIMALS) for low, high in bounds])
        rows = [[column[k] for column in cells] for k in self.order]
        signatures = (metric.signature for metric in self.metrics)
        return (Table(tuple(columns), rows, self._title(), (*self._legend(), *signatures)),)

    def long_table(self) -> Table:
        """One row a metric and language pair, with the interval and the rank."""
        columns = (
            Column("metric"),
            Column("lp"),
            Column("items", "integer"),
            *(Column(name, "number") for name in ("value", "low", "high")),
            Column("rank", "integer"),
            Column("threshold", "number"),
        )
        rows: list[list[Cell]] = []
        for each in self.all_columns:
            for k in self.order:
                figures = (each.values, each.low, each.high, each.ranks, each.thresholds)
                undefined = isnan(each.values[k])
                numbers = (None if f is None or undefined else f[k].item() for f in figures)
                rows.append([self.metrics[k].name, each.name, each.items, *numbers])
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """Metrics from best to worst, and columns with every figure behind them."""
        return {
            "dataset": self.dataset,
            "protocol": asdict(self.protocol),
            "selection": self.selection,
            "metrics": [asdict(self.metrics[k]) for k in self.order],
            "columns": [self._column_dict(each) for each in self.all_columns],
            "notes": list(self.notes),
        }

    def _column_dict(self, column: AgreementColumn) -> dict[str, Any]:
        figures = []
        for k in self.order:
            undefined = column.ranks is None or isnan(column.values[k])
            figure: dict[str, Any] = {
                "metric": self.metrics[k].name,
                "value": _number(column.values[k]),
                "low": _number(column.low[k]),
                "high": _number(column.high[k]),
                "rank": None if column.ranks is None or undefined else int(column.ranks[k]),
            }
            if column.thresholds is not None:
                figure["threshold"] = _number(column.thresholds[k])
            if column.reasons[k]:
                figure["reason"] = column.reasons[k]
            figures.append(figure)
        return {
            "name": column.name,
            "items": column.items,
            "figures": figures,
            "p_values": _matrix(column.p_values, self.order),
            "adjusted": _matrix(column.adjusted, self.order),
        }

    def _rank(self, metric: int) -> str:
        if self.average.ranks is None or isnan(self.average.values[metric]):
            return MISSING
        return str(self.average.ranks[metric])

    def _title(self) -> str:
        protocol = self.protocol
        items = sum(column.items for column in self.columns)
        how = "" if protocol.average in {None, "pooled"} else f" averaged by {protocol.average}"
        unit = "system" if protocol.level == "system" else "judgement"
        if str(protocol.statistic) in PREFERENCE_TAUS:
            unit = "preference"
        counted = f"{items:,} {unit}{'' if items == 1 else 's'}"
        return f"{self.dataset}: {protocol.statistic}{how}, {counted}"

    def _legend(self) -> Iterator[str]:
        protocol = self.protocol
        of = "" if len(self.columns) == 1 else " of the average"
        if len(self.metrics) > 1:
            yield f"{BEST} best of its column"
        if self.pooled is not None and len(self.columns) > 1:
            yield (
                "average: the plain mean; pooled: over the pairs of systems of all columns together"
            )
        if protocol.over != "none":
            what = "segments and systems" if protocol.over == "both" else protocol.over
            yield f"intervals{of}: bootstrap over {what}, {protocol.resamples:,} resamples"
        if self.average.ranks is not None:
            test = _TESTS[str(protocol.test)]
            swaps = "" if protocol.test == "williams" else f", {protocol.swap_count:,} swaps"
            yield (
                f"ranks{of}: {test}{swaps}, Holm's correction, p ≤ {protocol.alpha:g}; "
                f"{_RULES[protocol.clusters]}"
            )
        if any(column.thresholds is not None for column in self.columns):
            yield from self._thresholds()
        yield "|".join(filter(None, (str(protocol), self.selection)))

    def _thresholds(self) -> Iterator[str]:
        for k in self.order:
            at = ", ".join(
                f"{column.name} {column.thresholds[k]:.4g}"
                for column in self.columns
                if column.thresholds is not None and not isnan(column.thresholds[k])
            )
            yield f"{self.metrics[k].name}: scores tie up to a difference of {at}"


def _number(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _matrix(values: FloatArray | None, order: Sequence[int]) -> list[list[float | None]] | None:
    if values is None:
        return None
    return [[_number(values[a, b]) for b in order] for a in order]


def column(pair: PairAgreement, protocol: Protocol) -> AgreementColumn:
    """A language pair's figures with intervals, p-values and ranks."""
    tested = pair.p_values if pair.differences is None else p_values(pair.differences)
    low, high, undefined = _intervals(pair.samples, protocol)
    return _tested(
        AgreementColumn(
            name=pair.name,
            items=pair.items,
            values=pair.values,
            low=low,
            high=high,
            undefined_resamples=undefined,
            p_values=tested,
            thresholds=pair.thresholds,
            reasons=tuple(
                reason if isnan(value) else ""
                for reason, value in zip(pair.reasons, pair.values, strict=True)
            ),
        ),
        protocol,
    )


def macro_average(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The mean over language pairs; undefined for a metric where one of the pairs is.

    Resamples are averaged draw by draw: language pairs are drawn independently. A test without
    resamples (Williams') has no average.
    """
    differences = [part.differences for part in parts if part.differences is not None]
    tested = p_values(average(differences)) if differences else None
    return _mean(AVERAGE, parts, np.ones(len(parts)), tested, protocol)


def pooled_accuracy(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The accuracy over the pairs of systems of all language pairs together (Kocmi et al. 2021).

    A language pair of S systems has S (S - 1) / 2 of them, and weighs as much in every resample
    too; one of a single system has none, and no accuracy.
    """
    compared = [part for part in parts if part.items > 1]
    if not compared:
        return replace(macro_average(parts, protocol), name=POOLED)
    pairs = np.array([part.items * (part.items - 1) / 2 for part in compared])
    pooled = _mean(POOLED, compared, pairs, _pooled_test(compared, pairs), protocol)
    return replace(pooled, items=sum(part.items for part in parts))


def _pooled_test(parts: Sequence[PairAgreement], pairs: FloatArray) -> FloatArray | None:
    differences = [part.differences for part in parts if part.differences is not None]
    if not differences:
        return None
    weights = pairs / pairs.sum()
    # Added up one by one: all of them, weighted, would be as large as all parts together.
    observed = (w * each.observed for w, each in zip(weights, differences, strict=True))
    resampled = (w * each.resampled for w, each in zip(weights, differences, strict=True))
    return p_values(Differences(reduce(np.add, observed), reduce(np.add, resampled)))


def _mean(
    name: str,
    parts: Sequence[PairAgreement],
    weights: FloatArray,
    tested: FloatArray | None,
    protocol: Protocol,
) -> AgreementColumn:
    """The weighted mean over language pairs, with the p-values of a test of it."""
    samples = np.average([part.samples for part in parts], axis=0, weights=weights)
    low, high, undefined = _intervals(samples, protocol)
    values = np.average([part.values for part in parts], axis=0, weights=weights)
    return _tested(
        AgreementColumn(
            name=name,
            items=sum(part.items for part in parts),
            values=values,
            low=low,
            high=high,
            undefined_resamples=undefined,
            p_values=tested,
            reasons=tuple(_undefined_in(parts, metric) for metric in range(len(values))),
        ),
        protocol,
    )


def _undefined_in(parts: Sequence[PairAgreement], metric: int) -> str:
    names = [part.name for part in parts if np.isnan(part.values[metric])]
    return f"it is undefined for {', '.join(names)}" if names else ""


def _intervals(samples: FloatArray, protocol: Protocol) -> tuple[FloatArray, FloatArray, int]:
    """The bounds of each metric, and how many resamples were undefined for the worst of them."""
    if not samples.shape[1]:
        nothing = np.full(len(samples), np.nan)
        return nothing, nothing, 0
    intervals = [interval(sample, protocol.confidence) for sample in samples]
    low, high = np.array([(each.low, each.high) for each in intervals]).T
    # A metric without a value has no resamples with one: another note says so.
    undefined = [each.undefined for each in intervals if each.undefined < samples.shape[1]]
    return low, high, max(undefined, default=0)


def _tested(figures: AgreementColumn, protocol: Protocol) -> AgreementColumn:
    if figures.p_values is None or len(figures.values) == 1:
        return figures
    adjusted = holm(figures.p_values)
    return replace(
        figures,
        adjusted=adjusted,
        ranks=ranks(figures.values, adjusted, protocol.alpha, protocol.clusters),
    )
