"""Threads: CPUs that may be used, and work spread over threads, in order and stopped soon."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime import threads as threads_module
from adequa.runtime.threads import available_cpus, thread_map


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def written(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def cgroup(root: Path, group: str, **files: str) -> Path:
    """System files of a process in this group, and the files of its groups."""
    written(root, proc__self__cgroup=f"1:name=systemd:/x\n0::{group}\n")
    return written(root / "sys/fs/cgroup", **files)


@pytest.mark.parametrize(
    ("content", "cpus"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),  # a CPU and a half
        ("20000 100000\n", 1),
        ("max 100000\n", 8),
        ("1600000 100000\n", 8),
        ("", 8),
        ("nonsense\n", 8),
        ("0 0\n", 8),
    ],
)
def test_quotas_of_cgroup(tmp_path: Path, content: str, cpus: int) -> None:
    cgroup(tmp_path, "/", cpuDOTmax=content)
    assert available_cpus(tmp_path) == cpus


def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    cgroup(
        tmp_path, "/a/b", a__cpuDOTmax="300000 100000\n", a__b__cpuDOTmax="max 100000\n",
        other__cpuDOTmax="100000 100000\n",
    )  # fmt: skip
    assert available_cpus(tmp_path) == 3


@pytest.mark.parametrize("group", ["/gone", "/../../outside"])
def test_a_group_that_cannot_be_seen(tmp_path: Path, group: str) -> None:
    cgroup(tmp_path, group, cpuDOTmax="400000 100000\n")
    assert available_cpus(tmp_path) == 4


def test_affinity_counts_where_there_are_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert available_cpus(tmp_path) == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert available_cpus(tmp_path) == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus(tmp_path) == 1


@pytest.mark.parametrize("content", ["", "x", "0::", ":::::", "1:cpu\n", "\x00"])
def test_files_that_make_no_sense(tmp_path: Path, content: str) -> None:
    written(tmp_path, proc__self__cgroup=content)
    assert available_cpus(tmp_path) == 8


def test_this_machine_has_some() -> None:
    assert 1 <= available_cpus() <= 8


PATIENCE = 60  # seconds, should a test fail


@given(st.lists(st.integers()), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(items: list[int], threads: int) -> None:
    before = threading.active_count()
    assert thread_map(lambda item: item * 2, items, threads) == [item * 2 for item in items]
    assert threading.active_count() == before


def test_so_many_threads_work_at_once() -> None:
    together = threading.Barrier(3)
    there = thread_map(lambda _: together.wait(PATIENCE), range(6), threads=3)
    assert sorted(there) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("threads", "items"), [(1, 5), (9, 1)])
def test_without_need_there_are_no_other_threads(threads: int, items: int) -> None:
    found = thread_map(lambda _: threading.current_thread(), range(items), threads)
    assert found == [threading.current_thread()] * items


def stopped_early(
    monkeypatch: pytest.MonkeyPatch, first: Callable[[], None]
) -> tuple[Callable[[int], None], list[int]]:
    """Work whose first item does this, and whose others wait until all that is left is dropped."""
    begun: list[int] = []
    dropped = threading.Event()

    class Watched(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=wait, cancel_futures=cancel_futures)
            dropped.set()

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            first()
        assert dropped.wait(PATIENCE)

    monkeypatch.setattr(threads_module, "ThreadPoolExecutor", Watched)
    return work, begun


def test_what_has_not_begun_is_left_undone_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise AdequaError("The first is at fault.")

    work, begun = stopped_early(monkeypatch, fail)
    with pytest.raises(AdequaError, match="The first is at fault"):
        thread_map(work, range(100), threads=2)
    assert sorted(begun) in ([0, 1], [0, 1, 2])


@pytest.mark.skipif(os.name != "posix", reason="needs signals to a thread")
def test_the_user_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    main = threading.current_thread()
    if main is not threading.main_thread():
        pytest.skip("signals come to the main thread alone")
    work, begun = stopped_early(
        monkeypatch, lambda: signal.pthread_kill(main.ident or 0, signal.SIGINT)
    )
    # A shell that starts the tests in the background has them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread_map(work, range(100), threads=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert begun[0] == 0
    assert len(begun) <= 2
