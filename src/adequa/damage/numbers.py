"""Numbers: numerals, magnitudes, number words, dates, units and currencies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from adequa.damage.base import (
    Context,
    Edit,
    alternation,
    by_fraction,
    match_case,
    replace_matches,
)
from adequa.damage.english import word_lists

_LISTS = word_lists("numbers")
_MONTHS: list[str] = _LISTS["months"]
_WEEKDAYS: list[str] = _LISTS["weekdays"]

# Numerals

# A numeral with its thousands and decimals; times are one numeral; letters may follow, not precede.
_NUMERAL = re.compile(
    r"(?<![^\W\d_])(?<![\d.,:])(?:(?P<time>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:])"
    r"|\d+(?:[.,]\d+)*)(?P<ordinal>(?:st|nd|rd|th)\b)?",
    re.ASCII,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_BEFORE = re.compile(rf"(?:{alternation(_MONTHS)}) \Z")
_MONTH_AFTER = re.compile(rf"(?:st|nd|rd|th)?(?: of)? (?:{alternation(_MONTHS)})\b")
_HOUR_AFTER = re.compile(r" ?[ap]\.?m\b")
_NOON, _LAST_DAY, _MAX_DAY_DIGITS, _MAX_MONTH_CHARACTERS = 12, 28, 2, 12


@by_fraction
def number_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change numerals, keeping their format: "3,500" -> "8,200", "26th" -> "11th"."""
    return replace_matches(text, _NUMERAL, lambda match: _different_numeral(match, random))


def _different_numeral(match: re.Match[str], random: Random) -> str:
    digits, text = match[0].rstrip("stndrh"), match.string
    if match["time"]:
        hours = (1, 13) if int(match["time"]) <= _NOON else (13, 24)
        return f"{_different_int(int(match['time']), *hours, random)}:{match['minute']}"
    if match["ordinal"]:
        return _ordinal(_different_digits(digits, random))
    if _YEAR.fullmatch(digits):
        return str(_different_int(int(digits), 1950, 2025, random))
    if len(digits) <= _MAX_DAY_DIGITS and _is_day_of_month(text, match.start(), match.end()):
        return str(_different_int(int(digits), 1, _LAST_DAY + 1, random))
    if len(digits) <= _MAX_DAY_DIGITS and _HOUR_AFTER.match(text, match.end()):
        return str(_different_int(int(digits), 1, _NOON + 1, random))
    return _different_digits(digits, random)


def _is_day_of_month(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _MAX_MONTH_CHARACTERS) : start]
    return bool(_MONTH_BEFORE.search(before) or _MONTH_AFTER.match(text, end))


def _different_int(value: int, low: int, high: int, random: Random) -> int:
    """A random whole number from `low` to below `high`, other than the value."""
    different = random.randrange(low, high - 1)
    return different + (different >= value)


def _different_digits(numeral: str, random: Random) -> str:
    """The numeral with other digits; the first that is not zero surely changes, zeros stay.

    >>> _different_digits("0.50", Random(1)) in {f"0.{digit}0" for digit in "12346789"}
    True
    """
    if not numeral.strip("0.,"):
        return f"{random.randint(1, 9)}{numeral[1:]}"
    characters, changed = [], False
    for character in numeral:
        if character in "0.,":
            characters.append(character)
        elif changed:
            characters.append(str(random.randint(1, 9)))
        else:
            characters.append(str(_different_int(int(character), 1, 10, random)))
            changed = True
    return "".join(characters)


def _ordinal(digits: str) -> str:
    """Digits with their English ordinal ending.

    >>> [_ordinal(digits) for digits in ("1", "12", "22", "143")]
    ['1st', '12th', '22nd', '143rd']
    """
    teen = digits[-2:-1] == "1"
    return digits + {"1": "st", "2": "nd", "3": "rd"}.get("" if teen else digits[-1], "th")


# Magnitudes

_SCALABLE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?![.,]?\d)(?!(?:st|nd|rd|th)\b)", re.ASCII)
_SCALE_WORDS: list[str] = _LISTS["scale_words"]
_SCALE_WORD = re.compile(rf"\b(?P<word>{alternation(_SCALE_WORDS)})(?P<plural>s?)\b", re.IGNORECASE)


@by_fraction
def magnitude_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Make numbers many times larger or smaller: "3,500" -> "350", "million" -> "billion"."""
    numerals = [
        Edit(*match.span(), _rescaled(match[0], random))
        for match in _SCALABLE.finditer(text)
        if _is_amount(text, match)
    ]
    return numerals + replace_matches(
        text,
        _SCALE_WORD,
        lambda match: (
            match_case(match["word"], _different_word(match["word"].lower(), _SCALE_WORDS, random))
            + match["plural"]
        ),
    )


def _is_amount(text: str, match: re.Match[str]) -> bool:
    """Whether a numeral is an amount: no zero, no date, no part of a code, a time or a score."""
    start, end = match.span()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    preceded = before.isalnum() or before in {".", ",", ":", "-", "/", "_"}
    followed = after.isalnum() or after in {":", "/", "_"}
    date = bool(_YEAR.fullmatch(match[0])) or _is_day_of_month(text, start, end)
    return not preceded and not followed and not date and bool(match[0].strip("0.,"))


def _rescaled(numeral: str, random: Random) -> str:
    """The numeral with one or two zeros more or less, or without its decimal point.

    >>> _rescaled("3,500", Random(0)) in {"35,000", "350", "350,000", "35"}
    True
    """
    whole, point, decimals = numeral.replace(",", "").partition(".")
    commas = "," in numeral or len(whole) > 4  # noqa: PLR2004
    if point:
        return _group_thousands(f"{whole}{decimals}".lstrip("0"), commas)  # 12.3 -> 123
    zeros = len(whole) - len(whole.rstrip("0"))
    options = [f"{whole}0", f"{whole}00"]
    options += [whole[:-count] for count in (1, 2) if count <= zeros]
    return _group_thousands(random.choice(options), commas)


def _group_thousands(digits: str, commas: bool) -> str:
    if not commas:
        return digits
    first = len(digits) % 3
    return ",".join(filter(None, [digits[:first], *re.findall("...", digits[first:])]))


# Number words

_NUMBER_CLASSES: list[list[str]] = _LISTS["number_words"]
_CLASS_OF = {word: words for words in reversed(_NUMBER_CLASSES) for word in words}
_NUMBER_WORD = re.compile(rf"\b(?:{alternation(_CLASS_OF)})\b(?!['’]s)", re.IGNORECASE)
_NO_NUMBER_BEFORE = re.compile(r"(?:\b(?:at|a|one|every|split|per|for the|each) |-)\Z", re.I)
_NO_NUMBER_AFTER = re.compile(
    r" (?:of all|and foremost|time|few|half|lady|name|aid|hand)\b|,|-", re.I
)
_BEFORE_FRACTION = ("one-", "two-", "one ", "two ", " a ")  # "one third", "a third"
_AMBIGUOUS = frozenset({"first", "second", "once"})


@by_fraction
def number_word_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change numbers written as words: "three" -> "seven", "third" -> "fifth"."""
    return replace_matches(text, _NUMBER_WORD, lambda match: _different_number_word(match, random))


def _different_number_word(match: re.Match[str], random: Random) -> str | None:
    """Another word of the same class; "first" and "second" only where they surely count."""
    word, text = match[0].lower(), match.string
    if word in _AMBIGUOUS and (
        word == "once"
        or match.start() == 0
        or _NO_NUMBER_BEFORE.search(text[max(0, match.start() - 8) : match.start()])
        or _NO_NUMBER_AFTER.match(text, match.end())
    ):
        return None
    if word == "third" and text.endswith(_BEFORE_FRACTION, 0, match.start()):
        return None
    return match_case(match[0], _different_word(word, _CLASS_OF[word], random))


def _different_word(word: str, words: Sequence[str], random: Random) -> str:
    """A random word of the list, other than this one."""
    return words[_different_int(words.index(word), 0, len(words), random)]


# Dates

# May and March are words too: they are months only beside a number or after "in", "last" and such.
_DATE = re.compile(
    rf"\b(?:{alternation(_WEEKDAYS)}|{alternation(set(_MONTHS) - {'May', 'March'})}"
    r"|(?:(?<=\bin )|(?<=\blast )|(?<=\bnext )|(?<=\bof )|(?<=\d )|(?<=\bsince )|(?<=th ))"
    r"(?:May|March)|(?:May|March)(?= \d))(?=s?\b)"
)


@by_fraction
def date_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change days of the week and months: "Monday" -> "Thursday"."""
    return replace_matches(
        text,
        _DATE,
        lambda match: _different_word(
            match[0], _WEEKDAYS if match[0] in _WEEKDAYS else _MONTHS, random
        ),
    )


# Units and currencies

_UNIT_CLASSES: list[list[str]] = _LISTS["units"]
_SYMBOL_CLASSES: list[list[str]] = _LISTS["unit_symbols"]
_CURRENCY_SYMBOLS: list[str] = _LISTS["currency_symbols"]
_CURRENCY_CODES: list[str] = _LISTS["currency_codes"]
_INSTEAD_OF_PERCENT = (" kilograms", " degrees", " points", " per thousand")

_UNITS_LIKE = {unit: units for units in reversed(_UNIT_CLASSES) for unit in units}
_SYMBOLS_LIKE = {symbol: symbols for symbols in _SYMBOL_CLASSES for symbol in symbols}
_AMOUNT = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|several|few|many"
    r"|half|an|per|square|cubic|of))"
)
_UNIT = re.compile(
    rf"(?P<amount>{_AMOUNT}[ -])(?P<unit>{alternation(_UNITS_LIKE)})(?![^\W_])", re.IGNORECASE
)
_UNIT_SYMBOL = re.compile(rf"(?P<amount>\d[ -]?)(?P<unit>{alternation(_SYMBOLS_LIKE)})(?![^\W_/])")
_SIGN = re.compile(r"[$€£¥](?=\s?\d)|(?<=\d)\s?[€£%]")
_CURRENCY_CODE = re.compile(rf"\b(?:{alternation(_CURRENCY_CODES)})\b")
_ONLY_BEFORE_MONEY = frozenset({"an", "of"})  # "an hour" is no measure


@by_fraction
def unit_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change units and currencies, keeping the number: "5 km" -> "5 miles", "$3" -> "€3"."""
    edits = [
        Edit(match.start("unit"), match.end("unit"), _different_unit(match["unit"], random))
        for match in _UNIT.finditer(text)
        if match["amount"][:-1].lower() not in _ONLY_BEFORE_MONEY
        or "dollar" in _UNITS_LIKE[match["unit"].lower()]
    ]
    edits += [
        Edit(
            match.start("unit"),
            match.end("unit"),
            _any_except(match["unit"], _SYMBOLS_LIKE[match["unit"]], random),
        )
        for match in _UNIT_SYMBOL.finditer(text)
    ]
    edits += replace_matches(text, _SIGN, lambda match: _different_sign(match[0], random))
    return edits + replace_matches(
        text, _CURRENCY_CODE, lambda match: _any_except(match[0], _CURRENCY_CODES, random)
    )


def _different_unit(unit: str, random: Random) -> str:
    return match_case(unit, _any_except(unit.lower(), _UNITS_LIKE[unit.lower()], random))


def _different_sign(sign: str, random: Random) -> str:
    if sign.strip() == "%":
        return random.choice(_INSTEAD_OF_PERCENT)
    return sign.replace(sign.strip(), _any_except(sign.strip(), _CURRENCY_SYMBOLS, random))


def _any_except(unit: str, units: Sequence[str], random: Random) -> str:
    return random.choice([other for other in units if other != unit])
