"""Scorers of rows: metrics without training, whole systems, and metrics trained for a table.

Encoders are files in the folder that the environment variable ADEQUA_MODELS names, under their
published or their short name. No model is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from adequa.agreement.evaluate import reference_count, segment_scores
from adequa.agreement.protocol import Protocol
from adequa.agreement.sources import sources
from adequa.agreement.system_level import ranked_systems
from adequa.datasets.load import load_dataset
from adequa.encoders.base import Encoder, PairEncoder, cached
from adequa.encoders.registry import load_encoders
from adequa.encoders.transformer_files import MODELS, SHORT_NAMES
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, joined
from adequa.learned.base import LearnedMetric
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.reproduce.paper_table import RowScores, Scorer
from adequa.segments import FloatArray, IntArray

# Metrics without training.


def segment_scorer(metric: str | Metric) -> Scorer:
    """Scores every segment with a metric, or with the metric of this name and settings."""

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        if isinstance(judgements, RatedSystems):
            raise AdequaError(f"{judgements.ratings.name} has no judgements of segments.")
        (source,) = metrics = sources([metric])
        settings = source.signature(reference_count(judgements))
        return RowScores(segment_scores(judgements, metrics, progress)[0], settings)

    return score


def system_scorer(load: Callable[[], Metric]) -> Scorer:
    """Scores systems that people rated or compared by all of their outputs.

    The metric is loaded when a row is measured, so that listing a table does not need it.
    """

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        (source,) = sources([load()])
        ranked = ranked_systems(judgements, [source], Protocol(level="system"), progress)
        keys = [(part.name, system) for part in ranked for system in part.systems]
        pairs, systems = zip(*keys, strict=True)
        return RowScores(
            scores=np.concatenate([part.scores[0] for part in ranked]),
            settings=source.signature(reference_count(judgements), "system"),
            ids={"lp": pairs, "system": systems},
        )

    return score


def system_scorer_by_name(name: str) -> Scorer:
    """Scores rated systems with the metric of this name."""
    return system_scorer(partial(load_metric, name))


# Encoders and other models.


# A file or folder of weights and the names it may have; the first is the published one.
ModelFiles: TypeAlias = tuple[str, ...]

MPNET = ("all-mpnet-base-v2", SHORT_NAMES["all-mpnet-base-v2"])
MINILM = ("all-MiniLM-L6-v2", SHORT_NAMES["all-MiniLM-L6-v2"])
GLOVE_840B = ("glove.840B.300d.txt", "glove-840b-300d-common/glove.840B.300d_filtered.txt")
GLOVE_6B = ("glove.6B.50d.txt",)
GLOVE_6B_100 = ("glove.6B.100d.txt",)
E5_SMALL = ("e5-small-v1", "e5-small")
SPACY = ("spacy-en-md", "en_core_web_md")
METEOR_TABLES = ("meteor",)


def load_encoder(kind: str, *models: ModelFiles, settings: str = "") -> Encoder | PairEncoder:
    """An encoder with cached vectors; those of more than one model are concatenated."""
    return cached(load_encoders([specification(kind, model, settings) for model in models]))


def specification(kind: str, model: ModelFiles, settings: str = "") -> str:
    """The words by which the command line names a file of the folder of models."""
    folder = os.environ.get(MODELS)
    if not folder:
        raise AdequaError(
            f"This row is measured with {model[0]}: name the folder that holds it in the "
            f"environment variable {MODELS}."
        )
    for name in model:
        path = Path(folder) / name
        if path.exists():
            return ",".join(filter(None, [f"{kind}:{path}", settings]))
    raise AdequaError(f"There is no {model[0]} in {folder}, the folder that {MODELS} names.")


# Metrics trained for a table.

RATINGS = ("wmt15-da", "wmt16-da")  # training data of metrics that are tested on WMT17


@dataclass(frozen=True, slots=True)
class MetricRecipe:
    """A metric that is trained once on whole datasets."""

    create: Callable[[], LearnedMetric]
    datasets: tuple[str, ...] = RATINGS


def _svr_mpnet_layers() -> EmbeddingRegressor:
    encoder = load_encoder("transformer", MPNET, settings="layers=5+7+12")
    return EmbeddingRegressor(encoder, name="svr")


# Metrics without a plan that plans use as teachers, or that are part of an ensemble.
RECIPES: dict[str, MetricRecipe] = {"svr-mpnet-layers": MetricRecipe(_svr_mpnet_layers)}


@dataclass(frozen=True, slots=True, eq=False)
class LanguagePairFold:
    """A language pair of a table, and the ratings to train on for scoring it."""

    pair: str
    rows: IntArray  # of the table's ratings
    test: Ratings
    train: Ratings


def language_pair_folds(
    judgements: Judgements, others: tuple[str, ...]
) -> Iterator[LanguagePairFold]:
    """For each language pair, all ratings but its own (the SVR paper, §4.1).

    The datasets `others` are trained on whole, beside the other pairs of the table's dataset.
    """
    ratings = _ratings(judgements)
    pairs = np.array(ratings.ids["lp"])
    for pair in dict.fromkeys(ratings.ids["lp"]):
        rows = np.flatnonzero(pairs == pair)
        other_pairs = ratings.select(np.flatnonzero(pairs != pair))
        train = joined([*map(load_ratings, others), other_pairs])
        yield LanguagePairFold(pair, rows, ratings.select(rows), train)


def leave_one_pair_out(create: Callable[[], LearnedMetric], others: tuple[str, ...]) -> Scorer:
    """For each language pair: train on all other ratings, score that pair (the SVR paper, §4.1)."""

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        scores, chosen = np.empty(len(_ratings(judgements))), {}
        for fold in language_pair_folds(judgements, others):
            metric = create().fit(fold.train, with_suffix(progress, f" for {fold.pair}"))
            scores[fold.rows] = _score_by_pair(metric, fold.test)
            chosen[fold.pair] = metric.training_["chosen"]
        return RowScores(scores, _trained_settings(metric, chosen))

    return score


def trained_on(create: Callable[[], LearnedMetric], datasets: tuple[str, ...]) -> Scorer:
    """Train once on whole datasets, and score the table's own (the BERT paper, §4.1 and §5)."""

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        test = _ratings(judgements)
        metric = fit_on(create(), datasets, progress)
        settings = _trained_settings(metric, {"": metric.training_["chosen"]})
        return RowScores(_score_by_pair(metric, test), settings)

    return score


def fit_on(
    metric: LearnedMetric, datasets: tuple[str, ...], progress: Progress, suffix: str = ""
) -> LearnedMetric:
    """Train a metric on whole datasets; the suffix is shown behind the names of stages."""
    return metric.fit(joined(list(map(load_ratings, datasets))), with_suffix(progress, suffix))


def with_suffix(progress: Progress, suffix: str) -> Progress:
    """Progress that shows a suffix behind the names of stages."""
    return replace(progress, stage=lambda stage: progress.stage(stage + suffix))


def load_ratings(name: str) -> Ratings:
    """The ratings of a dataset."""
    return _ratings(load_dataset(name))


@cache
def load_preferences(name: str) -> Preferences:
    """The preferences of a dataset."""
    judgements = load_dataset(name)
    if not isinstance(judgements, Preferences):
        raise AdequaError(f"{name} holds no preferences.")
    return judgements


def _ratings(judgements: object) -> Ratings:
    if not isinstance(judgements, Ratings):
        raise AdequaError("Only ratings of segments can be learnt from and tested on here.")
    return judgements


def _score_by_pair(metric: LearnedMetric, ratings: Ratings) -> FloatArray:
    """Score each language pair as a corpus, for metrics that look at whole corpora."""
    if ratings.segments is None:
        raise AdequaError(f"{ratings.name} has no texts to score.")
    by_pair = np.array(ratings.ids["lp"])
    scores = np.empty(len(ratings))
    for pair in np.unique(by_pair):
        rows = np.flatnonzero(by_pair == pair)
        scores[rows] = metric.compute_scores(ratings.segments.select(rows.tolist())).segments
    return scores


def _trained_settings(metric: LearnedMetric, chosen: Mapping[str, Mapping[str, Any]]) -> str:
    """The settings of a metric, and those that were chosen on training data by language pair."""
    fields = dict(metric.signature_fields())
    fields |= {k: v for k, v in metric.settings().items() if k in {"grid", "folds", "seed"}}
    line = (f"{k}:{v}" for k, v in fields.items() if k not in {"weights", "version"})
    by_pair = (
        f"{pair} "
        + ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in each.items())
        for pair, each in chosen.items()
    )
    return f"{'|'.join([metric.name, *line])}; chosen {'; '.join(map(str.strip, by_pair))}"
