"""Word vectors: a GloVe or word2vec file, kept as a memory-mapped table that opens at once.

The first use of a file writes its table into the cache folder; later uses only map it. Words are
found by their hash in a sorted array and verified by their spelling, so that two million words
cost no Python object each. Where a file has a word twice, the first counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from adequa.datasets.cache import cache_folder
from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vector_files import Rows, read_rows
from adequa.errors import AdequaError, nearest
from adequa.io.text import Advance, ignore
from adequa.runtime.batches import distinct

_LAYOUT = 2  # raised when the files of a table change
_FIRST_WORDS = 10_000  # which show whether a table is lower-cased
_CASED_SHARE = 0.01  # of them, beyond which it is not
_ARRAYS: dict[str, str] = {"vectors": "<f4", "hashes": "<u8", "rows": "<i8", "ends": "<i8"}

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A table of word vectors, mapped from disk.

    `rows(words)` says where words are, and `vectors[rows]` are their vectors.
    """

    path: Path
    # A digest of the file's content, as it is before compression.
    fingerprint: str
    # Whether more than a few of the first words have upper-case letters.
    cased: bool
    # One row a word, in the order of the file.
    vectors: npt.NDArray[np.float32] = field(repr=False)
    # The hashes of all words, sorted, and the row of each.
    _hashes: npt.NDArray[np.uint64] = field(repr=False)
    _rows: npt.NDArray[np.int64] = field(repr=False)
    # The bytes of all words on end, and where each ends.
    _spelling: npt.NDArray[np.uint8] = field(repr=False)
    _ends: npt.NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    def rows(self, words: Sequence[str]) -> Positions:
        """The row of each word; -1 for words that the table does not have."""
        sought = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = _word_hashes(sought)
        left = np.searchsorted(self._hashes, hashes, side="left")
        right = np.searchsorted(self._hashes, hashes, side="right")
        found = np.full(len(words), -1, dtype=np.intp)
        for at in np.flatnonzero(right > left):
            # More than one candidate only where a word comes twice or two words share a hash.
            for candidate in range(left[at], right[at]):
                row = int(self._rows[candidate])
                if self._word(row) == sought[at]:
                    found[at] = row
                    break
        return found

    def _word(self, row: int) -> bytes:
        start = int(self._ends[row - 1]) if row else 0
        return self._spelling[start : int(self._ends[row])].tobytes()


def load_word_vectors(path: str | Path, *, advance: Advance = ignore) -> WordVectors:
    """The table of a word-vector file; `advance` is told the bytes read while it is first built."""
    source = Path(path)
    if not source.is_file():
        problem = "is a folder, not a file" if source.is_dir() else "is not there"
        raise AdequaError(f"{path} {problem}; name a GloVe or word2vec file, text or binary.")
    source = source.resolve()
    folder = _table_folder(source)
    table = _opened(source, folder)
    if table is not None:
        return table
    _built(source, folder, advance)
    table = _opened(source, folder)
    if table is None:
        raise AdequaError(f"The table of {source} in {folder} cannot be read back; delete it.")
    return table


def _table_folder(source: Path) -> Path:
    """Where the table of a file is kept, by its path and by what tells that it has changed."""
    status = source.stat()
    named = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    state = f"{_LAYOUT} {status.st_size} {status.st_mtime_ns}"
    changed = hashlib.sha256(state.encode()).hexdigest()[:16]
    return cache_folder() / "word-vectors" / f"{named}-{changed}"


def _opened(source: Path, folder: Path) -> WordVectors | None:
    """The table in a folder; None where there is none, or one with missing or cut files."""
    try:
        described: dict[str, Any] = json.loads((folder / "table.json").read_text("utf-8"))
        words, dimension = int(described["words"]), int(described["dimension"])
        mapped = {name: _mapped(folder / f"{name}.bin", kind) for name, kind in _ARRAYS.items()}
        spelling = _mapped(folder / "spelling.bin", "u1")
        whole = (
            len(mapped["vectors"]) == words * dimension
            and all(len(mapped[name]) == words for name in ("hashes", "rows", "ends"))
            and len(spelling) == int(described["letters"])
        )
        if not whole:
            return None
        return WordVectors(
            source,
            str(described["sha256"]),
            bool(described["cased"]),
            mapped["vectors"].reshape(words, dimension),
            mapped["hashes"],
            mapped["rows"],
            spelling,
            mapped["ends"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mapped(path: Path, kind: str) -> npt.NDArray[Any]:
    """A file as an array; a plain one, because NumPy's mapped ones are slow to pick from."""
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))


def _built(source: Path, folder: Path, advance: Advance) -> None:
    """Write the table of a file into a folder, which appears only when all is written."""
    part = folder.with_name(f".{folder.name}-{os.urandom(6).hex()}.part")
    try:
        part.mkdir(parents=True)
        _write_table(source, part, advance)
        _take_place(part, folder)
    except OSError as error:
        raise AdequaError(
            f"The table of {source} cannot be written to {folder.parent}: "
            f"{error.strerror or error}. ADEQUA_CACHE names another folder to keep it in."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    earlier = folder.name.partition("-")[0]
    for stale in folder.parent.glob(f"{earlier}-*"):
        if stale.name != folder.name:
            shutil.rmtree(stale, ignore_errors=True)  # of the same file before it changed


def _take_place(part: Path, folder: Path) -> None:
    for _ in range(3):
        with suppress(OSError):
            part.rename(folder)
            return
        if _opened(part, folder) is not None:
            return  # another process was quicker
        damaged = folder.with_name(f".{folder.name}-{os.urandom(6).hex()}.old")
        with suppress(FileNotFoundError):
            folder.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    part.rename(folder)


def _write_table(source: Path, part: Path, advance: Advance) -> None:
    content = hashlib.sha256()
    hashes: list[npt.NDArray[np.uint64]] = []
    lengths: list[npt.NDArray[np.int64]] = []
    upper, words, dimension = 0, 0, 0
    with (
        (part / "vectors.bin").open("wb") as numbers,
        (part / "spelling.bin").open("wb") as letters,
    ):
        for rows in read_rows(source, content, advance):
            numbers.write(rows.vectors.astype("<f4", copy=False).tobytes())
            letters.write(b"".join(rows.words))
            hashes.append(_word_hashes(rows.words))
            lengths.append(np.array([len(word) for word in rows.words], dtype=np.int64))
            upper += _upper_case(rows, _FIRST_WORDS - words)
            words += len(rows.words)
            dimension = rows.vectors.shape[1]
        _settle(numbers)
        _settle(letters)
    unsorted = np.concatenate(hashes)
    order = np.argsort(unsorted, kind="stable")  # stable: the first of equal words stays first
    ends = np.cumsum(np.concatenate(lengths))
    for name, array in (("hashes", unsorted[order]), ("rows", order), ("ends", ends)):
        with (part / f"{name}.bin").open("wb") as file:
            file.write(array.astype(_ARRAYS[name]).tobytes())
            _settle(file)
    described = {
        "words": words,
        "dimension": dimension,
        "letters": int(ends[-1]),
        # A few marks such as UNK do not make a table of lower-case words a cased one.
        "cased": upper > _CASED_SHARE * min(words, _FIRST_WORDS),
        "sha256": content.hexdigest(),
        "source": str(source),
    }
    with (part / "table.json").open("wb") as file:
        file.write(json.dumps(described, indent=1).encode())
        _settle(file)


def _settle(file: BinaryIO) -> None:
    """See a file to the disk, so that a table that is there is whole even after a crash."""
    file.flush()
    os.fsync(file.fileno())


def _upper_case(rows: Rows, count: int) -> int:
    """How many of the first words, at most so many, are not in lower case."""
    texts = (word.decode("utf-8", "replace") for word in rows.words[: max(count, 0)])
    return sum(text != text.lower() for text in texts)


def _word_hashes(words: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(word, digest_size=8).digest() for word in words)
    return np.frombuffer(digests, dtype="<u8")


Splitter = Callable[[str], list[str]]

_SACREBLEU = ("13a", "intl", "zh", "char")
_TOKENIZERS = ("treebank", "plain", *_SACREBLEU, "none")
_LOWERCASE = {"auto": None, "true": True, "false": False}
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_PLAIN = re.compile(r"\w+|[^\w\s]")
_CHUNK = 4096  # sentences at a time, which bounds the memory that their words take


class BagOfWords(Encoder):
    """The mean of word vectors."""

    is_quick = True

    def __init__(self, table: WordVectors, *, lowercase: bool, tokenize: str) -> None:
        self.table = table
        self.lowercase = lowercase
        self.tokenize = tokenize
        self.path = table.path
        self.name = f"{table.path.name}.mean"
        self.dimension = table.dimension
        settings = f"tokenize={tokenize},lowercase={str(lowercase).lower()}"
        self.specification = f"words:{table.path},{settings}"
        described = json.dumps(["words", 1, table.fingerprint, settings])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()
        self._splitter = _splitter(tokenize)

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", tokenize: str = "treebank") -> BagOfWords:
        """Read a GloVe or word2vec file, or its table in the cache folder.

        `lowercase=auto` lower-cases exactly where the first ten thousand words of the file have
        no upper-case letter.
        """
        if lowercase not in _LOWERCASE:
            raise AdequaError(f"words: lowercase must be auto, true or false, not {lowercase!r}.")
        if tokenize not in _TOKENIZERS:
            raise AdequaError(
                f'words: there is no tokenizer named "{tokenize}".{nearest(tokenize, _TOKENIZERS)}'
                f" There are {', '.join(_TOKENIZERS)}."
            )
        table = load_word_vectors(Path(path))
        chosen = _LOWERCASE[lowercase]
        return cls(
            table, lowercase=not table.cased if chosen is None else chosen, tokenize=tokenize
        )

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        done = 0
        for words, rows in self._chunks(sentences):
            vectors[done : done + len(words)] = self._means(words, rows)
            done += len(words)
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        counts: list[int] = []
        unknown: list[tuple[str, ...]] = []
        for words, rows in self._chunks(sentences):
            known = iter((rows >= 0).tolist())
            counts += map(len, words)
            unknown += [tuple(word for word in some if not next(known)) for some in words]
        return Coverage(tuple(counts), tuple(unknown))

    def _chunks(self, sentences: Sequence[str]) -> Iterator[tuple[list[list[str]], Positions]]:
        """The words of some sentences at a time, and the rows of all these words on end."""
        for start in range(0, len(sentences), _CHUNK):
            words = [self.split(text) for text in sentences[start : start + _CHUNK]]
            different, at = distinct(list(chain.from_iterable(words)))
            yield words, self.table.rows(different)[at]

    def split(self, sentence: str) -> list[str]:
        """The words of a sentence, as they are looked up."""
        return self._splitter(sentence.lower() if self.lowercase else sentence)

    def _means(self, words: list[list[str]], rows: Positions) -> npt.NDArray[np.float64]:
        """Counts of words times vectors, over the number of known words."""
        sentence = np.repeat(np.arange(len(words)), [len(some) for some in words])[rows >= 0]
        # The rows are sorted, so the order of summation depends on the sentence alone.
        used, at = np.unique(rows[rows >= 0], return_inverse=True)
        counts = csr_matrix(
            (np.ones(len(at)), (sentence, at)), shape=(len(words), len(used)), dtype=np.float64
        )
        known = np.bincount(sentence, minlength=len(words))
        sums: npt.NDArray[np.float64] = counts @ self.table.vectors[used].astype(np.float64)
        return sums / np.maximum(known, 1)[:, None]


def _splitter(tokenize: str) -> Splitter:
    if tokenize == "treebank":
        return _english_words
    if tokenize == "plain":
        return _plain_words
    if tokenize == "none":
        return str.split
    from sacrebleu import BLEU  # noqa: PLC0415  # slow to import

    return partial(_split_by, BLEU(tokenize=tokenize).tokenizer)


def _split_by(tokenizer: Callable[[str], str], text: str) -> list[str]:
    return tokenizer(text).split()


def _plain_words(text: str) -> list[str]:
    """Runs of letters and digits; any other character that shows is a word.

    >>> _plain_words("It’s well-known: 3.5!")
    ['It', '’', 's', 'well', '-', 'known', ':', '3', '.', '5', '!']
    """
    return _PLAIN.findall(text)


def _english_words(text: str) -> list[str]:
    """Treebank words; a typographic apostrophe is one too.

    >>> _english_words("It’s Anna's.")
    ['It', "'s", 'Anna', "'s", '.']
    """
    return treebank_words(text.translate(_APOSTROPHES))
