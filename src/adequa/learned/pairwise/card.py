"""The card of a pairwise ranker, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adequa.learned.cards import cell, shown
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.pairwise.metric import PairwiseRanker


def pairwise_card(metric: PairwiseRanker) -> str:
    """A card in Markdown."""
    return "".join(_parts(metric))


def _parts(metric: PairwiseRanker) -> Iterator[str]:
    facts, settings = metric.training_, metric.settings()
    yield f"# {metric.name}\n\nA pairwise neural ranker: which of two hypotheses is better, given "
    yield f"a reference. Trained with adequa {__version__}.\n"
    yield "\n## Use\n\n```sh\nadequa rank -m FOLDER -t a.txt -t b.txt -r reference.txt\n```\n"
    yield "\nA score is how likely a hypothesis wins against the others of its segment, from 0 to "
    yield "1. Inputs that are files are found where they were when the ranker was trained; where "
    yield "the first lies elsewhere, say so: `-m FOLDER:input1=PATH`, and so on.\n"
    yield "\n## Inputs\n\n| input | numbers | used as |\n| --- | ---: | --- |\n"
    for fact, each in zip(settings["inputs"], metric.named.inputs, strict=True):
        use = "scores" if each in metric.named.scores else "vectors"
        yield f"| {cell(fact['name'])} | {fact['numbers']:,} | {use} |\n"
    yield f"\n## Training data\n\n{facts['rows']:,} preferences: "
    yield f"{facts['data'] or 'a file without a name'}.\n"
    if len(facts["rows_by_language_pair"]) > 1:
        yield "\n| language pair | preferences |\n| --- | ---: |\n"
        yield from (f"| {cell(k)} | {n:,} |\n" for k, n in facts["rows_by_language_pair"].items())
    yield "\n## Settings\n\n| setting | value |\n| --- | --- |\n"
    for key, value in settings.items():
        if key != "inputs":
            yield f"| {key} | {value} |\n"
    yield "\n## Agreement with people while training\n\n"
    yield f"On {metric.agreement_['held_out_rows']:,} preferences of {facts['validated_on']}, by "
    yield "which the epoch was chosen, so that the figures are a little too good. Strict Kendall's "
    yield f"tau: {shown(metric.agreement_['tau'])}.\n"
    by_pair = metric.agreement_["by_language_pair"]
    if len(by_pair) > 1:
        yield "\n| language pair | preferences | tau |\n| --- | ---: | ---: |\n"
        for pair, figures in by_pair.items():
            yield f"| {cell(pair)} | {figures['rows']:,} | {shown(figures['tau'])} |\n"
