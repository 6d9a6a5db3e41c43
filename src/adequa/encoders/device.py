"""The device that a network runs on, and arrays copied to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.errors import AdequaError

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def torch_device(name: str) -> torch.device:
    """Return the device of that name; "auto" or none is a GPU where there is one, else the CPU."""
    try:
        import torch  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "This needs PyTorch; install it with: pip install 'adequa[train]'"
        ) from error
    if name in {"", "auto"}:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise AdequaError(f'There is no device "{name}"; use "auto", "cpu" or "cuda".') from error


def to_device(array: np.ndarray[Any, np.dtype[Any]], device: torch.device) -> Tensor:
    """Return an array as a tensor on the device, without waiting for what the device is doing."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
