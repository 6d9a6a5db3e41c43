"""InferSent (Conneau et al. 2017): a bi-directional LSTM whose states are pooled by their maximum.

For the words x_1, ..., x_T of a sentence (§3.2.2), h_t is the state of an LSTM that reads forwards
beside that of one that reads backwards, and each number of the sentence's vector is the largest
among the h_t. The published files are dictionaries of weights for `torch.nn.LSTM`
(`enc_lstm.weight_ih_l0` and so on). There are two versions:

- version 1 (`infersent1.pkl`) reads GloVe vectors (`glove.840B.300d.txt`) with `<s>` before and
  `</s>` after the words of a sentence
- version 2 (`infersent2.pkl`) reads fastText vectors (`crawl-300d-2M.vec`) with `<p>` and `</p>`,
  and splits negations as Moses does: `don 't` in place of `do n't`

Words without a vector are left out. The authors' code pads the sentences of a batch to the same
length. In version 1 the zeros of the padding take part in the maximum, so that a vector depends on
the other sentences of its batch. Here padding is left out, which is what their code gives for a
sentence by itself; with `padded=true` one zero takes part for every sentence, which is what it
gives for a sentence beside a longer one.

The authors' files were not available when this was written: the equations are tested with small
weights in the same layout.
"""

from __future__ import annotations

import pickle
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adequa.encoders.recurrent import (
    Embedding,
    RecurrentEncoder,
    check_word_size,
    content_digest,
    select_device,
)
from adequa.encoders.registry import format_specification
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vectors import load_word_vectors
from adequa.errors import AdequaError
from adequa.io.text import unreadable

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import LSTM

POOLS: Final = ("max", "mean")
# The marks before and after a sentence, by version.
MARKS: Final = {1: ("<s>", "</s>"), 2: ("<p>", "</p>")}
_PREFIX: Final = "enc_lstm."
_MATRIX: Final = 2  # axes

# What `torch.load` raises on bytes that are not a checkpoint.
_NOT_A_CHECKPOINT = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    struct.error,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


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
        device = select_device("infersent", device)
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
    """Build the LSTM that a file of weights describes by their shapes."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    state = _load_state(path)
    recurrent, of_words = state.get("weight_hh_l0"), state.get("weight_ih_l0")
    if recurrent is None or of_words is None or (recurrent.ndim, of_words.ndim) != (_MATRIX,) * 2:
        raise _other_layout(path)
    lstm = torch.nn.LSTM(of_words.shape[1], recurrent.shape[1], bidirectional=True)
    expected = lstm.state_dict()
    for name in sorted(expected.keys() | state.keys()):
        if name not in expected or name not in state or expected[name].shape != state[name].shape:
            raise _other_layout(path, f" ({_PREFIX}{name})")
        if not torch.isfinite(state[name]).all():
            raise AdequaError(f"The weights {_PREFIX}{name} of {path} are not all finite numbers.")
    lstm.load_state_dict(state)
    return lstm.eval().requires_grad_(requires_grad=False)


def _load_state(path: Path) -> dict[str, Any]:
    """Read the tensors whose names begin with `enc_lstm.`, without running code of the file."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise unreadable(str(path), error) from error
    except _NOT_A_CHECKPOINT as error:
        raise _other_layout(path) from error
    if not isinstance(loaded, dict):
        raise _other_layout(path)
    return {
        str(name).removeprefix(_PREFIX): tensor.float()
        for name, tensor in loaded.items()
        if str(name).startswith(_PREFIX) and isinstance(tensor, torch.Tensor)
    }


def _other_layout(path: Path, where: str = "") -> AdequaError:
    return AdequaError(
        f"{path} is not a dictionary of weights of one bi-directional LSTM named {_PREFIX}*, as "
        f"infersent1.pkl and infersent2.pkl are{where}."
    )
