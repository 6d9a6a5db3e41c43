"""The contract of encoders: sentences in, one vector each out; and their concatenation.

An encoder reads one sentence at a time. A pair encoder reads two together, so that the words of
one can attend to the words of the other. Both are deterministic. Their fingerprint is a digest of
everything that changes the vectors, by which caches and saved metrics tell encoders apart.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.metrics.base import Remark, sentences

Vectors: TypeAlias = npt.NDArray[np.float32]  # one row a sentence


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many words of sentences are in a vocabulary: counts, and the unknown words of each.

    >>> Coverage((3, 1), (("Brno", "flat"), ())).fraction
    0.5
    """

    word_counts: tuple[int, ...]
    unknown: tuple[tuple[str, ...], ...]

    @property
    def fraction(self) -> float:
        """Known words over all words; 1 where there are no words."""
        words = sum(self.word_counts)
        return 1.0 - sum(map(len, self.unknown)) / words if words else 1.0


class AnyEncoder(ABC):
    """The attributes of sentence encoders and pair encoders."""

    # The argument from which `load_encoder` loads the same encoder, with full paths.
    specification: str
    # A short name for tables and signatures, such as `all-mpnet-base-v2.mean`.
    name: str
    # Length of a vector.
    dimension: int
    # Hexadecimal digest of everything that changes the vectors: the content of the weights, not
    # their path, and every setting.
    fingerprint: str
    # The file or folder that it was loaded from, if any.
    path: Path | None = None
    # Whether encoding is as fast as a lookup in a cache, which is then not used.
    is_quick: bool = False

    def remarks(self) -> tuple[str, ...]:
        """Return notes for the user about the vectors, such as how many texts were truncated."""
        return sentences(self.counted_remarks())

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return the notes with their counts, which can be added up over workers."""
        return ()


class Encoder(AnyEncoder):
    """Turns sentences into vectors."""

    @abstractmethod
    def encode(self, sentences: Sequence[str]) -> Vectors:
        """Return one vector a sentence, of shape (sentences, dimension), all finite."""

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:  # noqa: ARG002
        """Count the known and unknown words; None for encoders without a vocabulary."""
        return None


class PairEncoder(AnyEncoder):
    """Turns pairs of sentences, each read together, into one vector a pair."""

    @abstractmethod
    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        """Return one vector a pair, of shape (pairs, dimension), all finite."""


def checked_vectors(name: str, vectors: Vectors, count: int, dimension: int) -> Vectors:
    """Return the vectors after a check of their shape, and that all numbers are finite."""
    if vectors.shape != (count, dimension):
        raise AdequaError(
            f"{name} should give {count} vectors of {dimension} numbers, but it gave an array of "
            f"shape {' × '.join(map(str, vectors.shape))}."
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise AdequaError(f"{name} gives a vector with NaN or infinite numbers for row {row + 1}.")
    return vectors


class Concatenation(Encoder):
    """Several encoders as one: their vectors, concatenated."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        if not parts:
            raise AdequaError("There are no encoders to put together; name at least one.")
        self.parts = tuple(parts)
        self.specification = " + ".join(part.specification for part in self.parts)
        self.name = "+".join(part.name for part in self.parts)
        self.dimension = sum(part.dimension for part in self.parts)
        self.is_quick = all(part.is_quick for part in self.parts)
        content = json.dumps(["concatenation", *(part.fingerprint for part in self.parts)])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()

    def counted_remarks(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.counted_remarks())

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.empty((len(sentences), self.dimension), dtype=np.float32)
        start = 0
        for part in self.parts:
            vectors[:, start : start + part.dimension] = part.encode(sentences)
            start += part.dimension
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        coverages = (part.coverage(sentences) for part in self.parts)
        return next((each for each in coverages if each is not None), None)
