"""The kinds of damage by name: their group, what severity means, and which are never trained on.

A new kind is one function in the file of its subject and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable

from adequa.damage import (
    case,
    characters,
    empty,
    grammar,
    hallucination,
    markup,
    meaning,
    names,
    negation,
    numbers,
    omission,
    order,
    pronouns,
    punctuation,
    repetition,
    roles,
    tense,
    units,
    untranslated,
    words,
)
from adequa.damage.base import Damaging, Perturbation
from adequa.errors import AdequaError, nearest

_SHARE = "share of the places"
_FROM_HALF = "share of the places, from half"
_LOST = "share of the text that is lost"

# Why these are kept out of training: what each does, no kind that is trained on does.
_KEPT_OUT = {
    "unit_changed": "kinds that are trained on change the number and leave its unit",
    "names_exchanged": "no word is new and none is missing; others bring names from outside",
    "subject_object_exchanged": "no word is new and the grammar stays right",
    "pronoun_swapped": "no other kind replaces personal pronouns or the words for men and women",
    "preposition_swapped": 'no other kind replaces "in", "of", "with" and their like',
    "spaces_dropped": "others change letters or cut words; here two words become one",
    "mojibake": "no other kind reads a character in a wrong encoding",
    "placeholder": "others leave nothing, marks alone or sentences of news; here is a note",
}


def _kind(group: str, function: Damaging, severity: str = _SHARE) -> Perturbation:
    """A line of the table: the name and the description are those of the function."""
    name = function.__name__
    description = (function.__doc__ or "").partition("\n")[0]
    return Perturbation(name, group, function, description, severity, _KEPT_OUT.get(name, ""))


_KINDS = (
    _kind("number", numbers.number_changed),
    _kind("number", numbers.number_word_changed),
    _kind("number", numbers.magnitude_changed),
    _kind("number", numbers.date_changed),
    _kind("number", units.unit_changed),
    _kind("negation", negation.negation_dropped),
    _kind("negation", negation.negation_added),
    _kind("name", names.name_swapped),
    _kind("name", names.names_exchanged, ""),
    _kind("omission", omission.word_omitted, "share of the places, up to half"),
    _kind("omission", omission.phrase_omitted, _LOST),
    _kind("omission", omission.clause_omitted, "share of the clauses"),
    _kind("omission", omission.beginning_omitted, _LOST),
    _kind("omission", omission.half_omitted, _LOST),
    _kind("omission", omission.ending_truncated, _LOST),
    _kind("hallucination", hallucination.other_sentence, ""),
    _kind("hallucination", hallucination.ending_hallucinated, "share that is another's"),
    _kind("hallucination", hallucination.content_added, "number of clauses"),
    _kind("hallucination", hallucination.detail_added, "number of details"),
    _kind("untranslated", untranslated.untranslated, ""),
    _kind("untranslated", untranslated.partly_untranslated, "share that is not translated"),
    _kind("untranslated", untranslated.words_untranslated),
    _kind("untranslated", untranslated.wrong_language, "number of sentences"),
    _kind("untranslated", untranslated.script_changed),
    _kind("empty", empty.empty, ""),
    _kind("empty", empty.only_punctuation, ""),
    _kind("empty", empty.placeholder, ""),
    _kind("meaning", meaning.antonym_swapped),
    _kind("meaning", meaning.quantifier_swapped),
    _kind("meaning", meaning.comparison_reversed),
    _kind("meaning", tense.tense_changed),
    _kind("meaning", roles.subject_object_exchanged, ""),
    _kind("pronoun", pronouns.pronoun_swapped),
    _kind("word", words.wrong_word),
    _kind("repetition", repetition.word_repeated),
    _kind("repetition", repetition.phrase_repeated, "number of times"),
    _kind("repetition", repetition.text_repeated, "number of times"),
    _kind("repetition", repetition.ending_looped, "where the loop begins"),
    _kind("order", order.word_salad, _FROM_HALF),
    _kind("order", order.neighbours_exchanged),
    _kind("order", order.phrase_moved, "length of the phrase"),
    _kind("grammar", grammar.article_wrong),
    _kind("grammar", grammar.word_form_wrong),
    _kind("grammar", grammar.preposition_swapped),
    _kind("characters", characters.typos),
    _kind("characters", characters.words_split),
    _kind("characters", characters.spaces_dropped),
    _kind("case", case.case_lowered, _FROM_HALF),
    _kind("case", case.case_raised),
    _kind("case", case.case_random),
    _kind("punctuation", punctuation.punctuation_dropped, _FROM_HALF),
    _kind("punctuation", punctuation.punctuation_wrong),
    _kind("punctuation", punctuation.quotes_broken),
    _kind("markup", markup.mojibake),
    _kind("markup", markup.unknown_words),
    _kind("markup", markup.markup_left),
    _kind("markup", markup.slots_unfilled),
    _kind("markup", markup.pieces_unjoined),
)

PERTURBATIONS: dict[str, Perturbation] = {kind.name: kind for kind in _KINDS}


def perturbation(name: str) -> Perturbation:
    """The kind of damage with this name.

    >>> perturbation("number_changed").group, perturbation("number_changed").critical
    ('number', True)
    """
    found = PERTURBATIONS.get(name)
    if found is None:
        raise AdequaError(
            f'There is no kind of damage named "{name}".{nearest(name, PERTURBATIONS)}'
            f" The kinds are {', '.join(PERTURBATIONS)}."
        )
    return found


def trained_kinds(leaving_out: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the kinds that may be trained on, without those of some groups.

    A metric that reads no capitals leaves out "case".

    >>> "case_raised" in trained_kinds(), "case_raised" in trained_kinds(["case"])
    (True, False)
    """
    groups = set(leaving_out)
    unknown = sorted(groups - {kind.group for kind in _KINDS})
    if unknown:
        known = dict.fromkeys(kind.group for kind in _KINDS)
        raise AdequaError(
            f'There is no group of damage named "{unknown[0]}".{nearest(unknown[0], known)}'
            f" The groups are {', '.join(known)}."
        )
    found = tuple(k.name for k in _KINDS if not k.held_out and k.group not in groups)
    if not found:
        raise AdequaError("No kind of damage is left to train on; spare fewer groups.")
    return found
