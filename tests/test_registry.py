"""Metrics by name, with settings as users write them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from adequa import AdequaError, Segments, load_metric
from adequa.cli.metrics import metrics
from adequa.metrics import CHRF
from adequa.metrics.registry import METRICS, Entry, metric_class, settings_of
from documented_code import documented_module


def test_settings_are_parsed_by_their_type() -> None:
    metric = load_metric("bleu: lowercase=yes , max_ngram_order=2,smooth_value=0.5")
    assert metric == load_metric("bleu", lowercase=True, max_ngram_order=2, smooth_value=0.5)
    assert load_metric("bleu:smooth_value=none") == load_metric("bleu")
    assert load_metric("bleu:") == load_metric("bleu")


@pytest.mark.parametrize(
    ("specification", "sentence"),
    [
        ("blue", 'There is no metric named "blue". Did you mean "bleu"? The command'),
        ("", 'There is no metric named "".'),
        ("qqq", 'There is no metric named "qqq". The command `adequa metrics` lists them all.'),
        ("bleu:tokenise=13a", 'bleu has no setting named "tokenise". Did you mean "tokenize"?'),
        ("bleu:13a", '"13a" in "bleu:13a" is not a setting; write settings as bleu:NAME=VALUE'),
        ("bleu:lowercase=maybe", "bleu: lowercase must be true or false, not 'maybe'."),
        ("bleu:lowercase=true,lowercase=no", "bleu: lowercase is given more than once."),
        ("bleu:max_ngram_order=two", "bleu: max_ngram_order must be a whole number, not 'two'."),
        ("x" * 300, f'"{"x" * 40}…" is no metric: File name too long.'),
        ("bleu:x=" + "x" * 300, 'bleu has no setting named "x"'),
        ("bleu:smooth_value=x", "bleu: smooth_value must be a number or none, not 'x'."),
    ],
)
def test_bad_specifications(specification: str, sentence: str) -> None:
    with pytest.raises(AdequaError, match=re.escape(sentence)):
        load_metric(specification)


def test_keyword_settings_are_checked_too() -> None:
    assert load_metric("wer", lowercase="false") == load_metric("wer")  # and not a true string
    assert load_metric("bleu", smooth_value=1) == load_metric("bleu:smooth_value=1.0")
    for settings in ({"beta": 2.5}, {"beta": None}, {"beta": True}, {"lowercase": 1}):
        with pytest.raises(AdequaError, match="chrf: (beta|lowercase) must be "):
            load_metric("chrf", **settings)
    with pytest.raises(AdequaError, match="lowercase is given more than once"):
        load_metric("bleu:lowercase=true", lowercase=False)


def test_unknown_keyword_settings_are_refused() -> None:
    with pytest.raises(AdequaError, match='chrf has no setting named "order"'):
        load_metric("chrf", order=2)


def test_listing_imports_no_metric() -> None:
    code = "import sys; from adequa.metrics.registry import METRICS; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {entry.target.partition(":")[0] for entry in METRICS.values()}
    assert not set(shown.stdout.split()) & {*modules, "sacrebleu", "rapidfuzz"}


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_takes_its_own_defaults(name: str) -> None:
    assert load_metric(name, **settings_of(metric_class(name))) == load_metric(name)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_the_table_says_what_each_metric_reads(name: str) -> None:
    assert METRICS[name].reads == metric_class(name).reads


def test_the_metric_of_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, target, summary = documented_module(
        "metrics.md", "Adding a metric", tmp_path, monkeypatch
    )
    monkeypatch.setitem(METRICS, name, Entry(target, summary))
    segments = Segments(("a cat", ""), (("a cat", "cat"), ("cat",)))
    scores = load_metric(name).score(segments)
    assert scores.segments.tolist() == [1, 0.25]
    assert scores.system == 0.625
    by_words = load_metric(f"{name}:words=true").score(segments)
    assert by_words.segments.tolist() == [1, 0.5]
    assert str(by_words.signature).startswith("length-ratio|nrefs:var|words:true|version:")
    metrics(name)
    shown = capsys.readouterr().out
    assert "With several references the closest length counts." in shown
    assert "words    false    true or false" in shown


def test_a_metric_without_settings_shows_no_table_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "without_settings.py").write_text(
        "from dataclasses import dataclass\n"
        "from adequa.metrics.base import MeanMetric\n"
        "@dataclass(frozen=True)\n"
        "class Plain(MeanMetric):\n"
        "    'A metric.'\n"
        "    name, higher_is_better, range = 'plain', True, (0, 1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(METRICS, "plain", Entry("without_settings:Plain", "a metric"))
    metrics("plain")
    shown = capsys.readouterr().out
    assert "higher is better" in shown
    assert "Settings" not in shown


def test_choices_of_a_derived_metric_are_checked() -> None:
    @dataclass(frozen=True)
    class Styled(CHRF):
        style: str = "plain"
        choices = {"style": ("plain",)}  # noqa: RUF012

    Styled()
    with pytest.raises(AdequaError, match='"bold" is not a value of style'):
        Styled(style="bold")
