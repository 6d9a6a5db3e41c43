"""Trials of the campaign are reproducible, and every exception is a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.__main__ import main
from campaign.base import Target, Trial, fail, run_trial, trials


def _draw(seen: list[float]) -> Target:
    return Target("draw", lambda trial: seen.append(trial.random.random()))


def test_a_trial_depends_on_target_seed_and_number_alone() -> None:
    seen: list[float] = []
    list(trials(_draw(seen), 7, count=3))
    again: list[float] = []
    run_trial(_draw(again), 7, 2)
    assert again == [seen[2]]
    run_trial(_draw(again), 8, 2)
    assert len({*seen, again[1]}) == 4


def test_a_folder_of_its_own_that_goes_away() -> None:
    folders: list[Path] = []

    def run(trial: Trial) -> None:
        folders.append(trial.folder)
        assert not list(trial.folder.iterdir())
        (trial.folder / "file").write_text("a")

    assert all(outcome.report is None for outcome in trials(Target("files", run), 0, count=2))
    assert folders[0] != folders[1]
    assert not any(folder.exists() for folder in folders)


def test_broken_promises_and_exceptions_are_failures() -> None:
    def broken(trial: Trial) -> None:
        if trial.number:
            raise RecursionError("too deep")
        fail("the answer was wrong")

    first, second = trials(Target("broken", broken), 0, count=2)
    assert first.report == "the answer was wrong"
    assert "RecursionError: too deep" in str(second.report)


def test_a_trial_that_hangs_is_a_failure() -> None:
    def hang(trial: Trial) -> None:
        while True:
            pass

    report = str(run_trial(Target("hang", hang), 0, 0, limit=0.05).report)
    assert "TimeoutError: the trial took more than 0.05 seconds" in report


def _odd(trial: Trial) -> None:
    if trial.number % 2:
        fail(f"drew {trial.random.random()}")


def test_the_command_prints_failures_that_can_be_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    targets = (Target("odd", _odd), Target("sound", lambda trial: None))
    assert main(["--minutes", "0.001", "--target", "odd", "--seed", "5"], targets) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("seed 5\n")
    assert "odd, seed 5, number 1:\ndrew 0." in shown
    assert "--target odd --seed 5 --number 1\n" in shown
    assert main(["--target", "odd", "--seed", "5", "--number", "1"], targets) == 1
    again = capsys.readouterr().out
    assert again.splitlines()[3] in shown.splitlines()
    assert again.endswith("odd          1         1\n")


def test_the_command_succeeds_where_no_trial_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.001"], [Target("sound", lambda trial: None)]) == 0
    assert capsys.readouterr().out.startswith("seed ")


def test_a_number_alone_is_no_trial(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--target", "arrays", "--number", "1"])
    assert "--number needs --target and --seed." in capsys.readouterr().err
