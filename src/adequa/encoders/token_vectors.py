"""Vectors of the words of trees: the contract, word-vector files, and several one after the other.

Written `words:FILE` or `transformer:MODEL`, with settings as those of encoders are. Vectors are for
words as a parser has split them, so that every node of a tree has one.
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

from adequa.encoders.parses import Parses
from adequa.encoders.registry import load_from, written_out
from adequa.encoders.transformer import longest_input
from adequa.encoders.transformer_files import (
    digests,
    load_model,
    load_tokenizer,
    model_files,
    model_folder,
)
from adequa.encoders.word_vectors import WordVectors, load_word_vectors
from adequa.errors import AdequaError, nearest
from adequa.io.truth import TRUTH
from adequa.remarks import Remark, sentences
from adequa.runtime.batches import batches_by_length, distinct
from adequa.runtime.half_characters import refuse_halves
from adequa.segments import IntArray

Table = npt.NDArray[np.floating[Any]]  # one row a vector

# A kind of vectors, and where it lives; each class has `load(path, **settings)`.
TOKEN_VECTORS = {
    "words": "adequa.encoders.token_vectors:WordTable",
    "transformer": "adequa.encoders.token_vectors:TransformerTokens",
}
_FIRST_ROWS = 10_000  # of a table, whose spread unknown words are given
_LEVELS = 1 << 16  # that a number drawn from a spelling can have


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The vectors of some words: the row of each word in a table."""

    table: Table
    rows: IntArray
    known: npt.NDArray[np.bool_]  # which words have a vector of their own


class TokenVectors(ABC):
    """Gives every word of a tree a vector."""

    # The words that `load_token_vectors` makes the same vectors from, with the path in full.
    specification: str
    # A short name for tables and signatures.
    name: str
    # Numbers in a vector.
    dimension: int
    # A hexadecimal digest of all that changes the vectors.
    fingerprint: str
    # Whether a word has another vector in another sentence.
    is_contextual: bool = False

    @abstractmethod
    def look_up(self, parses: Parses) -> Lexicon:
        """The vectors of all words, in the order of the parses."""

    def remarks(self) -> tuple[str, ...]:
        """What a user should know of the vectors."""
        return sentences(self.noticed())

    def noticed(self) -> tuple[Remark, ...]:
        """The same with its counts."""
        return ()


def load_token_vectors(specifications: Sequence[str], device: str = "auto") -> TokenVectors:
    """The vectors that command-line words name; those of several are put one after the other.

    Networks read on the device, unless the words name another.
    """
    found = [_loaded(specification, device) for specification in specifications]
    if not found:
        raise AdequaError(f"Name vectors as KIND:PATH; the kinds are {', '.join(TOKEN_VECTORS)}.")
    return found[0] if len(found) == 1 else JoinedVectors(found)


def _loaded(specification: str, device: str) -> TokenVectors:
    def found(kind: str) -> Any:
        if kind not in TOKEN_VECTORS:
            raise AdequaError(
                f'There are no word vectors of the kind "{kind}".{nearest(kind, TOKEN_VECTORS)} '
                f"Write KIND:PATH; the kinds are {', '.join(TOKEN_VECTORS)}."
            )
        module, _, attribute = TOKEN_VECTORS[kind].partition(":")
        return getattr(import_module(module), attribute)

    otherwise = {} if device == "auto" else {"device": device}
    loaded: TokenVectors = load_from(specification, found, otherwise)
    return loaded


class WordTable(TokenVectors):
    """The vectors of a GloVe or word2vec file.

    A word is looked for as it is written and in lower case, and in a table with upper case also
    with a capital letter. One that is not found has a vector that is drawn from its spelling, with
    `unknown` times the spread of the table, so that the same name in two sentences is the same
    for a network; at 0 all unknown words are alike.
    """

    def __init__(self, table: WordVectors, *, lowercase: bool, unknown: float) -> None:
        self._table = table
        self._lowercase = lowercase
        self._spread = unknown * float(table.vectors[:_FIRST_ROWS].std(dtype=np.float64))
        self.name = table.path.name
        self.dimension = table.dimension
        settings = {"lowercase": str(lowercase).lower(), "unknown": f"{unknown:g}"}
        self.specification = written_out("words", str(table.path), settings)
        described = json.dumps(["word table", 1, table.fingerprint, settings])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", unknown: str = "0.1") -> WordTable:
        """Read a file, or its table in the cache folder.

        `lowercase=auto` looks for lower-cased words alone where the file has no others.
        """
        table = load_word_vectors(Path(path))
        if lowercase != "auto" and lowercase.lower() not in TRUTH:
            raise AdequaError(f"words: lowercase must be auto, true or false, not {lowercase!r}.")
        try:
            spread = float(unknown)
        except ValueError:
            spread = -1.0
        if not 0 <= spread <= 1:
            raise AdequaError(f"words: unknown must be a number from 0 to 1, not {unknown!r}.")
        lower = not table.cased if lowercase == "auto" else TRUTH[lowercase.lower()]
        return cls(table, lowercase=lower, unknown=spread)

    def look_up(self, parses: Parses) -> Lexicon:
        words, at = distinct(parses.words)
        rows = self._rows(words)
        known = rows >= 0
        vectors = np.empty((len(words), self.dimension), dtype=np.float32)
        vectors[known] = self._table.vectors[rows[known]]
        lacking = [words[row] for row in np.flatnonzero(~known)]
        vectors[~known] = self._spread * drawn(lacking, self.dimension)
        return Lexicon(vectors, at, known[at])

    def _rows(self, words: Sequence[str]) -> npt.NDArray[np.intp]:
        """Where each word is in the table, in the first of its forms that is there; or -1."""
        rows = np.full(len(words), -1, dtype=np.intp)
        for form in self._forms():
            lacking = np.flatnonzero(rows < 0)
            rows[lacking] = self._table.rows([form(words[row]) for row in lacking.tolist()])
        return rows

    def _forms(self) -> Iterator[Callable[[str], str]]:
        if not self._lowercase:
            yield str
        yield str.lower
        if not self._lowercase:
            yield str.capitalize


def drawn(words: Sequence[str], dimension: int) -> npt.NDArray[np.float32]:
    """A vector a word that depends on its spelling alone: even, with mean 0 and spread 1.

    Letters count without their case. The numbers are digits of a digest, and so the same whatever
    the version of NumPy.

    >>> bool((drawn(["Brno"], 3) == drawn(["BRNO"], 3)).all())
    True
    """
    spelt = [word.lower().encode("utf-8", "surrogatepass") for word in words]
    digits = b"".join(hashlib.shake_256(word).digest(2 * dimension) for word in spelt)
    whole = np.frombuffer(digits, dtype="<u2").reshape(len(words), dimension)
    centred = (whole.astype(np.float32) + 0.5) / _LEVELS - 0.5
    return np.asarray(centred * np.float32(12**0.5), dtype=np.float32)


class JoinedVectors(TokenVectors):
    """Several vectors a word, one after the other."""

    def __init__(self, parts: Sequence[TokenVectors]) -> None:
        self.parts = tuple(parts)
        self.name = "+".join(part.name for part in parts)
        self.specification = " ".join(part.specification for part in parts)
        self.dimension = sum(part.dimension for part in parts)
        self.is_contextual = any(part.is_contextual for part in parts)
        described = json.dumps(["joined", [part.fingerprint for part in parts]])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    def look_up(self, parses: Parses) -> Lexicon:
        found = [part.look_up(parses) for part in self.parts]
        # What differs in no part is one row.
        places = np.stack([lexicon.rows for lexicon in found], axis=1)
        chosen, at = np.unique(places, axis=0, return_inverse=True)
        bounds = pairwise([0, *accumulate(part.dimension for part in self.parts)])
        kind = np.result_type(*(lexicon.table.dtype for lexicon in found))
        table = np.empty((len(chosen), self.dimension), dtype=kind)
        for column, ((begin, end), lexicon) in enumerate(zip(bounds, found, strict=True)):
            table[:, begin:end] = lexicon.table[chosen[:, column]]
        known = np.any([lexicon.known for lexicon in found], axis=0)
        return Lexicon(table, at.reshape(-1), known)

    def noticed(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.noticed())


_BATCH_TOKENS, _BATCH_SIZE = 4096, 128
_CHUNK = 1024  # sentences whose pieces are counted at once
_PREFIX = "add_prefix_space"
Pieces = npt.NDArray[np.int64]


class TransformerTokens(TokenVectors):
    """The words of sentences as a transformer reads them.

    Words beyond the tokens that it can take, and words that the tokenizer makes nothing of, have a
    vector of zeros.
    """

    is_contextual = True

    def __init__(
        self, folder: Path, network: Any, tokenizer: Any, layer: int, specification: str
    ) -> None:
        self.name = f"{folder.name}.{layer}"
        self.specification = specification
        self.dimension = int(network.config.hidden_size)
        self._spaced = _over_bytes(tokenizer)
        facts = [digests(model_files(folder)), layer, *([_PREFIX] if self._spaced else [])]
        described = json.dumps(["tokens", 1, *facts], sort_keys=True)
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()
        self._network, self._tokenizer, self._layer = network, tokenizer, layer
        self._longest = longest_input(network, tokenizer)
        # Sentences, over all calls, that had more tokens than it can take.
        self.cut = 0

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
        """Load a folder, or a model of the hub that was downloaded before (or is, if asked to).

        `layer` counts from 0, the vectors of the pieces before all layers; -1 is the last one.
        """
        folder = model_folder(path, download=download, revision=revision)
        network, tokenizer = load_model(folder)
        if not getattr(tokenizer, "is_fast", False):
            raise AdequaError(
                f"{folder} has a tokenizer that does not tell which word a piece is of; a model "
                "with tokenizer.json does."
            )
        if _over_bytes(tokenizer):  # some versions refuse words without it
            tokenizer = load_tokenizer(folder, **{_PREFIX: True})
        count = int(network.config.num_hidden_layers)
        if not -1 <= layer <= count:
            raise AdequaError(
                f"{folder} has the layers 0 to {count}, and -1 for the last; not {layer}."
            )
        chosen = count if layer == -1 else layer
        place = str(folder) if Path(path).is_dir() else path
        settings = {"layer": str(chosen)} | ({"revision": revision} if revision else {})
        return cls(
            folder,
            _placed(network, device),
            tokenizer,
            chosen,
            written_out("transformer", place, settings),
        )

    def look_up(self, parses: Parses) -> Lexicon:
        table = np.zeros((len(parses.words), self.dimension), dtype=np.float16)
        known = np.zeros(len(parses.words), dtype=np.bool_)
        filled = np.flatnonzero(np.diff(parses.starts)).tolist()
        sentences = [parses.tree(row)[0] for row in filled]
        for batch in batches_by_length(
            self._lengths(sentences), max_tokens=_BATCH_TOKENS, max_count=_BATCH_SIZE
        ):
            places, vectors = self._read([sentences[at] for at in batch.tolist()])
            starts = parses.starts[[filled[at] for at in batch.tolist()]]
            at = np.concatenate(places) + np.repeat(starts, [len(each) for each in places])
            with np.errstate(over="ignore"):
                table[at], known[at] = vectors, True
            if not np.isfinite(table[at]).all():
                raise AdequaError(
                    f"{self.name} gives vectors with numbers that 16 bits do not hold, or that are "
                    "none; name another layer with layer=N."
                )
        return Lexicon(table, np.arange(len(parses.words)), known)

    def _lengths(self, sentences: Sequence[tuple[str, ...]]) -> list[int]:
        """The pieces of each: words of one number may be of very different numbers of pieces."""
        chunks = (sentences[at : at + _CHUNK] for at in range(0, len(sentences), _CHUNK))
        return [len(ids) for chunk in chunks for ids in self._split(chunk)["input_ids"]]

    def _split(self, sentences: Sequence[tuple[str, ...]], **more: Any) -> Any:
        """The pieces of sentences, as the tokenizer has them."""
        before = " " if self._spaced else ""
        try:
            return self._tokenizer(
                [[before + word for word in words] for words in sentences],
                is_split_into_words=True,
                truncation=True,
                max_length=self._longest,
                verbose=False,
                **more,
            )
        except (TypeError, UnicodeError) as error:  # what tokenizers make of half a character
            refuse_halves([word for words in sentences for word in words], error)
            raise
        except (AssertionError, ValueError) as error:
            raise AdequaError(
                f"The tokenizer of {self.name} cannot read sentences that are split into words; "
                f"name another model. The reason: {str(error).partition(chr(10))[0]}"
            ) from error

    def _read(self, sentences: Sequence[tuple[str, ...]]) -> tuple[list[Pieces], np.ndarray]:
        """Of each sentence the words that have pieces, and the vectors of all these words."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        encoded = self._split(sentences, padding=True, return_tensors="pt")
        # One number for each different word of the batch; pieces that are of no word have -1.
        owners = [
            np.array([-1 if word is None else word for word in encoded.word_ids(row)])
            for row in range(len(sentences))
        ]
        places = [np.unique(row[row >= 0]) for row in owners]
        self.cut += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        ends = np.cumsum([len(there) for there in places])
        numbers = np.stack(
            [
                np.where(row >= 0, np.searchsorted(there, row) + end - len(there), ends[-1])
                for row, there, end in zip(owners, places, ends.tolist(), strict=True)
            ]
        )
        device = self._network.device
        with torch.no_grad():
            read = self._network(**encoded.to(device), output_hidden_states=True)
            states = read.hidden_states[self._layer].flatten(0, 1).float()
            at = torch.from_numpy(numbers.reshape(-1)).to(device)
            sums = states.new_zeros(int(ends[-1]) + 1, states.shape[1]).index_add_(0, at, states)
            counts = torch.bincount(at, minlength=len(sums)).clamp(min=1)
            vectors = (sums / counts[:, None])[:-1].cpu().numpy()
        return places, vectors

    def noticed(self) -> tuple[Remark, ...]:
        before = f"{self.name} read the first {self._longest} tokens only of "
        return (Remark((before, " sentences."), (before, " sentence."), (self.cut,)),)


def _over_bytes(tokenizer: Any) -> bool:
    """Whether a word's first piece is one that has the space before it."""
    splitting = tokenizer.backend_tokenizer.pre_tokenizer
    return splitting is not None and b'"ByteLevel"' in splitting.__getstate__()


def _placed(network: Any, device: str) -> Any:
    import torch  # noqa: PLC0415  # an extra, and heavy

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return network.to(torch.device(chosen))
    except (RuntimeError, AssertionError) as error:
        raise AdequaError(f'There is no device "{chosen}" to read on.') from error
