"""Token ids of texts: read in one go or in many, padded, and cut where they are too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders import tokens
from adequa.encoders.tokens import Reader, TokenRows
from adequa.errors import AdequaError
from tiny_transformer import IDS, tiny_network, token_rows, write_tokenizer

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="transformers need PyTorch")

TEXTS = [("the cat", "a dog ran"), ("the", ""), ("far away .", "the cat"), ("", "")]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


def by_hand(*texts: str) -> tuple[list[int], list[int]]:
    ids, types = [IDS["[CLS]"]], [0]
    for kind, text in enumerate(texts):
        part = [*(IDS[word] for word in text.split()), IDS["[SEP]"]]
        ids, types = [*ids, *part], [*types, *[kind] * len(part)]
    return ids, types


def rows_of(found: TokenRows) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.ids, found.starts[1:-1])]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_pairs_are_read(tokenizer: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_CHUNK", chunk)
    found = Reader(tokenizer, typed=True, max_length=20).read(TEXTS)
    expected = [by_hand(*pair) for pair in TEXTS]
    assert len(found) == 4
    assert rows_of(found) == [ids for ids, _ in expected]
    assert found.types is not None
    assert found.types.tolist() == [kind for _, types in expected for kind in types]
    assert found.lengths.tolist() == [len(ids) for ids, _ in expected]


def test_single_texts_and_none(tokenizer: Any) -> None:
    reader = Reader(tokenizer, typed=False, max_length=20)
    found = reader.read([("the cat",), ("",)])
    assert rows_of(found) == [by_hand("the cat")[0], by_hand("")[0]]
    assert found.types is None
    assert len(reader.read([])) == 0
    assert reader.count_truncated([], reader.read([])) == 0


@pytest.mark.parametrize("typed", [True, False])
def test_half_a_character_is_a_sentence(tokenizer: Any, typed: bool) -> None:
    texts = [("the cat", "a dog"), ("the", "ca\udcfft")]
    with pytest.raises(AdequaError) as caught:
        Reader(tokenizer, typed=typed, max_length=20).read(texts)
    assert str(caught.value) == (
        r"A text holds '\udcff' at character 3, which is half a character (a surrogate) that no "
        "tokenizer reads; correct the text."
    )


def test_rows_are_padded_on_the_right() -> None:
    found = token_rows([[5, 6, 7], [8], [9, 4]])
    padded = found.padded(np.array([2, 0, 2]))
    assert padded["input_ids"].tolist() == [[9, 4, 0], [5, 6, 7], [9, 4, 0]]
    assert padded["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 0]]
    assert set(padded) == {"input_ids", "attention_mask"}
    typed = TokenRows(found.ids, np.array([0, 0, 1, 0, 1, 1], np.int8), found.starts, (3, 2))
    padded = typed.padded(np.array([1, 2]))
    assert padded["input_ids"].tolist() == [[8, 3], [9, 4]]
    assert padded["token_type_ids"].tolist() == [[0, 2], [1, 1]]


def test_what_is_too_long_is_cut_and_counted(tokenizer: Any) -> None:
    reader = Reader(tokenizer, typed=True, max_length=7)
    fits = ("the cat", "a dog")  # with its special tokens exactly 7
    texts = [fits, ("the cat", "a dog ran"), ("the",) * 2, ("the cat sat on", "a mat")]
    found = reader.read(texts)
    assert found.lengths.tolist() == [7, 7, 5, 7]
    assert rows_of(found)[0] == by_hand(*fits)[0]
    assert reader.count_truncated(texts, found) == 2


def test_the_network_says_whether_it_asks_for_types(tokenizer: Any) -> None:
    assert Reader.of(tiny_network(), tokenizer, 9).typed
    assert not Reader.of(tiny_network(type_vocab_size=1), tokenizer, 9).typed
    small = transformers.DistilBertConfig(
        vocab_size=20, dim=16, n_layers=1, n_heads=2, hidden_dim=24
    )
    assert not Reader.of(transformers.DistilBertModel(small), tokenizer, 9).typed
