"""What segments have in common: their length, overlap, rare words, numbers, names, documents.

Features come from references, and overlap from all systems together, so that a segment is in the
same bucket for every system.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from adequa.agreement.surface import word_overlap
from adequa.comparison.outputs import Outputs
from adequa.damage.entities import find_names
from adequa.metrics.edit_rates import word_splitter
from adequa.segments import FloatArray, IntArray

# Scripts without spaces between words, whose characters are taken as words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LENGTHS = (10, 20, 30, 40, 60)  # words that a bucket ends with
_OVERLAPS = (0.2, 0.4, 0.6, 0.8)
_RARE = (0.1, 0.2, 0.3)
_MANY = 2  # numbers, names or unknown words, or more


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """One way to part the segments: a label for each of them, in a sensible order of labels."""

    name: str
    title: str
    labels: tuple[str, ...]
    places: IntArray  # of each segment's label

    def buckets(self) -> list[tuple[str, IntArray]]:
        """Every label that any segment has, and the segments that have it."""
        order = np.argsort(self.places, kind="stable")
        there, starts = np.unique(self.places[order], return_index=True)
        rows = np.split(order, starts[1:])
        return [(self.labels[place], of) for place, of in zip(there.tolist(), rows, strict=True)]


def vocabulary(outputs: Outputs, texts: Iterable[str]) -> frozenset[str]:
    """The words of texts, as those of these references are counted."""
    split = word_splitter(tokenizer_of(outputs.references), lowercase=True)
    return frozenset(word for text in texts for word in split(text))


def features(outputs: Outputs, known: frozenset[str] | None = None) -> tuple[Feature, ...]:
    """Every way to part these segments; `known` are words that are not unknown."""
    tokenizer = tokenizer_of(outputs.references)
    split = word_splitter(tokenizer, lowercase=True)
    references = [split(texts[0]) for texts in outputs.references]
    found = [
        _by_length(references, "characters" if tokenizer == "char" else "words"),
        _by_overlap(outputs, split),
        _by_rare_words(references),
        _by_count("numbers", "Numbers", map(_numbers, outputs.references)),
        _by_count("names", "Names", map(_names, outputs.references)),
    ]
    if known is not None:
        unknown = (sum(word not in known for word in _written(text)) for text in references)
        found.append(_by_count("unknown", "Unknown words", unknown))
    if outputs.documents is not None:
        documents = tuple(dict.fromkeys(outputs.documents))
        place = {document: number for number, document in enumerate(documents)}
        places = np.array([place[document] for document in outputs.documents], dtype=np.intp)
        found.append(Feature("document", "Document", documents, places))
    # What parts nothing tells nothing: texts without capitals have no names to go by.
    return tuple(feature for feature in found if len(feature.buckets()) > 1)


def tokenizer_of(references: Sequence[Sequence[str]]) -> str:
    """The tokenizer for texts: words, or characters where the script has no spaces.

    >>> tokenizer_of([("A cat sat.",)]), tokenizer_of([("猫が座った。",)])
    ('13a', 'char')
    """
    text = "".join(texts[0] for texts in references)
    unspaced, letters = len(_UNSPACED.findall(text)), len(_LETTER.findall(text))
    return "char" if 2 * unspaced > letters else "13a"


def _by_length(references: Sequence[Sequence[str]], unit: str) -> Feature:
    lengths = np.array([len(words) for words in references])
    starts = (1, *(end + 1 for end in _LENGTHS))
    labels = (
        *(f"{low}–{high} {unit}" for low, high in zip(starts, _LENGTHS, strict=False)),
        f"{starts[-1]} {unit} or more",
    )
    places = np.searchsorted(_LENGTHS, lengths, side="left").astype(np.intp)
    return Feature("length", "Reference length", labels, places)


def _by_overlap(outputs: Outputs, split: Callable[[str], list[str]]) -> Feature:
    """By the words that outputs share with their nearest reference, mean over systems."""
    overlaps = np.zeros(len(outputs))
    words = [[split(text) for text in texts] for texts in outputs.references]
    for hypotheses in outputs.hypotheses:
        overlaps += [
            max(word_overlap(split(text), reference) for reference in texts)
            for text, texts in zip(hypotheses, words, strict=True)
        ]
    places = _cut(_OVERLAPS, overlaps, outputs)
    return Feature("overlap", "Overlap with reference", _percents(_OVERLAPS), places)


def _by_rare_words(references: Sequence[Sequence[str]]) -> Feature:
    """By the share of words that no other reference of these has."""
    having = Counter(word for words in references for word in set(words))
    shares = np.array(
        [
            sum(having[word] == 1 for word in _written(words)) / max(len(words), 1)
            for words in references
        ]
    )
    places = np.where(shares > 0, 1 + np.searchsorted(_RARE, shares, side="right"), 0)
    labels = ("none", *_percents(_RARE))
    return Feature("rare", "Rare words", labels, places.astype(np.intp))


def _by_count(name: str, title: str, counts: Iterable[int]) -> Feature:
    labels = ("none", "one", "two or more")
    places = np.minimum(np.fromiter(counts, dtype=np.intp), _MANY)
    return Feature(name, title, labels, places)


def _cut(edges: Sequence[float], sums: FloatArray, outputs: Outputs) -> IntArray:
    return np.searchsorted(edges, sums / len(outputs.names) + 1e-12, side="right").astype(np.intp)


def _percents(edges: Sequence[float]) -> tuple[str, ...]:
    """Labels between edges.

    >>> _percents([0.2, 0.5])
    ('under 20%', '20–50%', '50% or more')
    """
    shown = [f"{100 * edge:g}" for edge in edges]
    between = (f"{low}–{high}%" for low, high in pairwise(shown))
    return (f"under {shown[0]}%", *between, f"{shown[-1]}% or more")


def _written(words: Sequence[str]) -> list[str]:
    """Those of the words that have letters."""
    return [word for word in words if _LETTER.search(word)]


def _numbers(texts: Sequence[str]) -> int:
    return len(_NUMBER.findall(texts[0]))


def _names(texts: Sequence[str]) -> int:
    return len(find_names(texts[0]))
