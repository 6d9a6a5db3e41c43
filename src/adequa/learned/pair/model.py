"""A pair network with its tokenizer: begun from an encoder, written to and read from a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from adequa.encoders.surface import SURFACE, surface_features
from adequa.encoders.tokens import Reader
from adequa.encoders.transformer import check_pooling, longest_input, pooled_layers
from adequa.encoders.transformer_files import (
    declared,
    digests,
    load_model,
    model_files,
    model_folder,
    quiet,
    writing_weights,
)
from adequa.errors import AdequaError
from adequa.learned.pair.gradients import PairInputs, predict
from adequa.learned.pair.memory import check_training_memory
from adequa.learned.pair.network import Head, PairNetwork, Precision
from adequa.learned.pair.plan import Plan
from adequa.learned.training import isolated_randomness
from adequa.segments import FloatArray

_COPIES = 3  # of all weights, that training keeps beside them
_CHUNK = 1 << 16  # pairs read by the tokenizer before they are scored, which bounds memory

Pair = tuple[str, str]  # reference and hypothesis


@dataclass(slots=True)
class PairModel:
    """What turns pairs of reference and hypothesis into scores."""

    network: PairNetwork
    tokenizer: PreTrainedTokenizerBase
    head: Head
    max_length: int
    lowercase: bool
    origin: Mapping[str, str] = field(default_factory=dict)  # digests of the encoder's first files
    cut: int = 0  # pairs, over all calls, that had more tokens than were read

    @classmethod
    def begun(
        cls,
        encoder: str | Path,
        head: Head,
        *,
        max_length: int,
        seed: int,
        download: bool = False,
        device: torch.device | None = None,
    ) -> PairModel:
        """From a pretrained encoder, with a head that knows nothing yet.

        Where it is to be trained on a device, it is clear before that all of it fits there.
        """
        folder = model_folder(
            str(encoder),
            download=download,
            revision="",
            asking="--download (in Python download=True)",
        )
        own = declared(folder, pooled=False)
        with isolated_randomness(torch.device("cpu")):
            torch.default_generator.manual_seed(seed)  # of weights that the file lacks
            network, tokenizer = load_model(own.folder)
        longest = longest_input(network, tokenizer)
        least = 1 + int(tokenizer.num_special_tokens_to_add(pair=True))
        if max_length and not least <= max_length <= longest:
            raise AdequaError(
                f"max_length must be between {least} and {longest} for {folder}, not {max_length}."
            )
        if device is not None:
            check_training_memory(network, device, _COPIES, _weights(head, network.config))
        return cls(
            network=PairNetwork(network, head, seed),
            tokenizer=tokenizer,
            head=head,
            max_length=max_length or longest,
            lowercase=own.lowercase,
            origin=digests(model_files(own.folder)),
        )

    def check_memory(self, device: torch.device) -> None:
        """Raise where it cannot be trained on a device."""
        check_training_memory(self.network, device, _COPIES)

    def inputs(
        self,
        pairs: Sequence[Pair],
        precision: Precision,
        most_tokens: int,
        times: Sequence[int] | None = None,
    ) -> PairInputs:
        """Pairs as the network reads them; `times` says how often each counts if it is cut."""
        reader = Reader.of(self.network.encoder, self.tokenizer, self.max_length)
        prepared = [(self._prepared(one), self._prepared(other)) for one, other in pairs]
        rows = reader.read(prepared)
        cut = reader.truncated_rows(prepared, rows)
        self.cut += len(cut) if times is None else sum(times[at] for at in cut)
        surface = None
        if self.head.surface:
            surface = surface_features([h for _, h in pairs], [r for r, _ in pairs])
        return PairInputs(rows, surface, precision, most_tokens)

    def _prepared(self, text: str) -> str:
        return text.strip().lower() if self.lowercase else text.strip()

    def scores(
        self,
        pairs: Sequence[Pair],
        precision: Precision,
        most_tokens: int,
        times: Sequence[int] | None = None,
    ) -> FloatArray:
        """One score a pair, on the scale of what it learnt from."""
        found = np.empty(len(pairs))
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            often = None if times is None else times[start : start + len(chunk)]
            inputs = self.inputs(chunk, precision, most_tokens, often)
            found[start : start + len(chunk)] = predict(self.network, inputs, np.arange(len(chunk)))
        return found * float(self.network.scale) + float(self.network.shift)

    def write_encoder(self, folder: Path) -> dict[str, str]:
        """Write encoder and tokenizer as a Hugging Face folder; returns the digest of each file."""
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
        """From a folder that `write_encoder` wrote, and the arrays of the head."""
        with isolated_randomness(torch.device("cpu")):
            encoder, tokenizer = load_model(folder)
        if not 1 <= max_length <= longest_input(encoder, tokenizer):
            raise ValueError(f"no encoder here reads {max_length} tokens")
        network = PairNetwork(encoder, head, seed=0)
        network.load_head(arrays)
        return cls(network.eval(), tokenizer, head, max_length, lowercase)


def _weights(head: Head, config: Any) -> int:
    """The weights of a head that is not built yet, which may be more than memory holds."""
    check_pooling(head.pooling)
    layers = pooled_layers(head.pooling, head.layers, int(config.num_hidden_layers), "the encoder")
    inputs = int(config.hidden_size) * len(layers)
    if not head.hidden_layers:
        return inputs + 1 + head.surface
    between = (head.hidden_layers - 1) * (head.units + 1) * head.units
    return (inputs + 1) * head.units + between + head.units + 1 + head.surface


def head_of(plan: Plan) -> Head:
    """The head that a plan describes."""
    return Head(
        pooling=plan.pooling,
        layers=plan.layers,
        hidden_layers=plan.hidden_layers,
        units=plan.units,
        dropout=plan.dropout,
        surface=len(SURFACE) if plan.surface else 0,
    )


def chosen_precision(precision: str, device: torch.device) -> Precision:
    """The precision that is asked for; "auto" is bf16 on a GPU that has it."""
    if precision == "auto":
        return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    if precision not in {"fp32", "bf16"}:
        raise AdequaError(f"precision must be auto, fp32 or bf16, not {precision!r}.")
    return "bf16" if precision == "bf16" else "fp32"
