"""What a server scores with: metrics that its operator named, and by name those that come along.

No path comes from a request. An operator may offer any metric, with any settings, and folders of
trained ones; a request names one of these, or adds settings to a bare name. Settings are allowed
one by one, so that a new one that takes a path, or threads, is not open to everyone by accident.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adequa.comparison.defaults import METRICS as DEFAULTS
from adequa.errors import AdequaError, UnknownSettingError, nearest
from adequa.metrics.contract import Metric
from adequa.metrics.registry import METRICS, load_metric, metric_class, settings_of
from adequa.service.lane import Held, Lane
from adequa.service.limits import Limits, Refusal

# Settings that are texts, and yet one of a few words.
_WORDS = {"tokenize", "smooth_method", "normalize", "modules", "references"}
# Settings that are for nobody but whoever runs the server.
_OF_OPERATORS = {"threads", "device", "tables"}
_MOST_LANES = 32  # metrics with settings that are kept open

Seen = Callable[[str, int, float], None]  # the name that is offered, segments, seconds


@dataclass(frozen=True, slots=True)
class Offer:
    """A metric that requests may name."""

    name: str
    specification: str  # as the operator wrote it
    summary: str
    open_to_settings: bool  # whether requests may add settings


class Offered:
    """The metrics of a server, each with its lane."""

    def __init__(
        self,
        specifications: Sequence[str],
        limits: Limits,
        *,
        workers: int | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.offers = {offer.name: offer for offer in map(_offer, specifications or METRICS)}
        if len(self.offers) < len(specifications):
            raise AdequaError("Two metrics of this server have one name; leave one of them out.")
        self.held = Held(limits.held)
        self._limits, self._workers, self._seen = limits, workers, seen
        self._lanes: OrderedDict[str, Lane] = OrderedDict()
        self._lock = threading.Lock()

    def lane(self, asked: str) -> Lane:
        """The lane of a metric that a request names; raises where it is not offered."""
        offer, settings = self._found(asked)
        key = f"{offer.name}:{settings}" if settings else offer.name
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = self._opened(offer, settings)
                self._close_idle()
            self._lanes.move_to_end(key)
            return lane

    def close(self) -> None:
        """Score what was accepted, and end."""
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close()

    @property
    def defaults(self) -> list[str]:
        """What is taken where nothing is asked for: as on the command line, if it is offered."""
        return [name for name in DEFAULTS if name in self.offers] or list(self.offers)[:1]

    @property
    def waiting(self) -> int:
        """Segments that wait, of all metrics."""
        return self.held.count

    def described(self) -> list[dict[str, Any]]:
        """The metrics as a list for people and programs; trained ones are opened for it."""
        return [_described(offer, self.lane(name)) for name, offer in self.offers.items()]

    def _found(self, asked: str) -> tuple[Offer, str]:
        if asked in self.offers:
            return self.offers[asked], ""
        name, _, written = asked.partition(":")
        offer = self.offers.get(name.strip())
        if offer is None:
            raise AdequaError(
                f'This server has no metric "{_short(name)}".{nearest(name, self.offers)} It has: '
                f"{', '.join(self.offers)}."
            )
        assignments = sorted(part.strip() for part in written.split(",") if part.strip())
        for assignment in assignments:
            _check_open(offer, assignment.partition("=")[0].strip())
        return offer, ",".join(assignments)

    def _opened(self, offer: Offer, settings: str) -> Lane:
        written = ":".join(filter(None, [offer.specification, settings]))
        metric = _loaded(written, self._workers)
        seen, name = self._seen, offer.name
        if seen is None:
            return Lane(metric, self._limits, self.held)
        return Lane(
            metric,
            self._limits,
            self.held,
            seen=lambda segments, seconds: seen(name, segments, seconds),
        )

    def _close_idle(self) -> None:
        """Let go of the metric that was not asked for the longest, where there are many."""
        for key, lane in list(self._lanes.items()):
            if len(self._lanes) <= _MOST_LANES:
                return
            if key not in self.offers and lane.idle:
                del self._lanes[key]
                lane.close()
        if len(self._lanes) > _MOST_LANES + len(self.offers):
            self._lanes.popitem()
            raise Refusal(
                429, "Too many metrics with settings are in use; try again later.", retry_after="5"
            )


def _offer(specification: str) -> Offer:
    if specification in METRICS:
        return Offer(specification, specification, METRICS[specification].summary, True)
    name = specification.partition(":")[0]
    metric = load_metric(specification)  # which says at once what is wrong
    if name in METRICS:
        return Offer(specification, specification, METRICS[name].summary, False)
    return Offer(metric.name, specification, "a trained metric of this server", False)


def _loaded(specification: str, workers: int | None) -> Metric:
    """A metric, with so many threads where it takes a number of them and has none."""
    if workers is None or "threads=" in specification:
        return load_metric(specification)
    try:
        return load_metric(specification, threads=workers)
    except UnknownSettingError as error:
        if error.key != "threads":
            raise
    return load_metric(specification)


def _check_open(offer: Offer, key: str) -> None:
    if not offer.open_to_settings:
        raise AdequaError(f"{offer.name} has the settings that this server gives it, and no other.")
    known = settings_of(metric_class(offer.name))
    if key not in known:
        return  # loading it says what is wrong
    is_text = isinstance(known[key], str)
    if key in _OF_OPERATORS or (is_text and key not in _WORDS):
        raise AdequaError(
            f"{offer.name}: {key} is for whoever runs the server, and not for a request."
        )


def _described(offer: Offer, lane: Lane) -> dict[str, Any]:
    metric = lane.metric
    low, high = metric.range
    settings = settings_of(metric_class(offer.name)) if offer.open_to_settings else {}
    return {
        "name": offer.name,
        "summary": offer.summary,
        "higher_is_better": metric.higher_is_better,
        "lowest": _bound(low),
        "highest": _bound(high),
        "settings": {
            key: value
            for key, value in settings.items()
            if key not in _OF_OPERATORS and (not isinstance(value, str) or key in _WORDS)
        },
        "signature": str(lane.signature(1, "system")),
    }


def _bound(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"  # noqa: PLR2004 - enough to know it by
