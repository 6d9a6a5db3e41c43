"""Laws that every metric keeps: best for identical text, no matter the order, batch or company."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.metrics.registry import METRICS, load_metric, metric_class, settings_of
from adequa.segments import Segments

WHOLE_CORPUS = {"nist"}  # its weights come from the whole corpus, so a segment is not alone
# Trained ones keep the laws up to the rounding of their networks, and have tests of their own.
NAMES = sorted(name for name, entry in METRICS.items() if not entry.is_trained)
METRIC = {name: load_metric(name) for name in NAMES}

WORDS = st.sampled_from(
    [
        "the",
        "cat",
        "cats",
        "sat",
        "on",
        "a",
        "mat",
        ",",
        ".",
        "U.S.",
        "don't",
        "3,5",
        "Straße",
        "猫",
        "and",
        "run",
        "running",
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
WILD = st.text(max_size=30)
REFERENCES = st.lists(TEXT, min_size=1, max_size=3).map(tuple)


@st.composite
def corpora(draw: st.DrawFn, least: int = 1, references: Any = REFERENCES) -> Segments:
    size = draw(st.integers(least, 6))
    return Segments(
        tuple(draw(st.one_of(TEXT, WILD, st.just(""))) for _ in range(size)),
        tuple(draw(references) for _ in range(size)),
    )


def usable(metric: Metric, segments: Segments) -> Segments:
    """The segments with as many references as the metric takes."""
    if metric.max_references is None:
        return segments
    kept = tuple(references[: metric.max_references] for references in segments.references)
    return Segments(segments.hypotheses, kept)


def best(metric: Metric) -> float:
    return metric.range[1] if metric.higher_is_better else metric.range[0]


@pytest.mark.parametrize("name", sorted(set(NAMES) - WHOLE_CORPUS))
@settings(max_examples=60)
@given(texts=st.lists(TEXT, min_size=1, max_size=5))
def test_identical_text_gets_the_best_segment_score(name: str, texts: list[str]) -> None:
    metric = METRIC[name]
    scores = metric.compute_scores(Segments(tuple(texts), tuple((text,) for text in texts)))
    np.testing.assert_allclose(scores.segments, best(metric), atol=1e-9)


@pytest.mark.parametrize("name", sorted(set(NAMES) - WHOLE_CORPUS))
@settings(max_examples=30)
@given(texts=st.lists(st.lists(WORDS, min_size=6, max_size=12).map(" ".join), min_size=1))
def test_identical_text_gets_the_best_system_score(name: str, texts: list[str]) -> None:
    """Corpus BLEU needs four words in a row for its highest order, hence the longer text."""
    metric = METRIC[name]
    system = metric.compute_scores(Segments(tuple(texts), tuple((text,) for text in texts))).system
    assert system == pytest.approx(best(metric), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(data=st.data(), segments=corpora())
def test_order_of_segments_does_not_matter(
    name: str, data: st.DataObject, segments: Segments
) -> None:
    metric = METRIC[name]
    segments = usable(metric, segments)
    order = data.draw(st.permutations(range(len(segments))))
    scores, shuffled = (
        metric.compute_scores(segments),
        metric.compute_scores(segments.select(order)),
    )
    np.testing.assert_allclose(shuffled.segments, scores.segments[order], atol=1e-9)
    assert shuffled.system == pytest.approx(scores.system, abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(NAMES) - WHOLE_CORPUS))
@settings(max_examples=40)
@given(segments=corpora())
def test_a_batch_equals_one_by_one(name: str, segments: Segments) -> None:
    metric = METRIC[name]
    segments = usable(metric, segments)
    together = metric.compute_scores(segments)
    alone = [metric.compute_scores(segments.select([row])) for row in range(len(segments))]
    np.testing.assert_allclose([one.segments[0] for one in alone], together.segments, atol=1e-9)
    np.testing.assert_allclose(
        sum(one.statistics[0] for one in alone), together.statistics.sum(axis=0), atol=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(segments=corpora())
def test_scores_are_finite_and_in_range(name: str, segments: Segments) -> None:
    metric = METRIC[name]
    scores = metric.compute_scores(usable(metric, segments))
    low, high = metric.range
    for score in (*scores.segments.tolist(), scores.system):
        assert math.isfinite(score)
        assert low - 1e-9 <= score <= high + 1e-9


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(segments=corpora(least=2))
def test_statistics_add_up_to_any_selection(name: str, segments: Segments) -> None:
    """Resampling is a matrix product: rows of weights times statistics."""
    metric = METRIC[name]
    segments = usable(metric, segments)
    scores = metric.compute_scores(segments)
    everything = np.ones((1, len(segments)))
    assert metric.system_scores(everything @ scores.statistics)[0] == pytest.approx(scores.system)
    if name not in WHOLE_CORPUS:
        first = np.zeros((1, len(segments)))
        first[0, 0] = 1
        alone = metric.compute_scores(segments.select([0])).system
        assert metric.system_scores(first @ scores.statistics)[0] == pytest.approx(alone)


@pytest.mark.parametrize("name", NAMES)
def test_the_registry_tells_the_truth(name: str) -> None:
    found = metric_class(name)
    assert found.name == name
    assert found.range[0] < found.range[1]
    assert isinstance(found.higher_is_better, bool)
    assert found.__doc__
    for setting in settings_of(found):  # a metric never changes after it has signed a score
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(METRIC[name], setting, None)


# A second value for each setting that is a word or has no default.
OTHER_WORD: dict[str, object] = {
    "tokenize": "intl",
    "smooth_method": "floor",
    "smooth_value": 0.001,
    "modules": "exact",
    "normalize": "lc_only",
}
# Where the tables are does not change a score; what is in them does, and has its own tests.
NOT_SIGNED = {("meteor", "tables")}


def other(name: str, setting: str, default: object) -> object:
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    if isinstance(default, float):
        return default / 2
    return OTHER_WORD[setting]


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_signed(name: str) -> None:
    plain = str(METRIC[name].signature(1))
    for setting, default in settings_of(metric_class(name)).items():
        if (name, setting) in NOT_SIGNED:
            continue
        changed = load_metric(name, **{setting: other(name, setting, default)})
        assert str(changed.signature(1)) != plain, setting


def test_close_smoothing_values_are_told_apart() -> None:
    """sacreBLEU's signature rounds them to two decimals."""
    first = load_metric("bleu:smooth_method=floor,smooth_value=0.001").signature(1)
    second = load_metric("bleu:smooth_method=floor,smooth_value=0.002").signature(1)
    assert first != second


def test_no_segments_is_an_error() -> None:
    with pytest.raises(AdequaError, match="There are no segments for bleu to score."):
        METRIC["bleu"].score(Segments((), ()))


def test_too_many_references_are_refused() -> None:
    segments = Segments(("a",), (("a", "b"),))
    with pytest.raises(AdequaError, match="character is defined for 1 reference a segment, not 2."):
        METRIC["character"].score(segments)
