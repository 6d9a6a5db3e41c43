"""Which of the judgements are used: language pairs, splits, and systems that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from adequa.agreement import exclusions
from adequa.agreement.exclusions import Excluded
from adequa.agreement.protocol import Protocol
from adequa.judgements import Judgements


@dataclass(frozen=True, slots=True)
class Selection:
    """What is chosen from judgements; everything where nothing is said."""

    lp: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    exclude_systems: tuple[str, ...] = ()
    exclude_references: bool = False
    exclude_outliers: bool = False

    def __str__(self) -> str:
        """The choices in one line, as a signature shows them.

        >>> str(Selection(lp=("cs-en", "de-en"), exclude_outliers=True))
        'lp:cs-en,de-en|exclude:outliers'
        """
        excluded = [f"system {name}" for name in self.exclude_systems]
        excluded += ["references"] * self.exclude_references + ["outliers"] * self.exclude_outliers
        parts = {"lp": self.lp, "split": self.split, "exclude": excluded}
        return "|".join(f"{name}:{','.join(values)}" for name, values in parts.items() if values)


def selected(
    judgements: Judgements, selection: Selection, protocol: Protocol
) -> tuple[Judgements, list[str]]:
    """The judgements to evaluate on, and notes on what is left out of them."""
    for name, values in (("lp", selection.lp), ("split", selection.split)):
        if values:
            judgements = exclusions.with_ids(judgements, name, values)
    notes = []
    for without in _steps(selection, protocol):
        excluded = without(judgements)
        judgements = excluded.judgements
        notes.append(excluded.note)
    return judgements, notes


def _steps(selection: Selection, protocol: Protocol) -> Iterator[Callable[[Judgements], Excluded]]:
    if selection.exclude_systems:
        yield partial(exclusions.without_systems, systems=selection.exclude_systems)
    if selection.exclude_references:
        yield exclusions.without_references
    if selection.exclude_outliers:
        human = protocol.human if protocol.human == "trueskill" else "expected-wins"
        yield partial(exclusions.without_outliers, human=human, seed=protocol.seed)
