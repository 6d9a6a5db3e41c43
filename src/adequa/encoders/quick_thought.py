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
adequa.encoders.converters.quick_thought` turns into the folder that is read here:

- `quick_thought.npz`: for each encoder E (`f`, `g`) and direction D (`forward`, and in
  bi-directional models `backward`) the arrays `E.D.gates.kernel` (d+n, 2n; the columns of r, then
  those of u), `E.D.gates.bias` (2n), `E.D.candidate.kernel` (d+n, n) and `E.D.candidate.bias`
  (n), and `unknown`, the vector of unknown words (d)
- `words.txt`, `f_words.npy` and `g_words.npy`, in models that learned their own word vectors: one
  word a line and one row a word, `<unk>` among them. Without `g_words.npy` both encoders read
  `f_words.npy`; without any, the setting `words` names a file of word vectors (GloVe 840B).

The authors' files were not available when this was written: the equations are tested with small
weights in the same layout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from adequa.encoders.recurrent import (
    Arrays,
    Embedding,
    GRUNetwork,
    RecurrentEncoder,
    array_names,
    check_word_size,
    content_digest,
    read_arrays,
    select_device,
)
from adequa.encoders.registry import format_specification
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vector_files import open_table
from adequa.encoders.word_vectors import load_word_vectors
from adequa.errors import AdequaError

ENCODERS: Final = ("f", "g")
DIRECTIONS: Final = ("forward", "backward")
PARTS: Final = ("gates.kernel", "gates.bias", "candidate.kernel", "candidate.bias")
WEIGHTS: Final = "quick_thought.npz"
WORDS: Final = "words.txt"
TABLES: Final = {"f": "f_words.npy", "g": "g_words.npy"}
UNKNOWN: Final = "<unk>"
UNKNOWN_VECTOR: Final = "unknown"
_CONVERTER: Final = "python -m adequa.encoders.converters.quick_thought CHECKPOINT NEW_FOLDER"


class QuickThought(RecurrentEncoder):
    """The encoders f and g, from a folder that the converter has written."""

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
        device = select_device("quick-thought", device)
        words = str(Path(words).expanduser().resolve()) if words else ""
        # What the fingerprint depends on.
        settings: dict[str, object] = {
            "kind": "quick-thought",
            "normalize": normalize,
            "lowercase": lowercase,
        }
        arrays = _read_weights(folder / WEIGHTS)
        units = {encoder: _unit_arrays(encoder, arrays) for encoder in ENCODERS}
        embeddings = (
            _fixed_words(folder, words, arrays, settings)
            if words
            else _own_words(folder, arrays, settings)
        )
        networks = [
            GRUNetwork.load(
                str(folder / WEIGHTS),
                units[encoder],
                words or str(folder / TABLES[encoder]),
                embeddings[encoder],
                resets_state=True,
                device=device,
            )
            for encoder in ENCODERS
        ]
        options = {"words": words} if words else {}
        options |= {} if normalize else {"normalize": "false"}
        options |= {"lowercase": "true"} if lowercase else {}
        split = _lowercase_words if lowercase else treebank_words
        return cls(
            networks,
            path=folder,
            name=f"quick-thought.{folder.name}",
            specification=format_specification("quick-thought", str(folder), options),
            fingerprint=content_digest(settings, arrays),
            words=split,
            inputs=split,
            normalize=normalize,
            device=device,
        )


def _lowercase_words(sentence: str) -> list[str]:
    return treebank_words(sentence.lower())


def weight_names(encoder: str, direction: str) -> tuple[str, ...]:
    """Return the names of the arrays of one GRU.

    >>> weight_names("f", "forward")[:2]
    ('f.forward.gates.kernel', 'f.forward.gates.bias')
    """
    return tuple(f"{encoder}.{direction}.{part}" for part in PARTS)


def _read_weights(path: Path) -> Arrays:
    """Read the weights, of one direction or two, and the vector of unknown words if any."""
    present = array_names(path)
    directions = DIRECTIONS if any(".backward." in name for name in present) else DIRECTIONS[:1]
    names = [name for e in ENCODERS for d in directions for name in weight_names(e, d)]
    return read_arrays(path, names + [UNKNOWN_VECTOR] * (UNKNOWN_VECTOR in present))


def _unit_arrays(encoder: str, arrays: Arrays) -> list[Arrays]:
    """Return the arrays of each `GRU` of f or g: TensorFlow puts word above state weights."""
    units = []
    for direction in DIRECTIONS:
        names = weight_names(encoder, direction)
        if names[0] not in arrays:
            continue
        gates, gate_bias, candidate, candidate_bias = (np.atleast_1d(arrays[n]) for n in names)
        word_size = max(len(candidate) - candidate_bias.size, 0)
        units.append(
            {
                "word_gates": gates[:word_size],
                "state_gates": gates[word_size:],
                "gate_bias": gate_bias,
                "word_candidate": candidate[:word_size],
                "state_candidate": candidate[word_size:],
                "candidate_bias": candidate_bias,
            }
        )
    return units


def _fixed_words(
    folder: Path, words: str, arrays: Arrays, settings: dict[str, object]
) -> dict[str, Embedding]:
    """Read word vectors for both encoders from the user's file; its digest goes to settings."""
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
    return dict.fromkeys(ENCODERS, Embedding(table, unknown))


def _own_words(folder: Path, arrays: Arrays, settings: dict[str, object]) -> dict[str, Embedding]:
    """Read the word vectors that a model has learned; they are added to its arrays."""
    if not (folder / WORDS).exists():
        raise AdequaError(
            f"{folder} holds no {WORDS}, so this model reads fixed word vectors; name their file, "
            "as in words=glove.840B.300d.txt."
        )
    embeddings: dict[str, Embedding] = {}
    for encoder in ENCODERS:
        file = folder / TABLES[encoder]
        if encoder != "f" and not file.exists():
            embeddings[encoder] = embeddings["f"]  # one table for both
            continue
        table = open_table(folder / WORDS, file, f"convert the checkpoint with {_CONVERTER}")
        settings["words"] = list(table.row_of)
        arrays[f"{encoder} words"] = table.vectors
        embeddings[encoder] = Embedding(table, table.vector(UNKNOWN))
    return embeddings
