"""The network of ReVal: a Tree-LSTM composes two sentences, and a small network compares them.

Composition is the Child-Sum Tree-LSTM of Tai, Socher and Manning (2015, §3.1). For a node j with
the word vector x_j and the children C(j):

    h̃_j  = Σ_{k ∈ C(j)} h_k                                (2)
    i_j  = σ(W⁽ⁱ⁾ x_j + U⁽ⁱ⁾ h̃_j + b⁽ⁱ⁾)                    (3)
    f_jk = σ(W⁽ᶠ⁾ x_j + U⁽ᶠ⁾ h_k + b⁽ᶠ⁾)                    (4)
    o_j  = σ(W⁽ᵒ⁾ x_j + U⁽ᵒ⁾ h̃_j + b⁽ᵒ⁾)                    (5)
    u_j  = tanh(W⁽ᵘ⁾ x_j + U⁽ᵘ⁾ h̃_j + b⁽ᵘ⁾)                 (6)
    c_j  = i_j ⊙ u_j + Σ_{k ∈ C(j)} f_jk ⊙ c_k             (7)
    h_j  = o_j ⊙ tanh(c_j)                                 (8)

On a chain of words, where each node has one child, this is a plain LSTM. The comparison of the two
roots, h_ref and h_tra, is that of Gupta, Orăsan and van Genabith (2015, equation 2):

    h_×  = h_ref ⊙ h_tra
    h_+  = |h_ref − h_tra|
    h_s  = σ(W⁽ˣ⁾ h_× + W⁽⁺⁾ h_+ + b⁽ʰ⁾)
    p̂    = softmax(W⁽ᵖ⁾ h_s + b⁽ᵖ⁾)
    ŷ    = rᵀ p̂,  r = (1, 2, …, K)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from adequa.encoders.device import to_device
from adequa.learned.reval.forest import EMPTY, Forest, Levels, sort_into_levels
from adequa.runtime.batching import batches_by_length
from adequa.segments import FloatArray, IntArray

Structure: TypeAlias = Literal["dependency", "chain"]

CLASSES = 5  # K: similarities are from 1 to K
# Without gradients, composed and compared at once.
_BATCH_TREES, _BATCH_NODES, _BATCH_PAIRS = 256, 1 << 14, 8192


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Sizes and dropout of the network, and the structure that it composes along."""

    dimension: int  # of the word vectors x
    memory: int = 300  # size of c and h
    hidden: int = 100  # size of h_s
    structure: Structure = "dependency"  # chain: a plain LSTM
    # The paper writes h = o ⊙ tanh c, but its 541,800 parameters of composition are those of the
    # implementation it used, which has h = tanh c: 3 × 2 × (300 × 300 + 300).
    output_gate: bool = True
    word_dropout: float = 0.0  # of word vectors; a word has one mask in all trees of a batch
    dropout: float = 0.0  # of h_s

    def weights(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all weights by name."""
        memory, gates = self.memory, 3 + self.output_gate
        return {
            # The rows of w and b are those of i, u, o (with an output gate) and f; u has no f.
            "w": (gates * memory, self.dimension),
            "b": (gates * memory,),
            "u": ((gates - 1) * memory, memory),
            "u_f": (memory, memory),
            "nothing": (self.dimension,),  # x of an empty sentence
            "w_h": (self.hidden, 2 * memory),  # W⁽ˣ⁾ and W⁽⁺⁾ side by side
            "b_h": (self.hidden,),
            "w_p": (CLASSES, self.hidden),
            "b_p": (CLASSES,),
        }


class TreeNetwork(nn.Module):
    """A Tree-LSTM over the trees of a batch, and the comparison of their roots."""

    def __init__(self, shape: TreeShape, seed: int) -> None:
        super().__init__()
        self.shape = shape
        generator, sizes = torch.Generator().manual_seed(seed), shape.weights()

        def uniform(name: str, inputs: int) -> nn.Parameter:
            # In ± 1/√inputs, as in the implementation that the paper used.
            values = torch.rand(sizes[name], generator=generator) * 2 - 1
            return nn.Parameter(values / inputs**0.5)

        self.w = uniform("w", shape.dimension)
        self.b = uniform("b", shape.dimension)
        self.u = uniform("u", shape.memory)
        self.u_f = uniform("u_f", shape.memory)
        self.nothing = nn.Parameter(torch.zeros(sizes["nothing"]))
        self.w_h = uniform("w_h", 2 * shape.memory)
        self.b_h = uniform("b_h", 2 * shape.memory)
        self.w_p = uniform("w_p", shape.hidden)
        self.b_p = uniform("b_p", shape.hidden)
        self.word_dropout = nn.Dropout(shape.word_dropout)
        self.dropout = nn.Dropout(shape.dropout)

    def levels(self, forest: Forest) -> Levels:
        """Return the levels of the trees that this network composes along."""
        return sort_into_levels(forest.chains() if self.shape.structure == "chain" else forest)

    def forward(self, levels: Levels, table: Tensor, trees: Tensor) -> Tensor:
        """Return log p̂ of pairs of trees.

        `trees` has the index of every reference, and then that of every translation.
        """
        h_ref, h_tra = self.compose(levels, table).index_select(0, trees).chunk(2)
        return self.compare(h_ref, h_tra)

    def compose(self, levels: Levels, table: Tensor) -> Tensor:
        """Return h of the root of each tree, level by level from the deepest nodes up.

        The words of the trees are rows of the table.
        """
        index = _index_tensors(levels, table.device)
        x = self._word_vectors(index["vocabulary"], table)
        wx = functional.linear(x, self.w, self.b)  # W x + b, once for each word of the batch
        wx, wx_f = wx[:, : -self.shape.memory], wx[:, -self.shape.memory :]
        # A leaf has no children, so that its state depends on its word alone.
        h = c = wx.new_empty(0, self.shape.memory)
        h_leaf, c_leaf = self._states(wx, wx_f[:0], h, c, index["parents"][:0])
        for wx_j, wx_fk, parents, h_leaf_j, c_leaf_j in zip(
            _rows_by_level(wx, index["inner_words"], levels.inner_counts),
            _rows_by_level(wx_f, index["parent_words"], levels.child_counts),
            index["parents"].split_with_sizes(levels.child_counts),
            _rows_by_level(h_leaf, index["leaf_words"], levels.leaf_counts),
            _rows_by_level(c_leaf, index["leaf_words"], levels.leaf_counts),
            strict=True,
        ):
            h, c = self._states(wx_j, wx_fk, h, c, parents)
            h, c = torch.cat([h, h_leaf_j]), torch.cat([c, c_leaf_j])
        return h.index_select(0, index["roots"])

    def _states(
        self, wx: Tensor, wx_f: Tensor, h_k: Tensor, c_k: Tensor, parents: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return h and c of nodes from those of all their children: equations 2 to 8.

        `wx` has W x + b of each node, for the gates i, u and o. The other tensors have a row for
        each child k: its parent's W x + b for the gate f, its state, and the index of its parent.
        """
        h_sum = _sum_by_parent(h_k, parents, len(wx))  # (2)
        gates = torch.addmm(wx, h_sum, self.u.t()) if len(h_k) else wx
        i, u, *output_gate = gates.chunk(2 + self.shape.output_gate, dim=1)
        i = i.sigmoid()  # (3)
        f = torch.addmm(wx_f, h_k, self.u_f.t()).sigmoid()  # (4)
        o = output_gate[0].sigmoid() if output_gate else 1.0  # (5)
        u = u.tanh()  # (6)
        c = torch.addcmul(_sum_by_parent(f * c_k, parents, len(wx)), i, u)  # (7)
        h = o * c.tanh()  # (8)
        return h, c

    def _word_vectors(self, vocabulary: Tensor, table: Tensor) -> Tensor:
        """Return x of each word of a batch: a row of the table, or the vector of EMPTY."""
        rows = functional.embedding(vocabulary.clamp(min=0), table)
        x = torch.where((vocabulary == EMPTY)[:, None], self.nothing, rows.float())
        return self.word_dropout(x)  # type: ignore[no-any-return]

    def compare(self, h_ref: Tensor, h_tra: Tensor) -> Tensor:
        """Return log p̂ of pairs of sentences: equation 2 of Gupta et al."""
        h = torch.cat([h_ref * h_tra, (h_ref - h_tra).abs()], dim=1)
        h_s = self.dropout(functional.linear(h, self.w_h, self.b_h).sigmoid())
        return functional.linear(h_s, self.w_p, self.b_p).log_softmax(dim=1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all weights by name."""
        return {
            name: tensor.detach().float().cpu().numpy()
            for name, tensor in self.state_dict().items()
        }

    @classmethod
    def from_arrays(cls, shape: TreeShape, arrays: Mapping[str, np.ndarray]) -> TreeNetwork:
        """Return the network with these weights."""
        network = cls(shape, seed=0)
        network.load_state_dict(
            {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        )
        return network


def _index_tensors(levels: Levels, device: torch.device) -> dict[str, Tensor]:
    """Return the index arrays of levels on a device, in one transfer."""
    values = {field.name: getattr(levels, field.name) for field in fields(levels)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    flat = to_device(np.concatenate(list(arrays.values())), device)
    parts = flat.split_with_sizes([len(array) for array in arrays.values()])
    return dict(zip(arrays, parts, strict=True))


def _rows_by_level(values: Tensor, index: Tensor, counts: Sequence[int]) -> Iterable[Tensor]:
    """Return the indexed rows of each level.

    With gradients all rows are copied at once, so that the backward pass sums them at once. Without
    gradients those of a level are copied when they are needed, and then are in the CPU's cache.
    """
    if torch.is_grad_enabled():
        return values.index_select(0, index).split_with_sizes(counts)
    return (values.index_select(0, rows) for rows in index.split_with_sizes(counts))


def _sum_by_parent(values: Tensor, parents: Tensor, count: int) -> Tensor:
    """Sum the rows of the children of each of `count` parents."""
    return values.new_zeros(count, values.shape[1]).index_add(0, parents, values)


def expected_similarity(log_p: Tensor) -> Tensor:
    """Return ŷ = rᵀ p̂ with r = 1 … K for each row of log p̂."""
    return log_p.exp() @ torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)


def target_distributions(similarity: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return the sparse distribution p of each similarity y in [1, K], with y = rᵀ p.

    >>> target_distributions([2.7, 5]).round(1)
    array([[0. , 0.3, 0.7, 0. , 0. ],
           [0. , 0. , 0. , 0. , 1. ]], dtype=float32)
    """
    y: FloatArray = np.asarray(similarity, dtype=np.float64)
    # ⌊y⌋ gets ⌊y⌋ − y + 1 and the next class y − ⌊y⌋: a tent around y.
    p: FloatArray = np.maximum(1 - np.abs(y[:, None] - np.arange(1, CLASSES + 1)), 0)
    return p.astype(np.float32)


def kl_divergence(p: Tensor, log_p: Tensor) -> Tensor:
    """Return the mean of KL(p ‖ p̂) over pairs: equation 3 of Gupta et al. without its L2 term."""
    return functional.kl_div(log_p, p, reduction="batchmean")


def compose_trees(network: TreeNetwork, table: Tensor, forest: Forest) -> Tensor:
    """Return h of the roots of all trees, without gradients; trees of similar length in a batch."""
    network.eval()
    h = torch.empty(len(forest), network.shape.memory, device=table.device)
    with torch.no_grad():
        for trees in batches_by_length(
            forest.lengths, max_tokens=_BATCH_NODES, max_count=_BATCH_TREES
        ):
            levels = network.levels(forest.select(trees))
            h[to_device(trees, table.device)] = network.compose(levels, table)
    return h


def compare_trees(network: TreeNetwork, h: Tensor, h_ref: IntArray, h_tra: IntArray) -> FloatArray:
    """Return ŷ of pairs of rows of h, without gradients."""
    network.eval()
    similarity = [np.empty(0)]
    with torch.no_grad():
        for start in range(0, len(h_ref), _BATCH_PAIRS):
            batch = slice(start, start + _BATCH_PAIRS)
            ref, tra = (h[to_device(side[batch], h.device)] for side in (h_ref, h_tra))
            log_p = network.compare(ref, tra)
            similarity.append(expected_similarity(log_p).double().cpu().numpy())
    return np.concatenate(similarity)
