"""The training loop on a tiny transformer: it learns, chooses, averages, and is the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError

torch = pytest.importorskip("torch", reason="training needs PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # noqa: E402
from adequa.learned import training  # noqa: E402
from adequa.learned.checkpoints import Checkpoints, Snapshot  # noqa: E402
from adequa.learned.pair.devices import Processes  # noqa: E402
from adequa.learned.pair.network import Head, PairInputs, PairNetwork, predict  # noqa: E402
from adequa.learned.pair.train import (  # noqa: E402
    LearningRates,
    PairStage,
    PairTrial,
    Run,
    StageObjective,
    _calibrate,
    adamw,
    shuffled_steps,
    step_count,
    train,
)
from adequa.learned.training import Keep, TrainingProgress, isolated_randomness  # noqa: E402
from tiny_training import network, preferences, ratings, same, trained, trial  # noqa: E402


@pytest.fixture(autouse=True)
def _every_step_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)


def figures(stage: PairStage) -> list[dict[str, float]]:
    return trained([stage], start=network(dropout=0.0), most_tokens=10_000)[1].history


def test_ratings_are_learnt() -> None:
    history = figures(PairStage("ratings", (trial(epochs=8),)))
    assert len(history) == 8
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]
    assert history[-1]["pearson"] > 0.9


def test_preferences_are_learnt() -> None:
    stage = PairStage("preferences", (trial(StageObjective(preferences(), 2), epochs=8),))
    history = figures(stage)
    assert history[-1]["loss"] < 0.7 * np.log(2)  # what knowing nothing loses
    assert history[-1]["accuracy"] > 0.85


def test_two_objectives_are_learnt_side_by_side() -> None:
    parts = StageObjective(preferences(), 2), StageObjective(ratings(), 8)
    history = figures(PairStage("both", (trial(*parts, epochs=8),)))
    assert history[-1]["accuracy"] > 0.85
    assert history[-1]["pearson"] > 0.9


def test_the_weight_of_an_objective_is_that_of_its_loss() -> None:
    """With twice the weight, the loss of the first step is twice as high."""
    losses = []
    for weight in (1.0, 2.0):
        seen: list[TrainingProgress] = []
        parts = StageObjective(ratings(), 8, weight), StageObjective(preferences(), 2, weight)
        trained([PairStage("both", (trial(*parts, epochs=0.2),))], report=seen.append)
        losses.append(seen[0].loss)
    assert losses[1] == pytest.approx(2 * losses[0])


def test_the_loss_is_the_mean_over_what_was_drawn() -> None:
    """One step over all items: the loss by hand."""
    stage = PairStage("ratings", (trial(StageObjective(ratings(), 1000), epochs=1),))
    seen: list[TrainingProgress] = []
    trained([stage], report=seen.append, start=network(dropout=0.0))
    before = predict(network(), PairInputs(tiny.ROWS), np.arange(tiny.LEARNT))
    expected = np.mean((before - tiny.QUALITY[: tiny.LEARNT]) ** 2)
    assert [each.loss for each in seen] == pytest.approx([expected], rel=1e-5)
    assert (seen[0].step, seen[0].steps) == (1, 1)


def test_the_better_trial_stays() -> None:
    trials = trial(epochs=0.2, rate=1e-7), trial(epochs=6), trial(epochs=0.2, rate=1e-7)
    chosen, outcome = trained([PairStage("ratings", trials)], most_tokens=10_000)
    assert outcome.chosen == [1]
    best = max(outcome.history, key=lambda each: each["pearson"])
    assert (best["trial"], outcome.best.figures["pearson"]) == (2, best["pearson"])
    # Each trial begins where the stage did; the weights are those of the one alone, but for draws.
    found = predict(chosen, PairInputs(tiny.ROWS), np.arange(tiny.LEARNT, tiny.ALL))
    assert np.corrcoef(found, tiny.QUALITY[tiny.LEARNT :])[0, 1] == pytest.approx(best["pearson"])


def test_trials_begin_alike_and_the_next_stage_with_the_best() -> None:
    trials = trial(epochs=6), trial(epochs=0.2, rate=1e-7)
    outcome = trained([PairStage("a", trials), PairStage("b", (trial(epochs=0.2, rate=1e-9),))])[1]
    of_stage = {
        (each["stage"], each["trial"]): each["pearson"] for each in outcome.history
    }  # the latest of each
    best = max(each["pearson"] for each in outcome.history if each["stage"] == "a")
    validation = np.arange(tiny.LEARNT, tiny.ALL)
    fresh = predict(network(), PairInputs(tiny.ROWS), validation)
    untrained = np.corrcoef(fresh, tiny.QUALITY[validation])[0, 1]
    assert of_stage["a", 2] == pytest.approx(untrained, abs=1e-3)
    assert of_stage["b", 1] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_what_is_kept(keep: Keep) -> None:
    """A rate so high at the end that the weights get worse again."""
    stage = PairStage(
        "ratings", (trial(epochs=6, rate=0.3, warmup=1.0),), keep=keep, evaluations=12
    )
    outcome = trained([stage], most_tokens=10_000)[1]
    course = [each["pearson"] for each in outcome.history]
    assert course[-1] < max(course)
    assert outcome.best.figures["pearson"] == (max(course) if keep == "best" else course[-1])


def test_without_development_data_the_latest_stays() -> None:
    nothing = tiny.nothing_held_out()
    best, outcome = trained([PairStage("r", (trial(epochs=3),), keep="best")], development=nothing)
    last, _ = trained([PairStage("r", (trial(epochs=3),), keep="last")])
    assert same(best, last)
    assert outcome.best.figures == {}


def test_averages_are_means_of_the_last_weights() -> None:
    seen: list[dict[str, np.ndarray]] = []
    watched = network()
    stage = PairStage("ratings", (trial(epochs=2, average=0.25),), keep="last")
    found, _ = trained([stage], start=watched, report=lambda _: seen.append(tiny.weights(watched)))
    assert len(seen) == 12
    for name, weight in found.named_parameters():
        mean = np.mean([each[name] for each in seen[-3:]], axis=0)
        np.testing.assert_allclose(weight.detach().numpy(), mean, rtol=1e-5, atol=1e-7)


def test_averages_do_not_disturb_the_training() -> None:
    courses = []
    for average in (0.0, 0.9):
        watched = network()
        seen: list[np.ndarray] = []
        stage = PairStage("ratings", (trial(epochs=2, average=average),), evaluations=6)
        trained(
            [stage],
            start=watched,
            report=lambda _, seen=seen, watched=watched: seen.append(  # type: ignore[misc]
                watched.output.weight.detach().numpy().copy()
            ),
        )
        courses.append(np.array(seen))
    assert (courses[0] == courses[1]).all()


def test_same_seed_same_weights_other_seed_others() -> None:
    one, outcome = trained(tiny.hard_stages(), seed=3)
    again, told = trained(tiny.hard_stages(), seed=3)
    other, _ = trained(tiny.hard_stages(), seed=4)
    assert same(one, again)
    assert not same(one, other)
    assert outcome.chosen == told.chosen
    assert outcome.history == told.history


def test_the_history_does_not_depend_on_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    often = trained(tiny.hard_stages())[1].history
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 1e9)
    assert trained(tiny.hard_stages())[1].history == often


def test_other_random_numbers_are_left_alone() -> None:
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  # the global state is what is tested
    expected = torch.rand(4).tolist(), np.random.random(4).tolist()  # noqa: NPY002
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    trained(tiny.hard_stages())
    assert (torch.rand(4).tolist(), np.random.random(4).tolist()) == expected  # noqa: NPY002


def test_the_memory_at_hand_changes_next_to_nothing() -> None:
    stages = [
        PairStage(
            "both",
            (trial(StageObjective(preferences(), 3), StageObjective(ratings(), 8), epochs=1),),
        )
    ]
    one, _ = trained(stages, start=network(dropout=0.0), most_tokens=10_000)
    other, _ = trained(stages, start=network(dropout=0.0), most_tokens=20)
    for name, values in tiny.weights(one).items():
        np.testing.assert_allclose(values, tiny.weights(other)[name], atol=2e-4)


def test_every_step_is_reported() -> None:
    seen: list[TrainingProgress] = []
    trained([PairStage("ratings", (trial(epochs=1), trial(epochs=0.5)))], report=seen.append)
    assert [(each.stage, each.step, each.steps) for each in seen] == [
        *(("ratings, 1 of 2", step, 6) for step in range(1, 7)),
        *(("ratings, 2 of 2", step, 3) for step in range(1, 4)),
    ]
    assert set(seen[-1].figures) == {"pearson", "accuracy"}


def test_a_loss_that_is_no_number_is_a_sentence() -> None:
    spoilt = network()
    with torch.no_grad():
        spoilt.output.bias.fill_(float("inf"))
    with pytest.raises(AdequaError) as caught:
        trained([PairStage("ratings (1 of 1)", (trial(),))], start=spoilt)
    assert "ratings (1 of 1)" in str(caught.value)
    assert "learning rate" in str(caught.value)


def test_a_loss_that_is_no_number_ends_before_a_checkpoint(tmp_path: Path) -> None:
    stage = PairStage("ratings", (trial(epochs=8, rate=1e30),), evaluations=1)
    kept = Checkpoints(tmp_path, "plan")
    with pytest.raises(AdequaError, match="was no number any more by step 32;"):
        trained([stage], kept)
    found = kept.latest()
    assert found is None or all(
        torch.isfinite(weight).all() for weight in found.tensors["network"].values()
    )


def test_weights_that_are_no_numbers_are_not_kept() -> None:
    """The loss of the last step is that of the weights before it."""
    stage = PairStage("ratings", (trial(StageObjective(ratings(), 1000), epochs=1, rate=1e25),))
    with pytest.raises(AdequaError, match="was no number any more by step 1;"):
        trained([stage])


HARMLESS = trial(epochs=0.2, rate=1e-9)
GIVEN_UP = "(batch 8, learning rate 1e+30, epochs 3) is given up: its loss was no number any more."


@pytest.mark.parametrize("place", range(3))
def test_a_trial_that_diverges_is_given_up(place: int) -> None:
    """All is as if it had been one that learns nothing, but for its place in the history."""
    good = [trial(epochs=3), trial(epochs=0.2, rate=1e-3)]

    def stages(other: PairTrial) -> list[PairStage]:
        trials = (*good[:place], other, *good[place:])
        return [PairStage("a", trials), PairStage("b", (trial(average=0.5),))]

    notes: list[str] = []
    found, outcome = trained(stages(trial(epochs=3, rate=1e30)), note=notes.append)
    expected, other = trained(stages(HARMLESS))
    assert same(found, expected)
    assert (outcome.chosen, outcome.best.figures) == (other.chosen, other.best.figures)
    assert outcome.history == [
        each for each in other.history if (each["stage"], each["trial"]) != ("a", place + 1)
    ]
    assert outcome.diverged == [(0, place)]
    assert other.diverged == []
    assert notes == [f"a, {place + 1} of 3 {GIVEN_UP}"]


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_what_was_best_before_it_diverged_does_not_count(
    monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    def stages(better: PairTrial) -> list[PairStage]:
        worse = trial(epochs=0.5, rate=1e-3)
        return [PairStage("a", (better, worse) if first else (worse, better))]

    spoilt = stages(trial(epochs=6))
    alone = trained(spoilt)[1]
    assert alone.chosen == [0 if first else 1]
    expected = trained(stages(HARMLESS))[0]
    tiny.spoil(monkeypatch, alone.chosen[0], 33)
    found, outcome = trained(spoilt)
    assert same(found, expected)
    assert outcome.chosen == [1 if first else 0]
    assert outcome.diverged == [(0, alone.chosen[0])]
    assert {each["trial"] for each in outcome.history} == {outcome.chosen[0] + 1}
    assert outcome.best.figures["pearson"] == outcome.history[-1]["pearson"]


def test_where_all_trials_diverge_it_is_a_sentence() -> None:
    trials = trial(rate=1e30), trial(rate=1e29)
    notes: list[str] = []
    with pytest.raises(AdequaError, match="^The loss of a, 2 of 2 was no number any more by step"):
        trained([PairStage("a", trials)], note=notes.append)
    assert [note.split(" (")[0] for note in notes] == ["a, 1 of 2"]


def test_when_a_trial_is_given_up_does_not_depend_on_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of several processes has a clock of its own, and all have to do the same."""
    tiny.spoil(monkeypatch, 0, 7)
    steps = []
    for between in (0.0, 1e9):
        monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", between)
        taken: list[object] = []
        with monkeypatch.context() as patch:
            step = torch.optim.AdamW.step
            patch.setattr(
                torch.optim.AdamW,
                "step",
                lambda self, taken=taken, step=step: (taken.append(self), step(self)),
            )
            trained([PairStage("a", (trial(epochs=8), trial()), evaluations=1)])
        steps.append(len(taken))
    assert steps == [32 + 6] * 2


def test_checkpoints_come_by_the_clock_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials that are each shorter than the time between two, and the end of what was long."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(training, "monotonic", lambda: next(seconds))
    written: list[int] = []
    write = Checkpoints.write

    def watched(kept: Checkpoints, snapshot: Snapshot) -> None:
        written.append(snapshot.facts["run"])
        write(kept, snapshot)

    monkeypatch.setattr(Checkpoints, "write", watched)
    run = Run(
        inputs=PairInputs(tiny.ROWS),
        development=tiny.validation(),
        seed=0,
        processes=Processes(torch.device("cpu")),
        checkpoints=Checkpoints(tmp_path, "plan"),
        seconds_between_checkpoints=40.0,
    )
    train(network(), [PairStage("ratings", (trial(epochs=1),) * 4)], run)
    assert written[-1] == 3
    assert len(set(written)) > 1


INPUTS = PairInputs(tiny.ROWS)


def calibrated(dropout: float) -> tuple[PairNetwork, float]:
    """A network that knows nothing, after that, and its squared error while it is trained."""
    network = tiny.network(dropout=dropout)
    pairs = np.arange(tiny.LEARNT)
    targets = tiny.QUALITY[pairs]
    targets = (targets - targets.mean()) / targets.std()
    with isolated_randomness(network.device):
        _calibrate(network, INPUTS, pairs=pairs, targets=targets, scale=(3.0, 2.0), new_head=False)
        scores = predict(network, INPUTS, pairs, dropout=True)
    return network, float(np.mean((scores - targets) ** 2))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_error_is_no_larger_than_that_of_the_mean(dropout: float) -> None:
    network, error = calibrated(dropout)
    assert error < 1.01  # scores against the ratings would stay as they are, which are small here
    assert (float(network.shift), float(network.scale)) == (3.0, 2.0)


LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=300)


@given(lengths=LENGTHS, batch=st.integers(1, 20), seed=st.integers(0, 9))
def test_every_item_is_in_one_step(lengths: list[int], batch: int, seed: int) -> None:
    steps = shuffled_steps(np.array(lengths), batch, 50, (seed,))
    assert sorted(np.concatenate(steps).tolist()) == list(range(len(lengths)))
    assert len(steps) == step_count(len(lengths), batch, 1)
    assert all(1 <= len(step) <= batch for step in steps)
    assert sum(len(step) < batch for step in steps) <= 1


@given(lengths=LENGTHS, batch=st.integers(1, 20), seed=st.integers(0, 9))
def test_steps_depend_on_the_seed_alone(lengths: list[int], batch: int, seed: int) -> None:
    np.random.seed(1)  # noqa: NPY002  # that it does not matter is what is tested
    once = shuffled_steps(np.array(lengths), batch, 50, (seed, 3))
    np.random.seed(2)  # noqa: NPY002
    again = shuffled_steps(np.array(lengths), batch, 50, (seed, 3))
    assert [step.tolist() for step in once] == [step.tolist() for step in again]


def test_another_pass_draws_other_steps() -> None:
    lengths = np.arange(1, 65)
    passes = [shuffled_steps(lengths, 4, 50, (0, turn)) for turn in range(3)]
    orders = {tuple(np.concatenate(steps).tolist()) for steps in passes}
    assert len(orders) == 3


def test_items_of_a_step_are_of_similar_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 3000)
    steps = shuffled_steps(lengths, 10, 50, (0,))
    padding = sum(len(step) * int(lengths[step].max()) for step in steps) / lengths.sum() - 1
    assert padding < 0.05
    # Long and short ones come in turns, not sorted through the pass.
    longest = np.array([int(lengths[step].max()) for step in steps])
    assert abs(np.corrcoef(np.arange(len(longest)), longest)[0, 1]) < 0.2


def test_step_counts() -> None:
    assert step_count(1, 100, 0.01) == 1  # never none
    assert step_count(100, 10, 3) == 30
    assert step_count(101, 10, 1) == 11


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
