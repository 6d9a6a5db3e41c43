"""Going on from a checkpoint of a pair regressor: what it belongs to, and what a user is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from adequa.learned.checkpoints import Checkpoints, Snapshot
from adequa.learned.pair.plan import Plan

_TOKENS = "most_tokens"


@dataclass(frozen=True, slots=True)
class ToldCheckpoints(Checkpoints):
    """Checkpoints that a user is told of where a training goes on from one."""

    most_tokens: int
    note: Callable[[str], None]

    def latest(self) -> Snapshot | None:
        found = Checkpoints.latest(self)
        if found is None:
            return None
        self.note(f"going on from {self.folder}, where an earlier run was stopped.")
        before = found.facts.get(_TOKENS)
        if before != self.most_tokens:
            self.note(
                f"{before:,} tokens were read at once before, and {self.most_tokens:,} are now, so "
                "that other units are dropped out than without the stop."
            )
        return found

    def write(self, snapshot: Snapshot) -> None:
        facts = {**snapshot.facts, _TOKENS: self.most_tokens}
        Checkpoints.write(self, replace(snapshot, facts=facts))


def identity(plan: Plan, begun: str, precision: str, data: str, teachers: Iterable[str]) -> str:
    """What a checkpoint belongs to: all that decides what it comes to.

    That is the plan, the digest of what it begins with, the precision, the digest of the data, and
    the signatures of teachers. How much is read at once is left out: someone who has run out of
    memory goes on with less.
    """
    return " ".join([repr(replace(plan, most_tokens=1)), begun, precision, data, *teachers])
