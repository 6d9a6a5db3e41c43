"""WMT `.xml` files, from 2021 on: documents that hold source, references and hypotheses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.parsers import expat

from adequa.errors import AdequaError
from adequa.io.lockstep import Key
from adequa.io.text import Advance, FilePath, byte_blocks, shown
from adequa.io.wmt import MarkedText, Part

_PARTS: Mapping[str, Part] = {"src": "sources", "ref": "references", "hyp": "hypotheses"}
_BY = {"src": "", "ref": "translator", "hyp": "system"}


def marked_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of a file, in the order of the file."""
    name = shown(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    scanner = _Scanner(name, parser)
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


class _Scanner:
    """The state between the parser's events: where we are, and what was found since last asked."""

    def __init__(self, name: str, parser: expat.XMLParserType) -> None:
        self._name = name
        self._parser = parser
        self._found: list[MarkedText] = []
        self._document: str | None = None
        self._side: tuple[Part, str] | None = None
        self._segment: tuple[Key, int] | None = None
        self._position = 0
        self._text: list[str] = []
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity

    def drained(self) -> list[MarkedText]:
        """What was found since the last call."""
        found, self._found = self._found, []
        return found

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if element == "doc":
            # Test suites ride along in WMT's files, mostly without references; sacreBLEU leaves
            # them out too.
            self._document = None if "testsuite" in attributes else attributes.get("id", "")
        elif element in _PARTS:
            self._side = (_PARTS[element], attributes.get(_BY[element], ""))
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
        elif element in _PARTS:
            self._side = None
        elif element == "seg" and self._segment is not None and self._side is not None:
            key, line = self._segment
            text = "".join(self._text).strip()
            self._found.append(MarkedText(*self._side, key, text, line))
            self._segment = None

    def _refuse_entity(self, *declaration: object) -> None:
        # A few entities that name each other are enough to fill any memory.
        raise AdequaError(
            f"{self._name}, line {self._parser.CurrentLineNumber}: the file declares the entity "
            f'"{declaration[0]}"; WMT files have none, and it is not read.'
        )
