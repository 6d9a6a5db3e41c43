"""A transformer at work: texts, or pairs of texts, to token ids, through the network, pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.contract import Vectors
from adequa.encoders.pooling import pooled
from adequa.errors import AdequaError
from adequa.runtime.batches import batches_by_length

_CHUNK = 8192  # texts tokenised at a time, which bounds the memory that their ids take

TokenRows = dict[str, list[list[int]]]


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
        cut = 0
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            rows = self._token_rows(chunk)
            lengths = np.fromiter(map(len, rows["input_ids"]), dtype=np.intp, count=len(chunk))
            cut += self._count_cut(chunk, lengths)
            for batch in batches_by_length(
                lengths, max_tokens=self.batch_tokens, max_count=self.batch_size
            ):
                # A text without any token, not even a special one, stays the zero vector.
                some = batch[lengths[batch] > 0]
                if len(some):
                    picked = {name: [row[at] for at in some] for name, row in rows.items()}
                    found[start + some] = self._forward(picked)
        return found, cut

    def _token_rows(self, texts: Sequence[tuple[str, ...]]) -> TokenRows:
        encoded = self._tokenized(texts, truncation=True, max_length=self.max_length)
        return {name: encoded[name] for name in self._inputs}

    def _tokenized(self, texts: Sequence[tuple[str, ...]], **settings: Any) -> Any:
        columns = [list(column) for column in zip(*texts, strict=True)]
        return self.tokenizer(
            *columns,
            return_attention_mask=False,
            # Asked for, because some tokenizers keep to themselves what their network needs.
            return_token_type_ids="token_type_ids" in self._inputs,
            verbose=False,
            **settings,
        )

    def _count_cut(self, texts: Sequence[tuple[str, ...]], lengths: npt.NDArray[np.intp]) -> int:
        """How many texts have more tokens than fit; only those that fill all are looked at."""
        full = [texts[at] for at in np.flatnonzero(lengths >= self.max_length).tolist()]
        if not full:
            return 0
        whole = self._tokenized(full, truncation=False)["input_ids"]
        return sum(len(row) > self.max_length for row in whole)

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        """The inputs that the network knows, beside the mask."""
        known = signature(self.network.forward).parameters
        typed = "token_type_ids" in known and getattr(self.network.config, "type_vocab_size", 2) > 1
        return ("input_ids", "token_type_ids") if typed else ("input_ids",)

    def _forward(self, rows: TokenRows) -> Vectors:
        import torch  # noqa: PLC0415  # an extra, and heavy

        padding = {
            "input_ids": self.tokenizer.pad_token_id or 0,
            "token_type_ids": getattr(self.tokenizer, "pad_token_type_id", 0),
        }
        mask = _padded([[1] * len(row) for row in rows["input_ids"]], 0)
        inputs = {name: _padded(row, padding[name]) for name, row in rows.items()}
        try:
            with torch.inference_mode():
                on_device = {
                    name: torch.from_numpy(table).to(self.network.device)
                    for name, table in {**inputs, "attention_mask": mask}.items()
                }
                layers = self._layers(on_device)
                vectors = pooled(self.pooling, layers, on_device["attention_mask"])
                if self.normalize:
                    vectors = torch.nn.functional.normalize(vectors, dim=1)
                found: Vectors = vectors.float().cpu().numpy()
        except torch.cuda.OutOfMemoryError as error:
            raise AdequaError(
                f"A batch of {self.batch_tokens} tokens does not fit into the memory of "
                f"{self.network.device}; make batch_tokens smaller."
            ) from error
        return found

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


def _padded(rows: list[list[int]], fill: int) -> npt.NDArray[np.int64]:
    """Rows of different lengths as a table, filled up on the right."""
    lengths = np.fromiter(map(len, rows), dtype=np.intp, count=len(rows))
    table = np.full((len(rows), int(lengths.max())), fill, dtype=np.int64)
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    table[np.arange(table.shape[1]) < lengths[:, None]] = values
    return table
