"""The levels of activations, chosen by what texts show: for every site those of least error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from adequa.encoders.tokens import TokenRows
from adequa.learned.packed import levels
from adequa.learned.packed.bert import Bert, Floats
from adequa.learned.packed.graph import Written
from adequa.learned.packed.levels import Site
from adequa.runtime.onnx_model import TYPES, imported_onnxruntime

_EXPONENTS = (0.65, 0.8, 0.9)  # of smoothing, that are tried
_SHARES = (1.0, 0.85, 0.7)  # of the range that was seen, that are tried
_TOKENS = 4  # of every pair, by which levels are judged


@dataclass(slots=True, eq=False)
class Seen:
    """What texts showed at one site."""

    low: Floats  # a channel, over all tokens
    high: Floats
    tokens: list[Floats]  # some of them (tokens × channels)

    def add(self, x: Floats, some: np.ndarray) -> None:
        """Take account of the tokens of one more pair, and keep some of them."""
        self.low = np.minimum(self.low, x.min(axis=0))
        self.high = np.maximum(self.high, x.max(axis=0))
        self.tokens.append(x[some])


def observed(written: Written, rows: TokenRows) -> dict[str, Seen]:
    """What a graph in fp32 has at its sites, pair by pair."""
    model = onnx.ModelProto()
    model.CopyFrom(written.model)
    names = list(written.tensors.values())
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    session = imported_onnxruntime().InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    random, seen = np.random.default_rng(0), dict[str, Seen]()
    for row in range(len(rows)):
        inputs = rows.padded(np.array([row]))
        inputs.setdefault(TYPES, np.zeros_like(inputs["input_ids"]))
        fed = {name: values.astype(np.int32) for name, values in inputs.items()}
        some = random.integers(fed[TYPES].size, size=_TOKENS)
        for site, found in zip(written.tensors, session.run(names, fed), strict=True):
            x = found[0]
            seen.setdefault(site, Seen(x[0], x[0], [])).add(x, some)
    return seen


def calibrated(bert: Bert, seen: Mapping[str, Seen]) -> dict[str, Site]:
    """For every site the range and the smoothing of least error."""
    return {name: best_site(seen[name], weights) for name, weights in bert.sites()}


def best_site(seen: Seen, weights: Floats) -> Site:
    """The levels with which the product with weights (inputs × outputs) errs least."""
    tokens = np.concatenate(seen.tokens)
    truth = tokens @ weights
    none = np.zeros(weights.shape[1], np.float32)

    def error(site: Site) -> float:
        whole, scale, bias = site.product(weights, none)
        found = site.rounded(tokens) @ (whole * scale) + bias
        return float(np.square(found - truth).sum())

    return min(_candidates(seen, weights, tokens), key=error)


def _candidates(seen: Seen, weights: Floats, tokens: Floats) -> Iterator[Site]:
    """Levels of every smoothing and range that are tried."""
    for exponent in _EXPONENTS:
        smooth = levels.smoothing(seen.low, seen.high, weights, exponent)
        low, high = float((seen.low / smooth).min()), float((seen.high / smooth).max())
        for share in _SHARES:
            # What GELU gives is hardly below zero: only its upper end is worth cutting.
            bottom = low * share if low < -0.2 * high else low
            yield Site.between(bottom, high * share, smooth, tokens)
