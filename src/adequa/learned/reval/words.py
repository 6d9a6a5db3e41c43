"""Word vectors of a Tree-LSTM: pretrained ones, and vectors that were trained with the network.

A word with a trained vector (learnt from scratch, or tuned from a pretrained one) has that. Other
words have their pretrained vector or, without any, one vector that all rare words share.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adequa.encoders.parses import Parses
from adequa.encoders.registry import with_path
from adequa.encoders.token_vectors import (
    JoinedVectors,
    Lexicon,
    TokenVectors,
    load_token_vectors,
    spelling_vectors,
)
from adequa.errors import AdequaError
from adequa.io.conllu import ROOT
from adequa.io.files import file_within, read_regular
from adequa.learned import saved

RARE = ""  # stands for all words that occur less than twice in the training data
WORDS = "words.json"
VECTORS = "vectors"
_DIMENSION = 300  # of vectors that are learnt from scratch
_INITIAL_SCALE = 0.05  # of vectors that are learnt from scratch (Tai et al., 2015, §5.4)


@dataclass(frozen=True, slots=True, eq=False)
class TreeWords:
    """The pretrained vectors, and the words whose vectors were trained."""

    pretrained: TokenVectors | None
    words: tuple[str, ...] = ()  # that have a trained vector
    trained: np.ndarray | None = None  # one row per word
    _rows: Mapping[str, int] = field(init=False, repr=False)  # of `trained`, by word

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {word: row for row, word in enumerate(self.words)})

    @property
    def dimension(self) -> int:
        """Size of a vector."""
        if self.trained is not None:
            return int(self.trained.shape[1])
        return 0 if self.pretrained is None else self.pretrained.dimension

    def with_trained(self, trained: np.ndarray) -> TreeWords:
        """Return the same words with other trained vectors."""
        return replace(self, trained=trained)

    def look_up(self, parses: Parses) -> Lexicon:
        """Return the vectors of the words of the parses, in their order, and no others."""
        if self.trained is None:
            return self._look_up_pretrained(parses)
        lexicon = self._look_up_trained(self.trained, parses.words)
        rows = lexicon.rows.copy()
        used, indices = np.unique(rows[rows >= 0], return_inverse=True)
        rows[rows >= 0] = indices.reshape(-1)
        used_alone = Lexicon(self.trained[used], rows, lexicon.in_vocabulary)
        return self._add_pretrained(used_alone, parses.words)

    def look_up_for_training(self, parses: Parses) -> Lexicon:
        """Return the vectors of the words of the parses; the table begins with all of `trained`."""
        if self.trained is None:
            return self._look_up_pretrained(parses)
        lexicon = self._look_up_trained(self.trained, parses.words)
        return self._add_pretrained(lexicon, parses.words)

    def _look_up_pretrained(self, parses: Parses) -> Lexicon:
        if self.pretrained is None:
            raise TypeError("there are pretrained vectors, or trained ones")
        return self.pretrained.look_up(parses)

    def _look_up_trained(self, trained: np.ndarray, words: Sequence[str]) -> Lexicon:
        """Return the trained vectors; the row of a word with a pretrained vector is -1."""
        unknown = self._rows[RARE] if self.pretrained is None else -1
        rows = np.array([self._rows.get(word, unknown) for word in words], dtype=np.int64)
        return Lexicon(trained, rows, np.asarray(rows != unknown))

    def _add_pretrained(self, lexicon: Lexicon, words: Sequence[str]) -> Lexicon:
        """Add the pretrained vectors of words without a row to the end of the table."""
        missing = np.flatnonzero(lexicon.rows < 0)
        if not len(missing):
            return lexicon
        added = self._look_up_pretrained(_single_words([words[i] for i in missing.tolist()]))
        table = np.concatenate([lexicon.table, added.table.astype(lexicon.table.dtype)])
        rows, in_vocabulary = lexicon.rows.copy(), lexicon.in_vocabulary.copy()
        rows[missing], in_vocabulary[missing] = added.rows + len(lexicon.table), added.in_vocabulary
        return Lexicon(table, rows, in_vocabulary)


def _single_words(words: Sequence[str]) -> Parses:
    """Return a tree of one node for each word."""
    return Parses(tuple(words), np.full(len(words), ROOT), np.arange(len(words) + 1))


def initial_words(
    pretrained: TokenVectors | None, training_words: Sequence[str], *, trains: bool
) -> TreeWords:
    """Return the vectors before training; if they are trained, one for each training word."""
    if not trains:
        return TreeWords(pretrained)
    counts = Counter(training_words)
    if pretrained is None:
        words = (RARE, *(word for word, count in counts.items() if count > 1))
        return TreeWords(None, words, _INITIAL_SCALE * spelling_vectors(words, _DIMENSION))
    if pretrained.is_contextual:
        raise AdequaError(
            f"The vectors of {pretrained.name} depend on the sentence, so that none can be tuned "
            "for a word; leave them as they are."
        )
    words = tuple(counts)
    lexicon = pretrained.look_up(_single_words(words))
    return TreeWords(pretrained, words, lexicon.table[lexicon.rows].astype(np.float32))


def write_words(words: TreeWords, folder: Path) -> dict[str, str]:
    """Write the words that have a trained vector; returns the digest of the file by its name."""
    if words.trained is None:
        return {}
    content = json.dumps(words.words, ensure_ascii=True, indent=0).encode()
    (folder / WORDS).write_bytes(content)
    return {WORDS: hashlib.sha256(content).hexdigest()}


def read_words(
    pretrained: TokenVectors | None, trained: np.ndarray | None, folder: Path
) -> TreeWords:
    """Return the words of a saved metric."""
    if trained is None:
        return TreeWords(pretrained)
    words = json.loads(read_regular(file_within(folder, WORDS)))
    return TreeWords(pretrained, tuple(words), trained)


def vector_facts(vectors: TokenVectors | None) -> list[dict[str, Any]]:
    """Return what metric.json holds of pretrained vectors, part by part."""
    if vectors is None:
        return []
    parts: Sequence[TokenVectors] = (
        vectors.parts if isinstance(vectors, JoinedVectors) else (vectors,)
    )
    return [saved.vector_facts(part) for part in parts]


def restore_vectors(
    facts: Sequence[dict[str, Any]],
    locations: Sequence[str | None],
    folder: object,
    device: str,
) -> TokenVectors | None:
    """Return the vectors that a metric was trained with; a location says where a file is now."""
    if not facts:
        return None
    parts = []
    for fact, location, key in zip(
        facts, locations, saved.numbered_keys(VECTORS, len(facts)), strict=True
    ):
        specification = str(fact["specification"])
        if location is not None:
            specification = with_path(specification, location)
        part = saved.restore(
            f"The word vectors {fact['name']} that this metric was trained with",
            partial(load_token_vectors, [specification], device),
            is_moved=location is not None,
            advice=saved.may_help(folder, key),
        )
        if part.fingerprint != fact["fingerprint"]:
            raise AdequaError(
                f"{part.specification} are not the vectors that this metric was trained with: their"
                f" content or settings differ from those of {fact['name']}."
            )
        parts.append(part)
    return parts[0] if len(parts) == 1 else JoinedVectors(parts)
