"""Threads: how many CPUs this process may use, and work spread over threads.

A container often sees all CPUs of its machine but gets the time of a few. Threads beyond that only
wait for one another, so the CPU quotas of control groups (cgroup v2) count beside the affinity.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import ceil
from pathlib import Path, PurePosixPath
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_ROOT = Path("/")
_V2 = "0::"  # how the line of cgroup v2 begins in /proc/self/cgroup


def available_cpus(root: Path = _ROOT) -> int:
    """Return the number of CPUs to use, at least 1. System files are read below `root`.

    Part of a CPU counts as a whole one: with one thread less, its time would never be used.
    """
    return max(min([_affinity(), *map(ceil, _cgroup_quotas(root))]), 1)


def _affinity() -> int:
    """Return the number of CPUs that the system lets this process run on."""
    with suppress(AttributeError, OSError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroup_quotas(root: Path) -> Iterator[float]:
    """Yield the quota of this process's control group and of each group around it, in CPUs."""
    mount = root / "sys/fs/cgroup"
    lines = _read(root / "proc/self/cgroup").splitlines()
    name = next((line.removeprefix(_V2) for line in lines if line.startswith(_V2)), "")
    group = PurePosixPath(name.lstrip("/"))
    for folder in (group, *group.parents):
        quota = _quota(_read(mount / folder / "cpu.max"))
        if quota is not None:
            yield quota


def _quota(content: str) -> float | None:
    """Return quota over period, or None where there is no limit.

    >>> _quota("150000 100000"), _quota("max 100000"), _quota("")
    (1.5, None, None)
    """
    with suppress(ValueError):
        quota, period = map(int, content.split())
        if quota > 0 and period > 0:
            return quota / period
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def thread_map(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Return the result of each item, in order, computed by at most so many threads.

    For work that releases the interpreter's lock, as ONNX models do. The threads end with the call.
    Where an item fails or the user interrupts, items that have not started are left undone; of
    several failures, that of the first item is raised.

    >>> thread_map(len, ["one", "three"], threads=2)
    [3, 5]
    """
    threads = min(threads, len(items))
    if threads <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
