"""What every kind of damage is: a pure function of a text, a severity, randomness and a context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Context:
    """What a kind may need beside the text: its source, and other sentences of the corpus."""

    source: str | None = None
    others: Sequence[str] = ()


# Text, severity (above 0, at most 1), randomness, context. None: this kind cannot apply here.
Damaging: TypeAlias = Callable[[str, float, Random, Context], "str | None"]

# The kinds of damage that a metric must not miss: what they change is what the reader came for.
CRITICAL = frozenset(
    {"number", "negation", "name", "omission", "hallucination", "untranslated", "empty"}
)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One kind of damage, with what a reader or a trainer needs to know of it."""

    name: str
    group: str
    function: Damaging
    description: str
    severity: str  # what a higher severity means; empty where it changes nothing
    kept_out: str = ""  # why it is never trained on; empty where it may be

    @property
    def critical(self) -> bool:
        """Whether the damage is of a group that a metric must not miss."""
        return self.group in CRITICAL

    @property
    def held_out(self) -> bool:
        """Whether it is never trained on, and serves to report alone."""
        return bool(self.kept_out)
