"""Words, sentences and clauses of an English text, by their places."""

from __future__ import annotations

import re

# Letters and digits, with what joins them: "20-year-old", "3,500", "U.S", "don't".
WORD = re.compile(r"[^\W_]+(?:[-'’.,:][^\W_]+)*")
_BREAK = re.compile(
    r"(?<=[,;:.!?])[\"”’)]*\s|\s[-–—]\s"
    r"|\s(?=(?:and|but|because|which|who|while|when|although|though|if|where|so that)\s)"
)
_SENTENCE_ENDS = frozenset(".!?:;…\"“”„«»'‘([-–—•*|/<>")
_LAST_MARKS = ' \t\n.!?…"”’»)]'


def listed(words: str) -> tuple[str, ...]:
    """Words that are written one after the other, for long lists.

    >>> listed("one two")
    ('one', 'two')
    """
    return tuple(words.split())


FUNCTION_WORDS = frozenset(
    listed(
        "a an the this that these those my your his her its our their some any no every each all "
        "both few many much more most other another such own i you he she it we they me him them "
        "us who whom whose which what myself himself herself itself themselves ourselves am is "
        "are was were be been being do does did done doing have has had having will would shall "
        "should can could may might must ought cannot and or but nor so yet if because although "
        "though while when where why how than as of in on at by for with about against between "
        "into through during before after above below to from up down out off over under again "
        "further then once here there not only very too just also now even still already however "
        "therefore thus whether until since upon within without toward towards among per via s t "
        "d ll re ve m don doesn didn isn aren wasn weren won wouldn couldn shouldn can't don't "
        "doesn't didn't isn't aren't wasn't weren't won't wouldn't it's he's she's that's there's "
        "i'm we're they're you're i've we've they've"
    )
)


def spans(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends.

    >>> spans("It's 3,500 m.")
    [(0, 4), (5, 10), (11, 12)]
    """
    return [match.span() for match in WORD.finditer(text)]


def content_spans(text: str) -> list[tuple[int, int]]:
    """The words that carry content: no function words, at least three characters.

    >>> [("The cat is on the mat")[start:end] for start, end in content_spans("The cat is on it")]
    ['cat']
    """
    return [
        match.span()
        for match in WORD.finditer(text)
        if len(match[0]) > 2 and match[0].lower() not in FUNCTION_WORDS  # noqa: PLR2004
    ]


def lower_words(text: str) -> frozenset[str]:
    """The content words of a text in lower case, to tell how much two texts have in common."""
    return frozenset(match[0] for match in WORD.finditer(text.lower())) - FUNCTION_WORDS


def begins_sentence(text: str, start: int) -> bool:
    """Whether the word that starts here is, or may be, the first of a sentence.

    >>> [begins_sentence("Yes. No, (Ann)", at) for at in (0, 5, 10)]
    [True, True, True]
    >>> begins_sentence("the Czech team", 4)
    False
    """
    while start and text[start - 1].isspace():
        start -= 1
    return start == 0 or text[start - 1] in _SENTENCE_ENDS


def clauses(text: str) -> list[tuple[int, int]]:
    """Where each clause begins and ends: cut after marks, at dashes and before conjunctions.

    >>> [text for text in map(lambda at: "He came, and she left."[slice(*at)],
    ...                       clauses("He came, and she left."))]
    ['He came,', 'and she left.']
    """
    cuts = [match.span() for match in _BREAK.finditer(text)]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end > start]


def last_marks(text: str) -> tuple[str, str]:
    """The text without the marks at its end, and those marks.

    >>> last_marks('He said: "yes."')
    ('He said: "yes', '."')
    """
    kept = text.rstrip(_LAST_MARKS)
    return kept, text[len(kept) :]
