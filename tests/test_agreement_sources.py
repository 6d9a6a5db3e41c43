"""Judgements whose texts have sources in place of references."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from adequa.agreement.coverage import coverage
from adequa.agreement.error_analysis import analyse
from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.agreement.robustness import robustness
from adequa.agreement.score_differences import differences
from adequa.datasets.load import load_dataset
from adequa.io.score_files import ScoreFile
from adequa.judgements import Preferences, Ratings
from small_archives import error
from source_metric import SourceLength
from test_cli import adequa

QUICK = Protocol(resamples=50)
NO_REFERENCES = (
    "chrf needs references, and there are none: give them (-r, or a column ref), or name another "
    "metric."
)


def rated_rows(**more: object) -> list[dict[str, object]]:
    """Three systems of four segments, rated by how much of the source their output is as long."""
    source = "one two three four"
    return [
        {"lp": "en-de", "system": str(size), "segment": segment, "src": source + " five" * segment}
        | {"mt": "x" * size * (1 + segment), "score": 30 * size + segment, **more}
        for segment in range(4)
        for size in (1, 3, 5)
    ]


def write(rows: Sequence[Mapping[str, object]], name: str = "rated.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ratings(rows: list[dict[str, object]]) -> Ratings:
    loaded = load_dataset(write(rows))
    assert isinstance(loaded, Ratings)
    return loaded


@pytest.mark.parametrize("more", [{}, {"ref": None}, {"ref": " "}, {"post_edit": "corrected"}])
def test_ratings_without_references(more: dict[str, object]) -> None:
    loaded = ratings(rated_rows(**more))
    assert len(loaded) == 12
    assert loaded.segments is not None
    assert not loaded.segments.has_references
    assert loaded.segments.sources is not None
    assert loaded.segments.sources[0] == "one two three four"
    assert set(loaded.ids) == {"lp", "system", "segment"}
    assert not loaded.file_rows.unused


def test_rows_without_a_source_are_counted() -> None:
    loaded = ratings([*rated_rows(), *rated_rows(src=" ")[:2]])
    assert (len(loaded), loaded.file_rows.unused) == (12, {"no source text": 2})


def test_rows_without_the_reference_that_others_have_are_counted() -> None:
    loaded = ratings([*rated_rows(ref="r"), *rated_rows(ref=None)[:2]])
    assert loaded.segments is not None
    assert loaded.segments.has_references
    assert loaded.file_rows.unused == {"no reference text, which other rows have": 2}


def test_preferences_without_references() -> None:
    name = write([{"src": "one two", "better": "eins zwei", "worse": "eins"}] * 3)
    loaded = load_dataset(name)
    assert isinstance(loaded, Preferences)
    assert loaded.better is not None
    assert not loaded.better.has_references
    agreement = evaluate(loaded, [SourceLength()], QUICK)
    assert agreement.average.values.tolist() == [1.0]
    assert differences(loaded, SourceLength()).pairs == 3
    assert error(evaluate, loaded, "chrf") == NO_REFERENCES


@pytest.mark.parametrize("level", ["segment", "system"])
def test_agreement_of_a_metric_that_reads_sources(level: str) -> None:
    loaded = ratings(rated_rows())
    protocol = Protocol(level=level, resamples=50)  # type: ignore[arg-type]
    (value,) = evaluate(loaded, [SourceLength()], protocol).average.values
    assert value > 0.5
    assert differences(loaded, SourceLength()).pairs
    for measure in (evaluate, differences):
        assert error(measure, loaded, [SourceLength(), "chrf"]) == NO_REFERENCES


def test_a_metric_that_reads_sources_needs_them() -> None:
    rows = [{"mt": "a", "ref": "b", "score": number} for number in range(3)]
    assert error(evaluate, write(rows), SourceLength()).startswith(
        "source-length needs sources, and there are none: give them (-s, or a column src), or "
    )


@pytest.mark.parametrize("more", [{}, {"ref": "r"}])
def test_one_score_serves_one_source(more: dict[str, object]) -> None:
    """Equal outputs of different sources are different outputs, with and without references."""
    row = {"system": "A", "mt": "same", "score": 1, **more}
    rows = [{**row, "src": src} for src in ("one", "two")]
    scores = ScoreFile("file", {"system": ("A",)}, np.array([0.5]))
    assert "several of the judged outputs are system A" in error(evaluate, write(rows), scores)


def test_what_needs_references_says_so() -> None:
    loaded = ratings(rated_rows(lp="de-en"))
    assert error(coverage, loaded).startswith("adequa needs references, and there are none: ")
    assert "these ratings have sources alone" in error(analyse, loaded, [SourceLength(), "chrf"])
    assert "these judgements have sources alone" in error(robustness, loaded, SourceLength())


def test_the_command_says_what_is_missing() -> None:
    write(rated_rows())
    shown = adequa("evaluate", Path("rated.jsonl").resolve(), "-m", "chrf")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == f"adequa: error: {NO_REFERENCES}\n"
