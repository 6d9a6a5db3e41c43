"""What confidence costs beside scoring, on one thread.

    ADEQUA_DATA=FOLDER python benchmarks/confidence.py

Scores the first 1,000 pairs of WMT15's direct assessments with adequa, then estimates intervals,
errors and bands from texts and scores; prints the time of each for a pair, and their ratio.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter

from adequa.datasets.load import load_dataset
from adequa.judgements import Ratings
from adequa.metrics.registry import load_metric
from adequa.scoring.confidence import Estimator

PAIRS = 1000
ROUNDS = 5  # of the estimates, which are quick


def main() -> None:
    """Measure and print."""
    ratings = load_dataset("wmt15-da")
    if not isinstance(ratings, Ratings) or ratings.segments is None:
        raise TypeError("wmt15-da holds ratings with texts")
    segments = ratings.segments.select(range(PAIRS))
    metric = load_metric("adequa:threads=1")
    metric.compute_scores(segments.select(range(10)))  # opens the model
    estimator = Estimator.of(metric)
    start = perf_counter()
    scores = metric.compute_scores(segments).segments
    scoring = perf_counter() - start
    rounds = []
    for _ in range(ROUNDS):
        start = perf_counter()
        estimator(segments, scores)
        rounds.append(perf_counter() - start)
    print(f"scoring     {1000 * scoring / PAIRS:.3f} ms a pair")
    print(f"confidence  {1000 * median(rounds) / PAIRS:.3f} ms a pair")
    print(f"ratio       {median(rounds) / scoring:.1%}")


if __name__ == "__main__":
    main()
