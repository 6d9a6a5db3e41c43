"""Where systems lose their scores: what is named, and tests whether systems lose differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from adequa.explanation.pieces import Kind, Piece
from adequa.explanation.results import GROUPS, ExplainedSegment, Explanation, losses_of
from adequa.statistics.settings import ComparisonSettings
from adequa.tables import Format


def piece(kind: Kind, cost: float) -> Piece:
    return Piece("300", "500", kind, cost, "major", (0, 3), (0, 3))


def segments(
    system: str, costs: Sequence[float], references: str = "reference", kind: Kind = "number"
) -> list[ExplainedSegment]:
    """Segments of a system with one piece each, which costs so much."""
    return [
        ExplainedSegment(
            system, row, 0.5, 0.5 + cost, "300", f"{references} {row}", 1, 1, (piece(kind, cost),)
        )
        for row, cost in enumerate(costs, 1)
    ]


def explanation_of(explained: Sequence[ExplainedSegment]) -> Explanation:
    return Explanation("chrf", "chrf", True, 2, tuple(explained), total=len(explained))


def many_systems(count: int, length: int) -> list[ExplainedSegment]:
    """Systems that lose alike, but for the first, which loses more in every segment."""
    generator = np.random.default_rng(1)
    costs = generator.random((count, length))
    costs[0] += 5
    return [each for index, row in enumerate(costs) for each in segments(f"s{index}", row.tolist())]


@pytest.mark.parametrize("count", [12, 13, 20])
def test_many_systems_can_differ_significantly(count: int) -> None:
    """There are as many swaps as the correction over all pairs and groups needs."""
    losses = losses_of(many_systems(count, 30))
    significant = {(each.first, each.second) for each in losses.differences if each.is_significant}
    assert significant == {(0, other) for other in range(1, count)}
    assert losses.settings.swap_count >= 2 * len(losses.differences) / 0.05
    assert losses.notes == ()


@pytest.mark.parametrize(
    ("count", "length", "swaps", "sentence"),
    [
        (13, 12, None, "12 explained segments are too few for 546 tests of losses: after Holm's "
         "correction none can be significant at 0.05; explain 15 or more."),
        (13, 30, 9000, "9,000 swaps are too few for 546 tests of losses: after Holm's correction "
         "none can be significant at 0.05; take 10,920 or more."),
        (2, 5, None, "5 explained segments are too few for 7 tests of losses: after Holm's "
         "correction none can be significant at 0.05; explain 9 or more."),
    ],
    ids=["segments", "swaps", "pair"],
)  # fmt: skip
def test_what_can_never_be_significant_is_noted(
    count: int, length: int, swaps: int | None, sentence: str
) -> None:
    explained = many_systems(count, length)
    losses = losses_of(explained, ComparisonSettings(swaps=swaps))
    assert losses.notes == (sentence,)
    assert not any(each.is_significant for each in losses.differences)
    explanation = replace(explanation_of(explained), settings=ComparisonSettings(swaps=swaps))
    assert sentence in "".join(explanation.lines(Format.text))
    assert explanation.to_dict()["notes"] == [sentence]
    # Of the worst segments there are no tests.
    assert replace(explanation, total=10**6).to_dict()["notes"] == []


def test_with_as_many_segments_as_the_note_says_a_difference_can_be_significant() -> None:
    assert losses_of(many_systems(13, 15)).notes == ()
    assert any(each.is_significant for each in losses_of(many_systems(2, 9)).differences)


def test_the_level_and_the_seed_are_those_of_the_settings() -> None:
    generator = np.random.default_rng(2)
    explained = [
        *segments("a", generator.random(12).tolist()),
        *segments("b", (generator.random(12) + 0.5).tolist()),
    ]
    strict, lax = (
        losses_of(explained, ComparisonSettings(alpha=alpha, swaps=5000)) for alpha in (0.001, 0.2)
    )
    assert [each.p for each in strict.differences] == [each.p for each in lax.differences]
    assert not any(each.is_significant for each in strict.differences)
    assert any(each.is_significant for each in lax.differences)
    other = losses_of(explained, ComparisonSettings(swaps=5000, seed=1))
    assert [each.p for each in other.differences] != [each.p for each in lax.differences]


def test_systems_with_other_references_are_not_tested() -> None:
    """Equal numbers do not make the segments of two test sets the same."""
    same = segments("a", [1.0] * 8), segments("b", [2.0] * 8)
    assert len(losses_of([*same[0], *same[1]]).differences) == len(GROUPS)
    others = segments("b", [2.0] * 8, references="other")
    losses = losses_of([*same[0], *others])
    assert (losses.differences, losses.notes) == ((), ())


def test_systems_are_tested_though_other_references_of_a_segment_are_closest() -> None:
    first = [replace(each, reference_count=2) for each in segments("a", [1.0] * 8)]
    second = [
        replace(each, system="b", reference_number=2, reference=f"second {each.segment}")
        for each in first
    ]
    assert losses_of([*first, *second]).differences
    # The second reference of the first system is another text.
    first[0] = replace(first[0], reference_number=2, reference="other")
    assert losses_of([*first, *second]).differences == ()


def test_groups_that_round_to_nothing_are_not_named() -> None:
    pieces = (piece("number", 996.0), piece("omission", 4.0))
    explained = [replace(segments("a", [1.0])[0], pieces=pieces)]
    losses = losses_of(explained)
    assert losses.sentence(0) == "100% numbers and names"
    assert losses.main_groups(0) == [list(GROUPS).index("numbers and names")]
    pieces = (piece("number", 994.0), piece("omission", 6.0))
    losses = losses_of([replace(explained[0], pieces=pieces)])
    assert losses.sentence(0) == "99% numbers and names, 1% omissions"


def test_of_many_systems_the_largest_differences_are_shown() -> None:
    tables = explanation_of(many_systems(20, 30)).loss_tables()
    assert len(list(tables[1].rows)) == 12
    assert tables[1].notes[1] == "the 12 largest differences; --format json has 7 more"
