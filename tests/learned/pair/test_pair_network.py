"""The network of the pair regressor against plain sums, its scale, and what watches it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.statistics.correlation import pearson
from tiny_transformer import random_rows, tiny_network

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.pair import devices  # noqa: E402  # it needs PyTorch
from adequa.learned.pair.development import Development, criterion  # noqa: E402
from adequa.learned.pair.devices import check_training_memory  # noqa: E402
from adequa.learned.pair.network import Head, PairInputs, PairNetwork, predict  # noqa: E402  # noqa: E402

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
    made = network(**head)
    weights, bias = made.output.weight.detach().double().numpy()[0], made.output.bias.item()
    expected = [vector(states(made, text)) @ weights + bias for text in range(12)]
    assert predict(made, INPUTS, EVERY) == pytest.approx(expected, abs=1e-5)


def test_hidden_layers_by_hand() -> None:
    made = network(hidden_layers=2, units=6)
    weights = [array for name, array in made.head_arrays().items() if "hidden" in name]
    assert [array.shape for array in weights[::2]] == [(6, 16), (6, 6)]
    value = states(made, 0)[2].mean(axis=0)
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        value = np.tanh(matrix @ value + bias)
    expected = made.output.weight.detach().double().numpy()[0] @ value
    assert predict(made, INPUTS, EVERY[:1]) == pytest.approx([expected], abs=1e-5)


def test_first_weights_follow_the_seed_alone() -> None:
    torch.manual_seed(0)
    one = network().head_arrays()
    before = torch.get_rng_state()
    other = network().head_arrays()
    assert torch.equal(torch.get_rng_state(), before)
    assert all((one[name] == other[name]).all() for name in one)
    assert one.keys() == {"output.weight", "output.bias", "shift", "scale"}


def test_heads_are_taken_over_or_refused() -> None:
    made, other = network(surface=2), PairNetwork(tiny_network(), Head(surface=2), seed=8).eval()
    other.load_head(made.head_arrays())
    assert (other.output.weight == made.output.weight).all()
    for wrong in (network(), network(surface=3), network(surface=2, hidden_layers=1)):
        with pytest.raises(ValueError, match="a head of"):
            made.load_head(wrong.head_arrays())


@pytest.mark.parametrize(
    "head", [{"dropout": 1.0}, {"hidden_layers": -1}, {"units": 0}, {"pooling": "sum"},
             {"layers": "3"}],
    ids=lambda head: next(iter(head)),
)  # fmt: skip
def test_heads_that_make_no_sense(head: dict[str, Any]) -> None:
    with pytest.raises(AdequaError):
        network(**head)


def test_calibration_is_least_squares() -> None:
    made = network()
    scores = predict(made, INPUTS, EVERY)
    targets = 3 * scores + 2 + np.random.default_rng(0).normal(size=12) * scores.std()
    made.calibrate(scores, targets)
    slope, intercept = np.polyfit(scores, targets, 1)
    assert slope > 0
    assert predict(made, INPUTS, EVERY) == pytest.approx(slope * scores + intercept, abs=1e-4)


def test_scores_against_the_targets_are_not_turned_round() -> None:
    made = network()
    scores = predict(made, INPUTS, EVERY)
    made.calibrate(scores, -scores)
    assert predict(made, INPUTS, EVERY) == pytest.approx(scores)


def test_surface_features_are_standardised_and_begin_at_nothing() -> None:
    made = network(surface=2)
    surface = np.random.default_rng(0).normal(3, 2, size=(12, 2)).astype(np.float32)
    surface[:, 1] = 5  # a constant says nothing, and divides by nothing
    inputs = PairInputs(ROWS, surface)
    made.fit_surface_scale(surface)
    before = predict(made, inputs, EVERY)
    assert before == pytest.approx(predict(made, INPUTS, EVERY))
    with torch.no_grad():
        made.get_parameter("skip").copy_(torch.tensor([2.0, -1.0]))
    added = 2 * (surface[:, 0] - surface[:, 0].mean()) / surface[:, 0].std()
    assert predict(made, inputs, EVERY) - before == pytest.approx(added, abs=1e-5)


def test_constant_scores_can_be_calibrated() -> None:
    made = network()
    made.calibrate(np.zeros(12), np.arange(12.0))
    assert np.isfinite(predict(made, INPUTS, EVERY)).all()


def development(**columns: list[float]) -> Development:
    none: list[float] = []
    whole = ("rated", "rating_groups", "better", "worse")
    found = {name: np.array(columns.get(name, none), np.intp) for name in whole}
    return Development(ratings=np.array(columns.get("ratings", none)), **found)


def test_development_figures_by_hand() -> None:
    given = np.array([0.0, 1.0, 2.0, 5.0, 3.0, 3.0])
    asked: list[list[int]] = []

    def scores_of(pairs: np.ndarray) -> np.ndarray:
        asked.append(pairs.tolist())
        return np.asarray(given[pairs])

    held_out = development(
        rated=[5, 0, 1, 2, 3], ratings=[9, 1, 2, 2, 7], rating_groups=[2, 0, 0, 1, 1],
        better=[3, 4, 0], worse=[2, 5, 1],
    )  # fmt: skip
    figures = held_out.figures(scores_of)
    # Two language pairs of two ratings each, and one of a single rating, which has none.
    assert figures["pearson"] == pytest.approx((1 + 1) / 2)
    assert figures["accuracy"] == 1 / 3  # a tie is not ordered rightly
    assert asked == [[0, 1, 2, 3, 4, 5]]  # each text is scored once


def test_development_means_over_language_pairs() -> None:
    random = np.random.default_rng(0)
    scores, ratings = random.normal(size=20), random.normal(size=20)
    groups = [0] * 6 + [1] * 14
    held_out = development(
        rated=list(range(20)), ratings=ratings.tolist(), rating_groups=[float(g) for g in groups]
    )
    each = [float(pearson(ratings[part], scores[part])) for part in (slice(6), slice(6, 20))]
    expected = np.average(each, weights=[6, 14])
    assert held_out.figures(lambda pairs: scores[pairs]) == {"pearson": pytest.approx(expected)}


def test_undefined_correlations_count_as_none() -> None:
    held_out = development(rated=[0, 1], ratings=[1, 2], rating_groups=[0, 0])
    assert held_out.figures(lambda pairs: np.zeros(len(pairs))) == {"pearson": 0.0}
    assert development().figures(lambda _: np.empty(0)) == {}


def test_the_figure_that_chooses() -> None:
    both = {"pearson": 0.5, "accuracy": 0.7}
    assert criterion(both, ("preferences",)) == 0.7
    assert criterion(both, ("ratings",)) == 0.5
    assert criterion(both, ("preferences", "ratings")) == 0.5
    assert criterion({"accuracy": 0.7}, ("ratings",)) == 0.7
    assert criterion({}, ("ratings",)) == 0


def test_what_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = torch.nn.Linear(3000, 1000, bias=False)  # 3 * 10**6 weights, of 4 * (4 + 3) bytes each
    monkeypatch.setattr(devices, "_total_memory", lambda _: 84 * 10**6)
    check_training_memory(layer, torch.device("cpu"))
    monkeypatch.setattr(devices, "_total_memory", lambda _: 56 * 10**6)
    with pytest.raises(AdequaError) as caught:
        check_training_memory(layer, torch.device("cpu"))
    assert str(caught.value) == (
        "Training 3 million weights takes 0.1 GiB and more, and cpu has 0.1 GiB; an encoder of up "
        "to 2 million weights would fit."
    )


def test_the_memory_of_this_machine_is_known() -> None:
    assert devices._total_memory(torch.device("cpu")) > 1 << 20


def test_a_few_ratings_do_not_outweigh_many() -> None:
    """Of two ratings the correlation is 1 or -1, whatever a network has learnt."""
    random = np.random.default_rng(0)
    human = random.normal(size=206)
    groups = [0] * 200 + [1, 1, 2, 2, 3, 3]
    held_out = development(
        rated=list(range(206)), ratings=human.tolist(), rating_groups=[float(g) for g in groups]
    )
    good = np.concatenate([human[:200], -human[200:]])
    lucky = np.concatenate([random.normal(size=200), human[200:]])
    assert held_out.figures(lambda _: good)["pearson"] > 0.9
    assert held_out.figures(lambda _: lucky)["pearson"] < 0.3
