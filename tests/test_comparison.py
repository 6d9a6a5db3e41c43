"""Comparing systems: numbers by hand, laws, and sentences for what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import adequa
import test_statistics_paired as paired
from adequa import AdequaError, Comparison, ComparisonSettings, Metric, compare
from adequa.agreement.sources import sources
from adequa.comparison.compare import (
    Outputs,
    metric_statistics,
    outputs_of,
    segments_from_batches,
)
from adequa.comparison.significance import AGREEMENT_FILE, effect_size, read_agreement
from adequa.metrics.edit_rates import WER
from adequa.progress import NO_PROGRESS
from adequa.segments import Segments
from damaged_systems import references, system
from tiny_packed import tiny_packed

REFERENCES = references(60)
SYSTEMS = {
    "base": system(REFERENCES, 0.25, seed=1),
    "new": system(REFERENCES, 0.10, seed=2),
    "same": system(REFERENCES, 0.25, seed=1),
}
QUICK = ComparisonSettings(resamples=200, swaps=500)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(SYSTEMS, REFERENCES, ["chrf", "wer"], settings=QUICK)


def test_scores_are_those_of_the_metrics(comparison: Comparison) -> None:
    for metric in comparison.metrics:
        for place, texts in enumerate(SYSTEMS.values()):
            alone = adequa.score(texts, REFERENCES, metric=metric.name)
            assert metric.scores[place] == pytest.approx(alone.system)
            assert metric.segments is not None
            np.testing.assert_allclose(metric.segments[place], alone.segments)
        assert (metric.low <= metric.scores).all()
        assert (metric.scores <= metric.high).all()


def test_the_better_system_leads_under_either_direction(comparison: Comparison) -> None:
    for metric in comparison.metrics:
        pair = metric.pair(0, 1)
        assert pair.gain > 0
        assert pair.significant
        assert pair.better == 1
        assert (pair.difference > 0) == metric.higher_is_better
        assert pair.low <= pair.difference <= pair.high
        assert metric.ranks.tolist() == [2, 1, 2]
        assert pair.wins + pair.ties + pair.losses == len(REFERENCES)


def test_wins_and_effect_by_hand() -> None:
    systems = {"old": ["a b", "a b", "a x", "a b"], "new": ["a b", "a b", "a b", "x y"]}
    pair = compare(systems, ["a b"] * 4, ["wer"], settings=QUICK).metrics[0].pairs[0]
    assert (pair.wins, pair.ties, pair.losses) == (1, 2, 1)
    gains = np.array([0.0, 0.0, 0.5, -1.0])
    assert pair.effect == pytest.approx(gains.mean() / gains.std(ddof=1))
    assert pair.difference == pytest.approx(0.125)
    assert effect_size(np.full(3, 2.0)) == np.inf


def test_identical_systems_are_not_told_apart(comparison: Comparison) -> None:
    for metric in comparison.metrics:
        pair = metric.pair(0, 2)
        assert (pair.difference, pair.gain, pair.low, pair.high) == (0, 0, 0, 0)
        assert (pair.p, pair.p_adjusted, pair.p_bootstrap, pair.effect) == (1, 1, 1, 0)
        assert pair.better is None
        assert not pair.significant
    assert "same has the same outputs as base in every segment." in comparison.notes


def test_the_same_seed_gives_the_same_result(comparison: Comparison) -> None:
    again = compare(SYSTEMS, REFERENCES, ["chrf", "wer"], settings=QUICK)
    assert again.to_dict() == comparison.to_dict()
    alone = compare(SYSTEMS, REFERENCES, ["wer"], settings=QUICK)
    assert alone.metrics[0].pairs == comparison.metrics[1].pairs


def test_p_values_can_be_those_of_sacrebleu() -> None:
    settings = ComparisonSettings(resamples=200, swaps=200, like_sacrebleu=True)
    comparison = compare(paired.SYSTEMS, paired.REFERENCES, [*paired.METRICS], settings=settings)
    by_bootstrap = paired.sacrebleu_p_values("bs", 200)
    by_swaps = paired.sacrebleu_p_values("ar", 200)
    for metric in comparison.metrics:
        against_first = [metric.pair(0, place) for place in range(1, 4)]
        assert [pair.p_bootstrap for pair in against_first] == by_bootstrap[metric.name]
        assert [pair.p for pair in against_first] == by_swaps[metric.name]


def test_equal_systems_are_no_find_with_the_p_values_of_sacrebleu() -> None:
    settings = replace(QUICK, like_sacrebleu=True)
    comparison = compare(SYSTEMS, REFERENCES, ["chrf"], settings=settings).metrics[0]
    assert comparison.pair(0, 2).p_adjusted < 0.05
    assert not comparison.pair(0, 2).significant
    assert comparison.pair(0, 1).significant


def test_few_differing_segments_get_a_note() -> None:
    """Two-sided, n segments that differ make a p-value of 2^(1 - n) at least."""
    base = [f"{text} x" for text in REFERENCES]
    for changed, expected in ((5, True), (6, False)):
        systems = {"base": base, "new": ["x"] * changed + base[changed:]}
        comparison = compare(systems, REFERENCES, "wer", settings=QUICK)
        assert comparison.metrics[0].pairs[0].differing == changed
        assert comparison.metrics[0].pairs[0].significant != expected
        sentence = f"wer differs between base and new in {changed} segments, too few for any result"
        assert any(note.startswith(sentence) for note in comparison.notes) == expected


def test_what_ranks_say() -> None:
    assert "of one rank do not" in ComparisonSettings().meaning_of_ranks
    separated = compare(SYSTEMS, REFERENCES, ["wer"], settings=replace(QUICK, clusters="separated"))
    assert "of one rank" not in separated.to_text()
    assert "better than all systems of lower ranks" in separated.to_text()
    assert "better than all systems of lower ranks" in separated.to_html()


def test_parts_are_computed_when_they_are_asked_for() -> None:
    comparison = compare(SYSTEMS, REFERENCES, ["wer"], settings=QUICK)
    assert "dimensions" not in vars(comparison)
    assert comparison.dimensions is comparison.dimensions


def test_holm_looks_at_all_pairs() -> None:
    two = {name: SYSTEMS[name] for name in ("base", "new")}
    alone = compare(two, REFERENCES, ["wer"], settings=QUICK).metrics[0].pairs[0]
    assert alone.p_adjusted == alone.p
    three = compare(SYSTEMS, REFERENCES, ["wer"], settings=QUICK).metrics[0]
    assert three.pair(0, 1).p_adjusted == pytest.approx(3 * three.pair(0, 1).p)


def test_buckets_are_scores_of_their_segments(comparison: Comparison) -> None:
    names = [dimension.name for dimension in comparison.dimensions]
    assert names[:2] == ["length", "overlap"]
    wer = WER()
    for dimension in comparison.dimensions:
        rows = np.concatenate([bucket.rows for bucket in dimension.buckets])
        assert sorted(rows.tolist()) == list(range(len(REFERENCES)))
        for bucket in dimension.buckets:
            texts = tuple(SYSTEMS["new"][row] for row in bucket.rows)
            given = tuple((REFERENCES[row],) for row in bucket.rows)
            part = bucket.metrics[1]
            assert part is not None
            assert part.scores[1] == pytest.approx(wer.score(Segments(texts, given)).system)
            assert np.isnan(part.low).all() == (len(bucket.rows) < 10)


def test_metrics_may_be_named_as_columns_are() -> None:
    names = ("system", "segment", "hypothesis", "system_score")
    metrics = [adequa.ScoreFile(name, {}, np.arange(4.0) + at) for at, name in enumerate(names)]
    outputs = {"a": ["x", "y"], "b": ["y", "x"]}
    comparison = compare(outputs, ["x", "y"], metrics, settings=QUICK)
    assert comparison.to_pandas()["segments"].to_dict("records")[3] == {
        "system": "b",
        "segment": 2,
        "hypothesis": "x",
        "system_score_score": 3.0,
        "segment_score": 4.0,
        "hypothesis_score": 5.0,
        "system_score": 6.0,
    }


def test_examples_are_the_largest_differences(comparison: Comparison) -> None:
    wer = comparison.metrics[1]
    assert wer.segments is not None
    gains = wer.segments[0] - wer.segments[1]
    rows = wer.largest_gains(0, 1, 3)
    assert gains[rows].tolist() == sorted(gains.tolist(), reverse=True)[:3]
    assert wer.largest_gains(0, 2, 3) == []
    for each in comparison.disagreements(0, 1, 5):
        assert {each.for_first, each.for_second} == {"chrf", "wer"}
        assert each.size > 0


def test_files_of_scores(tmp_path: Path) -> None:
    systems = {name: SYSTEMS[name][:3] for name in ("base", "new")}
    by_row, by_ids, whole = (tmp_path / name for name in ("row.txt", "ids.tsv", "sys.tsv"))
    by_row.write_text("1\n2\n3\n4\n5\n6\n")
    rows = [f"{name}\t{n + 1}\t{n + 3 * s + 1}" for s, name in enumerate(systems) for n in range(3)]
    by_ids.write_text("system\tsegment\tscore\n" + "\n".join(reversed(rows)) + "\n")
    whole.write_text("system\tscore\nnew\t3\nbase\t1\n")
    comparison = compare(
        systems, REFERENCES[:3], [str(by_row), str(by_ids), str(whole)], settings=QUICK
    )
    first, second, third = comparison.metrics
    assert first.scores.tolist() == second.scores.tolist() == [2, 5]
    assert first.pairs[0].wins == 3
    assert third.scores.tolist() == [1, 3]
    assert third.segments is None
    assert np.isnan(third.pairs[0].p)
    assert not third.pairs[0].significant
    assert third.ranks.tolist() == [1, 1]
    assert any("whole systems only" in note for note in comparison.notes)
    assert comparison.to_dict()["metrics"][2]["pairs"][0]["p"] is None
    assert "sys" in comparison.to_html()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("1\n2\n", "has 2 scores, but 2 systems of 3 segments need 6"),
        ("system\tsegment\tscore\nbase\t1\t1\n", 'has no system "new"'),
        ("system\tsegment\tscore\nbase\t1\t1\nnew\t1\t1\n", "no score for segment 2 of base"),
        ("segment\tscore\n1\t1\n", "has no column system"),
        ("better\tworse\n1\t2\n", "two columns of scores"),
        ("lp\tsystem\tsegment\tscore\na-b\tbase\t1\t1\nc-d\tnew\t1\t1\n", "more than one lp"),
    ],
    ids=["rows", "system", "segment", "column", "two", "pairs"],
)
def test_score_files_that_do_not_fit(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "scores.tsv"
    file.write_text(content)
    outputs = outputs_of({name: SYSTEMS[name][:3] for name in ("base", "new")}, REFERENCES[:3])
    (source,) = sources([str(file)])
    with pytest.raises(AdequaError, match=sentence):
        metric_statistics(source, outputs, NO_PROGRESS)


def test_what_cannot_be_compared_gets_a_sentence() -> None:
    with pytest.raises(AdequaError, match="two segments or more, and there is 1"):
        compare({"a": ["x"], "b": ["y"]}, ["z"])
    with pytest.raises(AdequaError, match="two systems or more, and there is 1: a"):
        compare({"a": ["x", "y"]}, ["x", "y"])
    with pytest.raises(AdequaError, match="b: hypotheses and references differ in length: 1 and 2"):
        compare({"a": ["x", "y"], "b": ["x"]}, ["x", "y"])
    with pytest.raises(AdequaError, match="2 segments but 1 name of documents"):
        compare({"a": ["x", "y"], "b": ["x", "y"]}, ["x", "y"], documents=["d"])
    with pytest.raises(AdequaError, match="name is a text, not 1;"):
        compare({1: ["x", "y"], 2: ["x", "y"]}, ["x", "y"])  # type: ignore[dict-item]
    with pytest.raises(AdequaError, match="at least one metric"):
        compare(SYSTEMS, REFERENCES, [])
    for wrong in (
        *({"swaps": 0}, {"swaps": 5.5}, {"resamples": True}, {"seed": 1.5}),
        *({"alpha": 1.0}, {"clusters": "x"}, {"seed": -1}),
    ):
        with pytest.raises(AdequaError):
            ComparisonSettings(**wrong)


def test_tables_must_have_the_same_segments() -> None:
    ids = {"system": ("a", "b", "a", "b")}
    good = Segments(("1", "2", "3", "4"), (("x",), ("x",), ("y",), ("y",)), ids=ids)
    assert Outputs.of(segments_from_batches([good])).hypotheses == (("1", "3"), ("2", "4"))
    for wrong, sentence in (
        (replace(good, references=(("x",), ("x",), ("y",), ("z",))), "segment 2 of b has another"),
        (replace(good, ids={"system": ("a", "b", "a", "a")}), "a has 3 and b has 1"),
    ):
        with pytest.raises(AdequaError, match=sentence):
            Outputs.of(segments_from_batches([wrong]))


def test_many_pairs_need_many_swaps() -> None:
    many = {f"s{place}": SYSTEMS["base"] for place in range(5)}
    few = compare(many, REFERENCES, ["wer"], settings=replace(QUICK, swaps=100))
    assert few.notes[-1].startswith("100 swaps are too few for 10 pairs of systems")
    assert few.settings.swaps == 100
    assert ComparisonSettings(alpha=0.001).for_systems(5).swaps == 20_000


def test_few_segments_have_a_defined_result() -> None:
    comparison = compare({"a": ["x", "y"], "b": ["x", "z"]}, ["x", "y"], ["bleu", "chrf"])
    for metric in comparison.metrics:
        assert np.isfinite(metric.scores).all()
        assert metric.pairs[0].p > 0.05


def test_several_references_and_empty_outputs() -> None:
    systems = {"a": ["", "a dog"], "b": ["a cat", "dogs"]}
    references = [["a cat", "one cat"], ["a dog", "the dog"]]
    comparison = compare(systems, references, ["chrf", "ter"], layout="segments")
    assert comparison.notes[0] == "empty hypotheses of a: 1 of 2, scored as they are."
    assert "nrefs:2" in comparison.metrics[0].signature


def people_file(folder: Path, metric: Metric) -> Path:
    """What `adequa differences --level system --format json` would have measured."""
    one = {"pairs": 40, "agreed": 30, "share": 0.75, "share_low": 0.6, "share_high": 0.86}
    none = {"pairs": 0, "agreed": 0, "share": None, "share_low": None, "share_high": None}
    bins = [{"from": 0.0, "to": 0.05, **none}, {"from": 0.05, "to": None, **one}]
    measured = {"name": metric.name, "signature": str(metric.signature(1)), "bins": bins}
    content = {"datasets": ["wmt18-systems"], "level": "system", "metrics": [measured]}
    (folder / AGREEMENT_FILE).write_text(json.dumps(content))
    return folder / AGREEMENT_FILE


def test_what_differences_have_meant_for_people(tmp_path: Path) -> None:
    file = people_file(tmp_path, WER())
    meaning = compare(SYSTEMS, REFERENCES, ["wer"], settings=QUICK, people=file).metrics[0]
    expected = meaning.pair(0, 1).people
    assert expected is not None
    assert (expected.share, expected.pairs, expected.data) == (0.75, 40, "wmt18-systems")
    assert meaning.pair(0, 2).people is None  # no difference at all
    (read,) = read_agreement(file)
    assert read.bin_of(-0.05) == expected
    assert read.bin_of(0.04) is None
    with pytest.raises(AdequaError, match="tells of none of these metrics"):
        compare(SYSTEMS, REFERENCES, ["wer:lowercase=true"], people=file)
    file.write_text('{"level": "system"}')
    with pytest.raises(AdequaError, match="does not hold what `adequa differences"):
        read_agreement(file)


def test_a_packed_metric_brings_what_people_say(tmp_path: Path) -> None:
    folder = tiny_packed(tmp_path / "tiny")
    people_file(folder, adequa.load_metric(str(folder)))
    comparison = compare(
        {name: texts[:20] for name, texts in SYSTEMS.items()},
        REFERENCES[:20],
        [str(folder)],
        settings=QUICK,
    )
    (metric,) = comparison.metrics
    assert metric.segments is not None
    gain = abs(metric.pair(0, 1).gain)
    assert (metric.pair(0, 1).people is not None) == (gain >= 0.05)


def test_frames_have_every_row(comparison: Comparison) -> None:
    pytest.importorskip("pandas")
    frames = comparison.to_pandas()
    assert {name: len(frame) for name, frame in frames.items() if name != "buckets"} == {
        "scores": 6,
        "pairs": 6,
        "bands": 24,
        "words": 18,
        "ngrams": 40,
        "segments": 180,
    }
    assert set(frames["words"]) >= {"frequency", "system", "precision", "recall", "f1"}
    assert set(frames["ngrams"]) >= {"first_system", "second_system", "ngram", "ratio"}
    assert frames["segments"]["wer"].mean() > 0


def test_outputs_are_frozen(comparison: Comparison) -> None:
    with pytest.raises(AttributeError):
        comparison.notes = ()  # type: ignore[misc]
    assert isinstance(comparison.outputs, Outputs)
    assert (
        json.loads(json.dumps(comparison.to_dict(), allow_nan=False))["segments"][0]["segment"] == 1
    )
