"""Word alignment of a hypothesis and its reference, and the differences that it leaves.

Words are aligned by their form: equal words, words that differ in case, and similar words, such as
"warned" and "warning". Dynamic programming finds the alignment with the largest sum of similarities
in which no two links cross. Words that remain on both sides, in the same order but elsewhere, are
joined as moves.

What is not equal is cut into the smallest differences that can be repaired by themselves: replaced
by the words of the reference, with the rest as it is. To repair all of them gives the reference.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count, groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel, Levenshtein

from adequa.damage.base import FUNCTION_WORDS
from adequa.segments import FloatArray


def _mark_ranges() -> str:
    """Combining marks, joiners and modifiers of emoji, as ranges of a character class.

    Letters of regular expressions do not include them, although most vowels of the scripts of India
    are marks.
    """
    ranges: list[list[int]] = []
    for code in chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"}:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "\u00ad\u200c\u200d\U0001f3fb-\U0001f3ff" + "".join(
        f"{chr(first)}-{chr(last)}" for first, last in ranges
    )


# Letters and digits with what joins them, single characters of scripts without spaces, and other
# characters one by one; marks belong to the character before them.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_MARKS = _mark_ranges()
_TOKEN = re.compile(
    rf"[{_UNSPACED}][{_MARKS}]*"
    rf"|(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+(?:[-'’.,:/@](?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+)*"
    rf"|\S[{_MARKS}]*(?:(?<=\u200d)\S[{_MARKS}]*)*"  # emoji joined to one
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_JOINS_WORDS = re.compile(r"[^\W_][-'’.,:/@]?$")

_WORD, _FUNCTION_WORD, _PUNCTUATION = 1.0, 0.6, 0.4  # of a link between equal tokens
_OTHER_CASE = 0.05  # penalty of another case
_NEIGHBOUR = 0.15  # bonus per equal neighbour
_SIMILAR = 0.55  # similarity of characters from which on two words are linked
_SHORTEST = 4  # characters of similar words: shorter ones are alike by chance
_LEAST_LINK = 0.1  # of a link between similar words; it grows with the similarity up to one half
_MAX_CELLS = 1_000_000  # of the table of the alignment: 1,000 words a side take 40 MB
_MAX_MOVE = 40  # columns between the two places of a word that was moved
_CHARACTERS_PER_WORD = 1.6  # of Chinese, where no spaces part words
_MAX_PAIRED = 3  # words that are replaced one by one, where as many stand in their place


class Token(NamedTuple):
    """A word or another sign of a text."""

    start: int
    end: int
    text: str
    form: str  # composed, without case
    is_word: bool
    space: str | None  # whether a space is before it; None at the beginning of the text


Sides: TypeAlias = tuple[Sequence[Token], Sequence[Token]]  # hypothesis and reference


class AlignedTokens(NamedTuple):
    """A token of the hypothesis, of the reference, or two that are linked; indices of tokens."""

    hypothesis: int | None
    reference: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Columns of an alignment that are repaired together."""

    columns: tuple[int, ...]
    is_move: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The tokens of two texts in columns, and the differences between them."""

    hypothesis: tuple[Token, ...]
    reference: tuple[Token, ...]
    columns: tuple[AlignedTokens, ...]
    differences: tuple[Difference, ...]
    is_joined: bool = False  # whether there were too many differences to repair one by one

    @property
    def words(self) -> int:
        """The number of words of the reference; where no spaces part them, an estimate."""
        words = [token for token in self.reference if token.is_word]
        unspaced = sum(_IS_UNSPACED.match(token.text) is not None for token in words)
        return len(words) - unspaced + round(unspaced / _CHARACTERS_PER_WORD)

    def tokens(self, difference: Difference) -> tuple[list[Token], list[Token]]:
        """The tokens of a difference in the hypothesis and in the reference."""
        columns = [self.columns[index] for index in difference.columns]
        return (
            [self.hypothesis[each.hypothesis] for each in columns if each.hypothesis is not None],
            [self.reference[each.reference] for each in columns if each.reference is not None],
        )

    def spans(self, difference: Difference) -> tuple[tuple[int, int], tuple[int, int]]:
        """The characters of a difference in both texts; an empty span is the place between words.

        >>> alignment = align("a cat ran", "a black cat ran")
        >>> alignment.spans(alignment.differences[0])
        ((1, 1), (2, 7))
        """
        first = difference.columns[0]
        hypothesis, reference = self.tokens(difference)
        return (
            _span(hypothesis) or self._gap(first, 0),
            _span(reference) or self._gap(first, 1),
        )

    def _gap(self, column: int, side: int) -> tuple[int, int]:
        """The end of the token before this column on one side."""
        tokens = (self.hypothesis, self.reference)[side]
        before = (each[side] for each in reversed(self.columns[:column]))
        index = next((index for index in before if index is not None), None)
        position = 0 if index is None else tokens[index].end
        return position, position

    def repair(self, repaired: Set[int]) -> str:
        """The hypothesis with the differences of these indices repaired.

        >>> alignment = align("a cat ran, today", "the cat ran today")
        >>> alignment.repair({0})
        'the cat ran, today'
        >>> alignment.repair({0, 1})
        'the cat ran today'
        """
        owner = {
            column: index for index, each in enumerate(self.differences) for column in each.columns
        }
        parts: list[str] = []
        tail = ""  # the last two characters
        from_reference = False  # whether the last token is one of the reference
        for index, column in enumerate(self.columns):
            difference = owner.get(index)
            if difference is None:
                # Equal on both sides: the space before it is as on the side of the last token.
                side = from_reference
            else:
                side = from_reference = difference in repaired
            position = column.reference if side else column.hypothesis
            if position is None:
                continue
            token = (self.reference if side else self.hypothesis)[position]
            parts += [_space_before(token, tail), token.text]
            tail = (tail + "".join(parts[-2:]))[-2:]
        return "".join(parts)


def _span(tokens: Sequence[Token]) -> tuple[int, int] | None:
    return (tokens[0].start, tokens[-1].end) if tokens else None


def _space_before(token: Token, tail: str) -> str:
    """The space between a text that ends in these characters and a token."""
    if not tail:
        return ""
    is_spaced = token.is_word and not _IS_UNSPACED.match(token.text)
    if is_spaced and _JOINS_WORDS.search(tail) and not _IS_UNSPACED.search(tail):
        return " "  # or it would become one word with the text before it
    if token.space is None:
        return "" if _IS_UNSPACED.match(token.text) else " "
    return token.space


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text.

    >>> [token.text for token in tokenize("It's 3,500 m, 中文.")]
    ["It's", '3,500', 'm', ',', '中', '文', '.']
    """
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        word = match[0]
        space = None if not tokens else " " if match.start() > end else ""
        end = match.end()
        form = unicodedata.normalize("NFC", word).casefold()
        is_word = any(map(str.isalnum, word))
        tokens.append(Token(match.start(), end, word, form, is_word, space))
    return tuple(tokens)


def align(hypothesis: str, reference: str, *, moves: bool = True) -> Alignment:
    """Align two texts by words; without `moves`, a moved word is missing here and added there.

    >>> alignment = align("In 2012 the firm grew", "The firm grew by 2012")
    >>> for each in alignment.differences:
    ...     print(*([token.text for token in side] for side in alignment.tokens(each)))
    ['In'] []
    ['2012'] ['2012']
    ['the'] ['The']
    [] ['by']
    """
    sides = tokenize(hypothesis), tokenize(reference)
    path = _path(*sides)
    path = _without_weak_links(sides, path)
    moved = _moves(sides, path) if moves else []
    columns = tuple(_ordered(sides, path, moved))
    return Alignment(*sides, columns, tuple(_differences(sides, columns, moved)))


# Columns: which tokens are linked


def _path(hypothesis: Sequence[Token], reference: Sequence[Token]) -> list[AlignedTokens]:
    """The tokens of both texts in their order, linked where they correspond."""
    if not hypothesis or not reference:
        return [
            *(AlignedTokens(index, None) for index in range(len(hypothesis))),
            *(AlignedTokens(None, index) for index in range(len(reference))),
        ]
    if len(hypothesis) * len(reference) > _MAX_CELLS:
        return list(_equal_columns(hypothesis, reference))
    return list(_best_path(_link_gains(hypothesis, reference)))


def _link_gains(hypothesis: Sequence[Token], reference: Sequence[Token]) -> FloatArray:
    """The gain of a link between any two tokens, zero or less where there is none."""
    forms: dict[str, int] = {}
    rows, columns = (
        np.array([forms.setdefault(token.form, len(forms)) for token in side])
        for side in (hypothesis, reference)
    )
    equal = rows[:, None] == columns
    weights = np.array([_weight(token) for token in reference])
    other_case = np.array([token.text for token in hypothesis], dtype=object)[:, None] != np.array(
        [token.text for token in reference], dtype=object
    )
    neighbours = np.zeros(equal.shape)
    neighbours[1:, 1:] += equal[:-1, :-1]
    neighbours[:-1, :-1] += equal[1:, 1:]
    neighbours[0, 0] += 1  # both at the beginning, or both at the end
    neighbours[-1, -1] += 1
    gains = equal * (weights + _NEIGHBOUR * neighbours - _OTHER_CASE * other_case)
    return np.where(equal, gains, _similarity_gains(hypothesis, reference))


def _weight(token: Token) -> float:
    if not token.is_word:
        return _PUNCTUATION
    return _FUNCTION_WORD if token.form in FUNCTION_WORDS else _WORD


def _similarity_gains(hypothesis: Sequence[Token], reference: Sequence[Token]) -> FloatArray:
    """The gain of a link between similar words, or two numbers, or two signs."""
    similarity = process.cdist(
        [token.form for token in hypothesis],
        [token.form for token in reference],
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=_SIMILAR,
        dtype=np.float32,
    ).astype(np.float64)
    words, signs = (
        np.array([token.is_word for token in side])[:, None] for side in (hypothesis, reference)
    )
    numbers, others = (
        np.array([has_digit(token.text) for token in side])[:, None]
        for side in (hypothesis, reference)
    )
    long, also_long = (
        np.array([len(token.text) >= _SHORTEST for token in side])[:, None]
        for side in (hypothesis, reference)
    )
    similar = (similarity >= _SIMILAR) & long & also_long.T
    same_kind = (words == signs.T) & (numbers == others.T)
    linked = same_kind & (similar | numbers | ~words)
    return np.where(linked, _LEAST_LINK + (0.5 - _LEAST_LINK) * similarity, 0.0)


def has_spaces(text: str) -> bool:
    """Whether the script that a text begins with puts spaces between words."""
    return not _IS_UNSPACED.match(text)


def has_digit(text: str) -> bool:
    """Whether a text has a digit."""
    return any(map(str.isdigit, text))


def _best_path(gains: FloatArray) -> Iterator[AlignedTokens]:
    """Columns whose links have the largest sum of gains, without crossing."""
    rows, columns = gains.shape
    best = np.zeros((rows + 1, columns + 1))
    for row in range(rows):
        np.maximum(best[row, 1:], best[row, :-1] + gains[row], out=best[row + 1, 1:])
        np.maximum.accumulate(best[row + 1], out=best[row + 1])
    path: list[AlignedTokens] = []
    row, column = rows, columns
    while row and column:
        value = best[row, column]
        if value == best[row, column - 1]:
            column -= 1
            path.append(AlignedTokens(None, column))
        elif value == best[row - 1, column]:
            row -= 1
            path.append(AlignedTokens(row, None))
        else:
            row, column = row - 1, column - 1
            path.append(AlignedTokens(row, column))
    path += (AlignedTokens(None, index) for index in reversed(range(column)))
    path += (AlignedTokens(index, None) for index in reversed(range(row)))
    return reversed(path)


def _equal_columns(
    hypothesis: Sequence[Token], reference: Sequence[Token]
) -> Iterator[AlignedTokens]:
    """Columns of very long texts: equal tokens alone are linked."""
    forms = [[token.form for token in side] for side in (hypothesis, reference)]
    for each in Indel.opcodes(*forms):
        rows = range(each.src_start, each.src_end)
        columns = range(each.dest_start, each.dest_end)
        if each.tag == "equal":
            yield from map(AlignedTokens, rows, columns)
        else:
            yield from (AlignedTokens(index, None) for index in rows)
            yield from (AlignedTokens(None, index) for index in columns)


# Links that only function words have


def _without_weak_links(sides: Sides, path: Sequence[AlignedTokens]) -> list[AlignedTokens]:
    """The path without single function words that are linked between two replaced phrases.

    "held this post" and "served in this capacity" are one difference and not two that cannot be
    repaired by themselves.
    """
    groups = [
        (is_gap, list(group)) for is_gap, group in groupby(path, key=lambda each: None in each)
    ]
    replaced = [is_gap and _has_words_on_both_sides(sides, group) for is_gap, group in groups]
    columns: list[AlignedTokens] = []
    for index, (_, group) in enumerate(groups):
        between = 0 < index < len(groups) - 1 and replaced[index - 1] and replaced[index + 1]
        if between and len(group) == 1 and _is_function_word(sides, group[0]):
            hypothesis, reference = group[0]
            columns += [AlignedTokens(hypothesis, None), AlignedTokens(None, reference)]
        else:
            columns += group
    return columns


def _has_words_on_both_sides(sides: Sides, group: Sequence[AlignedTokens]) -> bool:
    return all(
        any(each[side] is not None and sides[side][each[side]].is_word for each in group)  # type: ignore[index]
        for side in (0, 1)
    )


def _is_function_word(sides: Sides, column: AlignedTokens) -> bool:
    hypothesis, reference = column
    if hypothesis is None or reference is None:
        return False
    one, other = sides[0][hypothesis], sides[1][reference]
    return one.form == other.form and one.is_word and not _is_content(one)


# Moves: words that stand in both texts, but elsewhere


class Move(NamedTuple):
    """Equal tokens that stand elsewhere in the reference: first tokens, and how many."""

    hypothesis: int
    reference: int
    length: int


def _moves(sides: Sides, path: Sequence[AlignedTokens]) -> list[Move]:
    """Runs of equal tokens without a link, with a content word among them."""
    # The index in the path of each token without a link, by side.
    unlinked: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for index, column in enumerate(path):
        if column.reference is None and column.hypothesis is not None:
            unlinked[0][column.hypothesis] = index
        if column.hypothesis is None and column.reference is not None:
            unlinked[1][column.reference] = index
    candidates = defaultdict(list)
    for token in unlinked[1]:
        if _is_content(sides[1][token]):
            candidates[sides[1][token].form].append(token)
    moves: list[Move] = []
    for token in list(unlinked[0]):
        start = unlinked[0].get(token)  # those of a move are removed
        if start is None or not _is_content(sides[0][token]):
            continue
        near = (
            other
            for other in candidates[sides[0][token].form]
            if abs(start - unlinked[1].get(other, start + 2 * _MAX_MOVE)) <= _MAX_MOVE
        )
        blocks = [_common_block(sides, unlinked, token, other) for other in near]
        if blocks:
            move = max(blocks, key=lambda block: block.length)
            if move.length == 1 and _IS_UNSPACED.match(sides[0][token].text):
                continue  # a single sign of Chinese stands in many words
            moves.append(move)
            for step in range(move.length):
                del unlinked[0][move.hypothesis + step], unlinked[1][move.reference + step]
    return moves


def _is_content(token: Token) -> bool:
    return token.is_word and token.form not in FUNCTION_WORDS


def _common_block(
    sides: Sides, unlinked: tuple[Mapping[int, int], Mapping[int, int]], one: int, other: int
) -> Move:
    """The longest run of equal tokens without a link around these two."""

    def is_equal(step: int) -> bool:
        return (
            one + step in unlinked[0]
            and other + step in unlinked[1]
            and sides[0][one + step].form == sides[1][other + step].form
        )

    before = next(step for step in count(1) if not is_equal(-step)) - 1
    after = next(step for step in count(1) if not is_equal(step)) - 1
    return Move(one - before, other - before, before + 1 + after)


# Columns in the order in which they are read, and the differences among them


def _ordered(
    sides: Sides, path: Sequence[AlignedTokens], moves: Sequence[Move]
) -> Iterator[AlignedTokens]:
    """The path with unlinked tokens reordered: leading signs, words, trailing signs.

    In each part those of the hypothesis come first. A few words that replace as many others are
    linked one by one.
    """
    moved = _moved_tokens(moves)

    def is_gap(column: AlignedTokens) -> bool:
        return None in column and not any(token in moved[side] for side, token in enumerate(column))

    for in_gap, group in groupby(path, key=is_gap):
        columns = list(group)
        if not in_gap:
            yield from columns
            continue
        indices = (
            [each.hypothesis for each in columns if each.hypothesis is not None],
            [each.reference for each in columns if each.reference is not None],
        )
        parts = [_split_signs(*each) for each in zip(sides, indices, strict=True)]
        for hypothesis, reference in zip(*parts, strict=True):
            yield from _paired(sides, hypothesis, reference)


def _moved_tokens(moves: Sequence[Move]) -> tuple[dict[int, int], dict[int, int]]:
    """The number of the move of each moved token, by side."""
    return (
        {each.hypothesis + step: i for i, each in enumerate(moves) for step in range(each.length)},
        {each.reference + step: i for i, each in enumerate(moves) for step in range(each.length)},
    )


def _split_signs(tokens: Sequence[Token], indices: list[int]) -> tuple[list[int], ...]:
    """Signs before the words, everything between, and signs after the words."""
    words = [position for position, index in enumerate(indices) if tokens[index].is_word]
    if not words:
        return indices, [], []
    first, after = words[0], words[-1] + 1
    return indices[:first], indices[first:after], indices[after:]


def _paired(sides: Sides, hypothesis: list[int], reference: list[int]) -> Iterator[AlignedTokens]:
    weights = [
        [_weight(tokens[index]) for index in part]
        for tokens, part in zip(sides, (hypothesis, reference), strict=True)
    ]
    # A sign of Chinese by itself is rarely a word.
    tokens = (*(sides[0][i] for i in hypothesis), *(sides[1][i] for i in reference))
    has_words = not any(_IS_UNSPACED.match(token.text) for token in tokens)
    if has_words and len(hypothesis) <= _MAX_PAIRED and weights[0] == weights[1]:
        yield from map(AlignedTokens, hypothesis, reference)
    else:
        yield from (AlignedTokens(index, None) for index in hypothesis)
        yield from (AlignedTokens(None, index) for index in reference)


def _differences(
    sides: Sides, columns: Sequence[AlignedTokens], moves: Sequence[Move]
) -> list[Difference]:
    """The differences in the order of their first columns.

    Columns in a row that differ are one difference: to repair half a phrase gives no phrase. Only
    where every word is linked to another is each of them a difference of its own.
    """
    moved = _moved_tokens(moves)
    parts: list[list[int]] = [[] for _ in moves]
    differs = []
    for index, column in enumerate(columns):
        numbers = [
            numbers[token] for numbers, token in zip(moved, column, strict=True) if token in numbers
        ]
        for number in numbers:
            parts[number].append(index)
        differs.append(not numbers and _differs(sides, columns, index))
    differences = [Difference(tuple(part), is_move=True) for part in parts]
    for is_run, group in groupby(range(len(columns)), key=differs.__getitem__):
        run = tuple(group)
        if is_run and any(None in columns[index] for index in run):
            differences.append(Difference(run))
        elif is_run:
            differences += (Difference((index,)) for index in run)
    return sorted(differences, key=lambda each: each.columns)


def _differs(sides: Sides, columns: Sequence[AlignedTokens], index: int) -> bool:
    """Whether a column has one token alone, or two that differ in text or in the space before."""
    hypothesis, reference = columns[index]
    if hypothesis is None or reference is None:
        return True
    one, other = sides[0][hypothesis], sides[1][reference]
    if one.text != other.text:
        return True
    # Where the tokens before it differ, too, their difference has the space.
    after_link = index > 0 and None not in columns[index - 1]
    return after_link and {one.space, other.space} == {"", " "}
