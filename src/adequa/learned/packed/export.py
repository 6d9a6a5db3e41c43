"""Export a trained pair network as an ONNX file, in int8 or in fp32.

The file holds a BERT with a linear head. It takes `input_ids`, `attention_mask` and
`token_type_ids` (int32, batch × length, padded on the right) and returns `score` (float32, batch).
In int8 the file is about a quarter as large and much faster; softmax, layer normalisation, GELU and
the head stay in fp32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.transformer_files import TokenRows
from adequa.errors import AdequaError
from adequa.learned.packed.quantise import (
    ActivationQuantiser,
    Floats,
    calibrate,
    observe_activations,
    quantise_rows,
)
from adequa.runtime.onnx import MAX_LENGTH
from adequa.runtime.tokens import IDS, MASK, TYPES

if TYPE_CHECKING:
    import onnx

    from adequa.learned.pair.network import PairNetwork

GraphPrecision: TypeAlias = Literal["int8", "fp32"]
Quantisers: TypeAlias = Mapping[str, ActivationQuantiser]  # by the name of the linear layer

SCORE = "score"  # the name of the output

_SCHEMES: Mapping[GraphPrecision, str] = {"int8": "static-int8-smooth", "fp32": "fp32"}
_QKV = ("query", "key", "value")
_MEAN_POOLINGS = ("mean", "mean-last4")
_BERT_CONFIG = {"model_type": "bert", "hidden_act": "gelu"}  # what the graph is written for
_OPSET, _IR_VERSION = 21, 10  # which onnxruntime reads from 1.18 on
_ONNXRUNTIME = "com.microsoft"  # the domain of onnxruntime's own operators
_MASKED = 1e9  # subtracted from the attention logits of padding


def export_onnx(
    network: PairNetwork,
    rows: TokenRows,
    *,
    max_length: int,
    precision: GraphPrecision = "int8",
) -> bytes:
    """Return the ONNX file of a network: scores on the scale of ratings, without surface features.

    `rows` are about 300 pairs that calibrate the quantisation of activations; test the result on
    others. They are not used in fp32. `max_length` is the number of tokens of a pair that the model
    reads, which the file says in its metadata.
    """
    bert, head = extract_weights(network)
    model = scorer_model(bert, head, rows, max_length=max_length, precision=precision)
    content: bytes = model.SerializeToString()
    return content


def scorer_model(
    bert: Bert,
    head: LinearHead,
    rows: TokenRows,
    *,
    max_length: int,
    precision: GraphPrecision = "int8",
) -> onnx.ModelProto:
    """Return the checked ONNX model of an encoder and a head."""
    if not 1 <= max_length <= bert.positions:
        raise AdequaError(
            f"max_length must be between 1 and {bert.positions}, which is all that the encoder "
            f"reads, not {max_length}."
        )
    onnx = _imported_onnx()
    graph = build_graph(bert, head)
    if precision == "int8":
        statistics = observe_activations(graph.model, graph.linear_inputs, rows)
        graph = build_graph(bert, head, calibrate(bert.linear_weights(), statistics))
    properties = {MAX_LENGTH: str(max_length), "scheme": _SCHEMES[precision]}
    onnx.helper.set_model_props(graph.model, properties)
    onnx.checker.check_model(graph.model)
    return graph.model


def _imported_onnx() -> Any:
    try:
        import onnx  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise AdequaError(
            f"An export needs the package {error.name}: pip install 'adequa[train]'."
        ) from error
    return onnx


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """The weights of a BERT's first layers, and the part of its configuration a graph needs."""

    tensors: Mapping[str, Floats]  # by their names in `transformers`
    layers: int
    width: int
    heads: int
    epsilon: float  # of layer normalisation

    @classmethod
    def from_transformers(
        cls, config: Mapping[str, Any], tensors: Mapping[str, npt.ArrayLike], layers: int
    ) -> Bert:
        """Take the first layers of a model of `transformers`."""
        for name, value in _BERT_CONFIG.items():
            if config.get(name) != value:
                raise AdequaError(
                    f"Only a BERT with GELU can be exported, and this encoder says {name}="
                    f"{config.get(name)}; train from one that is, such as e5-small."
                )
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise AdequaError("Only a BERT with absolute positions can be exported.")
        arrays = {name: np.asarray(value, np.float32) for name, value in tensors.items()}
        return cls(
            arrays,
            layers,
            int(config["hidden_size"]),
            int(config["num_attention_heads"]),
            float(config["layer_norm_eps"]),
        )

    def __getitem__(self, name: str) -> Floats:
        return self.tensors[name]

    @property
    def positions(self) -> int:
        """The number of position embeddings: the most tokens that it can read."""
        return len(self["embeddings.position_embeddings.weight"])

    def linear_weights(self) -> Iterator[tuple[str, Floats]]:
        """Yield the name and the weights (inputs × outputs) of every linear layer.

        Queries, keys and values read the same activations and count as one.
        """
        for i in range(self.layers):
            prefix = f"encoder.layer.{i}."
            parts = [self[f"{prefix}attention.self.{name}.weight"] for name in _QKV]
            yield f"{i}.qkv", np.concatenate(parts).T
            yield f"{i}.out", self[prefix + "attention.output.dense.weight"].T
            yield f"{i}.up", self[prefix + "intermediate.dense.weight"].T
            yield f"{i}.down", self[prefix + "output.dense.weight"].T


@dataclass(frozen=True, slots=True, eq=False)
class LinearHead:
    """A linear head on mean-pooled layers: the sum of one product per layer, and a bias."""

    weights: Mapping[int, Floats]  # by layer, from 1 on; 0 is the output of the embeddings
    bias: float


def extract_weights(network: PairNetwork) -> tuple[Bert, LinearHead]:
    """Return the weights of a network, with its scale and shift folded into the head.

    Surface features are left out.
    """
    if network.pooling not in _MEAN_POOLINGS:
        raise AdequaError(
            f"Only a metric that takes the mean over tokens can be exported, and this one was "
            f'trained with pooling="{network.pooling}"; train one with pooling="mean".'
        )
    if len(network.hidden):
        raise AdequaError(
            f"Only a metric with a linear head can be exported, and this one has "
            f"{len(network.hidden)} hidden layers; train one with hidden_layers=0."
        )
    tensors = {
        name: tensor.detach().float().cpu().numpy()
        for name, tensor in network.encoder.state_dict().items()
        if tensor.is_floating_point()
    }
    # Layers above the last one that the head reads are not needed.
    bert = Bert.from_transformers(network.encoder.config.to_dict(), tensors, max(network.layers))
    scale, shift = float(network.scale), float(network.shift)
    rows = scale * network.output.weight.detach().double().cpu().numpy()
    parts = rows.reshape(len(network.layers), bert.width).astype(np.float32)
    weights = dict(zip(network.layers, parts, strict=True))
    return bert, LinearHead(weights, scale * network.output.bias.item() + shift)


@dataclass(frozen=True, slots=True, eq=False)
class ScorerGraph:
    """An ONNX model, and the names of the tensors that enter its linear layers."""

    model: onnx.ModelProto
    linear_inputs: Mapping[str, str]  # tensor by linear layer


def build_graph(bert: Bert, head: LinearHead, quantisers: Quantisers | None = None) -> ScorerGraph:
    """Return the graph of an encoder and a head; in fp32 without quantisers."""
    graph = _Graph()
    writer = _LinearWriter(graph, quantisers)
    mask = graph.add("Cast", MASK, to=graph.onnx.TensorProto.FLOAT)
    padding = graph.add("Sub", mask, graph.array("one", 1))
    attention_bias = graph.add("Mul", padding, graph.array("barrier", _MASKED))
    attention_bias = graph.add(
        "Unsqueeze", attention_bias, graph.array("heads and queries", [1, 2], np.int64)
    )
    hidden = [_embeddings(graph, bert, quantised=quantisers is not None)]
    for i in range(bert.layers):
        hidden.append(_layer(writer, bert, hidden[-1], i, attention_bias))
    _score(graph, {layer: hidden[layer] for layer in head.weights}, head, mask)
    return ScorerGraph(graph.model(), writer.inputs)


@dataclass(slots=True)
class _Graph:
    """The nodes and constant arrays of a graph while it is written."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    onnx: Any = field(default_factory=_imported_onnx)

    def array(self, name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add a constant unless it is there, and return its name."""
        self.arrays.setdefault(name, np.ascontiguousarray(values, dtype=dtype))
        return name

    def add(self, op: str, *inputs: str, out: str = "", domain: str = "", **options: Any) -> str:
        """Add an operator, and return the name of its output."""
        name = out or f"{op}_{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(
                op, list(inputs), [name], name=name, domain=domain, **options
            )
        )
        return name

    def model(self) -> onnx.ModelProto:
        """Return the whole as a model."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        info = helper.make_tensor_value_info
        inputs = [info(name, types.INT32, ["batch", "length"]) for name in (IDS, MASK, TYPES)]
        outputs = [info(SCORE, types.FLOAT, ["batch"])]
        constants = [
            self.onnx.numpy_helper.from_array(values, name) for name, values in self.arrays.items()
        ]
        graph = helper.make_graph(self.nodes, "pair_scorer", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_ONNXRUNTIME, 1)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="adequa"
        )


@dataclass(frozen=True, slots=True)
class _LinearWriter:
    """Writes linear layers: of 8-bit integers where there are quantisers."""

    graph: _Graph
    quantisers: Quantisers | None
    inputs: dict[str, str] = field(default_factory=dict)  # tensor by linear layer

    def quantise(self, x: str, layer: str, *, smooth: bool = True) -> str:
        """Return the activations as a layer takes them; `smooth` unless they already are."""
        self.inputs[layer] = x
        if self.quantisers is None:
            return x
        quantiser, graph = self.quantisers[layer], self.graph
        if smooth:
            x = graph.add("Mul", x, graph.array(f"{layer}.smooth", 1 / quantiser.smooth))
        scale = graph.array(f"{layer}.scale", quantiser.scale)
        zero_point = graph.array(f"{layer}.zero", quantiser.zero_point, np.uint8)
        return graph.add("QuantizeLinear", x, scale, zero_point)

    def linear(self, x: str, layer: str, name: str, weights: Floats, bias: Floats) -> str:
        """Return the output of `quantise` times weights (inputs × outputs), plus a bias."""
        graph = self.graph
        if self.quantisers is None:
            y = graph.add("MatMul", x, graph.array(f"{name}.weight", weights))
            return graph.add("Add", y, graph.array(f"{name}.bias", bias))
        integers, scale, bias = self.quantisers[layer].quantise_linear(weights, bias)
        inputs = (
            x,
            graph.array(f"{name}.weight", integers, np.int8),
            f"{layer}.scale",
            graph.array(f"{name}.columns", scale),
            f"{layer}.zero",
            "",  # the zero point of the weights is 0
            graph.array(f"{name}.bias", bias),
        )
        return graph.add("MatMulIntegerToFloat", *inputs, domain=_ONNXRUNTIME)


def _embeddings(graph: _Graph, bert: Bert, *, quantised: bool) -> str:
    """Word, type and position embeddings, summed and normalised."""
    words = bert["embeddings.word_embeddings.weight"]
    if quantised:
        integers, scale = quantise_rows(words)
        x = graph.add("Gather", graph.array("words", integers, np.int8), IDS)
        x = graph.add("Cast", x, to=graph.onnx.TensorProto.FLOAT)
        x = graph.add("Mul", x, graph.add("Gather", graph.array("words.scale", scale), IDS))
    else:
        x = graph.add("Gather", graph.array("words", words), IDS)
    types = graph.array("types", bert["embeddings.token_type_embeddings.weight"])
    x = graph.add("Add", x, graph.add("Gather", types, TYPES))
    length = graph.add("Shape", IDS, start=1, end=2)
    positions = graph.array("positions", bert["embeddings.position_embeddings.weight"])
    first = graph.array("first", [0], np.int64)
    x = graph.add("Add", x, graph.add("Slice", positions, first, length, first))
    return _layer_norm(graph, bert, x, "embeddings.LayerNorm")


def _layer_norm(graph: _Graph, bert: Bert, x: str, name: str) -> str:
    gain, shift = (
        graph.array(f"{name}.{part}", bert[f"{name}.{part}"]) for part in ("weight", "bias")
    )
    return graph.add("LayerNormalization", x, gain, shift, axis=-1, epsilon=bert.epsilon)


def _layer(writer: _LinearWriter, bert: Bert, x: str, i: int, attention_bias: str) -> str:
    """Layer i of the transformer."""
    graph, prefix = writer.graph, f"encoder.layer.{i}."

    def dense(y: str, layer: str, name: str) -> str:
        quantised = writer.quantise(y, layer, smooth=not layer.endswith("out"))
        weights, bias = bert[f"{prefix}{name}.weight"].T, bert[f"{prefix}{name}.bias"]
        return writer.linear(quantised, layer, layer, weights, bias)

    attended = _attention(writer, bert, x, i, attention_bias)
    y = dense(attended, f"{i}.out", "attention.output.dense")
    x = _layer_norm(graph, bert, graph.add("Add", y, x), prefix + "attention.output.LayerNorm")
    up = graph.add("Gelu", dense(x, f"{i}.up", "intermediate.dense"))
    y = dense(up, f"{i}.down", "output.dense")
    return _layer_norm(graph, bert, graph.add("Add", y, x), prefix + "output.LayerNorm")


def _attention(writer: _LinearWriter, bert: Bert, x: str, i: int, attention_bias: str) -> str:
    """Attention of layer i, before its output layer."""
    graph, layer = writer.graph, f"{i}.qkv"
    quantised = writer.quantise(x, layer)
    split = graph.array("split", [0, 0, bert.heads, bert.width // bert.heads], np.int64)
    parts = {}
    for name in _QKV:
        y = writer.linear(quantised, layer, f"{i}.{name}", *_qkv_weights(writer, bert, i, name))
        axes = [0, 2, 3, 1] if name == "key" else [0, 2, 1, 3]
        parts[name] = graph.add("Transpose", graph.add("Reshape", y, split), perm=axes)
    logits = graph.add("Add", graph.add("MatMul", parts["query"], parts["key"]), attention_bias)
    y = graph.add("MatMul", graph.add("Softmax", logits, axis=-1), parts["value"])
    joined = graph.array("joined", [0, 0, bert.width], np.int64)
    return graph.add("Reshape", graph.add("Transpose", y, perm=[0, 2, 1, 3]), joined)


def _qkv_weights(writer: _LinearWriter, bert: Bert, i: int, name: str) -> tuple[Floats, Floats]:
    """Weights (inputs × outputs) and bias of queries, keys or values, with scales folded in."""
    prefix = f"encoder.layer.{i}.attention.self.{name}."
    weights, bias = bert[prefix + "weight"].T, bert[prefix + "bias"]
    if name == "query":
        factor = np.float32((bert.width // bert.heads) ** -0.5)
        return weights * factor, bias * factor
    if name == "value" and writer.quantisers is not None:
        # Attention averages values channel by channel: the output's smoothing costs nothing here.
        smooth = writer.quantisers[f"{i}.out"].smooth
        return weights / smooth, bias / smooth
    return weights, bias


def _score(graph: _Graph, hidden: Mapping[int, str], head: LinearHead, mask: str) -> None:
    """The score. Mean pooling and a linear head commute: one number per token, then their mean."""
    total = ""
    for layer, weights in head.weights.items():
        part = graph.add("MatMul", hidden[layer], graph.array(f"head.{layer}", weights[:, None]))
        total = graph.add("Add", total, part) if total else part
    axis = graph.array("along", [1], np.int64)
    y = graph.add("Squeeze", total, graph.array("last", [-1], np.int64))
    y = graph.add("ReduceSum", graph.add("Mul", y, mask), axis, keepdims=0)
    y = graph.add("Div", y, graph.add("ReduceSum", mask, axis, keepdims=0))
    graph.add("Add", y, graph.array("head.bias", head.bias), out=SCORE)
