"""Regression over sentence vectors: features by hand, scikit-learn's SVR, and laws of scores."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from adequa.encoders.base import Concatenation, PairEncoder, cached
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from adequa.judgements import Ratings
from adequa.learned.embedding import metric as metric_module
from adequa.learned.embedding import mlp, svr
from adequa.learned.embedding.features import feature_count, pair_features
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.learned.folds import FittedRegressor, grouped_folds
from adequa.metrics.base import Remark
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import IntArray, Segments
from adequa.version import __version__
from tiny_encoders import DIMENSION, Counting, Together, rated, sentences_of, texts, vectors
from tiny_encoders import write_vectors as write

# What needs neither of the packages that training needs.
ALONE = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sklearn", "torch", "transformers", "safetensors"}:
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
from adequa.metrics.registry import load_metric
from adequa.segments import Segments

hypotheses, references = json.load(sys.stdin)
segments = Segments(tuple(hypotheses), tuple(map(tuple, references)))
print(json.dumps(load_metric(sys.argv[1]).score(segments).segments.tolist()))
"""


def fitted(ratings: Ratings, **settings: Any) -> EmbeddingRegressor:
    pytest.importorskip("sklearn", reason="support vectors are trained with scikit-learn")
    metric = EmbeddingRegressor(settings.pop("encoder", Counting()), workers=1, **settings)
    assert metric.fit(ratings) is metric
    return metric


def scores(metric: EmbeddingRegressor, segments: Segments) -> list[float]:
    result: list[float] = metric.score(segments).segments.tolist()
    return result


def test_features_by_hand_and_each_text_encoded_once() -> None:
    encoder = Counting()
    hypotheses, references = ["a", "b", "a", "same"], ["x", "x", "x", "same"]
    result = pair_features(encoder, hypotheses, references)
    assert encoder.seen == ["a", "b", "same", "x"]
    t, r = vectors(hypotheses), vectors(references)
    assert result.shape == (4, feature_count(encoder)) == (4, 4 * DIMENSION)
    expected = [[*t[row], *r[row], *(t[row] * r[row]), *(abs(t[row] - r[row]))] for row in range(4)]
    np.testing.assert_array_equal(result, np.array(expected, np.float32))
    assert not result[3, 3 * DIMENSION :].any()


def test_a_pair_of_sentences_that_were_read_together_is_taken_as_it_is() -> None:
    encoder = Together()
    assert isinstance(encoder, PairEncoder)
    result = pair_features(encoder, ["a", "b"], ["x", "x"])
    np.testing.assert_array_equal(result, encoder.encode_pairs(["a", "b"], ["x", "x"]))
    assert feature_count(encoder) == DIMENSION


@pytest.mark.parametrize("grid", ["scaled", "paper"])
def test_the_regressor_is_that_of_scikit_learn(grid: str) -> None:
    ratings = rated()
    metric = fitted(ratings, grid=grid, folds=2)
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    assert ratings.segments is not None
    unseen = texts(60).select(range(36, 60))
    seen, new = (
        pair_features(
            Counting(), part.hypotheses, [references[0] for references in part.references]
        )
        for part in (ratings.segments, unseen)
    )
    mean, scale = 0.0, 1.0
    if grid == "scaled":
        scaler = StandardScaler().fit(seen.astype(np.float64))
        # Rounded as they are when they are saved: the solver stops within its tolerance only.
        seen, new = (
            scaler.transform(part.astype(np.float64)).astype(np.float32) for part in (seen, new)
        )
        mean, scale = ratings.scores.mean(), ratings.scores.std()
    chosen = metric.training_["chosen"]
    model = SVR(C=chosen["C"], epsilon=chosen["epsilon"], gamma=chosen["gamma"])
    model.fit(seen, (ratings.scores - mean) / scale)
    np.testing.assert_allclose(
        scores(metric, unseen), model.predict(new) * scale + mean, atol=1e-6, rtol=0
    )
    assert chosen["support_vectors"] == len(model.support_)


def test_scores_are_on_the_scale_of_the_ratings() -> None:
    ratings = rated()
    assert ratings.segments is not None
    plain = fitted(ratings, folds=2)
    other = fitted(replace(ratings, scores=ratings.scores * 100 + 50), folds=2)
    expected = np.array(scores(plain, ratings.segments)) * 100 + 50
    np.testing.assert_allclose(scores(other, ratings.segments), expected, atol=1e-5, rtol=0)
    assert np.corrcoef(expected, ratings.scores)[0, 1] > 0.9  # the relation was learnt
    assert plain.score(ratings.segments).system == pytest.approx(
        np.mean(scores(plain, ratings.segments))
    )


def test_a_perceptron_learns_on_the_scale_of_the_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="perceptrons are trained with PyTorch")
    small = mlp.MLPGrid((16,), (0.0,), (1,), (32,), scaled=True, epochs=20, learning_rate=0.01)
    monkeypatch.setitem(mlp.MLP_GRIDS, "scaled", small)
    ratings = rated(60)
    assert ratings.segments is not None
    by_scale = []
    for scale in (1, 128):  # a power of two: rounding is the same
        metric = EmbeddingRegressor(Together(), model="mlp", device="cpu")
        metric.fit(replace(ratings, scores=ratings.scores * scale))
        by_scale.append(np.array(scores(metric, ratings.segments)))
    np.testing.assert_allclose(by_scale[1], by_scale[0] * 128, rtol=1e-5)
    assert np.corrcoef(by_scale[0], ratings.scores)[0, 1] > 0.9
    assert metric.training_["chosen"].keys() >= {"batch", "dropout", "layers", "units", "epoch"}
    assert metric.agreement_["held_out_rows"] == metric.agreement_["all"]["rows"] == 6
    assert metric.agreement_["settings_tried"] == 1  # whatever the number of epochs
    assert metric.agreement_["folds"] == 0


def test_what_is_saved_scores_the_same_without_scikit_learn_and_torch(tmp_path: Path) -> None:
    ratings = rated()
    segments = ratings.segments
    assert segments is not None
    write(tmp_path / "vectors.npz", sentences_of(segments))
    encoder = load_encoder(str(tmp_path / "vectors.npz"))
    metric = fitted(ratings, encoder=encoder, folds=2, name="mine")
    before = scores(metric, segments)
    assert str(metric.signature(1)).endswith(f"|weights:unsaved|version:{__version__}")
    assert metric.save(tmp_path / "metric") is metric
    (tmp_path / "vectors.npz").rename(tmp_path / "moved.npz")
    process = subprocess.run(
        [sys.executable, "-c", ALONE, f"{tmp_path / 'metric'}:encoder={tmp_path / 'moved.npz'}"],
        input=json.dumps([segments.hypotheses, segments.references]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stderr == ""
    assert json.loads(process.stdout) == before
    again = load_metric(str(tmp_path / "metric"), encoder=tmp_path / "moved.npz")
    digest = json.loads((tmp_path / "metric" / "metric.json").read_text())["digest"]
    assert str(again.signature(2)) == (
        f"mine|nrefs:2|encoder:moved.npz@{encoder.fingerprint[:8]}|model:svr|references:best"
        f"|weights:{digest[:12]}|version:{__version__}"
    )
    assert again.higher_is_better


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    metrics = [fitted(rated(), folds=3, seed=seed) for seed in (4, 4)]
    metrics[1].workers = 2
    metrics[1].fit(rated())
    digests = {metric.save(tmp_path / str(number)).digest_ for number, metric in enumerate(metrics)}
    assert len(digests) == 1
    assert len(digests.pop()) == 64


@pytest.mark.parametrize("reduction", ["best", "mean"])
def test_multiple_references(reduction: str) -> None:
    metric = fitted(rated(), folds=2, references=reduction)
    segments = Segments(("hypothesis 1", "hypothesis 2"), (("x", "y", "z"), ("y",)))
    result = scores(metric, segments)
    alone = [
        scores(metric, Segments((hypothesis,), ((reference,),)))[0]
        for hypothesis, references in zip(segments.hypotheses, segments.references, strict=True)
        for reference in references
    ]
    first = max(alone[:3]) if reduction == "best" else sum(alone[:3]) / 3
    assert result == pytest.approx([first, alone[3]], abs=1e-12)


def test_rows_of_one_reference_never_part(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[IntArray] = []

    def spy(*arguments: Any) -> IntArray:
        seen.append(grouped_folds(*arguments))
        return seen[-1]

    monkeypatch.setattr(svr, "grouped_folds", spy)
    references: tuple[tuple[str, ...], ...]
    references = tuple((f"r{row // 3}", f"r{row // 3 + 20}") for row in range(30))
    references = (*references, ("r0", "alone"), ("r20",))  # these share one of the two
    hypotheses = tuple(f"h{row}" for row in range(32))
    fitted(Ratings(np.arange(32.0), {}, Segments(hypotheses, references)), folds=4)
    before_encoding, folds = seen
    np.testing.assert_array_equal(before_encoding, folds)
    pairs = [reference for each in references for reference in each]
    by_reference: dict[str, set[int]] = {}
    for reference, fold in zip(pairs, folds.tolist(), strict=True):
        by_reference.setdefault(reference, set()).add(fold)
    assert all(len(folds_) == 1 for folds_ in by_reference.values())
    assert by_reference["r0"] == by_reference["r20"] == by_reference["alone"]
    assert len(set(folds.tolist())) == 4


def test_agreement_is_that_of_predictions_out_of_fold() -> None:
    ratings = rated()
    metric = fitted(ratings, folds=3)
    report = metric.agreement_
    assert report["held_out_rows"] == 36
    assert report["settings_tried"] == 32
    assert report["folds"] == 3
    assert {pair: f["rows"] for pair, f in report["by_language_pair"].items()} == {
        "cs-en": 18, "de-en": 18,
    }  # fmt: skip
    assert -1 <= report["all"]["pearson"] <= 1
    assert metric.training_["rows_by_language_pair"] == {"cs-en": 18, "de-en": 18}


@pytest.mark.parametrize("reduction", ["best", "mean"])
def test_agreement_is_by_segment_and_the_mean_over_folds(
    reduction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_row: list[float] = []
    fold_of_row: list[int] = []

    def spy(*arguments: Any, **settings: Any) -> FittedRegressor[Any]:
        result = svr.fit_svr(*arguments, **settings)
        by_row.extend(result.predictions.tolist())
        fold_of_row.extend(result.fold_of_row.tolist())
        return result

    monkeypatch.setattr(metric_module, "fit_svr", spy)
    ratings = rated(36, references=3)
    assert ratings.segments is not None
    counts = [1 + row % 3 for row in range(36)]
    references = tuple(r[:n] for r, n in zip(ratings.segments.references, counts, strict=True))
    ratings = replace(ratings, segments=replace(ratings.segments, references=references))
    report = fitted(ratings, folds=3, references=reduction).agreement_
    assert len(by_row) == sum(counts)
    rows, folds_of_pairs = iter(by_row), iter(fold_of_row)
    alone = [[next(rows) for _ in range(count)] for count in counts]
    fold = np.array([{next(folds_of_pairs) for _ in range(count)}.pop() for count in counts])
    expected = [max(each) if reduction == "best" else sum(each) / len(each) for each in alone]
    assert report["held_out_rows"] == report["all"]["rows"] == 36
    czech = [row for row in range(36) if row % 4 < 2]
    for name, chosen in {"all": list(range(36)), "cs-en": czech}.items():
        figures = report["all"] if name == "all" else report["by_language_pair"][name]
        parts = [[row for row in chosen if fold[row] == each] for each in range(3)]
        human = [ratings.scores[rows] for rows in parts]
        ours = [np.array(expected)[rows] for rows in parts]
        pairs = list(zip(human, ours, strict=True))
        pearson = np.mean([np.corrcoef(h, o)[0, 1] for h, o in pairs])
        kendall = np.mean([kendalltau(h, o).statistic for h, o in pairs])
        assert figures["rows"] == len(chosen)
        assert figures["pearson"] == pytest.approx(pearson, abs=1e-6)
        assert figures["kendall"] == pytest.approx(kendall, abs=1e-6)


class Remarking(Counting):
    """An encoder that has something to say of what it has encoded."""

    def counted_remarks(self) -> tuple[Remark, ...]:
        return (Remark(("", " texts"), counts=(len(self.seen),)),)


def test_remarks_are_those_of_the_encoders_and_of_their_caches(tmp_path: Path) -> None:
    ratings = rated()
    for encoder in (Remarking(), Concatenation([Remarking(), Counting()])):
        metric = fitted(ratings, encoder=encoder, folds=2)
        assert metric.remarks() == ("54 texts",)  # 36 hypotheses and 18 references
    (tmp_path / "file").write_text("")
    remark, problem = fitted(
        ratings, encoder=cached(Remarking(), tmp_path / "file"), folds=2
    ).remarks()
    assert remark == "54 texts"
    assert "is of no use as a cache" in problem
    assert fitted(ratings, folds=2).remarks() == ()


def test_progress_is_reported() -> None:
    stages: list[str] = []
    done: list[tuple[int, int]] = []
    metric = EmbeddingRegressor(Counting(), folds=2, workers=1)
    pytest.importorskip("sklearn", reason="support vectors are trained with scikit-learn")
    metric.fit(rated(), Progress(stage=stages.append, step=lambda *steps: done.append(steps)))
    assert stages == ["Encoding with counting", "Searching for settings", "Fitting"]
    assert done[-1] == (64, 64)


@pytest.mark.parametrize(
    ("ratings", "settings", "message"),
    [
        (Ratings(np.arange(9.0), {}), {}, 'columns "mt" and "ref"'),
        (rated().select([]), {}, "no ratings to learn from"),
        (rated().select([0]), {}, "ratings that differ"),
        (replace(rated(), scores=np.full(36, 0.1)), {}, "of 36 here each is 0.1"),
        (rated(8), {}, "10 folds need at least 10 groups of rows (rows of one "
         "reference are a group), but there are 4; ask for fewer folds, or give more judgements."),
        (rated(), {"folds": 1}, "at least 2 folds"),
        (rated(), {"workers": 10**9}, "36 rows with 1000000000 workers would take"),
        (rated(), {"model": "mlp", "device": "nowhere"}, 'There is no device "nowhere"'),
        (rated(), {"model": "svm"}, 'Did you mean "svr"'),
        (rated(), {"grid": "big"}, '"big" is not a value of grid'),
        (rated(), {"references": "worst"}, '"worst" is not a value of references'),
    ],
    ids=[
        "no texts", "none", "one", "equal", "few", "one fold", "memory", "device", "model", "grid",
        "references",
    ],
)  # fmt: skip
def test_ratings_that_cannot_be_trained_on(ratings: Ratings, settings: Any, message: str) -> None:
    if settings.get("model") == "mlp":
        pytest.importorskip("torch", reason="perceptrons are trained with PyTorch")
    encoder = Counting()
    with pytest.raises(AdequaError) as caught:
        EmbeddingRegressor(encoder, **settings).fit(ratings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not encoder.seen  # encoding may take hours


def test_packages_are_missed_before_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, package in (("svr", "sklearn.svm"), ("mlp", "torch")):
        monkeypatch.setitem(sys.modules, package, None)
        metric = EmbeddingRegressor(Counting(), model=model)  # type: ignore[arg-type]
        with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
            metric.fit(rated())
        assert not metric.encoder.seen  # type: ignore[union-attr]


def test_what_was_not_trained_neither_scores_nor_is_saved(tmp_path: Path) -> None:
    metric = EmbeddingRegressor(Counting(), name="mine")
    for action in (lambda: metric.score(texts(2)), lambda: metric.save(tmp_path / "metric")):
        with pytest.raises(AdequaError, match="mine has not been trained yet"):
            action()
    assert not list(tmp_path.iterdir())
