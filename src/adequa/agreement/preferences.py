"""Segment-level agreement with preferences: the taus of the WMT campaigns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adequa.agreement.groups import codes, segment_names
from adequa.agreement.measured import Measured, left_out
from adequa.agreement.protocol import Protocol
from adequa.errors import AdequaError
from adequa.judgements import Ids
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import ratio
from adequa.statistics.permutation import ratio_differences
from adequa.statistics.preference_tau import (
    PREFERENCE_TAUS,
    contributions,
    preferences_from_ratings,
)
from adequa.statistics.resampling import bootstrap_sums


@dataclass(frozen=True, slots=True, eq=False)
class Preferred:
    """The preferences of one language pair, and by how much K metrics share them."""

    name: str
    margins: FloatArray  # (K, n), score of the better less score of the worse
    segments: IntArray  # (n,) codes


def preferred(name: str, margins: FloatArray, ids: Ids) -> Preferred:
    """Arrays of one language pair."""
    return Preferred(name, margins, codes(segment_names(ids), margins.shape[1]))


def preferred_by_rating(
    name: str, human: FloatArray, metrics: FloatArray, ids: Ids, protocol: Protocol
) -> Preferred:
    """Preferences between outputs of a segment whose ratings are far enough apart (DARR)."""
    if "segment" not in ids or not all(ids["segment"]):
        raise AdequaError(
            f"{name}: the judgements do not say which segment each output belongs to, so that "
            "ratings cannot be compared within segments."
        )
    segments = codes(segment_names(ids), len(human))
    better, worse = preferences_from_ratings(human, segments, protocol.min_difference)
    if not len(better):
        raise AdequaError(
            f"{name}: no two ratings of a segment differ by {protocol.min_difference:g} or more; "
            f"the ratings run from {human.min():g} to {human.max():g}. Standardised scores need "
            "another --min-difference, such as 1."
        )
    return Preferred(name, metrics[:, better] - metrics[:, worse], segments[better])


def measure_preferences(data: Preferred, protocol: Protocol) -> Measured:
    """Every metric's tau on one language pair; segments are what is resampled and swapped."""
    kind = PREFERENCE_TAUS[str(protocol.statistic)]
    of_preference = [contributions(kind, margins) for margins in data.margins]
    numerators, denominators = (
        np.stack(
            [np.bincount(data.segments, parts[side]).astype(np.float64) for parts in of_preference]
        )
        for side in (0, 1)
    )
    notes: tuple[str, ...] = ()
    if protocol.average == "segment":
        of_segment = np.asarray(ratio(numerators, denominators))
        notes = left_out(data.name, of_segment, protocol)
        denominators = np.isfinite(of_segment).astype(np.float64)
        numerators = np.where(denominators > 0, of_segment, 0.0)
    samples = np.empty((len(data.margins), 0))
    if protocol.over != "none":
        columns = np.concatenate([numerators, denominators])
        sums = bootstrap_sums(columns, protocol.resamples, protocol.seed)
        samples = np.asarray(ratio(*np.split(sums, 2)))
    return Measured(
        name=data.name,
        items=data.margins.shape[1],
        values=np.asarray(ratio(numerators.sum(axis=1), denominators.sum(axis=1))),
        samples=samples,
        differences=None
        if protocol.test == "none"
        else ratio_differences(numerators, denominators, protocol.swap_count, protocol.seed),
        reasons=("the metric gives both sides of every preference the same score",)
        * len(data.margins),
        notes=notes,
    )
