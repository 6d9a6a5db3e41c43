"""The network of ReVal: two sentences composed by a Tree-LSTM, and how similar they are.

Gupta, Orăsan and van Genabith (2015) on the Child-Sum Tree-LSTM of Tai, Socher and Manning (2015,
§3.1, equations 2–8), in their letters. A plain LSTM is the same on trees that are chains: with a
single child, the sum over children is that child's state, and its forget gate is the LSTM's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from adequa.errors import AdequaError
from adequa.learned.device import to_device
from adequa.learned.reval.forest import Forest, Schedule, schedule
from adequa.segments import FloatArray

Places: TypeAlias = Mapping[str, Tensor]  # the arrays of a schedule
Structure: TypeAlias = Literal["dependency", "chain"]

CLASSES = 5  # K: similarities are from 1 to K


@dataclass(frozen=True, slots=True)
class TreeShape:
    """How large the network is, and what it composes along."""

    dimension: int  # of the word vectors
    memory: int = 300  # of c and h
    hidden: int = 100  # units of h_s
    structure: Structure = "dependency"  # or chain, for a plain LSTM
    # The paper writes h = o ⊙ tanh c, but its 541,800 parameters of composition are those of the
    # implementation it used, which has h = tanh c: 3 × 2 × (300 × 300 + 300).
    output_gate: bool = True
    word_dropout: float = 0.0  # of word vectors; a word loses the same wherever a batch has it
    dropout: float = 0.0  # of h_s

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The size of every array of weights."""
        memory, gates = self.memory, 3 + self.output_gate
        return {
            # The gates one below the other: i, u, o where there is one; and f in W and b.
            "w": (gates * memory, self.dimension),
            "b": (gates * memory,),
            "u": ((gates - 1) * memory, memory),
            "u_f": (memory, memory),
            "nothing": (self.dimension,),  # the word of an empty sentence
            "w_h": (self.hidden, 2 * memory),  # W^(×) and W^(+) side by side
            "b_h": (self.hidden,),
            "w_p": (CLASSES, self.hidden),
            "b_p": (CLASSES,),
        }

    def check(self) -> None:
        """Raise where a value makes no sense."""
        if min(self.dimension, self.memory, self.hidden) < 1:
            raise AdequaError("Word vectors, memory and hidden layer each have 1 or more units.")
        if self.structure not in {"dependency", "chain"}:
            raise AdequaError(f'structure is dependency or chain, not "{self.structure}".')
        for name in ("word_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise AdequaError(
                    f"{name} must be at least 0 and below 1, not {getattr(self, name):g}."
                )


class TreeNetwork(nn.Module):
    """Composes the trees of a batch level by level, and compares what becomes of two of them."""

    def __init__(self, shape: TreeShape, seed: int) -> None:
        super().__init__()
        shape.check()
        self.shape = shape
        generator, sizes = torch.Generator().manual_seed(seed), shape.weights()
        self.w, self.b = (_drawn(generator, shape.dimension, sizes[name]) for name in ("w", "b"))
        self.u, self.u_f = (_drawn(generator, shape.memory, sizes[name]) for name in ("u", "u_f"))
        self.nothing = nn.Parameter(torch.zeros(sizes["nothing"]))
        self.w_h, self.b_h = (
            _drawn(generator, 2 * shape.memory, sizes[name]) for name in ("w_h", "b_h")
        )
        self.w_p, self.b_p = (
            _drawn(generator, shape.hidden, sizes[name]) for name in ("w_p", "b_p")
        )
        self.word_dropout = nn.Dropout(shape.word_dropout)
        self.dropout = nn.Dropout(shape.dropout)

    @classmethod
    def of(cls, shape: TreeShape, arrays: Mapping[str, np.ndarray]) -> TreeNetwork:
        """The network with the weights that `arrays` gave; made only where they fit its shape."""
        _check_weights(shape, arrays)
        network = cls(shape, seed=0)
        network.load(arrays)
        return network

    def schedule(self, forest: Forest) -> Schedule:
        """The order in which this network works trees out."""
        return schedule(forest.chains() if self.shape.structure == "chain" else forest)

    def forward(self, order: Schedule, table: Tensor) -> Tensor:
        """log p̂ of each pair; first come the trees of all references, then of all translations."""
        h_ref, h_tra = self.compose(order, table).chunk(2)
        return self.compare(h_ref, h_tra)

    def compose(self, order: Schedule, table: Tensor) -> Tensor:
        """h of the root of each tree; the words of the trees are rows of the table."""
        at = _on(order, self.w.device)
        kept = self.shape.memory
        gates = functional.linear(self._word_vectors(order, at, table), self.w, self.b)
        x, x_f = gates.split_with_sizes([gates.shape[1] - kept, kept], dim=1)
        h, c = self._leaves(x.index_select(0, at["leaf_words"]))
        if order.levels:
            last: Tensor = _Levels.apply(  # type: ignore[no-untyped-call]
                x,
                x_f,
                *self._leaf_sums(order, at, x_f, h, c),
                self.u,
                self.u_f,
                at,
                order.levels,
                torch.is_grad_enabled(),
            )
            h = torch.cat([last, h])
        return h.index_select(0, at["roots"])

    def _leaves(self, gates: Tensor) -> tuple[Tensor, Tensor]:
        """h and c of nodes without children."""
        i, u, *o = gates.chunk(2 + self.shape.output_gate, dim=1)
        c = i.sigmoid() * u.tanh()
        return (o[0].sigmoid() * c.tanh() if o else c.tanh()), c

    def _leaf_sums(
        self, order: Schedule, at: Places, x_f: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Σ h and Σ f ⊙ c over those children of each inner node that are leaves."""
        u_f_h = functional.linear(h, self.u_f).index_select(0, at["leaf_kinds"])
        f = (x_f.index_select(0, at["leaf_parent_words"]) + u_f_h).sigmoid()
        none = h.new_zeros(len(order.inner_words), self.shape.memory)
        h_sums = none.index_add(0, at["leaf_parents"], h.index_select(0, at["leaf_kinds"]))
        passed = f * c.index_select(0, at["leaf_kinds"])
        return h_sums, none.index_add(0, at["leaf_parents"], passed)

    def _word_vectors(self, order: Schedule, at: Places, table: Tensor) -> Tensor:
        if len(order.vocabulary) and order.vocabulary[-1] >= len(table):
            raise ValueError(f"word {order.vocabulary[-1]} is not in a table of {len(table)}")
        rows = functional.embedding(at["vocabulary"].clamp(min=0), table)
        vectors = torch.where((at["vocabulary"] < 0)[:, None], self.nothing, rows.float())
        found: Tensor = self.word_dropout(vectors)
        return found

    def compare(self, h_ref: Tensor, h_tra: Tensor) -> Tensor:
        """log p̂ of pairs of sentences: equation 2 of the paper."""
        h = torch.cat([h_ref * h_tra, (h_ref - h_tra).abs()], dim=1)
        h_s = self.dropout(functional.linear(h, self.w_h, self.b_h).sigmoid())
        return functional.linear(h_s, self.w_p, self.b_p).log_softmax(dim=1)

    def arrays(self) -> dict[str, np.ndarray]:
        """All weights."""
        return {
            name: tensor.detach().float().cpu().numpy()
            for name, tensor in self.state_dict().items()
        }

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take the weights that `arrays` gave."""
        _check_weights(self.shape, arrays)
        self.load_state_dict(
            {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        )


def _check_weights(shape: TreeShape, arrays: Mapping[str, np.ndarray]) -> None:
    own, given = shape.weights(), {name: array.shape for name, array in arrays.items()}
    if own != given:
        wrong = sorted(
            name for name in own.keys() | given.keys() if own.get(name) != given.get(name)
        )
        raise ValueError(f"weights of another network: {', '.join(wrong)}")


class _Levels(torch.autograd.Function):
    """The inner nodes, from the deepest level to the last, whose h it returns.

    Gradients are written out: PyTorch's own would multiply, and add up, those of U level by level,
    where here they are one product of all levels in the end.
    """

    @staticmethod
    def forward(  # noqa: PLR0917  # PyTorch passes no names
        ctx: Any,
        x: Tensor,  # W x + b of each word for i, u and o
        x_f: Tensor,  # and for f of what is below
        h_leaves: Tensor,  # Σ h over leaves
        c_leaves: Tensor,  # Σ f ⊙ c over leaves
        u: Tensor,
        u_f: Tensor,
        at: Places,
        levels: tuple[int, ...],
        learns: bool,
    ) -> Tensor:
        # For gradients all levels are kept; otherwise one after the other uses the same memory.
        rows = len(h_leaves) if learns else max(levels)
        h_sums, c = (h_leaves.clone(), c_leaves.clone()) if learns else (h_leaves, c_leaves)
        gates, tanh_c = x.new_empty(rows, x.shape[1]), c.new_empty(rows, c.shape[1])
        f = c.new_empty(len(at["child_parents"]) if learns else rows, c.shape[1])
        i, tanh_u, *o = gates.chunk(gates.shape[1] // c.shape[1], dim=1)
        h = torch.empty_like(tanh_c) if o else tanh_c
        below = kept = slice(0)
        for level in _slices(levels):
            if below.stop:
                parents = at["child_parents"][below]
                torch.index_select(x_f, 0, at["child_parent_words"][below], out=f[kept])
                f[kept].addmm_(h[kept], u_f.t()).sigmoid_()
                h_sums[level].index_add_(0, parents, h[kept])
                c[level].index_add_(0, parents, f[kept] * c[below])
            below, kept = level, level if learns else slice(level.stop - level.start)
            torch.index_select(x, 0, at["inner_words"][level], out=gates[kept])
            gates[kept].addmm_(h_sums[level], u.t())
            c[level].addcmul_(i[kept].sigmoid_(), tanh_u[kept].tanh_())
            torch.tanh(c[level], out=tanh_c[kept])
            if o:
                torch.mul(o[0][kept].sigmoid_(), tanh_c[kept], out=h[kept])
        ctx.at, ctx.levels, ctx.words = at, levels, len(x)
        ctx.save_for_backward(gates, f, c, tanh_c, h, h_sums, u, u_f)
        return h[kept].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_last: Tensor) -> tuple[Tensor | None, ...]:
        gates, f, c, tanh_c, h, h_sums, u, u_f = ctx.saved_tensors
        parents = ctx.at["child_parents"]
        i, tanh_u, *o = gates.chunk(gates.shape[1] // c.shape[1], dim=1)
        # How much one changes with another, of all levels at once; f with the c it lets through.
        c_by_h = (1 - tanh_c.square()) * (o[0] if o else 1)
        i_by_c, u_by_c = tanh_u * i * (1 - i), i * (1 - tanh_u.square())
        o_by_h = [tanh_c * gate * (1 - gate) for gate in o]
        f_by_c = c[: len(f)] * f * (1 - f)

        d_gates, d_f, d_c, d_sums = map(torch.empty_like, (gates, f, c, h_sums))
        d_i, d_u, *d_o = d_gates.chunk(gates.shape[1] // c.shape[1], dim=1)
        above, d_h = slice(0), d_last
        for level in reversed(_slices(ctx.levels)):
            if above.stop:
                passed = d_c[above].index_select(0, parents[level])
                torch.mul(passed, f_by_c[level], out=d_f[level])
                torch.mul(passed, f[level], out=d_c[level])
                d_h = torch.addmm(d_sums[above].index_select(0, parents[level]), d_f[level], u_f)
                d_c[level].addcmul_(d_h, c_by_h[level])
            else:
                torch.mul(d_h, c_by_h[level], out=d_c[level])
            torch.mul(d_c[level], i_by_c[level], out=d_i[level])
            torch.mul(d_c[level], u_by_c[level], out=d_u[level])
            for d_gate, by_h in zip(d_o, o_by_h, strict=True):
                torch.mul(d_h, by_h[level], out=d_gate[level])
            torch.mm(d_gates[level], u, out=d_sums[level])
            above = level
        d_weights = d_gates.t() @ h_sums, d_f.t() @ h[: len(f)]
        d_x = d_gates.new_zeros(ctx.words, d_gates.shape[1])
        d_x_f = d_f.new_zeros(ctx.words, d_f.shape[1])
        d_x.index_add_(0, ctx.at["inner_words"], d_gates)
        d_x_f.index_add_(0, ctx.at["child_parent_words"], d_f)
        return d_x, d_x_f, d_sums, d_c, *d_weights, None, None, None


def _slices(levels: tuple[int, ...]) -> list[slice]:
    ends = [0, *accumulate(levels)]
    return [slice(begin, end) for begin, end in pairwise(ends)]


def similarities(log_p: Tensor) -> Tensor:
    """ŷ = rᵀp̂ with r = 1 … K, one a row of log p̂."""
    return log_p.exp() @ torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)


def target_distributions(similarity: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The sparse p of each similarity y in [1, K], with y = rᵀp.

    >>> target_distributions([2.7, 5]).round(1)
    array([[0. , 0.3, 0.7, 0. , 0. ],
           [0. , 0. , 0. , 0. , 1. ]], dtype=float32)
    """
    y: FloatArray = np.asarray(similarity, dtype=np.float64)
    outside = ~((y >= 1) & (y <= CLASSES))
    if outside.any():
        raise AdequaError(
            f"Similarities are from 1 to {CLASSES}, but one is {y[outside][0]:g}; rescale them."
        )
    # floor(y) gets floor(y) - y + 1 and the next class y - floor(y): a tent around y.
    p: FloatArray = np.maximum(1 - np.abs(y[:, None] - np.arange(1, CLASSES + 1)), 0)
    return p.astype(np.float32)


def divergence(p: Tensor, log_p: Tensor) -> Tensor:
    """The mean over pairs of KL(p ‖ p̂): equation 3 of the paper without its penalty."""
    return functional.kl_div(log_p, p, reduction="batchmean")


def _on(order: Schedule, device: torch.device) -> dict[str, Tensor]:
    """The arrays of a schedule on a device, in one transfer."""
    arrays = {
        field.name: getattr(order, field.name) for field in fields(order) if field.name != "levels"
    }
    together = to_device(np.concatenate(list(arrays.values())), device)
    parts = together.split_with_sizes([len(array) for array in arrays.values()])
    return dict(zip(arrays, parts, strict=True))


def _drawn(generator: torch.Generator, inputs: int, size: tuple[int, ...]) -> nn.Parameter:
    # Evenly within ± 1/√inputs, as in the implementation that the paper used.
    return nn.Parameter((torch.rand(size, generator=generator) * 2 - 1) / inputs**0.5)
