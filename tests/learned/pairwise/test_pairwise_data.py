"""The data of the pairwise ranker: preferences split and sampled, and texts without repetition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.pairwise.data import (
    TrainingData,
    UniqueTexts,
    check_contradictions,
    sample_references,
    sample_rows,
    split_preferences,
)
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.segments import Segments
from tiny_preferences import texts_of, tiny_preferences


def split(judgements: Preferences, development: tuple[Preferences, ...] = ()) -> TrainingData:
    return split_preferences([judgements], development, 0.1, 0, lambda _: None)


def test_references_of_held_out_preferences_are_not_trained_on() -> None:
    data = split(tiny_preferences(30))
    train, validation = (
        set(texts_of(part)[0].references) for (part,) in (data.train, data.validation)
    )
    assert len(validation) == 3
    assert not train & validation


def test_preferences_that_cannot_be_trained_on() -> None:
    preferences = tiny_preferences(5)
    with pytest.raises(AdequaError, match="holds ratings; a pairwise ranker learns from pref"):
        PairwiseRanker().fit(Ratings(np.array([1.0]), {}, name="wmt16-da"))
    with pytest.raises(AdequaError, match="There are no texts in made-up"):
        split(replace(preferences, better=None, worse=None))
    with pytest.raises(AdequaError, match="no preferences between different texts"):
        split(replace(preferences, worse=preferences.better))
    with pytest.raises(AdequaError, match="no preferences to validate on"):
        split(preferences, (preferences.select([]),))


def test_samples_depend_on_the_seed_alone() -> None:
    preferences = tiny_preferences(30)
    sample = sample_references(preferences, 10, seed=1)
    assert len(sample) == 20
    assert len(sample_rows(sample, 7, seed=2)) == 7
    assert len(sample_rows(sample, 70, seed=2)) == 20
    again = sample_references(preferences, 10, seed=1)
    assert texts_of(sample)[0].hypotheses == texts_of(again)[0].hypotheses


def test_texts_are_collected_once() -> None:
    first = Segments(("a", "b"), (("r", "s"), ("r",)))
    second = Segments(("b", "b"), (("r", "s"), ("r",)))
    texts, rows = UniqueTexts.collect([(first, ["", ""]), (second, ["", ""])])
    assert texts.segments.hypotheses == ("a", "b", "b")  # by other references it is another one
    assert texts.references == ("r", "s")
    assert [each.tolist() for each in rows] == [[0, 1], [2, 1]]
    triples, starts = texts.triples(*rows)
    assert triples.first.tolist() == [0, 0, 1]
    assert triples.second.tolist() == [2, 2, 1]
    assert triples.reference.tolist() == [0, 1, 0]
    assert starts.tolist() == [0, 2]


def test_preferences_that_cancel_out() -> None:
    notes: list[str] = []
    check_contradictions((np.array([0, 1]), np.array([1, 2])), notes.append)
    assert not notes
    check_contradictions((np.array([0, 1, 0]), np.array([1, 0, 1])), notes.append)
    assert notes == ["3 of 3 preferences have an opposite one between the same two texts."]
    with pytest.raises(AdequaError, match="nothing can be learnt from them"):
        check_contradictions((np.array([0, 1]), np.array([1, 0])), notes.append)
