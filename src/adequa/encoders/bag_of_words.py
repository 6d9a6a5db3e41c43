"""Bag of words: a sentence is the mean of the vectors of its words.

Words are split as the English texts behind GloVe were, punctuation and clitics by themselves, and
lower-cased where the table knows lower-cased words only. Words that the table lacks do not count;
a sentence without any known word is the zero vector.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.encoders.treebank import treebank_words
from adequa.encoders.word_vectors import Positions, WordVectors, load_word_vectors
from adequa.errors import AdequaError, nearest
from adequa.runtime.batches import distinct

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
