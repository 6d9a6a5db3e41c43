"""Convert published weights into folders of plain arrays: python -m adequa.encoders.converters.

`skip-thought`: the authors' word tables are plain NumPy arrays in some releases, and pickled
objects in others, which the encoder does not read. A new folder has the tables as plain arrays of
32-bit numbers, the dictionary, and those weights that the encoder needs.

`quick-thought`: the authors publish TensorFlow checkpoints, so that this needs TensorFlow, which
adequa does not install. Variables are recognised by their names: `encoder/...` is f,
`encoder_out/...` is g; a component `fw` or `bw` is the direction of a bi-directional model; the
last two components are `gates/kernel`, `gates/bias`, `candidate/kernel` and `candidate/bias`
(`weights` and `biases` in older versions of TensorFlow). The word vectors are `word_embedding` and,
where g has its own, `word_embedding_out`, with the vector of unknown words first. The words of the
rows are in a separate file: `--vocabulary` names it, one word per line with `<unk>` first.
`--expanded` takes the vectors of an expanded vocabulary instead of those in the checkpoint. With
neither, no table is written, and the encoder reads a file of word vectors.

Unpickling calls any function that a file names, so that an untrusted file can do anything. The
unpickler here admits only the names from which NumPy arrays, numbers and ordered dictionaries are
built, and refuses the file at the first other name.
"""

from __future__ import annotations

import argparse
import io
import pickle
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.encoders.published import (
    DICTIONARY,
    DIRECTIONS,
    TABLE_FILES,
    TABLES,
    UNKNOWN,
    UNKNOWN_VECTOR,
    WEIGHT_FILES,
    WEIGHTS,
    WORDS,
    quick_thought_arrays,
    skip_thought_arrays,
)
from adequa.encoders.recurrent import Arrays, read_arrays, write_arrays
from adequa.encoders.word_vector_files import dictionary_words
from adequa.errors import AdequaError
from adequa.io.arrays import MAGIC, read_npy
from adequa.io.atomic import atomic_folder
from adequa.io.text import unreadable


def convert_skip_thought(folder: Path, new_folder: Path) -> tuple[str, ...]:
    """Write the models of a folder into a new one, and return their names: uni, bi or both."""
    models = tuple(name for name, file in WEIGHT_FILES.items() if (folder / file).exists())
    if not models:
        raise AdequaError(f"{folder} holds neither {' nor '.join(WEIGHT_FILES.values())}.")
    words = dictionary_words(folder / DICTIONARY)
    with atomic_folder(new_folder) as target:
        (target / DICTIONARY).write_bytes("".join(f"{word}\n" for word in words).encode())
        for name in models:
            weights = read_arrays(folder / WEIGHT_FILES[name], skip_thought_arrays(name))
            write_arrays(target / WEIGHT_FILES[name], weights)
            table = read_table(folder / TABLE_FILES[name], words)
            np.save(target / TABLE_FILES[name], table, allow_pickle=False)
    return models


_SCOPES: Final = {"encoder": "f", "encoder_out": "g"}
_DIRECTIONS: Final = {"fw": "forward", "bw": "backward"}
_KINDS: Final = {"kernel": "kernel", "weights": "kernel", "bias": "bias", "biases": "bias"}
_WEIGHT: Final = re.compile(
    rf"(?P<scope>{'|'.join(_SCOPES)})/(?:.*/)?(?P<part>gates|candidate)/(?P<kind>{'|'.join(_KINDS)})"
)
_VECTORS: Final = {"f": "word_embedding", "g": "word_embedding_out"}
_SUFFIXES: Final = {"f": "", "g": "_out"}
_MATRIX: Final = 2  # axes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The shapes of the variables of a checkpoint, and a function that reads one of them."""

    path: Path
    shapes: Mapping[str, Sequence[int]]
    read: Callable[[str], npt.NDArray[Any]]


def open_checkpoint(path: Path) -> Checkpoint:
    """Open a TensorFlow checkpoint: a folder, or the prefix of its file names."""
    try:
        tensorflow = import_module("tensorflow")  # not a dependency
    except ImportError as error:
        raise AdequaError(
            f"{path} is a TensorFlow checkpoint, and TensorFlow is not installed; run "
            "`pip install tensorflow` in an environment that has adequa, and convert it there."
        ) from error
    try:
        reader = tensorflow.train.load_checkpoint(str(path))
        shapes = dict(reader.get_variable_to_shape_map())
    except Exception as error:  # the errors of TensorFlow have no common class
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AdequaError(f"{path} cannot be read as a TensorFlow checkpoint: {reason}.") from error
    return Checkpoint(path, shapes, lambda name: np.asarray(reader.get_tensor(name)))


def encoder_weights(checkpoint: Checkpoint) -> Arrays:
    """Read the weights of f and g, under the names that the encoder reads."""
    variables: dict[str, str] = {}
    for variable in sorted(checkpoint.shapes):
        match = _WEIGHT.fullmatch(variable)
        if not match:
            continue
        scope, part, kind = _SCOPES[match["scope"]], match["part"], _KINDS[match["kind"]]
        direction = next((word for word in variable.split("/") if word in _DIRECTIONS), "fw")
        name = f"{scope}.{_DIRECTIONS[direction]}.{part}.{kind}"
        variables[name] = variable
    directions = DIRECTIONS if any(".backward." in name for name in variables) else DIRECTIONS[:1]
    for name in (n for e in TABLES for d in directions for n in quick_thought_arrays(e, d)):
        if name not in variables:
            raise AdequaError(
                f"{checkpoint.path} is not a Quick-Thought model of GRU encoders: it "
                f"has no variable for {name}, named like encoder/fw/gru_cell/gates/kernel."
            )
    return {name: checkpoint.read(variable) for name, variable in variables.items()}


def word_vectors(checkpoint: Checkpoint) -> Arrays:
    """Read the word vectors of f, and of g where it has its own."""
    tables = {e: checkpoint.read(n) for e, n in _VECTORS.items() if n in checkpoint.shapes}
    if "f" not in tables or any(
        table.ndim != _MATRIX or not len(table) for table in tables.values()
    ):
        raise AdequaError(
            f"{checkpoint.path} has no table of word vectors named {_VECTORS['f']}, of one row a "
            "word."
        )
    return tables


def convert_quick_thought(
    checkpoint: Checkpoint,
    new_folder: Path,
    *,
    vocabulary: Path | None = None,
    expanded: str = "",
) -> None:
    """Write a checkpoint into a new folder that the encoder reads."""
    weights = encoder_weights(checkpoint)
    vectors = word_vectors(checkpoint)
    tables: Arrays = {}
    words: list[str] = []
    if expanded:
        words, tables = _expanded_words(expanded)
    elif vocabulary is not None:
        words, tables = dictionary_words(vocabulary), vectors
        if len(words) != len(tables["f"]) or UNKNOWN not in words:
            raise AdequaError(
                f"{vocabulary} has {len(words)} words and should have the {len(tables['f'])} of "
                f"{checkpoint.path}, {UNKNOWN} among them."
            )
    weights[UNKNOWN_VECTOR] = vectors["f"][0]
    with atomic_folder(new_folder) as target:
        write_arrays(target / WEIGHTS, weights)
        if words:
            (target / WORDS).write_bytes("".join(f"{word}\n" for word in words).encode())
        for encoder, table in tables.items():
            np.save(target / TABLES[encoder], table.astype(np.float32), allow_pickle=False)


def _expanded_words(prefix: str) -> tuple[list[str], Arrays]:
    """Read the words and vectors of an expanded vocabulary: PREFIX.txt and PREFIX.npy.

    The vectors of g are in PREFIX_out.npy, for the words of PREFIX_out.txt.
    """
    words = dictionary_words(Path(f"{prefix}.txt"))
    if UNKNOWN not in words:
        raise AdequaError(f'{prefix}.txt lacks the word "{UNKNOWN}", which is needed.')
    tables: Arrays = {}
    for encoder, suffix in _SUFFIXES.items():
        file = Path(f"{prefix}{suffix}.npy")
        file_words = dictionary_words(Path(f"{prefix}{suffix}.txt"))
        row_of = {word: row for row, word in enumerate(file_words)}
        table = read_table(file, file_words)
        if row_of.keys() != set(words):
            raise AdequaError(f"{prefix}.txt and {prefix}{suffix}.txt hold different words.")
        # The two files may have the words in different orders.
        tables[encoder] = table[[row_of[word] for word in words]]
    return words, tables


_NUMPY_MODULES: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
_ADMITTED: Final = frozenset(
    {
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("collections", "OrderedDict"),
        ("_codecs", "encode"),  # how Python 3 pickles bytes in the protocols of Python 2
        *((module, "_reconstruct") for module in _NUMPY_MODULES),
        *((module, "scalar") for module in _NUMPY_MODULES),
    }
)


class _RefusedError(Exception):
    """A pickle names something other than arrays and numbers."""


class _NumbersOnly(pickle.Unpickler):
    """An unpickler of arrays, numbers, texts, lists and dictionaries."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise _RefusedError(f"{module}.{name}")
        # Newer versions of NumPy have renamed the module that older files name.
        if hasattr(np, "_core"):
            module = module.replace("numpy.core.", "numpy._core.")
        return super().find_class(module, name)


def read_plain(path: Path) -> object:
    """Read an .npy file or a pickle that holds nothing but arrays, numbers and texts."""
    try:
        with path.open("rb") as stream:
            start = stream.read(len(MAGIC))
            stream.seek(0)
            if start == MAGIC:
                return _read_npy(path, stream)
            return _NumbersOnly(stream, encoding="latin1").load()
    except OSError as error:
        raise unreadable(str(path), error) from error
    except _RefusedError as error:
        raise AdequaError(
            f"{path} is not read: it is a pickle that would run {error}, where only NumPy arrays "
            "and plain Python values are admitted."
        ) from error
    except Exception as error:  # a damaged pickle raises errors of many classes
        raise AdequaError(
            f"{path} is neither a NumPy array nor a pickle of one, or is damaged."
        ) from error


def _read_npy(path: Path, stream: io.BufferedReader) -> object:
    """Read the array of an .npy file, or the Python objects where it is an array of objects."""
    version = np.lib.format.read_magic(stream)
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    _, _, dtype = header(stream)
    if not dtype.hasobject:
        return read_npy(path)
    return _NumbersOnly(stream, encoding="latin1").load()


def read_table(path: Path, words: list[str]) -> npt.NDArray[np.float32]:
    """Read the vectors of words: an array, a list of rows, or a dictionary by word."""
    content = read_plain(path)
    if isinstance(content, np.ndarray) and content.ndim == 0:
        content = content.item()  # how NumPy saves a dictionary
    rows = _rows_by_word(path, content, words) if isinstance(content, Mapping) else content
    try:
        # An array of objects holds one array per row.
        if isinstance(rows, np.ndarray) and rows.dtype == object:
            rows = list(rows)
        table = np.asarray(rows, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise AdequaError(
            f"{path} does not hold one vector of the same length per word."
        ) from error
    if table.ndim != _MATRIX or len(table) != len(words):
        raise AdequaError(
            f"{path} should hold {len(words)} vectors, one per word of the dictionary, but its "
            f"shape is {' × '.join(map(str, table.shape)) or 'that of a single number'}."
        )
    return table


def _rows_by_word(path: Path, content: Mapping[Any, Any], words: list[str]) -> list[Any]:
    # Python 2 pickles bytes as texts of one character per byte.
    table = {_word(key): value for key, value in content.items()}
    missing = [word for word in words if word not in table]
    if missing:
        raise AdequaError(f'{path} lacks the word "{missing[0]}" of the dictionary.')
    return [table[word] for word in words]


def _word(key: object) -> str:
    text = key.decode("latin1") if isinstance(key, bytes) else str(key)
    try:
        return text.encode("latin1").decode("utf-8").strip()
    except UnicodeError:
        return text.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 on success, and 2 after an error message."""
    args = _parser().parse_args(arguments)
    try:
        print(f"Use it as {args.run(args)}")
    except AdequaError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m adequa.encoders.converters",
        description="Convert published encoders into folders of plain arrays.",
    )
    commands = parser.add_subparsers(metavar="ENCODER", required=True)
    skip = commands.add_parser("skip-thought", help="a published folder, for skip-thought:FOLDER")
    skip.add_argument("folder", type=Path, help=f"holds {DICTIONARY}, *_skip.npz and *table.npy")
    skip.add_argument("new_folder", type=Path, help="to write; must not exist yet")
    skip.set_defaults(run=_run_skip_thought)
    quick = commands.add_parser(
        "quick-thought", help="a TensorFlow checkpoint, for quick-thought:FOLDER"
    )
    quick.add_argument("checkpoint", type=Path, help="the folder train/, or files in it")
    quick.add_argument("new_folder", type=Path, help="to write; must not exist yet")
    choice = quick.add_mutually_exclusive_group()
    choice.add_argument("--vocabulary", type=Path, help="the words of the checkpoint, one per line")
    choice.add_argument("--expanded", default="", help="as in exp_vocab/word_embedding")
    quick.set_defaults(run=_run_quick_thought)
    return parser


def _run_skip_thought(args: argparse.Namespace) -> str:
    models = convert_skip_thought(args.folder, args.new_folder)
    mode = "combine" if len(models) > 1 else models[0]
    return f"skip-thought:{args.new_folder},mode={mode}"


def _run_quick_thought(args: argparse.Namespace) -> str:
    convert_quick_thought(
        open_checkpoint(args.checkpoint),
        args.new_folder,
        vocabulary=args.vocabulary,
        expanded=args.expanded,
    )
    has_words = args.vocabulary or args.expanded
    return f"quick-thought:{args.new_folder}{'' if has_words else ',words=FILE'}"


if __name__ == "__main__":
    sys.exit(main())
