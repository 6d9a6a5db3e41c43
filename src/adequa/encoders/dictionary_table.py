"""Word vectors as a plain dictionary file and a NumPy array: line n names the word of row n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.text import unreadable

_TABLE = 2  # axes


@dataclass(frozen=True, slots=True)
class DictionaryTable:
    """Words and their vectors, the vectors left on disk until they are asked for."""

    dictionary: Path
    row_of: dict[str, int]
    vectors: npt.NDArray[Any]

    @property
    def dimension(self) -> int:
        """Numbers in the vector of a word."""
        return int(self.vectors.shape[1])

    def rows(self, words: Sequence[str]) -> npt.NDArray[np.intp]:
        """The row of each word; -1 for words that the dictionary does not have."""
        found = (self.row_of.get(word, -1) for word in words)
        return np.fromiter(found, dtype=np.intp, count=len(words))

    def vector(self, word: str) -> npt.NDArray[np.float32]:
        """The vector of a word that must be there, such as the one for unknown words."""
        if word not in self.row_of:
            raise AdequaError(f'{self.dictionary} lacks the word "{word}", which is needed.')
        return np.array(self.vectors[self.row_of[word]], dtype=np.float32)


def open_table(dictionary: Path, table: Path, advice: str) -> DictionaryTable:
    """The words of a dictionary with the vectors of a table, which must be as many.

    `advice` says what to do with an array that was saved as Python objects.
    """
    words = dictionary_words(dictionary)
    vectors = _mapped(table, advice)
    if len(words) != len(vectors):
        raise AdequaError(
            f"{dictionary} has {len(words)} words, but {table} has {len(vectors)} rows; they must "
            "be of the same release."
        )
    return DictionaryTable(dictionary, {word: row for row, word in enumerate(words)}, vectors)


def dictionary_words(path: Path) -> list[str]:
    """The words of a dictionary file, one a line, in UTF-8.

    Only a line feed ends a line: some words hold other characters that Python would take for
    the end of a line.
    """
    try:
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
        words = [line.decode("utf-8").strip() for line in lines]
    except UnicodeDecodeError as error:
        raise AdequaError(f"{path} is not UTF-8 text, as a list of words should be.") from error
    except OSError as error:
        raise unreadable(str(path), error) from error
    return words if words != [""] else []


def _mapped(path: Path, advice: str) -> npt.NDArray[Any]:
    try:
        vectors = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise unreadable(str(path), error) from error
    except (ValueError, EOFError) as error:
        raise AdequaError(f"{path} is not a plain NumPy array of numbers; {advice}.") from error
    if vectors.ndim != _TABLE or not np.issubdtype(vectors.dtype, np.floating):
        raise AdequaError(
            f"{path} should hold one row of floating-point numbers a word, but it is of shape "
            f"{' × '.join(map(str, vectors.shape)) or '1'} and type {vectors.dtype}; {advice}."
        )
    return vectors
