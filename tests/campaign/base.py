"""A fault campaign: trials with random faults, each reproducible by target, seed and number.

A target is a function of one trial: it makes an input that is damaged in some way, gives it to the
product, and calls `fail` where the answer breaks a promise. A trial has a random generator that
depends on the target, the seed and its number alone, and an empty folder of its own.
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic


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


def run_trial(target: Target, seed: int, number: int) -> Outcome:
    """Run one trial; any exception that leaves the target is a failure."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        trial = Trial(number, Random(f"{target.name} {seed} {number}"), Path(folder))
        try:
            target.run(trial)
        except BrokenPromiseError as failure:
            return Outcome(target.name, seed, number, str(failure))
        except Exception:  # noqa: BLE001 - whatever comes out is what the campaign looks for
            return Outcome(target.name, seed, number, traceback.format_exc())
    return Outcome(target.name, seed, number, None)


def trials(
    target: Target, seed: int, *, count: int | None = None, seconds: float | None = None
) -> Iterator[Outcome]:
    """Trials 0, 1, 2, … of a target, until there are `count` or the time is over."""
    end = None if seconds is None else monotonic() + seconds
    number = 0
    while (count is None or number < count) and (end is None or monotonic() < end):
        yield run_trial(target, seed, number)
        number += 1


def shares_of_time(targets: Sequence[Target], seconds: float) -> dict[str, float]:
    """The seconds that each target gets, by its weight.

    >>> shares_of_time([Target("a", print, 1), Target("b", print, 3)], 60)
    {'a': 15.0, 'b': 45.0}
    """
    whole = sum(target.weight for target in targets)
    return {target.name: seconds * target.weight / whole for target in targets}
