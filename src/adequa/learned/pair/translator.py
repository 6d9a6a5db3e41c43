"""A translation model at work, on batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adequa.encoders.transformer_files import load_translation_model
from adequa.learned.pair.gradients import many_shapes, memory_watched
from adequa.learned.training import isolated_randomness
from adequa.runtime.batches import batches_by_length

# Words are drawn among so many: far below them there is only noise, at any temperature.
_DRAWN_AMONG = 50
_LONGER, _MORE = 1.5, 10  # a translation has at most so many times the tokens, and so many more
# Read at once, padding included: a GPU takes as long for a word of one sentence as for thousands.
_ON_CPU, _ON_GPU = 8_192, 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Translator:
    """A network that translates from one language to another, and its tokenizer."""

    network: Any
    tokenizer: Any
    most_tokens: int = _ON_CPU

    @classmethod
    def load(cls, folder: Path, device: torch.device, most_tokens: int | None = None) -> Translator:
        """The model of a folder; on a GPU in 16 bits, which are enough to translate."""
        network, tokenizer = load_translation_model(folder)
        if device.type == "cpu":
            return cls(network, tokenizer, most_tokens or _ON_CPU)
        return cls(network.to(device, torch.bfloat16), tokenizer, most_tokens or _ON_GPU)

    def translate(
        self,
        texts: Sequence[str],
        temperatures: Sequence[float] = (0.0,),
        *,
        seed: int = 0,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[list[str]]:
        """One translation of each text for each temperature, as `round_trips` wants them."""
        found = [[""] * len(texts) for _ in temperatures]
        if not texts:
            return found
        ids = self.tokenizer(list(texts), truncation=True, max_length=self._longest)["input_ids"]
        lengths = list(map(len, ids))
        batches = batches_by_length(lengths, max_tokens=self.most_tokens, max_count=len(texts))
        with torch.inference_mode(), isolated_randomness(self.network.device), many_shapes():
            torch.manual_seed(seed)
            for batch in map(np.ndarray.tolist, batches):
                for texts_made, temperature in zip(found, temperatures, strict=True):
                    made = self._translated([ids[row] for row in batch], temperature)
                    for row, text in zip(batch, made, strict=True):
                        texts_made[row] = text
                    done(len(batch))
        return found

    @property
    def _longest(self) -> int:
        return int(self.network.config.max_position_embeddings)

    def _translated(self, ids: list[list[int]], temperature: float) -> list[str]:
        padded = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt")
        inputs = padded.to(self.network.device)
        longest = inputs["input_ids"].shape[1]
        draws = {"do_sample": True, "temperature": temperature, "top_k": _DRAWN_AMONG, "top_p": 1.0}
        with memory_watched(self.network.device, inputs["input_ids"].numel()):
            made = self.network.generate(
                **inputs,
                num_beams=1,
                max_length=min(round(_LONGER * longest) + _MORE, self._longest),
                **(draws if temperature else {"do_sample": False}),
            )
        texts: list[str] = self.tokenizer.batch_decode(made, skip_special_tokens=True)
        return texts
