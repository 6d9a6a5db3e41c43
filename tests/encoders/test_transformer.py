"""Transformers as encoders, against plain forward passes of one unpadded text at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adequa.encoders.registry import load_encoder
from adequa.encoders.transformer import Transformer, TransformerPair
from adequa.errors import AdequaError
from tiny_transformer import IDS, write_tiny_encoder, write_tokenizer

torch = pytest.importorskip("torch", reason="transformers need PyTorch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SENTENCES = ["the cat sat on a mat .", "a dog ran", "the cat sat on a mat .", "", "dog . dog . far"]
POOLINGS = ("cls", "mean", "max", "mean-sqrt-length", "cls-last4", "mean-last4")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random BERT with five layers, and a tokenizer that knows a few words."""
    folder = tmp_path_factory.mktemp("bert")
    return write_tiny_encoder(folder, layers=5, max_position_embeddings=12, initializer_range=0.5)


@pytest.fixture(scope="module")
def layers_of(bert: Path) -> Callable[..., npt.NDArray[np.float64]]:
    """All layers of the network for one text or pair: a plain forward pass, without padding."""
    network = transformers.BertModel(transformers.BertConfig.from_pretrained(bert)).eval()
    from safetensors.torch import load_file

    network.load_state_dict(load_file(bert / "model.safetensors"))

    def forward(*texts: str) -> npt.NDArray[np.float64]:
        ids, types = [IDS["[CLS]"]], [0]
        for kind, text in enumerate(texts):
            part = [*(IDS[word] for word in text.split()), IDS["[SEP]"]]
            ids, types = [*ids, *part], [*types, *[kind] * len(part)]
        with torch.no_grad():
            output = network(
                input_ids=torch.tensor([ids]),
                token_type_ids=torch.tensor([types]),
                output_hidden_states=True,
            )
        states: list[Any] = [state[0].numpy() for state in output.hidden_states]
        return np.asarray(np.stack(states), np.float64)

    return forward


def pooled_by_hand(pooling: str, layers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    last = layers[-1]
    match pooling:
        case "cls":
            return np.asarray(last[0])
        case "mean":
            return np.asarray(last.mean(axis=0))
        case "max":
            return np.asarray(last.max(axis=0))
        case "mean-sqrt-length":
            return np.asarray(last.sum(axis=0) / len(last) ** 0.5)
        case "cls-last4":
            return np.concatenate([layers[at][0] for at in (-4, -3, -2, -1)])
        case _:
            return np.concatenate([layers[at].mean(axis=0) for at in (-4, -3, -2, -1)])


def error(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_sentences_as_by_a_plain_forward_pass(
    bert: Path, layers_of: Callable[..., npt.NDArray[np.float64]], pooling: str
) -> None:
    encoder = Transformer.load(str(bert), pooling=pooling, device="cpu")
    expected = np.stack([pooled_by_hand(pooling, layers_of(text)) for text in SENTENCES])
    vectors = encoder.encode(SENTENCES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, encoder.dimension) == (5, 64 if "last4" in pooling else 16)
    np.testing.assert_allclose(vectors, expected, atol=2e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pairs_as_by_a_plain_forward_pass(
    bert: Path, layers_of: Callable[..., npt.NDArray[np.float64]], pooling: str
) -> None:
    firsts = ["the cat", "a dog ran", "the cat", "the cat"]
    seconds = ["a dog sat", "", "a dog sat", "a mat"]
    encoder = TransformerPair.load(str(bert), pooling=pooling, device="cpu")
    expected = [
        pooled_by_hand(pooling, layers_of(*pair)) for pair in zip(firsts, seconds, strict=True)
    ]
    np.testing.assert_allclose(encoder.encode_pairs(firsts, seconds), expected, atol=2e-5)


def test_pairs_default_to_the_first_token_of_four_layers(bert: Path) -> None:
    encoder = load_encoder(f"transformer-pair:{bert},device=cpu")
    assert isinstance(encoder, TransformerPair)
    assert encoder.dimension == 4 * 16
    assert encoder.name == f"{bert.name}.pair.cls-last4"
    assert "2 and 1" in error(lambda: encoder.encode_pairs(["a", "cat"], ["dog"]))


@pytest.mark.parametrize("tokens", [1, 12, 10_000])
def test_batches_change_nothing(bert: Path, tokens: int) -> None:
    whole = Transformer.load(str(bert), device="cpu").encode(SENTENCES)
    parted = Transformer.load(str(bert), device="cpu", batch_tokens=tokens)
    np.testing.assert_allclose(parted.encode(SENTENCES), whole, atol=2e-6)
    np.testing.assert_allclose(parted.encode(SENTENCES[::-1]), whole[::-1], atol=2e-6)
    assert parted.encode([]).shape == (0, 16)


def test_each_sentence_goes_through_the_network_once(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Transformer.load(str(bert), device="cpu")
    network, seen = encoder._model.network.network, []
    monkeypatch.setattr(
        network, "forward", counted(network.forward, lambda ids: seen.append(len(ids)))
    )
    encoder.encode(["a dog", "the cat", "a dog", " a dog "])
    assert sum(seen) == 2


def counted(forward: Any, tell: Callable[[Any], None]) -> Any:
    def wrapped(input_ids: Any, token_type_ids: Any = None, **inputs: Any) -> Any:
        tell(input_ids)
        return forward(input_ids=input_ids, token_type_ids=token_type_ids, **inputs)

    return wrapped


def test_long_sentences_are_cut_and_counted(
    bert: Path, layers_of: Callable[..., npt.NDArray[np.float64]]
) -> None:
    encoder = Transformer.load(str(bert), device="cpu", pooling="mean")
    exact, longer = " ".join(["cat"] * 10), " ".join(["cat"] * 30)
    vectors = encoder.encode([exact, longer, longer, "a"])
    assert encoder.truncated == 1  # twelve positions: ten words and two special tokens
    assert encoder.remarks() == (
        f"{bert.name}.mean read the first 12 tokens only of 1 sentence, "
        "as far as they were encoded now.",
    )
    pairs = TransformerPair.load(str(bert), device="cpu")
    pairs.encode_pairs([longer, longer, "a"], ["cat", "dog", "a"])
    assert pairs.remarks() == (
        f"{pairs.name} read the first 12 tokens only of 2 pairs, as far as they were encoded now.",
    )
    np.testing.assert_allclose(vectors[1], vectors[0], atol=1e-6)
    shorter = Transformer.load(str(bert), device="cpu", pooling="mean", max_length=4)
    expected = pooled_by_hand("mean", layers_of("cat cat"))
    np.testing.assert_allclose(shorter.encode([longer])[0], expected, atol=2e-5)


def test_the_fingerprint_is_of_content_and_settings(bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path / "copy")
    load = Transformer.load
    original, copy = load(str(bert), device="cpu"), load(str(tmp_path / "copy"), device="cpu")
    same = load(str(bert), pooling="mean", batch_tokens=1, normalize="false")
    assert original.fingerprint == copy.fingerprint == same.fingerprint
    others = [
        load(str(bert), pooling="cls"),
        load(str(bert), normalize="true"),
        load(str(bert), max_length=5),
        load(str(bert), prefix="dog"),
        TransformerPair.load(str(bert), pooling="mean"),
    ]
    weights = tmp_path / "copy" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    others.append(load(str(tmp_path / "copy")))
    assert len({original.fingerprint, *(other.fingerprint for other in others)}) == 7


def test_the_specification_loads_the_same(bert: Path) -> None:
    encoder = load_encoder(f"transformer:{bert},pooling=cls-last4,max_length=6,normalize=yes")
    again = load_encoder(encoder.specification)
    assert again.fingerprint == encoder.fingerprint
    assert encoder.path == bert.resolve()
    assert encoder.name == f"{bert.name}.cls-last4"


def test_a_prefix_is_read_as_words_in_front(bert: Path) -> None:
    prefixed = load_encoder(f"{bert},prefix=the:")
    plain = Transformer.load(str(bert)).encode(["the: cat sat"])
    np.testing.assert_array_equal(prefixed.encode(["cat sat"]), plain)  # type: ignore[union-attr]


def sentence_folder(bert: Path, folder: Path, *steps: str, **pooling: bool) -> Path:
    shutil.copytree(bert, folder, dirs_exist_ok=True)
    modules = [
        {"path": "" if step == "Transformer" else f"{at}_{step}",
         "type": f"sentence_transformers.models.{step}"}
        for at, step in enumerate(steps)
    ]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    modes = {f"pooling_mode_{name}": value for name, value in pooling.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    return folder


def test_a_sentence_transformers_folder_is_used_as_it_says(
    bert: Path, tmp_path: Path, layers_of: Callable[..., npt.NDArray[np.float64]]
) -> None:
    folder = sentence_folder(
        bert, tmp_path, "Transformer", "Pooling", "Normalize", cls_token=False, max_tokens=True
    )
    limits = folder / "sentence_bert_config.json"
    limits.write_text('{"max_seq_length": 5, "do_lower_case": true}')
    vector = Transformer.load(str(folder)).encode(["The CAT ran far away"])[0]
    expected = pooled_by_hand("max", layers_of("the cat ran"))
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=2e-6)
    own = Transformer.load(str(folder), pooling="cls")
    np.testing.assert_allclose(
        own.encode(["The cat"])[0], pooled_by_hand("cls", layers_of("the cat")), atol=2e-5
    )
    unit = Transformer.load(str(folder), pooling="cls", normalize="true").encode(["the cat"])
    assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-6)
    plain = load_encoder(load_encoder(f"{folder},normalize=false").specification)
    vector = plain.encode(["The CAT ran far away"])[0]  # type: ignore[union-attr]
    np.testing.assert_allclose(vector, expected, atol=2e-5)


def test_a_default_prompt_is_put_in_front(bert: Path, tmp_path: Path) -> None:
    folder = sentence_folder(bert, tmp_path, "Transformer", "Pooling", mean_tokens=True)
    prompts = {"prompts": {"query": "the "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    plain = Transformer.load(str(bert)).encode(["the cat"])
    np.testing.assert_array_equal(Transformer.load(str(folder)).encode(["cat"]), plain)


def test_other_sentence_transformers_folders_are_refused(bert: Path, tmp_path: Path) -> None:
    dense = sentence_folder(
        bert, tmp_path / "a", "Transformer", "Pooling", "Dense", mean_tokens=True
    )
    assert "Dense" in error(lambda: Transformer.load(str(dense)))
    assert Transformer.load(str(dense), pooling="mean").dimension == 16
    weighted = sentence_folder(
        bert, tmp_path / "b", "Transformer", "Pooling", weightedmean_tokens=True
    )
    assert "weightedmean_tokens" in error(lambda: Transformer.load(str(weighted)))
    (weighted / "modules.json").write_text("{")
    assert "cannot be read as JSON" in error(lambda: Transformer.load(str(weighted)))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("config.json", "lacks config.json"),
        ("model.safetensors", "lacks the weights"),
        ("tokenizer.json", "lacks the tokenizer"),
    ],
)
def test_a_folder_that_lacks_a_file(bert: Path, tmp_path: Path, file: str, message: str) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    (folder / file).unlink()
    assert message in error(lambda: Transformer.load(str(folder)))


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_with_a_damaged_file(bert: Path, tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    (folder / file).write_text("{")
    assert "cannot be loaded" in error(lambda: Transformer.load(str(folder)))


def test_weights_that_do_not_fit_are_not_made_up(bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    # Nothing is pooled by the pooler, so that its weights may be absent.
    weights = {key: value for key, value in weights.items() if not key.startswith("pooler")}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert Transformer.load(str(folder)).dimension == 16
    weights = {key: value for key, value in weights.items() if "layer.3" not in key}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "layer.3" in error(lambda: Transformer.load(str(folder)))


class _Code:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return pytest.fail, ("was run",)


def test_pickled_weights_are_read_and_pickled_code_is_not_run(bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    vectors = Transformer.load(str(folder)).encode(["the cat"])
    np.testing.assert_array_equal(vectors, Transformer.load(str(bert)).encode(["the cat"]))
    torch.save({**weights, "more": _Code()}, folder / "pytorch_model.bin")
    assert "holds more than weights" in error(lambda: Transformer.load(str(folder)))


def test_code_that_comes_with_a_model_is_not_run(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "model"))
    (folder / "own.py").write_text("raise SystemExit('was run')\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoModel": "own.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    assert "cannot be loaded" in error(lambda: Transformer.load(str(folder)))


def test_bad_settings(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(specification: str) -> str:
        return error(lambda: load_encoder(specification))

    assert 'Did you mean "mean"' in refusal(f"transformer:{bert},pooling=men")
    assert "auto, true or false, not 'on'" in refusal(f"transformer:{bert},normalize=on")
    assert "between 3 and 12" in refusal(f"transformer:{bert},max_length=13")
    assert "between 4 and 12" in refusal(f"transformer-pair:{bert},max_length=3")
    assert '"nowhere"' in refusal(f"transformer:{bert},device=nowhere")
    assert "There is no folder" in refusal(f"transformer:{tmp_path / 'absent'}")
    assert "is a file" in refusal(f"transformer:{bert / 'config.json'}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert "download=true" in refusal("transformer:nobody/absent-model")


def test_four_layers_need_four_layers(tmp_path: Path) -> None:
    write_tiny_encoder(tmp_path, layers=2)
    assert "has 2 layers" in error(lambda: TransformerPair.load(str(tmp_path)))


def test_models_without_token_types_work(tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = transformers.MPNetConfig(
        vocab_size=len(IDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=14, pad_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    transformers.MPNetModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    vectors = Transformer.load(str(tmp_path)).encode(["the cat", "the cat " * 20, ""])
    assert np.isfinite(vectors).all()
    alone = Transformer.load(str(tmp_path)).encode(["the cat"])
    np.testing.assert_allclose(vectors[:1], alone, atol=2e-6)


def test_layers_by_number(bert: Path, layers_of: Callable[..., npt.NDArray[np.float64]]) -> None:
    encoder = load_encoder(f"transformer:{bert},pooling=max,layers=4+0,device=cpu")
    assert isinstance(encoder, Transformer)
    expected = [np.concatenate([layers_of(t)[n].max(axis=0) for n in (4, 0)]) for t in SENTENCES]
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=2e-5)
    assert (encoder.name, encoder.dimension) == (f"{bert.name}.max.4+0", 32)
    assert load_encoder(encoder.specification).fingerprint == encoder.fingerprint
    assert Transformer.load(str(bert), pooling="max").fingerprint != encoder.fingerprint
    pair = TransformerPair.load(str(bert), layers="2")
    expected = [layers_of("a", "dog")[2].mean(axis=0)]
    np.testing.assert_allclose(pair.encode_pairs(["a"], ["dog"]), expected, atol=2e-5)
    for layers in ("6", "1+1", "-1", "two", "1+"):
        message = error(lambda layers=layers: Transformer.load(str(bert), layers=layers))  # type: ignore[misc]
        assert f"layers={layers} names no layers of" in message
    assert "does not go with" in error(
        lambda: TransformerPair.load(str(bert), pooling="cls-last4", layers="1")
    )
