"""`adequa export` as its users find it: a folder that scores and a report, or one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_ensemble import blend

import adequa
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.registry import load_metric
from pair_commands import Run, description, runner, settle, write_ratings
from tiny_packed import WIDE, fitted, tiny_packed
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="the pair regressor is a transformer")
pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

TEXTS, _ = outputs(30, seed=9)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("regressor")
    fitted(folder / "trained", write_tiny_encoder(folder / "encoder", **WIDE))
    return str(folder / "trained")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(tmp_path, monkeypatch)
    monkeypatch.delenv("ADEQUA_DATA", raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_the_command(run: Run, trained: str) -> None:
    code, shown, notes = run(
        "export", trained, "-o", "small", "--data", "rated.tsv", "--data", "ranked.tsv",
        "--pairs", "20",
    )  # fmt: skip
    assert (code, notes) == (0, "")
    first, table, last = shown.strip().split("\n\n")
    assert first == "small: tiny, packed in int8"
    figures = dict(re.findall(r"^(.*?) {2,}(\S.*)$", table, flags=re.MULTILINE))
    assert list(figures) == [
        "quantity", "size", "correlation with fp32, 20 pairs", "largest difference of a score",
        "raw score of an unrelated text (near 0)", "raw score of the reference (near 1)",
    ]  # fmt: skip
    assert last == "Saved in small; use it with: adequa score -m small -t FILE -r FILE"
    found = description("small")
    size = sum(path.stat().st_size for path in Path("small").iterdir())
    assert figures["size"] == f"{size / 1e6:.1f} MB"
    facts, ends = found["training"]["packed"], found["settings"]["map"]
    assert facts["data"] == "rated.tsv, ranked.tsv"
    assert facts["pairs"] == facts["tested"] == 20
    assert figures["correlation with fp32, 20 pairs"] == f"{facts['correlation']:.5f}"
    assert figures["raw score of an unrelated text (near 0)"] == f"{ends['unrelated']:.3f}"
    trained_with = json.loads((Path(trained) / "metric.json").read_text())["versions"]
    assert found["training"]["versions"] == trained_with
    references = ["the cat", "the mat", "the dog ran away ."]
    scores = adequa.score(["the cat", "", "the dog sat ."], references, metric="small").segments
    assert scores[:2].tolist() == [1.0, 0.0]
    assert 0 < scores[2] < 1


def test_32_bits_quietly_under_another_name(run: Run, trained: str) -> None:
    command = ("export", trained, "-o", "plain", "--data", "rated.tsv", "--precision", "fp32")
    assert run(*command, "--name", "mine", "-q") == (0, "", "")
    found = description("plain")
    assert found["name"] == "mine"
    facts = found["training"]["packed"]
    assert (facts["precision"], facts["pairs"]) == ("fp32", 0)
    assert facts["largest_difference"] < 1e-5
    regressor = load_metric(trained, device="cpu")
    assert isinstance(regressor, PairRegressor)
    order = regressor.score(TEXTS).segments.argsort()
    assert np.diff(load_metric("plain").score(TEXTS).segments[order]).min() > -1e-5


def test_longer_pairs_than_asked_are_read_in_windows(run: Run, trained: str) -> None:
    command = ("export", trained, "--data", "rated.tsv", "-q", "-o")
    assert run(*command, "short", "--max-length", "8") == (0, "", "")
    assert description("short")["training"]["packed"]["max_length"] == 8
    assert "Pairs of more than 8 tokens are read in windows" in Path("short/README.md").read_text()
    found = adequa.score(["the dog sat on the mat ."], ["the dog ran away ."], metric="short")
    assert found.remarks == (
        "short read 1 pair of hypothesis and reference in windows, as they are longer than 8 "
        "tokens.",
    )
    for length, said in (("4", "max_length must be 5 or more"), ("999", "between 1 and ")):
        code, shown, error = run(*command, "none", "--max-length", length)
        assert (code, shown, error.count("\n")) == (2, "", 1)
        assert said in error
        assert not Path("none").exists()


def test_few_pairs_are_told_of(run: Run, trained: str) -> None:
    code, _, notes = run("export", trained, "-o", "small", "--data", "rated.tsv")
    assert code == 0
    assert re.fullmatch(r"note: only (\d+) different pairs to read: .*\n", notes)


def test_texts_into_other_languages_are_left_out(run: Run, trained: str) -> None:
    rated = tiny_ratings(24)
    pairs = tuple("en-cs" if at < 12 else "cs-en" for at in range(24))
    write_ratings("both.tsv", type(rated)(rated.scores, {"lp": pairs}, rated.segments))
    assert run("export", trained, "-o", "small", "--data", "both.tsv", "-q")[0] == 0
    assert description("small")["training"]["packed"]["references"] == 4
    none = type(rated)(rated.scores, {"lp": ("en-cs",) * 24}, rated.segments)
    write_ratings("none.tsv", none)
    said = "adequa: error: There are no translations into English in none.tsv.\n"
    assert run("export", trained, "-o", "other", "--data", "none.tsv") == (2, "", said)


def test_texts_that_no_one_judged(run: Run, trained: str) -> None:
    rows = zip(TEXTS.hypotheses, TEXTS.references, strict=True)
    lines = ["mt\tref\n", *(f"{text}\t{reference}\n" for text, (reference,) in rows)]
    Path("texts.tsv").write_text("".join(lines))
    assert run("export", trained, "-o", "small", "--data", "texts.tsv", "-q") == (0, "", "")
    assert description("small")["training"]["packed"]["references"] == 10


def test_texts_with_control_tokens_are_not_compared(run: Run, trained: str) -> None:
    """The network takes a [SEP] in a text for its own, and the packed metric takes it for text."""
    rows = enumerate(zip(TEXTS.hypotheses, TEXTS.references, strict=True))
    lines = [
        f"{text}{' [SEP]' if at % 4 else ''}\t{reference}\n" for at, (text, (reference,)) in rows
    ]
    Path("texts.tsv").write_text("".join(["mt\tref\n", *lines]))
    command = ("export", trained, "-o", "small", "--data", "texts.tsv", "--precision", "fp32")
    assert run(*command, "--pairs", "12", "-q") == (0, "", "")
    facts = description("small")["training"]["packed"]
    assert 0 < facts["tested"] < 12
    assert facts["largest_difference"] < 1e-5


def test_the_default_data_are_not_here(run: Run, trained: str) -> None:
    code, shown, said = run("export", trained, "-o", "small")
    assert (code, shown) == (2, "")
    assert "wmt15-da is not on this machine" in said
    assert "--data" in said
    assert said.count("\n") == 1


def test_what_cannot_be_exported(run: Run, trained: str) -> None:
    def said(folder: str, *more: str) -> str:
        code, shown, error = run("export", folder, "-o", "new", "--data", "rated.tsv", *more)
        assert (code, shown, error.count("\n")) == (2, "", 1)
        assert not Path("new").exists()
        return error

    assert "nowhere is no folder of a trained metric" in said("nowhere")
    assert "tiny is no folder of a trained metric" in said("tiny")  # an encoder
    blend("blended", 1.0)
    assert "the kind blend, and only a pair-regressor can be exported" in said("blended")
    tiny_packed(Path("packed"))
    assert "packed is an exported metric already; -m packed scores with it." in said("packed")
    assert "nothing.tsv" in said(trained, "--data", "nothing.tsv")
    assert 'A metric cannot be called "bleu"' in said(trained, "--name", "bleu")


def test_nothing_is_written_over(run: Run, trained: str) -> None:
    code, shown, said = run("export", trained, "-o", "tiny", "--data", "rated.tsv")
    assert (code, shown) == (2, "")
    assert "tiny is there already" in said


def test_an_interrupted_export_leaves_nothing(
    run: Run, trained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = sorted(Path().iterdir())
    monkeypatch.setattr("adequa.learned.packed.packing._loss", interrupted)
    code, shown, _ = run("export", trained, "-o", "small", "--data", "rated.tsv", "-q")
    assert code != 0
    assert shown == ""
    assert sorted(Path().iterdir()) == before
