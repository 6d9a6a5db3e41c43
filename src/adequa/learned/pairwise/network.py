"""The network of the pairwise ranker (Guzmán, Joty, Màrquez and Nakov, 2015, §3), in NumPy.

The input is a triple of two hypotheses t1 and t2 and a reference r. Each sentence has a vector x,
and each hypothesis has scores ψ against its reference. Three groups of hidden nodes see two of the
vectors each; the scores go straight to the output on skip arcs:

    h12 = tanh(W12 [x1, x2] + b12)
    h1r = tanh(W1r [x1, xr] + b1r)
    h2r = tanh(W2r [x2, xr] + b2r)
    f(t1, t2, r) = sig(z),    z = wv [h12, h1r, h2r, ψ1r, ψ2r] + bv        (3)

The flat network has no hidden nodes: z = wv [x1, x2, xr, ψ1r, ψ2r] + bv, a logistic regression.

The costs (§3.3 and §6.4) take z of every triple as it is ordered, z with the two hypotheses
exchanged, and y, which is 1 where the first hypothesis is better and 0 where the second one is.
They return the mean cost and its slopes: the derivatives by z and by the exchanged z. The paper
prints sums over triples in equations (4) and (6), and the mean is taken here. Beside the mean over
a batch of n triples, λ of the weight decay weighs n times as much as beside their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import expit

from adequa.segments import FloatArray, IntArray

_GROUPS = ("12", "1r", "2r")  # of hidden nodes: each sees the two sentences of its name


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """Sizes of the network: numbers in a vector, scores of a hypothesis, hidden nodes in a group.

    Without hidden nodes the network is flat.
    """

    vector: int
    scores: int
    hidden: int = 4

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters by their letters in the paper, in the order of theta."""
        n, h = self.vector, self.hidden
        if not h:
            return {"wv": (3 * n + 2 * self.scores,), "bv": (1,)}
        shapes: dict[str, tuple[int, ...]] = {}
        for group in _GROUPS:
            shapes |= {f"W{group}": (h, 2 * n), f"b{group}": (h,)}
        return shapes | {"wv": (3 * h + 2 * self.scores,), "bv": (1,)}

    @property
    def size(self) -> int:
        """Total number of parameters."""
        return sum(prod(shape) for shape in self.parameters.values())


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The network's view of texts: a vector and scores a hypothesis, a vector a reference."""

    hypotheses: FloatArray  # vectors, (hypotheses, vector)
    scores: FloatArray  # (hypotheses, scores)
    references: FloatArray  # vectors, (references, vector)


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """The hypotheses to compare and the reference to compare them by, as rows of `Features`."""

    first: IntArray
    second: IntArray
    reference: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def select(self, rows: IntArray) -> Triples:
        """Return the triples at these indices."""
        return Triples(self.first[rows], self.second[rows], self.reference[rows])

    @property
    def reversed(self) -> Triples:
        """The triples with their two hypotheses exchanged."""
        return Triples(self.second, self.first, self.reference)


@dataclass(frozen=True, slots=True, eq=False)
class Activations:
    """Output z of every triple, and its hidden nodes by group; a flat network has no groups."""

    z: FloatArray
    hidden: dict[str, FloatArray]


class PairwiseNetwork:
    """The parameters of the network: one vector theta, and views of its parts by letter."""

    def __init__(self, shape: NetworkShape, theta: FloatArray) -> None:
        self.shape = shape
        self.theta = theta
        self.parameters = _views(shape, theta)

    @classmethod
    def initialise(cls, shape: NetworkShape, seed: int) -> PairwiseNetwork:
        """Return a network with uniform weights (Glorot and Bengio, 2010) and biases of 0."""
        random = np.random.default_rng(seed)
        network = cls(shape, np.zeros(shape.size))
        for name, parameter in network.parameters.items():
            if _is_weight(name):
                fan_in, fan_out = parameter.shape[-1], prod(parameter.shape[:-1])
                bound = np.sqrt(6 / (fan_in + fan_out))
                parameter[...] = random.uniform(-bound, bound, parameter.shape)
        return network

    @cached_property
    def weight_mask(self) -> FloatArray:
        """1 for every weight of theta, 0 for every bias; weight decay shrinks weights alone."""
        mask = np.zeros_like(self.theta)
        for name, parameter in _views(self.shape, mask).items():
            parameter[...] = _is_weight(name)
        return mask

    def forward(self, features: Features, triples: Triples) -> Activations:
        """Return equation (3) for every triple.

        W [x1, x2] is the sum of a product with x1 and one with x2. Each product is computed once a
        sentence, so that all pairs of many systems cost little more than the systems.
        """
        sentences = _sentences(features, triples)
        z = np.full(len(triples), self.parameters["bv"][0])
        for weights, values, rows in self._skip_arcs(features, triples):
            z += (values @ weights)[rows]
        hidden: dict[str, FloatArray] = {}
        for group, output_weights in self._hidden_groups():
            (x, rows), (x_other, rows_other) = (sentences[letter] for letter in group)
            w, w_other = _halves(self.parameters[f"W{group}"])
            products = (x_other @ w_other.T + self.parameters[f"b{group}"])[rows_other]
            hidden[group] = np.tanh((x @ w.T)[rows] + products)
            z += hidden[group] @ output_weights
        return Activations(z, hidden)

    # By hand: PyTorch's automatic gradients take about 3 times as long (benchmarks/pairwise.py).
    def backward(
        self, features: Features, triples: Triples, activations: Activations, slopes: FloatArray
    ) -> FloatArray:
        """Return the gradient of theta, from the slope of the cost in every z."""
        gradient = np.empty_like(self.theta)
        parts = _views(self.shape, gradient)
        arcs = self._skip_arcs(features, triples)
        nodes = [*activations.hidden.values(), *(values[rows] for _, values, rows in arcs)]
        parts["wv"][...] = np.concatenate([slopes @ values for values in nodes])
        parts["bv"][0] = slopes.sum()
        if not activations.hidden:
            return gradient
        x = {letter: each[rows] for letter, (each, rows) in _sentences(features, triples).items()}
        for group, output_weights in self._hidden_groups():
            h = activations.hidden[group]
            sum_slopes = slopes[:, None] * output_weights * (1 - h * h)
            for letter, part in zip(group, _halves(parts[f"W{group}"]), strict=True):
                part[...] = sum_slopes.T @ x[letter]
            parts[f"b{group}"][...] = sum_slopes.sum(axis=0)
        return gradient

    def _hidden_groups(self) -> Iterator[tuple[str, FloatArray]]:
        """Each hidden group with its weights in the output; none in a flat network."""
        h = self.shape.hidden
        for index, group in enumerate(_GROUPS if h else ()):
            yield group, self.parameters["wv"][index * h : (index + 1) * h]

    def _skip_arcs(
        self, features: Features, triples: Triples
    ) -> list[tuple[FloatArray, FloatArray, IntArray]]:
        """Weights, values and rows of all inputs that go straight to the output.

        These are the scores, and in a flat network the vectors before them.
        """
        inputs = [(features.scores, triples.first), (features.scores, triples.second)]
        if self.shape.vector and not self.shape.hidden:
            inputs = [*_sentences(features, triples).values(), *inputs]
        arcs, start = [], len(_GROUPS) * self.shape.hidden
        for values, rows in inputs:
            weights = self.parameters["wv"][start : start + values.shape[1]]
            arcs.append((weights, values, rows))
            start += values.shape[1]
        return arcs

    def margins(self, features: Features, triples: Triples, *, symmetric: bool) -> FloatArray:
        """Return the logit that the first hypothesis of each triple is better.

        A symmetric ranker takes half the difference of z in both orders, so that the two orders
        give the same number with opposite signs.
        """
        z = self.forward(features, triples).z
        return (z - self.forward(features, triples.reversed).z) / 2 if symmetric else z


def _sentences(features: Features, triples: Triples) -> dict[str, tuple[FloatArray, IntArray]]:
    """Vectors and rows of the first hypothesis, the second one, and the reference."""
    return {
        "1": (features.hypotheses, triples.first),
        "2": (features.hypotheses, triples.second),
        "r": (features.references, triples.reference),
    }


def _halves(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The columns of a group for the first of its sentences, and those for the second."""
    middle = weights.shape[1] // 2
    return weights[:, :middle], weights[:, middle:]


def _is_weight(name: str) -> bool:
    return name[0] in "Ww"


def _views(shape: NetworkShape, theta: FloatArray) -> dict[str, FloatArray]:
    """Views of a vector like theta, by parameter."""
    return {name: theta[part].reshape(size) for name, part, size in _layout(shape)}


@cache
def _layout(shape: NetworkShape) -> tuple[tuple[str, slice, tuple[int, ...]], ...]:
    """The name of each parameter, its slice of theta, and its shape."""
    layout, start = [], 0
    for name, size in shape.parameters.items():
        layout.append((name, slice(start, start + prod(size)), size))
        start += prod(size)
    return tuple(layout)


Loss: TypeAlias = Literal["logistic", "kendall", "logistic-kendall"]
Cost: TypeAlias = Callable[
    [FloatArray, FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]
]

GAMMA = BETA = 100.0  # γ and β of the Kendall cost, as in the paper


def logistic(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (4) as a mean, not a sum: -y log f - (1 - y) log (1 - f), where f = sig(z).

    The paper's cost looks at the triples as they are ordered, so that the slopes by the exchanged
    z are 0.

    >>> cost, slopes, exchanged = logistic(np.array([0.0]), np.array([3.0]), np.array([1.0]))
    >>> round(cost, 4), slopes.tolist(), exchanged.tolist()
    (0.6931, [-0.5], [0.0])
    """
    cost = np.logaddexp(0, np.where(y > 0, -z, z)).mean()
    return float(cost), (expit(z) - y) / len(z), np.zeros_like(z_exchanged)


def symmetric_logistic(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (4) of a symmetric ranker, whose logit is half the difference of z in both orders.

    >>> cost, slopes, exchanged = symmetric_logistic(np.ones(1), np.ones(1), np.ones(1))
    >>> round(cost, 4), slopes.tolist(), exchanged.tolist()
    (0.6931, [-0.25], [0.25])
    """
    cost, slopes, _ = logistic((z - z_exchanged) / 2, z_exchanged, y)
    return cost, slopes / 2, -slopes / 2


def kendall(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray, tie_penalty: float = 1.0
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (6) with the penalty of ties, where Δ = sig(z) - sig(exchanged z).

    The cost of a triple is y sig(-γΔ) + (1 - y) sig(γΔ) + exp(-βΔ²/2), its last term weighted by
    `tie_penalty`, which is 1 in the paper. The paper prints a minus before the sum, which would
    reward disagreement when minimised, against its own text.
    """
    sigma, sigma_exchanged = expit(z), expit(z_exchanged)
    delta = sigma - sigma_exchanged
    sign = np.where(y > 0, -1.0, 1.0)
    disagreement = expit(sign * GAMMA * delta)
    tie = tie_penalty * np.exp(-BETA * delta * delta / 2)
    delta_slopes = sign * GAMMA * disagreement * (1 - disagreement) - BETA * delta * tie
    delta_slopes /= len(z)
    return (
        float((disagreement + tie).mean()),
        delta_slopes * sigma * (1 - sigma),
        -delta_slopes * sigma_exchanged * (1 - sigma_exchanged),
    )


def costs_of(loss: Loss, *, symmetric: bool, tie_penalty: float = 1.0) -> tuple[Cost, ...]:
    """Return the costs to minimise one after the other."""
    first: Cost = symmetric_logistic if symmetric else logistic
    second: Cost = partial(kendall, tie_penalty=tie_penalty)
    return {
        "logistic": (first,),
        "kendall": (second,),
        "logistic-kendall": (first, second),
    }[loss]
