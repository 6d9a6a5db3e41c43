"""Confidence of segment scores: intervals, expected errors, bands, files and verbs."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adequa
from adequa.agreement.confidence import (
    RatedScores,
    conformal_quantiles,
    fit_model,
    median_line,
    on_scale,
)
from adequa.agreement.coverage import pair_coverage
from adequa.cli.main import main
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError, LanguageWarning
from adequa.judgements import Ratings
from adequa.learned.packed.metric import ScoreMap
from adequa.metrics.registry import load_metric
from adequa.pretrained import SHIPPED
from adequa.scoring.confidence import (
    BANDS,
    CONFIDENCE,
    LEVELS,
    BandRule,
    ConfidenceModel,
    Estimates,
    Estimator,
    RatingModel,
    TextFeatures,
    read_confidence,
)
from adequa.scoring.results import score_stream
from adequa.segments import Segments
from adequa.tables import Format
from judgements import needs_judgements
from tiny_packed import MAP, tiny_packed

EXAMPLES = Path(__file__).parent.parent / "examples"
Run = Callable[..., "subprocess.CompletedProcess[str]"]
# The first edition, whose figures stay.
METRIC = load_metric("adequa-1:threads=1")
FOLDER = SHIPPED["adequa-1"]


# Quantiles and the fit


def test_conformal_quantiles_by_hand() -> None:
    """Of 19 values: 0.5 (19 + 1) = 10th, 0.9 · 20 = 18th, and the 20th of 0.99 is not there."""
    values = np.random.default_rng(0).permutation(np.arange(1.0, 20.0))
    assert conformal_quantiles(values, np.array([0.5, 0.9, 0.95, 0.99])).tolist() == [
        10,
        18,
        19,
        19,
    ]


@settings(max_examples=20)
@given(st.integers(20, 200), st.sampled_from([0.5, 0.8, 0.9]), st.integers(0, 2**32 - 1))
def test_coverage_of_exchangeable_values_is_the_law(count: int, level: float, seed: int) -> None:
    """The probability is ⌈level (n + 1)⌉ / (n + 1): the level, or up to 1 / (n + 1) more."""
    trials = 4000
    values = np.random.default_rng(seed).exponential(size=(trials, count + 1))
    rank = int(np.ceil(round(level * (count + 1), 9)))
    limits = [conformal_quantiles(row[:-1], np.array([level]))[0] for row in values[:200]]
    assert limits == np.sort(values[:200, :-1], axis=1)[:, rank - 1].tolist()
    covered = (values[:, -1] <= np.sort(values[:, :-1], axis=1)[:, rank - 1]).mean()
    expected = rank / (count + 1)
    assert level <= expected <= level + 1 / (count + 1)
    assert covered == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / trials))


def test_the_median_line_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(3)
    x = random.uniform(size=301)
    y = 0.2 + 0.7 * x + random.exponential(0.3, size=301)
    oracle = linear_model.QuantileRegressor(quantile=0.5, alpha=0).fit(x[:, np.newaxis], y)
    assert median_line(x, y) == pytest.approx((oracle.intercept_, oracle.coef_[0]), abs=2e-3)


def test_ratings_are_put_on_the_line_of_scores() -> None:
    """Where the map is straight, a rating of z has the place of a raw score of z."""
    score_map = ScoreMap(unrelated=-1.5, reference=1.0)
    inner = np.linspace(-1.3, 0.8, 7)
    np.testing.assert_allclose(on_scale(inner, score_map), score_map(inner))
    assert on_scale(np.array([-9.0, 9.0]), score_map).tolist() == [0, 1]


def synthetic(count: int, seed: int, outputs: int = 3) -> RatedScores:
    """Ratings that grow with the score, and differ more where the overlap is small."""
    random = np.random.default_rng(seed)
    scores, overlap = random.uniform(size=count), random.uniform(size=count)
    noise = random.standard_t(5, size=count) * (0.05 + 0.2 * (1 - overlap))
    return RatedScores(
        scores=scores,
        texts=TextFeatures(
            random.uniform(0.4, 0.8, size=count), overlap, np.zeros(count, dtype=np.bool_)
        ),
        ratings=np.clip(0.1 + 0.7 * scores + noise, 0, 1),
        pairs=("de-en",) * count,
        groups=tuple(f"segment {row // outputs}" for row in range(count)),
        data="synthetic",
    )


def inside(model: RatingModel, rated: RatedScores, level: float) -> npt.NDArray[np.bool_]:
    low, high = model.interval(rated.scores, rated.features, level)
    return (rated.ratings >= low) & (rated.ratings <= high)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_intervals_cover_new_ratings(level: float) -> None:
    fresh = synthetic(20_000, seed=1)
    covered = [inside(fit_model(synthetic(1500, seed)), fresh, level).mean() for seed in (2, 3, 4)]
    assert np.mean(covered) == pytest.approx(level, abs=0.02)


def test_intervals_are_wide_where_ratings_differ() -> None:
    model, fresh = fit_model(synthetic(3000, seed=5)), synthetic(20_000, seed=6)
    low, high = model.interval(fresh.scores, fresh.features, 0.9)
    same_low, same_high = model.constant_interval(fresh.scores, 0.9)
    assert (high - low).mean() < 0.95 * (same_high - same_low).mean()
    alike = fresh.texts.overlap > 0.7
    for rows in (alike, ~alike):
        assert inside(model, fresh, 0.9)[rows].mean() == pytest.approx(0.9, abs=0.03)
    errors = np.abs(fresh.ratings - fresh.scores)
    expected = model.errors(fresh.features)
    assert expected.mean() == pytest.approx(errors.mean(), rel=0.03)
    assert np.corrcoef(expected, errors)[0, 1] > 0.2


def test_probabilities_are_those_of_new_ratings() -> None:
    model, fresh = fit_model(synthetic(3000, seed=7)), synthetic(20_000, seed=8)
    probability = model.probability(fresh.scores, fresh.features, 0.6)
    for low, high in ((0.05, 0.35), (0.35, 0.65), (0.65, 0.95)):
        rows = (probability >= low) & (probability < high)
        share = (fresh.ratings[rows] >= 0.6).mean()
        assert share == pytest.approx(probability[rows].mean(), abs=0.05)


def test_a_fit_is_the_same_each_time_and_needs_ratings() -> None:
    rated = synthetic(400, seed=9)
    assert fit_model(rated).to_dict() == fit_model(rated).to_dict()
    with pytest.raises(AdequaError, match="fitted on 200 ratings or more, and synthetic has 199"):
        fit_model(rated.select(np.arange(199)))


# The shipped file


def test_the_shipped_confidence_is_of_the_shipped_weights() -> None:
    model = read_confidence(FOLDER / CONFIDENCE)
    assert model.weights == METRIC.packed.digest_  # type: ignore[attr-defined]
    assert "|weights:e7c943d08047|" in str(METRIC.signature(1))  # as before there was the file
    assert {name: (each.data, each.ratings) for name, each in model.models.items()} == {
        "panel": ("wmt13-da", 1120),
        "one": ("wmt20-da", 30_481),
    }
    assert model.rule == BandRule(2 / 3, 0.5, 0.8)
    assert json.loads(model.to_json()) == json.loads(
        (FOLDER / CONFIDENCE).read_text(encoding="utf-8")
    )


REFERENCE = "The budget was not approved by the committee."
OUTPUTS = {
    REFERENCE: (1.0, 0.816, 1.0, 0.080, "publish"),
    "The committee did not approve the budget.": (0.955, 0.724, 1.0, 0.099, "publish"),
    "The committee has not said yes to the budget that was made.": (
        0.721, 0.329, 1.0, 0.178, "check",
    ),
    "The budget was approved by the committee.": (0.039, 0.0, 0.077, 0.078, "redo"),
    "": (0.0, 0.0, 0.070, 0.038, "redo"),
}  # fmt: skip


def test_a_table_of_shipped_estimates() -> None:
    """What the shipped file says of a few outputs; another processor may change a digit."""
    result = adequa.confidence(list(OUTPUTS), [REFERENCE] * len(OUTPUTS), METRIC)
    columns = (result.scores, result.low, result.high, result.error)
    for row, expected in enumerate(OUTPUTS.values()):
        numbers = [float(column[row]) for column in columns]
        assert numbers == pytest.approx(expected[:4], abs=0.02)
        assert result.bands[row] == expected[4]
    assert result.fractions == pytest.approx({"publish": 0.4, "check": 0.2, "redo": 0.4})


def test_intervals_grow_with_the_level_and_are_wider_for_one_rater() -> None:
    texts = ["The committee did not approve the budget."], [REFERENCE]
    levels = [0.5, 0.63, 0.8, 0.905, 0.99]
    results = [adequa.confidence(*texts, METRIC, level=level) for level in levels]
    widths = [float(each.high[0] - each.low[0]) for each in results]
    assert widths == sorted(widths)
    assert len(set(widths)) == len(widths)
    one = adequa.confidence(*texts, METRIC, level=0.8, raters="one")
    assert one.low[0] < results[2].low[0]
    assert one.bands == results[2].bands


def test_neighbours_and_batches_do_not_matter() -> None:
    texts = [(EXAMPLES / f"{n}.txt").read_text("utf-8").splitlines() for n in ("literal", "broken")]
    references = (EXAMPLES / "reference.txt").read_text("utf-8").splitlines()
    segments = Segments((*texts[0], *texts[1]), tuple((each,) for each in references * 2))
    estimator = Estimator.of(METRIC)
    scores = METRIC.compute_scores(segments).segments
    whole = estimator(segments, scores)
    single = Estimates.concatenate(
        [estimator(segments.select([row]), scores[[row]]) for row in range(len(segments))]
    )
    for name in ("low", "high", "error", "band", "outside"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(single, name))


def test_the_nearest_reference_counts() -> None:
    hypothesis, far = "The committee did not approve the budget.", "Tomatoes are red."
    one = adequa.confidence([hypothesis], [REFERENCE], METRIC)
    both = adequa.confidence([hypothesis], [[REFERENCE, far]], METRIC)
    assert both.scores == pytest.approx(one.scores)
    assert both.low == pytest.approx(one.low, abs=0.05)


def test_segments_unlike_those_that_were_rated_are_not_published() -> None:
    model = read_confidence(FOLDER / CONFIDENCE)
    texts = TextFeatures(
        length=np.array([0.6, 0.6, 1.0]),
        overlap=np.array([0.95, 0.95, 0.95]),
        foreign=np.array([False, True, False]),
    )
    estimates = model.estimate(np.array([0.99, 0.99, 0.99]), texts)
    assert [BANDS[code] for code in estimates.band] == ["publish", "check", "check"]
    assert estimates.outside.tolist() == [False, True, True]
    longer = replace(model.models["panel"], longest=1.0)
    wide = ConfidenceModel(model.weights, {"panel": longer})
    assert [BANDS[code] for code in wide.estimate(np.full(3, 0.99), texts).band][2] == "publish"


def test_every_rating_is_at_least_zero_and_none_is_below() -> None:
    """Bands that begin at 0: with `good` 0 all is good, and with `poor` 0 nothing is poor."""
    shipped = read_confidence(FOLDER / CONFIDENCE)
    scores = np.array([0.0, 0.1, 0.3])
    texts = TextFeatures(np.full(3, 0.5), np.full(3, 0.1), np.zeros(3, dtype=np.bool_))
    for rule, expected in (
        (BandRule(good=0, poor=0, probability=0.5), "publish"),
        (BandRule(good=1, poor=0, probability=0.5), "check"),
    ):
        codes = replace(shipped, rule=rule).estimate(scores, texts).band
        assert {BANDS[code] for code in codes} == {expected}


def test_another_language_is_warned_of() -> None:
    german, references = (
        (EXAMPLES / f"german{name}.txt").read_text("utf-8").splitlines()
        for name in ("", "-reference")
    )
    with pytest.warns(LanguageWarning, match="adequa-1 knows English alone"):
        result = adequa.confidence(german, references, METRIC)
    assert any("longer than all rated segments, or not in English" in n for n in result.notes)


def test_outputs_of_one_reference_are_not_independent() -> None:
    """Each row of 300 stands there five times; the intervals of fractions stay as wide."""
    shipped = replace(Estimator.of(METRIC), raters="panel")
    rated = synthetic(300, seed=10, outputs=1)
    once = pair_coverage("all", rated, shipped)
    repeated = pair_coverage("all", rated.select(np.repeat(np.arange(300), 5)), shipped)
    assert repeated.covered == once.covered
    assert (repeated.covered_low, repeated.covered_high) == pytest.approx(
        (once.covered_low, once.covered_high), abs=1e-3
    )
    for first, second in zip(once.bands, repeated.bands, strict=True):
        assert (second.good_low, second.good_high, second.poor_low, second.poor_high) == (
            pytest.approx((first.good_low, first.good_high, first.poor_low, first.poor_high), 0.01)
        )


# Results


def test_a_result_in_all_its_forms() -> None:
    result = adequa.confidence(list(OUTPUTS), [REFERENCE] * len(OUTPUTS), METRIC)
    frame = result.to_pandas()
    assert list(frame.columns) == ["segment", "score", "low", "high", "error", "band"]
    assert frame["low"].tolist() == result.low.tolist()
    assert json.loads(result.to_json())["bands"] == list(result.bands)
    assert result.to_text().splitlines()[0].split() == list(frame.columns)
    assert list(csv.reader(io.StringIO(result.to_csv())))[1][-1] == "publish"


def test_results_name_the_metric_and_the_file_of_the_confidence(tmp_path: Path) -> None:
    """The shipped file, and one with other intervals: the scores are equal, and the file is not."""
    shipped = (FOLDER / CONFIDENCE).read_bytes()
    (tmp_path / "copy.json").write_bytes(shipped)
    content = json.loads(shipped)
    content["raters"]["panel"] |= {"data": "mine.tsv", "radii": [9.0] * len(LEVELS)}
    (tmp_path / "mine.json").write_text(json.dumps(content), encoding="utf-8")
    results = [
        adequa.confidence(["A cat sat."], ["The cat sat."], METRIC, file=file)
        for file in (None, tmp_path / "copy.json", tmp_path / "mine.json")
    ]
    digest = hashlib.sha256(shipped).hexdigest()[:12]
    signatures = [str(each.estimator.signature) for each in results]
    assert signatures[0] == f"confidence|raters:panel|level:0.9|data:wmt13-da|file:{digest}"
    assert signatures[1] == signatures[0]
    assert signatures[2].startswith("confidence|raters:panel|level:0.9|data:mine.tsv|file:")
    assert digest not in signatures[2]
    for result, signature in zip(results, signatures, strict=True):
        shape = result.to_dict()
        assert shape["metric"] == "adequa-1"
        assert shape["signature"] == str(METRIC.signature(1))
        assert shape["confidence"]["signature"] == signature
        assert shape["notes"] == []
        assert signature in result.to_text()
    assert results[0].to_dict()["confidence"] | {"bands": None} == {
        "signature": signatures[0],
        "level": 0.9,
        "raters": "panel",
        "data": "wmt13-da",
        "file": digest,
        "bands": None,
    }


def test_streams_of_scores_have_confidence_in_all_formats() -> None:
    references = (EXAMPLES / "reference.txt").read_text("utf-8").splitlines()
    fluent = (EXAMPLES / "fluent.txt").read_text("utf-8").splitlines()
    batches = [
        Segments(
            tuple(fluent[part] * 2),
            tuple((each,) for each in references[part] * 2),
            ids={"system": ("a",) * len(fluent[part]) + ("b",) * len(fluent[part])},
        )
        for part in (slice(0, 10), slice(10, 36))
    ]
    metrics = {"adequa-1": METRIC, "chrf": load_metric("chrf")}
    estimators = {"adequa-1": Estimator.of(METRIC)}
    whole = adequa.confidence(fluent, references, METRIC)
    for keep in (True, False):
        scored = score_stream(batches, metrics, keep_segments=keep, estimators=estimators)
        assert json.loads("".join(scored.lines(Format.json))) == json.loads(
            json.dumps(scored.to_dict())
        )
        adequa_systems, chrf_systems = (each.systems for each in scored.metrics)
        assert chrf_systems[0].confidence is None
        for system in adequa_systems:
            assert system.confidence is not None
            assert system.confidence.error == pytest.approx(whole.error.mean())
            assert system.confidence.fractions == whole.fractions
        signature = str(estimators["adequa-1"].signature)
        assert signature in scored.to_text().splitlines()
        assert scored.to_dict()["metrics"][0]["confidence"]["signature"] == signature
        rows = list(csv.DictReader(io.StringIO(scored.to_csv())))
        if keep:
            assert [float(row["adequa-1_low"]) for row in rows[:36]] == whole.low.tolist()
            assert [row["adequa-1_band"] for row in rows[36:]] == list(whole.bands)
        else:
            assert [float(row["adequa-1_publish"]) for row in rows] == [
                whole.fractions["publish"]
            ] * 2
    plain = score_stream(batches, metrics, keep_segments=True)
    assert "confidence" not in "".join(plain.lines(Format.json))
    assert plain.to_csv().splitlines()[0] == "system,segment,adequa-1,chrf"


# Wrong input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"level": 0.2}, "The level of intervals is a number from 0.5 to 0.99, not 0.2."),
        ({"level": "high"}, "The level of intervals is a number from 0.5 to 0.99, not high."),
        ({"raters": "two"}, '"two" is not a value of raters; choose one of panel, one.'),
        (
            {"metric": "bleu"},
            "Confidence intervals are available for adequa and exported metrics, not for bleu.",
        ),
        ({"file": "none.json"}, "none.json cannot be read: there is no such file."),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AdequaError) as caught:
        adequa.confidence(["a"], ["b"], **({"metric": METRIC} | arguments))
    assert str(caught.value) == sentence


def damaged(change: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads((FOLDER / CONFIDENCE).read_text(encoding="utf-8"))
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not a file of `adequa train confidence`"),
        ("[]", "is not a file of `adequa train confidence`"),
        (damaged(lambda c: c.update(format=2)), "is of format 2, which this version"),
        (damaged(lambda c: c.update(weights="0" * 64)), "was fitted for the weights 000000000000"),
        (damaged(lambda c: c.update(raters={})), "it has no raters"),
        (damaged(lambda c: c["raters"]["one"]["radii"].pop()), "its numbers are incomplete"),
        (damaged(lambda c: c["raters"]["one"].pop("error")), "it has no error"),
        (
            damaged(lambda c: c["raters"]["panel"]["distance"].update(features=["score"])),
            "its features are score",
        ),
        (
            damaged(lambda c: c["bands"].update(poor=0.9)),
            "poor must be from 0 to 0.666667, not 0.9",
        ),
    ],
)
def test_files_that_are_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    with pytest.raises(AdequaError) as caught:
        adequa.confidence(["a"], ["b"], METRIC, file=tmp_path / "c.json")
    assert sentence in str(caught.value)


def test_nothing_is_published_in_a_language_that_the_metric_does_not_know() -> None:
    texts = ["A book.", "It is good."]
    assert set(adequa.confidence(texts, texts, METRIC).bands) == {"publish"}
    with pytest.warns(adequa.LanguageWarning):
        german = adequa.confidence(texts, texts, METRIC, language="de")
    assert set(german.bands) == {"check"}


def test_ratings_of_other_scales_are_refused() -> None:
    hundred = Ratings(
        np.linspace(0, 100, 300),
        {"lp": ("de-en",) * 300},
        Segments(("a",) * 300, tuple((f"b {row}",) for row in range(300))),
        name="percent",
    )
    with pytest.raises(
        AdequaError, match="The ratings of percent have a mean of 50 and a standard"
    ):
        adequa.fit_confidence({"one": hundred}, METRIC)
    with pytest.raises(AdequaError, match="not standardised"):
        adequa.coverage(hundred, METRIC)
    with pytest.raises(AdequaError, match='"many" is not a value of raters'):
        adequa.fit_confidence({"many": hundred}, METRIC)  # type: ignore[dict-item]
    with pytest.raises(AdequaError, match="ratings must be a dictionary"):
        adequa.fit_confidence(hundred, METRIC)  # type: ignore[arg-type]


# The command line, with a tiny metric


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in a folder with texts, standardised ratings and a packed metric."""
    pytest.importorskip("onnx")
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    tiny_packed(tmp_path / "metric")
    random = np.random.default_rng(0)
    words = np.array(["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "and"])
    lines = ["lp\tsystem\tsegment\tmt\tref\tscore"]
    for row in range(260):
        reference, output = (" ".join(random.choice(words, 6)) for _ in range(2))
        pair = "de-en" if row % 2 else "cs-en"
        rating = random.normal((MAP.unrelated + MAP.reference) / 2, 1)
        lines.append(f"{pair}\ts\t{row}\t{output}\t{reference}\t{rating}")
    (tmp_path / "ratings.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "hyp.txt").write_text("the cat sat\n\nthe dog\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("the cat sat\na dog\na cat ran\n", encoding="utf-8")

    def adequa_(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["adequa", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess([], ended.value.code, shown.out, shown.err)

    return adequa_


FILES = ("-t", "hyp.txt", "-r", "ref.txt")
TRAIN = ("train", "confidence", "-m", "metric", "--panel", "ratings.tsv")


def test_confidence_is_trained_used_and_measured(run: Run, tmp_path: Path) -> None:
    missing = run("score", *FILES, "-m", "metric", "--confidence")
    assert missing.returncode == 2
    assert missing.stderr == (
        "adequa: error: metric has no confidence.json; fit one with `adequa train confidence`.\n"
    )
    trained = run(*TRAIN, "-o", "c.json")
    assert (trained.returncode, trained.stderr) == (0, "")
    assert trained.stdout.splitlines()[3].split()[:2] == ["panel", "260"]
    again = run(*TRAIN, "-o", "metric/confidence.json", "-q")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (tmp_path / "metric/confidence.json").read_text() == (tmp_path / "c.json").read_text()
    assert (
        json.loads(run(*TRAIN, "-o", "c.json", "-q", "--format", "json").stdout)["metric"] == "tiny"
    )
    in_folder, named = (
        run("score", *FILES, "-m", "metric", "--confidence", *more, "--segments", "--format", "tsv")
        for more in ((), ("--confidence-file", "c.json"))
    )
    assert named.stdout == in_folder.stdout
    rows = list(csv.DictReader(io.StringIO(named.stdout), delimiter="\t"))
    assert list(rows[0]) == [
        "system", "segment", "tiny", "tiny_low", "tiny_high", "tiny_error", "tiny_band",
    ]  # fmt: skip
    assert [row["tiny"] for row in rows[:2]] == ["1.0", "0.0"]
    measured = run("coverage", "ratings.tsv", "-m", "metric", "--format", "json")
    shape = json.loads(measured.stdout)
    assert [each["name"] for each in shape["pairs"]] == ["cs-en", "de-en"]
    assert shape["all"]["covered"] == pytest.approx(0.9, abs=0.03)
    assert sum(band["segments"] for band in shape["all"]["bands"][:3]) == 260
    assert shape["confidence"].startswith("confidence|raters:panel|level:0.9|data:ratings")
    only = run("coverage", "ratings.tsv", "-m", "metric", "--threshold", "0", "--lp", "de-en")
    assert only.returncode == 0
    assert "in the interval" not in only.stdout
    table = run("coverage", "ratings.tsv", "-m", "metric", "--format", "tsv").stdout
    assert len(list(csv.DictReader(io.StringIO(table), delimiter="\t"))) == 12
    one = run("score", *FILES, "-m", "metric", "--confidence", "--raters", "one")
    assert one.stderr == (
        "adequa: error: The confidence was not fitted on ratings of one rater; there are those of "
        "a panel of raters.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("score", *FILES, "-m", "metric", "--level", "0.8"), "--level goes with --confidence."),
        (
            ("score", *FILES, "-m", "chrf", "--confidence"),
            "--confidence goes with the metric adequa, and it is not among these: chrf; "
            "add -m adequa.",
        ),
        (
            ("score", *FILES, "-m", "metric", "--confidence", "--by", "doc"),
            "--confidence and --by cannot be combined; choose one.",
        ),
        (
            ("score", "-i", "*.tsv", "-o", "out/", "--confidence"),
            "A corpus of shards is scored without --confidence; leave it out.",
        ),
        (
            ("train", "confidence", "-o", "c.json"),
            "Give ratings of one rater each with --ratings, those of panels with --panel, or both.",
        ),
        ((*TRAIN, "-o", "c.txt"), "The fitted confidence is JSON; give c.txt a name that ends in "
         ".json."),
        ((*TRAIN, "-o", "c.json", "--probability", "0.2"), "probability must be from 0.5 to 1, "
         "not 0.2."),
        ((*TRAIN, "-o", "c.json", "--good", "0.3"), "--poor 0.5 and --good 0.3 should be "
         "0 <= poor <= good <= 1."),
        (("coverage", "ratings.tsv", "-m", "chrf"), "Confidence intervals are available for "
         "adequa and exported metrics, not for chrf."),
    ],
)  # fmt: skip
def test_commands_that_are_refused(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    shown = run(*arguments)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == f"adequa: error: {sentence}\n"


# On human judgements


@needs_judgements
@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_panel_model_is_what_its_ratings_give(name: str) -> None:
    shipped = read_confidence(SHIPPED[name] / CONFIDENCE).models["panel"]
    metric = load_metric(f"{name}:threads=1")
    fitted = adequa.fit_confidence({"panel": shipped.data}, metric).model.models["panel"]
    # What another processor changes in the third decimal of a few scores changes little here.
    assert fitted.median == pytest.approx(shipped.median, abs=0.01)
    assert fitted.radii[LEVELS == 0.9] == pytest.approx(shipped.radii[LEVELS == 0.9], abs=0.05)


@needs_judgements
@pytest.mark.parametrize(("name", "raters"), [("wmt17-da", "panel"), ("wmt21-da", "one")])
def test_coverage_on_judgements_that_nothing_was_fitted_on(name: str, raters: Any) -> None:
    """On about 800 ratings; docs/confidence.md has the figures on all: 88.3% and 89.4%."""
    ratings = load_dataset(name)
    assert isinstance(ratings, Ratings)
    some = ratings.select(np.arange(0, len(ratings), len(ratings) // 800))
    measured = adequa.coverage(some, METRIC)
    assert measured.raters == raters  # which is known of a named dataset
    assert measured.total.covered == pytest.approx(0.89, abs=0.035)
    assert measured.total.width < measured.total.constant_width
    assert measured.total.correlation > 0
    publish, _, redo, every = measured.total.bands
    assert publish.good > every.good + 0.1
    assert redo.poor > every.poor + 0.1
