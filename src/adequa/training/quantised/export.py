"""A trained pair network as one file of onnxruntime, about a quarter as large and much faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adequa.encoders.tokens import TokenRows
from adequa.errors import AdequaError
from adequa.runtime.pair_session import MAX_LENGTH
from adequa.training.quantised.bert import Bert, LinearHead, encoder_and_head

if TYPE_CHECKING:
    import onnx

    from adequa.training.pair_network import PairNetwork


def exported(
    network: PairNetwork,
    rows: TokenRows,
    *,
    max_length: int,
    notes: Mapping[str, str] | None = None,
) -> bytes:
    """The file of a network: its scores on the scale of ratings, without surface features.

    `rows` are some pairs, about 300, by which the levels of activations are chosen, and which
    should not be those that it is tested on. `max_length` says how many tokens of a pair the model
    reads; further notes go into the file beside it.
    """
    bert, head = encoder_and_head(network)
    model = quantised_model(bert, head, rows, max_length=max_length, notes=notes)
    file: bytes = model.SerializeToString()
    return file


def quantised_model(
    bert: Bert,
    head: LinearHead,
    rows: TokenRows,
    *,
    max_length: int,
    notes: Mapping[str, str] | None = None,
) -> onnx.ModelProto:
    """The model of an encoder and a head, with products of whole numbers."""
    if not 1 <= max_length <= bert.positions:
        raise AdequaError(
            f"max_length must be between 1 and {bert.positions}, which is all that the encoder "
            f"reads, not {max_length}."
        )
    if not len(rows):
        raise AdequaError("An export needs texts to choose its levels by; give some pairs.")
    try:
        import onnx  # noqa: PLC0415  # an extra

        from adequa.training.quantised.calibration import (  # noqa: PLC0415  # needs onnx
            calibrated,
            observed,
        )
        from adequa.training.quantised.graph import scorer_graph  # noqa: PLC0415  # needs onnx
    except ImportError as error:
        raise AdequaError(
            f"An export needs the package {error.name}: pip install 'adequa[train]'."
        ) from error
    sites = calibrated(bert, observed(scorer_graph(bert, head), rows))
    model = scorer_graph(bert, head, sites).model
    said = {MAX_LENGTH: str(max_length), "scheme": "static-int8-smooth", **(notes or {})}
    onnx.helper.set_model_props(model, said)
    onnx.checker.check_model(model)
    return model
