"""A training that was stopped, anywhere and however, ends in the same weights to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # noqa: E402  # it needs PyTorch
from adequa.learned import training  # noqa: E402
from adequa.learned.checkpoints import Checkpoints, training_into  # noqa: E402
from adequa.learned.pair.network import PairNetwork  # noqa: E402
from adequa.learned.pair.train import PairStage  # noqa: E402
from adequa.learned.training import Outcome, TrainingProgress  # noqa: E402

HERE = Path(__file__).parents[2]


class StopError(Exception):
    """What stops a training in these tests."""


@pytest.fixture(autouse=True)
def _every_step_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def whole() -> tuple[PairNetwork, Outcome]:
    """The training without a stop."""
    return tiny.trained(tiny.hard_stages())


def steps_of(stages: list[PairStage]) -> int:
    return sum(trial.steps for stage in stages for trial in stage.trials)


def assert_same(one: tuple[PairNetwork, Outcome], other: tuple[PairNetwork, Outcome]) -> None:
    assert tiny.same(one[0], other[0])
    assert one[1].chosen == other[1].chosen
    assert one[1].best == other[1].best
    assert one[1].history == other[1].history


def test_writing_checkpoints_changes_nothing(
    tmp_path: Path, whole: tuple[PairNetwork, Outcome]
) -> None:
    assert_same(tiny.trained(tiny.hard_stages(), Checkpoints(tmp_path, "plan")), whole)


def test_stopped_at_every_single_step(tmp_path: Path, whole: tuple[PairNetwork, Outcome]) -> None:
    """Every process gets one step further than its checkpoint, and is stopped in the next."""
    checkpoints, stops = Checkpoints(tmp_path, "plan"), 0
    for _ in range(2 * steps_of(tiny.hard_stages())):
        seen: list[TrainingProgress] = []

        def report(progress: TrainingProgress, seen: list[TrainingProgress] = seen) -> None:
            seen.append(progress)
            if len(seen) == 2:
                raise StopError

        try:
            # Other weights to begin with: all must come from the checkpoint, once there is one.
            start = tiny.network(seed=99) if stops else tiny.network()
            found = tiny.trained(tiny.hard_stages(), checkpoints, report, start=start)
            break
        except StopError:
            stops += 1
    assert stops == steps_of(tiny.hard_stages()) - 1
    assert_same(found, whole)


def test_stopped_around_a_trial_that_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best trial so far, of which nothing may stay, whatever a checkpoint held of it."""
    trials = tiny.trial(rate=1e-3), tiny.trial(epochs=2), tiny.trial(rate=1e-9)
    stages = [PairStage("a", trials, evaluations=3), PairStage("b", (tiny.trial(average=0.5),))]
    undisturbed = tiny.trained(stages)[1]
    assert undisturbed.chosen == [1, 0]
    tiny.spoil(monkeypatch, 1, 10)
    whole = tiny.trained(stages)
    assert (whole[1].diverged, whole[1].chosen) == ([(0, 1)], [0, 0])
    checkpoints, stops = Checkpoints(tmp_path, "plan"), 0
    for _ in range(steps_of(stages)):
        seen: list[TrainingProgress] = []

        def report(progress: TrainingProgress, seen: list[TrainingProgress] = seen) -> None:
            seen.append(progress)
            if len(seen) == 4:  # the steps of a loss that is no number are done again
                raise StopError

        try:
            start = tiny.network(seed=99) if stops else tiny.network()
            found = tiny.trained(stages, checkpoints, report, start=start)
            break
        except StopError:
            stops += 1
    assert stops > 5
    assert_same(found, whole)
    assert found[1].diverged == whole[1].diverged


def test_stopped_after_the_last_step(tmp_path: Path, whole: tuple[PairNetwork, Outcome]) -> None:
    """What was trained to the end is not trained again."""
    checkpoints = Checkpoints(tmp_path, "plan")
    tiny.trained(tiny.hard_stages(), checkpoints)
    seen: list[TrainingProgress] = []
    found = tiny.trained(tiny.hard_stages(), checkpoints, seen.append, start=tiny.network(seed=99))
    assert_same(found, whole)
    assert not seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts no processes by forking")
def test_killed_without_notice(tmp_path: Path, whole: tuple[PairNetwork, Outcome]) -> None:
    places = ("1", "write", "4", "delete", "write", "3", "6")
    subprocess.run(
        [sys.executable, HERE / "killed_training.py", tmp_path, *places],
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=HERE,
    )
    with training_into(tmp_path):
        found = tiny.trained(
            tiny.hard_stages(), Checkpoints(tmp_path, "plan"), start=tiny.network(seed=99)
        )
    assert_same(found, whole)
    assert len(list(tmp_path.iterdir())) == 1  # of what was half written nothing is left


def test_a_stop_leaves_random_numbers_as_they_were(tmp_path: Path) -> None:
    def report(_: TrainingProgress) -> None:
        raise StopError

    torch.manual_seed(1)
    expected = torch.rand(3).tolist()
    torch.manual_seed(1)
    with pytest.raises(StopError):
        tiny.trained(tiny.hard_stages(), report=report)
    assert torch.rand(3).tolist() == expected
