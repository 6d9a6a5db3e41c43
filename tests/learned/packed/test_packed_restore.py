"""Networks restored from packed metrics: they score as the packed metric, and train further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.surface import SURFACE
from adequa.errors import AdequaError
from adequa.learned.packed.export import GraphPrecision
from adequa.learned.packed.metric import Adequa, PackedPair
from adequa.learned.packed.packing import pack
from adequa.learned.packed.restore import restored_model, restored_regressor
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import Plan, StagePlan
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray
from judgements import needs_judgements
from tiny_packed import QUICK, WIDE, fitted
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

TEXTS, _ = outputs(120, seed=5)


@pytest.fixture(scope="module")
def regressor(tmp_path_factory: pytest.TempPathFactory) -> PairRegressor:
    folder = tmp_path_factory.mktemp("regressor")
    encoder = write_tiny_encoder(folder / "encoder", **WIDE)
    return fitted(folder / "tiny", encoder, layers="1+2")


def packed(regressor: PairRegressor, folder: Path, precision: GraphPrecision) -> PackedPair:
    pack(regressor, TEXTS, folder, name="small", precision=precision, pairs=40)
    metric = load_metric(str(folder))
    assert isinstance(metric, PackedPair)
    return metric


def pairs() -> list[tuple[str, str]]:
    return [(refs[0], text) for refs, text in zip(TEXTS.references, TEXTS.hypotheses, strict=True)]


def raw_scores(metric: PackedPair) -> FloatArray:
    return restored_model(metric).scores(pairs(), "fp32", 4096)


def test_weights_of_32_bits_are_those_of_the_network(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    """But for rounding, which depends on the processor and is absolute, not relative.

    A score here, from -22 to 95, is what is left of the offset of the surface features, -400, and
    of their terms. In 32 bits numbers of that size are 3e-5 apart, and a dozen of them are summed.
    """
    restored = raw_scores(packed(regressor, tmp_path / "fp32", "fp32"))
    expected = regressor.model_.scores(pairs(), "fp32", 4096)
    np.testing.assert_allclose(restored, expected, rtol=0, atol=2e-4)


def test_weights_of_8_bits_are_those_of_the_network_but_for_rounding(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    """Whatever is folded into weights is unfolded: the scale of queries, columns and smoothing."""
    restored = restored_model(packed(regressor, tmp_path / "int8", "int8")).network.encoder
    original = dict(regressor.model_.network.encoder.state_dict())
    checked = 0
    for name, tensor in restored.state_dict().items():
        # Values of attention are smoothed channel by channel, and the layer after them undoes it.
        if not name.endswith("weight") or "self.value" in name or "attention.output.dense" in name:
            continue
        assert (tensor - original[name]).norm() < 0.03 * original[name].norm(), name
        checked += 1
    assert checked > 10
    values, outputs = "self.value.weight", "output.dense.weight"
    for prefix in ("encoder.layer.0.attention.", "encoder.layer.1.attention."):
        product, expected = (
            tensors[prefix + outputs] @ tensors[prefix + values]
            for tensors in (restored.state_dict(), original)
        )
        assert (product - expected).norm() < 0.03 * expected.norm()


def test_a_packed_metric_is_trained_further(regressor: PairRegressor, tmp_path: Path) -> None:
    folder = packed(regressor, tmp_path / "int8", "int8").folder
    before = restored_regressor(load_metric(str(folder)), "packed").model_
    stage = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(1e-9,))
    further = PairRegressor(Plan(start=str(folder), stage=(stage,)), device="cpu")
    further.fit(tiny_ratings(24))
    # With a learning rate of nothing scores are only brought to the scale of the ratings.
    scores = further.model_.scores(pairs(), "fp32", 4096)
    correlation = np.corrcoef(scores, before.scores(pairs(), "fp32", 4096))[0, 1]
    assert correlation == pytest.approx(1, abs=1e-4)
    assert further.training_["begun_from"]["name"] == "small"
    further.save(tmp_path / "further")
    np.testing.assert_allclose(
        load_metric(f"{tmp_path / 'further'}:device=cpu").compute_scores(TEXTS).segments, scores,
        atol=1e-4,
    )  # fmt: skip


def test_surface_features_that_a_packed_metric_lacks_have_a_weight_of_zero(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    metric = packed(regressor, tmp_path / "fp32", "fp32")
    assert metric.surface is not None
    names, weights = metric.surface.names, metric.surface.weights
    fewer = replace(metric.surface, names=names[1:4], weights=weights[1:4])
    skip = restored_model(replace(metric, surface=fewer)).network.get_parameter("skip")
    expected = [weights[i] if 1 <= i < 4 else 0 for i in range(len(SURFACE))]
    assert skip.tolist() == pytest.approx(expected)


def test_other_metrics_are_no_start() -> None:
    plan = Plan(start="chrf", stage=(QUICK,))
    with pytest.raises(AdequaError, match="chrf is not a pair regressor"):
        PairRegressor(plan, device="cpu").fit(tiny_ratings(24))


@needs_judgements
def test_the_shipped_metric_can_be_restored() -> None:
    from adequa.datasets.load import load_dataset
    from adequa.judgements import Ratings

    ratings = load_dataset("wmt13-da")
    assert isinstance(ratings, Ratings)
    assert ratings.segments is not None
    segments = ratings.segments.select(range(0, len(ratings), 30))
    metric = Adequa()
    texts = [(refs[0], text) for refs, text in zip(
        segments.references, segments.hypotheses, strict=True
    )]  # fmt: skip
    raw = restored_model(metric.packed).scores(texts, "fp32", 4096)
    scores = metric.compute_segment_scores(segments)
    assert np.abs(metric.packed.score_map(raw) - scores).max() < 0.05
    assert np.corrcoef(metric.packed.score_map(raw), scores)[0, 1] > 0.999
