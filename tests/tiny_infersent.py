"""A tiny InferSent: random weights of an LSTM, saved as the published encoder is."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch

from recurrent_oracles import Array, random_arrays

WORD_SIZE, SIZE = 5, 4


def lstm_arrays(seed: int = 1, size: int = SIZE) -> dict[str, Array]:
    shapes: dict[str, tuple[int, ...]] = {}
    for ending in ("", "_reverse"):
        shapes[f"enc_lstm.weight_ih_l0{ending}"] = (4 * size, WORD_SIZE)
        shapes[f"enc_lstm.weight_hh_l0{ending}"] = (4 * size, size)
        shapes[f"enc_lstm.bias_ih_l0{ending}"] = (4 * size,)
        shapes[f"enc_lstm.bias_hh_l0{ending}"] = (4 * size,)
    return random_arrays(seed, shapes)


def save(path: Path, arrays: dict[str, Array], **settings: Any) -> Path:
    torch.save(OrderedDict((k, torch.from_numpy(v)) for k, v in arrays.items()), path, **settings)
    return path


ARRAYS = lstm_arrays()
