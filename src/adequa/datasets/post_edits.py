"""Post-edits as references, written with ordinary spaces again.

A post-edit is the output after a person corrected it: a reference that is near to the output. Those
of `mlqe-pe` are tokenised ("I can 't , she said .") and the outputs are not, so that a metric could
not tell an unchanged output from a corrected one, and would learn that spaces mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from adequa.languages import language_pair

Side: TypeAlias = Literal["left", "right", "both", "none"]

# The Moses detokenizer treats a backslash as a closing mark, and so do the outputs.
_CLOSING = re.compile(r"[,.?!:;\\%}\])]+")
_OPENING = re.compile(r"[$€£¥₽(\[{¿¡]+")
_QUOTES = re.compile(r"'+|[\"„“”]+")
_SUFFIX = re.compile(r"'[^\W\d_]")  # 's, 't, 'clock
_CONTRACTIONS = frozenset(("s", "t", "m", "d", "ll", "re", "ve"))


def detokenised(text: str) -> str:
    """An English text that the Moses tokenizer has split, with ordinary spaces.

    The rules are those of the Moses detokenizer, because it wrote the outputs that people edited:
    an output that was left alone becomes the same text again. They are written here because the
    library that has them, sacremoses, would be a dependency for this one function.

    >>> detokenised('Sasha said : " I can \\'t pay $ 5 ( 10 % ) . "')
    'Sasha said: "I can\\'t pay $5 (10%)."'
    """
    words = text.split()
    parts: list[str] = []
    open_quotes: set[str] = set()
    joins_next = True  # no space before the first word
    for index, word in enumerate(words):
        side = _attached_side(words, index, open_quotes)
        if not (joins_next or side in {"left", "both"}):
            parts.append(" ")
        parts.append(word)
        joins_next = side in {"right", "both"}
    return "".join(parts)


def _attached_side(words: Sequence[str], index: int, open_quotes: set[str]) -> Side:
    """The side on which a word or mark has no space; `open_quotes` is updated."""
    word = words[index]
    previous = words[index - 1] if index else ""
    if _CLOSING.fullmatch(word) or (_SUFFIX.match(word) and previous[-1:].isalnum()):
        return "left"
    if _OPENING.fullmatch(word):
        return "right"
    if word == "’":
        return "both" if _CONTRACTIONS.intersection(words[index + 1 : index + 2]) else "left"
    return _quote_side(words, index, open_quotes) if _QUOTES.fullmatch(word) else "none"


def _quote_side(words: Sequence[str], index: int, open_quotes: set[str]) -> Side:
    """Quotation marks open and close in turn; after an s, an apostrophe ends a possessive."""
    kind = "'" if words[index].startswith("'") else '"'
    if kind in open_quotes:
        open_quotes.remove(kind)
        return "left"
    if words[index] == "'" and index and words[index - 1].endswith("s"):
        return "left"
    open_quotes.add(kind)
    return "right"


def post_edits_as_references(
    columns: Mapping[str, Sequence[object]], pairs: Sequence[str]
) -> dict[str, list[object]]:
    """The rows of these language pairs that have a post-edit, which becomes the column `ref`.

    >>> columns = {"lp": ["et-en", "en-de", "et-en"], "mt": ["a", "b", "c"], "ref": [None] * 3}
    >>> post_edits_as_references(columns | {"post_edit": ["a .", "b .", None]}, ["et-en"])
    {'lp': ['et-en'], 'mt': ['a'], 'ref': ['a.']}
    """
    rows = [
        row
        for row, (pair, text) in enumerate(zip(columns["lp"], columns["post_edit"], strict=True))
        if language_pair(str(pair)) in pairs and isinstance(text, str) and text.strip()
    ]
    selected = {name: [values[row] for row in rows] for name, values in columns.items()}
    selected.pop("raw", None)  # the same ratings on another scale
    texts = selected.pop("post_edit")
    return selected | {"ref": [detokenised(str(text)) for text in texts]}
