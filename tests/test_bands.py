"""Bands of segment scores by thresholds: given ones, and those chosen on ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from adequa import Ratings, ScoreBands, fit_bands, score
from adequa.agreement.bands import FEWEST_OF_BAND, FittedBands, lowest_threshold
from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.metrics.registry import METRICS
from adequa.metrics.sacrebleu_metrics import CHRF
from adequa.scoring.bands import read_bands
from adequa.scoring.confidence import BANDS
from adequa.segments import Segments, Signature
from judgements import needs_judgements
from source_metric import ENTRY, SourceLength
from test_cli import EXAMPLES

TEXTS = ("-t", f"{EXAMPLES}/fluent.txt", f"{EXAMPLES}/literal.txt")
GIVEN = {"ref": ("-r", f"{EXAMPLES}/reference.txt"), "src": ("-s", f"{EXAMPLES}/source.txt")}


def run(*arguments: str) -> str:
    shown = CliRunner().invoke(app, arguments)
    if isinstance(shown.exception, AdequaError):
        raise shown.exception
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def rated(count: int = 400, noise: float = 5.0) -> Ratings:
    """Ratings that are 100 times the score of `SourceLength`, with noise."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 21, count)
    texts = Segments(
        tuple("x" * length for length in lengths),
        ((),) * count,
        tuple(f"{row % 100:03d}".ljust(20, ".") for row in range(count)),
    )
    return Ratings(5.0 * lengths + random.normal(0, noise, count), {}, texts, name="rated")


@pytest.fixture
def fitted() -> FittedBands:
    return fit_bands(rated(), SourceLength(), good=70, poor=40, precision=0.9)


# Given thresholds


def test_bands_of_systems_and_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "source-length", ENTRY)
    options = ("score", *TEXTS, *GIVEN["src"], "-m", "source-length", "--bands", "0.9,0.8")
    content = json.loads(run(*options, "--segments", "--format", "json"))
    (metric,) = content["metrics"]
    assert metric["bands"] == {"publish": 0.9, "redo": 0.8}
    for system in metric["systems"]:
        scores = np.array(system["segments"])
        expected = np.select([scores >= 0.9, scores <= 0.8], ["publish", "redo"], "check")
        assert system["band"] == expected.tolist()
        assert system["bands"] == {name: float(np.mean(expected == name)) for name in BANDS}
    table = run(*options).splitlines()
    assert table[0].split() == ["system", "source-length", "↑", "publish", "check", "redo"]
    assert "publish: 0.9 or more; redo: 0.8 or less; check: between" in table
    header, first = run(*options, "--segments", "--format", "tsv").splitlines()[:2]
    assert header.split("\t") == ["system", "segment", "source-length", "source-length_band"]
    assert first.split("\t")[3] in BANDS
    header = run(*options, "--format", "tsv").splitlines()[0]
    assert header.split("\t")[2:] == [f"source-length_{name}" for name in BANDS]


def test_metrics_that_are_better_where_they_are_lower() -> None:
    shown = run("score", *TEXTS, *GIVEN["ref"], "-m", "ter", "--bands", "10,40")
    assert "publish: 10 or less; redo: 40 or more; check: between\n" in shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("-m", "chrf", "--bands", "0.8"),
            "--bands takes the thresholds of publish and redo, such",
        ),
        (
            ("-m", "chrf", "--bands", "a,b"),
            "--bands takes the thresholds of publish and redo, such",
        ),
        (("-m", "chrf", "--bands", "nan,1"), "The threshold of publish must be from -1e+100 to"),
        (("-m", "chrf", "--bands", "50,80"), "publish, 50, should be above that of redo, 80."),
        (("-m", "ter", "--bands", "80,50"), "publish, 80, should be below that of redo, 50."),
        (("--bands", "80,50"), "--bands is for the scores of one metric; name one with -m."),
        (("-m", "chrf", "bleu", "--bands", "80,50"), "--bands is for the scores of one metric"),
        (("-m", "chrf", "--by", "doc", "--bands", "80,50"), "--bands and --by cannot be combined"),
        (("-m", "adequa", "--confidence", "--bands", "1,0"), "--bands and --confidence cannot be"),
        (("-m", "chrf", "--bands", "none.json"), "There is no file none.json."),
    ],
)
def test_sentences(options: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(AdequaError) as caught:
        run("score", *TEXTS, *GIVEN["ref"], *options)
    assert sentence in str(caught.value)


# Thresholds chosen on ratings


def test_the_lowest_threshold_of_a_precision() -> None:
    random = np.random.default_rng(1)
    scores = random.integers(0, 30, 500).astype(float)
    hits = random.random(500) < scores / 30
    for precision in (0.5, 0.7, 0.9):
        fitting = [
            value
            for value in np.unique(scores)
            if (scores >= value).sum() >= FEWEST_OF_BAND
            and hits[scores >= value].mean() >= precision
        ]
        assert lowest_threshold(scores, hits, precision) == min(fitting, default=None)
    assert lowest_threshold(np.zeros(0), np.zeros(0, bool), 0.5) is None


def test_thresholds_are_where_the_precision_is(fitted: FittedBands) -> None:
    assert fitted.bands.publish == pytest.approx(0.7, abs=0.06)
    assert fitted.bands.redo == pytest.approx(0.4, abs=0.06)
    measured = fitted.measured
    assert [each.segments for each in measured.values()] == pytest.approx([130, 130, 140], abs=40)
    for name in ("publish", "redo"):
        assert measured[name].low < measured[name].precision < measured[name].high
        assert measured[name].precision > 0.85
    assert sum(each.segments for each in measured.values()) == 400


def test_a_file_of_bands(fitted: FittedBands, tmp_path: Path) -> None:
    path = tmp_path / "bands.json"
    path.write_text(fitted.to_json(), encoding="utf-8")
    read = read_bands(path, SourceLength())
    assert read == fitted.bands
    assert "chosen on 400 ratings of rated with a precision of 0.9" in read.legend()
    with pytest.raises(AdequaError, match="was made for source-length, and not for chrf|case"):
        read_bands(path, CHRF())
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(AdequaError, match="is not a file of `adequa train bands`"):
        read_bands(path, SourceLength())


def test_bands_for_other_inputs() -> None:
    """A metric that reads references or sources has other scores from the one than the other."""

    def signature(inputs: str) -> Signature:
        return Signature("unified", (("nrefs", "1"), ("inputs", inputs)))

    bands = ScoreBands(0.8, 0.5, inputs="reference+source")
    assert bands.warning(signature("reference+source")) is None
    assert bands.warning(signature("source")) == (
        "the bands of unified were chosen on scores from the reference+source, and these are from "
        "the source."
    )
    assert ScoreBands(0.8, 0.5).warning(signature("source")) is None  # the user's own


def test_bands_in_python(fitted: FittedBands) -> None:
    texts = rated().segments
    assert texts is not None
    scores = score(texts, metric=SourceLength())
    counts = np.bincount(fitted.bands(scores.segments), minlength=3)
    assert counts.sum() == 400
    assert ScoreBands(None, 0.1)(scores.segments).min() == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"poor": 80}, "poor, 80, should be at most good, 70."),
        ({"precision": 0.2}, "precision must be from 0.5 to 1, not 0.2."),
        ({"good": 1000, "poor": -1000}, "No score of source-length puts 20 segments or more into"),
        ({"metric": "chrf"}, "chrf needs references, and there are none"),
        ({"ratings": rated(50)}, "Thresholds are chosen on 200 ratings or more, and rated has 50."),
    ],
)
def test_what_cannot_be_fitted(options: dict[str, Any], sentence: str) -> None:
    settings = {"ratings": rated(), "metric": SourceLength(), "good": 70, "poor": 40, **options}
    with pytest.raises(AdequaError) as caught:
        fit_bands(**settings)
    assert sentence in str(caught.value)


@needs_judgements
def test_bands_of_public_ratings(tmp_path: Path) -> None:
    path = str(tmp_path / "bands.json")
    shown = run(
        "train", "bands", "--ratings", "wmt17-da", "-m", "chrf", "--good", "0.3", "--poor", "-0.3",
        "-o", path,
    )  # fmt: skip
    assert shown.splitlines()[3].split()[:5] == ["publish", "≥", "71.21", "360", "9.2%"]
    scored = run("score", *TEXTS, *GIVEN["ref"], "-m", "chrf", "--bands", path)
    assert "publish: 71.206 or more; redo: 21.8429 or less; check: between (chosen on" in scored
