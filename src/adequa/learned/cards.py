"""Model cards: the README.md of a saved metric.

All cards have one form: the name, a summary, and sections of paragraphs and tables. A kind of
metric supplies its facts; `ratings_card` is the card of metrics that learn from ratings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adequa.learned.base import LearnedMetric
from adequa.version import __version__

SCORE_COMMAND = "adequa score -m FOLDER -t hypotheses.txt -r references.txt"
EVALUATE_YOURSELF = "measure on data of your own with `adequa evaluate`."


def model_card(name: str, summary: str, sections: Mapping[str, Iterable[str]]) -> str:
    """Return a card in Markdown; sections are paragraphs and tables by heading.

    >>> print(model_card("mine", "A metric.", {"Use": ["Higher is better."]}), end="")
    # mine
    <BLANKLINE>
    A metric.
    <BLANKLINE>
    ## Use
    <BLANKLINE>
    Higher is better.
    """
    blocks = [f"# {name}", summary]
    for heading, content in sections.items():
        blocks += [f"## {heading}", *content]
    return "\n\n".join(blocks) + "\n"


def shell(command: str = SCORE_COMMAND) -> str:
    """Return a command line as a block of code."""
    return f"```sh\n{command}\n```"


def table(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a Markdown table; columns of numbers are aligned to the right.

    >>> print(table(["data", "rows", "tau"], [["a|b", 1200, 0.5], ["c", 3, None]]))
    | data | rows | tau |
    | --- | ---: | ---: |
    | a\\|b | 1,200 | 0.500 |
    | c | 3 | – |
    """
    rows = list(rows)
    texts = {column for row in rows for column, cell in enumerate(row) if isinstance(cell, str)}
    rule = ["---" if column in texts else "---:" for column in range(len(columns))]
    lines = [columns, rule]
    lines += [[_cell(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: str | float | None) -> str:
    """Return a table cell; a bar in a text would begin the next cell."""
    if isinstance(value, str):
        return value.replace("|", r"\|")
    return f"{value:,}" if isinstance(value, int) else three_digits(value)


def three_digits(figure: float | None) -> str:
    """Return a figure as cards and reports show it.

    >>> three_digits(0.70812), three_digits(None)
    ('0.708', '–')
    """
    return "–" if figure is None else f"{figure:.3f}"


def training_data(facts: Mapping[str, Any], judgements: str = "ratings") -> Iterator[str]:
    """Yield how many judgements there were, and tables by dataset and by language pair."""
    yield f"{facts['rows']:,} {judgements}: {facts['data'] or 'a file without a name'}."
    for key, column in (
        ("rows_by_dataset", "dataset"),
        ("rows_by_language_pair", "language pair"),
    ):
        if len(facts.get(key, {})) > 1:
            yield table([column, judgements], facts[key].items())


def settings_table(settings: Mapping[str, Any]) -> str:
    """Return a table of settings."""
    return table(["setting", "value"], [[key, _setting(value)] for key, value in settings.items()])


def _setting(value: object) -> str:
    """Return a setting as text; of an encoder its name, since a path means nothing elsewhere."""
    if isinstance(value, Mapping):
        if "name" in value:
            return f"`{value['name']}`"
        return ", ".join(f"{key} {_setting(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(f"`{p['name'] if isinstance(p, dict) else p}`" for p in value) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def ratings_card(
    metric: LearnedMetric,
    summary: str,
    requirements: str,
    scale: str = "scores are on the scale of the ratings that it was trained on",
) -> str:
    """Return the card of a metric trained on ratings; `requirements` says what scoring needs."""
    return model_card(
        metric.name,
        f"{summary} Trained with adequa {__version__}.",
        {
            "Use": [shell(), f"{requirements} Higher is better; {scale}."],
            "Training data": training_data(metric.training_),
            "Settings": [settings_table({**metric.settings(), **metric.training_["chosen"]})],
            "Agreement with people while training": _agreement(metric.agreement_),
        },
    )


def _agreement(report: Mapping[str, Any]) -> Iterator[str]:
    criterion = "Pearson, mean over folds" if report["folds"] else "Pearson"
    of = "Of that epoch" if _is_only_epoch(report) else "The figure they were chosen by"
    yield f"On {report['held_out_rows']:,} ratings that were held out. {_selection(report)}"
    yield f"{of}: {three_digits(report['criterion_pearson'])}, {criterion}."
    by_pair = {"all": report["all"]} | report.get("by_language_pair", {})
    yield table(
        ["ratings", "number", "Pearson", "Kendall's tau-b"],
        [[name, row["rows"], row["pearson"], row["kendall"]] for name, row in by_pair.items()],
    )


def _is_only_epoch(report: Mapping[str, Any]) -> bool:
    return report.get("tried") == "epoch" and report["settings_tried"] == 1


def _selection(report: Mapping[str, Any]) -> str:
    """Return how far figures on held-out data can be trusted."""
    if _is_only_epoch(report):
        return (
            f"There was one epoch, so that nothing was chosen on them; still, {EVALUATE_YOURSELF}"
        )
    tried = report.get("tried", "settings")
    return (
        f"The {tried} {'is' if tried == 'epoch' else 'are'} the best of "
        f"{report['settings_tried']:,} on these same ratings, so that the figures are a little too "
        f"good: {EVALUATE_YOURSELF}"
    )
