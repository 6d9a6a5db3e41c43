"""Human judgements for tests: where they are, how they are read, how a metric agrees with them."""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from adequa.metrics.base import Metric
from adequa.segments import Segments

FOLDER = os.environ.get("ADEQUA_DATA")

needs_judgements = pytest.mark.skipif(
    not FOLDER, reason="human judgements are read from the folder named by ADEQUA_DATA"
)


def judgement_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a data set in the order of the file."""
    with gzip.open(Path(FOLDER or "", f"{name}.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_judgements(name: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a data set by language pair, in the order of the file."""
    by_pair = defaultdict(list)
    for row in judgement_rows(name):
        by_pair[row["lp"]].append(row)
    return by_pair


def rated_segments(rows: list[dict[str, Any]]) -> Segments:
    """The hypotheses and references of ratings."""
    return Segments(tuple(row["mt"] for row in rows), tuple((row["ref"],) for row in rows))


def strict_tau(metric: Metric, rows: list[dict[str, Any]]) -> float:
    """Kendall's tau in percent over preferences, ties counting against (WMT12)."""
    texts = sorted({(row[side], row["ref"]) for row in rows for side in ("better", "worse")})
    segments = Segments(tuple(mt for mt, _ in texts), tuple((ref,) for _, ref in texts))
    sign = 1 if metric.higher_is_better else -1
    of = dict(zip(texts, (sign * metric.score(segments).segments).tolist(), strict=True))
    agree: int = sum(of[row["better"], row["ref"]] > of[row["worse"], row["ref"]] for row in rows)
    return 100 * (2 * agree - len(rows)) / len(rows)
