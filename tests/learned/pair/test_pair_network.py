"""The network of the pair regressor against plain sums, its scale, and its attention masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiny_transformer import random_rows, tiny_network

torch = pytest.importorskip("torch", reason="training needs PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.pair import network as pair_network  # noqa: E402
from adequa.learned.pair.network import (  # noqa: E402
    Head,
    PairInputs,
    PairNetwork,
    attention_mask,
    predict,
)

ROWS = random_rows(12)
INPUTS = PairInputs(ROWS)
EVERY = np.arange(12)


def network(**head: Any) -> PairNetwork:
    return PairNetwork(tiny_network(), Head(**head), seed=5).eval()


def states(of: PairNetwork, text: int) -> list[np.ndarray]:
    """What the encoder makes of a single text, layer by layer."""
    ids = torch.tensor([ROWS.ids[ROWS.starts[text] : ROWS.starts[text + 1]].tolist()])
    with torch.no_grad():
        found = of.encoder(input_ids=ids, output_hidden_states=True)
    return [layer[0].double().numpy() for layer in found.hidden_states]


@pytest.mark.parametrize(
    ("head", "vector"),
    [
        ({"pooling": "mean"}, lambda layers: layers[2].mean(axis=0)),
        ({"pooling": "cls"}, lambda layers: layers[2][0]),
        (
            {"pooling": "mean", "layers": "0+1"},
            lambda layers: np.concatenate([layers[0].mean(axis=0), layers[1].mean(axis=0)]),
        ),
    ],
    ids=["mean", "cls", "layers"],
)
def test_linear_heads_by_hand(head: dict[str, Any], vector: Any) -> None:
    model = network(**head)
    weights, bias = model.output.weight.detach().double().numpy()[0], model.output.bias.item()
    expected = [vector(states(model, text)) @ weights + bias for text in range(12)]
    assert predict(model, INPUTS, EVERY) == pytest.approx(expected, abs=1e-5)


def test_hidden_layers_by_hand() -> None:
    model = network(hidden_layers=2, units=6)
    weights = [array for name, array in model.head_arrays().items() if "hidden" in name]
    assert [array.shape for array in weights[::2]] == [(6, 16), (6, 6)]
    value = states(model, 0)[2].mean(axis=0)
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        value = np.tanh(matrix @ value + bias)
    expected = model.output.weight.detach().double().numpy()[0] @ value
    assert predict(model, INPUTS, EVERY[:1]) == pytest.approx([expected], abs=1e-5)


def test_first_weights_follow_the_seed_alone() -> None:
    torch.manual_seed(0)
    one = network().head_arrays()
    before = torch.get_rng_state()
    other = network().head_arrays()
    assert torch.equal(torch.get_rng_state(), before)
    assert all((one[name] == other[name]).all() for name in one)
    assert one.keys() == {"output.weight", "output.bias", "shift", "scale"}


def test_heads_are_taken_over_or_refused() -> None:
    model, other = network(surface=2), PairNetwork(tiny_network(), Head(surface=2), seed=8).eval()
    other.load_head(model.head_arrays())
    assert (other.output.weight == model.output.weight).all()
    for wrong in (network(), network(surface=3), network(surface=2, hidden_layers=1)):
        with pytest.raises((RuntimeError, ValueError)):
            model.load_head(wrong.head_arrays())


def test_calibration_is_least_squares() -> None:
    model = network()
    scores = predict(model, INPUTS, EVERY)
    targets = 3 * scores + 2 + np.random.default_rng(0).normal(size=12) * scores.std()
    model.calibrate(scores, targets)
    slope, intercept = np.polyfit(scores, targets, 1)
    assert slope > 0
    assert predict(model, INPUTS, EVERY) == pytest.approx(slope * scores + intercept, abs=1e-4)


def test_scores_against_the_targets_are_not_turned_round() -> None:
    model = network()
    scores = predict(model, INPUTS, EVERY)
    model.calibrate(scores, -scores)
    assert predict(model, INPUTS, EVERY) == pytest.approx(scores)


def test_surface_features_are_standardised_and_begin_at_nothing() -> None:
    model = network(surface=2)
    surface = np.random.default_rng(0).normal(3, 2, size=(12, 2)).astype(np.float32)
    surface[:, 1] = 5  # a constant says nothing, and divides by nothing
    inputs = PairInputs(ROWS, surface)
    model.standardise_surface(surface)
    before = predict(model, inputs, EVERY)
    assert before == pytest.approx(predict(model, INPUTS, EVERY))
    with torch.no_grad():
        model.get_parameter("skip").copy_(torch.tensor([2.0, -1.0]))
    added = 2 * (surface[:, 0] - surface[:, 0].mean()) / surface[:, 0].std()
    assert predict(model, inputs, EVERY) - before == pytest.approx(added, abs=1e-5)


def test_new_surface_features_alone_are_standardised() -> None:
    model = network(surface=2)
    surface = np.random.default_rng(0).normal(3, 2, size=(12, 2)).astype(np.float32)
    with torch.no_grad():
        model.get_parameter("skip").copy_(torch.tensor([2.0, 0.0]))
    before = predict(model, PairInputs(ROWS, surface), EVERY)
    model.standardise_surface(surface, first=1)
    assert (predict(model, PairInputs(ROWS, surface), EVERY) == before).all()
    assert model.surface_mean.tolist() == pytest.approx([0, surface[:, 1].mean()])
    assert model.surface_spread.tolist() == pytest.approx([1, surface[:, 1].std()])


def test_constant_scores_can_be_calibrated() -> None:
    model = network()
    model.calibrate(np.zeros(12), np.arange(12.0))
    assert np.isfinite(predict(model, INPUTS, EVERY)).all()


NAMES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "vocab_size": 20, "max_position_embeddings": 24, "initializer_range": 0.2, "pad_token_id": 0,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
DISTILBERT = {
    "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "vocab_size": 20, "dropout": 0.0,
    "attention_dropout": 0.0, "max_position_embeddings": 24, "initializer_range": 0.2,
}  # fmt: skip
PADDED = np.array([3, 0, 7, 5])
MASKED_ROWS = random_rows(8)
SAME_LENGTH = np.flatnonzero(MASKED_ROWS.lengths == np.bincount(MASKED_ROWS.lengths).argmax())
READY = sorted(pair_network._BIDIRECTIONAL)


def encoder(kind: str, attention: str, **settings: Any) -> Any:
    """A tiny random encoder of this architecture."""
    named = (DISTILBERT if kind == "distilbert" else NAMES) | settings
    config = transformers.AutoConfig.for_model(kind, **named)
    with torch.random.fork_rng([]):
        torch.manual_seed(3)
        return transformers.AutoModel.from_config(config, attn_implementation=attention)


def attentions(kind: str) -> list[str]:
    return ["eager"] if kind == "mpnet" else ["sdpa", "eager"]


def found(network: PairNetwork, pairs: np.ndarray, precision: Any) -> dict[str, np.ndarray]:
    """The scores, and the gradient of every weight that has one."""
    network.zero_grad()
    scores = PairInputs(MASKED_ROWS, precision=precision).scores(network, pairs)
    (scores * torch.arange(1, len(pairs) + 1)).sum().backward()
    named = network.named_parameters()
    each = {name: p.grad.numpy().copy() for name, p in named if p.grad is not None}
    return {"scores": scores.detach().numpy()} | each


def assert_as_without(
    model: Any, pairs: np.ndarray, monkeypatch: pytest.MonkeyPatch, precision: str = "fp32"
) -> None:
    """Scores and gradients are those of the mask that the encoder makes."""
    network = PairNetwork(model, Head(dropout=0.0), seed=1)
    ours = found(network, pairs, precision)
    with monkeypatch.context() as patched:
        patched.setattr(pair_network, "attention_mask", lambda _, mask: mask)
        plain = found(network, pairs, precision)
    assert len(set(plain["scores"].tolist())) > 1
    assert ours.keys() == plain.keys()
    for name, values in plain.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("pairs", [PADDED, SAME_LENGTH], ids=["padded", "same-length"])
@pytest.mark.parametrize(
    ("kind", "attention"), [(kind, name) for kind in READY for name in attentions(kind)]
)
def test_expanded_masks_change_nothing(
    kind: str, attention: str, pairs: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_as_without(encoder(kind, attention), pairs, monkeypatch)


@pytest.mark.parametrize(("kind", "attention"), [("bert", "sdpa"), ("mpnet", "eager")])
def test_expanded_masks_in_half_precision(
    kind: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_as_without(encoder(kind, attention), PADDED, monkeypatch, "bf16")


@pytest.mark.parametrize(
    ("kind", "attention"), [(kind, name) for kind in READY for name in attentions(kind)]
)
def test_nothing_waits_for_what_a_mask_holds(
    kind: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    masking = pytest.importorskip("transformers.masking_utils", reason="transformers is too old")
    plain = masking._ignore_bidirectional_mask_sdpa

    def watched(*given: Any, **settings: Any) -> Any:
        asked.append(given)
        return plain(*given, **settings)

    monkeypatch.setattr(masking, "_ignore_bidirectional_mask_sdpa", watched)
    model = encoder(kind, attention)
    inputs = {name: torch.from_numpy(table) for name, table in MASKED_ROWS.padded(PADDED).items()}
    model(**inputs)
    assert asked  # by the encoder alone
    asked.clear()
    PairNetwork(model, Head(), seed=1)(inputs)
    assert not asked


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        # Attention to neighbours alone in some layers, a mask that scales what is read, tokens that
        # look back only, and attention that makes other masks.
        ("modernbert", {"local_attention": 4}),
        ("esm", {"token_dropout": True, "mask_token_id": 1}),
        ("bert", {"is_decoder": True}),
        ("bert", {"attention": "flex_attention"}),
    ],
    ids=["modernbert", "esm", "decoder", "flex-attention"],
)
def test_other_encoders_get_the_padding_mask(kind: str, settings: dict[str, Any]) -> None:
    attention = settings.pop("attention", "eager")
    mask = torch.ones(2, 5, dtype=torch.int64)
    assert attention_mask(encoder(kind, attention, **settings), mask) is mask


def test_encoders_that_make_masks_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of older versions of transformers do, which refuse ready masks."""
    mask = torch.ones(2, 5, dtype=torch.int64)
    model = encoder("bert", "sdpa")
    assert attention_mask(model, mask).shape == (2, 1, 5, 5)
    monkeypatch.delattr("transformers.models.bert.modeling_bert.create_bidirectional_mask")
    assert attention_mask(model, mask) is mask
