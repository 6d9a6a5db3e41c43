"""The metrics of a server: those that its operator named, or all that come with adequa.

No path comes from a request. An operator may offer any metric, with any settings, and folders of
trained ones; a request names one of these, or adds settings to a bare name. Settings are allowed
one by one, so that a new one that takes a path, or threads, is not open to everyone by accident.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError, UnknownSettingError, nearest
from adequa.languages import TargetLanguage
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics import DEFAULT_METRICS
from adequa.metrics.base import Metric
from adequa.metrics.edit_rates import TOKENIZERS
from adequa.metrics.registry import (
    METRICS,
    clear_text_caches,
    distinct_labels,
    load_metric,
    metric_class,
    named_metric,
    parsed_settings,
    settings_of,
)
from adequa.pretrained import lacks_weights, ranker_folder
from adequa.scoring.api import metric_of_language
from adequa.service.limits import LONGEST_METRIC, Limits, RequestError
from adequa.service.queue import Backlog, MetricQueue

NO_SCORING_METRIC = "This server ranks, and has no metric that scores."

# Settings that are texts, but take one of a few words.
_WORD_SETTINGS = {"tokenize", "smooth_method", "normalize", "modules", "references"}
_OPERATOR_SETTINGS = {"threads", "device", "tables"}
_EVERYDAY = {"adequa", "bleu", "chrf", "chrf++", "ter"}  # of those that come with adequa
_MOST_QUEUES = 32  # metrics with settings of requests that stay loaded
_CACHED_CHARACTERS = 8_000_000  # characters scored before the text caches of metrics are cleared


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A metric that requests may name."""

    name: str
    specification: str  # as the operator wrote it
    summary: str
    settings: Mapping[str, object] | None = None  # that requests may change, with their defaults
    only_ranks: bool = False  # a pairwise ranker, which cannot score one hypothesis alone


@dataclass(eq=False, slots=True)
class LoadedMetric:
    """A metric in use, from before it is loaded until nobody uses it any more."""

    load: Callable[[], MetricQueue]
    users: int = 0
    queue: MetricQueue | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def loaded(self) -> MetricQueue:
        """The queue of the metric; while it loads, only requests for the same metric wait."""
        with self._lock:
            if self.queue is None:
                self.queue = self.load()
            return self.queue

    @property
    def is_idle(self) -> bool:
        """Whether nobody uses it and nothing waits in its queue."""
        return not self.users and (self.queue is None or self.queue.is_idle)

    def close(self) -> None:
        """Score what was accepted, and end."""
        if self.queue is not None:
            self.queue.close()


class TextCacheLimit:
    """Counts the characters that all metrics read, and clears their text caches now and then."""

    def __init__(self, limit: int = _CACHED_CHARACTERS) -> None:
        self._limit, self._count = limit, 0
        self._lock = threading.Lock()

    def count(self, characters: int) -> None:
        """Count scored characters."""
        with self._lock:
            self._count += characters
            if self._count < self._limit:
                return
            self._count = 0
        clear_text_caches()


class Catalogue:
    """The metrics of a server, each with its queue.

    `score_cache` is the file of the scores on disk and its largest size in bytes. Each queue uses
    it from its own thread. `on_batch` is called with the name of a metric, and the segments and
    seconds of each batch.
    """

    def __init__(
        self,
        specifications: Sequence[str],
        limits: Limits,
        *,
        workers: int | None = None,
        score_cache: tuple[Path, int] | None = None,
        on_batch: Callable[[str, int, float], None] = lambda *_: None,
    ) -> None:
        served = specifications or [name for name in METRICS if not lacks_weights(name)]
        self.entries = {entry.name: entry for entry in map(_entry, served)}
        if len(self.entries) < len(specifications):
            raise AdequaError("Two metrics of this server have one name; leave one of them out.")
        self.backlog = Backlog(limits.backlog)
        self.ranker = LoadedMetric(self._load_ranker)  # of rankings that name no metric
        self._limits, self._workers, self._on_batch = limits, workers, on_batch
        self._score_cache = score_cache
        self._text_cache = TextCacheLimit()
        self._metrics: OrderedDict[str, LoadedMetric] = OrderedDict()  # least recently used first
        self._lock = threading.Lock()  # never held while a metric loads

    @contextmanager
    def use(self, specification: str) -> Iterator[LoadedMetric]:
        """The metric that a request names, which stays loaded while it is used.

        Raises if the server does not have the metric, or too many are in use.
        """
        entry, settings = self._resolve(specification)
        key = f"{entry.name}:{settings}" if settings else entry.name
        with self._use(key, lambda: self._load(entry, settings)) as metric:
            yield metric

    @contextmanager
    def _use(self, key: str, load: Callable[[], MetricQueue]) -> Iterator[LoadedMetric]:
        metric = self._acquire(key, load)
        try:
            yield metric
        finally:
            self._release(key, metric)

    def queue(self, specification: str) -> MetricQueue:
        """The queue of a metric; one with settings of a request may close at any time."""
        with self.use(specification) as metric:
            return metric.loaded()

    async def queues(
        self, specifications: Sequence[str], resources: ExitStack
    ) -> dict[str, MetricQueue]:
        """The queues of metrics, by the shortest names that tell them apart.

        The metrics stay loaded until the `resources` of the request are released.
        """
        if len(specifications) > self._limits.metrics:
            raise RequestError(
                422,
                f"There are {len(specifications)} metrics, and this server takes "
                f"{self._limits.metrics}.",
            )
        metrics = [resources.enter_context(self.use(name)) for name in specifications]
        # A metric that is loaded already does not wait for a thread.
        queues = [
            await asyncio.to_thread(each.loaded) if each.queue is None else each.queue
            for each in metrics
        ]
        labels = distinct_labels(specifications, [queue.metric.name for queue in queues])
        return dict(zip(labels, queues, strict=True))

    async def queues_for_language(
        self, queues: Mapping[str, MetricQueue], language: str | None, resources: ExitStack
    ) -> dict[str, MetricQueue]:
        """Queues of the same metrics with the settings that a target language needs."""
        adapted = {}
        for label, queue in queues.items():
            metric = queue.metric.for_language(language)
            if metric is queue.metric:
                adapted[label] = queue
                continue
            load = partial(self._queue, metric, metric.name)
            use = self._use(str(metric.signature(1)), load)
            loaded = resources.enter_context(use)
            adapted[label] = await asyncio.to_thread(loaded.loaded)
        return adapted

    def close(self) -> None:
        """Score what was accepted, and end."""
        with self._lock:
            metrics = list(self._metrics.values())
        for metric in metrics:
            metric.close()

    @property
    def defaults(self) -> list[str]:
        """The default metrics: those of the command line, if the server has them."""
        scoring = [name for name, entry in self.entries.items() if not entry.only_ranks]
        return [name for name in DEFAULT_METRICS if name in scoring] or scoring[:1]

    def default_for(self, target: TargetLanguage) -> str:
        """The metric of explanations that name none: that of `adequa.explain`, if it is here."""
        if not self.defaults:
            raise AdequaError(NO_SCORING_METRIC)
        preferred = metric_of_language(target)
        return preferred if preferred in self.entries else self.defaults[0]

    def describe(self) -> list[dict[str, Any]]:
        """All metrics as answered by the API; they are loaded for it."""
        return [_description(entry, self.queue(name)) for name, entry in self.entries.items()]

    def _resolve(self, specification: str) -> tuple[CatalogueEntry, str]:
        """The metric that a request names, and the settings that it changes."""
        by_name = {name.lower(): entry for name, entry in self.entries.items()} | self.entries
        entry = by_name.get(specification) or by_name.get(specification.strip().lower())
        if entry is not None:
            return entry, ""
        if len(specification) > LONGEST_METRIC:
            raise AdequaError(
                f"A metric with its settings has {LONGEST_METRIC} characters at most, and "
                f'"{_shortened(specification)}" has {len(specification):,}.'
            )
        name, _, settings = specification.partition(":")
        entry = by_name.get(name.strip()) or by_name.get(name.strip().lower())
        if entry is None:
            raise AdequaError(
                f'This server has no metric "{_shortened(name)}".{nearest(name, self.entries)} It '
                f"has: {', '.join(self.entries)}."
            )
        return entry, _normalized_settings(entry, settings) if settings.strip() else ""

    def _load(self, entry: CatalogueEntry, settings: str) -> MetricQueue:
        return self._queue(_load_metric(entry, settings, self._workers), entry.name)

    def _queue(self, metric: Metric, name: str) -> MetricQueue:
        def on_batch(segments: int, characters: int, seconds: float) -> None:
            self._text_cache.count(characters)
            self._on_batch(name, segments, seconds)

        if self._score_cache is not None and metric.caches_scores:
            metric.enable_cache(*self._score_cache)
        return MetricQueue(metric, self._limits, self.backlog, on_batch=on_batch)

    def _load_ranker(self) -> MetricQueue:
        return self._queue(load_metric(ranker_folder()), "ranker")

    def _acquire(self, key: str, load: Callable[[], MetricQueue]) -> LoadedMetric:
        with self._lock:
            metric = self._metrics.get(key)
            evicted = self._evict() if metric is None else []
            if metric is None:
                if len(self._metrics) >= _MOST_QUEUES + len(self.entries):
                    raise RequestError(
                        429,
                        "Too many metrics with settings are in use; try again later.",
                        retry_after="5",
                    )
                metric = self._metrics[key] = LoadedMetric(load)
            metric.users += 1
            self._metrics.move_to_end(key)
        for each in evicted:
            each.close()
        return metric

    def _release(self, key: str, metric: LoadedMetric) -> None:
        with self._lock:
            metric.users -= 1
            if not metric.users and metric.queue is None:  # it could not be loaded
                del self._metrics[key]

    def _evict(self) -> list[LoadedMetric]:
        """Make room for a metric: remove the least recently used ones that have settings."""
        idle = [
            key
            for key, metric in self._metrics.items()
            if key not in self.entries and metric.is_idle
        ]
        surplus = len(self._metrics) + 1 - _MOST_QUEUES
        return [self._metrics.pop(key) for key in idle[: max(surplus, 0)]]


def _entry(specification: str) -> CatalogueEntry:
    if specification in METRICS:
        return CatalogueEntry(
            specification,
            specification,
            METRICS[specification].summary,
            settings_of(metric_class(specification)),
        )
    name = specification.partition(":")[0]
    metric = load_metric(specification)  # an error is reported when the server starts
    if name in METRICS:
        return CatalogueEntry(specification, specification, METRICS[name].summary)
    return CatalogueEntry(
        metric.name,
        specification,
        "a trained metric of this server",
        only_ranks=isinstance(metric, PairwiseRanker),
    )


def _load_metric(entry: CatalogueEntry, settings: str, workers: int | None) -> Metric:
    """Load a metric, with `workers` threads if it has that setting and the operator gave none."""
    # What a request wrote is a name and settings, and never looked up as a path.
    load = load_metric if entry.settings is None else named_metric
    specification = ":".join(filter(None, [entry.specification, settings]))
    if workers is None or "threads=" in specification:
        return load(specification)
    try:
        return load(specification, threads=workers)
    except UnknownSettingError as error:
        if error.key != "threads":
            raise
    return load(specification)


def _normalized_settings(entry: CatalogueEntry, text: str) -> str:
    """Settings of a request in one spelling, so that a metric is not loaded once for each."""
    if entry.settings is None:
        raise AdequaError(f"{entry.name} has the settings that this server gives it, and no other.")
    settings = parsed_settings(f"{entry.name}:{text}")
    for key, value in settings.items():
        _check_setting(entry, key, value)
    changed = {key: value for key, value in settings.items() if value != entry.settings[key]}
    return ",".join(f"{key}={value}" for key, value in sorted(changed.items()))


def _check_setting(entry: CatalogueEntry, key: str, value: object) -> None:
    if not _is_open(key, (entry.settings or {})[key]):
        raise AdequaError(
            f"{entry.name}: {key} is set by the operator of the server, not by a request."
        )
    # Other tokenizers download what they need, or need further packages.
    is_default = value == (entry.settings or {})[key]
    if key == "tokenize" and not is_default and value not in TOKENIZERS:
        raise AdequaError(
            f'{entry.name}: "{_shortened(str(value))}" is not a value of tokenize that a request '
            f"may give; choose one of {', '.join(TOKENIZERS)}."
        )


def _is_open(key: str, default: object) -> bool:
    """Whether requests may change a setting: a number, a switch, or one of a few words."""
    is_free_text = isinstance(default, str) and key not in _WORD_SETTINGS
    return key not in _OPERATOR_SETTINGS and not is_free_text


def _description(entry: CatalogueEntry, queue: MetricQueue) -> dict[str, Any]:
    metric = queue.metric
    lowest, highest = (None if abs(bound) == float("inf") else bound for bound in metric.range)
    settings = entry.settings or {}
    return {
        "name": entry.name,
        "summary": entry.summary,
        "higher_is_better": metric.higher_is_better,
        "lowest": lowest,
        "highest": highest,
        "settings": {key: value for key, value in settings.items() if _is_open(key, value)},
        "signature": str(metric.signature(1)),
        # What an operator added is there to be used.
        "everyday": entry.name in _EVERYDAY or entry.specification not in METRICS,
        "reads": dict(metric.reads),
        "languages": None if metric.languages is None else sorted(metric.languages),
    }


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"  # noqa: PLR2004 - enough to recognise it
