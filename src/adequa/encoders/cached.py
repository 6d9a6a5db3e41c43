"""An encoder whose vectors are kept on disk, so that no sentence is encoded twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from adequa.datasets.cache import cache_folder
from adequa.encoders.base import (
    AnyEncoder,
    Concatenation,
    Coverage,
    Encoder,
    PairEncoder,
    Vectors,
    checked_vectors,
    paired,
)
from adequa.remarks import Remark, plain
from adequa.runtime.batches import distinct
from adequa.runtime.vector_cache import DEFAULT_LIMIT, VectorCache, text_key

# Told how many sentences or pairs were just encoded; those found in the cache do not count.
Progress = Callable[[int], None]

_CHUNK = 1024  # sentences between two writes: what an interruption costs


@overload
def cached(
    encoder: Encoder,
    folder: Path | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    progress: Progress | None = None,
) -> Encoder: ...


@overload
def cached(
    encoder: PairEncoder,
    folder: Path | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    progress: Progress | None = None,
) -> PairEncoder: ...


def cached(
    encoder: Encoder | PairEncoder,
    folder: Path | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    progress: Progress | None = None,
) -> Encoder | PairEncoder:
    """The same encoder, with its vectors kept in a folder (by default in the cache folder).

    Quick encoders come back as they are. Of a concatenation each part has its own cache, which
    other concatenations share. `limit` is in bytes a file.
    """
    if encoder.is_quick or isinstance(encoder, CachedEncoder | CachedPairEncoder):
        return encoder
    if isinstance(encoder, Concatenation):
        return Concatenation(
            [cached(part, folder, limit=limit, progress=progress) for part in encoder.parts]
        )
    place = cache_folder() / "vectors" if folder is None else folder
    cache = VectorCache(place / f"{encoder.fingerprint}.sqlite", encoder.dimension, limit)
    if isinstance(encoder, Encoder):
        return CachedEncoder(encoder, cache, progress)
    return CachedPairEncoder(encoder, cache, progress)


class CachedEncoder(Encoder):
    """A sentence encoder with a cache."""

    def __init__(self, encoder: Encoder, cache: VectorCache, progress: Progress | None) -> None:
        _take_over(self, encoder)
        self.encoder = encoder
        self.cache = cache
        self._progress = progress

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, at = distinct(sentences)
        keys = [text_key(text) for text in texts]

        def encoded(rows: Sequence[int]) -> Vectors:
            return self.encoder.encode([texts[row] for row in rows])

        vectors = _through(self.name, self.cache, keys, encoded, self._progress)
        return vectors if len(texts) == len(at) else vectors[at]

    def noticed(self) -> tuple[Remark, ...]:
        return (*self.encoder.noticed(), *_of_cache(self.cache))

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        return self.encoder.coverage(sentences)


class CachedPairEncoder(PairEncoder):
    """A pair encoder with a cache."""

    def __init__(self, encoder: PairEncoder, cache: VectorCache, progress: Progress | None) -> None:
        _take_over(self, encoder)
        self.encoder = encoder
        self.cache = cache
        self._progress = progress

    def noticed(self) -> tuple[Remark, ...]:
        return (*self.encoder.noticed(), *_of_cache(self.cache))

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs, at = distinct(paired(self.name, firsts, seconds))
        keys = [text_key(first, second) for first, second in pairs]

        def encoded(rows: Sequence[int]) -> Vectors:
            return self.encoder.encode_pairs(
                [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
            )

        vectors = _through(self.name, self.cache, keys, encoded, self._progress)
        return vectors if len(pairs) == len(at) else vectors[at]


def _of_cache(cache: VectorCache) -> tuple[Remark, ...]:
    return () if cache.problem is None else plain([cache.problem])


def _take_over(wrapper: AnyEncoder, encoder: AnyEncoder) -> None:
    wrapper.specification = encoder.specification
    wrapper.name = encoder.name
    wrapper.dimension = encoder.dimension
    wrapper.fingerprint = encoder.fingerprint
    wrapper.path = encoder.path


def _through(
    name: str,
    cache: VectorCache,
    keys: Sequence[bytes],
    encoded: Callable[[Sequence[int]], Vectors],
    progress: Progress | None,
) -> Vectors:
    """The vectors of different keys: from the cache, or encoded and put there."""
    vectors, found = cache.get(keys)
    missing = np.flatnonzero(~found).tolist()
    for start in range(0, len(missing), _CHUNK):
        rows = missing[start : start + _CHUNK]
        vectors[rows] = checked_vectors(name, encoded(rows), len(rows), cache.dimension)
        cache.put([keys[row] for row in rows], vectors[rows])
        if progress is not None:
            progress(len(rows))
    return vectors
