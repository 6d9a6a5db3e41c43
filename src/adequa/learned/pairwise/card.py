"""The model card of a pairwise ranker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adequa.learned.cards import (
    model_card,
    settings_table,
    shell,
    table,
    three_digits,
    training_data,
)
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.pairwise.metric import PairwiseRanker


def pairwise_card(metric: PairwiseRanker) -> str:
    """Return the card in Markdown."""
    settings = metric.settings()
    inputs = settings.pop("inputs")
    scores = metric.named.scores
    return model_card(
        metric.name,
        "A pairwise neural ranker: which of two hypotheses is better, given a reference. "
        f"Trained with adequa {__version__}.",
        {
            "Use": [
                shell("adequa rank -m FOLDER -t a.txt -t b.txt -r reference.txt"),
                "A score is the probability, from 0 to 1, that a hypothesis wins against the "
                "others of its segment. Inputs that are files are loaded from where they were when "
                "the ranker was trained; where the first is elsewhere now, write "
                "`-m FOLDER:input1=PATH`, and so on.",
            ],
            "Inputs": [
                table(
                    ["input", "numbers", "used as"],
                    [
                        [fact["name"], fact["numbers"], "scores" if each in scores else "vectors"]
                        for fact, each in zip(inputs, metric.named.inputs, strict=True)
                    ],
                )
            ],
            "Training data": training_data(metric.training_, "preferences"),
            "Settings": [settings_table(settings)],
            "Agreement with people while training": _agreement(metric),
        },
    )


def _agreement(metric: PairwiseRanker) -> Iterator[str]:
    report = metric.agreement_
    yield (
        f"On {report['held_out_rows']:,} preferences of {metric.training_['validated_on']}. The "
        "epoch was chosen on them, so that the figures are a little too good. Strict Kendall's "
        f"tau: {three_digits(report['tau'])}."
    )
    by_pair = report["by_language_pair"]
    if len(by_pair) > 1:
        yield table(
            ["language pair", "preferences", "tau"],
            [[pair, figures["rows"], figures["tau"]] for pair, figures in by_pair.items()],
        )
