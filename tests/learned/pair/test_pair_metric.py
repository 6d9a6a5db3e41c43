"""The pair regressor on a tiny transformer: it learns from people and from metrics, by a plan."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders.surface import SURFACE
from adequa.errors import AdequaError
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import DevelopmentPlan, Plan, SourcePlan, StagePlan
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_transformer import (
    POSITIONS,
    outputs,
    tiny_preferences,
    tiny_ratings,
    write_tiny_encoder,
    write_tokenizer,
)

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

QUICK = StagePlan("ratings", batch=(8,), pool=50, epochs=(6.0,), learning_rate=(5e-3,))
UNSEEN, QUALITY = outputs(60, seed=9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_encoder(tmp_path_factory.mktemp("encoder"), dropout=0.1))


@pytest.fixture(scope="module")
def fitted(encoder: str) -> PairRegressor:
    """Trained on ratings; no test changes it."""
    return PairRegressor(Plan(encoder=encoder, stage=(QUICK,)), device="cpu").fit(tiny_ratings(60))


@pytest.fixture(scope="module")
def saved(fitted: PairRegressor, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("metrics") / "tiny"
    fitted.save(folder)
    return str(folder)


def correlation(metric: PairRegressor) -> float:
    return float(np.corrcoef(metric.score(UNSEEN).segments, QUALITY)[0, 1])


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_ratings_are_learnt_on_their_own_scale(fitted: PairRegressor) -> None:
    assert correlation(fitted) > 0.85
    found = fitted.score(UNSEEN)
    assert found.segments.mean() == pytest.approx(10 * QUALITY.mean() + 50, abs=5)
    assert found.system == pytest.approx(found.segments.mean())
    assert fitted.agreement_["pearson"] > 0.8
    assert fitted.agreement_["held_out"]["ratings"] > 0
    assert fitted.training_["rows"] + fitted.agreement_["held_out"]["ratings"] == 60
    assert len(fitted.training_["history"]) == 6


def test_preferences_first_then_ratings(encoder: str) -> None:
    stages = replace(QUICK, objective="preferences", batch=(4,)), replace(QUICK, epochs=(3.0,))
    told: list[str] = []
    named: list[str] = []
    metric = PairRegressor(Plan(encoder=encoder, stage=stages), device="cpu").fit(
        [tiny_preferences(90), tiny_ratings(48)], Progress(stage=named.append, status=told.append)
    )
    assert correlation(metric) > 0.85
    assert [each["stage"] for each in metric.training_["history"]][::6] == [
        "preferences (1 of 2)", "ratings (2 of 2)",
    ]  # fmt: skip
    assert "Learning from ratings (2 of 2)" in named
    assert "accuracy" in told[-1]
    assert metric.training_["data"] == "ranked + rated"


def test_a_grid_is_chosen_from(encoder: str) -> None:
    stage = replace(QUICK, learning_rate=(1e-9, 5e-3), batch=(8, 16), epochs=(3.0,))
    metric = PairRegressor(Plan(encoder=encoder, stage=(stage,)), device="cpu").fit(
        tiny_ratings(48)
    )
    chosen = metric.training_["chosen"]
    assert chosen["stage 1 learning_rate"] == 5e-3
    assert chosen["stage 1 batch"] in (8, 16)
    assert set(chosen) == {"stage 1 learning_rate", "stage 1 batch"}


def test_a_student_comes_close_to_its_teacher(encoder: str) -> None:
    """Taught by the surface, of which it sees enough to tell what chrF says."""
    stage = replace(QUICK, objective="distillation", teacher=("chrf",), epochs=(4.0,))
    plan = Plan(encoder=encoder, surface=True, stage=(stage,))
    metric = PairRegressor(plan, device="cpu").fit([tiny_ratings(60), tiny_preferences(60)])
    taught = load_metric("chrf").score(UNSEEN).segments
    found = metric.score(UNSEEN).segments
    assert np.corrcoef(found, taught)[0, 1] > 0.9
    assert found.mean() == pytest.approx(taught.mean(), abs=5)  # on the teacher's scale
    assert metric.training_["stages"][0][0]["teacher"] == ["chrf"]


def test_a_teacher_whose_lower_scores_are_better(encoder: str) -> None:
    stage = replace(QUICK, objective="distillation", teacher=("ter",), epochs=(8.0,))
    plan = Plan(encoder=encoder, surface=True, stage=(stage,))
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(60))
    taught = load_metric("ter").score(UNSEEN).segments
    assert np.corrcoef(metric.score(UNSEEN).segments, taught)[0, 1] < -0.8


def test_surface_features_see_what_the_encoder_cannot(encoder: str) -> None:
    """Case: every word of the tiny tokenizer is in lower case, and others are all the same."""
    texts = Segments(("THE CAT", "The Cat", "DOG RAN"), (("The Cat",),) * 3)
    plan = Plan(encoder=encoder, stage=(replace(QUICK, epochs=(1.0,)),))
    blind = PairRegressor(plan, device="cpu").fit(tiny_ratings(24)).score(texts).segments
    assert blind == pytest.approx(blind[0], abs=1e-6)
    seeing = PairRegressor(replace(plan, surface=True), device="cpu").fit(tiny_ratings(24))
    assert len(set(seeing.score(texts).segments.tolist())) == 3
    assert len(seeing.settings()["surface"]) == seeing.settings()["head"]["surface"] > 0


def test_emoji_are_learnt_from_texts_that_get_some(encoder: str) -> None:
    """All emoji are the same to the encoder, and no text to train on has any by itself."""
    damage = SourcePlan("damage", spared=("untranslated",), margin=1.0)  # which has other scripts

    def trained(symbols: float) -> PairRegressor:
        stage = replace(QUICK, epochs=(2.0,), beside=(replace(damage, symbols=symbols),))
        plan = Plan(encoder=encoder, surface=True, stage=(stage,))
        return PairRegressor(plan, device="cpu").fit(tiny_ratings(40))

    symbol_overlap = SURFACE.index("symbol_overlap")
    never, often = (
        trained(symbols).model_.network.get_parameter("skip")[symbol_overlap]
        for symbols in (0.0, 0.5)
    )
    assert never == 0
    assert often > 0.01


@pytest.mark.parametrize("head", [{"pooling": "cls"}, {"hidden_layers": 2, "units": 8},
                                  {"layers": "0+2"}], ids=["cls", "mlp", "layers"])  # fmt: skip
def test_heads(encoder: str, tmp_path: Path, head: dict[str, Any]) -> None:
    plan = Plan(encoder=encoder, stage=(replace(QUICK, epochs=(1.0,)),), **head)
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
    metric.save(tmp_path / "m")
    again = load_metric(f"{tmp_path / 'm'}:device=cpu")
    assert again.score(UNSEEN).segments == pytest.approx(metric.score(UNSEEN).segments, abs=1e-5)


def test_same_seed_same_metric(encoder: str, tmp_path: Path) -> None:
    """And no random number of the rest of the program is drawn."""
    plan = Plan(encoder=encoder, stage=(replace(QUICK, epochs=(1.0,)),))
    digests = []
    for number, seed in enumerate((0, 0, 1)):
        torch.manual_seed(number)
        before = torch.get_rng_state()
        metric = PairRegressor(replace(plan, seed=seed), device="cpu").fit(tiny_ratings(24))
        assert torch.equal(torch.get_rng_state(), before)
        metric.save(tmp_path / f"{number}")
        digests.append(metric.digest_)
    assert digests[0] == digests[1] != digests[2]


def test_weights_that_an_encoder_lacks_follow_the_seed(encoder: str, tmp_path: Path) -> None:
    """A pooler, which is of no use, is often not in the file."""
    from safetensors.torch import load_file, save_file

    folder = write_tiny_encoder(tmp_path / "encoder")
    weights = load_file(folder / "model.safetensors")
    lacking = {name: tensor for name, tensor in weights.items() if "pooler" not in name}
    assert len(lacking) < len(weights)
    save_file(lacking, folder / "model.safetensors", {"format": "pt"})
    plan = Plan(encoder=str(folder), stage=(replace(QUICK, epochs=(0.2,)),))
    digests = []
    for number in range(2):
        torch.manual_seed(number)
        before = torch.get_rng_state()
        metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
        assert torch.equal(torch.get_rng_state(), before)
        metric.save(tmp_path / f"{number}")
        digests.append(metric.digest_)
    assert digests[0] == digests[1]


def test_a_plan_from_python_takes_plain_numbers(encoder: str) -> None:
    """As a plan in a file does, where a list is only needed to try several values."""
    lists = replace(QUICK, batch=(8,), learning_rate=(1e-4,), epochs=(0.5,))
    numbers = replace(QUICK, batch=8, learning_rate=1e-4, epochs=0.5)  # type: ignore[arg-type]
    one, other = (
        PairRegressor(Plan(encoder=encoder, stage=(stage,)), device="cpu").fit(tiny_ratings(24))
        for stage in (lists, numbers)
    )
    assert one.score(UNSEEN).system == other.score(UNSEEN).system
    assert one.training_["chosen"] == other.training_["chosen"]


def test_going_on_from_a_saved_metric(saved: str, fitted: PairRegressor) -> None:
    slow = replace(QUICK, epochs=(0.2,), learning_rate=(1e-9,))
    plan = Plan(start=saved, stage=(slow,))
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(60))
    assert correlation(metric) == pytest.approx(correlation(fitted), abs=0.01)
    # On another scale than before, that of what it learnt last.
    tenfold = replace(tiny_ratings(60), scores=tiny_ratings(60).scores * 10)
    other = PairRegressor(plan, device="cpu").fit(tenfold)
    assert other.score(UNSEEN).system == pytest.approx(metric.score(UNSEEN).system * 10, rel=0.02)
    assert load_metric(f"{saved}:device=cpu").score(UNSEEN).system == pytest.approx(
        fitted.score(UNSEEN).system
    )


def test_what_cannot_be_gone_on_from(saved: str, tmp_path: Path) -> None:
    def begun(start: str, **head: Any) -> Callable[[], object]:
        plan = Plan(start=start, stage=(QUICK,), **head)
        return lambda: PairRegressor(plan, device="cpu").fit(tiny_ratings(24))

    assert "chrf is not a pair regressor" in sentence(begun("chrf"))
    (tmp_path / "empty").mkdir()
    assert str(tmp_path / "empty") in sentence(begun(str(tmp_path / "empty")))
    assert "surface" in sentence(begun(saved, surface=True))
    assert "pooling" in sentence(begun(saved, pooling="cls"))
    assert "max_length" in sentence(begun(saved, max_length=9))


def test_bad_plans_and_encoders(encoder: str, tmp_path: Path) -> None:
    def fit(**settings: Any) -> Callable[[], object]:
        plan = Plan(**{"encoder": encoder, "stage": (QUICK,), **settings})
        return lambda: PairRegressor(plan, device="cpu").fit(tiny_ratings(24))

    missing = str(tmp_path / "none" / "such")
    assert missing in sentence(fit(encoder=missing))
    (tmp_path / "bare").mkdir()
    assert "lacks config.json" in sentence(fit(encoder=str(tmp_path / "bare")))
    assert "no model of that name" in sentence(fit(encoder="no-such-model-of-ours"))
    assert 'no pooling named "means"' in sentence(fit(pooling="means"))
    assert "layers=9" in sentence(fit(layers="9"))
    assert "max_length must be between" in sentence(fit(max_length=1000))
    assert "has no stage" in sentence(fit(stage=()))


def test_not_fitted_yet(encoder: str) -> None:
    metric = PairRegressor(Plan(encoder=encoder, stage=(QUICK,)))
    assert "not been trained" in sentence(lambda: metric.score(UNSEEN))
    assert "not been trained" in sentence(lambda: metric.save("nowhere"))


def test_too_little_memory(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from adequa.learned.pair import devices

    monkeypatch.setattr(devices, "_total_memory", lambda _: 28 * 1000)
    plan = Plan(encoder=encoder, stage=(QUICK,))
    found = sentence(lambda: PairRegressor(plan, device="cpu").fit(tiny_ratings(24)))
    assert "GiB and more, and cpu has 0.0 GiB" in found
    assert "would fit" in found


def test_without_pytorch(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first of its modules that imports PyTorch, which is as good as gone for it then.
    monkeypatch.setitem(sys.modules, "adequa.learned.pair.data", None)
    plan = Plan(encoder=encoder, stage=(QUICK,))
    found = sentence(lambda: PairRegressor(plan).fit(tiny_ratings(24)))
    assert "pip install 'adequa[train]'" in found


def test_a_training_goes_on_and_not_with_another_plan(encoder: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    seen: list[int] = []

    def advance(step: int, _: int) -> None:
        seen.append(step)
        if step == 12:
            raise StopError

    from adequa.learned import training

    plan = Plan(encoder=encoder, stage=(replace(QUICK, epochs=(3.0,)),))
    metric = PairRegressor(
        plan, device="cpu", checkpoints=tmp_path / "kept", seconds_between_checkpoints=0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
        with pytest.raises(StopError):
            metric.fit(tiny_ratings(48), Progress(step=advance))
        with pytest.raises(AdequaError, match="another plan, or of other data"):
            metric.fit(tiny_ratings(45))
        other = replace(metric, plan=replace(plan, seed=1))
        with pytest.raises(AdequaError, match="another plan"):
            other.fit(tiny_ratings(48))
        seen.clear()
        metric.fit(tiny_ratings(48), Progress(step=lambda step, _: seen.append(step)))
    assert seen[0] == 12  # the eleven before are not done again
    metric.save(tmp_path / "saved")
    assert not (tmp_path / "kept").exists()
    whole = PairRegressor(plan, device="cpu").fit(tiny_ratings(48))
    assert (whole.score(UNSEEN).segments == metric.score(UNSEEN).segments).all()
    assert whole.training_ == metric.training_


def test_long_texts_are_cut_with_a_remark(fitted: PairRegressor, saved: str) -> None:
    metric = load_metric(f"{saved}:device=cpu")
    metric.score(UNSEEN)
    assert metric.remarks() == ()
    long = Segments(("good " * 50, "good"), (("the cat",), ("the cat",)))
    assert np.isfinite(metric.score(long).segments).all()
    (remark,) = metric.remarks()
    assert remark == (
        f"pair-regressor read the first {POSITIONS} tokens only of 1 pair of hypothesis and "
        "reference."
    )
    metric.score(long.select([0, 0, 1]))  # each time that it comes, in one call or in several
    assert "only of 3 pairs of" in metric.remarks()[0]
    assert fitted.remarks() == ()


def test_lower_case_where_the_encoder_asks_for_it(tmp_path: Path) -> None:
    """A folder of sentence-transformers may say so."""
    folder = write_tiny_encoder(tmp_path / "encoder")
    write_tokenizer(folder)
    transformer = {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}
    (folder / "modules.json").write_text(json.dumps([transformer]))
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    plan = Plan(encoder=str(folder), stage=(replace(QUICK, epochs=(0.5,)),),
                development=DevelopmentPlan(share=0))  # fmt: skip
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
    texts = Segments(("THE CAT", "the cat"), (("The Cat",), ("the cat",)))
    one, other = metric.score(texts).segments
    assert one == pytest.approx(other, abs=1e-6)
    metric.save(tmp_path / "m")
    assert load_metric(f"{tmp_path / 'm'}:device=cpu").score(texts).segments == pytest.approx(
        [one, one], abs=1e-6
    )
