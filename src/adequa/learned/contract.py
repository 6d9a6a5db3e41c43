"""What learned metrics share: they fit to ratings, and are saved to and loaded from a folder.

They follow scikit-learn: the constructor only stores named settings, `fit` returns the metric
itself, and what was learnt ends in an underscore.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Ratings
from adequa.metrics import saved
from adequa.metrics.contract import MeanMetric
from adequa.segments import FloatArray, IntArray, Segments
from adequa.version import __version__

OfSeveral: TypeAlias = Literal["best", "mean"]  # what counts where there are several references


@dataclass(frozen=True, slots=True)
class Training:
    """Where a training reports to: what is being done, and how far it is."""

    stage: Callable[[str], None] = lambda _: None
    advance: Callable[[int, int], None] = lambda *_: None  # settings tried, and settings in all
    scored: Callable[[int], None] = lambda _: None  # texts that were just scored


UNSEEN = Training()


class LearnedMetric(MeanMetric):
    """A metric that learns from ratings; higher is better, as in the ratings."""

    kind: ClassVar[str]
    higher_is_better = True
    range = (-float("inf"), float("inf"))

    digest_: str = ""  # of the saved weights; empty until saved or loaded
    training_: Mapping[str, Any]  # the data it learnt from, for metric.json and the card
    agreement_: Mapping[str, Any]  # with people, as measured while it was trained

    @abstractmethod
    def fit(self, ratings: Ratings, training: Training = UNSEEN) -> LearnedMetric:
        """Learn from ratings with texts; returns the metric itself."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as metric.json holds them."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What was learnt, as arrays of numbers."""

    @abstractmethod
    def card(self) -> str:
        """The text for people beside the weights, in Markdown."""

    @classmethod
    @abstractmethod
    def load(
        cls,
        description: saved.Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> LearnedMetric:
        """The metric of a saved folder."""

    def save(self, folder: str | Path) -> LearnedMetric:
        """Write the metric to a new folder; returns the metric itself."""
        self.check_fitted()
        described = saved.Description(
            kind=self.kind,
            name=self.name,
            settings=self.settings(),
            training=self.training_,
            agreement=self.agreement_,
        )
        written = saved.save(Path(folder), described, self.arrays(), self.card())
        self.digest_ = written.digest
        return self

    def check_fitted(self) -> None:
        """Raise where the metric has not learnt anything yet."""
        if not hasattr(self, "regressor_"):
            raise AdequaError(f"{self.name} has not been trained yet: fit it to ratings first.")

    def learnt_fields(self) -> tuple[tuple[str, str], ...]:
        """The end of a learned metric's signature: the weights, and the version."""
        digest = self.digest_[: saved.DIGITS] or "unsaved"
        return ("weights", digest), ("version", __version__)


def one_a_segment(scores: FloatArray, segments: Segments, of_several: OfSeveral) -> FloatArray:
    """The scores of segments from those of their hypotheses with each reference in turn.

    >>> texts = Segments(("a", "b"), (("x", "y"), ("z",)))
    >>> one_a_segment(np.array([1.0, 3.0, 5.0]), texts, "best")
    array([3., 5.])
    >>> one_a_segment(np.array([1.0, 3.0, 5.0]), texts, "mean")
    array([2., 5.])
    """
    counts = np.array([len(references) for references in segments.references])
    return reduced(scores, np.cumsum(counts) - counts, of_several)


def reduced(scores: FloatArray, starts: IntArray, of_several: OfSeveral) -> FloatArray:
    """One score for each run of scores, by where the runs start: the best of it, or the mean."""
    if of_several == "best":
        return np.asarray(np.maximum.reduceat(scores, starts))
    return np.asarray(np.add.reduceat(scores, starts) / np.diff([*starts, len(scores)]))


def rated_texts(ratings: Ratings) -> Segments:
    """The texts of ratings to learn from, or a sentence where there are none."""
    if ratings.segments is None:
        raise AdequaError(
            f"There are no texts in {ratings.name or 'these ratings'}; a metric learns from "
            'ratings with the columns "mt" and "ref".'
        )
    if not len(ratings):
        raise AdequaError("There are no ratings to learn from.")
    if not np.ptp(ratings.scores):
        raise AdequaError(
            f"A metric learns from ratings that differ, and of {len(ratings):,} here each is "
            f"{ratings.scores[0]:g}; give more judgements."
        )
    return ratings.segments


def reference_groups(segments: Segments) -> list[str]:
    """A name for the group of each segment: segments that share a reference are of one group.

    They may share it with a third segment only.

    >>> reference_groups(Segments(("a", "b", "c", "d"), (("x",), ("y",), ("y", "z"), ("z",))))
    ['x', 'y', 'y', 'y']
    """
    first: dict[str, str] = {}  # of each reference another one of its group, or itself

    def leader(reference: str) -> str:
        while first[reference] != reference:
            first[reference] = first[first[reference]]
            reference = first[reference]
        return reference

    for references in segments.references:
        for reference in references:
            first.setdefault(reference, reference)
            first[leader(reference)] = leader(references[0])
    return [leader(references[0]) for references in segments.references]


def data_facts(ratings: Ratings) -> dict[str, Any]:
    """What metric.json and the card say of the data: names, rows, language pairs."""
    facts: dict[str, Any] = {"data": ratings.name, "rows": len(ratings)}
    if ratings.kept.unused:
        facts["rows_not_used"] = dict(ratings.kept.unused)
    for column, named in (("dataset", "rows_by_dataset"), ("lp", "rows_by_language_pair")):
        if column in ratings.ids:
            names, counts = np.unique(np.array(ratings.ids[column]), return_counts=True)
            facts[named] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return facts
