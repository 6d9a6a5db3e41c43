"""Small judgements by hand, and the data that a plan makes of them, for tests of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences, Ratings
from adequa.learned.pair.data import PairData, collect
from adequa.learned.pair.plan import DevelopmentPlan, Plan, StagePlan
from adequa.learned.pair.subsets import SegmentJudgements
from adequa.segments import FloatArray, Segments

RATINGS, PREFERENCES = StagePlan("ratings"), StagePlan("preferences")
NONE_HELD_OUT = DevelopmentPlan(share=0)


def lengths_as_scores(_: tuple[str, ...], segments: Segments) -> FloatArray:
    return np.array([float(len(text)) for text in segments.hypotheses])


def collected(
    *stages: StagePlan,
    judgements: Sequence[SegmentJudgements] = (),
    files: dict[str, Judgements] | None = None,
    development: DevelopmentPlan = NONE_HELD_OUT,
    seed: int = 0,
    teach: Any = lengths_as_scores,
) -> PairData:
    plan = Plan(encoder="e", development=development, stage=stages, seed=seed)
    return collect(plan, judgements, lambda name: (files or {})[name], teach)


def sentence(*stages: StagePlan, **more: Any) -> str:
    with pytest.raises(AdequaError) as caught:
        collected(*stages, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def learnt_pairs(data: PairData) -> set[tuple[str, str]]:
    """The texts that any objective reads."""
    pairs: set[tuple[str, str]] = set()
    for source in (source for stage in data.stages for source in stage):
        task = source.objective.task(np.arange(len(source.objective)))
        pairs |= {data.texts[pair] for pair in task.pairs}
    return pairs


def developed_pairs(data: PairData) -> set[tuple[str, str]]:
    validation = data.development
    every = np.concatenate([validation.rated, validation.better, validation.worse])
    return {data.texts[pair] for pair in every}


def rated(*rows: tuple[str, str, float], name: str = "few") -> Ratings:
    """Hypothesis, references with bars between them, and rating."""
    texts = Segments(
        tuple(hypothesis for hypothesis, _, _ in rows),
        tuple(tuple(references.split("|")) for _, references, _ in rows),
    )
    return Ratings(np.array([score for _, _, score in rows]), {}, texts, name=name)


def preferred(*rows: tuple[str, str, str], name: str = "few") -> Preferences:
    """Better, worse, and references with bars between them."""
    references = tuple(tuple(references.split("|")) for _, _, references in rows)
    better, worse, _ = zip(*rows, strict=True)
    return Preferences({}, Segments(better, references), Segments(worse, references), name=name)
