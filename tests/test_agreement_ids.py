"""Which judgement belongs to which score, system and year: where figures go wrong in silence."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.agreement.selection import Selection, without_outliers, without_systems
from adequa.errors import AdequaError
from adequa.judgements import Preferences, RatedSystems, Ratings
from adequa.segments import FloatArray, Segments
from test_agreement import quick, ratings, write


def rows(path: Path, header: str, *lines: tuple[object, ...]) -> str:
    text = "\n".join(["\t".join(header.split()), *("\t".join(map(str, line)) for line in lines)])
    return write(path, text + "\n")


HUMAN = np.array([1.0, 2.0, 3.0, 4.0, 4.5, 0.0])
IDS = {
    "lp": ("cs-en",) * 6,
    "system": ("a", "b", "c") * 2,
    "segment": ("1", "1", "1", "2", "2", "2"),
}


def test_columns_that_the_judgements_lack_must_not_choose_a_score(tmp_path: Path) -> None:
    judged = Ratings(HUMAN, IDS)
    lines = [
        (reference, *key, sign * human)
        for reference, sign in (("refA", 1), ("refB", -1))
        for *key, human in zip(*IDS.values(), HUMAN, strict=True)
    ]
    path = rows(tmp_path / "both.tsv", "reference lp system segment score", *lines)
    with pytest.raises(AdequaError, match=r"both.tsv:reference=VALUE"):
        evaluate(judged, [path], quick())
    for reference, expected in (("refA", 1.0), ("refB", -1.0)):
        found = evaluate(judged, [f"{path}:reference={reference}"], quick())
        assert found.average.values[0] == pytest.approx(expected)
    with pytest.raises(AdequaError, match="There are: refA, refB"):
        evaluate(judged, [f"{path}:reference=refC"], quick())


def test_years_are_told_apart(tmp_path: Path) -> None:
    ids = {**{name: column * 2 for name, column in IDS.items()}, "year": ("20",) * 6 + ("21",) * 6}
    judged = Ratings(np.concatenate([HUMAN, -HUMAN]), ids)
    lines = [
        (year, *key, human)
        for year in ("20", "21")
        for *key, human in zip(*IDS.values(), HUMAN, strict=True)
    ]
    path = rows(tmp_path / "years.tsv", "year lp system segment score", *lines)
    found = evaluate(judged, [path], quick())
    assert [column.name for column in found.columns] == ["cs-en 20", "cs-en 21"]
    assert [column.values[0] for column in found.columns] == pytest.approx([1.0, -1.0])
    without = rows(tmp_path / "none.tsv", "lp system segment score", *(line[1:] for line in lines))
    with pytest.raises(AdequaError, match="has no column year, but the judgements are of several"):
        evaluate(judged, [without], quick())


def test_system_scores_of_several_years(tmp_path: Path) -> None:
    systems = ("a", "b", "c", "d", "e", "f")
    judged = RatedSystems(
        Ratings(HUMAN, {"lp": ("cs-en",) * 6, "year": ("20",) * 3 + ("21",) * 3, "system": systems})
    )
    path = rows(tmp_path / "s.tsv", "system score", *zip(systems, HUMAN, strict=True))
    found = evaluate(judged, [path], quick())
    assert [column.values[0] for column in found.columns] == pytest.approx([1.0, 1.0])
    same = Ratings(HUMAN, {**judged.ratings.ids, "system": ("a", "b", "c") * 2})
    with pytest.raises(AdequaError, match="has no column year, but the judgements are of several"):
        evaluate(RatedSystems(same), [path], quick())


def test_years_without_language_pairs_are_no_columns() -> None:
    """A similarity task's year says where a sentence comes from."""
    texts = Segments(("a b", "b c", "c"), (("a b",), ("b",), ("d",)))
    judged = Ratings(np.array([3.0, 2.0, 1.0]), {"year": ("2012", "2013", "2013")}, texts)
    assert [column.name for column in evaluate(judged, ["chrf"], quick()).columns] == ["all"]


@pytest.mark.parametrize("named", [(), ("better_system", "worse_system")])
def test_better_and_worse_by_ids(named: tuple[str, ...], tmp_path: Path) -> None:
    ids = {"lp": ("cs-en",) * 3, "segment": ("1", "2", "3")}
    if named:
        ids |= {"better_system": ("a", "b", "a"), "worse_system": ("c", "c", "b")}
    judged = Preferences(ids)
    lines = [(*key, 2, 1) for key in zip(*ids.values(), strict=True)]
    path = rows(tmp_path / "p.tsv", f"{' '.join(ids)} better worse", *reversed(lines))
    found = evaluate(judged, [path], quick(statistic="tau-wmt14"))
    assert found.average.values[0] == 1.0


def test_one_score_a_segment_does_not_order_its_outputs(tmp_path: Path) -> None:
    judged = Preferences(
        {"segment": ("1", "2"), "better_system": ("a", "b"), "worse_system": ("b", "a")}
    )
    path = rows(tmp_path / "s.tsv", "segment score", (1, 0.5), (2, 0.5))
    with pytest.raises(AdequaError, match="several of the judged outputs are segment 1"):
        evaluate(judged, [path], quick())


def test_a_score_never_serves_different_outputs(tmp_path: Path) -> None:
    texts = Segments(("u", "v", "w", "x", "y", "z"), (("u",),) * 6)
    blank = Ratings(HUMAN, {**IDS, "segment": ("",) * 6}, texts)
    path = rows(
        tmp_path / "s.tsv", "system segment score", ("a", "", 1), ("b", "", 2), ("c", "", 3)
    )
    with pytest.raises(
        AdequaError, match=r"several of the judged outputs are system a, segment \(unk"
    ):
        evaluate(blank, [path], quick())
    by_system = rows(tmp_path / "t.tsv", "lp score", ("cs-en", 1))
    with pytest.raises(AdequaError, match="several of the judged outputs are lp cs-en"):
        evaluate(Ratings(HUMAN, IDS), [by_system], quick())
    judged = Preferences({"lp": ("cs-en",) * 2, "segment": ("1", "2")})
    path = rows(tmp_path / "p.tsv", "lp segment score", ("cs-en", 1, 1), ("cs-en", 2, 1))
    with pytest.raises(AdequaError, match="several of the judged outputs are lp cs-en, segment 1"):
        evaluate(judged, [path], quick())


def test_a_name_that_only_looks_joined_gets_no_score_of_another(tmp_path: Path) -> None:
    ids = {"system": ("base", "base+lm", "other"), "segment": ("1", "1", "1")}
    lines = [("base", 1, 1), ("other", 1, 2)]
    path = rows(tmp_path / "s.tsv", "system segment score", *lines)
    with pytest.raises(AdequaError, match="no score for 1 of 3 .* system base.lm"):
        evaluate(Ratings(HUMAN[:3], ids), [path], quick())
    path = rows(tmp_path / "t.tsv", "system segment score", *lines, ("base+lm", 1, 3))
    with pytest.raises(AdequaError, match="no score for 1 of 3 .* system lm"):
        evaluate(Ratings(HUMAN[:3], {**ids, "system": ("base", "lm", "other")}), [path], quick())


def test_joined_systems_are_found_however_they_are_written(tmp_path: Path) -> None:
    ids = {"system": ("a", "b", "c", "a+b", "c"), "segment": ("1", "1", "1", "2", "2")}
    judged = Ratings(HUMAN[:5], ids)
    one = [("a", 1, 1), ("b", 1, 2), ("c", 1, 3), ("c", 2, 4.5)]
    for name, lines in {
        "joined": [("a+b", 2, 4)],
        "by comma": [("a,b", 2, 4)],
        "apart": [("a", 2, 4), ("b", 2, 4)],
    }.items():
        path = rows(tmp_path / f"{name}.tsv", "system segment score", *one, *lines)
        found = evaluate(judged, [path], quick())
        assert found.average.values[0] == pytest.approx(1.0)
        without = evaluate(judged, [path], quick(), selection=Selection(exclude_systems=("a",)))
        assert without.average.items == 4
    path = rows(tmp_path / "odd.tsv", "system segment score", *one, ("a", 2, 4), ("b", 2, 5))
    with pytest.raises(AdequaError, match="no score for 1 of 5"):
        evaluate(judged, [path], quick())


def test_segments_that_count_within_documents() -> None:
    judged = ratings(segments=6, pairs=("cs-en",))
    number = [int(segment) for segment in judged.ids["segment"]]
    ids = {
        **judged.ids,
        "doc": tuple("x" if n < 3 else "y" for n in number),
        "segment": tuple(str(n % 3) for n in number),
    }
    restarted = Ratings(judged.scores, ids, judged.segments)
    assert restarted.repeated == 0
    protocol = quick(average="segment", statistic="kendall-b")
    for level in ({}, {"year": tuple("1" if n < 3 else "2" for n in number)}):
        names = {"doc"} if level else set()
        used = {k: v for k, v in {**ids, **level}.items() if k not in {"lp", *names}}
        by_place = evaluate(Ratings(judged.scores, used, judged.segments), ["chrf"], protocol)
        expected = evaluate(judged, ["chrf"], protocol).average.values
        assert by_place.average.values == pytest.approx(expected)


def test_one_metric_of_a_column_of_them(tmp_path: Path) -> None:
    lines = [(m, *key, h) for m in "xy" for *key, h in zip(*IDS.values(), HUMAN, strict=True)]
    path = rows(tmp_path / "s.tsv", "metric lp system segment score", *lines)
    with pytest.raises(AdequaError, match=r"s.tsv:metric=NAME"):
        evaluate(Ratings(HUMAN, IDS), [path], quick())
    found = evaluate(Ratings(HUMAN, IDS), [f"{path}:metric=y"], quick())
    assert found.metrics[0].name == "y"
    assert found.metrics[0].signature == "y|file:s.tsv|higher_is_better:true|metric:y"


@pytest.mark.parametrize("lacking", ["system", "segment"])
def test_scores_of_a_system_are_not_for_outputs_of_unknown_ones(
    lacking: str, tmp_path: Path
) -> None:
    lines = [*zip(*IDS.values(), HUMAN, strict=True)]
    path = rows(tmp_path / "s.tsv", "lp system segment score", *lines)
    ids = {name: column for name, column in IDS.items() if name != lacking}
    with pytest.raises(AdequaError, match=f"do not say which {lacking} each output is of"):
        evaluate(Ratings(HUMAN, ids), [path], quick())


def test_names_that_mean_different_things_elsewhere(tmp_path: Path) -> None:
    path = rows(tmp_path / "s.tsv", "system segment score", ("a", 1, 1), ("a", 2, 2), ("a", 3, 3))
    base = {"system": ("a",) * 3}
    ids = {**base, "segment": ("1", "2", "3"), "year": ("20", "20", "21")}
    with pytest.raises(AdequaError, match="no column year"):
        evaluate(Ratings(HUMAN[:3], ids), [path], quick())
    ids = {**base, "segment": ("1", "2", "1"), "doc": ("x", "x", "y")}
    with pytest.raises(AdequaError, match="no column doc.* share the name of a segment"):
        evaluate(Ratings(HUMAN[:3], ids), [path], quick())
    ids = {**base, "segment": ("1", "2", "3"), "doc": ("x", "x", "y")}  # numbered throughout
    found = evaluate(Ratings(HUMAN[:3], ids), [path], quick())
    assert found.average.values[0] == pytest.approx(1.0)


def test_scores_of_one_text_may_differ_in_their_last_digits(tmp_path: Path) -> None:
    judged = Ratings(HUMAN[:3], {"system": ("a", "b", "a+b"), "segment": ("1", "1", "2")})
    lines = [("a", 1, 1), ("b", 1, 2), ("a", 2, 3.000001), ("b", 2, 3.000002)]
    path = rows(tmp_path / "s.tsv", "system segment score", *lines)
    assert evaluate(judged, [path], quick()).average.values[0] == pytest.approx(1.0)
    lines = [("a,b", 1, 1), ("a+b", 1, 2)]
    with pytest.raises(AdequaError, match="has another score for system a.b, segment 1"):
        evaluate(judged, [rows(tmp_path / "t.tsv", "system segment score", *lines)], quick())


# Several systems that gave the same output.


def shared() -> Preferences:
    """a and b beat c; what a and b wrote alike is judged once."""
    texts = Segments(("x y", "x y", "x y", "x y"), (("x y z",),) * 4)
    return Preferences(
        {
            "lp": ("cs-en",) * 4,
            "segment": ("1", "2", "3", "4"),
            "better_system": ("a+b", "a", "b", "a"),
            "worse_system": ("c", "c", "c", "b"),
        },
        better=texts,
        worse=Segments(("x", "x", "x", "x y"), (("x y z",),) * 4),
    )


def test_systems_of_preferences_are_taken_apart() -> None:
    found = evaluate(shared(), ["chrf"], quick(level="system"))
    assert found.average.items == 3
    # a: 2 of 2 against c, 1 of 1 against b; b: 2 of 2 and 0 of 1; c: nothing.
    assert found.points[0].human == pytest.approx(np.array([1.0, 0.5, 0.0]))


def test_ties_of_joined_systems_count_for_each() -> None:
    def skills(ties: dict[tuple[str, str, str], int]) -> list[float]:
        judged = replace(shared(), ties=ties)
        found = evaluate(judged, ["chrf"], quick(level="system", human="trueskill"))
        assert found.points[0].human is not None
        return [float(skill) for skill in found.points[0].human]

    joined = skills({("cs-en", "a+b", "c"): 50})
    assert joined == skills({("cs-en", "a", "c"): 50, ("cs-en", "b", "c"): 50})
    assert joined != skills({})


def test_systems_compared_with_themselves_only() -> None:
    texts = Segments(("x", "y"), (("x",), ("y",)))
    sides = {"better_system": ("a", "a"), "worse_system": ("a", "a")}
    with pytest.raises(AdequaError, match="no preference is between two different systems"):
        evaluate(Preferences(sides, texts, texts), ["chrf"], quick(level="system"))
    sides = {"better_system": ("a", "z"), "worse_system": ("b", "z")}
    found = evaluate(Preferences(sides, texts, texts), ["chrf"], quick(level="system"))
    assert found.average.items == 2


def test_a_system_with_two_human_scores() -> None:
    twice = Ratings(HUMAN[:3], {"lp": ("cs-en",) * 3, "system": ("a", "b", "a")})
    with pytest.raises(AdequaError, match="system a has more than one human score"):
        evaluate(RatedSystems(twice), ["chrf"], quick())


def test_names_of_whole_systems_are_never_taken_apart(tmp_path: Path) -> None:
    systems = ("a", "b", "a+b", "c", "d")
    human = np.array([1.0, 2.0, -60.0, 1.5, 1.2])
    judged = RatedSystems(Ratings(human, {"lp": ("cs-en",) * 5, "system": systems}))
    path = rows(tmp_path / "s.tsv", "system score", *zip(systems, range(5), strict=True))
    found = evaluate(judged, [path], quick(), selection=Selection(exclude_outliers=True))
    assert found.average.items == 4
    assert "outlier systems left out: a+b (cs-en)." in found.notes
    found = evaluate(judged, [path], quick(), selection=Selection(exclude_systems=("a",)))
    assert found.average.items == 4


def test_rows_of_system_sets_are_the_same_whatever_is_selected(tmp_path: Path) -> None:
    ids = {
        "lp": ("cs-en",) * 6 + ("de-en",) * 6,
        "system": ("a", "a", "b", "b", "c", "c") * 2,
        "segment": ("1", "2") * 6,
    }
    texts = Segments(("x",) * 12, (("x",),) * 12, ids=ids)
    pairs = {"lp": ("cs-en",) * 3 + ("de-en",) * 3, "system": ("a", "b", "c") * 2}
    judged = RatedSystems(Ratings(np.array([1.0, 2.0, 3.0, 1.0, 2.0, 9.0]), pairs), texts)
    path = write(tmp_path / "s.txt", "".join(f"{n * n}\n" for n in range(12)))
    both = evaluate(judged, [path], quick()).columns
    for place, lp in enumerate(("cs-en", "de-en")):
        one = evaluate(judged, [path], quick(), selection=Selection(lp=(lp,)))
        assert one.average.values == pytest.approx(both[place].values)


def test_ties_follow_the_systems_that_are_left() -> None:
    judged = replace(shared(), ties={("cs-en", "a+b", "c"): 5, ("cs-en", "a", "c"): 7})
    left = without_systems(judged, ["a"])[0]
    assert isinstance(left, Preferences)
    assert left.ties == {("cs-en", "b", "c"): 5}


def test_every_text_of_a_system_counts() -> None:
    """Where segment numbers repeat, as in two test sets."""
    reference = (("x y z",),) * 2
    judged = Preferences(
        {"segment": ("1", "1"), "better_system": ("a", "a"), "worse_system": ("b", "b")},
        better=Segments(("x y z", "x"), reference),
        worse=Segments(("x", "x"), reference),
    )
    found = evaluate(judged, ["chrf"], quick(level="system"))
    a, b = found.points[0].metrics[0]
    assert b < a < 100


@pytest.mark.parametrize("statistic", ["tau-darr", "acc-eq"])
def test_an_output_is_not_compared_with_itself(statistic: str, tmp_path: Path) -> None:
    ids = {"system": ("a", "a", "b") * 2, "segment": ("1",) * 3 + ("2",) * 3}
    judged = Ratings(np.array([90.0, 40.0, 10.0, 80.0, 20.0, 5.0]), ids)
    path = write(tmp_path / "s.txt", "2\n2\n1\n4\n4\n3\n")
    found = evaluate(judged, [path], quick(statistic=statistic, min_difference=10))
    assert found.average.values[0] == 1.0
    assert "within segments their mean counts" in found.notes[0]


def test_leaving_a_system_out_adds_none() -> None:
    left = without_systems(shared(), ["a"])[0]
    assert isinstance(left, Preferences)
    assert left.ids["better_system"] == ("b", "b")
    judged = Ratings(HUMAN[:4], {"system": ("a", "b", "a+b", "c"), "segment": ("1", "1", "2", "2")})
    rest = without_systems(judged, ["a"])[0]
    assert isinstance(rest, Ratings)
    assert rest.ids["system"] == ("b", "b", "c")


def test_a_joined_name_is_taken_apart_only_where_its_parts_are_known() -> None:
    texts = Segments(("x", "y", "x y", "x", "y", "z"), (("x y",),) * 6)
    ids = {"lp": ("cs-en",) * 3 + ("de-en",) * 3, "system": ("a", "b", "a+b", "a+b", "c", "d")}
    found = evaluate(Ratings(HUMAN, ids, texts), ["chrf"], quick(level="system"))
    assert [column.items for column in found.columns] == [2, 3]


def test_the_figure_does_not_depend_on_how_sure_we_are_asked_to_be() -> None:
    judged = ratings(pairs=("cs-en",))
    joined = tuple("s1+s2" if n % 5 == 0 else name for n, name in enumerate(judged.ids["system"]))
    judged = Ratings(judged.scores, {**judged.ids, "system": joined}, judged.segments)
    for average in ("pooled", "segment"):
        values = {
            float(evaluate(judged, ["chrf", "wer"], quick(average=average, over=over, test=test))
                  .average.values[0])
            for over, test in product(("segments", "systems", "both", "none"), ("both", "systems"))
        }  # fmt: skip
        assert len(values) == 1


@pytest.mark.parametrize("level", ["segment", "system"])
def test_unknown_systems_are_told(level: str) -> None:
    blank = Ratings(HUMAN, {**IDS, "system": ("a", "", "b", "", "a", "b")})
    with pytest.raises(AdequaError, match="name the system of every output"):
        without_outliers(blank)
    sides = {"better_system": ("a", ""), "worse_system": ("b", "a")}
    with pytest.raises(AdequaError, match="name the systems of every preference"):
        without_outliers(Preferences(sides))


def test_systems_that_only_people_or_only_metrics_know() -> None:
    texts = Segments(("x", "y"), (("x",), ("y",)), ids={"lp": ("cs-en",) * 2, "system": ("a", "b")})
    for systems, sentence in ((("a", "c"), "b has outputs"), (("a", "b", "c"), "c has a score")):
        count = len(systems)
        human = Ratings(HUMAN[:count], {"lp": ("cs-en",) * count, "system": systems})
        with pytest.raises(AdequaError, match=sentence):
            evaluate(RatedSystems(human, texts), ["chrf"], quick())


# What stands behind an interval and a p-value.


def correlations(human: FloatArray, metrics: FloatArray) -> FloatArray:
    return np.array([np.corrcoef(human, metric)[0, 1] for metric in metrics])


def test_interval_and_p_value_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    count = 60
    segments = np.repeat(np.arange(20), 3)
    human = random.normal(size=count)
    metrics = human * np.array([[1.0], [0.6]]) + random.normal(size=(2, count))
    ids = {"segment": tuple(map(str, segments)), "system": ("a", "b", "c") * 20}
    judged = Ratings(human, ids)
    paths = [
        write(tmp_path / f"{name}.txt", "".join(f"{score!r}\n" for score in scores.tolist()))
        for name, scores in zip("xy", metrics, strict=True)
    ]
    many = evaluate(judged, paths, Protocol(test="inputs", resamples=4000)).average
    drawn = []
    for _ in range(4000):
        chosen = np.concatenate(
            [np.flatnonzero(segments == s) for s in random.integers(20, size=20)]
        )
        drawn.append(correlations(human[chosen], metrics[:, chosen])[0])
    expected = np.quantile(drawn, [0.025, 0.975])
    assert (many.low[0], many.high[0]) == pytest.approx(expected, abs=0.02)
    scaled = (metrics - metrics.mean(axis=1)[:, None]) / metrics.std(axis=1)[:, None]
    observed = np.subtract(*correlations(human, metrics))
    larger = 0
    for _ in range(4000):
        mask = random.random(20)[segments] < 0.5
        swapped = np.where(mask, scaled[::-1], scaled)
        larger += np.subtract(*correlations(human, swapped)) >= observed
    assert many.p_values is not None
    assert many.p_values[0, 1] == pytest.approx(larger / 4000, abs=0.03)


def test_pairs_are_swapped_as_a_plain_loop_does(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    judged = ratings(segments=10, pairs=("cs-en",))
    segments = np.array(judged.ids["segment"])
    metrics = random.normal(size=(2, len(judged))).round(1) + [[0.0], [1.0]] * judged.scores
    paths = [
        write(tmp_path / f"{name}.txt", "".join(f"{score!r}\n" for score in scores.tolist()))
        for name, scores in zip("xy", metrics, strict=True)
    ]
    protocol = Protocol(statistic="acc-eq", test="pairs", over="none", resamples=2000)
    found = evaluate(judged, paths, protocol).average
    assert found.thresholds is not None
    pairs = [
        (i, j)
        for s in sorted(set(segments))
        for i, j in combinations(np.flatnonzero(segments == s).tolist(), 2)
    ]
    right = np.array(
        [
            [
                np.sign(judged.scores[i] - judged.scores[j])
                == (0 if abs(scores[i] - scores[j]) <= epsilon else np.sign(scores[i] - scores[j]))
                for i, j in pairs
            ]
            for scores, epsilon in zip(metrics, found.thresholds.tolist(), strict=True)
        ]
    )
    assert found.values == pytest.approx(right.mean(axis=1))  # segments have as many pairs each
    lead = right[1].astype(float) - right[0]
    swapped = np.where(random.random((2000, len(pairs))) < 0.5, -lead, lead).mean(axis=1)
    assert found.p_values is not None
    expected = np.mean(swapped >= lead.mean() - 1e-12)
    assert found.p_values[1, 0] == pytest.approx(expected, abs=0.03)


def test_soft_accuracy_lies_in_its_own_interval(tmp_path: Path) -> None:
    judged = ratings(pairs=("cs-en",))
    path = write(tmp_path / "ties.txt", "".join(f"{n % 2}\n" for n in range(len(judged))))
    found = evaluate(judged, [path], quick(level="system", statistic="spa")).average
    assert found.low[0] <= found.values[0] <= found.high[0]


# What is told.


def test_a_figure_that_is_defined_has_no_reason(tmp_path: Path) -> None:
    judged = ratings(pairs=("cs-en",))
    path = write(tmp_path / "constant.txt", "1\n" * len(judged))
    for settings in ({"level": "system", "statistic": "accuracy"}, {"statistic": "acc-eq"}):
        found = evaluate(judged, [path, "chrf"], quick(**settings)).average
        assert not np.isnan(found.values).any()
        assert found.reasons == ("", "")


def test_groups_left_out_of_an_average_are_counted_by_metric(tmp_path: Path) -> None:
    judged = ratings(segments=10, pairs=("cs-en",))
    scores = [0 if int(s) < 4 else n for n, s in enumerate(judged.ids["segment"])]
    path = write(tmp_path / "partly.txt", "".join(f"{score}\n" for score in scores))
    found = evaluate(judged, [path, "chrf"], quick(average="segment"))
    (note,) = found.notes
    assert "0 to 4, by metric, of 10 segments are left out" in note


def test_scores_beyond_all_measure_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "huge.txt", "1e308\n" * 6)
    with pytest.raises(AdequaError, match=r"line 1: the score is 1e308"):
        evaluate(Ratings(HUMAN, IDS), [path], quick())
    with pytest.raises(AdequaError, match="human score of rating 2 is 1e\\+308"):
        Ratings(np.array([1.0, 1e308]), {})
