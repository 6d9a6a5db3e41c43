"""What a saved metric needs beside its weights: encoders, parsers, word vectors, other metrics.

metric.json holds facts about each: its name, how it was specified, and a fingerprint of its
content. Loading finds it again where it was at training time, or where a setting says that it is
now (`-m FOLDER:encoder=PATH`), and checks that it is the one the metric was trained with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from adequa.encoders.base import Concatenation, Encoder, PairEncoder, cached
from adequa.encoders.parses import Parser, cached_parser, load_parser
from adequa.encoders.registry import (
    load_encoder,
    settings_in,
    with_path,
    with_setting,
)
from adequa.errors import AdequaError
from adequa.io.text import BOOLEANS
from adequa.metrics.registry import check_settings
from adequa.segments import ENVIRONMENT_FIELDS

Resource = TypeVar("Resource")
Facts: TypeAlias = Mapping[str, Any]

ENCODER, PARSER = "encoder", "parser"  # settings; further ones are encoder2 and so on
_PARSER_KEY = re.compile(PARSER + r"([2-9]|[1-9][0-9]+)?")


class VectorSource(Protocol):
    """An encoder, or vectors of words."""

    @property
    def name(self) -> str: ...
    @property
    def specification(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...


def vector_facts(source: VectorSource) -> dict[str, Any]:
    """Return what metric.json holds of an encoder or of word vectors."""
    return {
        "name": source.name,
        "specification": source.specification,
        "dimension": source.dimension,
        "fingerprint": source.fingerprint,
    }


def numbered_keys(first: str, count: int) -> list[str]:
    """Return the names of settings for the location of each of several resources.

    >>> numbered_keys("encoder", 3)
    ['encoder', 'encoder2', 'encoder3']
    """
    return [first, *(f"{first}{number}" for number in range(2, count + 1))][:count]


def restore(
    resource: str, load: Callable[[], Resource], *, is_moved: bool, advice: str
) -> Resource:
    """Load a resource; an error at its original location says how to name another one.

    `resource` is its description, such as "The encoder X that this metric was trained with".
    """
    try:
        return load()
    except AdequaError as error:
        if is_moved:
            raise
        raise AdequaError(f"{resource} cannot be loaded{advice} The reason: {error}") from error


def may_help(folder: object, key: str) -> str:
    """Return the advice to name the location of a resource."""
    return f", which -m {folder}:{key}=PATH may help with."


def is_cached(folder: Path, settings: Mapping[str, str]) -> bool:
    """Return the setting `cache`: whether vectors and parses are cached on disk (the default)."""
    cache = settings.get("cache", "true").lower()
    if cache not in BOOLEANS:
        raise AdequaError(f"{folder}: cache must be true or false, not {settings['cache']!r}.")
    return BOOLEANS[cache]


# Encoders


def encoder_facts(encoder: Encoder | PairEncoder) -> list[dict[str, Any]]:
    """Return the facts of an encoder, or of each part of a concatenation."""
    parts = encoder.parts if isinstance(encoder, Concatenation) else (encoder,)
    return [vector_facts(part) for part in parts]


def restore_encoder(
    facts: Sequence[Facts], folder: Path, settings: Mapping[str, str]
) -> Encoder | PairEncoder:
    """Return the encoder that a metric was trained with.

    Settings say where it is now (`encoder`, `encoder2` and so on for the parts of a concatenation,
    `words` for the word vectors that an encoder goes with), or give a file of vectors in its place,
    which is trusted to come from it, and whether its vectors are cached (`cache`).
    """
    keys = numbered_keys(ENCODER, len(facts))
    with_words = any("words" in settings_in(str(fact["specification"])) for fact in facts)
    check_settings(folder, settings, [*keys, *(["words"] if with_words else []), "cache"])
    parts = [
        _encoder(fact, settings.get(key), settings.get("words"), folder, key)
        for fact, key in zip(facts, keys, strict=True)
    ]
    encoder = (
        parts[0]
        if len(parts) == 1
        else Concatenation([part for part in parts if isinstance(part, Encoder)])
    )
    return cached(encoder) if is_cached(folder, settings) else encoder


def _encoder(
    fact: Facts, location: str | None, words: str | None, folder: Path, key: str
) -> Encoder | PairEncoder:
    specification = str(fact["specification"])
    # A folder may come from anyone, and nothing is downloaded without being asked for.
    specification = with_setting(specification, "download", "false")
    if words is not None:
        specification = with_setting(specification, "words", words)
    encoder = restore(
        f"The encoder {fact['name']} that this metric was trained with",
        lambda: load_encoder(
            specification if location is None else with_path(specification, location)
        ),
        is_moved=location is not None,
        advice=may_help(folder, key),
    )
    is_file_of_vectors = encoder.specification.startswith("precomputed:")
    if encoder.dimension != fact["dimension"]:
        raise AdequaError(
            f"{encoder.name} gives vectors of {encoder.dimension:,} numbers, and the metric was "
            f"trained with {fact['name']}, which gives {fact['dimension']:,}."
        )
    if not is_file_of_vectors and encoder.fingerprint != fact["fingerprint"]:
        raise AdequaError(
            f"{encoder.specification} is not the encoder that this metric was trained with: its "
            f"content differs from that of {fact['name']}."
        )
    return encoder


# Parsers


def parser_facts(parser: Parser) -> dict[str, Any]:
    """Return what metric.json holds of a parser."""
    return {
        "name": parser.name,
        "specifications": list(parser.specifications),
        "fingerprint": parser.fingerprint,
    }


def parser_settings(settings: Mapping[str, str]) -> list[str]:
    """Return the settings that name parsers: `parser`, `parser2` and so on, in order.

    >>> parser_settings({"parser2": "b.conllu", "device": "cpu", "parser": "a.conllu"})
    ['parser', 'parser2']
    """
    keys = [key for key in settings if _PARSER_KEY.fullmatch(key)]
    expected = numbered_keys(PARSER, len(keys))
    missing = [key for key in expected if key not in keys]
    if missing:
        later = next(key for key in keys if key not in expected)
        raise AdequaError(
            f"{later} names a further file of parses, and there is no {missing[0]}; write "
            f"{missing[0]}=conllu:FILE."
        )
    return expected


def restore_parser(
    facts: Facts, folder: Path, settings: Mapping[str, str], *, cache: bool
) -> Parser:
    """Return the parser that a metric was trained with, or what settings name in its place.

    Another parser is not refused: it is up to the user that its trees are of the same kind.
    """
    locations = [settings[key] for key in parser_settings(settings)]
    parser = restore(
        f"The parser {facts['name']} that this metric was trained with",
        lambda: load_parser(*(locations or map(str, facts["specifications"]))),
        is_moved=bool(locations),
        advice=f"; write -m {folder}:parser=spacy:MODEL, or parser=conllu:FILE for parses of your"
        " own.",
    )
    return cached_parser(parser) if cache else parser


def other_parser_remark(parser: Parser, facts: Facts) -> tuple[str, ...]:
    """Return a remark where a metric scores with another parser than it was trained with."""
    if parser.fingerprint == facts["fingerprint"]:
        return ()
    return (
        f"the metric was trained on parses of {facts['name']}, and these are of {parser.name}; "
        "scores are comparable only where all are from one parser.",
    )


# Metrics


def essential_signature(signature: str) -> tuple[str, ...]:
    """Return what has to be the same in a metric that another one was trained on.

    Versions and the number of references may differ; of a trained metric the weights decide.

    >>> essential_signature("chrf|nrefs:1|case:mixed|version:2.6.0")
    ('chrf', 'case:mixed')
    """
    name, *fields = signature.split("|")
    weights = tuple(field for field in fields if field.startswith("weights:"))
    varying = {"nrefs", *ENVIRONMENT_FIELDS}
    return weights or (name, *(each for each in fields if each.partition(":")[0] not in varying))
