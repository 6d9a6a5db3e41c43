"""Scores of a metric that is trained for a table, by the protocols of the two papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adequa.agreement.sources import Progress
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Ratings, joined
from adequa.learned.contract import LearnedMetric, Training
from adequa.reproduce.table import Scored, Scores


def leave_one_pair_out(made: Callable[[], LearnedMetric], others: tuple[str, ...]) -> Scores:
    """For each language pair: train on all other ratings, score that pair (the SVR paper, §4.1).

    `others` are datasets that are trained on whole, beside the other pairs of the table's own.
    """

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        tested = _ratings(judgements)
        pairs = np.array(tested.ids["lp"])
        scores, chosen = np.empty(len(tested)), {}
        for pair in dict.fromkeys(tested.ids["lp"]):
            beside = tested.select(np.flatnonzero(pairs != pair))
            rows = np.flatnonzero(pairs == pair)
            metric = _fitted(made(), [*map(_loaded, others), beside], progress, f" for {pair}")
            scores[rows] = _scores(metric, tested.select(rows))
            chosen[pair] = metric.training_["chosen"]
        return Scored(scores, f"{_settings(metric)}; chosen {_told(chosen)}")

    return scored


def trained_on(made: Callable[[], LearnedMetric], datasets: tuple[str, ...]) -> Scores:
    """Train once on whole datasets, and score the table's own (the BERT paper, §4.1 and §5)."""

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        tested = _ratings(judgements)
        metric = _fitted(made(), list(map(_loaded, datasets)), progress)
        chosen = {"": metric.training_["chosen"]}
        return Scored(_scores(metric, tested), f"{_settings(metric)}; chosen {_told(chosen)}")

    return scored


def _ratings(judgements: object) -> Ratings:
    if not isinstance(judgements, Ratings):
        raise AdequaError("Only ratings of segments can be learnt from and tested on here.")
    return judgements


def _loaded(name: str) -> Ratings:
    return _ratings(load_dataset(name))


def _fitted(
    metric: LearnedMetric, parts: list[Ratings], progress: Progress, where: str = ""
) -> LearnedMetric:
    training = Training(stage=lambda stage: progress.stage(stage + where), advance=lambda *_: None)
    return metric.fit(joined(parts), training)


def _scores(metric: LearnedMetric, ratings: Ratings) -> np.ndarray:
    if ratings.segments is None:
        raise AdequaError(f"{ratings.name} has no texts to score.")
    by_pair = np.array(ratings.ids["lp"])
    scores = np.empty(len(ratings))
    for pair in np.unique(by_pair):  # a corpus of its own, for metrics that look at a whole one
        rows = np.flatnonzero(by_pair == pair)
        scores[rows] = metric.score(ratings.segments.select(rows.tolist())).segments
    return scores


def _settings(metric: LearnedMetric) -> str:
    """The settings that were given; those that were chosen come behind."""
    fields = [(k, v) for k, v in metric.signature_fields() if k not in {"weights", "version"}]
    given = {k: v for k, v in metric.settings().items() if k in {"grid", "folds", "seed"}}
    return "|".join([metric.name, *(f"{k}:{v}" for k, v in [*fields, *given.items()])])


def _told(chosen: Mapping[str, Mapping[str, Any]]) -> str:
    """Settings that were chosen on training data, by language pair."""

    def listed(settings: Mapping[str, Any]) -> str:
        return ", ".join(
            f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in settings.items()
        )

    return "; ".join(f"{pair} {listed(settings)}".strip() for pair, settings in chosen.items())
