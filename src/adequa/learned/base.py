"""The base of learned metrics: they fit to judgements, and are saved to and loaded from a folder.

They follow scikit-learn: the constructor stores settings, `fit` returns the metric itself, and
fitted attributes end in an underscore. Blend and the pairwise ranker also load the metrics and
encoders that they are named, so that a wrong name is an error before any work.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adequa.datasets.load import JudgementData, load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, identified
from adequa.metrics import saved
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import Segments
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.results import TrainingResult


class LearnedMetric(saved.SavedMetric):
    """A metric that learns from judgements; higher is better, as in the judgements."""

    kind: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()  # packages whose versions metric.json holds
    higher_is_better = True
    range = (-float("inf"), float("inf"))

    digest_: str = ""  # of the saved weights; empty until saved or loaded
    training_: Mapping[str, Any]  # facts about the training, for metric.json and the card
    agreement_: Mapping[str, Any]  # with people, measured on held-out data of the training

    @abstractmethod
    def fit(self, ratings: JudgementData, progress: Progress = NO_PROGRESS) -> LearnedMetric:
        """Train on judgements with texts; return the metric itself."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings as metric.json holds them."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights, as arrays of numbers."""

    @abstractmethod
    def card(self) -> str:
        """Return the model card, in Markdown."""

    def training_result(self, folder: str | Path = "") -> TrainingResult:
        """Return what the training came to; with the folder of the metric, how to use it."""
        from adequa.learned.results import ratings_result  # noqa: PLC0415  # it imports this file

        self.check_fitted()
        return ratings_result(self, folder)

    @classmethod
    @abstractmethod
    def from_saved(
        cls,
        description: saved.Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> LearnedMetric:
        """Return the metric of a saved folder."""

    def save(self, folder: str | Path) -> LearnedMetric:
        """Write the metric to a new folder; return the metric itself."""
        self.check_fitted()
        description = saved.Description(
            kind=self.kind,
            name=self.name,
            settings=self.settings(),
            training=self.training_,
            agreement=self.agreement_,
            versions={package: version(package) for package in self.packages},
        )
        written = saved.save(
            Path(folder), description, self.arrays(), self.card(), self.write_further
        )
        self.digest_ = written.identity
        return self

    def restore_facts(self, description: saved.Description) -> None:
        """Set the fitted attributes that every saved metric has."""
        self.training_, self.agreement_ = description.training, description.agreement
        self.digest_ = description.identity

    def write_further(self, folder: Path) -> Mapping[str, str]:
        """Write further files of the metric; return their digests, by name."""
        del folder
        return {}

    def check_fitted(self) -> None:
        """Raise where the metric has not been trained yet."""
        if not hasattr(self, "training_"):
            raise AdequaError(f"{self.name} has not been trained yet: fit it to judgements first.")

    def learnt_fields(self) -> tuple[tuple[str, str], ...]:
        """Return the last fields of a signature: the digest of the weights, and the version."""
        digest = self.digest_[: saved.DIGITS] or "unsaved"
        return ("weights", digest), ("version", __version__)


_KINDS = {Ratings: "ratings", Preferences: "preferences", RatedSystems: "ratings of whole systems"}


def training_judgements(
    data: object, learner: str, *kinds: type, needs_references: bool = True
) -> list[Any]:
    """Return judgements to learn from, one or a list of what `load_dataset` takes.

    Raise where they are of another kind than the learner, such as "a blend", learns from, or where
    they lack the references that it needs.
    """
    listed = data if isinstance(data, list | tuple) else [data]
    judgements = []
    for each in map(load_dataset, listed):
        if not isinstance(each, kinds):
            raise AdequaError(
                f"{identified(each).name or 'This'} holds {_KINDS[type(each)]}; {learner} learns "
                f"from {' and '.join(_KINDS[kind] for kind in kinds)}."
            )
        if needs_references:
            check_references(each, learner)
        judgements.append(each)
    return judgements


def check_references(judgements: Judgements, learner: str) -> None:
    """Raise where judgements have texts without references, which the learner needs."""
    if isinstance(judgements, RatedSystems):
        return
    texts = judgements.segments if isinstance(judgements, Ratings) else judgements.better
    if texts is not None and len(texts) and not texts.has_references:
        raise AdequaError(
            f"There are no references in {judgements.name or 'these judgements'}, and {learner} "
            'needs them; give them in a column "ref". `adequa train pair-regressor` also learns '
            "from sources alone, with a plan that says so (inputs)."
        )


def rated_texts(ratings: Ratings) -> Segments:
    """Return the texts of ratings to learn from, or raise where there are none."""
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


def data_facts(ratings: Ratings) -> dict[str, Any]:
    """Return what metric.json and the card hold of training data: names, rows, language pairs."""
    facts: dict[str, Any] = {"data": ratings.name, "rows": len(ratings)}
    if ratings.file_rows.unused:
        facts["rows_not_used"] = dict(ratings.file_rows.unused)
    for column, key in (("dataset", "rows_by_dataset"), ("lp", "rows_by_language_pair")):
        if column in ratings.ids:
            names, counts = np.unique(np.array(ratings.ids[column]), return_counts=True)
            facts[key] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return facts
