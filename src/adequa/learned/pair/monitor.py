"""What a training keeps an eye on: the mean loss, and the clock."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from torch import Tensor

BETWEEN_REPORTS = 0.5  # seconds; reading the loss waits for the device


@dataclass(slots=True)
class Losses:
    """The mean of losses since it was last asked for; they stay on the device until then."""

    total: Tensor | float
    count: int

    def add(self, loss: Tensor) -> None:
        """Count one more."""
        self.total = self.total + loss
        self.count += 1

    def mean(self) -> float:
        """The mean, with which they begin anew."""
        mean = float(self.total) / self.count
        self.total, self.count = 0.0, 0
        return mean


class Clock:
    """When to report and when to write a checkpoint; results do not depend on either."""

    def __init__(self, between_checkpoints: float) -> None:
        self._between = {"report": BETWEEN_REPORTS, "checkpoint": between_checkpoints}
        self._begun = monotonic()
        self._last = dict.fromkeys(self._between, self._begun)

    def report_is_due(self) -> bool:
        """Whether to report now; if so, the time begins anew."""
        return self._is_due("report")

    def checkpoint_is_due(self) -> bool:
        """Whether to write a checkpoint now, likewise."""
        return self._is_due("checkpoint")

    def is_long(self) -> bool:
        """Whether the training has run for so long that it should not have to be done again."""
        return monotonic() - self._begun >= self._between["checkpoint"]

    def _is_due(self, what: str) -> bool:
        due = monotonic() - self._last[what] >= self._between[what]
        if due:
            self._last[what] = monotonic()
        return due
