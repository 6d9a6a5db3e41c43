"""An ONNX model that scores rows of tokens: opened with care for threads and memory, and run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnxruntime

Device = Literal["cpu", "cuda"]

IDS, MASK, TYPES = "input_ids", "attention_mask", "token_type_ids"
_WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_REAL = {"tensor(float)", "tensor(double)", "tensor(float16)"}
_CUDA = "CUDAExecutionProvider"
_FATAL_ONLY = 4  # of onnxruntime's levels of logging; its errors reach us as exceptions


@dataclass(frozen=True, slots=True, eq=False)
class OnnxModel:
    """An open model: token ids, a mask and, where it asks, token types in; a score a row out."""

    path: Path
    session: onnxruntime.InferenceSession
    kinds: Mapping[str, type[np.integer[Any]]]  # of its inputs

    @classmethod
    def open(cls, path: Path, device: Device, threads: int) -> OnnxModel:
        """A model from its file, whose runs take so many threads each."""
        session = _session(path, _providers(device), _options(threads))
        if device == "cuda" and session.get_providers()[0] != _CUDA:
            raise AdequaError(
                f"onnxruntime could not start on the GPU for {path}: it needs a driver, CUDA and "
                "cuDNN that fit its version; use the device cpu until they do."
            )
        return cls(path, session, _kinds_of_inputs(path, session))

    @property
    def notes(self) -> Mapping[str, str]:
        """What the file says of itself."""
        found: dict[str, str] = self.session.get_modelmeta().custom_metadata_map
        return found

    def run(self, inputs: Mapping[str, npt.NDArray[np.integer]]) -> npt.NDArray[np.float64]:
        """One score a row. Several threads may run it at once.

        A row alone is read twice: the product of a matrix and a single row is summed up in another
        order than that of several, and a score shall not depend on its neighbours. Batches of other
        lengths still move the last bits of a few scores.
        """
        rows = len(inputs[IDS])
        fed = {
            name: np.ascontiguousarray(
                inputs[name] if rows > 1 else inputs[name].repeat(2, 0), kind
            )
            for name, kind in self.kinds.items()
        }
        try:
            found = self.session.run(None, fed)[0]
        except Exception as error:  # onnxruntime's errors have no class in common
            raise AdequaError(
                f"{self.path} cannot be run on {rows} rows of {inputs[IDS].shape[1]} tokens: "
                f"{_first_line(error)}"
            ) from error
        scores = np.asarray(found, dtype=np.float64)[:rows]
        if scores.size != rows:
            raise AdequaError(
                f"{self.path} should give one score a row, but it gave an array of shape "
                f"{' × '.join(map(str, found.shape))} for {len(fed[IDS])} rows."
            )
        if not np.isfinite(scores).all():
            raise AdequaError(f"{self.path} gives scores that are NaN or infinite: it is damaged.")
        return scores.reshape(rows)


def _providers(device: Device) -> list[Any]:
    """What onnxruntime shall run on, the CPU last, for what a GPU cannot do."""
    onnxruntime = imported_onnxruntime()
    if device not in get_args(Device):
        raise AdequaError(f'"{device}" is no device; there are {" and ".join(get_args(Device))}.')
    if device == "cpu":
        return ["CPUExecutionProvider"]
    if _CUDA not in onnxruntime.get_available_providers():
        raise AdequaError(
            "The onnxruntime that is installed has no CUDA: put `pip install onnxruntime-gpu` in "
            "place of onnxruntime, or use the device cpu."
        )
    # TF32 rounds to ten bits, which moves scores by more than 1e-4.
    return [(_CUDA, {"use_tf32": "0"}), "CPUExecutionProvider"]


def _options(threads: int) -> onnxruntime.SessionOptions:
    """Settings of onnxruntime."""
    options = imported_onnxruntime().SessionOptions()
    options.log_severity_level = _FATAL_ONLY
    # Said outright, as by default it takes a thread for each core it sees, also where a container
    # grants the time of a few. Layers follow one another: nothing to do between operators.
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads wait for the next operator in a loop, which is quicker than to be woken, but stop
    # between runs, when others (the tokenizer first of all) need the time.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # A plan of memory for every shape ever met is kept for good: batches have many shapes.
    options.enable_mem_pattern = False
    options.use_deterministic_compute = True
    return options


def _session(
    path: Path, providers: list[Any], options: onnxruntime.SessionOptions
) -> onnxruntime.InferenceSession:
    onnxruntime = imported_onnxruntime()
    try:
        path.open("rb").close()
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # onnxruntime's errors have no class in common
        raise AdequaError(
            f"{path} is no ONNX model that this onnxruntime ({onnxruntime.__version__}) can open: "
            f"{_first_line(error)}"
        ) from error


def imported_onnxruntime() -> Any:
    """The package onnxruntime, which reports to nobody unless the user has said so.

    From 1.31 on it would else keep an identity of the machine in the user's home and report to its
    makers. It looks at the variable when it is imported: adequa imports it here alone.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # noqa: PLC0415  # slow to import, and only here
    except ImportError as error:
        raise AdequaError(
            f"Scoring with this metric needs onnxruntime, which cannot be imported ({error}): "
            "pip install onnxruntime."
        ) from error
    return onnxruntime


def _kinds_of_inputs(
    path: Path, session: onnxruntime.InferenceSession
) -> dict[str, type[np.integer[Any]]]:
    """The types of a model's inputs, after a check that it takes and gives what it should."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    names = {each.name for each in inputs}
    whole = all(each.type in _WHOLE for each in inputs)
    if not {IDS, MASK} <= names <= {IDS, MASK, TYPES} or not whole:
        raise AdequaError(
            f"{path} is no model of pairs of texts: it takes {_written(inputs)}, and not whole "
            f"numbers named {IDS}, {MASK} and perhaps {TYPES}."
        )
    shapes = [each.shape[1:] for each in outputs]
    if len(outputs) != 1 or outputs[0].type not in _REAL or shapes[0] not in ([], [1]):
        raise AdequaError(
            f"{path} is no model that scores: it gives {_written(outputs)}, and not one number a "
            "row."
        )
    return {each.name: _WHOLE[each.type] for each in inputs}


def _written(arguments: list[Any]) -> str:
    """What a model takes or gives, in words."""
    return ", ".join(
        f"{each.name} ({each.type.removeprefix('tensor(').removesuffix(')')} of shape "
        f"{' × '.join(map(str, each.shape)) or 'one'})"
        for each in arguments
    )


def _first_line(error: Exception) -> str:
    """The first line of what onnxruntime says, as the end of a sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.rpartition(" : ")[2].rstrip(".") + "."
