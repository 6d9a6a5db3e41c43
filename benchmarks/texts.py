"""Texts that benchmarks share: pairs of a dataset, and words to make synthetic ones of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Ratings

EXAMPLES = Path(__file__).parent.parent / "examples"
SENTENCES = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()
WORDS = " ".join(SENTENCES).split()
NEWS = (
    "the minister said on Tuesday that a new agreement between both countries would be signed in "
    "spring although many questions about its costs remain open and the opposition has announced "
    "resistance because it fears for jobs in smaller towns where most factories closed last year"
)
NEWS_WORDS = NEWS.split()

TextPair = tuple[str, str]  # hypothesis and reference


def dataset_pairs(data: str) -> list[TextPair] | None:
    """Return the different pairs of a dataset; None, after a message, if it cannot be loaded."""
    try:
        ratings = load_dataset(data)
    except AdequaError as error:
        print(f"{error} Synthetic sentences are scored instead.")
        return None
    if not isinstance(ratings, Ratings) or ratings.segments is None:
        raise SystemExit(f"{data} holds no ratings of texts.")
    columns = zip(ratings.segments.hypotheses, ratings.segments.references, strict=True)
    return list(dict.fromkeys((hypothesis, references[0]) for hypothesis, references in columns))


def with_replaced_words(
    random: Random, words: Sequence[str], fraction: float, replacements: Sequence[str]
) -> str:
    """Return a text in which about this fraction of the words is replaced."""
    return " ".join(
        word if random.random() < 1 - fraction else random.choice(replacements) for word in words
    )
