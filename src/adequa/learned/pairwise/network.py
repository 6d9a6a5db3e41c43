"""The network of the pairwise ranker (Guzmán, Joty, Màrquez and Nakov, 2015, §3), in NumPy.

Two hypotheses t1 and t2 and a reference r come as vectors x, and each hypothesis with scores ψ
against the reference. Three groups of hidden nodes look at two of the vectors each, and the scores
go straight to the output, on skip arcs:

    h1r = tanh(W1r [x1, xr] + b1r)
    h2r = tanh(W2r [x2, xr] + b2r)
    h12 = tanh(W12 [x1, x2] + b12)
    f(t1, t2, r) = sig(z),    z = wv [h12, h1r, h2r, ψ1r, ψ2r] + bv

The flat variant has no hidden nodes: z = wv [x1, x2, xr, ψ1r, ψ2r] + bv, a logistic regression.
Gradients are written out: a batch of the paper is so small that PyTorch would spend its time on
bookkeeping, and ranking needs no PyTorch this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy.special import expit

from adequa.segments import FloatArray, IntArray

_GROUPS = ("12", "1r", "2r")


@dataclass(frozen=True, slots=True)
class PairwiseShape:
    """How many numbers a vector has, how many scores there are, and hidden nodes a group."""

    vector: int
    scores: int
    hidden: int = 4  # 0 for the flat variant

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The parameters by name, with their shapes; the letters are the paper's."""
        n, h = self.vector, self.hidden
        if not h:
            return {"wv": (3 * n + 2 * self.scores,), "bv": (1,)}
        groups: dict[str, tuple[int, ...]] = {}
        for group in _GROUPS:
            groups |= {f"W{group}": (h, 2 * n), f"b{group}": (h,)}
        return groups | {"wv": (3 * h + 2 * self.scores,), "bv": (1,)}

    @property
    def size(self) -> int:
        """Numbers in all parameters together."""
        return sum(prod(shape) for shape in self.parts.values())


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseInputs:
    """What the network sees of texts: hypotheses with vectors and scores, references with vectors.

    Numbers are in the range that the network was trained in.
    """

    hypotheses: FloatArray  # (hypotheses, vector)
    scores: FloatArray  # (hypotheses, scores)
    references: FloatArray  # (references, vector)


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Which hypotheses are compared by which reference: rows of the inputs."""

    first: IntArray
    second: IntArray
    reference: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: IntArray) -> Triples:
        """Some of them, in this order."""
        return Triples(self.first[rows], self.second[rows], self.reference[rows])

    @property
    def reversed(self) -> Triples:
        """The same with the hypotheses in the other order."""
        return Triples(self.second, self.first, self.reference)


class PairwiseNetwork:
    """The parameters, as views of one row of numbers, and what they make of inputs."""

    def __init__(self, shape: PairwiseShape, theta: FloatArray) -> None:
        self.shape = shape
        self.theta = theta
        self.parts = _views(shape, theta)

    @classmethod
    def begun(cls, shape: PairwiseShape, seed: int) -> PairwiseNetwork:
        """Weights drawn uniformly as Glorot and Bengio (2010) do, biases 0."""
        random = np.random.default_rng(seed)
        network = cls(shape, np.zeros(shape.size))
        for name, part in network.parts.items():
            if name[0] in "Ww":
                inputs, outputs = part.shape[-1], part.shape[0] if part.ndim > 1 else 1
                bound = np.sqrt(6 / (inputs + outputs))
                part[...] = random.uniform(-bound, bound, part.shape)
        return network

    @cached_property
    def weights(self) -> FloatArray:
        """1 for what weight decay shrinks, 0 for biases."""
        marks = np.zeros_like(self.theta)
        for name, part in _views(self.shape, marks).items():
            part[...] = name[0] in "Ww"
        return marks

    def outputs(self, inputs: PairwiseInputs, triples: Triples) -> FloatArray:
        """z of each triple.

        What depends on one hypothesis is computed once a hypothesis: for a pair there remain the
        sums of the parts, and tanh. So all pairs of many systems cost little more than the systems.
        """
        one, other, by = triples.first, triples.second, triples.reference
        flat = self._skipped(inputs)
        z = flat[0][one] + flat[1][other] + self.parts["bv"]
        if not self.shape.hidden:
            return np.asarray(z + flat[2][by])
        w12, w1r, w2r = np.split(self.parts["wv"][: 3 * self.shape.hidden], 3)
        first, second = (_halves(self.parts[f"W{group}"]) for group in ("1r", "2r"))
        both = _halves(self.parts["W12"])
        x, r = inputs.hypotheses, inputs.references
        z += np.tanh((x @ both[0])[one] + (x @ both[1])[other] + self.parts["b12"]) @ w12
        z += np.tanh((x @ first[0])[one] + (r @ first[1] + self.parts["b1r"])[by]) @ w1r
        z += np.tanh((x @ second[0])[other] + (r @ second[1] + self.parts["b2r"])[by]) @ w2r
        return np.asarray(z)

    def _skipped(self, inputs: PairwiseInputs) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What goes straight to the output: of the first hypothesis, the second, the reference."""
        wv, scores = self.parts["wv"], self.shape.scores
        psi1, psi2 = np.split(wv[len(wv) - 2 * scores :], 2)
        one, other = inputs.scores @ psi1, inputs.scores @ psi2
        if self.shape.hidden:
            return one, other, np.zeros(len(inputs.references))
        x1, x2, xr = np.split(wv[: 3 * self.shape.vector], 3)
        return (
            one + inputs.hypotheses @ x1,
            other + inputs.hypotheses @ x2,
            inputs.references @ xr,
        )

    def margins(self, inputs: PairwiseInputs, triples: Triples, *, symmetric: bool) -> FloatArray:
        """By how much the first hypothesis is better, as a logit.

        Of a symmetric ranker that is half the difference of z in both orders, so that the two
        orders give the same number with opposite signs.
        """
        z = self.outputs(inputs, triples)
        return (z - self.outputs(inputs, triples.reversed)) / 2 if symmetric else z


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What a small batch went through, for its gradient: z, what each group saw, all nodes."""

    z: FloatArray
    seen: tuple[FloatArray, ...]
    nodes: FloatArray  # all that the output looks at


def forward(network: PairwiseNetwork, inputs: PairwiseInputs, triples: Triples) -> Trace:
    """The outputs of a small batch by the equations as they stand."""
    x1, x2 = inputs.hypotheses[triples.first], inputs.hypotheses[triples.second]
    r = inputs.references[triples.reference]
    psi = inputs.scores[triples.first], inputs.scores[triples.second]
    if network.shape.hidden:
        seen = tuple(np.concatenate(each, axis=1) for each in ((x1, x2), (x1, r), (x2, r)))
        groups = zip(_GROUPS, seen, strict=True)
        parts = network.parts
        hidden = [np.tanh(x @ parts[f"W{name}"].T + parts[f"b{name}"]) for name, x in groups]
        nodes = np.concatenate([*hidden, *psi], axis=1)
    else:
        seen, nodes = (), np.concatenate([x1, x2, r, *psi], axis=1)
    return Trace(nodes @ network.parts["wv"] + network.parts["bv"], seen, nodes)


def backward(network: PairwiseNetwork, trace: Trace, slopes: FloatArray) -> FloatArray:
    """The gradient of the parameters, from that of each z; a row like theta."""
    gradient = np.empty_like(network.theta)
    into = _views(network.shape, gradient)
    into["bv"][0] = slopes.sum()
    into["wv"][...] = slopes @ trace.nodes
    h = network.shape.hidden
    for at, (name, x) in enumerate(zip(_GROUPS[: len(trace.seen)], trace.seen, strict=True)):
        group = slice(at * h, (at + 1) * h)
        below = slopes[:, None] * network.parts["wv"][group] * (1 - trace.nodes[:, group] ** 2)
        into[f"W{name}"][...] = below.T @ x
        into[f"b{name}"][...] = below.sum(axis=0)
    return gradient


def probabilities(margins: FloatArray) -> FloatArray:
    """How likely the first hypothesis is the better one.

    >>> probabilities(np.array([0.0, 2.0, -2.0])).round(3).tolist()
    [0.5, 0.881, 0.119]
    """
    return np.asarray(expit(margins))


def _views(shape: PairwiseShape, numbers: FloatArray) -> dict[str, FloatArray]:
    views, start = {}, 0
    for name, part in shape.parts.items():
        size = prod(part)
        views[name] = numbers[start : start + size].reshape(part)
        start += size
    return views


def _halves(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The columns of a group for its first vector and for its second, ready to multiply by."""
    first, second = np.hsplit(matrix, 2)
    return first.T, second.T
