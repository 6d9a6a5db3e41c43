"""A scorer of pairs from a folder with `model.onnx` and `tokenizer.json`, without PyTorch.

Pairs stream through: they are taken in chunks, so that memory stays the same however many there
are. Identical pairs are scored once, and pairs of similar length together. The same pairs give the
same bits in every run.

On a CPU every batch is read by one thread, and several batches at once: that is faster than threads
that share each product out among them and wait for one another, and no score depends on how many
threads there are. A batch holds rows of one length only: a row is then padded as it would be by
itself, and no score depends on its neighbours, to the last bit. It costs no time. On a GPU, which
wants large batches, lengths are mixed, and neighbours move the last bits of what a model says here
and there. That is why scores are rounded: hardly one in a hundred then depends on them, by the last
decimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adequa.errors import AdequaError
from adequa.runtime.batches import (
    Positions,
    batches_of_one_length,
    cheapest_batches,
    distinct,
)
from adequa.runtime.cpus import available_cpus
from adequa.runtime.onnx_model import Device, OnnxModel
from adequa.runtime.pair_scores import Pair, PairScores
from adequa.runtime.pair_tokens import PairReader, PairRows
from adequa.runtime.shared_work import shared_out
from adequa.runtime.windows import one_score

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
MAX_LENGTH = "max_length"  # the entry of a model's own notes that says how much it can read

_DECIMALS = 6  # of a score, on the scale of the model
_USUAL_LENGTH = 512  # tokens, where a model does not say
_CHUNK_PAIRS = 8192
_CHUNK_CHARACTERS = 4_000_000
# Tokens of a batch, padding included. On a CPU larger ones save no time: eight times as many took
# the same. Small ones are shared out evenly among threads, and take little memory.
_BATCH_TOKENS: dict[Device, int] = {"cpu": 1024, "cuda": 32768}
_EACH = 64  # tokens that a GPU could read in the time that it takes to begin a batch


@dataclass(frozen=True, slots=True, eq=False)
class PairSession:
    """An open scorer of pairs. Not for use after a fork."""

    folder: Path
    device: Device
    model: OnnxModel
    reader: PairReader
    batch_tokens: int
    callers: int  # threads that run the model at once

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        device: Device = "cpu",
        threads: int | None = None,
        max_length: int | None = None,
    ) -> PairSession:
        """The scorer of a folder.

        By default there are as many threads as CPUs, and pairs may be as long as the model says in
        its metadata (`max_length`, in tokens), or else 512. Where there are several, the tokenizer
        takes as many as it likes.
        """
        for name in (MODEL, TOKENIZER):
            if not (folder / name).is_file():
                raise AdequaError(f"{folder} holds no {name}, so it is no folder of a scorer.")
        threads = threads or available_cpus()
        # A GPU takes one batch after the other, and what it leaves to the CPU is for all threads.
        callers, within = (threads, 1) if device == "cpu" else (1, threads)
        model = OnnxModel.open(folder / MODEL, device, within)
        length = max_length if max_length is not None else _said_length(model)
        reader = PairReader.open(folder / TOKENIZER, length, several_threads=threads > 1)
        return cls(folder, device, model, reader, _BATCH_TOKENS[device], callers)

    def score(self, pairs: Iterable[Pair]) -> PairScores:
        """The scores of pairs, each as the model reads it."""
        return PairScores.joined(list(self.stream(pairs)))

    def stream(self, pairs: Iterable[Pair]) -> Iterator[PairScores]:
        """The scores of any number of pairs, in their order, a part at a time."""
        for chunk in _chunks(pairs):
            different, at = distinct(chunk)
            yield self._scored(different).at(at)

    def _scored(self, pairs: Sequence[Pair]) -> PairScores:
        """The scores of different pairs, from the model."""
        rows = self.reader.read(pairs)
        scores = np.empty(len(rows.pairs))
        batches = self._batches(rows)
        found = shared_out(lambda batch: self.model.run(rows.padded(batch)), batches, self.callers)
        for batch, of_batch in zip(batches, found, strict=True):
            scores[batch] = of_batch
        counts = np.bincount(rows.pairs, minlength=len(pairs)).astype(np.int32)
        first = np.cumsum(counts) - counts
        scored = PairScores(scores[first], counts)
        weights = rows.lengths - rows.special
        for pair in np.flatnonzero(counts > 1):
            part = slice(first[pair], first[pair] + counts[pair])
            scored.scores[pair] = one_score(scores[part], weights[part])
        scored.scores.round(_DECIMALS, out=scored.scores)
        return scored

    def _batches(self, rows: PairRows) -> list[Positions]:
        # Room for two rows at least: a row alone would be read twice.
        tokens = max(self.batch_tokens, 2 * self.reader.max_length)
        if self.device == "cpu":
            return batches_of_one_length(rows.padded_lengths, max_tokens=tokens)
        return cheapest_batches(rows.lengths, max_tokens=tokens, each=_EACH)


def _said_length(model: OnnxModel) -> int:
    """How many tokens a model says that it can read."""
    said = model.notes.get(MAX_LENGTH, str(_USUAL_LENGTH))
    if not said.isdecimal():
        raise AdequaError(f'{model.path} says "{said}" for its {MAX_LENGTH}, which is no number.')
    return int(said)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs a chunk at a time: so many, or so much text, whichever is reached first."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair[0]) + len(pair[1])
        if len(chunk) >= _CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
