"""Blend: an SVR over the scores of many metrics (Ma, Graham, Wang and Liu, 2017).

The ensemble that the SVR paper compares with (§2): the scores of metrics, and scores in columns
beside the texts, are the features of an SVR with an RBF kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from adequa.datasets.load import JudgementData
from adequa.errors import AdequaError, check_seed, one_or_more
from adequa.judgements import Ids, Ratings
from adequa.learned.base import LearnedMetric, data_facts, rated_texts, training_judgements
from adequa.learned.cards import ratings_card
from adequa.learned.embedding.features import Features
from adequa.learned.embedding.svr import SVR_GRIDS, SupportVectors, check_svr, fit_svr
from adequa.learned.ensemble import Ensemble
from adequa.learned.folds import reference_groups, validation_agreement
from adequa.learned.packed.metric import PackedPair
from adequa.learned.saved import essential_signature
from adequa.metrics.base import Metric, Remark, batched_statistics, check_choice, combined_reads
from adequa.metrics.registry import check_settings, load_metric, with_absolute_paths
from adequa.metrics.saved import DIGITS, Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, Segments

# The lexical metrics of this package, and shorter n-grams: the published Blend has BLEU and NIST by
# order too. Written out, so that a new metric in the registry does not change the default features.
LEXICAL = (
    "bleu",
    "sentbleu",
    "chrf",
    "chrf++",
    "nist",
    "meteor",
    "ter",
    "wer",
    "per",
    "cder",
    "character",
    "bleu:max_ngram_order=1",
    "bleu:max_ngram_order=2",
    "bleu:max_ngram_order=3",
    "nist:max_ngram_order=1",
    "nist:max_ngram_order=2",
)


@dataclass(eq=False)
class Blend(LearnedMetric):
    """An SVR over the scores of metrics, named as on the command line, and of columns."""

    metrics: tuple[str, ...] = LEXICAL
    columns: tuple[str, ...] = ()
    grid: Literal["scaled", "paper"] = "scaled"
    folds: int = 10
    seed: int = 0
    workers: int | None = None
    name: str = "blend"

    kind: ClassVar[str] = "blend"
    regressor_: SupportVectors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.metrics, self.columns = one_or_more(self.metrics), one_or_more(self.columns)
        self.parts = tuple(load_metric(metric) for metric in self.metrics)
        if not self.parts and not self.columns:
            raise AdequaError("A blend needs at least one metric or column of scores.")
        if self.parts:
            self.reads = combined_reads(self.parts)
        self.needs_whole_corpus = any(part.needs_whole_corpus for part in self.parts)
        self.caches_scores = any(part.caches_scores for part in self.parts)
        limits = [p.max_references for p in self.parts if p.max_references is not None]
        self.max_references = min(limits, default=None)

    def fit(self, ratings: JudgementData, progress: Progress = NO_PROGRESS) -> Blend:
        needs = self.reads.get("reference") == "required"
        (ratings,) = training_judgements([ratings], "a blend", Ratings, needs_references=needs)
        check_choice("grid", self.grid, SVR_GRIDS)
        check_seed(self.seed)
        texts = rated_texts(ratings)
        self.check_reads(texts)
        groups = reference_groups(texts)
        check_svr(groups, self.folds, self.seed, self.workers)
        self._check_references(texts)
        self._check_columns(ratings.ids)
        features = np.empty((len(texts), len(self.parts) + len(self.columns)), np.float32)
        for rows in _corpora(ratings.ids, len(texts)):
            ids = {name: tuple(ratings.ids[name][row] for row in rows) for name in self.columns}
            features[rows] = self._features(replace(texts.select(rows), ids=ids), progress)
        fitted = fit_svr(
            features,
            ratings.scores,
            groups,
            SVR_GRIDS[self.grid],
            folds=self.folds,
            seed=self.seed,
            workers=self.workers,
            progress=progress,
        )
        self.regressor_ = fitted.regressor
        self.agreement_ = validation_agreement(ratings.scores, ratings.ids, fitted)
        self.training_ = data_facts(ratings) | {"chosen": dict(fitted.chosen)}
        return self

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        return self.regressor_.predict(self._features(segments, NO_PROGRESS))

    def _check_references(self, texts: Segments) -> None:
        """Raise what a metric would raise about too many references, before any has scored."""
        most = max(map(len, texts.references))
        for name, part in zip(self.metrics, self.parts, strict=True):
            if part.max_references is not None and most > part.max_references:
                raise AdequaError(
                    f"{name} takes {part.max_references} reference a segment, and the ratings have"
                    f" up to {most}; name the metrics to blend, without it."
                )

    def _check_columns(self, ids: Ids) -> None:
        for column in self.columns:
            if column not in ids:
                raise AdequaError(
                    f'{self.name} needs scores in a column "{column}" beside the texts; there is '
                    f"none. Columns: {', '.join(ids) or 'none'}."
                )

    def _features(self, segments: Segments, progress: Progress) -> Features:
        self._check_columns(segments.ids)
        scores = []
        for part in self.parts:
            progress.stage(f"Scoring with {part.name}")
            progress.expect(len(segments))
            scores.append(
                part.segment_scores(batched_statistics(part, segments, progress.texts_scored))
            )
        scores += [column_scores(name, segments.ids[name]) for name in self.columns]
        return np.column_stack(scores).astype(np.float32)

    def counted_remarks(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.counted_remarks())

    def enable_cache(self, file: Path, limit: int) -> None:
        for part in self.parts:
            part.enable_cache(file, limit)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("metrics", ",".join((*map(_signature_name, self.metrics, self.parts), *self.columns))),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        return {
            # Full paths, which are valid in any working directory.
            "metrics": [with_absolute_paths(metric) for metric in self.metrics],
            "columns": list(self.columns),
            "signatures": [str(part.segment_signature(1)) for part in self.parts],
            "grid": self.grid,
            "folds": self.folds,
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return self.regressor_.arrays()

    def card(self) -> str:
        metrics, columns = (
            ", ".join(f"`{name}`" for name in names) for names in (self.metrics, self.columns)
        )
        requirements = (
            "Metrics that are folders are loaded from where they were when this one was trained; "
            "where the first is elsewhere now, write `-m FOLDER:metric1=PATH`, and so on."
        )
        if self.columns:
            requirements += f" The input must have scores in the columns {columns}."
        return ratings_card(
            self, f"Blend: an SVR with an RBF kernel over the scores of {metrics}.", requirements
        )

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> Blend:
        saved = description.settings
        metrics = _moved_metrics(saved["metrics"], folder, settings)
        try:
            metric = cls(
                metrics=metrics,
                columns=tuple(saved["columns"]),
                grid=saved["grid"],
                folds=saved["folds"],
                seed=saved["seed"],
                name=description.name,
            )
        except AdequaError as error:
            raise AdequaError(
                f"A metric that {folder} was trained with cannot be loaded; where the first lies "
                f"elsewhere now, write -m {folder}:metric1=PATH. The reason: {error}"
            ) from error
        _check_parts(metric, saved["signatures"], folder)
        metric.regressor_ = SupportVectors.from_arrays(arrays)
        if metric.regressor_.dimension != len(metric.parts) + len(metric.columns):
            raise ValueError(f"weights for {metric.regressor_.dimension} scores")
        metric.restore_facts(description)
        return metric


def _moved_metrics(
    metrics: Sequence[str], folder: Path, settings: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the metrics of a blend; `metric1` and so on say where a trained one is now."""
    keys = [f"metric{number}" for number in range(1, len(metrics) + 1)]
    check_settings(folder, settings, keys)
    return tuple(settings.get(key, metric) for key, metric in zip(keys, metrics, strict=True))


def _signature_name(specification: str, part: Metric) -> str:
    """Return a part as signatures show it: a trained one by its weights, since paths differ."""
    if isinstance(part, LearnedMetric | Ensemble | PackedPair):
        return f"{part.name}@{part.digest_[:DIGITS]}"
    return specification


def _check_parts(metric: Blend, signatures: Sequence[str], folder: Path) -> None:
    """Raise where a part is not the metric that the blend was trained with."""
    for part, signature, path in zip(metric.parts, signatures, metric.metrics, strict=True):
        if essential_signature(str(part.segment_signature(1))) != essential_signature(signature):
            raise AdequaError(
                f"{path} is not the metric that {folder} was trained with, which was {signature}."
            )


def _corpora(ids: Ids, count: int) -> list[list[int]]:
    """Return rows by dataset and language pair; NIST counts its information weights over each."""
    columns = [ids[name] for name in ("dataset", "lp") if name in ids]
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*columns, strict=True) if columns else [()] * count):
        rows.setdefault(key, []).append(row)
    return list(rows.values())


def column_scores(name: str, cells: Sequence[str]) -> FloatArray:
    """Return the cells of a column as scores."""
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise AdequaError(f'The column "{name}" holds something that is no number.') from error
    if not (np.abs(numbers) <= np.finfo(np.float32).max).all():  # also where there is NaN
        raise AdequaError(f'The column "{name}" holds NaN, or a number that is no score.')
    return numbers
