"""Pairs as rows of tokens: as the tokenizer puts them together, padded, and cut into windows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime.tokens import Pair, PairTokenizer
from tiny_onnx import WORDS, tiny_tokenizer

pytest.importorskip("tokenizers")

TEXTS = st.lists(st.sampled_from(WORDS[4:]), max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def pair_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PairTokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tiny_tokenizer().save(str(path))
    return PairTokenizer.open(path, 512)


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=8))
def test_pairs_are_put_together_as_the_tokenizer_does(
    pair_tokenizer: PairTokenizer, pairs: list[Pair]
) -> None:
    rows = pair_tokenizer.encode(pairs)
    for at, pair in enumerate(pairs):
        encoded = tiny_tokenizer().encode(*pair)
        row = slice(rows.starts[at], rows.starts[at + 1])
        assert rows.ids[row].tolist() == encoded.ids
        assert rows.types[row].tolist() == encoded.type_ids
    assert rows.pairs.tolist() == list(range(len(pairs)))


@pytest.mark.parametrize(
    ("single", "pair"),
    [
        ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
        ("$A", "$A $B"),
        ("$A </s>", "$A:1 </s> $B:0"),
    ],
)
def test_pairs_are_put_together_in_other_ways(tmp_path: Path, single: str, pair: str) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    letters = {name: id_ for id_, name in enumerate(["<s>", "<pad>", "</s>", *"Ġabc"])}
    tokenizer = Tokenizer(models.BPE(letters, [], unk_token="<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    pair_tokenizer = PairTokenizer.open(tmp_path / "tokenizer.json", 100)
    assert pair_tokenizer.padding == 1
    for texts in (("ab c", "c"), ("", "a"), ("", ""), ("abc é", "")):
        rows, encoded = pair_tokenizer.encode([texts]), tokenizer.encode(*texts)
        assert (rows.ids.tolist(), rows.types.tolist()) == (encoded.ids, encoded.type_ids)


def test_control_tokens_in_texts_are_text(tmp_path: Path) -> None:
    """Whoever writes [SEP] into a hypothesis does not move where it begins."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens(["[SEP]", "[UNK]", "[CLS]", "[PAD]"])
    assert tokenizer.encode("cat [SEP]").ids.count(WORDS.index("[SEP]")) == 2
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    pair_tokenizer = PairTokenizer.open(tmp_path / "tokenizer.json", 100)
    for parallel in (True, False):
        rows = replace(pair_tokenizer, parallel=parallel).encode([("cat [SEP] [CLS]", "dog")])
        ids, unknown = rows.ids.tolist(), WORDS.index("[UNK]")
        between = [WORDS.index("cat"), *[unknown] * 6, WORDS.index("[SEP]"), WORDS.index("dog")]
        assert ids == [WORDS.index("[CLS]"), *between, WORDS.index("[SEP]")]


def test_padding_is_masked_and_has_its_own_id(pair_tokenizer: PairTokenizer) -> None:
    rows = pair_tokenizer.encode([("cat", "dog"), ("the cat", "a dog ran")])
    inputs = rows.padded(np.array([0, 1]))
    assert inputs["attention_mask"].tolist() == [[1] * 5 + [0] * 3, [1] * 8]
    assert inputs["input_ids"][0, 5:].tolist() == [WORDS.index("[PAD]")] * 3


def test_padding_never_goes_beyond_what_a_model_can_read(pair_tokenizer: PairTokenizer) -> None:
    short = replace(pair_tokenizer, max_length=10)
    rows = short.encode([("the cat sat on", "a mat and"), ("the cat", "sat"), ("dog " * 30, "ran")])
    assert rows.padded(np.array([0, 1]))["input_ids"].shape == (2, 10)
    assert rows.padded(np.array([1]))["input_ids"].shape == (1, 8)
    assert rows.lengths.max() <= 10


@given(TEXTS, TEXTS, st.integers(5, 30))
def test_windows_hold_every_token_once(
    pair_tokenizer: PairTokenizer, hypothesis: str, reference: str, length: int
) -> None:
    short = replace(pair_tokenizer, max_length=length)
    rows = short.encode([("cat", "dog"), (hypothesis * 3, reference), ("dog", "cat")])
    assert rows.lengths.max() <= length
    again = {0: [], 1: []}  # type: dict[int, list[int]]
    for row in np.flatnonzero(rows.pairs == 1):
        part = slice(rows.starts[row], rows.starts[row + 1])
        for id_, kind in zip(rows.ids[part].tolist(), rows.types[part].tolist(), strict=True):
            if id_ not in {WORDS.index("[CLS]"), WORDS.index("[SEP]")}:
                again[kind].append(id_)
    for kind, text in enumerate((hypothesis * 3, reference)):
        assert again[kind] == tiny_tokenizer().encode(text, add_special_tokens=False).ids


def test_a_tokenizer_that_panics_is_refused(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    written = json.loads((tmp_path / "tokenizer.json").read_text())
    written["post_processor"]["pair"][0] = {"SpecialToken": {"id": "[NONE]", "type_id": 0}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(written))
    with pytest.raises(AdequaError, match="tokenizer"):
        PairTokenizer.open(tmp_path / "tokenizer.json", 100)
