"""Accuracy over the pairs of systems of all language pairs: figures, intervals and tests of it.

That it counts every pair once is held by tests of the tables that show it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.agreement.results import PairAgreement, pooled_accuracy
from adequa.io.score_files import ScoreFile
from adequa.judgements import RatedSystems, Ratings
from adequa.statistics.permutation import Differences
from test_cli import adequa

ACCURACY = Protocol(statistic="accuracy", resamples=200, confidence=0.5)


def part(
    items: int, values: list[float], samples: list[list[float]], swapped: list[float]
) -> PairAgreement:
    """Two metrics on one language pair; `swapped` are differences of the first less the second."""
    apart = np.array([[0.0, values[0] - values[1]], [values[1] - values[0], 0.0]])
    none, given = np.zeros(len(swapped)), np.array(swapped)
    resampled = np.array([[none, given], [-given, none]])
    return PairAgreement(
        "pair",
        items,
        np.array(values),
        np.array(samples),
        Differences(apart, resampled),
        reasons=("", ""),
    )


def test_figures_by_hand() -> None:
    """Three systems make three pairs, two make one: the first weighs three times as much."""
    first = part(3, [1.0, 1 / 3], [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 2 / 3, -1.0])
    second = part(2, [0.0, 1.0], [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]], [1.0, -1.0, 0.0])
    nothing = part(1, [np.nan] * 2, [[np.nan] * 3] * 2, [np.nan] * 3)
    found = pooled_accuracy([first, nothing, second], ACCURACY)
    assert (found.name, found.items) == ("pooled", 6)
    assert found.values == pytest.approx([3 / 4, (1 + 1) / 4])
    # Resamples: 3/4, 1 and 1/4 of the first metric; 1/4, 3/4 and 1/4 of the second.
    assert found.low == pytest.approx(np.quantile([[0.75, 1, 0.25], [0.25, 0.75, 0.25]], 0.25, 1))
    assert found.high == pytest.approx(np.quantile([[0.75, 1, 0.25], [0.25, 0.75, 0.25]], 0.75, 1))
    # Swapped differences are 1/4, 1/4 and -3/4: two of them reach the observed one, 1/4.
    assert found.p_values is not None
    assert found.p_values[0, 1] == pytest.approx((1 + 2) / (1 + 3))
    assert found.p_values[1, 0] == pytest.approx((1 + 3) / (1 + 3))
    assert found.ranks is not None


def judged(counts: dict[str, int], seed: int = 0) -> tuple[RatedSystems, list[ScoreFile]]:
    """So many systems a language pair, and two metrics, of which one is nearer to people."""
    pairs = tuple(pair for pair, count in counts.items() for _ in range(count))
    ids = {"lp": pairs, "system": tuple(f"system {at}" for at in range(len(pairs)))}
    random = np.random.default_rng(seed)
    human = random.normal(size=len(pairs))
    near, far = (human + noise * random.normal(size=len(pairs)) for noise in (0.3, 2.0))
    files = [ScoreFile("near", ids, near), ScoreFile("far", ids, far)]
    return RatedSystems(Ratings(human, ids, name="made")), files


def test_it_is_the_average_where_all_have_as_many_systems() -> None:
    found = evaluate(*judged({"cs-en": 5, "de-en": 5, "fi-en": 5}), ACCURACY)
    assert found.pooled is not None
    for name in ("values", "low", "high", "p_values", "adjusted"):
        of_average, of_pooled = (getattr(of, name) for of in (found.average, found.pooled))
        assert of_pooled == pytest.approx(of_average, nan_ok=True)
    assert found.pooled.undefined_resamples == found.average.undefined_resamples


def test_a_perfect_metric_is_never_above_one() -> None:
    systems, _ = judged({"cs-en": 3, "de-en": 6, "fi-en": 8})
    ids, scores = systems.ratings.ids, systems.ratings.scores
    found = evaluate(systems, [ScoreFile("same", ids, scores)], ACCURACY).pooled
    assert found is not None
    assert (found.values[0], found.low[0], found.high[0]) == (1.0, 1.0, 1.0)


def test_single_systems_only_have_no_figure() -> None:
    found = evaluate(*judged({"cs-en": 1, "de-en": 1}), ACCURACY)
    assert found.pooled is not None
    assert np.isnan(found.pooled.values).all()
    assert found.pooled.reasons == ("it is undefined for cs-en, de-en",) * 2
    assert any(note.startswith("near, pooled: accuracy is undefined") for note in found.notes)


def test_other_statistics_are_not_pooled() -> None:
    found = evaluate(*judged({"cs-en": 5, "de-en": 6}), Protocol(statistic="pearson"))
    assert found.pooled is None
    assert [column.name for column in found.all_columns] == ["cs-en", "de-en", "average"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Ratings of segments by two systems of cs-en and three of de-en, and scores of them."""
    human = {"cs-en": {"a": 1, "b": 2}, "de-en": {"a": 1, "b": 2, "c": 3}}
    metric = {"cs-en": {"a": 2, "b": 1}, "de-en": {"a": 1, "b": 2, "c": 3}}
    paths = tmp_path / "human.tsv", tmp_path / "metric.tsv"
    for path, scores in zip(paths, (human, metric), strict=True):
        rows = [f"{p}\t{s}\t1\t{score}" for p, of in scores.items() for s, score in of.items()]
        path.write_text("\n".join(["lp\tsystem\tsegment\tscore", *rows]) + "\n")
    return paths


def shown(files: tuple[Path, Path], *more: str) -> str:
    settings = ("--level", "system", "--statistic", "accuracy", "--resamples", "50")
    run = adequa("evaluate", files[0], "-m", files[1], *settings, *more)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_every_format_shows_both(files: tuple[Path, Path]) -> None:
    """Of one pair and three pairs of systems, the one is wrong."""
    over = ("--over", "none")
    columns = json.loads(shown(files, "--format", "json"))["columns"]
    figures = {column["name"]: column["figures"][0]["value"] for column in columns}
    assert list(figures.items()) == [
        ("cs-en", 0.0), ("de-en", 1.0), ("average", 0.5), ("pooled", 0.75),
    ]  # fmt: skip
    tsv = [line.split("\t") for line in shown(files, "--format", "tsv").splitlines()]
    assert [row[1:4] for row in tsv[-2:]] == [["average", "5", "0.5"], ["pooled", "5", "0.75"]]
    assert "| 0.500 | 0.750 |" in shown(files, "--format", "markdown", *over)
    assert r"& 0.500 & 0.750 \\" in shown(files, "--format", "latex", *over)
    text = shown(files)
    assert "pooled: over the pairs of systems of all columns together" in text
    # The interval stands beside the average, of which it is.
    header = next(line for line in text.splitlines() if line.startswith("metric"))
    assert header.split() == ["metric", "cs-en", "de-en", "average", "95%", "interval", "pooled"]


def test_one_language_pair_needs_neither(files: tuple[Path, Path]) -> None:
    text = shown(files, "--lp", "de-en")
    assert "pooled" not in text
    assert "average:" not in text
