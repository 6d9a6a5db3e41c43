"""Rows of pair regressors that several tables share, each trained once for all of them."""

from __future__ import annotations

from adequa.reproduce.planned import planned
from adequa.reproduce.table import System

_LABEL = "pair regressor + all-mpnet-base-v2, preferences + ratings"

PREFERENCES = System(
    name="pair-mpnet-preferences-ratings",
    label=_LABEL,
    scores=planned("preferences-ratings-3"),
    cost="gpu",
)
DISTILLED = System(
    name="pair-mpnet-distilled",
    label=f"{_LABEL}, distilled",
    scores=planned("distilled"),
    cost="gpu",
)
ENSEMBLE = System(
    name="pair-mpnet-ensemble",
    label=f"{_LABEL}, ensemble",
    scores=planned("distilled", "svr-mpnet-layers", shares=(1.0, 0.15)),
    cost="gpu",
)
