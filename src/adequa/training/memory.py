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


def check_training_memory(network: nn.Module, device: torch.device, copies: int) -> None:
    """Raise where the weights alone, with what training keeps of them, cannot fit.

    `copies` are those of all weights: the best so far, their mean, and the like.
    """
    weights = sum(p.numel() for p in network.parameters())
    a_weight = 4 * (_NUMBERS_A_WEIGHT + copies)
    there = _memory(device)
    if weights * a_weight <= there:
        return
    raise AdequaError(
        f"Training {weights / 1e6:,.0f} million weights takes {weights * a_weight / _GIBIBYTE:.1f} "
        f"GiB and more, and {device} has {there / _GIBIBYTE:.1f} GiB; an encoder of up to "
        f"{there / a_weight / 1e6:,.0f} million weights would fit."
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
