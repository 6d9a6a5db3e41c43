"""The cache of scores: whatever happens to the file, no score is lost to a run or changed."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.runtime.cache_file import CacheFile
from adequa.runtime.pair_scores import Pair, PairScores
from adequa.runtime.score_cache import ScoreCache
from adequa.runtime.vector_cache import VectorCache

PAIRS: list[Pair] = [(f"hypothesis {at}", f"reference {at % 7}") for at in range(2000)]


def scored(pairs: Sequence[Pair]) -> PairScores:
    """Scores that follow from the texts, so that any process can check them."""
    numbers = [random.Random(repr(pair)).uniform(-1, 1) for pair in pairs]
    return PairScores(np.array(numbers), np.array([len(pair[0]) for pair in pairs], np.int32))


def opened(path: Path, limit: int = 1 << 30) -> ScoreCache:
    return ScoreCache(path, "digest", "int8", limit)


def put(cache: ScoreCache, pairs: Sequence[Pair]) -> None:
    cache.put(cache.keys(pairs), scored(pairs))


def found(cache: ScoreCache, pairs: Sequence[Pair]) -> list[bool]:
    """Which of the pairs are there; those that are must be right to the last bit."""
    got, there = cache.get(cache.keys(pairs))
    right = scored(pairs)
    np.testing.assert_array_equal(got.scores[there], right.scores[there])
    np.testing.assert_array_equal(got.windows[there], right.windows[there])
    assert not got.scores[~there].any()
    return [bool(each) for each in there]


@pytest.fixture
def cache(tmp_path: Path) -> ScoreCache:
    return opened(tmp_path / "deep" / "scores.sqlite")


def test_what_was_put_is_got(cache: ScoreCache) -> None:
    assert not any(found(cache, PAIRS))
    put(cache, PAIRS[:1500])
    order = [*PAIRS[::-1], PAIRS[3], PAIRS[3]]
    assert found(cache, order) == [False] * 500 + [True] * 1502
    put(cache, [])
    assert found(cache, []) == []
    assert cache.problem is None
    assert cache.notes == []


@settings(max_examples=20)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique_by=float.hex))
def test_scores_keep_every_bit(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    cache = opened(tmp_path_factory.getbasetemp() / "bits.sqlite")
    keys = cache.keys([(score.hex(), "") for score in scores])
    cache.put(keys, PairScores(np.array(scores), np.ones(len(scores), np.int32)))
    assert cache.get(keys)[0].scores.tobytes() == np.array(scores).tobytes()


PARTS = st.tuples(*[st.text(max_size=3)] * 4)


@given(PARTS, PARTS)
def test_keys_tell_models_precisions_and_texts_apart(
    first: tuple[str, str, str, str], second: tuple[str, str, str, str]
) -> None:
    keys = [ScoreCache(Path("x"), a, b).keys([(c, d)]) for a, b, c, d in (first, second)]
    assert (keys[0] == keys[1]) == (first == second)


def test_pairs_that_join_alike_have_scores_of_their_own(cache: ScoreCache) -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("c", "ab"), ("\ud800", "")]
    assert len(set(cache.keys(pairs))) == len(pairs)
    put(cache, pairs[:1])
    assert found(cache, pairs) == [True] + [False] * 5


def test_models_and_precisions_share_a_file_but_no_score(cache: ScoreCache) -> None:
    put(cache, PAIRS[:5])
    for other in (
        ScoreCache(cache.path, "other", "int8"),
        ScoreCache(cache.path, "digest", "fp32"),
    ):
        assert not other.get(other.keys(PAIRS[:5]))[1].any()


def test_a_score_that_is_no_number_is_not_kept(cache: ScoreCache) -> None:
    keys = cache.keys(PAIRS[:3])
    cache.put(keys, PairScores(np.array([np.nan, np.inf, 0.5]), np.ones(3, np.int32)))
    assert cache.get(keys)[1].tolist() == [False, False, True]


def damaged(content: bytes, kind: str, chance: random.Random) -> bytes:
    """A file after an accident."""
    changed = bytearray(content)
    if kind == "cut":
        return content[: chance.randrange(len(content))]
    if kind == "garbage":
        return chance.randbytes(9000)
    many, end = (300, len(content)) if kind == "bytes" else (2, 200)
    for _ in range(many):
        changed[chance.randrange(end)] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("kind", ["cut", "garbage", "bytes", "head"])
def test_a_damaged_file_changes_no_score(tmp_path: Path, kind: str) -> None:
    put(opened(tmp_path / "whole.sqlite"), PAIRS[:400])
    content = (tmp_path / "whole.sqlite").read_bytes()
    for seed in range(12):
        path = tmp_path / f"{seed}.sqlite"
        path.write_bytes(damaged(content, kind, random.Random(f"{kind} {seed}")))
        cache = opened(path)
        for _ in range(2):  # a damaged file may come to light when it is written only
            there = found(cache, PAIRS[:400])
            put(
                cache,
                [pair for pair, is_there in zip(PAIRS[:400], there, strict=True) if not is_there],
            )
        # It serves again, or there is a note that says why not.
        assert all(found(cache, PAIRS[:400])) or cache.notes


def test_a_damaged_file_is_set_aside_with_a_note(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    assert not any(found(cache, PAIRS[:9]))
    put(cache, PAIRS[:9])
    assert all(found(cache, PAIRS[:9]))
    assert cache.path.with_name("scores.sqlite.damaged").read_bytes() == b"no database" * 1000
    assert cache.problem is None
    assert len(cache.notes) == 1
    assert "was damaged" in cache.notes[0]


def no_locks(*_: object) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("system", ["without fcntl", "without locks"])
def test_a_damaged_file_is_set_aside_where_there_are_no_locks(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    if system == "without fcntl":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", no_locks)
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    put(cache, PAIRS[:9])
    assert all(found(cache, PAIRS[:9]))
    assert cache.path.with_name("scores.sqlite.damaged").is_file()


def test_a_damaged_file_stays_while_others_use_it(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("adequa.runtime.cache_file._PAUSE", 0)
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    with cache.path.with_name("scores.sqlite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        put(cache, PAIRS[:9])
        assert not any(found(cache, PAIRS[:9]))
    assert cache.path.read_bytes() == b"no database" * 1000
    assert "was damaged" in cache.notes[0]
    later = opened(cache.path)
    put(later, PAIRS[:9])
    assert all(found(later, PAIRS[:9]))


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE scores (id INTEGER PRIMARY KEY, key BLOB, value BLOB)")
        connection.execute("INSERT INTO scores VALUES (1, 'a', 'b')")
    before = path.read_bytes()
    cache = opened(path)
    for _ in range(2):
        assert not any(found(cache, PAIRS[:9]))
        put(cache, PAIRS[:9])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM scores").fetchall() == [(1, "a", "b")]
        assert len(connection.execute("SELECT * FROM sqlite_master").fetchall()) == 1
    assert path.read_bytes()[100:] == before[100:]
    assert "database of something else" in cache.notes[0]


def test_a_cache_of_vectors_is_no_cache_of_scores(tmp_path: Path) -> None:
    vectors = VectorCache(tmp_path / "a.sqlite", 2)
    vectors.put([b"k" * 16], np.ones((1, 2), np.float32))
    cache = opened(vectors.path)
    put(cache, PAIRS[:9])
    assert not any(found(cache, PAIRS[:9]))
    assert cache.notes
    assert vectors.get([b"k" * 16])[1].all()


def test_an_empty_file_is_an_empty_cache(cache: ScoreCache) -> None:
    cache.path.parent.mkdir()
    cache.path.touch()
    assert not any(found(cache, PAIRS[:9]))
    put(cache, PAIRS[:9])
    assert all(found(cache, PAIRS[:9]))
    assert cache.notes == []


def test_a_folder_that_cannot_be_made_costs_only_speed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = opened(tmp_path / "file" / "scores.sqlite")
    put(cache, PAIRS[:9])
    assert not any(found(cache, PAIRS[:9]))
    assert "of no use as a cache" in str(cache.problem)


def test_a_folder_in_place_of_the_file_costs_only_speed(cache: ScoreCache) -> None:
    cache.path.mkdir(parents=True)
    put(cache, PAIRS[:9])
    assert not any(found(cache, PAIRS[:9]))
    assert cache.path.is_dir()
    assert cache.notes


@pytest.mark.parametrize("name", ["x" * 300, "with\0in it"], ids=["long", "null"])
def test_a_name_that_no_file_can_have_costs_only_speed(tmp_path: Path, name: str) -> None:
    for path in (tmp_path / name, tmp_path / name / "scores.sqlite"):
        cache = opened(path)
        assert not any(found(cache, PAIRS[:9]))
        put(cache, PAIRS[:9])
        assert not any(found(cache, PAIRS[:9]))
        assert cache.notes


def test_a_folder_that_may_not_be_entered_costs_only_speed(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as system:
        system.setattr(Path, "stat", forbidden)
        system.setattr(Path, "exists", forbidden)
        assert not any(found(cache, PAIRS[:9]))
        put(cache, PAIRS[:9])
    assert cache.notes


def test_limits_beyond_all_measure(tmp_path: Path) -> None:
    cache = opened(tmp_path / "scores.sqlite", limit=10**400)
    put(cache, PAIRS[:9])
    assert all(found(cache, PAIRS[:9]))


def test_a_full_disk_costs_only_speed(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache, PAIRS[:100])
    writing = CacheFile._writing
    opened_times = 0

    def almost_full(self: CacheFile) -> sqlite3.Connection:
        nonlocal opened_times
        opened_times += 1
        connection = writing(self)
        connection.execute("PRAGMA max_page_count = 8")
        return connection

    monkeypatch.setattr(CacheFile, "_writing", almost_full)
    for start in range(100, 2000, 500):
        put(cache, PAIRS[start : start + 500])
    assert "full" in cache.notes[0]
    assert opened_times == 1  # not tried again and again
    monkeypatch.undo()
    assert found(opened(cache.path), PAIRS) == [True] * 100 + [False] * 1900


def test_a_read_only_file_is_read(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache, PAIRS[:9])
    real = sqlite3.connect

    def without_writing(path: object, **settings: object) -> sqlite3.Connection:
        if "immutable" not in str(path):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return real(path, **settings)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", without_writing)
    later = opened(cache.path)
    assert found(later, PAIRS[:10]) == [True] * 9 + [False]
    put(later, PAIRS[9:10])
    assert "readonly" in str(later.problem)


def test_a_lower_limit_makes_the_file_shorter(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    put(opened(path), [(f"long ago {number}", "") for number in range(5000)])
    before = path.stat().st_size
    for pair in PAIRS[:9]:
        put(opened(path, limit=before // 4), [pair])
    assert path.stat().st_size <= before // 4 * 1.2
    assert all(found(opened(path), PAIRS[:9]))


def test_the_oldest_go_first(tmp_path: Path) -> None:
    limit = 1 << 18
    cache = opened(tmp_path / "a.sqlite", limit)
    rounds = [[(f"{turn}", f"{at}") for at in range(500)] for turn in range(20)]
    for pairs in rounds:
        put(cache, pairs)
    shares = [float(np.mean(found(cache, pairs))) for pairs in rounds]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert cache.path.stat().st_size < 1.3 * limit


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from test_runtime_score_cache import found, opened, put
for turn in range(int(sys.argv[2]), int(sys.argv[3])):
    pairs = [(f"{turn} {at}", "r") for at in range(40)]
    cache = opened(Path(sys.argv[1]))
    put(cache, pairs)
    found(cache, pairs)  # checks every score
    print(turn, cache.notes or "well", flush=True)
"""


def started(path: Path, start: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(start), str(end)]
    return subprocess.Popen(
        [*command, str(Path(__file__).parent)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_write_and_read_at_once(cache: ScoreCache) -> None:
    """The ranges overlap, so that two processes put the same scores."""
    writers = [started(cache.path, start, start + 40) for start in (0, 20, 40)]
    for writer in writers:
        out, err = writer.communicate()
        assert (writer.returncode, err) == (0, "")
        assert [line.split()[1] for line in out.splitlines()] == ["well"] * 40
    assert all(found(cache, [(f"{turn} {at}", "r") for turn in range(80) for at in range(40)]))


def test_processes_find_a_damaged_file_at_once(cache: ScoreCache) -> None:
    """One moves it aside, and none writes into what another has begun."""
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database" * 1000)
    writers = [started(cache.path, start, start + 20) for start in (0, 20, 40)]
    for writer in writers:
        _, err = writer.communicate()
        assert (writer.returncode, err) == (0, "")
    later = opened(cache.path)
    there = found(later, [(f"{turn} {at}", "r") for turn in range(60) for at in range(40)])
    assert sum(there) > 0.8 * len(there)  # a batch may be lost while the file is moved
    assert later.notes == []


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_killed_processes_leave_a_whole_file(cache: ScoreCache) -> None:
    kept = 0
    for turn in range(6):
        writer = started(cache.path, kept, 10_000)
        assert writer.stdout is not None
        for _ in range(2 + turn):  # each time at another place
            last = writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0]
        kept = int((rest.rpartition("\n")[0].rpartition("\n")[2] or last).split()[0]) + 1
        later = opened(cache.path)
        # What a process has said to be there is there, right to the last bit.
        assert all(found(later, [(f"{n} {at}", "r") for n in range(kept) for at in range(40)]))
        put(later, PAIRS[turn : turn + 1])
        assert later.notes == []
