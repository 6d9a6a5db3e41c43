"""BLEU, chrF, chrF++ and TER are sacreBLEU's, to the last digit and signature field."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sacrebleu
from sacrebleu.tokenizers import tokenizer_spm

from adequa import AdequaError, load_metric
from adequa.metrics import sacrebleu_metrics, ter_edits
from adequa.metrics.sacrebleu_metrics import BLEU, SentBLEU
from adequa.segments import Segments, concatenate

EXAMPLES = Path(__file__).parent.parent / "examples"


def lines(name: str) -> tuple[str, ...]:
    return tuple((EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines())


# Real text with what goes wrong in it: nothing, punctuation only, symbols, other scripts.
HYPOTHESES = (
    *lines("literal"),
    "",
    "...",
    "50 % (of) <it> & “that”",
    "这是 一个 test",
    "the the the",
)
FIRST = (
    *lines("reference"),
    "Not empty.",
    "Yes...",
    '50% of <it> & "that"',
    "这是一个测试",
    "the cat",
)
SECOND = (*lines("fluent"), "It is not.", "...", "50 % of it & that", "这是 test", "the the cat")

ONE = Segments(HYPOTHESES, tuple(zip(FIRST, strict=True)))
TWO = Segments(HYPOTHESES, tuple(zip(FIRST, SECOND, strict=True)))

CASES: list[tuple[str, Callable[[], Any]]] = [
    ("bleu", sacrebleu.BLEU),
    ("bleu:tokenize=intl,lowercase=true", lambda: sacrebleu.BLEU(tokenize="intl", lowercase=True)),
    ("bleu:smooth_method=floor", lambda: sacrebleu.BLEU(smooth_method="floor")),
    ("bleu:smooth_method=add-k", lambda: sacrebleu.BLEU(smooth_method="add-k")),
    ("bleu:tokenize=zh", lambda: sacrebleu.BLEU(tokenize="zh")),
    ("chrf", sacrebleu.CHRF),
    (
        "chrf:whitespace=yes,eps_smoothing=yes",
        lambda: sacrebleu.CHRF(whitespace=True, eps_smoothing=True),
    ),
    ("chrf++", lambda: sacrebleu.CHRF(word_order=2)),
    ("chrf++:lowercase=true", lambda: sacrebleu.CHRF(word_order=2, lowercase=True)),
    ("ter", sacrebleu.TER),
    (
        "ter:normalized=true,case_sensitive=true",
        lambda: sacrebleu.TER(normalized=True, case_sensitive=True),
    ),
    (
        "ter:no_punct=true,asian_support=true",
        lambda: sacrebleu.TER(no_punct=True, asian_support=True),
    ),
]


@pytest.mark.parametrize("segments", [ONE, TWO], ids=["one reference", "two references"])
@pytest.mark.parametrize(("specification", "make"), CASES, ids=[case[0] for case in CASES])
def test_equals_sacrebleu(specification: str, make: Callable[[], Any], segments: Segments) -> None:
    theirs = make()
    streams = list(zip(*segments.references, strict=True))
    ours = load_metric(specification).score(segments)
    assert ours.system == pytest.approx(theirs.corpus_score(HYPOTHESES, streams).score, abs=1e-9)
    assert str(ours.signature) == f"{ours.signature.metric}|{theirs.get_signature()}"
    if isinstance(theirs, sacrebleu.BLEU):
        theirs.effective_order = True  # as sacrebleu.sentence_bleu sets it
    expected = [
        theirs.sentence_score(hypothesis, references).score
        for hypothesis, references in zip(HYPOTHESES, segments.references, strict=True)
    ]
    np.testing.assert_allclose(ours.segments, expected, rtol=0, atol=1e-9)


def test_by_hand() -> None:
    pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    # 5 of 6 words (one "the" is clipped), 3 of 5 pairs, 2 of 4 triples, 1 of 3; equal lengths.
    by_hand = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert load_metric("bleu").score(pair).system == pytest.approx(by_hand, abs=1e-9)
    # Of "abc" and "abd": 2 of 3 characters, 1 of 2 pairs, 0 of 1 triple, both ways round.
    letters = Segments(("abc",), (("abd",),))
    by_hand = 100 * (2 / 3 + 1 / 2 + 0) / 3
    assert load_metric("chrf").score(letters).system == pytest.approx(by_hand, abs=1e-9)
    # chrF++ adds 0 of 1 word; neither text has a pair of words.
    by_hand = 100 * (2 / 3 + 1 / 2 + 0 + 0) / 4
    assert load_metric("chrf++").score(letters).system == pytest.approx(by_hand, abs=1e-9)
    # Snover et al. (2006), figure 1: a shift of "this week", two substitutions and an insertion,
    # 4 edits over 13 words.
    snover = Segments(
        ("THIS WEEK THE SAUDIS denied information published in the new york times",),
        (("SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times",),),
    )
    assert load_metric("ter").score(snover).system == pytest.approx(100 * 4 / 13, abs=1e-9)
    assert load_metric("wer:lowercase=true").score(snover).system > 4 / 13


def test_sentence_bleu_function() -> None:
    ours = load_metric("bleu").score(ONE).segments
    theirs = [sacrebleu.sentence_bleu(h, [r]).score for h, r in zip(HYPOTHESES, FIRST, strict=True)]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_references_may_differ_in_number() -> None:
    """sacreBLEU writes a missing reference as None; here the segment simply has fewer."""
    mixed = concatenate([ONE, TWO])
    streams = [[*FIRST, *FIRST], [*([None] * len(FIRST)), *SECOND]]
    theirs = sacrebleu.BLEU()
    expected = theirs.corpus_score([*HYPOTHESES, *HYPOTHESES], streams)  # type: ignore[arg-type]
    ours = load_metric("bleu").score(mixed)
    assert ours.system == pytest.approx(expected.score, abs=1e-9)
    assert str(ours.signature) == f"bleu|{theirs.get_signature()}"
    assert "nrefs:var" in str(ours.signature)


def test_add_k_smoothing_leaves_statistics_alone() -> None:
    metric = load_metric("bleu:smooth_method=add-k")
    statistics = metric.statistics(ONE)
    before = statistics.copy()
    metric.segment_scores(statistics)
    np.testing.assert_array_equal(statistics, before)


def test_shared_references_are_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = load_metric("chrf")
    prepared = 0
    extract = sacrebleu.CHRF._extract_reference_info

    def counted(self: sacrebleu.CHRF, references: list[str]) -> Any:
        nonlocal prepared
        prepared += 1
        return extract(self, references)

    monkeypatch.setattr(sacrebleu.CHRF, "_extract_reference_info", counted)
    for hypotheses in (HYPOTHESES, HYPOTHESES[::-1]):
        metric.statistics(Segments(hypotheses, ONE.references))
    assert prepared == len(ONE)


def test_large_inputs_do_not_keep_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.metrics.sacrebleu_metrics.CACHED_REFERENCES", 3)
    streamed = load_metric("bleu").score(ONE)
    np.testing.assert_array_equal(streamed.statistics, load_metric("bleu").statistics(ONE))


@pytest.mark.parametrize(
    ("specification", "sentence"),
    [
        ("bleu:tokenize=13b", '"13b" is not a value of tokenize'),
        ("bleu:smooth_method=esp", 'Did you mean "exp"?'),
        ("bleu:max_ngram_order=0", "max_ngram_order must be from 1 to 100, not 0."),
        ("bleu:smooth_value=-1", "smooth_value must be from 0 to 1000, not -1."),
        ("bleu:smooth_value=nan", "smooth_value must be from 0 to 1000, not nan."),
        ("bleu:smooth_value=inf", "smooth_value must be from 0 to 1000, not inf."),
        ("bleu:max_ngram_order=99999999999", "max_ngram_order must be from 1 to 100, not 1e+11."),
        ("chrf:word_order=101", "word_order must be from 0 to 100, not 101."),
        ("chrf:char_order=0", "char_order must be from 1 to 100, not 0."),
        ("chrf:beta=0", "beta must be from 1 to 1000, not 0."),
    ],
)
def test_bad_settings(specification: str, sentence: str) -> None:
    with pytest.raises(AdequaError, match=re.escape(sentence)):
        load_metric(specification)


def test_a_tokenizer_that_is_not_installed_is_named() -> None:
    if find_spec("MeCab"):
        pytest.skip("MeCab is installed here")
    with pytest.raises(AdequaError, match='The tokenizer "ja-mecab" cannot be used here'):
        load_metric("bleu:tokenize=ja-mecab").score(ONE)


@pytest.mark.parametrize("tokenize", ["flores101", "flores200", "spm", "spBLEU-1K"])
@pytest.mark.parametrize("kind", [BLEU, SentBLEU])
def test_no_model_of_a_tokenizer_is_downloaded(
    kind: type[BLEU | SentBLEU], tokenize: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if tokenize not in sacrebleu.BLEU.TOKENIZERS:
        pytest.skip("this sacreBLEU has no such tokenizer")
    monkeypatch.setattr(sacrebleu_metrics, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", lambda *_: pytest.fail("went out"))
    with pytest.raises(AdequaError, match=f"tokenize='{tokenize}'"):
        kind(tokenize=tokenize).score(Segments(("a",), (("a",),)))


def test_ter_tries_shifts_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    texts = [" ".join(random.choices("abcdefghij", k=40)) for _ in range(2)]
    segments = Segments((texts[0], "a b"), ((texts[1],), ("b a",)))
    exact = load_metric("ter").score(segments)
    assert exact.remarks == ()
    monkeypatch.setattr(ter_edits, "BUDGET", 20_000)
    metric = load_metric("ter")
    limited = metric.score(segments)
    assert limited.remarks == (
        "ter did not try all shifts of 1 long text, which would take minutes.",
    )
    monkeypatch.setattr(ter_edits, "_LARGEST", 1000)
    unshifted = load_metric("ter").score(segments)
    assert unshifted.segments[0] >= limited.segments[0] > exact.segments[0]
    assert unshifted.segments[1] == limited.segments[1] == exact.segments[1] == 50
    assert metric.score(segments.select([1])).remarks == ()


def test_ter_of_texts_of_thousands_of_words_ends() -> None:
    random = Random(0)
    texts = [" ".join(random.choices("abcdefghij", k=4000)) for _ in range(2)]
    scores = load_metric("ter").score(Segments((texts[0],), ((texts[1],),)))
    assert 50 < scores.system < 100
    assert len(scores.remarks) == 1
