"""The card of a pair regressor, for people: what it is, and every stage that made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from adequa.learned.cards import cell, shown
from adequa.metrics.saved import DIGITS
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.base import LearnedMetric
    from adequa.learned.pair.metric import PairRegressor


def pair_card(metric: PairRegressor) -> str:
    """A card in Markdown."""
    return "".join(_parts(metric))


def earlier(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics that one went on from, or is the mean of, as metric.json has them, in order.

    One that several others went on from comes once.
    """
    told = set[str]()
    for each in _earlier(training):
        if each["digest"] not in told or not each["digest"]:
            told.add(each["digest"])
            yield each


def _earlier(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    begun = training.get("begun_from")
    for each in (*([] if begun is None else [begun]), *training.get("averaged", ())):
        yield from _earlier(each["training"])
        yield each


def from_earlier(training: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what the weights came from."""
    mean = training.get("averaged", ())
    who = "one of them" if mean else "it"
    named = {each["digest"]: f"{each['name']} ({each['digest'][:DIGITS]})" for each in mean}
    if mean:
        *first, last = (named[each["digest"]] for each in mean)
        yield f"The weights are the mean of those of {', '.join(first)} and {last}. "
    for each in earlier(training):
        if each["digest"] not in named:
            yield f"{each['name']}, which {who} went on from, has the weights "
            yield f"{each['digest'][:DIGITS]}. "


def _parts(metric: PairRegressor) -> Iterator[str]:
    facts = metric.training_
    yield f"# {metric.name}\n\nA sentence-pair regressor: `{metric.encoder}`, fine-tuned to read a "
    yield f"hypothesis and its reference together. Trained with adequa {__version__}.\n"
    yield "\n## Use\n\n```sh\nadequa score -m FOLDER -t hypotheses.txt -r references.txt\n```\n"
    yield "\nThe encoder and its tokenizer are in this folder. Higher is better; scores are on the "
    yield "scale of the last numbers that it learnt.\n"
    yield "\n## Stages\n\n| stage | learns | from | rows |\n| ---: | --- | --- | ---: |\n"
    for begun in earlier(facts):
        yield from _stages(begun["training"], f"{cell(begun['name'])}, ")
    yield from _stages(facts)
    if any(earlier(facts)):
        yield f"\n{''.join(from_earlier(facts)).strip()}\n"
    if "averaged" in facts:
        yield "\nA mean of weights was not measured while it was made: measure it on data of your "
        yield "own with `adequa evaluate`.\n"
        return
    yield f"\n{facts['pairs']:,} different pairs of reference and hypothesis in all, "
    yield f"trained on {facts['trained_on']}, {facts['precision']}.\n"
    yield from _figures(metric)


def _stages(training: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for number, sources in enumerate(training["stages"], 1):
        for source in sources:
            names = cell(", ".join(source["rows_by_dataset"]))
            yield f"| {before}{number} | {source['objective']} | {names} | {source['rows']:,} |\n"


def _figures(metric: LearnedMetric) -> Iterator[str]:
    held_out = metric.agreement_["held_out"]
    if not any(held_out.values()):
        yield "\nNothing was held out for development.\n"
        return
    yield "\n## Agreement with people while training\n\n"
    counts = " and ".join(f"{count:,} {kind}" for kind, count in held_out.items() if count)
    yield f"On {counts} that were held out, with all outputs of their references. What is kept "
    yield "was chosen on them, so that the figures are a little too good: measure on data of your "
    yield "own with `adequa evaluate`.\n\n"
    yield "| after | step | loss | Pearson | ordered rightly |\n"
    yield "| --- | ---: | ---: | ---: | ---: |\n"
    for each in metric.training_["history"]:
        figures = " | ".join(shown(each.get(key)) for key in ("loss", "pearson", "accuracy"))
        yield f"| {cell(each['stage'])} | {each['step']:,} | {figures} |\n"
