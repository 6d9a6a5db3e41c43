"""Packed metrics around the tiny scorer, with scores by hand, and tiny regressors to pack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.encoders.surface import SURFACE, surface_features
from adequa.io.atomic import digest_of
from adequa.learned.packed.metric import ScoreMap
from adequa.learned.pair.plan import Plan, StagePlan
from adequa.metrics.saved import Description, save
from adequa.runtime.onnx import MODEL, TOKENIZER
from tiny_onnx import by_hand, tiny_scorer, tiny_tokenizer

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor

MAP = ScoreMap(unrelated=-2.0, reference=3.0)
WEIGHTS = [0.5, -0.25, 0.125, 0.3, 0.2, -0.4, 0.1, 0.6, -0.7, 0.05, 0.15]
OFFSET = -0.3
QUICK = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(1e-3,))
WIDE = {"hidden_size": 32, "intermediate_size": 64}
SETTINGS: Mapping[str, Any] = {
    "references": "best",
    "lowercase": False,
    "encoder": "tiny",
    "plan": None,
    "surface": {"names": list(SURFACE), "weights": WEIGHTS, "offset": OFFSET},
    "map": {"unrelated": MAP.unrelated, "reference": MAP.reference},
}


def tiny_packed(
    folder: Path, *, name: str = "tiny", model: Mapping[str, Any] | None = None, **settings: Any
) -> Path:
    """The folder of a packed metric, with these settings in place of the usual ones."""

    def written(target: Path) -> dict[str, str]:
        tiny_scorer(target, **(model or {}))
        return {place: digest_of(target / place) for place in (MODEL, TOKENIZER)}

    described = Description(kind="packed-pair", name=name, settings={**SETTINGS, **settings})
    save(folder, described, None, f"# {name}\n", written)
    return folder


def packed_by_hand(hypothesis: str, reference: str) -> float:
    """The score of a pair that no rule decides: the reference comes first in what is read."""
    encoded = tiny_tokenizer().encode(reference.strip(), hypothesis.strip())
    features = surface_features([hypothesis], [reference])[0].astype(np.float64)
    raw = by_hand(encoded.ids, encoded.type_ids) + features @ np.array(WEIGHTS) + OFFSET
    return float(MAP(np.array([raw]))[0])


def fitted(folder: Path, encoder: Path, *, surface: bool = True, **head: Any) -> PairRegressor:
    """A regressor after a few steps of training, with surface weights set by hand."""
    import torch

    from adequa.learned.pair.metric import PairRegressor
    from tiny_transformer import tiny_ratings

    plan = Plan(encoder=str(encoder), surface=surface, stage=(QUICK,), seed=3, **head)
    metric = PairRegressor(plan, device="cpu", name="tiny").fit(tiny_ratings(24))
    network = metric.model_.network
    if network.skip is not None:
        with torch.no_grad():
            network.skip.copy_(torch.linspace(0.5, 0.1, len(SURFACE)))
    metric.save(folder)
    return metric
