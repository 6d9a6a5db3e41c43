"""sacreBLEU's formulas on arrays give what sacreBLEU gives row by row."""

from __future__ import annotations

import numpy as np
import pytest

from adequa import load_metric
from adequa.metrics.sacrebleu_metrics import SacrebleuMetric, _scores

SPECIFICATIONS = (
    "bleu",
    "bleu:smooth_method=floor",
    "bleu:smooth_method=floor,smooth_value=0.3",
    "bleu:smooth_method=add-k",
    "bleu:smooth_method=add-k,smooth_value=0.5,effective_order=true",
    "bleu:smooth_method=none",
    "bleu:effective_order=true",
    "bleu:smooth_method=none,effective_order=true",
    "bleu:max_ngram_order=2",
    "chrf",
    "chrf:beta=3",
    "chrf:eps_smoothing=true",
    "chrf++",
    "ter",
)


def counts(metric: SacrebleuMetric, rows: int) -> np.ndarray:
    """Rows of counts, many of them with zeros in odd places; a hypothesis may be empty."""
    generator = np.random.default_rng(len(metric.name))
    columns = {"bleu": 2 + 2 * getattr(metric, "max_ngram_order", 0), "ter": 2}.get(
        metric.name, 3 * (6 + getattr(metric, "word_order", 0))
    )
    drawn = generator.integers(0, 6, (rows, columns)) * generator.integers(0, 2, (rows, columns))
    drawn[0] = 0
    large = generator.integers(1, 10_000, (rows, columns))
    return np.concatenate([drawn, large]).astype(np.float64)


@pytest.mark.parametrize("specification", SPECIFICATIONS)
def test_arrays_equal_rows(specification: str) -> None:
    metric = load_metric(specification)
    assert isinstance(metric, SacrebleuMetric)
    rows = counts(metric, 300)
    expected = _scores(metric._system_scorer, rows)
    np.testing.assert_allclose(metric.formula(rows), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(metric.system_scores(rows), metric.formula(rows))
    np.testing.assert_array_equal(metric.system_scores(rows[-9:]), expected[-9:])
