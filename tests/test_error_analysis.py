"""Error analysis: tops, verdicts and surfaces by hand, laws, and the numbers of the paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.agreement.analysis_results import VERDICTS, Analysis, AnalysisVerdict, marked_parts
from adequa.agreement.error_analysis import (
    AnalysisSettings,
    analyse,
    in_top,
    percentiles,
    surfaces,
    top_count,
    top_of,
)
from adequa.agreement.selection import Selection
from adequa.encoders import registry
from adequa.encoders.base import Coverage, Encoder, PairEncoder, Vectors
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Preferences, Ratings
from adequa.metrics.edit_rates import word_overlap
from adequa.metrics.sacrebleu_metrics import CHRF, TER
from adequa.segments import Segments
from adequa.statistics.significance import sign_test
from judgements import judgement_rows, needs_judgements

SCORES = arrays(np.float64, st.integers(1, 40), elements=st.integers(0, 8).map(float))


class Vocabulary(Encoder):
    """An encoder that knows some words; what it makes of them does not matter here."""

    dimension = 1
    fingerprint = "0"

    def __init__(self, *known: str) -> None:
        self.name = self.specification = f"knows-{len(known)}"
        self.known = set(known)

    @classmethod
    def load(cls, path: str) -> Vocabulary:
        return cls(*path.split("+"))

    def encode(self, sentences: Sequence[str]) -> Vectors:
        return np.zeros((len(sentences), 1), dtype=np.float32)

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        words = [sentence.lower().split() for sentence in sentences]
        unknown = (tuple(word for word in each if word not in self.known) for each in words)
        return Coverage(tuple(map(len, words)), tuple(unknown))


class NoVocabulary(Vocabulary):
    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        return None


class Pairs(PairEncoder):
    name = specification = "pairs"

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        return np.zeros((len(firsts), 1), dtype=np.float32)


def rated(
    human: Sequence[float], texts: Sequence[str] | None = None, reference: str = "a b c d"
) -> Ratings:
    shown = tuple(texts or [f"a b {n}" for n in range(len(human))])
    return Ratings(np.array(human), {}, Segments(shown, ((reference,),) * len(shown)))


def scored(name: str, scores: Sequence[float]) -> ScoreFile:
    return ScoreFile(name, {}, np.array(scores, dtype=float))


# Ten outputs; people put 0 to 3 on top. A finds 0 and 1, B finds 0 and 2, nobody finds 3.
HUMAN = [90, 80, 70, 60, 50, 40, 30, 20, 10, 0]
A = [9, 8, 0, 1, 7, 6, 5, 4, 3, 2]
B = [9, 0, 8, 1, 7, 6, 5, 4, 3, 2]
TEXTS = ["a b c d", "a b x Brno", "x y", "a b c d " * 5, *"efghij"]


def ten(**more: float) -> Analysis:
    settings = AnalysisSettings(top=0.4, **more)  # type: ignore[arg-type]
    return analyse(rated(HUMAN, TEXTS), [scored("one", A), scored("two", B)], settings)


def counts(found: Analysis) -> list[int]:
    return [found.total.profiles[verdict].outputs for verdict in VERDICTS]


def test_verdicts_by_hand() -> None:
    found = ten()
    assert counts(found) == [1, 1, 1, 1]
    assert [row.verdict.value for row in found.rows] == ["both", "only-a", "only-b", "neither"]
    assert [row.row for row in found.rows] == [1, 2, 3, 4]
    assert (found.total.hits(0), found.total.hits(1), found.total.high) == (2, 2, (4, 4))
    assert found.rows[1].percentiles == (85.0, 5.0)
    assert found.rows[1].scores == (8.0, 0.0)
    assert found.p_value == 1.0


def test_surfaces_by_hand() -> None:
    found = ten(short=4)
    # F1: 4 of 4 and 4; 2 of 4 and 4; none; 4 of 20 and 4.
    assert [row.overlap for row in found.rows] == [1.0, 0.5, 0.0, 2 * 4 / 24]
    assert [row.length for row in found.rows] == [4, 4, 2, 20]
    assert found.bound == pytest.approx((0.5 + 1 / 3) / 2)  # the median of the four
    only_b, neither = (
        found.total.profiles[v] for v in (AnalysisVerdict.only_b, AnalysisVerdict.neither)
    )
    assert (only_b.low_overlap, only_b.short, only_b.mean_length) == (1, 1, 2.0)
    assert (neither.low_overlap, neither.short) == (1, 0)
    assert ten(overlap=0.5).bound == 0.5
    assert (
        ten(overlap=0.5).total.profiles[AnalysisVerdict.only_a].low_overlap == 0
    )  # 0.5 is not below
    assert (only_b.unknown, only_b.unknown_and_short) == (None, None)


def test_nobody_alone_has_no_means() -> None:
    found = analyse(rated(HUMAN), [scored("one", HUMAN), scored("two", HUMAN)])
    assert counts(found) == [2, 0, 0, 0]
    assert np.isnan(found.total.profiles[AnalysisVerdict.only_a].mean_overlap)
    assert found.p_value == 1.0


def test_lower_scores_can_be_better() -> None:
    texts = ["a b c d", "a b c", "x", "y"]
    found = analyse(rated([4, 3, 2, 1], texts), ["wer", "chrf"], AnalysisSettings(top=0.5))
    assert counts(found) == [2, 0, 0, 0]
    assert found.rows[0].scores[0] == 0.0  # as wer gives it, not turned around
    assert found.rows[1].scores[0] > 0


def test_unknown_words_of_any_encoder() -> None:
    both = analyse(
        rated(HUMAN, TEXTS),
        [scored("one", A), scored("two", B)],
        AnalysisSettings(top=0.4, short=2),
        encoders=[Vocabulary(*"abcdxy"), Vocabulary(*"abcdx", "brno")],
    )
    assert [row.unknown for row in both.rows] == [(), ("brno",), ("y",), ()]
    only_a, only_b = (
        both.total.profiles[v] for v in (AnalysisVerdict.only_a, AnalysisVerdict.only_b)
    )
    assert (only_a.unknown, only_a.unknown_and_short) == (1, 0)
    assert (only_b.unknown, only_b.unknown_and_short) == (1, 1)
    assert both.total.profiles[AnalysisVerdict.both].unknown == 0
    assert both.vocabularies == ("knows-6", "knows-6")
    assert not any("unknown" in note for note in both.notes)


def test_encoders_without_words_are_told() -> None:
    metrics = [scored("one", A), scored("two", B)]
    (note,) = analyse(rated(HUMAN), metrics).notes
    assert "--encoder" in note
    found = analyse(rated(HUMAN), metrics, encoders=[NoVocabulary("a"), Pairs()])
    assert found.vocabularies == ()
    assert found.notes == (
        "encoders without a list of words, which know no unknown ones: knows-1, pairs.",
    )


def test_encoders_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.EncoderEntry(f"{__name__}:Vocabulary", "for this test")
    monkeypatch.setitem(registry.ENCODERS, "listed", entry)
    found = analyse(rated(HUMAN, TEXTS), [scored("1", A), scored("2", B)], encoders=["listed:a+b"])
    assert found.rows[0].unknown == ("c", "d")


def test_ties_stay_together_and_are_told() -> None:
    human = [9, 9, 9, 5, 4, 3, 2, 1, 1, 1]
    flat = [1] * 10
    found = analyse(rated(human), [scored("fine", range(10, 0, -1)), scored("flat", flat)])
    assert found.total.analysed == 3  # two of ten, and the third that ties with them
    assert found.total.high == (3, 10)  # the tops of metrics are as large; all of a flat one ties
    assert counts(found) == [3, 0, 0, 0]
    assert found.notes[:2] == (
        "human scores tie at the cut; analysed beyond 20%: all 1; the metrics' tops grow with it.",
        "scores of flat tie at the cut; in its top beyond people's: all 7.",
    )


def test_language_pairs_have_tops_of_their_own() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 20.0, 30.0, 40.0, 50.0]
    one = rated(low + high)
    ratings = replace(one, ids={"lp": ("de-en",) * 5 + ("cs-en",) * 5})
    backwards = [*low, *reversed(high)]
    found = analyse(ratings, [scored("same", low + high), scored("back", backwards)])
    assert [(part.name, part.analysed) for part in found.all_parts] == [
        ("cs-en", 1),
        ("de-en", 1),
        ("all", 2),
    ]
    assert [part.hits(1) for part in found.all_parts] == [0, 1, 1]
    assert [row.lp for row in found.rows] == ["cs-en", "de-en"]
    alone = analyse(ratings, [scored("a", low + high), "chrf"], selection=Selection(lp=("de-en",)))
    assert (alone.selection, [part.name for part in alone.all_parts]) == ("lp:de-en", ["de-en"])


def test_an_output_rated_again_counts_once() -> None:
    ids = {"system": ("s",) * 3 + ("t",), "segment": ("1", "1", "2", "1")}
    texts = Segments(("a", "a", "b", "c"), (("a b",),) * 4)
    ratings = Ratings(np.array([100.0, 0.0, 60.0, 10.0]), ids, texts)
    found = analyse(ratings, ["chrf", "wer"])
    assert found.total.outputs == 3
    assert (found.rows[0].segment, found.rows[0].human) == (
        "2",
        60.0,
    )  # 50 is the mean of the other
    assert "rated before: 1" in found.notes[0]


def test_remarks_of_the_metrics_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CHRF, "remarks", lambda _: ("texts were cut.",))
    monkeypatch.setattr(TER, "remarks", lambda _: ("texts were cut.", "it was late."))
    texts = Segments(("a b", "a c", "x"), (("a b",),) * 3)
    ratings = Ratings(np.array([2.0, 1.0, 0.0]), {}, texts)
    found = analyse(ratings, ["chrf", "ter"], AnalysisSettings(top=0.4))
    assert found.notes[-2:] == ("texts were cut.", "it was late.")  # what both say, once
    assert found.notes.count("texts were cut.") == 1


def test_the_nearest_reference_counts() -> None:
    texts = Segments(("A cat sat",), (("the dog ran", "a cat sat .", "a cat"),))
    found = surfaces(texts, ["cs-en"])
    assert found.overlaps[0] == pytest.approx(2 * 3 / 7)
    assert found.references == ("a cat sat .",)


def test_languages_without_spaces() -> None:
    texts = Segments(("我爱你", "私は"), (("我爱他",), ("私も",)))
    found = surfaces(texts, ["en-zh", "en-ja"])
    assert found.lengths.tolist() == [3, 2]
    assert found.overlaps.tolist() == pytest.approx([2 / 3, 1 / 2])
    ratings = Ratings(np.array([1.0]), {"lp": ("en-zh",)}, texts.select([0]))
    assert "characters count as words: en-zh" in analyse(ratings, ["chrf", "wer"]).notes[0]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_overlap_is_symmetric_and_one_for_the_same_words(one: list[str], other: list[str]) -> None:
    found = word_overlap(one, other)
    assert found == word_overlap(other, one)
    assert 0 <= found <= 1
    assert (found == 1) == (bool(one) and sorted(one) == sorted(other))


@given(SCORES, st.data())
def test_top_laws(scores: np.ndarray, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(scores)))
    top = in_top(scores, count)
    assert top.sum() >= count
    assert scores[top].min() > scores[~top].max(initial=-1)
    assert (scores > scores[top].min()).sum() < count  # nothing beyond the ties at the cut
    order = data.draw(st.permutations(range(len(scores))))
    assert (in_top(scores[order], count) == top[order]).all()  # whatever the order of the rows


@given(SCORES)
def test_percentiles_are_those_of_mean_ranks(scores: np.ndarray) -> None:
    from scipy.stats import rankdata

    assert percentiles(scores) == pytest.approx(100 * (rankdata(scores) - 0.5) / len(scores))


@given(SCORES, st.floats(0.01, 0.99))
def test_who_orders_as_people_do_finds_all(human: np.ndarray, share: float) -> None:
    finer = human + np.linspace(0, 0.5, len(human))  # tells people's ties apart, too
    top = top_of("all", human, np.stack([np.exp(human), finer]), share)
    assert set(top.codes.tolist()) == {0}
    assert top.outputs == len(human)
    assert len(top.rows) >= top.count == top_count(len(human), share)


def test_sign_test_by_counting() -> None:
    """The paper's 70 and 88, §4.4: twice the tail of a fair coin."""
    tail = sum(comb(158, heads) for heads in range(71)) / 2**158
    assert sign_test(70, 88) == pytest.approx(2 * tail)
    assert sign_test(88, 70) == pytest.approx(2 * tail)
    assert sign_test(3, 3) == sign_test(0, 0) == 1.0


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("Flat-out flat", ["flat"], ["Flat", "flat"]),
        ("flat-out flat", ["flat", "flat-out"], ["flat-out", "flat"]),
        ("flatly", ["flat"], []),
        ("costs $5 (net)", ["$5", "("], ["$5", "("]),
        ("a.c abc", ["a.c"], ["a.c"]),
        ("anything", ["", "thing"], []),
        ("", ["a"], []),
    ],
)
def test_marked_words(text: str, words: list[str], marked: list[str]) -> None:
    pieces = list(marked_parts(text, words))
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, unknown in pieces if unknown] == marked


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"top": 0.0}, "between 0 and 1"),
        ({"top": 1.0}, "between 0 and 1"),
        ({"top": float("nan")}, "between 0 and 1"),
        ({"overlap": 1.5}, "from 0 to 1"),
        ({"overlap": float("nan")}, "from 0 to 1"),
        ({"short": -1}, "cannot have -1 words"),
    ],
)
def test_settings_are_checked(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        AnalysisSettings(**settings)  # type: ignore[arg-type]


def test_what_cannot_be_analysed_is_refused() -> None:
    metrics = [scored("one", A), scored("two", B)]
    for wrong in (metrics[:1], [*metrics, scored("three", A)]):
        with pytest.raises(AdequaError, match="exactly two"):
            analyse(rated(HUMAN), wrong)
    with pytest.raises(AdequaError, match="no texts"):
        analyse(Ratings(np.array(HUMAN), {}), metrics)
    with pytest.raises(AdequaError, match="needs ratings"):
        analyse(Preferences({"lp": ("cs-en",)}), metrics)
    with pytest.raises(AdequaError, match="no ratings"):
        analyse(rated(HUMAN).select([]), metrics)


@needs_judgements
def test_the_papers_outputs() -> None:
    """§4.4: 112 outputs of each of six language pairs, 672 in all, and the same by plain Python."""
    rows = judgement_rows("wmt16-da")
    rows = [row for row in rows if row["lp"].endswith("-en")]
    texts = Segments(tuple(row["mt"] for row in rows), tuple((row["ref"],) for row in rows))
    human = np.array([row["score"] for row in rows])
    pairs = [row["lp"] for row in rows]
    lengths = [float(len(row["mt"])) for row in rows]
    others = [float(row["mt"].count("e")) + n / 1e6 for n, row in enumerate(rows)]
    ratings = Ratings(human, {"lp": tuple(pairs)}, texts)
    found = analyse(ratings, [scored("length", lengths), scored("e", others)])
    assert [part.analysed for part in found.parts] == [112] * 6
    assert found.total.analysed == len(found.rows) == 672
    expected = dict.fromkeys(VERDICTS, 0)
    for pair in set(pairs):
        mine = [n for n, each in enumerate(pairs) if each == pair]
        cuts = [sorted((of[n] for n in mine), reverse=True)[111] for of in (lengths, others)]
        for n in sorted(mine, key=lambda n: -human[n])[:112]:
            verdict = VERDICTS[2 * (lengths[n] < cuts[0]) + (others[n] < cuts[1])]
            expected[verdict] += 1
    assert counts(found) == list(expected.values())


def test_rows_are_plain_data() -> None:
    shown = json.loads(json.dumps(ten().rows[0].to_dict()))
    assert shown["verdict"] == "both"
    assert "unknown" not in shown
