"""Checkpoints: the complete state of a training, to resume it as if it had never been stopped.

A checkpoint is a folder of tensors and JSON. It is renamed into place when it is complete, and the
previous one is deleted only after that, so that a process may be killed at any moment. Only one
training at a time writes to a folder; it holds a lock, and deletes incomplete files of others.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adequa.encoders.transformer_files import writing_weights
from adequa.errors import AdequaError
from adequa.io.atomic import atomic_folder, locked

if TYPE_CHECKING:
    from torch import Tensor

_STATE, _TENSORS = "state.json", "tensors.safetensors"
_NAME = re.compile(r"checkpoint-(\d+)")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a training; tensors by their purpose, then by the name of the weight."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    facts: Mapping[str, Any]  # the step, evaluations so far, and the like


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The folder of the checkpoints of one training."""

    folder: Path
    plan: str  # identifies the plan and its data

    def latest(self) -> Snapshot | None:
        """Return the state to resume from, if there is one."""
        numbers = sorted(self._numbers(), reverse=True)
        for number in numbers:
            path = self.folder / f"checkpoint-{number}"
            if (path / _STATE).is_file():
                return self._read(path)
        return None

    def write(self, snapshot: Snapshot) -> None:
        """Write a checkpoint, and delete the previous one."""
        from safetensors.torch import save_file  # noqa: PLC0415  # an extra, and heavy

        older = self._numbers()
        flat = {
            f"{kind}/{name}": tensor.detach().contiguous().cpu()
            for kind, weights in snapshot.tensors.items()
            for name, tensor in weights.items()
        }
        state = {"plan": self.plan, "facts": dict(snapshot.facts)}
        with atomic_folder(self.folder / f"checkpoint-{max(older, default=0) + 1}") as target:
            with writing_weights(self.folder):
                save_file({name: _own(tensor) for name, tensor in flat.items()}, target / _TENSORS)
            (target / _STATE).write_text(json.dumps(state), encoding="utf-8")
        self._delete(older)

    def remove(self) -> None:
        """Delete all checkpoints."""
        self._delete(self._numbers())

    def _delete(self, numbers: list[int]) -> None:
        for number in numbers:
            shutil.rmtree(self.folder / f"checkpoint-{number}", ignore_errors=True)

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        matches = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return [int(match[1]) for match in matches if match is not None]

    def _read(self, path: Path) -> Snapshot:
        from safetensors import SafetensorError  # noqa: PLC0415  # an extra, and heavy
        from safetensors.torch import load_file  # noqa: PLC0415

        try:
            state = json.loads((path / _STATE).read_text(encoding="utf-8"))
            facts, plan = state["facts"], state["plan"]
            if plan != self.plan:
                raise AdequaError(
                    f"{path} is a checkpoint of another plan, or of other data; go on with those, "
                    "or delete it to begin anew."
                )
            tensors: dict[str, dict[str, Tensor]] = {}
            for name, tensor in load_file(path / _TENSORS).items():
                kind, _, weight = name.partition("/")
                tensors.setdefault(kind, {})[weight] = tensor
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise AdequaError(
                f"{path} is no checkpoint that can be read ({error}); delete it to begin anew."
            ) from error
        return Snapshot(tensors, facts)


@contextmanager
def training_into(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raise at once where another training holds it."""
    with locked(folder) as holder:
        if holder == "others":
            raise AdequaError(
                f"{folder} is being trained into by another command; wait for it, or name another "
                "folder."
            )
        if holder == "us":
            _delete_half_written(folder)
        yield


@contextmanager
def training_saved(folder: Path) -> Iterator[bool]:
    """Lock a folder while the metric is saved; yield whether its checkpoints may be deleted.

    They must stay where another training has started in the folder. An empty folder is deleted.
    """
    with locked(folder) as holder:
        yield holder != "others"
    with suppress(OSError):  # it holds other files
        folder.rmdir()


def _delete_half_written(folder: Path) -> None:
    """Delete the incomplete checkpoints of a killed process, and nothing else."""
    for path in folder.glob(".adequa-*.tmp"):
        if path.is_file():  # scores of teachers
            path.unlink(missing_ok=True)
        elif path.is_dir() and all(_is_ours(each.name) for each in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(name: str) -> bool:
    """Whether a file is part of a checkpoint, or a temporary file of safetensors."""
    return name in {_TENSORS, _STATE} or name.startswith(".tmp")


def _own(tensor: Tensor) -> Tensor:
    """Return a tensor with its own memory, which safetensors requires."""
    return tensor.clone() if tensor.untyped_storage().nbytes() > tensor.nbytes else tensor
