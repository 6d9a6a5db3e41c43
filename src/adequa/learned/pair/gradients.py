"""Gradients of a loss over many pairs, in the memory at hand.

The pairs of a step are split into micro-batches of similar length, so that there is little padding.
If all micro-batches together do not fit, gradient caching is used: they are scored one by one
without gradients, the loss gives its derivative by each score, and every micro-batch is scored
again with gradients. The result is that of one large batch, also for losses that compare scores; it
costs one more forward pass, and only the dropout masks differ.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from adequa.learned.device import to_device
from adequa.learned.pair.devices import explained_memory_errors
from adequa.learned.pair.network import PairInputs, PairNetwork
from adequa.learned.pair.objectives import Loss
from adequa.learned.training import seed_torch
from adequa.runtime.batching import cheapest_batches
from adequa.segments import IntArray

# Starting a micro-batch costs as much time as reading this many tokens: a constant on a CPU, and on
# a GPU inversely proportional to the size of the network (about 5,000 tokens for 85 million weights
# on an H200, where a step took 99 ms; 132 ms with half as many tokens and 137 ms with a quarter).
_START_COST_ON_CPU = 128
_START_COST_TIMES_WEIGHTS = 4e11


def accumulate_gradients(
    network: PairNetwork, inputs: PairInputs, pairs: IntArray, loss: Loss, seed: tuple[int, ...]
) -> Tensor:
    """Add the gradients of the loss of these pairs to `.grad`; return the loss.

    The seed decides the dropout masks.
    """
    batches = micro_batches(network, inputs, pairs)
    tokens = sum(inputs.padded_size(pairs[batch]) for batch in batches)
    if len(batches) > 1 and tokens > inputs.most_tokens:
        return _cached_gradients(network, inputs, pairs, batches, loss, seed=seed)
    seed_torch(*seed)
    # All micro-batches stay in memory until the backward pass.
    with explained_memory_errors(network.device, tokens):
        scores = torch.cat([inputs.scores(network, pairs[batch]) for batch in batches])
        order = np.argsort(np.concatenate(batches))
        value = loss(scores[to_device(order, network.device)])
        value.backward()  # type: ignore[no-untyped-call]
    return value.detach()


def micro_batches(network: PairNetwork, inputs: PairInputs, pairs: IntArray) -> list[IntArray]:
    """Split pairs into batches of similar length; returns indices in `pairs`."""
    start_cost = (
        _START_COST_ON_CPU
        if network.device.type == "cpu"
        else round(_START_COST_TIMES_WEIGHTS / network.inner_weights)
    )
    return cheapest_batches(
        inputs.lengths(pairs), max_tokens=inputs.most_tokens, overhead=start_cost
    )


def _cached_gradients(
    network: PairNetwork,
    inputs: PairInputs,
    pairs: IntArray,
    batches: list[IntArray],
    loss: Loss,
    *,
    seed: tuple[int, ...],
) -> Tensor:
    """Add the gradients of the loss to `.grad` in the memory of one micro-batch."""
    scores = torch.empty(len(pairs), device=network.device)
    with torch.no_grad():
        for number, batch in enumerate(batches):
            seed_torch(*seed, number)
            with explained_memory_errors(network.device, inputs.padded_size(pairs[batch])):
                scores[batch] = inputs.scores(network, pairs[batch])
    value = loss(scores.requires_grad_())
    value.backward()  # type: ignore[no-untyped-call]
    derivatives = scores.grad
    if derivatives is None:
        raise TypeError("a loss depends on the scores")
    for number, batch in enumerate(batches):
        seed_torch(*seed, number)  # the dropout mask of the first pass
        with explained_memory_errors(network.device, inputs.padded_size(pairs[batch])):
            again = inputs.scores(network, pairs[batch])
            (again * derivatives[batch]).sum().backward()  # type: ignore[no-untyped-call]
    return value.detach()
