"""The gate: what passes, what does not, and how it says so."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa import AdequaError, ScoreFile, compare
from adequa.comparison.gate import (
    Check,
    GateResult,
    GateRules,
    Rule,
    apply_rules,
    gate,
    read_rules,
    same_rules,
)
from adequa.metrics.edit_rates import WER
from adequa.tables import Format
from damaged_systems import references, system

REFERENCES = references(80)
GOOD = system(REFERENCES, 0.1, seed=1)
BAD = system(REFERENCES, 0.3, seed=2)
CLOSE = [*system(REFERENCES, 0.1, seed=3)]


def verdict(candidate: list[str], rules: GateRules, baseline: list[str] = GOOD) -> GateResult:
    systems = {"base": baseline, "candidate": candidate}
    metrics = [rule.metric for rule in rules.rules]
    settings = rules.settings()
    comparison = compare(systems, REFERENCES, metrics, settings=settings, language="en")
    return apply_rules(comparison, rules)


def quick(*rules: Rule, **settings: object) -> GateRules:
    return GateRules(rules, **{"swaps": 500, **settings})  # type: ignore[arg-type]


def test_a_loss_is_a_regression_in_either_direction() -> None:
    result = verdict(BAD, quick(Rule("chrf"), Rule("wer")))
    assert not result.passed
    assert [check.metric for check in result.regressions] == ["chrf", "wer"]
    assert result.sentence.startswith("REGRESSION: candidate is worse than base: chrf ")
    assert "worse, significantly (p = 0.00" in result.sentence
    assert "\n" not in result.sentence


def test_what_is_no_regression() -> None:
    better = verdict(GOOD, quick(Rule("chrf"), Rule("wer")), baseline=BAD)
    assert better.passed
    assert better.sentence.count("not worse") == 2
    same = verdict(list(GOOD), quick(Rule("chrf")))
    assert same.passed
    assert same.checks[0].p == 1
    chance = verdict(CLOSE, quick(Rule("chrf"), Rule("wer")))
    assert chance.passed


def test_one_changed_segment_of_many_is_no_regression() -> None:
    one = ["nothing at all right here", *GOOD[1:]]
    result = verdict(one, quick(Rule("chrf")))
    assert result.checks[0].drop > 0
    assert result.passed
    assert "worse, not significantly" in result.sentence


def test_how_much_is_allowed() -> None:
    drop = verdict(BAD, quick(Rule("wer"))).checks[0].drop
    assert verdict(BAD, quick(Rule("wer", max_drop=drop + 0.01))).passed
    assert not verdict(BAD, quick(Rule("wer", max_drop=drop - 0.01))).passed
    allowed = verdict(BAD, quick(Rule("wer", max_drop=9)))
    assert allowed.checks[0].reason == "worse by at most 9, which is allowed"


def test_a_worst_score_holds_whatever_the_baseline() -> None:
    result = verdict(BAD, quick(Rule("wer", worst_score=0.01), Rule("chrf", worst_score=1)), BAD)
    assert [check.is_too_bad for check in result.checks] == [True, False]
    assert not result.passed
    assert "worse than 0.01, which no candidate may be" in result.sentence


def test_all_rules_or_any() -> None:
    rules = (Rule("wer"), Rule("chrf", max_drop=90))
    assert not verdict(BAD, quick(*rules)).passed
    both = verdict(BAD, quick(*rules, fail="all"))
    assert both.passed
    assert len(both.regressions) == 1


def test_a_pass_tells_how_many_rules_are_broken() -> None:
    rules = (Rule("wer"), Rule("chrf", max_drop=90))
    both = verdict(BAD, quick(*rules, fail="all"))
    assert "no regression from base, with 1 of 2 rules broken: wer " in both.sentence
    assert "broken" not in verdict(GOOD, quick(Rule("wer"))).sentence


@pytest.mark.parametrize("fail", ["any", "all"])
def test_no_candidate_is_worse_than_a_worst_score(fail: str) -> None:
    rules = (Rule("wer", worst_score=0.01), Rule("chrf", max_drop=90))
    assert not verdict(BAD, quick(*rules, fail=fail), BAD).passed


@pytest.mark.parametrize(
    ("rules", "settings", "sentence"),
    [
        ((Rule("wer"),), {"swaps": 10}, "wer could never fail: with 10 swaps .* take 20 or more"),
        ((Rule("wer"), Rule("per")), {"swaps": 30}, "of 2 rules is 0.065, .* take 40 or more"),
        ((Rule("wer"), Rule("per", alpha=0.001)), {}, "per could never fail: .*take 2,000"),
        ((Rule("wer", alpha=1e-9),), {"swaps": None}, "take a larger alpha"),
    ],
    ids=["few", "holm", "own", "alpha"],
)
def test_a_gate_that_could_never_fail_is_refused(
    rules: tuple[Rule, ...], settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(AdequaError, match=sentence):
        quick(*rules, **settings)


def test_swaps_are_enough_for_the_rules() -> None:
    metrics = [f"m{place}" for place in range(30)]
    assert same_rules(metrics, 0, 0.05).settings().swaps == 10_000
    assert same_rules(metrics, 0, 0.001).settings().swaps == 60_000
    every = GateRules(tuple(map(Rule, metrics)), 0.001, fail="all", swaps=1000)
    assert every.settings().swaps == 1000  # without correction these are enough
    assert quick(Rule("wer"), swaps=19).swaps == 19  # the smallest p is 0.05


def test_few_changed_segments_get_a_note() -> None:
    """One-sided, n segments that all fall make a p-value of 2^-n."""
    for changed, noted in ((4, True), (5, False)):
        wrong = [*["x"] * changed, *GOOD[changed:]]
        result = verdict(wrong, quick(Rule("wer")))
        assert result.passed == noted
        assert any("too few" in note for note in result.notes) == noted
    four = verdict(["x"] * 4 + GOOD[4:], quick(Rule("wer")))
    assert four.notes == (
        "wer differs in 4 segments, too few for any drop to be significant at 0.05.",
    )
    assert verdict(list(GOOD), quick(Rule("wer"))).notes == (
        "candidate has the same outputs as base in every segment.",
    )


def test_holm_over_rules() -> None:
    one = verdict(BAD, quick(Rule("wer"))).checks[0]
    two = verdict(BAD, quick(Rule("wer"), Rule("chrf"))).checks[0]
    every = verdict(BAD, quick(Rule("wer"), Rule("chrf"), fail="all")).checks[0]
    assert two.p == one.p == one.p_adjusted == every.p_adjusted
    assert two.p_adjusted == pytest.approx(2 * one.p)


def test_never_flaky() -> None:
    rules = quick(Rule("chrf"), Rule("wer"))
    assert verdict(CLOSE, rules).to_dict() == verdict(CLOSE, rules).to_dict()


def test_false_alarms_of_two_metrics_together() -> None:
    """Outputs swapped at random: at most 5% of the gates fail, with two metrics as with one.

    With Holm's correction, of 80 trials 4 are expected to fail at most (the metrics agree much, so
    fewer do); more than 12 happen once in 5,000 sets of draws. These are seeded.
    """
    generator, failed = np.random.default_rng(4), 0
    rules = quick(Rule("per"), Rule("wer"), swaps=99)
    few, first, second = REFERENCES[:30], GOOD[:30], BAD[:30]
    for _ in range(80):
        swap = generator.random(len(few)) < 0.5
        base = [b if s else a for a, b, s in zip(first, second, swap, strict=True)]
        other = [a if s else b for a, b, s in zip(first, second, swap, strict=True)]
        systems = {"base": base, "other": other}
        result = compare(systems, few, ["per", "wer"], settings=rules.settings())
        failed += not apply_rules(result, rules).passed
    assert failed <= 12


def test_rules_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(
        'alpha = 0.01\nfail = "all"\nswaps = 200\n'
        '[[rule]]\nmetric = "chrf"\nmax_drop = 0.5\n'
        '[[rule]]\nmetric = "ter"\nalpha = 0.1\nworst_score = 60\n'
    )
    expected = (Rule("chrf", 0.5), Rule("ter", alpha=0.1, worst_score=60))
    assert read_rules(file) == GateRules(expected, alpha=0.01, fail="all", swaps=200)
    assert same_rules(["chrf"], 0.5, 0.01).rules == expected[:1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("alpha = 0.05\n", "one rule at least"),
        ('[[rule]]\nmetric = "a"\nmax_dorp = 1\n', 'Did you mean "max_drop"'),
        ('[[rule]]\nmetric = "a"\nmax_drop = "1"\n', "max_drop must be a number, not '1'"),
        ('[[rule]]\nmetric = "a"\nmax_drop = -1\n', "from 0 on"),
        ('[[rule]]\nmetric = "a"\nalpha = 2\n', "between 0 and 1"),
        ("[[rule]]\nmax_drop = 1\n", "does not say which metric"),
        ('[[rule]]\nmetric = "a"\n[[rule]]\nmetric = "a"\n', "two rules"),
        ('fail = "some"\n[[rule]]\nmetric = "a"\n', "any or all"),
        ('swaps = true\n[[rule]]\nmetric = "a"\n', "a whole number"),
        ("rule = 3\n", r"written as \[\[rule\]\]"),
        ("rule = [", "is no TOML file"),
    ],
    ids=[
        "none",
        "name",
        "text",
        "below",
        "level",
        "metric",
        "twice",
        "fail",
        "truth",
        "list",
        "toml",
    ],
)
def test_rules_that_are_wrong(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(content)
    with pytest.raises(AdequaError, match=f"gate.toml.*{sentence}"):
        read_rules(file)


def test_whole_systems_only_get_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "whole.tsv"
    file.write_text("system\tscore\nbase\t1\ncandidate\t2\n")
    with pytest.raises(AdequaError, match="a gate needs scores of segments"):
        verdict(GOOD, quick(Rule(str(file))))


def gate_result(name: str, *, drop: float, p: float) -> GateResult:
    check = Check(
        metric=name,
        higher_is_better=True,
        decimals=2,
        baseline=30.0,
        candidate=30.0 - drop,
        low=-drop - 1,
        high=-drop + 1,
        drop=drop,
        max_drop=0.5,
        p=p,
        p_adjusted=p,
        alpha=0.05,
        worst_score=None,
        signature=f"{name}|version:1",
    )
    return GateResult(name, f"{name}2", 10, (check,), "any", "seed:1")


CAR_REFERENCES = [f"The firm sold {number} cars in May." for number in range(100, 120)]


def test_a_regression_names_the_worst_new_errors() -> None:
    """Not those that the baseline has as well, and in the direction of the metric."""
    baseline = [text.replace("firm", "house") for text in CAR_REFERENCES]
    candidate = [text.replace(" 1", " 9") for text in baseline]
    candidate[3] = candidate[3].replace(" in May", "")
    result = gate(baseline, candidate, CAR_REFERENCES, "chrf")
    assert not result.passed
    assert len(result.errors) == 5
    omission = next(each for each in result.errors if each.kind == "omission")
    assert (omission.segment, omission.hypothesis, omission.reference) == (4, "", "in May")
    assert all(each.change < 0 for each in result.errors)
    assert [each.change for each in result.errors] == sorted(each.change for each in result.errors)
    assert not any(each.hypothesis == "house" for each in result.errors)
    number = next(str(each) for each in result.errors if each.kind == "number")
    assert '"9' in number
    assert 'where the reference has "1' in number
    assert all(each.change > 0 for each in gate(baseline, candidate, CAR_REFERENCES, "wer").errors)
    assert result.to_dict()["errors"][0]["metric"] == "chrf"
    assert str(result.errors[0]) in result.to_text()
    assert result.to_text().startswith("REGRESSION: ")


def test_a_difference_of_spaces_alone_is_said_in_words() -> None:
    texts = [text.replace(" in May", ", in May") for text in CAR_REFERENCES]
    baseline = [text.replace("firm", "house") for text in texts]
    candidate = [text.replace(",", " ,") for text in baseline]
    result = gate(baseline, candidate, texts, "chrf:whitespace=true")
    assert {each.hypothesis for each in result.errors} == {","}
    assert 'minor punctuation, space before "," (chrf -' in str(result.errors[0])
    assert "where the reference has" not in result.to_text()


def test_a_metric_of_the_whole_test_set_names_no_errors() -> None:
    """The scores of a few segments alone are not those that the gate has tested."""
    baseline = [text.replace("firm", "house") for text in CAR_REFERENCES]
    candidate = [text.replace(" 1", " 9") for text in baseline]
    result = gate(baseline, candidate, CAR_REFERENCES, "nist")
    assert (result.passed, result.errors) == (False, ())
    (note,) = [note for note in result.notes if note.startswith("No errors are named: ")]
    assert "nist scores a segment by the whole test set" in note
    both = gate(baseline, candidate, CAR_REFERENCES, ["nist", "chrf"])
    assert {each.metric for each in both.errors} == {"chrf"}


def test_what_names_no_errors() -> None:
    """No regression, scores alone, and a candidate that is too bad but not worse."""
    assert verdict(CLOSE, quick(Rule("chrf"))).errors == ()
    scores = ScoreFile("scores", {}, np.repeat([1.0, 0.0], 80))
    worse = gate(GOOD, BAD, REFERENCES, [scores])
    assert (worse.passed, worse.errors) == (False, ())
    same = verdict(list(GOOD), quick(Rule("wer", worst_score=0.01)))
    assert (same.passed, same.errors) == (False, ())


def test_an_error_is_one_line_whatever_its_words() -> None:
    baseline = [f"{text} Yes." for text in CAR_REFERENCES]
    nasty = ["]]></failure> | `x` \x1b[2J <b>", *["x"] * 19]
    result = gate(baseline, nasty, CAR_REFERENCES, "chrf")
    assert result.errors
    assert all("\n" not in str(each) and "\x1b" not in str(each) for each in result.errors)
    tree = ET.fromstring(result.to_junit())
    assert (tree.findtext(".//failure") or "").splitlines() == list(map(str, result.errors))
    assert "<b>" not in result.to_markdown()
    long = gate(baseline, [text * 20 for text in CAR_REFERENCES], CAR_REFERENCES, "chrf")
    assert long.errors
    assert all(len(str(each)) < 250 for each in long.errors)


def test_numbers_are_told_as_they_are() -> None:
    assert "(p <0.0001 ≤ 0.05)" in gate_result("bleu", drop=1.0, p=0.00001).sentence
    assert "(p = 0.05004 > 0.05)" in gate_result("bleu", drop=1.0, p=0.05004).sentence
    assert "30.00 → 30.00 (0.00)" in gate_result("bleu", drop=0.001, p=1.0).sentence


def test_all_forms_say_the_same() -> None:
    for drop, p, passes in ((1.0, 0.01, False), (1.0, 0.2, True), (0.4, 0.01, True)):
        result = gate_result("bleu", drop=drop, p=p)
        content = json.loads("".join(result.lines(Format.json)))
        assert content["passed"] == passes
        assert content["checks"][0]["regression"] == (not passes)
        tree = ET.fromstring(result.to_junit())
        assert len(tree.findall(".//testcase")) == 1
        assert (tree.find(".//failure") is None) == passes
        assert tree.get("failures") == str(int(not passes))
        table = result.to_markdown()
        assert table.startswith("### Pass: " if passes else "### Regression: ")
        assert f"{30.0 - drop:.2f}" in table


def test_the_function_takes_lists_of_strings(tmp_path: Path) -> None:
    assert not gate(GOOD, BAD, REFERENCES, [WER(lowercase=True)]).passed
    assert gate(GOOD, BAD, REFERENCES, "wer", max_drop=0.9).passed
    rules = tmp_path / "gate.toml"
    rules.write_text('swaps = 500\n[[rule]]\nmetric = "wer"\n')
    assert not gate(GOOD, BAD, REFERENCES, rules=rules).passed
    with pytest.raises(AdequaError, match="stand in the rules"):
        gate(GOOD, BAD, REFERENCES, "wer", rules=rules)
    with pytest.raises(AdequaError, match="candidate: .* differ in length: 79 and 80"):
        gate(GOOD, BAD[1:], REFERENCES, "wer")


def test_every_format_of_a_verdict() -> None:
    result = gate(GOOD, BAD, REFERENCES, "wer")
    assert repr(result).startswith("REGRESSION: candidate is worse than baseline: wer")
    assert "regression: worse, significantly" in result.to_text()
    assert result.long_table().to_tsv().splitlines()[0].startswith("metric\tregression\treason")
    assert "<table" in result._repr_html_()


@settings(max_examples=40)
@given(st.text(min_size=1))
def test_any_name_makes_whole_files(name: str) -> None:
    result = gate_result(name, drop=1.0, p=0.01)
    ET.fromstring(result.to_junit())
    assert json.loads("".join(result.lines(Format.json)))["baseline"] == name
    lines = result.to_markdown().strip().split("\n")
    assert len(lines) == 7
