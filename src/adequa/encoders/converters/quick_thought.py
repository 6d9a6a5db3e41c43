"""Convert a Quick-Thought checkpoint: python -m adequa.encoders.converters.quick_thought.

The authors publish TensorFlow checkpoints, so that this needs TensorFlow, which adequa does not
install. Variables are recognised by their names: `encoder/...` is f, `encoder_out/...` is g; a
component `fw` or `bw` is the direction of a bi-directional model; the last two components are
`gates/kernel`, `gates/bias`, `candidate/kernel` and `candidate/bias` (`weights` and `biases` in
older versions of TensorFlow). The word vectors are `word_embedding` and, where g has its own,
`word_embedding_out`, with the vector of unknown words first.

The words of the rows are in a separate file: `--vocabulary` names it, one word a line with `<unk>`
first. `--expanded` takes the vectors of an expanded vocabulary instead of those in the checkpoint.
With neither, no table is written, and the encoder reads a file of word vectors.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.encoders.converters.plain_table import read_table
from adequa.encoders.quick_thought import (
    DIRECTIONS,
    TABLES,
    UNKNOWN,
    UNKNOWN_VECTOR,
    WEIGHTS,
    WORDS,
    weight_names,
)
from adequa.encoders.recurrent import Arrays, write_arrays
from adequa.encoders.word_vector_files import dictionary_words
from adequa.errors import AdequaError
from adequa.io.atomic import atomic_folder

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
        if name in variables:
            raise AdequaError(
                f"{checkpoint.path} has two variables for one weight, {variables[name]} and "
                f"{variable}."
            )
        variables[name] = variable
    directions = DIRECTIONS if any(".backward." in name for name in variables) else DIRECTIONS[:1]
    for name in (n for e in TABLES for d in directions for n in weight_names(e, d)):
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


def convert(
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
    _check_sizes(checkpoint.path, weights, tables or vectors)
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


def _check_sizes(path: Path, weights: Arrays, tables: Arrays) -> None:
    """Raise unless the rows of the kernels are the numbers of a word and of a state."""
    for name, array in weights.items():
        if not name.endswith("candidate.kernel"):
            continue
        encoder = name.partition(".")[0]
        dimension = tables.get(encoder, tables["f"]).shape[1]
        if array.ndim != _MATRIX or array.shape[0] - array.shape[1] != dimension:
            raise AdequaError(
                f"{path}: {name} is {' × '.join(map(str, array.shape))}, which does not fit "
                f"words of {dimension} numbers."
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 on success, and 2 after an error message."""
    parser = argparse.ArgumentParser(
        prog="python -m adequa.encoders.converters.quick_thought",
        description="Turn a Quick-Thought checkpoint into a folder for quick-thought:FOLDER.",
    )
    parser.add_argument("checkpoint", type=Path, help="the folder train/, or files in it")
    parser.add_argument("new_folder", type=Path, help="to write; must not be there yet")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--vocabulary", type=Path, help="the words of the checkpoint, one a line")
    choice.add_argument("--expanded", default="", help="as in exp_vocab/word_embedding")
    args = parser.parse_args(arguments)
    try:
        convert(
            open_checkpoint(args.checkpoint),
            args.new_folder,
            vocabulary=args.vocabulary,
            expanded=args.expanded,
        )
    except AdequaError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    has_words = args.vocabulary or args.expanded
    print(f"Use it as quick-thought:{args.new_folder}{'' if has_words else ',words=FILE'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
