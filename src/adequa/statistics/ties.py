"""Pairwise accuracy with ties, and the difference of metric scores below which they are a tie.

Deutsch, Foster and Freitag, 2023, Ties Matter: Meta-Evaluating Modern Metrics with Pairwise
Accuracy and Tie Calibration. People tie where they give equal scores, and a metric that predicts a
tie there is right; but real-valued metrics hardly ever give equal scores, so that scores no further
apart than a threshold, epsilon, count as tied.

Pairs are formed within groups: the last axis holds the items of a group, the systems' outputs for
one segment in the paper. An item is never paired with a copy of itself, so that in a bootstrap over
systems the pair of two items weighs the product of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import (
    Ranks,
    Values,
    as_rows,
    ones_unless,
    pick,
    ranked,
    ratio,
    total,
    weight_by_rank,
)
from adequa.statistics.kendall import inversions
from adequa.statistics.resampling import Seed, count_chunks

_FEW = 64  # items up to which a table of all pairs is faster than sorting
_PAIRS = 2**21  # pairs written down at once: 16 MB an array
_SAMPLED = 2**23  # pairs of long groups beyond which a sample chooses the threshold
_NOTHING = np.empty(0)
_EQUAL = 1e-12  # accuracies closer than this are one, summed in another order


@dataclass(frozen=True, slots=True)
class Calibration:
    """The threshold that gives the highest accuracy, and that accuracy; NaN without any pair."""

    epsilon: float
    accuracy: float


def accuracy_with_ties(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> Values:
    """The share of pairs that the metric orders, or ties, as people do; one figure per group.

    acc-eq = (C + T) / all pairs: C are pairs that both order the same way, T pairs that both tie.
    People tie at equal scores, the metric where |m_i - m_j| <= epsilon. NaN for a group without a
    pair.

    >>> human = np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    >>> metric = np.array([[0.1, 0.2, 0.9], [0.1, 0.2, 0.9]])
    >>> accuracy_with_ties(human, metric, epsilon=0.15).round(3)
    array([1.   , 0.667])
    """
    if human.shape[-1] > _FEW:
        return pooled_accuracy_with_ties(human, metric, weights, epsilon=epsilon)
    weights = ones_unless(weights, human.shape[-1])
    if not human.shape[-1]:
        return _accuracy(np.zeros(np.broadcast(human, metric, weights).shape[:-1]), weights)
    laid_out = as_rows([human, metric], [weights])
    (human, metric), (weightings,) = laid_out.values, laid_out.weights
    right = np.empty(weightings.shape[:2])
    per_group = human.shape[1] * (human.shape[1] + len(weightings))
    for part in count_chunks(len(human), per_group, _PAIRS):
        right[:, part] = _right_by_table(human[part], metric[part], epsilon, weightings[:, part])
    return _accuracy(right.reshape(laid_out.shape), weights)


def _accuracy(right: FloatArray, weights: FloatArray) -> Values:
    pairs = (total(weights) ** 2 - total(weights, weights)) / 2
    return ratio(right, pairs)


def _right_by_table(
    human: FloatArray, metric: FloatArray, epsilon: float, weights: FloatArray
) -> FloatArray:
    """The weight of pairs on which both agree, from a table of all pairs of each group."""
    apart = metric[:, :, None] - metric[:, None, :]
    above = human[:, :, None] > human[:, None, :]
    tied = (human[:, :, None] == human[:, None, :]) & (np.abs(apart) <= epsilon)
    # An ordered pair is seen from its better side only, a tie from both.
    agree = (above & (apart > epsilon)) + tied / 2
    agree[:, np.arange(human.shape[1]), np.arange(human.shape[1])] = 0
    columns = np.moveaxis(weights, 0, -1)
    return np.asarray(np.einsum("gib,gib->bg", agree @ columns, columns))


def right_pairs(human: FloatArray, metric: FloatArray, epsilon: float) -> npt.NDArray[np.bool_]:
    """Whether the metric orders, or ties, each pair of a group's items as people do.

    Pairs are those of np.triu_indices(items, k=1); their mean is `accuracy_with_ties`.

    >>> right_pairs(np.array([[1.0, 1.0, 2.0]]), np.array([[0.1, 0.2, 0.9]]), epsilon=0.15)
    array([[ True,  True,  True]])
    """
    one, other = np.triu_indices(human.shape[-1], k=1)
    people, apart = human[:, one] - human[:, other], metric[:, one] - metric[:, other]
    tied = np.abs(apart) <= epsilon
    return np.asarray(np.where(tied, people == 0, (people != 0) & ((people > 0) == (apart > 0))))


def pooled_accuracy_with_ties(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> Values:
    """`accuracy_with_ties` for one long list: the same figure, in n log n steps.

    Whether two scores are further apart than epsilon is decided by the same subtraction as it is
    for a single pair, so that rounding cannot make the two differ.

    >>> human, metric = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.9])
    >>> pooled_accuracy_with_ties(human, metric, epsilon=0.15)
    1.0
    """
    weights = ones_unless(weights, human.shape[-1])
    if not human.shape[-1]:
        return _accuracy(np.zeros(np.broadcast(human, metric, weights).shape[:-1]), weights)
    human, metric = np.broadcast_arrays(human, metric)
    ranks = ranked(human)
    group = weight_by_rank(ranks, weights)
    tied = (total(group, group) - total(weights, weights)) / 2
    far = _far_in_ties(ranks, metric, epsilon, weights)
    return _accuracy(_ordered_alike(ranks, metric, epsilon, weights) + tied - far, weights)


def _ordered_alike(
    human: Ranks, metric: FloatArray, epsilon: float, weights: FloatArray
) -> FloatArray:
    """Pairs that people order, and the metric too, the same way and by more than epsilon.

    Every item stands twice in human order, as the lower of a pair and as the upper one, which
    comes first among equals. It is above the lower items that come before it in human order and
    are among the first `reach` in the metric's.
    """
    items = metric.shape[-1]
    order = np.argsort(metric, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")
    ordered = np.take_along_axis(metric, order, axis=-1)
    reach = _far_below(metric, ordered, epsilon, np.zeros_like(order), np.full_like(order, items))
    turn = np.argsort(
        np.concatenate((2 * human.codes + 1, 2 * human.codes), axis=-1), axis=-1, kind="stable"
    )
    codes = np.concatenate((2 * (items - place) - 1, 2 * (items - reach)), axis=-1)
    none = np.zeros_like(weights)
    lower, upper = np.concatenate((weights, none), -1), np.concatenate((none, weights), -1)
    return inversions(pick(codes, turn), pick(lower, turn), pick(upper, turn))


def _far_in_ties(
    human: Ranks, metric: FloatArray, epsilon: float, weights: FloatArray
) -> FloatArray:
    """Pairs that people tie and the metric puts further apart than epsilon."""
    order = np.lexsort((metric, human.codes))
    codes = np.take_along_axis(human.codes, order, axis=-1)
    ordered = np.take_along_axis(metric, order, axis=-1)
    place = np.broadcast_to(np.arange(order.shape[-1]), order.shape)
    first = np.diff(codes, axis=-1, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(first, place, 0), axis=-1)
    reach = _far_below(ordered, ordered, epsilon, start, place)
    weights = pick(weights, order)
    up_to = np.zeros((*weights.shape[:-1], weights.shape[-1] + 1))
    np.cumsum(weights, axis=-1, out=up_to[..., 1:])
    return total(weights, pick(up_to, reach) - pick(up_to, start))


def _far_below(
    scores: FloatArray, ordered: FloatArray, epsilon: float, low: IntArray, high: IntArray
) -> IntArray:
    """Up to where, from low to high, a score exceeds the ordered ones by more than epsilon."""
    last = ordered.shape[-1] - 1
    for _ in range(ordered.shape[-1].bit_length()):
        middle = (low + high) // 2
        apart = scores - np.take_along_axis(ordered, np.minimum(middle, last), axis=-1)
        far = (apart > epsilon) & (low < high)
        low, high = np.where(far, middle + 1, low), np.where(far, high, middle)
    return low


def calibrate(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> Calibration:
    """The threshold with the highest mean accuracy over groups, and that accuracy.

    Candidates are 0 and every |m_i - m_j| within a group; of several that are equally good, the
    smallest. All differences are sorted once: as epsilon passes a pair, the pair becomes right if
    people tie it, and wrong if the two had ordered it alike. Groups without a pair are left out.

    Groups of more than 64 items with over eight million pairs between them (systems, rather than
    segments, as groups) choose the threshold on an even sample of pairs; its accuracy is exact.

    >>> human = np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 2.0]])
    >>> metric = np.array([[0.1, 0.2, 0.9], [0.5, 0.1, 0.9]])
    >>> calibration = calibrate(human, metric)
    >>> round(calibration.epsilon, 3), round(calibration.accuracy, 3)
    (0.1, 0.833)
    """
    if human.shape[-1] == 0:
        return Calibration(np.nan, np.nan)
    weights = ones_unless(weights, human.shape[-1])
    human, metric, weights = (
        side.reshape(-1, human.shape[-1]) for side in np.broadcast_arrays(human, metric, weights)
    )
    pairs = (total(weights) ** 2 - total(weights, weights)) / 2
    usable = pairs > 0
    if not usable.any():
        return Calibration(np.nan, np.nan)
    groups = int(np.count_nonzero(usable))
    one, other, sampled = _chosen_pairs(groups, human.shape[-1])
    # Items first, so that a pair of items is two whole rows.
    items = _GroupItems(
        *(np.ascontiguousarray(side[usable].T) for side in (human, metric, weights))
    )
    calibration = _swept(items, one, other, 1 / (pairs[usable] * groups))
    if not sampled:
        return calibration
    parts = (side[usable] for side in (human, metric, weights))
    exact = accuracy_with_ties(*parts, epsilon=calibration.epsilon)
    return Calibration(calibration.epsilon, float(np.mean(exact)))


@dataclass(frozen=True, slots=True, eq=False)
class _GroupItems:
    """Groups side by side, (items, groups)."""

    human: FloatArray
    metric: FloatArray
    weights: FloatArray


def _swept(items: _GroupItems, one: IntArray, other: IntArray, share: FloatArray) -> Calibration:
    """The best threshold for these pairs of items, each pair of weight one counting its share."""
    alone = _equal(items.weights) and _equal(share)
    tied: list[tuple[FloatArray, FloatArray]] = []
    alike: list[tuple[FloatArray, FloatArray]] = []
    for part in count_chunks(len(one), items.human.shape[1], _PAIRS):
        first, second = one[part], other[part]
        human, than = items.human[first], items.human[second]
        with np.errstate(over="ignore"):  # scores may be as far apart as numbers go
            apart = items.metric[first] - items.metric[second]
        equal = human == than
        same = (human > than) == (apart > 0)
        same &= ~equal & (apart != 0)
        shares = apart if alone else items.weights[first] * items.weights[second] * share
        for listed, where in ((tied, equal), (alike, same)):
            listed.append((np.abs(apart[where]), shares[where] if not alone else _NOTHING))
    each = float(share[0] * items.weights.flat[0] ** 2)
    return _best(_Ordered.of(tied, each, alone), _Ordered.of(alike, each, alone))


def _equal(values: FloatArray) -> bool:
    return bool(np.all(values == values.flat[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Ordered:
    """Pairs from the closest to the furthest apart, and what those up to each of them count."""

    apart: FloatArray  # (n,)
    up_to: FloatArray  # (n + 1,)

    @classmethod
    def of(cls, parts: list[tuple[FloatArray, FloatArray]], each: float, alone: bool) -> _Ordered:
        """Pairs in order; where all count alike, nothing but the distances has to be sorted."""
        apart = np.concatenate([distances for distances, _ in parts])
        if alone:
            return cls(np.sort(apart), each * np.arange(len(apart) + 1.0))
        order = np.argsort(apart)
        shares = np.concatenate([counted for _, counted in parts])[order]
        return cls(apart[order], np.concatenate(([0.0], np.cumsum(shares))))


def _best(tied: _Ordered, alike: _Ordered) -> Calibration:
    """The smallest of the best thresholds: 0, or a distance at which one more human tie is right.

    Between two of these, a larger threshold only unmakes pairs that both had ordered alike.
    """
    candidates = np.append(0.0, tied.apart)
    right = tied.up_to.copy()
    right[0] = tied.up_to[np.searchsorted(tied.apart, 0.0, side="right")]
    right += alike.up_to[-1] - alike.up_to[np.searchsorted(alike.apart, candidates, side="right")]
    best = int(np.argmax(right >= right.max() - _EQUAL))
    # Of equal distances, the last one counts them all.
    last = int(np.searchsorted(candidates, candidates[best], side="right")) - 1
    return Calibration(float(candidates[best]), float(right[last]))


def _chosen_pairs(groups: int, items: int) -> tuple[IntArray, IntArray, bool]:
    """All pairs of items; in long groups with too many of them, a sample, at some distances."""
    if items <= _FEW or groups * items * (items - 1) // 2 <= _SAMPLED:
        return *np.triu_indices(items, k=1), False
    furthest = (items - 1) // 2
    distances = np.linspace(1, furthest, min(furthest, max(1, _SAMPLED // (groups * items))))
    one = np.tile(np.arange(items), len(distances))
    return one, (one + np.repeat(distances.astype(np.intp), items)) % items, True


def pooled_calibrate(
    human: FloatArray, metric: FloatArray, seed: Seed, sample: int = 200_000
) -> Calibration:
    """`calibrate` for one long list, whose pairs are too many to list.

    The threshold is the best for a random sample of pairs (for all pairs, where there are fewer);
    its accuracy is that over all pairs.

    >>> pooled_calibrate(np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 1.0]), seed=1)
    Calibration(epsilon=0.25, accuracy=1.0)
    """
    items = len(human)
    if items * (items - 1) // 2 <= sample:
        return calibrate(human, metric)
    generator = np.random.default_rng(seed)
    one, other = generator.integers(items, size=sample), generator.integers(items - 1, size=sample)
    other += other >= one  # any item but the first
    listed = _GroupItems(human[:, None], metric[:, None], np.ones((items, 1)))
    epsilon = _swept(listed, one, other, np.array([1 / sample])).epsilon
    accuracy = pooled_accuracy_with_ties(human, metric, epsilon=epsilon)
    return Calibration(epsilon, float(accuracy))
