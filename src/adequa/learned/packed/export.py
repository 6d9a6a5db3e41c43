"""A trained pair network as one file of onnxruntime: as small whole numbers, or in 32 bits.

With whole numbers it is about a quarter as large and much faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from adequa.encoders.tokens import TokenRows
from adequa.errors import AdequaError
from adequa.learned.packed.bert import Bert, LinearHead, encoder_and_head
from adequa.runtime.pair_session import MAX_LENGTH

if TYPE_CHECKING:
    import onnx

    from adequa.learned.pair.network import PairNetwork

GraphPrecision: TypeAlias = Literal["int8", "fp32"]

_SCHEMES: Mapping[GraphPrecision, str] = {"int8": "static-int8-smooth", "fp32": "fp32"}


def exported(
    network: PairNetwork,
    rows: TokenRows,
    *,
    max_length: int,
    precision: GraphPrecision = "int8",
    notes: Mapping[str, str] | None = None,
) -> bytes:
    """The file of a network: its scores on the scale of ratings, without surface features.

    `rows` are some pairs, about 300, by which the levels of activations are chosen, and which
    should not be those that it is tested on; in fp32 there are no levels. `max_length` says how
    many tokens of a pair the model reads; further notes go into the file beside it.
    """
    bert, head = encoder_and_head(network)
    model = scorer_model(bert, head, rows, max_length=max_length, precision=precision, notes=notes)
    file: bytes = model.SerializeToString()
    return file


def scorer_model(
    bert: Bert,
    head: LinearHead,
    rows: TokenRows,
    *,
    max_length: int,
    precision: GraphPrecision = "int8",
    notes: Mapping[str, str] | None = None,
) -> onnx.ModelProto:
    """The model of an encoder and a head."""
    if not 1 <= max_length <= bert.positions:
        raise AdequaError(
            f"max_length must be between 1 and {bert.positions}, which is all that the encoder "
            f"reads, not {max_length}."
        )
    if precision == "int8" and not len(rows):
        raise AdequaError("An export needs texts to choose its levels by; give some pairs.")
    try:
        import onnx  # noqa: PLC0415  # an extra

        from adequa.learned.packed.calibration import (  # noqa: PLC0415  # needs onnx
            calibrated,
            observed,
        )
        from adequa.learned.packed.graph import scorer_graph  # noqa: PLC0415  # needs onnx
    except ImportError as error:
        raise AdequaError(
            f"An export needs the package {error.name}: pip install 'adequa[train]'."
        ) from error
    plain = scorer_graph(bert, head)
    model = plain.model
    if precision == "int8":
        model = scorer_graph(bert, head, calibrated(bert, observed(plain, rows))).model
    said = {MAX_LENGTH: str(max_length), "scheme": _SCHEMES[precision], **(notes or {})}
    onnx.helper.set_model_props(model, said)
    onnx.checker.check_model(model)
    return model
