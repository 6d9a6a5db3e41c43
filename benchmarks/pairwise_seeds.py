"""The conclusions of the pairwise ranker's paper, over seeds: does each difference show?

Run: python benchmarks/pairwise_seeds.py [--seeds 5] [--only ROW]

With ADEQUA_DATA and ADEQUA_MODELS set, trains rows of the tables on WMT12 with different seeds. A
seed draws the sample of preferences and the initial weights. Prints the mean strict tau × 100 with
a 95% interval of the mean (Student's t), then the paper's conclusions as differences between two
rows of the same seed, with their interval. Inputs are computed once for all rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from adequa.judgements import Preferences
from adequa.learned.pairwise.data import UniqueTexts, corpora_of, preference_texts
from adequa.learned.pairwise.inputs import Scaling, load_inputs
from adequa.learned.pairwise.network import Features, Loss, PairwiseNetwork, costs_of
from adequa.learned.pairwise.train import TrainingSettings, train_network
from adequa.reproduce.guzman import (
    LEARNING_RATE,
    PATIENCE,
    TRAINING_ROWS,
    four_metrics,
    glove,
    glove_matched,
    syntax,
    usable,
)
from adequa.reproduce.scorers import load_preferences
from adequa.segments import FloatArray, IntArray
from adequa.statistics.preference_tau import tau


@dataclass(frozen=True)
class Row:
    """The inputs and settings of a ranker."""

    inputs: Callable[[], tuple[str, ...]]
    hidden: int = 4
    loss: Loss = "logistic"
    tie_penalty: float = 1.0
    decay: float = 1e-4


def both() -> tuple[str, ...]:
    """Return 4METRICS and both vectors."""
    return (*four_metrics(), syntax(), glove())


def matched() -> tuple[str, ...]:
    """Return 4METRICS, both vectors, and words matched by the same GloVe vectors."""
    return (*four_metrics(), glove_matched(), syntax(), glove())


ROWS = {
    "bleu": Row(lambda: ("sentbleu",), hidden=0),
    "bleucomp": Row(lambda: ("bleucomp",), hidden=0),
    "4metrics": Row(four_metrics, hidden=0),
    "4metrics + syntax": Row(lambda: (*four_metrics(), syntax())),
    "4metrics + glove": Row(lambda: (*four_metrics(), glove())),
    "vectors, deep": Row(both),
    "vectors, flat": Row(both, hidden=0),
    "vectors, kendall": Row(both, loss="kendall"),
    "vectors, both": Row(both, loss="logistic-kendall"),
    "4metrics, no penalty": Row(four_metrics, 0, "logistic-kendall", 0.0),
    "flat, no penalty": Row(both, 0, "logistic-kendall", 0.0),
    "kendall, no penalty": Row(both, 4, "kendall", 0.0),
    "both, no penalty": Row(both, 4, "logistic-kendall", 0.0),
    "matched": Row(matched, decay=3e-4),
    "matched, no penalty": Row(matched, 4, "logistic-kendall", 0.0, decay=3e-4),
}
CONCLUSIONS = (
    ("vectors add to the four metrics", "vectors, deep", "4metrics"),
    ("components beat aggregate BLEU", "bleucomp", "bleu"),
    ("deep beats flat", "vectors, deep", "vectors, flat"),
    ("logistic then Kendall beats logistic", "vectors, both", "vectors, deep"),
    ("logistic then Kendall beats Kendall", "vectors, both", "vectors, kendall"),
    ("without the penalty: vectors add", "both, no penalty", "4metrics, no penalty"),
    ("without the penalty: deep beats flat", "both, no penalty", "flat, no penalty"),
    ("without the penalty: both beat logistic", "both, no penalty", "vectors, deep"),
    ("without the penalty: both beat Kendall", "both, no penalty", "kendall, no penalty"),
    ("matched words add to the four metrics", "matched", "4metrics"),
    ("matched words: both costs beat logistic", "matched, no penalty", "matched"),
)


class Dataset:
    """Preferences, and the features of their texts by input."""

    def __init__(self, preferences: Preferences) -> None:
        corpora = corpora_of(preferences)
        parts = [(segments, corpora) for segments in preference_texts(preferences)]
        self.texts, (self.better, self.worse) = UniqueTexts.collect(parts)
        self.language_pairs = np.array(preferences.ids["lp"])
        self._features: dict[str, Features] = {}

    def features(self, names: tuple[str, ...]) -> Features:
        """Return the unscaled features from these inputs."""
        for name in names:
            if name not in self._features:
                inputs = load_inputs([name])
                self._features[name] = self.texts.features(inputs, lambda _: None, lambda _: None)
        parts = [self._features[name] for name in names]
        return Features(
            np.hstack([part.hypotheses for part in parts]),
            np.hstack([part.scores for part in parts]),
            np.hstack([part.references for part in parts]),
        )

    def margins(self, network: PairwiseNetwork, features: Features) -> FloatArray:
        """Return the logits of the preferences, which have one reference each."""
        triples, _ = self.texts.triples(self.better, self.worse)
        margins = network.margins(features, triples, symmetric=True)
        return np.where(self.better == self.worse, 0.0, margins)


def scaled(features: Features, scores: Scaling, vectors: Scaling) -> Features:
    """Return features in the range of the training data."""
    return Features(
        vectors.apply(features.hypotheses),
        scores.apply(features.scores),
        vectors.apply(features.references),
    )


def train_and_test(
    row: Row, datasets: tuple[Dataset, Dataset, Dataset], seed: int
) -> tuple[float, float]:
    """Return tau on validation data and the mean over language pairs on test data, times 100."""
    train, validation, test = datasets
    raw = [dataset.features(row.inputs()) for dataset in datasets]
    rows = sampled_rows(len(train.better), seed)
    triples, _ = train.texts.triples(train.better[rows], train.worse[rows])
    used = np.unique(np.concatenate([triples.first, triples.second]))
    references = raw[0].references[np.unique(triples.reference)]
    scalings = (
        Scaling.fit(raw[0].scores[used]),
        Scaling.fit(np.vstack([raw[0].hypotheses[used], references])),
    )
    features = [scaled(each, *scalings) for each in raw]
    trained = train_network(
        features[0],
        triples,
        lambda network: float(tau("tau-wmt12", validation.margins(network, features[1]))),
        costs=costs_of(row.loss, symmetric=True, tie_penalty=row.tie_penalty),
        settings=TrainingSettings(
            hidden=row.hidden,
            learning_rate=LEARNING_RATE,
            patience=PATIENCE,
            decay=row.decay,
        ),
        seed=seed,
    )
    margins = test.margins(trained.network, features[2])
    taus = [
        float(tau("tau-wmt12", margins[test.language_pairs == pair]))
        for pair in np.unique(test.language_pairs)
    ]
    return 100 * trained.best.tau, 100 * float(np.mean(taus))


def sampled_rows(count: int, seed: int) -> IntArray:
    """Return the rows that `sample_rows` draws."""
    if count <= TRAINING_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, TRAINING_ROWS, replace=False))


def interval(values: FloatArray) -> str:
    """Return the mean and its 95% confidence interval as text."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    half_width = student.ppf(0.975, len(values) - 1) * error
    low, high = values.mean() - half_width, values.mean() + half_width
    return f"{values.mean():6.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=list(ROWS))
    arguments = parser.parse_args()
    datasets = (
        Dataset(usable("wmt13-rr")),
        Dataset(usable("wmt14-rr")),
        Dataset(load_preferences("wmt12-rr")),
    )
    test_taus: dict[str, FloatArray] = {}
    for name in arguments.only or ROWS:
        seeds = range(arguments.seeds)
        taus = np.array([train_and_test(ROWS[name], datasets, seed) for seed in seeds])
        test_taus[name] = taus[:, 1]
        print(f"{name:20} validation {interval(taus[:, 0])}  wmt12 {interval(taus[:, 1])}")
    for conclusion, better, worse in CONCLUSIONS:
        if better in test_taus and worse in test_taus:
            print(f"{conclusion}: {interval(test_taus[better] - test_taus[worse])}")


if __name__ == "__main__":
    main()
