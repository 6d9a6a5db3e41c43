"""A saved pairwise ranker: its inputs, found again by name and checked, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adequa.encoders.registry import ENCODERS, load_encoder, moved
from adequa.errors import AdequaError
from adequa.learned.pairwise.inputs import (
    AnyInput,
    NamedInputs,
    VectorInput,
    encoder_input,
    named_inputs,
)
from adequa.learned.pairwise.network import PairwiseNetwork, PairwiseShape
from adequa.learned.pairwise.scaling import Scaling
from adequa.learned.saved import (
    SavedArrays,
    check_sizes,
    essential_signature,
    is_cached,
    may_help,
    restore,
    saved_array,
)
from adequa.metrics.settings import check_settings

_SCALINGS = ("scores", "vectors")


def input_facts(named: NamedInputs) -> list[dict[str, Any]]:
    """What metric.json keeps of each input: its name, what it is, and how many numbers it gives."""
    return [
        {"name": each.name, "identity": each.identity, "numbers": _numbers(each)}
        for each in named.inputs
    ]


def restored_inputs(
    facts: Sequence[Mapping[str, Any]], folder: Path, settings: Mapping[str, str]
) -> NamedInputs:
    """The inputs of a saved ranker; `input1` and so on say where one of them is now."""
    keys = [f"input{number}" for number in range(1, len(facts) + 1)]
    check_settings(folder, settings, [*keys, "cache"])
    cache = is_cached(folder, settings)
    return NamedInputs(
        tuple(
            _restored(fact, settings.get(key), cache, may_help(folder, key))
            for fact, key in zip(facts, keys, strict=True)
        )
    )


def _restored(fact: Mapping[str, Any], now: str | None, cache: bool, advice: str) -> AnyInput:
    name = str(fact["name"])
    found = restore(
        f"The input {name} that this ranker was trained with",
        lambda: _named(name, now, cache),
        is_moved=now is not None,
        advice=advice,
    )
    given_vectors = isinstance(found, VectorInput) and found.name.startswith("precomputed:")
    same = essential_signature(found.identity) == essential_signature(str(fact["identity"]))
    if _numbers(found) != fact["numbers"] or not (same or (given_vectors and now is not None)):
        raise AdequaError(
            f"{found.name} is not the input that this ranker was trained with, which was {name}."
        )
    return found


def _named(name: str, now: str | None, cache: bool) -> AnyInput:
    """An input by its name; an encoder or a folder may lie elsewhere now."""
    if now is not None and name.partition(":")[0] in ENCODERS:
        return encoder_input(load_encoder(moved(name, now)), cache=cache)
    (found,) = named_inputs([name if now is None else now], cache=cache).inputs
    return found


def _numbers(each: AnyInput) -> int:
    return each.encoder.dimension if isinstance(each, VectorInput) else each.count


def network_arrays(
    network: PairwiseNetwork, scalings: tuple[Scaling, Scaling]
) -> dict[str, np.ndarray]:
    """All that was learnt, as arrays to save."""
    arrays: dict[str, np.ndarray] = {"theta": network.theta}
    for name, scaling in zip(_SCALINGS, scalings, strict=True):
        arrays |= {f"{name}_centre": scaling.centre, f"{name}_reach": scaling.reach}
    return arrays


def saved_network(
    arrays: SavedArrays, named: NamedInputs, hidden: int, where: str
) -> tuple[PairwiseNetwork, tuple[Scaling, Scaling]]:
    """The network and the scalings, after a check that they fit the inputs."""
    counts = (
        sum(each.count for each in named.scores),
        sum(each.encoder.dimension for each in named.vectors),
    )
    scalings = tuple(
        _scaling(arrays, name, count, where) for name, count in zip(_SCALINGS, counts, strict=True)
    )
    shape = PairwiseShape(vector=counts[1], scores=counts[0], hidden=hidden)
    theta = saved_array(arrays, "theta", 1, where).astype(np.float64)
    check_sizes(where, theta=(theta.size, shape.size))
    return PairwiseNetwork(shape, theta), (scalings[0], scalings[1])


def _scaling(arrays: SavedArrays, name: str, count: int, where: str) -> Scaling:
    centre, reach = (
        saved_array(arrays, f"{name}_{part}", 1, where) for part in ("centre", "reach")
    )
    check_sizes(where, **{f"{name}_centre": (centre.size, count)})
    check_sizes(where, **{f"{name}_reach": (reach.size, count)})
    if (reach <= 0).any():
        raise AdequaError(f'{where}: the array "{name}_reach" is not above 0; save it again.')
    return Scaling(centre.astype(np.float64), reach.astype(np.float64))
