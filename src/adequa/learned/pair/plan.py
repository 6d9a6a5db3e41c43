"""Training plans: everything that makes a pair regressor, in one TOML file.

A plan names an encoder to begin with, a head, and stages. Each stage has an objective, data, and
settings; where a setting is a list, all its values are tried, and development data choose.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import log10
from typing import Any, TypeVar, get_args, get_type_hints

from adequa.damage.registry import trained_kinds
from adequa.errors import AdequaError, nearest
from adequa.io.text import FilePath
from adequa.io.toml import read_toml

OBJECTIVES = ("ratings", "preferences", "distillation", "damage")
_CHOICES = {
    "objective": OBJECTIVES,
    "schedule": ("linear", "cosine", "constant"),
    "keep": ("best", "last"),
    "references": ("best", "mean"),
}
_MAY_BE_UNSAID = ("references",)
# The smallest and the largest value that makes sense; a larger one is a slip, and may take forever.
_LEAST = {"batch": 1, "units": 1, "most_tokens": 1, "rows": 1, "damages": 1}
_MOST: Mapping[str, float] = {
    "warmup": 1.0,
    "average": 1.0,
    "layer_decay": 1.0,
    "joined": 1.0,
    "learning_rate": 1.0,
    "weight_decay": 1.0,
    "head_rate": 10_000.0,
    "epochs": 10_000.0,
    "evaluations": 10_000,
    "hidden_layers": 100,
    "crossed": 100,
    "damages": 100,
    "margin": 100.0,
    "seed": 2**63 - 1,
}
_MOST_OF = {int: 10**9, float: float("inf")}  # of settings that are not among these
_ABOVE_ZERO = ("learning_rate", "epochs", "layer_decay", "clip", "weight")
_BELOW_ONE = ("dropout", "encoder_dropout", "share")
_READABLE = 25  # digits
# Settings of the head, and what they are where neither the plan nor a start says it.
HEAD: Mapping[str, Any] = {
    "pooling": "mean",
    "layers": "",
    "hidden_layers": 0,
    "units": 768,
    "dropout": 0.1,
    "surface": False,
}
UNSAID: Any = None


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What is learnt: an objective, its data, and how many items of it a step takes."""

    objective: str
    data: tuple[str, ...] = ()  # files or datasets; without any, what `fit` is given
    lp: tuple[str, ...] = ()  # only these language pairs
    sample: int = 0  # so many rows, drawn at random; 0 for all
    split: int = 4  # items that the preferences on a segment are dealt to; 0: each is its own
    teacher: tuple[str, ...] = ()  # metrics whose mean is distilled
    crossed: int = 0  # other outputs that each is also taught against, as if they were references
    joined: float = 0.0  # a share of all that is also taught two to four texts at a time
    damages: int = 1  # ways in which each text is damaged
    spared: tuple[str, ...] = ()  # groups of damage that are not done, such as "case"
    margin: float = 0.3  # that a text should be ahead of its damaged self, in spreads of ratings
    batch: tuple[int, ...] = (16,)
    pool: int = 0  # batches sorted by length together; 0: 8 for preferences, 1 for numbers
    weight: float = 1.0  # of its loss, beside that of others


@dataclass(frozen=True, slots=True)
class StagePlan(SourcePlan):
    """One stage: what is learnt, beside what else, and how."""

    epochs: tuple[float, ...] = (3.0,)
    learning_rate: tuple[float, ...] = (2e-5,)
    warmup: float = 0.1
    schedule: str = "linear"
    layer_decay: float = 1.0
    head_rate: float = 1.0
    weight_decay: float = 0.01
    clip: float = 1.0
    average: float = 0.0
    keep: str = "best"
    evaluations: int = 0
    beside: tuple[SourcePlan, ...] = ()


@dataclass(frozen=True, slots=True)
class DevelopmentPlan:
    """What the training is watched by: a share of all references, or data of its own.

    No stage learns from an output of a reference that is held out here.
    """

    share: float = 0.1
    data: tuple[str, ...] = ()  # ratings or preferences, in place of a share
    rows: int = 20_000  # of each kind at most


@dataclass(frozen=True, slots=True)
class Plan:
    """All that makes a metric, beside the data themselves.

    With a start, a setting of the head that nobody has said stays `UNSAID`: the start has it.

    >>> Plan(encoder="bert").units, Plan(start="my-metric").units, Plan(start="mine", units=9).units
    (768, None, 9)
    """

    encoder: str = ""  # a folder, or a model on the hub
    start: str = ""  # a saved pair regressor to go on from, in place of an encoder
    pooling: str = UNSAID
    layers: str = UNSAID
    hidden_layers: int = UNSAID
    units: int = UNSAID
    dropout: float = UNSAID
    surface: bool = UNSAID  # features of case, punctuation and spacing beside the encoder
    encoder_dropout: float = UNSAID  # inside the encoder, while it learns; unsaid: as it comes
    references: str = ""  # what counts of several; unsaid: as the start has it, else the best
    max_length: int = 0  # tokens of a pair; 0 for as many as the encoder takes, or the start read
    most_tokens: int = 32_768  # read at once, padding included: the less, the less memory
    seed: int = 0
    development: DevelopmentPlan = field(default_factory=DevelopmentPlan)
    stage: tuple[StagePlan, ...] = ()

    def __post_init__(self) -> None:
        for key, value in HEAD.items():
            if getattr(self, key) is UNSAID and not self.start:
                object.__setattr__(self, key, value)

    def checked(self, where: str) -> Plan:
        """The plan itself, or a sentence on what is wrong in it."""
        return plan_from(self.table(), where)

    def table(self) -> dict[str, Any]:
        """The plan as `plan_from` reads it, without what is unsaid."""
        return {key: value for key, value in asdict(self).items() if value is not UNSAID}


def read_plan(path: FilePath) -> Plan:
    """The plan in a TOML file."""
    return plan_from(read_table(path), str(path))


def read_table(path: FilePath) -> dict[str, Any]:
    """What a TOML file says, whether or not it is a plan."""
    return read_toml(path)


def plan_from(read: Mapping[str, Any], where: str) -> Plan:
    """The plan in a table as TOML has them; `where` says in errors where it stands."""
    plan = _built(Plan, read, where)
    _check_beginning(plan, where)
    _check_stages(plan, where)
    return plan


def _check_beginning(plan: Plan, where: str) -> None:
    if bool(plan.encoder) == bool(plan.start):
        raise AdequaError(
            f"{where}: a plan begins with an encoder, or with a saved metric (start); "
            f"it names {'both' if plan.encoder else 'neither'}."
        )
    if not plan.stage:
        raise AdequaError(f"{where} has no stage; add [[stage]] with an objective and data.")


def _check_stages(plan: Plan, where: str) -> None:
    several = any(_trials(stage) > 1 for stage in plan.stage)
    if several and not plan.development.share and not plan.development.data:
        raise AdequaError(
            f"{where} has several values for a setting, and no development data to choose by."
        )
    for source in (s for stage in plan.stage for s in (stage, *stage.beside)):
        if (source.objective == "distillation") != bool(source.teacher):
            raise AdequaError(
                f"{where}: a teacher goes with the objective distillation, and it with a teacher."
            )
        for key in ("crossed", "joined"):
            if getattr(source, key) and source.objective != "distillation":
                raise AdequaError(f"{where}: {key} goes with the objective distillation.")
        _check_damage(source, where)
    if any(len(source.batch) > 1 for stage in plan.stage for source in stage.beside):
        raise AdequaError(
            f"{where}: the batch of what is learnt beside should be one number; only what a "
            "stage itself learns can have several to choose from."
        )


def _check_damage(source: SourcePlan, where: str) -> None:
    """Raise where the settings of damage say nothing, or leave nothing."""
    plain = SourcePlan(source.objective)
    for key in ("damages", "spared", "margin"):
        if source.objective != "damage" and getattr(source, key) != getattr(plain, key):
            raise AdequaError(f"{where}: {key} goes with the objective damage.")
    try:
        trained_kinds(source.spared)
    except AdequaError as error:
        raise AdequaError(f"{where}: spared: {error}") from error


Built = TypeVar("Built")


def _built(kind: type[Built], table: object, where: str) -> Built:
    if not isinstance(table, Mapping):
        raise AdequaError(f"{where} should be a table of settings.")
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # all are dataclasses
    for key in table:
        if key not in known:
            raise AdequaError(
                f'{where} has no setting "{key}".{nearest(key, known)} There are '
                f"{', '.join(known)}."
            )
    if "objective" in known and "objective" not in table:
        raise AdequaError(f"{where} names no objective; there are {', '.join(OBJECTIVES)}.")
    hints = get_type_hints(kind)
    return kind(
        **{key: _value(hints[key], value, f"{where}: {key}", key) for key, value in table.items()}
    )


def _value(hint: Any, value: object, where: str, key: str) -> Any:
    """A value of the kind that a setting has; one alone may stand for a list of one."""
    if hint is DevelopmentPlan:
        return _built(DevelopmentPlan, value, where)
    parts = get_args(hint)
    if not parts:
        return _checked(hint, value, where, key)
    values = value if isinstance(value, list | tuple) else [value]
    if parts[0] in {SourcePlan, StagePlan}:
        return tuple(_built(parts[0], each, f"{where} {n}") for n, each in enumerate(values, 1))
    if not values and key in {"batch", "epochs", "learning_rate"}:
        raise AdequaError(f"{where} has no value.")
    return tuple(_checked(parts[0], each, where, key) for each in values)


_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def _checked(kind: type, value: object, where: str, key: str) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole if kind is int else isinstance(value, kind) or (kind is float and whole)):
        raise AdequaError(f"{where} should be {_WORDS[kind]}, not {value!r}.")
    if isinstance(value, str):
        choices = _CHOICES.get(key, (value,))
        if value not in choices and (value or key not in _MAY_BE_UNSAID):
            raise AdequaError(f"{where} should be one of {', '.join(choices)}, not {value!r}.")
    elif not isinstance(value, bool) and isinstance(value, int | float):
        _check_number(value, _MOST.get(key, _MOST_OF[kind]), where, key)
        return kind(value)
    return value


def _check_number(value: float, most: float, where: str, key: str) -> None:
    least = _LEAST.get(key, 0)
    # Whole numbers may be too large for a float, and so for isfinite.
    within = least <= value <= min(most, sys.float_info.max)
    if not within or (key in _BELOW_ONE and value >= 1):
        bounds = f"from {least}" + (f" to {_shown(most)}" if key in _MOST or value > most else "")
        raise AdequaError(
            f"{where} should be {'at least 0 and below 1' if key in _BELOW_ONE else bounds}, "
            f"not {_shown(value)}."
        )
    if key in _ABOVE_ZERO and not value > 0:
        raise AdequaError(f"{where} should be above 0, not {value:g}.")


def _shown(number: int | float) -> str:
    """A number as people read it, whatever it is.

    >>> _shown(0.5), _shown(32_768), _shown(10**9), _shown(-(10**400))
    ('0.5', '32,768', '1,000,000,000', 'a number of about 401 digits')
    """
    if isinstance(number, float):
        return f"{number:g}"
    digits = int(number.bit_length() * log10(2)) + 1
    return f"{number:,}" if digits < _READABLE else f"a number of about {digits} digits"


def _trials(stage: StagePlan) -> int:
    return len(stage.batch) * len(stage.learning_rate) * len(stage.epochs)


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
