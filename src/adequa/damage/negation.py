"""Negation: what is denied becomes asserted, and what is asserted becomes denied."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import (
    Edit,
    any_of,
    applied,
    begun_like,
    by_share,
    chosen,
    like,
    replacements,
)
from adequa.damage.verbs import BASE_OF_PAST, BASE_OF_THIRD
from adequa.damage.wording import listed

_CONTRACTED = re.compile(r"\b(?P<verb>[A-Za-z]+?) ?n[’']t\b", re.IGNORECASE)
_STEMS = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}  # the others stay as they are
_AUXILIARIES = frozenset(
    listed(
        "do does did is are was were has have had can could wo would sha should must might need "
        "ca ai may dare ought"
    )
)
_POSITIVE = {
    "cannot": "can", "never": "always", "nobody": "everybody", "nothing": "everything",
    "nowhere": "everywhere", "none": "all", "without": "with", "neither": "each",
    "no one": "everyone", "no-one": "everyone", "no longer": "still", "no more": "more",
    "unable": "able", "unlikely": "likely", "impossible": "possible", "failed to": "managed to",
    "fails to": "manages to", "fail to": "manage to", "refused to": "agreed to",
    "refuses to": "agrees to",
}  # fmt: skip
_DENIAL = re.compile(
    rf"\b(?:(?P<neither>neither) (?P<one>[^.;!?]{{1,60}}?) nor\b|(?:{any_of(_POSITIVE)})\b)",
    re.IGNORECASE,
)
# Not: "not only", "whether or not", "not least", "if not".
_NOT = re.compile(
    r"(?<!\bor )(?<!\bif )(?<!\bwhy )\bnot\b(?! (?:only|least|just|to mention)\b)",
    re.IGNORECASE,
)
# Not: "No. 5", "No 5", "no longer", "no one", "no matter", "no sooner", "no later", "no doubt".
_NO = re.compile(
    r"\bno\b(?! ?\d|\. ?\d|-| (?:longer|one|more|matter|sooner|later|less|doubt|wonder)\b)",
    re.IGNORECASE,
)


def negation_dropped(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Negations go: "don't" -> "do", "cannot" -> "can", "no plan" -> "a plan", "not" goes."""
    edits = _denials(text)
    return begun_like(text, applied(text, chosen(edits, severity, random))) if edits else None


def _denials(text: str) -> list[Edit]:
    edits = replacements(text, _CONTRACTED, _uncontracted)
    edits += replacements(text, _DENIAL, _affirmed)
    edits += [_without_not(text, match) for match in _NOT.finditer(text)]
    return edits + replacements(text, _NO, _some)


def _affirmed(match: re.Match[str]) -> str:
    if match["neither"]:
        return f"{like(match['neither'], 'both')} {match['one']} and"
    return like(match[0], _POSITIVE[match[0].lower()])


def _uncontracted(match: re.Match[str]) -> str | None:
    verb = match["verb"]
    if verb.lower() not in _AUXILIARIES:
        return None
    return like(verb, _STEMS[verb.lower()]) if verb.lower() in _STEMS else verb


def _without_not(text: str, match: re.Match[str]) -> Edit:
    start, end = match.span()
    return Edit(start, end + 1, "") if text[end : end + 1].isspace() else Edit(start - 1, end, "")


def _some(match: re.Match[str]) -> str:
    """What stands for "no": "yes" as an answer, else an article or "some" by the next word."""
    following = match.string[match.end() :]
    word = re.match(r" ([A-Za-z]+)", following)
    if word is None or re.match(r"[,.!?\"”]", following):
        return like(match[0], "yes")
    noun = word[1].lower()
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        return like(match[0], "some")
    if noun in _MASS:
        return like(match[0], "some")
    article = "an" if noun[0] in "aeiou" else "a"
    return article.upper() if match[0] == "NO" else like(match[0], article)


_MASS = frozenset(
    listed(
        "evidence information money time need access news help support progress interest damage "
        "people reason sense work food water contact use rain room trouble life hope"
    )
)

_ASSERTING = listed(
    "is are was were will would can could should must may might has have had does did do am"
)
_PERFECT = frozenset({"has", "have", "had"})  # "has a car" would need "does not have"
_NOT_ADDED_AFTER = frozenset(
    listed("to not never no nobody nothing none neither nor what how why where let hardly")
)
_ASSERTED = re.compile(
    rf"(?<![^\W_])(?P<before>[^\W\d_]+[,;]? )(?P<verb>{any_of(_ASSERTING)})"
    r"(?= (?P<after>[^\W\d_]+['’]?[a-z]*))"
)
_SHORT_ASSERTED = re.compile(
    r"\b(?:(?:it|that|he|she|there|here)['’]s|(?:we|you|they)['’]re|I['’]m)"
    r"(?= [a-z])(?! (?:not|no|never)\b)",
    re.IGNORECASE,
)
_MAIN_VERB = re.compile(
    rf"(?<![^\W_])(?P<before>[^\W\d_]+) (?P<verb>{any_of([*BASE_OF_PAST, *BASE_OF_THIRD])})"
    r"(?= (?!by\b)[^\W_])"
)
_NO_SUBJECT = frozenset(
    listed(
        "is are was were be been being has have had having am not and or to will would can could "
        "should must may might do does did by the a an of in on at for with from as this these "
        "those his her its their our my your all newly also then hardly barely n't 's said"
    )
)
_PARTICIPLE = re.compile(
    r"(?:been|become|come|made|said|put|set|had|got|led|met|won|lost|\w+e[dn])"
)


@by_share
def negation_added(text: str, _random: Random, _context: Context) -> list[Edit]:
    """What is asserted is denied: "is" -> "is not", "can" -> "cannot", "said" -> "did not say"."""
    edits, end_of_last = [], -1
    for match in _ASSERTED.finditer(text):
        # Of "will have been" only the first takes the negation.
        if match.start() >= end_of_last and _can_deny(match):
            start, end = match.span("verb")
            edits.append(
                Edit(start, end, "cannot" if match["verb"] == "can" else text[start:end] + " not")
            )
            end_of_last = end + 1
    edits += replacements(text, _SHORT_ASSERTED, lambda match: f"{match[0]} not")
    return edits or _denied_main_verbs(text)


def _can_deny(match: re.Match[str]) -> bool:
    before, after = match["before"].strip(" ,;").lower(), match["after"].lower()
    if before in _NOT_ADDED_AFTER or after in {
        "not",
        "no",
        "n't",
        "never",
        "nothing",
        "nobody",
        "just",
        "only",
    }:
        return False
    if before in _ASSERTING:
        return False
    return match["verb"] not in _PERFECT or bool(_PARTICIPLE.fullmatch(after))


def _denied_main_verbs(text: str) -> list[Edit]:
    edits = []
    for match in _MAIN_VERB.finditer(text):
        verb = match["verb"]
        if match["before"].lower() in _NO_SUBJECT:
            continue
        helper = "did" if verb in BASE_OF_PAST else "does"
        base = BASE_OF_PAST.get(verb) or BASE_OF_THIRD[verb]
        edits.append(Edit(*match.span("verb"), f"{helper} not {base}"))
    return edits
