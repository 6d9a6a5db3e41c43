"""WMT `.sgm` files, up to 2020: a scanner for what looks like XML and is not.

The files have bare `&` and `<` in the text, attributes in either case and with or without quotes,
so no XML parser takes them. Five elements matter; what stands outside of segments is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adequa.errors import AdequaError
from adequa.io.text import Advance, FilePath, lines, shown
from adequa.io.wmt import MarkedText, Part

_PARTS: Mapping[str, Part] = {
    "srcset": "sources",
    "refset": "references",
    "tstset": "hypotheses",
}
_TAG = re.compile(r"<(/?)(srcset|refset|tstset|doc|seg)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def marked_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of a file, in the order of the file."""
    name = shown(path)
    text = "\n".join(lines(path, advance=advance))

    def error(line: int, sentence: str) -> AdequaError:
        return AdequaError(f"{name}, line {line}: {sentence}")

    part: Part | None = None
    set_attributes: dict[str, str] = {}
    document: dict[str, str] | None = None
    open_segment: re.Match[str] | None = None
    position = 0  # of the segment in its document, for files that do not number them
    line, opened_on, counted_to = 1, 1, 0
    for tag in _TAG.finditer(text):
        line, counted_to = line + text.count("\n", counted_to, tag.start()), tag.start()
        closing, element = bool(tag[1]), tag[2].lower()
        if element == "seg" and closing:
            if open_segment is None or document is None or part is None:
                raise error(line, "</seg> closes a segment that was never opened.")
            by = _by(part, document, set_attributes)
            segment = _attributes(open_segment[3]).get("id", str(position))
            yield MarkedText(
                part,
                by,
                (document.get("docid", document.get("id", "")), segment),
                _plain(text[open_segment.end() : tag.start()]),
                opened_on,
            )
            open_segment = None
        elif open_segment is not None:
            raise error(opened_on, "the segment that begins here is not closed.")
        elif element == "seg":
            if document is None or part is None:
                raise error(line, "a segment outside of <doc> and of a set of documents.")
            open_segment, opened_on, position = tag, line, position + 1
        elif element == "doc":
            document, position = (None if closing else _attributes(tag[3])), 0
        else:
            part = None if closing else _PARTS[element]
            set_attributes = _attributes(tag[3])
    if open_segment is not None:
        raise error(opened_on, "the segment that begins here is not closed.")
    if document is not None:
        raise error(text.count("\n") + 1, "the file ends inside a document; it may be cut short.")


def _attributes(text: str) -> dict[str, str]:
    # From the last to the first, so that the first wins: WMT's wrapping script puts the system
    # that submits before the sysid it copies from the source.
    return {
        match[1].lower(): _unescaped(match[2] or match[3] or match[4] or "")
        for match in reversed(list(_ATTRIBUTE.finditer(text)))
    }


def _by(part: Part, document: Mapping[str, str], set_attributes: Mapping[str, str]) -> str:
    if part == "sources":
        return ""  # some source files name a system here too, and mean nothing by it
    named = (document.get("sysid"), set_attributes.get("sysid"), set_attributes.get("refid"))
    return next(filter(None, named), "")


def _plain(text: str) -> str:
    """A segment's text: on one line, trimmed, and without entities."""
    return _unescaped(" ".join(filter(None, map(str.strip, text.split("\n")))))


def _unescaped(text: str) -> str:
    # Not html.unescape: it also turns "&copy" without semicolon and hundreds of other names.
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    if entity[1]:
        return _NAMED[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004
    return entity[0] if surrogate or not 0 < code <= 0x10FFFF else chr(code)  # noqa: PLR2004
