"""Pieces of a translation that differ from the reference: their kinds and severities.

The kind of a piece follows from its words alone: whether numbers, names or a negation differ,
whether words are missing, added, moved or replaced, or only case or punctuation differs. The
severity follows from its cost, in points of the metric, and the length of the segment.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from adequa.damage.base import word_lists
from adequa.damage.entities import find_names
from adequa.explanation.alignment import Alignment, Difference, Token, has_digit

Kind: TypeAlias = Literal[
    "negation", "number", "name", "omission", "addition", "substitution", "move", "case",
    "punctuation",
]  # fmt: skip
Severity: TypeAlias = Literal["critical", "major", "minor", "none"]

KINDS: tuple[Kind, ...] = get_args(Kind)
SEVERITIES: tuple[Severity, ...] = ("critical", "major", "minor", "none")
# Weights of MQM: what an error of a severity takes from a translation.
PENALTIES: dict[Severity, float] = {"critical": 10.0, "major": 5.0, "minor": 1.0, "none": 0.0}

_FEW_WORDS = 5  # of a piece that is a number, a name or a negation rather than a phrase with one

# Words of negation by language.
_NEGATIONS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "da": "ikke ingen intet aldrig",
        "de": "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts",
        "en": "not no never none nobody nothing nowhere neither nor cannot without",
        "es": "no nunca jamás nada nadie ningún ninguna ninguno sin",
        "fr": "ne pas jamais rien aucun aucune personne sans",
        "hi": "नहीं न ना मत बिना",
        "it": "non mai niente nulla nessun nessuna nessuno senza",
        "nl": "niet geen nooit niemand niets zonder",
        "no": "ikke ingen intet aldri",
        "pl": "nie nigdy nikt nic żaden żadna bez",
        "pt": "não nunca jamais nada ninguém nenhum nenhuma sem",
        "ru": "не нет никогда никто ничто ничего нельзя без",
        "sv": "inte ingen inget inga aldrig utan",
        "uk": "не ні немає ніколи ніхто нічого без",
        "zh": "不 没 無 无 未 非",
    }.items()
}
_CONTRACTED_NOT = re.compile(r"n['’]t$")
# Languages that write all nouns with a capital, which then marks no name.
_CAPITALISED_NOUNS = frozenset({"de", "gsw", "lb", "nds"})


_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = (
    "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
# Often a pronoun, a verb or an order in time: they may stand for a number, and are none themselves.
_AMBIGUOUS = {"one": "1", "first": "1", "second": "2", "may": "may"}
_NUMERAL = re.compile(r"\d+(?:[.,:'’]\d+)*")
# Languages that group the digits of numbers by commas, if at all, and write decimals with a point.
_DECIMAL_POINT = frozenset({"en", "ga", "he", "hi", "ja", "ko", "th", "zh"})
_MINUS = frozenset("-−–")
_PERCENT = {"%": "%", "٪": "%", "percent": "%", "‰": "‰"}


def _number_values() -> dict[str, str]:
    """Number words and dates of English, with the value that they are compared by."""
    lists = word_lists("numbers")
    numbers = [
        *enumerate(_UNITS.split()),
        *enumerate(_ORDINALS.split(), start=3),
        *zip(range(30, 100, 10), _TENS.split(), strict=True),
    ]
    values = {word: str(number) for number, word in numbers}
    others = chain(lists["months"], lists["weekdays"], lists["scale_words"], *lists["number_words"])
    values |= {word.casefold(): values.get(word.casefold(), word.casefold()) for word in others}
    return {word: value for word, value in values.items() if word not in _AMBIGUOUS}


_NUMBER_VALUES = _number_values()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a translation that differs from the reference, and what it costs.

    Spans are in characters; that of an omission in the hypothesis is empty, and so is that of an
    addition in the reference. The cost is in points of the metric, above zero where the piece makes
    the translation worse.
    """

    hypothesis: str
    reference: str
    kind: Kind
    cost: float
    severity: Severity
    hypothesis_span: tuple[int, int]
    reference_span: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the piece as a JSON-serialisable dictionary."""
        return {
            "hypothesis": self.hypothesis,
            "reference": self.reference,
            "kind": self.kind,
            "cost": self.cost,
            "severity": self.severity,
            "hypothesis_span": list(self.hypothesis_span),
            "reference_span": list(self.reference_span),
        }


# Kinds


Signs: TypeAlias = dict[int, str]  # by the first character


@dataclass(frozen=True, slots=True)
class KindRules:
    """What decides kinds in two texts of a language; tokens by their first characters, by side.

    A negation or a sign counts only on the side that has more of it in the whole segment.
    """

    language: str
    negations: tuple[frozenset[int], frozenset[int]]
    names: tuple[frozenset[int], frozenset[int]]  # words in names
    signs: tuple[Signs, Signs]  # currencies, percents, and minus before a digit

    @classmethod
    def of(cls, alignment: Alignment, texts: tuple[str, str], language: str | None) -> KindRules:
        """The rules for a hypothesis and its reference; without a language, those of English."""
        code = language or "en"
        sides = alignment.hypothesis, alignment.reference
        names = (frozenset[int](), frozenset[int]())
        if code not in _CAPITALISED_NOUNS:
            names = _name_starts(sides[0], texts[0]), _name_starts(sides[1], texts[1])
        return cls(
            language=code,
            negations=(_negation_starts(sides[0], code), _negation_starts(sides[1], code)),
            names=names,
            signs=(_number_signs(sides[0]), _number_signs(sides[1])),
        )

    @property
    def negation_balance(self) -> int:
        """1 where the hypothesis has more negations than the reference, -1 for fewer, else 0."""
        one, other = map(len, self.negations)
        return (one > other) - (one < other)


def _negation_starts(tokens: Sequence[Token], language: str) -> frozenset[int]:
    """The first characters of negations; "No." before a number is none."""
    starts = []
    for index, token in enumerate(tokens):
        following = [each.text for each in tokens[index + 1 : index + 3]]
        is_number = token.form == "no" and any(
            has_digit(text) for text in following[: 1 + (following[:1] == ["."])]
        )
        if _is_negation(token, language) and not is_number:
            starts.append(token.start)
    return frozenset(starts)


def _name_starts(tokens: Sequence[Token], text: str) -> frozenset[int]:
    """The first characters of the tokens in names; both are in the order of the text."""
    starts = []
    names = iter(find_names(text))
    name = next(names, None)
    for token in tokens:
        while name is not None and name.end <= token.start:
            name = next(names, None)
        if name is not None and name.start < token.end:
            starts.append(token.start)
    return frozenset(starts)


def _number_signs(tokens: Sequence[Token]) -> Signs:
    """Signs that change what a number says, by their first characters."""
    signs = {}
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        after_word = index > 0 and not token.space and tokens[index - 1].is_word
        before_digit = following is not None and not following.space and has_digit(following.text)
        if token.text in _MINUS and before_digit and not after_word:
            signs[token.start] = "-"
        elif token.form in _PERCENT:
            signs[token.start] = _PERCENT[token.form]
        elif unicodedata.category(token.text[0]) == "Sc":
            signs[token.start] = token.text
    return signs


def kind_of(alignment: Alignment, difference: Difference, rules: KindRules) -> Kind:
    """The kind of a difference.

    >>> texts = "It cost 300 euros", "It did not cost 500 euros"
    >>> from adequa.explanation.alignment import align
    >>> alignment = align(*texts)
    >>> rules = KindRules.of(alignment, texts, "en")
    >>> [kind_of(alignment, each, rules) for each in alignment.differences]
    ['negation', 'number']
    """
    if difference.is_move:
        return "move"
    sides = alignment.tokens(difference)
    words = _words(sides[0]), _words(sides[1])
    is_short = max(map(len, words)) <= _FEW_WORDS
    if is_short and _other_negations(words, rules):
        return "negation"
    if is_short and _other_numbers(sides, rules):
        return "number"
    if _letters(sides[0]) == _letters(sides[1]):
        return "case" if _differs_in_case_alone(*sides) else "punctuation"
    if is_short and _other_names(words, rules):
        return "name"
    return _kind_by_sides(*sides)


def _kind_by_sides(hypothesis: Sequence[Token], reference: Sequence[Token]) -> Kind:
    if hypothesis and reference:
        return "substitution"
    return "addition" if hypothesis else "omission"


def _words(tokens: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if token.is_word]


def _letters(tokens: Sequence[Token]) -> str:
    """The letters, digits and combining marks of tokens, without case."""
    text = "".join(token.form for token in tokens)
    return "".join(c for c in text if c.isalnum() or unicodedata.category(c).startswith("M"))


def _differs_in_case_alone(hypothesis: Sequence[Token], reference: Sequence[Token]) -> bool:
    composed = [
        [unicodedata.normalize("NFC", token.text) for token in side]
        for side in (hypothesis, reference)
    ]
    forms = [[token.form for token in side] for side in (hypothesis, reference)]
    return forms[0] == forms[1] and composed[0] != composed[1]


def _other_negations(words: tuple[list[Token], list[Token]], rules: KindRules) -> bool:
    """Whether a difference has more negations on the side that has more in the whole segment."""
    one, other = (
        sum(token.start in starts for token in side)
        for side, starts in zip(words, rules.negations, strict=True)
    )
    return (one > other) - (one < other) == rules.negation_balance != 0


def _is_negation(token: Token, language: str) -> bool:
    words = _NEGATIONS.get(language, frozenset())
    if token.form in words:
        return True
    if language == "fr":
        return token.form.startswith(("n'", "n’"))
    return language == "en" and _CONTRACTED_NOT.search(token.form) is not None


def _other_numbers(sides: tuple[list[Token], list[Token]], rules: KindRules) -> bool:
    """Whether numbers, or signs that belong to numbers, differ."""
    numbers = [
        Counter(chain.from_iterable(_numbers(token, rules.language) for token in side))
        for side in sides
    ]
    ambiguous = [
        Counter(_AMBIGUOUS[token.form] for token in side if token.form in _AMBIGUOUS)
        for side in sides
    ]
    return (
        _other_signs(sides, rules)
        or bool(numbers[0] - numbers[1] - ambiguous[1])
        or bool(numbers[1] - numbers[0] - ambiguous[0])
    )


def _other_signs(sides: tuple[list[Token], list[Token]], rules: KindRules) -> bool:
    """Whether one side has more of a sign, which it also has more of in the whole segment."""
    here = [
        Counter(signs[token.start] for token in side if token.start in signs)
        for side, signs in zip(sides, rules.signs, strict=True)
    ]
    everywhere = [Counter(signs.values()) for signs in rules.signs]
    return any(
        (here[one] - here[other]) & (everywhere[one] - everywhere[other])
        for one, other in ((0, 1), (1, 0))
    )


def _numbers(token: Token, language: str) -> list[str]:
    """The values that numbers and dates in a token are compared by.

    >>> from adequa.explanation.alignment import tokenize
    >>> text = "Ten 1,000 1.50 10:30 March F-16 22nd twenty-two none"
    >>> [_numbers(token, "en") for token in tokenize(text)]
    [['10'], ['1000'], ['1.5'], ['10.3'], ['march'], ['16'], ['22'], ['22'], []]
    """
    if has_digit(token.text):
        return [_value(match[0], language) for match in _NUMERAL.finditer(token.form)]
    values = [_NUMBER_VALUES.get(word, _AMBIGUOUS.get(word)) for word in token.form.split("-")]
    if len(values) > 1 and all(value and value.isdecimal() for value in values):
        return [str(sum(int(value or 0) for value in values))]
    return [_NUMBER_VALUES[token.form]] if token.form in _NUMBER_VALUES else []


def _value(numeral: str, language: str) -> str:
    """A numeral in digits of ASCII, with a point for decimals and without groups of digits.

    >>> _value("1,250.50", "en"), _value("1.250,50", "de"), _value("2,500", "de")
    ('1250.5', '1250.5', '2.5')
    """
    text = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in numeral)
    text = re.sub("['’]", "", text)
    group, decimal = (",", ".") if language in _DECIMAL_POINT else (".", ",")
    if text.count(decimal) > 1:  # groups of digits in the way of other languages
        text = text.replace(decimal, "")
    if re.fullmatch(rf"\d{{1,3}}(?:[{group}]\d{{3}})+(?:[{decimal}]\d+)?", text):
        text = text.replace(group, "")
    text = re.sub("[.,:]", ".", text)
    return text.rstrip("0").rstrip(".") if text.count(".") == 1 else text


def _other_names(words: tuple[list[Token], list[Token]], rules: KindRules) -> bool:
    names = [
        Counter(token.form for token in side if token.start in starts)
        for side, starts in zip(words, rules.names, strict=True)
    ]
    return names[0] != names[1]


# Severities


@dataclass(frozen=True, slots=True)
class SeverityThresholds:
    """Relative costs from which on a piece is minor, major or critical.

    The relative cost of a piece is its cost over the range of the metric, in a segment of
    `typical_words` words. In a longer one the same error takes less from the score, and the
    relative cost is higher by a power of the length. Lengths outside `fewest_words` to
    `most_words`, the range that the thresholds were set on, count as its ends.
    """

    minor: float
    major: float
    critical: float
    length_power: float
    typical_words: int = 25
    fewest_words: int = 16
    most_words: int = 100

    def severity(self, cost: float, words: int, kind: Kind) -> Severity:
        """The severity of a cost that is a fraction of the metric's range.

        Case and punctuation are minor at most.
        """
        length = min(max(words, self.fewest_words), self.most_words) / self.typical_words
        relative = cost * length**self.length_power
        if relative < self.minor:
            return "none"
        if relative < self.major or kind in {"case", "punctuation"}:
            return "minor"
        return "major" if relative < self.critical else "critical"


# Set on development data: see docs/explain.md.
SEVERITY_THRESHOLDS = SeverityThresholds(minor=0.015, major=0.08, critical=0.3, length_power=0.75)
