"""Scores of pairs and the gradients of their loss, in as much memory as there is.

The pairs of a step are drawn at random and read in parts of similar length, so that little of what
is read is padding. Where all parts together do not fit, they are scored one after the other without
gradients, the loss says how it changes with each score, and every part is then scored again with
gradients. That needs one more reading and gives what all at once would, with losses that compare
scores too; only dropout draws otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adequa.encoders.tokens import TokenRows
from adequa.errors import AdequaError
from adequa.learned.device import to_device
from adequa.learned.pair.network import PairNetwork, Precision
from adequa.learned.pair.objectives import Loss
from adequa.learned.training import seed_torch
from adequa.runtime.batching import batches_by_length, cheapest_batches
from adequa.segments import FloatArray, IntArray

# To begin a part takes about the time in which so many tokens more would be read: on a CPU of any
# network, on a GPU the more the smaller it is (some 5,000 of one of 85 million weights on an H200,
# where a step took 99 ms so, 132 ms with half as many tokens and 137 ms with a quarter).
_READING_ON_CPU = 128
_WEIGHTS_TIMES_TOKENS = 4e11


@dataclass(frozen=True, slots=True, eq=False)
class PairInputs:
    """All pairs that a training reads, and how they are read."""

    rows: TokenRows
    surface: npt.NDArray[np.float32] | None = None  # features beside the texts, one row a pair
    precision: Precision = "fp32"
    most_tokens: int = 32_768  # read at once, padding included

    def scores(self, network: PairNetwork, pairs: IntArray) -> Tensor:
        """The scores of these pairs, on the scale that is trained on."""
        device = network.device
        inputs = {name: to_device(table, device) for name, table in self.rows.padded(pairs).items()}
        beside = None if self.surface is None else to_device(self.surface[pairs], device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            return network(inputs, beside)  # type: ignore[no-any-return]

    def tokens(self, pairs: IntArray) -> int:
        """Tokens of these pairs, padded to the longest."""
        return len(pairs) * int(self.lengths(pairs).max())

    def parts(self, pairs: IntArray, network: PairNetwork) -> list[IntArray]:
        """Positions in `pairs` that are read at once: those of similar length."""
        on_cpu = network.device.type == "cpu"
        each = _READING_ON_CPU if on_cpu else round(_WEIGHTS_TIMES_TOKENS / network.inner_weights)
        return cheapest_batches(self.lengths(pairs), max_tokens=self.most_tokens, overhead=each)

    def lengths(self, pairs: IntArray) -> IntArray:
        """Tokens of each of these pairs."""
        return self.rows.starts[pairs + 1] - self.rows.starts[pairs]


def accumulate(
    network: PairNetwork, inputs: PairInputs, pairs: IntArray, loss: Loss, seed: tuple[int, ...]
) -> Tensor:
    """Add the gradients of the loss to those of the weights; returns the loss."""
    parts = inputs.parts(pairs, network)
    tokens = sum(inputs.tokens(pairs[part]) for part in parts)
    if len(parts) > 1 and tokens > inputs.most_tokens:
        return _read_twice(network, inputs, pairs, parts, loss, seed=seed)
    seed_torch(*seed)
    with memory_watched(network.device, tokens):  # all parts are held until the gradients are there
        read = torch.cat([inputs.scores(network, pairs[part]) for part in parts])
        value = loss(read[to_device(np.argsort(np.concatenate(parts)), network.device)])
        value.backward()  # type: ignore[no-untyped-call]
    return value.detach()


def _read_twice(
    network: PairNetwork,
    inputs: PairInputs,
    pairs: IntArray,
    parts: list[IntArray],
    loss: Loss,
    *,
    seed: tuple[int, ...],
) -> Tensor:
    """The same in the memory of one part."""
    scores = torch.empty(len(pairs), device=network.device)
    with torch.no_grad():
        for number, part in enumerate(parts):
            seed_torch(*seed, number)
            with memory_watched(network.device, inputs.tokens(pairs[part])):
                scores[part] = inputs.scores(network, pairs[part])
    value = loss(scores.requires_grad_())
    value.backward()  # type: ignore[no-untyped-call]
    change = scores.grad
    if change is None:
        raise TypeError("a loss depends on the scores")
    for number, part in enumerate(parts):
        seed_torch(*seed, number)  # what was dropped out before is dropped out again
        with memory_watched(network.device, inputs.tokens(pairs[part])):
            again = inputs.scores(network, pairs[part])
            (again * change[part]).sum().backward()  # type: ignore[no-untyped-call]
    return value.detach()


def predict(
    network: PairNetwork, inputs: PairInputs, pairs: IntArray, *, dropout: bool = False
) -> FloatArray:
    """The scores of pairs without gradients, on the scale that is trained on."""
    if not len(pairs):
        return np.empty(0)
    batches = batches_by_length(
        inputs.lengths(pairs), max_tokens=inputs.most_tokens, max_count=len(pairs)
    )
    was_training = network.training
    network.train(dropout)
    if dropout:
        seed_torch(0)  # the same units are dropped out, whoever asks
    try:
        with torch.no_grad(), many_shapes():
            found = torch.cat([inputs.scores(network, pairs[batch]) for batch in batches])
    finally:
        network.train(was_training)
    scores = np.empty(len(pairs))
    scores[np.concatenate(batches)] = found.double().cpu().numpy()
    return scores


@contextmanager
def many_shapes() -> Iterator[None]:
    """Attention that is quick for batches of ever new shapes.

    cuDNN's plans each shape anew, which took ten times as long as the work (PyTorch 2.11, H200).
    """
    before = bool(torch.backends.cuda.cudnn_sdp_enabled())  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


@contextmanager
def memory_watched(device: torch.device, tokens: int = 0) -> Iterator[None]:
    """A sentence where a device has too little memory, for so many tokens at once if any."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        there = f"the {torch.cuda.mem_get_info(device)[1] / 2**30:.0f} GiB of {device}"
        if tokens:
            raise AdequaError(
                f"{tokens:,} tokens at once do not fit into {there}; set most_tokens to "
                f"{max(tokens // 2, 1):,} or less, for less memory and more time."
            ) from error
        raise AdequaError(
            f"The weights, and what training keeps of them, do not fit into {there} beside what "
            "else is there; free some of it, or train a smaller encoder."
        ) from error
