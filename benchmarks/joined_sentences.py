"""How the score of a text of several sentences differs from the mean of its sentences' scores.

    ADEQUA_DATA=FOLDER python benchmarks/joined_sentences.py [-m METRIC ...] [--data wmt17-da]

Random outputs of one system into English are joined, 2, 4 or 8 to a text (`--sentences`), with
spaces between them, and so are their references; each output is in one text at most of each size.
A metric that takes length for no fault scores the text as its sentences on average: the plain mean
of their scores, or the mean weighted by the words of their references. The table has the mean
difference of the text's score from either, and the mean size of the differences.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adequa.datasets.load import load_dataset
from adequa.judgements import Ratings
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, IntArray, Segments
from adequa.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Differences:
    """Scores of texts, minus the mean scores of their sentences."""

    texts: int
    words: float  # of the references of a text, on average
    plain: FloatArray  # from the plain mean
    weighted: FloatArray  # from the mean weighted by the words of references


def into_english(data: str) -> Ratings:
    """The ratings of a dataset into English."""
    ratings = load_dataset(data)
    if not isinstance(ratings, Ratings) or ratings.segments is None:
        raise SystemExit(f"{data} holds no ratings of texts.")
    pairs = ratings.ids.get("lp")
    if pairs is None or "system" not in ratings.ids:
        raise SystemExit(f"{data} does not name the systems and language pairs of its texts.")
    return ratings.select([row for row, pair in enumerate(pairs) if pair.endswith("-en")])


def texts_of(ratings: Ratings, size: int, most: int, seed: int) -> IntArray:
    """Rows of the outputs of each text: `size` random outputs of one system and language pair."""
    random = np.random.default_rng(seed)
    by_system: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(ratings.ids["lp"], ratings.ids["system"], strict=True)):
        by_system[key].append(row)
    texts = [
        random.permutation(rows)[: len(rows) // size * size].reshape(-1, size)
        for rows in by_system.values()
    ]
    return random.permutation(np.concatenate(texts))[:most]


def measure(metric: Metric, segments: Segments, single: FloatArray, texts: IntArray) -> Differences:
    """Score the joined texts, each row of `texts`, and compare with the scores of single rows."""
    references = [each[0].strip() for each in segments.references]
    joined = Segments(
        tuple(" ".join(segments.hypotheses[row].strip() for row in rows) for rows in texts),
        tuple((" ".join(references[row] for row in rows),) for rows in texts),
    )
    scores = metric.compute_scores(joined).segments
    words = np.array([len(text.split()) for text in references])[texts]
    return Differences(
        texts=len(texts),
        words=float(words.sum(axis=1).mean()),
        plain=scores - single[texts].mean(axis=1),
        weighted=scores - np.average(single[texts], axis=1, weights=words),
    )


def rows(
    names: Sequence[str], ratings: Ratings, arguments: argparse.Namespace
) -> Iterator[tuple[str | float, ...]]:
    """The rows of the table, metric by metric."""
    segments = ratings.segments
    assert segments is not None
    first = Segments(segments.hypotheses, tuple(each[:1] for each in segments.references))
    for name in names:
        metric = load_metric(name)
        single = metric.compute_scores(first).segments
        for size in arguments.sentences:
            texts = texts_of(ratings, size, arguments.texts, arguments.seed)
            found = measure(metric, first, single, texts)
            values = (
                float(value)
                for each in (found.plain, found.weighted)
                for value in (each.mean(), np.abs(each).mean())
            )
            yield name, size, found.texts, found.words, *values


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--metric", nargs="+", default=["adequa"])
    parser.add_argument("--data", default="wmt17-da", help="ratings of texts of named systems")
    parser.add_argument("--sentences", type=int, nargs="+", default=[2, 4, 8], help="of a text")
    parser.add_argument("--texts", type=int, default=500, help="at most, of each size")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    columns = (
        Column("metric"),
        Column("sentences", "integer"),
        Column("texts", "integer"),
        Column("words", "number", decimals=0),
        *(
            Column(name, "number", decimals=4)
            for name in ("from plain mean", "size", "from weighted mean", "size of that")
        ),
    )
    found = list(rows(arguments.metric, into_english(arguments.data), arguments))
    title = f"{arguments.data}: scores of joined texts minus the mean scores of their sentences"
    print(Table(columns, found, title).to_markdown())


if __name__ == "__main__":
    main()
