"""What a pair regressor came from: the tables of its training, and its model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adequa.learned.cards import (
    EVALUATE_YOURSELF,
    as_markdown,
    model_card,
    score_command,
    shell,
    table,
)
from adequa.learned.pair.views import VIEWS
from adequa.learned.results import OTHER_DATA, TrainingResult, score_verb
from adequa.metrics.saved import DIGITS
from adequa.tables import Cell, Column, Table
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.plan import StagePlan

_FIGURES = {
    f"{key}{suffix}": Column(
        f"{key}{suffix}", "number", decimals=3, heading=f"{heading}{suffix.replace('_', ', ')}"
    )
    # In the richest view of each pair, and in every view, if the metric has several.
    for suffix in ("", *(f"_{view}" for view in VIEWS))
    for key, heading in (("pearson", "Pearson"), ("accuracy", "ordered rightly"))
}
_ALWAYS = ("pearson", "accuracy")
_LOSS = Column("loss", "number", decimals=4)

# The result of a training


def pair_result(metric: PairRegressor, folder: str | Path) -> TrainingResult:
    """The result of a training, or of an average of weights."""
    facts = metric.training_
    readable = (_parts(metric),) if "averaged" in facts else tuple(_training_tables(metric))
    return TrainingResult(
        name=metric.name,
        kind=metric.kind,
        readable=readable,
        figures=_history(facts["history"]),
        facts={"training": dict(facts), "agreement": dict(metric.agreement_)},
        folder=str(folder),
        verb=score_verb(metric),
    )


def _parts(metric: PairRegressor) -> Table:
    """The metrics whose weights were averaged."""
    parts = metric.training_["averaged"]
    return Table(
        (Column("part", "integer"), Column("name"), Column("trained on")),
        [(n, part["name"], part["training"]["data"]) for n, part in enumerate(parts, 1)],
        title=f"{metric.name}: the mean of the weights of {len(parts)} metrics",
        notes=("Measure it before you use it: only networks near each other have a useful mean.",),
    )


def _training_tables(metric: PairRegressor) -> Iterator[Table]:
    """The data of each stage, and the figures on the way."""
    facts, plan = metric.training_, metric.plan
    origin = Path(plan.encoder or plan.start).name or metric.encoder
    validation = _validation_counts(metric)
    notes = [] if validation else ["No validation data: the weights of the last step are used."]
    if facts["chosen"]:
        notes.insert(0, f"Chosen on validation data: {_in_words(facts['chosen'])}.")
    columns = (
        Column("stage", align="right"),
        Column("learns"),
        Column("from"),
        Column("rows", "integer"),
    )
    title = f"{metric.name}: {origin}, fine-tuned on {facts['trained_on']}, {facts['precision']}"
    yield Table(columns, list(_stage_rows(facts)), title, tuple(notes))
    if validation:
        yield _selected_steps(metric, validation)


def _selected_steps(metric: PairRegressor, validation: str) -> Table:
    """The figures on validation data of each stage, with a star at the weights that were used."""
    figures = [column for key, column in _FIGURES.items() if key in metric.agreement_]
    columns = [
        Column("stage", "integer"),
        Column("settings"),
        Column("step", align="right"),
        _LOSS,
        *figures,
    ]
    rows = list(_step_rows(metric, [column.name for column in figures]))
    if not any(settings for _, settings, *_ in rows):
        del columns[1]
        rows = [(stage, *rest) for stage, _, *rest in rows]
    note = f"* used: the best on {validation} that were left out of the training; {OTHER_DATA}."
    return Table(tuple(columns), rows, notes=(note,))


def _step_rows(metric: PairRegressor, figures: list[str]) -> Iterator[tuple[Cell, ...]]:
    # The loop names a stage by its objective and its number.
    names = list(dict.fromkeys(each["stage"] for each in metric.training_["history"]))
    for number, (stage, name) in enumerate(zip(metric.plan.stage, names, strict=True), 1):
        history = [each for each in metric.training_["history"] if each["stage"] == name]
        best = _best(history if stage.keep == "best" else _last_of_trials(history), stage)
        trials = stage.trials()
        for each in history if len(trials) == 1 else _one_a_trial(history, stage):
            settings = trials[each["trial"] - 1] if len(trials) > 1 else {}
            yield (
                number,
                _in_words({k: v for k, v in settings.items() if len(getattr(stage, k)) > 1}),
                f"{'*' if each is best else ''}{each['step']:,}",
                each["loss"],
                *(each[key] for key in figures),
            )


def _one_a_trial(history: list[dict[str, Any]], stage: StagePlan) -> Iterator[dict[str, Any]]:
    """What each trial came to: its best figures, or its last where those count."""
    for trial in dict.fromkeys(each["trial"] for each in history):
        of_trial = [each for each in history if each["trial"] == trial]
        yield _best(of_trial, stage) if stage.keep == "best" else of_trial[-1]


def _last_of_trials(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["trial"]: each for each in history}.values())


def _best(history: list[dict[str, Any]], stage: StagePlan) -> dict[str, Any]:
    """The latest of the best, whose weights the training uses."""
    from adequa.learned.pair.development import criterion  # noqa: PLC0415  # needs PyTorch

    objectives = (stage.objective, *(source.objective for source in stage.beside))
    figures = [criterion(each, objectives) for each in history]
    return history[max(range(len(history)), key=lambda index: (figures[index], index))]


def _in_words(settings: Mapping[str, float]) -> str:
    """Settings as people write them.

    >>> _in_words({"batch": 16, "learning_rate": 2e-5, "epochs": 3.0})
    'batch 16, learning rate 2e-05, epochs 3'
    """
    return ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in settings.items())


def _history(history: list[dict[str, Any]], *, with_trials: bool = True) -> Table:
    """The figures of every evaluation."""
    trial = (Column("trial", "integer"),) if with_trials else ()
    figures = [
        column
        for key, column in _FIGURES.items()
        if key in _ALWAYS or any(key in entry for entry in history)
    ]
    columns = (Column("stage"), *trial, Column("step", "integer"), _LOSS, *figures)
    return Table(columns, [[entry.get(column.name) for column in columns] for entry in history])


def _validation_counts(metric: PairRegressor) -> str:
    """How many judgements the training was validated on; empty where there were none."""
    counts = metric.agreement_["held_out"].items()
    return " and ".join(f"{count:,} {kind}" for kind, count in counts if count)


# The model card


def pair_card(metric: PairRegressor) -> str:
    """The model card in Markdown: what the metric is, and every stage of its training."""
    sections = {
        "Use": [
            shell(score_command(metric)),
            "The encoder and its tokenizer are in this folder. Higher is better; scores are on the "
            "scale of the last ratings or teacher that it was trained on.",
        ],
        "Stages": _stages(metric.training_, _beside(metric)),
    }
    if "averaged" not in metric.training_:
        sections["Agreement with people while training"] = _development(metric)
    return model_card(
        metric.name,
        f"A sentence-pair regressor: `{metric.encoder}`, fine-tuned to read a hypothesis "
        f"together with its {_beside(metric)}. Trained with adequa {__version__}.",
        sections,
    )


_VIEW_WORDS = {"both": "reference and source", "reference": "reference", "source": "source"}


def _beside(metric: PairRegressor) -> str:
    """The texts that a hypothesis is read with, in words."""
    return ", or ".join(_VIEW_WORDS[view] for view in metric.inputs)


def _stages(facts: Mapping[str, Any], beside: str) -> list[str]:
    """The stages of a metric and its ancestors, and where the weights come from."""
    blocks = [stage_table(facts)]
    if any(ancestors(facts)):
        blocks.append("".join(ancestry(facts)).strip())
    if scales := _output_scales(facts):
        blocks += [
            "These datasets had output scales of their own in training, between standardised "
            "scores and ratings. They decided nothing about the scale of the scores, but for one "
            "with slope 1 and intercept 0.",
            scales,
        ]
    if "averaged" in facts:
        blocks.append(f"A mean of weights was not measured while it was made: {EVALUATE_YOURSELF}")
        return blocks
    blocks.append(
        f"{facts['pairs']:,} different pairs of hypothesis and {beside} in all, trained on "
        f"{facts['trained_on']}, {facts['precision']}."
    )
    return blocks


def stage_table(training: Mapping[str, Any]) -> str:
    """The objectives and data of all stages, those of the metric's ancestors first."""
    rows = [
        row
        for ancestor in ancestors(training)
        for row in _stage_rows(ancestor["training"], f"{ancestor['name']}, ")
    ]
    return table(["stage", "learns", "from", "rows"], [*rows, *_stage_rows(training)])


def _stage_rows(training: Mapping[str, Any], prefix: str = "") -> Iterator[list[str | int]]:
    for number, sources in enumerate(training["stages"], 1):
        for source in sources:
            count = len(source.get("teacher", ()))  # their paths mean nothing elsewhere
            teachers = f" of {count} teachers" if count > 1 else ""
            datasets = ", ".join(source["rows_by_dataset"])
            yield [f"{prefix}{number}", source["objective"] + teachers, datasets, source["rows"]]


def _output_scales(training: Mapping[str, Any]) -> str:
    """The output scales of datasets as a table; empty if there are none."""
    rows = [
        [
            str(number),
            f"{scale['dataset']} {scale.get('lp', '')}".strip(),
            scale["slope"],
            scale["intercept"],
        ]
        for number, sources in enumerate(training["stages"], 1)
        for source in sources
        for scale in source.get("output_scales", ())
    ]
    return table(["stage", "dataset", "slope", "intercept"], rows) if rows else ""


def _development(metric: PairRegressor) -> list[str]:
    """The figures on validation data."""
    validation = _validation_counts(metric)
    if not validation:
        return ["Nothing was held out for development."]
    return [
        f"On {validation} that were held out, with all outputs of their references. The weights "
        f"were chosen on them, so that the figures are a little too good: {EVALUATE_YOURSELF}",
        as_markdown(_history(metric.training_["history"], with_trials=False)),
    ]


def ancestors(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics that one was trained from or is averaged from, oldest first.

    `training` and the results are as in metric.json. A metric with several descendants comes once.
    """
    seen = set[str]()
    for ancestor in _all_ancestors(training):
        if ancestor["digest"] not in seen or not ancestor["digest"]:
            seen.add(ancestor["digest"])
            yield ancestor


def _all_ancestors(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    start = training.get("begun_from")
    for parent in (*([] if start is None else [start]), *training.get("averaged", ())):
        yield from _all_ancestors(parent["training"])
        yield parent


def ancestry(training: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on the metrics that the weights come from."""
    averaged = training.get("averaged", ())
    who = "one of them" if averaged else "it"
    names = {each["digest"]: f"{each['name']} ({each['digest'][:DIGITS]})" for each in averaged}
    if averaged:
        *first, last = (names[each["digest"]] for each in averaged)
        yield f"The weights are the mean of those of {', '.join(first)} and {last}. "
    for ancestor in ancestors(training):
        if ancestor["digest"] not in names:
            yield f"{ancestor['name']}, which {who} went on from, has the weights "
            yield f"{ancestor['digest'][:DIGITS]}. "
