"""A fault campaign: trials with random faults, each reproducible by target, seed and number.

A target is a function of one trial: it makes an input that is damaged in some way, gives it to the
product, and calls `fail` where the answer breaks a promise. A trial has a random generator that
depends on the target, the seed and its number alone, and an empty folder of its own.
"""

from __future__ import annotations

import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any


class BrokenPromiseError(AssertionError):
    """A promise that was broken, in a sentence."""


def fail(sentence: str) -> None:
    """End the trial as a failure."""
    raise BrokenPromiseError(sentence)


@dataclass(frozen=True, slots=True)
class Trial:
    """One input to try."""

    number: int
    random: Random
    folder: Path


@dataclass(frozen=True, slots=True)
class Target:
    """What is tried: a name, a function of one trial, and how much of the time it gets."""

    name: str
    run: Callable[[Trial], None]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trial that failed, or None as its report where it did not."""

    target: str
    seed: int
    number: int
    report: str | None


def run_trial(target: Target, seed: int, number: int, *, limit: float | None = None) -> Outcome:
    """Run one trial; any exception that leaves the target is a failure.

    So is a trial that takes more than `limit` seconds, which needs POSIX and the main thread.
    """
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        trial = Trial(number, Random(f"{target.name} {seed} {number}"), Path(folder))
        try:
            with _time_limit(limit):
                target.run(trial)
        except BrokenPromiseError as failure:
            return Outcome(target.name, seed, number, str(failure))
        except Exception:  # noqa: BLE001 - whatever comes out is what the campaign looks for
            return Outcome(target.name, seed, number, traceback.format_exc())
    return Outcome(target.name, seed, number, None)


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"the trial took more than {seconds:g} seconds")

    if seconds is None:
        yield
        return
    earlier = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def trials(
    target: Target,
    seed: int,
    *,
    count: int | None = None,
    seconds: float | None = None,
    limit: float | None = None,
) -> Iterator[Outcome]:
    """Trials 0, 1, 2, … of a target, until there are `count` or the time is over."""
    end = None if seconds is None else monotonic() + seconds
    number = 0
    while (count is None or number < count) and (end is None or monotonic() < end):
        yield run_trial(target, seed, number, limit=limit)
        number += 1


def shares_of_time(targets: Sequence[Target], seconds: float) -> dict[str, float]:
    """The seconds that each target gets, by its weight.

    >>> shares_of_time([Target("a", print, 1), Target("b", print, 3)], 60)
    {'a': 15.0, 'b': 45.0}
    """
    whole = sum(target.weight for target in targets)
    return {target.name: seconds * target.weight / whole for target in targets}


def summary(counts: Mapping[str, tuple[int, int]]) -> str:
    """A table of the trials and failures of each target.

    >>> print(summary({"arrays": (1200, 0), "tokens": (7, 2)}))
    target  trials  failures
    arrays   1,200         0
    tokens       7         2
    """
    width = max(map(len, ("target", *counts)))
    rows = [
        f"{name:<{width}}{count:8,}{failures:10,}" for name, (count, failures) in counts.items()
    ]
    return "\n".join([f"{'target':<{width}}  trials  failures", *rows])
