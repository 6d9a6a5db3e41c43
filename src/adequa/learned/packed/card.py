"""The model card of a packed metric: what a score means, and what the metric was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from adequa.learned.cards import EVALUATE_YOURSELF, model_card, shell, three_digits
from adequa.learned.packed.metric import BEND, bend
from adequa.learned.pair.metric import ancestry, stage_table
from adequa.metrics.saved import DIGITS, Description
from adequa.version import __version__

_FIGURES = {"pearson": "Pearson", "accuracy": "preferences ordered rightly"}


def packed_card(metric: Description) -> str:
    """Return the card in Markdown."""
    encoder = metric.settings["encoder"]
    return model_card(
        metric.name,
        "A metric for translations into English, which reads a hypothesis and its reference "
        f"together: `{encoder}`, fine-tuned and packed with adequa {__version__}. It runs on "
        "onnxruntime, without PyTorch.",
        {
            "Use": [shell()],
            "What a score means": _meaning(metric),
            "Data and recipe": _recipe(metric),
            "Agreement with people while training": [_agreement(metric.agreement)],
            "Precision": [_precision(metric.training["packed"])],
            "Limits": ["\n".join(f"- {limit}" for limit in _limits(metric))],
            "Licence": [
                f"The weights come from `{encoder}` and the data above: look up their licences "
                "before you pass this folder on."
            ],
        },
    )


def _meaning(metric: Description) -> Iterator[str]:
    ends = metric.settings["map"]
    low, high = bend(np.array([0.0, 1.0]))
    yield (
        "Scores lie from 0 to 1, and higher is better. Near 0 is what is no better than the "
        "reference of another sentence, near 1 what is as good as the reference itself. Between "
        "them, equal steps are equal steps of the rating that people are expected to give."
    )
    yield (
        f"The raw scores {ends['unrelated']:.3f} and {ends['reference']:.3f} are the ends of a "
        f"line from 0 to 1: the medians of {metric.training['packed']['references']:,} references "
        "scored against that of another sentence, and against themselves. Within "
        f"{BEND} of either end the line is bent, so that no score leaves the range; the two "
        f"themselves become {low:.3f} and {high:.3f}."
    )
    yield (
        "Two laws hold by rule: a hypothesis that is its reference word for word scores 1, and an "
        "empty one 0. All others lie between. Where a segment has multiple references, the "
        f"{metric.settings['references']} score counts."
    )


def _recipe(metric: Description) -> Iterator[str]:
    yield stage_table(metric.training)
    pairs, origin = metric.training["pairs"], metric.training["packed"]["from"]
    longest = "largest" if "averaged" in metric.training else "last"
    packed_from = (
        f" Packed from {origin['name']}, with the weights {origin['digest'][:DIGITS]}."
        if origin["digest"]
        else ""
    )
    yield (
        f"{pairs:,} different pairs of reference and hypothesis in the {longest} training. "
        f"{''.join(ancestry(metric.training))}`metric.json` has the whole plan.{packed_from}"
    )


def _agreement(report: Mapping[str, Any]) -> str:
    held_out = report["held_out"]
    if not any(held_out.values()):
        return f"Nothing was held out to measure it on; {EVALUATE_YOURSELF}"
    counts = " and ".join(f"{count:,} {kind}" for kind, count in held_out.items() if count)
    figures = [
        f"{word} {three_digits(report[key])}"
        for key, word in _FIGURES.items()
        if report.get(key) is not None
    ]
    return (
        f"On {counts} that were held out: {', '.join(figures)}. The weights were chosen on them, "
        f"before the packing, so that the figures are a little too good: {EVALUATE_YOURSELF}"
    )


def _precision(facts: Mapping[str, Any]) -> str:
    precision = "Numbers have 32 bits, as in training."
    if facts["precision"] == "int8":
        precision = (
            "Products are of whole numbers of 8 bits, whose levels were chosen by "
            f"{facts['pairs']:,} pairs of {facts['data'] or 'texts without a name'}."
        )
    if facts["largest_difference"] is None:
        return precision
    correlation = facts["correlation"]
    pearson = "" if correlation is None else f" (Pearson {correlation:.5f})"
    return (
        f"{precision} On {facts['tested']:,} other pairs, scores differ from those of the network "
        f"in 32 bits by {facts['largest_difference']:.2g} at most{pearson}."
    )


def _limits(metric: Description) -> Iterator[str]:
    facts = metric.training["packed"]
    yield "English only: scores of other languages mean nothing."
    yield (
        f"Pairs of more than {facts['max_length']:,} tokens are read in windows, and what goes "
        "beyond a window is not seen together."
    )
    if not facts["reads_case"]:
        has_surface = metric.settings["surface"] is not None
        effect = "surface features beside it do" if has_surface else "case changes no score"
        yield f"The encoder reads no capitals; {effect}."
    yield "Close scores of single sentences say little: average over a system's output."
