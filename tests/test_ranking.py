"""Rankings of systems by hand, ties by significance, and the public function."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from adequa import ScoreFile, compare
from adequa.comparison.ranking import Ranking, rank, rank_by_wins, win_probabilities
from adequa.errors import AdequaError
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments
from adequa.statistics.settings import ComparisonSettings
from adequa.tables import Format
from damaged_systems import references, system

REFERENCES = references(60)
SYSTEMS = {
    "bad": system(REFERENCES, 0.4, seed=1),
    "good": system(REFERENCES, 0.1, seed=2),
    "good too": system(REFERENCES, 0.1, seed=3),
}


def _won(*rows: tuple[float, float, float]) -> FloatArray:
    """Probabilities of three systems from those of a over b, a over c and b over c."""
    won = np.full((len(rows), 3, 3), 0.5)
    for at, (ab, ac, bc) in enumerate(rows):
        for one, other, value in ((0, 1, ab), (0, 2, ac), (1, 2, bc)):
            won[at, one, other], won[at, other, one] = value, 1 - value
    return won


def test_a_ranking_by_hand() -> None:
    wins = _won((0.9, 0.8, 0.3), (0.4, 0.5, 0.2))
    ranking = rank_by_wins(["a", "b", "c"], wins, ComparisonSettings(resamples=50))
    # a: b lost once and won once, c lost once and tied: (1/2 + 3/4) / 2; c beats b twice.
    assert ranking.systems == ("a", "c", "b")
    assert [figure.value for figure in ranking.expected_wins] == [0.625, 0.625, 0.25]
    assert ranking.ranks == (1, 1, 1)  # two segments show nothing
    np.testing.assert_allclose(ranking.probabilities[0], [0.5, 0.65, 0.65])
    np.testing.assert_allclose(ranking.segments[0], [0.85, 0.45, 0.2])
    for figure in ranking.expected_wins:
        assert figure.low <= figure.value <= figure.high


def test_certain_systems_have_narrow_intervals_and_finite_strengths() -> None:
    ranking = rank_by_wins(["worse", "better"], np.tile([[0.5, 0.1], [0.9, 0.5]], (40, 1, 1)))
    assert ranking.systems == ("better", "worse")
    assert ranking.ranks == (1, 2)
    assert (ranking.expected_wins[0].low, ranking.expected_wins[0].high) == (1.0, 1.0)
    assert np.isfinite(ranking.strengths[0].high)


def test_memory_goes_with_systems_and_not_with_resamples() -> None:
    """Between sixty systems 3,000 resamples have 86 MB of wins, in each of several copies."""
    won = np.random.default_rng(1).random((1, 60, 60))
    seen: list[int] = []
    settings = ComparisonSettings(resamples=3000)
    tracemalloc.start()
    try:
        with pytest.raises(InterruptedError):
            rank_by_wins(list(map(str, range(60))), won, settings, done=_until(300, seen))
        assert tracemalloc.get_traced_memory()[1] < 120e6
    finally:
        tracemalloc.stop()
    assert len(seen) > 1


def _until(last: int, seen: list[int]) -> Callable[[int, int], None]:
    def done(count: int, of: int) -> None:
        assert count <= of
        seen.append(count)
        if count >= last:
            raise InterruptedError

    return done


def test_any_metric_ranks_by_its_scores() -> None:
    references = (("the cat sat on the mat",), ("a dog ran far away",))
    good = Segments(("the cat sat on the mat", "a dog ran"), references)
    bad = Segments(("mat", "a dog ran"), references)
    won = win_probabilities(load_metric("ter"), {"bad": bad, "good": good})  # where lower is better
    assert won[:, 1, 0].tolist() == [1.0, 0.5]
    assert won[:, 0, 1].tolist() == [0.0, 0.5]


def test_systems_that_cannot_be_ranked() -> None:
    one = Segments(("a",), (("x",),))
    with pytest.raises(AdequaError, match="at least two systems"):
        win_probabilities(load_metric("chrf"), {"a": one})
    other = Segments(("a",), (("y",),))
    with pytest.raises(AdequaError, match="segment 1 of b has another reference than that of a"):
        win_probabilities(load_metric("chrf"), {"a": one, "b": other})


@pytest.mark.parametrize(("segments", "ranks"), [(5, (1, 1)), (6, (1, 2))])
def test_systems_tie_unless_the_test_separates_them(segments: int, ranks: tuple[int, ...]) -> None:
    """n segments that one system wins have a two-sided p-value of 2^(1 - n): 0.0625 and 0.03125."""
    wins = np.tile([[0.5, 0.9], [0.1, 0.5]], (segments, 1, 1))
    ranking = rank_by_wins(["a", "b"], wins)
    assert [estimate.value for estimate in ranking.expected_wins] == [1.0, 0.0]
    assert ranking.ranks == ranks


def test_a_draw_of_wins_is_a_tie_though_their_numbers_differ() -> None:
    wins = np.tile([[0.5, 0.9], [0.1, 0.5]], (9, 1, 1))
    wins[:4] = wins[:4].transpose(0, 2, 1)  # a wins five segments and b four
    ranking = rank_by_wins(["b", "a"], wins.transpose(0, 2, 1))
    assert ranking.systems == ("a", "b")
    assert ranking.ranks == (1, 1)


def test_ranks_are_those_of_a_comparison_of_expected_wins() -> None:
    """The same test, correction and clusters: compare the scores of segments and get the ranks."""
    ranking = rank(SYSTEMS, REFERENCES, "chrf")
    scores = ScoreFile("wins", {}, ranking.segments.T.ravel())
    outputs = {name: SYSTEMS[name] for name in ranking.systems}
    compared = compare(outputs, REFERENCES, [scores]).metrics[0]
    assert ranking.ranks == tuple(compared.ranks.tolist()) == (1, 1, 2)
    assert [wins.value for wins in ranking.expected_wins] == pytest.approx(compared.scores)


def test_every_format_of_a_ranking() -> None:
    ranking = rank(SYSTEMS, REFERENCES, "wer", settings=ComparisonSettings(resamples=50))
    assert isinstance(ranking, Ranking)
    assert "expected wins: fraction of segments on which the system is judged better" in repr(
        ranking
    )
    assert "do not differ significantly" in ranking.to_text()
    assert ranking.to_markdown().count("| ---: | --- |") == 1
    assert "`wer|nrefs:1|" in ranking.to_markdown()
    assert ranking._repr_html_().count("<table") == 2
    assert len(ranking.long_table().to_pandas()) == 3
    by_segment = ranking.by_segment()
    assert len(by_segment.long_table().to_pandas()) == 180
    assert len(list(by_segment.lines(Format.csv))) == 181


def test_misuse_gets_a_sentence() -> None:
    with pytest.raises(AdequaError, match="given by name with one output per segment"):
        rank(["a", "b"], ["x"])  # type: ignore[arg-type]
    with pytest.raises(AdequaError, match="b: hypotheses and references differ in length: 1 and 2"):
        rank({"a": ["x", "y"], "b": ["x"]}, ["x", "y"], "chrf")
    with pytest.raises(AdequaError, match="metric must be a metric's name or a metric, not 3"):
        rank({"a": ["x"], "b": ["x"]}, ["x"], 3)  # type: ignore[arg-type]
    with pytest.raises(AdequaError, match="at least two systems"):
        rank({"a": ["x"]}, ["x"], "chrf")
