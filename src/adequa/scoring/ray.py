"""The Ray engine: shards as a Ray dataset, mapped by a pool of actors that load the metrics once.

Ray Data gives an actor the next shard and at most one to go on with, so that nothing piles up,
starts lost actors again and has their shards scored anew. An actor reads and writes its shard
itself, a unit at a time: no rows travel, and the object store stays empty. No other file imports
Ray.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, TypeAlias
from uuid import uuid4

from adequa.errors import AdequaError
from adequa.io.shards import Shard
from adequa.io.storage import LOCAL, storage_of
from adequa.runtime.threads import available_cpus
from adequa.scoring.manifest import Job, Record
from adequa.scoring.shard import Outcome, Progress, ShardScorer, Told, in_words

_MOST_BLOCKS = 10_000  # of the dataset: Ray keeps something of each
_OBJECT_STORE = 256 << 20  # bytes, for what is told and no rows
# Workers that a shard may cost: Ray would try for ever, and machines that are lent do get lost.
_ATTEMPTS = 5
_BETWEEN = 0.5  # seconds between looks at how far the actors are
# Seconds without a board: its process would start beside those of the actors, and hold them up.
_WITHOUT = 5.0
# Shards by actor from which one waits at each: it is begun at once, where Ray takes a third of a
# second to give the next. With few, it could be waiting at a busy actor while another has none.
_MANY = 4
_PATIENCE = 10.0  # seconds that the board may take to answer, which may be starting again
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLACES = re.compile(r'^ *File ".*", line \d+', re.MULTILINE)

Outcomes: TypeAlias = Generator[Outcome, None, None]


@contextmanager
def ray_engine(
    *, workers: int | None, address: str | None, gpus: float
) -> Iterator[Callable[[Job, Sequence[Shard], Told], Outcomes]]:
    """What runs jobs on Ray, after a check that there is room for them."""
    with _cluster(address) as ray:
        room = _room(ray, gpus)

        def run(job: Job, shards: Sequence[Shard], told: Told) -> Outcomes:
            """What comes of each shard, in the order in which they are finished."""
            count = min(workers or room, len(shards))
            board = f"adequa {uuid4()}"
            known, outputs = _Known(told), SeenOutputs(job)
            with _watched(ray, board, known.say):
                for row in _mapped(ray, (replace(job, threads=1), board), shards, count, gpus):
                    outcome: Outcome = row["outcome"]
                    known.finish(outcome)
                    if outcome.record is not None:
                        outputs.expect(outcome.record)
                    yield outcome
                outputs.await_all()

        yield run


def _begun_board(ray: Any, name: str) -> Any:
    """A board on the driver's own node: it is lost only with the driver, or begun again."""
    strategies: Any = import_module("ray.util.scheduling_strategies")
    here = ray.get_runtime_context().get_node_id()
    return (
        ray.remote(_Board)
        .options(
            name=name,
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(here, soft=False),
        )
        .remote()
    )


class _Known:
    """Passes on how far shards are, from two threads; of a finished one nothing older is said."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._lock = Lock()
        self._finished: set[str] = set()

    def say(self, progress: Progress) -> None:
        """How far a shard is."""
        with self._lock:
            if progress.shard not in self._finished:
                self._told(progress)

    def finish(self, outcome: Outcome) -> None:
        """What came of a shard."""
        with self._lock:
            if outcome.record is not None:
                record = outcome.record
                self._told(Progress(outcome.shard, record.rows, record.unscored, 1.0, outcome.kept))
            self._finished.add(outcome.shard)


def _mapped(
    ray: Any, work: tuple[Job, str], shards: Sequence[Shard], count: int, gpus: float
) -> Iterator[dict[str, Any]]:
    """The rows that actors make of shards; `work` is what each of them is begun with."""
    ray_data: Any = import_module("ray.data")  # heavy

    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what is wrong is raised, too
    context = ray_data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = [{"shard": asdict(shard)} for shard in shards]
    blocks = min(len(rows), _MOST_BLOCKS)
    waiting = int(blocks >= _MANY * count)
    dataset = ray_data.from_items(rows, override_num_blocks=blocks).map(
        _Actor,
        fn_constructor_args=work,
        compute=ray_data.ActorPoolStrategy(size=count, max_tasks_in_flight_per_actor=1 + waiting),
        num_cpus=1,
        num_gpus=gpus or None,
    )
    try:
        yield from dataset.iter_rows()
    except ray.exceptions.RayError as error:
        raise AdequaError(
            f"Ray stopped the work: {_cause(error)} What is finished stays; the same command "
            "goes on from there."
        ) from error


class _Actor:
    """A worker on Ray."""

    def __init__(self, job: Job, board: str) -> None:
        self._scorer: ShardScorer | None = None
        self._fault = ""  # why there is no scorer
        try:
            self._scorer = ShardScorer(job)
        except Exception as error:  # noqa: BLE001  # raised here, it would be pages of Ray's words
            node = import_module("ray").util.get_node_ip_address()
            self._fault = f"A worker on {node} cannot begin: {in_words(error)}"
        self._name = board
        self._found: Any = None
        self._said = 0.0  # when the board was told last

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(**row["shard"])
        if self._scorer is None:
            return {"outcome": Outcome(shard.name, error=self._fault, stops=True)}
        return {"outcome": self._scorer(shard, self._say, self._allowed)}

    def _say(self, progress: Progress) -> None:
        """Tell the board, as often as the driver looks: a call costs as much as many rows do."""
        now = monotonic()
        if now - self._said >= _BETWEEN:
            self._said = now
            if (board := self._board()) is not None:
                board.put.remote(progress)

    def _allowed(self, shard: Shard) -> str | None:
        return _lost(shard) if self._times_begun(shard) > _ATTEMPTS else None

    def _times_begun(self, shard: Shard) -> int:
        """How often, as far as is known: the work does not hang on the board."""
        ray: Any = import_module("ray")
        if (board := self._board()) is None:
            return 0
        try:
            return int(ray.get(board.begin.remote(shard.name), timeout=_PATIENCE))
        except ray.exceptions.RayError:
            return 0

    def _board(self) -> Any:
        """The board, or None before it is begun."""
        if self._found is None:
            with suppress(ValueError):
                self._found = import_module("ray").get_actor(self._name)
        return self._found


def _lost(shard: Shard) -> str:
    return (
        f"{shard.name}: the worker was lost {_ATTEMPTS} times; Ray's logs may say why, such as too "
        "little memory for so many workers."
    )


class _Board:
    """Where actors say what they begin and how far they are, and the driver looks."""

    def __init__(self) -> None:
        self._new: dict[str, Progress] = {}
        self._begun = Counter[str]()

    def begin(self, shard: str) -> int:
        """Say that a shard is begun; how often it was, this time included."""
        self._begun[shard] += 1
        return self._begun[shard]

    def put(self, progress: Progress) -> None:
        """Say how far a shard is."""
        self._new[progress.shard] = progress

    def take(self) -> list[Progress]:
        """What was said since the last look."""
        new, self._new = list(self._new.values()), {}
        return new


@contextmanager
def _watched(ray: Any, name: str, told: Told) -> Iterator[None]:
    """Begin a board and pass on what it says, for as long as the context lasts."""
    done = Event()

    def watch() -> None:
        if done.wait(_WITHOUT):
            return
        board = _begun_board(ray, name)
        while not done.wait(_BETWEEN):
            with suppress(ray.exceptions.RayError):
                for progress in ray.get(board.take.remote(), timeout=_PATIENCE):
                    if not done.is_set():
                        told(progress)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(2 * _PATIENCE)  # by then it has given up too


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """Ray, on the cluster of an address or on this machine; what was begun here ends here."""
    # Ray's own words on its affairs go to its log files.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = import_module("ray")  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "The ray engine needs Ray; install it with: pip install 'adequa[ray]'"
        ) from error
    begun = not ray.is_initialized()
    if begun:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        here = {"num_cpus": available_cpus(), "object_store_memory": _OBJECT_STORE}
        try:
            with _hushed():
                if address is None:
                    # Said outright: Ray would look for a cluster that runs, or is named outside.
                    ray.init(address="local", include_dashboard=False, **here, **quiet)
                else:
                    ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise AdequaError(
                f"There is no Ray cluster to be reached at {address or 'this machine'}: "
                f"{_last_line(error)}"
            ) from error
    try:
        yield ray
    finally:
        if begun:
            ray.shutdown()


@contextmanager
def _hushed() -> Iterator[None]:
    """Nothing on standard error: with the variable above set, Ray says so there."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _room(ray: Any, gpus: float) -> int:
    """How many workers the cluster has room for."""
    there = ray.cluster_resources()
    cpus = int(there.get("CPU", 1))
    if not gpus:
        return max(cpus, 1)
    fitting = int(there.get("GPU", 0) / gpus)
    if not fitting:
        raise AdequaError(f"The Ray cluster has no worker with {gpus:g} GPUs to give.")
    return min(fitting, max(cpus, 1))


def _cause(error: Exception) -> str:
    """What is behind an error of Ray's, whose own words are pages of places in code."""
    cause = getattr(error, "cause", None) or error
    text = _COLOURS.sub("", str(cause)).strip()
    lines = text.splitlines() or [type(cause).__name__]
    at = -1 if _PLACES.search(text) else 0  # behind places in code stands what was raised there
    return lines[at].strip().rstrip(".:, ") + "."


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().rstrip(".") + "."


_PATIENCE = 90.0  # seconds: a shared file system may take a minute to show what others wrote
_BETWEEN = 0.5  # seconds between looks


class SeenOutputs:
    """Looks for outputs from here; of those that never show up, a sentence is raised."""

    def __init__(self, job: Job) -> None:
        self._output = job.output
        # Every other store is the same for all.
        self._is_local = storage_of(job.output)[0].kind == LOCAL
        self._missing: dict[str, tuple[int, float]] = {}  # how large it is, and since when

    def expect(self, record: Record) -> None:
        """Look for the output of a shard, and for those that were not seen before."""
        if self._is_local:
            self._missing[record.shard] = record.output.bytes, monotonic()
            self._look()

    def await_all(self) -> None:
        """Wait for the last of them to show up."""
        while self._missing:
            sleep(_BETWEEN)
            self._look()

    def _look(self) -> None:
        now = monotonic()
        for shard, (size, since) in [*self._missing.items()]:
            if self._is_seen(shard, size):
                del self._missing[shard]
            elif now - since >= _PATIENCE:
                raise AdequaError(
                    f"{shard} is scored, and its scores are not seen from here in {self._output}: "
                    "they may be on the worker's own disk. Give a folder that all nodes share, or "
                    "an address, with -o."
                )

    def _is_seen(self, shard: str, size: int) -> bool:
        _, path = storage_of(f"{self._output}/{shard}")
        try:
            return Path(path).stat().st_size == size
        except OSError:
            return False
