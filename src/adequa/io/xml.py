"""XML from people one does not know: streamed, bounded, and without entities of its own.

Expat opens no file and no address that a document names, but would expand entities that a document
declares, by the billion in older versions. No format that we read needs them, so a declaration is
refused before anything is expanded. A document type without declarations, as TMX has it, is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

from adequa.errors import AdequaError
from adequa.io.text import Advance, FilePath, byte_blocks, display_name

_DEEPEST = 200  # elements within each other; real files have some twenty
_CODES = frozenset(("bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec", "cp", "sm", "em"))
_BREAKS = frozenset(("lb", "x-lb", "xlf:lb"))  # codes of XLIFF 1.2 and 2.x for a line break
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def xml_events(path: FilePath, *, advance: Advance) -> Iterator[tuple[str, ET.Element]]:
    """The starts and ends of all elements of a file, as `("start", element)` and `("end", …)`.

    A caller removes the elements that it has read, so that they do not add up in memory.
    """
    name = display_name(path)
    parser: Any = ET.XMLPullParser(("start", "end"))  # whose events have types of their own
    guard = prolog_guard(name)
    depth = 0
    try:
        for block in byte_blocks(path, advance=advance):
            guard(block)
            parser.feed(block)
            for event, element in parser.read_events():
                depth += 1 if event == "start" else -1
                if depth > _DEEPEST:
                    raise AdequaError(f"{name} has more than {_DEEPEST} elements in each other.")
                yield event, element
        parser.close()
    except (ET.ParseError, expat.ExpatError) as error:
        raise _broken(name, error) from error
    except (LookupError, ValueError) as error:  # from the codec that the file asks for
        raise AdequaError(f"{name} has an encoding that cannot be read: {error}.") from error


def _broken(name: str, error: Any) -> AdequaError:
    line = error.position[0] if isinstance(error, ET.ParseError) else error.lineno
    reason = expat.ErrorString(error.code) or "not well-formed"
    return AdequaError(f"{name}, line {line}: broken XML ({reason}).")


def prolog_guard(name: str) -> Callable[[bytes], bool]:
    """A function that takes a file block by block, and raises where it declares an entity.

    It returns whether a declaration may still come: they stand before the first element.
    """
    parser = expat.ParserCreate()
    is_open = True

    def refuse(*_: object) -> None:
        raise AdequaError(
            f"{name}, line {parser.CurrentLineNumber} declares an entity, which is not read; "
            "write the text itself in its place."
        )

    def close(*_: object) -> None:
        nonlocal is_open
        is_open = False

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = close

    def feed(block: bytes) -> bool:
        if is_open:
            parser.Parse(block)
        return is_open

    return feed


def read_xml(path: FilePath, *, advance: Advance) -> ET.Element:
    """The root element of a file that is read as a whole."""
    root: ET.Element | None = None
    for _, element in xml_events(path, advance=advance):
        root = element if root is None else root
    if root is None:  # which is no XML, and raised above
        raise AdequaError(f"{display_name(path)} is empty.")
    return root


def local_name(element: ET.Element) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def inline_text(element: ET.Element, *, preserve: bool = False) -> str:
    """The text of an element of TMX or XLIFF: codes of other formats go, what they enclose stays.

    Line ends, also those that are codes, and the spaces around them become one space, as editors
    put them into files; with `preserve`, or where the element says xml:space="preserve", they stay.
    """
    text = "".join(_pieces(element))
    if preserve or element.get(_SPACE) == "preserve":
        return text
    return " ".join(filter(None, map(str.strip, text.split("\n"))))


def _pieces(element: ET.Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if local_name(child) not in _CODES:
            yield from _pieces(child)
        elif _BREAKS.intersection((child.get("ctype"), child.get("subType"))):
            yield "\n"
        yield child.tail or ""


def preserves_space(element: ET.Element) -> bool:
    """Whether an element says that its white space is text."""
    return element.get(_SPACE) == "preserve"
