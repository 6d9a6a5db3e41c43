"""Word vectors: a GloVe or word2vec file as a memory-mapped table, and the mean of its vectors.

The first use of a file writes its table into the cache folder; later uses only map it. Words are
looked up by their hash in a sorted array and verified by their spelling, so that two million words
need no Python objects. Where a file has a word twice, the first one counts.

The encoder `words` represents a sentence by the mean of the vectors of its words. Words are split
by rules. InferSent, Skip-Thought and Quick-Thought were trained on words that NLTK's
`word_tokenize` had split as in the Penn Treebank: punctuation by itself, `do n't`, `it 's`, `` and
'' for straight quotation marks. `treebank_words` gives the same words, except for odd quotation
marks, without NLTK, which needs a download to find where sentences end. A full stop inside a text
is split off its word where a capital letter follows and the word is no well-known abbreviation.
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
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Coverage, Encoder, Vectors
from adequa.encoders.word_vector_files import Rows, read_rows
from adequa.errors import AdequaError, nearest
from adequa.io.storage import cache_folder
from adequa.io.text import BOOLEANS, Advance, ignore
from adequa.runtime.batching import distinct

_LAYOUT = 2  # increment when the files of a table change
_FIRST_WORDS = 10_000  # that are examined to tell whether a table is lower-cased
_CASED_FRACTION = 0.01  # of them with upper case, above which it is not
_ARRAYS: dict[str, str] = {"vectors": "<f4", "hashes": "<u8", "rows": "<i8", "ends": "<i8"}

RowNumbers = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A table of word vectors, mapped from disk.

    `rows(words)` looks words up, and `vectors[rows]` are their vectors.
    """

    path: Path
    # Digest of the uncompressed content of the file.
    fingerprint: str
    # Whether more than a few of the first words have upper-case letters.
    cased: bool
    # One row per word, in the order of the file.
    vectors: npt.NDArray[np.float32] = field(repr=False)
    # The hashes of all words, sorted, and the row of each.
    _hashes: npt.NDArray[np.uint64] = field(repr=False)
    _rows: npt.NDArray[np.int64] = field(repr=False)
    # The bytes of all words, concatenated, and the end of each.
    _spelling: npt.NDArray[np.uint8] = field(repr=False)
    _ends: npt.NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def rows(self, words: Sequence[str]) -> RowNumbers:
        """Return the row of each word; -1 for words that are not in the table."""
        queries = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = _word_hashes(queries)
        left = np.searchsorted(self._hashes, hashes, side="left")
        right = np.searchsorted(self._hashes, hashes, side="right")
        rows = np.full(len(words), -1, dtype=np.intp)
        for index in np.flatnonzero(right > left):
            # More than one candidate only where a word comes twice or two words share a hash.
            for candidate in range(left[index], right[index]):
                row = int(self._rows[candidate])
                if self._word(row) == queries[index]:
                    rows[index] = row
                    break
        return rows

    def _word(self, row: int) -> bytes:
        start = int(self._ends[row - 1]) if row else 0
        return self._spelling[start : int(self._ends[row])].tobytes()


def load_word_vectors(path: str | Path, *, advance: Advance = ignore) -> WordVectors:
    """Load the table of a word-vector file; build it at the first use.

    `advance` is called with the number of bytes read while the table is built.
    """
    source = Path(path)
    if not source.is_file():
        problem = "is a folder, not a file" if source.is_dir() else "is not there"
        raise AdequaError(f"{path} {problem}; name a GloVe or word2vec file, text or binary.")
    source = source.resolve()
    folder = _table_folder(source)
    try:
        return _open_table(source, folder)
    except (OSError, ValueError):  # absent, or cleaned away in part
        shutil.rmtree(folder, ignore_errors=True)
        _build_table(source, folder, advance)
        return _open_table(source, folder)


def _table_folder(source: Path) -> Path:
    """Return the folder of a file's table, by the path, size and time of change of the file."""
    status = source.stat()
    name = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    state = f"{_LAYOUT} {status.st_size} {status.st_mtime_ns}"
    version = hashlib.sha256(state.encode()).hexdigest()[:16]
    return cache_folder() / "word-vectors" / f"{name}-{version}"


def _open_table(source: Path, folder: Path) -> WordVectors:
    """Open the table in a folder."""
    header: dict[str, Any] = json.loads((folder / "table.json").read_text("utf-8"))
    arrays = {name: _map_file(folder / f"{name}.bin", kind) for name, kind in _ARRAYS.items()}
    return WordVectors(
        source,
        header["sha256"],
        header["cased"],
        arrays["vectors"].reshape(header["words"], header["dimension"]),
        arrays["hashes"],
        arrays["rows"],
        _map_file(folder / "spelling.bin", "u1"),
        arrays["ends"],
    )


def _map_file(path: Path, dtype: str) -> npt.NDArray[Any]:
    """Map a file as a plain array: `numpy.memmap` objects are slow to index."""
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def _build_table(source: Path, folder: Path, advance: Advance) -> None:
    """Write the table of a file into a folder, which appears only when all is written."""
    part = folder.with_name(f".{folder.name}-{os.urandom(6).hex()}.part")
    try:
        part.mkdir(parents=True)
        _write_table(source, part, advance)
        with suppress(OSError):  # another process was faster
            part.rename(folder)
    except OSError as error:
        raise AdequaError(
            f"The table of {source} cannot be written to {folder.parent}: "
            f"{error.strerror or error}. ADEQUA_CACHE names another folder to keep it in."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    name = folder.name.partition("-")[0]
    for stale in folder.parent.glob(f"{name}-*"):
        if stale.name != folder.name:
            shutil.rmtree(stale, ignore_errors=True)  # of the same file before it changed


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
    unsorted = np.concatenate(hashes)
    order = np.argsort(unsorted, kind="stable")  # stable: the first of equal words stays first
    ends = np.cumsum(np.concatenate(lengths))
    for name, array in (("hashes", unsorted[order]), ("rows", order), ("ends", ends)):
        (part / f"{name}.bin").write_bytes(array.astype(_ARRAYS[name]).tobytes())
    header = {
        "words": words,
        "dimension": dimension,
        # A few marks such as UNK do not make a table of lower-case words a cased one.
        "cased": upper > _CASED_FRACTION * min(words, _FIRST_WORDS),
        "sha256": content.hexdigest(),
        "source": str(source),
    }
    (part / "table.json").write_text(json.dumps(header, indent=1), "utf-8")


def _upper_case(rows: Rows, count: int) -> int:
    """Count the words that are not in lower case among the first `count`."""
    texts = (word.decode("utf-8", "replace") for word in rows.words[: max(count, 0)])
    return sum(text != text.lower() for text in texts)


def _word_hashes(words: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(word, digest_size=8).digest() for word in words)
    return np.frombuffer(digests, dtype="<u8")


def is_lowercased(table: WordVectors, lowercase: str) -> bool:
    """Return whether to lower-case words, by a setting; `auto` does so where the table does."""
    values = {"auto": not table.cased, **BOOLEANS}
    if lowercase.lower() not in values:
        raise AdequaError(f"words: lowercase must be auto, true or false, not {lowercase!r}.")
    return values[lowercase.lower()]


_CHUNK = 4096  # sentences at a time, which bounds the memory that their words take


class BagOfWords(Encoder):
    """The mean of word vectors.

    Words are split as the English texts behind GloVe were, punctuation and clitics by themselves,
    and lower-cased where nearly all words of the table are. Words that are not in the table are
    left out; a sentence without any known word is the zero vector.
    """

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
        content = json.dumps(["words", 1, table.fingerprint, settings])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()
        self._tokenizer = word_tokenizer(tokenize)

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", tokenize: str = "treebank") -> BagOfWords:
        """Read a GloVe or word2vec file, or its table in the cache folder.

        `lowercase=auto` lower-cases where at most 1% of the first ten thousand words of the file
        have an upper-case letter.
        """
        if tokenize not in WORD_TOKENIZERS:
            raise AdequaError(
                f'words: there is no tokenizer named "{tokenize}".'
                f"{nearest(tokenize, WORD_TOKENIZERS)} There are {', '.join(WORD_TOKENIZERS)}."
            )
        table = load_word_vectors(Path(path))
        return cls(table, lowercase=is_lowercased(table, lowercase), tokenize=tokenize)

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        done = 0
        for words, rows in self._chunks(sentences):
            vectors[done : done + len(words)] = self._means(words, rows)
            done += len(words)
        return vectors

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        counts: list[int] = []
        unknown: list[tuple[str, ...]] = []
        for words, rows in self._chunks(sentences):
            in_vocabulary = iter((rows >= 0).tolist())
            counts += map(len, words)
            unknown += [tuple(word for word in each if not next(in_vocabulary)) for each in words]
        return Coverage(tuple(counts), tuple(unknown))

    def _chunks(self, sentences: Sequence[str]) -> Iterator[tuple[list[list[str]], RowNumbers]]:
        """Yield the words of each sentence of a chunk, and the rows of all words of the chunk."""
        for start in range(0, len(sentences), _CHUNK):
            words = [self.split(text) for text in sentences[start : start + _CHUNK]]
            unique, index = distinct(list(chain.from_iterable(words)))
            yield words, self.table.rows(unique)[index]

    def split(self, sentence: str) -> list[str]:
        """Split a sentence into words, in the form in which they are looked up."""
        return self._tokenizer(sentence.lower() if self.lowercase else sentence)

    def _means(self, words: list[list[str]], rows: RowNumbers) -> npt.NDArray[np.float64]:
        """Return the sum of the vectors of each sentence over the number of known words."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415  # slow to import

        sentence = np.repeat(np.arange(len(words)), [len(each) for each in words])[rows >= 0]
        # The rows are sorted, so the order of summation depends on the sentence alone.
        used, column = np.unique(rows[rows >= 0], return_inverse=True)
        counts = csr_matrix(
            (np.ones(len(column)), (sentence, column)),
            shape=(len(words), len(used)),
            dtype=np.float64,
        )
        word_count = np.bincount(sentence, minlength=len(words))
        sums: npt.NDArray[np.float64] = counts @ self.table.vectors[used].astype(np.float64)
        return sums / np.maximum(word_count, 1)[:, None]


# Words of a text.

_SINGLE: Final = r"\[\](){}<>?!;@#$%&*‒–—―«»“”‘’„"
_PIECE: Final = re.compile(
    rf"""\.{{2,}} | -- | `+ | '' | " | [{_SINGLE}] | [:,](?!\d)
    | (?: [^\s{_SINGLE}`".,:'-] | \.(?!\.) | [:,](?=\d) | -(?!-) | '(?!') )+""",
    re.VERBOSE,
)
_OPENING: Final = re.compile(r"""(?:^|(?<=[\s(\[{<]))(?:"|'')""")
_FINAL_STOP: Final = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’\s]*$)""")
_INNER_STOP: Final = re.compile(r"""(\S+)\.(?=[\])}>"'»”’]*\s+[(\["'“‘«]*[^\W\d_])""")
_CLITIC: Final = re.compile(r"(.*[^'])('[sSmMdD]|'ll|'LL|'re|'RE|'ve|'VE|n't|N'T|')")
_OPENING_APOSTROPHE: Final = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_CONTRACTIONS: Final = {  # where each is split
    "cannot": 3,
    "d'ye": 1,
    "gimme": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "more'n": 4,
    "wanna": 3,
}
_ABBREVIATION_LIST: Final = (
    "adm brig capt cmdr co col corp dr drs e.g etc gen gov hon i.e inc jr lt ltd maj messrs "
    "mr mrs ms mt prof rep rev sen sgt sr st ste vs jan feb mar apr aug sept oct nov "
    "dec"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATION_LIST.split())


def treebank_words(text: str) -> list[str]:
    """Split a text into words.

    >>> treebank_words('He didn\\'t say "No." Mr. Wu\\'s cat cannot.')
    ['He', 'did', "n't", 'say', '``', 'No', '.', "''", 'Mr.', 'Wu', "'s", 'cat', 'can', 'not', '.']
    >>> treebank_words("It costs $3,500.50 (roughly), in the U.S. -- or so...")[:8]
    ['It', 'costs', '$', '3,500.50', '(', 'roughly', ')', ',']
    """
    marked = _OPENING.sub(" `` ", text)
    marked = _FINAL_STOP.sub(" . ", _INNER_STOP.sub(_split_stop, marked))
    words: list[str] = []
    for piece in _PIECE.findall(marked):
        words += _split_clitics(piece)
    return words


def _split_stop(match: re.Match[str]) -> str:
    """Split the full stop off a word where a sentence ends: before a capital letter."""
    word = match[1]
    if not _next_letter(match).isupper():
        return match[0]
    bare = word.lstrip("([{<\"'“‘«`")
    is_abbreviation = len(bare) == 1 or bare.lower() in _ABBREVIATIONS or "." in bare
    return match[0] if is_abbreviation and not bare.isdigit() else f"{word} . "


def _next_letter(match: re.Match[str]) -> str:
    """Return the first letter after the stop; the pattern ensures that there is one."""
    rest = match.string[match.end() :]
    return next(letter for letter in rest if letter.isalpha())


def _split_clitics(piece: str) -> list[str]:
    """Split a piece without spaces into a word and its clitics."""
    if piece == '"':
        return ["''"]
    split = _CONTRACTIONS.get(piece.lower())
    if split is not None:
        return [piece[:split], piece[split:]]
    if _OPENING_APOSTROPHE.match(piece):
        return ["'", *_split_clitics(piece[1:])]
    clitic = _CLITIC.fullmatch(piece)
    return [clitic[1], clitic[2]] if clitic else [piece]


WORD_TOKENIZERS: Final = ("treebank", "plain", "13a", "intl", "zh", "char", "none")
_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")
_PLAIN: Final = re.compile(r"\w+|[^\w\s]")


def word_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into words; most names are those of sacreBLEU."""
    if name == "treebank":
        return _english_words
    if name == "plain":
        return _plain_words
    if name == "none":
        return str.split
    from sacrebleu import BLEU  # noqa: PLC0415  # slow to import

    return partial(_split_tokenized, BLEU(tokenize=name).tokenizer)


def _split_tokenized(tokenizer: Callable[[str], str], text: str) -> list[str]:
    return tokenizer(text).split()


def _plain_words(text: str) -> list[str]:
    """Split a text into runs of letters and digits, and single other visible characters.

    >>> _plain_words("It’s well-known: 3.5!")
    ['It', '’', 's', 'well', '-', 'known', ':', '3', '.', '5', '!']
    """
    return _PLAIN.findall(text)


def _english_words(text: str) -> list[str]:
    """Split a text into Treebank words, with typographic apostrophes as plain ones.

    >>> _english_words("It’s Anna's.")
    ['It', "'s", 'Anna', "'s", '.']
    """
    return treebank_words(text.translate(_APOSTROPHES))
