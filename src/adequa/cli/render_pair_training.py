"""What the training of a pair regressor shows at its end: its stages, and figures on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adequa.cli.output import aligned
from adequa.cli.render_training import how_to_use
from adequa.errors import printable

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.plan import StagePlan

_FIGURES = {"pearson": "Pearson", "accuracy": "ordered rightly"}


def pair_report(metric: PairRegressor, folder: str) -> Iterator[str]:
    """The report of a pair regressor that was just trained and saved."""
    facts, plan = metric.training_, metric.plan
    begun = Path(plan.encoder or plan.start).name or metric.encoder
    yield printable(f"{metric.name}: {begun}, fine-tuned on {facts['trained_on']}")
    yield f", {facts['precision']}\n\n"
    rows = [["stage", "learns", "from", "rows"], *_learnt(facts["stages"])]
    yield from aligned(lambda: rows, right=(0, 3))
    yield "\n"
    if facts["chosen"]:
        chosen = _in_words(facts["chosen"])
        yield f"chosen on what was held out: {chosen}\n\n"
    yield from _development(metric)
    yield how_to_use(folder)


def average_report(metric: PairRegressor, folder: str) -> Iterator[str]:
    """The report of a mean of weights that was just made and saved."""
    parts = metric.training_["averaged"]
    rows = [
        ["part", "name", "learnt from"],
        *([str(at), part["name"], part["training"]["data"]] for at, part in enumerate(parts, 1)),
    ]
    yield printable(f"{metric.name}: the mean of the weights of {len(parts)} metrics") + "\n\n"
    yield from aligned(lambda: rows)
    yield "\nmeasure it before you use it: only networks near each other have a mean of use\n"
    yield how_to_use(folder)


def _learnt(stages: list[list[Mapping[str, Any]]]) -> Iterator[list[str]]:
    for number, sources in enumerate(stages, 1):
        for source in sources:
            names = ", ".join(source["rows_by_dataset"])
            yield [str(number), source["objective"], names, f"{source['rows']:,}"]


def _development(metric: PairRegressor) -> Iterator[str]:
    """The figures on the way, with a star at what was kept."""
    held_out = metric.agreement_["held_out"]
    if not any(held_out.values()):
        yield "nothing was held out to choose by: the last weights are kept\n"
        return
    figures = {key: word for key, word in _FIGURES.items() if key in metric.agreement_}
    rows = [["stage", "settings", "step", "loss", *figures.values()], *_figures(metric, figures)]
    if not any(settings for _, settings, *_ in rows[1:]):
        rows = [[stage, *rest] for stage, _, *rest in rows]
    columns = len(rows[0])
    yield from aligned(lambda: rows, right=(0, *range(columns - 2 - len(figures), columns)))
    counts = " and ".join(f"{count:,} {kind}" for kind, count in held_out.items() if count)
    yield f"\n* kept, by {counts} that were held out; `adequa evaluate` measures on other data\n"


def _figures(metric: PairRegressor, figures: Mapping[str, str]) -> Iterator[list[str]]:
    from adequa.learned.cards import three_digits

    # The loop names a stage by its objective and its number.
    names = list(dict.fromkeys(each["stage"] for each in metric.training_["history"]))
    for number, (stage, name) in enumerate(zip(metric.plan.stage, names, strict=True), 1):
        history = [each for each in metric.training_["history"] if each["stage"] == name]
        kept = _best(history if stage.keep == "best" else _last_of_trials(history), stage)
        trials = stage.trials()
        for each in history if len(trials) == 1 else _one_a_trial(history, stage):
            settings = trials[each["trial"] - 1] if len(trials) > 1 else {}
            yield [
                str(number),
                _in_words({k: v for k, v in settings.items() if len(getattr(stage, k)) > 1}),
                f"{'*' if each is kept else ''}{each['step']:,}",
                f"{each['loss']:.4f}",
                *(three_digits(each[key]) for key in figures),
            ]


def _one_a_trial(history: list[dict[str, Any]], stage: StagePlan) -> Iterator[dict[str, Any]]:
    """What each trial came to: its best figures, or its last where those count."""
    for trial in dict.fromkeys(each["trial"] for each in history):
        of_trial = [each for each in history if each["trial"] == trial]
        yield _best(of_trial, stage) if stage.keep == "best" else of_trial[-1]


def _last_of_trials(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["trial"]: each for each in history}.values())


def _best(history: list[dict[str, Any]], stage: StagePlan) -> dict[str, Any]:
    """The latest of the best, which is what the training keeps."""
    from adequa.learned.pair.development import criterion

    objectives = (stage.objective, *(source.objective for source in stage.beside))
    figures = [criterion(each, objectives) for each in history]
    return history[max(range(len(history)), key=lambda at: (figures[at], at))]


def _in_words(settings: Mapping[str, float]) -> str:
    """Settings as people write them.

    >>> _in_words({"batch": 16, "learning_rate": 2e-5, "epochs": 3.0})
    'batch 16, learning rate 2e-05, epochs 3'
    """
    return ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in settings.items())
