"""Laws that hold for every kind of damage, and damage to many texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.damage.apply import SEVERITIES, DamagedTexts, damage_text, damage_texts
from adequa.damage.base import Context
from adequa.damage.registry import PERTURBATIONS, trained_kinds

CORPUS = (
    "Farmers harvested the wheat early this year, because storms were near.",
    "In 2014, Anna Novak sold 3,500 houses to a bank in Prague.",
    "",
    "Yes.",
)
SOURCE = "Der Minister besuchte am 5. Mai nicht das neue Krankenhaus in Wien."
# Words that give every kind something to do.
WORDS = re.findall(
    r"\S+",
    """The the a an minister Prague Anna Novak did not don't can't no never 3,500 12.3 2019 5 km $30
three first million Monday May is was has been will said went more before most all he her we
increased safe big, house. “never” (so) in from to of at hospital visited was built by because and
, . café naïve 北京 😀 ın ıs ſix mıllion Kilo İt שלום العربية - – ... quickly children""",
)
sentences = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
texts = st.one_of(st.text(max_size=60), sentences)
seeds = st.integers(0, 2**32)


def rows(damaged: DamagedTexts, row: int) -> list[tuple[str, float, str]]:
    """The damage to one text."""
    columns = zip(damaged.rows, damaged.kinds, damaged.severities, damaged.texts, strict=True)
    return [
        (kind, float(severity), text) for index, kind, severity, text in columns if index == row
    ]


def all_kinds(texts: list[str], seed: int, **options: Any) -> DamagedTexts:
    return damage_texts(texts, seed=seed, sources=[SOURCE] * len(texts), corpus=CORPUS, **options)


@given(texts, seeds)
def test_every_kind_changes_the_text(text: str, seed: int) -> None:
    """Nor does any kind raise, whatever the text."""
    damaged = all_kinds([text], seed)
    assert all(result.split() != text.split() for result in damaged.texts)
    assert set(damaged.kinds) <= set(PERTURBATIONS)


@given(texts, texts, texts, seeds)
@settings(max_examples=40)
def test_damage_depends_on_the_text_and_the_seed_alone(
    before: str, text: str, after: str, seed: int
) -> None:
    alone = rows(all_kinds([text], seed), 0)
    assert alone == rows(all_kinds([text], seed), 0)
    assert alone == rows(all_kinds([before, text, after], seed), 1)
    kinds = list(reversed(PERTURBATIONS))  # nor on what else is done
    assert sorted(alone) == sorted(rows(all_kinds([text], seed, kinds=kinds), 0))
    few = rows(all_kinds([before, text], seed, per_text=3), 1)
    assert len(few) == min(3, len(alone))
    assert set(few) <= set(alone)


def test_seeds_differ() -> None:
    text = "The minister visited the new hospital yesterday."
    assert len({damage_text(text, "word_salad", 1.0, seed=seed) for seed in range(20)}) > 15


@pytest.mark.parametrize(
    "text",
    ["a " * 5000, " " * 9000, "9" * 9000, "9," * 5000, "x" * 9000, "." * 9000, '"' * 9000,
     "'" * 9000, "Ann " * 3000, "the man saw " * 1000, "neither " * 1000, "市" * 9000, "😀" * 9000,
     "\u202eשלום עולם\u202c " * 500, "\x00\t\n\r\x0b" * 500, "e\u0301" * 4000, "a-" * 5000],
    ids=["a", "spaces", "nine", "nines", "x", "dots", "quotes", "apostrophes", "names", "clauses",
         "neither", "chinese", "emoji", "right-to-left", "controls", "accents", "hyphens"],
)  # fmt: skip
def test_very_long_and_odd_texts(text: str) -> None:
    """No pattern backtracks without end over a long text."""
    assert all(result.split() != text.split() for result in all_kinds([text], 1).texts)


def test_a_lone_surrogate() -> None:
    assert len(all_kinds(["The minister\ud800 visited 5 houses."], 1)) > 10


# A size that grows with the severity; negative where the text gets shorter.
GROWING: dict[str, Callable[[str, str], float]] = {
    **dict.fromkeys(
        ["word_omitted", "phrase_omitted", "clause_omitted", "beginning_omitted", "half_omitted",
         "spaces_dropped"],
        lambda _, result: -len(result.split()),
    ),
    **dict.fromkeys(
        ["word_repeated", "text_repeated", "phrase_repeated", "words_split", "pieces_unjoined",
         "detail_added"],
        lambda _, result: len(result.split()),
    ),
    **dict.fromkeys(
        ["number_changed", "number_word_changed", "name_swapped", "unknown_words", "typos",
         "case_raised", "case_lowered", "script_changed", "words_untranslated", "wrong_word",
         "pronoun_swapped", "preposition_swapped", "date_changed"],
        lambda text, result: sum(map(str.__ne__, text.split(), result.split())),
    ),
    "punctuation_dropped": lambda _, result: -len(re.findall(r"[,.]", result)),
    "ending_truncated": lambda _, result: -len(result),
}  # fmt: skip


@pytest.mark.parametrize("kind", GROWING)
def test_more_severe_damage_is_at_least_as_much(kind: str) -> None:
    text = (
        "On Monday, he and seven friends from Prague, where 12 people live, saw that she sold 350 "
        "old houses in June, because her brother from Vienna had asked for three of them again."
    )
    for seed in range(5):
        damaged = [
            damage_text(text, kind, severity, seed=seed, context=Context(SOURCE, CORPUS))
            for severity in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
        ]
        sizes = [GROWING[kind](text, result) for result in damaged if result is not None]
        assert len(sizes) == 6
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[-1]


def test_columns() -> None:
    damaged = damage_texts(["It cost 5 euros.", "No."], ["number_changed", "empty"], seed=1)
    assert damaged.rows.tolist() == [0, 0, 1]
    assert damaged.kinds == ("number_changed", "empty", "empty")
    assert set(damaged.severities.tolist()) <= set(SEVERITIES)
    assert len(damaged) == len(damaged.texts) == 3
    assert damage_texts([], seed=1).rows.dtype == np.intp


def test_a_single_severity() -> None:
    damaged = damage_texts(["It cost 5 euros."] * 5, ["typos"], seed=1, severities=[0.3])
    assert damaged.severities.tolist() == [0.3] * 5


def test_severities_are_drawn_evenly() -> None:
    many = [f"It cost {number} euros." for number in range(400)]
    counts = Counter(damage_texts(many, ["typos"], seed=1).severities.tolist())
    assert set(counts) == set(SEVERITIES)
    assert min(counts.values()) > 60  # of 100 on average


def test_per_text_draws_from_all_kinds() -> None:
    many = [f"The minister visited {number} hospitals yesterday." for number in range(600)]
    damaged = damage_texts(many, seed=1, corpus=CORPUS, per_text=1)
    assert damaged.rows.tolist() == list(range(600))
    assert len(set(damaged.kinds)) > 30


@pytest.mark.parametrize(
    "kind", [kind for kind in PERTURBATIONS if not PERTURBATIONS[kind].severity_meaning]
)
def test_severity_has_no_effect_where_it_has_no_meaning(kind: str) -> None:
    text = "Yesterday, Anna Novak asked Bob to visit the hospital. The dog chased the cat."
    context = Context(SOURCE, CORPUS)
    damaged = {damage_text(text, kind, s, seed=3, context=context) for s in (0.1, 0.5, 1.0)}
    assert len(damaged) == 1
    assert None not in damaged


def test_no_kinds() -> None:
    assert not len(damage_texts(["It cost 300 euros."], (), seed=0))


def test_groups_are_drawn_before_kinds() -> None:
    """Kinds that few texts allow are not crowded out by groups of many kinds."""
    texts = [f"He did not pay {number} euros in 1999." for number in range(200, 800)]
    damaged = damage_texts(texts, trained_kinds(), seed=0, per_text=1)
    groups = Counter(PERTURBATIONS[kind].group for kind in damaged.kinds)
    assert min(groups["negation"], groups["number"]) > 600 / len(groups) / 2
