"""Vectors of the words of trees: from word-vector files, or from a frozen transformer.

Written `words:FILE` or `transformer:MODEL`, with settings written like those of encoders. Vectors
are for words as a parser has split them, so that every node of a tree has one.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.device import torch_device
from adequa.encoders.parses import Parses
from adequa.encoders.registry import format_specification, load_from
from adequa.encoders.transformer import longest_input
from adequa.encoders.transformer_files import (
    digests,
    load_model,
    load_tokenizer,
    model_files,
    model_folder,
)
from adequa.encoders.word_vectors import WordVectors, is_lowercased, load_word_vectors
from adequa.errors import AdequaError, nearest, one_or_more
from adequa.metrics.base import Remark, render_remarks
from adequa.runtime.batching import batches_by_length, distinct
from adequa.segments import IntArray, check_characters

Table = npt.NDArray[np.floating[Any]]  # one row per vector

# The class of each kind of vectors; each has `load(path, **settings)`.
TOKEN_VECTORS = {
    "words": "adequa.encoders.token_vectors:WordVectorTable",
    "transformer": "adequa.encoders.token_vectors:TransformerTokens",
}
_FIRST_ROWS = 10_000  # of a table, whose standard deviation scales the vectors of unknown words
_LEVELS = 1 << 16  # values that a number of a spelling vector can take


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Vectors of words: a table, and the row of each word in it."""

    table: Table
    rows: IntArray
    in_vocabulary: npt.NDArray[np.bool_]  # which words have a vector of their own


class TokenVectors(ABC):
    """Assigns a vector to every word of a tree."""

    # The argument from which `load_token_vectors` loads the same vectors, with the full path.
    specification: str
    # A short name for tables and signatures.
    name: str
    # Length of a vector.
    dimension: int
    # Hexadecimal digest of everything that changes the vectors.
    fingerprint: str
    # Whether the vector of a word depends on its sentence.
    is_contextual: bool = False

    @abstractmethod
    def look_up(self, parses: Parses) -> Lexicon:
        """Return the vectors of all words, in the order of the parses."""

    def remarks(self) -> tuple[str, ...]:
        """Return notes for the user about the vectors."""
        return render_remarks(self.counted_remarks())

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return the notes with their counts, which can be added up over workers."""
        return ()


def load_token_vectors(
    specifications: str | Sequence[str], device: str = "auto", *, download: bool = False
) -> TokenVectors:
    """Load the vectors that the specifications name; those of several are concatenated.

    Specifications are those of encoders. Networks run on the device, unless the specification
    names another.
    """
    parts = [
        _load(specification, device, download) for specification in one_or_more(specifications)
    ]
    if not parts:
        raise AdequaError(f"Name vectors as KIND:PATH; the kinds are {', '.join(TOKEN_VECTORS)}.")
    return parts[0] if len(parts) == 1 else JoinedVectors(parts)


def _load(specification: str, device: str, download: bool) -> TokenVectors:
    def vectors_class(kind: str) -> Any:
        if kind not in TOKEN_VECTORS:
            raise AdequaError(
                f'There are no word vectors of the kind "{kind}".{nearest(kind, TOKEN_VECTORS)} '
                f"Write KIND:PATH; the kinds are {', '.join(TOKEN_VECTORS)}."
            )
        module, _, attribute = TOKEN_VECTORS[kind].partition(":")
        return getattr(import_module(module), attribute)

    defaults = {} if device == "auto" else {"device": device}
    defaults |= {"download": "true"} if download else {}
    loaded: TokenVectors = load_from(specification, vectors_class, defaults)
    return loaded


class WordVectorTable(TokenVectors):
    """The vectors of a GloVe or word2vec file.

    A word is looked up as it is written and in lower case, and in a table with upper case also
    with a capital letter. A word that is not in the table has a vector that depends on its
    spelling, with `unknown` times the standard deviation of the table, so that a network can
    recognise the same name in two sentences; at 0 all unknown words are alike.
    """

    def __init__(self, table: WordVectors, *, lowercase: bool, unknown: float) -> None:
        self._table = table
        self._lowercase = lowercase
        self._std = unknown * float(table.vectors[:_FIRST_ROWS].std(dtype=np.float64))
        self.name = table.path.name
        self.dimension = table.dimension
        settings = {"lowercase": str(lowercase).lower(), "unknown": f"{unknown:g}"}
        self.specification = format_specification("words", str(table.path), settings)
        content = json.dumps(["word table", 1, table.fingerprint, settings])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", unknown: str = "0.1") -> WordVectorTable:
        """Read a file, or its table in the cache folder.

        `lowercase=auto` looks for lower-cased words alone where the file has no others.
        """
        table = load_word_vectors(Path(path))
        try:
            scale = float(unknown)
        except ValueError:
            scale = -1.0
        if not 0 <= scale <= 1:
            raise AdequaError(f"words: unknown must be a number from 0 to 1, not {unknown!r}.")
        return cls(table, lowercase=is_lowercased(table, lowercase), unknown=scale)

    def look_up(self, parses: Parses) -> Lexicon:
        words, index = distinct(parses.words)
        rows = self._rows(words)
        in_vocabulary = rows >= 0
        vectors = np.empty((len(words), self.dimension), dtype=np.float32)
        vectors[in_vocabulary] = self._table.vectors[rows[in_vocabulary]]
        missing = [words[row] for row in np.flatnonzero(~in_vocabulary)]
        vectors[~in_vocabulary] = self._std * spelling_vectors(missing, self.dimension)
        return Lexicon(vectors, index, in_vocabulary[index])

    def _rows(self, words: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the row of the first form of each word that is in the table; or -1."""
        rows = np.full(len(words), -1, dtype=np.intp)
        for form in self._forms():
            missing = np.flatnonzero(rows < 0)
            rows[missing] = self._table.rows([form(words[row]) for row in missing.tolist()])
        return rows

    def _forms(self) -> Iterator[Callable[[str], str]]:
        if not self._lowercase:
            yield str
        yield str.lower
        if not self._lowercase:
            yield str.capitalize


def spelling_vectors(words: Sequence[str], dimension: int) -> npt.NDArray[np.float32]:
    """Return a vector a word that depends on its spelling alone, without regard to case.

    The numbers are uniform, with mean 0 and standard deviation 1. They are digits of a digest, and
    so the same with every version of NumPy.

    >>> bool((spelling_vectors(["Brno"], 3) == spelling_vectors(["BRNO"], 3)).all())
    True
    """
    spellings = [word.lower().encode("utf-8", "surrogatepass") for word in words]
    digits = b"".join(hashlib.shake_256(word).digest(2 * dimension) for word in spellings)
    integers = np.frombuffer(digits, dtype="<u2").reshape(len(words), dimension)
    centred = (integers.astype(np.float32) + 0.5) / _LEVELS - 0.5
    return np.asarray(centred * np.float32(12**0.5), dtype=np.float32)


class JoinedVectors(TokenVectors):
    """The vectors of several sources, concatenated for each word."""

    def __init__(self, parts: Sequence[TokenVectors]) -> None:
        self.parts = tuple(parts)
        self.name = "+".join(part.name for part in parts)
        self.specification = " ".join(part.specification for part in parts)
        self.dimension = sum(part.dimension for part in parts)
        self.is_contextual = any(part.is_contextual for part in parts)
        content = json.dumps(["joined", [part.fingerprint for part in parts]])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()

    def look_up(self, parses: Parses) -> Lexicon:
        lexicons = [part.look_up(parses) for part in self.parts]
        # Words with the same row in every part share a row.
        rows = np.stack([lexicon.rows for lexicon in lexicons], axis=1)
        unique, index = np.unique(rows, axis=0, return_inverse=True)
        bounds = pairwise([0, *accumulate(part.dimension for part in self.parts)])
        dtype = np.result_type(*(lexicon.table.dtype for lexicon in lexicons))
        table = np.empty((len(unique), self.dimension), dtype=dtype)
        for column, ((start, end), lexicon) in enumerate(zip(bounds, lexicons, strict=True)):
            table[:, start:end] = lexicon.table[unique[:, column]]
        in_vocabulary = np.any([lexicon.in_vocabulary for lexicon in lexicons], axis=0)
        return Lexicon(table, index.reshape(-1), in_vocabulary)

    def counted_remarks(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.counted_remarks())


_BATCH_TOKENS, _BATCH_SIZE = 4096, 128
_CHUNK = 1024  # sentences tokenized at once to count their pieces
_PREFIX_SPACE = "add_prefix_space"


class TransformerTokens(TokenVectors):
    """The states of words in one layer of a frozen transformer, each read in its sentence.

    The tokenizer is given the words as the parser has split them; the vector of a word is the mean
    of those of its pieces. Vectors are kept in 16 bits, since there is one for every word of every
    sentence. In byte-level tokenizers, such as that of RoBERTa, a word begins with the space before
    it, so that each word is given one.

    Words beyond the maximum length, and words without any piece, have a vector of zeros.
    """

    is_contextual = True

    def __init__(
        self, folder: Path, network: Any, tokenizer: Any, layer: int, specification: str
    ) -> None:
        self.name = f"{folder.name}.{layer}"
        self.specification = specification
        self.dimension = int(network.config.hidden_size)
        self._adds_space = _is_byte_level(tokenizer)
        facts = [
            digests(model_files(folder)),
            layer,
            *([_PREFIX_SPACE] if self._adds_space else []),
        ]
        content = json.dumps(["tokens", 1, *facts], sort_keys=True)
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()
        self._network, self._tokenizer, self._layer = network, tokenizer, layer
        self._max_length = longest_input(network, tokenizer)
        # Number of sentences, over all calls, that were truncated.
        self.truncated = 0

    @classmethod
    def load(
        cls,
        path: str,
        *,
        layer: int = -1,
        device: str = "",
        download: bool = False,
        revision: str = "",
    ) -> TransformerTokens:
        """Load a folder, or a model of the hub: one that is cached, or any with `download`.

        `layer` 0 is the input of the first layer, and -1 the last layer.
        """
        folder = model_folder(path, download=download, revision=revision)
        network, tokenizer = load_model(folder)
        if not getattr(tokenizer, "is_fast", False):
            raise AdequaError(
                f"{folder} has a tokenizer that does not tell which word a piece is of; a model "
                "with tokenizer.json does."
            )
        if _is_byte_level(tokenizer):  # some versions refuse words without it
            tokenizer = load_tokenizer(folder, **{_PREFIX_SPACE: True})
        count = int(network.config.num_hidden_layers)
        if not -1 <= layer <= count:
            raise AdequaError(
                f"{folder} has the layers 0 to {count}, and -1 for the last; not {layer}."
            )
        layer = count if layer == -1 else layer
        location = str(folder) if Path(path).is_dir() else path
        settings = {"layer": str(layer)} | ({"revision": revision} if revision else {})
        specification = format_specification("transformer", location, settings)
        return cls(folder, network.to(torch_device(device)), tokenizer, layer, specification)

    def look_up(self, parses: Parses) -> Lexicon:
        table = np.zeros((len(parses.words), self.dimension), dtype=np.float16)
        in_vocabulary = np.zeros(len(parses.words), dtype=np.bool_)
        nonempty = np.flatnonzero(np.diff(parses.starts))
        sentences = [parses.tree(row)[0] for row in nonempty.tolist()]
        for batch in batches_by_length(
            self._lengths(sentences), max_tokens=_BATCH_TOKENS, max_count=_BATCH_SIZE
        ):
            words, vectors = self._word_states([sentences[row] for row in batch.tolist()])
            starts = parses.starts[nonempty[batch]]
            rows = np.concatenate(words) + np.repeat(starts, [len(each) for each in words])
            with np.errstate(over="ignore"):
                table[rows], in_vocabulary[rows] = vectors, True
            if not np.isfinite(table[rows]).all():
                raise AdequaError(
                    f"{self.name} gives vectors with numbers that 16 bits do not hold, or that are "
                    "none; name another layer with layer=N."
                )
        return Lexicon(table, np.arange(len(parses.words)), in_vocabulary)

    def _lengths(self, sentences: Sequence[tuple[str, ...]]) -> list[int]:
        """Return the number of pieces of each sentence, which may be far more than its words."""
        chunks = (sentences[i : i + _CHUNK] for i in range(0, len(sentences), _CHUNK))
        return [len(ids) for chunk in chunks for ids in self._tokenize(chunk)["input_ids"]]

    def _tokenize(self, sentences: Sequence[tuple[str, ...]], **options: Any) -> Any:
        """Tokenize sentences that are split into words."""
        space = " " if self._adds_space else ""
        try:
            return self._tokenizer(
                [[space + word for word in words] for words in sentences],
                is_split_into_words=True,
                truncation=True,
                max_length=self._max_length,
                verbose=False,
                **options,
            )
        except (TypeError, UnicodeError) as error:  # raised for half a character
            check_characters([word for words in sentences for word in words], error)
            raise

    def _word_states(
        self, sentences: Sequence[tuple[str, ...]]
    ) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
        """Return for each sentence which words have pieces, and the vectors of all these words."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        encoded = self._tokenize(sentences, padding=True, return_tensors="pt")
        # The word of each piece; special tokens and padding have -1.
        piece_words = [
            np.array([-1 if word is None else word for word in encoded.word_ids(row)])
            for row in range(len(sentences))
        ]
        words = [np.unique(row[row >= 0]) for row in piece_words]
        self.truncated += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        # Number the words of the batch; pieces of no word have the number after the last.
        ends = np.cumsum([len(each) for each in words])
        numbers = np.stack(
            [
                np.where(row >= 0, np.searchsorted(each, row) + end - len(each), ends[-1])
                for row, each, end in zip(piece_words, words, ends.tolist(), strict=True)
            ]
        )
        device = self._network.device
        with torch.no_grad():
            outputs = self._network(**encoded.to(device), output_hidden_states=True)
            states = outputs.hidden_states[self._layer].flatten(0, 1).float()
            index = torch.from_numpy(numbers.reshape(-1)).to(device)
            sums = states.new_zeros(int(ends[-1]) + 1, states.shape[1])
            sums.index_add_(0, index, states)
            counts = torch.bincount(index, minlength=len(sums)).clamp(min=1)
            vectors = (sums / counts[:, None])[:-1].cpu().numpy()
        return words, vectors

    def counted_remarks(self) -> tuple[Remark, ...]:
        before = f"{self.name} read the first {self._max_length} tokens only of "
        return (Remark((before, " sentences."), (before, " sentence."), (self.truncated,)),)


def _is_byte_level(tokenizer: Any) -> bool:
    """Tell whether the first piece of a word includes the space before it."""
    pre_tokenizer = tokenizer.backend_tokenizer.pre_tokenizer
    return pre_tokenizer is not None and b'"ByteLevel"' in pre_tokenizer.__getstate__()
