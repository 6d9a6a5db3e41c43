"""Where systems differ: scores on parts of the segments, from the same statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adequa.comparison.features import Feature
from adequa.comparison.results import Bucket, BucketScores, Dimension
from adequa.comparison.scored import Scored
from adequa.comparison.settings import ComparisonSettings
from adequa.segments import IntArray
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
    there = {
        each.source.name: each.statistics[:, rows] for each in scored if each.statistics is not None
    }
    functions = [each.score for each in scored if each.statistics is not None]
    if not there:
        return (None,) * len(scored)
    resamples = min(settings.resamples, _MOST_RESAMPLES)
    seed = [settings.seed, *place]  # parts of one size do not share their accidents
    drawn = bootstrap_scores(list(there.values()), functions, resamples, seed)
    tails = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
    found: dict[str, BucketScores] = {}
    for (name, statistics), score, samples in zip(there.items(), functions, drawn, strict=True):
        sign = next(each.source.sign for each in scored if each.source.name == name)
        low = high = np.full(len(samples), np.nan)
        if len(rows) >= FEWEST:
            low, high = np.nanquantile(sign * (samples - samples[0]), tails, axis=1)
        found[name] = BucketScores(sign * score(statistics.sum(axis=1)), low, high)
    return tuple(found.get(each.source.name) for each in scored)
