"""Metrics without a plan that others learn from or are put together with, each under a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adequa.learned.base import LearnedMetric
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.reproduce.models import MPNET, encoder

RATINGS = ("wmt15-da", "wmt16-da")  # what a metric that is tested on WMT17 learns from


@dataclass(frozen=True, slots=True)
class Recipe:
    """A metric that is trained once on whole datasets."""

    made: Callable[[], LearnedMetric]
    datasets: tuple[str, ...] = RATINGS


def _svr_mpnet_layers() -> EmbeddingRegressor:
    return EmbeddingRegressor(encoder("transformer", MPNET, settings="layers=5+7+12"), name="svr")


RECIPES: dict[str, Recipe] = {"svr-mpnet-layers": Recipe(_svr_mpnet_layers)}
