"""The training loop on a tiny transformer: it learns, chooses, averages, and is the same again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adequa.errors import AdequaError

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # noqa: E402  # it needs PyTorch
from adequa.learned import training  # noqa: E402
from adequa.learned.checkpoints import Checkpoints, Snapshot  # noqa: E402
from adequa.learned.pair.devices import Processes  # noqa: E402
from adequa.learned.pair.network import PairInputs, predict  # noqa: E402
from adequa.learned.pair.train import PairStage, PairTrial, Run, StageObjective, train  # noqa: E402
from adequa.learned.training import Keep, Progress  # noqa: E402
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
        seen: list[Progress] = []
        parts = StageObjective(ratings(), 8, weight), StageObjective(preferences(), 2, weight)
        trained([PairStage("both", (trial(*parts, epochs=0.2),))], report=seen.append)
        losses.append(seen[0].loss)
    assert losses[1] == pytest.approx(2 * losses[0])


def test_the_loss_is_the_mean_over_what_was_drawn() -> None:
    """One step over all items: the loss by hand."""
    stage = PairStage("ratings", (trial(StageObjective(ratings(), 1000), epochs=1),))
    seen: list[Progress] = []
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
    held_out = np.arange(tiny.LEARNT, tiny.ALL)
    fresh = predict(network(), PairInputs(tiny.ROWS), held_out)
    untrained = np.corrcoef(fresh, tiny.QUALITY[held_out])[0, 1]
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
    seen: list[Progress] = []
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
        development=tiny.held_out(),
        seed=0,
        processes=Processes(torch.device("cpu")),
        checkpoints=Checkpoints(tmp_path, "plan"),
        seconds_between_checkpoints=40.0,
    )
    train(network(), [PairStage("ratings", (trial(epochs=1),) * 4)], run)
    assert written[-1] == 3
    assert len(set(written)) > 1
