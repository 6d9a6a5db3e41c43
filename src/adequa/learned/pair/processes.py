"""One process, or several that train together, each on its own device.

Every process draws the same steps and takes its share of each; gradients are added up. Several are
started by `accelerate launch` or `torchrun`, and only the first writes files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adequa.errors import AdequaError
from adequa.learned.device import training_device
from adequa.segments import IntArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Processes:
    """Which of how many processes this is, and its device."""

    device: torch.device
    number: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and tells."""
        return self.number == 0

    def share(self, items: IntArray) -> IntArray:
        """This process's items of a step."""
        return items[self.number :: self.count]

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor the sum over all processes."""
        if self.count > 1:
            import torch.distributed  # noqa: PLC0415  # an extra, and heavy

            for tensor in tensors:
                torch.distributed.all_reduce(tensor)

    def follow_first(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor that of the first process, to the last bit."""
        if self.count > 1:
            import torch.distributed  # noqa: PLC0415  # an extra, and heavy

            for tensor in tensors:
                torch.distributed.broadcast(tensor.detach(), 0)


def processes(device: str) -> Processes:
    """Those that were started together; alone unless a launcher says otherwise."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1:
        return Processes(training_device(device))
    try:
        from accelerate import PartialState  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "Training with several processes needs accelerate; install it with: "
            "pip install 'adequa[train]'"
        ) from error
    # Without this, processes on a machine that has no GPU would each train alone.
    state = PartialState(cpu=training_device(device).type == "cpu")
    return Processes(state.device, state.process_index, state.num_processes)
