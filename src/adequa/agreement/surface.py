"""The surface of outputs: their words, how many of them a reference has too, unknown ones marked.

Words are those of sacreBLEU's 13a, in lower case, punctuation included. Where a language is written
without spaces, its characters are taken as words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adequa.metrics.edit_rates import word_splitter
from adequa.segments import FloatArray, IntArray, Segments

# Languages without spaces between words, and the tokenizer that cuts them into characters.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Of each output its words, its overlap with the nearest reference, and that reference."""

    lengths: IntArray
    overlaps: FloatArray
    references: tuple[str, ...]


def word_overlap(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """How much two texts share word by word: the F1 of their words, each counted as often as it is.

    Twice the common words over the words of both, so that neither a short nor a long text gains.

    >>> word_overlap(["the", "the", "cat"], ["the", "cat", "sat"])
    0.6666666666666666
    """
    words = len(hypothesis) + len(reference)
    common = sum((Counter(hypothesis) & Counter(reference)).values())
    return 2 * common / words if words else 0.0


def tokenizer_of(language_pair: str) -> str:
    """The tokenizer for outputs of a language pair.

    >>> tokenizer_of("cs-en"), tokenizer_of("en-zh"), tokenizer_of("")
    ('13a', 'zh', '13a')
    """
    return _TOKENIZERS.get(re.split("[-_]", f"{language_pair}-")[1], "13a")


def surfaces(segments: Segments, language_pairs: Sequence[str]) -> Surface:
    """Lengths and overlaps of outputs; of several references, the one with the largest overlap."""
    lengths, overlaps, references = [], [], []
    rows = zip(segments.hypotheses, segments.references, language_pairs, strict=True)
    for hypothesis, candidates, pair in rows:
        split = word_splitter(tokenizer_of(pair), lowercase=True)
        words = split(hypothesis)
        found = [word_overlap(words, split(candidate)) for candidate in candidates]
        best = max(found)
        lengths.append(len(words))
        overlaps.append(best)
        references.append(candidates[found.index(best)])
    return Surface(np.array(lengths, dtype=np.intp), np.array(overlaps), tuple(references))


def marked_parts(text: str, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is one of the words, in whatever case.

    >>> list(marked_parts("A flat in Brno, flatly", ["brno", "flat"]))
    [('A ', False), ('flat', True), (' in ', False), ('Brno', True), (', flatly', False)]
    """
    known = sorted(filter(None, set(words)), key=lambda word: (-len(word), word))
    if not known:
        yield text, False
        return
    either = "|".join(map(re.escape, known))  # the longest first: "flat-out" is not a "flat"
    # A word that begins or ends in a sign, such as "@-@", may stand next to anything.
    pieces = re.split(rf"((?<!\w)(?=\w)(?:{either})(?!\w)|(?!\w)(?:{either}))", text, flags=re.I)
    for place, piece in enumerate(pieces):
        if piece:
            yield piece, bool(place % 2)
