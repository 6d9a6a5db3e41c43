"""Packing a pair regressor: the same scores as by PyTorch and by hand, a whole folder or none."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders.surface import SURFACE
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.learned.packed import packing
from adequa.learned.packed.metric import PackedPair, ScoreMap
from adequa.learned.packed.packing import PackingResult, pack
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import DevelopmentPlan, Plan
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_packed import QUICK, WIDE, fitted
from tiny_transformer import (
    POSITIONS,
    outputs,
    tiny_ratings,
    write_tiny_encoder,
    write_tokenizer,
)

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

TEXTS, _ = outputs(120, seed=5)
OTHERS, _ = outputs(60, seed=9)


@pytest.fixture(scope="module")
def regressor(tmp_path_factory: pytest.TempPathFactory) -> PairRegressor:
    folder = tmp_path_factory.mktemp("regressor")
    encoder = write_tiny_encoder(folder / "encoder", **WIDE)
    return fitted(folder / "tiny", encoder, layers="1+2")


@pytest.fixture(scope="module")
def made(regressor: PairRegressor, tmp_path_factory: pytest.TempPathFactory) -> PackingResult:
    folder = tmp_path_factory.mktemp("packed") / "int8"
    return pack(regressor, TEXTS, folder, name="small", pairs=40, data="mine.tsv")


@pytest.fixture(scope="module")
def plain(regressor: PairRegressor, tmp_path_factory: pytest.TempPathFactory) -> PackingResult:
    folder = tmp_path_factory.mktemp("packed") / "fp32"
    return pack(regressor, TEXTS, folder, precision="fp32", pairs=40)


def loaded(made: PackingResult) -> PackedPair:
    metric = load_metric(str(made.folder))
    assert isinstance(metric, PackedPair)
    return metric


def described(made: PackingResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made.folder / "metric.json").read_text())
    return found


def by_hand(raw: float, ends: dict[str, float]) -> float:
    """The map from raw scores as its definition has it."""
    x = (raw - ends["unrelated"]) / (ends["reference"] - ends["unrelated"])
    if x > 0.95:
        x = 0.95 + 0.05 * (1 - math.exp(-(x - 0.95) / 0.05))
    elif x < 0.05:
        x = 0.05 * math.exp((x - 0.05) / 0.05)
    return min(max(x, 1e-6), 1 - 1e-6)


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?"))
    return str(caught.value)


def test_scores_in_32_bits_are_those_of_pytorch_through_the_map(
    regressor: PairRegressor, plain: PackingResult
) -> None:
    found = loaded(plain).score(OTHERS).segments
    ends = described(plain)["settings"]["map"]
    expected = [by_hand(raw, ends) for raw in regressor.score(OTHERS).segments.tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 0.05
    assert plain.loss.tested == 40
    assert plain.loss.largest_difference == pytest.approx(0, abs=1e-5)


def test_whole_numbers_say_nearly_the_same(made: PackingResult, plain: PackingResult) -> None:
    found, expected = (loaded(each).score(OTHERS).segments for each in (made, plain))
    assert np.corrcoef(found, expected)[0, 1] > 0.99
    assert (made.loss.correlation or 0) > 0.99
    assert 0 < (made.loss.largest_difference or 0) < 0.1
    assert made.size < plain.size


def test_the_ends_are_medians_over_references(
    regressor: PairRegressor, plain: PackingResult
) -> None:
    """By PyTorch: of references themselves exactly, and of others by another draw roughly."""
    references = [reference for (reference,) in dict.fromkeys(TEXTS.references)]
    rows = tuple((reference,) for reference in references)
    itself = regressor.score(Segments(tuple(references), rows)).segments
    assert plain.score_map.reference == pytest.approx(np.median(itself), abs=1e-5)
    turned = references[1:] + references[:1]
    others = regressor.score(Segments(tuple(turned), rows)).segments
    assert plain.score_map.unrelated == pytest.approx(np.median(others), abs=others.std())
    assert plain.score_map.unrelated < plain.score_map.reference
    assert described(plain)["training"]["packed"]["references"] == len(references)


def test_other_references_are_others() -> None:
    """None is held against itself, whatever white space it has."""
    several = [f"word{at % 40}  x\n" for at in range(79)] + ["word3 x"]
    texts = Segments(("",) * 80, tuple((text,) for text in several))
    references = packing._sample_references(texts)
    assert len(references) == len({tuple(text.split()) for text in references}) == 40
    assert references == packing._sample_references(texts)
    seen: list[list[tuple[str, str]]] = []

    def raw(pairs: Any) -> np.ndarray:
        seen.append(list(pairs))
        return np.arange(len(pairs)) + 100.0 * (len(seen) > 1)

    found = packing._score_map(raw, references, "x")
    assert (found.unrelated, found.reference) == (19.5, 119.5)
    unrelated, itself = seen
    assert all(reference != other for reference, other in unrelated)
    assert sorted(other for _, other in unrelated) == sorted(references)
    assert itself == [(reference, reference) for reference in references]
    many = Segments(("",) * 900, tuple((f"w{at}",) for at in range(900)))
    assert len(packing._sample_references(many)) == 500


def test_pairs_that_test_have_chosen_nothing() -> None:
    several = tuple((f" r{at}", "same") for at in range(30))
    texts = Segments((*(f"h{at} " for at in range(28)), " ", "same"), several)
    notes: list[str] = []
    chosen, tested = packing._sample_pairs(texts, 20, Progress(note=notes.append))
    assert (len(chosen), len(tested), notes) == (20, 20, [])
    assert not set(chosen) & set(tested)
    every = {(r.strip(), f"h{at}") for at, two in enumerate(several[:28]) for r in two}
    assert {*chosen, *tested} <= every | {("r29", "same")}
    few = texts.select([0, 1, 28])
    chosen, tested = packing._sample_pairs(few, 20, Progress(note=notes.append))
    assert (len(chosen), len(tested)) == (2, 2)
    assert notes == [
        "only 4 different pairs to read: 2 of them choose the levels, and the others test them."
    ]


def test_metric_json(regressor: PairRegressor, made: PackingResult) -> None:
    found = described(made)
    assert (found["kind"], found["name"]) == ("packed-pair", "small")
    settings = found["settings"]
    assert settings["surface"]["names"] == list(SURFACE)
    assert settings["plan"] == json.loads(json.dumps(regressor.plan.table()))
    assert (settings["references"], settings["lowercase"]) == ("best", False)
    assert settings["encoder"] == regressor.encoder
    facts = found["training"].pop("packed")
    assert found["training"] == json.loads(json.dumps(regressor.training_))
    assert found["agreement"] == json.loads(json.dumps(regressor.agreement_))
    assert facts == {
        "from": {"name": "tiny", "digest": regressor.digest_},
        "precision": "int8",
        "data": "mine.tsv",
        "pairs": 40,
        "references": 40,
        "max_length": POSITIONS,
        "reads_case": True,
        "tested": 40,
        "correlation": made.loss.correlation,
        "largest_difference": made.loss.largest_difference,
    }
    assert found["versions"]["torch"] == torch.__version__
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "README.md", "metric.json", "model.onnx", "tokenizer.json",
    ]  # fmt: skip
    for name in ("model.onnx", "tokenizer.json"):
        assert found["files"][name] == digest_of(made.folder / name)
    tokenizer = json.loads((made.folder / "tokenizer.json").read_text())
    assert tokenizer["truncation"] is tokenizer["padding"] is None
    assert made.size == sum(path.stat().st_size for path in made.folder.iterdir())


def test_the_same_texts_give_the_same_files(regressor: PairRegressor, tmp_path: Path) -> None:
    versions = {"torch": "2.0"}
    for name in ("one", "two"):
        pack(regressor, TEXTS, tmp_path / name, pairs=10, versions=versions)
    for name in ("model.onnx", "metric.json", "README.md", "tokenizer.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    found = json.loads((tmp_path / "one" / "metric.json").read_text())
    assert found["training"]["versions"] == versions
    assert found["name"] == "tiny"


def test_lower_case_and_no_surface_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = write_tiny_encoder(tmp_path / "encoder", **WIDE)
    metric = fitted(tmp_path / "trained", encoder, surface=False)
    metric.model_.lowercase = True
    upper = replace(OTHERS, hypotheses=tuple(map(str.upper, OTHERS.hypotheses)))
    raw = metric.score(upper).segments
    # Untrained as it is, it has no scale of its own.
    scale = ScoreMap(float(raw.min()) - 0.1, float(raw.max()) + 0.1)
    monkeypatch.setattr(packing, "_score_map", lambda *_: scale)
    made = pack(metric, TEXTS, tmp_path / "packed", precision="fp32", pairs=10)
    settings = described(made)["settings"]
    assert (settings["surface"], settings["lowercase"]) == (None, True)
    expected = [by_hand(each, settings["map"]) for each in raw.tolist()]
    np.testing.assert_allclose(loaded(made).score(upper).segments, expected, atol=1e-5)
    assert np.ptp(expected) > 0.2
    card = (made.folder / "README.md").read_text()
    assert "- The encoder reads no capitals; case changes no score.\n" in card
    assert "Numbers have 32 bits, as in training. On 10 other pairs" in card


def test_pairs_that_the_network_would_cut_are_not_compared(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    long = replace(TEXTS, hypotheses=tuple(f"{text} {text}" * 4 for text in TEXTS.hypotheses))
    made = pack(regressor, long, tmp_path / "long", pairs=10)
    assert (made.loss.tested, made.loss.correlation, made.loss.largest_difference) == (
        0, None, None
    )  # fmt: skip
    assert (
        "chosen by 10 pairs of texts without a name.\n" in (made.folder / "README.md").read_text()
    )


def test_the_card(regressor: PairRegressor, made: PackingResult) -> None:
    card = (made.folder / "README.md").read_text()
    assert card.startswith("# small\n")
    ends = made.score_map
    assert f"raw scores {ends.unrelated:.3f} and {ends.reference:.3f} are the ends of a" in card
    assert "the two themselves become 0.018 and 0.982." in card  # .05 / e from either end
    assert f"| 1 | ratings | rated | {regressor.training_['rows']} |\n" in card
    assert f"Packed from tiny, with the weights {regressor.digest_[:12]}." in card
    assert f"{regressor.agreement_['held_out']['ratings']} ratings that were held out" in card
    assert f"Pearson {regressor.agreement_['pearson']:.3f}" in card
    assert "chosen by 40 pairs of mine.tsv. On 40 other pairs" in card
    assert f"more than {POSITIONS} tokens are read in windows" in card
    assert "no capitals" not in card


def test_the_card_of_one_that_went_on_from_another(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    regressor.save(tmp_path / "first")
    plan = Plan(start=str(tmp_path / "first"), stage=(QUICK,), development=DevelopmentPlan(share=0))
    second = PairRegressor(plan, device="cpu", name="second").fit(tiny_ratings(12, name="more"))
    made = pack(second, TEXTS, tmp_path / "packed", pairs=5)
    card = (made.folder / "README.md").read_text()
    assert f"| tiny, 1 | ratings | rated | {regressor.training_['rows']} |\n" in card
    assert "| 1 | ratings | more | 12 |\n" in card
    assert "Nothing was held out" in card
    assert "Packed from" not in card  # it was never saved


def mpnet(folder: Path) -> Path:
    import transformers

    config = transformers.MPNetConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=26,
    )  # fmt: skip
    transformers.MPNetModel(config).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def test_another_architecture(tmp_path: Path) -> None:
    metric = fitted(tmp_path / "trained", mpnet(tmp_path / "encoder"))
    found = sentence(lambda: pack(metric, TEXTS, tmp_path / "new"))
    assert "model_type=mpnet" in found
    assert found == sentence(lambda: pack(metric, TEXTS, tmp_path / "new", precision="fp32"))
    assert not (tmp_path / "new").exists()


def test_a_hidden_head(tmp_path: Path) -> None:
    encoder = write_tiny_encoder(tmp_path / "encoder")
    metric = fitted(tmp_path / "trained", encoder, hidden_layers=1, units=4)
    assert "1 hidden layers" in sentence(lambda: pack(metric, TEXTS, tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_scale_that_goes_down(regressor: PairRegressor, tmp_path: Path) -> None:
    network = regressor.model_.network
    assert network.skip is not None
    with torch.no_grad():
        network.skip.neg_()
        try:
            found = sentence(lambda: pack(regressor, TEXTS, tmp_path / "new", pairs=5))
        finally:
            network.skip.neg_()
    assert found.startswith("tiny cannot be put on a scale from 0 to 1")
    assert not (tmp_path / "new").exists()


def test_a_tokenizer_that_reads_otherwise_or_is_slow(
    regressor: PairRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_tiny_encoder(tmp_path / "other")
    written = json.loads((other / "tokenizer.json").read_text())
    words = written["model"]["vocab"]
    words["good"], words["bad"] = words["bad"], words["good"]
    monkeypatch.setattr(packing, "_tokenizer_file", lambda _: json.dumps(written))
    found = sentence(lambda: pack(regressor, TEXTS, tmp_path / "new", pairs=20))
    assert "its tokenizer reads pairs of texts otherwise" in found
    monkeypatch.undo()
    monkeypatch.setattr(type(regressor.model_.tokenizer), "backend_tokenizer", None)
    assert "fast tokenizer" in sentence(lambda: pack(regressor, TEXTS, tmp_path / "new"))


@pytest.mark.parametrize(
    ("texts", "settings", "said"),
    [
        (TEXTS, {"precision": "int4"}, '"int4" is not a value of precision'),
        (TEXTS, {"pairs": 0}, "1 or more pairs"),
        (TEXTS, {"name": "a|b"}, '"a|b"'),
        (TEXTS.select([0, 1]), {}, "2 or more different references, and these texts have 1"),
        (Segments(("", "b"), (("a",), ("b",))), {}, "these texts have 0 of them"),
    ],
    ids=["precision", "pairs", "name", "references", "texts"],
)
def test_what_is_wrong_is_said(
    regressor: PairRegressor, tmp_path: Path, texts: Segments, settings: Any, said: str
) -> None:
    assert said in sentence(lambda: pack(regressor, texts, tmp_path / "new", **settings))
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over_and_nothing_untrained_is_packed(
    regressor: PairRegressor, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    assert "is there already" in sentence(lambda: pack(regressor, TEXTS, tmp_path / "there"))
    assert (tmp_path / "there" / "mine").read_text() == "mine"
    untrained = PairRegressor(Plan(encoder="none", stage=(QUICK,)))
    assert "not been trained yet" in sentence(lambda: pack(untrained, TEXTS, tmp_path / "new"))


@pytest.mark.parametrize("step", ["_score_map", "_loss", "packed_card", "digest_of"])
def test_nothing_is_left_of_an_interrupted_packing(
    regressor: PairRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(packing, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack(regressor, TEXTS, tmp_path / "deep" / "new", pairs=5)
    assert [path.name for path in tmp_path.rglob("*")] == ["scratch"]


def test_what_a_machine_lacks_is_named(
    regressor: PairRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    said = r"onnx: pip install 'adequa\[train\]'\."
    with pytest.raises(AdequaError, match=said):
        pack(regressor, TEXTS, tmp_path / "new")
    with pytest.raises(AdequaError, match=said):
        pack(regressor, TEXTS, tmp_path / "new", precision="fp32")
