"""Transformers as encoders: any Hugging Face encoder, frozen, one text or a pair at a time.

Token states are pooled to one vector per text: `cls` takes the first token, `mean` the mean over
tokens, `max` the maximum over tokens, and `mean-sqrt-length` the sum over the square root of the
number of tokens. They do so in the last layer, or in each of several layers, whose vectors are
concatenated: layers are numbered from 1, and 0 is the input of the first. `cls-last4` and
`mean-last4` are short for the last four.

A sentence-transformers folder is pooled as it declares; other folders by the mean over tokens. The
pair encoder is the frozen variant of the BERT regressor (Shimanaka et al. 2019, §5), which pools by
`cls-last4`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import AnyEncoder, Encoder, PairEncoder, Vectors
from adequa.encoders.device import torch_device
from adequa.encoders.registry import format_specification
from adequa.encoders.transformer_files import (
    Declared,
    Reader,
    TokenRows,
    declared,
    digests,
    load_model,
    model_files,
    model_folder,
)
from adequa.errors import AdequaError, nearest
from adequa.io.text import BOOLEANS
from adequa.metrics.base import Remark
from adequa.runtime.batching import batches_by_length, distinct, paired

if TYPE_CHECKING:
    from torch import Tensor

POOLINGS = ("cls", "mean", "max", "mean-sqrt-length", "cls-last4", "mean-last4")
_LAST = "-last4"
_FOUR = 4
_BATCH_TOKENS = 8192
_BATCH_SIZE = 128
_CHUNK = 8192  # texts tokenized at a time, which bounds the memory that their ids take

TokenStates: TypeAlias = npt.NDArray[np.float32]  # (layers, tokens, hidden size) of a text


# Pooling.


def check_pooling(pooling: str) -> None:
    """Raise unless there is a pooling of this name."""
    if pooling not in POOLINGS:
        raise AdequaError(
            f'There is no pooling named "{pooling}".{nearest(pooling, POOLINGS)} There are '
            f"{', '.join(POOLINGS)}."
        )


def pooled_layers(pooling: str, layers: str, count: int, where: str) -> tuple[int, ...]:
    """Return the layers to pool, as written by the user or by default; `where` is for errors.

    >>> pooled_layers("mean", "", 12, "a model"), pooled_layers("cls-last4", "", 12, "a model")
    ((12,), (9, 10, 11, 12))
    >>> pooled_layers("mean", "4+8+12", 12, "a model")
    (4, 8, 12)
    """
    if pooling.endswith(_LAST):
        if layers:
            raise AdequaError(f"layers={layers} does not go with pooling={pooling}; give one.")
        if count < _FOUR:
            raise AdequaError(
                f"{where} has {count} layers, too few for the pooling {pooling}; name another, "
                "such as pooling=cls."
            )
        return tuple(range(count - _FOUR + 1, count + 1))
    if not layers:
        return (count,)
    numbers = tuple(int(part) if part.strip().isdecimal() else -1 for part in layers.split("+"))
    if min(numbers) < 0 or max(numbers) > count or len(set(numbers)) < len(numbers):
        raise AdequaError(
            f"layers={layers} names no layers of {where}; write numbers from 0 to {count}, each "
            "once, such as layers=1+2."
        )
    return numbers


def pooled(pooling: str, layers: Sequence[Tensor], mask: Tensor) -> Tensor:
    """Pool layers of shape (texts, tokens, hidden size) to one vector per text.

    The mask is 1 for tokens and 0 for padding, which comes after them.
    """
    from torch import cat  # noqa: PLC0415  # an extra, and heavy

    kind = pooling.removesuffix(_LAST)
    return cat([_pool_layer(kind, layer, mask[:, :, None]) for layer in layers], dim=1)


def _pool_layer(kind: str, layer: Tensor, mask: Tensor) -> Tensor:
    if kind == "cls":
        return layer[:, 0]
    if kind == "max":
        return layer.masked_fill(mask == 0, float("-inf")).amax(dim=1)
    total = (layer * mask).sum(dim=1)
    count = mask.sum(dim=1).to(layer.dtype)
    return total / (count if kind == "mean" else count.sqrt())


# The network.


@dataclass(frozen=True)
class TextNetwork:
    """A transformer with its tokenizer, pooling and batch sizes: texts in, vectors out."""

    network: Any
    tokenizer: Any
    pooling: str
    layers: tuple[int, ...]  # that are pooled; the last one has the number of layers
    normalize: bool
    max_length: int
    batch_tokens: int

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.network.config.hidden_size) * len(self.layers)

    def vectors(self, texts: Sequence[tuple[str, ...]]) -> tuple[Vectors, int]:
        """Return one vector for each text or pair, and how many of them were truncated."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        reader = Reader.of(self.network, self.tokenizer, self.max_length)
        truncated = 0
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            tokens = reader.read(chunk)
            truncated += reader.count_truncated(chunk, tokens)
            for batch in self._batches(tokens):
                # A text without any token, not even a special one, stays the zero vector.
                nonempty = batch[tokens.lengths[batch] > 0]
                if len(nonempty):
                    vectors[start + nonempty] = self._pooled_states(tokens.padded(nonempty))
        return vectors, truncated

    def states(self, texts: Sequence[str]) -> tuple[list[TokenStates], int]:
        """Return the states of each text's word pieces, and how many texts were truncated.

        Special tokens, which stand for no part of the text, are left out.
        """
        reader = Reader.of(self.network, self.tokenizer, self.max_length)
        single = [(text,) for text in texts]
        tokens = reader.read(single)
        special = np.array(sorted(set(self.tokenizer.all_special_ids)))
        hidden_size = int(self.network.config.hidden_size)
        states = [np.zeros((len(self.layers), 0, hidden_size), np.float32)] * len(texts)
        for batch in self._batches(tokens):
            inputs = tokens.padded(batch)
            is_text = (inputs["attention_mask"] > 0) & ~np.isin(inputs["input_ids"], special)
            if not is_text.any():
                continue
            batch_states = self._token_states(inputs)
            for index, row in enumerate(batch.tolist()):
                states[row] = batch_states[:, index, is_text[index]]
        return states, reader.count_truncated(single, tokens)

    def _batches(self, tokens: TokenRows) -> Iterator[npt.NDArray[np.intp]]:
        yield from batches_by_length(
            tokens.lengths, max_tokens=self.batch_tokens, max_count=_BATCH_SIZE
        )

    def _token_states(self, inputs: dict[str, npt.NDArray[np.int64]]) -> TokenStates:
        """Compute all states of a batch, shape (layers, texts, tokens, hidden size)."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        with self._out_of_memory_advice(), torch.inference_mode():
            layers = self._layers(self._to_device(inputs))
            states: TokenStates = torch.stack(list(layers)).float().cpu().numpy()
        return states

    def _pooled_states(self, inputs: dict[str, npt.NDArray[np.int64]]) -> Vectors:
        """Compute one vector for each text of a batch."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        with self._out_of_memory_advice(), torch.inference_mode():
            tensors = self._to_device(inputs)
            pooled_states = pooled(self.pooling, self._layers(tensors), tensors["attention_mask"])
            if self.normalize:
                pooled_states = torch.nn.functional.normalize(pooled_states, dim=1)
            vectors: Vectors = pooled_states.float().cpu().numpy()
        return vectors

    @contextmanager
    def _out_of_memory_advice(self) -> Iterator[None]:
        import torch  # noqa: PLC0415  # an extra, and heavy

        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            raise AdequaError(
                f"A batch of {self.batch_tokens} tokens does not fit into the memory of "
                f"{self.network.device}; make batch_tokens smaller."
            ) from error

    def _to_device(self, inputs: dict[str, npt.NDArray[np.int64]]) -> dict[str, Any]:
        import torch  # noqa: PLC0415  # an extra, and heavy

        device = self.network.device
        return {name: torch.from_numpy(array).to(device) for name, array in inputs.items()}

    def _layers(self, inputs: dict[str, Any]) -> Sequence[Any]:
        last_only = self.layers == (self.network.config.num_hidden_layers,)
        outputs = self.network(**inputs, output_hidden_states=not last_only)
        if last_only:
            return [outputs.last_hidden_state]
        return [outputs.hidden_states[layer] for layer in self.layers]


def longest_input(network: Any, tokenizer: Any) -> int:
    """Return how many tokens the network has positions for and the tokenizer allows."""
    limits = [int(tokenizer.model_max_length)]
    positions = int(getattr(network.config, "max_position_embeddings", 0) or 0)
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            # RoBERTa and similar models count positions from behind that of the padding token.
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            positions = module.num_embeddings - offset
            break
    if positions > 0:
        limits.append(positions)
    return min(limits)


# The encoders.


class Transformer(Encoder):
    """A transformer that reads one sentence at a time."""

    def __init__(self, model: _LoadedModel) -> None:
        model.describe(self)
        self._model = model
        self.layer_count = len(model.network.layers)
        # Number of different sentences, over all calls, that were truncated to max_length tokens.
        self.truncated = 0

    @classmethod
    def load(
        cls,
        path: str,
        *,
        pooling: str = "",
        layers: str = "",
        normalize: str = "auto",
        max_length: int = 0,
        prefix: str = "",
        device: str = "",
        batch_tokens: int = _BATCH_TOKENS,
        download: bool = False,
        revision: str = "",
    ) -> Transformer:
        """Load a folder, or a model of the hub: one that is cached, or any with `download`.

        Without `pooling` and `layers`, a sentence-transformers folder uses its own configuration
        and normalisation, and other models the mean over the tokens of the last layer. `layers`
        such as 4+8+12 concatenates the vectors of these layers. `prefix` is put before every
        sentence, with a space.
        """
        folder = model_folder(path, download=download, revision=revision)
        defaults = declared(folder, pooled=not (pooling or layers))
        options = {
            "pooling": pooling,
            "layers": layers,
            "normalize": normalize,
            "max_length": max_length,
            "prefix": prefix,
            "revision": revision,
        }
        return cls(
            _load(
                "transformer",
                path,
                folder,
                defaults,
                options,
                device=device,
                batch_tokens=batch_tokens,
            )
        )

    def counted_remarks(self) -> tuple[Remark, ...]:
        return _truncation_remarks(self._model, self.truncated, "sentence")

    def states(self, sentences: Sequence[str]) -> list[TokenStates]:
        """Return the state of every word piece in each of the layers, before pooling."""
        states, truncated = self._model.network.states(list(map(self._model.prepare, sentences)))
        self.truncated += truncated
        return states

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, index = distinct([self._model.prepare(sentence) for sentence in sentences])
        vectors, truncated = self._model.network.vectors([(text,) for text in texts])
        self.truncated += truncated
        return vectors if len(texts) == len(index) else vectors[index]


class TransformerPair(PairEncoder):
    """A transformer that reads two sentences together, in the order in which they are passed.

    The embedding regressor passes (hypothesis, reference). The fine-tuned pair regressor, which has
    its own network, reads (reference, hypothesis).
    """

    def __init__(self, model: _LoadedModel) -> None:
        model.describe(self)
        self._model = model
        # Number of different pairs, over all calls, that were truncated to max_length tokens.
        self.truncated = 0

    @classmethod
    def load(
        cls,
        path: str,
        *,
        pooling: str = "",
        layers: str = "",
        normalize: str = "auto",
        max_length: int = 0,
        device: str = "",
        batch_tokens: int = _BATCH_TOKENS,
        download: bool = False,
        revision: str = "",
    ) -> TransformerPair:
        """Load a folder, or a model of the hub: one that is cached, or any with `download`.

        Without a pooling and layers, the first token's vectors of the last four layers are taken
        (`cls-last4`), and with layers the mean over tokens in each of them.
        """
        folder = model_folder(path, download=download, revision=revision)
        # The length that a folder declares is for one sentence, not for two.
        defaults = replace(
            declared(folder, pooled=False), max_length=0, pooling="mean" if layers else "cls-last4"
        )
        options = {
            "pooling": pooling,
            "layers": layers,
            "normalize": normalize,
            "max_length": max_length,
            "revision": revision,
        }
        return cls(
            _load(
                "transformer-pair",
                path,
                folder,
                defaults,
                options,
                device=device,
                batch_tokens=batch_tokens,
            )
        )

    def counted_remarks(self) -> tuple[Remark, ...]:
        return _truncation_remarks(self._model, self.truncated, "pair")

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        prepare = self._model.prepare
        pairs, index = distinct(
            [
                (prepare(first), prepare(second))
                for first, second in paired(self.name, firsts, seconds)
            ]
        )
        vectors, truncated = self._model.network.vectors(pairs)
        self.truncated += truncated
        return vectors if len(pairs) == len(index) else vectors[index]


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """A network with its name, specification and fingerprint, and how texts are prepared."""

    network: TextNetwork
    folder: Path
    lowercase: bool
    prompt: str
    name: str
    specification: str
    fingerprint: str

    def describe(self, encoder: AnyEncoder) -> None:
        """Set the attributes of an encoder."""
        encoder.name = self.name
        encoder.specification = self.specification
        encoder.fingerprint = self.fingerprint
        encoder.path = self.folder
        encoder.dimension = self.network.dimension

    def prepare(self, text: str) -> str:
        """Return a text as the tokenizer gets it."""
        text = f"{self.prompt}{text.strip()}"
        return text.lower() if self.lowercase else text


def _load(
    kind: str,
    path: str,
    folder: Path,
    defaults: Declared,
    options: Mapping[str, Any],
    *,
    device: str,
    batch_tokens: int,
) -> _LoadedModel:
    """Load a network; `options` are the user's own settings."""
    pooling, layers = options["pooling"] or defaults.pooling or "mean", options["layers"]
    normalize = _normalizes(options["normalize"], defaults.normalize)
    prompt = f"{options['prefix']} " if options.get("prefix") else defaults.prompt
    check_pooling(pooling)
    is_pair = kind == "transformer-pair"
    network, tokenizer = load_model(defaults.folder)
    longest = longest_input(network, tokenizer)
    shortest = 1 + int(tokenizer.num_special_tokens_to_add(pair=is_pair))
    max_length = options["max_length"] or min(defaults.max_length or longest, longest)
    if not shortest <= max_length <= longest:
        raise AdequaError(
            f"max_length must be between {shortest} and {longest} for {folder}, not {max_length}."
        )
    text_network = TextNetwork(
        network=network.to(torch_device(device)),
        tokenizer=tokenizer,
        pooling=pooling,
        layers=pooled_layers(pooling, layers, int(network.config.num_hidden_layers), str(folder)),
        normalize=normalize,
        max_length=max_length,
        batch_tokens=batch_tokens,
    )
    settings = {
        "kind": kind,
        "pooling": pooling,
        "layers": layers,
        "normalize": normalize,
        "max_length": max_length,
        "lowercase": defaults.lowercase,
        "prompt": prompt,
    }
    content = json.dumps([1, digests(model_files(defaults.folder)), settings], sort_keys=True)
    location = str(folder) if Path(path).is_dir() else path
    name = f"{Path(location).name}{'.pair' if is_pair else ''}"
    written = {key: str(value) for key, value in options.items() if value and value != "auto"}
    return _LoadedModel(
        network=text_network,
        folder=folder,
        lowercase=defaults.lowercase,
        prompt=prompt,
        name=".".join(filter(None, [name, pooling, layers])),
        specification=format_specification(kind, location, written),
        fingerprint=hashlib.sha256(content.encode()).hexdigest(),
    )


def _normalizes(normalize: str, default: bool) -> bool:
    """Return whether vectors are scaled to length 1; `auto` is the default of the folder."""
    if normalize == "auto":
        return default
    if normalize.lower() not in BOOLEANS:
        raise AdequaError(f"transformer: normalize must be auto, true or false, not {normalize!r}.")
    return BOOLEANS[normalize.lower()]


def _truncation_remarks(model: _LoadedModel, count: int, unit: str) -> tuple[Remark, ...]:
    before = f"{model.name} read the first {model.network.max_length} tokens only of "
    one, many = (f" {texts}, as far as they were encoded now." for texts in (unit, f"{unit}s"))
    return (Remark((before, many), (before, one), (count,)),)
