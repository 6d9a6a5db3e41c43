"""Ratings of several datasets in one training: scales of their own, rater noise and transforms."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.judgements import Ratings
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import DevelopmentPlan, Plan, SourcePlan, StagePlan
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # noqa: E402  # it needs PyTorch
from adequa.learned import training  # noqa: E402
from adequa.learned.pair.data import log_penalty  # noqa: E402
from adequa.learned.pair.network import OutputScales, output_scales  # noqa: E402
from adequa.learned.pair.objectives import Distillation, RatingRegression  # noqa: E402
from adequa.learned.pair.train import LearningRates, PairStage, StageObjective, adamw  # noqa: E402
from tiny_pair_data import RATINGS, collected, rated, sentence  # noqa: E402

NOTHING_HELD_OUT = DevelopmentPlan(share=0)
SCALED = StagePlan(
    "ratings", own_scale=True, batch=(8,), pool=50, epochs=(20.0,), learning_rate=(5e-3,)
)
UNSEEN, _ = outputs(60, seed=9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_encoder(tmp_path_factory.mktemp("encoder"), dropout=0.0))


pytestmark = pytest.mark.usefixtures("one_thread")


def better_half(count: int, name: str = "image", slope: float = 3, intercept: float = 5) -> Ratings:
    """Other ratings of the better outputs: standardised, they are not those of all outputs."""
    ratings = tiny_ratings(count, name=name)
    ratings = ratings.select(np.flatnonzero(ratings.scores >= 50))
    return replace(ratings, scores=slope * ratings.scores + intercept)


def fitted(encoder: str, stage: StagePlan, *data: Ratings, **more: Any) -> PairRegressor:
    plan = Plan(encoder=encoder, development=NOTHING_HELD_OUT, stage=(stage,))
    return PairRegressor(plan, device="cpu", **more).fit(list(data))


# Affine maps


def test_scales_are_affine_and_scale_0_is_the_network_s_own() -> None:
    scales = OutputScales(2)
    with torch.no_grad():
        scales.log_slopes.copy_(torch.tensor([np.log(3.0), -40.0]))
        scales.intercepts.copy_(torch.tensor([5.0, -1.0]))
    mapped = scales(torch.tensor([2.0, 2.0, 2.0, -1.0]), np.array([0, 1, 2, 1]))
    assert mapped.tolist() == pytest.approx([2, 11, -1, 2])
    slopes, intercepts = zip(*scales.values(), strict=True)
    assert slopes[:2] == pytest.approx((1, 3))
    assert slopes[2] > 0  # whatever the training does
    assert intercepts == (0, 5, -1)
    assert OutputScales(0).values() == [(1, 0)]


def test_affine_images_of_one_another_are_learnt_as_one_set(encoder: str) -> None:
    """All items are a step, until the network knows them."""
    stage = replace(SCALED, batch=(72,), epochs=(200.0,), head_rate=5.0, evaluations=1)
    one, image = tiny_ratings(36), better_half(36)
    assert one.segments is not None
    agreement = {}
    for name, own, data in (
        ("alone", False, [one]), ("scaled", True, [one, image]), ("mixed", False, [one, image]),
    ):  # fmt: skip
        metric = fitted(encoder, replace(stage, own_scale=own), *data)
        scores = metric.score(one.segments).segments
        agreement[name] = np.corrcoef(scores, one.scores)[0, 1]
        if name == "scaled":
            assert scores.mean() == pytest.approx(
                one.scores.mean(), abs=1
            )  # its scale is the first
            first, second = metric.training_["stages"][0][0]["output_scales"]
    assert min(agreement["alone"], agreement["scaled"]) > 0.998
    assert agreement["mixed"] < 0.98
    assert [first["dataset"], second["dataset"]] == ["rated", "image"]
    assert (first["slope"], first["intercept"]) == (1, 0)
    assert second["slope"] > 1.4  # standardising has not done all already
    # From scores to ratings: 3 and 5, on the scale of the ratings.
    assert second["slope"] * second["std"] / first["std"] == pytest.approx(3, rel=0.1)
    at_mean = second["mean"] + second["std"] * second["intercept"]
    assert at_mean == pytest.approx(3 * first["mean"] + 5, abs=0.15 * second["std"])


def test_a_single_dataset_with_its_own_scale_is_an_ordinary_one(encoder: str) -> None:
    short = replace(SCALED, epochs=(1.0,))
    one, other = (
        fitted(encoder, replace(short, own_scale=own), tiny_ratings(24)) for own in (True, False)
    )
    assert (one.score(UNSEEN).segments == other.score(UNSEEN).segments).all()


def test_the_learning_rate_of_scales_is_their_own_without_decay() -> None:
    network = tiny.network()
    with output_scales(network, 2) as scales:
        optimiser = adamw(network, LearningRates(1e-5, head_rate=3.0), 0.1)
        (group,) = [
            group
            for group in optimiser.param_groups
            if any(each is scales.intercepts for each in group["params"])
        ]
        assert any(each is scales.log_slopes for each in group["params"])
        assert (group["lr"], group["weight_decay"]) == (0.03, 0)
    assert network.output_scales is None


def test_averages_have_scales_too_and_a_later_stage_leaves_them() -> None:
    """The mean of the last slopes, and no step of a stage that does not use them."""
    numbers = np.repeat([0, 1], tiny.LEARNT // 2)
    objective = RatingRegression(
        np.arange(tiny.LEARNT), tiny.QUALITY[: tiny.LEARNT] * (1 + numbers), scales=numbers
    )
    stage = PairStage(
        "scaled",
        (tiny.trial(StageObjective(objective, 8), epochs=4, average=0.5),),
        keep="last",
    )
    start, slopes = tiny.network(), []
    with output_scales(start, 1) as scales, pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
        tiny.trained(
            [stage],
            start=start,
            report=lambda _: slopes.append(scales.log_slopes.item()),
            most_tokens=10_000,
        )
        mean = float(np.mean(slopes[len(slopes) // 2 :]))
        assert scales.log_slopes.item() == pytest.approx(mean, abs=1e-6)
        assert mean > 0
        after = scales.values()
        tiny.trained([PairStage("plain", (tiny.trial(average=0.5),))], start=start)
        assert scales.values() == after
    assert not any("scale" in name for name, _ in start.named_parameters())


# Stopped and saved


def test_a_stopped_training_ends_in_equal_weights(encoder: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(step: int, _: int) -> None:
        if step == 9:
            raise StopError

    stage = replace(SCALED, epochs=(2.0,), average=0.6, keep="last")
    data = tiny_ratings(48), better_half(48)
    whole = fitted(encoder, stage, *data)
    metric = replace(whole, checkpoints=tmp_path / "kept", seconds_between_checkpoints=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
        with pytest.raises(StopError):
            metric.fit(list(data), Progress(step=stop))
        without = replace(metric.plan, stage=(replace(stage, own_scale=False),))
        other = replace(metric, plan=without)
        assert "another plan" in message(other, data)
        seen: list[int] = []
        metric.fit(list(data), Progress(step=lambda step, _: seen.append(step)))
    assert seen[0] == 9
    assert tiny.same(metric.model_.network, whole.model_.network)
    assert metric.training_ == whole.training_


def message(metric: PairRegressor, data: tuple[Ratings, ...]) -> str:
    from adequa.errors import AdequaError

    with pytest.raises(AdequaError) as caught:
        metric.fit(list(data))
    return str(caught.value)


def test_a_saved_metric_has_no_scales_but_facts(encoder: str, tmp_path: Path) -> None:
    stage = replace(SCALED, epochs=(1.0,))
    metric = fitted(encoder, stage, tiny_ratings(24), better_half(24), name="m")
    plain = fitted(encoder, replace(stage, own_scale=False), tiny_ratings(24))
    assert metric.arrays().keys() == plain.arrays().keys()
    metric.save(tmp_path / "m")
    again = load_metric(f"{tmp_path / 'm'}:device=cpu")
    np.testing.assert_allclose(
        again.score(UNSEEN).segments, metric.score(UNSEEN).segments, atol=1e-4
    )
    description = json.loads((tmp_path / "m" / "metric.json").read_text(encoding="utf-8"))
    ((facts,),) = description["training"]["stages"]
    assert [set(each) for each in facts["output_scales"]] == [
        {"dataset", "mean", "std", "slope", "intercept"}
    ] * 2
    assert description["settings"]["plan"]["stage"][0]["own_scale"] is True
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert "| stage | dataset | slope | intercept |" in card
    assert "| 1 | rated | 1.000 | 0.000 |" in card


# Data


def three() -> dict[str, Any]:
    return {
        "old": rated(("h", "r", 10), ("g", "r", 30), name="old"),
        "new": rated(("i", "s", -1), ("j", "s", 0), ("k", "t|u", -4), name="new"),
        "edits": rated(("l", "v", 70), ("m", "v", 90), name="edits"),
    }


def test_each_dataset_is_standardised_by_itself() -> None:
    beside = SourcePlan("ratings", data=("new", "edits"), own_scale=True)
    data = collected(replace(RATINGS, data=("old",), beside=(beside,)), files=three())
    old, modern = data.stages[0]
    assert (old.scale, modern.scale) == ((20, 10), None)
    assert old.scaled_sets == ()
    assert [(each.dataset, each.scale) for each in modern.scaled_sets] == [("new", 1), ("edits", 2)]
    objective = modern.objective
    assert isinstance(objective, RatingRegression)
    assert objective.scales is not None
    assert objective.scales.tolist() == [1, 1, 1, 1, 2, 2]  # k has two references
    new = np.array([-1, 0, -4, -4])
    assert objective.targets == pytest.approx([*(new - new.mean()) / new.std(), -1, 1])
    assert data.output_scales == 2
    assert data.notes == ()  # though they are on different scales


def test_what_decides_the_scale() -> None:
    """The first numbers without a scale of their own, or else the first dataset."""
    own = SourcePlan("ratings", data=("new", "edits"), own_scale=True)
    cases = {
        "later": (own, SourcePlan("ratings", data=("old",))),
        "teacher": (own, SourcePlan("distillation", data=("old",), teacher=("chrf",))),
        "none": (own, replace(own, data=("old",))),
    }
    numbers = {}
    for name, (first, second) in cases.items():
        stage = StagePlan("damage", data=("new",), beside=(first, second))
        if name == "none":
            stage = StagePlan("ratings", data=first.data, own_scale=True, beside=(second,))
        (data,) = collected(stage, files=three()).stages
        numbers[name] = [each.scale for source in data for each in source.scaled_sets]
        assert [source.scale is not None for source in data][-2:] == (
            [False, True] if name != "none" else [True, False]
        )
    assert numbers == {"later": [1, 2], "teacher": [1, 2], "none": [0, 1, 2]}


def test_every_stage_has_scales_of_its_own() -> None:
    stage = replace(RATINGS, data=("old", "new"), own_scale=True)
    data = collected(stage, stage, files=three())
    numbers = [
        [each.scale for each in source.scaled_sets] for stage in data.stages for source in stage
    ]
    assert numbers == [[0, 1], [0, 2]]
    assert data.output_scales == 2


def test_log_penalty_by_hand() -> None:
    assert log_penalty(np.array([0, -1, -24.0, -25, -90])) == pytest.approx(
        [0, -np.log(2), -np.log(25), -np.log(26), -np.log(26)]
    )
    stage = replace(RATINGS, data=("new",), transform="log-penalty")
    (source,) = collected(stage, files=three()).stages[0]
    targets = -np.log([2, 1, 5, 5])
    assert source.scale == pytest.approx((targets.mean(), targets.std()))
    assert source.facts["transform"] == "log-penalty"
    assert sentence(replace(stage, data=("old",)), files=three()) == (
        "The transform log-penalty takes ratings that are minus a penalty, 0 for a perfect text; "
        "old has a rating of 30."
    )


def test_development_data_are_as_they_are() -> None:
    stage = replace(RATINGS, data=("new",), transform="log-penalty")
    development = DevelopmentPlan(data=("dev",))
    files = three() | {"dev": rated(("x", "y", -3), ("z", "y", 2), name="dev")}
    data = collected(stage, files=files, development=development)
    assert data.development.ratings.tolist() == [-3, 2]


def test_ratings_by_more_people_weigh_more() -> None:
    counted = replace(three()["new"], judgement_counts=np.array([1, 3, 0]))
    stage = replace(RATINGS, data=("new",), noise=2.0)
    data = collected(stage, files={"new": counted})
    (source,) = data.stages[0]
    objective = source.objective
    assert isinstance(objective, RatingRegression)
    assert objective.weights is not None
    assert objective.weights == pytest.approx([1, 3 / (1 + 2 / 3), 1, 1])
    assert source.facts["noise"] == 2
    other = replace(counted, judgement_counts=np.array([1, 4, 0]))
    assert collected(stage, files={"new": other}).digest != data.digest
    plain = replace(stage, noise=0.0)
    alike = [collected(plain, files={"new": each}).digest for each in (counted, three()["new"])]
    assert alike[0] == alike[1] != data.digest
    for unknown in (three()["new"], replace(counted, judgement_counts=np.zeros(3, np.intp))):
        assert sentence(stage, files={"new": unknown}) == (
            "new does not say how many judgements a rating is the mean of, which noise needs; "
            "leave noise out for it."
        )


@pytest.mark.parametrize("kind", [RatingRegression, Distillation])
def test_weighted_squared_error_by_hand(kind: type[RatingRegression]) -> None:
    objective = kind(
        np.array([2, 0, 1]), np.array([1.0, -1.0, 0.5]), np.array([2.0, 1.0, 0.5]), np.arange(3)
    )
    task = objective.task(np.array([0, 2]))
    scores = torch.tensor([3.0, 2.0], dtype=torch.float64)
    assert task.loss(scores).item() == 2 * (3 - 1) ** 2 + 0.5 * (2 - 0.5) ** 2
    assert task.weight == 2.5
    assert task.scales is not None
    assert task.scales.tolist() == [0, 2]


def test_a_dataset_of_equal_ratings_is_a_sentence() -> None:
    files = three() | {"same": rated(("a", "b", 5), ("c", "d", 5), name="same")}
    stage = replace(RATINGS, data=("old", "same"), own_scale=True)
    assert "of 2 here each is 5" in sentence(stage, files=files)
