"""Words matched in a transformer: against the definition, word by word."""

from __future__ import annotations

import numpy as np
import pytest

from adequa.encoders.base import PairEncoder
from adequa.encoders.registry import load_encoder
from adequa.encoders.token_matching import FIGURES, TokenMatching, matches
from adequa.errors import AdequaError

pytest.importorskip("transformers", reason="words are matched by a transformer")

from tiny_transformer import write_tiny_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TokenMatching:
    folder = write_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")
    found = load_encoder(f"matching:{folder},layers=1+2,device=cpu")
    assert isinstance(found, TokenMatching)
    return found


def _states(encoder: TokenMatching, text: str) -> np.ndarray:
    """By transformers itself: the states of all words, without [CLS] and [SEP]."""
    import torch
    import transformers

    model = transformers.AutoModel.from_pretrained(encoder.path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder.path)
    with torch.inference_mode():
        read = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        layers = model(**read, output_hidden_states=True).hidden_states
    return np.stack([layers[at][0, 1:-1].numpy() for at in (1, 2)])


def test_figures_are_those_of_the_definition(encoder: TokenMatching) -> None:
    pairs = [("the cat sat", "a dog ran away ."), ("the mat", "the cat sat")]
    found = encoder.encode_pairs([t for t, _ in pairs], [r for _, r in pairs])
    assert found.shape == (2, 2 * len(FIGURES))
    for row, (hypothesis, reference) in enumerate(pairs):
        for layer in (0, 1):
            t, r = (_states(encoder, text)[layer] for text in (hypothesis, reference))
            alike = [[_cosine(a, b) for b in r] for a in t]
            precision = np.mean([max(line) for line in alike])
            recall = np.mean([max(column) for column in zip(*alike, strict=True)])
            by_hand = [
                precision,
                recall,
                2 * precision * recall / (precision + recall),
                _cosine(t.mean(axis=0), r.mean(axis=0)),
            ]
            figures = found[row, layer * len(FIGURES) : (layer + 1) * len(FIGURES)]
            np.testing.assert_allclose(figures, by_hand, atol=1e-5)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_text_matches_itself(encoder: TokenMatching) -> None:
    found = encoder.encode_pairs(["the cat sat", ""], ["the cat sat", "the cat"])
    np.testing.assert_allclose(found[0], 1.0, atol=1e-5)
    assert not found[1].any()  # no word, nothing to match


def test_the_texts_beside_do_not_matter(encoder: TokenMatching) -> None:
    alone = encoder.encode_pairs(["the cat"], ["a dog ran"])
    beside = encoder.encode_pairs(
        ["the cat", "a mat . . . far away"], ["a dog ran", "the cat sat on a mat"]
    )
    np.testing.assert_allclose(alone[0], beside[0], atol=1e-6)


def test_names_and_fingerprints(encoder: TokenMatching) -> None:
    again = load_encoder(encoder.specification)
    assert isinstance(again, PairEncoder)
    assert again.fingerprint == encoder.fingerprint
    other = load_encoder(f"matching:{encoder.path},layers=2,device=cpu")
    assert other.fingerprint != encoder.fingerprint
    with pytest.raises(AdequaError, match="layers=9 names no layers"):
        load_encoder(f"matching:{encoder.path},layers=9")


def test_unlike_texts_have_no_negative_mean() -> None:
    t, r = np.array([[[1.0, 0.0]]], np.float32), np.array([[[-1.0, 0.0]]], np.float32)
    assert matches(t, r).tolist() == [-1.0, -1.0, 0.0, -1.0]
