"""Work shared out among threads: in order, at once, and stopped soon where something goes wrong."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime import shared_work
from adequa.runtime.shared_work import shared_out

PATIENCE = 60  # seconds, should a test fail


@given(st.lists(st.integers()), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(items: list[int], threads: int) -> None:
    before = threading.active_count()
    assert shared_out(lambda item: item * 2, items, threads) == [item * 2 for item in items]
    assert threading.active_count() == before


def test_so_many_threads_work_at_once() -> None:
    together = threading.Barrier(3)
    there = shared_out(lambda _: together.wait(PATIENCE), range(6), threads=3)
    assert sorted(there) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("threads", "items"), [(1, 5), (9, 1)])
def test_without_need_there_are_no_other_threads(threads: int, items: int) -> None:
    found = shared_out(lambda _: threading.current_thread(), range(items), threads)
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

    monkeypatch.setattr(shared_work, "ThreadPoolExecutor", Watched)
    return work, begun


def test_what_has_not_begun_is_left_undone_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise AdequaError("The first is at fault.")

    work, begun = stopped_early(monkeypatch, fail)
    with pytest.raises(AdequaError, match="The first is at fault"):
        shared_out(work, range(100), threads=2)
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
            shared_out(work, range(100), threads=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert begun[0] == 0
    assert len(begun) <= 2


def test_a_system_that_allows_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(shared_work, "ThreadPoolExecutor", Refusing)
    with pytest.raises(AdequaError, match=r"no more threads \(can't start new thread\); use fewer"):
        shared_out(len, ["a", "b"], threads=2)
