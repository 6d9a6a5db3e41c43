"""Sentences for tests of damage, and their damage under a few seeds."""

from __future__ import annotations

from adequa.damage.apply import damage_text
from adequa.damage.base import Context

SEEDS = range(12)
GREEK = "Alpha beta gamma delta epsilon zeta eta theta iota kappa."
GREEK_WORDS = GREEK.rstrip(".").split()
ENGLISH = "The minister visited the new hospital yesterday."
GERMAN = "Der Minister besuchte gestern das neue Krankenhaus."
OTHER = "Farmers harvested wheat early, because storms were near."
WITH_CORPUS = Context(corpus=(OTHER,))
WITH_SOURCE = Context(source=GERMAN)


def results(
    kind: str, text: str, severity: float = 1.0, context: Context | None = None
) -> set[str]:
    """The damaged texts of all seeds; the kind must apply with each."""
    damaged = [damage_text(text, kind, severity, seed=seed, context=context) for seed in SEEDS]
    assert None not in damaged, f"{kind} does not apply to {text!r}"
    return {text for text in damaged if text is not None}


def not_applicable(kind: str, text: str) -> bool:
    """Whether a kind applies to a text with none of the seeds."""
    return all(damage_text(text, kind, 1.0, seed=seed) is None for seed in SEEDS)
