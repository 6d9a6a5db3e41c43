"""Skip-Thought's published folder, made plain: python -m adequa.encoders.converters.skip_thought.

The word tables come as plain NumPy arrays in some releases, and as pickled objects in others,
which the encoder does not read. This writes a new folder with the tables as plain arrays of 32-bit
numbers, the dictionary, and those weights that the encoder needs. Unpickling is restricted to
arrays and plain values; see `plain_table`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adequa.encoders.converters.plain_table import table_of
from adequa.encoders.recurrent import read_arrays, write_arrays
from adequa.encoders.skip_thought import DICTIONARY, TABLE_FILES, WEIGHT_FILES, weight_names
from adequa.encoders.word_vector_files import dictionary_words
from adequa.errors import AdequaError
from adequa.io.atomic import atomic_folder


def convert(folder: Path, new_folder: Path) -> tuple[str, ...]:
    """Write the models that a folder holds into a new one, and say which: uni, bi or both."""
    models = tuple(name for name, file in WEIGHT_FILES.items() if (folder / file).exists())
    if not models:
        raise AdequaError(f"{folder} holds neither {' nor '.join(WEIGHT_FILES.values())}.")
    words = dictionary_words(folder / DICTIONARY)
    with atomic_folder(new_folder) as target:
        (target / DICTIONARY).write_bytes("".join(f"{word}\n" for word in words).encode())
        for name in models:
            weights = read_arrays(folder / WEIGHT_FILES[name], weight_names(name))
            write_arrays(target / WEIGHT_FILES[name], weights)
            table = table_of(folder / TABLE_FILES[name], words)
            np.save(target / TABLE_FILES[name], table, allow_pickle=False)
    return models


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 when all went well, 2 after a sentence on what was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m adequa.encoders.converters.skip_thought",
        description="Make a published Skip-Thought folder plain, for skip-thought:FOLDER.",
    )
    parser.add_argument("folder", type=Path, help=f"holds {DICTIONARY}, *_skip.npz and *table.npy")
    parser.add_argument("new_folder", type=Path, help="to write; must not be there yet")
    given = parser.parse_args(arguments)
    try:
        models = convert(given.folder, given.new_folder)
    except AdequaError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    mode = "combine" if len(models) > 1 else models[0]
    print(f"Use it as skip-thought:{given.new_folder},mode={mode}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
