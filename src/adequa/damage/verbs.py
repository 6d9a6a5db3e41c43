"""A small table of English verbs: base form, third person and past, and what leads to what."""

from __future__ import annotations

from adequa.damage.wording import listed

# Base and past of common irregular verbs whose past is no noun, adjective or base form.
_IRREGULAR = {
    "say": "said", "tell": "told", "think": "thought", "know": "knew", "see": "saw", "go": "went",
    "come": "came", "become": "became", "begin": "began", "take": "took", "give": "gave",
    "get": "got", "make": "made", "find": "found", "keep": "kept", "hold": "held",
    "bring": "brought", "write": "wrote", "stand": "stood", "hear": "heard", "mean": "meant",
    "meet": "met", "run": "ran", "pay": "paid", "sit": "sat", "speak": "spoke", "lead": "led",
    "grow": "grew", "lose": "lost", "fall": "fell", "send": "sent", "build": "built",
    "understand": "understood", "draw": "drew", "break": "broke", "spend": "spent", "rise": "rose",
    "drive": "drove", "buy": "bought", "wear": "wore", "choose": "chose", "win": "won",
    "eat": "ate", "teach": "taught", "sell": "sold", "catch": "caught", "fight": "fought",
    "throw": "threw", "fly": "flew", "forget": "forgot", "sing": "sang", "swim": "swam",
    "sleep": "slept", "show": "showed", "feel": "felt",
}  # fmt: skip
# Regular verbs that are followed by what is said, wanted or done, so that "-ed" is rarely passive.
_REGULAR = listed(
    "add agree announce appear argue arrive ask believe claim confirm continue decide demand "
    "deny die emphasise emphasize expect explain happen help hope insist like live look love "
    "manage marry move need note plan promise receive refuse remain report seem start state "
    "stop suggest stress talk travel try turn visit wait walk want warn watch work"
)
_THIRD_IS_A_NOUN = frozenset(
    listed(
        "look plan work state stop start report move turn visit walk love demand note help hope "
        "need claim promise like show run break draw fall drive fight throw fly rise build stress "
        "talk travel try watch feel find sleep fly sing win catch mean pay buy"
    )
)


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base[-1] == "y" and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{base[-1]}ed" if base in {"plan", "stop"} else f"{base}ed"


def third_person(base: str) -> str:
    """The form after "she".

    >>> [third_person(base) for base in ("go", "try", "say", "catch", "have")]
    ['goes', 'tries', 'says', 'catches', 'has']
    """
    if base == "have":
        return "has"
    if base[-1] == "y" and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("o", "s", "x", "z", "ch", "sh")) else f"{base}s"


PAST = _IRREGULAR | {base: _regular_past(base) for base in _REGULAR}
BASE_OF_PAST = {past: base for base, past in PAST.items()}
BASE_OF_THIRD = {third_person(base): base for base in PAST if base not in _THIRD_IS_A_NOUN}
