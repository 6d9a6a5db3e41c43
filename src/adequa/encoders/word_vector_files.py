"""Files of word vectors: GloVe text, word2vec text and binary, and a dictionary with an array.

GloVe and word2vec files are read in chunks of rows, compressed or not. The published Skip-Thought
and Quick-Thought models have a dictionary, one word per line, and a NumPy array with one row per
word.
"""

from __future__ import annotations

import warnings
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError, counted
from adequa.io.arrays import ArrayError, map_npy
from adequa.io.files import read_regular
from adequa.io.text import Advance, byte_blocks, ignore, whole_lines

_BLOCK = 1 << 22  # bytes
_OPENING = 1 << 18  # bytes from which the format is recognised
_LONGEST_WORD = 1 << 16  # bytes; a longer one means that the file is in another format


class Digest(Protocol):
    """A digest of all bytes that are read, such as a `hashlib` object."""

    def update(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A chunk of rows: words as bytes, and one vector each."""

    words: list[bytes]
    vectors: npt.NDArray[np.float32]


def read_rows(path: Path, digest: Digest, advance: Advance = ignore) -> Iterator[Rows]:
    """Yield the rows of a file, some thousands at a time; recognise its format by its content."""
    blocks = _update_digest(byte_blocks(path, advance=advance, block_size=_BLOCK), digest)
    opening = next(blocks, b"")
    while len(opening) < _OPENING and (more := next(blocks, b"")):
        opening += more
    opening = opening.removeprefix(BOM_UTF8)
    header = _header(opening)
    if header is None:
        yield from _text_rows(path, chain([opening], blocks), 0, None)
        return
    count, dimension, end = header
    blocks = chain([opening[end:]], blocks)
    if _is_binary(opening[end:], dimension):
        rows = _binary_rows(path, blocks, count, dimension)
    else:
        rows = _text_rows(path, blocks, 1, dimension)
    words = 0
    for chunk in rows:
        words += len(chunk.words)
        yield chunk
    if words != count:
        raise AdequaError(
            f"{path} has {words} words, but its first line says {count}: it is cut short or "
            "damaged, so get it again."
        )


def _update_digest(blocks: Iterator[bytes], digest: Digest) -> Iterator[bytes]:
    for block in blocks:
        digest.update(block)
        yield block


def _header(opening: bytes) -> tuple[int, int, int] | None:
    """Read the number of words and the dimension from a word2vec header, and where it ends."""
    end = opening.find(b"\n")
    fields = opening[:end].split() if 0 < end < 64 else []  # noqa: PLR2004  # two numbers
    if len(fields) != 2 or not all(field.isdigit() for field in fields):  # noqa: PLR2004
        return None
    count, dimension = map(int, fields)
    return (count, dimension, end + 1) if dimension else None


def _is_binary(rows: bytes, dimension: int) -> bool:
    """Tell whether numbers are written as bytes: then the first line does not parse as text."""
    line = rows[:_OPENING].partition(b"\n")[0].replace(b"\t", b" ").rstrip(b" \r")
    numbers = line.split(b" ")[1:][-dimension:]
    # Bytes may by chance look like one number, but hardly like more.
    return len(numbers) < min(dimension, 2) or not all(map(_is_number, numbers))


def _binary_rows(path: Path, blocks: Iterator[bytes], count: int, dimension: int) -> Iterator[Rows]:
    size, done, rest = 4 * dimension, 0, b""
    for block in blocks:
        data, position = rest + block, 0
        words: list[bytes] = []
        numbers: list[bytes] = []
        while done + len(words) < count:
            space = data.find(b" ", position)
            if space < 0 or space + 1 + size > len(data):
                break
            words.append(data[position:space].lstrip(b"\n"))  # some writers end rows with a newline
            position = space + 1 + size
            numbers.append(data[space + 1 : position])
        rest = data[position:]
        if len(rest) > size + _LONGEST_WORD and done + len(words) < count:
            raise AdequaError(
                f"{path} is no word2vec file of {dimension} numbers per word: what follows word "
                f"{done + len(words)} is not a word."
            )
        if words:
            vectors = np.frombuffer(b"".join(numbers), dtype="<f4").reshape(-1, dimension)
            _check_finite(f"{path}, word", vectors, done + 1)
            yield Rows(words, vectors)
            done += len(words)


def _text_rows(
    path: Path, blocks: Iterator[bytes], lines_before: int, dimension: int | None
) -> Iterator[Rows]:
    for block in whole_lines(blocks, str(path)):
        lines = block.replace(b"\t", b" ").split(b"\n")
        if not lines[-1]:
            lines.pop()
        lines = [line.rstrip(b" \r") for line in lines]
        dimension = dimension or _likely_dimension(path, lines)
        words, numbers = _split_lines(path, lines, dimension, lines_before)
        vectors = _parse_numbers(path, numbers, dimension, lines_before)
        _check_finite(f"{path}, line", vectors, lines_before + 1)
        yield Rows(words, vectors)
        lines_before += len(lines)
    if dimension is None:
        raise AdequaError(f"{path} is empty: it should hold a word and its vector on each line.")


def _likely_dimension(path: Path, lines: list[bytes]) -> int:
    """Return the most frequent number of fields; a few words of GloVe have spaces in them."""
    spaces = Counter(line.count(b" ") for line in lines).most_common(1)[0][0]
    if not spaces:
        raise AdequaError(
            f"{path}, line 1: there is no vector; a word and its numbers are written on one line, "
            "with spaces between them."
        )
    return spaces


def _split_lines(
    path: Path, lines: list[bytes], dimension: int, lines_before: int
) -> tuple[list[bytes], list[bytes]]:
    """Split lines into words and the text of their numbers."""
    words, numbers = [], []
    for line_number, line in enumerate(lines, start=lines_before + 1):
        word, _, rest = line.partition(b" ")
        if rest.count(b" ") != dimension - 1 or b"  " in rest:
            # From the right: the word itself may have spaces, the numbers have none.
            *front, rest = _last_fields(line, dimension)
            word = front[0] if front else b""
            if not front or _is_number(word.rpartition(b" ")[2] if b" " in word else b""):
                raise AdequaError(
                    f"{path}, line {line_number}: there are not {dimension} numbers after the word "
                    f'"{line[:40].partition(b" ")[0].decode("utf-8", "replace")}", '
                    "as there are on other lines."
                )
        words.append(word)
        numbers.append(rest)
    return words, numbers


def _last_fields(line: bytes, dimension: int) -> tuple[bytes, ...]:
    """Return the word and the text of its numbers, or the whole line where there are too few."""
    fields = line.rsplit(None, dimension)
    return (fields[0], b" ".join(fields[1:])) if len(fields) == dimension + 1 else (line,)


def _parse_numbers(
    path: Path, numbers: list[bytes], dimension: int, lines_before: int
) -> npt.NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions warn of what newer ones raise
        try:
            values = np.fromstring(b" ".join(numbers), dtype=np.float32, sep=" ")
        except ValueError:
            values = np.empty(0, dtype=np.float32)
    if values.size == len(numbers) * dimension:
        return values.reshape(-1, dimension)
    for line_number, text in enumerate(numbers, start=lines_before + 1):
        for field in text.split():
            if not _is_number(field):
                wrong = field.decode("utf-8", "replace")
                raise AdequaError(f'{path}, line {line_number}: "{wrong}" is not a number.')
    return np.array([text.split() for text in numbers], dtype=np.float32)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _check_finite(where: str, vectors: npt.NDArray[np.float32], first: int) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = first + int(np.flatnonzero(~finite)[0])
        raise AdequaError(f"{where} {row}: the vector has NaN or infinite numbers.")


_MATRIX = 2  # axes


@dataclass(frozen=True, slots=True)
class DictionaryTable:
    """Words of a dictionary file and their vectors, which are mapped from disk."""

    dictionary: Path
    row_of: dict[str, int]
    vectors: npt.NDArray[Any]

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def rows(self, words: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the row of each word; -1 for words that are not in the dictionary."""
        rows = (self.row_of.get(word, -1) for word in words)
        return np.fromiter(rows, dtype=np.intp, count=len(words))

    def vector(self, word: str) -> npt.NDArray[np.float32]:
        """Return the vector of a required word, such as the one for unknown words."""
        if word not in self.row_of:
            raise AdequaError(f'{self.dictionary} lacks the word "{word}", which is needed.')
        return np.array(self.vectors[self.row_of[word]], dtype=np.float32)


def open_table(dictionary: Path, table: Path, advice: str) -> DictionaryTable:
    """Open a dictionary and its array of as many rows.

    `advice` tells what to do with an array that was saved as Python objects, for the error.
    """
    words = dictionary_words(dictionary)
    vectors = _map_array(table, advice)
    if len(words) != len(vectors):
        raise AdequaError(
            f"{dictionary} has {counted(len(words), 'word')}, but {table} has "
            f"{counted(len(vectors), 'row')}; they must be of the same release."
        )
    return DictionaryTable(dictionary, {word: row for row, word in enumerate(words)}, vectors)


def dictionary_words(path: Path) -> list[str]:
    """Read the words of a dictionary file, one per line, in UTF-8.

    Only a line feed ends a line: some words hold other characters that Python takes for the end
    of a line.
    """
    try:
        lines = read_regular(path).removesuffix(b"\n").split(b"\n")
        words = [line.decode("utf-8").strip() for line in lines]
    except UnicodeDecodeError as error:
        raise AdequaError(f"{path} is not UTF-8 text, as a list of words should be.") from error
    return words if words != [""] else []


def _map_array(path: Path, advice: str) -> npt.NDArray[Any]:
    try:
        vectors = map_npy(path)
    except ArrayError as error:
        raise AdequaError(
            f"{path} is not a plain NumPy array of numbers; {advice}. The reason: {error}."
        ) from error
    if vectors.ndim != _MATRIX or not np.issubdtype(vectors.dtype, np.floating):
        raise AdequaError(
            f"{path} should hold one row of floating-point numbers per word, but it is of shape "
            f"{' × '.join(map(str, vectors.shape)) or '1'} and type {vectors.dtype}; {advice}."
        )
    return vectors
