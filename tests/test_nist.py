"""NIST is mteval-v13a's: its values, the definition, and where NLTK's differs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

from adequa.errors import AdequaError
from adequa.metrics.nist import NIST
from adequa.segments import Segments
from judgements import needs_judgements, read_judgements, strict_tau

HYPOTHESES = (
    "The committee approved the new budget on Tuesday.",
    "Prices rose by 3.5% in May, the bank said.",
    "Nobody knows",
    "Bees need clover, and clover needs bees!",
    "It ended 0 to 0 after ÉTÉ rain.",
    "",
)
REFERENCES = (
    "The committee passed the new budget on Tuesday.",
    "The bank said that prices had risen by 3.5% in May.",
    "Nobody knows where the key is.",
    "Bees need clover and clover needs bees.",
    "The match ended 0 to 0 after été rain.",
    "The page was left blank.",
)
SECOND = (
    "On Tuesday the committee approved the new budget.",
    "Prices rose by 3.5% in May, according to the bank.",
)
ONE = Segments(HYPOTHESES, tuple(zip(REFERENCES, strict=True)))
TWO = Segments(HYPOTHESES[:2], tuple(zip(REFERENCES[:2], SECOND, strict=True)))

# Printed by the tokenisation, n-gram information, segment and score functions of mteval-v13a.pl
# (Moses commit 5bbd5ca), transcribed to read lines in place of SGML, under Perl 5.36. ÉTÉ is not
# lower-cased, and the two words "0" are a false context.
MTEVAL = [4.876071306774, 4.455444395095, 0.007661298388, 4.260604797994, 5.131700499377, 0.0]
MTEVAL_SYSTEM = 3.646520652422
MTEVAL_CASED = [4.845933459532, 3.507172077704, 0.007661298388, 4.357827020216, 5.131700499377, 0.0]
MTEVAL_CASED_SYSTEM = 3.438603425481
MTEVAL_TWO = [5.473696450007, 5.204443846532]
MTEVAL_TWO_SYSTEM = 5.349632406481


@pytest.mark.parametrize(
    ("metric", "segments", "expected", "system"),
    [
        (NIST(), ONE, MTEVAL, MTEVAL_SYSTEM),
        (NIST(lowercase=False), ONE, MTEVAL_CASED, MTEVAL_CASED_SYSTEM),
        (NIST(), TWO, MTEVAL_TWO, MTEVAL_TWO_SYSTEM),
    ],
)
def test_equals_mteval(
    metric: NIST, segments: Segments, expected: list[float], system: float
) -> None:
    scores = metric.score(segments)
    np.testing.assert_allclose(scores.segments, expected, atol=1e-11)
    assert scores.system == pytest.approx(system, abs=1e-11)


def test_worked_by_hand() -> None:
    """Six reference words: "the" tells log2(6/2), the others log2 6; after "the", one bit each."""
    segments = Segments(("the cat sat", "a dog ran"), (("the cat sat",), ("the dog ran",)))
    first = (math.log2(3) + 2 * math.log2(6)) / 3 + 1 / 2
    second = 2 * math.log2(6) / 3
    scores = NIST().score(segments)
    np.testing.assert_allclose(scores.segments, [first, second])
    both = (math.log2(3) + 4 * math.log2(6)) / 6 + 1 / 4
    assert scores.system == pytest.approx(both)


def test_two_thirds_of_the_length_halve_the_score() -> None:
    segments = Segments(("a b",), (("a b c",),))
    assert NIST().score(segments).system == pytest.approx(math.log2(3) / 2)


def test_a_bigram_after_zero_is_counted_as_in_mteval() -> None:
    """Info("0 x") would be log2(2/1) = 1 bit; mteval has log2(4/1), as if "0" were no context."""
    segments = Segments(("0 x",), (("0 x 0 y",),))
    penalty = math.exp(math.log(0.5) * (math.log(2 / 4) / math.log(1.5)) ** 2)
    assert NIST().score(segments).system == pytest.approx(((1 + 2) / 2 + 2) * penalty)


def test_tokenizers_other_than_13a_lower_every_letter() -> None:
    segments = Segments(("ÉTÉ b",), (("été b",),))
    assert NIST(tokenize="none").score(segments).system > NIST().score(segments).system


def brute_force(hypotheses: list[str], references: list[list[str]]) -> tuple[list[float], float]:
    counts: Counter[tuple[str, ...]] = Counter()
    for text in (text for texts in references for text in texts):
        for n in range(1, 6):
            counts += grams(text, n)
        counts[()] += len(text)
    sums = np.zeros(11)
    scores = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        row = [sum(map(len, texts)) / len(texts)]
        for n in range(1, 6):
            most: Counter[tuple[str, ...]] = Counter()
            for text in texts:
                most |= grams(text, n)
            matched = grams(hypothesis, n) & most
            row.append(sum(c * math.log2(counts[g[:-1]] / counts[g]) for g, c in matched.items()))
        row += [grams(hypothesis, n).total() for n in range(1, 6)]
        sums += row
        scores.append(from_sums(row))
    return scores, from_sums(sums.tolist())


def grams(words: str, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def from_sums(sums: list[float]) -> float:
    length, information, totals = sums[0], sums[1:6], sums[6:]
    ratio = min(1.0, totals[0] / length)
    if not ratio:
        return 0.0
    told = sum(i / max(t, 1) for i, t in zip(information, totals, strict=True))
    return told * math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(ratio) ** 2)


SENTENCE = st.text("abcd", max_size=9)
CORPUS = st.lists(
    st.tuples(SENTENCE, st.lists(SENTENCE.filter(bool), min_size=1, max_size=3)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=200)
@given(corpus=CORPUS)
def test_equals_the_definition(corpus: list[tuple[str, list[str]]]) -> None:
    hypotheses, references = [h for h, _ in corpus], [r for _, r in corpus]
    segments = Segments(
        tuple(map(" ".join, hypotheses)), tuple(tuple(map(" ".join, r)) for r in references)
    )
    scores = NIST().score(segments)
    expected, system = brute_force(hypotheses, references)
    np.testing.assert_allclose(scores.segments, expected, atol=1e-9)
    assert scores.system == pytest.approx(system, abs=1e-9)


@settings(max_examples=100)
@given(pairs=st.lists(st.tuples(*[st.text("abcd", min_size=5, max_size=12)] * 2), min_size=1))
def test_equals_nltk_with_one_reference(pairs: list[tuple[str, str]]) -> None:
    """NLTK cannot score hypotheses all shorter than five words: it divides by their 5-grams."""
    segments = Segments(
        tuple(" ".join(h) for h, _ in pairs), tuple((" ".join(r),) for _, r in pairs)
    )
    theirs = corpus_nist([[list(r)] for _, r in pairs], [list(h) for h, _ in pairs])
    assert NIST().score(segments).system == pytest.approx(theirs, abs=1e-9)


def test_nltk_differs_with_several_references() -> None:
    """For each order NLTK takes the one reference that matches best, and its length.

    mteval (and so we) clip by all references together and take their average length: here the
    hypothesis finds "a b c" in one and "d e f" in the other, and NLTK sees half of that.
    """
    hypothesis, references = "a b c d e f", ("a b c x y", "z d e f w")
    ours = NIST().score(Segments((hypothesis,), (references,))).system
    theirs = corpus_nist([[r.split() for r in references]], [hypothesis.split()])
    assert ours == pytest.approx(math.log2(10))  # every word once in ten; all else certain
    assert theirs == pytest.approx(math.log2(10) / 2)


@pytest.mark.parametrize("order", [1, 2, 7])
def test_other_orders(order: int) -> None:
    scores = NIST(max_ngram_order=order).score(ONE)
    assert scores.statistics.shape == (len(ONE), 1 + 2 * order)
    assert (scores.segments <= NIST(max_ngram_order=order + 1).score(ONE).segments + 1e-12).all()


def test_nothing_to_count() -> None:
    """The tokenizer 13a leaves nothing of "<skipped>"."""
    assert NIST().score(Segments(("a", ""), (("<skipped>",), ("<skipped>",)))).system == 0


@pytest.mark.parametrize(
    ("settings_", "sentence"),
    [
        ({"max_ngram_order": 0}, "max_ngram_order must be from 1 to 100, not 0."),
        ({"tokenize": "13b"}, 'Did you mean "13a"?'),
    ],
)
def test_bad_settings_are_refused(settings_: dict[str, object], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        NIST(**settings_)  # type: ignore[arg-type]


@needs_judgements
def test_kendall_on_relative_ranking() -> None:
    """Guzmán et al. (2015), Table 1; near, because their weights came from whole test sets."""
    judged = read_judgements("wmt12-rr")
    taus = {pair: strict_tau(NIST(), rows) for pair, rows in judged.items()}
    published = {"cs-en": 19.66, "de-en": 23.09, "es-en": 20.41, "fr-en": 22.21}
    assert taus == pytest.approx(published, abs=0.7)
