"""Laws of all kinds of damage, and the table of kinds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.damage.base import CRITICAL, Context
from adequa.damage.edits import Edit, applied, chosen, portion
from adequa.damage.registry import PERTURBATIONS, perturbation, trained_kinds
from adequa.damage.sentences import SEVERITIES, Damage, damaged, damaged_text
from adequa.damage.wording import listed
from adequa.errors import AdequaError

OTHERS = (
    "Farmers harvested the wheat early this year, because storms were near.",
    "In 2014, Anna Novak sold 3,500 houses to a bank in Prague.",
    "",
    "Yes.",
)
SOURCE = "Der Minister besuchte am 5. Mai nicht das neue Krankenhaus in Wien."
# Words that give every kind something to do.
WORDS = listed(
    """The the a an minister Prague Anna Novak did not don't can't no never 3,500 12.3 2019 5 km
$30 three first million Monday May is was has been will said went more before most all he her we
increased safe big, house. “never” (so) in from to of at hospital visited was built by because and
, . café naïve 北京 😀 ın ıs ſix mıllion Kilo İt שלום العربية - – ... quickly children"""
)
sentences = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
texts = st.one_of(st.text(max_size=60), sentences)
seeds = st.integers(0, 2**32)


def rows(made: Damage, row: int) -> list[tuple[str, float, str]]:
    """The damage to one text."""
    columns = zip(made.rows, made.kinds, made.severities, made.texts, strict=True)
    return [(kind, float(severity), text) for at, kind, severity, text in columns if at == row]


def all_kinds(given: list[str], seed: int, **options: Any) -> Damage:
    return damaged(given, seed=seed, sources=[SOURCE] * len(given), others=OTHERS, **options)


@given(texts, seeds)
def test_no_damage_leaves_a_text_as_it_was(text: str, seed: int) -> None:
    """Nor does any kind raise, whatever the text."""
    made = all_kinds([text], seed)
    assert all(result.split() != text.split() for result in made.texts)
    assert set(made.kinds) <= set(PERTURBATIONS)


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
    few = rows(all_kinds([before, text], seed, each=3), 1)
    assert len(few) == min(3, len(alone))
    assert set(few) <= set(alone)


def test_seeds_differ() -> None:
    text = "The minister visited the new hospital yesterday."
    assert len({damaged_text(text, "word_salad", 1.0, seed=seed) for seed in range(20)}) > 15


@pytest.mark.parametrize(
    "text",
    ["a " * 5000, " " * 9000, "9" * 9000, "9," * 5000, "x" * 9000, "." * 9000, '"' * 9000,
     "'" * 9000, "Ann " * 3000, "the man saw " * 1000, "neither " * 1000, "市" * 9000, "😀" * 9000,
     "\u202eשלום עולם\u202c " * 500, "\x00\t\n\r\x0b" * 500, "e\u0301" * 4000, "a-" * 5000],
    ids=["a", "spaces", "nine", "nines", "x", "dots", "quotes", "apostrophes", "names", "clauses",
         "neither", "chinese", "emoji", "right-to-left", "controls", "accents", "hyphens"],
)  # fmt: skip
def test_very_long_and_odd_texts(text: str) -> None:
    """A pattern that goes back and forth over a long text would not end."""
    assert all(result.split() != text.split() for result in all_kinds([text], 1).texts)


def test_a_lone_surrogate_does_no_harm() -> None:
    assert len(all_kinds(["The minister\ud800 visited 5 houses."], 1)) > 10


# What grows with the severity, or shrinks where it is counted below zero.
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
        made = [
            damaged_text(text, kind, severity, seed=seed, context=Context(SOURCE, OTHERS))
            for severity in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
        ]
        sizes = [GROWING[kind](text, result) for result in made if result is not None]
        assert len(sizes) == 6
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[-1]


@given(st.integers(1, 40), st.floats(0.01, 1), st.floats(0.01, 1), seeds)
def test_milder_damage_is_a_part_of_graver(count: int, one: float, other: float, seed: int) -> None:
    edits = [Edit(at, at + 1, "") for at in range(count)]
    milder, graver = (chosen(edits, severity, Random(seed)) for severity in sorted((one, other)))
    assert set(milder) <= set(graver)
    assert len(milder) == portion(count, min(one, other)) >= 1
    assert len(applied("x" * count, graver)) == count - len(graver)


@given(
    st.integers(0, 10**7),
    st.sampled_from(["{:d}", "{:,d}", "{:d}%", "{:d}.25", "${:,d}", "{:d}th"]),
    seeds,
)
def test_a_changed_number_has_another_value_and_the_same_format(
    number: int, written: str, seed: int
) -> None:
    before = written.format(number)
    after = damaged_text(f"There were {before} in all.", "number_changed", 1.0, seed=seed)
    assert after is not None
    found = after.removeprefix("There were ").removesuffix(" in all.")
    masks = [re.sub(r"st|nd|rd|th", "th", re.sub(r"\d", "9", text)) for text in (before, found)]
    assert masks[0] == masks[1]
    values = [float(re.sub(r"[^\d.]", "", text)) for text in (before, found)]
    assert values[0] != values[1]


def test_the_columns_say_what_was_done() -> None:
    made = damaged(["It cost 5 euros.", "No."], ["number_changed", "empty"], seed=1)
    assert made.rows.tolist() == [0, 0, 1]
    assert made.kinds == ("number_changed", "empty", "empty")
    assert set(made.severities.tolist()) <= set(SEVERITIES)
    assert len(made) == len(made.texts) == 3
    assert damaged([], seed=1).rows.dtype == np.intp


def test_a_severity_can_be_given() -> None:
    made = damaged(["It cost 5 euros."] * 5, ["typos"], seed=1, severities=[0.3])
    assert made.severities.tolist() == [0.3] * 5


def test_severities_are_drawn_evenly() -> None:
    many = [f"It cost {number} euros." for number in range(400)]
    drawn = Counter(damaged(many, ["typos"], seed=1).severities.tolist())
    assert set(drawn) == set(SEVERITIES)
    assert min(drawn.values()) > 60  # of 100 on average


def test_each_draws_from_all_kinds() -> None:
    many = [f"The minister visited {number} hospitals yesterday." for number in range(600)]
    made = damaged(many, seed=1, others=OTHERS, each=1)
    assert made.rows.tolist() == list(range(600))
    assert len(set(made.kinds)) > 30


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kinds": ["number_chnged"]}, 'named "number_chnged". Did you mean "number_changed"?'),
        ({"kinds": ["xyzzy"]}, "The kinds are number_changed, "),
        ({"severities": [0.0]}, "lies above 0 and is at most 1, not 0."),
        ({"severities": [0.5, 1.5]}, "not 1.5."),
        ({"severities": [float("nan")]}, "not nan."),
        ({"severities": []}, "at least one is needed"),
        ({"sources": [None, None]}, "1 texts but 2 sources"),
        ({"each": 0}, "must not be 0"),
    ],
    ids=["near", "unknown", "zero", "large", "nan", "none", "sources", "each"],
)
def test_bad_input_is_named(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AdequaError, match=re.escape(sentence)):
        damaged(["He came."], seed=1, **options)


def test_bad_input_for_one_text_is_named() -> None:
    with pytest.raises(AdequaError, match='Did you mean "typos"'):
        damaged_text("He came.", "typo", 1.0, seed=1)
    with pytest.raises(AdequaError, match="not 2"):
        damaged_text("He came.", "typos", 2.0, seed=1)
    with pytest.raises(AdequaError, match='"cse".* Did you mean "case"'):
        trained_kinds(["cse"])


def test_there_are_enough_kinds_of_each_sort() -> None:
    kinds = PERTURBATIONS.values()
    assert len(kinds) >= 28
    held_out = [kind for kind in kinds if kind.held_out]
    assert len(held_out) >= 7
    assert len({kind.group for kind in held_out}) >= 7
    assert {kind.group for kind in kinds if kind.critical} == CRITICAL
    assert not {kind.name for kind in held_out} & set(trained_kinds())
    assert len(held_out) + len(trained_kinds()) == len(kinds)
    # Of each critical group there are kinds to train on.
    assert {perturbation(name).group for name in trained_kinds()} >= CRITICAL
    for kind in kinds:
        assert kind.description.endswith((".", ".”")), kind.name
        assert kind.function.__name__ == kind.name


@pytest.mark.parametrize(
    "kind", [kind for kind in PERTURBATIONS if not PERTURBATIONS[kind].severity]
)
def test_severity_changes_nothing_where_none_is_meant(kind: str) -> None:
    text = "Yesterday, Anna Novak asked Bob to visit the hospital. The dog chased the cat."
    context = Context(SOURCE, OTHERS)
    made = {damaged_text(text, kind, s, seed=3, context=context) for s in (0.1, 0.5, 1.0)}
    assert len(made) == 1
    assert None not in made


def test_nothing_left_to_damage_with() -> None:
    groups = {kind.group for kind in PERTURBATIONS.values()}
    for spared in (groups, groups - {"pronoun"}):  # whose only kind is never trained on
        with pytest.raises(AdequaError, match="No kind of damage is left"):
            trained_kinds(spared)
    assert not len(damaged(["It cost 300 euros."], (), seed=0))


def test_groups_are_drawn_before_kinds() -> None:
    """Kinds that few texts allow are not crowded out by groups of many kinds."""
    texts = [f"He did not pay {number} euros in 1999." for number in range(200, 800)]
    made = damaged(texts, trained_kinds(), seed=0, each=1)
    groups = Counter(PERTURBATIONS[kind].group for kind in made.kinds)
    assert min(groups["negation"], groups["number"]) > 600 / len(groups) / 2
