"""Plans with a name: what a few flags of the command line stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adequa.errors import AdequaError
from adequa.learned.pair.plan import DevelopmentPlan, Plan, plan_from

# Preferences first: hundreds of thousands of them, one pass. An item of a batch is a part of what
# was said of a segment's outputs (`split` in a plan). There is nothing to choose on the way, so the
# last weights stay.
PREFERENCES: Mapping[str, Any] = {
    "objective": "preferences",
    "batch": [48],
    "learning_rate": [5e-5],
    "epochs": [1],
    "keep": "last",
}
RATINGS: Mapping[str, Any] = {
    "objective": "ratings",
    "batch": [16],
    "learning_rate": [2e-5],
    "epochs": [3],
    "average": 0.3,  # the mean of late weights is steadier than the last or the best of them
    "keep": "last",
}
# Shimanaka, Kajiwara and Komachi (2019, §4.1): the vector of the first token, a linear layer, and
# a grid that is chosen from on a tenth of the ratings.
_PAPER_NETWORK: Mapping[str, Any] = {"pooling": "cls", "hidden_layers": 0, "dropout": 0.1}
_PAPER_RATINGS: Mapping[str, Any] = {
    "objective": "ratings",
    "batch": [16, 32],
    "learning_rate": [5e-5, 3e-5, 2e-5],
    "epochs": [3, 4],
}
_NAMED: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "default": ({}, RATINGS),
    "paper": (_PAPER_NETWORK, _PAPER_RATINGS),
}
NAMES = tuple(_NAMED)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a user says beside the name of a plan; what is empty stays as the plan has it."""

    ratings: Sequence[str] = ()  # files or datasets
    preferences: Sequence[str] = ()
    encoder: str = ""
    start: str = ""
    surface: bool = False
    references: str = ""
    lp: Sequence[str] = ()
    sample: int = 0  # rows a stage; 0 for all
    batch: Sequence[int] = ()  # of the ratings, or of the only stage; several are all tried
    learning_rate: Sequence[float] = ()
    epochs: Sequence[float] = ()
    seed: int = 0


def named_plan(name: str, wishes: Wishes) -> Plan:
    """The plan of a name for a user's data: preferences first, if there are any, then ratings.

    >>> plan = named_plan("paper", Wishes(ratings=["mine.tsv"], encoder="bert", epochs=[2]))
    >>> plan.pooling, plan.stage[0].batch, plan.stage[0].epochs
    ('cls', (16, 32), (2.0,))
    """
    network, ratings = _NAMED[name]
    stages = [
        {**settings, "data": list(data), "lp": list(wishes.lp), "sample": wishes.sample}
        for settings, data in ((PREFERENCES, wishes.preferences), (ratings, wishes.ratings))
        if data
    ]
    if not stages:
        raise AdequaError("Name what to learn from: --ratings or --preferences, or a --plan.")
    if not wishes.encoder and not wishes.start:
        raise AdequaError("Name what to begin with: --encoder PATH, or --start FOLDER.")
    for key in ("batch", "learning_rate", "epochs"):
        if getattr(wishes, key):
            stages[-1][key] = list(getattr(wishes, key))
    table: dict[str, Any] = {
        **network,
        "encoder": wishes.encoder,
        "start": wishes.start,
        "seed": wishes.seed,
        "stage": stages,
        **({"surface": True} if wishes.surface else {}),
        **({"references": wishes.references} if wishes.references else {}),
    }
    if wishes.sample:
        # Looking at what is held out should not take longer than learning from the sample.
        table["development"] = {"rows": min(wishes.sample, DevelopmentPlan().rows)}
    return plan_from(table, "The command line")
