"""Syntactic vectors: figures of trees by hand, and what may not change them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.base import Encoder
from adequa.encoders.parses import ParsedFiles, Parses
from adequa.encoders.registry import load_encoder
from adequa.encoders.syntax import DIMENSION, Trees
from adequa.errors import AdequaError
from tiny_encoders import write_words

# "The old dog barked": The and old hang from dog, dog from barked.
TREE = (("The", "old", "dog", "barked"), (2, 2, 3, -1))
STOP = (("Stop",), (-1,))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    path = tmp_path / "parses.conllu"
    Parses.of([TREE, STOP]).write(path, ["The old dog barked", "Stop"])
    return path


def _encoder(specification: str) -> Encoder:
    encoder = load_encoder(specification)
    assert isinstance(encoder, Encoder)
    return encoder


def test_depths_and_sizes_by_hand() -> None:
    trees = Trees.of(Parses.of([TREE, ((), ()), STOP]))
    assert trees.depth.tolist() == [2, 2, 1, 0, 0]
    assert trees.sizes().tolist() == [1, 1, 3, 4, 1]
    assert trees.parents.tolist() == [2, 2, 3, -1, -1]


def test_figures_by_hand() -> None:
    shape = Trees.of(Parses.of([TREE, ((), ()), STOP])).shape()
    assert shape.shape == (3, DIMENSION)
    by_hand = [
        np.log(5), 2, 1.25, np.std([2, 2, 1, 0]),  # words, and how deep they are
        2, 1.5, 0.5, 0.25, 0.0,  # dependents: most, mean where any, none, one, three and more
        2, 1.0, np.std([2, 1, 1, 0]), 0.5, 0.0,  # arcs: longest, mean, spread, short, long
        0.75, 1, 0,  # arcs to the left, and those of the root to the left and to the right
        0.75, 0.75, 9 / 16,  # where the root is, and how much hangs from its dependents
        2, 0, 0.25, 0.5, 0.0,  # depth of the first and the last word, and words by depth
    ]  # fmt: skip
    np.testing.assert_allclose(shape[0], by_hand)
    assert not shape[1].any()


def test_an_encoder_over_conllu_files(parsed: Path) -> None:
    encoder = _encoder(f"syntax:conllu:{parsed}")
    vectors = encoder.encode(["Stop", "The old dog barked", "Stop"])
    assert vectors.shape == (3, DIMENSION)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    again = _encoder(encoder.specification)
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.encode(["Stop"])[0], vectors[0])


def test_words_composed_over_the_tree(parsed: Path, tmp_path: Path) -> None:
    words = write_words(tmp_path / "words.txt", ["the old dog barked stop"], 7)
    encoder = _encoder(f"syntax:conllu:{parsed},features=composed,words={words}")
    vector = encoder.encode(["Stop"])[0]
    # One word without dependents: tanh of its vector times the first random matrix.
    random = np.random.default_rng(0)
    inward = random.normal(size=(7, DIMENSION)) / np.sqrt(7)
    table = dict(line.split(" ", 1) for line in words.read_text().splitlines())
    x = np.array(table["stop"].split(), np.float64)
    np.testing.assert_allclose(vector, np.tanh(x @ inward), atol=1e-6)
    assert encoder.fingerprint != _encoder(f"syntax:conllu:{parsed}").fingerprint
    # Another tree over the same words is another vector.
    flat = tmp_path / "flat.conllu"
    Parses.of([(TREE[0], (3, 3, 3, -1))]).write(flat, ["The old dog barked"])
    other = _encoder(f"syntax:conllu:{flat},features=composed,words={words}")
    text = ["The old dog barked"]
    assert not np.allclose(other.encode(text), encoder.encode(text))


def test_wrong_settings(parsed: Path) -> None:
    with pytest.raises(AdequaError, match="features must be shape or composed, not 'depth'"):
        load_encoder(f"syntax:conllu:{parsed},features=depth")
    with pytest.raises(AdequaError, match="words=FILE goes with features=composed"):
        load_encoder(f"syntax:conllu:{parsed},features=composed")
    with pytest.raises(AdequaError, match="there is no parse of 1 of 1"):
        _encoder(f"syntax:conllu:{parsed}").encode(["Go"])


def test_parses_are_looked_up_not_guessed(parsed: Path) -> None:
    parser = ParsedFiles.load(str(parsed))
    assert parser.parse(["Stop"]).words == ("Stop",)
