"""What a server scores with: metrics that its operator named, and by name those that come along.

No path comes from a request. An operator may offer any metric, with any settings, and folders of
trained ones; a request names one of these, or adds settings to a bare name. Settings are allowed
one by one, so that a new one that takes a path, or threads, is not open to everyone by accident.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from adequa.comparison.settings import METRICS as DEFAULTS
from adequa.errors import AdequaError, UnknownSettingError, nearest
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.base import Metric
from adequa.metrics.edit_rates import TOKENIZERS
from adequa.metrics.registry import (
    METRICS,
    clear_text_caches,
    load_metric,
    metric_class,
    named_metric,
    parsed_settings,
    settings_of,
)
from adequa.service.lane import Held, Lane
from adequa.service.limits import LONGEST_METRIC, Limits, Refusal

# Settings that are texts, and yet one of a few words.
_WORDS = {"tokenize", "smooth_method", "normalize", "modules", "references"}
# Settings that are for nobody but whoever runs the server.
_OF_OPERATORS = {"threads", "device", "tables"}
_MOST_LANES = 32  # metrics with settings that are kept open
_REMEMBERED = 8_000_000  # characters that are scored before metrics are made to forget texts

Seen = Callable[[str, int, float], None]  # the name that is offered, segments, seconds


@dataclass(frozen=True, slots=True)
class Offer:
    """A metric that requests may name."""

    name: str
    specification: str  # as the operator wrote it
    summary: str
    settings: Mapping[str, object] | None = None  # that requests may add, with their defaults
    only_ranks: bool = False  # as a pairwise ranker, which says nothing of one hypothesis


@dataclass(eq=False, slots=True)
class Place:
    """A metric that somebody uses, from before it is opened until nobody does any more."""

    make: Callable[[], Lane]
    users: int = 0
    lane: Lane | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)

    def opened(self) -> Lane:
        """Its lane. Others wait for one that opens only where they ask for the same."""
        with self.opening:
            if self.lane is None:
                self.lane = self.make()
            return self.lane

    @property
    def idle(self) -> bool:
        """Whether nobody uses it, nor anything that they left is being done."""
        return not self.users and (self.lane is None or self.lane.idle)


class Forgetting:
    """Counts what metrics read, of all lanes, and has them forget it before it is too much."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit, self._count = limit, 0
        self._lock = threading.Lock()

    def read(self, characters: int) -> None:
        """So many were scored."""
        with self._lock:
            self._count += characters
            if self._count < self._limit:
                return
            self._count = 0
        clear_text_caches()


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
        self._forgetting = Forgetting()
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._lock = threading.Lock()  # held for a moment only: never while a metric opens

    @contextmanager
    def using(self, asked: str) -> Iterator[Place]:
        """The place of a metric that a request names, which stays while it is used.

        Raises where the metric is not offered, or too many are in use.
        """
        offer, settings = self._found(asked)
        key = f"{offer.name}:{settings}" if settings else offer.name
        place = self._taken(key, lambda: self._opened(offer, settings))
        try:
            yield place
        finally:
            self._left(key, place)

    def lane(self, asked: str) -> Lane:
        """The lane of a metric; one with settings of a request may close behind its back."""
        with self.using(asked) as place:
            return place.opened()

    def close(self) -> None:
        """Score what was accepted, and end."""
        with self._lock:
            places = list(self._places.values())
        for place in places:
            if place.lane is not None:
                place.lane.close()

    @property
    def defaults(self) -> list[str]:
        """What is taken where nothing is asked for: as on the command line, if it is offered."""
        scoring = [name for name, offer in self.offers.items() if not offer.only_ranks]
        return [name for name in DEFAULTS if name in scoring] or scoring[:1]

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
        if len(asked) > LONGEST_METRIC:
            raise AdequaError(
                f"A metric with its settings has {LONGEST_METRIC} characters at most, and "
                f'"{_short(asked)}" has {len(asked):,}.'
            )
        name, _, written = asked.partition(":")
        offer = self.offers.get(name.strip())
        if offer is None:
            raise AdequaError(
                f'This server has no metric "{_short(name)}".{nearest(name, self.offers)} It has: '
                f"{', '.join(self.offers)}."
            )
        return offer, _settings(offer, written) if written.strip() else ""

    def _opened(self, offer: Offer, settings: str) -> Lane:
        metric = _loaded(offer, settings, self._workers)
        seen, name = self._seen, offer.name

        def scored(segments: int, characters: int, seconds: float) -> None:
            self._forgetting.read(characters)
            if seen is not None:
                seen(name, segments, seconds)

        return Lane(metric, self._limits, self.held, seen=scored)

    def _taken(self, key: str, make: Callable[[], Lane]) -> Place:
        with self._lock:
            place = self._places.get(key)
            unused = [] if place is not None else self._let_go(1)
            if place is None:
                if len(self._places) >= _MOST_LANES + len(self.offers):
                    raise Refusal(
                        429,
                        "Too many metrics with settings are in use; try again later.",
                        retry_after="5",
                    )
                place = self._places[key] = Place(make)
            place.users += 1
            self._places.move_to_end(key)
        _end(unused)
        return place

    def _left(self, key: str, place: Place) -> None:
        with self._lock:
            place.users -= 1
            if not place.users and place.lane is None:  # it could not be opened
                del self._places[key]
            unused = self._let_go(0)
        _end(unused)

    def _let_go(self, room: int) -> list[Place]:
        """Take out those that were not asked for the longest, where there are many."""
        idle = [key for key, place in self._places.items() if key not in self.offers and place.idle]
        beyond = len(self._places) + room - _MOST_LANES
        return [self._places.pop(key) for key in idle[: max(beyond, 0)]]


def _end(places: Sequence[Place]) -> None:
    for place in places:
        if place.lane is not None:
            place.lane.close()


def _offer(specification: str) -> Offer:
    if specification in METRICS:
        return Offer(
            specification,
            specification,
            METRICS[specification].summary,
            settings_of(metric_class(specification)),
        )
    name = specification.partition(":")[0]
    metric = load_metric(specification)  # which says at once what is wrong
    if name in METRICS:
        return Offer(specification, specification, METRICS[name].summary)
    return Offer(
        metric.name,
        specification,
        "a trained metric of this server",
        only_ranks=isinstance(metric, PairwiseRanker),
    )


def _loaded(offer: Offer, settings: str, workers: int | None) -> Metric:
    """A metric, with so many threads where it takes a number of them and has none."""
    # What a request wrote is a name and settings, and never looked up as a path.
    load = load_metric if offer.settings is None else named_metric
    written = ":".join(filter(None, [offer.specification, settings]))
    if workers is None or "threads=" in written:
        return load(written)
    try:
        return load(written, threads=workers)
    except UnknownSettingError as error:
        if error.key != "threads":
            raise
    return load(written)


def _settings(offer: Offer, written: str) -> str:
    """Settings of a request in one spelling, so that a metric is not opened once for each."""
    if offer.settings is None:
        raise AdequaError(f"{offer.name} has the settings that this server gives it, and no other.")
    found = parsed_settings(f"{offer.name}:{written}")
    for key, value in found.items():
        _check_open(offer, key, value)
    changed = {key: value for key, value in found.items() if value != offer.settings[key]}
    return ",".join(f"{key}={value}" for key, value in sorted(changed.items()))


def _check_open(offer: Offer, key: str, value: object) -> None:
    is_text = isinstance((offer.settings or {})[key], str)
    if key in _OF_OPERATORS or (is_text and key not in _WORDS):
        raise AdequaError(
            f"{offer.name}: {key} is for whoever runs the server, and not for a request."
        )
    # Others download what they need, or want packages.
    if key == "tokenize" and value not in TOKENIZERS:
        raise AdequaError(
            f'{offer.name}: "{_short(str(value))}" is not a value of tokenize that a request may '
            f"give; choose one of {', '.join(TOKENIZERS)}."
        )


def _described(offer: Offer, lane: Lane) -> dict[str, Any]:
    metric = lane.metric
    low, high = metric.range
    return {
        "name": offer.name,
        "summary": offer.summary,
        "higher_is_better": metric.higher_is_better,
        "lowest": _bound(low),
        "highest": _bound(high),
        "settings": {
            key: value
            for key, value in (offer.settings or {}).items()
            if key not in _OF_OPERATORS and (not isinstance(value, str) or key in _WORDS)
        },
        "signature": str(lane.signature(1, "system")),
    }


def _bound(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"  # noqa: PLR2004 - enough to know it by
