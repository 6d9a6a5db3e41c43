"""Smaller encoders: fewer layers, narrower layers, and the pieces that texts need.

A student that begins with layers of its teacher, or of a trained metric, learns faster than one
with new weights. A vocabulary is reduced to the pieces that are most frequent in the training
texts. All single characters stay, so that every other word is read in smaller pieces.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from adequa.errors import AdequaError
from adequa.learned.pair.network import PairModel, PairNetwork

_CHUNK = 1 << 12  # texts that are tokenised together
_CONTINUED = "##"  # begins the pieces inside words


def kept_layers(text: str, count: int) -> tuple[int, ...]:
    """The layers of a plan such as "4+8+12", for an encoder with `count` layers.

    >>> kept_layers("4+8+12", 12)
    (4, 8, 12)
    """
    layers = tuple(map(int, text.split("+")))
    if layers[-1] > count:
        raise AdequaError(f"The encoder has {count} layers; keep_layers names layer {layers[-1]}.")
    return layers


def with_layers(model: PairModel, layers: Sequence[int]) -> PairModel:
    """The model with these layers of its encoder alone; the head reads the same as before."""
    network = model.network
    lost = [layer for layer in network.layers if layer not in layers]
    if lost:
        raise AdequaError(
            f"The head reads layer {' and '.join(map(str, lost))} of the encoder, which "
            "keep_layers leaves out; name it, too."
        )
    encoder = network.encoder
    stack = encoder_layers(encoder)
    reduced = nn.ModuleList(stack[layer - 1] for layer in layers)
    _replace_layers(encoder, stack, reduced)
    encoder.config.num_hidden_layers = len(layers)
    head = replace(
        model.head, layers="+".join(str(layers.index(layer) + 1) for layer in network.layers)
    )
    smaller = PairNetwork(encoder, head, seed=0)
    smaller.load_head(network.head_arrays())
    return replace(model, network=smaller, head=head)


def encoder_layers(encoder: Any) -> nn.ModuleList:
    """The layers of an encoder."""
    count = encoder.config.num_hidden_layers
    lists = [m for m in encoder.modules() if isinstance(m, nn.ModuleList) and len(m) == count]
    if len(lists) != 1:
        raise AdequaError(
            f"Layers of an encoder of the type {encoder.config.model_type} cannot be left out."
        )
    return lists[0]


def _replace_layers(encoder: nn.Module, old: nn.ModuleList, new: nn.ModuleList) -> None:
    for module in encoder.modules():
        for name, child in module.named_children():
            if child is old:
                setattr(module, name, new)
                return


def with_units(model: PairModel, units: int) -> PairModel:
    """The model with this many hidden units in every feed-forward layer, those of largest weight.

    The contribution of a unit to the output of its layer is bounded by its activation, which grows
    with the norm of its input weights, times the norm of its output weights. The units of the
    largest product stay.
    """
    network = model.network
    for layer in encoder_layers(network.encoder):
        _reduce_feed_forward(layer, units)
    network.encoder.config.intermediate_size = units
    return model


@torch.no_grad()
def _reduce_feed_forward(layer: Any, units: int) -> None:
    """Keep some hidden units of a layer with the modules of BERT."""
    up = getattr(getattr(layer, "intermediate", None), "dense", None)
    down = getattr(getattr(layer, "output", None), "dense", None)
    if not (isinstance(up, nn.Linear) and isinstance(down, nn.Linear)):
        raise AdequaError("Hidden units can be left out of encoders with the layers of BERT only.")
    if units > up.out_features:
        raise AdequaError(f"The layers have {up.out_features:,} hidden units; keep_units is more.")
    weight = up.weight.norm(dim=1) * down.weight.norm(dim=0)
    kept = weight.topk(units).indices.sort().values
    layer.intermediate.dense = _linear(up.weight[kept], up.bias[kept])
    layer.output.dense = _linear(down.weight[:, kept], down.bias)


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    return layer


def with_vocabulary(model: PairModel, texts: Iterable[tuple[str, ...]], size: int) -> PairModel:
    """The model with a vocabulary of this many pieces, the most frequent ones in the texts.

    Special tokens and single characters stay, and count. Where the texts have fewer pieces, others
    follow in the order of the vocabulary.
    """
    content = json.loads(_backend(model.tokenizer).to_str())
    if content["model"]["type"] != "WordPiece":
        raise AdequaError(
            "Only a vocabulary of WordPiece can be reduced, and that of this encoder is of "
            f"{content['model']['type']}."
        )
    pieces: dict[str, int] = content["model"]["vocab"]
    always = _always_kept(pieces, content, model.tokenizer)
    if not len(always) < size <= len(pieces):
        raise AdequaError(
            f"vocabulary should be from {len(always) + 1:,} to {len(pieces):,} pieces for this "
            f"encoder, not {size:,}."
        )
    frequent = (index for index, _ in _piece_counts(model, texts).most_common())
    others = dict.fromkeys(chain(frequent, sorted(pieces.values())))
    chosen = sorted({*always, *islice((i for i in others if i not in always), size - len(always))})
    numbers = {old: new for new, old in enumerate(chosen)}
    tokenizer = _tokenizer(_renumbered(content, numbers), model.tokenizer)
    _select_rows(model.network.encoder, np.array(chosen), numbers[model.tokenizer.pad_token_id])
    return replace(model, tokenizer=tokenizer)


def _backend(tokenizer: PreTrainedTokenizerBase) -> Any:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise AdequaError(
            "Only the vocabulary of a fast tokenizer (tokenizer.json) can be reduced."
        )
    return backend


def _always_kept(
    pieces: dict[str, int], content: dict[str, Any], tokenizer: PreTrainedTokenizerBase
) -> set[int]:
    """Special and added tokens, and single characters."""
    added = {each["id"] for each in content["added_tokens"]}
    single = {i for piece, i in pieces.items() if len(piece.removeprefix(_CONTINUED)) == 1}
    return {*tokenizer.all_special_ids, *added, *single}


def _renumbered(content: dict[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """The content of tokenizer.json with the pieces that have a new number."""
    vocabulary = content["model"]["vocab"]
    model = content["model"] | {
        "vocab": {piece: numbers[i] for piece, i in vocabulary.items() if i in numbers}
    }
    added = [each | {"id": numbers[each["id"]]} for each in content["added_tokens"]]
    processor = content["post_processor"]
    if processor is not None and processor["type"] == "TemplateProcessing":
        tokens = {
            name: token | {"ids": [numbers[i] for i in token["ids"]]}
            for name, token in processor["special_tokens"].items()
        }
        processor = processor | {"special_tokens": tokens}
    elif processor is not None:  # BertProcessing and the like
        ends = {name: [processor[name][0], numbers[processor[name][1]]] for name in ("sep", "cls")}
        processor = processor | ends
    return content | {
        "model": model, "added_tokens": added, "post_processor": processor,
        "padding": None, "truncation": None,
    }  # fmt: skip


def _piece_counts(model: PairModel, texts: Iterable[tuple[str, ...]]) -> Counter[int]:
    """How often each piece occurs in the distinct texts."""
    backend = _backend(model.tokenizer)
    distinct = dict.fromkeys(text for pair in texts for text in pair)
    listed = [text.lower() if model.lowercase else text for text in distinct]
    counts = Counter[int]()
    for start in range(0, len(listed), _CHUNK):
        chunk = listed[start : start + _CHUNK]
        for encoded in backend.encode_batch(chunk, add_special_tokens=False):
            counts.update(encoded.ids)
    return counts


def _tokenizer(content: dict[str, Any], old: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer  # noqa: PLC0415  # its types are unknown

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)),
        model_input_names=old.model_input_names,
        **old.special_tokens_map,
    )


@torch.no_grad()
def _select_rows(encoder: Any, rows: np.ndarray, padding: int) -> None:
    """Reduce the word embeddings of an encoder to these rows; `padding` is that of padding."""
    table = encoder.get_input_embeddings()
    smaller = nn.Embedding(len(rows), table.embedding_dim, padding_idx=padding)
    smaller.weight.copy_(table.weight[torch.from_numpy(rows)])
    encoder.set_input_embeddings(smaller)
    encoder.config.vocab_size = len(rows)
    encoder.config.pad_token_id = padding
