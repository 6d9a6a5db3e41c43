"""Gradients in parts against all at once, and scores that no batch changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adequa.errors import AdequaError
from tiny_transformer import praise, random_rows, tiny_network

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned import training  # noqa: E402  # it needs PyTorch
from adequa.learned.pair import devices, objectives  # noqa: E402
from adequa.learned.pair.devices import explained_memory_errors  # noqa: E402
from adequa.learned.pair.network import Head, PairInputs, PairNetwork, predict  # noqa: E402
from adequa.learned.pair.objectives import (  # noqa: E402
    Objective,
    RatingRegression,
    accumulate_gradients,
    micro_batches,
    preference_order,
)

ROWS = random_rows(14)
INPUTS = PairInputs(ROWS, most_tokens=10_000)
PARTS = replace(INPUTS, most_tokens=20)  # one or two texts at once
OBJECTIVES = {
    "ratings": RatingRegression(np.array([3, 0, 7, 13, 9]), np.array([0.5, -1, 2, 0, 1])),
    "preferences": preference_order(
        np.array([0, 0, 2, 5, 5, 9]), np.array([1, 3, 1, 6, 7, 10]), list("aaabbc")
    ),
}


def network(dropout: float = 0.0, surface: int = 0) -> PairNetwork:
    head = Head(hidden_layers=1, units=8, dropout=dropout, surface=surface)
    return PairNetwork(tiny_network(dropout=dropout), head, seed=1).train()


def found(trained: PairNetwork, inputs: PairInputs, objective: Objective) -> dict[str, np.ndarray]:
    """The loss, and the gradient of every weight that has one."""
    trained.zero_grad()
    task = objective.task(np.arange(len(objective)))
    with training.isolated_randomness(trained.device):
        loss = accumulate_gradients(trained, inputs, task.pairs, task.loss, (0, 1))
    named = trained.named_parameters()
    each = {name: p.grad.numpy().copy() for name, p in named if p.grad is not None}
    return {"loss": loss.numpy()} | each


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol=2e-4, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_parts_give_the_gradients_of_all_at_once(kind: str) -> None:
    objective, trained = OBJECTIVES[kind], network()
    assert len(micro_batches(trained, PARTS, objective.task(np.arange(len(objective))).pairs)) > 2
    assert_same(found(trained, PARTS, objective), found(trained, INPUTS, objective))


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_parts_of_similar_length_are_read_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, trained = OBJECTIVES[kind], network()
    at_once = found(trained, INPUTS, objective)
    monkeypatch.setattr(objectives, "_START_COST_ON_CPU", 0)  # as if a part cost nothing
    pairs = objective.task(np.arange(len(objective))).pairs
    parts = [pairs[part] for part in micro_batches(trained, INPUTS, pairs)]
    assert all(len({*ROWS.lengths[part].tolist()}) == 1 for part in parts)
    assert len(parts) > 2
    readings = 0
    plain = PairInputs.scores

    def counted(inputs: PairInputs, of: PairNetwork, pairs: np.ndarray) -> object:
        nonlocal readings
        readings += 1
        return plain(inputs, of, pairs)

    monkeypatch.setattr(PairInputs, "scores", counted)
    assert_same(found(trained, INPUTS, objective), at_once)
    assert readings == len(parts)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_gradients_are_those_of_a_plain_pass(kind: str) -> None:
    objective, trained = OBJECTIVES[kind], network()
    measured = found(trained, PARTS, objective)
    trained.zero_grad()
    task = objective.task(np.arange(len(objective)))
    singly = torch.cat([INPUTS.scores(trained, task.pairs[[at]]) for at in range(len(task.pairs))])
    loss = task.loss(singly)
    loss.backward()  # type: ignore[no-untyped-call]
    plain = {n: p.grad.numpy() for n, p in trained.named_parameters() if p.grad is not None}
    assert_same(measured, {"loss": loss.detach().numpy()} | plain)


def test_gradients_add_up() -> None:
    objective, trained = OBJECTIVES["ratings"], network()
    once = found(trained, INPUTS, objective)
    task = objective.task(np.arange(len(objective)))
    accumulate_gradients(trained, INPUTS, task.pairs, task.loss, (0, 1))
    for name, weight in trained.named_parameters():
        if weight.grad is not None:
            np.testing.assert_allclose(weight.grad.numpy(), 2 * once[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_both_readings_drop_out_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, trained = OBJECTIVES[kind], network(dropout=0.4)
    read: dict[tuple[int, ...], list[list[float]]] = {}
    plain = PairInputs.scores

    def watched(inputs: PairInputs, of: PairNetwork, pairs: np.ndarray) -> object:
        scores = plain(inputs, of, pairs)
        read.setdefault(tuple(pairs.tolist()), []).append(scores.tolist())
        return scores

    monkeypatch.setattr(PairInputs, "scores", watched)
    found(trained, PARTS, objective)
    assert len(read) > 2
    for first, second in read.values():
        assert first == second
    # And they do drop out: without dropout the scores are others.
    monkeypatch.undo()
    pairs = np.array(next(iter(read)))
    assert predict(trained, INPUTS, pairs).tolist() != next(iter(read.values()))[0]


def test_dropout_follows_the_seed_and_leaves_other_draws_alone() -> None:
    objective, trained = OBJECTIVES["ratings"], network(dropout=0.4)
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    first = found(trained, INPUTS, objective)
    assert torch.rand(3).tolist() == expected
    second = found(trained, INPUTS, objective)
    assert all((first[name] == second[name]).all() for name in first)
    task = objective.task(np.arange(len(objective)))
    with training.isolated_randomness(trained.device):
        other = accumulate_gradients(trained, INPUTS, task.pairs, task.loss, (0, 2))
    assert other.item() != first["loss"].item()


def test_predictions_depend_on_no_batch() -> None:
    trained = network(dropout=0.4)
    pairs = np.array([4, 4, 0, 13, 8])
    together = predict(trained, INPUTS, pairs)
    assert trained.training  # as it was
    assert together[0] == together[1]
    assert predict(trained, PARTS, pairs) == pytest.approx(together, abs=1e-6)
    alone = [predict(trained, INPUTS, pairs[[at]])[0] for at in range(len(pairs))]
    assert alone == pytest.approx(together, abs=1e-6)
    assert not len(predict(trained, INPUTS, np.empty(0, np.intp)))


def test_surface_features_go_straight_to_the_output() -> None:
    trained = network(surface=2).eval()
    surface = np.random.default_rng(0).normal(size=(14, 2)).astype(np.float32)
    pairs = np.array([1, 5, 2])
    weights = np.array([1.5, -0.5], np.float32)
    with torch.no_grad():
        trained.get_parameter("skip").copy_(torch.from_numpy(weights))
    without = predict(trained, replace(INPUTS, surface=np.zeros_like(surface)), pairs)
    with_them = predict(trained, replace(INPUTS, surface=surface), pairs)
    assert with_them - without == pytest.approx(surface[pairs] @ weights, abs=1e-6)


def test_bf16_is_near() -> None:
    trained, pairs = network(), np.arange(14)
    exact = predict(trained, INPUTS, pairs)
    rough = predict(trained, replace(INPUTS, precision="bf16"), pairs)
    assert rough.tolist() != exact.tolist()
    assert rough == pytest.approx(exact, abs=0.05)


def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    trained = network()
    monkeypatch.setattr(trained, "forward", full)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (0, 8 << 30))
    with pytest.raises(AdequaError) as caught:
        found(trained, INPUTS, OBJECTIVES["ratings"])
    tokens = 5 * int(ROWS.lengths[[3, 0, 7, 13, 9]].max())
    assert f"{tokens} tokens at once do not fit into the 8 GiB" in str(caught.value)
    assert f"most_tokens to {tokens // 2}" in str(caught.value)


def test_too_little_memory_counts_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, objective = network(), OBJECTIVES["ratings"]
    monkeypatch.setattr(objectives, "_START_COST_ON_CPU", 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (0, 8 << 30))
    plain, left = trained.forward, 2

    def full(*of: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return plain(*of)  # type: ignore[arg-type]

    monkeypatch.setattr(trained, "forward", full)
    with pytest.raises(AdequaError, match=f"^{ROWS.lengths[[3, 0, 7, 13, 9]].sum()} tokens"):
        found(trained, INPUTS, objective)


def test_too_little_memory_for_the_weights_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (0, 8 << 30))
    with (
        pytest.raises(AdequaError, match="what training keeps of them, do not fit into the 8 GiB"),
        explained_memory_errors(torch.device("cuda")),
    ):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")


def test_praise_is_what_it_says() -> None:
    """The target of other tests: good less bad words, a token."""
    for at, value in enumerate(praise(ROWS)):
        text = ROWS.ids[ROWS.starts[at] : ROWS.starts[at + 1]].tolist()
        assert value == pytest.approx((text.count(14) - text.count(15)) / len(text))


def test_dropout_inside_the_encoder() -> None:
    trained = network(dropout=0.5)
    trained.set_encoder_dropout(0.0)
    drawn = [found(trained, INPUTS, OBJECTIVES["ratings"])["loss"] for _ in range(2)]
    assert trained.dropout.p == 0.5  # the head's is its own
    inside = [m.p for m in trained.encoder.modules() if isinstance(m, torch.nn.Dropout)]
    assert inside
    assert not any(inside)
    assert drawn[0] == drawn[1]


def test_attention_for_many_shapes_leaves_settings_as_they_were() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with devices.without_cudnn_attention():
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_the_weights_that_a_token_meets() -> None:
    trained = network()
    tables = {"embeddings.word_embeddings", "embeddings.position_embeddings"}
    tables |= {"embeddings.token_type_embeddings"}
    counted = sum(
        weight.numel()
        for name, weight in trained.encoder.named_parameters()
        if name.removesuffix(".weight") not in tables
    )
    assert trained.inner_weights == counted > 0
