"""Transformers as encoders: any Hugging Face encoder, frozen, one text or a pair at a time.

A sentence-transformers folder is pooled as it says itself; others by the mean over tokens. The
pair encoder is the frozen variant of the BERT regressor (Shimanaka et al., 2019, §5).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import (
    AnyEncoder,
    Encoder,
    PairEncoder,
    Vectors,
    checked_vectors,
    paired,
)
from adequa.encoders.tokens import Reader
from adequa.encoders.transformer_files import (
    Declared,
    declared,
    digests,
    load_model,
    model_files,
    model_folder,
)
from adequa.errors import AdequaError, nearest
from adequa.io.truth import TRUTH
from adequa.remarks import Remark
from adequa.runtime.batches import batches_by_length, distinct

if TYPE_CHECKING:
    from torch import Tensor

POOLINGS = ("cls", "mean", "max", "mean-sqrt-length", "cls-last4", "mean-last4")
_LAST = "-last4"
_FOUR = 4


def check_pooling(pooling: str) -> None:
    """Raise unless there is a pooling of this name."""
    if pooling not in POOLINGS:
        raise AdequaError(
            f'There is no pooling named "{pooling}".{nearest(pooling, POOLINGS)} There are '
            f"{', '.join(POOLINGS)}."
        )


def pooled_layers(pooling: str, written: str, count: int, where: str) -> tuple[int, ...]:
    """The layers that are pooled, of so many; `where` says in errors of which model.

    >>> pooled_layers("mean", "", 12, "a model"), pooled_layers("cls-last4", "", 12, "a model")
    ((12,), (9, 10, 11, 12))
    >>> pooled_layers("mean", "4+8+12", 12, "a model")
    (4, 8, 12)
    """
    if pooling.endswith(_LAST):
        if written:
            raise AdequaError(f"layers={written} does not go with pooling={pooling}; give one.")
        if count < _FOUR:
            raise AdequaError(
                f"{where} has {count} layers, too few for the pooling {pooling}; name another, "
                "such as pooling=cls."
            )
        return tuple(range(count - _FOUR + 1, count + 1))
    if not written:
        return (count,)
    numbers = tuple(int(part) if part.strip().isdecimal() else -1 for part in written.split("+"))
    if min(numbers) < 0 or max(numbers) > count or len(set(numbers)) < len(numbers):
        raise AdequaError(
            f"layers={written} names no layers of {where}; write numbers from 0 to {count}, each "
            "once, such as layers=1+2."
        )
    return numbers


def pooled(pooling: str, layers: Sequence[Tensor], mask: Tensor) -> Tensor:
    """One vector a text from layers of shape (texts, tokens, numbers).

    The mask is 1 for tokens and 0 for padding, which stands behind them.
    """
    from torch import cat  # noqa: PLC0415  # an extra, and heavy

    kind = pooling.removesuffix(_LAST)
    return cat([_pooled_layer(kind, layer, mask[:, :, None]) for layer in layers], dim=1)


def _pooled_layer(kind: str, layer: Tensor, mask: Tensor) -> Tensor:
    if kind == "cls":
        return layer[:, 0]
    if kind == "max":
        return layer.masked_fill(mask == 0, float("-inf")).amax(dim=1)
    total = (layer * mask).sum(dim=1)
    count = mask.sum(dim=1).to(layer.dtype)
    return total / (count if kind == "mean" else count.sqrt())


TokenStates: TypeAlias = npt.NDArray[np.float32]  # (layers, tokens, numbers) of a text

_CHUNK = 8192  # texts tokenised at a time, which bounds the memory that their ids take


@dataclass(frozen=True)
class TextNetwork:
    """A network, its tokenizer, and how they are used."""

    network: Any
    tokenizer: Any
    pooling: str
    layers: tuple[int, ...]  # that are pooled; the last is numbered as there are layers
    normalize: bool
    max_length: int
    batch_tokens: int
    batch_size: int

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.network.config.hidden_size) * len(self.layers)

    def vectors(self, texts: Sequence[tuple[str, ...]]) -> tuple[Vectors, int]:
        """One vector for each single text or pair, and how many of them were cut for length."""
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        reader = Reader.of(self.network, self.tokenizer, self.max_length)
        cut = 0
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            rows = reader.read(chunk)
            cut += reader.count_cut(chunk, rows)
            for batch in batches_by_length(
                rows.lengths, max_tokens=self.batch_tokens, max_count=self.batch_size
            ):
                # A text without any token, not even a special one, stays the zero vector.
                some = batch[rows.lengths[batch] > 0]
                if len(some):
                    found[start + some] = self._forward(rows.padded(some))
        return found, cut

    def states(self, texts: Sequence[str]) -> tuple[list[TokenStates], int]:
        """What each layer makes of each word piece of each text, and how many texts were cut.

        Special tokens, which stand for no part of the text, are left out.
        """
        reader = Reader.of(self.network, self.tokenizer, self.max_length)
        single = [(text,) for text in texts]
        rows = reader.read(single)
        special = np.array(sorted(set(self.tokenizer.all_special_ids)))
        size = int(self.network.config.hidden_size)
        found = [np.zeros((len(self.layers), 0, size), np.float32)] * len(texts)
        for batch in batches_by_length(
            rows.lengths, max_tokens=self.batch_tokens, max_count=self.batch_size
        ):
            inputs = rows.padded(batch)
            said = (inputs["attention_mask"] > 0) & ~np.isin(inputs["input_ids"], special)
            if not said.any():
                continue
            layers = self._states(inputs)
            for place, row in enumerate(batch.tolist()):
                found[row] = layers[:, place, said[place]]
        return found, reader.count_cut(single, rows)

    def _states(self, inputs: dict[str, npt.NDArray[np.int64]]) -> TokenStates:
        """All states of a batch, shape (layers, texts, tokens, numbers)."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        with self._within_memory(), torch.inference_mode():
            layers = self._layers(self._on_device(inputs))
            found: TokenStates = torch.stack(list(layers)).float().cpu().numpy()
        return found

    def _forward(self, inputs: dict[str, npt.NDArray[np.int64]]) -> Vectors:
        import torch  # noqa: PLC0415  # an extra, and heavy

        with self._within_memory(), torch.inference_mode():
            on_device = self._on_device(inputs)
            layers = self._layers(on_device)
            vectors = pooled(self.pooling, layers, on_device["attention_mask"])
            if self.normalize:
                vectors = torch.nn.functional.normalize(vectors, dim=1)
            found: Vectors = vectors.float().cpu().numpy()
        return found

    @contextmanager
    def _within_memory(self) -> Iterator[None]:
        """A sentence where a batch does not fit into the memory of a GPU."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            raise AdequaError(
                f"A batch of {self.batch_tokens} tokens does not fit into the memory of "
                f"{self.network.device}; make batch_tokens smaller."
            ) from error

    def _on_device(self, inputs: dict[str, npt.NDArray[np.int64]]) -> dict[str, Any]:
        import torch  # noqa: PLC0415  # an extra, and heavy

        device = self.network.device
        return {name: torch.from_numpy(table).to(device) for name, table in inputs.items()}

    def _layers(self, inputs: dict[str, Any]) -> Sequence[Any]:
        last_only = self.layers == (self.network.config.num_hidden_layers,)
        output = self.network(**inputs, output_hidden_states=not last_only)
        if last_only:
            return [output.last_hidden_state]
        return [output.hidden_states[layer] for layer in self.layers]


def longest_input(network: Any, tokenizer: Any) -> int:
    """Tokens that the network has positions for and the tokenizer allows."""
    limits = [int(tokenizer.model_max_length)]
    positions = int(getattr(network.config, "max_position_embeddings", 0) or 0)
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            # RoBERTa and its kin count positions from behind that of the padding token.
            used = 0 if module.padding_idx is None else module.padding_idx + 1
            positions = module.num_embeddings - used
            break
    if positions > 0:
        limits.append(positions)
    return min(limits)


_BATCH_TOKENS = 8192
_BATCH_SIZE = 128


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A network with all that the vectors depend on, and what to call it."""

    network: TextNetwork
    folder: Path
    lowercase: bool
    prompt: str
    name: str
    specification: str
    fingerprint: str

    def prepared(self, text: str) -> str:
        """A text as the tokenizer gets it."""
        text = f"{self.prompt}{text.strip()}"
        return text.lower() if self.lowercase else text


class Transformer(Encoder):
    """A transformer that reads one sentence at a time."""

    def __init__(self, loaded: _Loaded) -> None:
        _describe(self, loaded)
        self._loaded = loaded
        self.layer_count = len(loaded.network.layers)
        # Different sentences, over all calls, that were cut at max_length tokens.
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
        batch_size: int = _BATCH_SIZE,
        download: bool = False,
        revision: str = "",
    ) -> Transformer:
        """Load a folder, or a model of the hub that was downloaded before (or is, if asked to).

        Without a pooling and layers, a sentence-transformers folder is used as it says itself, with
        its normalisation; others by the mean over tokens in the last layer. `layers` names others,
        such as 4+8+12, whose vectors are put one after the other. `prefix` is put in front of every
        sentence, with a space.
        """
        folder = model_folder(path, download=download, revision=revision)
        own = declared(folder, pooled=not (pooling or layers))
        use = _Use(
            kind="transformer",
            path=path,
            folder=folder,
            own=own,
            pooling=pooling or own.pooling or "mean",
            layers=layers,
            normalize=_wanted(normalize, own.normalize),
            prompt=f"{prefix} " if prefix else own.prompt,
            max_length=max_length,
            device=device,
            batch_tokens=batch_tokens,
            batch_size=batch_size,
        )
        return cls(
            _loaded(
                use,
                pooling=pooling,
                layers=layers,
                normalize="" if normalize == "auto" else normalize,
                max_length=max_length,
                prefix=prefix,
                revision=revision,
            )
        )

    def noticed(self) -> tuple[Remark, ...]:
        return _cut(self.name, self.truncated, self._loaded.network.max_length, "sentence")

    def states(self, sentences: Sequence[str]) -> list[TokenStates]:
        """The state of every word piece in each of the layers, before any pooling."""
        found, cut = self._loaded.network.states(list(map(self._loaded.prepared, sentences)))
        self.truncated += cut
        return found

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, at = distinct([self._loaded.prepared(sentence) for sentence in sentences])
        vectors, cut = self._loaded.network.vectors([(text,) for text in texts])
        self.truncated += cut
        checked_vectors(self.name, vectors, len(texts), self.dimension)
        return vectors if len(texts) == len(at) else vectors[at]


class TransformerPair(PairEncoder):
    """A transformer that reads two sentences together."""

    def __init__(self, loaded: _Loaded) -> None:
        _describe(self, loaded)
        self._loaded = loaded
        # Different pairs, over all calls, that were cut at max_length tokens.
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
        batch_size: int = _BATCH_SIZE,
        download: bool = False,
        revision: str = "",
    ) -> TransformerPair:
        """Load a folder, or a model of the hub that was downloaded before (or is, if asked to).

        Without a pooling and layers, the first token's vectors of the last four layers are taken
        (`cls-last4`), and with layers the mean over tokens in each of them.
        """
        folder = model_folder(path, download=download, revision=revision)
        use = _Use(
            kind="transformer-pair",
            path=path,
            folder=folder,
            # What a folder says of the length of sentences does not hold for two of them.
            own=replace(declared(folder, pooled=False), max_length=0),
            pooling=pooling or ("mean" if layers else "cls-last4"),
            layers=layers,
            normalize=_wanted(normalize, False),
            prompt="",
            max_length=max_length,
            device=device,
            batch_tokens=batch_tokens,
            batch_size=batch_size,
        )
        return cls(
            _loaded(
                use,
                pooling=pooling,
                layers=layers,
                normalize="" if normalize == "auto" else normalize,
                max_length=max_length,
                revision=revision,
            )
        )

    def noticed(self) -> tuple[Remark, ...]:
        return _cut(self.name, self.truncated, self._loaded.network.max_length, "pair")

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        prepared = self._loaded.prepared
        pairs, at = distinct(
            [
                (prepared(first), prepared(second))
                for first, second in paired(self.name, firsts, seconds)
            ]
        )
        vectors, cut = self._loaded.network.vectors(pairs)
        self.truncated += cut
        checked_vectors(self.name, vectors, len(pairs), self.dimension)
        return vectors if len(pairs) == len(at) else vectors[at]


@dataclass(frozen=True, slots=True)
class _Use:
    """Which network is to be used, and how."""

    kind: str
    path: str
    folder: Path
    own: Declared
    pooling: str
    layers: str
    normalize: bool
    prompt: str
    max_length: int  # 0: as declared, or as much as the model can take
    device: str
    batch_tokens: int
    batch_size: int


def _cut(name: str, count: int, length: int, what: str) -> tuple[Remark, ...]:
    before = f"{name} read the first {length} tokens only of "
    one, several = (f" {texts}, as far as they were encoded now." for texts in (what, f"{what}s"))
    return (Remark((before, several), (before, one), (count,)),)


def _describe(encoder: AnyEncoder, loaded: _Loaded) -> None:
    encoder.name = loaded.name
    encoder.specification = loaded.specification
    encoder.fingerprint = loaded.fingerprint
    encoder.path = loaded.folder
    encoder.dimension = loaded.network.dimension


def _loaded(use: _Use, **given: object) -> _Loaded:
    """Load the network; the settings given by the user are for the specification."""
    check_pooling(use.pooling)
    model, tokenizer = load_model(use.own.folder)
    count = int(getattr(model.config, "num_hidden_layers", 0))
    layers = pooled_layers(use.pooling, use.layers, count, str(use.folder))
    network = TextNetwork(
        network=_on_device(model, use.device),
        tokenizer=tokenizer,
        pooling=use.pooling,
        layers=layers,
        normalize=use.normalize,
        max_length=_length(use, model, tokenizer),
        batch_tokens=use.batch_tokens,
        batch_size=use.batch_size,
    )
    place = str(use.folder) if Path(use.path).is_dir() else use.path
    pair = ".pair" if use.kind == "transformer-pair" else ""
    settings = (f"{key}={value}" for key, value in given.items() if value)
    return _Loaded(
        network=network,
        folder=use.folder,
        lowercase=use.own.lowercase,
        prompt=use.prompt,
        name=".".join(filter(None, [f"{Path(place).name}{pair}", use.pooling, use.layers])),
        specification=",".join([f"{use.kind}:{place}", *settings]),
        fingerprint=_fingerprint(use, network.max_length),
    )


def _fingerprint(use: _Use, max_length: int) -> str:
    settings = {
        "kind": use.kind,
        "pooling": use.pooling,
        "layers": use.layers,
        "normalize": use.normalize,
        "max_length": max_length,
        "lowercase": use.own.lowercase,
        "prompt": use.prompt,
    }
    described = json.dumps([1, digests(model_files(use.own.folder)), settings], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()


def _wanted(normalize: str, declared_so: bool) -> bool:
    """Whether vectors are brought to length 1: as asked for, or as the folder says of itself."""
    if normalize == "auto":
        return declared_so
    if normalize.lower() not in TRUTH:
        raise AdequaError(f"transformer: normalize must be auto, true or false, not {normalize!r}.")
    return TRUTH[normalize.lower()]


def _length(use: _Use, model: Any, tokenizer: Any) -> int:
    """Tokens at most: as asked for, as declared, or as many as the model can take."""
    longest = longest_input(model, tokenizer)
    least = 1 + int(tokenizer.num_special_tokens_to_add(pair=use.kind == "transformer-pair"))
    if use.max_length and not least <= use.max_length <= longest:
        raise AdequaError(
            f"max_length must be between {least} and {longest} for {use.folder}, "
            f"not {use.max_length}."
        )
    return use.max_length or min(use.own.max_length or longest, longest)


def _on_device(model: Any, device: str) -> Any:
    import torch  # noqa: PLC0415  # an extra, and heavy

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return model.to(torch.device(chosen))
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AdequaError(f'There is no device "{chosen}" to encode on: {reason}.') from error
