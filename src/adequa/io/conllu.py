"""CoNLL-U files of dependency parses: the words of each sentence, and the word each hangs from.

Of the ten columns ID, FORM and HEAD count, and of the comments `# text`. Multiword tokens (1-2) and
empty nodes (1.1) are no part of a tree. A block of comments without words is an empty sentence if
`# text` or `# sent_id` is among them; otherwise it says something about the file.

Every sentence that is read is a tree: it has one root, and the heads lead there from every word.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat, takewhile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.atomic import atomic_write
from adequa.io.text import Advance, FilePath, display_name, ignore, lines

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]
Parents: TypeAlias = npt.NDArray[np.int32]
Starts: TypeAlias = npt.NDArray[np.intp]

ROOT = -1  # the parent of a root

_STEPS = 6  # words of a circle in an error


def starts_of(lengths: Numbers) -> Starts:
    """Where trees of these lengths start, and where the last ends.

    >>> starts_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths, dtype=np.intp)])


@dataclass(frozen=True, slots=True)
class Fault:
    """Why parents make no tree, and at which word, counted through all segments."""

    at: int
    sentence: str


def first_fault(parents: Numbers, starts: Starts) -> Fault | None:
    """What is wrong with trees, of whatever origin; None where each has one root and no circle.

    >>> first_fault(np.array([1, 0, -1]), np.array([0, 3])).sentence
    'following the heads from word 1 leads in a circle: 1 → 2 → 1.'
    """
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.arange(len(parents)) - starts[rows] + 1
    outside = np.flatnonzero((parents < ROOT) | (parents >= lengths[rows]))
    if len(outside):
        at = int(outside[0])
        return Fault(
            at,
            f"the head of word {numbers[at]} is {parents[at] + 1}, but the last word is "
            f"{lengths[rows[at]]}.",
        )
    return _of_roots(parents, starts, rows, numbers) or _of_circles(parents, starts, rows, numbers)


def _of_roots(parents: Numbers, starts: Starts, rows: Starts, numbers: Starts) -> Fault | None:
    roots = np.flatnonzero(parents == ROOT)
    counts = np.bincount(rows[roots], minlength=len(starts) - 1)
    multiple = np.flatnonzero(counts > 1)
    if len(multiple):
        first, second = (int(at) for at in roots[rows[roots] == multiple[0]][:2])
        return Fault(
            second,
            f"words {numbers[first]} and {numbers[second]} are both roots (HEAD 0), but a tree has "
            "one; let one hang from the other, or end a sentence between them.",
        )
    rootless = np.flatnonzero((counts == 0) & (np.diff(starts) > 0))
    if len(rootless):
        return Fault(int(starts[rootless[0]]), "no word is the root; one should have the HEAD 0.")
    return None


def _of_circles(parents: Numbers, starts: Starts, rows: Starts, numbers: Starts) -> Fault | None:
    up = np.where(parents == ROOT, np.arange(len(parents)), parents + starts[rows])
    far = up
    # Each round doubles the steps, so that in the end they are more than any tree has words.
    for _ in range(int(max(np.diff(starts), default=0)).bit_length()):
        far = far[far]
    circling = far[parents[far] != ROOT]
    if not len(circling):
        return None
    begin = at = int(circling.min())
    steps = [at]
    while (at := int(up[at])) != begin:
        steps.append(at)
    if len(steps) == 1:
        return Fault(begin, f"word {numbers[begin]} is its own head.")
    first = [str(numbers[step]) for step in steps[:_STEPS]]
    closing = [*first, *(["…"] if len(steps) > _STEPS else []), first[0]]
    return Fault(
        begin,
        f"following the heads from word {first[0]} leads in a circle: {' → '.join(closing)}.",
    )


_QUOTED = 20  # characters of a cell in an error
_COLUMNS = 10
_ID, _FORM, _HEAD = 0, 1, 6
_NUMBER = re.compile(r"[0-9]{1,9}")  # what 32 bits hold
_MULTIWORD = re.compile(r"[0-9]{1,9}-([0-9]{1,9})")
_EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")
_TEXT = re.compile(r"#\s*text\s*=(.*)", re.DOTALL)
_SENTENCE_ID = re.compile(r"#\s*sent_id\b")


@dataclass(frozen=True, slots=True, eq=False)
class ParsedSentences:
    """The sentences of a file, word after word.

    Sentence i has the words from `starts[i]` to `starts[i + 1]`. Parents are positions in the
    sentence, from 0; -1 is the root.
    """

    name: str  # of the file, as error sentences show it
    words: tuple[str, ...]
    parents: Parents
    starts: Starts
    texts: tuple[str, ...]  # as `# text` says, or else the words with spaces in between

    def __len__(self) -> int:
        return len(self.texts)


def read_conllu(path: FilePath, *, advance: Advance = ignore) -> ParsedSentences:
    """The sentences of a CoNLL-U file, plain or compressed; `-` is standard input."""
    name = display_name(path)
    words: list[_Word] = []
    starts, texts = [0], []
    numbered = enumerate(lines(path, advance=advance), start=1)
    for is_blank, block in groupby(numbered, lambda each: not each[1].strip()):
        text = None if is_blank else _read_sentence(name, list(block), words)
        if text is not None:
            texts.append(text)
            starts.append(len(words))
    parents = np.array([word.parent for word in words], dtype=np.int32)
    fault = first_fault(parents, np.array(starts, dtype=np.intp))
    if fault is not None:
        raise AdequaError(f"{name}, line {words[fault.at].line}: {fault.sentence}")
    forms = tuple(word.form for word in words)
    return ParsedSentences(name, forms, parents, np.array(starts, dtype=np.intp), tuple(texts))


def write_conllu(
    path: FilePath,
    trees: Iterable[tuple[Sequence[str], Sequence[int]]],
    texts: Iterable[str] | None = None,
) -> None:
    """Write words with their parents, and with the texts that they are the words of, if given.

    White space in a text is written as single spaces.
    """
    with atomic_write(path) as handle:
        texts_or_none = repeat(None) if texts is None else texts
        sentences = zip(trees, texts_or_none, strict=texts is not None)
        for number, ((words, parents), text) in enumerate(sentences, start=1):
            place = f"{display_name(path)} cannot hold sentence {number}"
            handle.write(_block(place, " ".join(words) if text is None else text, words, parents))


def _block(place: str, text: str, words: Sequence[str], parents: Sequence[int]) -> str:
    """One sentence as it stands in a file, with the empty line after it."""
    rows = [f"# text = {' '.join(text.split())}".rstrip()]
    for number, (word, parent) in enumerate(zip(words, parents, strict=True), start=1):
        if not word or "\t" in word or "\n" in word:
            raise AdequaError(
                f"{place}: word {number} is {word!r}, but words are not empty and have no tabs or "
                "line ends in them."
            )
        rows.append(f"{number}\t{word}\t_\t_\t_\t_\t{parent + 1}\t_\t_\t_")
    return "\n".join([*rows, "", ""])


class _Word(NamedTuple):
    form: str
    parent: int
    line: int


def _read_sentence(name: str, block: list[tuple[int, str]], words: list[_Word]) -> str | None:
    """Add the words of numbered lines; return the text, or None where they are no sentence."""
    comments = [line for _, line in takewhile(lambda each: each[1].startswith("#"), block)]
    first = len(words)
    surface: list[str] = []  # words as they are written, so multiword tokens whole
    written_to = 0  # the last word of the latest multiword token
    for number, line in block:
        columns = line.split("\t")
        if line.startswith("#") or _EMPTY_NODE.fullmatch(columns[_ID]):
            continue
        expected = len(words) - first + 1
        try:
            _check_token(columns, expected)
        except AdequaError as error:
            raise AdequaError(f"{name}, line {number}: {error}") from error
        form = sys.intern(columns[_FORM])
        if multiword := _MULTIWORD.fullmatch(columns[_ID]):
            surface.append(form)
            written_to = int(multiword[1])
            continue
        words.append(_Word(form, int(columns[_HEAD]) - 1, number))
        if expected > written_to:
            surface.append(form)
    text = next((match[1].strip() for match in map(_TEXT.fullmatch, comments) if match), None)
    if text is None and (len(words) > first or any(map(_SENTENCE_ID.match, comments))):
        return " ".join(surface)
    return text


def _check_token(columns: Sequence[str], expected: int) -> None:
    """Raise unless a line is a multiword token, or the word of the expected number."""
    if len(columns) != _COLUMNS:
        raise AdequaError(
            f"CoNLL-U has {_COLUMNS} columns, separated by tabs, but here "
            + (f"are {len(columns)}." if len(columns) > 1 else "are no tabs.")
        )
    if not columns[_FORM]:
        raise AdequaError("the second column, FORM, is empty; it should be a word.")
    if _MULTIWORD.fullmatch(columns[_ID]):
        return
    if columns[_ID] != str(expected):
        raise AdequaError(
            f"the first column, ID, is {_quoted(columns[_ID])} where {expected} was expected; "
            "words are numbered from 1, and an empty line ends a sentence."
        )
    if not _NUMBER.fullmatch(columns[_HEAD]):
        raise AdequaError(
            f"the seventh column, HEAD, is {_quoted(columns[_HEAD])}; it should be the number of a "
            "word of the sentence, or 0 for the root."
        )


def _quoted(cell: str) -> str:
    return repr(cell if len(cell) <= _QUOTED else f"{cell[:_QUOTED]}…")
