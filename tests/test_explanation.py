"""Explanations: alignment, repairs, costs, kinds, severities, and how they are shown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adequa
from adequa.agreement.damaged_pairs import good_texts
from adequa.damage.apply import damage_texts
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError, LanguageWarning
from adequa.explanation import costs
from adequa.explanation.alignment import align, tokenize
from adequa.explanation.costs import MAX_DIFFERENCES, align_to_repair, repair_costs, scaled
from adequa.explanation.display import parts
from adequa.explanation.explain import explain_segments
from adequa.explanation.pieces import (
    KINDS,
    SEVERITY_THRESHOLDS,
    KindRules,
    SeverityThresholds,
    kind_of,
)
from adequa.explanation.results import GROUPS
from adequa.languages import parse_language
from adequa.metrics.base import MeanMetric, Metric
from adequa.metrics.registry import load_metric
from adequa.metrics.sacrebleu_metrics import CHRF
from adequa.segments import FloatArray, Segments
from adequa.tables import Format
from judgements import needs_judgements

WORDS = st.sampled_from(
    ["the", "a", "of", "cat", "Cat", "cats", "sat", "ran", "3", "500", "not", ",", ".", "-", "(",
     ")", '"', "U.S.", "don't", "中", "文", "é", "Straße", "STRASSE", "😀", "[", "{+"]
)  # fmt: skip
TEXTS = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", " ", "", "  ", "\n"])), max_size=14
).map(lambda pairs: "".join(word + space for word, space in pairs))


def differences(hypothesis: str, reference: str) -> list[tuple[str, str]]:
    """The words of each difference in both texts."""
    alignment = align(hypothesis, reference)
    spans = [alignment.spans(each) for each in alignment.differences]
    return [
        (hypothesis[start:end], reference[other_start:other_end])
        for (start, end), (other_start, other_end) in spans
    ]


def kinds(hypothesis: str, reference: str, language: str = "en") -> list[str]:
    alignment = align(hypothesis, reference)
    rules = KindRules.of(alignment, (hypothesis, reference), language)
    return [kind_of(alignment, each, rules) for each in alignment.differences]


# Alignment


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("the firm grew", "the firm grew", []),
        ("the farms grew", "the firms grew", [("farms", "firms")]),
        ("the cat ran", "the black cat ran", [("", "black")]),
        ("the black cat ran", "the cat ran", [("black", "")]),
        ("He issued a warning.", "He warned.", [("issued a warning", "warned")]),
        ("He held this post.", "He served in this capacity.",
         [("held this post", "served in this capacity")]),
        ("big old dog", "small new dog", [("big", "small"), ("old", "new")]),
        ("The end .", "The end.", [(".", ".")]),
        ("Joy to all", "He brought joy to all", [("Joy", "He brought joy")]),
        ("", "a b", [("", "a b")]),
        ("one cat", "two dogs", [("one", "two"), ("cat", "dogs")]),
    ],
)  # fmt: skip
def test_words_are_aligned_by_form(
    hypothesis: str, reference: str, expected: list[tuple[str, str]]
) -> None:
    assert differences(hypothesis, reference) == expected


def test_moved_words_are_one_difference() -> None:
    alignment = align("Yesterday the old house burnt", "the old house burnt yesterday")
    (move,) = alignment.differences
    assert move.is_move
    assert alignment.spans(move) == ((0, 9), (20, 29))
    assert alignment.repair({0}) == "the old house burnt yesterday"
    without = align("Yesterday it burnt", "it burnt yesterday", moves=False)
    assert [each.is_move for each in without.differences] == [False, False]


@given(TEXTS, TEXTS)
def test_repairing_all_gives_the_reference_and_nothing_the_hypothesis(one: str, other: str) -> None:
    alignment = align(one, other)
    everything = frozenset(range(len(alignment.differences)))
    assert words(alignment.repair(everything)) == words(other)
    assert words(alignment.repair(frozenset())) == words(one)
    # The text itself, too, but for breaks between lines and repeated spaces.
    assert alignment.repair(everything) == " ".join(other.split())
    assert alignment.repair(frozenset()) == " ".join(one.split())
    if words(one) == words(other) and one.split() == other.split():
        assert not alignment.differences


@given(TEXTS, TEXTS)
def test_every_difference_is_repaired_by_itself(one: str, other: str) -> None:
    alignment = align(one, other)
    columns = [column for each in alignment.differences for column in each.columns]
    assert len(columns) == len(set(columns))
    for index, each in enumerate(alignment.differences):
        removed, added = (Counter(token.text for token in side) for side in alignment.tokens(each))
        before, after = Counter(words(one)), Counter(words(alignment.repair({index})))
        # Words of the hypothesis give way to those of the reference, and nothing else changes.
        assert after == before - removed + added or after == before + added - removed


def words(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


@given(TEXTS)
def test_tokens_are_the_text_without_spaces(text: str) -> None:
    tokens = tokenize(text)
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_numbers_beside_signs_of_chinese_get_no_space() -> None:
    alignment = align("他在2020年有10人", "他在2020年有12人")
    assert alignment.repair({0}) == "他在2020年有12人"
    result = adequa.explain(["他在2020年有10人"], ["他在2020年有12人"], "chrf", language="zh")
    assert result.segments[0].repaired == pytest.approx(100)


def test_missing_words_inside_moved_ones_are_shown_after_them() -> None:
    hypothesis, reference = "field the field the left field", "left the ball left field field the"
    (segment,) = adequa.explain([hypothesis], [reference], "chrf", language="en").segments
    assert "".join(part.text for part in parts(segment)) == hypothesis


def test_signs_of_chinese_are_no_words_by_themselves() -> None:
    assert differences("我去北京", "我去上海") == [("北京", "上海")]


def test_a_final_stop_is_that_of_the_reference() -> None:
    assert differences("Mr kou shuddered.", "Mr. Coe grimaced.") == [
        ("kou shuddered", ". Coe grimaced")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "বাংলা ভাষা", "தமிழ் நாடு", "ગુજરાતી શબ્દો", "हिन्दी में", "മലയാളം വാക്ക്",
        "می\u200cخواهم بروم", "هٰذا كتاب", "e\u0301te\u0301 a\u0300", "👩🏽\u200d💻 ❤\ufe0f",
    ],
)  # fmt: skip
def test_marks_belong_to_the_letters_before_them(text: str) -> None:
    assert words(text) == text.split()


def test_a_piece_is_no_more_severe_than_all_together() -> None:
    """Where the full repair makes the score worse, none of its parts is an error."""
    metric = _Words(games({"x y": 0.6, "v y": 0.9, "x w": 0.1, "v w": 0.25}))
    (segment,) = explain_segments(
        Segments(("x y",), (("v w",),)), metric, language=parse_language("en")
    ).segments
    assert segment.pieces[0].cost > SEVERITY_THRESHOLDS.major
    assert [piece.severity for piece in segment.pieces] == ["none", "none"]


def test_remarks_count_translations_and_not_their_variants() -> None:
    texts = ["我们今天去北京。", "他明天不来了。"]
    result = adequa.explain(texts, ["我们今天去上海。", "他明天会来。"], "adequa", language="en")
    (remark,) = [note for note in result.notes if "not in English" in note]
    assert remark.startswith("2 hypotheses of 2 ")


def test_spaces_between_words_come_from_the_side_that_the_words_come_from() -> None:
    alignment = align("(dogs) run", "(the dogs) ran")
    assert alignment.repair({0}) == "(the dogs) run"
    assert align("我喜欢猫", "我喜欢大狗").repair({0, 1}).startswith("我喜欢大")


def test_very_long_texts_are_aligned_by_equal_words(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = "it warned cats again", "it always warning again"
    assert differences(*texts) == [("warned cats", "always warning")]  # similar words are linked
    monkeypatch.setattr("adequa.explanation.alignment._MAX_CELLS", 10)
    assert differences(*texts) == [("warned", "always"), ("cats", "warning")]


# Costs


class _Words(MeanMetric):
    """A score that is a function of the set of a text's words, for costs by hand."""

    name = "words"
    higher_is_better = True
    range = (0.0, 1.0)

    def __init__(self, value: dict[frozenset[str], float]) -> None:
        self.value = value
        self.scored: list[str] = []

    def __post_init__(self) -> None: ...

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return ()

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        self.scored += segments.hypotheses
        return np.array([self.value[frozenset(text.split())] for text in segments.hypotheses])


def games(value: dict[str, float]) -> dict[frozenset[str], float]:
    return {frozenset(text.split()): score for text, score in value.items()}


def test_costs_of_two_pieces_by_hand() -> None:
    metric = _Words(games({"x y": 0.2, "v y": 0.5, "x w": 0.3, "v w": 1.0}))
    segments = Segments(("x y",), (("v w",),))
    alignment = align("x y", "v w")
    assert len(alignment.differences) == 2
    (result,) = repair_costs(metric, segments, {0: alignment}, {0: "v w"}, {0: 0.2})
    weight = costs._ALONE_WEIGHT
    expected = np.array([weight * 0.3 + (1 - weight) * 0.7, weight * 0.1 + (1 - weight) * 0.5])
    np.testing.assert_allclose(
        result.costs, expected + (0.8 - expected.sum()) * expected / expected.sum()
    )
    assert (result.score, result.repaired, result.gain) == (0.2, 1.0, 0.8)
    assert sorted(metric.scored) == ["v w", "v y", "x w"]


def test_thorough_costs_are_the_mean_over_orders() -> None:
    rng = np.random.default_rng(3)
    words_, others = ("x", "y", "z"), ("u", "v", "w")

    def text(repaired: Set[int]) -> str:
        return " ".join(others[i] if i in repaired else words_[i] for i in range(3))

    subsets = [set(part) for size in range(4) for part in combinations(range(3), size)]
    value = {text(part): float(rng.random()) for part in subsets}
    segments = Segments((text(set()),), ((text({0, 1, 2}),),))
    alignment = align(segments.hypotheses[0], segments.references[0][0])
    assert len(alignment.differences) == 3
    references, scores = {0: text({0, 1, 2})}, {0: value[text(set())]}
    (result,) = repair_costs(
        _Words(games(value)), segments, {0: alignment}, references, scores, thorough=True
    )
    orders = costs._orders(3)
    expected = np.zeros(3)
    for order in orders:
        for place, index in enumerate(order):
            gain = value[text({*order[: place + 1]})] - value[text({*order[:place]})]
            expected[index] += gain / len(orders)
    np.testing.assert_allclose(result.costs, expected, atol=1e-12)


@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=8),
    st.floats(-1, 1, allow_subnormal=False),
)
def test_scaled_costs_add_up(values: list[float], total: float) -> None:
    assert scaled(np.array(values), total).sum() == pytest.approx(total, abs=1e-9)


def test_pieces_that_gain_together_alone_share_the_gain() -> None:
    """The score is 1 once two of three are repaired: by Shapley's value each has a third."""

    def value(repaired: int) -> float:
        return float(repaired >= 2) + 1e-9 * (repaired == 1)

    texts = {tuple(text): sum(one != other for one, other in zip(text, "xyz", strict=True))
             for text in product("xu", "yv", "zw")}  # fmt: skip
    metric = _Words(games({" ".join(text): value(count) for text, count in texts.items()}))
    (result,) = repair_costs(
        metric, Segments(("x y z",), (("u v w",),)), {0: align("x y z", "u v w")},
        {0: "u v w"}, {0: 0.0},
    )  # fmt: skip
    np.testing.assert_allclose(result.costs, 1 / 3, atol=1e-6)


def test_equal_variants_of_several_systems_are_scored_once() -> None:
    metric = _Words(games({"x y": 0.2, "v y": 0.5, "x w": 0.3, "v w": 1.0}))
    systems = {"system": ("a", "b", "c")}
    segments = Segments(("x y",) * 3, (("v w",),) * 3, ids=systems)
    result = explain_segments(segments, metric, language=parse_language("en"))
    assert Counter(metric.scored) == {"x y": 3, "v w": 1, "v y": 1, "x w": 1}
    assert result.segments[0].pieces == result.segments[2].pieces


def test_a_metric_of_whole_corpora_scores_as_many_corpora_for_any_number_of_segments() -> None:
    corpora = []
    for count in (20, 150):
        metric = load_metric("nist")
        sizes: list[int] = []

        def compute(metric: Metric, segments: Segments, sizes: list[int] = sizes) -> FloatArray:
            sizes.append(len(segments))
            return metric.checked_statistics(segments)

        segments = Segments(
            tuple(f"the {n} cat sat" for n in range(count)),
            tuple((f"a {n} dog sat",) for n in range(count)),
        )
        explain_segments(segments, metric, language=parse_language("en"), compute=compute)
        corpora.append(len(sizes))
        assert set(sizes[1:]) <= {count, min(count, 100)}
    assert corpora[0] == corpora[1]


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXTS, TEXTS.filter(str.strip)), min_size=1, max_size=4))
def test_costs_add_up_to_what_the_full_repair_gains(pairs: list[tuple[str, str]]) -> None:
    result = adequa.explain(
        [one for one, _ in pairs], [other for _, other in pairs], "chrf", language="en"
    )
    for each in result.segments:
        total = sum(piece.cost for piece in each.pieces)
        assert total == pytest.approx(each.repaired - each.score if each.pieces else 0, abs=1e-6)
        assert [piece.cost for piece in each.pieces] == sorted(
            (piece.cost for piece in each.pieces), reverse=True
        )
        assert "".join(part.text for part in parts(each)) == each.hypothesis


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter", "meteor", "nist", "wer"])
def test_any_metric_explains_and_its_scores_are_its_own(metric: str) -> None:
    hypotheses = ["The firm issued a warning in 2012.", "A dog sat.", "Nothing is equal here"]
    references = ["The firms warned in 2013.", "A dog sat.", "all other words differ"]
    result = adequa.explain(hypotheses, references, metric)
    scores = load_metric(metric).score(hypotheses, references)
    assert [each.score for each in result.segments] == pytest.approx(scores.segments.tolist())
    assert result.signature.startswith(metric)
    assert result.segments[1].pieces == ()
    better = 1 if scores.higher_is_better else -1
    for each in result.segments:
        gain = better * (each.repaired - each.score)
        assert sum(piece.cost for piece in each.pieces) == pytest.approx(gain, abs=1e-9)


def test_variants_do_not_depend_on_the_other_segments() -> None:
    hypotheses, references = (
        ["It cost 300 euros.", "A cat ran."],
        ["It cost 500 euros.", "A dog ran."],
    )
    together = adequa.explain(hypotheses, references, "adequa")
    alone = adequa.explain(hypotheses[1:], references[1:], "adequa")
    assert together.segments[1].pieces == alone.segments[0].pieces


def test_the_closest_reference_explains() -> None:
    result = adequa.explain(
        ["the cat sat on the mat"], [["dogs bark at night", "the cat lay on the mat"]], "chrf"
    )
    (segment,) = result.segments
    assert (segment.reference_number, segment.reference_count) == (2, 2)
    assert [(piece.hypothesis, piece.reference) for piece in segment.pieces] == [("sat", "lay")]
    assert segment.score == pytest.approx(
        load_metric("chrf")
        .score(["the cat sat on the mat"], [["dogs bark at night", "the cat lay on the mat"]])
        .system
    )
    assert result.to_dict()["segments"][0]["reference_number"] == 2


def test_long_segments_are_bounded() -> None:
    rng = np.random.default_rng(1)
    reference = " ".join(f"w{number}" for number in rng.integers(0, 300, 2000))
    hypothesis = " ".join(f"w{number}" for number in rng.integers(0, 300, 2000))
    result = adequa.explain([hypothesis], [reference], "chrf", language="en")
    assert len(result.segments[0].pieces) <= MAX_DIFFERENCES
    assert "1 of 1 segment had too many" in "".join(result.notes)
    joined = align_to_repair(hypothesis, reference)
    assert words(joined.repair(frozenset(range(len(joined.differences))))) == words(reference)
    assert words(joined.repair(frozenset())) == words(hypothesis)


# Kinds and severities


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("It cost 300 euros", "It cost 500 euros", ["number"]),
        ("It cost five euros", "It cost six euros", ["number"]),
        ("It has 10 legs", "It has ten legs", ["substitution"]),
        ("It has one leg", "It has 1 leg", ["substitution"]),
        ("It has one leg", "It has 2 leg", ["number"]),
        ("It is 1.5 m", "It is 15 m", ["number"]),
        ("at 10:30", "at 1030", ["number"]),
        ("at 10:30", "at 10.30", ["punctuation"]),
        ("1,000 men", "1000 men", ["punctuation"]),
        ("1.000 men", "1000 men", ["number"]),
        ("it was -5 today", "it was 5 today", ["number"]),
        ("It cost $5 now", "It cost €5 now", ["number"]),
        ("5% off", "5 off", ["number"]),
        ("5% off", "5 percent off", ["substitution"]),
        ("down by (-5)", "down by (5)", ["number"]),
        ("it was −5 today", "it was -5 today", ["punctuation"]),
        ("it costs 5$", "it costs $5", ["punctuation", "punctuation"]),
        ("it has twenty-two legs", "it has 22 legs", ["substitution"]),
        ("it is 0.50 m", "it is 0.5 m", ["substitution"]),
        ("Rule No. 5 applies", "Rule number 5 applies", ["substitution"]),
        ("pages 3-5", "pages 3–5", ["punctuation"]),
        ("he is not able", "he is notable", ["negation"]),
        (
            "they agreed the bridge not to burn",
            "they agreed not to tear down the bridge",
            ["omission", "addition"],
        ),
        ("cafe\u0301 now", "café now", ["punctuation"]),
        ("on 3 May", "on 3 March", ["number"]),
        ("It did go", "It did not go", ["negation"]),
        ("He doesn't go", "He does go", ["negation"]),
        ("He can't go", "He cannot go", ["substitution"]),
        ("We met in Berlin", "We met in Vienna", ["name"]),
        ("The cat ran", "The black cat ran", ["omission"]),
        ("The black cat ran", "The cat ran", ["addition"]),
        ("The cat ran", "The dog ran", ["substitution"]),
        ("the end", "The end", ["case"]),
        ("The end!", "The end.", ["punctuation"]),
        ("The end .", "The end.", ["punctuation"]),
        ("pre-selection", "preselection", ["punctuation"]),
        ("Yesterday it burnt down", "it burnt down yesterday", ["move"]),
        ("Joy to all", "He brought joy to all", ["substitution"]),
    ],
)
def test_kinds_follow_from_the_words(hypothesis: str, reference: str, expected: list[str]) -> None:
    assert kinds(hypothesis, reference) == expected


def test_kinds_of_other_languages() -> None:
    assert kinds("Wir gehen", "Wir gehen nicht", "de") == ["negation"]
    assert kinds("Wir sehen den Hund", "Wir sehen die Katze", "de") == ["substitution"] * 2
    assert kinds("我去", "我不去", "zh") == ["negation"]
    assert kinds("Il est là", "Il n'est là", "fr") == ["negation"]
    assert kinds("Il ne va pas", "Il n'ira pas", "fr") == ["substitution"]
    assert kinds("यह किताब अच्छी है", "यह किताब अच्छा है", "hi") == ["substitution"]
    assert kinds("Es sind 1.000 Euro", "Es sind 1000 Euro", "de") == ["punctuation"]
    assert kinds("Es sind 2,500 Meter", "Es sind 2.500 Meter", "de") == ["number"]
    assert kinds("Ce sont 3,125 m", "Ce sont 3.125 m", "fr") == ["number"]
    assert kinds("Es sind 1.234.567 Euro", "Es sind 1234567 Euro", "de") == ["punctuation"]
    assert kinds("यह १० है", "यह 10 है", "hi") == ["substitution"]
    assert kinds("वह नहीं गया", "वह गया", "hi") == ["negation"]


def test_every_kind_belongs_to_one_group() -> None:
    assert Counter(kind for group in GROUPS.values() for kind in group) == Counter(KINDS)


def test_severities_by_cost_length_and_kind() -> None:
    limits = SeverityThresholds(minor=0.01, major=0.1, critical=0.3, length_power=1.0)
    severities = [limits.severity(cost, 25, "number") for cost in (-1, 0.009, 0.01, 0.1, 0.3)]
    assert severities == ["none", "none", "minor", "major", "critical"]
    assert limits.severity(0.05, 50, "number") == "major"
    assert limits.severity(0.01, 100, "number") == limits.severity(0.01, 2000, "number") == "minor"
    assert limits.severity(0.9, 25, "case") == limits.severity(0.9, 25, "punctuation") == "minor"
    assert SEVERITY_THRESHOLDS.minor < SEVERITY_THRESHOLDS.major < SEVERITY_THRESHOLDS.critical


class _FractionCHRF(CHRF):
    """chrF on a scale from 0 to 1."""

    range = (0, 1)

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        return super().segment_scores(statistics) / 100


def test_severities_do_not_depend_on_the_unit_of_a_metric() -> None:
    """chrF from 0 to 100 and from 0 to 1: the costs are a hundredth, and the severities equal."""
    hypotheses = ["It cost 300 euros.", "the Dog ran home", "A cats sat on mat"]
    references = ["It cost 500 euros.", "The dog never ran home", "The cat sat on the mat."]
    percent = adequa.explain(hypotheses, references, load_metric("chrf"), language="en")
    fraction = adequa.explain(hypotheses, references, _FractionCHRF(), language="en")
    pieces, others = (
        [piece for each in result.segments for piece in each.pieces]
        for result in (percent, fraction)
    )
    assert [each.severity for each in others] == [each.severity for each in pieces]
    assert len({each.severity for each in pieces}) > 1
    assert [100 * each.cost for each in others] == pytest.approx([each.cost for each in pieces])


# Systems


def system_segments(outputs: Mapping[str, Sequence[str]], references: Sequence[str]) -> Segments:
    hypotheses = [text for texts in outputs.values() for text in texts]
    return Segments(
        tuple(hypotheses),
        tuple((text,) for text in references) * len(outputs),
        ids={"system": tuple(name for name, texts in outputs.items() for _ in texts)},
    )


def test_losses_say_where_systems_differ() -> None:
    references = [f"In {2000 + n} it cost {n} euros in the old town" for n in range(10, 22)]
    outputs = {
        "wrong": [text.replace("cost ", "cost 9") for text in references],
        "right": [text.replace("old town", "ancient city") for text in references],
    }
    losses = adequa.explain(system_segments(outputs, references), metric="chrf").losses
    assert losses.fractions(0)[list(GROUPS).index("numbers and names")] == 1
    assert losses.fractions(1)[list(GROUPS).index("other words")] == 1
    assert losses.sentence(0) == "100% numbers and names"
    significant = {
        list(GROUPS)[each.group]: each for each in losses.differences if each.is_significant
    }
    assert set(significant) == {"numbers and names", "other words"}
    assert significant["numbers and names"].difference < 0 < significant["other words"].difference


def test_systems_by_name() -> None:
    references = ["It cost 500 euros.", "A dog sat."]
    outputs = {"one": ["It cost 300 euros.", "A dog sat."], "two": references}
    result = adequa.explain(outputs, iter(references), "chrf", language="en")
    by_hand = adequa.explain(system_segments(outputs, references), metric="chrf", language="en")
    assert result.segments == by_hand.segments
    with pytest.raises(AdequaError, match="There are no systems"):
        adequa.explain({}, references, "chrf")


def test_systems_with_other_segments_are_not_compared() -> None:
    segments = Segments(
        ("a b", "a c", "a d"), (("a x",), ("a y",), ("a z",)), ids={"system": ("one", "one", "two")}
    )
    losses = adequa.explain(segments, metric="chrf", language="en").losses
    assert losses.systems == ("one", "two")
    assert losses.differences == ()


def test_the_worst_segments_come_first() -> None:
    hypotheses = ["the cat sat", "no word is right", "the dog sat"]
    references = ["the cat sat", "all others here differ", "the cat sat"]
    result = adequa.explain(hypotheses, references, "chrf", worst=2)
    assert [each.segment for each in result.segments] == [2, 3]
    assert result.total == 3
    with pytest.raises(AdequaError, match="whole number from 1 on"):
        adequa.explain(hypotheses, references, "chrf", worst=0)
    for bad in (1.5, True):
        with pytest.raises(AdequaError, match="whole number from 1 on"):
            adequa.explain(hypotheses, references, "chrf", worst=bad)  # type: ignore[arg-type]


# Results


@pytest.fixture(scope="module")
def explanation() -> adequa.Explanation:
    return adequa.explain(
        ["It cost 300 plain <b>euros</b>.", "", "Same.", "It ran"],
        ["It cost 500 plain euros.", "Not empty.", "Same.", "It ran \x1b[31maway"],
        "chrf",
        language="en",
    )


def test_json_has_the_documented_shape(explanation: adequa.Explanation) -> None:
    content = json.loads("".join(explanation.lines(Format.json)))
    assert [each["segment"] for each in content["segments"]] == [1, 2, 3, 4]
    piece = next(p for p in content["segments"][0]["pieces"] if p["kind"] == "number")
    assert set(piece) == {
        "hypothesis", "reference", "kind", "cost", "severity", "hypothesis_span", "reference_span",
    }  # fmt: skip
    assert (piece["hypothesis"], piece["reference"]) == ("300", "500")
    assert piece["hypothesis_span"] == [8, 11]
    (missing,) = content["segments"][3]["pieces"]
    assert missing["hypothesis"] == ""
    assert missing["hypothesis_span"][0] == missing["hypothesis_span"][1]


def test_text_has_marks_and_no_control_characters(explanation: adequa.Explanation) -> None:
    plain = "".join(explanation.lines(Format.text))
    assert "[-300-]{+500+}" in plain
    assert "(empty)" in plain
    assert "no differences from the reference" in plain
    assert "\x1b" not in plain
    coloured = "".join(explanation.lines(Format.text, colour=True))
    assert "\x1b[31maway" not in coloured
    assert "\x1b[" in coloured


def test_html_shows_texts_as_they_are(explanation: adequa.Explanation) -> None:
    for html in ("".join(explanation.lines(Format.html)), explanation._repr_html_()):
        assert "<b>euros" not in html
        assert "&lt;b&gt;" in html
        assert '<mark class="' in html
        assert "<script" not in html


@pytest.mark.parametrize("format_", [Format.tsv, Format.csv, Format.markdown, Format.latex])
def test_tables_have_a_row_for_each_piece(explanation: adequa.Explanation, format_: Format) -> None:
    pieces = [piece for each in explanation.segments for piece in each.pieces]
    kinds = [kind for line in explanation.lines(format_) for kind in KINDS if _has_cell(line, kind)]
    assert kinds == [piece.kind for piece in pieces]


def _has_cell(line: str, text: str) -> bool:
    """Whether a line of a table has a cell with this text alone."""
    return text in (cell.strip() for cell in re.split(r"[\t,|&]", line))


def test_languages_that_a_metric_does_not_know_are_warned_of() -> None:
    german = ["Wir haben die Rechnung noch nicht bezahlt."]
    references = ["Wir haben die Rechnung schon bezahlt."]
    with pytest.warns(LanguageWarning, match="English alone"):
        result = adequa.explain(german, references, "adequa", language="de")
    assert result.warning is not None
    with pytest.warns(LanguageWarning):
        assert adequa.explain(german, references, language="de").metric == "chrf"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "no segments"),
        ((["a"], ["a", "b"]), "differ"),
        ((["a"], [" "]), "reference"),
        ((["a"],), "Give references"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[list[str], ...], message: str) -> None:
    hypotheses, references = (*arguments, None)[:2]
    with pytest.raises(AdequaError, match=message):
        adequa.explain(hypotheses or [], references, "chrf")


# Known damage


def common_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@needs_judgements
def test_the_damaged_place_is_the_costliest() -> None:
    texts = good_texts(load_dataset("wmt13-da"))
    references = [texts[0] for texts in texts.references[:60]]
    damaged = damage_texts(
        references, ["number_changed", "negation_dropped", "name_swapped"], seed=1, severities=[0.1]
    )
    expected = [references[row] for row in damaged.rows.tolist()]
    result = adequa.explain(list(damaged.texts), expected, "adequa")
    for text, reference, segment in zip(damaged.texts, expected, result.segments, strict=True):
        piece = segment.pieces[0]
        start, end = piece.hypothesis_span
        before = common_start(text, reference)
        behind = common_start(text[::-1], reference[::-1])
        assert end + 1 >= before  # the place of missing words is before a space
        assert start <= len(text) - behind
        assert piece.cost > 0
    by_kind = dict(zip(damaged.kinds, (each.pieces[0] for each in result.segments), strict=True))
    assert by_kind["number_changed"].kind == "number"
    assert by_kind["negation_dropped"].kind == "negation"
    assert by_kind["name_swapped"].kind == "name"
