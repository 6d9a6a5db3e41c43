"""Names, pronouns and numbers: who and what a text is about, how much, and when.

Numbers are numerals, magnitudes, number words, dates, units and currencies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from adequa.damage.base import (
    FUNCTION_WORDS,
    Context,
    Edit,
    alternation,
    apply_edits,
    begins_sentence,
    by_fraction,
    content_spans,
    match_case,
    replace_matches,
    word_lists,
)

_NAME_LISTS = word_lists("names")

# Names

# The people and their combinations are nobody in particular.
_FIRST_NAMES: list[str] = _NAME_LISTS["first_names"]
_SURNAMES: list[str] = _NAME_LISTS["surnames"]
# A name is replaced by another of its list, if it is in one.
_NAMES_LIKE: dict[str, list[str]] = {
    name: _NAME_LISTS[category]
    for category in ("countries", "cities", "nationalities", "institutions")
    for name in _NAME_LISTS[category]
}
# Words with a capital that go before a name, or that are no name at all.
_NOT_NAMES = frozenset(_NAME_LISTS["not_names"])

# A capital letter with small letters after it, or letters and hyphens; an ending 's is not in it.
_CAPITALISED = re.compile(
    r"(?<![^\W_])(?<!['’.&@#/-])[^\W\d_a-z][^\W\d_]*(?:[-’'](?!s\b)[^\W\d_]+)*"
)
_CONTINUES = re.compile(r"[-./@]\w")  # as in "Russia-1" or "Yahoo.com"
_LETTERS = re.compile(r"[^\W\d_]+")
_MAX_PERSON_WORDS = 3
_HEADLINE_RATIO = 3  # a headline has fewer than one lower-case word for so many capitalised ones
_MAX_NAMES_APART = 5


class Name(NamedTuple):
    """A name of one or more words, and its span."""

    start: int
    end: int
    words: tuple[str, ...]


def find_names(text: str) -> list[Name]:
    """The names of a text: words with a capital, other than titles and beginnings of sentences.

    >>> text = "The Czech team met President Jan Novak in Brno."
    >>> [" ".join(name.words) for name in find_names(text)]
    ['Czech', 'Jan Novak', 'Brno']
    """
    names: list[Name] = []
    capitals = 0
    for match in _CAPITALISED.finditer(text):
        start, end = match.span()
        if not match[0][0].isupper() or begins_sentence(text, start):
            continue
        capitals += 1
        if match[0] in _NOT_NAMES or match[0][1:2] in {"", "'", "’"} or _CONTINUES.match(text, end):
            continue
        if names and text[names[-1].end : start] == " " and not _separate(names[-1], match[0]):
            names[-1] = Name(names[-1].start, end, (*names[-1].words, match[0]))
        else:
            names.append(Name(start, end, (match[0],)))
    return names if names and not _is_headline(text, capitals) else []


def _is_headline(text: str, capitals: int) -> bool:
    """Whether most content words have capitals, which then do not mark names."""
    lower_case = sum(text[start:end].islower() for start, end in content_spans(text))
    return _HEADLINE_RATIO * lower_case < capitals


def _separate(name: Name, word: str) -> bool:
    """Whether a name and the word after it are two names, since one of them is in a list."""
    return word in _NAMES_LIKE or name.words[-1] in _NAMES_LIKE


@by_fraction
def name_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Replace names: a country, city or nationality by another, else by a person's name."""
    return [
        Edit(name.start, name.end, _different_name(text, name, random)) for name in find_names(text)
    ]


def _different_name(text: str, name: Name, random: Random) -> str:
    options = _SURNAMES
    if len(name.words) == 1:
        options = _NAMES_LIKE.get(name.words[0], _SURNAMES)
    replacement = random.choice(options)
    while replacement in name.words:
        replacement = random.choice(options)
    if len(name.words) == 1:
        return replacement
    if len(name.words) > _MAX_PERSON_WORDS or text.endswith(("the ", "The "), 0, name.start):
        return " ".join([replacement, *name.words[1:]])  # an institution: "the Novak Film Academy"
    return f"{random.choice(_FIRST_NAMES)} {replacement}"


_COORDINATING = frozenset({"and", "or", "nor", "as", "well", "with", "of", "the"})


def names_exchanged(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Exchange two names: "Ann sued Bob" -> "Bob sued Ann"; never two of one enumeration."""
    names = find_names(text)
    pairs = [
        (first, second)
        for index, first in enumerate(names)
        for second in names[index + 1 : index + 1 + _MAX_NAMES_APART]
        if _exchangeable(text, first, second)
    ]
    if not pairs:
        return None
    first, second = random.choice(pairs)
    return apply_edits(
        text,
        [
            Edit(first.start, first.end, text[second.start : second.end]),
            Edit(second.start, second.end, text[first.start : first.end]),
        ],
    )


def _exchangeable(text: str, first: Name, second: Name) -> bool:
    """Whether an exchange changes the meaning: "Ann and Bob" means the same either way round."""
    if {word.lower() for word in first.words} & {word.lower() for word in second.words}:
        return False
    between = [word[0] for word in _LETTERS.finditer(text[first.end : second.start])]
    return any(word.islower() and word not in _COORDINATING for word in between)


# Pronouns

_PARTNER = {
    word: partner
    for first, second in (*_NAME_LISTS["gender_pairs"], *_NAME_LISTS["person_pairs"])
    for word, partner in ((first, second), (second, first))
} | {"his": "her", "him": "her", "ours": "theirs", "theirs": "ours", "my": "your", "your": "my"}
_PRONOUN = re.compile(rf"(?<![-\w])(?:her|{alternation(_PARTNER)})(?!-?\w)", re.IGNORECASE)
_NEXT_WORD = re.compile(r" ([^\W\d_]+)")


@by_fraction
def pronoun_swapped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Change gender or person: "he" -> "she", "his" -> "her", "we" -> "they"."""
    return replace_matches(text, _PRONOUN, _swapped_pronoun)


def _swapped_pronoun(match: re.Match[str]) -> str | None:
    word = match[0]
    if word == "US":  # the country
        return None
    if word.lower() == "her":
        following = _NEXT_WORD.match(match.string, match.end())
        possessive = following is not None and following[1].lower() not in FUNCTION_WORDS
        return match_case(word, "his" if possessive else "him")
    return match_case(word, _PARTNER[word.lower()])


_NUMBER_LISTS = word_lists("numbers")
_MONTHS: list[str] = _NUMBER_LISTS["months"]
_WEEKDAYS: list[str] = _NUMBER_LISTS["weekdays"]

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
_SCALE_WORDS: list[str] = _NUMBER_LISTS["scale_words"]
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

_NUMBER_CLASSES: list[list[str]] = _NUMBER_LISTS["number_words"]
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

_UNIT_CLASSES: list[list[str]] = _NUMBER_LISTS["units"]
_SYMBOL_CLASSES: list[list[str]] = _NUMBER_LISTS["unit_symbols"]
_CURRENCY_SYMBOLS: list[str] = _NUMBER_LISTS["currency_symbols"]
_CURRENCY_CODES: list[str] = _NUMBER_LISTS["currency_codes"]
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
