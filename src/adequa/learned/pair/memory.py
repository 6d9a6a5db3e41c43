"""Whether a training can fit into memory, before hours of it are spent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from adequa.errors import AdequaError

if TYPE_CHECKING:
    import torch
    from torch import nn

_GIBIBYTE = 1 << 30
# A weight, its gradient and Adam's two moments, in 32 bits each.
_NUMBERS_A_WEIGHT = 4


def check_training_memory(
    network: nn.Module, device: torch.device, copies: int, further: int = 0
) -> None:
    """Raise where the weights alone, with what training keeps of them, cannot fit.

    `copies` are those of all weights: the best so far, their mean, and the like. `further` weights
    are yet to come, such as those of a head.
    """
    weights = sum(p.numel() for p in network.parameters()) + further
    a_weight = 4 * (_NUMBERS_A_WEIGHT + copies)
    there = _memory(device)
    if weights * a_weight <= there:
        return
    fitting = max(there // a_weight - further, 0)
    advice = (
        f"an encoder of up to {fitting / 1e6:,.0f} million weights would fit"
        if further < weights / 2
        else f"{further / 1e6:,.0f} million are of the head, which may have fewer units and layers"
    )
    raise AdequaError(
        f"Training {weights / 1e6:,.0f} million weights takes {weights * a_weight / _GIBIBYTE:.1f} "
        f"GiB and more, and {device} has {there / _GIBIBYTE:.1f} GiB; {advice}."
    )


def _memory(device: torch.device) -> int:
    """Bytes in all, whoever has them now."""
    if device.type == "cuda":
        import torch  # noqa: PLC0415  # an extra, and heavy

        return int(torch.cuda.mem_get_info(device)[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62  # a machine that does not say
