"""Arrays to a device without waiting for what it is doing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def to_device(array: np.ndarray[Any, np.dtype[Any]], device: torch.device) -> Tensor:
    """An array as a tensor on a device; on a GPU the copy goes on while this returns."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
