"""Rows that plans train: trained once, stored, put together, and never on what is tested."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders.registry import load_encoders
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.judgements import Judgements, RatedSystems, Ratings
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.learned.pair import metric as pair_regressor
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import read_description
from adequa.progress import NO_PROGRESS, Progress
from adequa.reproduce import measure, scorers
from adequa.reproduce.measure import reproduce
from adequa.reproduce.paper_table import PaperRow, PaperTable
from adequa.reproduce.plans import fine_tuned_by_pair, trained_by_plan, trained_folder
from adequa.reproduce.scorers import RECIPES, MetricRecipe
from tiny_transformer import tiny_preferences, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned import training  # noqa: E402  # it needs PyTorch

RATINGS = """
encoder = "tiny"
seed = {seed}
[[stage]]
objective = "ratings"
data = ["wmt01-da"]
batch = 8
learning_rate = 3e-3
epochs = 1
"""
PREFERENCES = """
encoder = "tiny"
[[stage]]
objective = "preferences"
data = ["wmt01-rr"]
epochs = 0.5
"""
GOING_ON = """
start = "first"
[[stage]]
objective = "ratings"
batch = 8
epochs = 0.5
"""
RATED = tiny_ratings(12, seed=5, name="wmt02-da")
RANKED = tiny_preferences(12, seed=6, name="wmt02-rr")
DATA: dict[str, Judgements] = {
    "wmt01-da": tiny_ratings(24, name="wmt01-da"),
    "wmt01-rr": tiny_preferences(24, name="wmt01-rr"),
    "wmt02-da": RATED,
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_tiny_encoder(folder / "tiny", dropout=0.1)
    return folder


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def plans(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, with plans, and a cache of its own."""
    folder = tmp_path / "plans"
    folder.mkdir()
    for seed in (0, 1):
        (folder / f"rated-{seed}.toml").write_text(RATINGS.format(seed=seed))
    (folder / "first.toml").write_text(PREFERENCES)
    (folder / "second.toml").write_text(GOING_ON)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ADEQUA_MODELS", str(models))
    for place in (pair_regressor, scorers, measure):
        monkeypatch.setattr(place, "load_dataset", DATA.__getitem__)
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
    return folder


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PairRegressor, Any]]:
    """Every training, with what it was given; a checkpoint is written at every step."""
    seen: list[tuple[PairRegressor, Any]] = []
    fit = PairRegressor.fit

    def watched(metric: PairRegressor, ratings: Any, progress: Any) -> PairRegressor:
        seen.append((replace(metric), ratings))
        metric.seconds_between_checkpoints = 0.0
        return fit(metric, ratings, progress)

    monkeypatch.setattr(PairRegressor, "fit", watched)
    return seen


Fitted = list[tuple[PairRegressor, Any]]


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def plainly(folder: str, segments: Any) -> np.ndarray:
    """What a stored metric says by itself."""
    return load_metric(str(trained_folder() / folder)).score(segments).segments


def test_trained_once_for_ratings_and_preferences(fitted: Fitted) -> None:
    of_ratings = trained_by_plan("rated-0")(RATED, NO_PROGRESS)
    of_preferences = trained_by_plan("rated-0")(RANKED, NO_PROGRESS)
    assert len(fitted) == 1
    assert of_ratings.scores == pytest.approx(plainly("rated-0", RATED.segments), abs=1e-5)
    better, worse = of_preferences.scores.T
    assert better == pytest.approx(plainly("rated-0", RANKED.better), abs=1e-5)
    assert worse == pytest.approx(plainly("rated-0", RANKED.worse), abs=1e-5)
    assert of_preferences.settings == of_ratings.settings
    assert [path.name for path in trained_folder().iterdir()] == ["rated-0"]  # no checkpoints


def test_settings_say_how_to_get_the_same(plans: Path) -> None:
    settings = trained_by_plan("rated-0")(RATED, NO_PROGRESS).settings.split("|")
    stored = read_description(trained_folder() / "rated-0")
    assert settings[:6] == [
        "pair-regressor", "plan:rated-0", f"sha256:{digest_of(plans / 'rated-0.toml')[:12]}",
        "encoder:tiny", "data:wmt01-da", "seed:0",
    ]  # fmt: skip
    assert f"weights:{stored.identity[:12]}" in settings
    assert "trained_on:cpu, fp32" in settings


def test_whole_systems_have_the_mean_of_their_outputs() -> None:
    assert RATED.segments is not None
    outputs = replace(RATED.segments, ids={"lp": ("cs-en",) * 12, "system": ("a", "b", "c") * 4})
    people = Ratings(
        np.arange(3.0), {"lp": ("cs-en",) * 3, "system": ("a", "b", "c")}, name="wmt02-systems"
    )
    scored = trained_by_plan("rated-0")(RatedSystems(people, outputs), NO_PROGRESS)
    by_output = plainly("rated-0", RATED.segments).reshape(4, 3)
    assert scored.scores == pytest.approx(by_output.mean(axis=0), abs=1e-5)
    assert scored.ids["system"] == ("a", "b", "c")
    assert scored.settings.startswith("pair-regressor|plan:rated-0|")


def test_an_ensemble_is_the_mean(fitted: Fitted) -> None:
    trained_by_plan("rated-1")(RATED, NO_PROGRESS)
    scored = trained_by_plan("rated-0", "rated-1")(RANKED, NO_PROGRESS)
    assert [metric.plan.seed for metric, _ in fitted] == [1, 0]
    for side, texts in zip(scored.scores.T, (RANKED.better, RANKED.worse), strict=True):
        one, other = plainly("rated-0", texts), plainly("rated-1", texts)
        assert side == pytest.approx((one + other) / 2, abs=1e-5)
        assert not np.allclose(one, other)
    assert re.findall(r"plan:([\w-]+)\|.*?seed:(\d)", scored.settings) == [
        ("rated-0", "0"), ("rated-1", "1"),
    ]  # fmt: skip
    assert scored.settings.startswith("the mean of pair-regressor|")


TAUGHT = """
encoder = "tiny"
[[stage]]
objective = "distillation"
data = ["wmt01-rr"]
teacher = ["rated-0", "chrf"]
batch = 8
"""


def test_teachers_that_are_plans_are_trained_first(plans: Path, fitted: Fitted) -> None:
    (plans / "taught.toml").write_text(TAUGHT)
    trained_by_plan("taught")(RATED, NO_PROGRESS)
    trained_by_plan("taught")(RANKED, NO_PROGRESS)
    assert [metric.name for metric, _ in fitted] == ["rated-0", "taught"]
    assert fitted[1][0].plan.stage[0].teacher == (str(trained_folder() / "rated-0"), "chrf")
    stored = read_description(trained_folder() / "taught").settings["plan"]
    assert stored["stage"][0]["teacher"] == ["rated-0", "chrf"]  # and no path of this machine


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A metric without a plan, and how often it was created."""
    created: list[str] = []

    def simple() -> EmbeddingRegressor:
        created.append("simple")
        Path("words.txt").write_text("good 1 0\nbad 0 1\n")
        encoder = load_encoders([f"words:{Path('words.txt').resolve()}"])
        return EmbeddingRegressor(encoder, folds=2, workers=1, name="simple")

    monkeypatch.setitem(RECIPES, "simple", MetricRecipe(simple, ("wmt01-da",)))
    return created


def test_metrics_without_a_plan_teach_and_are_put_together(
    plans: Path, fitted: Fitted, recipe: list[str]
) -> None:
    (plans / "taught.toml").write_text(TAUGHT.replace("chrf", "simple"))
    both = trained_by_plan("taught", "simple")(RATED, NO_PROGRESS)
    assert recipe == ["simple"]
    simple = str(trained_folder() / "simple")
    assert fitted[1][0].plan.stage[0].teacher == (str(trained_folder() / "rated-0"), simple)
    mean = (plainly("taught", RATED.segments) + plainly("simple", RATED.segments)) / 2
    assert both.scores == pytest.approx(mean, abs=1e-5)
    assert "; simple: simple|" in both.settings
    assert trained_by_plan("simple")(RATED, NO_PROGRESS).scores == pytest.approx(
        plainly("simple", RATED.segments), abs=1e-9
    )
    assert recipe == ["simple"]


def test_a_metric_without_a_plan_may_not_have_seen_what_is_tested(recipe: list[str]) -> None:
    message = sentence(lambda: trained_by_plan("simple")(DATA["wmt01-da"], NO_PROGRESS))
    assert message.startswith("simple learns from wmt01-da")
    assert not recipe


def test_a_start_that_is_a_plan_is_trained_first(plans: Path, fitted: Fitted) -> None:
    (plans / "second.toml").write_text(f"{GOING_ON}data = ['wmt01-da']\n")
    trained_by_plan("second")(RATED, NO_PROGRESS)
    assert [metric.name for metric, _ in fitted] == ["first", "second"]
    assert fitted[1][0].plan.start == str(trained_folder() / "first")
    assert read_description(trained_folder() / "second").settings["plan"]["start"] == "first"


def test_a_teacher_may_not_have_seen_what_is_tested(plans: Path, fitted: Fitted) -> None:
    (plans / "taught.toml").write_text(TAUGHT)
    (plans / "rated-0.toml").write_text(RATINGS.format(seed=0).replace("wmt01", "wmt02"))
    message = sentence(lambda: trained_by_plan("taught")(RATED, NO_PROGRESS))
    assert message.startswith("plans/rated-0.toml learns from wmt02-da")
    assert not fitted


def test_plans_that_need_themselves(plans: Path, fitted: Fitted) -> None:
    (plans / "taught.toml").write_text(TAUGHT.replace("rated-0", "taught"))
    message = sentence(lambda: trained_by_plan("taught")(RATED, NO_PROGRESS))
    assert message.startswith(
        "plans/taught.toml begins with, or is taught by, what it makes itself"
    )
    assert not fitted


def test_a_metric_whose_teacher_has_another_plan_now_is_not_used(plans: Path) -> None:
    (plans / "taught.toml").write_text(TAUGHT)
    trained_by_plan("taught")(RATED, NO_PROGRESS)
    path = plans / "rated-0.toml"
    path.write_text(path.read_text().replace("3e-3", "2e-3"))
    message = sentence(lambda: trained_by_plan("taught")(RATED, NO_PROGRESS))
    assert "was trained by another plan than plans/rated-0.toml is now" in message


def test_a_metric_of_another_plan_is_not_used(plans: Path, fitted: Fitted) -> None:
    before = trained_by_plan("rated-0")(RATED, NO_PROGRESS)
    path, folder = plans / "rated-0.toml", trained_folder() / "rated-0"
    path.write_text(f"# A comment changes no metric.\n{path.read_text()}")
    assert (trained_by_plan("rated-0")(RATED, NO_PROGRESS).scores == before.scores).all()
    path.write_text(path.read_text().replace("3e-3", "2e-3"))
    message = sentence(lambda: trained_by_plan("rated-0")(RATED, NO_PROGRESS))
    assert message.startswith(
        f"{folder} was trained by another plan than plans/rated-0.toml is now"
    )
    assert f"delete {folder} to train anew" in message
    assert len(fitted) == 1
    shutil.rmtree(folder)
    assert not np.allclose(trained_by_plan("rated-0")(RATED, NO_PROGRESS).scores, before.scores)
    assert len(fitted) == 2


def test_what_lies_in_the_way_is_told_before_the_work(fitted: Fitted) -> None:
    folder = trained_folder() / "rated-0"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    assert "is there already" in sentence(lambda: trained_by_plan("rated-0")(RATED, NO_PROGRESS))
    (folder / "metric.json").write_text("{}")
    assert "another plan" in sentence(lambda: trained_by_plan("rated-0")(RATED, NO_PROGRESS))
    assert not fitted


def stopped_at(step: int, of: str = "") -> tuple[Progress, list[str]]:
    """A progress that stops the work at a step of a training."""
    statuses: list[str] = []

    def how(message: str) -> None:
        statuses.append(message)
        if message.startswith(of) and f"step {step} of" in message:
            raise KeyboardInterrupt

    return Progress(status=how), statuses


def test_an_interrupted_training_goes_on(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trained_by_plan("rated-0")(RATED, NO_PROGRESS)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "another"))
    with pytest.raises(KeyboardInterrupt):
        trained_by_plan("rated-0")(RATED, stopped_at(2)[0])
    assert [path.name for path in trained_folder().iterdir()] == ["rated-0.training"]
    progress, statuses = stopped_at(10**6)
    again = trained_by_plan("rated-0")(RATED, progress)
    assert not any("step 1 of" in message for message in statuses)
    assert again.settings == whole.settings  # the digest of the weights with it
    assert (again.scores == whole.scores).all()
    assert [path.name for path in trained_folder().iterdir()] == ["rated-0"]


def test_a_training_tells_its_steps_and_how_well_it_goes() -> None:
    steps: list[tuple[int, int]] = []
    statuses: list[str] = []
    trained_by_plan("rated-0")(
        RATED, Progress(step=lambda *at: steps.append(at), status=statuses.append)
    )
    (count,) = {of for _, of in steps}
    assert steps == [(step, count) for step in range(1, count + 1)]
    first, *ways, last = statuses
    assert first == "training rated-0"
    assert last == ""  # before the scoring
    for step, message in enumerate(ways, 1):
        assert re.match(rf"rated-0: step {step} of {count}, loss \d+\.\d{{4}}\b", message)
    assert re.search(r", pearson -?\d\.\d{3}$", ways[-1])  # on what is held out


def left_out_of(ratings: Ratings) -> tuple[set[str], set[str]]:
    """The language pairs of the table's own ratings, and of the others."""
    rows = list(zip(ratings.ids["dataset"], ratings.ids["lp"], strict=True))
    return {p for d, p in rows if d == "wmt02-da"}, {p for d, p in rows if d != "wmt02-da"}


def test_one_pair_after_the_other_is_left_out(fitted: Fitted) -> None:
    scores = fine_tuned_by_pair("first", "second", others=("wmt01-da",))
    scored = scores(RATED, NO_PROGRESS)
    (first, nothing), *others = fitted
    assert (first.name, nothing) == ("first", ())
    start = str(trained_folder() / "first")
    assert [metric.plan.start for metric, _ in others] == [start] * 2
    both = {"cs-en", "de-en"}
    assert [left_out_of(ratings) for _, ratings in others] == [({"cs-en"}, both), ({"de-en"}, both)]
    assert [len(ratings) for _, ratings in others] == [24 + 6] * 2
    # Every row has the score of the metric that did not learn from its pair.
    folders = {path.name[:5]: path for path in (trained_folder() / "second").iterdir()}
    assert set(folders) == both
    assert RATED.segments is not None
    for pair, folder in folders.items():
        rows = [row for row, of in enumerate(RATED.ids["lp"]) if of == pair]
        alone = plainly(f"second/{folder.name}", RATED.segments.select(rows))
        assert scored.scores[rows] == pytest.approx(alone, abs=1e-5)
    assert (scores(RATED, NO_PROGRESS).scores == scored.scores).all()
    assert len(fitted) == 3
    check_settings_of_both(scored.settings, folders)


def check_settings_of_both(settings: str, folders: dict[str, Path]) -> None:
    first, second = settings.split("; for each pair then ")
    assert "|plan:first|" in first
    assert "|encoder:tiny|data:wmt01-rr|" in first
    assert "|plan:second|" in second
    assert "|encoder:tiny|data:wmt01-da + wmt02-da|" in second
    for pair, folder in folders.items():
        stored = read_description(folder)
        assert f"{pair} {stored.identity[:12]}" in second
        assert stored.settings["plan"]["start"] == "first"  # no path of the machine


def test_interrupted_between_pairs(fitted: Fitted) -> None:
    scores = fine_tuned_by_pair("first", "second", others=("wmt01-da",))
    with pytest.raises(KeyboardInterrupt):
        scores(RATED, stopped_at(1, "second/cs-en")[0])
    assert len(fitted) == 3
    scores(RATED, NO_PROGRESS)
    assert len(fitted) == 4  # only the pair that was not finished


def test_another_start_makes_other_metrics(plans: Path, fitted: Fitted) -> None:
    scores = fine_tuned_by_pair("first", "second", others=())
    scores(RATED, NO_PROGRESS)
    path = plans / "first.toml"
    path.write_text(path.read_text().replace('"tiny"', '"tiny"\nseed = 3'))
    shutil.rmtree(trained_folder() / "first")
    scores(RATED, NO_PROGRESS)
    assert len(fitted) == 2 * 3
    path = plans / "second.toml"
    path.write_text(path.read_text().replace("0.5", "0.6"))
    message = sentence(lambda: scores(RATED, NO_PROGRESS))
    assert f"delete {trained_folder() / 'second'} to train anew" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("first", "wmt01-rr", "wmt02-rr"), "changed.toml learns from wmt02-rr"),
        (("first", "[[stage]]", '[development]\ndata = ["wmt02-rr"]\n[[stage]]'), "from wmt02-rr"),
        (("first", "objective", "objectiv"), 'has no setting "objectiv"'),
        (("first", "tiny", "no-such-model"), "name the folder that holds it in ADEQUA_MODELS"),
    ],
    ids=["same year", "chosen on the year", "unknown key", "no encoder"],
)
def test_plans_that_cannot_be_measured(
    change: tuple[str, str, str], message: str, plans: Path
) -> None:
    name, old, new = change
    (plans / "changed.toml").write_text((plans / f"{name}.toml").read_text().replace(old, new))
    assert message in sentence(lambda: trained_by_plan("changed")(RATED, NO_PROGRESS))
    assert message in sentence(
        lambda: fine_tuned_by_pair("changed", "second", ())(RATED, NO_PROGRESS)
    )
    assert not trained_folder().exists()


def test_further_sentences(fitted: Fitted) -> None:
    message = sentence(lambda: trained_by_plan("absent")(RATED, NO_PROGRESS))
    assert message.startswith("There is no plans/absent.toml, by which this row is trained; run")
    assert "leave out the data" in sentence(
        lambda: fine_tuned_by_pair("first", "rated-0", ())(RATED, NO_PROGRESS)
    )
    assert "Only ratings" in sentence(
        lambda: fine_tuned_by_pair("first", "second", ())(RANKED, NO_PROGRESS)
    )
    assert not fitted


def test_a_row_of_a_table(tmp_path: Path) -> None:
    measured = PaperRow("one", "One", trained_by_plan("rated-0"), cost="gpu")
    unmeasured = PaperRow("two", "Two", trained_by_plan("rated-1"), cost="gpu")
    rows = (measured, unmeasured)
    table = PaperTable("small", "Small", "of nobody", "wmt02-da", "pearson", rows)
    results = reproduce(table, tmp_path / "results", rows=("one",))
    by_hand = np.mean(
        [
            np.corrcoef(plainly("rated-0", RATED.segments)[at], RATED.scores[at])[0, 1]
            for at in (np.array(RATED.ids["lp"]) == pair for pair in ("cs-en", "de-en"))
        ]
    )
    average = results.figure("one", "average")
    assert average is not None
    assert average.measured == pytest.approx(by_hand, abs=1e-4)
    assert results.measurements["one"].command == "adequa reproduce small --system one"
    assert "Two" not in results.to_text()
