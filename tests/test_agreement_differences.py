"""Differences by size: counts by hand, laws, another way to the isotonic fit, and real systems."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.agreement.score_differences import (
    BySize,
    DifferenceSettings,
    ScoreDifferences,
    Threshold,
    by_size,
    checked_edges,
    differences,
    readable_edges,
    smallest_difference,
)
from adequa.agreement.selection import Selection
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.segments import FloatArray
from judgements import needs_judgements

SCORES = Path(__file__).parent.parent / "results" / "scores" / "wmt18-systems"

PAIRS = st.lists(
    st.tuples(
        st.one_of(st.floats(-100, 100), st.sampled_from([0.0, 0.1, -0.1, 1.0, -1.0])),
        st.sampled_from([-1, 0, 1]),
    ),
    max_size=60,
)
EDGES = st.one_of(st.none(), st.lists(st.floats(0.001, 50), max_size=5, unique=True).map(sorted))


def arrays(pairs: list[tuple[float, int]]) -> tuple[FloatArray, FloatArray]:
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def counts(found: BySize) -> list[tuple[int, int]]:
    return [(each.agreed, each.pairs) for each in found.bins]


def test_counted_by_hand() -> None:
    differences = np.array([0.004, -0.004, 0.01, 0.03, -0.03, 0.2, 0.0, 0.5])
    preferred = np.array([1, 1, 1, 1, -1, -1, 1, 0])
    found = by_size(differences, preferred, edges=[0.01, 0.1])
    assert counts(found) == [(1, 2), (3, 3), (0, 1)]
    assert [(each.low, each.high) for each in found.bins] == [(0, 0.01), (0.01, 0.1), (0.1, inf)]
    assert (found.tied, found.undecided) == (1, 1)
    assert (found.total.agreed, found.total.pairs, found.total.share) == (4, 6, 4 / 6)
    # Wilson's interval of 3 out of 3: from 3 / (3 + 1.96²) to 1.
    assert found.bins[1].share_low == pytest.approx(3 / (3 + 1.959964**2), abs=1e-6)
    assert found.bins[1].share_high == 1


def test_a_difference_of_an_edge_starts_its_bin_whatever_the_last_bit_is() -> None:
    scores = np.array([0.3, 0.7, 1.1]) - np.array([0.2, 0.6, 1.0])  # 0.1, up to rounding
    assert len(set(scores.tolist())) > 1
    assert counts(by_size(scores, np.ones(3), edges=[0.1])) == [(0, 0), (3, 3)]


def test_empty_bins_have_no_share() -> None:
    found = by_size(np.array([2.0]), np.array([1]), edges=[1])
    assert isnan(found.bins[0].share)
    assert isnan(found.bins[0].share_high)
    nothing = by_size(np.zeros(2), np.ones(2))
    assert counts(nothing) == [(0, 0)]
    assert nothing.thresholds[0] == Threshold(0.75, None)


@given(PAIRS, EDGES)
def test_bins_part_the_pairs_and_shares_are_shares(
    pairs: list[tuple[float, int]], edges: list[float] | None
) -> None:
    differences, preferred = arrays(pairs)
    found = by_size(differences, preferred, edges=edges)
    assert sum(each.pairs for each in found.bins) == found.total.pairs
    assert found.total.pairs + found.tied + found.undecided == len(pairs)
    assert sum(each.agreed for each in found.bins) == found.total.agreed
    ends = [each.high for each in found.bins]
    assert [found.bins[0].low, *ends] == [*(each.low for each in found.bins), inf]
    for each in found.bins:
        if each.pairs:
            assert 0 <= each.share_low <= each.share <= each.share_high <= 1
    if edges is None and found.total.pairs:
        assert all(each.pairs for each in found.bins)


@given(PAIRS, EDGES)
def test_flipped_differences_flip_the_shares(
    pairs: list[tuple[float, int]], edges: list[float] | None
) -> None:
    differences, preferred = arrays(pairs)
    found = by_size(differences, preferred, edges=edges)
    flipped = by_size(-differences, preferred, edges=edges)
    for each, turned in zip(found.bins, flipped.bins, strict=True):
        assert (each.low, each.pairs) == (turned.low, turned.pairs)
        assert turned.agreed == each.pairs - each.agreed
        if each.pairs:
            assert turned.share_low == pytest.approx(1 - each.share_high, abs=1e-9)
    # Which side is named first says nothing.
    assert repr(by_size(-differences, -preferred, edges=edges)) == repr(found)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=14),
    st.sampled_from([0.25, 0.5, 0.6, 0.75, 0.9, 0.95]),
)
def test_thresholds_are_those_of_the_isotonic_fit(
    pairs: list[tuple[int, bool]], share: float
) -> None:
    """The fit by its min-max formula: at x, the largest over l ≤ x of the least mean over l..u."""
    sizes, agreed = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    distinct = np.unique(sizes)

    def mean(low: float, high: float) -> float:
        return float(agreed[(low <= sizes) & (sizes <= high)].mean())

    fit = [
        max(min(mean(low, high) for high in distinct[distinct >= x]) for low in distinct[:place])
        for place, x in enumerate(distinct, start=1)
    ]
    reaching = [float(x) for x, value in zip(distinct, fit, strict=True) if value >= share - 1e-12]
    first = reaching[0] if reaching else None
    assert smallest_difference(sizes, agreed, share, fewest=1) == first


def test_thresholds_rest_on_enough_pairs() -> None:
    sizes, agreed = np.arange(1, 101) / 100, np.arange(100) >= 60  # people agree from 0.61 on
    assert smallest_difference(sizes, agreed, 0.95) == 0.61
    assert smallest_difference(sizes, agreed, 0.95, fewest=40) == 0.61
    assert smallest_difference(sizes, agreed, 0.95, fewest=41) is None
    assert smallest_difference(sizes, np.ones(100), 0.95) == 0.01  # the smallest that was seen
    assert smallest_difference(sizes, np.zeros(100), 0.75, fewest=0) is None


def test_readable_edges_do_not_depend_on_the_scale() -> None:
    sizes = np.random.default_rng(0).exponential(size=500)
    edges = readable_edges(sizes)
    assert set(edges[1:]) <= {d * 10.0**e for d in (1, 2, 5) for e in range(4)} | {
        float(f"{d}e-{e}") for d in (1, 2, 5) for e in range(1, 4)
    }
    assert readable_edges(100 * sizes) == pytest.approx([100 * edge for edge in edges])
    assert readable_edges(np.array([1000.0])) == (0.0,)
    assert readable_edges(np.array([5e-324, 1e100])) == (0.0, 1e100)


@pytest.mark.parametrize(
    ("edges", "sentence"),
    [
        ([0.1, 0.1], "must grow, and these do not: 0.1, 0.1."),
        ([-1.0], "a number from 0 on, not -1."),
        ([float("nan")], "not nan."),
        ([inf], "not inf."),
    ],
)
def test_bad_edges(edges: list[float], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        checked_edges(edges)


def rated_systems(lp: str = "cs-en", human: tuple[float, ...] = (3, 2, 2, 1)) -> RatedSystems:
    names = tuple(f"s{number}" for number in range(len(human)))
    ids = {"lp": (lp,) * len(human), "system": names}
    return RatedSystems(Ratings(np.array(human), ids, name="mine"))


def system_scores(*scores: float) -> ScoreFile:
    names = tuple(f"s{number}" for number in range(len(scores)))
    return ScoreFile("scores", {"system": names}, np.array(scores))


def table(
    data: Sequence[Judgements], file: ScoreFile, **settings: object
) -> tuple[ScoreDifferences, BySize]:
    found = differences(data, [file], DifferenceSettings(**settings))  # type: ignore[arg-type]
    return found, found.by_size[0]


def test_systems_by_hand() -> None:
    """Of s0 > s1 = s2 > s3 the metric has s0 and s3 wrong by 0.5, and ties s0 and s1."""
    found, of = table([rated_systems()], system_scores(10, 10, 8, 10.5), edges=(1,))
    assert (found.level, found.pairs, of.undecided, of.tied) == ("system", 6, 1, 1)
    assert counts(of) == [(0, 2), (1, 2)]
    assert found.notes == ("pairs of systems with equal human scores, which are in no row: 1.",)


def test_pairs_of_several_datasets_count_together_and_never_across() -> None:
    two = [rated_systems(human=(1, 2)), rated_systems("de-en", human=(2, 1))]
    found, of = table(two, system_scores(1, 3), edges=(1,))
    assert (found.datasets, found.pairs) == (("mine", "mine"), 2)
    assert counts(of) == [(0, 0), (1, 2)]


def test_preferences_and_ratings_of_segments() -> None:
    scores = ScoreFile("scores", {}, np.array([[0.5, 0.2], [0.1, 0.3], [0.4, 0.4]]))
    found, of = table([Preferences({"lp": ("cs-en",) * 3})], scores, edges=(0.25,))
    assert (found.level, found.from_ratings, counts(of), of.tied) == (
        "segment",
        False,
        [(0, 1), (1, 1)],
        1,
    )
    ids = {"system": ("a", "b", "c"), "segment": ("1", "1", "1")}
    human = Ratings(np.array([90.0, 60.0, 50.0]), ids)
    found, of = table([human], ScoreFile("scores", {}, np.array([0.3, 0.5, 0.1])), edges=(0.1,))
    assert found.from_ratings
    assert counts(of) == [(0, 0), (1, 2)]  # 60 and 50 are too near each other


def test_what_cannot_be_compared() -> None:
    whole, one = rated_systems(), Preferences({"lp": ("cs-en",)}, name="pairs")
    file = system_scores(1, 2, 3, 4)
    with pytest.raises(AdequaError, match="mine is of whole systems, and not all"):
        differences([whole, one], [file])
    with pytest.raises(AdequaError, match="mine has human scores of whole systems only"):
        differences([whole], [file], DifferenceSettings(level="segment"))
    with pytest.raises(AdequaError, match="at least one dataset"):
        differences([], [file])
    with pytest.raises(AdequaError, match="at least one metric"):
        differences([whole], [])
    with pytest.raises(AdequaError, match="no two systems of a language pair are better and worse"):
        differences([rated_systems(human=(1,))], [system_scores(1)])
    with pytest.raises(AdequaError, match='no lp "de-en"'):
        differences([whole], [file], selection=Selection(lp=("de-en",)))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"level": "word"}, "level"),
        ({"confidence": 1.0}, "confidence lies between 0 and 1"),
        ({"min_difference": -1.0}, "min_difference must be 0 or more"),
        ({"edges": (2.0, 1.0)}, "must grow"),
    ],
)
def test_bad_settings(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        DifferenceSettings(**settings)  # type: ignore[arg-type]


@needs_judgements
def test_wmt18_systems() -> None:
    """Kept scores of whole systems; 357 of 386 pairs are the pooled accuracy of chrF, .925."""
    files = [str(SCORES / f"{name}.tsv.gz") for name in ("chrf", "bleu")]
    found = differences([load_dataset("wmt18-systems")], files)
    chrf, bleu = found.by_size
    assert (found.pairs, chrf.undecided, chrf.tied) == (386, 1, 0)
    assert (chrf.total.agreed, bleu.total.agreed) == (357, 352)
    assert [each.low for each in chrf.bins] == [0, 0.2, 1, 2, 5, 20]
    assert counts(chrf) == [(5, 14), (37, 51), (60, 65), (122, 122), (106, 106), (27, 27)]
    at = [[each.difference for each in of.thresholds] for of in found.by_size]
    assert at == [
        pytest.approx([0.706, 1.05, 1.52], abs=0.005),
        pytest.approx([1.44, 2.5, 2.5], abs=0.005),
    ]
