"""`adequa train pair-regressor` that is stopped and goes on, beside others, and in processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from adequa.learned.checkpoints import training_into
from adequa.metrics.registry import load_metric
from pair_commands import PLAN, Run, command, description, rated, runner, settle, weights
from tiny_transformer import tiny_ratings

pytest.importorskip("transformers", reason="the pair regressor is a transformer")

NEVER = ("--checkpoint-every", "3600")
ALWAYS = ("--checkpoint-every", "0")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(tmp_path, monkeypatch)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def stop_at_checkpoint(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C when a checkpoint of this number was written."""
    from adequa.learned.checkpoints import Checkpoints

    write = Checkpoints.write
    written = 0

    def stopping(self: Checkpoints, *given: Any) -> None:
        nonlocal written
        write(self, *given)
        written += 1
        if written == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "write", stopping)


def test_a_stopped_training_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*rated("-q", *NEVER, output="whole")) == (0, "", "")
    with monkeypatch.context() as patch:
        stop_at_checkpoint(3, patch)
        assert run(*rated(*ALWAYS)) == (
            130, "", "stopped; the same command goes on from new.training.\n",
        )  # fmt: skip
    assert [path.name for path in Path("new.training").iterdir()] == ["checkpoint-3"]
    code, shown, notes = run(*rated(*ALWAYS))
    assert code == 0
    assert shown.startswith("new: tiny")
    assert notes == "note: going on from new.training, where an earlier run was stopped.\n"
    assert weights("new") == weights("whole")
    assert not Path("new.training").exists()


def test_the_checkpoint_of_another_plan_is_left_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_at_checkpoint(1, patch)
        assert run(*rated("-q", "--checkpoints", "kept/here", *ALWAYS)) == (130, "", "")
    before = list(Path("kept/here").rglob("*"))
    code, shown, notes = run(*rated("--checkpoints", "kept/here", "--seed", "7"))
    assert (code, shown) == (2, "")
    assert notes.startswith(
        "adequa: error: kept/here/checkpoint-1 is a checkpoint of another plan, or of other data;"
    )
    assert len(notes.splitlines()) == 1
    assert list(Path("kept/here").rglob("*")) == before
    assert not Path("new").exists()


def test_two_commands_do_not_train_into_one_folder(run: Run) -> None:
    """The second is told before it reads any data, and touches nothing."""
    pytest.importorskip("fcntl", reason="this system has no such locks")
    with training_into(Path("new.training")):
        half = Path("new.training", ".adequa-0123456789ab.tmp")
        half.mkdir()
        before = sorted(Path().rglob("*"))
        assert run(*command("--ratings", "absent.tsv")) == (
            2, "",
            "adequa: error: new.training is being trained into by another command; wait for it, "
            "or name another folder.\n",
        )  # fmt: skip
        assert sorted(Path().rglob("*")) == before
        code, _, notes = run(*rated("--checkpoints", "other"))
        assert (code, notes) == (0, "")


def test_a_folder_of_checkpoints_that_takes_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told at once: before any data are read, and long before there is a checkpoint."""
    Path("kept").mkdir()
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *how: path != Path("kept") and access(path, *how)
    )
    assert run(*command("--ratings", "absent.tsv", "--checkpoints", "kept")) == (
        2, "", "adequa: error: kept cannot be written: it takes no new files.\n",
    )  # fmt: skip
    assert list(Path("kept").iterdir()) == []


def test_a_stop_before_any_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("adequa.learned.pair.data.collect", stopped)
    said = "stopped before there was a checkpoint; the same command begins anew.\n"
    assert run(*rated()) == (130, "", said)
    assert not Path("new").exists()
    assert not Path("new.training").exists()


def test_other_processes_than_the_first_write_and_say_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from adequa.learned.pair.devices import Processes

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    alone = Processes(torch.device("cpu"), index=1)
    monkeypatch.setattr("adequa.learned.pair.devices.launched_processes", lambda _: alone)
    assert run(*rated(*ALWAYS)) == (0, "", "")
    assert sorted(path.name for path in Path().iterdir()) == ["ranked.tsv", "rated.tsv", "tiny"]


def test_two_processes_together() -> None:
    pytest.importorskip("accelerate", reason="several processes meet through accelerate")
    launcher = ("torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    taught = PLAN.replace('"ratings"', '"distillation"\nteacher = "chrf"')
    Path("plan.toml").write_text(f'encoder = "tiny"\n{taught}epochs = 1\n{PLAN}epochs = 1\n')
    shown = subprocess.run(
        [sys.executable, "-m", *launcher, "-m", "adequa", *command("--plan", "plan.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("Saved in new;") == 1
    assert description()["training"]["processes"] == 2
    assert not Path("new.training").exists()
    texts = tiny_ratings().segments
    assert texts is not None
    assert np.isfinite(load_metric("new:device=cpu").score(texts).segments).all()
