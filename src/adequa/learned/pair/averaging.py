"""The mean of the weights of several pair regressors: one network, at the cost of one.

Wortsman et al. (2022), "Model soups": networks that were fine-tuned from one encoder are often so
close that the mean of their weights works, and scores about as well as the mean of their scores.
Where they are not close, it is useless: measure it.
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

    from adequa.learned.pair.network import PairModel


def average_metrics(metrics: Sequence[PairRegressor], name: str) -> PairRegressor:
    """A metric whose weights are the means of the weights of these metrics."""
    _check(metrics)
    last = metrics[-1]
    average = PairRegressor(plan=last.plan, name=name)
    average.encoder_, average.references_ = last.encoder, last.references
    average.model_ = copy.deepcopy(last.model_)
    average.model_.truncated = 0
    average.model_.max_length = min(metric.model_.max_length for metric in metrics)
    average.model_.network.load_state_dict(
        _mean_state([metric.model_.network.state_dict() for metric in metrics])
    )
    average.training_ = _training_facts(metrics)
    average.agreement_ = {"held_out": {}}
    return average


def _mean_state(states: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each tensor; integer tensors, which are no weights, are those of the last."""
    import torch  # noqa: PLC0415  # heavy

    return {
        key: torch.stack([state[key].to(last.device, torch.float64) for state in states])
        .mean(0)
        .to(last.dtype)
        if last.is_floating_point()
        else last
        for key, last in states[-1].items()
    }


def _check(metrics: Sequence[PairRegressor]) -> None:
    """Raise if the mean of the weights makes no sense."""
    if not metrics[1:]:
        raise AdequaError("A mean of weights needs at least two pair regressors.")
    digests = [metric.digest_ for metric in metrics]
    for index, metric in enumerate(metrics):
        if metric.digest_ and metric.digest_ in digests[:index]:
            raise AdequaError(f"{metric.name} is there twice: the same weights count once.")
    first, *others = metrics
    expected = dict(_properties(first))
    for other in others:
        for key, value in _properties(other):
            if value != expected[key]:
                raise AdequaError(
                    f"The weights of {first.name} and {other.name} have no mean: their {key} "
                    f"{_difference(expected[key], value)}."
                )


def _properties(metric: PairRegressor) -> Iterator[tuple[str, object]]:
    """The properties that all metrics must share."""
    model: PairModel = metric.model_
    yield "pretrained encoders", metric.encoder
    yield "heads", asdict(model.head)
    yield "weights", {key: tuple(v.shape) for key, v in model.network.state_dict().items()}
    yield "vocabularies", model.tokenizer.get_vocab()
    yield "treatments of capitals", model.lowercase
    yield "choices among several references", metric.references


def _difference(one: object, other: object) -> str:
    """How two values differ, if a few words can say it."""
    if isinstance(one, str | int) and isinstance(other, str | int):
        return f"are {one} and {other}"
    return "differ"


def _training_facts(metrics: Sequence[PairRegressor]) -> dict[str, Any]:
    """Facts for metric.json: those of every metric, and the largest counts of rows and pairs.

    The metrics may share training data, which should not count twice.
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
