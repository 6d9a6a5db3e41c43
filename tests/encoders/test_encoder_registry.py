"""Encoders by specification, and their concatenation."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from adequa.cli.train import encoders
from adequa.encoders.base import AnyEncoder, Concatenation, Encoder
from adequa.encoders.parses import load_parser
from adequa.encoders.registry import (
    ENCODERS,
    EncoderEntry,
    encoder_class,
    load_encoder,
    load_encoders,
    settings_of,
    with_path,
)
from adequa.errors import AdequaError
from adequa.io.judgements import read_judgements
from adequa.judgements import Ratings
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.metrics.registry import load_metric
from documented_code import ROOT, documented_module


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("cat 1 2\nsat 3 5\n")
    np.savez("vectors.npz", sentences=np.array(["cat", "cat sat"]), vectors=np.eye(2) * 9)


def refusal(*specifications: str) -> str:
    with pytest.raises(AdequaError) as caught:
        load_encoders(specifications)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["transformer", "transformer-pair", "words", "precomputed"])
def test_the_table_leads_to_encoders(kind: str) -> None:
    if kind.startswith("transformer"):
        pytest.importorskip("torch", reason="transformers need PyTorch")
    module, _, name = ENCODERS[kind].target.partition(":")
    assert issubclass(getattr(import_module(module), name), AnyEncoder)


def test_bad_words_for_an_encoder() -> None:
    assert 'Did you mean "words"' in refusal("word:words.txt")
    assert "names no file or folder" in refusal("words:")
    assert "more than once" in refusal("words:words.txt,lowercase=true,lowercase=true")
    assert 'Did you mean "lowercase"' in refusal("words:words.txt,lowercas=true")
    assert "true or false" in refusal("transformer:.,normalize=perhaps")
    assert "a whole number" in refusal("transformer:.,max_length=long")
    assert "Name an encoder" in refusal()


def test_files_are_taken_for_what_they_are() -> None:
    assert load_encoder("words.txt").specification.startswith("words:")
    assert load_encoder("vectors.npz").specification.startswith("precomputed:")


def test_several_encoders_are_put_one_after_the_other() -> None:
    both = load_encoders(["words:words.txt", "precomputed:vectors.npz"])
    assert isinstance(both, Concatenation)
    assert both.encode(["cat sat", "cat"]).tolist() == [[2, 3.5, 0, 9], [1, 2, 9, 0]]
    assert both.encode([]).shape == (0, 4)
    assert both.dimension == 4
    assert [part.dimension for part in both.parts] == [2, 2]
    assert both.specification == " + ".join(part.specification for part in both.parts)
    assert both.is_quick


def test_a_concatenation_has_the_coverage_of_the_part_that_has_one() -> None:
    precomputed, words = load_encoder("vectors.npz"), load_encoder("words.txt")
    assert isinstance(precomputed, Encoder)
    assert isinstance(words, Encoder)
    coverage = Concatenation([precomputed, words]).coverage(["cat Brno"])
    assert coverage is not None
    assert coverage.unknown == (("brno",),)
    assert Concatenation([precomputed]).coverage(["cat"]) is None
    prints = {
        Concatenation(parts).fingerprint
        for parts in ([precomputed, words], [words, precomputed], [precomputed])
    }
    assert len(prints) == 3
    with pytest.raises(AdequaError, match="no encoders"):
        Concatenation([])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("elsewhere/mpnet", "transformer:elsewhere/mpnet,pooling=cls,layers=1+2"),
        ("a,b", "transformer:a,b,pooling=cls,layers=1+2"),
        ("words:words.txt", "words:words.txt"),
        ("transformer:x", "transformer:x"),  # in full: without the settings it had
        ("vectors.npz", "vectors.npz"),
        ("absent.parquet", "absent.parquet"),
    ],
)
def test_a_specification_with_another_path(path: str, expected: str) -> None:
    assert with_path("transformer:models/mpnet,pooling=cls,layers=1+2", path) == expected


def test_a_moved_encoder_gives_the_same_vectors() -> None:
    before = load_encoder("words:words.txt,lowercase=false")
    Path("words.txt").rename("renamed.txt")
    after = load_encoder(with_path(before.specification, "renamed.txt"))
    assert after.fingerprint == before.fingerprint


def test_settings_and_their_defaults() -> None:
    assert encoder_class("precomputed").__name__ == "Precomputed"
    assert settings_of(encoder_class("precomputed")) == {}
    assert settings_of(encoder_class("words")) == {"lowercase": "auto", "tokenize": "treebank"}
    with pytest.raises(AdequaError, match='no kind of encoder named "word". Did you mean "words"'):
        encoder_class("word")


def test_the_encoder_of_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, target, summary = documented_module(
        "encoders.md", "Adding an encoder", tmp_path, monkeypatch
    )
    monkeypatch.setitem(ENCODERS, name, EncoderEntry(target, summary))
    encoder = load_encoder("letters:aeb")
    assert isinstance(encoder, Encoder)
    assert encoder.encode(["Abba", ""]).tolist() == [[0.5, 0, 0.5], [0, 0, 0]]
    assert encoder.encode([]).shape == (0, 3)
    cased = load_encoder("letters:aeb,lowercase=false")
    assert cased.fingerprint != encoder.fingerprint != load_encoder("letters:abe").fingerprint
    assert load_encoder(cased.specification).fingerprint == cased.fingerprint
    encoders(name)
    shown = capsys.readouterr().out
    assert "Count the letters" in shown
    assert "lowercase  true" in shown


def test_the_encoder_of_the_documents_trains_a_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn", reason="training needs scikit-learn")
    name, target, summary = documented_module(
        "encoders.md", "Adding an encoder", tmp_path, monkeypatch
    )
    monkeypatch.setitem(ENCODERS, name, EncoderEntry(target, summary))
    ratings = read_judgements(ROOT / "examples" / "ratings.tsv")
    assert isinstance(ratings, Ratings)
    assert ratings.segments
    metric = EmbeddingRegressor(encoder=load_encoder("letters:aeiou"), folds=2).fit(ratings)
    metric.save("metric")
    expected = metric.score(ratings.segments).segments
    assert load_metric("metric").score(ratings.segments).segments.tolist() == expected.tolist()


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        for load, name in (
            (load_encoder, f"words:{path}"),
            (load_encoder, f"infersent:{path},words={path}"),
            (load_parser, f"conllu:{path}"),
        ):
            with pytest.raises(AdequaError, match="no regular file|is not there"):
                load(name)
