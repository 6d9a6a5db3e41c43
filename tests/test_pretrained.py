"""The metric that ships with the package, and the sentence where it does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.packed import metric as packed_metric
from adequa.learned.packed.metric import Adequa, PackedPair
from adequa.metrics import saved
from adequa.metrics.base import Metric
from adequa.metrics.registry import METRICS, load_metric, metric_class, settings_of
from adequa.pretrained import METRIC_FOLDER
from adequa.segments import Segments
from tiny_packed import packed_by_hand, tiny_packed

pytest.importorskip("onnxruntime")

SEGMENTS = Segments(
    ("a cat sat", "the cat", "", "dog"),
    (("the cat", "a dog sat"), ("the cat", "dog"), ("a mat",), ("the dog", "a dog")),
)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny metric in the place of the shipped one."""
    pytest.importorskip("onnx")
    folder = tiny_packed(tmp_path / "adequa", name="adequa")
    monkeypatch.setattr(packed_metric, "METRIC_FOLDER", folder)
    return folder


def test_the_registry_tells_the_truth() -> None:
    found = metric_class("adequa")
    assert found is Adequa
    assert found.name == "adequa"
    assert found.range == (0.0, 1.0)
    assert METRICS["adequa"].is_trained
    assert settings_of(found) == {"device": "cpu", "references": "best", "threads": None}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Adequa().device = "cuda"  # type: ignore[misc]


def test_it_scores_as_its_folder_does(shipped: Path) -> None:
    for words in ("", "references=mean,threads=1"):
        metric, same = load_metric(f"adequa:{words}"), load_metric(f"{shipped}:{words}")
        found, expected = metric.score(SEGMENTS), same.score(SEGMENTS)
        np.testing.assert_array_equal(found.segments, expected.segments)
        assert found.signature == expected.signature
    assert load_metric("adequa").score(SEGMENTS).segments[3] == pytest.approx(
        max(packed_by_hand("dog", "the dog"), packed_by_hand("dog", "a dog")), abs=1e-5
    )


def test_it_keeps_scores_and_tells_of_them(shipped: Path, tmp_path: Path) -> None:
    first, second = Adequa(), Adequa()
    scores = [_kept(metric, tmp_path / "scores.db") for metric in (first, second)]
    assert scores[0] == scores[1]
    assert "session" in vars(first.packed)
    assert "session" not in vars(second.packed)
    assert second.remarks() == ()


def _kept(metric: Metric, file: Path) -> list[float]:
    metric.enable_cache(file, 1 << 20)
    found: list[float] = metric.score(SEGMENTS).segments.tolist()
    return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("device=tpu", '"tpu" is not a value of device; choose one of cpu, cuda.'),
        ("references=worst", '"worst" is not a value of references; choose one of best, mean.'),
        ("threads=0", "threads must be from 1 to 1024, not 0."),
        ("threads=few", "adequa: threads must be a whole number or none, not 'few'."),
        ("precision=int8", 'adequa has no setting named "precision".'),
    ],
)
def test_settings_that_are_wrong(words: str, said: str) -> None:
    with pytest.raises(AdequaError) as caught:
        load_metric(f"adequa:{words}")
    assert str(caught.value).startswith(said)


def test_a_copy_without_weights_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_metric, "METRIC_FOLDER", tmp_path)
    metric = load_metric("adequa")
    with pytest.raises(AdequaError) as caught:
        metric.score(SEGMENTS)
    assert str(caught.value) == (
        "This copy of adequa was built without the weights of its own metric: install it from a "
        "release, or name other metrics, such as -m bleu -m chrf."
    )


def test_what_is_shipped() -> None:
    """The folder as it comes with the package: whole, small, and as the class describes it."""
    described = saved.read_description(METRIC_FOLDER)
    assert described.name == "adequa"
    assert described.settings["references"] == settings_of(Adequa)["references"]
    assert (METRIC_FOLDER / saved.CARD).is_file()
    assert sum(path.stat().st_size for path in METRIC_FOLDER.iterdir()) <= 40_000_000
    metric = load_metric("adequa")
    assert isinstance(metric, Adequa)
    assert isinstance(metric.packed, PackedPair)
    good, bad, same, empty = metric.score(
        Segments(
            (
                "The committee did not approve the budget.",
                "Tomatoes grow best in a warm place.",
                "The budget was not approved by the committee.",
                "",
            ),
            (("The budget was not approved by the committee.",),) * 4,
        )
    ).segments.tolist()
    assert 0 == empty < bad < 0.5 < good < same == 1
