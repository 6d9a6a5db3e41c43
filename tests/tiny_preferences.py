"""Made-up preferences that can be learnt: of two hypotheses, that with fewer wrong words wins."""

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
    """Return a reference with `count` words replaced."""
    words = reference.split()
    for index in random.choice(len(words), count, replace=False):
        words[index] = str(random.choice(WRONG))
    return " ".join(words)


def references(count: int, seed: int = 0) -> list[str]:
    """Return distinct references of ten words."""
    random = np.random.default_rng(seed)
    return [f"{number} " + " ".join(random.choice(WORDS, 9)) for number in range(count)]


def tiny_preferences(count: int = 120, seed: int = 0) -> Preferences:
    """Return preferences with texts, two a reference."""
    random = np.random.default_rng(seed)
    rows = []
    for reference in references(count, seed):
        for few, many in ((0, 2), (1, 4)):
            rows.append(
                (damaged(reference, few, random), damaged(reference, many, random), reference)
            )
    better, worse, single = zip(*rows, strict=True)
    cells = tuple((reference,) for reference in single)
    return Preferences(
        ids={"lp": ("cs-en", "de-en") * count},
        better=Segments(better, cells),
        worse=Segments(worse, cells),
        name="made-up",
    )


def texts_of(preferences: Preferences) -> tuple[Segments, Segments]:
    """Return the better and the worse hypotheses."""
    if preferences.better is None or preferences.worse is None:
        raise TypeError("preferences without texts")
    return preferences.better, preferences.worse


def write_preferences(path: Path, preferences: Preferences) -> Path:
    """Write preferences as a TSV table; return its path."""
    better, worse = texts_of(preferences)
    lines = ["better\tworse\tref\tlp"]
    for row, pair in enumerate(preferences.ids["lp"]):
        texts = better.hypotheses[row], worse.hypotheses[row], better.references[row][0]
        lines.append("\t".join([*texts, pair]))
    path.write_text("\n".join(lines) + "\n")
    return path
