"""Words of outputs that encoders do not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from adequa.agreement.top_share import BoolArray
from adequa.encoders.base import AnyEncoder, Encoder
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError

# Whose words are known: an encoder, as on the command line or as an object.
Vocabulary: TypeAlias = str | AnyEncoder


@dataclass(frozen=True, slots=True)
class Words:
    """Of each output, the distinct words that at least one encoder does not know."""

    unknown: tuple[tuple[str, ...], ...]

    @property
    def any_unknown(self) -> BoolArray:
        """Whether each output has such words."""
        return np.array([bool(words) for words in self.unknown], dtype=np.bool_)


def vocabularies(encoders: Sequence[Vocabulary]) -> tuple[tuple[Encoder, ...], tuple[str, ...]]:
    """The encoders that have a list of words, and the names of those that have none."""
    known, without = [], []
    for each in encoders:
        encoder = load_encoder(each) if isinstance(each, str) else each
        if isinstance(encoder, Encoder) and encoder.coverage(()) is not None:
            known.append(encoder)
        else:
            without.append(encoder.name)
    return tuple(known), tuple(without)


def unknown_words(encoders: Sequence[Encoder], sentences: Sequence[str]) -> Words | None:
    """What any of the encoders does not know; None where there is no encoder to ask."""
    if not encoders:
        return None
    lists = [_unknown(encoder, sentences) for encoder in encoders]
    return Words(
        tuple(tuple(dict.fromkeys(chain(*words))) for words in zip(*lists, strict=True)),
    )


def _unknown(encoder: Encoder, sentences: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    coverage = encoder.coverage(sentences)
    if coverage is None or len(coverage.unknown) != len(sentences):
        raise AdequaError(
            f"{encoder.name} should say of {len(sentences)} sentences which words it does not "
            "know, and did not; analyse without it."
        )
    return coverage.unknown
