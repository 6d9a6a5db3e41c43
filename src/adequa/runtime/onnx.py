"""ONNX models that score pairs of texts, without PyTorch.

A scorer is a folder with `model.onnx` and `tokenizer.json`. Pairs stream through it in chunks, so
that memory does not grow with their number. Identical pairs are scored once. The same pairs give
the same bits in every run.

On a CPU every batch is run by one thread, and several batches at the same time: that is faster than
threads that share each matrix product and wait for one another, and no score depends on the number
of threads. A batch holds rows of one length only: a row is then padded as it would be by itself,
and no score depends on its neighbours, to the last bit. It costs no time. On a GPU, which wants
large batches, lengths are mixed, and neighbours change the last bits of some outputs. That is why
scores are rounded: hardly one in a hundred then depends on its neighbours, by the last decimal.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.runtime.batching import Indices, cheapest_batches, distinct, equal_length_batches
from adequa.runtime.threads import available_cpus, thread_map
from adequa.runtime.tokens import IDS, Pair, PairRows, PairTokenizer, combine_scores

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnxruntime

Device = Literal["cpu", "cuda"]

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
MAX_LENGTH = "max_length"  # metadata of a model: the number of tokens that it can read

_DECIMALS = 6  # of a score, on the scale of the model
_DEFAULT_LENGTH = 512  # tokens, where a model does not say
_CHUNK_PAIRS = 8192
_CHUNK_CHARACTERS = 4_000_000
# Tokens of a batch, with padding. On a CPU larger ones save no time: eight times as many took the
# same. Small ones spread evenly over threads, and take little memory.
_BATCH_TOKENS: dict[Device, int] = {"cpu": 1024, "cuda": 32768}
_GPU_OVERHEAD = 64  # tokens that a GPU could read in the time that it takes to start a batch

_INTEGER_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_CUDA = "CUDAExecutionProvider"
_FATAL = 4  # onnxruntime's log level; its errors reach us as exceptions


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """One score per pair, and in how many windows the pair was read (1 unless it is long)."""

    scores: npt.NDArray[np.float64]
    windows: npt.NDArray[np.int32]

    @classmethod
    def concatenate(cls, parts: Sequence[PairScores]) -> PairScores:
        """Join the scores of several parts, one after the other."""
        if not parts:
            return cls(np.zeros(0), np.zeros(0, dtype=np.int32))
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.windows for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.scores)

    def at(self, rows: Indices) -> PairScores:
        """Return the scores at these indices."""
        return PairScores(self.scores[rows], self.windows[rows])

    def fill(self, rows: Indices, values: PairScores) -> None:
        """Assign the scores at these indices."""
        self.scores[rows] = values.scores
        self.windows[rows] = values.windows


@dataclass(frozen=True, slots=True, eq=False)
class PairSession:
    """An open scorer of pairs. Not for use after a fork."""

    folder: Path
    device: Device
    model: OnnxModel
    tokenizer: PairTokenizer
    batch_tokens: int
    workers: int  # threads that run the model at the same time

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        device: Device = "cpu",
        threads: int | None = None,
        max_length: int | None = None,
    ) -> PairSession:
        """Open the scorer of a folder.

        By default there are as many threads as CPUs, and pairs may be as long as the model's
        metadata says (`max_length`, in tokens), or else 512. With more than one thread, the
        tokenizer takes as many as it likes.
        """
        for name in (MODEL, TOKENIZER):
            if not (folder / name).is_file():
                raise AdequaError(f"{folder} holds no {name}, so it is no folder of a scorer.")
        threads = threads or available_cpus()
        # A GPU takes one batch after the other, and what it leaves to the CPU is for all threads.
        workers, threads_each = (threads, 1) if device == "cpu" else (1, threads)
        model = OnnxModel.open(folder / MODEL, device, threads_each)
        length = max_length if max_length is not None else model.max_length
        tokenizer = PairTokenizer.open(folder / TOKENIZER, length, parallel=threads > 1)
        return cls(folder, device, model, tokenizer, _BATCH_TOKENS[device], workers)

    def score(self, pairs: Iterable[Pair]) -> PairScores:
        """Return the scores of pairs."""
        return PairScores.concatenate(list(self.stream(pairs)))

    def stream(self, pairs: Iterable[Pair]) -> Iterator[PairScores]:
        """Yield the scores of any number of pairs, in order, a chunk at a time."""
        for chunk in _chunks(pairs):
            different, inverse = distinct(chunk)
            yield self._score_distinct(different).at(inverse)

    def _score_distinct(self, pairs: Sequence[Pair]) -> PairScores:
        rows = self.tokenizer.encode(pairs)
        batches = self._batches(rows)
        outputs = thread_map(
            lambda batch: self.model.run(rows.padded(batch)), batches, self.workers
        )
        row_scores = np.empty(len(rows.pairs))
        for batch, output in zip(batches, outputs, strict=True):
            row_scores[batch] = output
        windows = np.bincount(rows.pairs, minlength=len(pairs)).astype(np.int32)
        first = np.cumsum(windows) - windows
        scores = row_scores[first]
        lengths = rows.lengths - rows.special
        for pair in np.flatnonzero(windows > 1):
            parts = slice(first[pair], first[pair] + windows[pair])
            scores[pair] = combine_scores(row_scores[parts], lengths[parts])
        return PairScores(scores.round(_DECIMALS), windows)

    def _batches(self, rows: PairRows) -> list[Indices]:
        # Room for two rows at least: a row alone would be read twice.
        max_tokens = max(self.batch_tokens, 2 * self.tokenizer.max_length)
        if self.device == "cpu":
            return equal_length_batches(rows.padded_lengths, max_tokens=max_tokens)
        return cheapest_batches(rows.lengths, max_tokens=max_tokens, overhead=_GPU_OVERHEAD)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Yield pairs in chunks of so many, or of so much text, whichever is reached first."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair[0]) + len(pair[1])
        if len(chunk) >= _CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True, slots=True, eq=False)
class OnnxModel:
    """An open model: token ids, a mask and, where it takes them, token types in; scores out."""

    path: Path
    session: onnxruntime.InferenceSession
    input_dtypes: Mapping[str, type[np.integer[Any]]]

    @classmethod
    def open(cls, path: Path, device: Device, threads: int) -> OnnxModel:
        """Open a model whose runs take so many threads each."""
        session = _open_session(path, _providers(device), _options(threads))
        if device == "cuda" and session.get_providers()[0] != _CUDA:
            raise AdequaError(
                f"onnxruntime could not start on the GPU for {path}: it needs a driver, CUDA and "
                "cuDNN that fit its version; use the device cpu until they do."
            )
        dtypes = {each.name: _INTEGER_TYPES[each.type] for each in session.get_inputs()}
        return cls(path, session, dtypes)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the file."""
        metadata: dict[str, str] = self.session.get_modelmeta().custom_metadata_map
        return metadata

    @property
    def max_length(self) -> int:
        """The number of tokens that the model can read, by its metadata."""
        return int(self.metadata.get(MAX_LENGTH, _DEFAULT_LENGTH))

    def run(self, inputs: Mapping[str, npt.NDArray[np.integer]]) -> npt.NDArray[np.float64]:
        """Return one score per row. Several threads may run the model at the same time.

        A row alone is read twice: the product of a matrix and a single row is summed in another
        order than that of several, and a score must not depend on its neighbours. Batches of other
        lengths still change the last bits of a few scores.
        """
        rows = len(inputs[IDS])
        feed = {
            name: np.ascontiguousarray(
                inputs[name] if rows > 1 else inputs[name].repeat(2, 0), dtype
            )
            for name, dtype in self.input_dtypes.items()
        }
        try:
            output = self.session.run(None, feed)[0]
        except Exception as error:  # onnxruntime's errors have no class in common
            raise AdequaError(
                f"{self.path} cannot be run on {rows} rows of {inputs[IDS].shape[1]} tokens: "
                f"{_first_line(error)}"
            ) from error
        scores = np.asarray(output, dtype=np.float64)[:rows]
        if not np.isfinite(scores).all():
            raise AdequaError(f"{self.path} gives scores that are NaN or infinite: it is damaged.")
        return scores.reshape(rows)


# Classes of processors, best first, by the flags that decide which kernels onnxruntime takes. Whole
# numbers come out the same with all of them, and the floats between them are rounded differently.
_INSTRUCTION_SETS: dict[str, set[str]] = {
    "amx": {"amx_int8", "avx512_vnni"},
    "avx512-vnni": {"avx512_vnni"},
    "avx512": {"avx512f"},
    "avx-vnni": {"avx_vnni"},
    "avx2": {"avx2"},
    "avx": {"avx"},
    "sve": {"sve", "i8mm"},
    "neon-i8mm": {"i8mm"},
    "neon-dot": {"asimddp"},
    "neon": {"asimd"},
}


def instruction_set(cpuinfo: str, machine: str) -> str:
    """Return the class of a processor by Linux's /proc/cpuinfo, or else the machine's name.

    >>> instruction_set("flags : fpu sse2 avx avx2 avx512f", "x86_64")
    'avx512'
    >>> instruction_set("", "arm64")
    'arm64'
    """
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    flags = next((rest for key, _, rest in lines if key.strip() in {"flags", "Features"}), "")
    available = set(flags.split())
    return next(
        (name for name, needed in _INSTRUCTION_SETS.items() if needed <= available), machine
    )


@cache
def _this_instruction_set() -> str:
    with suppress(OSError):
        return instruction_set(Path("/proc/cpuinfo").read_text("utf-8"), platform.machine())
    return platform.machine()


@cache
def _onnxruntime_version() -> str:
    """The version, without importing the package, which takes long where all is cached."""
    for package in ("onnxruntime", "onnxruntime-gpu"):
        with suppress(PackageNotFoundError):
            return version(package)
    return "unknown"


def kernel_fields(device: Device) -> tuple[tuple[str, str], ...]:
    """Return the fields of a signature that name what computes scores on a device."""
    kernels = _this_instruction_set() if device == "cpu" else device
    return ("onnxruntime", _onnxruntime_version()), ("isa", kernels)


def imported_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off, unless the user has set it.

    From 1.31 on it would otherwise keep an identity of the machine in the user's home and report to
    its makers. It reads the variable when it is imported: adequa imports it only here.
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


def _providers(device: Device) -> list[Any]:
    """Return onnxruntime's execution providers, the CPU last, for what a GPU cannot do."""
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
    # TF32 rounds to ten bits, which changes scores by more than 1e-4.
    return [(_CUDA, {"use_tf32": "0"}), "CPUExecutionProvider"]


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = imported_onnxruntime().SessionOptions()
    options.log_severity_level = _FATAL
    # By default it takes a thread for each core it sees, also where a container grants the time of
    # a few. Layers follow one another: there is nothing to parallelise between operators.
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads wait for the next operator in a loop, which is quicker than to be woken, but stop
    # between runs, when others (the tokenizer first of all) need the time.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # It would keep a memory plan for every shape for good, and batches have many shapes.
    options.enable_mem_pattern = False
    options.use_deterministic_compute = True
    return options


def _open_session(
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


def _first_line(error: Exception) -> str:
    """The first line of onnxruntime's message, as the end of a sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.rpartition(" : ")[2].rstrip(".") + "."
