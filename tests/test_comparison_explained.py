"""Explanations in a comparison: the sample, the metric, tables, JSON, and the data of the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adequa import AdequaError, ComparisonSettings, ScoreFile, compare
from adequa.agreement.sources import sources
from adequa.comparison.explained import explaining_metric, sample_rows
from adequa.explanation.explain import explain
from adequa.explanation.pieces import KINDS, SEVERITIES
from adequa.progress import Progress
from adequa.tables import Format
from damaged_systems import references, system
from test_cli import EXAMPLES, adequa
from test_report import details_of, summary_of

QUICK = ComparisonSettings(resamples=50, swaps=200)
REFERENCES = references(40)
SYSTEMS = {"good": system(REFERENCES, 0.1, seed=1), "bad": system(REFERENCES, 0.4, seed=2)}


def test_every_system_is_explained_in_the_same_segments() -> None:
    comparison = compare(SYSTEMS, REFERENCES, ["wer", "chrf"], settings=QUICK, explain=12)
    explanation = comparison.explanation
    assert explanation is not None
    assert explanation.metric == "wer"
    by_system = {
        name: [each.segment for each in explanation.segments if each.system == name]
        for name in SYSTEMS
    }
    assert by_system["good"] == by_system["bad"] == sorted(set(by_system["good"]))
    assert len(by_system["good"]) == 12
    for each in explanation.segments:
        row = each.segment - 1
        assert each.hypothesis == SYSTEMS[each.system][row]
        assert each.reference == REFERENCES[row]
        scores = comparison.metrics[0].segments
        assert scores is not None
        assert each.score == pytest.approx(scores[list(SYSTEMS).index(each.system)][row])
    assert explanation.losses.groups.sum(axis=1).argmax() == 1


def test_costs_are_those_of_explain() -> None:
    """Two segments, all of them explained: as `explain` itself says."""
    references = ["it cost 500 euros", "the old dog ran"]
    systems = {"a": ["it cost 300 euros", "the dog ran"], "b": references}
    explanation = compare(systems, references, "chrf", settings=QUICK, explain=2).explanation
    assert explanation is not None
    alone = explain(systems["a"], references, "chrf")
    assert [each.pieces for each in explanation.segments[:2]] == [
        each.pieces for each in alone.segments
    ]


def test_the_sample_has_a_seed_and_a_size() -> None:
    assert sample_rows(500, 2, 5, seed=1) == sample_rows(500, 2, 5, seed=1)
    assert sample_rows(500, 2, 5, seed=1) != sample_rows(500, 2, 5, seed=2)
    sizes = {count: len(sample_rows(500, count, None, seed=1)) for count in (2, 5, 20, 50)}
    assert sizes == {2: 100, 5: 40, 20: 10, 50: 10}
    assert sample_rows(7, 2, None, seed=1) == sample_rows(7, 2, 9, seed=1) == list(range(7))


def test_the_metric_that_ships_explains_before_others() -> None:
    scores = ScoreFile("scores", {}, np.arange(4.0))

    def name(*metrics: str | ScoreFile, count: int | None = 3) -> str | None:
        chosen = explaining_metric(sources(metrics), count)
        return None if chosen is None else chosen[0]

    assert name("chrf", "adequa") == "adequa"
    assert name(scores, "wer", "chrf") == "wer"
    assert name("nist", "chrf") == "chrf"
    assert name(scores, count=None) is None
    assert name("adequa", count=0) is None


@pytest.mark.parametrize(
    ("metrics", "count", "sentence"),
    [
        (ScoreFile("scores", {}, np.zeros(80)), 5, "Files of scores cannot explain"),
        ("wer", -1, "is 0 or more, not -1"),
        ("nist", 5, "nist scores a segment by the whole test set"),
    ],
    ids=["file", "below", "corpus"],
)
def test_what_cannot_be_explained(metrics: str | ScoreFile, count: int, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        compare(SYSTEMS, REFERENCES, [metrics], settings=QUICK, explain=count)


def test_files_of_scores_are_compared_without_explanation() -> None:
    scores = ScoreFile("scores", {}, np.arange(80.0))
    comparison = compare(SYSTEMS, REFERENCES, [scores], settings=QUICK, explain=None)
    assert comparison.explanation is None
    assert "explanation" not in summary_of(comparison.to_html())


def test_a_metric_of_the_whole_test_set_explains_no_sample() -> None:
    """Its scores of the sample alone would not be those of the comparison."""
    comparison = compare(SYSTEMS, REFERENCES, "nist", settings=QUICK, explain=None)
    assert comparison.explanation is None
    assert "No differences are explained: nist scores a segment by" in comparison.notes[-1]


def test_losses_are_tested_with_the_settings_of_the_comparison() -> None:
    for alpha in (0.01, 0.2):
        settings = ComparisonSettings(resamples=50, swaps=2000, alpha=alpha, seed=3)
        comparison = compare(SYSTEMS, REFERENCES, "wer", settings=settings, explain=40)
        explanation = comparison.explanation
        assert explanation is not None
        assert explanation.losses.settings == settings
        for each in explanation.losses.differences:
            assert each.is_significant == (each.p_adjusted <= alpha)
        summary = summary_of(comparison.to_html())
        assert (summary["settings"]["alpha"], summary["explanation"]["swaps"]) == (alpha, 2000)
    text = "".join(comparison.lines(Format.text))
    assert "p: approximate randomisation, 2,000 swaps, with Holm's correction" in text


def test_a_test_of_losses_that_finds_nothing_says_why() -> None:
    comparison = compare(SYSTEMS, REFERENCES, "wer", settings=QUICK, explain=7)
    explanation = comparison.explanation
    assert explanation is not None
    (note,) = explanation.losses.notes
    assert note.startswith("7 explained segments are too few for 7 tests of losses")
    assert note in "".join(comparison.lines(Format.text))
    assert note in comparison.to_dict()["explanation"]["notes"]
    assert summary_of(comparison.to_html())["explanation"]["too_few"] == [note]


def test_a_metric_that_fails_on_repairs_is_an_error_only_if_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AdequaError("There is no vector of this sentence.")

    monkeypatch.setattr("adequa.comparison.compare.explain_sample", fail)
    comparison = compare(SYSTEMS, REFERENCES, "wer", settings=QUICK, explain=None)
    assert comparison.notes[-1] == (
        "No differences are explained: There is no vector of this sentence."
    )
    with pytest.raises(AdequaError, match="no vector"):
        compare(SYSTEMS, REFERENCES, "wer", settings=QUICK, explain=3)


def test_progress_names_the_stage() -> None:
    from adequa.comparison.compare import compare_outputs, outputs_of

    stages: list[str] = []
    outputs = outputs_of(SYSTEMS, REFERENCES)
    compare_outputs(outputs, "wer", QUICK, explain=2, progress=Progress(stage=stages.append))
    assert stages == ["Scoring with wer", "Resampling", "Explaining"]


def test_tables_say_where_the_score_is_lost() -> None:
    without = compare(SYSTEMS, REFERENCES, "wer", settings=QUICK)
    explained = compare(SYSTEMS, REFERENCES, "wer", settings=QUICK, explain=30)
    for format_ in (Format.text, Format.markdown):
        text = "".join(explained.lines(format_))
        assert "Where the score is lost: wer in 30 of 40 segments" in text
        assert "% omissions" in text
        assert "Significant differences between these losses" in text
        plain = "".join(without.lines(format_))
        assert "lost" not in plain
        # Nothing else changes.
        lines = text.splitlines()
        assert [line for line in plain.splitlines() if line not in lines] == []
    content = json.loads("".join(explained.lines(Format.json, segments=False)))
    explanation = content.pop("explanation")
    assert content == json.loads("".join(without.lines(Format.json, segments=False)))
    assert set(explanation) == {"metric", "systems", "differences", "segments", "notes"}
    assert {each["system"] for each in explanation["systems"]} == set(SYSTEMS)
    assert len(explanation["segments"]) == 60
    assert explanation["segments"][0]["pieces"]


def test_the_page_has_pieces_in_columns() -> None:
    texts = [["500 euros", "500 dollars"], ["the old dog", "a 😀 old dog"]]
    systems = {"a": ["300 dollars", "a 😀 dog"], "b": ["500 euros", "the old dog"]}
    comparison = compare(systems, texts, "chrf", settings=QUICK, layout="segments", explain=2)
    page = comparison.to_html()
    explanation = comparison.explanation
    assert explanation is not None
    columns = details_of(page)["explained"]
    assert columns["rows"] == [0, 1]
    assert columns["references"][0] == [2, 2]
    first = explanation.segments[0].pieces[0]
    start, end, ref_start, ref_end, kind, severity, cost = columns["pieces"][0][0][0]
    assert (start, end) == first.hypothesis_span
    assert (ref_start, ref_end) == first.reference_span
    assert (KINDS[kind], SEVERITIES[severity]) == (first.kind, first.severity)
    assert cost == pytest.approx(first.cost, abs=0.001)
    summary = summary_of(page)["explanation"]
    assert summary["segments"] == 2
    assert "segments" not in summary_of(page)
    assert [sum(each) for each in summary["fractions"]] == pytest.approx([1, 0])
    assert summary["main_groups"] == [explanation.losses.main_groups(0), []]


def test_a_large_page_stays_small() -> None:
    """A sample of 200 outputs adds less than thirty kilobytes."""
    many = references(1000)
    systems = {f"system {seed}": system(many, 0.3, seed=seed) for seed in range(4)}
    plain = compare(systems, many, "wer", settings=QUICK).to_html()
    explained = compare(systems, many, "wer", settings=QUICK, explain=None).to_html()
    assert 0 < len(explained) - len(plain) < 30_000


COMPARED = (
    "-t",
    EXAMPLES / "literal.txt",
    EXAMPLES / "fluent.txt",
    "-r",
    EXAMPLES / "reference.txt",
)


def test_a_report_explains_unless_told_otherwise(tmp_path: Path) -> None:
    quick = ("-m", "chrf", "--resamples", "50", "--swaps", "200")
    for more, count in (((), 36), (("--explain", "0"), None), (("--explain", "5"), 5)):
        page = tmp_path / "page.html"
        result = adequa("compare", *COMPARED, *quick, "--report", page, *more)
        assert result.returncode == 0, result.stderr
        explained = details_of(page.read_text(encoding="utf-8")).get("explained")
        assert (explained and len(explained["rows"])) == count
        assert ("Where the score is lost" in result.stdout) == (count is not None)
    plain = adequa("compare", *COMPARED, *quick)
    assert "lost" not in plain.stdout
    asked = adequa("compare", *COMPARED, *quick, "--explain", "9")
    assert "Where the score is lost: chrf in 9 of 36 segments" in asked.stdout


@pytest.mark.parametrize(
    ("more", "sentence"),
    [(("--explain", "-1"), "--explain"), (("--explain", "few"), "--explain")],
)
def test_mistakes_get_a_sentence(more: tuple[str, ...], sentence: str) -> None:
    result = adequa("compare", *COMPARED, "-m", "wer", *more)
    assert result.returncode == 2
    assert sentence in result.stderr


def test_scores_alone_get_a_sentence(tmp_path: Path) -> None:
    scores = tmp_path / "scores.txt"
    scores.write_text("1\n" * 72)
    result = adequa("compare", *COMPARED, "-m", scores, "--explain", "3")
    assert result.returncode == 2
    assert "compare with a metric as well, such as chrf" in result.stderr
