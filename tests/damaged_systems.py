"""Made-up systems: references of random words, and outputs that get some of them wrong."""

from __future__ import annotations

import numpy as np

WORDS = tuple(f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst")


def references(segments: int, seed: int = 1) -> list[str]:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(5, 20, segments)
    return [" ".join(generator.choice(WORDS, length)) + " ." for length in lengths]


def system(texts: list[str], wrong: float, seed: int) -> list[str]:
    """The texts with a share of their words replaced by others."""
    generator = np.random.default_rng(seed)

    def damaged(text: str) -> str:
        words = text.split()
        hit = generator.random(len(words)) < wrong
        others = generator.choice(WORDS, len(words))
        return " ".join(np.where(hit, others, words))

    return [damaged(text) for text in texts]
