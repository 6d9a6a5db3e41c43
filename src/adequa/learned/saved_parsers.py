"""The parser of a saved metric: what metric.json keeps of it, and how it is found again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adequa.encoders.parses import Parser, cached_parser, load_parser
from adequa.errors import AdequaError

FIRST = "parser"
_PARSER = re.compile(FIRST + r"([2-9]|[1-9][0-9]+)?")


def parser_facts(parser: Parser) -> dict[str, Any]:
    """Name, specifications and fingerprint of a parser."""
    return {
        "name": parser.name,
        "specifications": list(parser.specifications),
        "fingerprint": parser.fingerprint,
    }


def parser_settings(settings: Mapping[str, str]) -> list[str]:
    """Which of the settings of a metric name parsers: `parser`, `parser2` and so on, in order.

    >>> parser_settings({"parser2": "b.conllu", "device": "cpu", "parser": "a.conllu"})
    ['parser', 'parser2']
    """
    named = [key for key in settings if _PARSER.fullmatch(key)]
    expected = [FIRST, *(f"{FIRST}{number}" for number in range(2, len(named) + 1))][: len(named)]
    lacking = [key for key in expected if key not in named]
    if lacking:
        later = next(key for key in named if key not in expected)
        raise AdequaError(
            f"{later} names a further file of parses, and there is no {lacking[0]}; write "
            f"{lacking[0]}=conllu:FILE."
        )
    return expected


def restored_parser(
    facts: Mapping[str, Any], folder: Path, settings: Mapping[str, str], *, cache: bool
) -> Parser:
    """The parser that a metric was trained with, or what settings name in its place.

    Another parser is taken at its word: it is up to the user that its trees are of the same kind.
    """
    now = [settings[key] for key in parser_settings(settings)]
    try:
        parser = load_parser(*(now or map(str, facts["specifications"])))
    except AdequaError as error:
        if now:
            raise
        raise AdequaError(
            f"The parser {facts['name']} that this metric was trained with cannot be loaded; write "
            f"-m {folder}:parser=spacy:MODEL, or parser=conllu:FILE for parses of your own. The "
            f"reason: {error}"
        ) from error
    return cached_parser(parser) if cache else parser


def other_parser(parser: Parser, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """A remark where a metric scores with another parser than the one it was trained with."""
    if parser.fingerprint == facts["fingerprint"]:
        return ()
    return (
        f"the metric was trained on parses of {facts['name']}, and these are of {parser.name}; "
        "scores are comparable only where all are from one parser.",
    )
