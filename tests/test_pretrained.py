"""The metrics that ship with the package, and the sentence where one does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from adequa import pretrained
from adequa.comparison.significance import shipped_agreement
from adequa.errors import AdequaError
from adequa.learned.packed.metric import Adequa, Adequa1, AdequaFast, PackedPair, ShippedMetric
from adequa.metrics import saved
from adequa.metrics.base import Metric
from adequa.metrics.registry import METRICS, load_metric, metric_class, settings_of
from adequa.pretrained import SHIPPED
from adequa.scoring.confidence import Estimator
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
    monkeypatch.setitem(SHIPPED, "adequa", folder)
    return folder


@pytest.mark.parametrize(
    ("name", "kind"), [("adequa", Adequa), ("adequa-fast", AdequaFast), ("adequa-1", Adequa1)]
)
def test_the_registry_tells_the_truth(name: str, kind: type[ShippedMetric]) -> None:
    found = metric_class(name)
    assert found is kind
    assert found.name == name
    assert found.range == (0.0, 1.0)
    assert METRICS[name].is_trained
    assert settings_of(found) == {"device": "cpu", "references": "best", "threads": None}
    assert kind().folder == SHIPPED[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind().device = "cuda"  # type: ignore[misc]


def test_links_of_an_installer_are_followed(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = tmp_path / "site-packages" / "adequa"
    linked.mkdir(parents=True)
    for file in shipped.iterdir():
        (linked / file.name).symlink_to(file)
    monkeypatch.setattr(pretrained, "__file__", str(linked.parent / "__init__.py"))
    assert pretrained._folder("adequa") == shipped


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


@pytest.mark.parametrize("name", SHIPPED)
def test_a_copy_without_weights_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHIPPED, name, tmp_path)
    metric = load_metric(name)
    with pytest.raises(AdequaError) as caught:
        metric.score(SEGMENTS)
    assert str(caught.value) == (
        f"This copy of adequa was built without the weights of {name}: install it from a release, "
        "or name other metrics, such as -m bleu -m chrf."
    )


# The editions of one metric


def test_signatures_tell_a_later_edition(tmp_path: Path) -> None:
    """The first edition, and folders that were saved before there was a second, name none."""
    pytest.importorskip("onnx")
    folders = tiny_packed(tmp_path / "first"), tiny_packed(tmp_path / "second", edition=2)
    first, second = (load_metric(str(folder)).signature(1) for folder in folders)
    assert "edition" not in dict(first.fields)
    assert dict(second.fields)["edition"] == "2"
    # Both have the same weights, and an edition is no part of their digest.
    assert dict(second.fields)["weights"] == dict(first.fields)["weights"]


def test_an_edition_is_a_number(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    folder = tiny_packed(tmp_path / "metric", edition="second")
    with pytest.raises(AdequaError, match="is a damaged metric: its settings or weights"):
        load_metric(str(folder))


# What is shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped(name: str) -> None:
    """Each folder as it comes with the package: whole, and as its class describes it."""
    folder = SHIPPED[name]
    described = saved.read_description(folder)
    assert described.name == name
    assert described.settings["references"] == settings_of(metric_class(name))["references"]
    assert (folder / saved.CARD).read_text(encoding="utf-8").startswith(f"# {name}\n")
    metric = load_metric(name)
    assert isinstance(metric, ShippedMetric)
    assert isinstance(metric.packed, PackedPair)
    signature = metric.signature(1)
    fields = dict(signature.fields)
    assert signature.metric == name
    assert fields["weights"] == metric.packed.digest_[: saved.DIGITS]
    edition = described.settings.get("edition")
    assert fields.get("edition") == (None if edition is None else str(edition))
    assert str(load_metric(str(folder)).signature(1)) == str(signature)


def test_the_first_edition_stays_the_first() -> None:
    fields = dict(load_metric("adequa-1").signature(1).fields)
    assert fields["weights"] == "e7c943d08047"
    assert "edition" not in fields


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scores_are_sane(name: str) -> None:
    worse, better, unrelated, same, empty = (
        load_metric(name)
        .score(
            Segments(
                (
                    "The budget was approved by the committee.",
                    "The committee did not approve the budget.",
                    "Tomatoes grow best in a warm place.",
                    "The budget was not approved by the committee.",
                    "",
                ),
                (("The budget was not approved by the committee.",),) * 5,
            )
        )
        .segments.tolist()
    )
    assert 0 == empty < unrelated < 0.5 < better < same == 1
    assert worse < better


@pytest.mark.parametrize("name", SHIPPED)
def test_what_was_measured_lies_beside_the_weights(name: str) -> None:
    """Intervals of ratings and agreement of people are those of each metric's own weights."""
    metric = load_metric(name)
    assert isinstance(metric, ShippedMetric)
    assert Estimator.of(metric).model.weights == metric.packed.digest_
    assert shipped_agreement(metric) is not None


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_folders_are_small(name: str) -> None:
    sizes = {
        key: sum(each.stat().st_size for each in SHIPPED[key].iterdir())
        for key in (name, "adequa-1")
    }
    limits = {"adequa": 1.15 * sizes["adequa-1"], "adequa-fast": 15e6, "adequa-1": 40e6}
    assert sizes[name] <= limits[name]
