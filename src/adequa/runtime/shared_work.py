"""Work shared out among threads: for work that lets other threads run meanwhile, as models do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from adequa.errors import AdequaError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds to wait at a time: a signal that comes just before a wait is noticed only after it.
_AT_A_TIME = 0.5


def shared_out(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """What the work makes of each item, in their order, by so many threads at most.

    The threads end with the call. Where an item fails, or the user stops the program, what has not
    begun is left undone; of several failures, that of the first item is raised.

    >>> shared_out(len, ["one", "three"], threads=2)
    [3, 5]
    """
    threads = min(threads, len(items))
    if threads <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return [_result(each) for each in _begun(pool, work, items)]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _result(begun: Future[Result]) -> Result:
    while not wait([begun], _AT_A_TIME).done:
        pass
    return begun.result()


def _begun(
    pool: ThreadPoolExecutor, work: Callable[[Item], Result], items: Sequence[Item]
) -> list[Future[Result]]:
    try:
        return [pool.submit(work, item) for item in items]
    except RuntimeError as error:  # threads begin one by one, as there is work for them
        raise AdequaError(
            f"The system allows no more threads ({error}); use fewer, such as threads=1."
        ) from error
