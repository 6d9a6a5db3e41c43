"""The metric that ships, as it ships: its laws everywhere, its agreement where there are data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.agreement.damaged_pairs import DamageSettings, good_texts
from adequa.agreement.robustness import robustness
from adequa.datasets.load import load_dataset
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments
from judgements import needs_judgements, rated_segments, read_judgements

EXAMPLES = Path(__file__).parent.parent / "examples"
REFERENCES, FLUENT, LITERAL, BROKEN = (
    (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("reference", "fluent", "literal", "broken")
)
METRIC = load_metric("adequa")  # opened once: its model is ready after the first score


def scores(hypotheses: list[str], references: list[str]) -> FloatArray:
    return METRIC.score(Segments(tuple(hypotheses), tuple((text,) for text in references))).segments


def test_better_systems_score_higher() -> None:
    fluent, literal, broken = (scores(texts, REFERENCES) for texts in (FLUENT, LITERAL, BROKEN))
    assert fluent.mean() > literal.mean() + 0.1 > broken.mean() + 0.2


def test_the_reference_scores_highest_and_nothing_lowest() -> None:
    assert (scores(REFERENCES, REFERENCES) == 1).all()
    assert (scores(["", " \t"], REFERENCES[:2]) == 0).all()
    others = scores([*FLUENT, *LITERAL, *BROKEN], REFERENCES * 3)
    different = np.array([*FLUENT, *LITERAL, *BROKEN]) != np.array(REFERENCES * 3)
    assert (others > 0).all()
    assert (others[different] < 1).all()


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(min_size=1, max_size=60).filter(str.strip))
def test_any_text_has_a_score(hypothesis: str, reference: str) -> None:
    (score,) = scores([hypothesis], [reference])
    assert 0 <= score <= 1
    assert scores([hypothesis], [reference]) == score


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_neighbours_do_not_matter(random: np.random.Generator, count: int) -> None:
    texts, references = [*FLUENT, *BROKEN], REFERENCES * 2
    rows = random.sample(range(len(texts)), count)  # type: ignore[attr-defined]
    fresh = load_metric("adequa")
    some = Segments(tuple(texts[row] for row in rows), tuple((references[row],) for row in rows))
    expected = scores(texts, references)[rows]
    assert fresh.score(some).segments.tolist() == expected.tolist()


def test_a_longer_text_scores_as_its_sentences() -> None:
    """Judgements are of single sentences; what learnt from them alone takes length for a fault."""
    for texts in (FLUENT, LITERAL, BROKEN):
        pairs = [slice(at, at + 2) for at in range(0, len(texts) - 1, 2)]
        single = scores(texts, REFERENCES)
        apart = np.array([single[pair].mean() for pair in pairs])
        joined = scores(
            [" ".join(texts[pair]) for pair in pairs],
            [" ".join(REFERENCES[pair]) for pair in pairs],
        )
        assert np.abs(joined - apart).mean() < 0.1


def test_damage_is_seen_in_the_examples() -> None:
    texts = Segments(
        tuple(FLUENT), tuple((text,) for text in REFERENCES),
        sources=tuple((EXAMPLES / "source.txt").read_text(encoding="utf-8").splitlines()),
    )  # fmt: skip
    found = robustness(texts, [METRIC], DamageSettings(each=4))
    assert found.overall.figures[0].share >= 0.95


@needs_judgements
def test_damage_is_seen_on_human_judgements() -> None:
    """On 20 texts a kind; the card has the figures on more."""
    found = robustness(good_texts(load_dataset("wmt17-da")), [METRIC], DamageSettings(each=20))
    shares = [
        line.figures[0].share for line in (found.overall, found.critical, found.held_out) if line
    ]
    assert shares[0] >= 0.95
    assert shares[1] >= 0.97
    assert shares[2] >= 0.90


@needs_judgements
def test_agreement_with_people() -> None:
    """Pearson on WMT17, the average over pairs: 0.830, but for what a processor may change."""
    found = {
        pair: np.corrcoef(METRIC.score(rated_segments(rows)).segments, [r["score"] for r in rows])
        for pair, rows in read_judgements("wmt17-da").items()
    }
    assert len(found) == 7
    assert np.mean([matrix[0, 1] for matrix in found.values()]) >= 0.828
