"""Tense: what is becomes what was, what happened what will happen."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, any_of, by_share, like
from adequa.damage.verbs import BASE_OF_PAST
from adequa.damage.wording import listed

_TENSES = {
    "is": "was", "are": "were", "was": "is", "were": "are", "am": "was",
    "isn't": "wasn't", "aren't": "weren't", "wasn't": "isn't", "weren't": "aren't",
    "doesn't": "didn't", "don't": "didn't", "didn't": "won't", "hasn't": "hadn't",
    "will be": "would have been", "does": "did", "won't": "didn't", "had been": "will be",
    "has been": "will be", "have been": "will be", "would be": "will be",
}  # fmt: skip
_TENSED = re.compile(
    rf"(?P<be>(?<![-\w])(?:{any_of(_TENSES)})(?![-\w'’]))"
    r"|(?<![-\w])(?P<has>has)(?![-\w'’])"
    rf"|(?<![^\W_])(?P<before>[^\W\d_]+) (?P<past>{any_of(BASE_OF_PAST)})(?![-\w]| by\b)",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(
    r" (?:\w+ly |also |now |not |since |already |never |always )?"
    r"(?:\w+e[dn]|\w+wn|begun|gone|done|become|come|made|said|put|set|won|lost|led|met|held|built"
    r"|sent|told|found|left|brought|kept)\b"
)
_NO_SUBJECT = frozenset(
    listed(
        "is are was were be been being has have had having am not and or to will would can could "
        "should must may might do does did by the a an of in on at for with from as this these "
        "those his her its their our my your all newly n't 's who which that when what recently"
    )
)


@by_share
def tense_changed(text: str, _random: Random, _context: Context) -> list[Edit]:
    """The time changes: "is" -> "was", "said" -> "will say", "will be" -> "was"."""
    edits = []
    for match in _TENSED.finditer(text):
        if match["be"]:
            edits += _be(text, match)
        elif match["has"]:
            # "Has said" and "had said" differ by little.
            other = "will have" if _PARTICIPLE.match(text, match.end()) else "had"
            edits.append(Edit(*match.span(), like(match["has"], other)))
        elif match["past"].islower() and match["before"].lower() not in _NO_SUBJECT:
            edits.append(Edit(*match.span("past"), f"will {BASE_OF_PAST[match['past']]}"))
    return edits


def _be(text: str, match: re.Match[str]) -> list[Edit]:
    """Another tense of an auxiliary; "AM" is a time of the day."""
    written = match["be"].replace("’", "'")
    if written == "AM":
        return []
    of_me = text.endswith("I ", 0, match.start()) and written == "was"
    return [Edit(*match.span(), "am" if of_me else like(written, _TENSES[written.lower()]))]
