"""Trains as the tests of resuming do, and is killed without notice: at steps, or while it writes.

python killed_training.py FOLDER PLACE ...: every place is a training that goes on from where the
one before was killed, in a process of its own: a number of the steps that it may report, or
"write" or "delete", for a kill in the first checkpoint that it writes.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import safetensors.torch

import tiny_training as tiny
from adequa.learned import training
from adequa.learned.checkpoints import Checkpoints, training_into

PLAN = "plan"


def kill(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def written_half(tensors: Any, path: Path) -> None:
    path.write_bytes(b"half")
    kill()


def train(folder: Path, place: str) -> None:
    """Until the place."""
    left = int(place) if place.isdecimal() else -1

    def report(_: training.TrainingProgress) -> None:
        nonlocal left
        left -= 1
        if not left:
            kill()

    if place == "write":
        setattr(safetensors.torch, "save_file", written_half)  # noqa: B010  # mypy knows its type
    if place == "delete":
        setattr(shutil, "rmtree", kill)  # noqa: B010
    training.SECONDS_BETWEEN_REPORTS = 0.0
    with training_into(folder):
        tiny.trained(tiny.hard_stages(), Checkpoints(folder, PLAN), report)


def main(folder: str, *places: str) -> None:
    """One process for each place; all must have been killed."""
    tiny.trained(tiny.hard_stages()[1:])  # so that not every process has to import all again
    for place in places:
        child = os.fork()
        if not child:
            train(Path(folder), place)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            sys.exit(f"{place}: the training was not killed")


if __name__ == "__main__":
    main(*sys.argv[1:])
