"""Smaller students: layers that are kept, and vocabularies of the most frequent pieces."""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.pair.initial_model import new_model
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.network import Head, PairModel
from adequa.learned.pair.plan import Plan, StagePlan, plan_from
from adequa.learned.pair.reduce import (
    encoder_layers,
    kept_layers,
    with_layers,
    with_vocabulary,
)
from adequa.metrics.registry import load_metric
from adequa.segments import Segments
from tiny_transformer import tiny_network, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LAST = "[MASK]"  # a special token behind all others, as in MPNet
LETTERS = (*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), ".")
WORDS = ("the", "cat", "dog", "sat", "ran", "on", "mat", "far", "away", "good", "bad")
PIECES = (*SPECIAL, *LETTERS, *WORDS, LAST)
ALWAYS = len(SPECIAL) + len(LETTERS) + 1
FREQUENT = [("the cat sat", "the cat ran")] * 3 + [("the dog sat", "the cat sat")]
STAGE = {"objective": "ratings"}
QUICK = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(1e-3,))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of three layers with a vocabulary of WordPiece."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("models") / "pieces"
    tiny_network(layers=3, vocab_size=len(PIECES)).save_pretrained(folder)
    vocabulary = {piece: index for index, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens([LAST])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def model(encoder: Path, layers: str = "3") -> PairModel:
    return new_model(encoder, Head(layers=layers), max_length=0, seed=1)


def scores(of: PairModel, *pairs: tuple[str, str]) -> np.ndarray:
    return of.scores(pairs, "fp32", 4096)


def test_the_layers_of_a_plan() -> None:
    assert kept_layers("1+3", 3) == (1, 3)
    with pytest.raises(AdequaError, match="The encoder has 3 layers; keep_layers names layer 4"):
        kept_layers("1+4", 3)
    for bad in ("0+1", "3+1", "1+1", "1,2", "a", "1+"):
        with pytest.raises(AdequaError, match=r"p.toml: keep_layers should be increasing numbers"):
            plan_from({"encoder": "e", "keep_layers": bad, "stage": [STAGE]}, "p.toml")


def test_the_layers_that_are_kept_follow_one_another(encoder: Path) -> None:
    whole = model(encoder)
    network = whole.network
    inputs = whole.inputs([("the cat sat", "the dog ran")], "fp32", 4096).rows.padded(np.array([0]))
    tensors = {name: torch.from_numpy(table) for name, table in inputs.items()}
    layers = list(encoder_layers(network.encoder))
    with torch.no_grad():
        hidden = network.encoder.embeddings(tensors["input_ids"], tensors["token_type_ids"])
        for layer in (layers[0], layers[2]):
            output = layer(hidden)
            hidden = output[0] if isinstance(output, tuple) else output
        expected = network.output(hidden.mean(dim=1)).item()
    reduced = with_layers(whole, (1, 3))
    assert reduced.network.layers == (2,)
    assert reduced.head.layers == "2"
    assert scores(reduced, ("the cat sat", "the dog ran"))[0] == pytest.approx(expected, abs=1e-5)


def test_the_head_needs_its_layers(encoder: Path) -> None:
    with pytest.raises(AdequaError, match="The head reads layer 2 of the encoder"):
        with_layers(model(encoder, "2+3"), (1, 3))


def test_frequent_pieces_stay_and_other_words_are_spelt(encoder: Path) -> None:
    pair, other = ("the cat sat", "the cat"), ("a bad mat", "far away")
    expected = scores(model(encoder), pair)
    spelt = scores(model(encoder), ("a b", "far"))
    reduced = with_vocabulary(model(encoder), FREQUENT, ALWAYS + 3)
    table = reduced.network.encoder.get_input_embeddings().weight
    assert table.shape[0] == ALWAYS + 3 == reduced.network.encoder.config.vocab_size
    assert set(reduced.tokenizer.get_vocab()) == {*SPECIAL, LAST, *LETTERS, "the", "cat", "sat"}
    assert reduced.tokenizer.tokenize("the mat") == ["the", "m", "##a", "##t"]
    np.testing.assert_allclose(scores(reduced, pair), expected, atol=1e-6)
    assert np.isfinite(scores(reduced, other)).all()
    assert scores(reduced, ("a b", "far")) != pytest.approx(spelt)
    # Special tokens in a text are read as before, under their new numbers.
    assert reduced.tokenizer.convert_tokens_to_ids(LAST) == ALWAYS + 2
    masked = ("the [MASK]", "cat")
    np.testing.assert_allclose(scores(reduced, masked), scores(model(encoder), masked), atol=1e-6)


def test_a_vocabulary_is_filled_up_in_its_own_order(encoder: Path) -> None:
    reduced = with_vocabulary(model(encoder), [("the the", "the")], ALWAYS + 3)
    assert {"the", "cat", "dog"} <= set(reduced.tokenizer.get_vocab())
    assert len(reduced.tokenizer) == ALWAYS + 3


@pytest.mark.parametrize("size", [ALWAYS, len(PIECES) + 1])
def test_impossible_vocabularies_are_refused(encoder: Path, size: int) -> None:
    with pytest.raises(AdequaError, match=f"vocabulary should be from {ALWAYS + 1} to"):
        with_vocabulary(model(encoder), FREQUENT, size)


def test_vocabularies_of_other_kinds_are_refused(tmp_path: Path) -> None:
    words = new_model(write_tiny_encoder(tmp_path / "words"), Head(), max_length=0, seed=1)
    with pytest.raises(AdequaError, match="Only a vocabulary of WordPiece can be reduced"):
        with_vocabulary(words, FREQUENT, 10)


def test_a_plan_trains_a_smaller_student(encoder: Path, tmp_path: Path) -> None:
    plan = Plan(
        encoder=str(encoder),
        keep_layers="1+3",
        keep_units=3,
        vocabulary=ALWAYS + 6,
        stage=(QUICK,),
        seed=2,
    )
    metric = PairRegressor(plan, device="cpu").fit(tiny_ratings(24))
    metric.save(tmp_path / "small")
    texts = Segments(("the cat sat",), (("the dog ran away",),))
    loaded = load_metric(f"{tmp_path / 'small'}:device=cpu")
    assert loaded.compute_scores(texts).system == pytest.approx(metric.compute_scores(texts).system)
    config = json.loads((tmp_path / "small" / "encoder" / "config.json").read_text())
    assert (config["num_hidden_layers"], config["vocab_size"]) == (2, ALWAYS + 6)
    further = PairRegressor(
        Plan(start=str(tmp_path / "small"), keep_layers="2", stage=(QUICK,)), device="cpu"
    ).fit(tiny_ratings(24))
    assert further.model_.network.encoder.config.num_hidden_layers == 1
