"""Pooling: from one vector a token to one vector a text.

`cls` takes the first token, `mean` the mean over tokens, `max` the largest number over tokens, and
`mean-sqrt-length` the sum over the square root of the number of tokens. `cls-last4` and
`mean-last4` do so in each of the last four layers and put the four vectors one after the other,
the last layer last; `cls-last4` is the setting of Shimanaka et al. (2019, §5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adequa.errors import AdequaError, nearest

if TYPE_CHECKING:
    from torch import Tensor

POOLINGS = ("cls", "mean", "max", "mean-sqrt-length", "cls-last4", "mean-last4")
_LAST = "-last4"


def check_pooling(pooling: str) -> None:
    """Raise unless there is a pooling of this name."""
    if pooling not in POOLINGS:
        raise AdequaError(
            f'There is no pooling named "{pooling}".{nearest(pooling, POOLINGS)} There are '
            f"{', '.join(POOLINGS)}."
        )


def layers_pooled(pooling: str) -> int:
    """How many of the last layers a pooling takes.

    >>> layers_pooled("mean"), layers_pooled("cls-last4")
    (1, 4)
    """
    return 4 if pooling.endswith(_LAST) else 1


def pooled(pooling: str, layers: Sequence[Tensor], mask: Tensor) -> Tensor:
    """One vector a text from layers of shape (texts, tokens, numbers).

    The mask is 1 for tokens and 0 for padding, which stands behind them.
    """
    from torch import cat  # noqa: PLC0415  # an extra, and heavy

    kind = pooling.removesuffix(_LAST)
    return cat([_pooled_layer(kind, layer, mask[:, :, None]) for layer in layers], dim=1)


def _pooled_layer(kind: str, layer: Tensor, mask: Tensor) -> Tensor:
    if kind == "cls":
        return layer[:, 0]
    if kind == "max":
        return layer.masked_fill(mask == 0, float("-inf")).amax(dim=1)
    total = (layer * mask).sum(dim=1)
    count = mask.sum(dim=1).to(layer.dtype)
    return total / (count if kind == "mean" else count.sqrt())
