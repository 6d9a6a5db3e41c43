"""Whether what workers write is seen from here: other machines have disks of their own."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

from adequa.errors import AdequaError
from adequa.io.storage import LocalStorage, below, storage_of
from adequa.scoring.job import Job
from adequa.scoring.records import Record

_PATIENCE = 90.0  # seconds: a shared file system may take a minute to show what others wrote
_BETWEEN = 0.5  # seconds between looks


class SeenOutputs:
    """Looks for outputs from here; of those that never show up, a sentence is raised."""

    def __init__(self, job: Job) -> None:
        self._output = job.output
        # Every other store is the same for all.
        self._is_local = storage_of(job.output)[0].kind == LocalStorage.kind
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
        _, path = storage_of(below(self._output, shard))
        try:
            return Path(path).stat().st_size == size
        except OSError:
            return False
