"""Words are those of NLTK; token ids are the same in any chunks, padded and truncated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nltk.tokenize import NLTKWordTokenizer

from adequa.encoders import transformer_files
from adequa.encoders.transformer_files import Reader, TokenRows
from adequa.encoders.word_vectors import treebank_words
from adequa.errors import AdequaError
from judgements import needs_judgements, read_judgements
from tiny_transformer import IDS, tiny_network, token_rows, write_tokenizer

TEXTS = [("the cat", "a dog ran"), ("the", ""), ("far away .", "the cat"), ("", "")]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("torch", reason="transformers need PyTorch")
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


def by_hand(*texts: str) -> tuple[list[int], list[int]]:
    ids, types = [IDS["[CLS]"]], [0]
    for kind, text in enumerate(texts):
        part = [*(IDS[word] for word in text.split()), IDS["[SEP]"]]
        ids, types = [*ids, *part], [*types, *[kind] * len(part)]
    return ids, types


def rows_of(tokens: TokenRows) -> list[list[int]]:
    return [part.tolist() for part in np.split(tokens.ids, tokens.starts[1:-1])]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_pairs_are_read(tokenizer: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer_files, "TOKENIZED_AT_ONCE", chunk)
    rows = Reader(tokenizer, typed=True, max_length=20).read(TEXTS)
    expected = [by_hand(*pair) for pair in TEXTS]
    assert len(rows) == 4
    assert rows_of(rows) == [ids for ids, _ in expected]
    assert rows.types is not None
    assert rows.types.tolist() == [kind for _, types in expected for kind in types]
    assert rows.lengths.tolist() == [len(ids) for ids, _ in expected]


def test_single_texts_and_none(tokenizer: Any) -> None:
    reader = Reader(tokenizer, typed=False, max_length=20)
    rows = reader.read([("the cat",), ("",)])
    assert rows_of(rows) == [by_hand("the cat")[0], by_hand("")[0]]
    assert rows.types is None
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
    rows = token_rows([[5, 6, 7], [8], [9, 4]])
    padded = rows.padded(np.array([2, 0, 2]))
    assert padded["input_ids"].tolist() == [[9, 4, 0], [5, 6, 7], [9, 4, 0]]
    assert padded["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 0]]
    assert set(padded) == {"input_ids", "attention_mask"}
    typed = TokenRows(rows.ids, np.array([0, 0, 1, 0, 1, 1], np.int8), rows.starts, (3, 2))
    padded = typed.padded(np.array([1, 2]))
    assert padded["input_ids"].tolist() == [[8, 3], [9, 4]]
    assert padded["token_type_ids"].tolist() == [[0, 2], [1, 1]]


def test_long_texts_are_truncated_and_counted(tokenizer: Any) -> None:
    reader = Reader(tokenizer, typed=True, max_length=7)
    fits = ("the cat", "a dog")  # with its special tokens exactly 7
    texts = [fits, ("the cat", "a dog ran"), ("the",) * 2, ("the cat sat on", "a mat")]
    rows = reader.read(texts)
    assert rows.lengths.tolist() == [7, 7, 5, 7]
    assert rows_of(rows)[0] == by_hand(*fits)[0]
    assert reader.count_truncated(texts, rows) == 2


def test_token_types_are_given_where_the_network_takes_them(tokenizer: Any) -> None:
    import transformers

    assert Reader.of(tiny_network(), tokenizer, 9).typed
    assert not Reader.of(tiny_network(type_vocab_size=1), tokenizer, 9).typed
    small = transformers.DistilBertConfig(
        vocab_size=20, dim=16, n_layers=1, n_heads=2, hidden_dim=24
    )
    assert not Reader.of(transformers.DistilBertModel(small), tokenizer, 9).typed


@pytest.mark.parametrize(
    "text",
    [
        'He said: "It\'s 3,500.50 (or so)..."',
        "I can't, won't and shouldn't; they'll've gone -- we'd stay!",
        "The dogs' dinner cost $5 & 10% of 'nothing', didn't it?",
        "O'Neill's 'tis cannot gonna wanna go",
        "“Curly” quotes – and — dashes ‘too’ «also»",
        "Ends with U.S.",
        "a@b.c, 12:30 #tag [x] {y} <z> *w*",
        "Wait.. what",
        "rock 'n' roll in the '90s",
        "DON'T HE'LL",
        "",
        " \t ",
    ],
)
def test_words_are_those_of_nltk(text: str) -> None:
    assert treebank_words(text) == NLTKWordTokenizer().tokenize(text)


def test_full_stops_inside_a_text() -> None:
    text = "It ended. Mr. Wu of the U.S. Army left at 3. He (A. B.) slept. and so on."
    expected = "It ended . Mr. Wu of the U.S. Army left at 3 . He ( A. B. ) slept. and so on ."
    assert treebank_words(text) == expected.split()


@needs_judgements
def test_words_of_news_are_those_of_nltk() -> None:
    """NLTK is given one sentence at a time; so only texts without inner full stops compare."""
    texts = {row["ref"] for rows in read_judgements("wmt16-da").values() for row in rows}
    single = [text for text in texts if ". " not in text and '."' not in text]
    same = sum(treebank_words(text) == NLTKWordTokenizer().tokenize(text) for text in single)
    assert len(single) > 1000
    assert same >= 0.999 * len(single)
