"""Rows of pairwise rankers: trained on preferences of WMT13, validated on WMT14, tested on WMT12.

The paper trains on WMT11 and validates on 5,000 examples of WMT13. WMT11 cannot be had, so that a
sample of WMT13 of about the same size takes its place, or all of WMT13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences
from adequa.learned.pairwise.data import sample_references, sample_rows
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.progress import Progress
from adequa.reproduce.models import (
    E5_SMALL,
    GLOVE_6B,
    METEOR_TABLES,
    SPACY,
    specification,
)
from adequa.reproduce.table import Scored, Scores

WMT11 = 24_956  # preferences to learn from: about as many as there are to English in WMT11
# AdaGrad's for some ten epochs, and how many without a higher tau end the training; chosen on
# WMT14, where the paper's 0.01 learns too slowly.
LEARNING_RATE, PATIENCE = 0.1, 10
_MODULES = "exact+stem+synonym+paraphrase"
DRAWN = 1  # the seed by which references are drawn, whatever the seed of a network

# An input by its name, or what names one or several when they are needed: they may be files.
Named: TypeAlias = str | Callable[[], str] | Callable[[], tuple[str, ...]]


def _names(given: Named) -> tuple[str, ...]:
    found = given if isinstance(given, str) else given()
    return (found,) if isinstance(found, str) else found


def glove() -> str:
    """GloVe of 50 dimensions, trained on Wikipedia and Gigaword (WIKI-GW25 of the paper)."""
    return specification("words", GLOVE_6B)


def glove_matched() -> str:
    """Words matched by the same vectors."""
    return specification("word-matching", GLOVE_6B)


def four_metrics() -> tuple[str, ...]:
    """4METRICS, with METEOR as the paper has it: with synonyms and paraphrases."""
    tables = specification("tables", METEOR_TABLES).partition(":")[2]
    return ("sentbleu", "nist", "ter", f"meteor:modules={_MODULES},tables={tables}")


def syntax() -> str:
    """The syntactic vector of 25 numbers: words of GloVe composed over the dependency tree."""
    words = specification("words", GLOVE_6B).partition(":")[2]
    return specification("syntax:spacy", SPACY, f"features=composed,words={words}")


def matching() -> str:
    """Words matched in e5-small."""
    return specification("matching", E5_SMALL, "layers=5+7+9")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A ranker of a table; inputs are named when it is trained, since they may be files."""

    inputs: tuple[Named, ...]
    hidden: int = 4
    loss: str = "logistic"
    rows: int | None = WMT11  # preferences to learn from; None for all of them
    # References of WMT13 to learn from and of WMT14 to validate on, where inputs take long.
    references: tuple[int, int] | None = None
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # further ones of the ranker

    def names(self) -> tuple[str, ...]:
        """The inputs as the command line names them."""
        return tuple(name for each in self.inputs for name in _names(each))

    def trained(self, training: Progress) -> PairwiseRanker:
        """The ranker, trained."""
        ranker = PairwiseRanker(
            inputs=self.names(),
            hidden=self.hidden,
            loss=self.loss,  # type: ignore[arg-type]  # checked when it is fitted
            seed=self.seed,
            name="pairwise-ranker",
            **self.settings,
        )
        few, some = self.references or (None, None)
        learnt = usable("wmt13-rr", few)
        if self.rows is not None:
            learnt = sample_rows(learnt, self.rows, self.seed)
        return ranker.fit(learnt, training, [usable("wmt14-rr", some)])


@cache
def preferences(name: str) -> Preferences:
    """The preferences of a dataset."""
    found = load_dataset(name)
    if not isinstance(found, Preferences):
        raise AdequaError(f"{name} holds no preferences.")
    return found


def usable(name: str, references: int | None = None) -> Preferences:
    """Preferences of a dataset between different texts, of all or so many of its references."""
    found = preferences(name)
    if references is not None:
        found = sample_references(found, references, DRAWN)
    return found.without_identical()


def pairwise(*inputs: Named, hidden: int = 4, loss: str = "logistic", **further: Any) -> Scores:
    """How a ranker decides the preferences of a table: the probabilities of both outcomes."""
    named = {key: further.pop(key) for key in ("rows", "references", "seed") if key in further}
    recipe = Recipe(inputs, hidden, loss, settings=further, **named)

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        if not isinstance(judgements, Preferences):
            raise AdequaError("A pairwise ranker decides preferences, and these are none.")
        training = Progress(
            stage=progress.stage,
            step=progress.step,
            scored=progress.scored,
            status=progress.status,
        )
        ranker = recipe.trained(training)
        better = ranker.decide_preferences(judgements, training)
        return Scored(np.column_stack([better, 1 - better]), _settings(ranker, recipe))

    return scored


def _settings(ranker: PairwiseRanker, recipe: Recipe) -> str:
    fields = [(k, v) for k, v in ranker.signature_fields() if k not in {"weights", "version"}]
    fields += [(key, str(value)) for key, value in recipe.settings.items()]
    facts = ranker.training_
    fields += [
        ("data", f"{facts['rows']:,} of wmt13-rr"),
        ("validated", f"{ranker.agreement_['held_out_rows']:,} of wmt14-rr"),
        ("seed", str(recipe.seed)),
    ]
    line = "|".join([ranker.name, *(f"{key}:{value}" for key, value in fields)])
    tau = 100 * ranker.agreement_["tau"]
    return f"{line}; chosen {ranker.chosen_epoch.removesuffix(',')}, tau {tau:.2f} there"
