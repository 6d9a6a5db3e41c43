"""Recurrent encoders once more, from the papers' equations: plain NumPy, a sentence at a time.

Vectors are columns and each gate has its own matrix here, unlike in the package, and all is
computed in double precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sigma(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm_states(words: Sequence[Array], state: Mapping[str, Array], ending: str) -> list[Array]:
    """h_1, ..., h_T of an LSTM (Hochreiter & Schmidhuber 1997, with a forget gate)."""
    by_word = np.split(np.float64(state[f"enc_lstm.weight_ih_l0{ending}"]), 4)
    by_state = np.split(np.float64(state[f"enc_lstm.weight_hh_l0{ending}"]), 4)
    biases = np.float64(state[f"enc_lstm.bias_ih_l0{ending}"])
    biases = np.split(biases + np.float64(state[f"enc_lstm.bias_hh_l0{ending}"]), 4)
    h = c = np.zeros(len(biases[0]))
    states = []
    for x in words:
        i, f, g, o = (w @ x + u @ h + b for w, u, b in zip(by_word, by_state, biases, strict=True))
        c = sigma(f) * c + sigma(i) * np.tanh(g)
        h = sigma(o) * np.tanh(c)
        states.append(h)
    return states


def infersent(words: Sequence[Array], state: Mapping[str, Array]) -> Array:
    """The states of both directions of each word (§3.2.2), before pooling."""
    forwards = lstm_states(words, state, "")
    backwards = lstm_states(words[::-1], state, "_reverse")[::-1]
    return np.array([np.concatenate(pair) for pair in zip(forwards, backwards, strict=True)])


def theano_gru(words: Sequence[Array], weights: Mapping[str, Array], prefix: str) -> Array:
    """The last state of the GRU that Skip-Thought was trained with."""
    size = len(weights[f"{prefix}_bx"])
    w_r, w_z = weights[f"{prefix}_W"][:, :size].T, weights[f"{prefix}_W"][:, size:].T
    u_r, u_z = weights[f"{prefix}_U"][:, :size].T, weights[f"{prefix}_U"][:, size:].T
    b_r, b_z = weights[f"{prefix}_b"][:size], weights[f"{prefix}_b"][size:]
    w, u, b = weights[f"{prefix}_Wx"].T, weights[f"{prefix}_Ux"].T, weights[f"{prefix}_bx"]
    h = np.zeros(size)
    for x in words:
        r = sigma(w_r @ x + u_r @ h + b_r)
        z = sigma(w_z @ x + u_z @ h + b_z)
        candidate = np.tanh(w @ x + r * (u @ h) + b)
        h = z * h + (1 - z) * candidate
    return h


def tensorflow_gru(words: Sequence[Array], weights: Mapping[str, Array], unit: str) -> Array:
    """The last state of TensorFlow's GRU cell (Cho et al. 2014), which Quick-Thought uses."""
    size = len(weights[f"{unit}.candidate.bias"])
    gates, bias = weights[f"{unit}.gates.kernel"].T, weights[f"{unit}.gates.bias"]
    h = np.zeros(size)
    for x in words:
        both = np.concatenate([x, h])
        r = sigma(gates[:size] @ both + bias[:size])
        u = sigma(gates[size:] @ both + bias[size:])
        reset = np.concatenate([x, r * h])
        candidate = weights[f"{unit}.candidate.kernel"].T @ reset
        h = u * h + (1 - u) * np.tanh(candidate + weights[f"{unit}.candidate.bias"])
    return h


def unit(vector: Array) -> Array:
    return np.asarray(vector / np.sqrt((vector**2).sum()))


def random_arrays(seed: int, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Arrays of small numbers, which keep gates off their limits."""
    random = np.random.default_rng(seed)
    return {
        name: random.normal(scale=0.7, size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_glove(path: Path, vectors: Mapping[str, Array]) -> Path:
    """Word vectors as a text file without a header."""
    lines = (" ".join([word, *map(repr, map(float, row))]) for word, row in vectors.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
