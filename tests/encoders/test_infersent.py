"""InferSent gives what the paper's equations give, whatever the batch, and refuses other files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adequa.encoders.published import InferSent
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from recurrent_oracles import Array, infersent, random_arrays, write_glove
from tiny_infersent import ARRAYS, SIZE, WORD_SIZE, lstm_arrays, save

WORDS = ("<s>", "</s>", "<p>", "</p>", "the", "cat", "did", "didn", "n't", "'t", "sleep", ".")
SENTENCES = ["the cat didn't sleep.", "the cat", "", "the zebra sleep", "cat cat the cat the ."]
VECTORS = random_arrays(2, dict.fromkeys(WORDS, (WORD_SIZE,)))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def weights(tmp_path: Path) -> str:
    return str(save(tmp_path / "infersent1.pkl", ARRAYS))


@pytest.fixture
def words(tmp_path: Path) -> str:
    return str(write_glove(tmp_path / "glove.txt", VECTORS))


def states(words: str) -> Array:
    return infersent([np.float64(VECTORS[word]) for word in words.split()], ARRAYS)


@pytest.mark.parametrize(
    ("version", "sentence", "read"),
    [
        (1, "the cat didn't sleep.", "<s> the cat did n't sleep . </s>"),
        (2, "the cat didn't sleep.", "<p> the cat didn 't sleep . </p>"),
        (2, "the cat didn't", "<p> the cat did n't </p>"),
        (1, "the zebra", "<s> the </s>"),
        (1, "", "<s> </s>"),
        (2, "zebra", "<p> </p>"),
    ],
)
def test_versions_read_these_words(
    weights: str, words: str, version: int, sentence: str, read: str
) -> None:
    encoder = InferSent.load(weights, words=words, version=version)
    np.testing.assert_allclose(encoder.encode([sentence])[0], states(read).max(axis=0), atol=1e-6)


def test_pools(weights: str, words: str) -> None:
    sentence, read = "the cat", "<s> the cat </s>"
    mean = InferSent.load(weights, words=words, pool="mean").encode([sentence, SENTENCES[0]])[0]
    np.testing.assert_allclose(mean, states(read).mean(axis=0), atol=1e-6)
    zero = InferSent.load(weights, words=words, padded=True).encode([sentence])[0]
    largest = states(read).max(axis=0)
    assert largest.min() < 0
    np.testing.assert_allclose(zero, np.maximum(largest, 0), atol=1e-6)


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_batches_equal_single_sentences(weights: str, words: str, pool: str) -> None:
    encoder = InferSent.load(weights, words=words, pool=pool)
    together = encoder.encode(SENTENCES * 2)
    assert together.shape == (10, encoder.dimension) == (10, 2 * SIZE)
    alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(together, np.concatenate([alone, alone]), atol=1e-6)
    np.testing.assert_array_equal(together, encoder.encode(SENTENCES * 2))
    assert encoder.encode([]).shape == (0, 2 * SIZE)


def test_no_known_word_and_no_marks_is_zero(tmp_path: Path, weights: str) -> None:
    plain = write_glove(tmp_path / "plain.txt", {"cat": VECTORS["cat"]})
    encoder = InferSent.load(weights, words=str(plain))
    vectors = encoder.encode(["zebra", "cat"])
    assert not vectors[0].any()
    assert vectors[1].any()


def test_coverage_counts_words_without_marks(weights: str, words: str) -> None:
    coverage = InferSent.load(weights, words=words).coverage(["the zebra didn't sleep.", ""])
    assert coverage.word_counts == (6, 0)
    assert coverage.unknown == (("zebra",), ())


def test_words_parted_by_spaces(weights: str, words: str) -> None:
    encoder = InferSent.load(weights, words=words, tokenize=False)
    expected = states("<s> the </s>").max(axis=0)  # "cat." is no word of the table
    np.testing.assert_allclose(encoder.encode(["the cat."])[0], expected, atol=1e-6)


def test_registry_and_fingerprint(tmp_path: Path, weights: str, words: str) -> None:
    encoder = load_encoder(f"infersent:{weights},words={words},version=2")
    assert isinstance(encoder, InferSent)
    assert encoder.name == "infersent2.max"
    assert load_encoder(encoder.specification).fingerprint == encoder.fingerprint
    copied = save(tmp_path / "elsewhere.pkl", ARRAYS)
    same = InferSent.load(str(copied), words=words, version=2)
    assert same.fingerprint == encoder.fingerprint
    other_words = write_glove(tmp_path / "w.txt", random_arrays(3, {"the": (WORD_SIZE,)}))
    others = {
        InferSent.load(weights, words=words, version=1).fingerprint,
        InferSent.load(weights, words=words, version=2, pool="mean").fingerprint,
        InferSent.load(weights, words=words, version=1, padded=True).fingerprint,
        InferSent.load(weights, words=words, version=2, tokenize=False).fingerprint,
        InferSent.load(weights, words=str(other_words), version=2).fingerprint,
        InferSent.load(
            str(save(tmp_path / "other.pkl", lstm_arrays(9))), words=words, version=2
        ).fingerprint,
    }
    assert len(others | {encoder.fingerprint}) == 7


def test_the_older_file_format_loads(tmp_path: Path, weights: str, words: str) -> None:
    """The published files date from before PyTorch's files were zip archives."""
    old = save(tmp_path / "old.pkl", ARRAYS, _use_new_zipfile_serialization=False)
    encoder = InferSent.load(str(old), words=words)
    assert encoder.fingerprint == InferSent.load(weights, words=words).fingerprint


class Opens:
    """What a file of a stranger could run."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.target), "w"))


def test_files_that_would_run_code_are_refused(tmp_path: Path, words: str) -> None:
    torch.save({"enc_lstm": Opens(tmp_path / "ran")}, tmp_path / "bad.pkl")
    with pytest.raises(AdequaError, match=r"bad.pkl is not a dictionary of weights"):
        InferSent.load(str(tmp_path / "bad.pkl"), words=words)
    assert not (tmp_path / "ran").exists()


def test_other_layouts_are_refused(tmp_path: Path, words: str) -> None:
    one_way = {k: v for k, v in ARRAYS.items() if not k.endswith("_reverse")}
    wrong = {**ARRAYS, "enc_lstm.bias_hh_l0": np.zeros(3, dtype=np.float32)}
    renamed = {k.replace("enc_lstm", "encoder"): v for k, v in ARRAYS.items()}
    deeper = {**ARRAYS, "enc_lstm.weight_ih_l1": np.zeros((16, 8), dtype=np.float32)}
    for arrays in (one_way, wrong, renamed, deeper, {}):
        file = save(tmp_path / "file.pkl", arrays)
        with pytest.raises(AdequaError, match=r"^\S+ is not a dictionary of weights of one .*\.$"):
            InferSent.load(str(file), words=words)
    for content in (b"", b"plain text", b"PK\x03\x04 cut short"):
        file.write_bytes(content)
        with pytest.raises(AdequaError, match=r"file.pkl is not a dictionary"):
            InferSent.load(str(file), words=words)
    torch.save([1.0, 2.0], file)
    with pytest.raises(AdequaError, match=r"file.pkl is not a dictionary"):
        InferSent.load(str(file), words=words)


def test_settings_and_paths_in_a_sentence(tmp_path: Path, weights: str, words: str) -> None:
    thin = write_glove(tmp_path / "thin.txt", {"the": np.ones(3), "cat": np.zeros(3)})
    for settings, sentence in (
        ({}, "needs the word vectors .* add words=FILE"),
        ({"words": words, "version": 3}, "version must be 1 or 2, not 3"),
        ({"words": words, "pool": "sum"}, "pool must be max or mean, not 'sum'"),
        ({"words": words, "version": 2, "padded": True}, "padded=true is for version=1"),
        ({"words": words, "device": "abacus"}, 'no device "abacus"'),
        ({"words": str(thin)}, "thin.txt has 3 numbers per word, but .* reads 5"),
        ({"words": str(tmp_path / "none.txt")}, "none.txt is not there"),
    ):
        with pytest.raises(AdequaError, match=sentence):
            InferSent.load(weights, **settings)
    with pytest.raises(AdequaError, match=r"There is no file .*none.pkl"):
        InferSent.load(str(tmp_path / "none.pkl"), words=words)
    with pytest.raises(AdequaError, match="is a folder"):
        InferSent.load(str(tmp_path), words=words)
