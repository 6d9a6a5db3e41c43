"""Convert a published Skip-Thought folder: python -m adequa.encoders.converters.skip_thought.

The word tables are plain NumPy arrays in some releases, and pickled objects in others, which the
encoder does not read. The converter writes a new folder with the tables as plain arrays of 32-bit
numbers, the dictionary, and those weights that the encoder needs. Unpickling is restricted to
arrays and plain values; see `plain_table`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adequa.encoders.converters.plain_table import read_table
from adequa.encoders.recurrent import read_arrays, write_arrays
from adequa.encoders.skip_thought import DICTIONARY, TABLE_FILES, WEIGHT_FILES, weight_names
from adequa.encoders.word_vector_files import dictionary_words
from adequa.errors import AdequaError
from adequa.io.atomic import atomic_folder


def convert(folder: Path, new_folder: Path) -> tuple[str, ...]:
    """Write the models of a folder into a new one, and return their names: uni, bi or both."""
    models = tuple(name for name, file in WEIGHT_FILES.items() if (folder / file).exists())
    if not models:
        raise AdequaError(f"{folder} holds neither {' nor '.join(WEIGHT_FILES.values())}.")
    words = dictionary_words(folder / DICTIONARY)
    with atomic_folder(new_folder) as target:
        (target / DICTIONARY).write_bytes("".join(f"{word}\n" for word in words).encode())
        for name in models:
            weights = read_arrays(folder / WEIGHT_FILES[name], weight_names(name))
            write_arrays(target / WEIGHT_FILES[name], weights)
            table = read_table(folder / TABLE_FILES[name], words)
            np.save(target / TABLE_FILES[name], table, allow_pickle=False)
    return models


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 on success, and 2 after an error message."""
    parser = argparse.ArgumentParser(
        prog="python -m adequa.encoders.converters.skip_thought",
        description="Make a published Skip-Thought folder plain, for skip-thought:FOLDER.",
    )
    parser.add_argument("folder", type=Path, help=f"holds {DICTIONARY}, *_skip.npz and *table.npy")
    parser.add_argument("new_folder", type=Path, help="to write; must not be there yet")
    args = parser.parse_args(arguments)
    try:
        models = convert(args.folder, args.new_folder)
    except AdequaError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    mode = "combine" if len(models) > 1 else models[0]
    print(f"Use it as skip-thought:{args.new_folder},mode={mode}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
