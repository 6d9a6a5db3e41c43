"""A tiny scorer of pairs, made in code: its scores can be worked out by hand.

Each token has a row of numbers, and each type of token too; the score is the mean over the tokens
of the product of their sum with one more row of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import onnx

WIDTH = 8
WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", "the", "cat", "dog", "sat", "on", "a", "mat"),
    *("and", "ran", "far", "##s", "##ing", *"bcdefghijklmnopqrstuvwxyz"),
]


def numbers(types: bool = True) -> tuple[Any, Any, Any]:
    """The rows of the tokens, of the types, and the last row."""
    random = np.random.default_rng(1)
    tokens = random.normal(size=(len(WORDS), WIDTH)).astype(np.float32)
    kinds = random.normal(size=(2, WIDTH)).astype(np.float32) * types
    return tokens, kinds, random.normal(size=(WIDTH, 1)).astype(np.float32)


def by_hand(ids: Sequence[int], kinds: Sequence[int], types: bool = True) -> float:
    """The score of one row of tokens."""
    of_token, of_type, last = (each.astype(np.float64) for each in numbers(types))
    rows = of_token[list(ids)] + of_type[list(kinds)]
    return float((rows.mean(axis=0) @ last).item())


def tiny_model(
    *,
    types: bool = True,
    whole: int | None = None,
    names: tuple[str, str, str] = ("input_ids", "attention_mask", "token_type_ids"),
    output_shape: tuple[str | int, ...] = ("rows",),
    notes: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """The model; `types` says whether it asks for token types, `whole` how it takes numbers."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    tokens, kinds, last = numbers(types)
    ids, mask, type_ids = names
    asked = (ids, mask, type_ids) if types else (ids, mask)
    inputs = [
        helper.make_tensor_value_info(name, whole or TensorProto.INT64, ["rows", "tokens"])
        for name in asked
    ]
    constants = {"tokens_": tokens, "types_": kinds, "last_": last}
    constants |= {"along": np.array([1]), "behind": np.array([2]), "flat": np.array([-1])}
    nodes = [
        helper.make_node("Gather", ["tokens_", ids], ["of_tokens"]),
        *([helper.make_node("Gather", ["types_", type_ids], ["of_types"])] if types else []),
        helper.make_node("Add", ["of_tokens", "of_types"], ["sum"])
        if types
        else helper.make_node("Identity", ["of_tokens"], ["sum"]),
        helper.make_node("Cast", [mask], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "behind"], ["there"]),
        helper.make_node("Mul", ["sum", "there"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "along"], ["total"], keepdims=0),
        helper.make_node("ReduceSum", ["there", "along"], ["count"], keepdims=0),
        helper.make_node("Div", ["total", "count"], ["mean"]),
        helper.make_node("MatMul", ["mean", "last_"], ["column"]),
    ]
    if len(output_shape) == 1:
        nodes.append(helper.make_node("Reshape", ["column", "flat"], ["score"]))
    else:
        wide = output_shape[1] != 1
        nodes.append(helper.make_node("Identity", ["mean" if wide else "column"], ["score"]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, list(output_shape))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, notes or {})
    onnx.checker.check_model(model)
    return model


def tiny_tokenizer() -> Any:
    """A WordPiece tokenizer of some words and letters that puts pairs together as BERT does."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, normalizers, pre_tokenizers, processors

    vocabulary = {word: id_ for id_, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def tiny_scorer(folder: Path, **settings: Any) -> Path:
    """A folder with the model and the tokenizer."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(tiny_model(**settings), folder / "model.onnx")
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    return folder
