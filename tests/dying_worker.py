"""A worker that is killed as soon as it has a shard: by name, as workers are other processes."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection


def die(pipe: Connection, job: object) -> None:
    del job
    pipe.recv()
    os.kill(os.getpid(), signal.SIGKILL)
