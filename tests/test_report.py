"""The page of a comparison as a file: whole, small, and safe whatever texts say."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa import ComparisonSettings, ScoreFile, compare
from adequa.comparison.html import (
    PageContent,
    _rounded_scores,
    compressed_json,
    embedded_json,
    render_page,
)
from adequa.comparison.results import rounding_tolerance
from adequa.tables import html_text
from judgements import needs_judgements
from wmt_outputs import outputs_from_archive

QUICK = ComparisonSettings(resamples=100, swaps=100)
NASTY = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)> \"double\" 'single' & &lt;b&gt; <!-- {{style}} {{script}}",
    "שלום עולם <b>bold</b> مرحبا \u202e reversed \u202c \u2028 line \ud800 half",
)


def summary_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="summary">(.*?)</script>', text)
    content: dict[str, Any] = json.loads(found)
    return content


def details_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/gzip" id="details">(.*?)</script>', text)
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found)))
    return content


def nasty_page() -> str:
    names = ["<b>old</b>", '"new" </script>']
    systems = {names[0]: list(NASTY), names[1]: list(reversed(NASTY))}
    given = [text.replace("\ud800", "") for text in NASTY]
    return compare(systems, given, ["chrf", "wer"], sources=given, settings=QUICK).to_html()


def test_texts_of_users_stay_data() -> None:
    text = nasty_page()
    assert text.count("<script") == text.count("</script>") == 3
    assert "alert(" not in text
    assert "onerror" not in text
    assert [row[2] for row in details_of(text)["texts"]] == list(NASTY)
    assert summary_of(text)["systems"][1] == '"new" </script>'
    assert ">&lt;b&gt;old&lt;/b&gt;</td>" in text


def test_the_policy_names_the_script_and_the_style() -> None:
    text = nasty_page()
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        (inner,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_nothing_is_loaded_or_made_from_strings() -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", nasty_page(), flags=re.DOTALL)
    for risky in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("):
        assert risky not in script
    links = re.findall(r"https?://[^\s\"']+", nasty_page())
    assert links == ["http://www.w3.org/2000/svg"]  # a name, which nobody asks for


def test_the_same_comparison_is_the_same_page() -> None:
    assert nasty_page() == nasty_page()


@settings(max_examples=50)
@given(st.text(), st.text())
def test_any_text_comes_back_as_it_was(one: str, other: str) -> None:
    text = render_page(PageContent(one, {"title": one}, {"texts": [other]}, html_text(other)))
    assert summary_of(text) == {"title": one}
    assert details_of(text) == {"texts": [other]}
    assert f"<title>{html_text(one)}</title>" in text
    assert not set("<>&") & set(embedded_json([one]))
    assert json.loads(gzip.decompress(base64.b64decode(compressed_json([one])))) == [one]


@needs_judgements
def test_a_large_page_is_small() -> None:
    """3,000 segments of five systems, with scores as long as scores get: two megabytes at most."""
    found = outputs_from_archive("de-en", 5, 3000)
    reference, source = found.pop("reference"), found.pop("source")
    generator = np.random.default_rng(1)
    metrics = [ScoreFile(name, {}, generator.random(15_000)) for name in ("one", "other")]
    text = compare(found, reference, metrics, sources=source, settings=QUICK).to_html()
    assert len(summary_of(text)["systems"]) == 5
    assert len(details_of(text)["texts"]) == 3000
    assert len(text.encode("utf-8")) < 2_000_000


def test_pages_need_no_segment_scores(tmp_path: Path) -> None:
    file = tmp_path / "whole.tsv"
    file.write_text("system\tscore\na\t1\nb\t2\n")
    text = compare({"a": ["x", "y"], "b": ["x", "z"]}, ["x", "y"], [str(file)]).to_html("A title")
    assert summary_of(text)["title"] == "A title"
    assert details_of(text)["scores"] == [None]


def test_pages_keep_what_tells_scores_apart() -> None:
    """Large scores that differ little are neither cut nor made equal; rounding stays a tie."""
    close = np.array([[1e6, 1e6 + 0.25, 7.0 + 1e6], [1e6 + 0.5, 1e6 + 0.25, 7.0 + 1e6]])
    close[1, 1] += 1e-9
    close[1, 2] += 1e-2
    said = {"a": ["x", "y", "z"], "b": ["y", "x", "z"]}
    metrics = [ScoreFile("close", {}, close.ravel())]
    found = compare(said, ["x", "y", "z"], metrics, settings=QUICK)
    details = details_of(found.to_html())
    first, second = np.array(details["scores"][0])
    gains = second - first
    ties = int((np.abs(gains) <= details["rounding"][0]).sum())
    assert (found.metrics[0].pairs[0].wins, ties) == (2, 1)
    np.testing.assert_allclose(gains, close[1] - close[0], atol=1e-5)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=8))
def test_pages_have_the_same_ties(scores: list[tuple[float, float]]) -> None:
    segments = np.array(scores).T
    shown = np.array(_rounded_scores(segments, 2))
    near = rounding_tolerance(segments)
    exact, cut = (np.abs(each[1] - each[0]) <= near for each in (segments, shown))
    assert exact.tolist() == cut.tolist()
    assert np.abs(shown - segments).max() <= 0.00501


def test_half_characters_are_refused_nowhere() -> None:
    assert json.loads(embedded_json(["\ud800"])) == ["\ud800"]
    with pytest.raises(ValueError, match="Out of range float"):
        embedded_json([float("nan")])
