"""The encoder of a saved metric: what metric.json keeps of it, and how it is found again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adequa.encoders.base import Concatenation, Encoder, PairEncoder
from adequa.encoders.cached import cached
from adequa.encoders.registry import load_encoder, moved, settings_in, with_setting
from adequa.errors import AdequaError
from adequa.io.truth import TRUTH
from adequa.metrics.settings import check_settings

_FIRST = "encoder"


def encoder_facts(encoder: Encoder | PairEncoder) -> list[dict[str, Any]]:
    """Name, specification, dimension and fingerprint of an encoder, or of each part of one."""
    parts = encoder.parts if isinstance(encoder, Concatenation) else (encoder,)
    return [
        {
            "name": part.name,
            "specification": part.specification,
            "dimension": part.dimension,
            "fingerprint": part.fingerprint,
        }
        for part in parts
    ]


def restored(
    facts: list[dict[str, Any]], folder: Path, settings: Mapping[str, str]
) -> Encoder | PairEncoder:
    """The encoder that a metric was trained with.

    Settings say where it is now (`encoder`, and `encoder2` and so on for the further ones of
    several; `words` for the word vectors that an encoder goes with), or give vectors for it (a
    file of vectors, which is trusted to come from it), and whether its vectors are cached
    (`cache`).
    """
    keys = [_FIRST, *(f"{_FIRST}{number}" for number in range(2, len(facts) + 1))]
    with_words = any("words" in settings_in(_written(fact)) for fact in facts)
    known = [*keys, *(["words"] if with_words else []), "cache"]
    check_settings(folder, settings, known)
    parts = [
        _part(fact, settings.get(key), settings.get("words"), f"{folder}:{key}=PATH")
        for fact, key in zip(facts, keys, strict=True)
    ]
    encoder = parts[0] if len(parts) == 1 else Concatenation(_sentence_encoders(parts))
    wanted = settings.get("cache", "true").lower()
    if wanted not in TRUTH:
        raise AdequaError(f"{folder}: cache must be true or false, not {settings['cache']!r}.")
    return cached(encoder) if TRUTH[wanted] else encoder


def _part(
    fact: Mapping[str, Any], now: str | None, words: str | None, advice: str
) -> Encoder | PairEncoder:
    specification = _written(fact)
    if now is None and "download" in settings_in(specification):
        raise AdequaError(
            f"The encoder {fact['name']} of this metric is to be downloaded, which happens only "
            f"when you ask for it: write -m {advice}."
        )
    specification = with_setting(specification, "download", "false")
    if words is not None:
        specification = with_setting(specification, "words", words)
    try:
        encoder = load_encoder(specification if now is None else moved(specification, now))
    except AdequaError as error:
        if now is not None:
            raise
        raise AdequaError(
            f"The encoder {fact['name']} that this metric was trained with cannot be loaded, "
            f"which -m {advice} may help with. The reason: {error}"
        ) from error
    given_vectors = encoder.specification.startswith("precomputed:")
    reads_pairs = specification.startswith("transformer-pair:")
    if given_vectors and reads_pairs:
        raise AdequaError(
            f"{fact['name']} reads hypothesis and reference together, so that vectors of sentences "
            "cannot stand for it; name the encoder itself."
        )
    if encoder.dimension != fact["dimension"]:
        raise AdequaError(
            f"{encoder.name} gives vectors of {encoder.dimension:,} numbers, and the metric was "
            f"trained with {fact['name']}, which gives {fact['dimension']:,}."
        )
    if not given_vectors and encoder.fingerprint != fact["fingerprint"]:
        raise AdequaError(
            f"{encoder.specification} is not the encoder that this metric was trained with: its "
            f"content differs from that of {fact['name']}."
        )
    return encoder


def _written(fact: Mapping[str, Any]) -> str:
    return str(fact["specification"])


def _sentence_encoders(parts: list[Encoder | PairEncoder]) -> list[Encoder]:
    found = [part for part in parts if isinstance(part, Encoder)]
    if len(found) < len(parts):
        raise AdequaError("Only encoders of single sentences can be put one after the other.")
    return found
