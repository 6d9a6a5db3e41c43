"""The card of a saved metric, for people: what it is, what it learnt from, how well it agrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adequa.learned.base import LearnedMetric
from adequa.version import __version__

_SCALE = "scores are on the scale of the ratings that it learnt from"


def card(metric: LearnedMetric, what: str, use: str, scale: str = _SCALE) -> str:
    """A card in Markdown; `what` says what the metric is, `use` what it needs."""
    return "".join(_parts(metric, what, use, scale))


def _parts(metric: LearnedMetric, what: str, use: str, scale: str) -> Iterator[str]:
    yield f"# {metric.name}\n\n{what} Trained with adequa {__version__}.\n"
    yield "\n## Use\n\n```sh\nadequa score -m FOLDER -t hypotheses.txt -r references.txt\n```\n"
    yield f"\n{use} Higher is better; {scale}.\n"
    yield "\n## Training data\n\n"
    facts = metric.training_
    yield f"{facts['rows']:,} ratings: {facts['data'] or 'a file without a name'}.\n"
    for named, heading in (
        ("rows_by_dataset", "dataset"),
        ("rows_by_language_pair", "language pair"),
    ):
        if len(facts.get(named, {})) > 1:
            yield f"\n| {heading} | ratings |\n| --- | ---: |\n"
            yield from (f"| {cell(name)} | {n:,} |\n" for name, n in facts[named].items())
    yield "\n## Settings\n\n| setting | value |\n| --- | --- |\n"
    settings = _flat(metric.settings()) | _flat(facts["chosen"])
    yield from (f"| {key} | {cell(value)} |\n" for key, value in settings.items())
    yield from _agreement(metric.agreement_)


def _agreement(report: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Agreement with people while training\n\n"
    yield f"On {report['held_out_rows']:,} ratings that were held out. {_chosen(report)} measure "
    yield "on data of your own with `adequa evaluate`.\n\n"
    by = "Of that epoch" if _is_only_epoch(report) else "The figure they were chosen by"
    yield f"{by}: {shown(report['criterion_pearson'])}, "
    yield "Pearson, over folds the mean.\n\n" if report["folds"] else "Pearson.\n\n"
    yield "| ratings | number | Pearson | Kendall's tau-b |\n| --- | ---: | ---: | ---: |\n"
    lines = {"all": report["all"]} | report.get("by_language_pair", {})
    for name, figures in lines.items():
        both = f"{shown(figures['pearson'])} | {shown(figures['kendall'])}"
        yield f"| {cell(name)} | {figures['rows']:,} | {both} |\n"


def _is_only_epoch(report: Mapping[str, Any]) -> bool:
    return report.get("tried") == "epoch" and report["settings_tried"] == 1


def _chosen(report: Mapping[str, Any]) -> str:
    """How far the figures can be trusted."""
    tried = report.get("tried", "settings")
    if _is_only_epoch(report):
        return "There was one epoch, so that nothing was chosen on them; still,"
    return (
        f"The {tried} {'is' if tried == 'epoch' else 'are'} the best of "
        f"{report['settings_tried']:,} on these same ratings, so that the figures are a little too "
        "good:"
    )


def shown(figure: float | None) -> str:
    """A figure as cards and reports show it.

    >>> shown(0.70812), shown(None)
    ('0.708', '–')
    """
    return "–" if figure is None else f"{figure:.3f}"


def cell(text: str) -> str:
    """Text in a table of Markdown, where a bar would begin the next cell."""
    return text.replace("|", r"\|")


def _flat(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings in words."""
    return {key: _in_words(value) for key, value in settings.items()}


def _in_words(value: object) -> str:
    """A setting; of an encoder its name, since the path means nothing elsewhere."""
    if isinstance(value, Mapping):
        if "name" in value:
            return f"`{value['name']}`"
        return ", ".join(f"{key} {_in_words(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(f"`{p['name'] if isinstance(p, dict) else p}`" for p in value) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
