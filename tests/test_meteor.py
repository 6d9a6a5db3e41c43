"""METEOR against values that the official jar printed, values worked out by hand, and bad input."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from random import Random
from zipfile import ZipFile

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.metrics.meteor import METEOR, alignment
from adequa.metrics.meteor.alignment import FUNCTION_WORDS, best_alignment, chunk_count, new_match
from adequa.metrics.meteor.tables import load_paraphrases
from adequa.metrics.meteor.words import stem, words_of
from adequa.metrics.registry import load_metric
from adequa.segments import Segments
from meteor_jar import meteor_folder

ALL = "exact+stem+synonym+paraphrase"
HYPOTHESES = (
    "The cats were sitting on a big carpet.",
    "He said that the United States won't take part in the talks, e.g. in Geneva.",
    "In order to buy a car, people need a lot of money.",
    "the of of the the and of the cat",
    "Completely unrelated words here",
    "Dr. Smith's well-known theory...",
    "the quick brown fox",
    "",
    "She bought the house because of the garden",
)
FIRST = (
    "The cat sat on the large mat.",
    "He said the U.S. would not participate in the negotiations in Geneva.",
    "To purchase an automobile you need much money.",
    "of the the of and the cat of the",
    "Nothing in common at all",
    "Dr Smith's well known theory ...",
    "the quick brown fox",
    "an empty translation",
    "She purchased the home due to its garden",
)
SECOND = (
    "Cats were sitting on a big carpet!",
    "The United States will not take part in the talks, he said.",
    "People need a lot of money in order to buy a car.",
    "the cat",
    "words unrelated",
    "Smith 's theory",
    "the quick brown foxes",
    "x",
    "The garden made her buy the house",
)
ONE = Segments(HYPOTHESES, tuple((text,) for text in FIRST))
TWO = Segments(HYPOTHESES, tuple(zip(FIRST, SECOND, strict=True)))

# Printed by meteor-1.5.jar for these texts with -l en -norm -m MODULES -r REFERENCES:
# modules, references, segment scores, final score.
# fmt: off
JAR = [
    ("exact", 1, [
        0.07430340557275543, 0.20813492898576277, 0.17298653096181896, 0.4467352531109634, 0.0,
        0.4890136663048862, 1.0, 0.0, 0.125], 0.2265497857959504),
    ("exact", 2, [
        0.49868357307538774, 0.44720828959862563, 0.549211130745008, 0.4467352531109634,
        0.3478260869565218, 0.4890136663048862, 1.0, 0.0, 0.2522348050282907], 0.4291144477117682),
    ("exact+stem", 1, [
        0.12885622089601748, 0.20813492898576277, 0.17298653096181896, 0.4467352531109634, 0.0,
        0.4890136663048862, 1.0, 0.0, 0.125], 0.23442345518701702),
    ("exact+stem+synonym", 1, [
        0.2058371703394816, 0.26465771141159383, 0.28519756807083946, 0.4467352531109634,
        0.03878787878787879, 0.4890136663048862, 1.0, 0.0, 0.30653669627981167],
        0.2973178292226952),
    ("exact+stem+synonym", 2, [
        0.49868357307538774, 0.44720828959862563, 0.549211130745008, 0.4467352531109634,
        0.3478260869565218, 0.4890136663048862, 1.0, 0.0, 0.3435556426278754], 0.4396422811432519),
    (ALL, 1, [
        0.26186376726952604, 0.39106651290264427, 0.2867258122733365, 0.4467352531109634,
        0.03878787878787879, 0.4890136663048862, 1.0, 0.0, 0.7375], 0.3469222118055419),
    (ALL, 2, [
        0.49868357307538774, 0.44720828959862563, 0.549211130745008, 0.4467352531109634,
        0.3478260869565218, 0.4890136663048862, 1.0, 0.0, 0.7375], 0.45520743106090306),
    # Weights go by place: the synonym module in second place weighs 0.6.
    ("exact+synonym", 1, [
        0.23235765486886018, 0.2518516931174844, 0.2584602960641983, 0.4467352531109634,
        0.02909090909090909, 0.4890136663048862, 1.0, 0.0, 0.2690015906128959], 0.288885775383879),
]
# The same with exact+stem and one reference, by normalization: -norm -noPunct, -lower, no flag.
JAR_NORMALIZED = [
    ("norm_nopunct", [
        0.1120524067209017, 0.1887687788437512, 0.14814814814814817, 0.4467352531109634, 0.0, 1.0,
        1.0, 0.0, 0.125], 0.23554877989985532),
    ("lc_only", [
        0.1120524067209017, 0.19269237932780148, 0.14814814814814817, 0.4467352531109634, 0.0,
        0.07017543859649121, 1.0, 0.0, 0.125], 0.1763278059300892),
    ("no_norm", [
        0.1120524067209017, 0.19269237932780148, 0.12698412698412698, 0.4467352531109634, 0.0,
        0.07017543859649121, 1.0, 0.0, 0.125], 0.1735560589663484),
]
# fmt: on


def meteor(modules: str) -> METEOR:
    """METEOR with these modules, or a skipped test where their tables are not installed."""
    folder = meteor_folder()
    if folder is None and ("synonym" in modules or "paraphrase" in modules):
        pytest.skip("the official METEOR tables are not installed (pycocoevalcap)")
    return METEOR(modules=modules, tables=str(folder or ""))


def one(hypothesis: str, *references: str) -> float:
    return METEOR().score(Segments((hypothesis,), (references,))).system


@pytest.mark.parametrize(("modules", "references", "segments", "system"), JAR)
def test_equals_the_jar(
    modules: str, references: int, segments: list[float], system: float
) -> None:
    scores = meteor(modules).score(ONE if references == 1 else TWO)
    np.testing.assert_allclose(scores.segments, segments, atol=1e-12)
    assert scores.system == pytest.approx(system, abs=1e-12)


@pytest.mark.parametrize(("normalize", "segments", "system"), JAR_NORMALIZED)
def test_equals_the_jar_in_other_normalizations(
    normalize: str, segments: list[float], system: float
) -> None:
    scores = METEOR(normalize=normalize).score(ONE)
    np.testing.assert_allclose(scores.segments, segments, atol=1e-12)
    assert scores.system == pytest.approx(system, abs=1e-12)


def test_hand_worked() -> None:
    # Exact: sat and mat (content), the and on (function); stem: cats. Three words of each text are
    # function words. "the cats sat on" and "mat" are the two chunks of five matches.
    matched = 0.75 * 2 + 0.25 * 2 + 0.6 * 0.75
    precision = matched / (0.75 * 3 + 0.25 * 3)
    penalty = 0.6 * (2 / 5) ** 0.2
    score = one("the cats sat on a mat", "the cat sat on the mat")
    assert score == pytest.approx(precision * (1 - penalty), abs=1e-12)


def test_precision_and_recall_weigh_by_alpha() -> None:
    # One content word of one against one of two: P = 1, R = 1/2, one chunk of one match.
    f_mean = 1 / (0.15 / 1 + 0.85 / 0.5)
    assert one("green", "green grass") == pytest.approx(f_mean * (1 - 0.6), abs=1e-12)


def test_the_best_reference_counts() -> None:
    alone = one("a green house", "a green house")
    assert one("a green house", "the red car", "a green house") == alone == 1.0


def test_segments_of_different_reference_counts() -> None:
    mixed = Segments(HYPOTHESES[:2], ((FIRST[0],), (FIRST[1], SECOND[1])))
    expected = [JAR[2][2][0], JAR[1][2][1]]
    np.testing.assert_allclose(METEOR().score(mixed).segments, expected, atol=1e-12)


def test_statistics_of_batches_add_up() -> None:
    metric = METEOR()
    many = Segments(HYPOTHESES * 250, tuple((text,) for text in FIRST) * 250)
    scores = metric.score(many)
    np.testing.assert_array_equal(scores.statistics[:9], metric.score(ONE).statistics)
    assert scores.system == pytest.approx(metric.score(ONE).system, abs=1e-12)


def test_there_are_93_function_words() -> None:
    assert len(FUNCTION_WORDS) == 93


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # Later revisions of the stemmer differ in these.
        ("added", "ad"),
        ("evening", "even"),
        ("emergency", "emerg"),
        ("biologists", "biologist"),
        # From the algorithm's own description.
        ("consistency", "consist"),
        ("knightly", "knight"),
        ("knocked", "knock"),
        ("generously", "generous"),
        ("communities", "communiti"),
        ("ties", "tie"),
        ("cries", "cri"),
        ("gas", "gas"),
        ("kiwis", "kiwi"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("say", "say"),
        ("by", "by"),
        ("'s", "'s"),
        ("", ""),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No. 5 costs 1,000.50 euros, no.", "no. 5 costs 1,000.50 euros , no ."),
        ("It's the '90s; don't ask why...", "it 's the ' 90s ; don 't ask why ..."),
        ("“Quoted” — ‘single’ – dash--dash", "\" quoted \" — ' single ' - dash dash"),
        ("a-b-c and u.s.a. vs. x.", "a b-c and usa vs. x ."),
        ("wide\u00a0space\u3000here\x01", "wide space here"),
        ("ΟΔΟΣ İ 😀x", "ο δ ο σ i\u0307 😀 x"),
        (" \x01 ", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words_of(text, "norm") == expected.split(" " if expected else None)


def test_an_alignment_prefers_few_chunks() -> None:
    # Reference "a b a": the second a of hypothesis "c a b a" continues the chunk.
    a = [new_match(1, 1, 1, 0), new_match(3, 1, 1, 0)]
    aligned = best_alignment([a, [new_match(2, 1, 1, 0)], a], 4)
    assert [(position, match.begin) for position, match in aligned] == [(0, 1), (1, 2), (2, 3)]
    assert chunk_count(aligned) == 1


def test_an_alignment_uses_each_word_once() -> None:
    phrase = new_match(0, 2, 2, 1)
    aligned = best_alignment([[new_match(0, 1, 1, 0), phrase], [new_match(1, 1, 1, 0)]], 2)
    assert [match.module for _, match in aligned] == [0, 0]


def test_paraphrases_keep_the_order_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "table.gz"
    rows = [("big", "large"), ("big", "of great size"), ("car", "automobile"), ("big", "huge")]
    path.write_bytes(gzip.compress("".join(f"0.1\n{a}\n{b}\n" for a, b in rows).encode()))
    known = {hash(phrase.encode()) for phrase in ("big", "large", "huge", "car")}
    pairs = load_paraphrases.__wrapped__(path).among(known)  # past the cache of the real table
    assert pairs == {hash(b"big"): {hash(b"large"): 0, hash(b"huge"): 1}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "...",
        "!?",
        "\x00\x01\x7f",
        "\u200b\ufeff",
        "\ud800 alone",
        "é" * 5000,
        "DOTMULTI. DOTDOTMULTI",
        "a\nb\rc\x0bd",
        "𝒜 𝓑 e\u0301",
    ],
)
@pytest.mark.parametrize("modules", ["exact+stem", ALL])
def test_odd_text_gets_a_score(text: str, modules: str) -> None:
    metric = meteor(modules)
    scores = metric.score(Segments((text, "a reference"), (("a reference",), (text + " x",))))
    assert all(math.isfinite(score) and 0 <= score <= 1 for score in scores.segments)


def test_text_that_normalizes_to_nothing_gets_zero() -> None:
    scores = METEOR().score(Segments(("\x01", "a"), (("\x01",), ("\x01",))))
    assert scores.segments.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("modules", ["exact+stem", ALL])
def test_long_segments_finish(modules: str) -> None:
    hypothesis = " ".join(HYPOTHESES * 20)
    reference = " ".join(FIRST * 20)
    scores = meteor(modules).score(
        Segments((hypothesis, hypothesis), ((reference,), (hypothesis,)))
    )
    assert 0 < scores.segments[0] < scores.segments[1] == 1.0


def test_the_signature_tells_all_settings() -> None:
    written = str(METEOR().signature(1))
    assert written.startswith(
        "meteor|nrefs:1|id:meteor-1.5-wo-en-norm-0.85_0.2_0.6_0.75-ex_st-1.0_0.6|version:"
    )
    others = {str(metric.signature(1)) for metric in (METEOR("exact"), METEOR(normalize="lc_only"))}
    assert len({written, *others}) == 3


def test_the_signature_identifies_the_tables_and_not_their_place(tmp_path: Path) -> None:
    original = meteor(ALL)
    folder = meteor_folder()
    assert folder is not None
    (tmp_path / "data").mkdir()
    for name in ("meteor-1.5.jar", "data/paraphrase-en.gz"):
        (tmp_path / name).symlink_to(folder / name)
    moved = METEOR(modules=ALL, tables=str(tmp_path))
    assert moved.signature(1) == original.signature(1)
    assert "|synonyms:5230f42e|paraphrases:af15bede|" in str(moved.signature(1))
    assert str(tmp_path) not in str(moved.signature(1))


@pytest.mark.parametrize(
    ("specification", "sentence"),
    [
        ("meteor:modules=exact+stemm", 'no module "stemm".* Did you mean "stem"'),
        ("meteor:modules=", 'no module ""'),
        ("meteor:modules=stem", "always with exact"),
        ("meteor:modules=stem+exact", "in the order exact"),
        ("meteor:modules=exact+exact", "in the order exact"),
        ("meteor:normalize=lower", '"lower" is not a value of normalize'),
        ("meteor:modules=exact+synonym,tables=/nowhere", "meteor-1.5.jar is not in /nowhere"),
    ],
)
def test_wrong_settings_are_told_of(specification: str, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        load_metric(specification)


def test_missing_tables_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.metrics.meteor.tables.find_spec", lambda _: None)
    with pytest.raises(AdequaError, match="pip install --no-deps pycocoevalcap"):
        METEOR(modules="exact+paraphrase")


def test_damaged_tables_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    jar, table = tmp_path / "meteor-1.5.jar", tmp_path / "data" / "paraphrase-en.gz"
    jar.write_bytes(b"not a zip archive")
    table.write_bytes(b"not gzip")
    for modules in ("exact+synonym", "exact+paraphrase"):
        with pytest.raises(AdequaError, match="cannot be read"):
            METEOR(modules=modules, tables=str(tmp_path))
    table.write_bytes(gzip.compress(b"0.1\na\nb\n" * 100)[:-20])
    with pytest.raises(AdequaError, match="ends early"):
        METEOR(modules="exact+paraphrase", tables=str(tmp_path)).score(ONE)
    with ZipFile(jar, "w") as archive:
        archive.writestr("synonym/other", "")
    with pytest.raises(AdequaError, match=r"english\.exceptions"):
        METEOR(modules="exact+synonym", tables=str(tmp_path))


def test_matches_are_looked_at_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    texts = [" ".join(random.choices("bcdfghjklm", k=200)) for _ in range(2)]
    segments = Segments((texts[0], "the cat"), ((texts[1],), ("a cat",)))
    exact = METEOR().score(segments)
    assert exact.remarks == ()
    monkeypatch.setattr(alignment, "MOST_MATCHES", 1000)
    metric = METEOR()
    limited = metric.score(segments)
    assert limited.remarks == (
        "meteor did not try all matches of 1 long text, which would take minutes.",
    )
    assert limited.segments[1] == exact.segments[1]
    assert limited.segments[0] == pytest.approx(exact.segments[0], abs=0.1)
    assert metric.score(segments.select([1])).remarks == ()
