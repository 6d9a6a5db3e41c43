"""The local engine: scores shards one by one in this process, or in parallel processes.

Each worker has a pipe of its own and shares no lock with others, so that a worker may be killed at
any time: its shard goes to another worker, from the beginning. Workers end with this process.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from adequa.errors import AdequaError
from adequa.io.shards import Shard
from adequa.metrics.base import Metric
from adequa.runtime.threads import available_cpus
from adequa.scoring.manifest import CorpusJob
from adequa.scoring.shard import Report, ShardOutcome, ShardProgress, ShardScorer

_ATTEMPTS = 3  # workers that may be lost with one shard


def run_local(
    job: CorpusJob,
    shards: Sequence[Shard],
    report: Report,
    *,
    workers: int | None,
    loaded: dict[str, Metric],
) -> Generator[ShardOutcome, None, None]:
    """The outcomes of shards, in the order in which they are finished.

    `loaded` are the metrics of the job, for a worker in this process.
    """
    cpus = available_cpus()
    count = min(workers or cpus, len(shards))
    if count == 1:
        scorer = ShardScorer(job, loaded)
        return (scorer(shard, report) for shard in shards)
    return _by_processes(replace(job, threads=max(cpus // count, 1)), shards, report, count)


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    shard: Shard | None = None

    def assign(self, shard: Shard) -> None:
        self.shard = shard
        with suppress(OSError):  # it is dead, which reading from its pipe will show
            self.pipe.send(shard)

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _by_processes(
    job: CorpusJob, shards: Sequence[Shard], report: Report, count: int
) -> Generator[ShardOutcome, None, None]:
    # Not forked: libraries that metrics use have threads, which a fork would lose.
    context = multiprocessing.get_context("spawn")
    waiting, lost = deque(shards), Counter[str]()
    workers = [_started(context, job) for _ in range(count)]
    try:
        for worker in workers:
            worker.assign(waiting.popleft())
        while busy := [worker for worker in workers if worker.shard is not None]:
            by_pipe = {worker.pipe: worker for worker in busy}
            for pipe in wait(list(by_pipe)):
                worker = by_pipe[pipe]  # type: ignore[index]  # they are these pipes
                outcome = _received(worker, report)
                if outcome == "lost":
                    _retry(worker, waiting, lost)
                    worker.stop()
                    workers[workers.index(worker)] = worker = _started(context, job)
                elif outcome is None:
                    continue
                else:
                    yield outcome
                worker.shard = None
                if waiting:
                    worker.assign(waiting.popleft())
    finally:
        for worker in workers:
            worker.stop()


def _received(worker: _Worker, report: Report) -> ShardOutcome | Literal["lost"] | None:
    """The next message of a worker: None for progress, an outcome, or "lost"."""
    try:
        message = worker.pipe.recv()
    except (EOFError, OSError):
        return "lost"
    if isinstance(message, ShardProgress):
        report(message)
        return None
    if isinstance(message, ShardOutcome):
        return message
    raise message  # an error of the worker, such as a metric that cannot be loaded


def _retry(worker: _Worker, waiting: deque[Shard], lost: Counter[str]) -> None:
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
    waiting.appendleft(shard)


def _started(context: Any, job: CorpusJob) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, job), daemon=True)
    process.start()
    theirs.close()  # so that it ends with the worker
    return _Worker(process, ours)


def _work(pipe: Connection, job: CorpusJob) -> None:
    """A worker: scores shards until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the driver handles Ctrl-C
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            scorer = ShardScorer(job)
            while True:
                pipe.send(scorer(pipe.recv(), pipe.send))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # noqa: BLE001  # raised again where it can be report of
            pipe.send(error)
