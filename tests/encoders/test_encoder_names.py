"""Encoders by the same words everywhere: a folder, a name in ADEQUA_MODELS, a name on the hub."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.cli.main import main
from adequa.encoders.base import Encoder
from adequa.encoders.registry import load_encoder, transformer_name, with_absolute_paths
from adequa.encoders.token_vectors import load_token_vectors
from adequa.encoders.transformer_files import model_folder
from adequa.errors import AdequaError
from adequa.learned.pairwise.inputs import load_inputs
from tiny_transformer import write_tiny_encoder

pytest.importorskip("torch", reason="transformers need PyTorch")
hub = pytest.importorskip("huggingface_hub", reason="models of the hub are found by it")

NAME = "acme/tiny-bert"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and no other models."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.delenv("ADEQUA_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


def written(cache: Path) -> Path:
    """A model in the layout of the hub's cache."""
    snapshots, revision = cache / "models--acme--tiny-bert", "0123abcd" * 5
    (snapshots / "refs").mkdir(parents=True)
    (snapshots / "refs" / "main").write_text(revision)
    (snapshots / "snapshots").mkdir()
    return write_tiny_encoder(snapshots / "snapshots" / revision)


LOADERS: dict[str, Callable[..., object]] = {
    "encoder": load_encoder,
    "encoder with its kind": lambda name, **more: load_encoder(f"transformer:{name}", **more),
    "word vectors": lambda name, **more: load_token_vectors([name], "cpu", **more),
    "input": lambda name, **more: load_inputs([with_absolute_paths(name)], cache=False, **more),
    "folder": lambda name, **more: model_folder(transformer_name(name), **more),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_a_model_that_was_downloaded_before_is_loaded(loader: str, cache: Path) -> None:
    written(cache)
    assert LOADERS[loader](NAME) is not None


@pytest.mark.parametrize("loader", LOADERS)
def test_nothing_is_downloaded_unless_asked(
    loader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AdequaError, match=r"or add --download \(in Python download=True"):
        LOADERS[loader](NAME)
    calls: list[tuple[str, bool]] = []

    def download(name: str, *, local_files_only: bool, **_: Any) -> str:
        calls.append((name, local_files_only))
        return str(write_tiny_encoder(tmp_path / "downloaded"))

    monkeypatch.setattr(hub, "snapshot_download", download)
    assert LOADERS[loader](NAME, download=True) is not None
    assert calls == [(NAME, False)]


def test_all_words_for_one_encoder_give_the_same_vectors(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(written(cache), tmp_path / "models" / "minilm"))
    monkeypatch.setenv("ADEQUA_MODELS", str(tmp_path / "models"))
    words = [str(folder), f"transformer:{folder}", "minilm", "all-MiniLM-L6-v2", NAME]
    words += ["sentence-transformers/all-MiniLM-L6-v2"]
    encoders = [load_encoder(each) for each in words]
    vectors = [each.encode(["the cat"]) for each in encoders if isinstance(each, Encoder)]
    assert len(vectors) == len(words)
    assert all(np.array_equal(each, vectors[0]) for each in vectors)


def test_known_names_are_those_of_their_publisher_on_the_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[str] = []

    def absent(name: str, **_: Any) -> str:
        names.append(name)
        raise FileNotFoundError

    monkeypatch.setattr(hub, "snapshot_download", absent)
    for name in ("all-MiniLM-L6-v2", "bert-base-uncased"):
        with pytest.raises(AdequaError, match=f"There is no folder {name}"):
            load_encoder(name)
    assert names == ["sentence-transformers/all-MiniLM-L6-v2", "bert-base-uncased"]


def test_what_cannot_be_fine_tuned() -> None:
    for word in ("words:glove.txt", "transformer:bert,pooling=cls"):
        with pytest.raises(AdequaError, match="cannot be fine-tuned; name a transformer without"):
            transformer_name(word)


VERBS = {
    "embedding-regressor": ("--ratings", "ratings.tsv"),
    "pair-regressor": ("--ratings", "ratings.tsv"),
    "pairwise-ranker": ("--preferences", "preferences.tsv"),
    "tree-lstm": ("--similarity", "ratings.tsv", "--parser", "conllu:parses.conllu"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_training_takes_a_name_and_says_what_to_do(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rated = [f"a cat {n}\ta cat\t{n}\n" for n in range(20)]
    Path("ratings.tsv").write_text("mt\tref\tscore\n" + "".join(rated))
    Path("preferences.tsv").write_text("better\tworse\tref\na\tb\tc\n")
    Path("parses.conllu").write_text("# text = a\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    command = ["adequa", "train", verb, *VERBS[verb], "--encoder", NAME, "-o", "new"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as caught:
        main()
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert f"There is no folder {NAME}, and no model of that name was downloaded" in error
    assert "or add --download" in error
