"""The Objective contract: items to draw, the pairs whose scores they need, and their loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from adequa.segments import IntArray

if TYPE_CHECKING:
    from torch import Tensor

Loss: TypeAlias = "Callable[[Tensor], Tensor]"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Pairs to be scored, and the loss of their scores.

    The loss is a sum; `weight` is what it is divided by to be a mean. So the shares of several
    processes add up to the loss of the whole.
    """

    pairs: IntArray
    loss: Loss
    weight: float


class Objective(ABC):
    """Something to learn: a number of items, each with a few pairs of texts."""

    name: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int:
        """Number of items."""

    @abstractmethod
    def lengths(self, tokens: IntArray) -> IntArray:
        """Of each item, the tokens of its longest pair, from those of every pair."""

    @abstractmethod
    def task(self, items: IntArray) -> Task:
        """What is to be done for these items."""
