"""What a difference of scores has meant for people: how often they agreed with one of its size.

`adequa differences DATA -m METRIC --level system --format json` measures it. A packed metric may
have the file beside its weights, as `differences.json`; that of the metric that ships comes along.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.learned.packed.metric import Adequa, PackedPair
from adequa.metrics.base import Metric
from adequa.pretrained import METRIC_FOLDER
from adequa.segments import ENVIRONMENT_FIELDS

FILE = "differences.json"
_VARYING = {"nrefs", *ENVIRONMENT_FIELDS}  # fields under which a difference means the same
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Meaning:
    """How often people agreed with differences of systems as large as this one."""

    low: float  # differences from this on
    high: float  # and below this; infinite for the largest
    pairs: int  # of systems that people judged
    share: float  # of them in which people preferred the system with the better score
    share_low: float
    share_high: float
    data: str  # what people judged


@dataclass(frozen=True, slots=True)
class Meanings:
    """Meanings of a metric's differences, by size."""

    signature: str
    bins: tuple[Meaning, ...]

    def of(self, difference: float) -> Meaning | None:
        """The meaning of a difference, whatever its sign; None where nobody judged such pairs."""
        size = abs(difference)
        for each in self.bins:
            if each.low * (1 - _ROUNDING) <= size < each.high and each.pairs and size > 0:
                return each
        return None


def meanings_beside(metric: Metric) -> Meanings | None:
    """What was measured for this metric and lies beside its weights, if anything does."""
    folder = METRIC_FOLDER if isinstance(metric, Adequa) else None
    if isinstance(metric, PackedPair):
        folder = metric.folder
    if folder is None or not (folder / FILE).is_file():
        return None
    return next(
        (each for each in read_meanings(folder / FILE) if is_of(each, metric)),
        None,
    )


def is_of(meanings: Meanings, metric: Metric) -> bool:
    """Whether they were measured with this very metric: settings, weights and all."""
    return _lasting(meanings.signature) == _lasting(str(metric.signature(1)))


def read_meanings(path: Path) -> tuple[Meanings, ...]:
    """Meanings from what `adequa differences --level system --format json` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        level, data = content["level"], " and ".join(content["datasets"])
        found = tuple(
            Meanings(str(each["signature"]), tuple(_meanings(each["bins"], data)))
            for each in content["metrics"]
        )
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise AdequaError(
            f"{path} does not hold what `adequa differences --level system --format json` writes."
        ) from error
    if level != "system":
        raise AdequaError(
            f"{path} was measured on single outputs; make it again with --level system."
        )
    return found


def _meanings(bins: Sequence[Mapping[str, Any]], data: str) -> list[Meaning]:
    return [
        Meaning(
            low=float(each["from"]),
            high=inf if each["to"] is None else float(each["to"]),
            pairs=int(each["pairs"]),
            share=_number(each["share"]),
            share_low=_number(each["share_low"]),
            share_high=_number(each["share_high"]),
            data=data,
        )
        for each in bins
    ]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _lasting(signature: str) -> list[str]:
    name, *fields = signature.split("|")
    return [name, *(field for field in fields if field.partition(":")[0] not in _VARYING)]
