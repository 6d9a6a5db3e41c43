"""Pieces of a translation that differ from the reference: their kinds and severities.

The kind of a piece follows from its words alone: whether numbers, names or a negation differ,
whether words are missing, added, moved or replaced, or only case or punctuation differs. The
severity follows from its cost, in points of the metric, and the length of the segment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
        "fr": "ne n' pas jamais rien aucun aucune personne sans",
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
_TENS = "thirty forty fifty sixty seventy eighty ninety"
# More often a pronoun, a verb and orders in time than numbers and a month.
_NO_NUMBERS = frozenset({"one", "may", "first", "second"})


def _number_values() -> dict[str, str]:
    """Number words and dates of English with what they are compared by."""
    lists = word_lists("numbers")
    numbers = [*enumerate(_UNITS.split()), *zip(range(30, 100, 10), _TENS.split(), strict=True)]
    values = {word: str(number) for number, word in numbers}
    others = chain(lists["months"], lists["weekdays"], lists["scale_words"], *lists["number_words"])
    values |= {word.casefold(): values.get(word.casefold(), word.casefold()) for word in others}
    return {word: value for word, value in values.items() if word not in _NO_NUMBERS}


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
        """The piece as JSON has it."""
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


@dataclass(frozen=True, slots=True)
class KindRules:
    """What decides kinds in two texts of a language: negations, and the characters of names."""

    negations: frozenset[str]
    names: tuple[frozenset[int], frozenset[int]]  # first characters of words in names, by side

    @classmethod
    def of(cls, alignment: Alignment, texts: tuple[str, str], language: str | None) -> KindRules:
        """The rules for a hypothesis and its reference; without a language, those of English."""
        code = language or "en"
        names = (frozenset[int](), frozenset[int]())
        if code not in _CAPITALISED_NOUNS:
            names = (
                _name_starts(alignment.hypothesis, texts[0]),
                _name_starts(alignment.reference, texts[1]),
            )
        return cls(_NEGATIONS.get(code, frozenset()), names)


def _name_starts(tokens: Sequence[Token], text: str) -> frozenset[int]:
    spans = [(name.start, name.end) for name in find_names(text)]
    return frozenset(
        token.start
        for token in tokens
        if any(start < token.end and token.start < end for start, end in spans)
    )


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
    hypothesis, reference = alignment.tokens(difference)
    if _letters(hypothesis) == _letters(reference):
        return "case" if _differs_in_case_alone(hypothesis, reference) else "punctuation"
    words = _words(hypothesis), _words(reference)
    if max(map(len, words)) <= _FEW_WORDS:
        entity = _entity(words, rules)
        if entity is not None:
            return entity
    if hypothesis and reference:
        return "substitution"
    return "addition" if hypothesis else "omission"


def _words(tokens: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if token.is_word]


def _letters(tokens: Sequence[Token]) -> str:
    """The letters and digits of tokens, without case."""
    return "".join(filter(str.isalnum, "".join(token.form for token in tokens)))


def _differs_in_case_alone(hypothesis: Sequence[Token], reference: Sequence[Token]) -> bool:
    return [token.form for token in hypothesis] == [token.form for token in reference] and [
        token.text for token in hypothesis
    ] != [token.text for token in reference]


def _entity(words: tuple[list[Token], list[Token]], rules: KindRules) -> Kind | None:
    """Whether there are more negations on one side, other numbers, or other names."""
    negations, numbers = (
        [Counter(filter(None, map(value, side))) for side in words]
        for value in (partial(_negation, rules=rules), _number)
    )
    names = [
        Counter(token.form for token in side if token.start in starts)
        for side, starts in zip(words, rules.names, strict=True)
    ]
    if negations[0] != negations[1]:
        return "negation"
    if numbers[0] != numbers[1]:
        return "number"
    return "name" if names[0] != names[1] else None


def _negation(token: Token, rules: KindRules) -> str | None:
    """What a negation is compared by: "can't" and "cannot" have one each."""
    is_contracted = "not" in rules.negations and _CONTRACTED_NOT.search(token.form)
    return "not" if token.form in rules.negations or is_contracted else None


def _number(token: Token) -> str | None:
    """What a number or date is compared by.

    >>> from adequa.explanation.alignment import tokenize
    >>> [_number(token) for token in tokenize("Ten 10 1,000 May March the 22nd")]
    ['10', '10', '1,000', None, 'march', None, '22nd']
    """
    return token.form if has_digit(token.text) else _NUMBER_VALUES.get(token.form)


# Severities


@dataclass(frozen=True, slots=True)
class SeverityThresholds:
    """Relative costs from which on a piece is minor, major or critical.

    The relative cost of a piece is its cost over the range of the metric, in a segment of
    `typical_words` words. In a longer one the same error takes less from the score, and the
    relative cost is higher by a power of the length; segments shorter than `fewest_words` count as
    so long.
    """

    minor: float
    major: float
    critical: float
    length_power: float
    typical_words: int = 25
    fewest_words: int = 16

    def severity(self, cost: float, words: int, kind: Kind) -> Severity:
        """The severity of a cost that is a fraction of the metric's range.

        Case and punctuation are minor at most.
        """
        length = max(words, self.fewest_words) / self.typical_words
        relative = cost * length**self.length_power
        if relative < self.minor:
            return "none"
        if relative < self.major or kind in {"case", "punctuation"}:
            return "minor"
        return "major" if relative < self.critical else "critical"


# Set on development data: see docs/explain.md.
SEVERITY_THRESHOLDS = SeverityThresholds(minor=0.015, major=0.08, critical=0.3, length_power=0.75)
