"""`adequa train pair-regressor` as its users find it: a folder and a report, or one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from pair_commands import PLAN, Run, command, description, rated, runner, settle, weights
from tiny_transformer import tiny_ratings

pytest.importorskip("transformers", reason="the pair regressor is a transformer")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(tmp_path, monkeypatch)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_preferences_and_then_ratings(run: Run) -> None:
    code, shown, notes = run(
        *rated("--preferences", "ranked.tsv", "--batch", "16", "--surface", "--references", "best")
    )
    assert (code, notes) == (0, "")
    first, learnt, chosen, figures, notes = shown.strip().split("\n\n")
    used, last = notes.splitlines()
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
    assert chosen == f"Chosen on validation data: stage 2 batch {batch}."
    table = [line.split() for line in figures.splitlines()]
    assert table[0] == ["stage", "settings", "step", "loss", "Pearson", "ordered", "rightly"]
    assert [row[:3] for row in table[2:]] == [["2", "batch", "8"], ["2", "batch", "16"]]
    (star,) = (row for row in table[2:] if row[3].startswith("*"))
    assert star[2] == str(batch)
    assert star[5] == f"{found['agreement']['pearson']:.3f}"
    assert used.startswith("* used: the best on ")
    assert last == "Saved in new; use it with: adequa score -m new -t FILE -r FILE"
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
    assert "surface" not in plan
    assert description("further")["settings"]["head"]["surface"] > 0
    # So it does without a plan.
    few = ("--start", "new", "--ratings", "rated.tsv", "--epochs", "0.5", "-q")
    assert run(*command(*few, encoder="", output="on")) == (0, "", "")
    assert description("on")["settings"]["head"]["surface"] > 0


def test_settings_that_diverge_are_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiny_training  # it needs PyTorch

    tiny_training.spoil(monkeypatch, 1, 0)
    code, shown, notes = run(*rated("--learning-rate", "1e-2"))
    assert code == 0
    assert notes == (
        "note: ratings (1 of 1), 2 of 2 (batch 8, learning rate 0.01, epochs 2) is given up: its "
        "loss was no number any more.\n"
    )
    assert "Chosen on validation data: stage 1 learning rate 0.001.\n" in shown
    assert "learning rate 0.01 " not in shown
    assert description()["training"]["given_up"] == [
        {"stage": 1, "batch": 8, "learning_rate": 0.01, "epochs": 2.0}
    ]


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


def test_the_variant_that_is_not_fine_tuned(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from adequa.learned.embedding.mlp import MLP_GRIDS

    monkeypatch.setitem(MLP_GRIDS, "paper", MLP_GRIDS["scaled"])
    asked = ("--ratings", "rated.tsv", "--settings", "paper-frozen", "--sample", "40")
    code, shown, notes = run(*command(*asked))
    assert (code, notes) == (0, "")
    assert shown.startswith("new: trained on 40 ratings (rated.tsv)\n\nvalidation ")
    found = description()
    assert found["kind"] == "embedding-regressor"
    assert (found["settings"]["model"], found["settings"]["grid"]) == ("mlp", "paper")
    assert found["settings"]["encoder"][0]["name"] == "tiny.pair.cls-last4"
    assert found["settings"]["references"] == "best"
    assert not Path("new.training").exists()


FROZEN = ("--settings", "paper-frozen", "--ratings", "rated.tsv")
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
    "batch": (rated("--batch", "0"), "batch should be greater than or equal to 1, not 0"),
    "device": (rated("--device", "nowhere"), 'There is no device "nowhere"'),
    "no metric": (
        command("--ratings", "rated.tsv", "--start", "empty", encoder=""),
        "empty holds no saved metric",
    ),
    "surface of a metric": (
        command("--ratings", "rated.tsv", "--start", "x", "--surface", encoder=""),
        "--surface goes with an encoder; x keeps the features that it has",
    ),
    "no surface of a metric": (
        command("--ratings", "rated.tsv", "--start", "x", "--no-surface", encoder=""),
        "--no-surface goes with an encoder; x keeps the features that it has",
    ),
    "paper's head of a metric": (
        command("--ratings", "rated.tsv", "--start", "x", "--settings", "paper", encoder=""),
        "--settings paper goes with an encoder, whose head it decides; x keeps the head that it ",
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
        "The command line: seed should be less than or equal to 9223372036854775807, not 99999",
    ),
    "tokens": (
        command("--plan", "good.toml", "--most-tokens", "9" * 30),
        "most_tokens should be less than or equal to 1000000000, not 99999",
    ),
    "head": (command("--plan", "wide.toml"), "units should be less than or equal to 16384"),
    "frozen precision": (
        command(*FROZEN, "--precision", "auto", "--most-tokens", "9", "--checkpoint-every", "0"),
        "leave out --precision and --most-tokens and --checkpoint-every",
    ),
    "frozen checkpoints": (command(*FROZEN, "--checkpoints", "x"), "leave out --checkpoints"),
    "frozen hub": (
        command(*FROZEN, encoder="no-such-model-of-ours"), "or add --download (",
    ),
    "no plan": (command("--plan", "absent.toml"), "There is no file absent.toml"),
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
    monkeypatch.setattr("adequa.learned.pair.devices._total_memory", lambda _: 1 << 16)
    code, shown, error = run(*rated())
    assert (code, shown) == (2, "")
    assert "would fit" in error
    assert not Path("new").exists()
