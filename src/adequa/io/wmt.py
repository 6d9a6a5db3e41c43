"""WMT files: sources, references and hypotheses marked up by document and segment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape
from typing import Literal, NamedTuple, TypeAlias

from adequa.errors import AdequaError
from adequa.io.text import (
    Advance,
    Cell,
    FilePath,
    SegmentKey,
    Track,
    describe_segment,
    display_name,
    lines,
    text_format,
)
from adequa.io.xml import read_xml

TextKind: TypeAlias = Literal["sources", "references", "hypotheses"]


class MarkedText(NamedTuple):
    """The text of one segment in a file."""

    part: TextKind
    by: str  # the system or the translator; empty where the file does not say
    key: SegmentKey
    text: str


@dataclass(frozen=True, slots=True)
class MarkedUp:
    """A file with mark-up: the segments in order, and the texts of each."""

    name: str
    keys: tuple[SegmentKey, ...]
    texts: Mapping[TextKind, Mapping[str, Mapping[SegmentKey, str]]]
    format: str
    has_ids: bool = True  # otherwise segments have numbers, and are matched by position alone
    selection: str = ""  # the languages that were read, where a file names them

    def without_keys(self) -> MarkedUp:
        """The same segments, by their numbers."""
        return replace(self, has_ids=False)

    @property
    def has_sources(self) -> bool:
        """Whether every segment has a source."""
        return any(
            all(key in texts for key in self.keys)
            for texts in self.texts.get("sources", {}).values()
        )

    def source_track(self) -> Track[str]:
        """The source of every segment."""
        (sources,) = self._of("sources").values()
        self._refuse_gap(sources, "The source")
        return self._track(map(sources.__getitem__, self.keys))

    def _track(self, cells: Iterator[Cell]) -> Track[Cell]:
        return Track(self.name, cells, self.keys if self.has_ids else None, "segment")

    def reference_track(self) -> Track[tuple[str, ...]]:
        """The references of every segment, by as many translators as have one for it."""
        translators = self._of("references").values()
        cells = tuple(
            tuple(texts[key] for texts in translators if texts.get(key)) for key in self.keys
        )
        for key, references in zip(self.keys, cells, strict=True):
            if not references:
                raise AdequaError(f"{self.name}, {describe_segment(key)} has no reference.")
        return self._track(iter(cells))

    def system_tracks(self) -> dict[str, Track[str]]:
        """The hypotheses of every system in the file, by its name there."""
        systems = self._of("hypotheses")
        for system, texts in systems.items():
            self._refuse_gap(texts, f'System "{system}"' if system else "The system")
        return {
            system: self._track(map(texts.__getitem__, self.keys))
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
    is_xml = text_format(path) == ".xml"
    marked_texts = _xml_texts if is_xml else _sgm_texts
    format_ = "WMT XML" if is_xml else "WMT SGM"
    return collected(display_name(path), marked_texts(path, advance=advance), format_)


def collected(name: str, marked_texts: Iterable[MarkedText], format_: str) -> MarkedUp:
    """Texts in any order as one file, whose segments are in the order of their first texts."""
    keys: dict[SegmentKey, None] = {}
    parts: dict[TextKind, dict[str, dict[SegmentKey, str]]] = {}
    for part, by, key, text in marked_texts:
        texts = parts.setdefault(part, {}).setdefault(by, {})
        if key in texts:
            whose = f' of "{by}"' if by else ""
            raise AdequaError(f"{name}, {describe_segment(key)}{whose} is here a second time.")
        keys[key] = None
        texts[key] = text
    if not keys:
        raise AdequaError(
            f"{name} holds no segments: .xml files have them in <src>, <ref> and <hyp>, "
            ".sgm files in <srcset>, <refset> and <tstset>."
        )
    return MarkedUp(name, tuple(keys), parts, format_)


_SGM_PARTS: Mapping[str, TextKind] = {
    "srcset": "sources",
    "refset": "references",
    "tstset": "hypotheses",
}
_SET = re.compile(r"<(srcset|refset|tstset)\b([^<>]*)>", re.IGNORECASE)
_DOCUMENT = re.compile(r"<doc\b([^<>]*)>([^<]*(?:<(?!/?doc\b)[^<]*)*)</doc\s*>", re.IGNORECASE)
_SEGMENT = re.compile(
    r"<seg\b([^<>]*)>([^<]*(?:<(?!/?(?:seg|doc)\b)[^<]*)*)</seg\s*>", re.IGNORECASE
)
_SEGMENT_TAG = re.compile(r"</?seg\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")


def _sgm_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of an .sgm file (up to 2020), in the order of the file.

    The files look like XML, but have bare `&` and `<` in the text, and attributes in either case
    and with or without quotes, so that no XML parser reads them.
    """
    text = "\n".join(lines(path, advance=advance))
    sets = [*_SET.finditer(text)]
    ends = [*(opening.start() for opening in sets[1:]), len(text)]
    complete: set[int] = set()  # where the tags of whole segments begin
    for opening, end in zip(sets, ends, strict=False):
        part, of_set = _SGM_PARTS[opening[1].lower()], _attributes(opening[2])
        for document in _DOCUMENT.finditer(text, opening.end(), end):
            of_document = _attributes(document[1])
            by = _by(part, of_document, of_set)
            name = of_document.get("docid", of_document.get("id", ""))
            for number, segment in enumerate(_SEGMENT.finditer(text, *document.span(2)), 1):
                complete |= {segment.start(), segment.end(2)}
                key = name, _attributes(segment[1]).get("id", str(number))
                yield MarkedText(part, by, key, _plain(segment[2]))
    for tag in _SEGMENT_TAG.finditer(text):
        if tag.start() not in complete:
            line = text.count("\n", 0, tag.start()) + 1
            raise AdequaError(
                f"{display_name(path)}, line {line}: {tag[0]}> is no part of a whole segment in a "
                "<doc> of a <srcset>, <refset> or <tstset>; the file may be cut short."
            )


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
    # Not all of it at once: that would also turn "&copy" without semicolon and hundreds of names.
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text)


_XML_PARTS: Mapping[str, TextKind] = {"src": "sources", "ref": "references", "hyp": "hypotheses"}
_BY = {"src": "", "ref": "translator", "hyp": "system"}


def _xml_texts(path: FilePath, *, advance: Advance) -> Iterator[MarkedText]:
    """Every segment of an .xml file (from 2021), in the order of the file."""
    root = read_xml(path, advance=advance)
    for document in root.iter("doc"):
        if "testsuite" in document.attrib:
            # Test suites ride along in WMT's files, mostly without references; sacreBLEU leaves
            # them out too.
            continue
        for side in document.iter():
            if side.tag in _XML_PARTS:
                part, by = _XML_PARTS[side.tag], side.get(_BY[side.tag], "")
                for number, segment in enumerate(side.iter("seg"), 1):
                    key = document.get("id", ""), segment.get("id", str(number))
                    yield MarkedText(part, by, key, "".join(segment.itertext()).strip())
