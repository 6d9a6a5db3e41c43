"""The local engine: shards one by one in this process, or several at a time in other processes.

Each worker has a pipe to itself and shares no lock with others: a worker that is killed takes
nothing with it. Its shard goes to another, from the beginning. Workers that lose us end too.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from adequa.errors import AdequaError
from adequa.io.shards import Shard
from adequa.metrics.base import Metric
from adequa.runtime.threads import available_cpus
from adequa.scoring.manifest import Job
from adequa.scoring.shard import Outcome, Progress, ShardScorer, Told

_ATTEMPTS = 3  # workers that a shard may cost


def run_local(
    job: Job,
    shards: Sequence[Shard],
    told: Told,
    *,
    workers: int | None,
    loaded: dict[str, Metric],
) -> Generator[Outcome, None, None]:
    """What comes of each shard, in the order in which they are finished.

    `loaded` are the job's metrics, for a worker in this process.
    """
    cpus = available_cpus()
    count = min(workers or cpus, len(shards))
    if count == 1:
        scorer = ShardScorer(job, loaded)
        return (scorer(shard, told) for shard in shards)
    return _by_processes(replace(job, threads=max(cpus // count, 1)), shards, told, count)


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    shard: Shard | None = None

    def give(self, shard: Shard) -> None:
        self.shard = shard
        with suppress(OSError):  # it is dead: its pipe tells so next
            self.pipe.send(shard)

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _by_processes(
    job: Job, shards: Sequence[Shard], told: Told, count: int
) -> Generator[Outcome, None, None]:
    # Not forked: libraries that metrics use have threads, which a fork would lose.
    context = multiprocessing.get_context("spawn")
    left, lost = deque(shards), Counter[str]()
    workers = [_started(context, job) for _ in range(count)]
    try:
        for worker in workers:
            worker.give(left.popleft())
        while busy := [worker for worker in workers if worker.shard is not None]:
            by_pipe = {worker.pipe: worker for worker in busy}
            for pipe in wait(list(by_pipe)):
                worker = by_pipe[pipe]  # type: ignore[index]  # they are the pipes we gave
                outcome = _heard(worker, told)
                if outcome == "lost":
                    _retry(worker, left, lost)
                    worker.stop()
                    workers[workers.index(worker)] = worker = _started(context, job)
                elif outcome is None:
                    continue
                else:
                    yield outcome
                worker.shard = None
                if left:
                    worker.give(left.popleft())
    finally:
        for worker in workers:
            worker.stop()


def _heard(worker: _Worker, told: Told) -> Outcome | Literal["lost"] | None:
    """What a worker says: how far it is, what came of its shard, or nothing any more."""
    try:
        message = worker.pipe.recv()
    except (EOFError, OSError):
        return "lost"
    if isinstance(message, Progress):
        told(message)
        return None
    if isinstance(message, Outcome):
        return message
    raise message  # what no shard is to blame for, such as a metric that cannot be loaded


def _retry(worker: _Worker, left: deque[Shard], lost: Counter[str]) -> None:
    shard = worker.shard
    if shard is None:
        return
    lost[shard.name] += 1
    if lost[shard.name] >= _ATTEMPTS:
        worker.process.join()
        raise AdequaError(
            f"{shard.name}: the worker was lost {_ATTEMPTS} times (exit code "
            f"{worker.process.exitcode}); if the system ends it for its memory, use fewer with "
            "--workers."
        )
    left.appendleft(shard)


def _started(context: Any, job: Job) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, job), daemon=True)
    with _interrupts_held():
        process.start()
    theirs.close()  # so that it ends with the worker
    return _Worker(process, ours)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C is for us alone: processes that are started meanwhile never hear of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It would be started on the way otherwise, and lets interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, job: Job) -> None:
    """A worker: takes shards until there are no more, or nobody who gives any."""
    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        try:
            scorer = ShardScorer(job)
            while True:
                pipe.send(scorer(pipe.recv(), pipe.send))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # noqa: BLE001  # raised again where it can be told of
            pipe.send(error)
