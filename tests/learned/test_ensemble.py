"""Ensembles: means by hand, folders that were moved or damaged, and settings for the parts."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adequa
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from adequa.learned.base import LearnedMetric
from adequa.learned.blend import Blend
from adequa.learned.embedding.features import feature_count
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.learned.embedding.svr import SupportVectors
from adequa.learned.ensemble import Ensemble, Part
from adequa.metrics.base import plain_remarks
from adequa.metrics.registry import load_metric
from adequa.metrics.sacrebleu_metrics import CHRF
from adequa.segments import Segments
from source_metrics import register
from tiny_encoders import write_words
from tiny_packed import tiny_packed

SOME = Segments(("a b c d", "a b x y", "p q"), (("a b c d",), ("a b c d",), ("a b c d",)))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def learnt(metric: LearnedMetric, regressor: SupportVectors, data: str) -> LearnedMetric:
    """A metric that has learnt what we say."""
    figures = {"rows": 9, "pearson": 0.5, "kendall": 0.5}
    metric.regressor_ = regressor  # type: ignore[attr-defined]
    metric.training_ = {"rows": 9, "data": data, "chosen": {}}
    metric.agreement_ = {
        "held_out_rows": 9, "settings_tried": 1, "criterion_pearson": 0.5, "folds": 2,
        "all": figures,
    }  # fmt: skip
    return metric


def blend(
    folder: str, intercept: float, coefficient: float = 0.0, lexical: str = "wer", **more: str
) -> LearnedMetric:
    """b + c exp(-1000 WER²): without a word error b + c, and with errors b."""
    vectors = SupportVectors(np.zeros((1, 1), np.float32), np.array([coefficient]), intercept, 1e3)
    data = more.get("data", "mine.tsv")
    return learnt(Blend(metrics=(lexical,), name=folder), vectors, data).save(folder)


def regressor(folder: str, intercept: float) -> LearnedMetric:
    """A constant that asks for word vectors all the same."""
    encoder = load_encoder(str(write_words(Path("words.txt"), SOME.hypotheses)))
    size = feature_count(encoder)
    vectors = SupportVectors(np.zeros((1, size), np.float32), np.zeros(1), intercept, 1.0)
    return learnt(EmbeddingRegressor(encoder, name=folder), vectors, "mine.tsv").save(folder)


def both(name: str = "both") -> Ensemble:
    """The ensemble of two blends, saved."""
    blend("one", 1.0, 2.0)
    blend("two", 4.0)
    return Ensemble.of(["one", "two"], name).save(name)


def scores(specification: str) -> list[float]:
    return list(load_metric(specification).score(SOME).segments)


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refused(specification: str) -> str:
    return sentence(lambda: load_metric(specification))


def describe(path: str, change: Callable[[dict[str, Any]], object]) -> None:
    described = json.loads(Path(path).read_text())
    change(described)
    Path(path).write_text(json.dumps(described))


def test_the_mean_by_hand() -> None:
    ensemble = both()
    assert scores("one") == pytest.approx([3, 1, 1])
    assert scores("two") == pytest.approx([4, 4, 4])
    assert scores("both") == pytest.approx([3.5, 2.5, 2.5])
    result = ensemble.score(SOME)
    assert result.segments.tolist() == scores("both")
    assert result.system == pytest.approx(8.5 / 3)
    assert adequa.Ensemble is Ensemble


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5), st.floats(-1e6, 1e6))
def test_the_squared_error_is_never_above_the_mean_of_the_parts(
    part_scores: list[float], judged: float
) -> None:
    parts = []
    for number, score in enumerate(part_scores):
        constant = SupportVectors(np.zeros((1, 1), np.float32), np.zeros(1), score, 1.0)
        metric = learnt(Blend(metrics=("wer",)), constant, "mine.tsv")
        parts.append(Part(metric, Path(str(number)), str(number)))
    mean = Ensemble(tuple(parts)).score(SOME).segments[0]
    assert mean == pytest.approx(math.fsum(part_scores) / len(part_scores), abs=1e-6)
    errors = [(score - judged) ** 2 for score in part_scores]
    assert (mean - judged) ** 2 <= math.fsum(errors) / len(part_scores) * (1 + 1e-9) + 1e-6


def test_an_ensemble_reads_what_its_parts_read(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    blend("one", 1.0, lexical="length-ratio")
    blend("two", 4.0, lexical="either")
    blend("three", 2.0)
    ensemble = Ensemble.of(["one", "two"], "mean").save("mean")
    assert ensemble.reads == {"reference": "optional", "source": "required"}
    bare = Segments(SOME.hypotheses, ((),) * 3, sources=SOME.hypotheses)
    assert load_metric("mean").score(bare).segments == pytest.approx([2.5] * 3)
    assert (
        "-t hypotheses.txt -r references.txt -s sources.txt" in Path("mean/README.md").read_text()
    )
    assert "mean -t FILE -r FILE -s FILE" in str(ensemble.training_result("mean"))
    with pytest.raises(AdequaError, match="mean needs sources, and there are none"):
        ensemble.score(SOME)
    nested = Ensemble.of(["mean", "three"])
    assert nested.reads == {"reference": "required", "source": "required"}


def test_shares_by_hand() -> None:
    both()
    ensemble = Ensemble.of(["one", "two"], "shared", shares=[3, 1]).save("shared")
    assert scores("shared") == pytest.approx([(3 * 3 + 4) / 4, (3 + 4) / 4, (3 + 4) / 4])
    assert "|parts:one,two|shares:3,1|" in str(ensemble.signature(1))
    assert str(load_metric("shared").signature(1)) == str(ensemble.signature(1))
    equal = Ensemble.of(["one", "two"], "both", shares=[2, 2])
    assert equal.score(SOME).segments.tolist() == scores("both")
    assert str(equal.signature(1)) == str(load_metric("both").signature(1))


@pytest.mark.parametrize("share", [0, -1, float("nan"), float("inf")])
def test_shares_that_make_no_sense(share: float) -> None:
    both()
    with pytest.raises(AdequaError, match="two must be a number above 0, not"):
        Ensemble.of(["one", "two"], shares=[1, share])


@pytest.mark.parametrize("share", [0, -3, float("nan")])
def test_a_saved_share_that_makes_no_sense(share: float) -> None:
    both()
    path = Path("both/metric.json")
    described = json.loads(path.read_text())
    described["settings"]["parts"][1]["share"] = share
    path.write_text(json.dumps(described))
    assert "must be a number above 0" in refused("both")


def test_the_signature_names_the_parts() -> None:
    ensemble = both()
    one, two = (load_metric(name) for name in ("one", "two"))
    assert isinstance(one, LearnedMetric)
    assert isinstance(two, LearnedMetric)
    _, _, names, settings, weights, _ = str(ensemble.signature(1)).split("|")
    assert names == "parts:one,two"
    assert weights == f"weights:{one.digest_[:12]}.{two.digest_[:12]}"
    fields = json.dumps([[["metrics", "wer"]], [["metrics", "wer"]]]).encode()
    assert settings == f"settings:{hashlib.sha256(fields).hexdigest()[:8]}"
    assert str(load_metric("both").signature(1)) == str(ensemble.signature(1))


def test_the_same_weights_with_other_settings_have_another_signature() -> None:
    both("first")
    shutil.rmtree("two")
    blend("two", 4.0, lexical="ter")
    other = Ensemble.of(["one", "two"], "first")
    first, second = (str(m.signature(1)).split("|") for m in (load_metric("first"), other))
    assert [a == b for a, b in zip(first, second, strict=True)] == [True] * 3 + [False, True, True]


def test_what_is_in_the_folder() -> None:
    ensemble = both()
    assert sorted(str(path.relative_to("both")) for path in Path("both").rglob("*.*")) == [
        "README.md", "metric.json", "parts/1/README.md", "parts/1/metric.json",
        "parts/1/weights.npz", "parts/2/README.md", "parts/2/metric.json", "parts/2/weights.npz",
        "weights.npz",
    ]  # fmt: skip
    card = Path("both/README.md").read_text()
    assert card.startswith("# both\n\nThe mean of the scores of 2 metrics.")
    assert "\n| 2 | two | blend | mine.tsv | 1 |\n" in card
    files = json.loads(Path("both/metric.json").read_text())["files"]
    assert list(files) == ["parts/1/metric.json", "parts/2/metric.json"]
    for name, digest in files.items():
        assert digest == hashlib.sha256(Path("both", name).read_bytes()).hexdigest()
    again = load_metric("both")
    assert isinstance(again, Ensemble)
    assert again.digest_ == ensemble.digest_ != ""


def test_a_folder_that_was_moved_needs_nothing_of_where_it_was() -> None:
    both()
    expected = scores("both")
    Path("elsewhere").mkdir()
    Path("both").rename("elsewhere/moved")
    shutil.rmtree("one")
    shutil.rmtree("two")
    assert scores("elsewhere/moved") == expected
    again = load_metric("elsewhere/moved")
    assert isinstance(again, Ensemble)
    again.save("again")
    shutil.rmtree("elsewhere")
    assert scores("again") == expected


def test_an_ensemble_of_an_ensemble() -> None:
    both("inner")
    blend("three", 0.0)
    Ensemble.of(["inner", "three"], "outer").save("outer")
    for name in ("one", "two", "three", "inner"):
        shutil.rmtree(name)
    assert scores("outer") == pytest.approx([1.75, 1.25, 1.25])  # half of the inner one
    assert "|parts:inner,three|" in str(load_metric("outer").signature(1))
    Path("outer/parts/1/parts/2/weights.npz").unlink()
    assert "There is no file outer/parts/1/parts/2/weights.npz" in refused("outer")


def test_an_ensemble_is_no_part_of_itself() -> None:
    ensemble = both()
    message = sentence(lambda: Ensemble.of(["both", "one"]).save("both/more"))
    assert "both/more lies in" in message
    assert len(list(Path("both").iterdir())) == 4
    assert "both is there already" in sentence(lambda: ensemble.save("both"))
    # By hand it cannot be done either: it would have to hold a digest of what holds the digest.
    shutil.rmtree("both/parts/2")
    Path("both/parts/2").symlink_to(Path("both").resolve(), target_is_directory=True)
    assert "both/parts/2/metric.json is not the file that" in refused("both")


def test_metrics_that_cannot_be_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    blend("one", 1.0)
    blend("two", 4.0)
    shutil.copytree("one", "copy")
    for metrics, message in {
        (): "An ensemble needs at least two metrics.",
        ("one",): "An ensemble needs at least two metrics.",
        ("one", "chrf"): "chrf is no saved metric",
        ("one", "absent"): 'There is no metric named "absent"',
        ("one", "./absent"): "./absent is no metric: there is no such folder",
        ("one", "one"): "one is named twice; an ensemble takes a metric once",
        ("one", "copy"): "copy are one; an ensemble takes a metric once",
        ("one", "two:cache=no"): 'two has no setting named "cache"',
    }.items():
        assert message in sentence(partial(Ensemble.of, metrics))
    monkeypatch.setattr(LearnedMetric, "higher_is_better", False)
    assert "one gives lower scores to better translations" in sentence(
        lambda: Ensemble.of(["one", "two"])
    )


def test_a_packed_metric_is_no_part() -> None:
    blend("one", 1.0)
    tiny_packed(Path("packed"))
    message = sentence(lambda: Ensemble.of(["one", "packed"]))
    assert message.startswith(
        "packed is a packed metric, whose scores lie from 0 to 1 and not on the"
    )


def test_parts_that_are_damaged_missing_or_others() -> None:
    both()
    shutil.copytree("both", "kept")
    blend("three", 9.0)

    def after(change: Callable[[], object]) -> str:
        shutil.rmtree("both")
        shutil.copytree("kept", "both")
        change()
        return refused("both")

    part = Path("both/parts/2")
    weights = part / "weights.npz"
    message = after(lambda: shutil.rmtree(part))
    assert "There is no file both/parts/2/metric.json" in message
    message = after(lambda: weights.write_bytes(weights.read_bytes()[:-1]))
    assert message == (
        "Part 2 of both cannot be loaded; settings for it alone are written -m both:part2.NAME="
        "VALUE. The reason: both/parts/2/weights.npz is not the file that metric.json describes: "
        "it is damaged, or of another metric."
    )
    another = after(lambda: shutil.copytree("three", part, dirs_exist_ok=True))
    assert another == (
        "both/parts/2/metric.json is not the file that metric.json describes: it is damaged, or of "
        "another metric."
    )
    newer = after(lambda: describe("both/parts/2/metric.json", lambda d: d.update(format=2)))
    assert newer == another
    wrong: list[dict[str, Any]] = [{}, {"parts": None}, {"parts": [{}, {}]}]
    for change in ({"settings": each} for each in wrong):
        message = after(partial(describe, "both/metric.json", partial(dict.update, **change)))
        assert "both is a damaged metric" in message


def test_nothing_is_left_where_a_part_cannot_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    blend("one", 1.0)
    blend("two", 4.0)
    ensemble = Ensemble.of(["one", "two"])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", full)
        message = sentence(lambda: ensemble.save("deep/new"))
    assert message == "deep/new cannot be written: No space left on device."
    assert not Path("deep").exists()


def test_settings_go_to_the_parts_that_know_them(monkeypatch: pytest.MonkeyPatch) -> None:
    blend("one", 1.0, 2.0)
    regressor("three", 5.0)
    Ensemble.of(["one", "three"], "both").save("both")
    assert scores("both:cache=false") == pytest.approx([4, 3, 3])
    Path("words.txt").rename("moved.txt")
    message = refused("both")
    assert message.startswith(
        "Part 2 of both cannot be loaded; settings for it alone are written -m "
    )
    for key in ("encoder", "part2.encoder"):
        assert scores(f"both:{key}=moved.txt") == pytest.approx([4, 3, 3])
    assert scores("both:cache=no,encoder=moved.txt,metric1=wer") == pytest.approx([4, 3, 3])
    assert "gone.txt" in refused("both:encoder=moved.txt,part2.encoder=gone.txt")
    assert 'both/parts/1 has no setting named "encoder"' in refused("both:part1.encoder=moved.txt")
    # What a part was named with is kept, with paths in full.
    Ensemble.of(["one", "three:encoder=moved.txt"], "kept").save("kept")
    Ensemble.of(["kept", "one"], "outer").save("outer")
    folder = Path.cwd()
    monkeypatch.chdir("/")
    assert scores(str(folder / "kept")) == pytest.approx([4, 3, 3])
    monkeypatch.chdir(folder)
    Path("moved.txt").rename("again.txt")
    assert scores("kept:part2.encoder=again.txt") == pytest.approx([4, 3, 3])
    for written in ("outer:encoder", "outer:part1.encoder", "outer:part1.part2.encoder"):
        assert scores(f"{written}=again.txt") == pytest.approx([3.5, 2, 2])


def test_settings_that_no_part_knows() -> None:
    both("inner")
    blend("three", 5.0)
    Ensemble.of(["inner", "three"], "outer").save("outer")
    assert refused("inner:metrik1=wer") == (
        'inner has no setting named "metrik1". It passes settings on to its parts, and none of '
        'them knows it. inner/parts/1 has no setting named "metrik1". Did you mean "metric1"? Its '
        "settings: metric1."
    )
    for key in ("part3.metric1", "part0.metric1", "part1", "part1.", "folder", "self", "cls"):
        for name in ("inner", "outer"):
            assert "has no setting named " in refused(f"{name}:{key}=wer")
    assert scores("outer:metric1=wer") == scores("outer")


def test_parts_that_need_the_whole_corpus_one_reference_or_columns() -> None:
    blend("one", 1.0)
    blend("nist", 1.5, 3.0, lexical="nist")
    blend("character", 2.0, lexical="character")
    metric = Blend(metrics=(), columns=("qe",), name="column")
    column = SupportVectors(np.zeros((1, 1), np.float32), np.array([1.0]), 0.0, 1.0)
    learnt(metric, column, "mine.tsv").save("column")
    plain = Ensemble.of(["one", "./character"])
    assert (plain.needs_whole_corpus, plain.max_references) == (False, 1)
    ensemble = Ensemble.of(["./nist", "column"])
    assert (ensemble.needs_whole_corpus, ensemble.max_references, ensemble.columns) == (
        True,
        None,
        ("qe",),
    )
    with_column = Segments(SOME.hypotheses, SOME.references, ids={"qe": ("0", "1", "9")})
    expected = load_metric("./nist").score(with_column).segments + np.exp([0.0, -1.0, -81.0])
    np.testing.assert_allclose(ensemble.score(with_column).segments, expected / 2)
    assert 'column "qe" beside the texts' in sentence(lambda: ensemble.score(SOME))


def test_remarks_are_those_of_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    blend("one", 1.0, lexical="chrf")
    blend("two", 4.0, lexical="chrf")
    ensemble = Ensemble.of(["one", "two"])
    assert ensemble.remarks() == ()
    monkeypatch.setattr(CHRF, "counted_remarks", lambda _: plain_remarks(["texts were cut"]))
    assert ensemble.remarks() == ("texts were cut",)  # both say the same
