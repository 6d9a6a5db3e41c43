"""The verdict in words: never more than the tests say, and every system named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa import ComparisonSettings, compare
from adequa.comparison.compare import outputs_of
from adequa.comparison.results import Comparison, MetricComparison, SystemPair
from adequa.comparison.significance import significance_ranks
from adequa.comparison.verdict import ALL_NAMED, FAR_BEHIND, join_names
from adequa.tables import Format

SETTINGS = ComparisonSettings()


def metric(
    name: str,
    scores: Sequence[float],
    significant: Sequence[str] = (),
    *,
    effects: float | Mapping[str, float] = 0.2,
    names: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    higher: bool = True,
) -> MetricComparison:
    """A metric under which the pairs named, such as "AB", differ significantly."""
    values = np.array(scores, dtype=float)
    gains = values if higher else -values
    wanted = {frozenset(pair) for pair in significant}
    p = np.ones((len(values), len(values)))
    pairs = []
    for one, other in combinations(range(len(values)), 2):
        pair = names[one] + names[other]
        sure = frozenset(pair) in wanted
        p[one, other] = p[other, one] = 0.001 if sure else 1.0
        size = effects if isinstance(effects, float) else effects.get(pair, 0.2)
        gain = float(gains[other] - gains[one])
        pairs.append(
            SystemPair(
                one,
                other,
                difference=float(values[other] - values[one]),
                gain=gain,
                effect=float(np.sign(gain)) * size,
                significant=sure,
            )
        )
    missing = np.full(len(values), np.nan)
    return MetricComparison(
        name=name,
        signature=name,
        segment_signature=name,
        higher_is_better=higher,
        decimals=2,
        scores=values,
        low=missing,
        high=missing,
        ranks=significance_ranks(gains, p, SETTINGS),
        pairs=tuple(pairs),
        segments=np.zeros((len(values), 2)),
    )


def comparison(*metrics: MetricComparison, texts: Sequence[str] = ()) -> Comparison:
    """A comparison of systems A, B, ... with these results."""
    count = len(metrics[0].scores)
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
    systems = {name: [text, "x"] for name, text in zip(names, texts or names, strict=True)}
    outputs = outputs_of(systems, ["x", "x"])
    return Comparison(outputs, SETTINGS, metrics, tuple)


def say(*metrics: MetricComparison, texts: Sequence[str] = ()) -> str:
    return comparison(*metrics, texts=texts).verdict()


def test_two_systems_with_the_size_of_the_difference() -> None:
    chrf, bleu = metric("chrf", [50, 52.1], ["AB"]), metric("bleu", [30, 31.3], ["AB"])
    assert say(chrf, bleu) == "B beats A: +2.10 chrf, +1.30 bleu, both significant."
    assert say(chrf) == "B beats A: +2.10 chrf, significant."
    ter = metric("ter", [50, 45], ["AB"], higher=False)
    assert say(ter, chrf, bleu) == (
        "B beats A: -5.00 ter (lower is better), +2.10 chrf, +1.30 bleu, all significant."
    )
    worse = metric("chrf", [52.1, 50], ["AB"])
    assert say(worse) == "A beats B: +2.10 chrf, significant."


def test_two_systems_of_which_metrics_are_unsure_or_disagree() -> None:
    chrf, unsure = metric("chrf", [50, 52.1], ["AB"]), metric("bleu", [30, 30.2])
    assert say(chrf, unsure) == (
        "B beats A under chrf only: +2.10 chrf, significant; +0.20 bleu, not significant."
    )
    against = metric("bleu", [31.3, 30], ["AB"])
    assert say(chrf, against) == (
        "The metrics disagree: chrf prefers B (+2.10), bleu prefers A (-1.30), both significant."
    )
    assert say(against, chrf).startswith("The metrics disagree: bleu prefers A (-1.30), chrf")
    tie = metric("chrf", [50, 50.2])
    assert say(tie, unsure) == "No significant difference between B and A: +0.20 chrf, +0.20 bleu."


def test_identical_systems() -> None:
    same = metric("chrf", [50, 50])
    words = "A and B are identical: they have the same output in every segment."
    assert say(same, texts=["one", "one"]) == words
    assert say(same) == "No significant difference between B and A: 0.00 chrf."
    three = metric("chrf", [50, 50, 40], ["AC", "BC"])
    assert say(three, texts=["one", "one", "y"]) == "A and B are identical; both beat C."
    all_same = metric("chrf", [50, 50, 50])
    assert say(all_same, texts=["one"] * 3) == "A, B and C are identical."


def test_a_tie_a_third_and_one_far_behind() -> None:
    """Two tie, both beat a third, and the last is far behind; the metrics agree."""
    pairs = ["AC", "BC", "AD", "BD", "CD"]
    far = {"AD": 0.9, "BD": 0.8, "CD": 0.6}
    chrf = metric("chrf", [60, 59.9, 58, 40], pairs, effects=far)
    bleu = metric("bleu", [40, 40.1, 37, 20], pairs, effects=far)
    assert say(chrf, bleu) == "A and B tie; both beat C; D is far behind; the metrics agree."


def test_far_behind_is_an_effect_against_every_better_system() -> None:
    pairs = ["AB", "AC", "BC"]
    near = FAR_BEHIND - 0.01
    scores = [60, 58, 40]
    assert say(metric("chrf", scores, pairs, effects={"AC": 0.9, "BC": FAR_BEHIND})) == (
        "A beats B; C is far behind."
    )
    assert say(metric("chrf", scores, pairs, effects={"AC": 0.9, "BC": near})) == (
        "A beats B; B beats C."
    )
    ahead = {"AB": 0.7, "AC": 0.9}
    assert say(metric("chrf", scores, ["AB", "AC"], effects=ahead)) == (
        "A is far ahead of B and C, which tie."
    )
    # The mean over metrics counts.
    one = metric("chrf", scores, pairs, effects={"AC": 0.9, "BC": 0.3})
    other = metric("bleu", scores, pairs, effects={"AC": 0.9, "BC": 0.8})
    assert say(one, other) == "A beats B; C is far behind; the metrics agree."


def test_systems_between_which_no_line_can_be_drawn() -> None:
    assert say(metric("chrf", [60, 59, 58], ["AC"])) == "A beats C, but not B."
    assert say(metric("chrf", [60, 59, 58, 57], ["BD"])) == (
        "A, B, C and D overlap: B beats D, but not A and C."
    )
    assert say(metric("chrf", [60, 59, 58])) == "No significant difference between A, B and C."
    assert say(metric("chrf", [60, 50, 49, 48], ["AB", "AC", "AD", "BD"])) == (
        "A beats B, C and D, which overlap."
    )


def test_metrics_that_find_other_differences() -> None:
    first = metric("chrf", [60, 55, 50], ["AB", "AC", "BC"])
    second = metric("bleu", [40, 35, 34.9], ["AB", "AC"])
    assert say(first, second) == (
        "A beats B and C, and B beats C under chrf only; otherwise the metrics agree."
    )
    few = metric("bleu", [40, 39, 38, 30], ["AC", "AD", "BD", "CD"])
    more = metric("chrf", [60, 59, 58, 50], ["AB", "AC", "AD", "BC", "BD", "CD"])
    assert say(more, few) == (
        "A beats C, but not B; these 3 beat D; no metric contradicts another, but 2 pairs differ "
        "under some metrics only."
    )
    against = metric("bleu", [40, 34, 36], ["AB", "AC", "BC"])
    assert say(first, against) == (
        "A beats B and C, and the metrics disagree on B and C; the metrics disagree: chrf prefers "
        "B to C, bleu prefers C to B."
    )
    reversed_ = metric("bleu", [30, 35, 40], ["AB", "AC", "BC"])
    assert "the metrics disagree on 3 pairs, for example: chrf prefers A to B" in say(
        first, reversed_
    )


def test_metrics_left_out() -> None:
    chrf = metric("chrf", [50, 52.1], ["AB"])
    warned = replace(metric("adequa", [0.7, 0.6], ["AB"]), warning="It knows English only.")
    assert say(warned, chrf) == (
        "B beats A: +2.10 chrf, significant. Left out of this verdict: adequa (language warning)."
    )
    whole = replace(metric("human", [1, 2]), segments=None)
    assert say(chrf, whole, warned).endswith(
        "Left out of this verdict: human (no segment scores to test) and adequa (language warning)."
    )
    assert say(warned) == "No verdict: adequa has a language warning, so the scores say little."
    assert say(whole) == (
        "B has the best human; whether that is significant is unknown without segment scores."
    )
    assert say(whole, warned).endswith("Left out of this verdict: adequa (language warning).")


def test_scores_of_whole_systems(tmp_path: Path) -> None:
    file = tmp_path / "whole.tsv"
    file.write_text("system\tscore\na\t1\nb\t2\nc\t2\n")
    systems = {"a": ["x", "y"], "b": ["x", "z"], "c": ["x", "z"]}
    assert compare(systems, ["x", "y"], [str(file)]).verdict() == (
        "b and c share the best whole; whether that is significant is unknown without segment "
        "scores."
    )


def test_the_verdict_comes_first() -> None:
    found = comparison(metric("chrf", [50, 52.1], ["AB"]))
    words = "B beats A: +2.10 chrf, significant."
    assert "".join(found.lines(Format.text)).startswith(f"{words}\n\n2 systems")
    assert "".join(found.lines(Format.markdown)).startswith(f"**{words}**\n\n")
    assert next(iter(found.to_dict().items())) == ("verdict", words)


def test_lists_are_cut_where_there_are_many_systems() -> None:
    count = 20
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
    pairs = ["".join(pair) for pair in combinations(names, 2)]
    chain = say(metric("chrf", range(count, 0, -1), pairs))
    assert chain == "A beats B; B beats C; 17 others follow."
    tie = say(metric("chrf", range(count, 0, -1)))
    assert tie == "No significant difference between A, B, C, D and 16 others."
    assert join_names(list("abc"), 2) == "a, b and c"  # never "1 others"


@st.composite
def results(draw: st.DrawFn) -> Comparison:
    """Up to ten systems under up to three metrics, with any pairs significant."""
    count = draw(st.integers(2, 10))
    names = "ABCDEFGHIJ"[:count]
    pairs = ["".join(pair) for pair in combinations(names, 2)]
    metrics = []
    for name in draw(st.sampled_from([["chrf"], ["chrf", "bleu"], ["chrf", "bleu", "wer"]])):
        scores = draw(st.permutations(range(count)))
        sure = draw(st.lists(st.sampled_from(pairs), unique=True))
        effects = draw(st.floats(0.01, 1.5))
        metrics.append(metric(name, scores, sure, effects=effects, higher=name != "wer"))
    return comparison(*metrics)


@settings(max_examples=200)
@given(results())
def test_every_system_is_named_and_nothing_contradicts_ranks(found: Comparison) -> None:
    words = found.verdict()
    assert words == found.verdict()
    assert words.endswith(".")
    named = set(
        words.replace(",", " ").replace(";", " ").replace(".", " ").replace(":", " ").split()
    )
    if len(found.systems) <= ALL_NAMED:
        assert set(found.systems) <= named
    for clause in words.removesuffix(".").split("; "):
        better, _, rest = clause.partition(" beats ")
        if rest and "only" not in rest and len(better) == 1:
            worse = rest.split(", but not ")[0].split(", and ")[0].split(", which")[0].split(":")[0]
            for name in set(worse.replace(",", " ").split()) & set(found.systems):
                one, other = found.systems.index(better), found.systems.index(name)
                for each in found.metrics:
                    assert each.pair(one, other).significant
                    assert each.ranks[one] < each.ranks[other]


@pytest.mark.parametrize("count", [2, 3, 12])
def test_real_outputs_have_a_verdict(count: int) -> None:
    generator = np.random.default_rng(7)
    words = [f"word{index}" for index in range(50)]
    references = [" ".join(generator.choice(words, 8)) for _ in range(60)]
    systems = {
        f"system{number}": [
            " ".join(
                word if generator.random() > 0.05 * number else "wrong" for word in text.split()
            )
            for text in references
        ]
        for number in range(1, count + 1)
    }
    quick = ComparisonSettings(resamples=50)
    verdict = compare(systems, references, ["chrf", "wer"], settings=quick).verdict()
    assert verdict.startswith("system1 ")
