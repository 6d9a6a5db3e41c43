"""The Encoder contract: sentences in, one vector each out.

An encoder reads one sentence at a time. A pair encoder reads two together, so that the words of
one can look at the words of the other. Both are deterministic, and both say by a fingerprint what
their vectors depend on, so that a cache of vectors and a saved metric can tell encoders apart.
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
from adequa.remarks import Remark, sentences

Vectors: TypeAlias = npt.NDArray[np.float32]  # one row a sentence


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of some sentences a vocabulary knows: for each its words, and the unknown ones.

    >>> Coverage((3, 1), (("Brno", "flat"), ())).share
    0.5
    """

    word_counts: tuple[int, ...]
    unknown: tuple[tuple[str, ...], ...]

    @property
    def share(self) -> float:
        """Known words among all words; 1 where there are none at all."""
        words = sum(self.word_counts)
        return 1.0 - sum(map(len, self.unknown)) / words if words else 1.0


class AnyEncoder(ABC):
    """What sentence encoders and pair encoders have in common."""

    # The words that `load_encoder` makes the same encoder from, with paths in full.
    specification: str
    # A short name for tables and signatures, such as `all-mpnet-base-v2.mean`.
    name: str
    # Numbers in a vector.
    dimension: int
    # A hexadecimal digest of all that changes the vectors: the weights by content and not by
    # path, and every setting.
    fingerprint: str
    # The file or folder that it was loaded from, where it is one.
    path: Path | None = None
    # Whether encoding takes no longer than looking vectors up, so that a cache is of no use.
    is_quick: bool = False

    def remarks(self) -> tuple[str, ...]:
        """What a user should know of the vectors that were made, such as texts that were cut."""
        return sentences(self.noticed())

    def noticed(self) -> tuple[Remark, ...]:
        """The same with its counts, for whoever adds up what several workers noticed."""
        return ()


class Encoder(AnyEncoder):
    """Turns sentences into vectors."""

    @abstractmethod
    def encode(self, sentences: Sequence[str]) -> Vectors:
        """One vector a sentence, shape (sentences, dimension), all finite."""

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:  # noqa: ARG002
        """How many of the words are known; None for encoders that have no list of words."""
        return None


class PairEncoder(AnyEncoder):
    """Turns pairs of sentences, each read together, into one vector a pair."""

    @abstractmethod
    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        """One vector a pair, shape (pairs, dimension), all finite."""


def checked_vectors(name: str, vectors: Vectors, count: int, dimension: int) -> Vectors:
    """The vectors themselves, after a check that they are what the encoder has promised."""
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


def paired(name: str, firsts: Sequence[str], seconds: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs themselves, after a check that there are as many firsts as seconds."""
    if len(firsts) != len(seconds):
        raise AdequaError(
            f"{name} reads sentences in pairs, but there are {len(firsts)} and {len(seconds)}."
        )
    return list(zip(firsts, seconds, strict=True))


class Concatenation(Encoder):
    """Vectors of several encoders put one after the other."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        if not parts:
            raise AdequaError("There are no encoders to put together; name at least one.")
        self.parts = tuple(parts)
        self.specification = " + ".join(part.specification for part in self.parts)
        self.name = "+".join(part.name for part in self.parts)
        self.dimension = sum(part.dimension for part in self.parts)
        self.is_quick = all(part.is_quick for part in self.parts)
        described = json.dumps(["concatenation", *(part.fingerprint for part in self.parts)])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    def noticed(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.noticed())

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.empty((len(sentences), self.dimension), dtype=np.float32)
        start = 0
        for part in self.parts:
            vectors[:, start : start + part.dimension] = part.encode(sentences)
            start += part.dimension
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        found = (part.coverage(sentences) for part in self.parts)
        return next((each for each in found if each is not None), None)
