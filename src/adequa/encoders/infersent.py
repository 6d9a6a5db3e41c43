"""InferSent (Conneau et al. 2017): a bi-directional LSTM whose states are pooled by their maximum.

For the words x_1, ..., x_T of a sentence (§3.2.2), h_t is the state of an LSTM that reads
forwards beside that of one that reads backwards, and each number of the sentence's vector is the
largest among the h_t. The published files are dictionaries of weights for `torch.nn.LSTM`
(`enc_lstm.weight_ih_l0` and so on). There are two versions:

- version 1 (`infersent1.pkl`) reads GloVe vectors (`glove.840B.300d.txt`) with `<s>` before and
  `</s>` after the words of a sentence
- version 2 (`infersent2.pkl`) reads fastText vectors (`crawl-300d-2M.vec`) with `<p>` and `</p>`,
  and splits negations as Moses does: `don 't` in place of `do n't`

Words without a vector are left out; where none is left, the closing mark stands alone. The
authors' code pads the sentences of a batch to the same length. In version 1 the zeros of the
padding take part in the maximum, so that a vector depends on which sentences were encoded along
with it; here it never does: padding is left out, which is what their code gives for a sentence by
itself, and `padded=true` lets one zero take part for every sentence, which is what it gives for a
sentence beside a longer one.

The authors' own files could not be had to try: the equations are tested with small weights in the
same layout.
"""

from __future__ import annotations

import pickle
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.encoders.recurrent import (
    check_word_size,
    chosen_device,
    content_digest,
    encode_in_batches,
    padded,
    word_coverage,
)
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vectors import WordVectors, load_word_vectors
from adequa.errors import AdequaError
from adequa.io.text import unreadable

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import LSTM

POOLS: Final = ("max", "mean")
# What is put before and after a sentence, by version.
MARKS: Final = {1: ("<s>", "</s>"), 2: ("<p>", "</p>")}
_PREFIX: Final = "enc_lstm."
_GATES: Final = 4  # input, forget, cell and output, one above the other in PyTorch's weights
_MATRIX: Final = 2  # axes

# What torch's reader raises on bytes that are no checkpoint at all.
_FOREIGN = (
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


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may choose, apart from files."""

    version: int
    pool: str
    padded: bool
    tokenize: bool

    def __post_init__(self) -> None:
        if self.version not in MARKS:
            raise AdequaError(f"infersent: version must be 1 or 2, not {self.version}.")
        if self.pool not in POOLS:
            raise AdequaError(f"infersent: pool must be {' or '.join(POOLS)}, not {self.pool!r}.")
        if self.padded and (self.version, self.pool) != (1, "max"):
            raise AdequaError("infersent: padded=true is for version=1,pool=max alone.")


class InferSent(Encoder):
    """Versions 1 and 2, from the published file of weights and one of word vectors."""

    def __init__(
        self, path: Path, lstm: LSTM, words: WordVectors, settings: Settings, device: str
    ) -> None:
        self.path = path
        self.name = f"infersent{settings.version}.{settings.pool}"
        self.dimension = 2 * lstm.hidden_size
        self.specification = (
            f"infersent:{path},words={words.path},version={settings.version},pool={settings.pool}"
        )
        self.specification += ",padded=true" if settings.padded else ""
        self.specification += "" if settings.tokenize else ",tokenize=false"
        state = {name: tensor.cpu().numpy() for name, tensor in lstm.state_dict().items()}
        self.fingerprint = content_digest(
            {
                "kind": "infersent",
                "words": words.fingerprint,
                "version": settings.version,
                "pool": settings.pool,
                "padded": settings.padded,
                "tokenize": settings.tokenize,
            },
            state,
        )
        self._lstm = lstm
        self._table = words
        self._settings = settings
        self._device = device

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
        settings = Settings(version, pool, padded, tokenize)
        if not words:
            raise AdequaError(
                "infersent needs the word vectors that it was trained with: add words=FILE, "
                "glove.840B.300d.txt for version 1 and crawl-300d-2M.vec for version 2."
            )
        chosen = chosen_device("infersent", device)
        file = Path(path).expanduser().resolve()
        lstm = _lstm(file).to(chosen)
        table = load_word_vectors(Path(words).expanduser())
        check_word_size(words, table.dimension, str(file), lstm.input_size)
        return cls(file, lstm, table, settings, chosen)

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = encode_in_batches(sentences, self._known_words, self._encoded, self.dimension)
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        return word_coverage([self._words(sentence) for sentence in sentences], self._table)

    def _words(self, sentence: str) -> list[str]:
        if not self._settings.tokenize:
            return sentence.split()
        words = treebank_words(sentence)
        return words if self._settings.version == 1 else moses_negations(words)

    def _known_words(self, sentence: str) -> list[str]:
        """The words that have a vector, marks included.

        Where there is none, not even the closing mark's, no word is left.
        """
        opening, closing = MARKS[self._settings.version]
        words = [opening, *self._words(sentence), closing]
        known = self._table.rows(words) >= 0
        return [word for word, is_known in zip(words, known, strict=True) if is_known]

    def _encoded(self, sentences: list[Sequence[str]]) -> Tensor:
        import torch  # noqa: PLC0415  # an extra, and heavy

        lengths = [len(words) for words in sentences]
        vectors = [np.asarray(self._table.vectors[self._table.rows(each)]) for each in sentences]
        rnn = torch.nn.utils.rnn
        packed = rnn.pack_padded_sequence(padded(vectors, self._device), lengths, batch_first=True)
        states = self._lstm(packed)[0]
        filling = 0.0 if self._settings.pool == "mean" else -torch.inf
        h, counts = rnn.pad_packed_sequence(states, batch_first=True, padding_value=filling)
        if self._settings.pool == "mean":
            return h.sum(dim=1) / counts[:, None].to(h.device)
        pooled: Tensor = h.amax(dim=1)
        return pooled.clamp(min=0) if self._settings.padded else pooled


def moses_negations(words: Sequence[str]) -> list[str]:
    """Negations split before the apostrophe, unless one ends the sentence, as version 2 has them.

    >>> moses_negations(["I", "do", "n't", "know", "."])
    ['I', 'don', "'t", 'know', '.']
    """
    parted = list(words)
    for at in range(1, len(words) - 1):
        if words[at] == "n't":
            parted[at - 1], parted[at] = f"{parted[at - 1]}n", "'t"
    return parted


def _lstm(path: Path) -> LSTM:
    """The network that a file of weights describes by their shapes."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    state = _state(path)
    recurrent, of_words = state.get("weight_hh_l0"), state.get("weight_ih_l0")
    if recurrent is None or of_words is None or (recurrent.ndim, of_words.ndim) != (_MATRIX,) * 2:
        raise _other_layout(path)
    lstm = torch.nn.LSTM(of_words.shape[1], recurrent.shape[1], bidirectional=True)
    wanted = lstm.state_dict()
    for name in sorted(wanted.keys() | state.keys()):
        if name not in wanted or name not in state or wanted[name].shape != state[name].shape:
            raise _other_layout(path, f" ({_PREFIX}{name})")
        if not torch.isfinite(state[name]).all():
            raise AdequaError(f"The weights {_PREFIX}{name} of {path} are not all finite numbers.")
    lstm.load_state_dict(state)
    return lstm.eval().requires_grad_(requires_grad=False)


def _state(path: Path) -> dict[str, Any]:
    """The tensors of a file whose names begin with `enc_lstm.`, without that beginning."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise unreadable(str(path), error) from error
    except _FOREIGN as error:
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
