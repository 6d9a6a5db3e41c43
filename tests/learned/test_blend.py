"""Blends: the scores of metrics and of columns as features, saved and found again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import FileRows, Ratings, joined
from adequa.learned import blend as blend_module
from adequa.learned.blend import LEXICAL, Blend
from adequa.learned.embedding.features import Features
from adequa.learned.embedding.svr import fit_svr
from adequa.learned.folds import reference_groups
from adequa.metrics.base import plain_remarks
from adequa.metrics.registry import METRICS, load_metric, with_absolute_paths
from adequa.progress import Progress
from adequa.segments import Segments
from source_metrics import register
from test_cli import EXAMPLES, adequa
from tiny_encoders import write_vectors

pytest.importorskip("sklearn", reason="support vectors are trained with scikit-learn")

FEW = ("chrf", "wer")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def examples(rows: int = 36) -> Ratings:
    ratings = load_dataset(EXAMPLES / "ratings.tsv")
    assert isinstance(ratings, Ratings)
    return ratings.select(range(0, len(ratings), len(ratings) // rows))


def texts(ratings: Ratings) -> Segments:
    assert ratings.segments is not None
    return ratings.segments


def beside(ratings: Ratings, **columns: tuple[str, ...]) -> Ratings:
    return Ratings(ratings.scores, {**ratings.ids, **columns}, ratings.segments, name=ratings.name)


def fitted(ratings: Ratings, *metrics: str, **settings: Any) -> Blend:
    return Blend(metrics=metrics, folds=2, workers=1, **settings).fit(ratings)


def written(ratings: Ratings, path: Path, **columns: tuple[str, ...]) -> Path:
    """Ratings as a table, with columns beside the texts."""
    header = ["lp", "system", "segment", "mt", "ref", "score", *columns]
    rows = zip(
        *(ratings.ids[name] for name in ("lp", "system", "segment")),
        texts(ratings).hypotheses,
        [references[0] for references in texts(ratings).references],
        map(str, ratings.scores.tolist()),
        *columns.values(),
        strict=True,
    )
    path.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))
    return path


@pytest.fixture
def features(monkeypatch: pytest.MonkeyPatch) -> list[Features]:
    """What the regressor gets to see."""
    seen: list[Features] = []

    def spy(features: Features, *others: Any, **settings: Any) -> Any:
        seen.append(features)
        return fit_svr(features, *others, **settings)

    monkeypatch.setattr(blend_module, "fit_svr", spy)
    return seen


def test_features_are_the_scores_of_the_metrics(features: list[Features]) -> None:
    ratings = examples()
    metrics = ("sentbleu", "chrf:word_order=1", "nist", "ter")
    metric = fitted(ratings, *metrics)
    expected = [load_metric(name).score(texts(ratings)).segments for name in metrics]
    np.testing.assert_allclose(features[0], np.column_stack(expected), rtol=1e-6)
    assert metric.needs_whole_corpus  # as NIST does
    assert not fitted(ratings, *FEW).needs_whole_corpus


def test_a_blend_reads_what_its_parts_read(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    assert Blend(metrics=("length-ratio",)).reads == {"source": "required"}
    assert Blend(metrics=("either",)).reads == {"reference": "optional", "source": "optional"}
    both = Blend(metrics=("either", "length-ratio"))
    assert both.reads == {"reference": "optional", "source": "required"}
    assert list(Blend(metrics=("length-ratio", "wer")).reads) == ["reference", "source"]
    assert Blend(metrics=(), columns=("qe",)).reads == {"reference": "required"}


def with_sources_alone(ratings: Ratings) -> Ratings:
    """Ratings whose references have become sources."""
    sources = tuple(cells[0] for cells in texts(ratings).references)
    bare = replace(texts(ratings), references=((),) * len(ratings), sources=sources)
    return replace(ratings, segments=bare)


def test_ratings_without_references(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    ratings = with_sources_alone(examples())
    for names in (("chrf",), ("chrf", "length-ratio")):
        message = sentence(lambda names=names: fitted(ratings, *names))  # type: ignore[misc]
        assert message.startswith("There are no references in ratings.tsv, and a blend needs")
    numbers = tuple(map(str, ratings.scores.tolist()))
    columns = sentence(lambda: fitted(beside(ratings, qe=numbers), columns=("qe",)))
    assert "and a blend needs them" in columns
    with_references = sentence(lambda: fitted(examples(), "length-ratio"))
    assert with_references.startswith("blend needs sources, and there are none")
    metric = fitted(ratings, "length-ratio", "either")
    assert np.isfinite(metric.score(texts(ratings)).segments).all()


def test_outputs_of_one_source_are_in_one_fold() -> None:
    bare = with_sources_alone(examples())
    assert reference_groups(texts(bare)) == list(texts(bare).sources or ())


def test_the_default_features_do_not_depend_on_the_registry() -> None:
    names = [name for name in LEXICAL if ":" not in name]
    assert len(names) == 11  # as docs/training.md says
    assert not any(METRICS[name].is_trained for name in names)
    assert all(load_metric(name) for name in LEXICAL)


def test_a_lexical_part_cannot_be_swapped_for_another() -> None:
    fitted(examples(), "chrf", "ter").save("outer")
    message = sentence(lambda: load_metric("outer:metric2=chrf"))
    assert message.startswith("chrf is not the metric that outer was trained with, which was ter|")


def test_a_corpus_is_a_language_pair_of_a_dataset(features: list[Features]) -> None:
    ratings = examples()
    first, second, third = (ratings.select(range(at, at + 12)) for at in (0, 12, 24))
    parts = [
        Ratings(part.scores, {"lp": (pair,) * 12}, part.segments, name=name)
        for part, pair, name in (
            (first, "cs-en", "one"), (second, "de-en", "one"), (third, "cs-en", "two"),
        )
    ]  # fmt: skip
    metric = fitted(joined(parts), "nist")
    expected = np.concatenate(
        [load_metric("nist").score(texts(part)).segments for part in (first, second, third)]
    )
    np.testing.assert_allclose(features[0][:, 0], expected, rtol=1e-6)
    assert metric.training_["rows_by_dataset"] == {"one": 24, "two": 12}


def test_progress_and_a_blend_of_nothing() -> None:
    stages: list[str] = []
    scored: list[int] = []
    training = Progress(stage=stages.append, texts_scored=scored.append)
    Blend(FEW, folds=2, workers=1).fit(examples(), training)
    assert stages[:2] == ["Scoring with chrf", "Scoring with wer"]
    assert scored == [36, 36]
    with pytest.raises(AdequaError, match="at least one metric or column"):
        Blend(metrics=())
    with pytest.raises(AdequaError, match='Did you mean "chrf"'):
        Blend(metrics=("chfr",))


def test_columns_are_read_from_ratings_and_tables(features: list[Features]) -> None:
    ratings = examples()
    quality = tuple(f"{score / 7:.3f}" for score in ratings.scores)
    metric = fitted(beside(ratings, qe=quality), "wer", columns=("qe",), name="mine")
    np.testing.assert_allclose(features[0][:, 1], [float(cell) for cell in quality], rtol=1e-6)
    expected = metric.score(
        Segments(texts(ratings).hypotheses, texts(ratings).references, ids={"qe": quality})
    )
    assert np.corrcoef(expected.segments, ratings.scores)[0, 1] > 0.9
    assert "|metrics:wer,qe|" in str(metric.signature(1))
    metric.save("mine")
    table = written(ratings, Path("table.tsv"), qe=quality)
    process = adequa(
        "score", "-i", table, "-m", "./mine", "--segments", "--format", "json", cwd=Path()
    )
    assert process.stderr == "note: table.tsv: 12 segments, 3 systems, 1 reference\n"
    (result,) = json.loads(process.stdout)["metrics"]
    by_system = {system["name"]: system["segments"] for system in result["systems"]}
    of = {name: iter(scores) for name, scores in by_system.items()}
    in_order = [next(of[name]) for name in ratings.ids["system"]]
    assert in_order == pytest.approx(expected.segments.tolist(), abs=1e-9)
    evaluated = adequa(
        "evaluate", table, "-m", "mine", "-m", "wer", "--format", "tsv", "--resamples", "100",
        cwd=Path(),
    )  # fmt: skip
    lines = {line.split("\t")[0]: line.split("\t") for line in evaluated.stdout.splitlines()}
    pearson = np.corrcoef(expected.segments, ratings.scores)[0, 1]
    assert float(lines["mine"][3]) == pytest.approx(pearson, abs=1e-4)


def score(ids: dict[str, tuple[str, ...]]) -> Callable[[], object]:
    metric = load_metric("mine")
    return lambda: metric.score(Segments(("a b",), (("a b",),), ids=ids))


def sentence(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_columns_that_are_missing_or_no_numbers() -> None:
    ratings = examples()
    numbers = tuple(map(str, ratings.scores.tolist()))
    missing = sentence(lambda: fitted(ratings, "wer", columns=("qe",), name="mine"))
    assert 'mine needs scores in a column "qe" beside the texts; there is none.' in missing
    assert "Columns: lp, system, segment" in missing
    fitted(beside(ratings, qe=numbers), columns=("qe",), name="mine").save("mine")
    assert "Columns: none" in sentence(score({}))
    for cell in ("good", ""):
        assert '"qe" holds something that is no number' in sentence(score({"qe": (cell,)}))
    for cell in ("nan", "-inf", "1e300"):
        assert '"qe" holds NaN, or a number that is no score' in sentence(score({"qe": (cell,)}))
    cells = ("nan", *numbers[1:])
    assert "holds NaN" in sentence(
        lambda: fitted(beside(ratings, qe=cells), columns=("qe",), name="mine")
    )
    Path("t.txt").write_text("a b\n")
    process = adequa("score", "-t", "t.txt", "-r", "t.txt", "-m", "./mine", cwd=Path())
    assert (process.returncode, len(process.stderr.splitlines()), process.stdout) == (2, 1, "")
    assert 'a column "qe" beside the texts' in process.stderr


def test_a_blend_with_a_saved_metric_loads_in_any_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ratings = examples()
    segments = texts(ratings)
    sentences = [*segments.hypotheses, *(references[0] for references in segments.references)]
    write_vectors(Path("vectors.npz"), sentences)
    inner = fitted(ratings, "chrf", name="inner").save("inner")
    from adequa.encoders.registry import load_encoder
    from adequa.learned.embedding.metric import EmbeddingRegressor

    EmbeddingRegressor(load_encoder("vectors.npz"), folds=2, workers=1).fit(ratings).save("vec")
    Path("vectors.npz").rename("moved.npz")
    outer = fitted(ratings, "inner", "vec:encoder=moved.npz", "wer", name="outer").save("outer")
    expected = outer.score(segments)
    monkeypatch.chdir("/")
    again = load_metric(str(tmp_path / "outer"))
    assert isinstance(again, Blend)
    assert again.score(segments).segments.tolist() == expected.segments.tolist()
    assert str(again.signature(1)) == str(expected.signature)
    assert f"|metrics:inner@{inner.digest_[:12]},embedding-regressor@" in str(expected.signature)
    assert ",wer|weights:" in str(expected.signature)
    assert str(tmp_path) not in str(expected.signature)
    assert again.metrics[1] == f"{tmp_path / 'vec'}:encoder={tmp_path / 'moved.npz'}"


def test_parts_are_those_that_the_blend_was_trained_with() -> None:
    ratings = examples()
    fitted(ratings, "chrf", name="inner").save("inner")
    fitted(ratings, "inner", "wer", name="outer").save("outer")
    shutil.rmtree("inner")
    assert "inner is no metric: there is no such folder" in sentence(lambda: load_metric("outer"))
    fitted(ratings, "wer", name="inner").save("inner")
    message = sentence(lambda: load_metric("outer"))
    assert "inner is not the metric that outer was trained with, which was inner|" in message


def test_parts_may_be_moved() -> None:
    ratings = examples()
    segments = texts(ratings)
    fitted(ratings, "chrf", name="inner").save("inner")
    outer = fitted(ratings, "wer", "inner", name="outer").save("outer")
    Path("inner").rename("moved")
    again = load_metric("outer:metric2=moved")
    assert again.score(segments).segments.tolist() == outer.score(segments).segments.tolist()
    assert str(again.signature(1)) == str(outer.signature(1))
    fitted(ratings, "ter", name="inner").save("inner")
    message = sentence(lambda: load_metric("outer:metric2=inner"))
    assert "inner is not the metric that outer was trained with, which was inner|" in message
    message = sentence(lambda: load_metric("outer:metric3=moved"))
    assert 'outer has no setting named "metric3". Did you mean "metric' in message
    assert sentence(lambda: load_metric("outer:cache=no")) == (
        'outer has no setting named "cache". Its settings: metric1, metric2.'
    )


def test_too_many_references_are_refused_before_any_metric_scores() -> None:
    ratings = examples()
    segments = texts(ratings)
    references = tuple((*each, f"{each[0]} too") for each in segments.references)
    two = Segments(segments.hypotheses, references)
    stages: list[str] = []
    metric = Blend(("chrf", "character"), folds=2, workers=1)
    assert metric.max_references == 1
    message = sentence(
        lambda: metric.fit(Ratings(ratings.scores, ratings.ids, two), Progress(stage=stages.append))
    )
    assert message == (
        "character takes 1 reference a segment, and the ratings have up to 2; name the metrics to "
        "blend, without it."
    )
    assert not stages


def test_folds_are_checked_before_any_metric_scores() -> None:
    stages: list[str] = []
    message = sentence(lambda: Blend(FEW, folds=40).fit(examples(), Progress(stage=stages.append)))
    assert "40 folds need at least 40 groups of rows" in message
    assert not stages


def test_remarks_are_those_of_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Blend(("chrf", "wer", "ter"))
    assert metric.remarks() == ()
    for part in metric.parts[1:]:
        monkeypatch.setattr(
            type(part), "counted_remarks", lambda self: plain_remarks([f"{self.name} cut texts"])
        )
    assert metric.remarks() == ("wer cut texts", "ter cut texts")


def test_joined_ratings_keep_what_was_not_used() -> None:
    ratings = examples(12)
    one = replace(ratings, file_rows=FileRows(np.arange(3, 15), 20, {"blank": 2, "no number": 6}))
    two = replace(ratings, file_rows=FileRows(np.arange(12), 13, {"no number": 1}))
    both = joined([one, two])
    assert both.file_rows.rows.tolist() == [*range(3, 15), *range(20, 32)]
    assert both.file_rows.row_count == 33
    assert dict(both.file_rows.unused) == {"blank": 2, "no number": 7}
    metric = fitted(both.select(range(20)), "chrf")
    assert metric.training_["rows_not_used"] == {"blank": 2, "no number": 7}
    assert "rows_not_used" not in fitted(ratings, "chrf").training_


def test_a_recursive_blend_is_refused() -> None:
    fitted(examples(), "chrf", name="mine").save("mine")
    path = Path("mine/metric.json")
    described = json.loads(path.read_text())
    described["settings"]["metrics"] = [str(Path("mine").resolve())]
    path.write_text(json.dumps(described))
    assert "nested too deeply, or made of itself" in sentence(lambda: load_metric("mine"))


def test_paths_in_full(tmp_path: Path) -> None:
    fitted(examples(), "chrf", name="mine").save("mine")
    Path("a.npz").write_text("")
    assert with_absolute_paths("mine") == with_absolute_paths("./mine/") == str(tmp_path / "mine")
    assert with_absolute_paths("mine:encoder=a.npz,encoder2=words:a.npz,cache=no") == (
        f"{tmp_path}/mine:encoder={tmp_path}/a.npz,encoder2=words:{tmp_path}/a.npz,cache=no"
    )
    assert with_absolute_paths("chrf:word_order=2") == "chrf:word_order=2"


def test_the_card_says_what_it_is() -> None:
    fitted(examples(), "chrf", "bleu", name="mine").save("mine")
    card = Path("mine/README.md").read_text()
    assert card.startswith("# mine\n\nBlend: an SVR with an RBF kernel over the scores of `chrf`")
    assert "36 ratings: ratings.tsv." in card
    tables = [block.splitlines() for block in card.split("\n\n") if block.startswith("|")]
    for table in tables:  # bars of signatures are escaped
        assert len({row.replace(r"\|", "").count("|") for row in table}) == 1
