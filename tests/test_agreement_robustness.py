"""Robustness: pairs worked out by hand, ties, intervals, and the same pairs for every metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from adequa.agreement.damaged_pairs import DamageSettings, damaged_pairs, good_texts
from adequa.agreement.robustness import Robustness, robustness
from adequa.damage.registry import PERTURBATIONS
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Preferences, RatedSystems, Ratings
from adequa.metrics.base import MeanMetric
from adequa.segments import FloatArray, Segments
from adequa.statistics.significance import (
    clustered_wilson_interval,
    mean_share_interval,
    wilson_intervals,
)

TEXTS = Segments(
    hypotheses=(
        "On Monday, Anna Novak told Peter Hala that three houses cost more than $300.",
        "They won't come before 5 May, because the old road is closed.",
        "All prices in the city increased, he says (again).",
    ),
    references=(
        ("Anna Novak told Peter Hala on Monday that three houses cost over $300.",),
        ("They will not come before 5 May, since the old road is closed.",),
        ("All prices in the town rose, he says (again).",),
    ),
    sources=(
        "Am Montag sagte Anna Novak Peter Hala, dass drei Häuser mehr als 300 Dollar kosten.",
        "Sie kommen nicht vor dem 5. Mai, weil die alte Straße gesperrt ist.",
        "Alle Preise in der Stadt sind gestiegen, sagt er (wieder).",
    ),
)


class Length(MeanMetric):
    """Scores a text by its number of characters, and counts what it is asked for."""

    name, higher_is_better, range = "length", True, (0.0, np.inf)

    def __init__(self, *, noise: float = 0.0) -> None:
        self.noise = noise
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        self.seen += zip(segments.hypotheses, segments.references, strict=True)
        lengths = np.array([len(text) for text in segments.hypotheses], dtype=float)
        return np.asarray(lengths + self.noise * np.arange(len(lengths)))

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return ()


class Shortness(Length):
    """The same, where lower is better."""

    name, higher_is_better = "shortness", False


def measured(*kinds: str, metrics: object = ("chrf",), **more: object) -> Robustness:
    settings = DamageSettings(kinds=kinds, **more)  # type: ignore[arg-type]
    return robustness(TEXTS, metrics, settings)  # type: ignore[arg-type]


def test_by_hand() -> None:
    """By length, repeated text wins nothing, lost text all, and exchanged words tie."""
    found = measured("half_omitted", "text_repeated", "case_raised", metrics=[Length()])
    figures = {line.name: line.figures[0] for line in found.kinds}
    assert [(f.pairs, f.won, f.tied) for f in figures.values()] == [(3, 3, 0), (3, 0, 0), (3, 0, 3)]
    assert list(figures) == ["half_omitted", "text_repeated", "case_raised"]
    overall = found.overall.figures[0]
    assert (overall.pairs, overall.won, overall.tied) == (9, 3, 3)
    assert overall.share == pytest.approx(1 / 3)


def test_lower_may_be_better() -> None:
    found = measured("half_omitted", "text_repeated", metrics=[Shortness()])
    assert [line.figures[0].won for line in found.kinds] == [0, 3]
    example = found.examples[0]
    assert example.scores[0] == (len(example.text), len(example.damaged))


def test_overall_is_the_mean_over_kinds_and_all_pairs_count_alike() -> None:
    """Numbers stand in two of the texts, and all can be repeated."""
    found = measured("number_changed", "text_repeated", metrics=[Length()])
    assert [line.pairs for line in found.kinds] == [2, 3]
    shares = [line.figures[0].share for line in found.kinds]
    assert found.overall.figures[0].share == pytest.approx(sum(shares) / 2)
    assert found.pooled.figures[0].share == pytest.approx(found.pooled.figures[0].won / 5)


def test_chrf_sees_no_spaces_and_lowercased_metrics_no_case() -> None:
    found = measured("spaces_dropped", "case_raised", "empty", metrics=["chrf", "sentbleu"])
    won = {line.name: [figure.won for figure in line.figures] for line in found.kinds}
    tied = {line.name: [figure.tied for figure in line.figures] for line in found.kinds}
    assert won["spaces_dropped"][0] == won["case_raised"][1] == 0
    assert tied["spaces_dropped"][0] == tied["case_raised"][1] == 3
    assert won["empty"] == [3, 3]


def test_the_last_digits_of_a_score_win_nothing() -> None:
    found = measured("half_omitted", "case_raised", metrics=[Length(noise=1e-6)])
    assert [line.figures[0].tied for line in found.kinds] == [0, 3]


def test_lines_are_of_the_kinds_they_name() -> None:
    found = robustness(TEXTS, ["chrf"], DamageSettings(each=2))
    names = {line.name for line in found.kinds}
    assert found.critical
    assert found.held_out
    critical = {kind.name for kind in PERTURBATIONS.values() if kind.critical}
    assert {kind.name for kind in found.critical.kinds} == critical & names
    assert all(kind.is_test_only for kind in found.held_out.kinds)
    assert sum(line.pairs for line in found.groups) == found.overall.pairs
    graded = [line for line in found.kinds if line.kinds[0].severity_meaning]
    assert sum(line.pairs for line in found.severities) == sum(line.pairs for line in graded)
    assert all(line.pairs <= 2 for line in found.kinds)
    assert {"untranslated", "other_sentence"} <= names


def test_lines_that_hold_no_kind_are_absent() -> None:
    found = measured("typos")
    assert found.critical is None
    assert found.held_out is None
    assert [line.name for line in found.summaries] == ["overall", "all pairs"]


def test_a_text_with_its_references_is_scored_once() -> None:
    metric = Length()
    twice = replace(
        TEXTS,
        hypotheses=TEXTS.hypotheses * 2,
        references=TEXTS.references * 2,
        sources=(TEXTS.sources or ()) * 2,
    )
    found = robustness(twice, [metric], DamageSettings())
    assert found.texts == 3
    assert len(metric.seen) == len(set(metric.seen))
    assert len(metric.seen) < 2 * found.overall.pairs


def test_pairs_depend_on_the_seed_and_not_on_the_metrics() -> None:
    one, again = measured(metrics=["chrf"], seed=5), measured(metrics=["ter", "chrf"], seed=5)
    texts = [sorted((e.kind, e.text, e.damaged) for e in found.examples) for found in (one, again)]
    assert texts[0] == texts[1]
    assert [line.figures[0] for line in one.kinds] == [line.figures[1] for line in again.kinds]
    other = measured(metrics=["chrf"], seed=6)
    assert texts[0] != sorted((e.kind, e.text, e.damaged) for e in other.examples)


def test_texts_that_equal_a_reference_are_left_out() -> None:
    """Also with other white space, and also where damage makes a text equal to one."""
    texts = Segments(("a  b c ", "He says so."), (("x", "a b c"), ("He say so.", "HE SAYS SO.")))
    pairs = damaged_pairs(texts, DamageSettings(groups=("case", "grammar"), severities=(1.0,)))
    assert pairs.texts == 1
    assert set(pairs.before.hypotheses) == {"He says so."}
    assert not {"HE SAYS SO.", "He say so."} & set(pairs.after.hypotheses)


def test_missed_pairs_are_shown_first() -> None:
    found = measured(
        "half_omitted", "number_changed", metrics=[Length(), "chrf"], severities=(1.0,)
    )
    for kind in ("half_omitted", "number_changed"):
        won = [sum(example.won) for example in found.examples if example.kind == kind]
        assert won == sorted(won)


def test_notes_tell_what_is_lacking() -> None:
    found = measured("date_changed", "quantifier_swapped", "empty", "mojibake", each=3)
    assert found.notes == (
        "kinds of damage that apply to fewer than 3 texts: date_changed 2, quantifier_swapped 1.",
    )
    few = robustness(TEXTS.select([2]), ["chrf"], DamageSettings(kinds=("empty", "date_changed")))
    assert few.notes == (
        "different texts to damage: 1, fewer than 100 a kind.",
        "kinds of damage that apply to none of the texts: date_changed.",
    )


def test_the_better_half_of_ratings_is_good() -> None:
    ratings = Ratings(np.array([0.1, 0.9, 0.5]), {"lp": ("de-en",) * 3}, TEXTS)
    assert good_texts(ratings).hypotheses == TEXTS.hypotheses[1:]
    preferences = Preferences({}, TEXTS.select([0, 1]), TEXTS.select([2, 2]))
    assert good_texts(preferences).hypotheses == TEXTS.hypotheses[:2]


def test_only_english_is_damaged() -> None:
    ratings = Ratings(np.ones(3), {"lp": ("de-en", "en-de", "")}, TEXTS)
    assert good_texts(ratings).hypotheses == (TEXTS.hypotheses[0], TEXTS.hypotheses[2])
    with pytest.raises(AdequaError, match="none of these translations are into English"):
        good_texts(Ratings(np.ones(3), {"lp": ("en-de",) * 3}, TEXTS))


def test_groups_and_kinds_add_up_and_groups_are_spared() -> None:
    chosen = DamageSettings(kinds=("typos",), groups=("negation", "empty"), spared=("empty",))
    assert [kind.name for kind in chosen.chosen()] == [
        "negation_dropped",
        "negation_added",
        "typos",
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"each": 0}, "one text at least"),
        ({"seed": -1}, "A seed is 0 or"),
        ({"kinds": ("typo",)}, 'Did you mean "typos"'),
        ({"groups": ("numbers",)}, 'Did you mean "number"'),
        ({"spared": ("cases",)}, 'Did you mean "case"'),
        ({"groups": ("case",), "spared": ("case",)}, "spare fewer groups"),
        ({"severities": (2.0,)}, "at most 1, not 2"),
    ],
)
def test_bad_settings(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        robustness(TEXTS, ["chrf"], DamageSettings(**settings))  # type: ignore[arg-type]


def test_bad_input() -> None:
    same = replace(TEXTS, references=tuple((text,) for text in TEXTS.hypotheses))
    with pytest.raises(AdequaError, match="word for word"):
        robustness(same, ["chrf"])
    with pytest.raises(AdequaError, match="can be damaged in the ways asked for"):
        robustness(Segments(("42",), (("43",),)), ["chrf"], DamageSettings(groups=("negation",)))
    with pytest.raises(AdequaError, match="at least one metric"):
        robustness(TEXTS, [])
    with pytest.raises(AdequaError, match="damaged texts have none"):
        robustness(TEXTS, [ScoreFile("mine", {}, np.ones(3))])
    with pytest.raises(AdequaError, match="between 0 and 1"):
        robustness(TEXTS, ["chrf"], confidence=1.0)
    with pytest.raises(AdequaError, match="columns mt and ref"):
        good_texts(Ratings(np.ones(2), {"lp": ("de-en",) * 2}))
    with pytest.raises(AdequaError, match="whole systems"):
        good_texts(RatedSystems(Ratings(np.ones(1), {"lp": ("de-en",), "system": ("a",)})))


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(counts: tuple[int, int]) -> None:
    hits, count = counts
    expected = binomtest(hits, count).proportion_ci(0.9, "wilson")
    low, high = wilson_intervals(np.array([hits]), np.array([count]), 0.9)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert mean_share_interval(np.array([hits]), np.array([count]), 0.9) == pytest.approx(
        (low[0], high[0]), abs=1e-12
    )


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_rows_in_clusters_of_their_own_have_the_plain_wilson_interval(values: list[bool]) -> None:
    hits = np.array(values)
    low, high = wilson_intervals(np.array([hits.sum()]), np.array([len(hits)]))
    clustered = clustered_wilson_interval(hits, np.arange(len(hits)))
    assert clustered == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_repeated_rows_of_a_cluster_add_no_certainty(rate: float) -> None:
    hits = np.random.default_rng(0).uniform(size=200) < rate
    once = clustered_wilson_interval(hits, np.arange(200))
    repeated = clustered_wilson_interval(np.repeat(hits, 10), np.repeat(np.arange(200), 10))
    assert repeated == pytest.approx(once, abs=0.001)


def test_clustered_intervals_contain_the_rate_as_often_as_they_should() -> None:
    """Rates of clusters vary by a beta distribution, with 0.8 as their mean."""
    generator = np.random.default_rng(2)
    clusters = np.repeat(np.arange(150), 8)
    contained = []
    for _ in range(500):
        rates = generator.beta(1.6, 0.4, size=150)[clusters]
        hits = generator.uniform(size=len(rates)) < rates
        low, high = clustered_wilson_interval(hits, clusters)
        plain = wilson_intervals(np.array([hits.sum()]), np.array([len(hits)]))
        contained.append((low <= 0.8 <= high, plain[0][0] <= 0.8 <= plain[1][0]))
    clustered, independent = np.mean(contained, axis=0)
    assert clustered == pytest.approx(0.95, abs=0.03)
    assert independent < 0.85


def test_the_interval_of_a_mean_by_hand() -> None:
    """Two kinds alike: the interval is narrower by the square root of two, about the share."""
    low, high = wilson_intervals(np.array([8]), np.array([10]))
    found = mean_share_interval(np.array([8, 8]), np.array([10, 10]))
    expected = 0.8 - (0.8 - low[0]) / 2**0.5, 0.8 + (high[0] - 0.8) / 2**0.5
    assert found == pytest.approx(expected)


def test_the_interval_of_a_mean_covers_it() -> None:
    generator = np.random.default_rng(1)
    shares, counts = np.array([0.5, 0.9, 0.98, 0.3]), np.full(4, 60)
    bounds = np.array(
        [mean_share_interval(generator.binomial(counts, shares), counts) for _ in range(1000)]
    )
    covered = (bounds[:, 0] <= shares.mean()) & (shares.mean() <= bounds[:, 1])
    assert 0.93 <= covered.mean() <= 0.98
