"""Trials of the campaign are reproducible, and every exception is a failure."""

from __future__ import annotations

from pathlib import Path

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
