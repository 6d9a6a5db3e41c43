"""Published recurrent sentence encoders: Skip-Thought, InferSent and Quick-Thought.

The comment before each encoder has its equations and the layout of its files. The authors' files
were not available when this was written: the equations are tested with small weights in the same
layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from adequa.encoders.device import torch_device
from adequa.encoders.recurrent import (
    Arrays,
    Embedding,
    GRUNetwork,
    RecurrentEncoder,
    check_word_size,
    content_digest,
    read_arrays,
)
from adequa.encoders.registry import format_specification
from adequa.encoders.word_vector_files import open_table
from adequa.encoders.word_vectors import load_word_vectors, treebank_words
from adequa.errors import AdequaError
from adequa.io.files import open_regular

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import LSTM


# Skip-Thought (Kiros et al. 2015): the last states of GRUs that were trained on books.
#
# Uni-skip is one GRU (2400 numbers), bi-skip one that reads forwards and one that reads backwards
# (2 × 1200), combine-skip both models side by side (4800). The paper (§2.1) and the code that the
# published weights were trained with differ in two equations. The weights fit the code, which is
# followed here. With the word x, the state h before and the candidate h̄:
#
#     r = σ(W_r x + U_r h + b_r)
#     z = σ(W_z x + U_z h + b_z)
#     h̄ = tanh(W x + r ⊙ (U h) + b)    where the paper has U (r ⊙ h)
#     h' = z ⊙ h + (1 - z) ⊙ h̄         where the paper has (1 - z) ⊙ h + z ⊙ h̄
#
# The folder holds `dictionary.txt`, for uni-skip `uni_skip.npz` and `utable.npy`, and for bi-skip
# `bi_skip.npz` and `btable.npy`. In the .npz files `encoder_W`, `encoder_U` and `encoder_b` hold
# the reset gate and then the update gate, side by side; `encoder_Wx`, `encoder_Ux` and
# `encoder_bx` belong to the candidate; `encoder_r_*` reads backwards.

MODES: Final = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}
WEIGHT_FILES: Final = {"uni": "uni_skip.npz", "bi": "bi_skip.npz"}
TABLE_FILES: Final = {"uni": "utable.npy", "bi": "btable.npy"}
DICTIONARY: Final = "dictionary.txt"
_UNKNOWN: Final = "UNK"
END: Final = "<eos>"
_PREFIXES: Final = {"uni": ("encoder",), "bi": ("encoder", "encoder_r")}
# The authors' names of the weights, by the fields of `GRU`.
_WEIGHTS: Final = {
    "word_gates": "W",
    "state_gates": "U",
    "gate_bias": "b",
    "word_candidate": "Wx",
    "state_candidate": "Ux",
    "candidate_bias": "bx",
}
_CONVERTER: Final = "python -m adequa.encoders.converters"


class SkipThought(RecurrentEncoder):
    """Uni-skip, bi-skip and combine-skip, from a folder in the authors' layout."""

    @classmethod
    def load(
        cls,
        path: str,
        *,
        mode: str = "combine",
        normalize: bool = True,
        use_eos: bool = False,
        device: str = "",
    ) -> SkipThought:
        """The encoder in a folder; as in the authors' `encode`, vectors have length one.

        `normalize` scales the vectors of uni-skip and of bi-skip to length one, each for itself;
        `use_eos` puts the word `<eos>` at the end of every sentence.
        """
        folder = Path(path).expanduser().resolve()
        if mode not in MODES:
            raise AdequaError(f"skip-thought: mode must be {', '.join(MODES)}, not {mode!r}.")
        if not folder.is_dir():
            raise AdequaError(
                f"{path} is not a folder; Skip-Thought needs one that holds {DICTIONARY}, "
                f"{' and '.join(WEIGHT_FILES[model] for model in MODES[mode])}, and "
                f"{' and '.join(TABLE_FILES[model] for model in MODES[mode])}."
            )
        device = str(torch_device(device))
        # What the fingerprint depends on.
        settings: dict[str, object] = {
            "kind": "skip-thought",
            "mode": mode,
            "normalize": normalize,
            "eos": use_eos,
        }
        arrays: Arrays = {}
        networks = [_load_model(folder, each, device, arrays, settings) for each in MODES[mode]]
        options = {"mode": mode}
        options |= {} if normalize else {"normalize": "false"}
        options |= {"use_eos": "true"} if use_eos else {}
        return cls(
            networks,
            path=folder,
            name=f"{mode}-skip",
            specification=format_specification("skip-thought", str(folder), options),
            fingerprint=content_digest(settings, arrays),
            words=treebank_words,
            inputs=_words_and_end if use_eos else treebank_words,
            normalize=normalize,
            device=device,
        )


def _words_and_end(sentence: str) -> list[str]:
    return [*treebank_words(sentence), END]


def skip_thought_arrays(model: str) -> tuple[str, ...]:
    """Return the names of the arrays of uni-skip or bi-skip.

    >>> skip_thought_arrays("bi")[5:8]
    ('encoder_bx', 'encoder_r_W', 'encoder_r_U')
    """
    return tuple(f"{prefix}_{name}" for prefix in _PREFIXES[model] for name in _WEIGHTS.values())


def _load_model(
    folder: Path, model: str, device: str, arrays: Arrays, settings: dict[str, object]
) -> GRUNetwork:
    """Load uni-skip or bi-skip; add what the fingerprint depends on to arrays and settings."""
    weights_file, table_file = folder / WEIGHT_FILES[model], folder / TABLE_FILES[model]
    weights = read_arrays(weights_file, skip_thought_arrays(model))
    units = [
        {ours: weights[f"{prefix}_{theirs}"] for ours, theirs in _WEIGHTS.items()}
        for prefix in _PREFIXES[model]
    ]
    table = open_table(
        folder / DICTIONARY,
        table_file,
        f"convert the folder with {_CONVERTER} skip-thought FOLDER NEW_FOLDER",
    )
    if settings["eos"]:
        table.vector(END)  # raises where the dictionary lacks it
    arrays.update({f"{model} {name}": array for name, array in weights.items()})
    arrays[f"{model} table"] = table.vectors
    settings["words"] = list(table.row_of)
    return GRUNetwork.load(
        str(weights_file),
        units,
        str(table_file),
        Embedding(table, table.vector(_UNKNOWN)),
        resets_state=False,
        device=device,
    )


# InferSent (Conneau et al. 2017): a bi-directional LSTM whose states are pooled by their maximum.
#
# For the words x_1, ..., x_T of a sentence (§3.2.2), h_t is the state of an LSTM that reads
# forwards beside that of one that reads backwards, and each number of the sentence's vector is the
# largest among the h_t. The published files are dictionaries of weights for `torch.nn.LSTM`
# (`enc_lstm.weight_ih_l0` and so on). There are two versions:
#
# - version 1 (`infersent1.pkl`) reads GloVe vectors (`glove.840B.300d.txt`) with `<s>` before and
#   `</s>` after the words of a sentence
# - version 2 (`infersent2.pkl`) reads fastText vectors (`crawl-300d-2M.vec`) with `<p>` and `</p>`,
#   and splits negations as Moses does: `don 't` in place of `do n't`
#
# Words without a vector are left out. The authors' code pads the sentences of a batch to the same
# length. In version 1 the zeros of the padding take part in the maximum, so that a vector depends
# on the other sentences of its batch. Here padding is left out, which is what their code gives for
# a sentence by itself; with `padded=true` one zero takes part for every sentence, which is what it
# gives for a sentence beside a longer one.

POOLS: Final = ("max", "mean")
# The marks before and after a sentence, by version.
MARKS: Final = {1: ("<s>", "</s>"), 2: ("<p>", "</p>")}
_PREFIX: Final = "enc_lstm."


class InferSent(RecurrentEncoder):
    """Versions 1 and 2, from the published file of weights and one of word vectors."""

    @classmethod
    def load(
        cls,
        path: str,
        *,
        words: str = "",
        version: int = 1,
        pool: str = "max",
        padded: bool = False,
        tokenize: bool = True,
        device: str = "",
    ) -> InferSent:
        """The encoder in a file; `words` names the word vectors that it was trained with.

        `pool` is max or mean, `padded` lets a zero take part in the maximum, and `tokenize` is
        false for sentences whose words are already parted by spaces.
        """
        _check_settings(version, pool, padded, words)
        device = str(torch_device(device))
        file = Path(path).expanduser().resolve()
        lstm = _load_lstm(file).to(device)
        table = load_word_vectors(Path(words).expanduser())
        check_word_size(words, table.dimension, str(file), lstm.input_size)
        split: Callable[[str], list[str]] = str.split
        if tokenize:
            split = treebank_words if version == 1 else _moses_words

        def with_marks(sentence: str) -> list[str]:
            """Split a sentence, add the marks, and drop what has no vector."""
            opening, closing = MARKS[version]
            words = [opening, *split(sentence), closing]
            rows = table.rows(words).tolist()
            return [word for word, row in zip(words, rows, strict=True) if row >= 0]

        settings: dict[str, object] = {
            "kind": "infersent",
            "words": table.fingerprint,
            "version": version,
            "pool": pool,
            "padded": padded,
            "tokenize": tokenize,
        }
        state = {name: tensor.cpu().numpy() for name, tensor in lstm.state_dict().items()}
        options = {"words": str(table.path), "version": str(version), "pool": pool}
        options |= {"padded": "true"} if padded else {}
        options |= {} if tokenize else {"tokenize": "false"}
        return cls(
            [PooledLSTM(Embedding(table), lstm, pool, padded)],
            path=file,
            name=f"infersent{version}.{pool}",
            specification=format_specification("infersent", str(file), options),
            fingerprint=content_digest(settings, state),
            words=split,
            inputs=with_marks,
            normalize=False,
            device=device,
        )


def _check_settings(version: int, pool: str, padded: bool, words: str) -> None:
    if version not in MARKS:
        raise AdequaError(f"infersent: version must be 1 or 2, not {version}.")
    if pool not in POOLS:
        raise AdequaError(f"infersent: pool must be {' or '.join(POOLS)}, not {pool!r}.")
    if padded and (version, pool) != (1, "max"):
        raise AdequaError("infersent: padded=true is for version=1,pool=max alone.")
    if not words:
        raise AdequaError(
            "infersent needs the word vectors that it was trained with: add words=FILE, "
            "glove.840B.300d.txt for version 1 and crawl-300d-2M.vec for version 2."
        )


@dataclass(frozen=True, slots=True)
class PooledLSTM:
    """A bi-directional LSTM whose states are pooled over the words."""

    embedding: Embedding
    lstm: LSTM
    pool: str  # max or mean
    padded: bool  # whether a zero takes part in the maximum

    @property
    def size(self) -> int:
        """Length of the vector of a sentence."""
        return 2 * self.lstm.hidden_size

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> Tensor:
        """Encode the words of sentences, longest first and none empty: (sentences, size)."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        rnn = torch.nn.utils.rnn
        words = self.embedding.padded(sentences, device)
        packed = rnn.pack_padded_sequence(words, list(map(len, sentences)), batch_first=True)
        states = self.lstm(packed)[0]
        padding = 0.0 if self.pool == "mean" else -torch.inf
        h, counts = rnn.pad_packed_sequence(states, batch_first=True, padding_value=padding)
        if self.pool == "mean":
            return h.sum(dim=1) / counts[:, None].to(h.device)
        maximum: Tensor = h.amax(dim=1)
        return maximum.clamp(min=0) if self.padded else maximum


def _moses_words(sentence: str) -> list[str]:
    return moses_negations(treebank_words(sentence))


def moses_negations(words: Sequence[str]) -> list[str]:
    """Split negations before the apostrophe, unless one ends the sentence, as version 2 does.

    >>> moses_negations(["I", "do", "n't", "know", "."])
    ['I', 'don', "'t", 'know', '.']
    """
    split = list(words)
    for index in range(1, len(words) - 1):
        if words[index] == "n't":
            split[index - 1], split[index] = f"{split[index - 1]}n", "'t"
    return split


def _load_lstm(path: Path) -> LSTM:
    """Build the LSTM that a file of weights describes by their shapes; run no code of the file."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    try:
        with open_regular(path) as stream:
            loaded = torch.load(stream, map_location="cpu", weights_only=True)
        state = {
            name.removeprefix(_PREFIX): tensor.float()
            for name, tensor in loaded.items()
            if name.startswith(_PREFIX)
        }
        sizes = state["weight_ih_l0"].shape[1], state["weight_hh_l0"].shape[1]
        lstm = torch.nn.LSTM(*sizes, bidirectional=True)
        lstm.load_state_dict(state)
    except AdequaError:
        raise
    except Exception as error:  # torch.load raises errors of many classes
        raise AdequaError(
            f"{path} is not a dictionary of weights of one bi-directional LSTM named {_PREFIX}*, "
            "as infersent1.pkl and infersent2.pkl are."
        ) from error
    return lstm.eval().requires_grad_(requires_grad=False)


# Quick-Thought (Logeswaran & Lee 2018): the last states of two GRU encoders, side by side.
#
# The encoders f and g (§3) were trained so that the product f(s)·g(t) tells which sentence t comes
# next to s; a sentence is represented by both, [f(s), g(s)]. Each is a GRU that reads forwards, or
# in the bi-directional models two of half the size. They are TensorFlow's GRU cells, which reset
# the state before it is multiplied:
#
#     r = σ([x, h] W_r + b_r)
#     u = σ([x, h] W_u + b_u)
#     c = tanh([x, r ⊙ h] W_c + b_c)
#     h' = u ⊙ h + (1 - u) ⊙ c
#
# The authors publish TensorFlow checkpoints, which `python -m adequa.encoders.converters
# quick-thought` turns into the folder that is read here:
#
# - `quick_thought.npz`: for each encoder E (`f`, `g`) and direction D (`forward`, and in
#   bi-directional models `backward`) the arrays `E.D.gates.kernel` (d+n, 2n; the columns of r, then
#   those of u), `E.D.gates.bias` (2n), `E.D.candidate.kernel` (d+n, n) and `E.D.candidate.bias`
#   (n), and `unknown`, the vector of unknown words (d)
# - `words.txt`, `f_words.npy` and `g_words.npy`, in models that learned their own word vectors: one
#   word per line and one row per word, `<unk>` among them. Without `g_words.npy` both encoders read
#   `f_words.npy`; without any, the setting `words` names a file of word vectors (GloVe 840B).

ENCODERS: Final = ("f", "g")
DIRECTIONS: Final = ("forward", "backward")
PARTS: Final = ("gates.kernel", "gates.bias", "candidate.kernel", "candidate.bias")
WEIGHTS: Final = "quick_thought.npz"
WORDS: Final = "words.txt"
TABLES: Final = {"f": "f_words.npy", "g": "g_words.npy"}
UNKNOWN: Final = "<unk>"
UNKNOWN_VECTOR: Final = "unknown"
_CONVERT: Final = f"{_CONVERTER} quick-thought CHECKPOINT NEW_FOLDER"


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
                f"{_CONVERT} writes."
            )
        device = str(torch_device(device))
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


def quick_thought_arrays(encoder: str, direction: str) -> tuple[str, ...]:
    """Return the names of the arrays of one GRU.

    >>> quick_thought_arrays("f", "forward")[:2]
    ('f.forward.gates.kernel', 'f.forward.gates.bias')
    """
    return tuple(f"{encoder}.{direction}.{part}" for part in PARTS)


def _read_weights(path: Path) -> Arrays:
    """Read the weights, of one direction or two, and the vector of unknown words if any."""
    arrays = read_arrays(path)
    directions = DIRECTIONS if any(".backward." in name for name in arrays) else DIRECTIONS[:1]
    names = [name for e in ENCODERS for d in directions for name in quick_thought_arrays(e, d)]
    return read_arrays(path, [*names, *({UNKNOWN_VECTOR} & set(arrays))])


def _unit_arrays(encoder: str, arrays: Arrays) -> list[Arrays]:
    """Return the arrays of each `GRU` of f or g: TensorFlow puts word above state weights."""
    units = []
    for direction in DIRECTIONS:
        names = quick_thought_arrays(encoder, direction)
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
            f"convert the checkpoint again with {_CONVERT}."
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
        table = open_table(
            folder / WORDS,
            file,
            f"convert the checkpoint with {_CONVERT}",
        )
        settings["words"] = list(table.row_of)
        arrays[f"{encoder} words"] = table.vectors
        embeddings[encoder] = Embedding(table, table.vector(UNKNOWN))
    return embeddings
