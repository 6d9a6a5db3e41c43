"""The mean of the weights of several pair regressors: one network, that costs no more than one.

Wortsman et al. (2022), "Model soups": networks that were fine-tuned from one encoder often lie so
near each other that the mean of their weights is a network too, which scores about as the mean of
their scores does. Where they do not, it is worth nothing: measure it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from adequa.errors import AdequaError
from adequa.learned.pair.metric import PairRegressor

if TYPE_CHECKING:
    import torch

    from adequa.learned.pair.model import PairModel


def averaged(metrics: Sequence[PairRegressor], name: str) -> PairRegressor:
    """One metric, of which each weight is the mean of that weight in all of these."""
    _check(metrics)
    last = metrics[-1]
    made = PairRegressor(plan=last.plan, name=name)
    made.encoder_, made.references_ = last.encoder, last.references
    made.model_ = copy.deepcopy(last.model_)
    made.model_.cut = 0
    made.model_.max_length = min(metric.model_.max_length for metric in metrics)  # known to all
    made.model_.network.load_state_dict(_means([m.model_.network.state_dict() for m in metrics]))
    made.training_ = _training(metrics)
    made.agreement_ = {"held_out": {}}
    return made


def _means(states: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each array; of whole numbers, which are no weights, the last."""
    import torch  # noqa: PLC0415  # heavy

    return {
        key: torch.stack([state[key].to(kept.device, torch.float64) for state in states])
        .mean(0)
        .to(kept.dtype)
        if kept.is_floating_point()
        else kept
        for key, kept in states[-1].items()
    }


def _check(metrics: Sequence[PairRegressor]) -> None:
    """Raise where a mean of weights can mean nothing."""
    if not metrics[1:]:
        raise AdequaError("A mean of weights needs at least two pair regressors.")
    digests = [metric.digest_ for metric in metrics]
    for at, metric in enumerate(metrics):
        if metric.digest_ and metric.digest_ in digests[:at]:
            raise AdequaError(f"{metric.name} is there twice: the same weights count once.")
    first, *others = metrics
    kept = dict(_described(first))
    for other in others:
        for key, value in _described(other):
            if value != kept[key]:
                raise AdequaError(
                    f"The weights of {first.name} and {other.name} have no mean: their {key} "
                    f"{_differ(kept[key], value)}."
                )


def _described(metric: PairRegressor) -> Iterator[tuple[str, object]]:
    """What must be the same in all."""
    model: PairModel = metric.model_
    yield "pretrained encoders", metric.encoder
    yield "heads", asdict(model.head)
    yield "weights", {key: tuple(v.shape) for key, v in model.network.state_dict().items()}
    yield "vocabularies", model.tokenizer.get_vocab()
    yield "treatments of capitals", model.lowercase
    yield "choices among several references", metric.references


def _differ(one: object, other: object) -> str:
    """How two things differ, where it can be said in a few words."""
    if isinstance(one, str | int) and isinstance(other, str | int):
        return f"are {one} and {other}"
    return "differ"


def _training(metrics: Sequence[PairRegressor]) -> dict[str, Any]:
    """Nothing more was learnt; what each of them learnt is told of all, and counts of the largest.

    They may have learnt from the same data, which should not count twice.
    """
    facts = [metric.training_ for metric in metrics]
    return {
        "data": " + ".join(
            dict.fromkeys(name for each in facts for name in each["data"].split(" + "))
        ),
        "rows": max(each["rows"] for each in facts),
        "stages": [],
        "averaged": [
            {
                "name": metric.name,
                "digest": metric.digest_,
                "plan": metric.plan.table(),
                "training": dict(metric.training_),
            }
            for metric in metrics
        ],
        "pairs": max(each["pairs"] for each in facts),
        "history": [],
    }
