"""`adequa.score` and `metric.score`: what they take, what they return, and what stays in memory."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

import adequa
from adequa import AdequaError, AdequaWarning, Segments
from adequa.metrics import BLEU, CHRF, METEOR, NIST, TER
from adequa.metrics.base import Metric
from adequa.metrics.registry import METRICS, load_metric, shared_metric
from adequa.scoring.results import ScoringResult
from adequa.segments import as_segments
from tiny_packed import tiny_packed

HYPOTHESES = ["the cat sat on the mat", "a dog barks", "it rains again"]
REFERENCES = ["the cat sat on a mat", "a dog barked", "it is raining again"]
OTHERS = ["a cat was sitting on the mat", "dogs bark", "rain again"]
SYSTEMS = Segments(
    ("a cat", "a dog", "the cat", "the dog"),
    (("a cat",), ("a dog",)) * 2,
    None,
    {"system": ("one", "one", "two", "two")},
)


@pytest.fixture(autouse=True)
def _fresh_caches() -> None:
    adequa.clear_caches()


def test_several_metrics() -> None:
    result = adequa.score(HYPOTHESES, REFERENCES, metrics=["chrf", "ter"])
    for name in ("chrf", "ter"):
        alone = adequa.score(HYPOTHESES, REFERENCES, metric=name)
        assert result.system[name] == alone.system
        np.testing.assert_array_equal(result.segments[name], alone.segments)
        assert result.signatures[name] == alone.signature
    assert repr(result).splitlines()[0] == "system  chrf ↑  ter ↓"
    assert result.to_dict()["metrics"][1]["systems"][0]["segments"] == list(result.segments["ter"])


def test_one_metric_twice_has_two_labels() -> None:
    result = adequa.score(HYPOTHESES, REFERENCES, metrics=["chrf", "chrf:beta=1", CHRF(beta=3)])
    assert list(result.system) == ["chrf", "chrf:beta=1", "chrf 3"]
    assert len(set(result.system.values())) == 3
    with pytest.raises(AdequaError, match='"chrf" is given more than once; name each metric once'):
        adequa.score(HYPOTHESES, REFERENCES, metrics=["chrf", "ter", "chrf"])


def test_several_systems() -> None:
    result = adequa.score(SYSTEMS, metrics=["wer"])
    assert result.system["wer"] == {"one": 0.0, "two": 0.5}
    np.testing.assert_array_equal(result.segments["wer"]["two"], [0.5, 0.5])
    with pytest.raises(AdequaError, match=r"those of 2 systems; metrics=\['wer'\] scores each"):
        adequa.score(SYSTEMS, metric="wer")


def test_several_systems_by_name() -> None:
    """As `adequa.compare` takes them; each has the scores that it has alone."""
    systems = {"one": HYPOTHESES, "two": HYPOTHESES[::-1]}
    result = adequa.score(systems, iter(REFERENCES), metrics=["chrf", "bleu"])
    for name, hypotheses in systems.items():
        alone = adequa.score(hypotheses, REFERENCES, metrics=["chrf", "bleu"])
        assert {metric: scores[name] for metric, scores in result.system.items()} == alone.system
    assert list(result.to_pandas()["system"]) == ["one"] * len(HYPOTHESES) + ["two"] * len(
        HYPOTHESES
    )


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    lists = adequa.score(HYPOTHESES, REFERENCES, metric="chrf")
    for mt, ref in (("mt", "ref"), ("hypothesis", "reference"), ("translation", "ref")):
        frame = pd.DataFrame({"src": ["x"] * 3, mt: HYPOTHESES, ref: REFERENCES})
        assert adequa.score(frame, metric="chrf").system == lists.system
        assert load_metric("chrf").score(frame).system == lists.system
    frame["system"] = ["one", "one", "two"]
    table = adequa.score(frame, metrics=["chrf", "ter"]).to_pandas()
    assert list(table.columns) == ["system", "segment", "chrf", "ter"]
    assert list(table["segment"]) == [1, 2, 1]
    np.testing.assert_array_equal(table["chrf"], lists.segments)
    assert list(lists.to_pandas()["chrf"]) == list(lists.segments)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"mt": ["a"]}, "The data frame has no column ref or reference; it has mt."),
        ({"mt": ["a"], "hypothesis": ["a"], "ref": ["a"]}, "columns mt and hypothesis; leave one"),
        ({"mt": [3], "ref": ["a"]}, r'frame\["mt"\]\[0\] must be a string, .* of type int'),
    ],
)
def test_data_frames_that_cannot_be_scored(columns: dict[str, Any], sentence: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(AdequaError, match=sentence):
        adequa.score(pd.DataFrame(columns), metric="chrf")


def test_both_layouts_of_references() -> None:
    by_segment = list(zip(REFERENCES, OTHERS, strict=True))
    expected = sacrebleu.BLEU().corpus_score(HYPOTHESES, [REFERENCES, OTHERS]).score
    assert BLEU().score(HYPOTHESES, by_segment).system == expected
    with pytest.warns(AdequaWarning, match="as sacreBLEU has them: 2 lists of 3 references"):
        assert BLEU().score(HYPOTHESES, [REFERENCES, OTHERS]).system == expected
    assert BLEU().corpus_score(HYPOTHESES, [REFERENCES, OTHERS]).score == expected
    for layout, references in (("segments", by_segment), ("streams", [REFERENCES, OTHERS])):
        scores = adequa.score(HYPOTHESES, references, "bleu", layout=layout)  # type: ignore[call-overload]
        assert scores.system == expected


def test_references_that_fit_both_layouts_are_refused() -> None:
    square = [["a", "b"], ["c", "d"]]
    with pytest.raises(AdequaError, match="These 2 lists of 2 references can be read in two ways"):
        adequa.score(["x", "y"], square, metric="chrf")
    assert as_segments(["x", "y"], square, layout="segments").references == (("a", "b"), ("c", "d"))
    assert as_segments(["x", "y"], square, layout="streams").references == (("a", "c"), ("b", "d"))
    # The same in both layouts.
    assert as_segments(["x"], [["a"]]).references == (("a",),)
    assert as_segments(["x", "y"], [["a", "b"], ["b", "a"]]).references[1] == ("b", "a")


@pytest.mark.parametrize(
    ("references", "layout", "sentence"),
    [
        (["a", "b"], "streams", "needs 2 strings, as there are hypotheses, and these are no lists"),
        ([["a"], ["b"]], "streams", "needs 2 strings, as there are hypotheses; the lists have 1"),
        ([["a", "b"]], "segments", r"one list for each segment: list\(zip\(\*references\)\)"),
    ],
)
def test_layouts_that_do_not_fit(references: Any, layout: Any, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        as_segments(["x", "y"], references, layout=layout)


def test_misuse_gets_a_sentence() -> None:
    with pytest.raises(AdequaError, match="one metric as metric, or several as metrics; not both"):
        adequa.score(["a"], ["a"], "chrf", metrics=["ter"])  # type: ignore[call-overload]
    with pytest.raises(AdequaError, match="metrics is empty"):
        adequa.score(["a"], ["a"], metrics=[])
    with pytest.raises(AdequaError, match="references and sources with them"):
        adequa.score(SYSTEMS, ["a"], metrics=["wer"])
    assert isinstance(adequa.score(["a"], ["a"], metrics="wer"), ScoringResult)


@pytest.mark.parametrize("metric", [BLEU(), CHRF(beta=1), TER(), METEOR(), NIST()])
def test_metric_classes_take_lists(metric: Metric) -> None:
    scores = metric.score(HYPOTHESES, REFERENCES)
    assert len(scores.segments) == len(HYPOTHESES)
    assert str(scores.signature) in repr(scores)
    assert type(load_metric(metric.name)) is type(metric)


def test_names_in_any_case() -> None:
    for name, entry in METRICS.items():
        if not entry.is_trained:  # each trained one opens its model
            assert load_metric(name.upper()) == load_metric(name)


def test_a_metric_is_loaded_once() -> None:
    with shared_metric("chrf:beta=1") as first, shared_metric("chrf:beta=1") as second:
        assert first is second
    adequa.clear_caches()
    with shared_metric("chrf:beta=1") as third:
        assert third is not first


def test_a_changed_folder_is_loaded_anew(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    folder = tiny_packed(tmp_path / "metric")
    before = adequa.score(["a cat sat"], ["the cat"], metric=str(folder))
    assert adequa.score(["a cat sat"], ["the cat"], metric=str(folder)).system == before.system
    other = tiny_packed(tmp_path / "other", map={"unrelated": -9.0, "reference": 9.0})
    for file in other.iterdir():
        file.replace(folder / file.name)
    after = adequa.score(["a cat sat"], ["the cat"], metric=str(folder))
    assert after.signature != before.signature
    assert after.system != before.system


def test_remarks_are_those_of_one_call() -> None:
    foreign = "Das ist nicht so gut, wie wir es alle erwartet haben."
    first, second = (adequa.score([foreign], ["It is fine."]) for _ in range(2))
    assert first.remarks == second.remarks
    assert first.remarks[0].startswith("1 hypothesis of 1 ")
    assert adequa.score(["It is fine."], ["It is good."]).remarks == ()


def test_threads_share_a_metric() -> None:
    scores: list[float] = []

    def run() -> None:
        scores.append(adequa.score(HYPOTHESES, REFERENCES, metric="chrf").system)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(scores)) == 1
    assert len(scores) == 8
