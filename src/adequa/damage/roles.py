"""Roles: who does something and to whom it is done change places."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, any_of, applied, begun_like
from adequa.damage.wording import begins_sentence, listed

_IRREGULAR = listed(
    "beat bought brought built caught chose cut drew drove fought found gave held hit hurt knew "
    "led left lost made met paid read saw sent shot showed sold sued taught told took won wrote "
    "blames calls controls criticises defeats employs follows funds helps invites joins knows "
    "leads likes loves meets needs owns praises protects replaces represents supports thanks "
    "threatens urges visits warns welcomes"
)
_NOUN = r"(?!(?:to|of|and|or|in|on|at|for|with|by|as|that|who|which|is|was|so|own)\b)[a-z]{3,}"
_NOUN_PHRASE = (
    rf"(?:(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Tt]heir|[Oo]ur|[Mm]y|[Ii]ts)(?: {_NOUN}){{1,3}}?"
    r"|(?!(?:This|That|It|There|Here|What|Who|These|Those|Both|Each|None)\b)"
    r"[A-Z][a-z][\w’'-]*(?: [A-Z][\w’'-]+){0,2}|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|him|them|us|me)"
)
# A verb that has its object at once after it: in "-ed", a common irregular one, or a passive.
_VERB = (
    r"(?:(?:(?:will|would|can|could|must|should|may) be|(?:has|have|had) been|was|were|is|are)"
    r" [a-z]+(?:ed|en|wn|lt|nt|ht) by"
    r"|(?:will|would|could|can|must|should|may|might) (?:not )?(?!be\b|have\b)[a-z]{3,}"
    rf"|(?:has |have |had |did not )?(?:(?!need|inde|happen|last|di)[a-z]{{2,}}ed"
    rf"|{any_of(_IRREGULAR)}))"
)
_SUBJECT_OBJECT = re.compile(
    rf"(?<![\w’'-])(?P<subject>{_NOUN_PHRASE}) (?P<verb>{_VERB})"
    rf" (?P<object>{_NOUN_PHRASE})(?=[,.;:!?\"”]| (?:in|on|at|for|with|by|after|before|because|and"
    r"|but|when|while|from|during|over|as|to|that|who|last|this|yesterday|into|about)\b|\s*\Z)"
)
_AS_OBJECT = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me"}
_AS_SUBJECT = {"him": "he", "them": "they", "us": "we", "me": "I", "her": "she"}
# What may stand before a subject; after "of" or "a" it is a part of something longer.
_BEFORE_SUBJECT = re.compile(
    r"(?:\A|[,.;:!?\"“”(–—-] ?|\d |\b(?:that|but|when|because|if|while|where|although|since|until"
    r"|then|so|how|why|what|said|says|yesterday|today|Monday|Tuesday|Wednesday|Thursday|Friday"
    r"|Saturday|Sunday|year|month|week|day|time|which|whom|once|meanwhile|however) )\Z",
    re.IGNORECASE,
)
_TIMES = re.compile(r"\b(?:days?|weeks?|months?|years?|time|night|morning|evening|weekend|way)\b")
_ARTICLES = frozenset(listed("the a an his her their our my its this that"))


def subject_object_exchanged(
    text: str, _severity: float, random: Random, _context: Context
) -> str | None:
    """Who did it and whom it was done to change places: "A dog bit him" -> "He bit a dog"."""
    found = [match for match in _SUBJECT_OBJECT.finditer(text) if _distinct(match)]
    if not found:
        return None
    match = random.choice(found)
    subject, verb, done_to = match["subject"], match["verb"], match["object"]
    new_subject = _AS_SUBJECT.get(done_to.lower(), done_to)
    first = subject.partition(" ")[0]
    if begins_sentence(text, match.start()):
        new_subject = new_subject[0].upper() + new_subject[1:]
        if first.lower() in _ARTICLES | set(_AS_OBJECT):
            subject = subject[0].lower() + subject[1:]
    new_object = _AS_OBJECT.get(subject.lower(), subject)
    exchanged = f"{new_subject} {verb} {new_object}"
    return begun_like(text, applied(text, [Edit(*match.span(), exchanged)]))


def _distinct(match: re.Match[str]) -> bool:
    """Whether there are two that can change places."""
    subject, done_to = match["subject"], match["object"]
    if subject.lower() == done_to.lower() or done_to.lower() in _AS_OBJECT:
        return False
    if _TIMES.search(done_to) or subject.lower() in _AS_SUBJECT:
        return False
    before = match.string[max(0, match.start() - 12) : match.start()]
    return bool(_BEFORE_SUBJECT.search(before)) and not match["verb"].endswith("eed")
