"""Gated recurrent units: the equations, in both conventions of the reset gate.

A gated recurrent unit turns the words x^1, ..., x^N of a sentence into states h^t by a reset gate
r and an update gate u, from weights W for the word, U for the state before, and biases b:

    r = σ(W_r x + U_r h + b_r)
    u = σ(W_u x + U_u h + b_u)
    h' = u ⊙ h + (1 - u) ⊙ c

Two conventions of the candidate c are in use, and trained weights fit only their own:

    c = tanh(W_c x + U_c (r ⊙ h) + b_c)    the state is reset, then multiplied (TensorFlow)
    c = tanh(W_c x + r ⊙ (U_c h) + b_c)    the product is reset (the Theano code of Skip-Thought)

Vectors are rows here, so that W x is written `x @ W`, and W_r and W_u stand side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

if TYPE_CHECKING:
    from torch import Tensor


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
