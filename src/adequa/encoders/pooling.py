"""Pooling: from one vector a token to one vector a text.

`cls` takes the first token, `mean` the mean over tokens, `max` the largest number over tokens, and
`mean-sqrt-length` the sum over the square root of the number of tokens. They do so in the last
layer, or in each of several layers, whose vectors are then put one after the other: layers are
numbered from 1, and 0 is what goes into the first. `cls-last4` and `mean-last4` are short for the
last four; `cls-last4` is the setting of Shimanaka et al. (2019, §5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adequa.errors import AdequaError, nearest

if TYPE_CHECKING:
    from torch import Tensor

POOLINGS = ("cls", "mean", "max", "mean-sqrt-length", "cls-last4", "mean-last4")
_LAST = "-last4"
_FOUR = 4


def check_pooling(pooling: str) -> None:
    """Raise unless there is a pooling of this name."""
    if pooling not in POOLINGS:
        raise AdequaError(
            f'There is no pooling named "{pooling}".{nearest(pooling, POOLINGS)} There are '
            f"{', '.join(POOLINGS)}."
        )


def pooled_layers(pooling: str, written: str, count: int, where: str) -> tuple[int, ...]:
    """The layers that are pooled, of so many; `where` says in errors of which model.

    >>> pooled_layers("mean", "", 12, "a model"), pooled_layers("cls-last4", "", 12, "a model")
    ((12,), (9, 10, 11, 12))
    >>> pooled_layers("mean", "4+8+12", 12, "a model")
    (4, 8, 12)
    """
    if pooling.endswith(_LAST):
        if written:
            raise AdequaError(f"layers={written} does not go with pooling={pooling}; give one.")
        if count < _FOUR:
            raise AdequaError(
                f"{where} has {count} layers, too few for the pooling {pooling}; name another, "
                "such as pooling=cls."
            )
        return tuple(range(count - _FOUR + 1, count + 1))
    if not written:
        return (count,)
    numbers = tuple(int(part) if part.strip().isdecimal() else -1 for part in written.split("+"))
    if min(numbers) < 0 or max(numbers) > count or len(set(numbers)) < len(numbers):
        raise AdequaError(
            f"layers={written} names no layers of {where}; write numbers from 0 to {count}, each "
            "once, such as layers=1+2."
        )
    return numbers


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
