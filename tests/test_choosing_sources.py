"""Candidates chosen by metrics that read sources, with and without references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import adequa
from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.scoring.mbr import mbr
from adequa.scoring.rerank import rerank
from corpora import write_jsonl
from source_metrics import Both, Either, LengthRatio, length_ratio, register

LISTS = [["Dog.", "A dog barks.", "A dog barks loudly."], ["The cat is asleep.", "Cat."]]
SOURCES = ["Ein Hund bellt laut.", "Die Katze schläft."]
REFERENCES = ["A dog barks.", "The cat is asleep."]
ROWS = [{"candidates": texts, "src": source} for texts, source in zip(LISTS, SOURCES, strict=True)]


@pytest.fixture(autouse=True)
def _metrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> list[dict[str, Any]]:
    shown = CliRunner().invoke(app, [*arguments, "--format", "jsonl", "-q"])
    assert shown.exit_code == 0, shown.output
    return [json.loads(line) for line in shown.stdout.splitlines()]


def error(*arguments: str) -> str:
    shown = CliRunner().invoke(app, arguments)
    assert isinstance(shown.exception, AdequaError), shown.output
    return str(shown.exception)


def test_candidates_are_ordered_by_their_source() -> None:
    ranked = rerank(LISTS, sources=SOURCES, metric=LengthRatio())
    assert [each.best for each in ranked] == ["A dog barks loudly.", "The cat is asleep."]
    assert ranked[0].scores.tolist() == [length_ratio(text, SOURCES[0]) for text in LISTS[0]]
    assert ranked.signature.startswith("length-ratio|nrefs:0|")
    beside = rerank(LISTS, REFERENCES, LengthRatio(), sources=SOURCES)
    assert beside.to_dict() == ranked.to_dict()


def test_references_and_sources_together() -> None:
    metric = Either()
    (first, _) = rerank(LISTS, REFERENCES, metric, sources=SOURCES)
    expected = metric.score(
        LISTS[0], [REFERENCES[0]] * 3, sources=[SOURCES[0]] * 3
    )  # each candidate by itself
    assert first.scores.tolist() == expected.segments.tolist()


@pytest.mark.parametrize("rows", ["whole", "joined"])
def test_rerank_reads_src_of_the_input(tmp_path: Path, rows: str) -> None:
    joined = [
        {"id": row, "mt": text, **({} if index else {"source": SOURCES[row]})}
        for row, texts in enumerate(LISTS)
        for index, text in enumerate(texts)
    ]
    write_jsonl(tmp_path / "c.jsonl", ROWS if rows == "whole" else joined)
    chosen = run("rerank", "-i", "c.jsonl", "-m", "length-ratio")
    assert [each["candidates"][0]["mt"] for each in chosen] == [LISTS[0][2], LISTS[1][0]]


def test_sources_of_a_file_come_first(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "c.jsonl", [{**row, "src": "x"} for row in ROWS])
    (tmp_path / "src.txt").write_text("\n".join(SOURCES) + "\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    chosen = run("rerank", "-i", "c.jsonl", "-s", "src.txt", "-m", "length-ratio")
    assert chosen[0]["candidates"][0]["mt"] == LISTS[0][2]
    both = run("rerank", "-i", "c.jsonl", "-s", "src.txt", "-r", "ref.txt", "-m", "both")
    assert both[0]["candidates"][0]["both"] == pytest.approx(
        rerank(LISTS, REFERENCES, Both(), sources=SOURCES)[0].scores.max()
    )


def test_minimum_bayes_risk_with_sources(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "c.jsonl", ROWS)
    first, _ = mbr(LISTS, Both(), sources=SOURCES)
    texts = LISTS[0]
    expected = [
        sum(
            (length_ratio(text, SOURCES[0]) + length_ratio(text, other)) / 2
            for other in texts
            if other != text
        )
        / 2
        for text in texts
    ]
    assert first.utilities.tolist() == pytest.approx(expected)
    chosen = run("mbr", "-i", "c.jsonl", "-m", "both")
    assert chosen[0]["both"] == pytest.approx(first.utility)


def test_sources_alone_may_prune_for_minimum_bayes_risk() -> None:
    pruned = mbr(LISTS, "chrf", sources=SOURCES, keep=1, keep_by=LengthRatio(), check_every=0)
    ranked = rerank(LISTS, sources=SOURCES, metric=LengthRatio())
    assert [each.best for each in pruned] == [each.best for each in ranked]


@pytest.mark.parametrize(
    ("row", "metric", "sentence"),
    [
        ({}, "length-ratio", 'c.jsonl, line 2 has no "src", which length-ratio reads; give it, or'),
        ({"src": " "}, "length-ratio", 'c.jsonl, line 2 has no "src"'),
        ({"src": 3}, "length-ratio", 'c.jsonl, line 2: "src" is no text'),
        ({}, "either", 'c.jsonl, line 2 has no "src", which either reads'),
        ({"src": "x", "ref": "x"}, "either", 'line 2 has "ref", and the sentences before it have'),
        ({"src": "x"}, "both", 'c.jsonl, line 1 has no "ref", which both reads'),
    ],
)
def test_what_a_sentence_lacks(
    tmp_path: Path, row: dict[str, object], metric: str, sentence: str
) -> None:
    write_jsonl(tmp_path / "c.jsonl", [ROWS[0], {"candidates": LISTS[1], **row}])
    assert sentence in error("rerank", "-i", "c.jsonl", "-m", metric)


def test_bad_sources_and_metrics(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "c.jsonl", ROWS)
    (tmp_path / "short.txt").write_text("x\n", encoding="utf-8")
    options = ("-i", "c.jsonl", "-s", "short.txt", "-m")
    assert "a line of each source, but sentence 2" in error("rerank", *options, "length-ratio")
    (tmp_path / "short.txt").write_text("x\n\n", encoding="utf-8")
    assert "line 2: the source is empty" in error("mbr", *options, "both")
    alone = error("mbr", "-i", "c.jsonl", "-m", "length-ratio")
    assert "length-ratio reads no references" in alone
    assert "adequa rerank" in alone
    write_jsonl(tmp_path / "n.jsonl", [{"candidates": ["a"]}])
    assert 'has neither "ref" nor "src"; either needs' in error(
        "rerank", "-i", "n.jsonl", "-m", "either"
    )
    rows = [{"id": 1, "mt": "a", "src": "x"}, {"id": 1, "mt": "b", "src": "y"}]
    write_jsonl(tmp_path / "n.jsonl", rows)
    assert '"src" is another than before' in error("rerank", "-i", "n.jsonl", "-m", "both")


@pytest.mark.parametrize("metric", ["chrf", Both()])
def test_what_is_missing_in_python(metric: str | Metric) -> None:
    with pytest.raises(AdequaError, match='Sentence 1 has no "ref"'):
        adequa.rerank(LISTS, sources=SOURCES, metric=metric)
    with pytest.raises(AdequaError, match="candidates and sources differ in length: 2 and 1"):
        adequa.mbr(LISTS, "chrf", sources=SOURCES[:1])
