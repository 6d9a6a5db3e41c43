"""The report: a comparison as one HTML file that needs no network.

Text of users is data. It reaches the page in two places: as JSON in a script element that browsers
do not run, with every character escaped that could end it, and compressed as base64, which has no
such characters. The script puts it on the page as text nodes. Should anything slip through, the
page's policy runs no script but the one whose digest it names, and loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from itertools import permutations
from math import floor, log10
from typing import Any

import numpy as np

from adequa.comparison.explained import losses_on_page, pieces_on_page
from adequa.comparison.results import Comparison, Dimension, rounding_tolerance
from adequa.comparison.words import MAX_NGRAMS
from adequa.languages import language_name
from adequa.segments import FloatArray
from adequa.tables import html_text
from adequa.version import __version__

_ASSETS = resources.files("adequa.comparison") / "assets"
_SCRIPTS = (
    *("core.js", "words.js", "verdict.js", "leaderboard.js", "pairs.js", "losses.js", "charts.js"),
    *("scatter.js", "buckets.js", "ngrams.js", "explained.js", "segments.js", "export.js"),
    "start.js",
)
_STANDALONE_SCRIPT = "standalone.js"  # starts with the data embedded in the page
_STYLES = ("base.css", "tables.css", "charts.css", "segments.css", "explained.css", "media.css")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_MEDIUM, _HIGH = 6, 9  # levels of compression
_LARGE = 20_000_000  # bytes from which the highest level takes too long
_DIGITS = 5  # of the range of scores
_ALL_DIGITS = 15  # beyond which rounding changes nothing
_NAMED_SYSTEMS = 2  # in a title
# Not from the locale: the report is in English.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class PageContent:
    """Content of a page.

    `summary` is shown at once; `details`, which is most of it, is unpacked when the page is open.
    `plain` is an HTML table for readers whose browser runs no script.
    """

    title: str
    summary: Mapping[str, Any]
    details: Mapping[str, Any]
    plain: str


def comparison_page(comparison: Comparison, title: str = "", day: date | None = None) -> str:
    """One HTML file with the whole comparison, dated with this day or today."""
    return render_page(page_content(comparison, title, day))


def page_content(comparison: Comparison, title: str = "", day: date | None = None) -> PageContent:
    """The content of the page of a comparison."""
    systems = comparison.systems
    count = f"{len(systems)} systems"
    names = " and ".join(systems) if len(systems) <= _NAMED_SYSTEMS else count
    title = title or f"Comparison of {names}"
    content = comparison.to_dict(segments=False)
    buckets, _ = content.pop("buckets"), content.pop("ngrams")
    explanation, has_references = comparison.explanation, comparison.outputs.has_references
    if explanation is not None:
        content["explanation"] = losses_on_page(explanation)
    table, *_ = comparison.tables()
    return PageContent(
        title,
        {"title": title, "date": _date_in_words(day), **_summary(comparison, content)},
        {
            **_segments(comparison),
            "dimensions": buckets,
            **({"ngrams": _ngrams(comparison)} if has_references else {}),
            **({} if explanation is None else {"explained": pieces_on_page(explanation)}),
        },
        f"<p>{html_text(comparison.verdict())}</p>{table.to_html()}",
    )


def _date_in_words(day: date | None) -> str:
    """A date that no reader takes for another.

    >>> _date_in_words(date(2026, 3, 4))
    '4 March 2026'
    """
    day = day or date.today()
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def render_page(content: PageContent) -> str:
    """The HTML of a page."""
    page_style, page_script = style(), script(_asset(_STANDALONE_SCRIPT))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(page_style)}'; script-src '{_digest(page_script)}'"
    )
    values = {
        "title": html_text(content.title),
        "policy": policy,
        "style": page_style,
        "script": page_script,
        "sections": sections(),
        "summary": embedded_json(content.summary),
        "details": compressed_json(content.details),
        "plain": content.plain,
    }
    return fill_template(_asset("page.html"), values)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders filled, all at once: values are not searched for others.

    >>> fill_template("<p>{{a}} {{b}}</p>", {"a": "{{b}}", "b": "c"})
    '<p>{{b}} c</p>'
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def sections() -> str:
    """The empty sections of a page that show a comparison."""
    return _asset("sections.html")


def style() -> str:
    """The style sheet of these sections."""
    return "\n".join(map(_asset, _STYLES))


def script(*more: str) -> str:
    """The script that fills these sections, and more after it, in one scope."""
    joined = "\n".join([*map(_asset, _SCRIPTS), *more])
    return f'(() => {{\n"use strict";\n{joined}\n}})();\n'


def embedded_json(content: object) -> str:
    """JSON that can stand in a script element whatever it contains.

    >>> embedded_json({"text": "</script><!--&"})
    '{"text":"\\\\u003c/script\\\\u003e\\\\u003c!--\\\\u0026"}'
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def compressed_json(content: object) -> str:
    """JSON as base64 of gzip; without a time, so that equal content gives equal text.

    >>> json.loads(gzip.decompress(base64.b64decode(compressed_json(["<b>"]))))
    ['<b>']
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates cannot be encoded as they are.
    raw = text.encode("utf-8", "backslashreplace")
    level = _HIGH if len(raw) < _LARGE else _MEDIUM
    return base64.b64encode(gzip.compress(raw, compresslevel=level, mtime=0)).decode("ascii")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"sha256-{digest.decode('ascii')}"


# Data of the page: `Comparison.to_dict`, and segments in columns, which are smaller


def _summary(comparison: Comparison, content: Mapping[str, Any]) -> dict[str, Any]:
    """Data that is shown before any segment."""
    metrics = [
        {**values, "decimals": metric.decimals, "has_segments": metric.segments is not None}
        for metric, values in zip(comparison.metrics, content["metrics"], strict=True)
    ]
    return {
        **content,
        "metrics": metrics,
        "test_set": comparison.test_set,
        "has_references": comparison.outputs.has_references,
        "language_pair": _language_pair(comparison),
        "words_from": "the references" if comparison.frequencies is None else "the known text",
        "settings_line": str(comparison.settings),
        "meaning_of_ranks": comparison.settings.meaning_of_ranks,
        "version": __version__,
    }


def _language_pair(comparison: Comparison) -> str:
    """The languages in words; empty where the target is not known."""
    language = comparison.language
    if language.name is None:
        return ""
    if language.source is None:
        return f"into {language.name}"
    return f"{language_name(language.source)} to {language.name}"


def _ngrams(comparison: Comparison) -> dict[str, Any]:
    """N-grams that one of two systems matches more often, for all pairs of systems.

    Each n-gram stands once with its counts, however many pairs list it.
    """
    ngrams = comparison.word_statistics.ngrams
    pairs = list(permutations(range(len(comparison.systems)), 2))
    lists = [ngrams.largest_ratios(*pair) for pair in pairs]
    listed = sorted({index for each in lists for index in each})
    position = {index: place for place, index in enumerate(listed)}
    return {
        "limit": MAX_NGRAMS,
        "texts": [ngrams.text(index) for index in listed],
        "reference": ngrams.reference[listed].tolist(),
        "matches": ngrams.matches[:, listed].tolist(),
        # By first and second system: n-grams that the second matches more often.
        "pairs": {
            f"{first}-{second}": [position[index] for index in each]
            for (first, second), each in zip(pairs, lists, strict=True)
        },
    }


def _segments(comparison: Comparison) -> dict[str, Any]:
    """Texts, scores and buckets of segments.

    The texts of a segment stand together, because they are alike and compress well.
    """
    outputs = comparison.outputs
    segments = zip(
        outputs.sources or (None,) * len(outputs),
        outputs.references,
        zip(*outputs.hypotheses, strict=True),
        strict=True,
    )
    scores = [metric.segments for metric in comparison.metrics]
    return {
        "texts": [
            [*([] if source is None else [source]), list(references), *hypotheses]
            for source, references, hypotheses in segments
        ],
        "has_source": outputs.sources is not None,
        "scores": [
            None if each is None else _rounded_scores(each, _decimals(each, metric.decimals))
            for each, metric in zip(scores, comparison.metrics, strict=True)
        ],
        # Gains up to this size are rounding.
        "rounding": [None if each is None else rounding_tolerance(each) for each in scores],
        "bucket_of": [_bucket_indices(each, len(outputs)) for each in comparison.dimensions],
    }


def _bucket_indices(dimension: Dimension, segments: int) -> list[int]:
    indices = [0] * segments
    for index, bucket in enumerate(dimension.buckets):
        for row in bucket.rows.tolist():
            indices[row] = index
    return indices


def _decimals(scores: FloatArray, shown: int) -> int:
    """Decimals that distinguish scores: by their range, which may be small beside their size."""
    score_range = float(np.ptp(scores))
    needed = _DIGITS - floor(log10(score_range)) if score_range else 0
    return min(max(needed, shown + 1), _ALL_DIGITS)


def _rounded_scores(scores: FloatArray, decimals: int) -> list[list[float]]:
    """Scores (systems, segments) in so many decimals; whole numbers without a point.

    Segments in which rounding would create or break a tie keep all digits.
    """
    tolerance, rounded = rounding_tolerance(scores), np.round(scores, decimals)
    exact_ties, rounded_ties = (
        np.diff(np.sort(each, axis=0), axis=0) <= tolerance for each in (scores, rounded)
    )
    output = np.where((exact_ties != rounded_ties).any(axis=0), scores, rounded)
    return [
        [int(score) if score.is_integer() else score for score in row] for row in output.tolist()
    ]
