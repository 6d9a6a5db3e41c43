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
from dataclasses import dataclass
from importlib import resources
from typing import Any

_ASSETS = resources.files("adequa.report") / "assets"
_SCRIPTS = (
    *("core.js", "words.js", "leaderboard.js", "pairs.js", "charts.js"),
    *("buckets.js", "segments.js", "start.js"),
)
_IN_FILE = "file.js"  # begins with what lies in the page
_STYLES = ("base.css", "tables.css", "charts.css", "segments.css", "media.css")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_MEDIUM, _HARD = 6, 9  # levels of compression
_LARGE = 20_000_000  # bytes that are worth no more than medium effort


@dataclass(frozen=True, slots=True)
class Parts:
    """What a page shows.

    `summary` is shown at once; `details`, which is most of it, is unpacked when the page is open.
    `plain` are rows of an HTML table for readers whose browser runs no script.
    """

    title: str
    summary: Mapping[str, Any]
    details: Mapping[str, Any]
    plain: Sequence[str]


def page(parts: Parts) -> str:
    """The page of a comparison."""
    styled, scripted = style(), script(asset(_IN_FILE))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(styled)}'; script-src '{_digest(scripted)}'"
    )
    places = {
        "title": _escaped(parts.title),
        "policy": policy,
        "style": styled,
        "script": scripted,
        "sections": sections(),
        "summary": embedded_json(parts.summary),
        "details": packed(parts.details),
        "plain": "".join(parts.plain),
    }
    return filled(asset("page.html"), places)


def filled(template: str, places: Mapping[str, str]) -> str:
    """A template with its places filled: all at once, so that nothing in one is taken for another.

    >>> filled("<p>{{a}} {{b}}</p>", {"a": "{{b}}", "b": "c"})
    '<p>{{b}} c</p>'
    """
    return _PLACE.sub(lambda place: places[place[1]], template)


def sections() -> str:
    """The parts of a page that show a comparison, empty."""
    return asset("sections.html")


def style() -> str:
    """How these parts look."""
    return "\n".join(map(asset, _STYLES))


def script(*more: str) -> str:
    """What fills these parts, and more behind it, in one scope of its own."""
    joined = "\n".join([*map(asset, _SCRIPTS), *more])
    return f'(() => {{\n"use strict";\n{joined}\n}})();\n'


def asset(name: str) -> str:
    """A file that lies beside this one."""
    return (_ASSETS / name).read_text(encoding="utf-8")


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


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"sha256-{digest.decode('ascii')}"
