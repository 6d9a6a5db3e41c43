"""Small encoders and ratings for tests of learned metrics: vectors that follow from the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from adequa.encoders.base import Encoder, PairEncoder, Vectors
from adequa.judgements import Ratings
from adequa.segments import Segments

DIMENSION = 3


def vector(sentence: str, dimension: int = DIMENSION) -> Vectors:
    """Numbers that depend on the characters of a sentence alone."""
    seed = np.random.SeedSequence([1, *sentence.encode()])
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


def vectors(sentences: Sequence[str], dimension: int = DIMENSION) -> Vectors:
    return np.stack([vector(sentence, dimension) for sentence in sentences])


def write_vectors(path: Path, sentences: Iterable[str], dimension: int = DIMENSION) -> Path:
    """A file of precomputed vectors; each sentence is in it once."""
    texts = list(dict.fromkeys(sentences))
    np.savez(path, sentences=np.array(texts), vectors=vectors(texts, dimension))
    return path


def write_words(path: Path, sentences: Iterable[str], dimension: int = DIMENSION) -> Path:
    """A file of word vectors in GloVe's layout, for every word of the sentences in lower case."""
    words = sorted({word for text in sentences for word in text.lower().split()})
    rows = (" ".join([word, *map(str, vector(word, dimension).tolist())]) for word in words)
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


class Counting(Encoder):
    """Remembers every sentence that it was given."""

    specification = "counting:nowhere"
    name = "counting"
    dimension = DIMENSION
    fingerprint = "c0"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, sentences: Sequence[str]) -> Vectors:
        self.seen += sentences
        return vectors(sentences)


class Together(PairEncoder):
    """Reads two sentences together."""

    specification = "together:nowhere"
    name = "together"
    dimension = DIMENSION
    fingerprint = "70"

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        return np.asarray(np.abs(vectors(firsts) - vectors(seconds)), np.float32)


def texts(count: int, references: int = 1) -> Segments:
    """Segments of which two and two share their references."""
    return Segments(
        tuple(f"hypothesis {row}" for row in range(count)),
        tuple(
            tuple(f"reference {row // 2}.{number}" for number in range(references))
            for row in range(count)
        ),
    )


def sentences_of(segments: Segments) -> list[str]:
    return [
        *segments.hypotheses,
        *(text for references in segments.references for text in references),
    ]


def rated(count: int = 36, references: int = 1) -> Ratings:
    """Ratings that can be learnt: the nearer the two vectors, the higher."""
    segments = texts(count, references)
    firsts = vectors([references[0] for references in segments.references])
    scores = -np.abs(vectors(segments.hypotheses) - firsts).sum(axis=1).astype(np.float64)
    pairs = tuple("cs-en" if row % 4 < 2 else "de-en" for row in range(count))
    return Ratings(scores, {"lp": pairs}, segments, name="made-up")
