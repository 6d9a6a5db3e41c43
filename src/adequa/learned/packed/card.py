"""The model card of a packed metric: what it is, what a score means, and how it was trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from adequa.learned.cards import cell, shown
from adequa.learned.packed.metric import BEND, bend
from adequa.learned.pair.card import earlier, from_earlier
from adequa.metrics.saved import DIGITS, Description
from adequa.version import __version__

_FIGURES = {"pearson": "Pearson", "accuracy": "preferences ordered rightly"}


def packed_card(metric: Description) -> str:
    """Return the card in Markdown."""
    return "".join(
        part
        for section in (_use, _meaning, _recipe, _agreement, _numbers, _limits)
        for part in section(metric)
    )


def _use(metric: Description) -> Iterator[str]:
    encoder = metric.settings["encoder"]
    yield f"# {metric.name}\n\nA metric for translations into English, which reads a hypothesis "
    yield f"and its reference together: `{encoder}`, fine-tuned and packed with adequa "
    yield f"{__version__}. It runs on onnxruntime, without PyTorch.\n"
    yield "\n## Use\n\n```sh\nadequa score -m FOLDER -t hypotheses.txt -r references.txt\n```\n"


def _meaning(metric: Description) -> Iterator[str]:
    ends = metric.settings["map"]
    low, high = bend(np.array([0.0, 1.0]))
    yield "\n## What a score means\n\n"
    yield "Scores lie from 0 to 1, and higher is better. Near 0 is what is no better than the "
    yield "reference of another sentence, near 1 what is as good as the reference itself. Between "
    yield "them, equal steps are equal steps of the rating that people are expected to give.\n\n"
    yield f"The raw scores {ends['unrelated']:.3f} and {ends['reference']:.3f} are the ends of a "
    yield f"line from 0 to 1: the medians of {_facts(metric)['references']:,} references held "
    yield f"against that of another sentence, and against themselves. Within {BEND} of either end "
    yield "the line is bent, so that no score leaves the range; the two themselves become "
    yield f"{low:.3f} and {high:.3f}.\n\nTwo laws hold by rule: a hypothesis that is its reference "
    yield "word for word scores 1, and an empty one 0. All others lie between. Of several "
    yield f"references, the {metric.settings['references']} counts.\n"


def _recipe(metric: Description) -> Iterator[str]:
    yield "\n## Data and recipe\n\n| stage | learnt | from | rows |\n| ---: | --- | --- | ---: |\n"
    for initial in earlier(metric.training):
        yield from _stages(initial["training"], f"{cell(initial['name'])}, ")
    yield from _stages(metric.training)
    pairs, origin = metric.training["pairs"], _facts(metric)["from"]
    longest = "largest" if "averaged" in metric.training else "last"
    yield f"\n{pairs:,} different pairs of reference and hypothesis in the {longest} training. "
    yield "".join(from_earlier(metric.training))
    yield "`metric.json` has the whole plan."
    if origin["digest"]:
        yield f" Packed from {origin['name']}, with the weights {origin['digest'][:DIGITS]}."
    yield "\n"


def _stages(training: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for number, sources in enumerate(training["stages"], 1):
        for source in sources:
            names = cell(", ".join(source["rows_by_dataset"]))
            learnt = source["objective"] + _teacher_count(source.get("teacher", ()))
            yield f"| {prefix}{number} | {learnt} | {names} | {source['rows']:,} |\n"


def _teacher_count(teachers: list[str]) -> str:
    """The number of teachers; their paths mean nothing elsewhere."""
    return f" of {len(teachers)} teachers" if len(teachers) > 1 else ""


def _agreement(metric: Description) -> Iterator[str]:
    yield "\n## Agreement with people while training\n\n"
    counts = metric.agreement["held_out"]
    if not any(counts.values()):
        yield "Nothing was held out to measure it on; `adequa evaluate` does on data of your own.\n"
        return
    sizes = " and ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    figures = [
        f"{word} {shown(metric.agreement[key])}"
        for key, word in _FIGURES.items()
        if metric.agreement.get(key) is not None
    ]
    yield f"On {sizes} that were held out: {', '.join(figures)}. The weights were chosen on them, "
    yield "before the packing, so that the figures are a little too good: measure on data of your "
    yield "own with `adequa evaluate`.\n"


def _numbers(metric: Description) -> Iterator[str]:
    facts = _facts(metric)
    yield "\n## Precision\n\n"
    if facts["precision"] == "int8":
        yield "Products are of whole numbers of 8 bits, whose levels were chosen by "
        yield f"{facts['pairs']:,} pairs of {facts['data'] or 'texts without a name'}."
    else:
        yield "Numbers have 32 bits, as in training."
    if facts["largest_difference"] is None:
        yield "\n"
        return
    yield f" On {facts['tested']:,} other pairs, scores differ from those of the network in 32 bits"
    yield f" by {facts['largest_difference']:.2g} at most"
    if facts["correlation"] is not None:
        yield f" (Pearson {facts['correlation']:.5f})"
    yield ".\n"


def _limits(metric: Description) -> Iterator[str]:
    facts = _facts(metric)
    yield "\n## Limits\n\n- English only: scores of other languages mean nothing.\n"
    yield f"- Pairs of more than {facts['max_length']:,} tokens are read in windows, and what goes "
    yield "beyond a window is not seen together.\n"
    if not facts["reads_case"]:
        surface = metric.settings["surface"] is not None
        yield "- The encoder reads no capitals; "
        yield "surface features beside it do.\n" if surface else "case changes no score.\n"
    yield "- Close scores of single sentences say little: average over a system's output.\n"
    yield f"\n## Licence\n\nThe weights come from `{metric.settings['encoder']}` and the data "
    yield "above: look up their licences before you pass this folder on.\n"


def _facts(metric: Description) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = metric.training["packed"]
    return facts
