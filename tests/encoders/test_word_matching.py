"""Words matched by word vectors: against figures worked out by hand."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.registry import load_encoder
from adequa.encoders.word_matching import FIGURES, WordMatching
from adequa.errors import AdequaError


@pytest.fixture
def encoder(tmp_path: Path) -> WordMatching:
    # the: rank 0, cat: 1, dog: 2, sat: 3
    lines = ["the 1 0 0", "cat 0 2 0", "dog 0 3 4", "sat 0 0 1"]
    path = tmp_path / "small.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = load_encoder(f"word-matching:{path}")
    assert isinstance(found, WordMatching)
    return found


def figures(encoder: WordMatching, hypothesis: str, reference: str) -> dict[str, float]:
    (row,) = encoder.encode_pairs([hypothesis], [reference])
    return dict(zip(FIGURES, row.tolist(), strict=True))


def test_figures_by_hand(encoder: WordMatching) -> None:
    found = figures(encoder, "The cat", "the dog sat")
    # cat matches dog by 3/5; dog matches sat by 4/5, but the hypothesis has no sat.
    precision, recall = (1 + 0.6) / 2, (1 + 0.6 + 0) / 3
    assert found["precision"] == pytest.approx(precision)
    assert found["recall"] == pytest.approx(recall)
    assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    # "the" comes first in the file and weighs nothing, the others log(1 + place).
    assert found["precision of rare words"] == pytest.approx(0.6)
    assert found["recall of rare words"] == pytest.approx(0.6 * log(3) / (log(3) + log(4)))
    # The means (1/2, 1, 0) and (1/3, 1, 5/3).
    cosine = (1 / 6 + 1) / sqrt(1 / 4 + 1) / sqrt(1 / 9 + 1 + 25 / 9)
    assert found["cosine"] == pytest.approx(cosine, rel=1e-5)


def test_unknown_words_match_themselves_alone(encoder: WordMatching) -> None:
    found = figures(encoder, "Brno sat", "Brno cat")
    assert found["precision"] == pytest.approx(0.5)  # Brno 1, sat 0
    assert found["recall"] == pytest.approx(0.5)
    assert figures(encoder, "Brno", "Praha")["f1"] == 0
    # A word that is not in the file is rarer than all that are.
    weight = log(5) / (log(5) + log(4))
    assert found["precision of rare words"] == pytest.approx(weight)


def test_opposite_words_have_no_harmonic_mean(tmp_path: Path) -> None:
    path = tmp_path / "opposite.txt"
    path.write_text("alpha 1 0\nbeta 0.1 0.99498744\ngamma -0.29999 0.9539427\n")
    found = load_encoder(f"word-matching:{path}")
    assert isinstance(found, WordMatching)
    row = figures(found, "alpha", "beta gamma")
    assert row["precision"] > 0 > row["recall"]
    assert row["f1"] == row["f1 of rare words"] == 0


def test_a_text_matches_itself(encoder: WordMatching) -> None:
    np.testing.assert_allclose(list(figures(encoder, "the cat", "the cat").values()), 1, rtol=1e-6)
    assert figures(encoder, "the", "the")["f1 of rare words"] == pytest.approx(1)  # weights all 0


def test_a_text_without_words_has_no_matches(encoder: WordMatching) -> None:
    assert not any(figures(encoder, "", "the cat").values())
    assert not any(figures(encoder, "the cat", " ").values())
    assert encoder.encode_pairs([], []).shape == (0, len(FIGURES))


def test_the_pairs_beside_do_not_matter(encoder: WordMatching) -> None:
    texts = [f"the cat {word} sat" for word in ("dog", "Brno", "the")] * 700
    references = ["the dog sat", "cat sat Brno", "dog"] * 700
    many = encoder.encode_pairs(texts, references)
    few = encoder.encode_pairs(texts[:3], references[:3])
    assert many[:3].tolist() == few.tolist() == many[-3:].tolist()


def test_hyphens_split_words_unless_another_tokenizer_is_named(encoder: WordMatching) -> None:
    assert figures(encoder, "cat-dog", "cat dog")["recall"] == 1
    whole = load_encoder(f"word-matching:{encoder.path},tokenize=none")
    assert isinstance(whole, WordMatching)
    assert figures(whole, "cat-dog", "cat dog")["recall"] == 0
    assert whole.fingerprint != encoder.fingerprint
    again = load_encoder(whole.specification)
    assert (again.specification, again.fingerprint) == (whole.specification, whole.fingerprint)


def test_bad_input_is_told(encoder: WordMatching, tmp_path: Path) -> None:
    with pytest.raises(AdequaError, match="reads sentences in pairs, but there are 1 and 2"):
        encoder.encode_pairs(["a"], ["b", "c"])
    with pytest.raises(AdequaError, match="is not there; name a GloVe or word2vec file"):
        load_encoder(f"word-matching:{tmp_path / 'none.txt'}")
    with pytest.raises(AdequaError, match='no tokenizer named "palin". Did you mean "plain"'):
        load_encoder(f"word-matching:{encoder.path},tokenize=palin")
