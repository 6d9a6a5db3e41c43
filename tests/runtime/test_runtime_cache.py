"""Caches: whatever happens to a file, no value is lost to a run or changed."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_cache
from adequa.runtime.cache import (
    Cache,
    ParseCache,
    RecentScores,
    ScoreCache,
    Tree,
    VectorCache,
    lookup_or_compute,
    text_key,
)
from adequa.runtime.onnx import PairScores
from tiny_cache import KEYS, get, opened, put, scores_of


@pytest.fixture
def cache(tmp_path: Path) -> ScoreCache:
    return opened(tmp_path / "deep" / "scores.db")


def change(cache: Cache, statement: str) -> None:
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute(statement)


# Keys


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_tell_texts_apart(first: list[str], second: list[str]) -> None:
    assert (text_key(*first) == text_key(*second)) == (first == second)


def test_keys_take_any_text() -> None:
    texts = [("\ud800",), ("",), (), ("", ""), ("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]
    assert len({text_key(*each) for each in texts}) == len(texts)


# Scores, vectors and parses


def test_scores_that_were_put_are_returned(cache: ScoreCache) -> None:
    assert not any(get(cache, KEYS))
    put(cache, KEYS[:1500])
    assert get(cache, [*KEYS[::-1], KEYS[3], KEYS[3]]) == [False] * 500 + [True] * 1502
    put(cache, [])
    assert get(cache, []) == []
    assert cache.notes == []


@settings(max_examples=20)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique_by=float.hex))
def test_scores_keep_every_bit(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    cache = opened(tmp_path_factory.getbasetemp() / "bits.db")
    keys = [text_key(score.hex()) for score in scores]
    cache.put(keys, PairScores(np.array(scores), np.ones(len(scores), np.int32)))
    assert cache.get(keys)[0].scores.tobytes() == np.array(scores).tobytes()


def test_a_score_that_is_not_finite_is_not_cached(cache: ScoreCache) -> None:
    cache.put(KEYS[:3], PairScores(np.array([np.nan, np.inf, 0.5]), np.ones(3, np.int32)))
    assert cache.get(KEYS[:3])[1].tolist() == [False, False, True]


def test_vectors_that_were_put_are_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adequa.runtime.cache._CHUNK_BYTES", 8000)
    vectors = np.random.default_rng(0).normal(size=(1200, 5)).astype(np.float32)
    cache = VectorCache(tmp_path / "a.db", 5)
    cache.put(KEYS[:1100], vectors[:1100])
    rows, mask = cache.get([*KEYS[1199::-1], KEYS[0]])
    assert mask.tolist() == [False] * 100 + [True] * 1101
    np.testing.assert_array_equal(rows[mask], vectors[[*range(1099, -1, -1), 0]])
    assert not rows[~mask].any()
    assert cache.notes == []
    other = VectorCache(cache.path, 6)  # no vector of another dimension
    assert not other.get(KEYS[:9])[1].any()


def chain(text: str) -> Tree:
    """The words of a text, each below the one before."""
    words = tuple(text.split())
    return words, np.arange(-1, len(words) - 1, dtype=np.int32)


def plain(trees: dict[bytes, Tree]) -> dict[bytes, tuple[tuple[str, ...], list[int]]]:
    return {key: (words, parents.tolist()) for key, (words, parents) in trees.items()}


def test_parses_that_were_put_are_returned(tmp_path: Path) -> None:
    long = [f"{number} " * number for number in (60, 500, 3000)]
    texts = ["", "one", "Bäume wachsen 猫", *long, *(f"text {number}" for number in range(1100))]
    trees = {text_key(text): chain(text) for text in texts}
    keys = list(trees)
    cache = ParseCache(tmp_path / "deep" / "a.db")
    assert cache.get(keys) == {}
    cache.put({key: trees[key] for key in keys[:1000]})
    cached = cache.get([*keys[::-1], keys[0]])
    assert plain(cached) == plain({key: trees[key] for key in keys[:1000]})
    assert all(parents.dtype == np.int32 for _, parents in cached.values())
    assert cache.notes == []


@settings(max_examples=25)
@given(st.lists(st.text(min_size=1, max_size=200) | st.just("\ud800"), max_size=30), st.data())
def test_parses_have_any_words_and_parents(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: st.DataObject
) -> None:
    numbers = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=len(words), max_size=len(words))
    parents = np.array(data.draw(numbers), dtype=np.int32)
    cache = ParseCache(tmp_path_factory.getbasetemp() / "parses.db")
    tree = {text_key(repr(words), repr(parents.tolist())): (tuple(words), parents)}
    cache.put(tree)
    assert plain(cache.get(list(tree))) == plain(tree)


# Recent scores, and what is missing


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8), st.integers(1, 10))
def test_recent_scores_are_right_and_the_oldest_go_first(
    rounds: list[list[int]], limit: int
) -> None:
    recent = RecentScores(limit)
    added: list[int] = []
    for numbers in rounds:
        scores, mask = recent.get([text_key(str(number)) for number in numbers])
        recently = added[-limit:]
        assert mask.tolist() == [number in recently for number in numbers]
        assert scores.scores.tolist() == [n * (n in recently) for n in numbers]
        new = [n for n in dict.fromkeys(numbers) if n not in recently]
        recent.put(
            [text_key(str(number)) for number in new],
            PairScores(np.array(new, dtype=float), np.ones(len(new), np.int32)),
        )
        added += new


def test_only_missing_scores_are_computed(cache: ScoreCache) -> None:
    computed: list[int] = []

    def compute(rows: list[int]) -> PairScores:
        computed.extend(rows)
        return scores_of([KEYS[row] for row in rows])

    put(cache, KEYS[3:6])
    for _ in range(2):
        scores = lookup_or_compute(cache, KEYS[:9], compute)
        np.testing.assert_array_equal(scores.scores, scores_of(KEYS[:9]).scores)
    assert computed == [0, 1, 2, 6, 7, 8]


# Damaged files and values


def damaged(content: bytes, kind: str, chance: random.Random) -> bytes:
    """A file after an accident."""
    changed = bytearray(content)
    if kind == "cut":
        return content[: chance.randrange(len(content))]
    if kind == "garbage":
        return chance.randbytes(9000)
    count, end = (300, len(content)) if kind == "bytes" else (2, 200)
    for _ in range(count):
        changed[chance.randrange(end)] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("kind", ["cut", "garbage", "bytes", "head"])
def test_a_damaged_file_changes_no_score(tmp_path: Path, kind: str) -> None:
    put(opened(tmp_path / "whole.db"), KEYS[:400])
    content = (tmp_path / "whole.db").read_bytes()
    for seed in range(12):
        path = tmp_path / f"{seed}.db"
        path.write_bytes(damaged(content, kind, random.Random(f"{kind} {seed}")))
        cache = opened(path)
        for _ in range(2):  # some damage comes to light only when the file is written
            mask = get(cache, KEYS[:400])
            put(cache, [key for key, cached in zip(KEYS[:400], mask, strict=True) if not cached])
        # It serves again, or there is a note that says why not.
        assert all(get(cache, KEYS[:400])) or cache.notes


@pytest.mark.parametrize(
    "value",
    [
        "zeroblob(length(value))",
        "substr(value, 1, 7)",
        "NULL",
        "'text'",
        "(SELECT value FROM cache WHERE id = 1)",
    ],
)
def test_a_damaged_value_is_missing_and_is_replaced(cache: ScoreCache, value: str) -> None:
    keys = sorted(KEYS[:3])  # in the order of the file
    put(cache, keys)
    change(cache, f"UPDATE cache SET value = {value} WHERE id = 2")
    assert get(cache, keys) == [True, False, True]
    put(cache, keys)
    assert all(get(cache, keys))


def test_a_damaged_file_is_set_aside_with_a_note(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    assert not any(get(cache, KEYS[:9]))
    put(cache, KEYS[:9])
    assert all(get(cache, KEYS[:9]))
    assert cache.path.with_name("scores.db.damaged").read_bytes() == b"no database" * 1000
    assert len(cache.notes) == 1
    assert "was damaged" in cache.notes[0]


def test_a_file_that_was_damaged_when_it_is_written(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    put(cache, KEYS[:9])
    assert all(get(cache, KEYS[:9]))


@pytest.mark.parametrize("start", [0, 50, 20_000])
def test_a_large_file_with_a_hole_is_set_aside(tmp_path: Path, start: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(2000, 20)).astype(np.float32)
    cache = VectorCache(tmp_path / "a.db", 20)
    cache.put(KEYS, vectors)
    content = bytearray(cache.path.read_bytes())
    content[start : start + 60_000] = b"\xff" * 60_000
    cache.path.write_bytes(content)
    rows, mask = cache.get(KEYS)
    np.testing.assert_array_equal(rows[mask], vectors[mask])
    assert not mask.all()
    cache.put(KEYS, vectors)
    assert cache.get(KEYS)[1].all()
    assert (tmp_path / "a.db.damaged").is_file()


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE cache (id INTEGER PRIMARY KEY, key BLOB, value BLOB)")
        connection.execute("INSERT INTO cache VALUES (1, 'a', 'b')")
    before = path.read_bytes()
    cache = opened(path)
    for _ in range(2):
        assert not any(get(cache, KEYS[:9]))
        put(cache, KEYS[:9])
    assert path.read_bytes() == before
    assert len(cache.notes) == 1
    assert "database of something else" in cache.notes[0]


def test_an_empty_file_is_an_empty_cache(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.touch()
    assert not any(get(cache, KEYS[:9]))
    put(cache, KEYS[:9])
    assert all(get(cache, KEYS[:9]))
    assert cache.notes == []


# Files that cannot be read or written


def test_a_folder_that_cannot_be_made_costs_only_speed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = opened(tmp_path / "file" / "scores.db")
    put(cache, KEYS[:9])
    assert not any(get(cache, KEYS[:9]))
    assert "of no use as a cache" in cache.notes[0]


def test_a_folder_in_place_of_the_file_costs_only_speed(cache: ScoreCache) -> None:
    cache.path.mkdir(parents=True)
    put(cache, KEYS[:9])
    assert not any(get(cache, KEYS[:9]))
    assert cache.path.is_dir()
    assert cache.notes


@pytest.mark.parametrize("name", ["x" * 300, "with\0in it"], ids=["long", "null"])
def test_a_name_that_no_file_can_have_costs_only_speed(tmp_path: Path, name: str) -> None:
    for path in (tmp_path / name, tmp_path / name / "scores.db"):
        cache = opened(path)
        assert not any(get(cache, KEYS[:9]))
        put(cache, KEYS[:9])
        assert not any(get(cache, KEYS[:9]))
        assert cache.notes


def test_a_folder_that_may_not_be_entered_costs_only_speed(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as system:
        system.setattr(Path, "stat", forbidden)
        system.setattr(Path, "exists", forbidden)
        assert not any(get(cache, KEYS[:9]))
        put(cache, KEYS[:9])
    assert cache.notes


def test_a_limit_beyond_all_measure(tmp_path: Path) -> None:
    cache = opened(tmp_path / "scores.db", limit=10**400)
    put(cache, KEYS[:9])
    assert all(get(cache, KEYS[:9]))


def test_a_full_disk_costs_only_speed(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache, KEYS[:100])
    connect, connections = Cache._connect, 0

    def almost_full(self: Cache) -> sqlite3.Connection:
        nonlocal connections
        connections += 1
        connection = connect(self)
        connection.execute("PRAGMA max_page_count = 8")
        return connection

    with monkeypatch.context() as system:
        system.setattr(Cache, "_connect", almost_full)
        for start in range(100, 2000, 500):
            put(cache, KEYS[start : start + 500])
    assert "full" in cache.notes[0]
    assert connections == 1  # not tried again and again
    assert get(cache, KEYS) == [True] * 100 + [False] * 1900


def test_a_file_that_may_only_be_read_is_read(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, KEYS[:9])
    connect = sqlite3.connect

    def read_only(path: Path, **settings: object) -> sqlite3.Connection:
        return connect(f"{path.as_uri()}?mode=ro", uri=True, **settings)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", read_only)
    later = opened(cache.path)
    assert get(later, KEYS[:10]) == [True] * 9 + [False]
    put(later, KEYS[9:10])
    assert "readonly" in later.notes[0]
    assert get(later, KEYS[:10]) == [True] * 9 + [False]


def test_a_file_that_is_kept_locked_costs_only_speed(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adequa.runtime.cache._TIMEOUT", 0.01)
    put(cache, KEYS[:9])
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        stuck = opened(cache.path)
        assert not any(get(stuck, KEYS[:9]))
        put(stuck, KEYS[9:20])
        assert "locked" in stuck.notes[0]
    assert all(get(opened(cache.path), KEYS[:9]))


# The limit


def test_a_lower_limit_makes_the_file_shorter(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    put(opened(path), [text_key(f"long ago {number}") for number in range(5000)])
    before = path.stat().st_size
    for key in KEYS[:9]:
        put(opened(path, limit=before // 4), [key])
    assert path.stat().st_size <= before // 4 * 1.2
    assert all(get(opened(path), KEYS[:9]))


def test_the_oldest_scores_go_first(tmp_path: Path) -> None:
    limit = 1 << 18
    cache = opened(tmp_path / "a.db", limit)
    rounds = [[text_key(f"{turn}", f"{number}") for number in range(500)] for turn in range(20)]
    for keys in rounds:
        put(cache, keys)
    fractions = [float(np.mean(get(cache, keys))) for keys in rounds]
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert fractions == sorted(fractions)
    assert cache.path.stat().st_size < 1.3 * limit


def test_the_oldest_vectors_go_first(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "a.db", 256, limit=1 << 20)
    vectors = np.ones((200, 256), dtype=np.float32)
    rounds = [[text_key(f"{turn} {number}") for number in range(200)] for turn in range(12)]
    for keys in rounds:
        cache.put(keys, vectors)
    fractions = [float(cache.get(keys)[1].mean()) for keys in rounds]
    assert fractions[-1] == 1
    assert fractions[0] == 0
    assert fractions == sorted(fractions)
    assert sum(fractions) * 200 * 1024 > 0.7 * (1 << 20)
    assert cache.path.stat().st_size < 1.3 * (1 << 20)


# Several processes

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from tiny_cache import get, opened, put, text_key
for turn in range(int(sys.argv[2]), int(sys.argv[3])):
    keys = [text_key(f"{turn} {number}") for number in range(40)]
    cache = opened(Path(sys.argv[1]))
    put(cache, keys)
    get(cache, keys)  # checks every score
    print(turn, cache.notes or "well", flush=True)
"""


def writer_keys(turns: int) -> list[bytes]:
    return [text_key(f"{turn} {number}") for turn in range(turns) for number in range(40)]


def started(path: Path, start: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(start), str(end)]
    return subprocess.Popen(
        [*command, str(Path(tiny_cache.__file__).parent)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_write_and_read_at_the_same_time(cache: ScoreCache) -> None:
    """The ranges overlap, so that two processes put the same scores."""
    writers = [started(cache.path, start, start + 40) for start in (0, 20, 40)]
    for writer in writers:
        out, err = writer.communicate()
        assert (writer.returncode, err) == (0, "")
        assert [line.split()[1] for line in out.splitlines()] == ["well"] * 40
    assert all(get(cache, writer_keys(80)))


def test_processes_meet_a_damaged_file_at_the_same_time(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    writers = [started(cache.path, start, start + 20) for start in (0, 20, 40)]
    for writer in writers:
        _, err = writer.communicate()
        assert (writer.returncode, err) == (0, "")
    later = opened(cache.path)
    mask = get(later, writer_keys(60))
    assert sum(mask) > 0.8 * len(mask)  # a batch may be lost while the file is moved
    assert later.notes == []


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_killed_processes_leave_a_whole_file(cache: ScoreCache) -> None:
    turns = 0
    for attempt in range(4):
        writer = started(cache.path, turns, 10_000)
        assert writer.stdout is not None
        for _ in range(2 + attempt):  # each time at another point
            last = writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0]
        turns = int((rest.rpartition("\n")[0].rpartition("\n")[2] or last).split()[0]) + 1
        later = opened(cache.path)
        # What a process has reported is in the cache, right to the last bit.
        assert all(get(later, writer_keys(turns)))
        put(later, KEYS[attempt : attempt + 1])
        assert later.notes == []
