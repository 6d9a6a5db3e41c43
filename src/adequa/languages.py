"""Languages of translations: codes, names, pairs, and detection from text.

The target language decides how some metrics read text, and which of them mean anything at all. It
is given by the user (`-l en-de`, a column `lp`) or detected from all segments together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from adequa.errors import AdequaError, nearest

Origin: TypeAlias = Literal["given", "column", "detected", "unknown"]

# Languages that are written without spaces between words.
UNSPACED = frozenset({"bo", "dz", "ja", "km", "lo", "my", "shn", "th", "yue", "zh"})

_SIDES = 2
# Written in lower case, these are a language and a country rather than two languages.
_LOCALES = {("pt", "br"), ("zh", "tw"), ("de", "ch")}
_SEPARATOR = re.compile(r"\s*(?:-|–|_|→|->|>|:|/)\s*")
_REGION = re.compile(r"[A-Za-z]{2}|\d{3}")
_SCRIPT = re.compile(r"[A-Za-z]{4}")


@dataclass(frozen=True, slots=True)
class TargetLanguage:
    """The language of translations, and how it is known.

    >>> target = parse_language("en-zh_CN")
    >>> target.code, target.name, target.pair, target.variant
    ('zh', 'Chinese', 'en-zh', 'CN')
    >>> str(UNKNOWN_LANGUAGE)
    'unknown'
    """

    code: str | None  # ISO 639-1, or 639-3 where there is none; None where it is not known
    origin: Origin
    source: str | None = None  # code of the source language, where it is known
    variant: str | None = None  # script and region as they were written, such as CN or Hant

    @property
    def name(self) -> str | None:
        """The English name of the language."""
        return None if self.code is None else language_name(self.code)

    @property
    def pair(self) -> str | None:
        """Source and target, such as en-de; the target alone where the source is not known."""
        return self.code if self.source is None else f"{self.source}-{self.code}"

    @property
    def is_unspaced(self) -> bool:
        """Whether words of this language are written without spaces between them."""
        return self.code in UNSPACED

    def __str__(self) -> str:
        return self.name or "unknown"

    def to_dict(self) -> dict[str, Any]:
        """Code, name and origin, ready for JSON; and the source where it is known."""
        content: dict[str, Any] = {"code": self.code, "name": self.name, "origin": self.origin}
        return content if self.source is None else {**content, "source": self.source}


UNKNOWN_LANGUAGE = TargetLanguage(None, "unknown")


@cache
def _names() -> dict[str, str]:
    """English names of languages by code."""
    return {code: names[0] for code, names in _languages().items()}


@cache
def _codes() -> dict[str, str]:
    """Codes by every code and name of the languages, in lower case."""
    return {name.lower(): code for code, names in _languages().items() for name in (code, *names)}


@cache
def _languages() -> dict[str, list[str]]:
    """English name, and the other codes and names, of every language by its code."""
    content = Path(__file__).with_name("languages.json").read_text(encoding="utf-8")
    languages: dict[str, list[str]] = json.loads(content)
    return languages


def language_name(code: str) -> str:
    """The English name of a language by its code; the code where it is not known.

    >>> language_name("cs"), language_name("tlh")
    ('Czech', 'tlh')
    """
    return _names().get(code, code)


def language_names() -> dict[str, str]:
    """The English names of all known languages by code, in the order of the names.

    >>> language_names()["de"]
    'German'
    """
    return dict(sorted(_names().items(), key=lambda each: each[1]))


@cache
def language_pair(text: str) -> str:
    """A language pair as `cs-en`; what is not known to be one stays as it is.

    >>> language_pair("cz-en"), language_pair("ces-eng"), language_pair("Czech-English")
    ('cs-en', 'cs-en', 'cs-en')
    >>> language_pair("de-de_AT"), language_pair("medical")
    ('de-de_AT', 'medical')
    """
    sides = [_codes().get(side.strip().lower(), "") for side in text.split("-")]
    return "-".join(sides) if len(sides) == _SIDES and all(sides) else text.strip()


def parse_language(text: str, origin: Origin = "given") -> TargetLanguage:
    """The target language of a code, a name or a pair of them, with or without a region.

    >>> [parse_language(text).pair for text in ("de", "deu", "German", "en-de", "EN_DE", "pt-BR")]
    ['de', 'de', 'de', 'en-de', 'en-de', 'pt']
    >>> parse_language("zh-Hant-TW").variant, parse_language("en_US-es_419").variant
    ('Hant-TW', '419')
    >>> parse_language("xx")
    Traceback (most recent call last):
    adequa.errors.AdequaError: "xx" is no language; write a code as de, or a pair as en-de.
    """
    target = _parsed(text, origin)
    if target is None:
        hint = nearest(text, (code for code in _codes() if len(code) > len("deu")))
        raise AdequaError(f'"{text}" is no language; write a code as de, or a pair as en-de.{hint}')
    return target


def known_language(text: str, origin: Origin) -> TargetLanguage | None:
    """As `parse_language`, but None for what is no language.

    >>> known_language("en-de", "column"), known_language("medical", "column")
    (TargetLanguage(code='de', origin='column', source='en', variant=None), None)
    """
    return _parsed(text, origin)


def _parsed(text: str, origin: Origin) -> TargetLanguage | None:
    written = text.strip()
    if written.lower() in _codes():
        return TargetLanguage(_codes()[written.lower()], origin)
    parts = _SEPARATOR.split(written)
    if all(part.isupper() or part.isdigit() for part in parts) and len(parts) == _SIDES:
        parts = [part.lower() for part in parts]  # EN-DE is a pair, as in many file names
    tags = _tags(parts)
    if tags is None or len(tags) > _SIDES:
        return None
    code, variant = tags[-1]
    return TargetLanguage(code, origin, tags[0][0] if len(tags) == _SIDES else None, variant)


def _tags(parts: Sequence[str]) -> list[tuple[str, str | None]] | None:
    """Codes of languages, each with its script and region; None where a part is neither."""
    tags: list[tuple[str, list[str]]] = []
    for part in parts:
        code = _codes().get(part.lower())
        after = tags[-1] if tags else None
        if after is not None and _is_variant(part, code, after):
            after[1].append(part)
        elif code is not None:
            tags.append((code, []))
        else:
            return None
    return [(code, "-".join(variant) or None) for code, variant in tags]


def _is_variant(part: str, code: str | None, after: tuple[str, list[str]]) -> bool:
    """Whether a part is the script or the region of the language before it."""
    language, variant = after
    if any(map(_REGION.fullmatch, variant)):
        return False  # nothing follows a region
    if code is None or (language, part) in _LOCALES:
        return bool(_REGION.fullmatch(part) or (_SCRIPT.fullmatch(part) and not variant))
    return len(part) == len("CN") and part.isupper()


def target_language(
    given: str | TargetLanguage | None, texts: Iterable[str], pairs: Iterable[str] = ()
) -> TargetLanguage:
    """The target language: the given one, else that of a column of pairs, else the detected one.

    `texts` are references. Where `pairs` have several target languages, an error lists them.

    >>> target_language(None, ["Hallo"], ["en-de", "en-de"])
    TargetLanguage(code='de', origin='column', source='en', variant=None)
    """
    if given is not None:
        return given if isinstance(given, TargetLanguage) else parse_language(given)
    named = {pair: known_language(pair, "column") for pair in dict.fromkeys(pairs)}
    targets = {target.code: target for target in named.values() if target is not None}
    if len(targets) > 1:
        raise several_languages(named)
    if targets and None not in named.values():
        target = next(iter(targets.values()))
        sources = {each.source for each in named.values() if each is not None}
        return target if len(sources) == 1 else replace(target, source=None)
    return detect_language(texts)


def several_languages(pairs: Iterable[str]) -> AdequaError:
    """The error where segments have several target languages, and none is chosen."""
    return AdequaError(
        f"The segments are of several language pairs: {', '.join(sorted(pairs))}. A score over "
        "several languages is no score of a system; choose one with -l."
    )


def detect_language(texts: Iterable[str]) -> TargetLanguage:
    """The language of texts, all of them together; unknown where the evidence is thin."""
    del texts
    return UNKNOWN_LANGUAGE
