"""Scores of systems from preferences between them: expected wins, TrueSkill and Bradley-Terry.

In the model of Bradley and Terry (1952, Rank Analysis of Incomplete Block Designs), system i beats
system j with probability exp(s_i) / (exp(s_i) + exp(s_j)), where the strengths s add up to 0. The
maximum-likelihood strengths are found by Newton's method; the log-likelihood is concave. The usual
iteration (Hunter, 2004) takes tens of thousands of rounds where one system beats another nearly
always.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, expit, log_expit, ndtri

from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import ones_unless, ranked, ratio, weight_by_rank
from adequa.statistics.resampling import Seed

_DEVIATION = 1.0  # of a system's skill before any match, the unit of all skills
_NOISE = 0.5  # of a performance about the skill: half of that, as in Herbrich et al.
PRIOR = 0.1  # wins that each of two systems is given over the other beside those that it has
_ROUNDS = 4000  # some ten are enough, and some hundred where many systems are far apart
_LARGEST = 2.0  # change of a strength in one round: far from the summit Newton's steps are too long
_CLOSE = 1e-10  # by how much no strength changes any more
_ROUNDING = 1e-14  # of a likelihood, as a fraction of it
_FLAT = 1e-15  # slope, as a fraction of matches: what is left is rounding


def wins(
    better: IntArray, worse: IntArray, systems: int, weights: FloatArray | None = None
) -> FloatArray:
    """How often system i was preferred to system j: entry [i, j] of (systems, systems).

    Systems are integer codes from 0. Leading axes of the weights are independent problems.

    >>> wins(np.array([0, 0, 1]), np.array([1, 1, 0]), systems=2)
    array([[0., 2.],
           [1., 0.]])
    """
    weights = ones_unless(weights, len(better))
    won = np.zeros((*weights.shape[:-1], systems * systems))
    if len(better):
        cells = better * systems + worse
        won[..., np.unique(cells)] = weight_by_rank(ranked(cells), weights)
    return won.reshape(*weights.shape[:-1], systems, systems)


def expected_wins(
    better: IntArray, worse: IntArray, systems: int, weights: FloatArray | None = None
) -> FloatArray:
    """How likely each system is to beat another one, that one being drawn at random.

    score(s) = mean over other systems t of wins(s, t) / (wins(s, t) + wins(t, s)). Human ties do
    not enter. Systems that were never compared with s are left out of its mean, where the
    organisers' script counts them as never beaten; NaN for a system that was compared with none.

    Bojar et al., 2011, A Grain of Salt for the WMT Manual Evaluation; Bojar et al., 2013, Findings
    of the 2013 Workshop on Statistical Machine Translation.

    >>> expected_wins(np.array([0, 0, 0, 1]), np.array([1, 1, 2, 0]), systems=3).round(3)
    array([0.833, 0.333, 0.   ])
    """
    won = wins(better, worse, systems, weights)
    compared = won + np.swapaxes(won, -1, -2)
    rates = won / np.where(compared > 0, compared, 1)
    others = (compared > 0).sum(axis=-1)
    return np.asarray(ratio(rates.sum(axis=-1), others))


@dataclass(frozen=True, slots=True, eq=False)
class _Matches:
    """Who met whom, and whether it was a draw."""

    first: IntArray
    second: IntArray
    draws: FloatArray  # 1 for a draw, 0 for a win


def trueskill(
    better: IntArray,
    worse: IntArray,
    systems: int,
    seed: Seed,
    ties: FloatArray | None = None,
    *,
    runs: int = 16,
) -> FloatArray:
    """The mean skill of each system after all matches, about 0; NaN for one that met no other.

    A skill is normal, N(0, 1) at first; a performance is the skill and N(0, 1/4) of noise; the
    better performance wins, and two closer than a margin tie. After each match the skills of the
    two systems move to the normal distributions nearest to what is now known of them. With c^2 =
    the variances of both skills and of the noise of both performances, t = (m_1 - m_2) / c and
    v(t), w(t) the mean and the loss of variance of a truncated normal: m_1 += s_1^2 v / c,
    m_2 -= s_2^2 v / c, s_i^2 *= 1 - s_i^2 w / c^2. The margin follows from the share of ties.

    `ties` is how often systems i and j tied, as entries [i, j] and [j, i] added up. Since the
    order of matches matters a little, skills are the mean of several runs over shuffled matches.

    Herbrich, Minka and Graepel, 2006, TrueSkill: A Bayesian Skill Rating System; Sakaguchi, Post
    and Van Durme, 2014, Efficient Elicitation of Annotations for Human Evaluation of Machine
    Translation. WMT drew matches that were likely to be even, and set noise in proportion to their
    number; here every judgement is one match. Written by hand, because the package trueskill has
    had no release for years, and openskill is another model (Weng and Lin, 2011).

    >>> trueskill(np.array([0, 0, 0, 1]), np.array([1, 1, 2, 2]), systems=3, seed=1).round(1)
    array([ 1. , -0.2, -0.8])
    """
    matches = _all_matches(better, worse, systems, ties)
    margin = _draw_margin(matches)
    means, variances = np.zeros((runs, systems)), np.full((runs, systems), _DEVIATION**2)
    orders = np.tile(np.arange(len(matches.first)), (runs, 1))
    np.random.default_rng(seed).permuted(orders, axis=1, out=orders)
    for turn in orders.T:
        _play(means, variances, matches, turn, margin)
    skills = np.full(systems, np.nan)
    met = np.union1d(matches.first, matches.second)
    skills[met] = means[:, met].mean(axis=0)
    # Matches determine differences of skills only, so the mean skill is set to 0.
    skills[met] -= skills[met].sum() / max(1, len(met))
    return skills


def _all_matches(
    better: IntArray, worse: IntArray, systems: int, ties: FloatArray | None
) -> _Matches:
    tied = np.zeros((systems, systems)) if ties is None else np.asarray(ties)
    one, other = np.nonzero(tied)
    often = tied[one, other].astype(np.intp)
    return _Matches(
        first=np.concatenate((better, np.repeat(one, often))),
        second=np.concatenate((worse, np.repeat(other, often))),
        draws=np.repeat([0.0, 1.0], [len(better), often.sum()]),
    )


def _draw_margin(matches: _Matches) -> float:
    """How close performances of equal systems are in as many matches as were drawn."""
    # Where everything is a draw the margin must end somewhere, and all skills are 0 anyway.
    share = min(matches.draws.mean(), 0.99) if len(matches.draws) else 0.0
    return float(ndtri((share + 1) / 2) * np.sqrt(2) * _NOISE)


def _play(
    means: FloatArray, variances: FloatArray, matches: _Matches, turn: IntArray, margin: float
) -> None:
    """One match in every run, in place: match turn[r] in run r."""
    run = np.arange(len(turn))
    first, second = (run, matches.first[turn]), (run, matches.second[turn])
    variance = 2 * _NOISE**2 + variances[first] + variances[second]
    spread = np.sqrt(variance)
    shift, loss = _truncated(
        (means[first] - means[second]) / spread, margin / spread, matches.draws[turn]
    )
    for side, sign in ((first, 1), (second, -1)):
        own = variances[side]
        means[side] += sign * own / spread * shift
        variances[side] = own * (1 - own / variance * loss)


def _truncated(
    lead: FloatArray, margin: FloatArray, is_draw: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The functions v and w of a match that was won or drawn, where `lead` was expected."""
    if not is_draw.any():
        return _win_moments(lead - margin)
    won, tied = _win_moments(lead - margin), _draw_moments(lead, margin)
    return np.where(is_draw, tied[0], won[0]), np.where(is_draw, tied[1], won[1])


def _win_moments(beyond: FloatArray) -> tuple[FloatArray, FloatArray]:
    """v = density / distribution at t - margin, and w = v (v + t - margin).

    The scaled complementary error function keeps the quotient where both go to zero.
    """
    shift = np.sqrt(2 / np.pi) / erfcx(-beyond / np.sqrt(2))
    return shift, shift * (shift + beyond)


def _draw_moments(lead: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """v and w of a normal cut to within the margin on both sides.

    All terms are divided by the density at the near end, which goes to zero far out.
    """
    away = np.abs(lead)
    near, far = margin - away, margin + away
    fall = np.exp(-2 * margin * away)  # the density at the far end over that at the near one
    within = np.sqrt(np.pi / 2) * (erfcx(-near / np.sqrt(2)) - fall * erfcx(far / np.sqrt(2)))
    shift = (fall - 1) / within
    loss = shift**2 + (near + far * fall) / within
    return np.where(lead < 0, -shift, shift), loss


def bradley_terry(wins: FloatArray, prior: float = PRIOR) -> FloatArray:
    """The strengths of systems from how often system i beat system j, entry [i, j].

    A tie is half a win of each. Leading axes are independent problems. Without a prior, a system
    that never lost would be infinitely strong; with it every strength is finite, and systems that
    were compared with none have 0.

    >>> bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), prior=0.0).round(4)
    array([ 0.5493, -0.5493])
    """
    systems = wins.shape[-1]
    others = ~np.eye(systems, dtype=np.bool_)
    won = np.where(others, wins + prior, 0.0)
    met = won + np.swapaxes(won, -1, -2)
    total = won.sum(axis=-1)
    if (total <= 0).any() and systems > 1:
        raise AdequaError("A system that never won has no strength without a prior.")
    matches = met.sum(axis=-1).max(axis=-1, keepdims=True)
    strengths = np.zeros(wins.shape[:-1])
    if systems < 2:  # noqa: PLR2004 - nobody to beat
        return np.asarray(strengths)
    for _ in range(_ROUNDS):
        step, slope = _step(strengths, won, met)
        if (np.abs(slope) <= _FLAT * matches).all():
            break
        # A step that leads downhill is halved until it does not.
        height = _likelihood(strengths, won)
        least = height - _CLOSE - _ROUNDING * np.abs(height)
        while (lower := _likelihood(strengths + step, won) < least).any():
            step = np.where(lower[..., None], step / 2, step)
        strengths = strengths + step
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    else:
        raise _without_strengths()
    return np.asarray(strengths)


def _without_strengths() -> AdequaError:
    return AdequaError(
        "Bradley-Terry strengths cannot be computed: the wins of these systems are too far apart."
    )


def _step(strengths: FloatArray, won: FloatArray, met: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Newton's step, which adds up to 0, and the slope of the likelihood."""
    expected = expit(strengths[..., :, None] - strengths[..., None, :])
    slope = (won - met * expected).sum(axis=-1)
    between = met * expected * np.swapaxes(expected, -1, -2)
    sums = between.sum(axis=-1, keepdims=True)
    # Strengths that all grow alike change nothing, and the curvature is 0 in that direction. The
    # slope has no part in it, so that any other value there solves the same system.
    curvature = np.eye(won.shape[-1]) * sums - between + sums.max(axis=-2, keepdims=True)
    try:
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
    except np.linalg.LinAlgError as error:
        raise _without_strengths() from error
    longest = np.abs(step).max(axis=-1, keepdims=True)
    return step * np.minimum(1.0, _LARGEST / np.maximum(longest, _LARGEST)), slope


def _likelihood(strengths: FloatArray, won: FloatArray) -> FloatArray:
    """The logarithm of how likely the wins are."""
    differences = strengths[..., :, None] - strengths[..., None, :]
    return np.asarray((won * log_expit(differences)).sum(axis=(-1, -2)))
