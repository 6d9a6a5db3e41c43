"""Scores of a metric that is trained for a table, by the protocols of the two papers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Ratings, joined
from adequa.learned.base import LearnedMetric
from adequa.progress import Progress
from adequa.reproduce.table import Scored, Scores
from adequa.segments import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """A language pair of a table, and the ratings that are learnt from to score it."""

    pair: str
    rows: IntArray  # of the table's ratings
    tested: Ratings
    learnt: Ratings


def left_out(judgements: Judgements, others: tuple[str, ...]) -> Iterator[LeftOut]:
    """Each language pair, and all ratings but those of it (the SVR paper, §4.1).

    `others` are datasets that are learnt from whole, beside the other pairs of the table's own.
    """
    ratings = _ratings(judgements)
    pairs = np.array(ratings.ids["lp"])
    for pair in dict.fromkeys(ratings.ids["lp"]):
        rows = np.flatnonzero(pairs == pair)
        beside = ratings.select(np.flatnonzero(pairs != pair))
        learnt = joined([*map(_loaded, others), beside])
        yield LeftOut(pair, rows, ratings.select(rows), learnt)


def leave_one_pair_out(made: Callable[[], LearnedMetric], others: tuple[str, ...]) -> Scores:
    """For each language pair: train on all other ratings, score that pair (the SVR paper, §4.1).

    `others` are datasets that are trained on whole, beside the other pairs of the table's own.
    """

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        scores, chosen = np.empty(len(_ratings(judgements))), {}
        for fold in left_out(judgements, others):
            metric = _fitted(made(), fold.learnt, progress, f" for {fold.pair}")
            scores[fold.rows] = _scores(metric, fold.tested)
            chosen[fold.pair] = metric.training_["chosen"]
        return Scored(scores, f"{_settings(metric)}; chosen {_told(chosen)}")

    return scored


def trained_on(made: Callable[[], LearnedMetric], datasets: tuple[str, ...]) -> Scores:
    """Train once on whole datasets, and score the table's own (the BERT paper, §4.1 and §5)."""

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        tested = _ratings(judgements)
        metric = fitted(made(), datasets, progress)
        chosen = {"": metric.training_["chosen"]}
        return Scored(_scores(metric, tested), f"{_settings(metric)}; chosen {_told(chosen)}")

    return scored


def fitted(
    metric: LearnedMetric, datasets: tuple[str, ...], progress: Progress, where: str = ""
) -> LearnedMetric:
    """The metric, trained on whole datasets."""
    return _fitted(metric, joined(list(map(_loaded, datasets))), progress, where)


def _ratings(judgements: object) -> Ratings:
    if not isinstance(judgements, Ratings):
        raise AdequaError("Only ratings of segments can be learnt from and tested on here.")
    return judgements


def _loaded(name: str) -> Ratings:
    return _ratings(load_dataset(name))


def _fitted(
    metric: LearnedMetric, ratings: Ratings, progress: Progress, where: str = ""
) -> LearnedMetric:
    training = Progress(
        stage=lambda stage: progress.stage(stage + where),
        step=progress.step,
        scored=progress.scored,
        status=progress.status,
    )
    return metric.fit(ratings, training)


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
