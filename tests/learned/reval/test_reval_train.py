"""Training of the Tree-LSTM: a step by hand over the gradients of recursion; the best epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.reval.forest import build_forest
from adequa.progress import Progress

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.reval.network import (  # noqa: E402  # it needs PyTorch
    TreeNetwork,
    TreeShape,
    kl_divergence,
    target_distributions,
)
from adequa.learned.reval.train import (  # noqa: E402
    MODERN,
    PAPER,
    TreeData,
    TreePairs,
    TreeSettings,
    predict,
    train_trees,
)
from recursive_tree_lstm import RecursiveTreeLSTM  # noqa: E402

SHAPE = TreeShape(dimension=4, memory=5, hidden=3)
FOREST = build_forest([0, 1, 2, 3, 1, 2, 0, 3], [1, -1, 1, -1, 1, -1, 1, -1], [0, 3, 4, 4, 7, 8])
# Tree 1 twice, as both sides, and against nothing at all.
PAIRS = TreePairs(np.array([0, 1, 1]), np.array([3, 1, 2]), np.array([2.7, 5.0, 1.0]))


def table() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(4, 4)).astype(np.float32)


def data(pairs: TreePairs = PAIRS) -> TreeData:
    return TreeData(FOREST, table(), pairs, pairs)


def trained(settings: TreeSettings, criterion: Any = lambda _: 0.0, **more: Any) -> Any:
    return train_trees(data(), SHAPE, settings, criterion, seed=5, **more)


def test_one_step_of_adagrad_by_hand() -> None:
    """θ − rate g / |g| with g of KL + λ/2 ‖θ‖², whose gradients come from the recursion."""
    result = trained(replace(PAPER, epochs=1, penalty=0.3)).network
    network = TreeNetwork(SHAPE, seed=5)
    recursion = RecursiveTreeLSTM(network)
    vectors = torch.from_numpy(table())
    h = recursion.compose(FOREST, vectors)
    log_p = network.compare(h[PAIRS.references], h[PAIRS.translations])
    loss = kl_divergence(torch.from_numpy(target_distributions(PAIRS.similarity)), log_p)
    for name, weight in network.named_parameters():
        (gradient,) = torch.autograd.grad(loss, weight, retain_graph=True, allow_unused=True,
                                          materialize_grads=True)  # fmt: skip
        gradient = gradient + 0.3 * weight
        expected = weight - 0.05 * gradient / (gradient.abs() + 1e-10)
        clear = gradient.abs() > 1e-4  # elsewhere rounding decides the sign
        after = dict(result.named_parameters())[name]
        assert after[clear].detach().numpy() == pytest.approx(
            expected[clear].detach().numpy(), abs=2e-5
        )


def test_the_epoch_with_the_best_figure_stays() -> None:
    figures = iter([0.3, 0.7, 0.5, 0.7])
    seen: list[np.ndarray] = []

    def criterion(predictions: np.ndarray) -> float:
        seen.append(predictions)
        return next(figures)

    result = trained(replace(PAPER, epochs=4), criterion)
    assert (result.epoch, result.criterion) == (2, 0.7)
    assert [epoch["criterion"] for epoch in result.history] == [0.3, 0.7, 0.5, 0.7]
    assert (result.predictions == seen[1]).all()
    again = predict(result.network, torch.from_numpy(table()), FOREST, PAIRS)
    assert again == pytest.approx(seen[1], abs=1e-6)


@pytest.mark.parametrize("settings", [PAPER, MODERN], ids=["paper", "modern"])
def test_it_learns_three_pairs_by_heart(settings: TreeSettings) -> None:
    result = trained(replace(settings, epochs=120, learning_rate=0.1))
    assert result.history[-1]["loss"] < 0.1 * result.history[0]["loss"]


def test_tuned_vectors_are_returned_and_others_are_not_touched() -> None:
    initial = table()
    fixed = train_trees(data(), SHAPE, replace(PAPER, epochs=2), lambda _: 0.0)
    assert fixed.table is None
    tuned = train_trees(data(), SHAPE, replace(PAPER, epochs=2), lambda _: 0.0, tuned=True)
    assert tuned.table is not None
    assert (tuned.table != initial).any(axis=1).all()  # each word is in some pair
    assert (table() == initial).all()


def test_the_rate_rises_and_falls() -> None:
    rates: list[float] = []
    settings = replace(MODERN, epochs=10, batch=3, warm_up=0.2)

    class RecordingAdamW(torch.optim.AdamW):  # type: ignore[misc,name-defined]
        def step(self, *arguments: Any, **named: Any) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(*arguments, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("torch.optim.AdamW", RecordingAdamW)
        trained(settings)
    assert rates == pytest.approx([settings.learning_rate * fraction for fraction in
                                   (0.5, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)])  # fmt: skip


def test_gradients_of_tuned_vectors_are_clipped_with_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    norms: list[float] = []

    class RecordingAdamW(torch.optim.AdamW):  # type: ignore[misc,name-defined]
        def step(self, *arguments: Any, **named: Any) -> Any:
            squares = [
                float(weight.grad.square().sum())
                for group in self.param_groups
                for weight in group["params"]
                if weight.grad is not None
            ]
            norms.append(sum(squares) ** 0.5)
            return super().step(*arguments, **named)

    monkeypatch.setattr("torch.optim.AdamW", RecordingAdamW)
    trained(replace(MODERN, epochs=1, largest_gradient=1e-3), tuned=True)
    assert norms == pytest.approx([1e-3], rel=1e-2)


def test_a_loss_that_is_not_finite_ends_the_training() -> None:
    with pytest.raises(AdequaError, match="The loss of the Tree-LSTM was no number any more"):
        trained(replace(PAPER, epochs=3, learning_rate=1e38, penalty=1.0))


def test_progress_and_figures_are_reported() -> None:
    progress: list[tuple[int, int]] = []
    lines: list[str] = []
    training = Progress(step=lambda *steps: progress.append(steps), status=lines.append)
    result = trained(replace(PAPER, epochs=2, batch=2), lambda _: 0.25, progress=training)
    assert progress[-1] == (4, 4)
    assert lines == [
        f"epoch {epoch}, loss {result.history[epoch - 1]['loss']:.4f}, agreement 0.250"
        for epoch in (1, 2)
    ]
