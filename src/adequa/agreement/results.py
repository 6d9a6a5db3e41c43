"""Results of an evaluation: agreement of every metric, by language pair and over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from adequa.tables import BEST, MISSING, Column, Result, Table, plain
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
        """One row per metric, best first; one column per language pair."""
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
        """One row per metric and language pair, with the interval and the rank."""
        numbers = ("value", "low", "high", "rank", "threshold")
        columns = (
            Column("metric"),
            Column("lp"),
            Column("items", "integer"),
            *(Column(name, "integer" if name == "rank" else "number") for name in numbers),
        )
        rows = [
            [figures["metric"], each.name, each.items, *(figures[name] for name in numbers)]
            for each in self.all_columns
            for figures in self._figures(each)
        ]
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """Metrics from best to worst, and columns with every figure behind them."""
        return {
            "dataset": self.dataset,
            "protocol": plain(self.protocol),
            "selection": self.selection,
            "metrics": [plain(self.metrics[k]) for k in self.order],
            "columns": [self._column_dict(each) for each in self.all_columns],
            "notes": list(self.notes),
        }

    def _column_dict(self, column: AgreementColumn) -> dict[str, Any]:
        figures = self._figures(column)
        for k, figure in zip(self.order, figures, strict=True):
            if column.thresholds is None:
                del figure["threshold"]
            if column.reasons[k]:
                figure["reason"] = column.reasons[k]
        matrices = {"p_values": column.p_values, "adjusted": column.adjusted}
        ordered = np.ix_(self.order, self.order)
        return {
            "name": column.name,
            "items": column.items,
            "figures": figures,
            **{name: None if m is None else plain(m[ordered]) for name, m in matrices.items()},
        }

    def _figures(self, column: AgreementColumn) -> list[dict[str, Any]]:
        """Every figure of each metric, best first; None where it is undefined."""
        arrays = {
            "value": column.values,
            "low": column.low,
            "high": column.high,
            "rank": column.ranks,
            "threshold": column.thresholds,
        }
        return [
            {
                "metric": self.metrics[k].name,
                **{
                    name: None if array is None or isnan(column.values[k]) else plain(array[k])
                    for name, array in arrays.items()
                },
            }
            for k in self.order
        ]

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
            if protocol.over != "none":
                yield "intervals do not decide ranks: tests compare metrics on the same judgements"
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


def column(pair: PairAgreement, protocol: Protocol) -> AgreementColumn:
    """A language pair's figures with intervals, p-values and ranks."""
    tested = pair.p_values if pair.differences is None else p_values(pair.differences)
    adjusted = None if tested is None or len(pair.values) == 1 else holm(tested)
    intervals = [interval(sample, protocol.confidence) for sample in pair.samples]
    # A metric without a value has no resamples with one: another note says so.
    undefined = [each.undefined for each in intervals if each.undefined < pair.samples.shape[1]]
    return AgreementColumn(
        name=pair.name,
        items=pair.items,
        values=pair.values,
        low=np.array([each.low for each in intervals]),
        high=np.array([each.high for each in intervals]),
        p_values=tested,
        adjusted=adjusted,
        ranks=None
        if adjusted is None
        else ranks(pair.values, adjusted, protocol.alpha, protocol.clusters),
        thresholds=pair.thresholds,
        reasons=tuple(
            reason if isnan(value) else ""
            for reason, value in zip(pair.reasons, pair.values, strict=True)
        ),
        undefined_resamples=max(undefined, default=0),
    )


def macro_average(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The mean over language pairs; undefined for a metric where one of the pairs is.

    Resamples are averaged draw by draw: language pairs are drawn independently. A test without
    resamples (Williams') has no average.
    """
    return column(_mean(AVERAGE, parts, np.ones(len(parts))), protocol)


def pooled_accuracy(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The accuracy over the pairs of systems of all language pairs together (Kocmi et al. 2021).

    A language pair of S systems has S (S - 1) / 2 of them, and weighs as much in every resample
    too; one of a single system has none, and no accuracy.
    """
    compared = [part for part in parts if part.items > 1] or parts
    pairs = np.array([max(part.items * (part.items - 1) / 2, 1) for part in compared])
    pooled = replace(_mean(POOLED, compared, pairs), items=sum(part.items for part in parts))
    return column(pooled, protocol)


def _mean(name: str, parts: Sequence[PairAgreement], weights: FloatArray) -> PairAgreement:
    """The weighted mean over language pairs."""
    differences = [part.differences for part in parts if part.differences is not None]
    undefined = [
        [part.name for part in parts if isnan(part.values[metric])]
        for metric in range(len(parts[0].values))
    ]
    return PairAgreement(
        name=name,
        items=sum(part.items for part in parts),
        values=np.average([part.values for part in parts], axis=0, weights=weights),
        samples=np.average([part.samples for part in parts], axis=0, weights=weights),
        differences=average(differences, weights) if differences else None,
        reasons=tuple(f"it is undefined for {', '.join(names)}" for names in undefined),
    )
