"""Quick-Thought's checkpoints as plain arrays: python -m adequa.encoders.converters.quick_thought.

The authors publish TensorFlow checkpoints, so that this needs TensorFlow, which adequa does not
install. Variables are told by their names: `encoder/...` is f, `encoder_out/...` is g; `fw` and
`bw` on the way name the direction of a bi-directional model; the last two words are
`gates/kernel`, `gates/bias`, `candidate/kernel` and `candidate/bias` (`weights` and `biases` in
older versions of TensorFlow). The word vectors are `word_embedding` and, where g has its own,
`word_embedding_out`, with the vector of unknown words first.

Which words the rows belong to is in a file of its own: `--vocabulary` names it, one word a line
with `<unk>` first. `--expanded` takes the vectors of an expanded vocabulary in place of those in
the checkpoint. With neither, no table is written, and the encoder reads a file of word vectors.
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

from adequa.encoders.converters.plain_table import table_of
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
_WAYS: Final = {"fw": "forward", "bw": "backward"}
_KINDS: Final = {"kernel": "kernel", "weights": "kernel", "bias": "bias", "biases": "bias"}
_WEIGHT: Final = re.compile(
    rf"(?P<scope>{'|'.join(_SCOPES)})/(?:.*/)?(?P<part>gates|candidate)/(?P<kind>{'|'.join(_KINDS)})"
)
_VECTORS: Final = {"f": "word_embedding", "g": "word_embedding_out"}
_ENDINGS: Final = {"f": "", "g": "_out"}
_TABLE: Final = 2  # axes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The shapes of the variables of a checkpoint, and how to read one of them."""

    path: Path
    shapes: Mapping[str, Sequence[int]]
    read: Callable[[str], npt.NDArray[Any]]


def open_checkpoint(path: Path) -> Checkpoint:
    """A TensorFlow checkpoint: a folder, or the beginning of its files' names."""
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
    except Exception as error:  # TensorFlow's own errors have no class in common
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AdequaError(f"{path} cannot be read as a TensorFlow checkpoint: {reason}.") from error
    return Checkpoint(path, shapes, lambda name: np.asarray(reader.get_tensor(name)))


def encoder_weights(checkpoint: Checkpoint) -> Arrays:
    """The weights of f and g under the names that the encoder reads."""
    named: dict[str, str] = {}
    for variable in sorted(checkpoint.shapes):
        found = _WEIGHT.fullmatch(variable)
        if not found:
            continue
        way = next((word for word in variable.split("/") if word in _WAYS), "fw")
        name = f"{_SCOPES[found['scope']]}.{_WAYS[way]}.{found['part']}.{_KINDS[found['kind']]}"
        if name in named:
            raise AdequaError(
                f"{checkpoint.path} has two variables for one weight, {named[name]} and {variable}."
            )
        named[name] = variable
    directions = DIRECTIONS if any(".backward." in name for name in named) else DIRECTIONS[:1]
    for wanted in (n for e in TABLES for d in directions for n in weight_names(e, d)):
        if wanted not in named:
            raise AdequaError(
                f"{checkpoint.path} is not a Quick-Thought model of GRU encoders: it "
                f"has no variable for {wanted}, named like encoder/fw/gru_cell/gates/kernel."
            )
    return {name: checkpoint.read(variable) for name, variable in named.items()}


def word_vectors(checkpoint: Checkpoint) -> Arrays:
    """The word vectors of f, and of g where it has its own."""
    tables = {e: checkpoint.read(n) for e, n in _VECTORS.items() if n in checkpoint.shapes}
    if "f" not in tables or any(
        table.ndim != _TABLE or not len(table) for table in tables.values()
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
        words, tables = _expanded(expanded)
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


def _expanded(beginning: str) -> tuple[list[str], Arrays]:
    """The words and vectors of an expanded vocabulary: BEGINNING.txt and BEGINNING.npy.

    The vectors of g are in BEGINNING_out.npy, for the words of BEGINNING_out.txt.
    """
    words = dictionary_words(Path(f"{beginning}.txt"))
    if UNKNOWN not in words:
        raise AdequaError(f'{beginning}.txt lacks the word "{UNKNOWN}", which is needed.')
    tables: Arrays = {}
    for encoder, ending in _ENDINGS.items():
        file = Path(f"{beginning}{ending}.npy")
        theirs = dictionary_words(Path(f"{beginning}{ending}.txt"))
        row_of = {word: row for row, word in enumerate(theirs)}
        table = table_of(file, theirs)
        if row_of.keys() != set(words):
            raise AdequaError(f"{beginning}.txt and {beginning}{ending}.txt hold different words.")
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
        if array.ndim != _TABLE or array.shape[0] - array.shape[1] != dimension:
            raise AdequaError(
                f"{path}: {name} is {' × '.join(map(str, array.shape))}, which does not fit "
                f"words of {dimension} numbers."
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 when all went well, 2 after a sentence on what was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m adequa.encoders.converters.quick_thought",
        description="Turn a Quick-Thought checkpoint into a folder for quick-thought:FOLDER.",
    )
    parser.add_argument("checkpoint", type=Path, help="the folder train/, or files in it")
    parser.add_argument("new_folder", type=Path, help="to write; must not be there yet")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--vocabulary", type=Path, help="the words of the checkpoint, one a line")
    choice.add_argument("--expanded", default="", help="as in exp_vocab/word_embedding")
    given = parser.parse_args(arguments)
    try:
        convert(
            open_checkpoint(given.checkpoint),
            given.new_folder,
            vocabulary=given.vocabulary,
            expanded=given.expanded,
        )
    except AdequaError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    own = given.vocabulary or given.expanded
    print(f"Use it as quick-thought:{given.new_folder}{'' if own else ',words=FILE'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
