"""Filters a parallel corpus: keeps the rows whose score under a metric is in bounds.

Shards are read, scored and written as `score_corpus` does it, on the same engines, and a run that
was stopped goes on in the same way. Rows that are kept are written as they were read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adequa.languages import TargetLanguage
from adequa.scoring.corpus import CorpusProgress, CorpusScores, Engine, Execution, run_corpus
from adequa.scoring.manifest import MAX_CHARACTERS, Bounds, RowCounts
from adequa.tables import MISSING, Column, Result, Row, Table, plain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FilteredCorpus(Result):
    """How many rows of a corpus were kept, by language pair, and the scores of all."""

    corpus: CorpusScores  # of all rows, those that were removed among them
    bounds: Bounds

    @property
    def pairs(self) -> dict[str, RowCounts]:
        """The counts of each language pair; "" for rows that name none."""
        counts: dict[str, RowCounts] = {}
        for record in self.corpus.records:
            for pair, more in record.filtered.items():
                counts[pair] = counts.get(pair, RowCounts()) + more
        return dict(sorted(counts.items()))

    @property
    def total(self) -> RowCounts:
        """The counts of all rows."""
        return sum(self.pairs.values(), RowCounts())

    @property
    def rows(self) -> int:
        """Number of rows that were read."""
        return self.total.rows

    @property
    def rows_kept(self) -> int:
        """Number of rows whose score is within the bounds."""
        return self.total.kept

    @property
    def rows_removed(self) -> int:
        """Number of rows that were removed, those without a score among them."""
        return self.rows - self.rows_kept

    def tables(self) -> tuple[Table, ...]:
        columns = (
            Column("pair"),
            *(Column(name, "integer") for name in _COUNTS),
            Column("kept (%)", "number", decimals=1),
        )
        total = self.total
        rows: list[Row] = [
            (name, *_cells(counts), 100 * counts.kept / counts.rows if counts.rows else np.nan)
            for name, counts in (*self._named_pairs(), ("all", total))
        ]
        (metric,) = self.corpus.results.metrics
        notes = (
            f"kept: rows with {metric.name} {self._bounds_in_words()}; removed: all others, of "
            "which unscored could not be scored",
            str(metric.segment_signature),
        )
        return (Table(columns, rows, notes=notes),)

    def _named_pairs(self) -> list[tuple[str, RowCounts]]:
        pairs = self.pairs
        return [] if set(pairs) <= {""} else [(name or MISSING, pairs[name]) for name in pairs]

    def _bounds_in_words(self) -> str:
        least, most = self.bounds.min_score, self.bounds.max_score
        words = [f"{least:g} or more"] if least is not None else []
        words += [f"{most:g} or less"] if most is not None else []
        return " and ".join(words)

    def long_table(self) -> Table:
        columns = (Column("lp"), *(Column(name, "integer") for name in _COUNTS))
        return Table(columns, [(name, *_cells(counts)) for name, counts in self.pairs.items()])

    def to_dict(self) -> dict[str, Any]:
        (metric,) = self.corpus.results.metrics
        return {
            "metric": metric.name,
            "signature": str(metric.segment_signature),
            **self.bounds.to_dict(),
            **dict(zip(_COUNTS, _cells(self.total), strict=True)),
            "pairs": [
                {"lp": name, **dict(zip(_COUNTS, _cells(counts), strict=True))}
                for name, counts in self.pairs.items()
            ],
            "mean_score": plain(metric.systems[0].score),
        }


_COUNTS = ("rows", "kept", "removed", "unscored")


def _cells(counts: RowCounts) -> tuple[int, ...]:
    return counts.rows, counts.kept, counts.rows - counts.kept, counts.unscored


def filter_corpus(
    inputs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    metric: str,
    *,
    source: str | os.PathLike[str] | None = None,
    min_score: float | None = None,
    max_score: float | None = None,
    language: str | TargetLanguage | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    engine: Engine = "local",
    workers: int | None = 1,
    address: str | None = None,
    gpus: float = 0,
    device: str | None = None,
    max_characters: int = MAX_CHARACTERS,
    progress: Callable[[CorpusProgress], None] | None = None,
) -> FilteredCorpus:
    """Write those rows of the shards of a corpus into a folder whose score is in the bounds.

    A row is kept if its score is at least `min_score` and at most `max_score`, where these are
    given; for a metric that is better where it is lower there is `max_score`. Rows without a score,
    such as those with an empty source, are removed. Rows may name their language pairs in a column
    `lp`: they are counted by pair, and scored whatever their language, unless `language` is given
    or the metric is not for all languages.

    `inputs` are shards as `score_corpus` takes them; or with `source`, a text file of one sentence
    per line, the text file of its translations. The other arguments are those of `score_corpus`.
    """
    bounds = Bounds(min_score, max_score)
    execution = Execution(engine, workers, address, gpus, device, progress)
    corpus = run_corpus(
        inputs, output, metric, execution,
        language=language, columns=columns, max_characters=max_characters, bounds=bounds,
        source=source,
    )  # fmt: skip
    return FilteredCorpus(corpus, bounds)
