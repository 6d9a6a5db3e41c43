"""The conclusions of the pairwise ranker's paper, over seeds: is each difference there?

Run: python benchmarks/pairwise_seeds.py [--seeds 5] [--only ROW]

With ADEQUA_DATA and ADEQUA_MODELS set, trains rows of the tables on WMT12 with several seeds, which
draw the preferences and the first weights, and prints the mean strict tau × 100 with a 95% interval
of the mean (Student's t). Then the paper's conclusions as differences between two rows of the same
seed, with their interval. Inputs are computed once for all rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from adequa.judgements import Preferences
from adequa.learned.pairwise.costs import Loss, costs_of
from adequa.learned.pairwise.data import UniqueTexts, corpora_of, preference_texts
from adequa.learned.pairwise.inputs import Scaling, load_inputs
from adequa.learned.pairwise.network import Features, PairwiseNetwork
from adequa.learned.pairwise.train import TrainingSettings, train_network
from adequa.reproduce.pairwise_rows import (
    LEARNING_RATE,
    PATIENCE,
    WMT11,
    four_metrics,
    glove,
    glove_matched,
    preferences,
    syntax,
    usable,
)
from adequa.segments import FloatArray, IntArray
from adequa.statistics.preference_tau import tau_wmt12


@dataclass(frozen=True)
class Row:
    """What is trained."""

    inputs: Callable[[], tuple[str, ...]]
    hidden: int = 4
    loss: Loss = "logistic"
    tie_penalty: float = 1.0
    decay: float = 1e-4


def both() -> tuple[str, ...]:
    """4METRICS with both vectors."""
    return (*four_metrics(), syntax(), glove())


def matched() -> tuple[str, ...]:
    """The same, and words matched by the same GloVe."""
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


class Part:
    """Preferences with what networks see of their texts, by input."""

    def __init__(self, given: Preferences) -> None:
        corpora = corpora_of(given)
        parts = [(side, corpora) for side in preference_texts(given)]
        self.texts, (self.better, self.worse) = UniqueTexts.collect(parts)
        self.pairs = np.array(given.ids["lp"])
        self._seen: dict[str, Features] = {}

    def inputs(self, names: tuple[str, ...]) -> Features:
        """What a network with these inputs sees."""
        for name in names:
            if name not in self._seen:
                named = load_inputs([name])
                self._seen[name] = self.texts.features(named, lambda _: None, lambda _: None)
        seen = [self._seen[name] for name in names]
        return Features(
            np.hstack([each.hypotheses for each in seen]),
            np.hstack([each.scores for each in seen]),
            np.hstack([each.references for each in seen]),
        )

    def margins(self, network: PairwiseNetwork, inputs: Features) -> FloatArray:
        """Logits of the preferences; one reference each."""
        triples, _ = self.texts.triples(self.better, self.worse)
        margins = network.margins(inputs, triples, symmetric=True)
        return np.where(self.better == self.worse, 0.0, margins)


def scaled(inputs: Features, scores: Scaling, vectors: Scaling) -> Features:
    """Inputs in the range of the training data."""
    return Features(
        vectors.apply(inputs.hypotheses),
        scores.apply(inputs.scores),
        vectors.apply(inputs.references),
    )


def measured(row: Row, parts: tuple[Part, Part, Part], seed: int) -> tuple[float, float]:
    """The tau on validation data and the mean over language pairs on test data, times 100."""
    learnt, held_out, tested = parts
    raw = [part.inputs(row.inputs()) for part in parts]
    rows = _drawn(len(learnt.better), seed)
    triples, _ = learnt.texts.triples(learnt.better[rows], learnt.worse[rows])
    used = np.unique(np.concatenate([triples.first, triples.second]))
    references = raw[0].references[np.unique(triples.reference)]
    scalings = (
        Scaling.fit(raw[0].scores[used]),
        Scaling.fit(np.vstack([raw[0].hypotheses[used], references])),
    )
    seen = [scaled(each, *scalings) for each in raw]
    trained = train_network(
        seen[0],
        triples,
        lambda network: float(tau_wmt12(held_out.margins(network, seen[1]))),
        costs=costs_of(row.loss, symmetric=True, tie_penalty=row.tie_penalty),
        settings=TrainingSettings(
            hidden=row.hidden,
            learning_rate=LEARNING_RATE,
            patience=PATIENCE,
            decay=row.decay,
        ),
        seed=seed,
    )
    margins = tested.margins(trained.network, seen[2])
    taus = [float(tau_wmt12(margins[tested.pairs == pair])) for pair in np.unique(tested.pairs)]
    return 100 * trained.best.tau, 100 * float(np.mean(taus))


def _drawn(count: int, seed: int) -> IntArray:
    """The rows that `sample_rows` draws."""
    if count <= WMT11:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, WMT11, replace=False))


def interval(values: FloatArray) -> str:
    """The mean, and where it lies with a confidence of 95 percent."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    reach = student.ppf(0.975, len(values) - 1) * error
    return f"{values.mean():6.2f} [{values.mean() - reach:.2f}, {values.mean() + reach:.2f}]"


def main() -> None:
    """Train, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=list(ROWS))
    given = parser.parse_args()
    parts = (
        Part(usable("wmt13-rr")),
        Part(usable("wmt14-rr")),
        Part(preferences("wmt12-rr")),
    )
    found: dict[str, FloatArray] = {}
    for name in given.only or ROWS:
        pairs = np.array([measured(ROWS[name], parts, seed) for seed in range(given.seeds)])
        found[name] = pairs[:, 1]
        print(f"{name:20} validation {interval(pairs[:, 0])}  wmt12 {interval(pairs[:, 1])}")
    for said, one, other in CONCLUSIONS:
        if one in found and other in found:
            print(f"{said}: {interval(found[one] - found[other])}")


if __name__ == "__main__":
    main()
