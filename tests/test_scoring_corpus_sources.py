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


def test_rows_that_lack_a_text_of_the_first_row(tmp_path: Path) -> None:
    """One column never holds scores with and without references."""
    refs: list[object] = ["A house.", None, ["", " "], "A cat."]
    rows = [{**row, "ref": ref} for row, ref in zip([*ROWS, ROWS[0]], refs, strict=True)]
    rows[3]["src"] = ""
    path = write_jsonl(tmp_path / "in" / "a.jsonl", [*rows, {"mt": "A cat."}])
    result = scored(path, "either-length")
    values = [row["either-length"] for row in read_jsonl(tmp_path / "out" / "a.jsonl")]
    assert values == [2.0, None, None, None, None]
    reasons = [row["unscored"] for row in read_jsonl(tmp_path / "out" / "a.jsonl")]
    lacks = "a.jsonl, line {}: there is no {}, and the first row of the corpus has one; score rows "
    for line, part in ((2, "reference"), (3, "reference"), (4, "source"), (5, "reference")):
        assert reasons[line - 1].startswith(lacks.format(line, part))
    assert result.unscored == 4
    (metric,) = result.results.metrics
    assert str(metric.signature).startswith("either-length|nrefs:1|")


def test_the_first_row_of_the_corpus_counts_in_every_shard(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    nothing, more = {"mt": "A cat."}, {**ROWS[1], "ref": "Two old houses."}
    write_jsonl(folder / "a.jsonl", [nothing, *ROWS[:1] * 120, more])
    write_jsonl(folder / "b.jsonl", [more, ROWS[0]])
    result = score_corpus(folder, tmp_path / "out", "either-length", language="en")
    assert result.unscored == 3
    last = read_jsonl(tmp_path / "out" / "a.jsonl")[-1]
    assert (last["either-length"], last["unscored"]) == (
        None,
        "a.jsonl, line 122: there is a reference, and the first row of the corpus has none; score "
        "rows with and without a reference apart.",
    )
    scores = [row["either-length"] for row in read_jsonl(tmp_path / "out" / "b.jsonl")]
    assert scores == [None, pytest.approx(8 / 9)]
    assert str(result.results.metrics[0].signature).startswith("either-length|nrefs:0|")
    job = json.loads((tmp_path / "out" / FOLDER / "job.json").read_text())
    assert job["texts"] == {"reference": "left out", "source": "given"}
    write_jsonl(folder / "a.jsonl", [more])
    assert "texts reference was left out then, and is given now" in error(
        score_corpus, folder, tmp_path / "out", "either-length"
    )


def test_references_without_sources_are_of_one_kind(tmp_path: Path) -> None:
    rows = [{"mt": "a", "ref": "b"}, {"mt": "a", "ref": "b", "src": "c"}]
    path = write_jsonl(tmp_path / "in" / "a.jsonl", rows)
    result = scored(path, "either-length", "chrf")
    assert result.unscored == 1
    assert "line 2: there is a source, and the first row" in str(result.first_reason)


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
