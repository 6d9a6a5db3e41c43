"""One self-contained HTML file: a page, its style, its script, and data that can only be read.

Text of users is data. It reaches the page in two places: as JSON in a script element that browsers
do not run, with every character escaped that could end it, and compressed as base64, which has no
such characters. The script puts it on the page as text nodes. Should anything slip through, the
page's policy runs no script but the one whose digest it names, and loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

_ASSETS = resources.files("adequa.report") / "assets"
_SCRIPTS = (
    *("core.js", "words.js", "leaderboard.js", "pairs.js", "charts.js"),
    *("buckets.js", "segments.js", "start.js"),
)
_STYLES = ("base.css", "tables.css", "charts.css", "segments.css", "media.css")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_MEDIUM, _HARD = 6, 9  # levels of compression
_LARGE = 20_000_000  # bytes that are worth no more than medium effort


def page(
    title: str, summary: Mapping[str, Any], details: Mapping[str, Any], plain: Sequence[str]
) -> str:
    """The page of a comparison.

    `summary` is what is shown at once; `details`, which is most of it, is unpacked when the page is
    open. `plain` are rows of cells for readers whose browser runs no script, header first.
    """
    style, script = _joined(_STYLES), _script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    parts = {
        "title": _escaped(title),
        "policy": policy,
        "style": style,
        "script": script,
        "summary": embedded_json(summary),
        "details": packed(details),
        "plain": "".join(plain),
    }
    # All at once, so that nothing in one part is taken for a place in the page.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


def embedded_json(content: object) -> str:
    """JSON that can stand in a script element whatever is in it.

    >>> embedded_json({"text": "</script><!--&"})
    '{"text":"\\\\u003c/script\\\\u003e\\\\u003c!--\\\\u0026"}'
    """
    written = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        written = written.replace(char, f"\\u{ord(char):04x}")
    return written


def packed(content: object) -> str:
    """The same, compressed: base64 of gzip, with no time in it, so that equal content is equal.

    >>> json.loads(gzip.decompress(base64.b64decode(packed(["<b>"]))))
    ['<b>']
    """
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Halves of characters that stand alone cannot be written as they are.
    raw = written.encode("utf-8", "backslashreplace")
    level = _HARD if len(raw) < _LARGE else _MEDIUM
    return base64.b64encode(gzip.compress(raw, compresslevel=level, mtime=0)).decode("ascii")


def plain_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as rows of an HTML table, the header first."""
    return [
        "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    ]


def _escaped(text: str) -> str:
    """Text as HTML; halves of characters, which no file can hold, are question marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _script() -> str:
    """All parts of the script, in one scope of their own."""
    return f'(() => {{\n"use strict";\n{_joined(_SCRIPTS)}\n}})();\n'


def _joined(names: Sequence[str]) -> str:
    return "\n".join(map(_asset, names))


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"sha256-{digest.decode('ascii')}"
