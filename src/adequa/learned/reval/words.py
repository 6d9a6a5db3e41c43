"""The words of trees in a saved metric: vectors from outside, and vectors that were learnt.

Words that vectors were learnt or tuned for have these; others have those from outside, or, where
there are none, the one vector of all rare words.
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
import numpy.typing as npt

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
from adequa.io.trees import ROOT
from adequa.learned import saved
from adequa.segments import IntArray

RARE = ""  # stands for all words that were not seen more than once
WORDS = "words.json"
VECTORS = "vectors"
_DIMENSION = 300  # of vectors that are learnt from nothing
_SPREAD = 0.05  # of vectors to begin with where none are given (Tai et al., 2015, §5.4)


@dataclass(frozen=True, slots=True, eq=False)
class TreeWords:
    """Vectors for words: those that were learnt, and those from outside."""

    outside: TokenVectors | None
    words: tuple[str, ...] = ()  # that have a learnt vector
    learnt: np.ndarray | None = None  # one row a word
    _places: Mapping[str, int] = field(init=False, repr=False)  # of words among the learnt

    def __post_init__(self) -> None:
        places = {word: row for row, word in enumerate(self.words)}
        object.__setattr__(self, "_places", places)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        if self.learnt is not None:
            return int(self.learnt.shape[1])
        return 0 if self.outside is None else self.outside.dimension

    def with_vectors(self, learnt: np.ndarray) -> TreeWords:
        """The same words with other vectors."""
        return replace(self, learnt=learnt)

    def look_up(self, parses: Parses) -> Lexicon:
        """The vectors of all words, in the order of the parses, and no others."""
        if self.learnt is None:
            return self._outside().look_up(parses)
        rows = self._rows(parses.words)
        used, at = np.unique(rows[rows >= 0], return_inverse=True)
        known = self._known(rows)
        rows[rows >= 0] = at.reshape(-1)
        return self._with_others(Lexicon(self.learnt[used], rows, known), parses.words)

    def look_up_for_training(self, parses: Parses) -> Lexicon:
        """The same, with all learnt vectors, as they are, before those from outside."""
        if self.learnt is None:
            return self._outside().look_up(parses)
        rows = self._rows(parses.words)
        return self._with_others(Lexicon(self.learnt, rows, self._known(rows)), parses.words)

    def _outside(self) -> TokenVectors:
        if self.outside is None:
            raise TypeError("there are vectors from outside, or learnt ones")
        return self.outside

    def _rows(self, words: Sequence[str]) -> IntArray:
        """The place of each word among the learnt, or else that of rare words; -1 is outside."""
        otherwise = self._places[RARE] if self.outside is None else -1
        return np.array([self._places.get(word, otherwise) for word in words], dtype=np.int64)

    def _known(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        return np.asarray(rows != (self._places[RARE] if self.outside is None else -1))

    def _with_others(self, learnt: Lexicon, words: Sequence[str]) -> Lexicon:
        """With vectors from outside for words that have no row."""
        lacking = np.flatnonzero(learnt.rows < 0)
        if not len(lacking):
            return learnt
        found = self._outside().look_up(_one_by_one([words[at] for at in lacking.tolist()]))
        table = np.concatenate([learnt.table, found.table.astype(learnt.table.dtype)])
        rows, known = learnt.rows.copy(), learnt.known.copy()
        rows[lacking], known[lacking] = found.rows + len(learnt.table), found.known
        return Lexicon(table, rows, known)


def _one_by_one(words: Sequence[str]) -> Parses:
    """Each word as a tree."""
    return Parses(tuple(words), np.full(len(words), ROOT), np.arange(len(words) + 1))


def starting_words(outside: TokenVectors | None, seen: Sequence[str], *, learns: bool) -> TreeWords:
    """What a training begins with; where vectors are learnt, one for each word that is seen."""
    if not learns:
        return TreeWords(outside)
    counts = Counter(seen)
    if outside is None:
        words = (RARE, *(word for word, count in counts.items() if count > 1))
        return TreeWords(None, words, _SPREAD * spelling_vectors(words, _DIMENSION))
    if outside.is_contextual:
        raise AdequaError(
            f"The vectors of {outside.name} depend on the sentence, so that none can be tuned for "
            "a word; leave them as they are."
        )
    words = tuple(counts)
    found = outside.look_up(_one_by_one(words))
    return TreeWords(outside, words, found.table[found.rows].astype(np.float32))


def write_words(words: TreeWords, folder: Path) -> dict[str, str]:
    """Write the words that have a learnt vector; returns the digest of the file, by its name."""
    if words.learnt is None:
        return {}
    content = json.dumps(words.words, ensure_ascii=True, indent=0).encode()
    (folder / WORDS).write_bytes(content)
    return {WORDS: hashlib.sha256(content).hexdigest()}


def read_words(outside: TokenVectors | None, learnt: np.ndarray | None, folder: Path) -> TreeWords:
    """The words of a saved metric."""
    if learnt is None:
        return TreeWords(outside)
    words = json.loads((folder / WORDS).read_bytes())
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise ValueError(f"{WORDS} holds no list of words")
    if learnt.ndim != 2 or len(learnt) != len(words) or not np.isfinite(learnt).all():  # noqa: PLR2004  # words and numbers
        raise ValueError(f"the learnt vectors are not those of {WORDS}")
    if outside is None and RARE not in words:
        raise ValueError(f"{WORDS} has no place for words that were not seen")
    return TreeWords(outside, tuple(words), learnt)


def vector_facts(vectors: TokenVectors | None) -> list[dict[str, Any]]:
    """Name, specification, dimension and fingerprint of vectors from outside, part by part."""
    if vectors is None:
        return []
    parts: Sequence[TokenVectors] = (
        vectors.parts if isinstance(vectors, JoinedVectors) else (vectors,)
    )
    return [saved.vector_facts(part) for part in parts]


def restored_vectors(
    facts: Sequence[dict[str, Any]], places: Sequence[str | None], folder: object, device: str
) -> TokenVectors | None:
    """The vectors that a metric was trained with; places say where the files are now."""
    if not facts:
        return None
    parts = []
    for fact, place, key in zip(
        facts, places, saved.numbered_keys(VECTORS, len(facts)), strict=True
    ):
        specification = str(fact["specification"])
        if place is not None:
            specification = with_path(specification, place)
        part = saved.restore(
            f"The word vectors {fact['name']} that this metric was trained with",
            partial(load_token_vectors, [specification], device),
            is_moved=place is not None,
            advice=saved.may_help(folder, key),
        )
        if part.fingerprint != fact["fingerprint"]:
            raise AdequaError(
                f"{part.specification} are not the vectors that this metric was trained with: their"
                f" content or settings differ from those of {fact['name']}."
            )
        parts.append(part)
    return parts[0] if len(parts) == 1 else JoinedVectors(parts)
