"""Timing that benchmarks share: the shortest of rounds, and the CPU time of a command."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Sequence


def shortest(
    work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def command_cpu_seconds(command: Sequence[str]) -> float:
    """Return the CPU seconds that a command takes, start-up included."""
    before = _children_cpu_seconds()
    subprocess.run(command, capture_output=True, check=True)
    return _children_cpu_seconds() - before


def _children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
