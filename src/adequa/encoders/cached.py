"""Encoders whose vectors are cached on disk, so that no sentence is encoded twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from adequa.datasets.download import cache_folder
from adequa.encoders.base import (
    AnyEncoder,
    Concatenation,
    Coverage,
    Encoder,
    PairEncoder,
    Vectors,
    checked_vectors,
)
from adequa.metrics.base import Remark, plain
from adequa.runtime.batching import distinct, paired
from adequa.runtime.cache import VECTORS_LIMIT, VectorCache, text_key

# Called with the number of sentences or pairs that were just encoded, without those in the cache.
Progress = Callable[[int], None]

_CHUNK = 1024  # sentences between two writes: the most that an interruption costs


@overload
def cached(
    encoder: Encoder,
    folder: Path | None = None,
    *,
    limit: int = VECTORS_LIMIT,
    progress: Progress | None = None,
) -> Encoder: ...


@overload
def cached(
    encoder: PairEncoder,
    folder: Path | None = None,
    *,
    limit: int = VECTORS_LIMIT,
    progress: Progress | None = None,
) -> PairEncoder: ...


def cached(
    encoder: Encoder | PairEncoder,
    folder: Path | None = None,
    *,
    limit: int = VECTORS_LIMIT,
    progress: Progress | None = None,
) -> Encoder | PairEncoder:
    """Return an encoder that caches its vectors in a folder (by default in the cache folder).

    Quick encoders are returned as they are. Each part of a concatenation has its own cache, which
    other concatenations share. `limit` is in bytes per file.
    """
    if encoder.is_quick or isinstance(encoder, CachedEncoder | CachedPairEncoder):
        return encoder
    if isinstance(encoder, Concatenation):
        return Concatenation(
            [cached(part, folder, limit=limit, progress=progress) for part in encoder.parts]
        )
    folder = cache_folder() / "vectors" if folder is None else folder
    cache = VectorCache(folder / f"{encoder.fingerprint}.db", encoder.dimension, limit)
    if isinstance(encoder, Encoder):
        return CachedEncoder(encoder, cache, progress)
    return CachedPairEncoder(encoder, cache, progress)


class CachedEncoder(Encoder):
    """A sentence encoder with a cache."""

    def __init__(self, encoder: Encoder, cache: VectorCache, progress: Progress | None) -> None:
        _copy_attributes(self, encoder)
        self.encoder = encoder
        self.cache = cache
        self._progress = progress

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, inverse = distinct(sentences)
        keys = [text_key(text) for text in texts]

        def encode(rows: Sequence[int]) -> Vectors:
            return self.encoder.encode([texts[row] for row in rows])

        vectors = _cached_vectors(self.name, self.cache, keys, encode, self._progress)
        return vectors if len(texts) == len(inverse) else vectors[inverse]

    def counted_remarks(self) -> tuple[Remark, ...]:
        return (*self.encoder.counted_remarks(), *plain(self.cache.notes))

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        return self.encoder.coverage(sentences)


class CachedPairEncoder(PairEncoder):
    """A pair encoder with a cache."""

    def __init__(self, encoder: PairEncoder, cache: VectorCache, progress: Progress | None) -> None:
        _copy_attributes(self, encoder)
        self.encoder = encoder
        self.cache = cache
        self._progress = progress

    def counted_remarks(self) -> tuple[Remark, ...]:
        return (*self.encoder.counted_remarks(), *plain(self.cache.notes))

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs, inverse = distinct(paired(self.name, firsts, seconds))
        keys = [text_key(first, second) for first, second in pairs]

        def encode(rows: Sequence[int]) -> Vectors:
            return self.encoder.encode_pairs(
                [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
            )

        vectors = _cached_vectors(self.name, self.cache, keys, encode, self._progress)
        return vectors if len(pairs) == len(inverse) else vectors[inverse]


def _copy_attributes(wrapper: AnyEncoder, encoder: AnyEncoder) -> None:
    wrapper.specification = encoder.specification
    wrapper.name = encoder.name
    wrapper.dimension = encoder.dimension
    wrapper.fingerprint = encoder.fingerprint
    wrapper.path = encoder.path


def _cached_vectors(
    name: str,
    cache: VectorCache,
    keys: Sequence[bytes],
    encode: Callable[[Sequence[int]], Vectors],
    progress: Progress | None,
) -> Vectors:
    """Return the vectors of different keys: from the cache, or encoded and added to it."""
    vectors, mask = cache.get(keys)
    missing = np.flatnonzero(~mask).tolist()
    for start in range(0, len(missing), _CHUNK):
        rows = missing[start : start + _CHUNK]
        vectors[rows] = checked_vectors(name, encode(rows), len(rows), cache.dimension)
        cache.put([keys[row] for row in rows], vectors[rows])
        if progress is not None:
            progress(len(rows))
    return vectors
