"""A BERT with a linear head as an ONNX graph, in fp32 or with products of whole numbers.

It takes `input_ids`, `attention_mask` and `token_type_ids` (int32, batch × length, filled up on the
right) and gives `score` (float32, batch). Softmax, layer normalisation, GELU and the head are in
fp32 in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from adequa.learned.packed import levels
from adequa.learned.packed.bert import QKV, Bert, Floats, LinearHead
from adequa.learned.packed.levels import Site
from adequa.runtime.onnx_model import IDS, MASK, TYPES

SCORE = "score"
_OPSET, _FORMAT = 21, 10  # which onnxruntime reads from 1.18 on
_ONNXRUNTIME = "com.microsoft"  # its own operators, in every build of it
_BARRIER = 1e9  # taken from the attention that padding would get


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A model, and the name of the tensor that is read at every site."""

    model: onnx.ModelProto
    tensors: Mapping[str, str]


def scorer_graph(bert: Bert, head: LinearHead, sites: Mapping[str, Site] | None = None) -> Written:
    """The graph of an encoder and a head; in fp32 without sites."""
    graph = _Graph()
    products = _Products(graph, sites)
    kept = graph.add("Cast", MASK, to=TensorProto.FLOAT)
    gone = graph.add("Sub", kept, graph.array("one", 1))
    barred = graph.add("Mul", gone, graph.array("barrier", _BARRIER))
    barred = graph.add("Unsqueeze", barred, graph.array("heads and queries", [1, 2], np.int64))
    x = [_embedded(graph, bert, whole=sites is not None)]
    for i in range(bert.layers):
        x.append(_layer(products, bert, x[-1], i, barred))
    _scored(graph, {layer: x[layer] for layer in head.weights}, head, kept)
    return Written(graph.model(), products.tensors)


@dataclass(slots=True)
class _Graph:
    """Nodes and arrays as they are added."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)

    def array(self, name: str, values: npt.ArrayLike, kind: npt.DTypeLike = np.float32) -> str:
        self.arrays.setdefault(name, np.ascontiguousarray(values, dtype=kind))
        return name

    def add(self, kind: str, *inputs: str, out: str = "", domain: str = "", **options: Any) -> str:
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **options)
        )
        return name

    def model(self) -> onnx.ModelProto:
        info = helper.make_tensor_value_info
        taken = [info(name, TensorProto.INT32, ["batch", "length"]) for name in (IDS, MASK, TYPES)]
        arrays = [numpy_helper.from_array(values, name) for name, values in self.arrays.items()]
        given = [info(SCORE, TensorProto.FLOAT, ["batch"])]
        made = helper.make_graph(self.nodes, "pair_scorer", taken, given, arrays)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_ONNXRUNTIME, 1)]
        return helper.make_model(
            made, opset_imports=opsets, ir_version=_FORMAT, producer_name="adequa"
        )


@dataclass(frozen=True, slots=True)
class _Products:
    """Writes products of activations and weights: of whole numbers where there are sites."""

    graph: _Graph
    sites: Mapping[str, Site] | None
    tensors: dict[str, str] = field(default_factory=dict)  # what is read at every site

    def read(self, x: str, site: str, *, smooth: bool = True) -> str:
        """Activations as the products of a site take them; `smooth` unless they already are."""
        self.tensors[site] = x
        if self.sites is None:
            return x
        own, graph = self.sites[site], self.graph
        if smooth:
            x = graph.add("Mul", x, graph.array(f"{site}.smooth", 1 / own.smooth))
        scale = graph.array(f"{site}.scale", own.scale)
        zero = graph.array(f"{site}.zero", own.zero, np.uint8)
        return graph.add("QuantizeLinear", x, scale, zero)

    def product(self, x: str, site: str, name: str, weights: Floats, bias: Floats) -> str:
        """What `read` gave times weights (inputs × outputs), and a bias more."""
        graph = self.graph
        if self.sites is None:
            y = graph.add("MatMul", x, graph.array(f"{name}.weight", weights))
            return graph.add("Add", y, graph.array(f"{name}.bias", bias))
        whole, scale, bias = self.sites[site].product(weights, bias)
        w = graph.array(f"{name}.weight", whole, np.int8)
        by = graph.array(f"{name}.columns", scale)
        beside = graph.array(f"{name}.bias", bias)
        inputs = (x, w, f"{site}.scale", by, f"{site}.zero", "", beside)
        return graph.add("MatMulIntegerToFloat", *inputs, domain=_ONNXRUNTIME)


def _embedded(graph: _Graph, bert: Bert, *, whole: bool) -> str:
    """Word, type and position of every token as one vector."""
    words = bert["embeddings.word_embeddings.weight"]
    if whole:
        numbers, scale = levels.rows(words)
        found = graph.add("Gather", graph.array("words", numbers, np.int8), IDS)
        found = graph.add("Cast", found, to=TensorProto.FLOAT)
        x = graph.add("Mul", found, graph.add("Gather", graph.array("words.scale", scale), IDS))
    else:
        x = graph.add("Gather", graph.array("words", words), IDS)
    kinds = graph.array("types", bert["embeddings.token_type_embeddings.weight"])
    x = graph.add("Add", x, graph.add("Gather", kinds, TYPES))
    length = graph.add("Shape", IDS, start=1, end=2)
    places = graph.array("positions", bert["embeddings.position_embeddings.weight"])
    first = graph.array("first", [0], np.int64)
    x = graph.add("Add", x, graph.add("Slice", places, first, length, first))
    return _normed(graph, bert, x, "embeddings.LayerNorm")


def _normed(graph: _Graph, bert: Bert, x: str, name: str) -> str:
    gain, shift = (
        graph.array(f"{name}.{part}", bert[f"{name}.{part}"]) for part in ("weight", "bias")
    )
    return graph.add("LayerNormalization", x, gain, shift, axis=-1, epsilon=bert.epsilon)


def _layer(products: _Products, bert: Bert, x: str, i: int, barred: str) -> str:
    """What layer i makes of the tokens."""
    graph, at = products.graph, f"encoder.layer.{i}."

    def dense(y: str, site: str, name: str) -> str:
        whole = products.read(y, site, smooth=not site.endswith("out"))
        weights, bias = bert[f"{at}{name}.weight"].T, bert[f"{at}{name}.bias"]
        return products.product(whole, site, site, weights, bias)

    y = dense(_attended(products, bert, x, i, barred), f"{i}.out", "attention.output.dense")
    x = _normed(graph, bert, graph.add("Add", y, x), at + "attention.output.LayerNorm")
    up = graph.add("Gelu", dense(x, f"{i}.up", "intermediate.dense"))
    y = dense(up, f"{i}.down", "output.dense")
    return _normed(graph, bert, graph.add("Add", y, x), at + "output.LayerNorm")


def _attended(products: _Products, bert: Bert, x: str, i: int, barred: str) -> str:
    """Attention of layer i, before its output product."""
    graph, site = products.graph, f"{i}.qkv"
    whole = products.read(x, site)
    split = graph.array("split", [0, 0, bert.heads, bert.width // bert.heads], np.int64)
    parts = {}
    for name in QKV:
        y = products.product(whole, site, f"{i}.{name}", *_qkv(products, bert, i, name))
        turn = [0, 2, 3, 1] if name == "key" else [0, 2, 1, 3]
        parts[name] = graph.add("Transpose", graph.add("Reshape", y, split), perm=turn)
    fit = graph.add("Add", graph.add("MatMul", parts["query"], parts["key"]), barred)
    y = graph.add("MatMul", graph.add("Softmax", fit, axis=-1), parts["value"])
    joined = graph.array("joined", [0, 0, bert.width], np.int64)
    return graph.add("Reshape", graph.add("Transpose", y, perm=[0, 2, 1, 3]), joined)


def _qkv(products: _Products, bert: Bert, i: int, name: str) -> tuple[Floats, Floats]:
    """Weights (inputs × outputs) and bias of queries, keys or values, scaled beforehand."""
    at = f"encoder.layer.{i}.attention.self.{name}."
    weights, bias = bert[at + "weight"].T, bert[at + "bias"]
    if name == "query":
        factor = np.float32((bert.width // bert.heads) ** -0.5)
        return weights * factor, bias * factor
    if name == "value" and products.sites is not None:
        # Averages keep their channels: the output's smoothing costs nothing here.
        smooth = products.sites[f"{i}.out"].smooth
        return weights / smooth, bias / smooth
    return weights, bias


def _scored(graph: _Graph, x: Mapping[int, str], head: LinearHead, kept: str) -> None:
    """The score. Means and a linear head commute: one number a token, then their mean."""
    total = ""
    for layer, weights in head.weights.items():
        part = graph.add("MatMul", x[layer], graph.array(f"head.{layer}", weights[:, None]))
        total = graph.add("Add", total, part) if total else part
    along = graph.array("along", [1], np.int64)
    y = graph.add("Squeeze", total, graph.array("last", [-1], np.int64))
    y = graph.add("ReduceSum", graph.add("Mul", y, kept), along, keepdims=0)
    y = graph.add("Div", y, graph.add("ReduceSum", kept, along, keepdims=0))
    graph.add("Add", y, graph.array("head.bias", head.bias), out=SCORE)
