"""The kinds of damage by name: their group, what severity means, and which are never trained on.

A new kind is one function in the chapter of its subject and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable

from adequa.damage import content, entities, grammar, meaning, surface, symbols
from adequa.damage.base import DamageFunction, Perturbation
from adequa.errors import AdequaError, nearest

SYMBOLS = "symbols"  # the group of damage to emoji and other symbols
_POSITIONS = "fraction of positions"
_FROM_HALF = "fraction of positions, at least half"
_OMITTED = "fraction of the text omitted"

# Never trained on: each does something that no kind in training does.
_TEST_ONLY_REASONS = {
    "unit_changed": "kinds that are trained on change the number and keep its unit",
    "names_exchanged": "no word is new and none is missing; other kinds bring in new names",
    "subject_object_exchanged": "no word is new and the grammar stays right",
    "pronoun_swapped": "no other kind replaces personal pronouns or words such as man and woman",
    "preposition_swapped": 'no other kind replaces "in", "of", "with" and other prepositions',
    "spaces_dropped": "other kinds change letters or split words; this one joins two words",
    "mojibake": "no other kind decodes characters in a wrong encoding",
    "placeholder": "other kinds leave nothing, punctuation or news sentences; this one a note",
}


def _kind(group: str, function: DamageFunction, severity: str = _POSITIONS) -> Perturbation:
    """A kind of damage, named after its function."""
    name = function.__name__
    return Perturbation(name, group, function, severity, _TEST_ONLY_REASONS.get(name, ""))


_KINDS = (
    _kind("number", entities.number_changed),
    _kind("number", entities.number_word_changed),
    _kind("number", entities.magnitude_changed),
    _kind("number", entities.date_changed),
    _kind("number", entities.unit_changed),
    _kind("negation", meaning.negation_dropped),
    _kind("negation", meaning.negation_added),
    _kind("name", entities.name_swapped),
    _kind("name", entities.names_exchanged, ""),
    _kind("omission", content.word_omitted, "fraction of positions, at most half"),
    _kind("omission", content.phrase_omitted, _OMITTED),
    _kind("omission", content.clause_omitted, "fraction of clauses omitted"),
    _kind("omission", content.beginning_omitted, _OMITTED),
    _kind("omission", content.half_omitted, _OMITTED),
    _kind("omission", content.ending_truncated, _OMITTED),
    _kind("hallucination", content.other_sentence, ""),
    _kind("hallucination", content.ending_hallucinated, "fraction of the text replaced"),
    _kind("hallucination", content.content_added, "number of clauses"),
    _kind("hallucination", content.detail_added, "number of details"),
    _kind("untranslated", content.untranslated, ""),
    _kind("untranslated", content.partly_untranslated, "fraction of the text untranslated"),
    _kind("untranslated", content.words_untranslated),
    _kind("untranslated", content.wrong_language, "number of sentences"),
    _kind("untranslated", content.script_changed),
    _kind("empty", content.empty, ""),
    _kind("empty", content.only_punctuation, ""),
    _kind("empty", content.placeholder, ""),
    _kind("meaning", meaning.antonym_swapped),
    _kind("meaning", meaning.quantifier_swapped),
    _kind("meaning", meaning.comparison_reversed),
    _kind("meaning", meaning.tense_changed),
    _kind("meaning", meaning.subject_object_exchanged, ""),
    _kind("pronoun", entities.pronoun_swapped),
    _kind("word", meaning.wrong_word),
    _kind("repetition", content.word_repeated),
    _kind("repetition", content.phrase_repeated, "number of repetitions"),
    _kind("repetition", content.text_repeated, "number of repetitions"),
    _kind("repetition", content.ending_looped, "fraction of the text replaced"),
    _kind("order", grammar.word_salad, _FROM_HALF),
    _kind("order", grammar.neighbours_exchanged),
    _kind("order", grammar.phrase_moved, "length of the phrase"),
    _kind("grammar", grammar.article_wrong),
    _kind("grammar", grammar.word_form_wrong),
    _kind("grammar", grammar.preposition_swapped),
    _kind("characters", surface.typos),
    _kind("characters", surface.words_split),
    _kind("characters", surface.spaces_dropped),
    _kind("case", surface.case_lowered, _FROM_HALF),
    _kind("case", surface.case_raised),
    _kind("case", surface.case_random),
    _kind("punctuation", surface.punctuation_dropped, _FROM_HALF),
    _kind("punctuation", surface.punctuation_wrong),
    _kind("punctuation", surface.quotes_broken),
    _kind("markup", surface.mojibake),
    _kind("markup", surface.unknown_words),
    _kind("markup", surface.markup_left),
    _kind("markup", surface.slots_unfilled),
    _kind("markup", surface.pieces_unjoined),
    _kind(SYMBOLS, symbols.symbol_changed),
    _kind(SYMBOLS, symbols.symbol_dropped),
)

PERTURBATIONS: dict[str, Perturbation] = {kind.name: kind for kind in _KINDS}


def perturbation(name: str) -> Perturbation:
    """The kind of damage with this name.

    >>> perturbation("number_changed").group, perturbation("number_changed").critical
    ('number', True)
    """
    kind = PERTURBATIONS.get(name)
    if kind is None:
        raise AdequaError(
            f'There is no kind of damage named "{name}".{nearest(name, PERTURBATIONS)}'
            f" The kinds are {', '.join(PERTURBATIONS)}."
        )
    return kind


def trained_kinds(excluded_groups: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the kinds that may be trained on, without those of the excluded groups.

    A metric that ignores letter case excludes "case".

    >>> "case_raised" in trained_kinds(), "case_raised" in trained_kinds(["case"])
    (True, False)
    """
    excluded = set(excluded_groups)
    groups = dict.fromkeys(kind.group for kind in _KINDS)
    unknown = sorted(excluded - set(groups))
    if unknown:
        raise AdequaError(
            f'There is no group of damage named "{unknown[0]}".{nearest(unknown[0], groups)}'
            f" The groups are {', '.join(groups)}."
        )
    kinds = tuple(
        kind.name for kind in _KINDS if not kind.is_test_only and kind.group not in excluded
    )
    if not kinds:
        raise AdequaError("No kind of damage is left to train on; spare fewer groups.")
    return kinds
