"""A trained network as an ONNX file: in fp32 as PyTorch, in int8 nearly so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.packed.export import (
    Bert,
    GraphPrecision,
    build_graph,
    export_onnx,
    extract_weights,
    scorer_model,
)
from adequa.learned.packed.quantise import (
    ACTIVATION_LEVELS,
    WEIGHT_LEVELS,
    observe_activations,
)
from adequa.runtime.onnx import OnnxModel
from tiny_transformer import IDS, POSITIONS, random_rows, tiny_network

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from adequa.learned.packed.packing import surface_weights  # noqa: E402  # they need PyTorch
from adequa.learned.pair.network import Head, PairInputs, PairNetwork, predict  # noqa: E402

ROWS = random_rows(40, longest=20)
EVERY = np.arange(40)


def network(encoder: Any = None, **head: Any) -> PairNetwork:
    """A random network whose scores are not on the scale that is trained on."""
    encoder = {"hidden_size": 32, "intermediate_size": 64, **(encoder or {})}
    made = PairNetwork(tiny_network(**encoder), Head(**head), seed=5).eval()
    made.scale.fill_(2.5)
    made.shift.fill_(-0.75)
    with torch.no_grad():
        made.output.bias.fill_(0.4)
    return made


def by_pytorch(made: PairNetwork) -> Any:
    return predict(made, PairInputs(ROWS), EVERY) * 2.5 - 0.75


def run(model: Any, batch: Any) -> Any:
    """The scores of some rows, in one batch."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return run_session(session, batch)


def run_session(session: Any, batch: Any) -> Any:
    inputs = ROWS.padded(np.asarray(batch))
    inputs.setdefault("token_type_ids", np.zeros_like(inputs["input_ids"]))
    (scores,) = session.run(None, {name: rows.astype(np.int32) for name, rows in inputs.items()})
    return scores


def quantised(made: PairNetwork) -> Any:
    bert, head = extract_weights(made)
    return scorer_model(bert, head, ROWS, max_length=POSITIONS)


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"layers": "0+1+2"},
        {"layers": "2+1"},
        {"layers": "1"},
        {"layers": "0"},
    ],
    ids=lambda head: head.get("layers", "last"),
)
def test_the_graph_in_fp32_is_the_network_of_pytorch(head: dict[str, str]) -> None:
    made = network(**head)
    model = build_graph(*extract_weights(made)).model
    onnx.checker.check_model(model)
    np.testing.assert_allclose(run(model, EVERY), by_pytorch(made), atol=1e-5)


def test_types_of_tokens_are_read() -> None:
    made = network()
    session = onnxruntime.InferenceSession(
        build_graph(*extract_weights(made)).model.SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    ids = np.array([[IDS["[CLS]"], IDS["good"], IDS["[SEP]"], IDS["bad"], IDS["[SEP]"]]])
    types = np.array([[0, 0, 0, 1, 1]])
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    with torch.no_grad():
        tensors = {name: torch.from_numpy(table) for name, table in inputs.items()}
        expected = made(tensors).item() * 2.5 - 0.75
    (found,) = session.run(None, {name: rows.astype(np.int32) for name, rows in inputs.items()})
    assert found == pytest.approx([expected], abs=1e-5)


@pytest.mark.parametrize("head", [{}, {"pooling": "mean", "layers": "0+2"}], ids=["last", "two"])
def test_int8_scores_are_nearly_those_of_fp32(head: dict[str, str]) -> None:
    made = network(**head)
    expected, found = by_pytorch(made), run(quantised(made), EVERY)
    assert np.corrcoef(expected, found)[0, 1] > 0.99
    assert np.abs(found - expected).max() < 0.3 * expected.std()


def test_the_last_four_layers_are_means_too() -> None:
    made = network({"layers": 4}, pooling="mean-last4")
    bert, head = extract_weights(made)
    assert sorted(head.weights) == [1, 2, 3, 4]
    np.testing.assert_allclose(
        run(build_graph(bert, head).model, EVERY), by_pytorch(made), atol=1e-5
    )


def test_layers_above_the_head_are_left_out() -> None:
    bert, head = extract_weights(network(layers="1"))
    assert bert.layers == 1
    model = build_graph(bert, head).model
    assert not any(
        array.name.startswith(("1.", "encoder.layer.1.")) for array in model.graph.initializer
    )


def test_neighbours_change_no_score() -> None:
    model = quantised(network())
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    together = run_session(session, EVERY)
    for length in np.unique(ROWS.lengths):
        same = np.flatnonzero(ROWS.lengths == length)
        alone = np.concatenate([run_session(session, [row]) for row in same])
        np.testing.assert_allclose(run_session(session, same), alone, atol=1e-6)
        np.testing.assert_allclose(together[same], alone, atol=1e-4)


def test_an_export_opens_in_the_runtime_and_is_the_same_each_time(tmp_path: Path) -> None:
    made = network()
    file = export_onnx(made, ROWS, max_length=20)
    assert export_onnx(made, ROWS, max_length=20) == file
    (tmp_path / "model.onnx").write_bytes(file)
    opened = OnnxModel.open(tmp_path / "model.onnx", "cpu", threads=1)
    assert opened.metadata == {"max_length": "20", "scheme": "static-int8-smooth"}
    assert set(opened.input_dtypes) == {"input_ids", "attention_mask", "token_type_ids"}
    assert set(opened.input_dtypes.values()) == {np.int32}
    inputs = ROWS.padded(EVERY)
    inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
    np.testing.assert_allclose(opened.run(inputs), run(quantised(made), EVERY), atol=1e-6)
    (tmp_path / "model.onnx").write_bytes(export_onnx(made, ROWS, max_length=20, precision="fp32"))
    plain = OnnxModel.open(tmp_path / "model.onnx", "cpu", threads=1)
    assert plain.metadata == {"max_length": "20", "scheme": "fp32"}
    np.testing.assert_allclose(plain.run(inputs), by_pytorch(made), atol=1e-5)


def test_weights_are_seven_bits_and_words_eight() -> None:
    bert, _ = extract_weights(network())
    made = {
        array.name: onnx.numpy_helper.to_array(array)
        for array in quantised(network()).graph.initializer
    }
    matrices = [name for name in made if name.endswith(".weight") and "Norm" not in name]
    assert len(matrices) == 6 * bert.layers
    for name in matrices:
        assert made[name].dtype == np.int8
        assert np.abs(made[name].astype(int)).max(axis=0).tolist() == [63] * made[name].shape[1]
    assert made["words"].dtype == np.int8
    # Two products of a level and a weight are what 16 bits have to hold.
    assert 2 * ACTIVATION_LEVELS * WEIGHT_LEVELS < 2**15


def test_observed_activations_are_those_of_pytorch() -> None:
    """The first linear layer reads the output of the embeddings."""
    made = network()
    graph = build_graph(*extract_weights(made))
    statistics = observe_activations(graph.model, graph.linear_inputs, ROWS)
    with torch.no_grad():
        found = [
            made.encoder(
                input_ids=torch.from_numpy(ROWS.padded(np.array([row]))["input_ids"]),
                output_hidden_states=True,
            ).hidden_states[0][0]
            for row in EVERY
        ]
    every = torch.cat(found).numpy()
    np.testing.assert_allclose(statistics["0.qkv"].low, every.min(axis=0), atol=1e-5)
    np.testing.assert_allclose(statistics["0.qkv"].high, every.max(axis=0), atol=1e-5)
    assert set(statistics) == {name for name, _ in extract_weights(made)[0].linear_weights()}


def test_surface_features_are_folded_into_a_line() -> None:
    made = network(surface=3)
    features = np.random.default_rng(4).normal(2, 3, (40, 3)).astype(np.float32)
    made.standardise_surface(features)
    assert made.skip is not None
    with torch.no_grad():
        made.skip.copy_(torch.tensor([0.5, -0.25, 0.125]))
    whole = predict(made, PairInputs(ROWS, features), EVERY) * 2.5 - 0.75
    surface = surface_weights(made)
    assert surface is not None
    raw = run(build_graph(*extract_weights(made)).model, EVERY)
    np.testing.assert_allclose(raw + features @ surface.weights + surface.offset, whole, atol=1e-5)
    assert surface_weights(network()) is None


@pytest.mark.parametrize(
    ("encoder", "head", "said"),
    [
        ({}, {"pooling": "cls"}, 'pooling="cls"'),
        ({}, {"hidden_layers": 2, "units": 4}, "2 hidden layers"),
        ({"hidden_act": "relu"}, {}, "hidden_act=relu"),
    ],
    ids=["pooling", "hidden", "relu"],
)
def test_what_cannot_be_exported_is_said(
    encoder: dict[str, Any], head: dict[str, Any], said: str
) -> None:
    with pytest.raises(AdequaError, match=f"Only a .* can be exported.*{said}"):
        export_onnx(network(encoder, **head), ROWS, max_length=20)


def test_other_architectures_are_refused() -> None:
    config = {"model_type": "roberta", "hidden_act": "gelu"}
    with pytest.raises(AdequaError, match="model_type=roberta"):
        Bert.from_transformers(config, {}, 2)


def test_bad_settings_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network()
    for length in (0, POSITIONS + 1):
        for precision in get_args(GraphPrecision):
            with pytest.raises(AdequaError, match=f"between 1 and {POSITIONS}"):
                export_onnx(made, ROWS, max_length=length, precision=precision)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(AdequaError, match=r"onnx: pip install 'adequa\[train\]'"):
        export_onnx(made, ROWS, max_length=20)
