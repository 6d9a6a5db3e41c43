"""A parser without a model, random trees, and rated pairs that a Tree-LSTM can learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from adequa.encoders.parses import Parser, Parses
from adequa.encoders.token_vectors import WordVectorTable
from adequa.io.conllu import ROOT
from adequa.judgements import Preferences, Ratings
from adequa.learned.reval.forest import Forest, build_forest
from adequa.segments import Segments

NOUNS = ("cat", "dog", "mat", "house", "tree", "river", "stone", "bird")
VERBS = ("saw", "ate", "left")


class LastWord(Parser):
    """Makes the last word the parent of all others; an empty text has no words."""

    specifications = ("last:word",)
    name = "last-word"
    fingerprint = "last"
    is_quick = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def parse(self, texts: Sequence[str]) -> Parses:
        self.asked += texts
        words = [tuple(text.split()) for text in texts]
        return Parses.of([(each, [len(each) - 1] * (len(each) - 1) + [-1] * bool(each))
                          for each in words])  # fmt: skip


def write_table(path: Path, seed: int = 0, dimension: int = 6) -> Path:
    """Vectors of all words but one, as GloVe writes them."""
    random = np.random.default_rng(seed)
    lines = [
        " ".join([word, *(f"{number:.4f}" for number in random.normal(size=dimension))])
        for word in (*NOUNS[:-1], *VERBS)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def table(folder: Path) -> WordVectorTable:
    return WordVectorTable.load(str(write_table(folder / "words.txt")))


def rated(count: int = 120, seed: int = 0) -> Ratings:
    """Sentences of three words, rated by the number of words that they share with the reference."""
    random = np.random.default_rng(seed)
    references, hypotheses, scores = [], [], []
    for _ in range(count):
        reference = [str(random.choice(words)) for words in (NOUNS, VERBS, NOUNS)]
        same = random.random(3) < random.random()
        others = [str(random.choice(words)) for words in (NOUNS, VERBS, NOUNS)]
        words = [one if keep else other
                 for one, other, keep in zip(reference, others, same, strict=True)]  # fmt: skip
        references.append((" ".join(reference),))
        hypotheses.append(" ".join(words))
        matches = sum(one == other for one, other in zip(reference, words, strict=True))
        scores.append(1 + 4 * matches / 3)
    return Ratings(
        np.array(scores),
        {"lp": ("xx-en",) * count},
        Segments(tuple(hypotheses), tuple(references)),
        name="made-up",
    )


def preferred(ratings: Ratings) -> Preferences:
    """Preferences among the hypotheses of a reference, as the ratings have it."""
    if ratings.segments is None:
        raise TypeError("these ratings have texts")
    texts, scores = ratings.segments, ratings.scores
    rows = [
        (one, other)
        for one in range(len(ratings))
        for other in range(len(ratings))
        if texts.references[one] == texts.references[other] and scores[one] > scores[other]
    ]
    better, worse = zip(*rows, strict=True)
    return Preferences(
        {"lp": ("xx-en",) * len(rows)},
        better=texts.select(better),
        worse=texts.select(worse),
        name="made-up-preferences",
    )


@st.composite
def forests(draw: st.DrawFn, most_trees: int = 5, most_words: int = 9) -> Forest:
    """Random trees over few words, some of them empty, in any order of nodes."""
    words, parents, starts = [], [], [0]
    for length in draw(st.lists(st.integers(0, most_words), min_size=1, max_size=most_trees)):
        order = draw(st.permutations(range(length)))
        tree = [ROOT] * length
        for place in range(1, length):
            tree[order[place]] = order[draw(st.integers(0, place - 1))]
        words += draw(st.lists(st.integers(0, 6), min_size=length, max_size=length))
        parents += tree
        starts.append(len(parents))
    return build_forest(words, parents, starts)
