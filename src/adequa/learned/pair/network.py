"""The network of the pair regressor: a transformer reads hypothesis and reference together.

Shimanaka, Kajiwara and Komachi (2019, §3): the encoder reads both sentences as one input, and a
head with zero or more hidden layers turns the last hidden state of [CLS] into a score. `PairModel`
adds the tokenizer and turns texts into scores.

Where this departs from the paper: by default the token vectors are averaged (`pooling = "cls"` is
the paper's), and surface features, if any, go straight to the output (the skip arcs of Guzmán et
al., 2015). What the paper leaves open is decided here: the reference is read first and the
hypothesis second, with the source between them if a plan has it (the frozen variant of §5,
`transformer-pair` of the encoders, reads the hypothesis first); BERT's pooler, a layer over [CLS],
is not used; hidden layers are tanh; dropout is before every layer of the head; targets are
standardised for training, and scores are scaled back afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import PreTrainedTokenizerBase

from adequa.encoders.device import to_device
from adequa.encoders.surface import SURFACE, surface_features
from adequa.encoders.transformer import check_pooling, longest_input, pooled, pooled_layers
from adequa.encoders.transformer_files import (
    Reader,
    TokenRows,
    digests,
    load_model,
    model_files,
    quiet,
    writing_weights,
)
from adequa.learned.pair.devices import Precision, without_cudnn_attention
from adequa.learned.pair.views import Pair
from adequa.learned.training import isolated_randomness, seed_torch
from adequa.runtime.batching import batches_by_length
from adequa.segments import FloatArray, IntArray

Inputs: TypeAlias = Mapping[str, Tensor]

ENCODER_PREFIX = "encoder."  # of the names of the encoder's weights
SKIP = "skip"  # the weights of surface features
SURFACE_MEAN, SURFACE_SPREAD = "surface_mean", "surface_spread"
SCALES_PREFIX = "output_scales."  # of the names of the weights of output scales
INITIAL_STD = 0.02  # of the weights of a head, as in BERT
_CHUNK_SIZE = 1 << 16  # pairs tokenized before they are scored, which bounds memory


@dataclass(frozen=True, slots=True)
class Head:
    """Settings of pooling and of the layers above the encoder."""

    pooling: str = "mean"
    layers: str = ""  # encoder layers to pool, such as 5+7+12; empty for the last
    hidden_layers: int = 0  # 0: a linear head
    units: int = 768  # per hidden layer
    dropout: float = 0.1
    surface: int = 0  # number of surface features, the first of them


class OutputScales(nn.Module):
    """An affine map from the network's score to the ratings of each dataset that has its own scale.

    Scales are numbered from 1; scale 0 is the network's own. Slopes stay positive: ratings of every
    dataset are better where they are higher.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.log_slopes = nn.Parameter(torch.zeros(count))
        self.intercepts = nn.Parameter(torch.zeros(count))

    def forward(self, scores: Tensor, scales: IntArray) -> Tensor:
        """Map each score to its scale."""
        index = to_device(scales, scores.device)
        slopes, intercepts = self._slopes_and_intercepts()
        return slopes[index] * scores + intercepts[index]

    def _slopes_and_intercepts(self) -> tuple[Tensor, Tensor]:
        """The slope and intercept of every scale, from scale 0."""
        return pad(self.log_slopes, (1, 0)).exp(), pad(self.intercepts, (1, 0))

    @torch.no_grad()
    def values(self) -> list[tuple[float, float]]:
        """Slope and intercept of every scale, from scale 0."""
        slopes, intercepts = self._slopes_and_intercepts()
        return list(zip(slopes.tolist(), intercepts.tolist(), strict=True))


class PairNetwork(nn.Module):
    """A transformer encoder with a regression head: one score per pair."""

    output_scales: OutputScales | None  # only during a training that needs them
    shift: Tensor
    scale: Tensor
    surface_mean: Tensor
    surface_spread: Tensor  # standard deviation; saved folders have it under this name

    def __init__(self, encoder: Any, head: Head, seed: int) -> None:
        super().__init__()
        check_pooling(head.pooling)
        config = encoder.config
        self.encoder = encoder
        self.pooling = head.pooling
        self.layers = pooled_layers(
            head.pooling, head.layers, int(config.num_hidden_layers), "the encoder"
        )
        sizes = [int(config.hidden_size) * len(self.layers), *[head.units] * head.hidden_layers]
        generator = torch.Generator().manual_seed(seed)
        self.hidden = nn.ModuleList(
            _linear(inputs, outputs, generator) for inputs, outputs in pairwise(sizes)
        )
        self.output = _linear(sizes[-1], 1, generator)
        self.dropout = nn.Dropout(head.dropout)
        self.register_module("output_scales", None)
        # Skip arcs start at zero: they only add what the encoder cannot see.
        skip = torch.zeros(head.surface) if head.surface else None
        self.skip = None if skip is None else nn.Parameter(skip)
        self.register_buffer(SURFACE_MEAN, None if skip is None else torch.zeros_like(skip))
        self.register_buffer(SURFACE_SPREAD, None if skip is None else torch.ones_like(skip))
        # From the training scale to the scale of the ratings.
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, inputs: Inputs, surface: Tensor | None = None) -> Tensor:
        """One score per pair, on the training scale."""
        mask = inputs["attention_mask"]
        last_only = self.layers == (self.encoder.config.num_hidden_layers,)
        outputs = self.encoder(
            **{**inputs, "attention_mask": attention_mask(self.encoder, mask)},
            output_hidden_states=not last_only,
        )
        layers = (
            [outputs.last_hidden_state]
            if last_only
            else [outputs.hidden_states[layer] for layer in self.layers]
        )
        with torch.autocast(inputs["input_ids"].device.type, enabled=False):
            values = pooled(self.pooling, [layer.float() for layer in layers], mask)
            for layer in self.hidden:
                values = torch.tanh(layer(self.dropout(values)))
            scores: Tensor = self.output(self.dropout(values)).squeeze(1)
            if surface is not None and self.skip is not None:
                scores = scores + (surface - self.surface_mean) / self.surface_spread @ self.skip
        return scores

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.output.weight.device

    def set_encoder_dropout(self, p: float) -> None:
        """Set the dropout probability of every encoder layer."""
        for module in self.encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = p

    @cached_property
    def inner_weights(self) -> int:
        """Number of encoder weights without embedding tables: those that every token passes."""
        tables = (m for m in self.encoder.modules() if isinstance(m, nn.Embedding))
        embeddings = sum(table.weight.numel() for table in tables)
        return sum(int(weight.numel()) for weight in self.encoder.parameters()) - embeddings

    def head_arrays(self) -> dict[str, np.ndarray]:
        """All weights and buffers that are not the encoder's."""
        return {
            name: tensor.detach().float().cpu().numpy()
            for name, tensor in self.state_dict().items()
            if not name.startswith(ENCODER_PREFIX)
        }

    def load_head(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load the arrays that `head_arrays` returned."""
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        keys = self.load_state_dict(tensors, strict=False)
        missing = [name for name in keys.missing_keys if not name.startswith(ENCODER_PREFIX)]
        if missing or keys.unexpected_keys:
            raise ValueError(f"weights of another head: {', '.join([*missing, *arrays])}")

    @torch.no_grad()
    def standardise_surface(self, surface: npt.NDArray[np.float32], *, first: int = 0) -> None:
        """Standardise surface features, from this one on, by the training data.

        Scores stay the same.
        """
        if self.skip is None:
            return
        mean = torch.from_numpy(surface[:, first:].mean(axis=0)).to(self.device)
        std = surface[:, first:].std(axis=0)
        spread = torch.from_numpy(np.where(std > 0, std, 1)).to(self.device)
        weights = self.skip[first:] / self.surface_spread[first:]  # of the features as they are
        self.output.bias.add_(weights @ (mean - self.surface_mean[first:]))
        self.skip[first:] = weights * spread
        self.surface_mean[first:] = mean
        self.surface_spread[first:] = spread

    @torch.no_grad()
    def calibrate(self, scores: FloatArray, targets: FloatArray) -> None:
        """Rescale the output layer so that scores fit targets by least squares.

        Constant scores, and scores with a negative slope, leave the network unchanged.
        """
        centred = scores - scores.mean()
        slope = float(centred @ (targets - targets.mean())) / (float(centred @ centred) or np.inf)
        if slope > 0:
            self.output.weight.mul_(slope)
            if self.skip is not None:
                self.skip.mul_(slope)
            self.output.bias.mul_(slope).add_(float(targets.mean() - slope * scores.mean()))


@contextmanager
def output_scales(network: PairNetwork, count: int) -> Iterator[OutputScales]:
    """Give a network this number of trainable output scales until the end of the context."""
    scales = OutputScales(count).to(network.device)
    network.output_scales = scales if count else None
    try:
        yield scales
    finally:
        network.output_scales = None


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer whose initial weights come from the generator, not from global state."""
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator) * INITIAL_STD)
        layer.bias.zero_()
    return layer


# Attention masks. For a mask with one number per token, the encoders of Hugging Face test whether
# anything is padded, which waits for the GPU at every batch. They take a mask of shape
# (batch, 1, tokens, tokens) as it is.

# Architectures that use the mask for bidirectional attention only.
_BIDIRECTIONAL = frozenset(
    {
        "albert",
        "bert",
        "camembert",
        "distilbert",
        "electra",
        "mpnet",
        "nomic_bert",
        "roberta",
        "xlm-roberta",
    }
)


def attention_mask(encoder: Any, mask: Tensor) -> Tensor:
    """Expand a padding mask (1 for tokens, 0 for padding) to the form that attention uses.

    Encoders that may not accept the expanded form get the padding mask unchanged.
    """
    attention = getattr(encoder.config, "_attn_implementation", None)
    if attention not in {"sdpa", "eager"} or not _accepts_expanded_mask(encoder):
        return mask
    texts, tokens = mask.shape
    visible = mask.bool()[:, None, None, :].expand(texts, 1, tokens, tokens)
    if attention == "sdpa":
        return visible
    # Eager attention adds the mask to the logits.
    return torch.zeros_like(visible, dtype=encoder.dtype).masked_fill(
        ~visible, torch.finfo(encoder.dtype).min
    )


def _accepts_expanded_mask(encoder: Any) -> bool:
    config = encoder.config
    # Older versions of transformers reject expanded masks; they lack this function.
    is_recent = hasattr(sys.modules[type(encoder).__module__], "create_bidirectional_mask")
    is_decoder = getattr(config, "is_decoder", False)  # causal attention
    return is_recent and config.model_type in _BIDIRECTIONAL and not is_decoder


@dataclass(frozen=True, slots=True, eq=False)
class PairInputs:
    """All pairs of a training or a scoring, tokenized, and how they are read."""

    rows: TokenRows
    surface: npt.NDArray[np.float32] | None = None  # surface features, one row per pair
    precision: Precision = "fp32"
    most_tokens: int = 32_768  # in a batch, padding included
    # The row that each pair is read as, where pairs have several views; None: pairs are rows.
    shown: IntArray | None = None

    def scores(self, network: PairNetwork, pairs: IntArray) -> Tensor:
        """The scores of one batch of pairs, on the training scale."""
        device, rows = network.device, self._rows(pairs)
        inputs = {name: to_device(table, device) for name, table in self.rows.padded(rows).items()}
        surface = None if self.surface is None else to_device(self.surface[rows], device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            return network(inputs, surface)  # type: ignore[no-any-return]

    def lengths(self, pairs: IntArray) -> IntArray:
        """Number of tokens of each of these pairs."""
        rows = self._rows(pairs)
        return self.rows.starts[rows + 1] - self.rows.starts[rows]

    @property
    def all_lengths(self) -> IntArray:
        """Number of tokens of every pair."""
        return self.rows.lengths if self.shown is None else self.rows.lengths[self.shown]

    def _rows(self, pairs: IntArray) -> IntArray:
        return pairs if self.shown is None else self.shown[pairs]

    def padded_size(self, pairs: IntArray) -> int:
        """Number of tokens of a batch of pairs, padding included."""
        return len(pairs) * int(self.lengths(pairs).max())


def predict(
    network: PairNetwork, inputs: PairInputs, pairs: IntArray, *, dropout: bool = False
) -> FloatArray:
    """The scores of pairs without gradients, on the training scale."""
    if not len(pairs):
        return np.empty(0)
    batches = batches_by_length(
        inputs.lengths(pairs), max_tokens=inputs.most_tokens, max_count=len(pairs)
    )
    was_training = network.training
    network.train(dropout)
    if dropout:
        seed_torch(0)  # the same units are dropped in every call
    try:
        with torch.no_grad(), without_cudnn_attention():
            outputs = torch.cat([inputs.scores(network, pairs[batch]) for batch in batches])
    finally:
        network.train(was_training)
    scores = np.empty(len(pairs))
    scores[np.concatenate(batches)] = outputs.double().cpu().numpy()
    return scores


@dataclass(slots=True)
class PairModel:
    """A pair network with its tokenizer: pairs of texts to scores."""

    network: PairNetwork
    tokenizer: PreTrainedTokenizerBase
    head: Head
    max_length: int
    lowercase: bool
    truncated: int = field(default=0, init=False)  # pairs over all calls that were too long

    def inputs(
        self,
        pairs: Sequence[Pair],
        precision: Precision,
        most_tokens: int,
        counts: Sequence[int] | None = None,
    ) -> PairInputs:
        """Tokenize pairs; `counts` says how often each occurs, for the number of truncated ones."""
        reader = Reader.of(self.network.encoder, self.tokenizer, self.max_length)
        prepared = [(self._first_text(pair), self._prepared(pair[-1])) for pair in pairs]
        rows = reader.read(prepared)
        truncated = reader.truncated_rows(prepared, rows)
        self.truncated += (
            len(truncated) if counts is None else sum(counts[row] for row in truncated)
        )
        surface = None
        if self.head.surface:
            hypotheses, references = [pair[-1] for pair in pairs], [pair[0] for pair in pairs]
            surface = surface_features(hypotheses, references, SURFACE[: self.head.surface])
        return PairInputs(rows, surface, precision, most_tokens)

    def _first_text(self, pair: Pair) -> str:
        """What is read before the hypothesis: a source comes after a separator."""
        reference, *source = map(self._prepared, pair[:-1])
        return f"{reference}{self.separator}{source[0]}" if source else reference

    @property
    def separator(self) -> str:
        """The tokenizer's token between two texts, or a line break if it has none."""
        return self.tokenizer.sep_token or self.tokenizer.eos_token or "\n"

    def _prepared(self, text: str) -> str:
        return text.strip().lower() if self.lowercase else text.strip()

    def scores(
        self,
        pairs: Sequence[Pair],
        precision: Precision,
        most_tokens: int,
        counts: Sequence[int] | None = None,
    ) -> FloatArray:
        """One score per pair, on the scale of the ratings."""
        scores = np.empty(len(pairs))
        for start in range(0, len(pairs), _CHUNK_SIZE):
            chunk = slice(start, min(start + _CHUNK_SIZE, len(pairs)))
            chunk_counts = None if counts is None else counts[chunk]
            inputs = self.inputs(pairs[chunk], precision, most_tokens, chunk_counts)
            scores[chunk] = predict(self.network, inputs, np.arange(len(pairs[chunk])))
        return scores * float(self.network.scale) + float(self.network.shift)

    def write_encoder(self, folder: Path) -> dict[str, str]:
        """Write encoder and tokenizer as a Hugging Face folder; return the digest of each file."""
        with quiet(), writing_weights("The encoder"):
            self.network.encoder.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        return digests(model_files(folder))

    @classmethod
    def read(
        cls,
        folder: Path,
        head: Head,
        arrays: Mapping[str, np.ndarray],
        *,
        max_length: int,
        lowercase: bool,
    ) -> PairModel:
        """Read a folder of `write_encoder` and the arrays of the head."""
        with isolated_randomness(torch.device("cpu")):
            encoder, tokenizer = load_model(folder)
        if not 1 <= max_length <= longest_input(encoder, tokenizer):
            raise ValueError(f"no encoder here reads {max_length} tokens")
        network = PairNetwork(encoder, head, seed=0)
        network.load_head(arrays)
        return cls(network.eval(), tokenizer, head, max_length, lowercase)


def with_surface(model: PairModel, count: int) -> PairModel:
    """The model with this number of surface features; new ones have a weight of zero."""
    added = count - model.head.surface
    if not added:
        return model
    head = replace(model.head, surface=count)
    wider = PairNetwork(model.network.encoder, head, seed=0)
    arrays = model.network.head_arrays()
    for name, value in ((SKIP, 0), (SURFACE_MEAN, 0), (SURFACE_SPREAD, 1)):
        arrays[name] = np.pad(arrays[name], (0, added), constant_values=value)
    wider.load_head(arrays)
    return replace(model, network=wider, head=head)
