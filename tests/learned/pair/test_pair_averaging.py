"""The mean of the weights of pair regressors, and the command that makes it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adequa.cli.main import main
from adequa.errors import AdequaError
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import Plan, StagePlan
from adequa.metrics.registry import load_metric
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.ensemble import average_metrics  # noqa: E402  # needs PyTorch

QUICK = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(5e-3,))
TEXTS, _ = outputs(20, seed=9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three metrics over one encoder: the second goes on from the first, the third is wider."""
    place = tmp_path_factory.mktemp("metrics")
    write_tiny_encoder(place / "encoder", dropout=0.0)
    first = Plan(encoder=str(place / "encoder"), surface=True, stage=(QUICK,), seed=3)
    second = Plan(start=str(place / "one"), stage=(QUICK,), seed=4)
    wider = replace(first, hidden_layers=1, units=8)
    for name, plan in (("one", first), ("two", second), ("wide", wider)):
        PairRegressor(plan, device="cpu", name=name).fit(tiny_ratings(32)).save(place / name)
    return place


def loaded(folder: Path, name: str) -> PairRegressor:
    metric = load_metric(f"{folder / name}:device=cpu")
    assert isinstance(metric, PairRegressor)
    return metric


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[object, str, str]:
    monkeypatch.setattr(sys, "argv", ["adequa", "train", "average", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    shown = capsys.readouterr()
    return caught.value.code or 0, shown.out, shown.err


def test_every_weight_is_the_mean(folder: Path) -> None:
    one, two = loaded(folder, "one"), loaded(folder, "two")
    made = average_metrics([one, two], "both")
    found = made.model_.network.state_dict()
    parts = [metric.model_.network.state_dict() for metric in (one, two)]
    changed = 0
    for key, value in found.items():
        first, second = (part[key].double() for part in parts)
        expected = ((first + second) / 2).numpy()
        np.testing.assert_allclose(value.double().numpy(), expected, rtol=1e-6, atol=1e-7)
        changed += bool((first != second).any())
    assert changed > 10  # the two are not the same network
    two.model_.max_length -= 1
    assert average_metrics([two, one], "both").model_.max_length == one.model_.max_length - 1
    # What it was made from is as it was.
    again = loaded(folder, "two").model_.network.state_dict()
    assert all(torch.equal(again[key], value) for key, value in parts[1].items())


def test_shares_are_the_weights_of_the_mean(folder: Path) -> None:
    one, two = loaded(folder, "one"), loaded(folder, "two")
    made = average_metrics([one, two], "both", [1, 3])
    found = made.model_.network.state_dict()
    parts = [metric.model_.network.state_dict() for metric in (one, two)]
    for key, value in found.items():
        first, second = (part[key].double() for part in parts)
        expected = (first / 4 + second * 3 / 4).numpy()
        np.testing.assert_allclose(value.double().numpy(), expected, rtol=1e-6, atol=1e-7)
    assert [part["share"] for part in made.training_["averaged"]] == [1, 3]
    assert "share" not in average_metrics([one, two], "both").training_["averaged"][0]
    for shares, sentence in (
        ([1], "A mean of 2 metrics takes as many shares, not 1; give one for each."),
        ([1, 0], "The share of two must be a number above 0, not 0."),
    ):
        with pytest.raises(AdequaError) as caught:
            average_metrics([one, two], "both", shares)
        assert str(caught.value) == sentence


def test_a_mean_of_near_networks_scores_between_them(folder: Path) -> None:
    """So near that the network is all but a line between them."""
    one, two = loaded(folder, "one"), loaded(folder, "two")
    state = one.model_.network.state_dict()
    apart = {
        key: value + 1e-3 * (two.model_.network.state_dict()[key] - value)
        for key, value in state.items()
    }
    two.model_.network.load_state_dict(apart)
    scores = [
        metric.score(TEXTS).segments for metric in (one, average_metrics([one, two], "both"), two)
    ]  # fmt: skip
    assert np.abs(scores[0] - scores[2]).max() > 1e-5
    np.testing.assert_allclose(scores[1], (scores[0] + scores[2]) / 2, rtol=1e-6)


def test_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    code, shown, told = run(monkeypatch, capsys, "-m", "one", "-m", "two", "-o", "both")
    assert (code, told) == (0, "")
    assert shown.splitlines() == [
        "both: the mean of the weights of 2 metrics",
        "",
        "part  name  trained on",
        "   1  one   rated",
        "   2  two   rated",
        "",
        "Measure it before you use it: only networks near each other have a useful mean.",
        "Saved in both; use it with: adequa score -m both -t FILE -r FILE",
    ]
    one, two, both = (loaded(folder, name) for name in ("one", "two", "both"))
    np.testing.assert_array_equal(
        both.score(TEXTS).segments, average_metrics([one, two], "both").score(TEXTS).segments
    )
    card = (folder / "both" / "README.md").read_text(encoding="utf-8")
    assert card.count("| one, 1 | ratings |") == 1  # though the second went on from it
    assert "| two, 1 | ratings |" in card
    assert f"mean of those of one ({one.digest_[:8]}" in card
    assert "adequa evaluate" in card


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("one",), "A mean of weights needs at least two pair regressors."),
        (("one", "one"), "one is there twice: the same weights count once."),
        (("one", "wide"), "The weights of one and wide have no mean: their heads differ."),
    ],
)
def test_what_has_no_mean(folder: Path, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(AdequaError) as caught:
        average_metrics([loaded(folder, name) for name in names], "new")
    assert str(caught.value) == said


def test_another_encoder_has_no_mean(folder: Path) -> None:
    one, two = loaded(folder, "one"), loaded(folder, "two")
    two.encoder_ = "other"
    with pytest.raises(AdequaError, match="their pretrained encoders differ"):
        average_metrics([one, two], "new")


def test_other_metrics_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    code, shown, told = run(monkeypatch, capsys, "-m", "one", "-m", "bleu", "-o", "new")
    assert (code, shown) == (2, "")
    assert "bleu is no pair regressor; `adequa train ensemble` takes the mean" in told
    assert not (folder / "new").exists()
