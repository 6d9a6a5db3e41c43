"""The cache of vectors, and encoders behind it: whatever breaks, the vectors stay right."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.encoders.base import Concatenation, Coverage, Encoder, PairEncoder, Vectors
from adequa.encoders.cached import cached
from adequa.errors import AdequaError
from adequa.runtime.vector_cache import VectorCache, text_key

DIMENSION = 5


def vector(text: str) -> Vectors:
    numbers = np.random.default_rng(list(text.encode())).normal(size=DIMENSION)
    return np.asarray(numbers, dtype=np.float32)


class Letters(Encoder):
    """An encoder that remembers what it was asked."""

    def __init__(self, fingerprint: str = "f1") -> None:
        self.specification = f"letters:{fingerprint}"
        self.name = "letters"
        self.dimension = DIMENSION
        self.fingerprint = fingerprint
        self.path = Path("letters")
        self.asked: list[str] = []

    def encode(self, sentences: Sequence[str]) -> Vectors:
        self.asked += sentences
        rows = [vector(text) for text in sentences]
        return np.array(rows, dtype=np.float32).reshape(-1, DIMENSION)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        return Coverage((1,) * len(sentences), ((),) * len(sentences))


class Pairs(PairEncoder):
    """A pair encoder that remembers what it was asked."""

    specification = name = "pairs"
    dimension = DIMENSION
    fingerprint = "f2"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = list(zip(firsts, seconds, strict=True))
        self.asked += pairs
        return np.array([vector("|".join(pair)) for pair in pairs], dtype=np.float32)


def keys_of(texts: Sequence[str]) -> list[bytes]:
    return [text_key(text) for text in texts]


def expected(texts: Sequence[str]) -> Vectors:
    return Letters().encode(texts)


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "deep" / "a.sqlite", DIMENSION)


def changed(cache: VectorCache, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute(statement, values)


def test_what_was_put_is_got(cache: VectorCache) -> None:
    texts = [f"text {number}" for number in range(1200)]
    assert not cache.get(keys_of(texts))[1].any()
    cache.put(keys_of(texts[:1100]), expected(texts[:1100]))
    order = [*texts[::-1], texts[0]]
    vectors, found = cache.get(keys_of(order))
    assert found.tolist() == [False] * 100 + [True] * 1101
    np.testing.assert_array_equal(vectors[found], expected(order)[found])
    assert not vectors[~found].any()
    assert cache.problem is None


@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_keys_tell_texts_apart(first: list[str], second: list[str]) -> None:
    assert (text_key(*first) == text_key(*second)) == (first == second)


def test_keys_take_any_text() -> None:
    assert len({text_key("\ud800"), text_key(""), text_key(), text_key("", "")}) == 4


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET value = zeroblob(length(value)) WHERE id = 2",
        "UPDATE vectors SET value = substr(value, 1, 7) WHERE id = 2",
        "UPDATE vectors SET value = NULL WHERE id = 2",
        "UPDATE vectors SET value = 'text' WHERE id = 2",
        "UPDATE vectors SET value = (SELECT value FROM vectors WHERE id = 1) WHERE id = 2",
    ],
)
def test_a_damaged_entry_is_missing_and_is_replaced(cache: VectorCache, damage: str) -> None:
    keys, vectors = keys_of("abc"), expected("abc")
    cache.put(keys, vectors)
    changed(cache, damage)
    assert cache.get(keys)[1].tolist() == [True, False, True]
    cache.put(keys, vectors)
    again, found = cache.get(keys)
    assert found.all()
    np.testing.assert_array_equal(again, vectors)


def test_an_entry_that_is_whole_is_left_as_it_is(cache: VectorCache) -> None:
    cache.put(keys_of("a"), expected("a"))
    cache.put(keys_of("a"), expected("b"))
    np.testing.assert_array_equal(cache.get(keys_of("a"))[0], expected("a"))


@pytest.mark.parametrize("where", [0, 50, 20_000])
def test_a_damaged_file_is_moved_aside(cache: VectorCache, where: int) -> None:
    texts = [f"text {number}" for number in range(3000)]
    cache.put(keys_of(texts), expected(texts))
    content = bytearray(cache.path.read_bytes())
    content[where : where + 30_000] = b"\xff" * 30_000
    cache.path.write_bytes(content)
    vectors, found = cache.get(keys_of(texts))
    np.testing.assert_array_equal(vectors[found], expected(texts)[found])
    assert not found.all()
    cache.put(keys_of(texts), expected(texts))
    assert cache.get(keys_of(texts))[1].all()
    assert cache.problem is None
    assert (cache.path.parent / "a.sqlite.damaged").is_file()


def test_a_file_that_was_damaged_when_put(cache: VectorCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    cache.put(keys_of("a"), expected("a"))
    assert cache.get(keys_of("a"))[1].all()


def test_an_empty_file_is_an_empty_cache(cache: VectorCache) -> None:
    cache.path.parent.mkdir()
    cache.path.touch()
    assert not cache.get(keys_of("a"))[1].any()
    cache.put(keys_of("a"), expected("a"))
    assert cache.get(keys_of("a"))[1].all()


def test_a_folder_that_cannot_be_made_costs_only_the_caching(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    encoder = cached(Letters(), tmp_path / "file" / "folder")
    for _ in range(2):
        np.testing.assert_array_equal(encoder.encode(["a", "b"]), expected("ab"))


def test_a_read_only_cache_is_read(cache: VectorCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(keys_of("ab"), expected("ab"))
    real = sqlite3.connect

    def without_writing(path: object, **settings: object) -> sqlite3.Connection:
        if "immutable" not in str(path):
            raise sqlite3.OperationalError("unable to open database file")
        return real(path, **settings)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", without_writing)
    vectors, found = cache.get(keys_of("ab"))
    assert found.all()
    np.testing.assert_array_equal(vectors, expected("ab"))
    cache.put(keys_of("c"), expected("c"))
    assert "unable to open" in str(cache.problem)
    assert cache.get(keys_of("abc"))[1].tolist() == [True, True, False]


def test_a_full_disk_costs_only_the_caching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = VectorCache._writing

    def almost_full(self: VectorCache) -> sqlite3.Connection:
        connection = writing(self)
        connection.execute("PRAGMA max_page_count = 8")
        return connection

    monkeypatch.setattr(VectorCache, "_writing", almost_full)
    texts = [f"text {number}" for number in range(5000)]
    encoder = cached(Letters(), tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(encoder.encode(texts), expected(texts))
    assert "full" in str(encoder.cache.problem)  # type: ignore[attr-defined]


def test_the_oldest_are_dropped_at_the_limit(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "a.sqlite", 256, limit=1 << 20)
    numbers = np.ones((200, 256), dtype=np.float32)
    rounds = [keys_of([f"{turn} {number}" for number in range(200)]) for turn in range(12)]
    for keys in rounds:
        cache.put(keys, numbers)
    shares = [float(cache.get(keys)[1].mean()) for keys in rounds]
    assert shares[-1] == 1
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert sum(shares) * 200 * 1024 > 0.7 * (1 << 20)
    assert cache.path.stat().st_size < 1.3 * (1 << 20)


def _put_many(path: str, start: int) -> None:
    cache = VectorCache(Path(path), DIMENSION)
    for number in range(start, start + 60):
        texts = [f"{number} {part}" for part in range(10)]
        cache.put(keys_of(texts), expected(texts))
        assert cache.problem is None, cache.problem


def test_two_processes_write_at_once(cache: VectorCache) -> None:
    context = multiprocessing.get_context("spawn")
    # The second half of the one is the first half of the other.
    workers = [context.Process(target=_put_many, args=(str(cache.path), at)) for at in (0, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    texts = [f"{number} {part}" for number in range(90) for part in range(10)]
    vectors, found = cache.get(keys_of(texts))
    assert found.all()
    np.testing.assert_array_equal(vectors, expected(texts))


def test_only_what_is_missing_is_encoded(tmp_path: Path) -> None:
    told: list[int] = []
    inner = Letters()
    encoder = cached(inner, tmp_path, progress=told.append)
    np.testing.assert_array_equal(encoder.encode(["a", "b", "a"]), expected("aba"))
    np.testing.assert_array_equal(
        encoder.encode(["c", "a", "", "c"]), expected(["c", "a", "", "c"])
    )
    assert inner.asked == ["a", "b", "c", ""]
    assert told == [2, 2]
    later = Letters()
    np.testing.assert_array_equal(cached(later, tmp_path).encode("abc"), expected("abc"))
    assert later.asked == []
    assert encoder.encode([]).shape == (0, DIMENSION)


def test_encoders_do_not_share_a_cache(tmp_path: Path) -> None:
    cached(Letters("f1"), tmp_path).encode("a")
    other = Letters("f2")
    cached(other, tmp_path).encode("a")
    assert other.asked == ["a"]


def test_an_interrupted_run_keeps_what_was_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adequa.encoders.cached._CHUNK", 2)

    class Interrupted(Letters):
        def encode(self, sentences: Sequence[str]) -> Vectors:
            if "e" in sentences:
                raise KeyboardInterrupt
            return super().encode(sentences)

    with pytest.raises(KeyboardInterrupt):
        cached(Interrupted(), tmp_path).encode("abcdef")
    later = Letters()
    np.testing.assert_array_equal(cached(later, tmp_path).encode("abcdef"), expected("abcdef"))
    assert later.asked == ["e", "f"]


def test_pairs_are_cached_as_pairs(tmp_path: Path) -> None:
    inner = Pairs()
    encoder = cached(inner, tmp_path)
    first = encoder.encode_pairs(["ab", "a", "ab"], ["c", "bc", "c"])
    np.testing.assert_array_equal(first, encoder.encode_pairs(["ab", "a", "ab"], ["c", "bc", "c"]))
    assert inner.asked == [("ab", "c"), ("a", "bc")]
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
    assert alone.asked == []


def test_the_cache_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    cached(Letters()).encode("a")
    assert (tmp_path / "vectors" / "f1.sqlite").is_file()


def test_vectors_that_are_not_finite_are_not_kept(tmp_path: Path) -> None:
    class Broken(Letters):
        def encode(self, sentences: Sequence[str]) -> Vectors:
            return np.full_like(super().encode(sentences), np.nan)

    with pytest.raises(AdequaError, match="NaN"):
        cached(Broken(), tmp_path).encode("a")
    assert not (tmp_path / "f1.sqlite").exists()
