"""The contract of encoders: sentences in, one vector each out; concatenations and caches.

An encoder reads one sentence at a time. A pair encoder reads two together, so that the words of
one can attend to the words of the other. Both are deterministic. Their fingerprint is a digest of
everything that changes the vectors, by which caches and saved metrics tell encoders apart.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.storage import cache_folder
from adequa.metrics.base import Remark, plain_remarks, render_remarks
from adequa.runtime.batching import distinct, paired
from adequa.runtime.cache import VECTORS_LIMIT, VectorCache, text_key

Vectors: TypeAlias = npt.NDArray[np.float32]  # one row per sentence


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
        return render_remarks(self.counted_remarks())

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return the notes with their counts, which can be added up over workers."""
        return ()


class Encoder(AnyEncoder):
    """Turns sentences into vectors."""

    @abstractmethod
    def encode(self, sentences: Sequence[str]) -> Vectors:
        """Return one vector per sentence, of shape (sentences, dimension), all finite."""

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:  # noqa: ARG002
        """Count the known and unknown words; None for encoders without a vocabulary."""
        return None


class PairEncoder(AnyEncoder):
    """Turns pairs of sentences, each read together, into one vector per pair."""

    @abstractmethod
    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        """Return one vector per pair, of shape (pairs, dimension), all finite."""


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
        return vectors

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        coverages = (part.coverage(sentences) for part in self.parts)
        return next((each for each in coverages if each is not None), None)


# Called with the number of sentences or pairs that were just encoded, without those in the cache.
OnEncoded: TypeAlias = Callable[[int], None]

_CHUNK = 1024  # sentences between two writes: the most that an interruption costs


EncoderType = TypeVar("EncoderType", bound=AnyEncoder)


def cached(
    encoder: EncoderType,
    folder: Path | None = None,
    *,
    limit: int = VECTORS_LIMIT,
    progress: OnEncoded | None = None,
) -> EncoderType:
    """Return an encoder that caches its vectors in a folder (by default in the cache folder).

    Quick encoders are returned as they are. Each part of a concatenation has its own cache, which
    other concatenations share. `limit` is in bytes per file.
    """
    wrapper: Any
    if encoder.is_quick or isinstance(encoder, _Cached):
        return encoder
    if isinstance(encoder, Concatenation):
        wrapper = Concatenation(
            [cached(part, folder, limit=limit, progress=progress) for part in encoder.parts]
        )
        return wrapper  # type: ignore[no-any-return]
    folder = cache_folder() / "vectors" if folder is None else folder
    cache = VectorCache(folder / f"{encoder.fingerprint}.db", encoder.dimension, limit)
    wrapper = CachedEncoder if isinstance(encoder, Encoder) else CachedPairEncoder
    return wrapper(encoder, cache, progress)  # type: ignore[no-any-return]


class _Cached(AnyEncoder):
    """An encoder with a cache; it has the attributes of the encoder."""

    def __init__(self, encoder: Any, cache: VectorCache, progress: OnEncoded | None) -> None:
        self.specification = encoder.specification
        self.name = encoder.name
        self.dimension = encoder.dimension
        self.fingerprint = encoder.fingerprint
        self.path = encoder.path
        self.encoder = encoder
        self.cache = cache
        self._progress = progress

    def counted_remarks(self) -> tuple[Remark, ...]:
        return (*self.encoder.counted_remarks(), *plain_remarks(self.cache.notes))


class CachedEncoder(_Cached, Encoder):
    """A sentence encoder with a cache."""

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, inverse = distinct(sentences)
        keys = [text_key(text) for text in texts]

        def encode(rows: Sequence[int]) -> Vectors:
            vectors: Vectors = self.encoder.encode([texts[row] for row in rows])
            return vectors

        return _cached_vectors(self.name, self.cache, keys, encode, self._progress)[inverse]

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        coverage: Coverage | None = self.encoder.coverage(sentences)
        return coverage


class CachedPairEncoder(_Cached, PairEncoder):
    """A pair encoder with a cache."""

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs, inverse = distinct(paired(self.name, firsts, seconds))
        keys = [text_key(first, second) for first, second in pairs]

        def encode(rows: Sequence[int]) -> Vectors:
            vectors: Vectors = self.encoder.encode_pairs(
                *zip(*(pairs[row] for row in rows), strict=True)
            )
            return vectors

        return _cached_vectors(self.name, self.cache, keys, encode, self._progress)[inverse]


def _cached_vectors(
    name: str,
    cache: VectorCache,
    keys: Sequence[bytes],
    encode: Callable[[Sequence[int]], Vectors],
    progress: OnEncoded | None,
) -> Vectors:
    """Return the vectors of different keys: from the cache, or encoded and added to it."""
    vectors, mask = cache.get(keys)
    missing = np.flatnonzero(~mask).tolist()
    for start in range(0, len(missing), _CHUNK):
        rows = missing[start : start + _CHUNK]
        vectors[rows] = encode(rows)
        if not np.isfinite(vectors[rows]).all():  # never cached: it would stay wrong
            raise AdequaError(f"{name} gives vectors with NaN or infinite numbers.")
        cache.put([keys[row] for row in rows], vectors[rows])
        if progress is not None:
            progress(len(rows))
    return vectors
