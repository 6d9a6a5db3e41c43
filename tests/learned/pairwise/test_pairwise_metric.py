"""The pairwise ranker as a metric: training, decisions, saving and loading, and bad input."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.learned.pairwise.network import Loss
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_encoders import write_vectors, write_words
from tiny_preferences import references, texts_of, tiny_preferences

pytest.importorskip("torch", reason="training needs PyTorch")

QUICK: dict[str, Any] = {"epochs": 6, "patience": 6}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> PairwiseRanker:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADEQUA_CACHE", str(tmp_path_factory.mktemp("cache")))
        return PairwiseRanker(("sentbleu", "wer"), hidden=0, **QUICK).fit(tiny_preferences())


def test_it_learns_from_metrics(fitted: PairwiseRanker) -> None:
    better, worse = texts_of(tiny_preferences(60, seed=5))
    probabilities = fitted.decide(better, worse)
    assert (probabilities > 0.5).mean() > 0.95
    assert fitted.agreement_["tau"] > 0.9
    assert fitted.training_["rows_by_language_pair"].keys() == {"cs-en", "de-en"}


def test_preferences_without_references_are_refused() -> None:
    preferences = tiny_preferences(10)
    better, worse = texts_of(preferences)
    without = replace(
        preferences,
        better=Segments(better.hypotheses, (), sources=better.hypotheses),
        worse=Segments(worse.hypotheses, (), sources=better.hypotheses),
    )
    for data, development in ((without, []), (preferences, [without])):
        with pytest.raises(AdequaError, match="no references in made-up, and a pairwise ranker"):
            PairwiseRanker(("wer",), **QUICK).fit(data, development=development)


def test_exchanged_hypotheses_have_the_opposite_probability(fitted: PairwiseRanker) -> None:
    better, worse = texts_of(tiny_preferences(20, seed=6))
    forwards, backwards = fitted.decide(better, worse), fitted.decide(worse, better)
    np.testing.assert_allclose(forwards + backwards, 1.0, atol=1e-15)


def test_the_plain_version_sees_pairs_in_the_order_of_the_texts() -> None:
    ranker = PairwiseRanker(("sentbleu",), hidden=0, symmetric=False, **QUICK)
    ranker.fit(tiny_preferences())
    better, worse = texts_of(tiny_preferences(20, seed=6))
    np.testing.assert_allclose(
        ranker.decide(better, worse), 1 - ranker.decide(worse, better), atol=1e-15
    )
    ranker.network_.parameters["bv"][0] = 100.0  # now the first one always wins
    probabilities = ranker.decide(better, worse)
    first = np.array(better.hypotheses) < np.array(worse.hypotheses)
    np.testing.assert_array_equal(probabilities > 0.5, first)


def test_identical_hypotheses_tie(fitted: PairwiseRanker) -> None:
    better, _ = texts_of(tiny_preferences(3))
    assert fitted.decide(better, better).tolist() == [0.5] * len(better)


def test_scores_are_mean_wins_against_the_other_hypotheses(fitted: PairwiseRanker) -> None:
    reference = references(1)[0]
    sentences = (reference, reference.replace("0", "zig"), "zag zug")
    segments = Segments(sentences, ((reference,),) * 3)
    won = {
        (one, other): fitted.decide(
            Segments((sentences[one],), ((reference,),)),
            Segments((sentences[other],), ((reference,),)),
        ).item()
        for one in range(3)
        for other in range(3)
        if one != other
    }
    by_hand = [
        (won[0, 1] + won[0, 2]) / 2, (won[1, 0] + won[1, 2]) / 2, (won[2, 0] + won[2, 1]) / 2
    ]  # fmt: skip
    scores = fitted.score(segments).segments
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)
    assert scores.mean() == pytest.approx(0.5)  # what one wins another one loses


def test_a_repeated_text_ties_with_itself(fitted: PairwiseRanker) -> None:
    reference = references(1)[0]
    sentences = (reference, reference, "zag zug")
    first, second, third = fitted.score(Segments(sentences, ((reference,),) * 3)).segments.tolist()
    wins = fitted.decide(
        Segments(sentences[1:2], ((reference,),)), Segments(sentences[2:], ((reference,),))
    ).item()
    assert first == second == pytest.approx((wins + 0.5) / 2)
    assert third == pytest.approx(1 - wins)
    alike = Segments((reference,) * 2, ((reference,),) * 2)
    assert fitted.score(alike).segments.tolist() == [0.5, 0.5]


def test_a_diverging_training_is_an_error() -> None:
    ranker = PairwiseRanker(("sentbleu",), hidden=0, learning_rate=1e308, epochs=20)
    with pytest.raises(AdequaError, match="ran away in epoch .* A learning rate below 1e.308"):
        ranker.fit(tiny_preferences())


def test_a_single_hypothesis_cannot_be_ranked(fitted: PairwiseRanker) -> None:
    one, two = references(2)
    alone = Segments((one, two, "zig"), ((one,), (two,), (two,)))
    assert fitted.score(alone).segments[0] == 0.5
    with pytest.raises(AdequaError, match="every segment has one only; give several systems"):
        fitted.score(alone.select([0, 1]))


def test_the_order_of_references_does_not_matter(tmp_path: Path) -> None:
    preferences = tiny_preferences(30)
    better, worse = texts_of(preferences)
    sentences = [
        *better.hypotheses,
        *worse.hypotheses,
        *(r for (r,) in better.references),
        "another",
    ]
    vectors = write_vectors(tmp_path / "vectors.npz", sentences)
    ranker = PairwiseRanker((f"precomputed:{vectors}", "sentbleu"), **QUICK).fit(preferences)
    two = tuple((reference, "another") for (reference,) in better.references)
    turned = tuple(references_[::-1] for references_ in two)
    probabilities = ranker.decide(replace(better, references=two), replace(worse, references=two))
    turned_probabilities = ranker.decide(
        replace(better, references=turned), replace(worse, references=turned)
    )
    np.testing.assert_allclose(probabilities, turned_probabilities, atol=1e-12)
    assert (probabilities != ranker.decide(better, worse)).any()
    with pytest.raises(AdequaError, match="by the same references; these differ"):
        ranker.decide(better, replace(worse, references=two))


@pytest.mark.parametrize("loss", ["kendall", "logistic-kendall"])
def test_saved_and_loaded_it_decides_the_same(tmp_path: Path, loss: Loss) -> None:
    preferences = tiny_preferences(40)
    better, worse = texts_of(preferences)
    sentences = [*better.hypotheses, *worse.hypotheses, *(r for (r,) in better.references)]
    words = write_words(tmp_path / "words.txt", sentences)
    inputs = ("sentbleu", "bleucomp", f"words:{words}")
    ranker = PairwiseRanker(inputs, loss=loss, scale="spread", **QUICK)
    ranker.fit(preferences).save(tmp_path / "ranker")
    loaded = load_metric(str(tmp_path / "ranker"))
    assert isinstance(loaded, PairwiseRanker)
    np.testing.assert_array_equal(loaded.decide(better, worse), ranker.decide(better, worse))
    assert str(loaded.signature(1)) == str(ranker.signature(1))
    assert "words:words.txt" in str(loaded.signature(1))
    card = (tmp_path / "ranker" / "README.md").read_text()
    assert "| bleucomp | 16 | scores |" in card
    assert "adequa rank -m FOLDER" in card


def test_a_moved_or_changed_input(tmp_path: Path) -> None:
    preferences = tiny_preferences(20)
    better, worse = texts_of(preferences)
    sentences = [*better.hypotheses, *worse.hypotheses, *(r for (r,) in better.references)]
    words = write_words(tmp_path / "words.txt", sentences)
    folder = tmp_path / "ranker"
    PairwiseRanker(("sentbleu", f"words:{words}"), **QUICK).fit(preferences).save(folder)
    moved = words.rename(tmp_path / "moved.txt")
    with pytest.raises(AdequaError, match=r"cannot be loaded, which -m .*:input2=PATH may help"):
        load_metric(str(folder))
    load_metric(f"{folder}:input2={moved}")
    other = write_words(tmp_path / "other.txt", ["zig zag"])
    with pytest.raises(AdequaError, match="is not the input that this ranker was trained with"):
        load_metric(f"{folder}:input2={other}")
    with pytest.raises(AdequaError, match="is not the input that this ranker was trained with"):
        load_metric(f"{folder}:input1=chrf,input2={moved}")


def test_scores_in_columns(tmp_path: Path) -> None:
    better, worse = texts_of(tiny_preferences(30))
    preferences = replace(
        tiny_preferences(30),
        better=replace(better, ids={"mine": ("0.9",) * len(better)}),
        worse=replace(worse, ids={"mine": ("0.1",) * len(worse)}),
    )
    ranker = PairwiseRanker(("column:mine",), hidden=0, **QUICK).fit(preferences)
    assert ranker.columns == ("mine",)
    with pytest.raises(AdequaError, match='needs scores in a column "mine" beside the texts'):
        ranker.decide(better, worse)
    with pytest.raises(AdequaError, match='needs scores in a column "mine" beside the texts'):
        ranker.fit(preferences, development=[tiny_preferences(10, seed=3)])


def test_preferences_that_contradict_each_other() -> None:
    preferences = tiny_preferences(20)
    better, worse = texts_of(preferences)
    notes: list[str] = []
    contradicting = replace(
        preferences,
        better=Segments((*better.hypotheses[:4], *worse.hypotheses[:4], *better.hypotheses[8:]),
                        (*better.references[:4], *better.references[:4], *better.references[8:])),
        worse=Segments((*worse.hypotheses[:4], *better.hypotheses[:4], *worse.hypotheses[8:]),
                       (*better.references[:4], *better.references[:4], *better.references[8:])),
    )  # fmt: skip
    ranker = PairwiseRanker(("sentbleu",), hidden=0, **QUICK)
    ranker.fit(contradicting, Progress(note=notes.append), [tiny_preferences(10, seed=3)])
    assert notes == ["8 of 40 preferences have an opposite one between the same two texts."]
    with pytest.raises(AdequaError, match="nothing can be learnt from them"):
        ranker.fit(contradicting.select(range(8)), development=[preferences])


def test_an_unfitted_ranker_decides_nothing() -> None:
    with pytest.raises(AdequaError, match="has not been trained yet"):
        PairwiseRanker(("sentbleu",)).decide(*texts_of(tiny_preferences(5)))


def test_without_pytorch_an_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adequa.learned.pairwise.train", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(AdequaError, match=r"needs PyTorch; .* pip install 'adequa\[train\]'"):
        PairwiseRanker(("sentbleu",), **QUICK).fit(tiny_preferences(5))


@pytest.mark.parametrize(
    ("inputs", "settings", "message"),
    [
        ((), {}, "needs an input"),
        (("sentbleu", "4metrics"), {}, '"sentbleu" is given more than once'),
        (("sentblue",), {}, 'no metric named "sentblue"'),
        (("sentbleu",), {"loss": "hinge"}, "loss"),
        (("sentbleu",), {"hidden": -1}, "hidden must be 0"),
        (("sentbleu",), {"batch": 0}, "batch must be 1 or more"),
        (("sentbleu",), {"learning_rate": 0.0}, "learning_rate must be above 0, not 0.0"),
        (("sentbleu",), {"decay": float("nan")}, "decay must be 0 or more, not nan"),
        (("sentbleu",), {"tie_penalty": -1.0}, "tie_penalty must be 0 or more, not -1.0"),
    ],
)
def test_wrong_settings(inputs: tuple[str, ...], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(AdequaError, match=message):
        PairwiseRanker(inputs, **settings).fit(tiny_preferences(5))


def test_missing_vectors_are_an_error(tmp_path: Path) -> None:
    vectors = write_vectors(tmp_path / "vectors.npz", ["something else"])
    with pytest.raises(AdequaError, match="vectors.npz"):
        PairwiseRanker((f"precomputed:{vectors}",), **QUICK).fit(tiny_preferences(5))


def test_damaged_weights_are_refused(tmp_path: Path, fitted: PairwiseRanker) -> None:
    folder = tmp_path / "ranker"
    fitted.save(folder)
    weights = folder / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(AdequaError, match="is not the file that metric.json describes"):
        load_metric(str(folder))
