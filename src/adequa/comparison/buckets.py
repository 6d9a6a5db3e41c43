"""Where systems differ: scores on parts of the segments, from the same statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adequa.comparison.features import Feature
from adequa.comparison.results import Bucket, BucketScores, Dimension
from adequa.comparison.scored import Scored
from adequa.comparison.settings import ComparisonSettings
from adequa.segments import FloatArray, IntArray
from adequa.statistics.paired import bootstrap_scores

FEWEST = 10  # segments that an interval rests on: resamples of fewer know too little
_MOST_RESAMPLES = 1000  # more say nothing more of a part


def dimensions(
    scored: Sequence[Scored], features: Sequence[Feature], settings: ComparisonSettings
) -> tuple[Dimension, ...]:
    """Every metric's scores on every part of the segments."""
    return tuple(
        Dimension(
            feature.name,
            feature.title,
            tuple(
                Bucket(label, rows, _scores(scored, rows, settings, (number, place)))
                for place, (label, rows) in enumerate(feature.buckets())
            ),
        )
        for number, feature in enumerate(features)
    )


def _scores(
    scored: Sequence[Scored],
    rows: IntArray,
    settings: ComparisonSettings,
    place: tuple[int, int],
) -> tuple[BucketScores | None, ...]:
    """Scores of all metrics on some rows, with intervals of what each system is from the first."""
    known = [(each, each.statistics[:, rows]) for each in scored if each.statistics is not None]
    drawn: Sequence[FloatArray | None] = [None] * len(known)
    if known and len(rows) >= FEWEST:
        resamples = min(settings.resamples, _MOST_RESAMPLES)
        seed = [settings.seed, *place]  # parts of one size do not share their accidents
        functions = [each.score for each, _ in known]
        drawn = bootstrap_scores([part for _, part in known], functions, resamples, seed)
    tails = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
    found: dict[str, BucketScores] = {}
    for (each, part), samples in zip(known, drawn, strict=True):
        sign, scores = each.source.sign, each.score(part.sum(axis=1))
        low = high = np.full(len(scores), np.nan)
        if samples is not None:
            low, high = np.nanquantile(sign * (samples - samples[0]), tails, axis=1)
        found[each.source.name] = BucketScores(sign * scores, low, high)
    return tuple(found.get(each.source.name) for each in scored)
