"""What a pair regressor begins with, and what its folder and its checkpoints remember of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from adequa.encoders.surface import SURFACE
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import HEAD_DEFAULTS, Plan, StagePlan
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

QUICK = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(1e-3,))
TEXTS, _ = outputs(12, seed=9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny", dropout=0.1)


@pytest.fixture(scope="module")
def start_folder(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved metric in which the mean of several references counts, which is not the default."""
    plan = Plan(encoder=str(encoder), references="mean", stage=(QUICK,))
    folder = tmp_path_factory.mktemp("metrics") / "start_folder"
    PairRegressor(plan, device="cpu", name="first").fit(tiny_ratings(24)).save(folder)
    return folder


def described(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metric.json").read_text())
    return found


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_encoder_and_the_packages_are_on_record(encoder: Path, start_folder: Path) -> None:
    found = described(start_folder)
    files = found["training"]["encoder_files"]
    assert files["model.safetensors"] == digest_of(encoder / "model.safetensors")
    assert set(files) >= {"config.json", "tokenizer.json"}
    assert found["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert found["versions"]["transformers"] == transformers.__version__
    assert {"adequa", "numpy", "python", "tokenizers"} < set(found["versions"])


def test_all_that_went_before_is_on_record(start_folder: Path, tmp_path: Path) -> None:
    """Also over two metrics, none of which names the encoder in its plan."""
    second, third = tmp_path / "second", tmp_path / "third"
    for start, folder in ((start_folder, second), (second, third)):
        plan = Plan(start=str(start), stage=(QUICK,))
        ratings = tiny_ratings(24, name=folder.name)
        PairRegressor(plan, device="cpu", name=folder.name).fit(ratings).save(folder)
    before = described(third)["training"]["begun_from"]
    assert before["name"] == "second"
    assert before["digest"] == load_metric(str(second)).digest_  # type: ignore[attr-defined]
    assert before["training"] == described(second)["training"]
    first = before["training"]["begun_from"]
    assert first["plan"] == described(start_folder)["settings"]["plan"]
    assert first["training"]["data"] == "rated"
    metric = load_metric(f"{third}:device=cpu")
    assert "|encoder:tiny|references:mean|" in str(metric.signature(2))
    card = (third / "README.md").read_text()
    assert card.startswith("# third\n\nA sentence-pair regressor: `tiny`, fine-tuned")
    stages = [line.split(" | ")[:3] for line in card.splitlines() if "| ratings |" in line]
    assert stages == [
        ["| first, 1", "ratings", "rated"],
        ["| second, 1", "ratings", "second"],
        ["| 1", "ratings", "third"],
    ]
    assert f"second, which it went on from, has the weights {before['digest'][:12]}." in card


OTHER_HEAD: dict[str, Any] = {
    "pooling": "cls", "layers": "1", "hidden_layers": 1, "units": 5, "dropout": 0.2,
    "surface": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def other_head(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved metric of which no setting of the head is the default."""
    plan = Plan(encoder=str(encoder), max_length=12, stage=(QUICK,), **OTHER_HEAD)
    folder = tmp_path_factory.mktemp("metrics") / "other"
    PairRegressor(plan, device="cpu").fit(tiny_ratings(24)).save(folder)
    return folder


@pytest.mark.parametrize("said", [{}, OTHER_HEAD | {"max_length": 12}], ids=["unsaid", "the same"])
def test_the_head_of_the_start_stays_and_nothing_else_is_on_record(
    other_head: Path, tmp_path: Path, said: dict[str, Any]
) -> None:
    plan = Plan(start=str(other_head), stage=(QUICK,), **said)
    PairRegressor(plan, device="cpu").fit(tiny_ratings(24)).save(tmp_path / "m")
    before, after = (described(folder)["settings"] for folder in (other_head, tmp_path / "m"))
    for key in ("head", "surface", "max_length"):
        assert after[key] == before[key]
    recorded = {key: after["plan"][key] for key in OTHER_HEAD if key in after["plan"]}
    assert recorded == {key: value for key, value in said.items() if key in OTHER_HEAD}
    again = load_metric(f"{tmp_path / 'm'}:device=cpu")
    assert isinstance(again, PairRegressor)
    assert again.plan == plan
    assert asdict(again.model_.head) == before["head"]


EARLIER = Path(__file__).parents[2] / "saved" / "pair"  # with ten surface features


def test_surface_features_that_the_start_lacks_begin_at_nothing(tmp_path: Path) -> None:
    from adequa.learned.pair.initial_model import from_metric

    start = load_metric(f"{EARLIER}:device=cpu")
    assert isinstance(start, PairRegressor)
    assert start.model_.head.surface == 10
    plan = Plan(start=str(EARLIER), stage=(replace(QUICK, learning_rate=(1e-9,)),))
    pairs = [(refs[0], text) for refs, text in zip(TEXTS.references, TEXTS.hypotheses, strict=True)]
    before = start.model_.scores(pairs, "fp32", 4096)
    initial = from_metric(plan, start, torch.device("cpu"))
    assert initial.model.head.surface == len(SURFACE) > 10
    assert initial.standardised_surface == 10
    # The product of features and weights is a sum of one term more, which may round differently:
    # scores are up to 68, so that a rounding of 32 bits is some 1e-5.
    assert initial.model.scores(pairs, "fp32", 4096) == pytest.approx(before, abs=1e-4)
    further = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
    further.save(tmp_path / "m")
    assert described(tmp_path / "m")["settings"]["surface"] == list(SURFACE)
    again = load_metric(f"{tmp_path / 'm'}:device=cpu").compute_scores(TEXTS).segments
    assert again == pytest.approx(further.compute_scores(TEXTS).segments, abs=1e-5)


@pytest.mark.parametrize("key", OTHER_HEAD)
def test_a_head_that_contradicts_the_start_is_a_sentence(other_head: Path, key: str) -> None:
    """Also where it says what would be the default without a start."""
    plan = Plan(start=str(other_head), stage=(QUICK,), **{key: HEAD_DEFAULTS[key]})
    found = sentence(lambda: PairRegressor(plan, device="cpu").fit(tiny_ratings(24)))
    has, said = json.dumps(OTHER_HEAD[key]), json.dumps(HEAD_DEFAULTS[key])
    assert found == (
        f"{other_head} has {key} = {has}, which stays as it is in a metric that goes on from it; "
        f"leave {key} = {said} out of the plan."
    )


@pytest.mark.parametrize(
    ("said", "counts"), [("", "mean"), ("mean", "mean"), ("best", "best")],
    ids=["unsaid", "mean", "best"],
)  # fmt: skip
def test_references_count_as_they_did(
    start_folder: Path, tmp_path: Path, said: Literal["", "best", "mean"], counts: str
) -> None:
    plan = Plan(start=str(start_folder), references=said, stage=(replace(QUICK, epochs=(0.2,)),))
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
    metric.save(tmp_path / "m")
    assert described(tmp_path / "m")["settings"]["references"] == counts
    one, other = (TEXTS.references[row][0] for row in (0, -1))
    hypothesis = TEXTS.hypotheses[0]
    single = metric.score(Segments((hypothesis,) * 2, ((one,), (other,)))).segments
    expected = single.max() if counts == "best" else single.mean()
    again = load_metric(f"{tmp_path / 'm'}:device=cpu")
    for each in (metric, again):
        found = each.score(Segments((hypothesis,), ((one, other),))).segments
        assert found == pytest.approx([expected], abs=1e-5)


def test_of_unsaid_references_the_best_counts(encoder: Path) -> None:
    metric = PairRegressor(Plan(encoder=str(encoder), stage=(QUICK,)))
    assert "references:best" in str(metric.signature(1))


@pytest.mark.parametrize(("seed", "note_count"), [(0, 0), (1, 1)])
def test_other_draws_than_those_of_the_start_are_told(
    start_folder: Path, seed: int, note_count: int
) -> None:
    notes: list[str] = []
    plan = Plan(start=str(start_folder), seed=seed, stage=(QUICK,))
    PairRegressor(plan, device="cpu").fit(tiny_ratings(24), Progress(note=notes.append))
    assert sum("may have learnt from it" in note for note in notes) == note_count


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"seed": 10**20}, "seed should be less"), ({"units": 0}, "units should be greater")],
    ids=["seed", "units"],
)
def test_a_plan_from_python_is_checked_too(settings: dict[str, Any], said: str) -> None:
    plan = Plan(encoder="nowhere", stage=(QUICK,), **settings)
    found = sentence(lambda: PairRegressor(plan, device="cpu").fit(tiny_ratings(24)))
    assert found.startswith("The plan: ")
    assert said in found


def test_half_a_character_is_a_sentence(encoder: Path) -> None:
    ratings = tiny_ratings(24)
    assert ratings.segments is not None
    hypotheses = ("a \ud800 cat", *ratings.segments.hypotheses[1:])
    broken = replace(ratings, segments=replace(ratings.segments, hypotheses=hypotheses))
    metric = PairRegressor(Plan(encoder=str(encoder), stage=(QUICK,)), device="cpu")
    found = sentence(lambda: metric.fit(broken))
    assert found.startswith(r"A text holds '\ud800' at character 3, which is half a character")


class StopError(Exception):
    """Where a training is stopped."""


@pytest.fixture
def stopped(encoder: Path, tmp_path: Path) -> PairRegressor:
    """Stopped after a checkpoint, with a copy of the encoder that may change."""
    from adequa.learned.checkpoints import Checkpoints

    write_tiny_encoder(tmp_path / "mine", dropout=0.1)
    metric = PairRegressor(
        Plan(encoder=str(tmp_path / "mine"), stage=(QUICK,)), device="cpu", precision="fp32",
        checkpoints=tmp_path / "kept", seconds_between_checkpoints=0,
    )  # fmt: skip
    write = Checkpoints.write

    def stopping(self: Checkpoints, *given: Any) -> None:
        write(self, *given)
        raise StopError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "write", stopping)
        with pytest.raises(StopError):
            metric.fit(tiny_ratings(24))
    return metric


def notes_of(metric: PairRegressor) -> list[str]:
    notes: list[str] = []
    metric.fit(tiny_ratings(24), Progress(note=notes.append))
    return notes


def test_going_on_is_told(stopped: PairRegressor) -> None:
    assert notes_of(replace(stopped)) == [
        f"going on from {stopped.checkpoints}, where an earlier run was stopped."
    ]


def test_less_at_once_is_told_too(stopped: PairRegressor) -> None:
    _, note = notes_of(replace(stopped, plan=replace(stopped.plan, most_tokens=64)))
    assert note.startswith("32,768 tokens were read at once before, and 64 are now, so that other")


def test_another_encoder_in_the_same_place(stopped: PairRegressor) -> None:
    write_tiny_encoder(Path(stopped.plan.encoder), seed=8, dropout=0.1)
    notes: list[str] = []
    said = sentence(lambda: stopped.fit(tiny_ratings(24), Progress(note=notes.append)))
    assert "checkpoint of another plan, or of other data" in said
    assert not notes


def test_another_precision(stopped: PairRegressor) -> None:
    other = replace(stopped, precision="bf16")
    assert "checkpoint of another plan" in sentence(lambda: other.fit(tiny_ratings(24)))
