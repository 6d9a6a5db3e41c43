"""Quick-Thought (Logeswaran & Lee 2018): the last states of two GRU encoders, side by side.

The encoders f and g (§3) were trained so that the product f(s)·g(t) tells which sentence t comes
next to s; a sentence is represented by both, [f(s), g(s)]. Each is a GRU that reads forwards, or
in the bi-directional models two of half the size. They are TensorFlow's GRU cells, which reset
the state before it is multiplied:

    r = σ([x, h] W_r + b_r)
    u = σ([x, h] W_u + b_u)
    c = tanh([x, r ⊙ h] W_c + b_c)
    h' = u ⊙ h + (1 - u) ⊙ c

The authors publish TensorFlow checkpoints, which `python -m
adequa.encoders.converters.quick_thought` turns into a folder that this file reads:

- `quick_thought.npz`: for each encoder E (`f`, `g`) and direction D (`forward`, and in
  bi-directional models `backward`) the arrays `E.D.gates.kernel` (d+n, 2n; the columns of r, then
  those of u), `E.D.gates.bias` (2n), `E.D.candidate.kernel` (d+n, n) and `E.D.candidate.bias`
  (n), and `unknown`, the vector of unknown words (d)
- `words.txt`, `f_words.npy` and `g_words.npy`, in models that learned their own word vectors: one
  word a line and one row a word, `<unk>` among them. Without `g_words.npy` both encoders read
  `f_words.npy`; without any, the setting `words` names a file of word vectors (GloVe 840B).

The authors' own files could not be had to try: the equations are tested with small weights in the
same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.encoders.recurrent import (
    Arrays,
    GatedEncoder,
    GatedUnit,
    WordTable,
    array_names,
    check_word_size,
    chosen_device,
    content_digest,
    encode_in_batches,
    gated_unit,
    read_arrays,
    unit_length,
    word_coverage,
)
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vector_files import open_table
from adequa.encoders.word_vectors import load_word_vectors
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from torch import Tensor

# Word vectors, and the vector of words that are not among them.
Table: TypeAlias = tuple[WordTable, npt.NDArray[np.float32]]

ENCODERS: Final = ("f", "g")
DIRECTIONS: Final = ("forward", "backward")
PARTS: Final = ("gates.kernel", "gates.bias", "candidate.kernel", "candidate.bias")
WEIGHTS: Final = "quick_thought.npz"
WORDS: Final = "words.txt"
TABLES: Final = {"f": "f_words.npy", "g": "g_words.npy"}
UNKNOWN: Final = "<unk>"
UNKNOWN_VECTOR: Final = "unknown"
_CONVERTER: Final = "python -m adequa.encoders.converters.quick_thought CHECKPOINT NEW_FOLDER"


class QuickThought(Encoder):
    """The encoders f and g, from a folder that the converter has written."""

    def __init__(
        self,
        path: Path,
        halves: tuple[GatedEncoder, ...],
        fingerprint: str,
        *,
        words: str,
        normalize: bool,
        lowercase: bool,
        device: str,
    ) -> None:
        self.path = path
        self.name = f"quick-thought.{path.name}"
        self.fingerprint = fingerprint
        self.dimension = sum(half.size for half in halves)
        self.specification = f"quick-thought:{path}"
        self.specification += f",words={words}" if words else ""
        self.specification += "" if normalize else ",normalize=false"
        self.specification += ",lowercase=true" if lowercase else ""
        self._halves = halves
        self._normalize = normalize
        self._lowercase = lowercase
        self._device = device

    @classmethod
    def load(
        cls,
        path: str,
        *,
        words: str = "",
        normalize: bool = True,
        lowercase: bool = False,
        device: str = "",
    ) -> QuickThought:
        """The encoder in a folder; as in the authors' `encode`, f(s) and g(s) have length one.

        `words` names a file of word vectors, for models that were trained on fixed ones;
        `lowercase` is for models whose configuration says that they are not case-sensitive.
        """
        folder = Path(path).expanduser().resolve()
        if not folder.is_dir():
            raise AdequaError(
                f"{path} is not a folder; Quick-Thought reads one that holds {WEIGHTS}, which "
                f"{_CONVERTER} writes."
            )
        chosen = chosen_device("quick-thought", device)
        settings: dict[str, object] = {
            "kind": "quick-thought",
            "normalize": normalize,
            "lowercase": lowercase,
        }
        words = str(Path(words).expanduser().resolve()) if words else ""
        arrays = _weights(folder / WEIGHTS)
        units = {each: _units(folder / WEIGHTS, each, arrays, chosen) for each in ENCODERS}
        tables = (
            _given_words(folder, words, arrays, settings)
            if words
            else _own_words(folder, arrays, settings)
        )
        halves = tuple(GatedEncoder(*tables[each], units[each]) for each in ENCODERS)
        for encoder, half in zip(ENCODERS, halves, strict=True):
            file = words or str(folder / TABLES[encoder])
            for unit in half.units:
                check_word_size(file, half.table.dimension, str(folder / WEIGHTS), unit.word_size)
        fingerprint = content_digest(settings, arrays)
        return cls(
            folder,
            halves,
            fingerprint,
            words=words,
            normalize=normalize,
            lowercase=lowercase,
            device=chosen,
        )

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = encode_in_batches(sentences, self._words, self._encoded, self.dimension)
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        return word_coverage([self._words(each) for each in sentences], self._halves[0].table)

    def _words(self, sentence: str) -> list[str]:
        return treebank_words(sentence.lower() if self._lowercase else sentence)

    def _encoded(self, sentences: list[Sequence[str]]) -> Tensor:
        import torch  # noqa: PLC0415  # an extra, and heavy

        parts = [half.last_states(sentences, self._device) for half in self._halves]
        return torch.cat([unit_length(p) if self._normalize else p for p in parts], dim=1)


def weight_names(encoder: str, direction: str) -> tuple[str, ...]:
    """The arrays of one unit.

    >>> weight_names("f", "forward")[:2]
    ('f.forward.gates.kernel', 'f.forward.gates.bias')
    """
    return tuple(f"{encoder}.{direction}.{part}" for part in PARTS)


def _weights(path: Path) -> Arrays:
    """The weights in a file, of one direction or two, and the vector of unknown words if any."""
    there = array_names(path)
    directions = DIRECTIONS if any(".backward." in name for name in there) else DIRECTIONS[:1]
    names = [name for e in ENCODERS for d in directions for name in weight_names(e, d)]
    return read_arrays(path, names + [UNKNOWN_VECTOR] * (UNKNOWN_VECTOR in there))


def _units(path: Path, encoder: str, arrays: Arrays, device: str) -> tuple[GatedUnit, ...]:
    """The units of f or g: TensorFlow puts the weights of the word above those of the state."""
    units = []
    for direction in DIRECTIONS:
        names = weight_names(encoder, direction)
        if names[0] not in arrays:
            continue
        gates, gate_bias, candidate, candidate_bias = (np.atleast_1d(arrays[n]) for n in names)
        word_size = max(len(candidate) - candidate_bias.size, 0)
        weights = {
            "word_gates": gates[:word_size],
            "state_gates": gates[word_size:],
            "gate_bias": gate_bias,
            "word_candidate": candidate[:word_size],
            "state_candidate": candidate[word_size:],
            "candidate_bias": candidate_bias,
        }
        units.append(gated_unit(str(path), weights, resets_state=True, device=device))
    return tuple(units)


def _given_words(
    folder: Path, words: str, arrays: Arrays, settings: dict[str, object]
) -> dict[str, Table]:
    """Vectors from a file that the user names, for both encoders."""
    if (folder / WORDS).exists():
        raise AdequaError(f"{folder} holds word vectors of its own; leave out the setting words.")
    if UNKNOWN_VECTOR not in arrays:
        raise AdequaError(
            f'{folder / WEIGHTS} lacks the array "{UNKNOWN_VECTOR}", the vector of unknown words; '
            f"convert the checkpoint again with {_CONVERTER}."
        )
    table = load_word_vectors(words)
    unknown = arrays[UNKNOWN_VECTOR].astype(np.float32)
    check_word_size(words, table.dimension, f"{folder / WEIGHTS} ({UNKNOWN_VECTOR})", unknown.size)
    settings["words"] = table.fingerprint
    return dict.fromkeys(ENCODERS, (table, unknown))


def _own_words(folder: Path, arrays: Arrays, settings: dict[str, object]) -> dict[str, Table]:
    """The word vectors that a model has learned, which are added to its arrays."""
    if not (folder / WORDS).exists():
        raise AdequaError(
            f"{folder} holds no {WORDS}, so this model reads fixed word vectors; name their file, "
            "as in words=glove.840B.300d.txt."
        )
    tables: dict[str, Table] = {}
    for encoder in ENCODERS:
        file = folder / TABLES[encoder]
        if encoder != "f" and not file.exists():
            tables[encoder] = tables["f"]  # one table for both
            continue
        table = open_table(folder / WORDS, file, f"convert the checkpoint with {_CONVERTER}")
        settings["words"] = list(table.row_of)
        arrays[f"{encoder} words"] = table.vectors
        tables[encoder] = (table, table.vector(UNKNOWN))
    return tables
