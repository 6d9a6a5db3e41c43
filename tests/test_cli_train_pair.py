"""`adequa train pair-regressor` as its users find it: a folder and a report, or one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from adequa.cli.main import main
from adequa.judgements import Preferences, Ratings
from adequa.metrics.registry import load_metric
from tiny_transformer import tiny_preferences, tiny_ratings, write_tiny_encoder

pytest.importorskip("transformers", reason="the pair regressor is a transformer")

Run = Callable[..., tuple[int, str, str]]
NEVER = ("--checkpoint-every", "3600")
ALWAYS = ("--checkpoint-every", "0")


def write_ratings(path: str, found: Ratings) -> None:
    texts = found.segments
    assert texts is not None
    columns = (found.ids["lp"], texts.hypotheses, texts.references, found.scores)
    rows = (f"{lp}\t{mt}\t{ref}\t{score}\n" for lp, mt, (ref,), score in zip(*columns, strict=True))
    Path(path).write_text("".join(["lp\tmt\tref\tscore\n", *rows]))


def write_preferences(path: str, found: Preferences) -> None:
    assert found.better is not None
    assert found.worse is not None
    columns = (found.better.hypotheses, found.worse.hypotheses, found.better.references)
    rows = (f"cs-en\t{one}\t{two}\t{ref}\n" for one, two, (ref,) in zip(*columns, strict=True))
    Path(path).write_text("".join(["lp\tbetter\tworse\tref\n", *rows]))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    write_tiny_encoder(Path("tiny"), layers=4)
    write_ratings("rated.tsv", tiny_ratings())
    write_preferences("ranked.tsv", tiny_preferences())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process, to save the start of PyTorch."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["adequa", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.out, shown.err

    return ran


def command(*more: str, encoder: str = "tiny", output: str = "new") -> tuple[str, ...]:
    begin = ("--encoder", encoder) if encoder else ()
    return ("train", "pair-regressor", *begin, "--device", "cpu", "-o", output, *more)


def rated(*more: str, output: str = "new") -> tuple[str, ...]:
    few = ("--ratings", "rated.tsv", "--batch", "8", "--epochs", "2", "--learning-rate", "1e-3")
    return command(*few, *more, output=output)


def description(folder: str = "new") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "metric.json").read_text())
    return found


def weights(folder: str) -> bytes:
    files = (Path(folder, "encoder", "model.safetensors"), Path(folder, "weights.npz"))
    return b"".join(path.read_bytes() for path in files)


def test_preferences_and_then_ratings(run: Run) -> None:
    code, shown, notes = run(
        *rated("--preferences", "ranked.tsv", "--batch", "16", "--surface", "--references", "best")
    )
    assert (code, notes) == (0, "")
    first, learnt, chosen, figures, kept, last = shown.strip().split("\n\n")
    assert first == "new: tiny, fine-tuned on cpu, fp32"
    rows = [line.split() for line in learnt.splitlines()]
    assert rows[0] == ["stage", "learns", "from", "rows"]
    assert [row[:3] for row in rows[1:]] == [
        ["1", "preferences", "ranked.tsv"],
        ["2", "ratings", "rated.tsv"],
    ]
    found = description()
    assert [int(row[3]) for row in rows[1:]] == [
        source["rows"] for (source,) in found["training"]["stages"]
    ]
    batch = found["training"]["chosen"]["stage 2 batch"]
    assert chosen == f"chosen on what was held out: stage 2 batch {batch}"
    table = [line.split() for line in figures.splitlines()]
    assert table[0] == ["stage", "settings", "step", "loss", "Pearson", "ordered", "rightly"]
    assert [row[:3] for row in table[2:]] == [["2", "batch", "8"], ["2", "batch", "16"]]
    (star,) = (row for row in table[2:] if row[3].startswith("*"))
    assert star[2] == str(batch)
    assert star[5] == f"{found['agreement']['pearson']:.3f}"
    assert kept.startswith("* kept, by ")
    assert last == "saved in new; use it with: adequa score -m new -t FILE -r FILE"
    plan = found["settings"]["plan"]
    assert (plan["surface"], plan["references"]) == (True, "best")
    assert sorted(path.name for path in Path().iterdir()) == [
        "new", "ranked.tsv", "rated.tsv", "tiny",
    ]  # fmt: skip
    code, shown, notes = run("evaluate", "rated.tsv", "-m", "new:device=cpu", "--resamples", "100")
    assert (code, notes) == (0, "")
    assert "encoder:tiny|references:best|" in shown


def test_quiet_says_nothing_and_the_seed_decides(run: Run) -> None:
    for output, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert run(*rated("-q", "--seed", seed, "--sample", "30", output=output)) == (0, "", "")
    assert weights("a") == weights("b") != weights("c")
    assert description("a")["training"]["rows"] == 30


def test_a_plan_and_what_flags_change_in_it(run: Run) -> None:
    Path("plan.toml").write_text(
        'encoder = "nowhere"\nseed = 4\n[[stage]]\nobjective = "ratings"\ndata = "rated.tsv"\n'
        "epochs = 0.5\n"
    )
    more = ("--encoder", "tiny", "--seed", "5", "--surface", "--most-tokens", "99")
    assert run(*command("--plan", "plan.toml", *more, "-q", encoder="")) == (0, "", "")
    plan = description()["settings"]["plan"]
    changed = ("encoder", "seed", "surface", "most_tokens")
    assert [plan[key] for key in changed] == ["tiny", 5, True, 99]
    assert plan["stage"][0]["epochs"] == [0.5]
    # A metric takes the place of the encoder, and keeps its surface features.
    started = ("--plan", "plan.toml", "--start", "new", "--name", "mine")
    code, shown, _ = run(*command(*started, encoder="", output="further"))
    assert (code, shown.splitlines()[0]) == (0, "mine: new, fine-tuned on cpu, fp32")
    plan = description("further")["settings"]["plan"]
    assert (plan["encoder"], plan["start"], plan["seed"]) == ("", "new", 4)
    assert description("further")["settings"]["head"]["surface"] > 0


def test_rows_that_cannot_be_used_are_told(run: Run) -> None:
    with Path("rated.tsv").open("a") as handle:
        handle.write("cs-en\tthe cat\ta dog\tnan\n")
    code, _, notes = run(*rated())
    assert code == 0
    assert notes.startswith("note: rated.tsv: rows of the file that cannot be used: 1 (")
    assert len(notes.splitlines()) == 1
    assert run(*rated("-q", output="quiet")) == (0, "", "")


def test_only_some_language_pairs(run: Run) -> None:
    assert run(*rated("--lp", "cz-en", "-q")) == (0, "", "")
    both = tiny_ratings().ids["lp"]
    held_out = description()["agreement"]["held_out"]["ratings"]
    assert description()["training"]["rows"] + held_out == both.count("cs-en") < len(both)


def stop_at_checkpoint(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C when a checkpoint of this number was written."""
    from adequa.training.checkpoints import Checkpoints

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


def test_a_stop_before_any_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("adequa.learned.pair_data.collect", stopped)
    said = "stopped before there was a checkpoint; the same command begins anew.\n"
    assert run(*rated()) == (130, "", said)
    assert not Path("new").exists()
    assert not Path("new.training").exists()


def test_other_processes_than_the_first_write_and_say_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from adequa.training.processes import Processes

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    alone = Processes(torch.device("cpu"), number=1)
    monkeypatch.setattr("adequa.training.processes.processes", lambda _: alone)
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
    assert shown.stdout.count("saved in new;") == 1
    assert description()["training"]["processes"] == 2
    assert not Path("new.training").exists()
    texts = tiny_ratings().segments
    assert texts is not None
    assert np.isfinite(load_metric("new:device=cpu").score(texts).segments).all()


def test_the_variant_that_is_not_fine_tuned(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from adequa.learned import regression

    monkeypatch.setitem(regression.MLP_GRIDS, "paper", regression.MLP_GRIDS["scaled"])
    asked = ("--ratings", "rated.tsv", "--settings", "paper-frozen", "--sample", "40")
    code, shown, notes = run(*command(*asked))
    assert (code, notes) == (0, "")
    assert shown.startswith("new: learnt from 40 ratings (rated.tsv)\nchosen among ")
    found = description()
    assert found["kind"] == "embedding-regressor"
    assert (found["settings"]["model"], found["settings"]["grid"]) == ("mlp", "paper")
    assert found["settings"]["encoder"][0]["name"] == "tiny.pair.cls-last4"
    assert found["settings"]["references"] == "best"
    assert not Path("new.training").exists()


FROZEN = ("--settings", "paper-frozen", "--ratings", "rated.tsv")
PLAN = '[[stage]]\nobjective = "ratings"\ndata = "rated.tsv"\n'
BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": (command(encoder=""), "Name what to learn from: --ratings or --preferences"),
    "no encoder": (command("--ratings", "rated.tsv", encoder=""), "Name what to begin with"),
    "both": (rated("--start", "x"), "it names both"),
    "missing encoder": (command("--ratings", "rated.tsv", encoder="./x"), "There is no folder ./x"),
    "no transformer": (command("--ratings", "rated.tsv", encoder="empty"), "lacks config.json"),
    "missing data": (command("--ratings", "absent.tsv"), "There is no file absent.tsv"),
    "not ratings": (command("--ratings", "ranked.tsv"), "ranked.tsv holds no ratings"),
    "not preferences": (command("--preferences", "rated.tsv"), "rated.tsv holds no preferences"),
    "another pair": (rated("--lp", "de-fr"), "de-fr"),
    "batch": (rated("--batch", "0"), "batch should be from 1, not 0"),
    "device": (rated("--device", "nowhere"), 'There is no device "nowhere"'),
    "no metric": (
        command("--ratings", "rated.tsv", "--start", "empty", encoder=""),
        "empty holds no saved metric",
    ),
    "surface of a metric": (
        command("--ratings", "rated.tsv", "--start", "x", "--surface", encoder=""),
        "--surface goes with an encoder; x keeps the features that it has",
    ),
    "name": (rated("--name", "chrf"), 'A metric cannot be called "chrf"'),
    "there already": (rated(output="tiny"), "tiny is there already"),
    "checkpoints inside": (rated("--checkpoints", "new/kept"), "new/kept lies in the folder of"),
    "checkpoints no folder": (rated("--checkpoints", "rated.tsv"), "rated.tsv is there already"),
    "plan and data": (
        command("--plan", "good.toml", "--ratings", "rated.tsv", "--batch", "3"),
        "good.toml says itself what to learn from and how; leave out --ratings and --batch",
    ),
    "plan and settings": (
        command("--plan", "good.toml", "--settings", "paper-frozen"), "leave out --settings",
    ),
    "encoder of the hub": (
        command("--ratings", "rated.tsv", encoder="no-such-model-of-ours"), "or add --download (",
    ),
    "seed": (
        command("--plan", "good.toml", "--seed", "9" * 20),
        "The command line: seed should be from 0 to 9,223,372,036,854,775,807, not 99,999,",
    ),
    "tokens": (
        command("--plan", "good.toml", "--most-tokens", "9" * 30),
        "most_tokens should be from 1 to 1,000,000,000, not a number of about 31 digits",
    ),
    "head": (command("--plan", "wide.toml"), "million are of the head, which may have fewer units"),
    "frozen precision": (
        command(*FROZEN, "--precision", "auto", "--most-tokens", "9", "--checkpoint-every", "0"),
        "leave out --precision and --most-tokens and --checkpoint-every",
    ),
    "frozen checkpoints": (command(*FROZEN, "--checkpoints", "x"), "leave out --checkpoints"),
    "frozen hub": (
        command(*FROZEN, encoder="no-such-model-of-ours"), "or add --download to get the model",
    ),
    "no plan": (command("--plan", "absent.toml"), "absent.toml cannot be read"),
    "no TOML": (command("--plan", "rated.tsv"), "rated.tsv is no TOML file"),
    "unknown key": (command("--plan", "bad.toml"), 'Did you mean "learning_rate"?'),
    "frozen preferences": (
        command(*FROZEN, "--preferences", "ranked.tsv", "--epochs", "3"),
        "over an encoder that stays as it is; leave out --preferences and --epochs",
    ),
    "frozen nothing": (command(*FROZEN, encoder=""), "need --ratings and --encoder PATH"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(name: str, run: Run) -> None:
    Path("empty").mkdir()
    Path("good.toml").write_text(f'encoder = "tiny"\n{PLAN}')
    Path("wide.toml").write_text(
        f'encoder = "tiny"\nhidden_layers = 2\nunits = 1_000_000_000\n{PLAN}'
    )
    Path("bad.toml").write_text(f'encoder = "tiny"\n{PLAN}learning_rat = 1\n')
    before = sorted(Path().rglob("*"))
    arguments, said = BAD[name]
    code, shown, error = run(*arguments)
    assert (code, shown) == (2, "")
    assert error.startswith("adequa: error: ")
    assert said in error
    assert len(error.splitlines()) == 1
    assert sorted(Path().rglob("*")) == before


def test_too_little_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.training.memory._memory", lambda _: 1 << 16)
    code, shown, error = run(*rated())
    assert (code, shown) == (2, "")
    assert "would fit" in error
    assert not Path("new").exists()
