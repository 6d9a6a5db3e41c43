"""Regression over sentence embeddings: the SVR metric and RUSE.

Shimanaka, Kajiwara and Komachi (2018): an encoder that was trained on other tasks turns hypothesis
and reference into vectors, and a regressor predicts human ratings from features of the two (§3.2).
The regressor is an SVR with an RBF kernel, or, as in RUSE, a multi-layer perceptron.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from adequa.datasets.load import JudgementData
from adequa.encoders.base import Encoder, PairEncoder
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError, check_seed
from adequa.judgements import Ratings
from adequa.learned.base import LearnedMetric, data_facts, rated_texts, training_judgements
from adequa.learned.cards import ratings_card
from adequa.learned.embedding.features import Features, feature_count, pair_features
from adequa.learned.embedding.mlp import MLP, MLP_GRIDS, check_mlp, fit_mlp
from adequa.learned.embedding.svr import SVR_GRIDS, SupportVectors, check_svr, fit_svr
from adequa.learned.folds import FittedRegressor, reference_groups, validation_agreement
from adequa.learned.saved import encoder_facts, restore_encoder
from adequa.metrics.base import Remark, check_choice
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, Reduction, Segments, reduce_pairs

MODELS: dict[str, type[SupportVectors] | type[MLP]] = {"svr": SupportVectors, "mlp": MLP}
DEVELOPMENT = 0.1  # fraction of rows that a perceptron is chosen on (§4.1 of the BERT paper)
_CHUNK = 8192  # pairs whose features are in memory at once


@dataclass(eq=False)
class EmbeddingRegressor(LearnedMetric):
    """A regressor over the vectors of hypothesis and reference.

    `encoder` is an encoder, or a text that `load_encoder` takes.
    `grid` is "scaled", with standardised features, or "paper", with the values of the papers.
    """

    encoder: Encoder | PairEncoder
    model: Literal["svr", "mlp"] = "svr"
    grid: Literal["scaled", "paper"] = "scaled"
    references: Reduction = "best"  # the score of a segment with multiple references
    folds: int = 10  # of the cross-validation that chooses an SVR
    seed: int = 0
    workers: int | None = None  # threads of the cross-validation; None for one per core
    device: str = "auto"  # that a perceptron is trained on
    name: str = "embedding-regressor"

    kind: ClassVar[str] = "embedding-regressor"
    regressor_: SupportVectors | MLP = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.encoder = load_encoder(self.encoder)

    def fit(self, ratings: JudgementData, progress: Progress = NO_PROGRESS) -> EmbeddingRegressor:
        (ratings,) = training_judgements([ratings], "an embedding regressor", Ratings)
        check_choice("model", self.model, MODELS)
        check_choice("grid", self.grid, SVR_GRIDS)
        check_seed(self.seed)
        check_choice("references", self.references, get_args(Reduction))
        texts = rated_texts(ratings)
        pairs = texts.pairs()
        group_of_segment = reference_groups(texts)
        groups = [group_of_segment[segment] for segment in pairs.segment.tolist()]
        if self.model == "svr":
            check_svr(groups, self.folds, self.seed, self.workers)
        else:
            check_mlp(groups, DEVELOPMENT, self.seed, self.device)
        progress.stage(f"Encoding with {self.encoder.name}")
        features = pair_features(self.encoder, pairs.hypotheses, pairs.references)
        fitted = self._fit_regressor(features, ratings.scores[pairs.segment], groups, progress)
        self.regressor_ = fitted.regressor
        by_segment = fitted.reduced(pairs.segment, self.references)
        self.agreement_ = validation_agreement(ratings.scores, ratings.ids, by_segment)
        self.training_ = data_facts(ratings) | {"chosen": dict(fitted.chosen)}
        return self

    def _fit_regressor(
        self, features: Features, targets: FloatArray, groups: Sequence[str], progress: Progress
    ) -> FittedRegressor[SupportVectors] | FittedRegressor[MLP]:
        if self.model == "svr":
            return fit_svr(
                features,
                targets,
                groups,
                SVR_GRIDS[self.grid],
                folds=self.folds,
                seed=self.seed,
                workers=self.workers,
                progress=progress,
            )
        return fit_mlp(
            features,
            targets,
            groups,
            MLP_GRIDS[self.grid],
            development=DEVELOPMENT,
            seed=self.seed,
            device=self.device,
            progress=progress,
        )

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        pairs = segments.pairs()
        scores = np.empty(len(pairs.segment))
        for start in range(0, len(scores), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            features = pair_features(self.encoder, pairs.hypotheses[chunk], pairs.references[chunk])
            scores[chunk] = self.regressor_.predict(features)
        return reduce_pairs(scores, pairs.segment, self.references)

    def counted_remarks(self) -> tuple[Remark, ...]:
        return self.encoder.counted_remarks()

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("encoder", self.encoder.name),
            ("model", self.model),
            ("references", self.references),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "encoder": encoder_facts(self.encoder),
            "model": self.model,
            "grid": self.grid,
            "references": self.references,
            **({"folds": self.folds} if self.model == "svr" else {}),
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return self.regressor_.arrays()

    def card(self) -> str:
        model = {"svr": "an SVR with an RBF kernel", "mlp": "a multi-layer perceptron"}[self.model]
        return ratings_card(
            self,
            f"Regression over sentence embeddings: {model} over the vectors of "
            f"`{self.encoder.name}`.",
            "The encoder is not in this folder. It is loaded from where it was when the metric was "
            "trained; where it is elsewhere now, write `-m FOLDER:encoder=PATH`.",
        )

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> EmbeddingRegressor:
        saved = description.settings
        model = saved["model"]
        regressor = MODELS[model].from_arrays(arrays)
        metric = cls(
            encoder=restore_encoder(saved["encoder"], folder, settings),
            model=model,
            grid=saved["grid"],
            references=saved["references"],
            folds=saved.get("folds", cls.folds),
            seed=saved["seed"],
            name=description.name,
        )
        if regressor.dimension != feature_count(metric.encoder):
            raise AdequaError(
                f"{folder} was trained on {regressor.dimension:,} features, and "
                f"{metric.encoder.name} gives {feature_count(metric.encoder):,}; use the encoder "
                "that it was trained with."
            )
        metric.regressor_ = regressor
        metric.restore_facts(description)
        return metric
