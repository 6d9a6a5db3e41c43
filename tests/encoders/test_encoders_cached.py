"""Encoders behind a cache of vectors: only what is missing is encoded, and vectors stay right."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.base import Concatenation, Coverage, Encoder, PairEncoder, Vectors, cached
from adequa.errors import AdequaError
from adequa.runtime.cache import VectorCache

DIMENSION = 5


def vector(text: str) -> Vectors:
    numbers = np.random.default_rng(list(text.encode())).normal(size=DIMENSION)
    return np.asarray(numbers, dtype=np.float32)


class Letters(Encoder):
    """An encoder that records what it encodes."""

    def __init__(self, fingerprint: str = "f1") -> None:
        self.specification = f"letters:{fingerprint}"
        self.name = "letters"
        self.dimension = DIMENSION
        self.fingerprint = fingerprint
        self.path = Path("letters")
        self.encoded: list[str] = []

    def encode(self, sentences: Sequence[str]) -> Vectors:
        self.encoded += sentences
        rows = [vector(text) for text in sentences]
        return np.array(rows, dtype=np.float32).reshape(-1, DIMENSION)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        return Coverage((1,) * len(sentences), ((),) * len(sentences))


class Pairs(PairEncoder):
    """A pair encoder that records what it encodes."""

    specification = name = "pairs"
    dimension = DIMENSION
    fingerprint = "f2"

    def __init__(self) -> None:
        self.encoded: list[tuple[str, str]] = []

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = list(zip(firsts, seconds, strict=True))
        self.encoded += pairs
        return np.array([vector("|".join(pair)) for pair in pairs], dtype=np.float32)


def expected(texts: Sequence[str]) -> Vectors:
    return Letters().encode(texts)


def test_only_what_is_missing_is_encoded(tmp_path: Path) -> None:
    progress: list[int] = []
    inner = Letters()
    encoder = cached(inner, tmp_path, progress=progress.append)
    np.testing.assert_array_equal(encoder.encode(["a", "b", "a"]), expected("aba"))
    np.testing.assert_array_equal(
        encoder.encode(["c", "a", "", "c"]), expected(["c", "a", "", "c"])
    )
    assert inner.encoded == ["a", "b", "c", ""]
    assert progress == [2, 2]
    later = Letters()
    np.testing.assert_array_equal(cached(later, tmp_path).encode("abc"), expected("abc"))
    assert later.encoded == []
    assert encoder.encode([]).shape == (0, DIMENSION)


def test_encoders_do_not_share_a_cache(tmp_path: Path) -> None:
    cached(Letters("f1"), tmp_path).encode("a")
    other = Letters("f2")
    cached(other, tmp_path).encode("a")
    assert other.encoded == ["a"]


def test_an_interrupted_run_keeps_what_was_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adequa.encoders.base._CHUNK", 2)

    class Interrupted(Letters):
        def encode(self, sentences: Sequence[str]) -> Vectors:
            if "e" in sentences:
                raise KeyboardInterrupt
            return super().encode(sentences)

    with pytest.raises(KeyboardInterrupt):
        cached(Interrupted(), tmp_path).encode("abcdef")
    later = Letters()
    np.testing.assert_array_equal(cached(later, tmp_path).encode("abcdef"), expected("abcdef"))
    assert later.encoded == ["e", "f"]


def test_pairs_are_cached_as_pairs(tmp_path: Path) -> None:
    inner = Pairs()
    encoder = cached(inner, tmp_path)
    first = encoder.encode_pairs(["ab", "a", "ab"], ["c", "bc", "c"])
    np.testing.assert_array_equal(first, encoder.encode_pairs(["ab", "a", "ab"], ["c", "bc", "c"]))
    assert inner.encoded == [("ab", "c"), ("a", "bc")]
    np.testing.assert_array_equal(first[1], vector("a|bc"))
    with pytest.raises(AdequaError, match="there are 1 and 2"):
        encoder.encode_pairs(["a"], ["b", "c"])


def test_the_wrapped_encoder_looks_the_same(tmp_path: Path) -> None:
    inner = Letters()
    encoder = cached(inner, tmp_path)
    for name in ("specification", "name", "dimension", "fingerprint", "path"):
        assert getattr(encoder, name) == getattr(inner, name)
    assert encoder.coverage(["a"]) == inner.coverage(["a"])
    assert cached(encoder, tmp_path) is encoder


def test_quick_encoders_need_no_cache(tmp_path: Path) -> None:
    quick = Letters()
    quick.is_quick = True
    assert cached(quick, tmp_path) is quick
    both = Concatenation([quick, Letters()])
    encoder = cached(both, tmp_path)
    assert (encoder.fingerprint, encoder.dimension) == (both.fingerprint, 2 * DIMENSION)
    encoder.encode("ab")
    alone = Letters()
    cached(alone, tmp_path).encode("ab")  # a part shares its cache with others
    assert alone.encoded == []


def test_the_cache_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    cached(Letters()).encode("a")
    assert (tmp_path / "vectors" / "f1.db").is_file()


def test_vectors_that_are_not_finite_are_not_cached(tmp_path: Path) -> None:
    class Broken(Letters):
        def encode(self, sentences: Sequence[str]) -> Vectors:
            return np.full_like(super().encode(sentences), np.nan)

    with pytest.raises(AdequaError, match="NaN"):
        cached(Broken(), tmp_path).encode("a")
    assert not (tmp_path / "f1.db").exists()


def test_a_folder_that_cannot_be_made_costs_only_the_caching(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    encoder = cached(Letters(), tmp_path / "file" / "folder")
    for _ in range(2):
        np.testing.assert_array_equal(encoder.encode(["a", "b"]), expected("ab"))
    assert "is of no use as a cache" in str(encoder.counted_remarks()[0])


def test_a_full_disk_costs_only_the_caching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = VectorCache._connect

    def almost_full(self: VectorCache) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute("PRAGMA max_page_count = 8")
        return connection

    monkeypatch.setattr(VectorCache, "_connect", almost_full)
    texts = [f"text {number}" for number in range(5000)]
    encoder = cached(Letters(), tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(encoder.encode(texts), expected(texts))
    assert "full" in str(encoder.counted_remarks()[0])
