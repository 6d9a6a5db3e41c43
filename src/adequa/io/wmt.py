"""WMT files: sources, references and hypotheses marked up by document and segment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from xml.parsers import expat

from adequa.errors import AdequaError
from adequa.io.text import (
    Advance,
    FilePath,
    SegmentKey,
    Track,
    byte_blocks,
    describe_segment,
    display_name,
    lines,
    text_format,
)

TextKind: TypeAlias = Literal["sources", "references", "hypotheses"]


class MarkedText(NamedTuple):
    """The text of one segment in a file."""

    part: TextKind
    by: str  # the system or the translator; empty where the file does not say
    key: SegmentKey
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class MarkedUp:
    """A WMT file: the segments in order, and the texts of each."""

    name: str
    keys: tuple[SegmentKey, ...]
    texts: Mapping[TextKind, Mapping[str, Mapping[SegmentKey, str]]]

    def source_track(self) -> Track[str]:
        """The source of every segment."""
        (sources,) = self._of("sources").values()
        self._refuse_gap(sources, "The source")
        return Track(self.name, map(sources.__getitem__, self.keys), self.keys)

    def reference_track(self) -> Track[tuple[str, ...]]:
        """The references of every segment, by as many translators as have one for it."""
        translators = self._of("references").values()
        cells = tuple(
            tuple(texts[key] for texts in translators if texts.get(key)) for key in self.keys
        )
        for key, references in zip(self.keys, cells, strict=True):
            if not references:
                raise AdequaError(f"{self.name}, {describe_segment(key)} has no reference.")
        return Track(self.name, iter(cells), self.keys)

    def system_tracks(self) -> dict[str, Track[str]]:
        """The hypotheses of every system in the file, by its name there."""
        systems = self._of("hypotheses")
        for system, texts in systems.items():
            self._refuse_gap(texts, f'System "{system}"' if system else "The system")
        return {
            system: Track(self.name, map(texts.__getitem__, self.keys), self.keys)
            for system, texts in systems.items()
        }

    def _of(self, part: TextKind) -> Mapping[str, Mapping[SegmentKey, str]]:
        if part not in self.texts:
            raise AdequaError(
                f"{self.name} holds no {part}, only {' and '.join(self.texts) or 'mark-up'}."
            )
        return self.texts[part]

    def _refuse_gap(self, texts: Mapping[SegmentKey, str], who: str) -> None:
        for key in self.keys:
            if key not in texts:
                raise AdequaError(f"{who} in {self.name} lacks {describe_segment(key)}.")


def read_marked_up(path: FilePath, *, advance: Advance) -> MarkedUp:
    """A WMT file as a whole: such files hold a test set, whose parts may come in any order."""
    marked_texts = _xml_texts if text_format(path) == ".xml" else _sgm_texts
    return _collected(display_name(path), marked_texts(path, advance=advance))


def _collected(name: str, marked_texts: Iterable[MarkedText]) -> MarkedUp:
    keys: dict[SegmentKey, None] = {}
    parts: dict[TextKind, dict[str, dict[SegmentKey, str]]] = {}
    for part, by, key, text, line in marked_texts:
        texts = parts.setdefault(part, {}).setdefault(by, {})
        if key in texts:
            whose = f' of "{by}"' if by else ""
            raise AdequaError(
                f"{name}, line {line}: {describe_segment(key)}{whose} is here a second time."
            )
        keys[key] = None
        texts[key] = text
    if not keys:
        raise AdequaError(
            f"{name} holds no segments: .xml files have them in <src>, <ref> and <hyp>, "
            ".sgm files in <srcset>, <refset> and <tstset>."
        )
    return MarkedUp(name, tuple(keys), parts)


_SGM_PARTS: Mapping[str, TextKind] = {
    "srcset": "sources",
    "refset": "references",
    "tstset": "hypotheses",
}
_TAG = re.compile(r"<(/?)(srcset|refset|tstset|doc|seg)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def _sgm_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of an .sgm file (up to 2020), in the order of the file.

    The files look like XML, but have bare `&` and `<` in the text, and attributes in either case
    and with or without quotes, so that no XML parser reads them.
    """
    name = display_name(path)
    text = "\n".join(lines(path, advance=advance))

    def error(line: int, sentence: str) -> AdequaError:
        return AdequaError(f"{name}, line {line}: {sentence}")

    part: TextKind | None = None
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
            part = None if closing else _SGM_PARTS[element]
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


def _by(part: TextKind, document: Mapping[str, str], set_attributes: Mapping[str, str]) -> str:
    if part == "sources":
        return ""  # some source files name a system here too, and mean nothing by it
    names = (document.get("sysid"), set_attributes.get("sysid"), set_attributes.get("refid"))
    return next(filter(None, names), "")


def _plain(text: str) -> str:
    """A segment's text: on one line, trimmed, and without entities."""
    return _unescaped(" ".join(filter(None, map(str.strip, text.split("\n")))))


def _unescaped(text: str) -> str:
    # Not html.unescape: it also turns "&copy" without semicolon and hundreds of other names.
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    if entity[1]:
        return _XML_ENTITIES[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004
    return entity[0] if surrogate or not 0 < code <= 0x10FFFF else chr(code)  # noqa: PLR2004


_XML_PARTS: Mapping[str, TextKind] = {"src": "sources", "ref": "references", "hyp": "hypotheses"}
_BY = {"src": "", "ref": "translator", "hyp": "system"}


def _xml_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of an .xml file (from 2021), in the order of the file."""
    name = display_name(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    scanner = _XmlScanner(name, parser)
    try:
        for block in byte_blocks(path, advance=advance):
            parser.Parse(block, False)
            yield from scanner.drained()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "not well-formed"
        raise AdequaError(f"{name}, line {error.lineno}: broken XML ({reason}).") from error
    except (LookupError, ValueError) as error:  # from the codec that the file asks for
        raise AdequaError(f"{name} has an encoding that cannot be read: {error}.") from error
    yield from scanner.drained()


class _XmlScanner:
    """The state between the events of the parser: the position, and the texts read so far."""

    def __init__(self, name: str, parser: expat.XMLParserType) -> None:
        self._name = name
        self._parser = parser
        self._texts_read: list[MarkedText] = []
        self._document: str | None = None
        self._side: tuple[TextKind, str] | None = None
        self._segment: tuple[SegmentKey, int] | None = None
        self._position = 0
        self._text: list[str] = []
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity

    def drained(self) -> list[MarkedText]:
        """The texts read since the last call."""
        texts, self._texts_read = self._texts_read, []
        return texts

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if element == "doc":
            # Test suites ride along in WMT's files, mostly without references; sacreBLEU leaves
            # them out too.
            self._document = None if "testsuite" in attributes else attributes.get("id", "")
        elif element in _XML_PARTS:
            self._side = (_XML_PARTS[element], attributes.get(_BY[element], ""))
            self._position = 0
        elif element == "seg" and self._document is not None and self._side is not None:
            self._position += 1
            key = (self._document, attributes.get("id", str(self._position)))
            self._segment = (key, self._parser.CurrentLineNumber)
            self._text = []

    def _characters(self, text: str) -> None:
        if self._segment is not None:
            self._text.append(text)

    def _end(self, element: str) -> None:
        if element == "doc":
            self._document = None
        elif element in _XML_PARTS:
            self._side = None
        elif element == "seg" and self._segment is not None and self._side is not None:
            key, line = self._segment
            text = "".join(self._text).strip()
            self._texts_read.append(MarkedText(*self._side, key, text, line))
            self._segment = None

    def _refuse_entity(self, *declaration: object) -> None:
        # A few entities that name each other are enough to fill any memory.
        raise AdequaError(
            f"{self._name}, line {self._parser.CurrentLineNumber}: the file declares the entity "
            f'"{declaration[0]}"; WMT files have none, and it is not read.'
        )
