"""Numbers: other digits, other number words, other sizes, other dates, other units."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, any_of, by_share, like, replacements
from adequa.damage.wording import listed

_MONTHS = listed(
    "January February March April May June July August September October November December"
)
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

# A numeral with its thousands and decimals; times are one numeral; letters may follow, not precede.
_NUMERAL = re.compile(
    r"(?<![^\W\d_])(?<![\d.,:])(?:(?P<time>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:])"
    r"|\d+(?:[.,]\d+)*)(?P<ordinal>(?:st|nd|rd|th)\b)?",
    re.ASCII,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_BEFORE = re.compile(rf"(?:{any_of(_MONTHS)}) \Z")
_MONTH_AFTER = re.compile(rf"(?:st|nd|rd|th)?(?: of)? (?:{any_of(_MONTHS)})\b")
_HOUR_AFTER = re.compile(r" ?[ap]\.?m\b")
_NOON, _LAST_DAY, _DAY_DIGITS, _LONGEST_MONTH_NAME = 12, 28, 2, 12


@by_share
def number_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Numerals get another value of the same format: "3,500" -> "8,200", "26th" -> "11th"."""
    return replacements(text, _NUMERAL, lambda match: _other_numeral(match, random))


def _other_numeral(match: re.Match[str], random: Random) -> str:
    digits, text = match[0].rstrip("stndrh"), match.string
    if match["time"]:
        hours = (1, 13) if int(match["time"]) <= _NOON else (13, 24)
        return f"{_other(int(match['time']), *hours, random)}:{match['minute']}"
    if match["ordinal"]:
        return _ordinal(_other_digits(digits, random))
    if _YEAR.fullmatch(digits):
        return str(_other(int(digits), 1950, 2025, random))
    if len(digits) <= _DAY_DIGITS and _is_day_of_month(text, match.start(), match.end()):
        return str(_other(int(digits), 1, _LAST_DAY + 1, random))
    if len(digits) <= _DAY_DIGITS and _HOUR_AFTER.match(text, match.end()):
        return str(_other(int(digits), 1, _NOON + 1, random))
    return _other_digits(digits, random)


def _is_day_of_month(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _LONGEST_MONTH_NAME) : start]
    return bool(_MONTH_BEFORE.search(before) or _MONTH_AFTER.match(text, end))


def _other(value: int, low: int, high: int, random: Random) -> int:
    """Another whole number, from `low` to below `high`."""
    other = random.randrange(low, high - 1)
    return other + (other >= value)


def _other_digits(written: str, random: Random) -> str:
    """Other digits; the first that is not zero surely changes, and zeros stay zeros.

    >>> _other_digits("0.50", Random(1)) in {f"0.{digit}0" for digit in "12346789"}
    True
    """
    if not written.strip("0.,"):
        return f"{random.randint(1, 9)}{written[1:]}"
    made, changed = [], False
    for character in written:
        if character in "0.,":
            made.append(character)
        elif changed:
            made.append(str(random.randint(1, 9)))
        else:
            made.append(str(_other(int(character), 1, 10, random)))
            changed = True
    return "".join(made)


def _ordinal(digits: str) -> str:
    """Digits with the ending they are spoken with.

    >>> [_ordinal(digits) for digits in ("1", "12", "22", "143")]
    ['1st', '12th', '22nd', '143rd']
    """
    teen = digits[-2:-1] == "1"
    return digits + {"1": "st", "2": "nd", "3": "rd"}.get("" if teen else digits[-1], "th")


_SCALED = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?![.,]?\d)(?!(?:st|nd|rd|th)\b)", re.ASCII)
_SCALE_WORDS = ("hundred", "thousand", "million", "billion", "trillion")
_SCALE_WORD = re.compile(rf"\b(?P<word>{any_of(_SCALE_WORDS)})(?P<plural>s?)\b", re.IGNORECASE)


@by_share
def magnitude_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Numbers get many times larger or smaller: "3,500" -> "350", "million" -> "billion"."""
    numerals = [
        Edit(*match.span(), _scaled(match[0], random))
        for match in _SCALED.finditer(text)
        if _has_a_size(text, match)
    ]
    return numerals + replacements(
        text,
        _SCALE_WORD,
        lambda match: (
            like(match["word"], _another(match["word"].lower(), _SCALE_WORDS, random))
            + match["plural"]
        ),
    )


def _has_a_size(text: str, match: re.Match[str]) -> bool:
    """Whether a numeral tells an amount: no zero, no date, no part of a code, a time or a score."""
    start, end = match.span()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    alone = not (before.isalnum() or before in {".", ",", ":", "-", "/", "_"})
    followed = after.isalnum() or after in {":", "/", "_"}
    date = bool(_YEAR.fullmatch(match[0])) or _is_day_of_month(text, start, end)
    return alone and not followed and not date and bool(match[0].strip("0.,"))


def _scaled(written: str, random: Random) -> str:
    """The number with a nought more or less.

    >>> _scaled("3,500", Random(0)) in {"35,000", "350", "350,000", "35"}
    True
    """
    whole, point, decimals = written.replace(",", "").partition(".")
    commas = "," in written or len(whole) > 4  # noqa: PLR2004
    if point:
        return _grouped(f"{whole}{decimals}".lstrip("0"), commas)  # 12.3 -> 123
    noughts = len(whole) - len(whole.rstrip("0"))
    options = [f"{whole}0", f"{whole}00"]
    options += [whole[:-drop] for drop in (1, 2) if drop <= noughts]
    return _grouped(random.choice(options), commas)


def _grouped(digits: str, commas: bool) -> str:
    if not commas:
        return digits
    first = len(digits) % 3
    return ",".join(filter(None, [digits[:first], *re.findall("...", digits[first:])]))


_CLASSES = (
    ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    [
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ],
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"],
    ["once", "twice"],
    ["double", "triple", "quadruple"],
    ["doubled", "tripled", "quadrupled", "halved"],
)
_CLASS_OF = {word: words for words in reversed(_CLASSES) for word in words}
_NUMBER_WORD = re.compile(rf"\b(?:{any_of(_CLASS_OF)})\b(?!['’]s)", re.IGNORECASE)
_NO_NUMBER_BEFORE = re.compile(r"(?:\b(?:at|a|one|every|split|per|for the|each) |-)\Z", re.I)
_NO_NUMBER_AFTER = re.compile(
    r" (?:of all|and foremost|time|few|half|lady|name|aid|hand)\b|,|-", re.I
)
_FRACTIONS = ("one-", "two-", "one ", "two ", " a ")  # of which a third is a part
_UNSURE = frozenset({"first", "second", "once"})


@by_share
def number_word_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Numbers in words get another value: "three" -> "seven", "third" -> "fifth"."""
    return replacements(text, _NUMBER_WORD, lambda match: _other_number_word(match, random))


def _other_number_word(match: re.Match[str], random: Random) -> str | None:
    """Another word of the same class; "first" and "second" only where they surely count."""
    word, text = match[0].lower(), match.string
    if word in _UNSURE and (
        word == "once"
        or match.start() == 0
        or _NO_NUMBER_BEFORE.search(text[max(0, match.start() - 8) : match.start()])
        or _NO_NUMBER_AFTER.match(text, match.end())
    ):
        return None
    if word == "third" and text.endswith(_FRACTIONS, 0, match.start()):
        return None
    return like(match[0], _another(word, _CLASS_OF[word], random))


def _another(word: str, words: list[str] | tuple[str, ...], random: Random) -> str:
    """A word of the list that is not this one."""
    at = words.index(word)
    return words[_other(at, 0, len(words), random)]


# May and March are words too: they are months only beside a number or after "in", "last" and such.
_DATE = re.compile(
    rf"\b(?:{any_of(_DAYS)}|{any_of(set(_MONTHS) - {'May', 'March'})}"
    r"|(?:(?<=\bin )|(?<=\blast )|(?<=\bnext )|(?<=\bof )|(?<=\d )|(?<=\bsince )|(?<=th ))"
    r"(?:May|March)|(?:May|March)(?= \d))(?=s?\b)"
)


@by_share
def date_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Days of the week and months become others: "Monday" -> "Thursday"."""
    return replacements(
        text,
        _DATE,
        lambda match: _another(match[0], _DAYS if match[0] in _DAYS else _MONTHS, random),
    )
