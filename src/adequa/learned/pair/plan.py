"""Training plans: every setting of a pair regressor, in one TOML file.

A plan names an encoder to start from, a head, and stages. Each stage has an objective, data and
settings. Where batch, learning rate or epochs are lists, every combination is tried and development
data choose the best. The dataclasses below only store; `plan_from` checks types and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from adequa.damage.registry import SYMBOLS, trained_kinds
from adequa.errors import AdequaError, nearest
from adequa.io.text import FilePath, read_toml
from adequa.learned.pair.views import REFERENCE_ONLY, View

try:
    from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
except ImportError as error:
    raise AdequaError(
        "Training plans need pydantic; install it with: pip install 'adequa[train]'"
    ) from error

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ObjectiveName: TypeAlias = Literal["ratings", "preferences", "distillation", "damage"]
Schedule: TypeAlias = Literal["linear", "cosine", "constant"]
Transform: TypeAlias = Literal["none", "log-penalty"]
Keep: TypeAlias = Literal["best", "last"]  # as in the training loop, which needs PyTorch

# A larger number is a typing error, and may never finish.
_LARGEST = 10**9

Text: TypeAlias = Annotated[str, Field(strict=True)]
Switch: TypeAlias = Annotated[bool, Field(strict=True)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=_LARGEST)]
PositiveCount: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=_LARGEST)]
SmallCount: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100)]
Seed: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
Fraction: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Probability: TypeAlias = Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)]
Rate: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Epochs: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=10_000.0, allow_inf_nan=False)]
Positive: TypeAlias = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]

# A single value may stand for a list of one.
_AS_LIST = BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value])
_NOT_EMPTY = Field(min_length=1)
Texts: TypeAlias = Annotated[tuple[Text, ...], _AS_LIST]
Scaling: TypeAlias = Literal[False, True, "pair"]

# Default settings of a new head. A plan with a start leaves them unset: the start has a head.
HEAD_DEFAULTS: Mapping[str, Any] = {
    "pooling": "mean",
    "layers": "",
    "hidden_layers": 0,
    "units": 768,
    "dropout": 0.1,
    "surface": False,
}
UNSET: Any = None


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """One thing to learn from: an objective, its data, and its items per step."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    objective: ObjectiveName
    data: Texts = ()  # files or datasets; if empty, the judgements passed to `fit`
    lp: Texts = ()  # language pairs to use; all if empty
    sample: Count = 0  # rows to draw at random; 0 for all
    transform: Transform = "none"  # of ratings before they are learnt
    # Whether each dataset of ratings has an output scale of its own; "pair": each of its language
    # pairs.
    own_scale: Scaling = False
    # Variance of one judgement, in units of that of what the metric cannot explain.
    noise: Annotated[float, Field(strict=True, ge=0, le=1000, allow_inf_nan=False)] = 0.0
    split: Count = 4  # items per segment's preferences; 0: each preference is an item
    teacher: Texts = ()  # metrics whose mean score is distilled
    crossed: SmallCount = 0  # other outputs of the segment used as extra references to distil
    joined: Fraction = 0.0  # fraction of texts also distilled two to four at a time
    damages: Annotated[int, Field(strict=True, ge=1, le=100)] = 1  # damaged copies of each text
    spared: Texts = ()  # groups of damage to leave out, such as "case"
    symbols: Fraction = 0.0  # fraction of texts that get emoji, and damage to these alone
    # Difference to a damaged copy that is enough, in standard deviations of the ratings.
    margin: Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)] = 0.3
    batch: Annotated[tuple[PositiveCount, ...], _AS_LIST, _NOT_EMPTY] = (16,)
    pool: Count = 0  # batches sorted by length together; 0: 8 for preferences, 1 for numbers
    weight: Positive = 1.0  # of its loss beside others


@dataclass(frozen=True, slots=True)
class StagePlan(SourcePlan):
    """One stage of training: what is learnt, with which settings, beside which other sources."""

    epochs: Annotated[tuple[Epochs, ...], _AS_LIST, _NOT_EMPTY] = (3.0,)
    learning_rate: Annotated[tuple[Rate, ...], _AS_LIST, _NOT_EMPTY] = (2e-5,)
    warmup: Fraction = 0.1  # fraction of the steps
    schedule: Schedule = "linear"
    layer_decay: Rate = 1.0
    head_rate: Annotated[float, Field(strict=True, ge=0, le=10_000.0, allow_inf_nan=False)] = 1.0
    weight_decay: Fraction = 0.01
    clip: Positive = 1.0  # the largest norm of gradients
    average: Fraction = 0.0  # fraction of last steps whose weights are averaged
    keep: Keep = "best"
    evaluations: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 0  # 0: one per epoch
    beside: Annotated[tuple[SourcePlan, ...], _AS_LIST] = ()

    def trials(self) -> list[dict[str, Any]]:
        """Every combination of batch, learning rate and epochs."""
        return [
            {"batch": batch, "learning_rate": rate, "epochs": epochs}
            for batch, rate, epochs in product(self.batch, self.learning_rate, self.epochs)
        ]


@dataclass(frozen=True, slots=True)
class DevelopmentPlan:
    """Development data: a fraction of all references, or data of their own.

    No stage learns from an output of a held-out reference.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    share: Probability = 0.1
    data: Texts = ()  # ratings or preferences, instead of a fraction
    rows: PositiveCount = 20_000  # the most of each kind


@dataclass(frozen=True, slots=True)
class Plan:
    """All settings of a training run.

    In a plan with a start, settings of the head and inputs that are not given stay `UNSET`.

    >>> Plan(encoder="bert").units, Plan(start="my-metric").units, Plan(start="mine", units=9).units
    (768, None, 9)
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    encoder: Text = ""  # a folder, or a model on the hub
    start: Text = ""  # a saved pair regressor to continue from, instead of an encoder
    keep_layers: Text = ""  # layers of the encoder to keep, such as 4+8+12; empty for all
    keep_units: Count = 0  # hidden units to keep in every feed-forward layer; 0 for all
    vocabulary: Count = 0  # pieces to keep, the most frequent in the training texts; 0 for all
    # Texts beside the hypothesis: one for all rows, or one at random of those that a row allows.
    inputs: Annotated[tuple[View, ...], _AS_LIST, _NOT_EMPTY] = UNSET
    pooling: Text = UNSET
    layers: Text = UNSET
    hidden_layers: SmallCount = UNSET
    units: Annotated[int, Field(strict=True, ge=1, le=16_384)] = UNSET
    dropout: Probability = UNSET
    surface: Switch = UNSET  # features of case, spacing, emoji and others beside the encoder
    encoder_dropout: Probability = UNSET  # inside the encoder; unset: as in its configuration
    references: Literal["", "best", "mean"] = ""  # empty: as in the start, or else the best
    max_length: Count = 0  # tokens per pair; 0: as in the start, or else the encoder's limit
    most_tokens: PositiveCount = 32_768  # read at once, padding included; fewer need less memory
    seed: Seed = 0
    development: DevelopmentPlan = field(default_factory=DevelopmentPlan)
    stage: Annotated[tuple[StagePlan, ...], _AS_LIST] = ()

    def __post_init__(self) -> None:
        for key, value in {**HEAD_DEFAULTS, "inputs": REFERENCE_ONLY}.items():
            if getattr(self, key) is UNSET and not self.start:
                object.__setattr__(self, key, value)

    @classmethod
    def load(cls, path: FilePath) -> Plan:
        """Read a plan from a TOML file."""
        return plan_from(read_toml(path), str(path))

    def validated(self, origin: str) -> Plan:
        """Return the plan if it is valid; `origin` names it in errors."""
        return plan_from(self.table(), origin)

    def table(self) -> dict[str, Any]:
        """The plan as a table that `plan_from` reads, without unset values."""
        return {key: value for key, value in asdict(self).items() if value is not UNSET}


def plan_from(table: Mapping[str, Any], origin: str) -> Plan:
    """Build a valid plan from a table as in TOML; `origin` names it in errors."""
    try:
        plan = _adapter().validate_python(table)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        # A misspelt key explains a missing one.
        first = min(details, key=lambda detail: detail["type"] != "unexpected_keyword_argument")
        raise AdequaError(_sentence(first, origin)) from error
    _check_start(plan, origin)
    _check_layers(plan, origin)
    check_surface(plan.inputs or (), bool(plan.surface), origin)
    if plan.inputs:  # else those of the start, which is not loaded yet
        check_crossed(plan.inputs, plan, origin)
    _check_stages(plan, origin)
    return plan


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def _check_start(plan: Plan, origin: str) -> None:
    if bool(plan.encoder) == bool(plan.start):
        raise AdequaError(
            f"{origin}: a plan begins with an encoder, or with a saved metric (start); "
            f"it names {'both' if plan.encoder else 'neither'}."
        )
    if not plan.stage:
        raise AdequaError(f"{origin} has no stage; add [[stage]] with an objective and data.")


def _check_layers(plan: Plan, origin: str) -> None:
    parts = plan.keep_layers.split("+") if plan.keep_layers else ["1"]
    layers = [int(part) if part.isdecimal() else 0 for part in parts]
    if layers[0] < 1 or layers != sorted({*layers}):
        raise AdequaError(
            f'{origin}: keep_layers should be increasing numbers from 1, such as "4+8+12", not '
            f'"{plan.keep_layers}".'
        )


def check_surface(inputs: Sequence[View], surface: bool, origin: str) -> None:
    """Raise if surface features, which compare with a reference, would lack one."""
    if surface and "source" in inputs:
        raise AdequaError(
            f"{origin}: surface features compare a hypothesis with its reference, and with inputs "
            '"source" there is none; leave out one of the two.'
        )


def check_crossed(inputs: Sequence[View], plan: Plan, origin: str) -> None:
    """Raise if outputs against each other, which have no source, could not be read."""
    sources = (source for stage in plan.stage for source in (stage, *stage.beside))
    if "reference" not in inputs and any(source.crossed for source in sources):
        raise AdequaError(
            f"{origin}: crossed takes other outputs as references and leaves out sources, which "
            'needs inputs with "reference"; add it, or leave out crossed.'
        )


def _check_stages(plan: Plan, origin: str) -> None:
    must_choose = any(len(stage.trials()) > 1 for stage in plan.stage)
    if must_choose and not plan.development.share and not plan.development.data:
        raise AdequaError(
            f"{origin} has several values for a setting, and no development data to choose by."
        )
    for source in (s for stage in plan.stage for s in (stage, *stage.beside)):
        if (source.objective == "distillation") != bool(source.teacher):
            raise AdequaError(
                f"{origin}: a teacher goes with the objective distillation, and it with a teacher."
            )
        _check_only(source, ("crossed", "joined"), "distillation", origin)
        _check_only(source, ("transform", "own_scale", "noise"), "ratings", origin)
        _check_damage(source, origin)
    if any(len(source.batch) > 1 for stage in plan.stage for source in stage.beside):
        raise AdequaError(
            f"{origin}: the batch of what is learnt beside should be one number; only what a "
            "stage itself learns can have several to choose from."
        )


def _check_only(
    source: SourcePlan, keys: Sequence[str], objective: ObjectiveName, origin: str
) -> None:
    """Raise if a source of another objective has settings that only this one uses."""
    defaults = SourcePlan(source.objective)
    for key in keys:
        if source.objective != objective and getattr(source, key) != getattr(defaults, key):
            raise AdequaError(f"{origin}: {key} goes with the objective {objective}.")


def _check_damage(source: SourcePlan, origin: str) -> None:
    """Raise if settings of damage have no effect, or leave no damage to do."""
    _check_only(source, ("damages", "spared", "symbols", "margin"), "damage", origin)
    try:
        trained_kinds(source.spared)
    except AdequaError as error:
        raise AdequaError(f"{origin}: spared: {error}") from error
    if source.symbols and SYMBOLS in source.spared:
        raise AdequaError(
            f'{origin}: symbols gives texts emoji to damage, and spared leaves out "{SYMBOLS}"; '
            "leave out one of the two."
        )


# Errors of pydantic as sentences that name the file and the key.

_TABLES: Mapping[str, type[Any]] = {
    "stage": StagePlan,
    "beside": SourcePlan,
    "development": DevelopmentPlan,
}


def _sentence(detail: ErrorDetails, origin: str) -> str:
    """One error of pydantic as a sentence."""
    path = detail["loc"]
    table, setting = _location(path[:-1], origin), _location(path, origin)
    keys = [key for key in path if isinstance(key, str)]
    match detail["type"]:
        case "unexpected_keyword_argument":
            valid = [f.name for f in fields(_TABLES.get(keys[-2], Plan) if keys[1:] else Plan)]
            hint = nearest(keys[-1], valid)
            return f'{table} has no setting "{keys[-1]}".{hint} There are {", ".join(valid)}.'
        case "missing":
            return f"{table} names no objective; there are {', '.join(get_args(ObjectiveName))}."
        case "dataclass_type":
            return f"{setting} should be a table of settings."
        case "too_short":
            return f"{setting} has no value."
        case _:
            expected = detail["msg"].removeprefix("Input ")
            return f"{setting} {expected}, not {detail['input']!r}."


def _location(path: Sequence[str | int], origin: str) -> str:
    """The table or setting of an error.

    >>> _location(("stage", 0, "batch", 1), "plan.toml")
    'plan.toml: stage 1: batch'
    """
    words = origin
    previous: str | int = ""
    for key in path:
        if isinstance(key, str):
            words += f": {key}"
        elif previous in _TABLES:
            words += f" {key + 1}"
        previous = key
    return words


# Named plans: what a few flags of the command line stand for.

# Hundreds of thousands of preferences first, in one epoch. An item of a batch is a part of the
# preferences on a segment (`split`). The last weights are kept: there is nothing to choose.
_PREFERENCES: Mapping[str, Any] = {
    "objective": "preferences",
    "batch": [48],
    "learning_rate": [5e-5],
    "epochs": [1],
    "keep": "last",
}
_RATINGS: Mapping[str, Any] = {
    "objective": "ratings",
    "batch": [16],
    "learning_rate": [2e-5],
    "epochs": [3],
    "average": 0.3,  # the mean of late weights is steadier than the last or the best of them
    "keep": "last",
}
# Shimanaka, Kajiwara and Komachi (2019, §4.1): the vector of the first token, a linear layer, and
# the paper's grid. Two things differ. The paper chooses on a random tenth of the ratings; here a
# tenth of the references is held out, with all their outputs. Of the optimiser the paper says only
# Adam; here it is that of every stage: AdamW with weight decay .01, warmup over a tenth of the
# steps, linear decay to 0, gradients clipped to norm 1, and the best epoch of each run kept.
_PAPER_NETWORK: Mapping[str, Any] = {"pooling": "cls", "hidden_layers": 0, "dropout": 0.1}
_PAPER_RATINGS: Mapping[str, Any] = {
    "objective": "ratings",
    "batch": [16, 32],
    "learning_rate": [5e-5, 3e-5, 2e-5],
    "epochs": [3, 4],
}
_NETWORK_AND_RATINGS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "default": ({}, _RATINGS),
    "paper": (_PAPER_NETWORK, _PAPER_RATINGS),
}


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options beside the name of a plan; the plan decides those that are empty."""

    ratings: Sequence[str] = ()  # files or datasets
    preferences: Sequence[str] = ()
    encoder: str = ""
    start: str = ""
    surface: bool = False
    references: str = ""
    lp: Sequence[str] = ()
    sample: int = 0  # rows per stage; 0 for all
    batch: Sequence[int] = ()  # of the ratings, or of the only stage; all values are tried
    learning_rate: Sequence[float] = ()
    epochs: Sequence[float] = ()
    seed: int = 0


def preset_plan(name: str, options: PlanOptions) -> Plan:
    """The plan of this name for a user's data: preferences first, if there are any, then ratings.

    >>> plan = preset_plan("paper", PlanOptions(ratings=["mine.tsv"], encoder="bert", epochs=[2]))
    >>> plan.pooling, plan.stage[0].batch, plan.stage[0].epochs
    ('cls', (16, 32), (2.0,))
    """
    network, ratings = _NETWORK_AND_RATINGS[name]
    stages = [
        {**settings, "data": list(data), "lp": list(options.lp), "sample": options.sample}
        for settings, data in ((_PREFERENCES, options.preferences), (ratings, options.ratings))
        if data
    ]
    if not stages:
        raise AdequaError("Name what to learn from: --ratings or --preferences, or a --plan.")
    if not options.encoder and not options.start:
        raise AdequaError("Name what to begin with: --encoder PATH, or --start FOLDER.")
    for key in ("batch", "learning_rate", "epochs"):
        if getattr(options, key):
            stages[-1][key] = list(getattr(options, key))
    table: dict[str, Any] = {
        **network,
        "encoder": options.encoder,
        "start": options.start,
        "seed": options.seed,
        "stage": stages,
        **({"surface": True} if options.surface else {}),
        **({"references": options.references} if options.references else {}),
    }
    if options.sample:
        # Evaluating on development data should not take longer than learning from the sample.
        table["development"] = {"rows": min(options.sample, DevelopmentPlan().rows)}
    return plan_from(table, "The command line")
