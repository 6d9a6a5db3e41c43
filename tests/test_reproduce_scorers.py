"""Metrics that are trained for a table: on which ratings, on which not, and with which encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings, joined
from adequa.learned.base import LearnedMetric
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.reproduce import scorers
from adequa.reproduce.scorers import leave_one_pair_out, load_encoder, trained_on
from adequa.segments import FloatArray, Segments
from judgements import needs_judgements
from tiny_encoders import write_words


class Spy(LearnedMetric):
    """Remembers what it was trained on; its score is the number of the segments beside."""

    kind = "spy"
    name = "spy"

    def __init__(self, seen: list[Ratings]) -> None:
        self.seen = seen
        self.training_ = {"chosen": {"C": 0.5, "epoch": 3}}

    def fit(self, ratings: Any, training: Progress = NO_PROGRESS) -> Spy:
        training.stage("Fitting")
        self.seen.append(ratings)
        return self

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        return np.full(len(segments), float(len(segments)))

    def settings(self) -> dict[str, Any]:
        return {"seed": 7, "encoder": "a path"}

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return ("encoder", "tiny"), ("weights", "unsaved"), ("version", "1")

    def arrays(self) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def card(self) -> str:
        raise NotImplementedError

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> Spy:
        raise NotImplementedError


def rated(name: str, *pairs: str) -> Ratings:
    count = len(pairs)
    segments = Segments(
        tuple(f"{name} {row}" for row in range(count)), tuple(("reference",) for _ in range(count))
    )
    return Ratings(np.arange(float(count)), {"lp": pairs}, segments, name=name)


TESTED = rated("table", "cs-en", "de-en", "cs-en", "ru-en", "de-en", "cs-en")


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> dict[str, Ratings]:
    datasets = {name: rated(name, "cs-en", "fi-en") for name in ("one", "two")}
    monkeypatch.setattr(scorers, "load_dataset", datasets.__getitem__)
    return datasets


def hypotheses(ratings: Ratings) -> list[str]:
    assert ratings.segments is not None
    return list(ratings.segments.hypotheses)


@pytest.mark.usefixtures("beside")
def test_all_ratings_but_those_of_the_tested_pair() -> None:
    seen: list[Ratings] = []
    stages: list[str] = []
    scored = leave_one_pair_out(lambda: Spy(seen), others=("one",))(
        TESTED, Progress(stage=stages.append)
    )
    # The pair's ratings of other datasets are trained on: those are other years.
    assert [hypotheses(ratings) for ratings in seen] == [
        ["one 0", "one 1", *(f"table {row}" for row in rows)]
        for rows in ((1, 3, 4), (0, 2, 3, 5), (0, 1, 2, 4, 5))
    ]
    assert [ratings.name for ratings in seen] == ["one + table"] * 3
    assert stages == [f"Fitting for {pair}" for pair in ("cs-en", "de-en", "ru-en")]
    # Each pair was scored as a corpus of its own, and every score is in its row.
    assert scored.scores.tolist() == [3, 2, 3, 1, 2, 3]
    assert scored.settings == (
        "spy|encoder:tiny|seed:7; chosen cs-en C 0.5, epoch 3; de-en C 0.5, epoch 3;"
        " ru-en C 0.5, epoch 3"
    )


@pytest.mark.usefixtures("beside")
def test_whole_datasets_once() -> None:
    seen: list[Ratings] = []
    scored = trained_on(lambda: Spy(seen), datasets=("one", "two"))(TESTED, NO_PROGRESS)
    (ratings,) = seen
    assert hypotheses(ratings) == ["one 0", "one 1", "two 0", "two 1"]
    assert ratings.ids["dataset"] == ("one", "one", "two", "two")
    assert scored.scores.tolist() == [3, 2, 3, 1, 2, 3]
    assert scored.settings == "spy|encoder:tiny|seed:7; chosen C 0.5, epoch 3"


def test_preferences_and_ratings_without_texts(beside: dict[str, Ratings]) -> None:
    preferences = Preferences({"better_system": ("a",), "worse_system": ("b",)})
    for scores in (leave_one_pair_out(lambda: Spy([]), ()), trained_on(lambda: Spy([]), ())):
        with pytest.raises(AdequaError, match="Only ratings of segments"):
            scores(preferences, NO_PROGRESS)
    without = Ratings(np.arange(2.0), {"lp": ("cs-en", "de-en")}, name="bare")
    with pytest.raises(AdequaError, match="bare has no texts to score"):
        trained_on(lambda: Spy([]), ("one",))(without, NO_PROGRESS)


def test_ratings_of_several_datasets_as_one() -> None:
    one, two = rated("one", "cs-en", "de-en"), rated("two", "cs-en")
    assert one.segments is not None
    with_ids = replace(one.segments, sources=("a", "b"), ids={"system": ("x", "y")})
    both = joined([replace(one, segments=with_ids), two])
    assert hypotheses(both) == ["one 0", "one 1", "two 0"]
    assert both.segments is not None
    assert both.segments.sources is None  # not all of them have one
    assert both.ids == {"lp": ("cs-en", "de-en", "cs-en"), "dataset": ("one", "one", "two")}
    assert both.scores.tolist() == [0, 1, 0]
    assert joined([one, replace(two, segments=None)]).segments is None


@needs_judgements
def test_sizes_of_the_svr_paper() -> None:
    """§4.1: 2,000 ratings of 2015 and five of six pairs of 2016, 560 each."""
    seen: list[Ratings] = []
    tested = load_dataset("wmt16-da")
    assert isinstance(tested, Ratings)
    leave_one_pair_out(lambda: Spy(seen), others=("wmt15-da",))(tested, NO_PROGRESS)
    assert [len(ratings) for ratings in seen] == [4800] * 6
    for ratings, pair in zip(seen, dict.fromkeys(tested.ids["lp"]), strict=True):
        rows = zip(ratings.ids["dataset"], ratings.ids["lp"], strict=True)
        assert ("wmt16-da", pair) not in set(rows)


def test_models_are_in_the_folder_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    glove = ("published.txt", "short/words.txt")
    monkeypatch.delenv("ADEQUA_MODELS", raising=False)
    with pytest.raises(AdequaError) as caught:
        load_encoder("words", glove)
    assert str(caught.value) == (
        "This row is measured with published.txt: name the folder that holds it in the "
        "environment variable ADEQUA_MODELS."
    )
    monkeypatch.setenv("ADEQUA_MODELS", str(tmp_path))
    with pytest.raises(AdequaError) as caught:
        load_encoder("words", glove)
    assert f"There is no published.txt in {tmp_path}" in str(caught.value)
    (tmp_path / "short").mkdir()
    write_words(tmp_path / "short" / "words.txt", ["The cat"])
    assert load_encoder("words", glove).name == "words.txt.mean"
    write_words(tmp_path / "published.txt", ["The dog"])
    published = load_encoder("words", glove, settings="lowercase=false")
    assert str(tmp_path / "published.txt") in published.specification
    assert "lowercase=false" in published.specification
    both = load_encoder("words", glove, ("short/words.txt",))
    assert (both.name, both.dimension) == ("published.txt.mean+words.txt.mean", 6)
