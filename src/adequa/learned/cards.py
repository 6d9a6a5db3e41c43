"""Model cards: the README.md of a saved metric.

All cards have one form: the name, a summary, and sections of paragraphs and tables. A kind of
metric supplies its facts; `ratings_card` is the card of metrics that learn from ratings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from adequa.learned.base import LearnedMetric
from adequa.learned.results import agreement_table, basis, reads_options
from adequa.metrics.base import Metric
from adequa.tables import Column, Table
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


def score_command(metric: Metric) -> str:
    """Return the command that scores with the metric in FOLDER."""
    return f"adequa score -m FOLDER -t hypotheses.txt {reads_options(metric, '{}s.txt')}"


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
    typed = [
        Column(name, _type([row[index] for row in rows]), decimals=3)
        for index, name in enumerate(columns)
    ]
    return as_markdown(Table(tuple(typed), rows))


def _type(cells: Sequence[str | float | None]) -> Literal["text", "integer", "number"]:
    if any(isinstance(cell, str) for cell in cells):
        return "text"
    return "integer" if all(isinstance(cell, int) for cell in cells) else "number"


def as_markdown(content: Table) -> str:
    """Return a table for a card, without notes and the line end that sections add."""
    return content.without_notes().to_markdown().removesuffix("\n")


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
            return str(value["name"])
        return ", ".join(f"{key} {_setting(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_setting, value)) or "none"
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
            "Use": [shell(score_command(metric)), f"{requirements} Higher is better; {scale}."],
            "Training data": training_data(metric.training_),
            "Settings": [settings_table({**metric.settings(), **metric.training_["chosen"]})],
            "Agreement with people while training": _agreement(metric),
        },
    )


def _agreement(metric: LearnedMetric) -> Iterator[str]:
    agreement = metric.agreement_
    yield f"{basis(agreement)}. {_caution(agreement)}: {EVALUATE_YOURSELF}"
    yield as_markdown(agreement_table(agreement))


def _caution(agreement: Mapping[str, Any]) -> str:
    """Return how far figures on validation data can be trusted."""
    count, unit = agreement["settings_tried"], agreement.get("tried", "setting")
    if count == 1:
        return f"There was one {unit}, so that nothing was chosen on these ratings; still"
    return (
        f"The {unit} was chosen among {count:,} on these same ratings, so that the figures are a "
        "little too good"
    )
