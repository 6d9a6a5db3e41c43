"""Meaning: negation, opposites, quantifiers, comparisons, tense, roles and unrelated words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from adequa.damage.base import (
    BASE_OF_PAST,
    BASE_OF_THIRD_PERSON,
    Context,
    Edit,
    alternation,
    apply_edits,
    begins_sentence,
    by_fraction,
    capitalize_like,
    content_spans,
    content_words,
    match_case,
    replace_matches,
    select_edits,
    word_lists,
)

_LISTS = word_lists("meaning")

# Negation dropped

_CONTRACTED = re.compile(r"\b(?P<verb>[A-Za-z]+?) ?n[’']t\b", re.IGNORECASE)
_FULL_FORMS = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}  # the others stay as they are
_AUXILIARIES = frozenset(_LISTS["auxiliaries_with_nt"])
_AFFIRMATIVE: dict[str, str] = _LISTS["affirmatives"]
_NEGATIVE = re.compile(
    r"\b(?:(?P<neither>neither) (?P<one>[^.;!?]{1,60}?) nor\b"
    rf"|(?:{alternation(_AFFIRMATIVE)})\b)",
    re.IGNORECASE,
)
# Except in "not only", "whether or not", "not least", "if not".
_NOT = re.compile(
    r"(?<!\bor )(?<!\bif )(?<!\bwhy )\bnot\b(?! (?:only|least|just|to mention)\b)",
    re.IGNORECASE,
)
# Except in "No. 5", "No 5", "no longer", "no one", "no matter", "no sooner", "no doubt".
_NO = re.compile(
    r"\bno\b(?! ?\d|\. ?\d|-| (?:longer|one|more|matter|sooner|later|less|doubt|wonder)\b)",
    re.IGNORECASE,
)
_MASS_NOUNS = frozenset(_LISTS["mass_nouns"])


def negation_dropped(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Drop negations: "don't" -> "do", "cannot" -> "can", "no plan" -> "a plan"."""
    edits = replace_matches(text, _CONTRACTED, _without_contraction)
    edits += replace_matches(text, _NEGATIVE, _affirmative)
    edits += [_without_not(text, match) for match in _NOT.finditer(text)]
    edits += replace_matches(text, _NO, _instead_of_no)
    if not edits:
        return None
    return capitalize_like(text, apply_edits(text, select_edits(edits, severity, random)))


def _without_contraction(match: re.Match[str]) -> str | None:
    verb = match["verb"]
    if verb.lower() not in _AUXILIARIES:
        return None
    return match_case(verb, _FULL_FORMS[verb.lower()]) if verb.lower() in _FULL_FORMS else verb


def _affirmative(match: re.Match[str]) -> str:
    if match["neither"]:
        return f"{match_case(match['neither'], 'both')} {match['one']} and"
    return match_case(match[0], _AFFIRMATIVE[match[0].lower()])


def _without_not(text: str, match: re.Match[str]) -> Edit:
    start, end = match.span()
    return Edit(start, end + 1, "") if text[end : end + 1].isspace() else Edit(start - 1, end, "")


def _instead_of_no(match: re.Match[str]) -> str:
    """Replacement for "no": "yes" as an answer, else an article or "some" by the next word."""
    following = match.string[match.end() :]
    word = re.match(r" ([A-Za-z]+)", following)
    if word is None or re.match(r"[,.!?\"”]", following):
        return match_case(match[0], "yes")
    noun = word[1].lower()
    plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    if plural or noun in _MASS_NOUNS:
        return match_case(match[0], "some")
    article = "an" if noun[0] in "aeiou" else "a"
    return article.upper() if match[0] == "NO" else match_case(match[0], article)


# Negation added

_FINITE_AUXILIARIES = frozenset(_LISTS["finite_auxiliaries"])
_PERFECT = frozenset({"has", "have", "had"})  # "has a car" would need "does not have"
_NO_NEGATION_AFTER = frozenset(_LISTS["no_negation_after"])
_NO_NEGATION_BEFORE = frozenset({"not", "no", "n't", "never", "nothing", "nobody", "just", "only"})
_ASSERTION = re.compile(
    rf"(?<![^\W_])(?P<before>[^\W\d_]+[,;]? )(?P<verb>{alternation(_FINITE_AUXILIARIES)})"
    r"(?= (?P<after>[^\W\d_]+['’]?[a-z]*))"
)
_CONTRACTED_ASSERTION = re.compile(
    r"\b(?:(?:it|that|he|she|there|here)['’]s|(?:we|you|they)['’]re|I['’]m)"
    r"(?= [a-z])(?! (?:not|no|never)\b)",
    re.IGNORECASE,
)
_MAIN_VERB = re.compile(
    rf"(?<![^\W_])(?P<before>[^\W\d_]+)"
    rf" (?P<verb>{alternation([*BASE_OF_PAST, *BASE_OF_THIRD_PERSON])})(?= (?!by\b)[^\W_])"
)
_NOT_A_SUBJECT = frozenset(_LISTS["not_subjects"])
_NOT_BEFORE_MAIN_VERB = _NOT_A_SUBJECT | {"also", "then", "hardly", "barely", "said"}
_PARTICIPLE = re.compile(
    r"(?:been|become|come|made|said|put|set|had|got|led|met|won|lost|\w+e[dn])"
)


@by_fraction
def negation_added(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Negate assertions: "is" -> "is not", "can" -> "cannot", "said" -> "did not say"."""
    edits, end_of_last = [], -1
    for match in _ASSERTION.finditer(text):
        # In "will have been" only the first takes the negation.
        if match.start() >= end_of_last and _can_negate(match):
            verb, (start, end) = match["verb"], match.span("verb")
            edits.append(Edit(start, end, "cannot" if verb == "can" else f"{verb} not"))
            end_of_last = end + 1
    edits += replace_matches(text, _CONTRACTED_ASSERTION, lambda match: f"{match[0]} not")
    return edits or _negated_main_verbs(text)


def _can_negate(match: re.Match[str]) -> bool:
    before, after = match["before"].strip(" ,;").lower(), match["after"].lower()
    if before in _NO_NEGATION_AFTER or after in _NO_NEGATION_BEFORE:
        return False
    if before in _FINITE_AUXILIARIES:
        return False
    return match["verb"] not in _PERFECT or bool(_PARTICIPLE.fullmatch(after))


def _negated_main_verbs(text: str) -> list[Edit]:
    edits = []
    for match in _MAIN_VERB.finditer(text):
        verb = match["verb"]
        if match["before"].lower() in _NOT_BEFORE_MAIN_VERB:
            continue
        auxiliary = "did" if verb in BASE_OF_PAST else "does"
        base = BASE_OF_PAST.get(verb) or BASE_OF_THIRD_PERSON[verb]
        edits.append(Edit(*match.span("verb"), f"{auxiliary} not {base}"))
    return edits


# Opposites


def _both_ways(pairs: Sequence[Sequence[str]]) -> dict[str, str]:
    """Each word of the pairs with its first partner."""
    partners: dict[str, str] = {}
    for first, second in pairs:
        partners.setdefault(first, second)
        partners.setdefault(second, first)
    return partners


# Not replaced: words of other kinds, or often another word ("the left field", "in support of").
_AMBIGUOUS = frozenset(_LISTS["ambiguous_words"])
_OPPOSITE = {
    word: opposite
    for word, opposite in _both_ways(_LISTS["antonyms"]).items()
    if word not in _AMBIGUOUS
}
# Where these words mean something else: "so far", "at first", "six years old", "a good many".
_IDIOM = re.compile(
    r"\b(?:so far|far from|at (?:first|last|the end)|first of all|next to last|last (?:year|week"
    r"|month|night|time|summer|winter|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
    r"|(?:years?|months?|weeks?|days?) old|as long as|how long|in the end|by the end|a good (?:many"
    r"|deal|while)|New (?:York|Zealand|Year|Delhi|Jersey|Orleans|Mexico|England)|as well|one day"
    r"|(?:per|each|the other|to this|every) day|(?:those|these) days|short of|light of|hard to"
    r"|high school|true to|open to)\b|-(?:old|day|long|hard|end)\b",
    re.IGNORECASE,
)
_WORD_WITH_ARTICLE = re.compile(r"(?<![-\w])(?:(?P<article>[Aa]n?) )?(?P<word>[A-Za-z]+)(?![-\w])")


@by_fraction
def antonym_swapped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Replace words by their opposites: "increased" -> "decreased", "safe" -> "dangerous"."""
    idioms = [match.span() for match in _IDIOM.finditer(text)]
    return [
        Edit(*match.span(), _opposite(match))
        for match in _WORD_WITH_ARTICLE.finditer(text)
        if match["word"].lower() in _OPPOSITE
        and not any(start <= match.start("word") < end for start, end in idioms)
        and (match["word"].islower() or begins_sentence(text, match.start("word")))
    ]


def _opposite(match: re.Match[str]) -> str:
    """The opposite of a word, with the article that fits it."""
    opposite = match_case(match["word"], _OPPOSITE[match["word"].lower()])
    if match["article"] is None:
        return opposite
    article = "an" if opposite[0] in "aeiou" else "a"
    return f"{match_case(match['article'], article)} {opposite}"


# Quantifiers

_QUANTIFIERS: dict[str, list[str]] = _LISTS["quantifiers"]
_QUANTIFIER = re.compile(
    r"(?<!\bat )(?<!\bafter )(?<!\babove )(?<!\bof )(?<!\bthe )(?<!\bnot )(?<!\bhow )(?<!\bso )"
    r"(?<!\bquite )(?<!\ba )(?<!\bthem )(?<!\bus )(?<!\btoo )(?<!\bas )(?<!\bvery )(?<!\bin )"
    r"(?<!\bwe )(?<!\bthey )(?<!\byou )(?<![-\w])"
    rf"(?:{alternation(_QUANTIFIERS)})"
    r"(?![-\w'’])(?! (?:over|along|at once|kinds? of|sorts? of|other|time|right|but|in all|too"
    r"|likely|certainly|probably|important(?:ly)?|recent(?:ly)?|of (?:it|this|that|a sudden)"
    r"|about|any\w+|I|you|we|he|she|it|they|this|that|those|these|day|night|year|week)\b)",
    re.IGNORECASE,
)


@by_fraction
def quantifier_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change quantifiers: "all" -> "some", "most" -> "few", "always" -> "rarely"."""
    return replace_matches(
        text,
        _QUANTIFIER,
        lambda match: match_case(match[0], random.choice(_QUANTIFIERS[match[0].lower()])),
    )


# Comparisons

_REVERSED = _both_ways(_LISTS["comparisons"])
_COMPARISON = re.compile(
    r"(?<!\bonce )(?<!\bup )(?<!\bever )(?<!['’]s )(?<!\bno )(?<!\bany )"
    r"(?<!\bsooner or )(?<![-\w])"
    rf"(?:over(?= \$?\d)|under(?= \$?\d)"
    rf"|{alternation(word for word in _REVERSED if word not in {'over', 'under', 'least'})})"
    r"(?![-\w])(?! all\b| or less\b| and more\b| of (?:the|all)\b)",
    re.IGNORECASE,
)


@by_fraction
def comparison_reversed(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Reverse comparisons: "more" -> "less", "before" -> "after", "at least" -> "at most"."""
    return replace_matches(
        text,
        _COMPARISON,
        lambda match: (
            match_case(match[0], _REVERSED[match[0].lower()])
            if match[0].islower() or begins_sentence(text, match.start())
            else None
        ),
    )


# Tense

_TENSES: dict[str, str] = _LISTS["tenses"]
_TENSED = re.compile(
    rf"(?P<be>(?<![-\w])(?:{alternation(_TENSES)})(?![-\w'’]))"
    r"|(?<![-\w])(?P<has>has)(?![-\w'’])"
    rf"|(?<![^\W_])(?P<before>[^\W\d_]+) (?P<past>{alternation(BASE_OF_PAST)})(?![-\w]| by\b)",
    re.IGNORECASE,
)
_PARTICIPLE_AFTER = re.compile(
    r" (?:\w+ly |also |now |not |since |already |never |always )?"
    r"(?:\w+e[dn]|\w+wn|begun|gone|done|become|come|made|said|put|set|won|lost|led|met|held|built"
    r"|sent|told|found|left|brought|kept)\b"
)
_NOT_BEFORE_PAST = _NOT_A_SUBJECT | {"who", "which", "that", "when", "what", "recently"}


@by_fraction
def tense_changed(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Change the tense: "is" -> "was", "said" -> "will say", "has been" -> "will be"."""
    edits = []
    for match in _TENSED.finditer(text):
        if match["be"]:
            edits += _different_auxiliary(text, match)
        elif match["has"]:
            # "Has said" and "had said" differ too little.
            new = "will have" if _PARTICIPLE_AFTER.match(text, match.end()) else "had"
            edits.append(Edit(*match.span(), match_case(match["has"], new)))
        elif match["past"].islower() and match["before"].lower() not in _NOT_BEFORE_PAST:
            edits.append(Edit(*match.span("past"), f"will {BASE_OF_PAST[match['past']]}"))
    return edits


def _different_auxiliary(text: str, match: re.Match[str]) -> list[Edit]:
    """Another tense of an auxiliary; "AM" is a time of the day."""
    verb = match["be"].replace("’", "'")
    if verb == "AM":
        return []
    i_was = text.endswith("I ", 0, match.start()) and verb == "was"
    return [Edit(*match.span(), "am" if i_was else match_case(verb, _TENSES[verb.lower()]))]


# Subject and object

_NOUN = r"(?!(?:to|of|and|or|in|on|at|for|with|by|as|that|who|which|is|was|so|own)\b)[a-z]{3,}"
_NOUN_PHRASE = (
    rf"(?:(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Tt]heir|[Oo]ur|[Mm]y|[Ii]ts)(?: {_NOUN}){{1,3}}?"
    r"|(?!(?:This|That|It|There|Here|What|Who|These|Those|Both|Each|None)\b)"
    r"[A-Z][a-z][\w’'-]*(?: [A-Z][\w’'-]+){0,2}|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|him|them|us|me)"
)
# A verb with its object right after it: one in "-ed", a common irregular one, or a passive.
_VERB = (
    r"(?:(?:(?:will|would|can|could|must|should|may) be|(?:has|have|had) been|was|were|is|are)"
    r" [a-z]+(?:ed|en|wn|lt|nt|ht) by"
    r"|(?:will|would|could|can|must|should|may|might) (?:not )?(?!be\b|have\b)[a-z]{3,}"
    rf"|(?:has |have |had |did not )?(?:(?!need|inde|happen|last|di)[a-z]{{2,}}ed"
    rf"|{alternation(_LISTS['transitive_verbs'])}))"
)
_SUBJECT_VERB_OBJECT = re.compile(
    rf"(?<![\w’'-])(?P<subject>{_NOUN_PHRASE}) (?P<verb>{_VERB})"
    rf" (?P<object>{_NOUN_PHRASE})(?=[,.;:!?\"”]| (?:in|on|at|for|with|by|after|before|because|and"
    r"|but|when|while|from|during|over|as|to|that|who|last|this|yesterday|into|about)\b|\s*\Z)"
)
_OBJECT_FORM = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me"}
_SUBJECT_FORM = {"him": "he", "them": "they", "us": "we", "me": "I", "her": "she"}
# What may stand before a subject; after "of" or "a" it is a part of something longer.
_BEFORE_SUBJECT = re.compile(
    r"(?:\A|[,.;:!?\"“”(–—-] ?|\d |\b(?:that|but|when|because|if|while|where|although|since|until"
    r"|then|so|how|why|what|said|says|yesterday|today|Monday|Tuesday|Wednesday|Thursday|Friday"
    r"|Saturday|Sunday|year|month|week|day|time|which|whom|once|meanwhile|however) )\Z",
    re.IGNORECASE,
)
_TIME_EXPRESSION = re.compile(
    r"\b(?:days?|weeks?|months?|years?|time|night|morning|evening|weekend|way)\b"
)
_DETERMINERS = frozenset(_LISTS["determiners"])


def subject_object_exchanged(
    text: str, _severity: float, random: Random, _context: Context
) -> str | None:
    """Exchange subject and object: "A dog bit him" -> "He bit a dog"."""
    matches = [match for match in _SUBJECT_VERB_OBJECT.finditer(text) if _has_two_roles(match)]
    if not matches:
        return None
    match = random.choice(matches)
    subject, verb, object_ = match["subject"], match["verb"], match["object"]
    new_subject = _SUBJECT_FORM.get(object_.lower(), object_)
    if begins_sentence(text, match.start()):
        new_subject = new_subject[0].upper() + new_subject[1:]
        if subject.partition(" ")[0].lower() in _DETERMINERS | set(_OBJECT_FORM):
            subject = subject[0].lower() + subject[1:]
    new_object = _OBJECT_FORM.get(subject.lower(), subject)
    exchanged = f"{new_subject} {verb} {new_object}"
    return capitalize_like(text, apply_edits(text, [Edit(*match.span(), exchanged)]))


def _has_two_roles(match: re.Match[str]) -> bool:
    """Whether subject and object are two participants that can change roles."""
    subject, object_ = match["subject"], match["object"]
    if subject.lower() == object_.lower() or object_.lower() in _OBJECT_FORM:
        return False
    if _TIME_EXPRESSION.search(object_) or subject.lower() in _SUBJECT_FORM:
        return False
    before = match.string[max(0, match.start() - 12) : match.start()]
    return bool(_BEFORE_SUBJECT.search(before)) and not match["verb"].endswith("eed")


# Unrelated words

_UNRELATED_WORDS: list[str] = _LISTS["unrelated_words"]
_MIN_OPTIONS = 5  # words of another sentence to draw from


@by_fraction
def wrong_word(text: str, random: Random, context: Context) -> list[Edit]:
    """Replace content words by unrelated ones, from another sentence of the corpus if possible."""
    options = _unrelated_words(text, random, context)
    return [
        Edit(start, end, match_case(text[start:end], random.choice(options)))
        for start, end in content_spans(text)
        if text[start:end].isalpha() and not text[start:end].isupper()
    ]


def _unrelated_words(text: str, random: Random, context: Context) -> Sequence[str]:
    own = content_words(text)
    if context.corpus:
        sentence = context.corpus[random.randrange(len(context.corpus))]
        words = (sentence[slice(*span)] for span in content_spans(sentence))
        options = [word for word in words if word.isalpha() and word.islower() and word not in own]
        if len(options) >= _MIN_OPTIONS:
            return options
    return [word for word in _UNRELATED_WORDS if word not in own] or _UNRELATED_WORDS
