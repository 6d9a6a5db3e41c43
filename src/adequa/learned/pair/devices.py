"""Devices of a pair regressor: precision, memory, and several processes that train together.

With several processes, every process draws the same batches and computes its part of each;
gradients are summed over processes. They are started by `accelerate launch` or `torchrun`, and only
the first writes files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from adequa.encoders.device import torch_device
from adequa.errors import AdequaError
from adequa.segments import IntArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

Precision: TypeAlias = Literal["fp32", "bf16"]

_GIBIBYTE = 1 << 30
# Numbers of 32 bits per weight while training: the weight, its gradient, Adam's two moments, and
# three copies of all weights (initial, best, averaged).
_NUMBERS_PER_WEIGHT = 4 + 3


@dataclass(frozen=True, slots=True)
class Processes:
    """The device of this process, its index, and the number of processes."""

    device: torch.device
    index: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and reports."""
        return self.index == 0

    def shard(self, items: IntArray) -> IntArray:
        """The items of a batch that this process computes."""
        return items[self.index :: self.count]

    def all_reduce(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.count > 1:
            import torch.distributed  # noqa: PLC0415  # an extra, and heavy

            for tensor in tensors:
                torch.distributed.all_reduce(tensor)

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor by that of the first process."""
        if self.count > 1:
            import torch.distributed  # noqa: PLC0415  # an extra, and heavy

            for tensor in tensors:
                torch.distributed.broadcast(tensor.detach(), 0)


def launched_processes(device: str) -> Processes:
    """The processes that a launcher started together, or this process alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1:
        return Processes(torch_device(device))
    try:
        from accelerate import PartialState  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "Training with several processes needs accelerate; install it with: "
            "pip install 'adequa[train]'"
        ) from error
    # Without `cpu`, processes on a machine without a GPU would each train alone.
    state = PartialState(cpu=torch_device(device).type == "cpu")
    return Processes(state.device, state.process_index, state.num_processes)


def select_precision(precision: str, device: torch.device) -> Precision:
    """Return the precision; "auto" is bf16 on a GPU that supports it, and fp32 elsewhere."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    if precision == "auto":
        return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    if precision not in {"fp32", "bf16"}:
        raise AdequaError(f"precision must be auto, fp32 or bf16, not {precision!r}.")
    return "bf16" if precision == "bf16" else "fp32"


def check_training_memory(network: nn.Module, device: torch.device) -> None:
    """Raise if the weights and the training state of the weights cannot fit into memory."""
    weights = sum(p.numel() for p in network.parameters())
    bytes_per_weight = 4 * _NUMBERS_PER_WEIGHT
    available = _total_memory(device)
    if weights * bytes_per_weight > available:
        raise AdequaError(
            f"Training {weights / 1e6:,.0f} million weights takes "
            f"{weights * bytes_per_weight / _GIBIBYTE:.1f} GiB and more, and {device} has "
            f"{available / _GIBIBYTE:.1f} GiB; an encoder of up to "
            f"{available / bytes_per_weight / 1e6:,.0f} million weights would fit."
        )


def _total_memory(device: torch.device) -> int:
    """Bytes of memory of a device, whether in use or free."""
    if device.type == "cuda":
        import torch  # noqa: PLC0415  # an extra, and heavy

        return int(torch.cuda.mem_get_info(device)[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62  # unknown, as on Windows


@contextmanager
def explained_memory_errors(device: torch.device, tokens: int = 0) -> Iterator[None]:
    """Turn out-of-memory errors of a GPU into sentences; `tokens` are those of a batch, if any."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        memory = f"the {torch.cuda.mem_get_info(device)[1] / _GIBIBYTE:.0f} GiB of {device}"
        if tokens:
            raise AdequaError(
                f"{tokens:,} tokens at once do not fit into {memory}; set most_tokens to "
                f"{max(tokens // 2, 1):,} or less, for less memory and more time."
            ) from error
        raise AdequaError(
            f"The weights, and what training keeps of them, do not fit into {memory} beside what "
            "else is there; free some of it, or train a smaller encoder."
        ) from error


@contextmanager
def without_cudnn_attention() -> Iterator[None]:
    """Disable cuDNN's attention, which is slow for batches of many shapes.

    It plans each new shape, which took ten times as long as the work (PyTorch 2.11, H200).
    """
    import torch  # noqa: PLC0415  # an extra, and heavy

    before = bool(torch.backends.cuda.cudnn_sdp_enabled())  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
