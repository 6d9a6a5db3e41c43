"""Corpora with sources, and without references, scored by metrics that read sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adequa.metrics.registry import METRICS, Entry
from adequa.scoring.corpus import CorpusScores, score_corpus
from adequa.scoring.manifest import FOLDER
from adequa.segments import FloatArray, Segments
from corpora import read_jsonl, write_jsonl
from small_archives import error
from source_metric import ENTRY, SourceLength

ROWS = [
    {"id": 1, "src": "Ein Haus.", "mt": "A house.", "x": None},
    {"id": 2, "src": "Zwei alte Häuser.", "mt": "Two old houses.", "x": 1.10},
    {"id": 3, "src": "Die Katze schläft nicht.", "mt": " "},
]


@dataclass(frozen=True)
class EitherLength(SourceLength):
    """As `SourceLength`, or of hypothesis and reference where there is one."""

    name = "either-length"
    reads = MappingProxyType({"reference": "optional", "source": "optional"})

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        if not segments.has_references:
            return super().compute_segment_scores(segments)
        return np.array([1.0 + len(texts) for texts in segments.references])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "source-length", ENTRY)
    either = Entry(f"{__name__}:EitherLength", "lengths compared")
    monkeypatch.setitem(METRICS, "either-length", either)


def scored(path: Path, *metrics: str) -> CorpusScores:
    return score_corpus(path, path.parent.parent / "out", list(metrics), language="en")


def test_shards_without_references(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    result = scored(path, "source-length")
    assert (result.rows, result.unscored) == (3, 0)
    expected = [len(str(row["mt"])) / len(str(row["src"])) for row in ROWS]
    assert read_jsonl(tmp_path / "out" / "a.jsonl") == [
        {**row, "source-length": score, "unscored": None}
        for row, score in zip(ROWS, expected, strict=True)
    ]
    (metric,) = result.results.metrics
    assert metric.systems[0].score == pytest.approx(np.mean(expected))
    assert str(metric.signature).startswith("source-length|nrefs:0|")
    manifest = json.loads((tmp_path / "out" / FOLDER / "manifest.json").read_text())
    assert manifest["shards"][0]["metrics"]["source-length"]["reference_counts"] == [0]
    again = scored(path, "source-length")
    assert again.records == result.records


@pytest.mark.parametrize("kind", [pa.string(), pa.null()])
def test_parquet_whose_references_are_null(tmp_path: Path, kind: pa.DataType) -> None:
    (tmp_path / "in").mkdir()
    columns = {name: [row[name] for row in ROWS] for name in ("src", "mt")}
    table = pa.table({**columns, "ref": pa.nulls(3, kind)})
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    result = scored(tmp_path / "in" / "a.parquet", "source-length", "either-length")
    assert result.unscored == 0
    table = pq.read_table(tmp_path / "out" / "a.parquet")
    assert table["source-length"] == table["either-length"]
    pq.write_table(pa.table({"src": [1], "mt": ["a"]}), tmp_path / "in" / "a.parquet")
    assert 'the column "src" is int64, not text' in error(
        scored, tmp_path / "in" / "a.parquet", "source-length"
    )


def test_rows_with_and_without_a_reference(tmp_path: Path) -> None:
    """A metric that can do without reads a reference where there is one."""
    refs: list[object] = ["A house.", None, ["", " "], "A cat."]
    rows = [{**row, "ref": ref} for row, ref in zip([*ROWS, ROWS[0]], refs, strict=True)]
    rows[3]["src"] = ""
    path = write_jsonl(tmp_path / "in" / "a.jsonl", [*rows, {"mt": "A cat."}])
    result = scored(path, "either-length")
    values = [row["either-length"] for row in read_jsonl(tmp_path / "out" / "a.jsonl")]
    assert values == [2.0, pytest.approx(15 / 17), pytest.approx(1 / 24), 2.0, None]
    assert result.first_reason == (
        'a.jsonl, line 5: "src" is empty, and there is no reference either.'
    )
    (metric,) = result.results.metrics
    assert str(metric.signature).startswith("either-length|nrefs:var|")


def test_rows_without_a_source(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "src": None}, {**ROWS[2], "src": "x" * 200_000}]
    path = write_jsonl(tmp_path / "in" / "a.jsonl", [{**row, "ref": "A cat."} for row in rows])
    result = scored(path, "source-length", "chrf")
    assert result.unscored == 2
    reasons = [row["unscored"] for row in read_jsonl(tmp_path / "out" / "a.jsonl")]
    assert reasons[0] is None
    assert reasons[1] == 'a.jsonl, line 2: "src" is empty, and a metric needs the source.'
    assert reasons[2].startswith('a.jsonl, line 3: "src" has 200,000 characters')


def test_columns_that_metrics_need(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    assert error(scored, path, "source-length", "chrf") == (
        'a.jsonl has no column "ref", which chrf needs. It has: id, src, mt, x. Say which one to '
        "read with --column ref=NAME, or name metrics that need no reference."
    )
    write_jsonl(path, [{"mt": "a", "ref": "b"}])
    assert error(scored, path, "source-length").startswith(
        'a.jsonl has no column "src", which source-length needs. It has: mt, ref. '
    )
    assert not (tmp_path / "out").exists()


def test_the_language_is_that_of_the_hypotheses(tmp_path: Path) -> None:
    german = "Das ist nicht die Antwort, die ich von dir und deiner Schwester erwartet habe."
    for name, more in (("a", {}), ("b", {"ref": None})):
        rows = [{"src": "So it is.", "mt": german, **more}] * 3
        path = write_jsonl(tmp_path / name / "in" / "a.jsonl", rows)
        result = score_corpus(path, tmp_path / name / "out", "source-length")
        assert result.results.language.code == "de"
