"""A saved pair regressor: the same scores wherever it lies, however it is read, or a sentence."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import Plan, StagePlan, plan_from
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import Description
from adequa.segments import Segments
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

QUICK = StagePlan("ratings", batch=(8,), epochs=(2.0,), learning_rate=(5e-3,))
TEXTS, _ = outputs(30, seed=9)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> PairRegressor:
    """Trained and saved; its encoder is gone afterwards."""
    folder = tmp_path_factory.mktemp("metrics")
    write_tiny_encoder(folder / "encoder", dropout=0.1)
    plan = Plan(encoder=str(folder / "encoder"), surface=True, stage=(QUICK,), seed=3)
    metric = PairRegressor(plan, device="cpu", name="tiny").fit(tiny_ratings(48))
    metric.save(folder / "tiny")
    shutil.rmtree(folder / "encoder")
    return metric


@pytest.fixture
def saved(fitted: PairRegressor, tmp_path: Path) -> Path:
    """A copy, which stands somewhere else than where it was written."""
    origin = Path(fitted.plan.encoder).parent / "tiny"
    return Path(shutil.copytree(origin, tmp_path / "moved"))


def scores(folder: Path, texts: Segments = TEXTS, **settings: str) -> np.ndarray:
    named = ",".join(f"{key}={value}" for key, value in {"device": "cpu", **settings}.items())
    return load_metric(f"{folder}:{named}").score(texts).segments


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def edited(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path = folder / "metric.json"
    described = json.loads(path.read_text())
    change(described)
    path.write_text(json.dumps(described))
    return folder


def test_the_same_scores_in_another_place(fitted: PairRegressor, saved: Path) -> None:
    assert scores(saved) == pytest.approx(fitted.score(TEXTS).segments, abs=1e-5)


def test_it_is_saved_again_as_it_is(fitted: PairRegressor, saved: Path, tmp_path: Path) -> None:
    again = load_metric(f"{saved}:device=cpu")
    assert isinstance(again, PairRegressor)
    assert str(again.signature(1)) == str(fitted.signature(1))
    again.save(tmp_path / "again")
    assert (scores(tmp_path / "again") == scores(saved)).all()


def test_nothing_is_asked_of_the_network(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refused)
    assert len(scores(saved)) == len(TEXTS)


def test_what_made_it_is_in_metric_json(fitted: PairRegressor, saved: Path) -> None:
    described = json.loads((saved / "metric.json").read_text())
    assert plan_from(described["settings"]["plan"], "metric.json") == fitted.plan
    assert described["kind"] == "pair-regressor"
    assert described["training"]["stages"][0][0]["rows_by_dataset"] == {
        "rated": described["training"]["rows"]
    }
    assert described["training"]["data_digest"]
    assert described["agreement"]["held_out"]["ratings"] > 0
    assert "encoder/model.safetensors" in described["files"]
    assert {path.suffix for path in saved.rglob("*") if path.is_file()} <= {
        ".json", ".npz", ".md", ".safetensors", ".txt",
    }  # fmt: skip


def test_the_card(saved: Path, fitted: PairRegressor) -> None:
    card = (saved / "README.md").read_text()
    assert card.startswith("# tiny\n")
    assert f"| 1 | ratings | rated | {fitted.training_['rows']} |" in card
    assert "adequa score -m" in card
    assert f"{fitted.agreement_['held_out']['ratings']} ratings that were held out" in card
    assert card.count("| ratings (1 of 1) |") == 2  # passes


@pytest.mark.parametrize("most_tokens", ["1", "40", "100000"])
def test_scores_depend_on_no_batch(saved: Path, most_tokens: str) -> None:
    alone = [scores(saved, TEXTS.select([row]))[0] for row in range(0, 30, 6)]
    found = scores(saved, most_tokens=most_tokens)
    assert found[::6] == pytest.approx(alone, rel=1e-5)
    turned = scores(saved, TEXTS.select(list(range(29, -1, -1))), most_tokens=most_tokens)
    assert turned[::-1] == pytest.approx(found, rel=1e-5)


def test_several_references(saved: Path) -> None:
    (one,), (other,) = TEXTS.references[0], TEXTS.references[-1]
    hypothesis = TEXTS.hypotheses[0]
    single = scores(saved, Segments((hypothesis,) * 2, ((one,), (other,))))
    both = Segments((hypothesis,), ((one, other),))
    assert scores(saved, both) == pytest.approx([single.max()], abs=1e-5)
    assert scores(saved, both, references="mean") == pytest.approx([single.mean()], abs=1e-5)
    metric = load_metric(f"{saved}:device=cpu,references=mean")
    assert "references:mean" in str(metric.signature(2))


def test_precision(saved: Path) -> None:
    exact, rough = scores(saved), scores(saved, precision="bf16")
    assert rough.tolist() != exact.tolist()
    assert np.corrcoef(rough, exact)[0, 1] > 0.99
    named = {
        precision: str(load_metric(f"{saved}:device=cpu,precision={precision}").signature(1))
        for precision in ("fp32", "bf16", "auto")
    }
    assert "precision:bf16" in named["bf16"]
    # What is chosen on a machine counts, not that it was left to choose.
    assert named["auto"] == named["fp32"]
    assert "precision" not in named["fp32"]


def test_empty_outputs_have_scores(saved: Path) -> None:
    assert np.isfinite(scores(saved, Segments(("", "  "), (("the cat",),) * 2))).all()


def test_settings_that_are_not_there(saved: Path) -> None:
    assert "no setting named" in sentence(lambda: scores(saved, devic="cpu"))
    assert '"max" is not a value of references' in sentence(lambda: scores(saved, references="max"))
    assert "precision must be" in sentence(lambda: scores(saved, precision="fp8"))
    assert "most_tokens must be" in sentence(lambda: scores(saved, most_tokens="0"))
    assert 'no device "tpu9"' in sentence(lambda: scores(saved, device="tpu9"))


def test_corpora_leave_no_choice_of_a_device(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What job.json says is what workers run on, also where a GPU could be chosen."""
    from adequa.encoders import device as device_module
    from adequa.scoring.manifest import make_job

    asked: list[str] = []

    def device(name: str) -> Any:
        asked.append(name)
        return torch.device("cpu")

    monkeypatch.setattr(device_module, "torch_device", device)
    job, metrics = make_job("/out", (str(saved),), {})
    job.load()
    assert asked == ["cpu", "cpu"]
    assert job.describe(metrics)["devices"] == {"tiny": "cpu"}
    words = f"{saved}:device=cuda:1"
    job, metrics = make_job("/out", (words,), {})
    assert job.describe(metrics)["devices"] == {"tiny": "cuda:1"}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_encoder(saved: Path, name: str) -> None:
    path = saved / "encoder" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert sentence(lambda: scores(saved)).startswith(f"{path} is not the file that metric.json")
    path.unlink()
    assert sentence(lambda: scores(saved)).startswith(f"There is no file {path}")


def test_a_damaged_head(saved: Path) -> None:
    (saved / "weights.npz").write_bytes(b"")
    assert "weights.npz" in sentence(lambda: scores(saved))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda s: s["head"].update(hidden_layers=1), "damaged"),
        (lambda s: s["head"].update(surface=3), "damaged"),
        (lambda s: s["head"].update(layers="1+2"), "damaged"),
        (lambda s: s["head"].update(pooling="sum"), "no pooling"),
        (lambda s: s["head"].update(more=1), "damaged"),
        (lambda s: s.pop("head"), "damaged"),
        (lambda s: s.update(max_length=10**6), "damaged"),
        (lambda s: s.update(max_length="long"), "damaged"),
        (lambda s: s.update(surface=["length"]), "other surface features"),
        (lambda s: s["plan"].update(more=1), 'no setting "more"'),
        (lambda s: s.update(plan=3), "table"),
    ],
    ids=["hidden", "features", "layers", "pooling", "unknown", "no-head", "too-long", "no-number",
         "surface", "plan-key", "no-plan"],
)  # fmt: skip
def test_damaged_settings(
    saved: Path, change: Callable[[dict[str, Any]], object], expected: str
) -> None:
    edited(saved, lambda described: change(described["settings"]))
    found = sentence(lambda: scores(saved))
    assert expected in found
    if expected == "damaged":
        assert str(saved) in found


def test_a_fitted_metric_is_not_the_one_that_was_saved_before(
    fitted: PairRegressor, saved: Path
) -> None:
    """The signature of what was trained again names no weights of a file."""
    metric = load_metric(f"{saved}:device=cpu")
    assert isinstance(metric, PairRegressor)
    assert "unsaved" not in str(metric.signature(1))
    again = PairRegressor(Plan(start=str(saved), stage=(QUICK,)), device="cpu")
    again.digest_ = metric.digest_
    again.fit(tiny_ratings(24))
    assert "weights:unsaved" in str(again.signature(1))


def test_the_identity_covers_every_file() -> None:
    """Two metrics with the same head and other encoders have different signatures."""
    one = Description("k", "n", {}, digest="d", files={"encoder/a": "1", "encoder/b": "2"})
    assert one.identity != replace(one, files={"encoder/a": "1", "encoder/b": "3"}).identity
    assert one.identity != replace(one, files={"encoder/a": "1"}).identity
    assert one.identity != replace(one, digest="e").identity
    turned = {"encoder/b": "2", "encoder/a": "1"}
    assert one.identity == replace(one, files=turned).identity
    assert replace(one, files={}).identity == "d"  # as metrics had it before they had files
