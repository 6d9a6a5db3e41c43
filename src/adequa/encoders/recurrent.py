"""What recurrent encoders share: words in batches of similar length, and gated encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Coverage, Vectors
from adequa.encoders.gated_unit import GatedUnit, backwards
from adequa.errors import AdequaError
from adequa.runtime.batches import batches_by_length, distinct

if TYPE_CHECKING:
    from torch import Tensor

_WORDS_A_BATCH = 8192
_SENTENCES_A_BATCH = 256
_SENTENCES_AT_ONCE = 1 << 14  # so that the words of a million sentences are never held at once


class WordTable(Protocol):
    """Vectors by word: `vectors[rows(words)]`, where the row of an unknown word is -1."""

    @property
    def vectors(self) -> npt.NDArray[Any]:
        """One row a word."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    def rows(self, words: Sequence[str], /) -> npt.NDArray[np.intp]:
        """The row of each word; -1 for words that the table does not have."""


@dataclass(frozen=True, slots=True)
class GatedEncoder:
    """One gated unit that reads forwards, or a second one too that reads backwards."""

    table: WordTable
    unknown: npt.NDArray[np.float32]  # the vector of all words that the table lacks
    units: tuple[GatedUnit, ...]

    @property
    def size(self) -> int:
        """Numbers in the vector of a sentence."""
        return sum(unit.size for unit in self.units)

    def last_states(self, sentences: Sequence[Sequence[str]], device: str) -> Tensor:
        """The last states of the units, side by side, for words of sentences longest first."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        lengths = [len(words) for words in sentences]
        words = padded([self._vectors(each) for each in sentences], device)
        readings = (words, backwards(words, lengths))[: len(self.units)]
        pairs = zip(self.units, readings, strict=True)
        return torch.cat([unit.last_states(reading, lengths) for unit, reading in pairs], dim=1)

    def _vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = self.table.rows(words)
        vectors = np.array(self.table.vectors[rows], dtype=np.float32)
        vectors[rows < 0] = self.unknown
        return vectors


def check_word_size(table: str, dimension: int, weights: str, wanted: int) -> None:
    """Raise unless the vectors of words are as long as the weights expect."""
    if dimension != wanted:
        raise AdequaError(
            f"{table} has {dimension} numbers a word, but {weights} reads {wanted}; name the word "
            "vectors that the encoder was trained with."
        )


def chosen_device(kind: str, name: str) -> str:
    """The device to compute on: the named one, or a GPU where there is one."""
    try:
        import torch  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            f"{kind} needs PyTorch; install it with: pip install 'adequa[train]'"
        ) from error
    if not name:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise AdequaError(f"{kind}: there is no device {name!r} here; try device=cpu.") from error
    return name


def padded(sentences: Sequence[npt.NDArray[np.float32]], device: str) -> Tensor:
    """Sentences, each an array (words, d), as one tensor filled up with zeros at the ends."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    longest = max(len(words) for words in sentences)
    filled = np.zeros((len(sentences), longest, sentences[0].shape[1]), dtype=np.float32)
    for row, words in enumerate(sentences):
        filled[row, : len(words)] = words
    return torch.from_numpy(filled).to(device)


def unit_length(vectors: Tensor) -> Tensor:
    """Vectors scaled to length one; a zero vector stays what it is."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return vectors / lengths.where(lengths > 0, lengths.new_ones(()))


def encode_in_batches(
    sentences: Sequence[str],
    words_of: Callable[[str], Sequence[str]],
    encode: Callable[[list[Sequence[str]]], Tensor],
    dimension: int,
) -> Vectors:
    """One vector a sentence, each distinct sentence encoded once, with others of its length.

    `encode` is given the words of some sentences, longest first, none of them empty. A sentence
    without words has the zero vector.
    """
    import torch  # noqa: PLC0415  # an extra, and heavy

    vectors = np.zeros((len(sentences), dimension), dtype=np.float32)
    for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
        different, at = distinct(sentences[start : start + _SENTENCES_AT_ONCE])
        words = [words_of(sentence) for sentence in different]
        lengths = np.array([len(each) for each in words])
        with_words = np.flatnonzero(lengths)
        found = np.zeros((len(different), dimension), dtype=np.float32)
        for batch in batches_by_length(
            lengths[with_words], max_tokens=_WORDS_A_BATCH, max_count=_SENTENCES_A_BATCH
        ):
            rows = with_words[batch]
            with torch.inference_mode():
                found[rows] = encode([words[row] for row in rows]).cpu().numpy()
        vectors[start : start + len(at)] = found[at]
    return vectors


def word_coverage(words: Sequence[Sequence[str]], table: WordTable) -> Coverage:
    """How many of the words of sentences a table knows."""
    unknown = (np.flatnonzero(table.rows(each) < 0) for each in words)
    return Coverage(
        tuple(map(len, words)),
        tuple(
            tuple(each[int(at)] for at in places)
            for each, places in zip(words, unknown, strict=True)
        ),
    )
