"""The inputs of the pairwise ranker: scaling to the range from -1 to 1, and a cache of scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.pairwise.inputs import MetricInput, Scaling, load_inputs
from adequa.metrics.registry import load_metric
from source_metrics import register
from tiny_preferences import texts_of, tiny_preferences


def test_scaling_by_range_and_by_standard_deviation() -> None:
    features = np.array([[0.0, 2.0], [10.0, 2.0], [2.0, 2.0]])
    by_range = Scaling.fit(features)
    assert by_range.apply(features).tolist() == [[-1.0, 0.0], [1.0, 0.0], [-0.6, 0.0]]
    assert by_range.apply(np.array([[99.0, -9.0]])).tolist() == [[1.0, -1.0]]
    by_deviation = Scaling.fit(features, "spread")
    np.testing.assert_allclose(by_deviation.half_width[0], 4 * features[:, 0].std())
    assert Scaling.fit(np.zeros((0, 2))).apply(np.array([[0.5, 0.5]])).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("name", ["length-ratio", "either", "both"])
def test_metrics_that_read_sources_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    with pytest.raises(AdequaError, match=f"^{name} reads sources, and a pairwise ranker compares"):
        load_inputs(("wer", name))


def test_cached_scores_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    better, _ = texts_of(tiny_preferences(5))
    scored: list[int] = []
    cached = MetricInput("wer", load_metric("wer"))
    computed = cached.scores(better, scored.append)
    assert sum(scored) == len(better)
    np.testing.assert_array_equal(cached.scores(better, scored.append), computed)
    assert sum(scored) == len(better)
    uncached = MetricInput("wer", load_metric("wer"), cache=False)
    np.testing.assert_array_equal(uncached.scores(better, scored.append), computed)
    assert sum(scored) == 2 * len(better)
