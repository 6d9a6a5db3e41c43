"""TMX and XLIFF: files of sources and their translations, from translation tools.

The translations of TMX 1.x and the targets of XLIFF 1.2 and 2.x are hypotheses or references, as
the caller says. XLIFF may also hold alternative translations (`<alt-trans>`, or `<match>` of the
translation candidates module), which are systems by their origin. The text of a sub-flow (`<sub>`)
stands inside a code and is left out with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree as ET

from adequa.errors import AdequaError, counted
from adequa.io.text import Advance, FilePath, SegmentKey, display_name, text_format
from adequa.io.wmt import MarkedText, MarkedUp, TextKind, collected
from adequa.io.xml import LANGUAGE, inline_text, local_name, preserves_space, xml_events
from adequa.languages import known_language

_ANY_LANGUAGE = "*all*"
_NO_SOURCE = "no source language (srclang)"
_UNNAMED = "alternative"  # the system of alternative translations without an origin


def read_bitext(
    path: FilePath, part: TextKind | None, *, language: str | None, advance: Advance
) -> MarkedUp:
    """The sources of a file, and its translations as `part`.

    With `part` None, translations are references and alternatives the hypotheses; in a file without
    alternatives, translations are hypotheses. `language` is the target language, or a pair such as
    en-de; only TMX may need it.
    """
    if text_format(path) == ".tmx":
        return _read_tmx(path, part or "hypotheses", language, advance)
    return _read_xliff(path, part, advance)


# TMX


@dataclass(slots=True)
class _Unit:
    """A translation unit of TMX: its id, if it has one, and its texts by language."""

    id: str | None
    texts: dict[str, list[str]] = field(default_factory=dict)


def _read_tmx(path: FilePath, part: TextKind, language: str | None, advance: Advance) -> MarkedUp:
    name = display_name(path)
    header_language, units = _tmx_units(path, advance)
    languages = list(dict.fromkeys(each for unit in units for each in unit.texts))
    if not languages:
        raise AdequaError(f"{name} holds no translation units: <tu> with a <tuv> and <seg> each.")
    source, target = _tmx_languages(name, languages, header_language, language)
    if part == "sources" and not source and len(languages) > 1:
        raise _ambiguous(name, _NO_SOURCE, languages)
    ids = [unit.id for unit in units]
    is_numbered = None in ids or len(set(ids)) < len(ids)
    texts = []
    for number, unit in enumerate(units, 1):
        key = "", str(number) if is_numbered else str(unit.id)
        if source in unit.texts:
            texts.append(MarkedText("sources", "", key, unit.texts[source][0]))
        if part != "sources":
            texts += _tmx_translations(name, part, key, unit.texts.get(target, []), target)
    selection = f"{source} to {target}" if source else target
    marked_up = replace(collected(name, texts, "TMX"), selection=selection)
    if is_numbered:
        marked_up = marked_up.without_keys()
    return marked_up


def _tmx_translations(
    name: str, part: TextKind, key: SegmentKey, translations: Sequence[str], target: str
) -> Iterator[MarkedText]:
    if not translations:
        raise AdequaError(f'{name}, unit {key[1]} has no translation into "{target}".')
    if part == "hypotheses" and len(translations) > 1:
        raise AdequaError(
            f'{name}, unit {key[1]} has {len(translations)} translations into "{target}", and '
            "a system has one."
        )
    for number, text in enumerate(translations):
        yield MarkedText(part, str(number or ""), key, text)


def _tmx_units(path: FilePath, advance: Advance) -> tuple[str, list[_Unit]]:
    """The source language of the header, or else that of all units, and the units."""
    header = ""
    of_units: set[str] = set()
    units: list[_Unit] = []
    stack: list[ET.Element] = []
    for event, element in xml_events(path, advance=advance):
        if event == "start":
            stack.append(element)
            continue
        stack.pop()
        tag = local_name(element)
        if tag == "header":
            header = element.get("srclang", "")
        if tag == "tu":
            units.append(_tmx_unit(element))
            of_units.add(element.get("srclang", ""))
            stack[-1].remove(element) if stack else None
    common = of_units.pop() if len(of_units) == 1 else ""
    candidates = (each for each in (header, common) if each and each != _ANY_LANGUAGE)
    return next(candidates, ""), units


def _tmx_unit(element: ET.Element) -> _Unit:
    unit = _Unit(element.get("tuid"))
    for variant in element:
        language = variant.get(LANGUAGE) or variant.get("lang") or ""
        for segment in variant if local_name(variant) == "tuv" else ():
            if local_name(segment) == "seg":
                unit.texts.setdefault(language, []).append(inline_text(segment))
    return unit


def _tmx_languages(
    name: str, languages: Sequence[str], header: str, wanted: str | None
) -> tuple[str, str]:
    """The languages of sources, empty where it is not certain, and of translations."""
    pair = None if wanted is None else _matching_pair(languages, wanted)
    source, target = pair or (None, None)
    source = source or _matching(languages, header)
    if target is None and wanted is None:
        others = [each for each in languages if each != source]
        target = others[0] if len(others) == 1 else None
    if target is None:
        what = f"no translation into {wanted}" if wanted else counted(len(languages), "language")
        what = what if header or wanted else _NO_SOURCE
        raise _ambiguous(name, what, languages)
    if source is None:
        others = [each for each in languages if each != target]
        source = others[0] if len(others) == 1 else ""
    return source, target


def _ambiguous(name: str, what: str, languages: Sequence[str]) -> AdequaError:
    return AdequaError(
        f"{name} has {what}: its languages are {', '.join(languages)}. Say which one "
        "to read with -l, such as -l en-de."
    )


def _matching_pair(languages: Sequence[str], wanted: str) -> tuple[str | None, str] | None:
    """Source and target language that a code or a pair of codes means; None where none does.

    >>> _matching_pair(["en-US", "de-DE", "de-AT"], "en-de-AT")
    ('en-US', 'de-AT')
    >>> _matching_pair(["EN", "DE"], "de"), _matching_pair(["en", "de"], "fr")
    ((None, 'DE'), None)
    >>> _matching_pair(["eng", "de-DE"], "English-German")
    ('eng', 'de-DE')
    """
    target = _matching(languages, wanted)
    if target is not None:
        return None, target
    parts = wanted.replace("_", "-").split("-")
    for cut in range(1, len(parts)):
        source = _matching(languages, "-".join(parts[:cut]))
        target = _matching(languages, "-".join(parts[cut:]))
        if source is not None and target is not None:
            return source, target
    named = known_language(wanted, "given")  # other codes, and names
    target = None if named is None else _of_code(languages, named.code, named.variant)
    if named is None or target is None:
        return None
    return _of_code(languages, named.source), target


def _of_code(languages: Sequence[str], code: str | None, variant: str | None = None) -> str | None:
    """The one language of this code, and of this variant where there is one."""
    known = {each: known_language(each, "given") for each in languages}
    matching = [
        each
        for each, language in known.items()
        if language is not None
        and language.code == code
        and (variant is None or language.variant == variant)
    ]
    return matching[0] if len(matching) == 1 else None


def _matching(languages: Sequence[str], code: str) -> str | None:
    """The one language that is this code, or begins with it."""
    normalised = {each: each.lower().replace("_", "-") for each in languages}
    code = code.lower().replace("_", "-")
    exact = [each for each, plain in normalised.items() if plain == code]
    longer = [each for each, plain in normalised.items() if plain.startswith(f"{code}-")]
    matching = exact or (longer if code else [])
    return matching[0] if len(matching) == 1 else None


# XLIFF


@dataclass(frozen=True, slots=True)
class _Pair:
    """A segment of XLIFF: its source, its target if it has one, and alternatives by origin."""

    key: SegmentKey
    source: str
    target: str | None
    alternatives: dict[str, str]


def _read_xliff(path: FilePath, part: TextKind | None, advance: Advance) -> MarkedUp:
    name = display_name(path)
    version, pairs = _xliff_pairs(path, advance)
    if not pairs:
        raise AdequaError(
            f"{name} holds no segments: XLIFF has them in <trans-unit> (1.2) or <unit> (2.x)."
        )
    if part != "sources" and all(pair.target is None for pair in pairs):
        raise AdequaError(f"{name} holds sources and no targets: nothing is translated in it.")
    if part is None and not any(pair.alternatives for pair in pairs):
        part = "hypotheses"
    translated: TextKind = "references" if part is None else part
    texts = [MarkedText("sources", "", pair.key, pair.source) for pair in pairs]
    for pair in pairs if part != "sources" else ():
        target = pair.target or ""
        if translated == "references" and not target.strip():
            raise AdequaError(
                f"{name}, {_described(pair.key)} has no target, which is the reference."
            )
        texts.append(MarkedText(translated, "", pair.key, target))
    if part is None:
        texts += [
            MarkedText("hypotheses", origin, pair.key, text)
            for pair in pairs
            for origin, text in pair.alternatives.items()
        ]
    return collected(name, texts, f"XLIFF {version}")


def _described(key: SegmentKey) -> str:
    return f'"{key[0]}", unit {key[1]}'


def _xliff_pairs(path: FilePath, advance: Advance) -> tuple[str, list[_Pair]]:
    """The version of a file, and its segments in order, without those not to be translated."""
    version = "1.2"
    pairs: list[_Pair] = []
    document, files = "", 0
    stack: list[ET.Element] = []
    readers: dict[str, Callable[[ET.Element, str, bool], Iterator[_Pair]]] = {
        "trans-unit": _pairs_of_1,
        "unit": _pairs_of_2,
    }
    for event, element in xml_events(path, advance=advance):
        tag = local_name(element)
        if event == "start":
            stack.append(element)
            if tag == "xliff":
                version = element.get("version", version)
            elif tag == "file":
                files += 1
                document = element.get("original") or element.get("id") or str(files)
            continue
        stack.pop()
        if tag in readers and not any(local_name(each) in readers for each in stack):
            if _is_translated([*stack, element]):
                preserve = any(map(preserves_space, [*stack, element]))
                pairs += readers[tag](element, document, preserve)
            stack[-1].remove(element) if stack else None
    return version, pairs


def _is_translated(path: Sequence[ET.Element]) -> bool:
    """Whether the last of nested elements is to be translated: the innermost that says so."""
    return next((each.get("translate") for each in reversed(path) if "translate" in each.attrib),
                "yes") != "no"  # fmt: skip


def _child(element: ET.Element, tag: str) -> ET.Element | None:
    return next((child for child in element if local_name(child) == tag), None)


def _optional_text(element: ET.Element | None, *, preserve: bool) -> str | None:
    return None if element is None else inline_text(element, preserve=preserve)


def _parts(element: ET.Element | None) -> dict[str, ET.Element]:
    """The segments of a `<seg-source>` or `<target>` of XLIFF 1.2, by their ids."""
    marks = [] if element is None else element.iter()
    return {
        mark.get("mid", ""): mark
        for mark in marks
        if local_name(mark) == "mrk" and mark.get("mtype") == "seg"
    }


def _pairs_of_1(unit: ET.Element, document: str, preserve: bool) -> Iterator[_Pair]:
    """The segments of a `<trans-unit>`: those of `<seg-source>`, or else the unit."""
    identifier = unit.get("id") or ""
    source, target = _child(unit, "source"), _child(unit, "target")
    alternatives = [
        (child.get("origin") or child.get("tool-id") or _UNNAMED, _child(child, "target"))
        for child in unit
        if local_name(child) == "alt-trans" and child.get("alttranstype", "proposal") == "proposal"
    ]
    sources, targets = _parts(_child(unit, "seg-source")), _parts(target)
    if not sources or (target is not None and sources.keys() != targets.keys()):
        proposed = {
            origin: inline_text(each, preserve=preserve)
            for origin, each in reversed(alternatives)  # so that the first of an origin wins
            if each is not None
        }
        yield _Pair(
            (document, identifier),
            _optional_text(source, preserve=preserve) or "",
            _optional_text(target, preserve=preserve),
            dict(reversed(proposed.items())),
        )
        return
    for mid, mark in sources.items():
        proposed = {
            origin: inline_text(parts[mid], preserve=preserve)
            for origin, each in reversed(alternatives)
            if mid in (parts := _parts(each))
        }
        yield _Pair(
            (document, f"{identifier}.{mid}"),
            inline_text(mark, preserve=preserve),
            _optional_text(targets.get(mid), preserve=preserve),
            dict(reversed(proposed.items())),
        )


def _pairs_of_2(unit: ET.Element, document: str, preserve: bool) -> Iterator[_Pair]:
    """The segments of a `<unit>`."""
    identifier = unit.get("id") or ""
    segments = [child for child in unit if local_name(child) == "segment"]
    matches = [match for match in unit.iter() if local_name(match) == "match"]
    for number, segment in enumerate(segments, 1):
        name = segment.get("id", str(number))
        source, target = _child(segment, "source"), _child(segment, "target")
        proposed: dict[str, str] = {}
        for match in matches:
            translation = _child(match, "target")
            if translation is not None and (len(segments) == 1 or _refers(match, segment)):
                text = inline_text(translation, preserve=preserve)
                proposed.setdefault(match.get("origin") or _UNNAMED, text)
        yield _Pair(
            (document, identifier if len(segments) == 1 else f"{identifier}.{name}"),
            _optional_text(source, preserve=preserve) or "",
            _optional_text(target, preserve=preserve),
            proposed,
        )


def _refers(match: ET.Element, segment: ET.Element) -> bool:
    """Whether a match is one of a whole segment, by its id or by a marker around all its text."""
    reference = match.get("ref", "").rpartition("#")[2].rpartition("/")[2]
    if not reference:
        return False
    if reference == segment.get("id"):
        return True
    source = _child(segment, "source")
    return source is not None and any(
        mark.get("id") == reference and inline_text(mark) == inline_text(source)
        for mark in source.iter()
        if local_name(mark) == "mrk"
    )
