"""Round-trip translation: sentences translated to another language and back.

Human judgements cover few sentences, and a metric that learns from a teacher learns little about
other sentences. A round trip makes translations of any sentence: good ones by greedy decoding,
worse ones by sampling, the worse the higher the temperature. A teacher then scores them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from adequa.errors import AdequaError
from adequa.runtime.batching import batches_by_length
from adequa.segments import Segments

if TYPE_CHECKING:
    import torch

_CHUNK_SIZE = 8192  # sentences per round trip, which bounds memory
_TOP_K = 50  # tokens to sample from: below them there is only noise, at any temperature
# The longest translation, in tokens: _LENGTH_RATIO times the source plus _EXTRA_TOKENS.
_LENGTH_RATIO, _EXTRA_TOKENS = 1.5, 10
# Tokens per batch, padding included. A GPU decodes a batch of thousands of sentences as fast as
# one sentence.
_CPU_TOKENS, _GPU_TOKENS = 8_192, 65_536


class Translator(Protocol):
    """Translates texts from one language to another."""

    def translate(
        self,
        texts: Sequence[str],
        temperatures: Sequence[float] = ...,
        *,
        seed: int = ...,
        done: Callable[[int], None] = ...,
    ) -> list[list[str]]:
        """One list of translations per temperature; 0 decodes greedily, others sample."""


def check_temperatures(temperatures: Sequence[float]) -> None:
    """Raise if there are no temperatures, or one is outside 0 to 10."""
    wrong = [value for value in temperatures if not 0 <= value <= 10]  # noqa: PLR2004 - noise
    if wrong or not temperatures:
        value = f"{wrong[0]:g}" if wrong else "none"
        raise AdequaError(f"A temperature is from 0, the most likely words, to 10, not {value}.")


def round_trips(
    sentences: Sequence[str],
    forward: Translator,
    backward: Translator,
    temperatures: Sequence[float],
    *,
    seed: int = 0,
    done: Callable[[int], None] = lambda _: None,
) -> Iterator[Segments]:
    """Back-translations of each sentence, one per temperature, with the sentence as reference.

    The forward direction decodes greedily. Empty and repeated translations are dropped.
    """
    check_temperatures(temperatures)
    for start in range(0, len(sentences), _CHUNK_SIZE):
        chunk = sentences[start : start + _CHUNK_SIZE]
        (foreign,) = forward.translate(chunk, done=done)
        translations = backward.translate(foreign, temperatures, seed=seed + start, done=done)
        pairs = dict.fromkeys(
            (text.strip(), sentence)
            for sentence, *texts in zip(chunk, *translations, strict=True)
            for text in texts
            if text.strip()
        )
        yield Segments(
            hypotheses=tuple(text for text, _ in pairs),
            references=tuple((sentence,) for _, sentence in pairs),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TransformerTranslator:
    """A Hugging Face translation model with its tokenizer."""

    network: Any
    tokenizer: Any
    max_tokens: int = _CPU_TOKENS  # per batch

    @classmethod
    def load(
        cls, folder: Path, device: torch.device, max_tokens: int | None = None
    ) -> TransformerTranslator:
        """Load the model of a folder; on a GPU in bfloat16, which is precise enough."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        from adequa.encoders.transformer_files import load_translation_model  # noqa: PLC0415

        network, tokenizer = load_translation_model(folder)
        if device.type == "cpu":
            return cls(network, tokenizer, max_tokens or _CPU_TOKENS)
        return cls(network.to(device, torch.bfloat16), tokenizer, max_tokens or _GPU_TOKENS)

    def translate(
        self,
        texts: Sequence[str],
        temperatures: Sequence[float] = (0.0,),
        *,
        seed: int = 0,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[list[str]]:
        """One list of translations per temperature; `done` gets the size of each batch."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        from adequa.learned.pair.devices import without_cudnn_attention  # noqa: PLC0415
        from adequa.learned.training import isolated_randomness  # noqa: PLC0415

        translations = [[""] * len(texts) for _ in temperatures]
        if not texts:
            return translations
        ids = self.tokenizer(list(texts), truncation=True, max_length=self._max_length)["input_ids"]
        lengths = list(map(len, ids))
        batches = batches_by_length(lengths, max_tokens=self.max_tokens, max_count=len(texts))
        with (
            torch.inference_mode(),
            isolated_randomness(self.network.device),
            without_cudnn_attention(),
        ):
            torch.manual_seed(seed)
            for batch in map(np.ndarray.tolist, batches):
                for column, temperature in zip(translations, temperatures, strict=True):
                    decoded = self._decode([ids[row] for row in batch], temperature)
                    for row, text in zip(batch, decoded, strict=True):
                        column[row] = text
                    done(len(batch))
        return translations

    @property
    def _max_length(self) -> int:
        return int(self.network.config.max_position_embeddings)

    def _decode(self, ids: list[list[int]], temperature: float) -> list[str]:
        """Translations of one batch of token ids."""
        from adequa.learned.pair.devices import explained_memory_errors  # noqa: PLC0415  # needs PyTorch

        padded = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt")
        inputs = padded.to(self.network.device)
        longest = inputs["input_ids"].shape[1]
        sampling = {"do_sample": True, "temperature": temperature, "top_k": _TOP_K, "top_p": 1.0}
        with explained_memory_errors(self.network.device, inputs["input_ids"].numel()):
            outputs = self.network.generate(
                **inputs,
                num_beams=1,
                max_length=min(round(_LENGTH_RATIO * longest) + _EXTRA_TOKENS, self._max_length),
                **(sampling if temperature else {"do_sample": False}),
            )
        texts: list[str] = self.tokenizer.batch_decode(outputs, skip_special_tokens=True)
        return texts
