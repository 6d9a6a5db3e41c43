"""Recurrent sentence encoders: weight files, word vectors, gated units, and padded batches.

Skip-Thought, InferSent and Quick-Thought share all of this. Their networks read the vectors of a
sentence's words, in batches of sentences of similar length that are padded at the end. The vector
of a sentence never depends on the other sentences of its batch.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Coverage, Encoder, Vectors
from adequa.errors import AdequaError
from adequa.io.arrays import ArrayError, read_npz
from adequa.runtime.batching import batches_by_length, distinct

if TYPE_CHECKING:
    from torch import Tensor

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_DIGEST_ROWS = 1 << 12  # hashed at a time: a table may be larger than memory
# Increment when the words or the equations of a published encoder change, so that cached vectors
# are computed again.
_EQUATIONS_VERSION = 1
_BATCH_WORDS = 8192
_BATCH_SENTENCES = 256
_CHUNK_SENTENCES = 1 << 14  # split into words at a time, which bounds memory


# Weights as named arrays in .npz files, without pickles.


def read_arrays(path: Path, names: Sequence[str] | None = None) -> Arrays:
    """Read these arrays of an .npz file, or all of them; all hold finite floating-point numbers."""
    try:
        arrays = read_npz(path, names)
    except ArrayError as error:
        needed = f"; it must hold {', '.join(names)}" if names else ""
        raise AdequaError(
            f"{path} is not an .npz file of plain NumPy arrays: {error}{needed}."
        ) from error
    for name, array in arrays.items():
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise AdequaError(f"The array {name} of {path} should hold finite numbers only.")
    return arrays


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an .npz file of 32-bit numbers; the same arrays give the same bytes.

    `numpy.savez` would pickle what is not numbers.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(member, "w", force_zip64=True) as stream:
                numbers = np.asarray(array, dtype=np.float32)
                np.lib.format.write_array(stream, numbers, allow_pickle=False)


def content_digest(settings: Mapping[str, object], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a hexadecimal digest of settings and of the content of arrays.

    >>> digest = content_digest({"mode": "uni"}, {"W": np.ones((2, 3))})
    >>> digest == content_digest({"mode": "uni"}, {"W": np.ones((2, 3), dtype=np.float32)})
    True
    >>> digest == content_digest({"mode": "uni"}, {"W": np.ones((3, 2))})
    False
    """
    digest = hashlib.sha256(json.dumps([_EQUATIONS_VERSION, settings], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.shape]).encode())
        rows = array if array.ndim else array[None]
        for start in range(0, len(rows), _DIGEST_ROWS):
            chunk = rows[start : start + _DIGEST_ROWS]
            digest.update(np.ascontiguousarray(chunk, np.float32).data)
    return digest.hexdigest()


# Words as vectors.


class WordTable(Protocol):
    """Vectors by word: `vectors[rows(words)]`, where the row of an unknown word is -1."""

    @property
    def vectors(self) -> npt.NDArray[Any]:
        """One row per word."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def rows(self, words: Sequence[str], /) -> npt.NDArray[np.intp]:
        """Return the row of each word; -1 for words that are not in the table."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A table of word vectors, and the vector of all words that are not in it."""

    table: WordTable
    unknown: npt.NDArray[np.float32] | None = None  # None where unknown words are dropped before

    def padded(self, sentences: Sequence[Sequence[str]], device: str) -> Tensor:
        """Embed sentences as one tensor (sentences, words, d), zeros after the last word."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        longest = max(map(len, sentences))
        batch = np.zeros((len(sentences), longest, self.table.dimension), dtype=np.float32)
        for index, words in enumerate(sentences):
            rows = self.table.rows(words)
            batch[index, : len(words)] = self.table.vectors[rows]
            if self.unknown is not None:
                batch[index, : len(words)][rows < 0] = self.unknown
        return torch.from_numpy(batch).to(device)


def check_word_size(table: str, dimension: int, weights: str, word_size: int) -> None:
    """Raise unless word vectors are as long as the weights expect."""
    if dimension != word_size:
        raise AdequaError(
            f"{table} has {dimension} numbers per word, but {weights} reads {word_size}; name the "
            "word vectors that the encoder was trained with."
        )


# Gated recurrent units.


@dataclass(frozen=True, slots=True)
class GRU:
    """A gated recurrent unit, with either convention of the reset gate.

    For the words x of a sentence it computes states h from a reset gate r, an update gate u and a
    candidate c, with weights W for the word, U for the state before, and biases b:

        r = σ(W_r x + U_r h + b_r)
        u = σ(W_u x + U_u h + b_u)
        h' = u ⊙ h + (1 - u) ⊙ c

    Two conventions of the candidate are in use, and trained weights fit only their own:

        c = tanh(W_c x + U_c (r ⊙ h) + b_c)    the state is reset, then multiplied (TensorFlow)
        c = tanh(W_c x + r ⊙ (U_c h) + b_c)    the product is reset (Theano code of Skip-Thought)

    Vectors are rows here, so that W x is written `x @ W`, and W_r and W_u stand side by side.
    """

    word_gates: Tensor  # W_r and W_u, (d, 2n) for words of d numbers and states of n
    state_gates: Tensor  # U_r and U_u, (n, 2n)
    gate_bias: Tensor  # b_r and b_u, (2n)
    word_candidate: Tensor  # W_c, (d, n)
    state_candidate: Tensor  # U_c, (n, n)
    candidate_bias: Tensor  # b_c, (n)
    resets_state: bool  # U_c (r ⊙ h) where true, r ⊙ (U_c h) where false

    @classmethod
    def from_arrays(
        cls, weights: Mapping[str, npt.NDArray[Any]], *, resets_state: bool, device: str
    ) -> GRU:
        """Build a unit from arrays named as the fields."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        tensors = {
            name: torch.from_numpy(np.array(array, dtype=np.float32)).to(device)
            for name, array in weights.items()
        }
        return cls(**tensors, resets_state=resets_state)

    @property
    def word_size(self) -> int:
        """Length of a word vector."""
        return int(self.word_gates.shape[0])

    @property
    def size(self) -> int:
        """Length of a state."""
        return int(self.state_candidate.shape[0])

    def last_states(self, words: Tensor, lengths: Sequence[int]) -> Tensor:
        """Return the state after the last word of each sentence, from (sentences, words, d).

        Sentences come longest first, so that the unfinished ones at any step are the first rows,
        and padding is never read.
        """
        import torch  # noqa: PLC0415  # an extra, and heavy

        gates = words @ self.word_gates + self.gate_bias
        candidates = words @ self.word_candidate + self.candidate_bias
        states = words.new_zeros((len(lengths), self.size))
        last_steps = np.asarray(lengths)
        for step in range(max(lengths, default=0)):
            unfinished = int((last_steps > step).sum())
            h = states[:unfinished]
            r, u = torch.sigmoid(gates[:unfinished, step] + h @ self.state_gates).chunk(2, dim=1)
            if self.resets_state:
                recurrent = (r * h) @ self.state_candidate
            else:
                recurrent = r * (h @ self.state_candidate)
            c = torch.tanh(candidates[:unfinished, step] + recurrent)
            states[:unfinished] = u * h + (1 - u) * c
        return states


class Network(Protocol):
    """Turns the words of sentences into one vector per sentence."""

    @property
    def embedding(self) -> Embedding:
        """Vectors of the words that it reads."""

    @property
    def size(self) -> int:
        """Length of the vector of a sentence."""

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> Tensor:
        """Encode the words of sentences, longest first and none empty: (sentences, size)."""


@dataclass(frozen=True, slots=True)
class GRUNetwork:
    """The last states of a GRU that reads forwards, and of a second one that reads backwards."""

    embedding: Embedding
    units: tuple[GRU, ...]  # forwards, or forwards and backwards

    @classmethod
    def load(
        cls,
        path: str,
        units: Sequence[Arrays],
        words_path: str,
        embedding: Embedding,
        *,
        resets_state: bool,
        device: str,
    ) -> GRUNetwork:
        """Build a network from the arrays of its units, which must fit the word vectors."""
        grus = [GRU.from_arrays(unit, resets_state=resets_state, device=device) for unit in units]
        for gru in grus:
            check_word_size(words_path, embedding.table.dimension, path, gru.word_size)
        return cls(embedding, tuple(grus))

    @property
    def size(self) -> int:
        """Length of the vector of a sentence."""
        return sum(gru.size for gru in self.units)

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> Tensor:
        """Encode the words of sentences, longest first and none empty: (sentences, size)."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        lengths = [len(words) for words in sentences]
        words = self.embedding.padded(sentences, device)
        inputs = (words, reversed_words(words, lengths))[: len(self.units)]
        units = zip(self.units, inputs, strict=True)
        return torch.cat([unit.last_states(x, lengths) for unit, x in units], dim=1)


def reversed_words(words: Tensor, lengths: Sequence[int]) -> Tensor:
    """Reverse the words of each sentence, padding still at the end."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    ends = torch.tensor(list(lengths), device=words.device)[:, None]
    index = (ends - 1 - torch.arange(words.shape[1], device=words.device)).clamp(min=0)
    return words.gather(1, index[:, :, None].expand_as(words))


# Sentence encoders.


class RecurrentEncoder(Encoder):
    """A sentence encoder of one or more networks, whose vectors are concatenated.

    `words` splits a sentence into the words that `coverage` counts; `inputs` returns the words that
    the networks read. A sentence without inputs is the zero vector.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        *,
        path: Path,
        name: str,
        specification: str,
        fingerprint: str,
        words: Callable[[str], list[str]],
        inputs: Callable[[str], list[str]],
        normalize: bool,
        device: str,
    ) -> None:
        self.path = path
        self.name = name
        self.specification = specification
        self.fingerprint = fingerprint
        self.dimension = sum(network.size for network in networks)
        self._networks = tuple(networks)
        self._words, self._inputs = words, inputs
        self._normalize = normalize  # the vector of each network, to length one
        self._device = device

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        table = self._networks[0].embedding.table
        split = [self._words(sentence) for sentence in sentences]
        unknown = [
            tuple(words[index] for index in np.flatnonzero(table.rows(words) < 0).tolist())
            for words in split
        ]
        return Coverage(tuple(map(len, split)), tuple(unknown))

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        for start in range(0, len(sentences), _CHUNK_SENTENCES):
            unique, index = distinct(sentences[start : start + _CHUNK_SENTENCES])
            vectors[start : start + len(index)] = self._encode_unique(unique)[index]
        return vectors

    def _encode_unique(self, sentences: Sequence[str]) -> Vectors:
        import torch  # noqa: PLC0415  # an extra, and heavy

        words = [self._inputs(sentence) for sentence in sentences]
        lengths = np.array([len(each) for each in words])
        nonempty = np.flatnonzero(lengths)
        vectors = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        for batch in batches_by_length(
            lengths[nonempty], max_tokens=_BATCH_WORDS, max_count=_BATCH_SENTENCES
        ):
            rows = nonempty[batch]
            with torch.inference_mode():
                vectors[rows] = self._forward([words[row] for row in rows]).cpu().numpy()
        return vectors

    def _forward(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        import torch  # noqa: PLC0415  # an extra, and heavy

        parts = [network.forward(sentences, self._device) for network in self._networks]
        return torch.cat([unit_length(part) if self._normalize else part for part in parts], dim=1)


def unit_length(vectors: Tensor) -> Tensor:
    """Scale vectors to length one; a zero vector stays zero."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return vectors / lengths.where(lengths > 0, lengths.new_ones(()))
