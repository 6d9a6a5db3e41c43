"""A comparison as flat tables: rows of plain values, and data frames where pandas is installed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from adequa.comparison.as_dict import number, pair_dict
from adequa.comparison.results import Comparison
from adequa.errors import AdequaError, printable

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

_TAKEN = ("system", "segment", "hypothesis")  # columns of segments


def as_frames(found: Comparison) -> Mapping[str, pd.DataFrame]:
    """Data frames of scores, pairs, buckets and segments."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError as error:
        raise AdequaError("Data frames need pandas: pip install pandas.") from error
    return {name: pd.DataFrame(list(rows)) for name, rows in tables(found).items()}


def tables(found: Comparison) -> dict[str, Iterator[dict[str, Any]]]:
    """The same as rows, each a dictionary of its columns."""
    return {
        "scores": score_rows(found),
        "pairs": pair_rows(found),
        "buckets": bucket_rows(found),
        "segments": segment_rows(found),
    }


def score_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    """A row a metric and system."""
    for metric in found.metrics:
        for place, system in enumerate(found.systems):
            yield {
                "metric": metric.name,
                "system": system,
                "rank": int(metric.ranks[place]),
                "score": float(metric.scores[place]),
                "low": number(metric.low[place]),
                "high": number(metric.high[place]),
            }


def pair_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    """A row a metric and pair of systems."""
    for metric in found.metrics:
        for pair in metric.pairs:
            row = pair_dict(pair, found.systems)
            people = row.pop("people") or {}
            share = {"people_share": people.get("share"), "people_pairs": people.get("pairs")}
            yield {"metric": metric.name, **row, **share}


def pairs_as_tsv(found: Comparison) -> Iterator[str]:
    """The same as lines, a header on top."""
    for place, row in enumerate(pair_rows(found)):
        if not place:
            yield "\t".join(row) + "\n"
        cells = ("" if value is None else str(value) for value in row.values())
        yield "\t".join(map(printable, cells)) + "\n"


def bucket_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    """A row a part of the segments, metric and system."""
    for dimension in found.dimensions:
        for bucket in dimension.buckets:
            for metric, part in zip(found.metrics, bucket.metrics, strict=True):
                for place, system in enumerate(found.systems if part is not None else ()):
                    yield {
                        "by": dimension.name,
                        "bucket": bucket.label,
                        "segments": len(bucket.rows),
                        "metric": metric.name,
                        "system": system,
                        "score": None if part is None else number(part.scores[place]),
                        "difference_low": None if part is None else number(part.low[place]),
                        "difference_high": None if part is None else number(part.high[place]),
                    }


def segment_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    """A row a system and segment, with a column for each metric that scores segments."""
    known = {
        metric.name: metric.segments for metric in found.metrics if metric.segments is not None
    }
    names = _columns(known)
    for place, system in enumerate(found.systems):
        columns = [segments[place].tolist() for segments in known.values()]
        for row, text in enumerate(found.outputs.hypotheses[place]):
            scores = {name: column[row] for name, column in zip(names, columns, strict=True)}
            yield {"system": system, "segment": row + 1, "hypothesis": text, **scores}


def _columns(metrics: Collection[str]) -> list[str]:
    """Names of columns for metrics, none of which is one that stands for something else.

    >>> _columns(["bleu", "segment"])
    ['bleu', 'segment_score']
    """
    found = []
    for metric in metrics:
        name = metric
        while name in _TAKEN or (name != metric and name in metrics):
            name += "_score"
        found.append(name)
    return found
