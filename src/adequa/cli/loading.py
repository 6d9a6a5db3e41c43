"""Metrics as the command line loads them: on the device of choice, with scores kept on disk."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adequa.cli.options import Device
from adequa.errors import UnknownSettingError

if TYPE_CHECKING:
    from adequa.metrics.contract import Metric

KEPT = "scores.db"  # in the folder of caches
_MEGABYTE = 1_000_000


@dataclass(slots=True)
class Loading:
    """Loads metrics by their words, and remembers whether any of them runs on a device."""

    device: Device | None = None  # None where the user names none
    megabytes: int | None = None  # of scores that are kept on disk; None for none at all
    _without_device: list[str] = field(default_factory=list)
    _with_device: int = 0

    def __call__(self, specification: str) -> Metric:
        """A metric from its name or its folder."""
        metric = self._placed(specification)
        if self.megabytes is not None:
            from adequa.datasets.cache import cache_folder

            with suppress(RuntimeError):  # a user without a home
                metric.keep_scores(cache_folder() / KEPT, self.megabytes * _MEGABYTE)
        return metric

    def _placed(self, specification: str) -> Metric:
        from adequa.metrics.registry import load_metric

        if self.device is None:
            return load_metric(specification)
        try:
            metric = load_metric(specification, device=self.device.value)
        except UnknownSettingError as error:
            if error.key != "device":
                raise
            self._without_device.append(specification)
            return load_metric(specification)
        self._with_device += 1
        return metric

    def check_device(self) -> None:
        """Raise where a device is named that none of the metrics makes use of."""
        if self.device is not None and not self._with_device:
            from adequa.metrics.settings import no_device

            raise no_device(self._without_device)
