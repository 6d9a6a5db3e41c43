"""Words matched by a transformer and by word vectors: the definition, and features by hand."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.base import PairEncoder
from adequa.encoders.matching import (
    TOKEN_FEATURES,
    WORD_FEATURES,
    TokenMatching,
    WordMatching,
    token_features,
)
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from tiny_transformer import write_tiny_encoder


@pytest.fixture(scope="module")
def token_matching(tmp_path_factory: pytest.TempPathFactory) -> TokenMatching:
    pytest.importorskip("transformers", reason="word pieces are matched by a transformer")
    folder = write_tiny_encoder(tmp_path_factory.mktemp("models") / "tiny")
    encoder = load_encoder(f"matching:{folder},layers=1+2,device=cpu")
    assert isinstance(encoder, TokenMatching)
    return encoder


def _states(token_matching: TokenMatching, text: str) -> np.ndarray:
    """By transformers itself: the states of all words, without [CLS] and [SEP]."""
    import torch
    import transformers

    model = transformers.AutoModel.from_pretrained(token_matching.path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(token_matching.path)
    with torch.inference_mode():
        read = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        layers = model(**read, output_hidden_states=True).hidden_states
    return np.stack([layers[at][0, 1:-1].numpy() for at in (1, 2)])


def test_token_features_are_those_of_the_definition(token_matching: TokenMatching) -> None:
    pairs = [("the cat sat", "a dog ran away ."), ("the mat", "the cat sat")]
    vectors = token_matching.encode_pairs([t for t, _ in pairs], [r for _, r in pairs])
    assert vectors.shape == (2, 2 * len(TOKEN_FEATURES))
    for row, (hypothesis, reference) in enumerate(pairs):
        for layer in (0, 1):
            t, r = (_states(token_matching, text)[layer] for text in (hypothesis, reference))
            cosines = [[_cosine(a, b) for b in r] for a in t]
            precision = np.mean([max(line) for line in cosines])
            recall = np.mean([max(column) for column in zip(*cosines, strict=True)])
            by_hand = [
                precision,
                recall,
                2 * precision * recall / (precision + recall),
                _cosine(t.mean(axis=0), r.mean(axis=0)),
            ]
            features = vectors[row, layer * len(TOKEN_FEATURES) : (layer + 1) * len(TOKEN_FEATURES)]
            np.testing.assert_allclose(features, by_hand, atol=1e-5)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_word_pieces_of_a_text_match_themselves(token_matching: TokenMatching) -> None:
    vectors = token_matching.encode_pairs(["the cat sat", ""], ["the cat sat", "the cat"])
    np.testing.assert_allclose(vectors[0], 1.0, atol=1e-5)
    assert not vectors[1].any()  # no word, nothing to match


def test_token_features_do_not_depend_on_other_pairs(token_matching: TokenMatching) -> None:
    alone = token_matching.encode_pairs(["the cat"], ["a dog ran"])
    beside = token_matching.encode_pairs(
        ["the cat", "a mat . . . far away"], ["a dog ran", "the cat sat on a mat"]
    )
    np.testing.assert_allclose(alone[0], beside[0], atol=1e-6)


def test_name_and_fingerprint_of_token_matching(token_matching: TokenMatching) -> None:
    again = load_encoder(token_matching.specification)
    assert isinstance(again, PairEncoder)
    assert again.fingerprint == token_matching.fingerprint
    other = load_encoder(f"matching:{token_matching.path},layers=2,device=cpu")
    assert other.fingerprint != token_matching.fingerprint
    with pytest.raises(AdequaError, match="layers=9 names no layers"):
        load_encoder(f"matching:{token_matching.path},layers=9")


def test_f1_of_negative_cosines_is_zero() -> None:
    t, r = np.array([[[1.0, 0.0]]], np.float32), np.array([[[-1.0, 0.0]]], np.float32)
    assert token_features(t, r).tolist() == [-1.0, -1.0, 0.0, -1.0]


@pytest.fixture
def word_matching(tmp_path: Path) -> WordMatching:
    # the: rank 0, cat: 1, dog: 2, sat: 3
    lines = ["the 1 0 0", "cat 0 2 0", "dog 0 3 4", "sat 0 0 1"]
    path = tmp_path / "small.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    encoder = load_encoder(f"word-matching:{path}")
    assert isinstance(encoder, WordMatching)
    return encoder


def word_features(word_matching: WordMatching, hypothesis: str, reference: str) -> dict[str, float]:
    (row,) = word_matching.encode_pairs([hypothesis], [reference])
    return dict(zip(WORD_FEATURES, row.tolist(), strict=True))


def test_word_features_by_hand(word_matching: WordMatching) -> None:
    scores = word_features(word_matching, "The cat", "the dog sat")
    # cat matches dog by 3/5; dog matches sat by 4/5, but the hypothesis has no sat.
    precision, recall = (1 + 0.6) / 2, (1 + 0.6 + 0) / 3
    assert scores["precision"] == pytest.approx(precision)
    assert scores["recall"] == pytest.approx(recall)
    assert scores["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    # "the" comes first in the file and weighs nothing, the others log(1 + place).
    assert scores["precision of rare words"] == pytest.approx(0.6)
    assert scores["recall of rare words"] == pytest.approx(0.6 * log(3) / (log(3) + log(4)))
    # The means (1/2, 1, 0) and (1/3, 1, 5/3).
    cosine = (1 / 6 + 1) / sqrt(1 / 4 + 1) / sqrt(1 / 9 + 1 + 25 / 9)
    assert scores["cosine"] == pytest.approx(cosine, rel=1e-5)


def test_unknown_words_match_themselves_alone(word_matching: WordMatching) -> None:
    scores = word_features(word_matching, "Brno sat", "Brno cat")
    assert scores["precision"] == pytest.approx(0.5)  # Brno 1, sat 0
    assert scores["recall"] == pytest.approx(0.5)
    assert word_features(word_matching, "Brno", "Praha")["f1"] == 0
    # A word that is not in the file is rarer than all that are.
    weight = log(5) / (log(5) + log(4))
    assert scores["precision of rare words"] == pytest.approx(weight)


def test_f1_of_opposite_words_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "opposite.txt"
    path.write_text("alpha 1 0\nbeta 0.1 0.99498744\ngamma -0.29999 0.9539427\n")
    encoder = load_encoder(f"word-matching:{path}")
    assert isinstance(encoder, WordMatching)
    row = word_features(encoder, "alpha", "beta gamma")
    assert row["precision"] > 0 > row["recall"]
    assert row["f1"] == row["f1 of rare words"] == 0


def test_words_of_a_text_match_themselves(word_matching: WordMatching) -> None:
    np.testing.assert_allclose(
        list(word_features(word_matching, "the cat", "the cat").values()), 1, rtol=1e-6
    )
    assert word_features(word_matching, "the", "the")["f1 of rare words"] == pytest.approx(
        1
    )  # weights all 0


def test_a_text_without_words_has_no_matches(word_matching: WordMatching) -> None:
    assert not any(word_features(word_matching, "", "the cat").values())
    assert not any(word_features(word_matching, "the cat", " ").values())
    assert word_matching.encode_pairs([], []).shape == (0, len(WORD_FEATURES))


def test_word_features_do_not_depend_on_other_pairs(word_matching: WordMatching) -> None:
    texts = [f"the cat {word} sat" for word in ("dog", "Brno", "the")] * 700
    references = ["the dog sat", "cat sat Brno", "dog"] * 700
    many = word_matching.encode_pairs(texts, references)
    few = word_matching.encode_pairs(texts[:3], references[:3])
    assert many[:3].tolist() == few.tolist() == many[-3:].tolist()


def test_hyphens_split_words_unless_another_tokenizer_is_named(word_matching: WordMatching) -> None:
    assert word_features(word_matching, "cat-dog", "cat dog")["recall"] == 1
    whole = load_encoder(f"word-matching:{word_matching.path},tokenize=none")
    assert isinstance(whole, WordMatching)
    assert word_features(whole, "cat-dog", "cat dog")["recall"] == 0
    assert whole.fingerprint != word_matching.fingerprint
    again = load_encoder(whole.specification)
    assert (again.specification, again.fingerprint) == (whole.specification, whole.fingerprint)


def test_bad_input_is_refused_in_a_sentence(word_matching: WordMatching, tmp_path: Path) -> None:
    with pytest.raises(AdequaError, match="reads sentences in pairs, but there are 1 and 2"):
        word_matching.encode_pairs(["a"], ["b", "c"])
    with pytest.raises(AdequaError, match="is not there; name a GloVe or word2vec file"):
        load_encoder(f"word-matching:{tmp_path / 'none.txt'}")
    with pytest.raises(AdequaError, match='no tokenizer named "palin". Did you mean "plain"'):
        load_encoder(f"word-matching:{word_matching.path},tokenize=palin")
