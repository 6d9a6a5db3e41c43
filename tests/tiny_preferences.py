"""Made-up preferences that can be learnt: of two hypotheses, the one with fewer wrong words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adequa.judgements import Preferences
from adequa.segments import Segments

WORDS = (
    "the", "old", "dog", "barked", "at", "a", "small", "cat", "near", "our", "house", "while", "it",
    "was", "raining", "on", "us", "all",
)  # fmt: skip
WRONG = ["zig", "zag", "zug", "zog"]


def damaged(reference: str, count: int, random: np.random.Generator) -> str:
    """A reference with so many words replaced."""
    words = reference.split()
    for at in random.choice(len(words), count, replace=False):
        words[at] = str(random.choice(WRONG))
    return " ".join(words)


def references(count: int, seed: int = 0) -> list[str]:
    """Different references of ten words."""
    random = np.random.default_rng(seed)
    return [f"{number} " + " ".join(random.choice(WORDS, 9)) for number in range(count)]


def tiny_preferences(count: int = 120, seed: int = 0) -> Preferences:
    """Preferences with texts, two a reference."""
    random = np.random.default_rng(seed)
    rows = []
    for reference in references(count, seed):
        for few, many in ((0, 2), (1, 4)):
            rows.append(
                (damaged(reference, few, random), damaged(reference, many, random), reference)
            )
    better, worse, said = zip(*rows, strict=True)
    cells = tuple((reference,) for reference in said)
    return Preferences(
        ids={"lp": ("cs-en", "de-en") * count},
        better=Segments(better, cells),
        worse=Segments(worse, cells),
        name="made-up",
    )


def write_preferences(path: Path, preferences: Preferences) -> Path:
    """A table as users have it."""
    if preferences.better is None or preferences.worse is None:
        raise TypeError("preferences with texts")
    lines = ["better\tworse\tref\tlp"]
    for row, pair in enumerate(preferences.ids["lp"]):
        better, worse = preferences.better, preferences.worse
        texts = better.hypotheses[row], worse.hypotheses[row], better.references[row][0]
        lines.append("\t".join([*texts, pair]))
    path.write_text("\n".join(lines) + "\n")
    return path
