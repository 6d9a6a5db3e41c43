"""What recurrent encoders share: words in batches of similar length, and gated encoders."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Coverage, Vectors
from adequa.errors import AdequaError
from adequa.io.text import unreadable
from adequa.runtime.batches import batches_by_length, distinct

if TYPE_CHECKING:
    from torch import Tensor

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_ROWS = 1 << 12
# Raised when words or equations of a published encoder change, so that vectors that were made
# before are not taken for those that would be made now.
_EQUATIONS = 1


def array_names(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an .npz file."""
    with _opened(path) as archive:
        return tuple(archive.files)


def read_arrays(path: Path, names: Sequence[str]) -> Arrays:
    """These arrays of an .npz file, all of floating-point numbers; others are left unread."""
    with _opened(path) as archive:
        lacking = [name for name in names if name not in archive.files]
        if lacking:
            raise AdequaError(
                f"{path} lacks the array {lacking[0]}; it must hold {', '.join(names)}."
            )
        arrays = {name: _array(path, archive, name) for name in names}
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
                plain = np.asarray(array, dtype=np.float32)
                np.lib.format.write_array(stream, plain, allow_pickle=False)


def _array(path: Path, archive: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise AdequaError(
            f"The array {name} of {path} is damaged, or Python objects and not plain numbers."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        stream = path.open("rb")  # NumPy would leave the file open where it is not what it seems
    except OSError as error:
        raise unreadable(str(path), error) from error
    with stream:
        try:
            archive = np.load(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise AdequaError(f"{path} is not an .npz file of NumPy arrays.") from error
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise AdequaError(f"{path} is a single NumPy array, not an .npz file of several.")
        with archive:
            yield archive


def content_digest(settings: Mapping[str, object], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """A hexadecimal digest of settings and of what arrays hold, wherever they were read from.

    >>> one = content_digest({"mode": "uni"}, {"W": np.ones((2, 3))})
    >>> one == content_digest({"mode": "uni"}, {"W": np.ones((2, 3), dtype=np.float32)})
    True
    >>> one == content_digest({"mode": "uni"}, {"W": np.ones((3, 2))})
    False
    """
    digest = hashlib.sha256(json.dumps([_EQUATIONS, settings], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.shape]).encode())
        flat = array if array.ndim else array[None]
        for start in range(0, len(flat), _ROWS):  # a table may be larger than memory
            digest.update(np.ascontiguousarray(flat[start : start + _ROWS], np.float32).data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """The weights of one gated recurrent unit, for words of d numbers and a state of n."""

    word_gates: Tensor  # W_r and W_u, (d, 2n)
    state_gates: Tensor  # U_r and U_u, (n, 2n)
    gate_bias: Tensor  # b_r and b_u, (2n)
    word_candidate: Tensor  # W_c, (d, n)
    state_candidate: Tensor  # U_c, (n, n)
    candidate_bias: Tensor  # b_c, (n)
    resets_state: bool  # U_c (r ⊙ h) where true, r ⊙ (U_c h) where false

    @property
    def word_size(self) -> int:
        """Numbers in the vector of a word."""
        return int(self.word_gates.shape[0])

    @property
    def size(self) -> int:
        """Numbers in a state."""
        return int(self.state_candidate.shape[0])

    def last_states(self, words: Tensor, lengths: Sequence[int]) -> Tensor:
        """The state after the last word of each sentence, from (sentences, words, d).

        The sentences come longest first, so that those which are not over at a step are always
        the first ones, and padding is never read.
        """
        import torch  # noqa: PLC0415  # an extra, and heavy

        gates = words @ self.word_gates + self.gate_bias
        candidates = words @ self.word_candidate + self.candidate_bias
        states = words.new_zeros((len(lengths), self.size))
        going_on = np.asarray(lengths)
        for step in range(max(lengths, default=0)):
            rows = int((going_on > step).sum())
            h = states[:rows]
            r, u = torch.sigmoid(gates[:rows, step] + h @ self.state_gates).chunk(2, dim=1)
            of_state = (
                (r * h) @ self.state_candidate
                if self.resets_state
                else r * (h @ self.state_candidate)
            )
            c = torch.tanh(candidates[:rows, step] + of_state)
            states[:rows] = u * h + (1 - u) * c
        return states


def gated_unit(
    origin: str, weights: Mapping[str, npt.NDArray[Any]], *, resets_state: bool, device: str
) -> GatedUnit:
    """A unit from arrays named as the fields of `GatedUnit`, whose shapes must fit together."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    shapes = {name: array.shape for name, array in weights.items()}
    size = weights["candidate_bias"].size
    word_size = next(iter(shapes["word_candidate"]), 0)
    wanted = {
        "word_gates": (word_size, 2 * size),
        "state_gates": (size, 2 * size),
        "gate_bias": (2 * size,),
        "word_candidate": (word_size, size),
        "state_candidate": (size, size),
        "candidate_bias": (size,),
    }
    for name, shape in wanted.items():
        if shapes[name] != shape or 0 in shape:
            raise AdequaError(
                f"{origin} holds weights that do not fit together: the {name.replace('_', ' ')} "
                f"should be {_sized(shape)}, but is {_sized(shapes[name])}."
            )
    tensors = {
        name: torch.from_numpy(np.array(array, dtype=np.float32)).to(device)
        for name, array in weights.items()
    }
    return GatedUnit(**tensors, resets_state=resets_state)


def _sized(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"


def backwards(words: Tensor, lengths: Sequence[int]) -> Tensor:
    """Each sentence from its last word to its first, padding still at the end."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    ends = torch.tensor(list(lengths), device=words.device)[:, None]
    places = (ends - 1 - torch.arange(words.shape[1], device=words.device)).clamp(min=0)
    return words.gather(1, places[:, :, None].expand_as(words))


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
