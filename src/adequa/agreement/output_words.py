"""Words of outputs: how many of them a reference has too, and which an encoder does not know.

Words are those of sacreBLEU's 13a, in lower case, punctuation included. Where a language is written
without spaces, its characters are taken as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import AnyEncoder, Encoder
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from adequa.metrics.edit_rates import word_overlap, word_splitter
from adequa.segments import FloatArray, IntArray, Segments

# Whose words are known: an encoder, as on the command line or as an object.
Vocabulary: TypeAlias = str | AnyEncoder
# Languages without spaces between words, and the tokenizer that cuts them into characters.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Of each output its words, its overlap with the nearest reference, and that reference."""

    lengths: IntArray
    overlaps: FloatArray
    references: tuple[str, ...]


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
        candidate_overlaps = [word_overlap(words, split(each)) for each in candidates]
        best = max(candidate_overlaps)
        lengths.append(len(words))
        overlaps.append(best)
        references.append(candidates[candidate_overlaps.index(best)])
    return Surface(np.array(lengths, dtype=np.intp), np.array(overlaps), tuple(references))


def marked_parts(text: str, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is one of the words, in whatever case.

    >>> list(marked_parts("A flat in Brno, flatly", ["brno", "flat"]))
    [('A ', False), ('flat', True), (' in ', False), ('Brno', True), (', flatly', False)]
    """
    marked = sorted(filter(None, set(words)), key=lambda word: (-len(word), word))
    if not marked:
        yield text, False
        return
    either = "|".join(map(re.escape, marked))  # the longest first: "flat-out" is not a "flat"
    # A word that begins or ends in a sign, such as "@-@", may stand next to anything.
    pieces = re.split(rf"((?<!\w)(?=\w)(?:{either})(?!\w)|(?!\w)(?:{either}))", text, flags=re.I)
    for index, piece in enumerate(pieces):
        if piece:
            yield piece, bool(index % 2)


@dataclass(frozen=True, slots=True)
class UnknownWords:
    """Of each output, the distinct words that at least one encoder does not know."""

    unknown: tuple[tuple[str, ...], ...]

    @property
    def any_unknown(self) -> npt.NDArray[np.bool_]:
        """Whether each output has such words."""
        return np.array([bool(words) for words in self.unknown], dtype=np.bool_)


def vocabularies(
    encoders: Vocabulary | Sequence[Vocabulary],
) -> tuple[tuple[Encoder, ...], tuple[str, ...]]:
    """The encoders that have a list of words, and the names of those that have none."""
    with_words, without = [], []
    listed = [encoders] if isinstance(encoders, (str, AnyEncoder)) else encoders
    for each in listed:
        encoder = load_encoder(each) if isinstance(each, str) else each
        if isinstance(encoder, Encoder) and encoder.coverage(()) is not None:
            with_words.append(encoder)
        else:
            without.append(encoder.name)
    return tuple(with_words), tuple(without)


def unknown_words(encoders: Sequence[Encoder], sentences: Sequence[str]) -> UnknownWords | None:
    """What any of the encoders does not know; None where there is no encoder to ask."""
    if not encoders:
        return None
    lists = [_unknown(encoder, sentences) for encoder in encoders]
    return UnknownWords(
        tuple(tuple(dict.fromkeys(chain(*words))) for words in zip(*lists, strict=True)),
    )


def _unknown(encoder: Encoder, sentences: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    coverage = encoder.coverage(sentences)
    if coverage is None or len(coverage.unknown) != len(sentences):
        raise AdequaError(
            f"{encoder.name} should say of {len(sentences)} sentences which words it does not "
            "know, and did not; analyse without it."
        )
    return coverage.unknown
