"""The Ray engine: shards as a Ray dataset, mapped by a pool of actors that load the metrics once.

Ray Data gives an actor the next shard and at most one more to wait, restarts lost actors, and has
their shards scored again. An actor reads and writes its shard itself, a unit at a time: no rows
travel, and the object store stays empty. No other file imports Ray.
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
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any, TypeAlias
from uuid import uuid4

from adequa.errors import AdequaError
from adequa.io.shards import Shard
from adequa.io.storage import LOCAL, storage_of
from adequa.runtime.threads import available_cpus
from adequa.scoring.manifest import CorpusJob, ShardRecord
from adequa.scoring.shard import Report, ShardOutcome, ShardProgress, ShardScorer, one_line

_MAX_BLOCKS = 10_000  # of the dataset: Ray keeps something of each
_OBJECT_STORE = 256 << 20  # bytes, for progress and no rows
# Workers that may be lost with one shard: Ray would try for ever, and preemptible machines do go.
_ATTEMPTS = 5
_INTERVAL = 0.5  # seconds between reports of an actor, and between looks at the board or the disk
# Seconds without a board: its process would start beside those of the actors, and slow them down.
_BOARD_DELAY = 5.0
_BOARD_TIMEOUT = 10.0  # seconds that the board may take to answer, as it may be restarting
_OUTPUT_TIMEOUT = 90.0  # seconds: a shared file system may take a minute to show new files
# Shards per actor from which one waits at each: it starts at once, where Ray takes a third of a
# second to assign the next. With fewer, it might wait at a busy actor while another is idle.
_MANY_SHARDS = 4
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_TRACEBACK = re.compile(r'^ *File ".*", line \d+', re.MULTILINE)

Outcomes: TypeAlias = Generator[ShardOutcome, None, None]


@contextmanager
def ray_engine(
    *, workers: int | None, address: str | None, gpus: float
) -> Iterator[Callable[[CorpusJob, Sequence[Shard], Report], Outcomes]]:
    """A function that runs jobs on Ray, after a check that the cluster has room for them."""
    with _cluster(address) as ray:
        capacity = _capacity(ray, gpus)

        def run(job: CorpusJob, shards: Sequence[Shard], report: Report) -> Outcomes:
            """The outcomes of shards, in the order in which they are finished."""
            count = min(workers or capacity, len(shards))
            board = f"adequa {uuid4()}"
            with _watched(ray, board, report):
                for row in _mapped(ray, (replace(job, threads=1), board), shards, count, gpus):
                    outcome: ShardOutcome = row["outcome"]
                    if (record := outcome.record) is not None:
                        report(
                            ShardProgress(
                                record.shard, record.rows, record.unscored, 1.0, outcome.resumed
                            )
                        )
                        await_output(job, record)
                    yield outcome

        yield run


def _mapped(
    ray: Any, arguments: tuple[CorpusJob, str], shards: Sequence[Shard], count: int, gpus: float
) -> Iterator[dict[str, Any]]:
    """The rows that actors return for shards; `arguments` are those of each actor."""
    ray_data: Any = import_module("ray.data")  # heavy

    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised, too
    context = ray_data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = [{"shard": asdict(shard)} for shard in shards]
    blocks = min(len(rows), _MAX_BLOCKS)
    waiting = int(blocks >= _MANY_SHARDS * count)
    dataset = ray_data.from_items(rows, override_num_blocks=blocks).map(
        _Actor,
        fn_constructor_args=arguments,
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

    def __init__(self, job: CorpusJob, board: str) -> None:
        self._scorer: ShardScorer | None = None
        self._error = ""  # why there is no scorer
        try:
            self._scorer = ShardScorer(job)
        except Exception as error:  # noqa: BLE001  # raised here, Ray would wrap it in pages of text
            node = import_module("ray").util.get_node_ip_address()
            self._error = f"A worker on {node} cannot begin: {one_line(error)}"
        self._board_name = board
        self._board: Any = None
        self._last_report = 0.0

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(**row["shard"])
        if self._scorer is None:
            return {"outcome": ShardOutcome(shard.name, error=self._error, stops=True)}
        return {"outcome": self._scorer(shard, self._report, self._veto)}

    def _report(self, progress: ShardProgress) -> None:
        """Put progress on the board, at intervals: a call costs as much as many rows do."""
        now = monotonic()
        if now - self._last_report >= _INTERVAL:
            self._last_report = now
            if (board := self._find_board()) is not None:
                board.put.remote(progress)

    def _veto(self, shard: Shard) -> str | None:
        if self._attempts(shard) <= _ATTEMPTS:
            return None
        return (
            f"{shard.name}: the worker was lost {_ATTEMPTS} times; Ray's logs may say why, such as "
            "too little memory for so many workers."
        )

    def _attempts(self, shard: Shard) -> int:
        """How often a shard was begun, or 0 where the board does not answer."""
        ray: Any = import_module("ray")
        if (board := self._find_board()) is None:
            return 0
        try:
            return int(ray.get(board.begin.remote(shard.name), timeout=_BOARD_TIMEOUT))
        except ray.exceptions.RayError:
            return 0

    def _find_board(self) -> Any:
        """The board, or None before it is started."""
        if self._board is None:
            with suppress(ValueError):
                self._board = import_module("ray").get_actor(self._board_name)
        return self._board


class _Board:
    """A Ray actor that collects what other actors begin and how far they are."""

    def __init__(self) -> None:
        self._new: dict[str, ShardProgress] = {}
        self._attempts = Counter[str]()

    def begin(self, shard: str) -> int:
        """Count an attempt at a shard; return the number of attempts so far."""
        self._attempts[shard] += 1
        return self._attempts[shard]

    def put(self, progress: ShardProgress) -> None:
        """Store how far a shard is."""
        self._new[progress.shard] = progress

    def take(self) -> list[ShardProgress]:
        """What was stored since the last call."""
        new, self._new = list(self._new.values()), {}
        return new


def _start_board(ray: Any, name: str) -> Any:
    """Start a board on the node of the driver, so that both are lost together or not at all."""
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


@contextmanager
def _watched(ray: Any, name: str, report: Report) -> Iterator[None]:
    """Start a board and report what it collects, while the context lasts."""
    done = Event()

    def watch() -> None:
        if done.wait(_BOARD_DELAY):
            return
        board = _start_board(ray, name)
        while not done.wait(_INTERVAL):
            with suppress(ray.exceptions.RayError):
                for progress in ray.get(board.take.remote(), timeout=_BOARD_TIMEOUT):
                    if not done.is_set():
                        report(progress)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(2 * _BOARD_TIMEOUT)  # by then its call has timed out


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """Ray, on the cluster of an address or on this machine; shut down if it was started here."""
    # Ray's own messages go to its log files.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = import_module("ray")  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "The ray engine needs Ray; install it with: pip install 'adequa[ray]'"
        ) from error
    starts = not ray.is_initialized()
    if starts:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        here = {"num_cpus": available_cpus(), "object_store_memory": _OBJECT_STORE}
        try:
            with _without_stderr():
                if address is None:
                    # "local", or Ray would look for a cluster that runs, or is named outside.
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
        if starts:
            ray.shutdown()


@contextmanager
def _without_stderr() -> Iterator[None]:
    """Discard standard error, where Ray would announce the log level set above."""
    sys.stderr.flush()
    saved = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def _capacity(ray: Any, gpus: float) -> int:
    """How many workers the cluster has room for."""
    resources = ray.cluster_resources()
    cpus = max(int(resources.get("CPU", 1)), 1)
    if not gpus:
        return cpus
    fitting = int(resources.get("GPU", 0) / gpus)
    if not fitting:
        raise AdequaError(f"The Ray cluster has no worker with {gpus:g} GPUs to give.")
    return min(fitting, cpus)


def _cause(error: Exception) -> str:
    """The cause of an error of Ray, whose own text is pages of tracebacks."""
    cause = getattr(error, "cause", None) or error
    text = _COLOURS.sub("", str(cause)).strip()
    lines = text.splitlines() or [type(cause).__name__]
    line = lines[-1] if _TRACEBACK.search(text) else lines[0]
    return line.strip().rstrip(".:, ") + "."


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().rstrip(".") + "."


def await_output(job: CorpusJob, record: ShardRecord) -> None:
    """Wait until the driver can see what a worker has written, and not only its own node."""
    storage, path = storage_of(f"{job.output}/{record.shard}")
    if storage.kind != LOCAL:  # every other store is the same for all
        return
    deadline = monotonic() + _OUTPUT_TIMEOUT
    while storage.size(path) != record.output.bytes:
        if monotonic() >= deadline:
            raise AdequaError(
                f"{record.shard} is scored, and its scores are not seen from here in {job.output}: "
                "they may be on the worker's own disk. Give a folder that all nodes share, or "
                "an address, with -o."
            )
        sleep(_INTERVAL)
