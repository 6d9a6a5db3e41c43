"""N-grams and words that systems match, against counts by hand and a plain implementation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa import AdequaError, ComparisonSettings, ScoreFile, compare
from adequa.comparison.buckets import quality_bands
from adequa.comparison.compare import outputs_of
from adequa.comparison.words import FREQUENCIES, WordStatistics, word_statistics

QUICK = ComparisonSettings(resamples=20, swaps=20)
REFERENCES = ["the cat sat on the mat", "the dog sat"]
OLD = ["the the the cat", "a dog sat"]
NEW = ["the cat sat on a mat", "the dog sat"]


def statistics(references: Sequence[str] = REFERENCES) -> WordStatistics:
    return word_statistics(outputs_of({"old": OLD, "new": NEW}, references))


def plain_matches(references: Sequence[str], outputs: Sequence[str]) -> Counter[str]:
    """Clipped matches of n-grams, one sentence after the other."""

    def ngrams(text: str) -> Counter[str]:
        words = text.split()
        return Counter(
            " ".join(words[start : start + length])
            for length in range(1, 5)
            for start in range(len(words) - length + 1)
        )

    matches: Counter[str] = Counter()
    for reference, output in zip(references, outputs, strict=True):
        matches += ngrams(reference) & ngrams(output)
    return matches


def test_matches_by_hand() -> None:
    """`the` matches twice in the first segment of old, whose reference has it twice."""
    ngrams = statistics().ngrams
    counts = {
        ngrams.text(index): (
            int(ngrams.reference[index]),
            int(ngrams.matches[0, index]),
            int(ngrams.matches[1, index]),
        )
        for index in range(len(ngrams.starts))
    }
    assert counts["the"] == (3, 2, 2)
    assert counts["sat"] == (2, 1, 2)
    assert counts["the cat"] == (1, 1, 1)
    assert counts["the cat sat on"] == (1, 0, 1)
    assert counts["dog sat"] == (1, 1, 1)
    assert "mat the" not in counts  # not across segments


def test_ratios_are_smoothed_as_in_compare_mt() -> None:
    """(matches + 1) / (matches of both + 2), the largest first."""
    for_new, for_old = statistics().ngrams.differences(0, 1)
    assert for_old == []
    best = for_new[0]
    assert (best.ngram, best.reference, best.first, best.second) == ("the cat sat on", 1, 0, 1)
    assert best.ratio == pytest.approx(2 / 3)
    assert {each.ngram: each.ratio for each in for_new}["sat"] == pytest.approx(3 / 5)
    assert len(statistics().ngrams.differences(0, 1, 2)[0]) == 2


def test_word_accuracy_by_hand() -> None:
    """Frequencies in the references: the 3, sat 2, all others 1."""
    by_label = {each.label: each for each in statistics().classes}
    assert list(by_label) == ["never", "1", "2", "3"]
    once = by_label["1"]  # cat on mat dog
    assert (once.reference, once.outputs.tolist(), once.matches.tolist()) == (4, [2, 4], [2, 4])
    thrice = by_label["3"]
    assert thrice.outputs.tolist() == [3, 2]
    assert thrice.matches.tolist() == [2, 2]
    assert thrice.precision == pytest.approx([2 / 3, 1])
    assert thrice.recall == pytest.approx([2 / 3, 2 / 3])
    assert thrice.f1 == pytest.approx([2 / 3, 0.8])
    never = by_label["never"]  # "a", which no reference has
    assert (never.reference, never.outputs.tolist()) == (0, [1, 1])
    assert np.isnan(never.recall).all()


def test_frequencies_of_a_given_text() -> None:
    outputs = outputs_of({"old": OLD, "new": NEW}, REFERENCES)
    frequencies = {"the": 2000, "cat": 7, "a": 100}
    classes = {each.label: each for each in word_statistics(outputs, frequencies).classes}
    assert list(classes) == ["never", "5–9", "100–999", "1,000 or more"]
    assert classes["5–9"].matches.tolist() == [1, 1]
    assert classes["never"].reference == 5  # sat on mat dog sat
    known = compare(
        {"old": OLD, "new": NEW}, REFERENCES, "wer", settings=QUICK, known_words=["The the the"]
    )
    assert known.frequencies == {"The": 1, "the": 2}


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            *(
                st.lists(st.sampled_from("abcd"), min_size=least, max_size=7).map(" ".join)
                for least in (1, 0, 0)
            )
        ),
        min_size=2,
        max_size=5,
    )
)
def test_counts_equal_a_plain_implementation(rows: list[tuple[str, str, str]]) -> None:
    references, one, other = (list(column) for column in zip(*rows, strict=True))
    found = word_statistics(outputs_of({"one": one, "other": other}, references))
    ngrams = found.ngrams
    for system, texts in enumerate((one, other)):
        counts = {
            ngrams.text(index): count
            for index, count in enumerate(ngrams.matches[system].tolist())
            if count
        }
        assert counts == dict(plain_matches(references, texts))
    words = Counter(" ".join(references).split())
    assert sum(each.reference for each in found.classes) == words.total()
    for system, texts in enumerate((one, other)):
        total = sum(int(each.outputs[system]) for each in found.classes)
        assert total == len(" ".join(texts).split())


def test_scripts_without_spaces_and_empty_outputs() -> None:
    outputs = outputs_of({"a": ["我爱猫", ""], "b": ["", ""]}, ["我爱狗", "狗"])
    ngrams = word_statistics(outputs).ngrams
    assert ngrams.matches.sum(axis=1).tolist() == [3, 0]  # 我, 爱, 我 爱
    for_b, for_a = ngrams.differences(0, 1)
    assert for_b == []
    assert [each.ngram for each in for_a] == ["我 爱", "我", "爱"]


def test_bands_end_at_quartiles_of_all_systems() -> None:
    scores = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    files = [ScoreFile("up", {}, scores.ravel()), ScoreFile("wer", {}, scores.ravel())]
    texts = ["w", "x", "y", "z"]
    comparison = compare({"a": texts, "b": texts[::-1]}, texts, files, settings=QUICK)
    bands = comparison.quality_bands()["up"]
    assert bands.edges.tolist() == [2, 4, 6]
    assert bands.fractions.tolist() == [[0.25, 0.5, 0.25, 0], [0, 0, 0.25, 0.75]]
    flat = ScoreFile("flat", {}, np.full(8, 3.0))
    (same,) = compare({"a": texts, "b": texts}, texts, [flat], settings=QUICK).metrics
    found = quality_bands(same)
    assert found is not None
    assert found.fractions.tolist() == [[1], [1]]


def test_bands_of_metrics_whose_lower_scores_are_better() -> None:
    texts = ["a b c d", "a b c d", "a b c d", "a b c d"]
    worse = ["a b c d", "a b c x", "a b x x", "a x x x"]
    comparison = compare({"good": texts, "bad": worse}, texts, ["wer"], settings=QUICK)
    bands = comparison.quality_bands()["wer"]
    assert (np.diff(bands.edges) < 0).all()
    assert bands.fractions[0].tolist()[-1] == 1
    assert bands.fractions.sum(axis=1) == pytest.approx([1, 1])


def test_results_in_python_and_json() -> None:
    comparison = compare({"old": OLD, "new": NEW}, REFERENCES, ["chrf"], settings=QUICK)
    for_new, _ = comparison.ngram_differences("old", "new", 3)
    assert for_new[0].ngram == "the cat sat on"
    content = comparison.to_dict(segments=False)
    (pair,) = content["ngrams"]
    assert (pair["first"], pair["second"]) == ("old", "new")
    assert pair["second_matches_more"][0]["ratio"] == pytest.approx(2 / 3)
    assert content["words"][1]["systems"][0]["recall"] == pytest.approx(0.5)
    assert content["words"][0]["systems"][0]["recall"] is None
    assert [sum(each["fractions"]) for each in content["bands"][0]["systems"]] == [1, 1]
    with pytest.raises(AdequaError, match='There is no system "neu"'):
        comparison.ngram_differences("old", "neu")
    assert FREQUENCIES == (1, 2, 3, 4, 5, 10, 100, 1000)
