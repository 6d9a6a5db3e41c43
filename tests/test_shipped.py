"""The metrics that ship, as they ship: laws everywhere, and agreement where there are data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.agreement.damaged_pairs import DamageSettings, good_texts
from adequa.agreement.robustness import robustness
from adequa.datasets.load import load_dataset
from adequa.metrics.registry import SHIPPED_METRICS, load_metric
from adequa.segments import FloatArray, Segments
from judgements import needs_judgements, rated_segments, read_judgements

EXAMPLES = Path(__file__).parent.parent / "examples"
REFERENCES, FLUENT, LITERAL, BROKEN = (
    (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("reference", "fluent", "literal", "broken")
)
METRICS = {name: load_metric(name) for name in SHIPPED_METRICS}  # opened when they first score
each_metric = pytest.mark.parametrize("name", SHIPPED_METRICS)


@dataclass(frozen=True)
class Figures:
    """What the card of a metric says of WMT17, but for what a processor may change."""

    pearson: float  # the average over language pairs
    # Damage that is seen, on 20 texts a kind: overall, critical kinds, and those never trained on.
    damage: tuple[float, float, float]


FIGURES = {
    "adequa": Figures(pearson=0.830, damage=(0.96, 0.97, 0.92)),
    "adequa-fast": Figures(pearson=0.746, damage=(0.94, 0.95, 0.89)),
    "adequa-1": Figures(pearson=0.828, damage=(0.95, 0.97, 0.90)),
}


def scores(name: str, hypotheses: list[str], references: list[str]) -> FloatArray:
    segments = Segments(tuple(hypotheses), tuple((text,) for text in references))
    return METRICS[name].score(segments).segments


@each_metric
def test_better_systems_score_higher(name: str) -> None:
    fluent, literal, broken = (
        scores(name, texts, REFERENCES) for texts in (FLUENT, LITERAL, BROKEN)
    )
    assert fluent.mean() > literal.mean() + 0.1 > broken.mean() + 0.2


@each_metric
def test_the_reference_scores_highest_and_nothing_lowest(name: str) -> None:
    assert (scores(name, REFERENCES, REFERENCES) == 1).all()
    assert (scores(name, ["", " \t"], REFERENCES[:2]) == 0).all()
    others = scores(name, [*FLUENT, *LITERAL, *BROKEN], REFERENCES * 3)
    different = np.array([*FLUENT, *LITERAL, *BROKEN]) != np.array(REFERENCES * 3)
    assert (others > 0).all()
    assert (others[different] < 1).all()


@each_metric
@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(min_size=1, max_size=60).filter(str.strip))
def test_any_text_has_a_score(name: str, hypothesis: str, reference: str) -> None:
    (score,) = scores(name, [hypothesis], [reference])
    assert 0 <= score <= 1
    assert scores(name, [hypothesis], [reference]) == score


@each_metric
@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_neighbours_do_not_matter(name: str, random: np.random.Generator, count: int) -> None:
    texts, references = [*FLUENT, *BROKEN], REFERENCES * 2
    rows = random.sample(range(len(texts)), count)  # type: ignore[attr-defined]
    fresh = load_metric(name)
    some = Segments(tuple(texts[row] for row in rows), tuple((references[row],) for row in rows))
    expected = scores(name, texts, references)[rows]
    assert fresh.score(some).segments.tolist() == expected.tolist()


@each_metric
def test_a_longer_text_scores_as_its_sentences(name: str) -> None:
    """Judgements are of single sentences; what learnt from them alone takes length for a fault."""
    for texts in (FLUENT, LITERAL, BROKEN):
        pairs = [slice(at, at + 2) for at in range(0, len(texts) - 1, 2)]
        single = scores(name, texts, REFERENCES)
        apart = np.array([single[pair].mean() for pair in pairs])
        joined = scores(
            name,
            [" ".join(texts[pair]) for pair in pairs],
            [" ".join(REFERENCES[pair]) for pair in pairs],
        )
        assert np.abs(joined - apart).mean() < 0.1


@each_metric
def test_damage_is_seen_in_the_examples(name: str) -> None:
    texts = Segments(
        tuple(FLUENT), tuple((text,) for text in REFERENCES),
        sources=tuple((EXAMPLES / "source.txt").read_text(encoding="utf-8").splitlines()),
    )  # fmt: skip
    found = robustness(texts, [METRICS[name]], DamageSettings(each=4))
    assert found.overall.figures[0].share >= 0.95


@needs_judgements
@pytest.mark.parametrize("name", FIGURES)
def test_damage_is_seen_on_human_judgements(name: str) -> None:
    found = robustness(
        good_texts(load_dataset("wmt17-da")), [METRICS[name]], DamageSettings(each=20)
    )
    shares = [
        line.figures[0].share for line in (found.overall, found.critical, found.held_out) if line
    ]
    assert np.all(np.array(shares) >= FIGURES[name].damage)


@needs_judgements
@pytest.mark.parametrize("name", FIGURES)
def test_agreement_with_people(name: str) -> None:
    found = {
        pair: np.corrcoef(
            METRICS[name].score(rated_segments(rows)).segments, [r["score"] for r in rows]
        )
        for pair, rows in read_judgements("wmt17-da").items()
    }
    assert len(found) == 7
    assert np.mean([matrix[0, 1] for matrix in found.values()]) >= FIGURES[name].pearson
