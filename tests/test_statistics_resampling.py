"""The bootstrap: counts that add up, one stream whatever the chunks, percentile intervals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adequa.errors import AdequaError
from adequa.segments import FloatArray
from adequa.statistics.resampling import (
    bootstrap_chunks,
    bootstrap_counts,
    bootstrap_sums,
    count_chunks,
    interval,
    row_weights,
)

SEGMENTS = np.repeat(np.arange(5), 3)
SYSTEMS = np.tile(np.arange(3), 5)


def weighted_mean(metric: FloatArray, weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=-1)
    return np.asarray(weights @ metric / total)


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 5))
def test_every_resample_has_as_many_draws_as_units(units: int, resamples: int, seed: int) -> None:
    counts = bootstrap_counts(units, resamples, seed)
    assert counts.shape == (resamples, units)
    assert (counts.sum(axis=1) == units).all()
    assert (counts >= 0).all()


def test_chunks_and_sums_are_of_the_same_draws() -> None:
    counts = bootstrap_counts(7, 11, seed=4)
    chunks = list(bootstrap_chunks(7, 11, seed=4, limit=20))
    assert len(chunks) > 1
    assert (np.concatenate(chunks) == counts).all()
    columns = np.arange(14.0).reshape(2, 7)
    assert bootstrap_sums(columns, 11, seed=4) == pytest.approx(columns @ counts.T)


def test_counts_are_multinomial() -> None:
    counts = bootstrap_counts(10, 20_000, seed=3)
    # A unit's count is binomial (10 draws, probability 1/10): compare its whole distribution.
    seen = np.bincount(counts[:, 4].astype(int), minlength=5)[:5] / len(counts)
    assert seen == pytest.approx(stats.binom.pmf(np.arange(5), 10, 0.1), abs=0.01)
    covariance = np.cov(counts[:, :2].T)
    assert covariance[0, 1] == pytest.approx(-0.1, abs=0.03)  # -n p q


@given(st.integers(0, 100), st.integers(0, 50), st.integers(1, 200))
def test_chunks_cover_everything_once_within_the_limit(
    count: int, per_row: int, limit: int
) -> None:
    parts = list(count_chunks(count, per_row, limit))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(count))
    assert all((part.stop - part.start) * per_row <= max(limit, per_row) for part in parts)


@pytest.mark.parametrize("over", ["segments", "systems", "both"])
@pytest.mark.parametrize("limit", [1, 40, 10_000])
def test_weights_do_not_depend_on_chunks(over: str, limit: int) -> None:
    whole = np.concatenate(list(row_weights(SEGMENTS, SYSTEMS, over, 33, seed=7)))
    parts = np.concatenate(list(row_weights(SEGMENTS, SYSTEMS, over, 33, seed=7, limit=limit)))
    assert whole.shape == (33, 15)
    assert (whole == parts).all()


def test_memory_is_bounded_by_the_limit() -> None:
    limit = 2**16
    rows = np.arange(3000)
    tracemalloc.start()
    resamples = sum(len(c) for c in row_weights(rows, None, "segments", 500, 1, limit=limit))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert resamples == 500
    assert peak < 6 * limit * 8  # of the 12 MB that all weights would take


def test_rows_weigh_as_their_segment_and_system_were_drawn() -> None:
    (segments,) = row_weights(SEGMENTS, SYSTEMS, "segments", 50, seed=7)
    (systems,) = row_weights(SEGMENTS, SYSTEMS, "systems", 50, seed=7)
    (both,) = row_weights(SEGMENTS, SYSTEMS, "both", 50, seed=7)
    assert (segments.reshape(50, 5, 3) == segments.reshape(50, 5, 3)[:, :, :1]).all()
    assert (segments[:, SYSTEMS == 0].sum(axis=1) == 5).all()
    assert (systems[:, SEGMENTS == 0].sum(axis=1) == 3).all()
    assert (both == segments * systems).all()
    assert (both.sum(axis=1) == 15).all()


def test_codes_with_gaps_are_as_good() -> None:
    dense = next(row_weights(SEGMENTS, None, "segments", 20, seed=1))
    gaps = next(row_weights(10 * SEGMENTS + 7, None, "segments", 20, seed=1))
    assert (dense == gaps).all()


def test_interval_is_the_percentile_interval_of_scipy() -> None:
    scores = np.random.default_rng(0).normal(size=60)
    chunks = row_weights(np.arange(60), None, "segments", 20_000, seed=1)
    ours = interval(np.concatenate([weighted_mean(scores, weights) for weights in chunks]))
    theirs = stats.bootstrap(
        (scores,), np.mean, n_resamples=20_000, method="percentile", random_state=1
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_interval_leaves_undefined_resamples_out_and_counts_them() -> None:
    samples = np.append(np.arange(101.0), [np.nan] * 7)
    found = interval(samples, confidence=0.9)
    assert (found.low, found.high) == pytest.approx((5.0, 95.0))
    assert found.undefined == 7


@pytest.mark.parametrize("samples", [[], [np.nan], [1.0, np.nan, np.nan]])
def test_no_interval_where_most_resamples_are_undefined(samples: list[float]) -> None:
    found = interval(np.array(samples))
    assert np.isnan(found.low)
    assert np.isnan(found.high)
    assert found.undefined == int(np.isnan(samples).sum())


def test_one_segment_has_an_interval_without_width() -> None:
    weights = row_weights(np.zeros(1, dtype=np.intp), None, "segments", 10, seed=0)
    found = interval(weighted_mean(np.full(1, 2.5), next(weights)))
    assert (found.low, found.high, found.undefined) == (2.5, 2.5, 0)


def test_bad_input_is_told() -> None:
    with pytest.raises(AdequaError, match="draws systems"):
        row_weights(SEGMENTS, None, "both", 10, seed=0)
    with pytest.raises(AdequaError, match="no rows"):
        row_weights(SEGMENTS[:0], None, "segments", 10, seed=0)
