"""AdamW by layers against the plain one, and schedules by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.pair.network import Head, PairNetwork  # noqa: E402
from adequa.learned.pair.train import (  # noqa: E402  # it needs PyTorch
    LearningRates,
    adamw,
)

SMALL = {"vocab_size": 20, "num_attention_heads": 2}


def encoder(kind: str) -> Any:
    """An encoder of three layers of 16 numbers."""
    names = {"hidden_size": 16, "num_hidden_layers": 3, "intermediate_size": 24}
    if kind == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=20, dim=16, n_layers=3, n_heads=2, hidden_dim=24
        )
        return transformers.DistilBertModel(config)
    made = {
        "bert": (transformers.BertConfig, transformers.BertModel),
        "mpnet": (transformers.MPNetConfig, transformers.MPNetModel),
        "roberta": (transformers.RobertaConfig, transformers.RobertaModel),
        "electra": (transformers.ElectraConfig, transformers.ElectraModel),
    }
    config_of, model_of = made[kind]
    return model_of(config_of(**SMALL, **names))


LAYER = {"distilbert": "encoder.transformer.layer.{}.", "others": "encoder.encoder.layer.{}."}


@pytest.mark.parametrize("kind", ["bert", "mpnet", "roberta", "electra", "distilbert"])
def test_each_layer_further_down_learns_slower(kind: str) -> None:
    network = PairNetwork(encoder(kind), Head(), seed=0)
    optimiser = adamw(network, LearningRates(1.0, layer_decay=0.5, head_rate=3.0), 0.01)
    factor_of = {id(p): g["lr"] for g in optimiser.param_groups for p in g["params"]}
    seen = set()
    for name, weight in network.named_parameters():
        layer = next(
            (n for n in range(3) if name.startswith(LAYER.get(kind, LAYER["others"]).format(n))),
            None,
        )
        if name.startswith("output."):
            expected = 3.0
        elif layer is not None:
            expected = 0.5 ** (3 - layer)
        elif "embeddings." in name:
            expected = 0.5**4
        else:
            continue  # poolers and the like, of which little depends
        seen.add(expected)
        assert factor_of[id(weight)] == expected, name
    assert seen == {3.0, 0.5, 0.25, 0.125, 0.0625}


def test_all_weights_learn_and_only_matrices_decay() -> None:
    network = PairNetwork(encoder("bert"), Head(hidden_layers=1, units=4), seed=0)
    optimiser = adamw(network, LearningRates(1e-3, layer_decay=0.9), 0.2)
    decays = {id(p): g["weight_decay"] for g in optimiser.param_groups for p in g["params"]}
    assert len(decays) == len(list(network.parameters()))
    for weight in network.parameters():
        assert decays[id(weight)] == (0.2 if weight.ndim > 1 else 0)


def test_rates_rise_and_fall() -> None:
    linear = LearningRates(1.0, warmup=0.2)
    assert [linear.factor(step, 10) for step in (0, 1)] == pytest.approx([1 / 3, 2 / 3])
    assert [linear.factor(step, 10) for step in (2, 6, 9)] == pytest.approx([1, 0.5, 1 / 8])
    cosine = LearningRates(1.0, warmup=0.2, schedule="cosine")
    assert [cosine.factor(step, 10) for step in (2, 6, 8)] == pytest.approx(
        [1, 0.5, 0.5 - 0.5 * 0.5**0.5]
    )
    constant = LearningRates(1.0, warmup=0.0, schedule="constant")
    assert {constant.factor(step, 10) for step in range(10)} == {1.0}
    assert LearningRates(1.0, warmup=1.0).factor(9, 10) == pytest.approx(10 / 11)
    assert LearningRates(1.0, warmup=0.0).factor(0, 1) == 1


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("steps", [1, 2, 7, 100])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5, 1.0])
def test_rates_stay_within_bounds(schedule: str, steps: int, warmup: float) -> None:
    rates = LearningRates(1.0, warmup=warmup, schedule=schedule)  # type: ignore[arg-type]
    factors = [rates.factor(step, steps) for step in range(steps)]
    assert all(0 < factor <= 1 for factor in factors)
    top = int(np.argmax(factors))
    assert factors[: top + 1] == sorted(factors[: top + 1])
    assert factors[top:] == sorted(factors[top:], reverse=True)


def walked(optimiser: Any, weights: list[Any], steps: range) -> None:
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        optimiser.step()


def linear() -> Any:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return torch.nn.Linear(3, 2, bias=False)


def test_plain_settings_are_plain_adamw() -> None:
    ours, theirs = linear(), linear()
    rates = LearningRates(0.1, warmup=0.0, schedule="constant")
    walked(adamw(ours, rates, 0.3), list(ours.parameters()), range(8))
    plain = torch.optim.AdamW(theirs.parameters(), lr=0.1, weight_decay=0.3)
    walked(plain, list(theirs.parameters()), range(8))
    assert torch.equal(ours.weight, theirs.weight)
