"""A transformer at work: texts, or pairs of texts, to token ids, through the network, pooled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Vectors
from adequa.encoders.pooling import pooled
from adequa.encoders.tokens import Reader
from adequa.errors import AdequaError
from adequa.runtime.batches import batches_by_length

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
