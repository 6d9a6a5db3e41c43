"""Ready masks against the masks that encoders make themselves, architecture by architecture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiny_transformer import random_rows

torch = pytest.importorskip("torch", reason="training needs PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.pair import network as pair_network  # noqa: E402  # it needs PyTorch
from adequa.learned.pair.network import (  # noqa: E402
    Head,
    PairInputs,
    PairNetwork,
    attention_mask,
)

# In older versions of transformers no encoder takes ready masks.
masking = pytest.importorskip("transformers.masking_utils", reason="transformers is too old")

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
ROWS = random_rows(8)
SAME_LENGTH = np.flatnonzero(ROWS.lengths == np.bincount(ROWS.lengths).argmax())
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
    scores = PairInputs(ROWS, precision=precision).scores(network, pairs)
    (scores * torch.arange(1, len(pairs) + 1)).sum().backward()
    named = network.named_parameters()
    each = {name: p.grad.numpy().copy() for name, p in named if p.grad is not None}
    return {"scores": scores.detach().numpy()} | each


def assert_as_without(
    made: Any, pairs: np.ndarray, monkeypatch: pytest.MonkeyPatch, precision: str = "fp32"
) -> None:
    """Scores and gradients are those of the mask that the encoder makes."""
    network = PairNetwork(made, Head(dropout=0.0), seed=1)
    ours = found(network, pairs, precision)
    with monkeypatch.context() as patched:
        patched.setattr(pair_network, "attention_mask", lambda _, there: there)
        plain = found(network, pairs, precision)
    assert len(set(plain["scores"].tolist())) > 1
    assert ours.keys() == plain.keys()
    for name, values in plain.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("pairs", [PADDED, SAME_LENGTH], ids=["padded", "same-length"])
@pytest.mark.parametrize(
    ("kind", "attention"), [(kind, name) for kind in READY for name in attentions(kind)]
)
def test_ready_masks_change_nothing(
    kind: str, attention: str, pairs: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_as_without(encoder(kind, attention), pairs, monkeypatch)


@pytest.mark.parametrize(("kind", "attention"), [("bert", "sdpa"), ("mpnet", "eager")])
def test_ready_masks_in_half_precision(
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
    plain = masking._ignore_bidirectional_mask_sdpa

    def watched(*given: Any, **settings: Any) -> Any:
        asked.append(given)
        return plain(*given, **settings)

    monkeypatch.setattr(masking, "_ignore_bidirectional_mask_sdpa", watched)
    made = encoder(kind, attention)
    inputs = {name: torch.from_numpy(table) for name, table in ROWS.padded(PADDED).items()}
    made(**inputs)
    assert asked  # by the encoder alone
    asked.clear()
    PairNetwork(made, Head(), seed=1)(inputs)
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
def test_other_encoders_are_given_what_there_is(kind: str, settings: dict[str, Any]) -> None:
    attention = settings.pop("attention", "eager")
    there = torch.ones(2, 5, dtype=torch.int64)
    assert attention_mask(encoder(kind, attention, **settings), there) is there


def test_encoders_that_make_masks_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of older versions of transformers do, which refuse ready masks."""
    there = torch.ones(2, 5, dtype=torch.int64)
    made = encoder("bert", "sdpa")
    assert attention_mask(made, there).shape == (2, 1, 5, 5)
    monkeypatch.delattr("transformers.models.bert.modeling_bert.create_bidirectional_mask")
    assert attention_mask(made, there) is there
