"""Agreement with ratings and preferences, against scipy and sums worked out straight."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import adequa
from adequa import load_metric, score
from adequa.agreement.damaged_pairs import DamageSettings
from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol, completed
from adequa.agreement.results import Agreement
from adequa.agreement.robustness import robustness
from adequa.agreement.score_differences import differences
from adequa.agreement.selection import (
    Selection,
    with_ids,
    without_outliers,
    without_references,
    without_systems,
)
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import FileRows, Preferences, RatedSystems, Ratings
from adequa.segments import Segments
from adequa.tables import Result

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "quickly", "today"]


def sentences(count: int, seed: int) -> tuple[str, ...]:
    random = np.random.default_rng(seed)
    return tuple(" ".join(random.choice(WORDS, size=random.integers(4, 9))) for _ in range(count))


def ratings(
    segments: int = 12, systems: int = 4, pairs: tuple[str, ...] = ("cs-en", "de-en")
) -> Ratings:
    """Every system's output of every segment, rated at random."""
    rows = [(p, f"s{s}", str(g)) for p in pairs for s in range(systems) for g in range(segments)]
    references = sentences(segments, seed=1)
    texts = Segments(
        hypotheses=sentences(len(rows), seed=2),
        references=tuple((references[int(segment)],) for _, _, segment in rows),
    )
    lp, system, segment = zip(*rows, strict=True)
    human = np.random.default_rng(3).normal(size=len(rows)).round(1)
    return Ratings(human, {"lp": lp, "system": system, "segment": segment}, texts)


def quick(**settings: object) -> Protocol:
    return Protocol(resamples=50, **settings)  # type: ignore[arg-type]


def test_there_are_swaps_enough_to_tell_many_metrics_apart(tmp_path: Path) -> None:
    judged = ratings(segments=60, pairs=("cs-en",))
    noise = np.random.default_rng(0).normal(size=(9, len(judged))) * np.arange(9)[:, None]
    paths = [
        write(tmp_path / f"m{k}.txt", "".join(f"{s}\n" for s in judged.scores + noise[k]))
        for k in range(9)
    ]
    found = evaluate(judged, paths, quick())
    assert found.protocol.swaps == 2 * (9 * 8 * 20 - 1)
    assert found.average.adjusted is not None
    assert found.average.adjusted[0, 8] <= 0.05
    assert not found.notes
    few = evaluate(judged, paths, quick(swaps=1000))
    assert few.average.ranks is not None
    assert set(few.average.ranks.tolist()) == {1}
    assert "1,000 swaps are too few to tell any of 9 metrics apart" in few.notes[0]


def scores_of(judged: Ratings, metric: str) -> np.ndarray:
    assert judged.segments is not None
    return load_metric(metric).score(judged.segments).segments


@pytest.mark.parametrize(
    ("statistic", "oracle"),
    [
        ("pearson", lambda h, m: stats.pearsonr(h, m)[0]),
        ("spearman", lambda h, m: stats.spearmanr(h, m)[0]),
        ("kendall-b", lambda h, m: stats.kendalltau(h, m)[0]),
        ("kendall-c", lambda h, m: stats.kendalltau(h, m, variant="c")[0]),
    ],
)
def test_pooled_correlations_are_scipys_by_pair_and_on_average(
    statistic: str, oracle: Callable[[np.ndarray, np.ndarray], float]
) -> None:
    judged = ratings()
    found = evaluate(judged, ["chrf", "ter"], quick(statistic=statistic))
    assert [column.name for column in found.columns] == ["cs-en", "de-en"]
    lp = np.array(judged.ids["lp"])
    for k, (metric, sign) in enumerate([("chrf", 1), ("ter", -1)]):
        expected = [
            sign * oracle(judged.scores[lp == pair], scores_of(judged, metric)[lp == pair])
            for pair in ("cs-en", "de-en")
        ]
        assert [c.values[k] for c in found.columns] == pytest.approx(expected)
        assert found.average.values[k] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("average", ["segment", "system"])
@pytest.mark.parametrize("statistic", ["pearson", "kendall-b"])
def test_averages_by_group_are_means_over_groups(average: str, statistic: str) -> None:
    judged = ratings(pairs=("cs-en",))
    oracle = {"pearson": stats.pearsonr, "kendall-b": stats.kendalltau}[statistic]
    scores, groups = scores_of(judged, "chrf"), np.array(judged.ids[average])
    of_groups = [oracle(judged.scores[groups == g], scores[groups == g])[0] for g in set(groups)]
    for over in ("segments", "systems", "both"):
        found = evaluate(judged, ["chrf"], quick(statistic=statistic, average=average, over=over))
        assert found.average.values[0] == pytest.approx(np.nanmean(of_groups))
        assert found.average.low[0] < found.average.values[0] < found.average.high[0]


def brute_force_accuracy(
    human: np.ndarray, metric: np.ndarray, groups: np.ndarray, epsilon: float
) -> float:
    of_groups = []
    for group in set(groups):
        h, m = human[groups == group], metric[groups == group]
        right = [
            (abs(m[i] - m[j]) <= epsilon) == (h[i] == h[j])
            and (h[i] == h[j] or (m[i] - m[j]) * (h[i] - h[j]) > 0)
            for i in range(len(h))
            for j in range(i)
        ]
        of_groups.append(np.mean(right))
    return float(np.mean(of_groups))


def test_accuracy_with_ties_is_the_best_of_all_thresholds() -> None:
    judged = ratings(segments=6, pairs=("cs-en",))
    metric, groups = scores_of(judged, "chrf"), np.array(judged.ids["segment"])
    found = evaluate(judged, ["chrf"], quick(statistic="acc-eq"))
    thresholds = {0.0} | {abs(a - b) for a in metric for b in metric}
    best = max(brute_force_accuracy(judged.scores, metric, groups, e) for e in thresholds)
    assert found.average.values[0] == pytest.approx(best)
    assert found.average.thresholds is not None
    epsilon = found.average.thresholds[0]
    assert brute_force_accuracy(judged.scores, metric, groups, epsilon) == pytest.approx(best)


def preferences() -> Preferences:
    """Four preferences: chrF shares two, opposes one and cannot tell the last."""
    reference = (("a b c d e f",),) * 4
    return Preferences(
        {"lp": ("cs-en",) * 4, "segment": ("1", "1", "2", "3")},
        better=Segments(("a b c d e f", "a b c d", "x", "a b"), reference),
        worse=Segments(("a b c d", "a b", "a b c", "a b"), reference),
    )


@pytest.mark.parametrize(
    ("statistic", "tau"),
    [("tau-wmt12", 0 / 4), ("tau-wmt13", 1 / 3), ("tau-wmt14", 1 / 4), ("tau-darr", 0 / 4)],
)
def test_taus_of_preferences_by_hand(statistic: str, tau: float) -> None:
    found = evaluate(preferences(), ["chrf"], quick(statistic=statistic))
    assert found.average.values[0] == pytest.approx(tau)


def test_taus_averaged_by_segment_by_hand() -> None:
    found = evaluate(preferences(), ["chrf"], quick(statistic="tau-wmt14", average="segment"))
    assert found.average.values[0] == pytest.approx((1 - 1 + 0) / 3)


def test_ratings_far_enough_apart_become_preferences() -> None:
    judged = Ratings(
        np.array([90.0, 60.0, 40.0, 80.0, 70.0]),
        {"lp": ("cs-en",) * 5, "segment": ("1", "1", "1", "2", "2")},
        Segments(("a b c d", "a b", "a b c", "a", "b"), (("a b c d",),) * 5),
    )
    # Segment 1: 90 beats 60 and 40, rightly; 60 and 40 are 20 apart. Segment 2: 10 apart.
    found = evaluate(judged, ["chrf"], quick(statistic="tau-darr"))
    assert (found.average.values[0], found.average.items) == (1.0, 2)
    found = evaluate(judged, ["chrf"], quick(statistic="tau-darr", min_difference=20))
    assert (found.average.values[0], found.average.items) == (pytest.approx(1 / 3), 3)
    with pytest.raises(AdequaError, match="differ by 1000 or more"):
        evaluate(judged, ["chrf"], quick(statistic="tau-darr", min_difference=1000))


def rated_systems() -> RatedSystems:
    judged = ratings(pairs=("cs-en",))
    assert judged.segments is not None
    outputs = replace(judged.segments, ids=judged.ids)
    names = ("s0", "s1", "s2", "s3")
    human = Ratings(np.array([0.3, 0.1, 0.4, -0.2]), {"lp": ("cs-en",) * 4, "system": names})
    return RatedSystems(human, outputs)


def test_systems_are_scored_as_the_metric_scores_a_corpus() -> None:
    judged = rated_systems()
    assert judged.outputs is not None
    found = evaluate(judged, ["bleu", "nist"], quick())
    for k, metric in enumerate(["bleu", "nist"]):
        of_system = []
        for system in judged.ratings.ids["system"]:
            rows = [r for r, s in enumerate(judged.outputs.ids["system"]) if s == system]
            part = judged.outputs.select(rows)
            of_system.append(score(part.hypotheses, part.references, metric=metric).system)
        assert found.points[0].metrics[k] == pytest.approx(of_system)
        expected = stats.pearsonr(judged.ratings.scores, of_system)[0]
        assert found.average.values[k] == pytest.approx(expected)


@pytest.mark.parametrize("test", ["systems", "both", "inputs", "williams", "none"])
@pytest.mark.parametrize("over", ["both", "segments", "systems", "none"])
def test_system_level_on_ratings(test: str, over: str) -> None:
    judged = ratings(pairs=("cs-en",))
    found = evaluate(judged, ["sentbleu", "character"], quick(level="system", test=test, over=over))
    human = [judged.scores[np.array(judged.ids["system"]) == f"s{s}"].mean() for s in range(4)]
    assert found.points[0].human == pytest.approx(np.array(human))
    assert np.isnan(found.average.low[0]) == (over == "none")
    assert (found.average.ranks is None) == (test == "none")


def test_segments_are_not_swapped_where_the_system_score_is_no_mean() -> None:
    with pytest.raises(AdequaError, match="bleu is not the mean of its segment scores"):
        evaluate(ratings(), ["bleu", "chrf"], quick(level="system", test="both"))


def test_pairwise_and_soft_pairwise_accuracy_of_a_metric_that_is_the_human_score(
    tmp_path: Path,
) -> None:
    judged = ratings(pairs=("cs-en",))
    path = tmp_path / "people.txt"
    path.write_text("".join(f"{s}\n" for s in judged.scores))
    for statistic in ("accuracy", "spa", "kendall-b"):
        found = evaluate(judged, [str(path)], quick(level="system", statistic=statistic))
        assert found.average.values[0] == pytest.approx(1.0)


@pytest.mark.parametrize("human", ["expected-wins", "trueskill"])
def test_systems_ranked_by_preferences(human: str) -> None:
    count = 30
    judged = Preferences(
        {
            "lp": ("cs-en",) * count,
            "segment": tuple(map(str, range(count))),
            "better_system": ("a", "a", "b") * 10,
            "worse_system": ("b", "c", "c") * 10,
        },
        better=Segments(("w x y z", "w x y z", "w x") * 10, (("w x y z",),) * count),
        worse=Segments(("w x", "q", "q") * 10, (("w x y z",),) * count),
    )
    found = evaluate(judged, ["chrf"], quick(level="system", statistic="spearman", human=human))
    assert found.points[0].human is not None
    assert list(np.argsort(-found.points[0].human)) == [0, 1, 2]
    assert found.average.values[0] == pytest.approx(1.0)


def test_outputs_of_several_systems_count_for_each() -> None:
    judged = Ratings(
        np.array([1.0, 0.0, 0.5, 0.2]),
        {"lp": ("cs-en",) * 4, "system": ("A", "B", "A+B", "C"), "segment": ("1", "1", "2", "2")},
        Segments(("a b c", "a", "a b", "b"), (("a b c",),) * 4),
    )
    found = evaluate(judged, ["chrf"], quick(level="system"))
    assert found.points[0].human == pytest.approx(np.array([0.75, 0.25, 0.2]))


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    judged = ratings()

    def low(seed: int) -> np.ndarray:
        return evaluate(judged, ["chrf", "wer"], quick(seed=seed)).average.low

    assert low(1).tolist() == low(1).tolist()
    assert low(1).tolist() != low(2).tolist()


def test_a_language_pair_has_the_same_interval_whatever_else_is_evaluated() -> None:
    judged = ratings()
    alone = evaluate(with_ids(judged, "lp", ["de-en"]), ["chrf"], quick())
    together = evaluate(judged, ["chrf"], quick())
    assert alone.columns[0].low == pytest.approx(together.columns[1].low)


def test_a_better_metric_ranks_first(tmp_path: Path) -> None:
    judged = ratings(segments=60)
    good = judged.scores + np.random.default_rng(0).normal(scale=0.3, size=len(judged))
    path = tmp_path / "good.txt"
    path.write_text("".join(f"{s}\n" for s in good))
    for statistic in ("pearson", "spearman", "kendall-b", "acc-eq"):
        found = evaluate(judged, ["chrf", str(path)], quick(statistic=statistic))
        assert found.order == [1, 0]
        assert found.average.ranks is not None
        assert found.average.ranks.tolist() == [2, 1]


# What has no value has a reason.


def constant(path: Path, count: int) -> str:
    path.write_text("1\n" * count)
    return str(path)


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall-b", "kendall-c"])
@pytest.mark.parametrize("average", ["pooled", "segment", "system"])
def test_constant_scores_are_undefined_with_a_reason(
    statistic: str, average: str, tmp_path: Path
) -> None:
    judged = ratings()
    metrics = [constant(tmp_path / "constant.txt", len(judged)), "chrf"]
    found = evaluate(judged, metrics, quick(statistic=statistic, average=average))
    assert np.isnan(found.average.values[0])
    assert not np.isnan(found.average.values[1])
    assert "undefined" in found.average.reasons[0]
    assert found.columns[0].reasons[0]
    assert found.order == [1, 0]


def test_all_ties_are_undefined_where_ties_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "constant.tsv"
    path.write_text("1\t1\n" * 4)
    judged = preferences()
    found = evaluate(judged, [str(path)], quick(statistic="tau-wmt13"))
    assert np.isnan(found.average.values[0])
    assert "same score" in found.average.reasons[0]
    assert evaluate(judged, [str(path)], quick(statistic="tau-wmt12")).average.values[0] == -1


@pytest.mark.parametrize("level", ["segment", "system"])
@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall-b", "kendall-c"])
def test_one_system_and_one_segment_are_undefined_with_a_reason(level: str, statistic: str) -> None:
    judged = ratings(segments=1, systems=1, pairs=("cs-en",))
    found = evaluate(judged, ["chrf", "wer"], quick(level=level, statistic=statistic))
    assert np.isnan(found.average.values).all()
    assert all("fewer than two" in reason for reason in found.average.reasons)


@pytest.mark.parametrize("statistic", ["accuracy", "spa"])
def test_one_system_has_no_pair(statistic: str) -> None:
    judged = ratings(systems=1, pairs=("cs-en",))
    found = evaluate(judged, ["chrf", "wer"], quick(level="system", statistic=statistic))
    assert np.isnan(found.average.values).all()
    assert all(found.average.reasons)


def test_people_who_gave_one_score_to_all() -> None:
    judged = ratings(pairs=("cs-en",))
    same = Ratings(np.ones(len(judged)), judged.ids, judged.segments)
    found = evaluate(same, ["chrf"], quick())
    assert found.average.reasons == ("people gave every item the same score",)


@pytest.mark.parametrize("written", ["nan", "inf", "-inf"])
def test_scores_that_are_no_numbers_are_refused(written: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.txt"
    path.write_text("1\n" * 5 + f"{written}\n" + "1\n" * 90)
    with pytest.raises(AdequaError, match="line 6"):
        evaluate(ratings(), [str(path)], quick())


# Files of scores.


def test_scores_by_ids_in_any_order_equal_the_metric(tmp_path: Path) -> None:
    judged = ratings()
    rows = list(zip(*judged.ids.values(), scores_of(judged, "ter").tolist(), strict=True))
    path = tmp_path / "by-ids.tsv"
    lines = ["\t".join(map(str, (lp, sy, se, sc))) for lp, sy, se, sc in reversed(rows)]
    path.write_text("lp\tsystem\tsegment\tscore\n" + "\n".join(lines) + "\n")
    found = evaluate(judged, [f"{path}:higher_is_better=false", "ter"], quick())
    assert found.average.values[0] == pytest.approx(found.average.values[1])
    assert [metric.name for metric in found.metrics] == ["by-ids", "ter"]


def test_scores_in_row_order_skip_the_rows_that_are_not_used(tmp_path: Path) -> None:
    judged = ratings(pairs=("cs-en",))
    keep = [row for row in range(len(judged)) if row != 3]
    kept = judged.select(keep)
    kept = replace(kept, file_rows=FileRows(np.array(keep), len(judged), {"no score": 1}))
    path = tmp_path / "scores.txt"
    path.write_text("".join(f"{s!r}\n" for s in scores_of(judged, "chrf").tolist()))
    found = evaluate(kept, [str(path), "chrf"], quick())
    assert found.average.values[0] == pytest.approx(found.average.values[1])


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\n2\n", "has 2 scores, but the judgements have 96 rows"),
        ("1\t2\n" * 96, "two columns"),
        ("lp\tsystem\tsegment\tscore\ncs-en\ts0\t0\t1\n", "no score for 95 of 96"),
        (
            "lp\tsystem\tscore\ncs-en\ts0\t1\n",
            "judged outputs are lp cs-en, system s0",
        ),
        (
            "lp\tsystem\tsegment\tscore\ncs-en\ts0\t0\t1\ncs-en\ts0\t0\t2\n",
            "another score for lp cs-en, system s0, segment 0",
        ),
    ],
)
def test_score_files_that_do_not_fit(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(AdequaError, match=sentence):
        evaluate(ratings(), [write(tmp_path / "scores.tsv", text)], quick())


def test_unknown_settings_of_a_score_file(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.txt", "1\n" * 96)
    with pytest.raises(AdequaError, match='no column "lower" to choose rows by'):
        evaluate(ratings(), [f"{path}:lower=true"], quick())
    with pytest.raises(AdequaError, match="must be true or false"):
        evaluate(ratings(), [f"{path}:higher_is_better=perhaps"], quick())


def test_metrics_cannot_score_judgements_without_texts() -> None:
    judged = Ratings(np.array([1.0, 2.0]), {"lp": ("cs-en",) * 2})
    with pytest.raises(AdequaError, match="needs texts to score"):
        evaluate(judged, ["chrf"], quick())


def test_scores_of_whole_systems(tmp_path: Path) -> None:
    judged = RatedSystems(rated_systems().ratings)
    text = "lp\tsystem\tscore\n" + "".join(f"cs-en\ts{s}\t{s}\n" for s in range(4))
    path = write(tmp_path / "system-scores.tsv", text)
    found = evaluate(judged, [path], quick(over="systems"))
    expected = stats.pearsonr(judged.ratings.scores, range(4))[0]
    assert found.average.values[0] == pytest.approx(expected)
    assert evaluate(judged, [path], quick()).protocol.over == "systems"
    with pytest.raises(AdequaError, match="use --over systems"):
        evaluate(judged, [path], quick(over="both"))


# What is left out.


def names(judged: object) -> set[str]:
    assert isinstance(judged, Ratings)
    return set(judged.ids["system"])


def test_exclusions() -> None:
    judged = ratings()
    renamed = tuple({"s0": "Human-A.0", "s1": "outlier"}.get(s, s) for s in judged.ids["system"])
    scores = np.where(np.array(renamed) == "outlier", -50.0, judged.scores)
    judged = Ratings(scores, {**judged.ids, "system": renamed}, judged.segments)
    found = without_references(judged)
    assert names(found[0]) == {"outlier", "s2", "s3"}
    assert found[1] == "human references left out: Human-A.0 (cs-en), Human-A.0 (de-en)."
    assert names(without_outliers(judged)[0]) == {"Human-A.0", "s2", "s3"}
    assert names(without_systems(judged, ["s2"])[0]) == {"Human-A.0", "outlier", "s3"}
    with pytest.raises(AdequaError, match='Did you mean "outlier"'):
        without_systems(judged, ["outlyer"])
    with pytest.raises(AdequaError, match="There are: cs-en, de-en"):
        with_ids(judged, "lp", ["fr-en"])
    with pytest.raises(AdequaError, match="Nothing is left"):
        without_systems(judged, ["Human-A.0", "outlier", "s2", "s3"])


def test_exclusions_of_preferences_and_systems() -> None:
    judged = Preferences({"better_system": ("a", "refA"), "worse_system": ("b", "a")})
    assert len(without_references(judged)[0]) == 1  # type: ignore[arg-type]
    found = without_systems(rated_systems(), ["s1"])[0]
    assert isinstance(found, RatedSystems)
    assert found.outputs is not None
    assert set(found.outputs.ids["system"]) == set(found.ratings.ids["system"])
    with pytest.raises(AdequaError, match="do not name systems"):
        without_references(Ratings(np.ones(1), {"lp": ("cs-en",)}))


# The protocol.


def test_defaults_follow_the_campaigns() -> None:
    some = preferences()
    assert completed(Protocol(), replace(some, name="wmt12-rr")).statistic == "tau-wmt12"
    assert completed(Protocol(), replace(some, name="wmt13-rr")).statistic == "tau-wmt13"
    assert completed(Protocol(), replace(some, name="wmt15-rr")).statistic == "tau-wmt14"
    assert completed(Protocol(), ratings()).statistic == "pearson"
    assert completed(Protocol(), replace(ratings(), name="wmt20-21-mqm")).average == "segment"
    assert completed(Protocol(), rated_systems()).level == "system"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"statistic": "pearsn"}, 'Did you mean "pearson"'),
        ({"level": "word"}, "no level"),
        ({"alpha": 0}, "alpha lies between 0 and 1"),
        ({"confidence": 1.5}, "confidence"),
        ({"resamples": 0}, "1 or more"),
        ({"seed": -1}, "seed"),
        ({"min_difference": float("nan")}, "min_difference"),
        ({"statistic": "tau-wmt12"}, "not defined for ratings"),
        ({"statistic": "acc-eq", "test": "both"}, "not defined"),
        ({"level": "system", "average": "segment"}, "nothing to average"),
        ({"human": "trueskill"}, "level system"),
    ],
)
def test_protocols_that_make_no_sense(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        evaluate(ratings(), ["chrf"], Protocol(**settings))


def test_metrics_and_scores_as_objects() -> None:
    judged = ratings()
    chrf = load_metric("chrf")
    scores = scores_of(judged, "chrf")
    found = evaluate(judged, [chrf, ScoreFile("mine", {}, scores)], quick())
    assert [metric.name for metric in found.metrics] == ["chrf", "mine"]
    assert found.average.values[0] == pytest.approx(found.average.values[1])
    with pytest.raises(AdequaError, match="mine: score 1 of 1 is nan"):
        evaluate(judged, [ScoreFile("mine", {}, np.array([np.nan]))], quick())
    with pytest.raises(AdequaError, match="is its name, a metric or a ScoreFile, not 3"):
        evaluate(judged, [3], quick())  # type: ignore[list-item]


def test_nothing_to_evaluate_and_the_same_twice() -> None:
    with pytest.raises(AdequaError, match="at least one metric"):
        evaluate(ratings(), [], quick())
    with pytest.raises(AdequaError, match="given more than once"):
        evaluate(ratings(), ["chrf", "chrf"], quick())
    found: Agreement = evaluate(ratings(), ["chrf", "chrf:word_order=1"], quick())
    assert [metric.name for metric in found.metrics] == ["chrf", "chrf:word_order=1"]


EXAMPLE = Path(__file__).parent.parent / "examples" / "ratings.tsv"
QUICK = Protocol(over="none", test="none")


@pytest.mark.parametrize("data", [str(EXAMPLE), EXAMPLE])
@pytest.mark.parametrize("metrics", ["chrf", ["chrf"], ("chrf",), load_metric("chrf")])
def test_files_and_single_metrics_as_users_name_them(data: str | Path, metrics: Any) -> None:
    agreement = adequa.evaluate(data, metrics, QUICK)
    assert agreement.dataset == "ratings.tsv"
    assert agreement.average.values == pytest.approx([0.763], abs=5e-4)  # as in docs/agreement.md
    assert "0.763" in repr(agreement)
    assert "<table" in agreement._repr_html_()


def test_a_data_frame_is_a_file_of_judgements() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(EXAMPLE, sep="\t", dtype={"segment": str})
    by_frame = adequa.evaluate(frame, "chrf", QUICK)
    assert by_frame.average.values == adequa.evaluate(EXAMPLE, "chrf", QUICK).average.values
    assert by_frame.long_table().to_pandas()["metric"].tolist() == ["chrf"]


def test_every_measure_takes_judgements_in_the_same_way() -> None:
    judgements = adequa.load_dataset(EXAMPLE)
    for data in (str(EXAMPLE), judgements):
        assert differences(data, "chrf").pairs == differences([data], ["chrf"]).pairs == 97
        assert adequa.analyse(data, ["chrf", "ter"]).total.analysed == 23
        settings = DamageSettings(kinds=("empty",), each=5)
        assert robustness(data, "chrf", settings).dataset == "ratings.tsv"
    chosen = robustness(EXAMPLE, "chrf", settings, selection=Selection(lp="de-en"))  # type: ignore[arg-type]
    assert chosen.dataset == "ratings.tsv|lp:de-en"


@pytest.mark.parametrize("measure", [adequa.evaluate, adequa.analyse, differences, robustness])
@pytest.mark.parametrize(
    ("data", "metrics", "sentence"),
    [
        (EXAMPLE, [], "at least one metric"),
        (EXAMPLE, 3, "not 3"),
        (EXAMPLE, [None, "chrf"], "not None"),
        (EXAMPLE, ["chfr", "ter"], 'Did you mean "chrf"'),
        (3, ["chrf", "ter"], "not an object of type int"),
        ("no-such-set", ["chrf", "ter"], "no-such-set"),
        ("missing.tsv", ["chrf", "ter"], "missing.tsv"),
    ],
)
def test_misuse_gets_a_sentence(measure: Any, data: object, metrics: object, sentence: str) -> None:
    with pytest.raises(AdequaError, match=re.escape(sentence)):
        measure(data, metrics)
    with pytest.raises(AdequaError, match="should be an object of type"):
        measure(EXAMPLE, ["chrf", "ter"], "pearson")
    with pytest.raises(AdequaError, match="should be an object of type Selection"):
        measure(EXAMPLE, ["chrf", "ter"], selection="de-en")


RESULTS: dict[str, Callable[[], Result]] = {
    "evaluate": lambda: adequa.evaluate(EXAMPLE, ["chrf", "ter"], QUICK),
    "differences": lambda: differences(EXAMPLE, ["chrf", "ter"]),
    "analyse": lambda: adequa.analyse(EXAMPLE, ["chrf", "ter"]),
    "robustness": lambda: robustness(
        EXAMPLE, ["chrf", "ter"], DamageSettings(kinds=("empty", "typos"), each=5)
    ),
}


@pytest.mark.parametrize("verb", RESULTS)
def test_results_are_saved_in_every_format(verb: str, tmp_path: Path) -> None:
    result = RESULTS[verb]()
    for ending in (".txt", ".tsv", ".csv", ".md", ".tex", ".html", ".json", ".parquet"):
        result.save(tmp_path / f"result{ending}")
        assert (tmp_path / f"result{ending}").stat().st_size > 0
    rows = list(csv.reader((tmp_path / "result.csv").read_text(encoding="utf-8").splitlines()))
    lines = (tmp_path / "result.tsv").read_text(encoding="utf-8").splitlines()
    assert rows == [line.split("\t") for line in lines]
    assert (tmp_path / "result.txt").read_text(encoding="utf-8") == f"{result!r}\n"
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(result.to_dict())
    )
