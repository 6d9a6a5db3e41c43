"""Wrong arguments in Python get a sentence, never a raw exception or a wrong score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import pytest

import adequa
from adequa.errors import AdequaError, AdequaWarning
from adequa.learned.blend import Blend
from adequa.metrics.sacrebleu_metrics import BLEU
from adequa.progress import Progress
from adequa.segments import Segments

OUTPUTS: Any = ["The cat sat.", "A dog ran."]
OTHERS: Any = ["A cat sat.", "The dog runs."]
REFERENCES: Any = ["The cat sat.", "The dog ran."]
SYSTEMS: Any = {"a": OUTPUTS, "b": OTHERS}
NESTED: Any = [REFERENCES, OTHERS]  # two references of two segments: it can be read in two ways
CANDIDATES: Any = [OUTPUTS, OTHERS]
FRAME: Any = pd.DataFrame({"mt": OUTPUTS, "ref": REFERENCES})
NOTHING: Any = None

LAYOUTS: dict[str, Callable[..., Any]] = {
    "score": lambda references, **more: adequa.score(OUTPUTS, references, "wer", **more).system,
    "compare": lambda references, **more: (
        adequa.compare(SYSTEMS, references, ["wer"], **more).metrics[0].scores.tolist()
    ),
    "rank": lambda references, **more: adequa.rank(SYSTEMS, references, "wer", **more).to_dict(),
    "gate": lambda references, **more: adequa.gate(
        OUTPUTS, OTHERS, references, "wer", **more
    ).to_dict(),
    "rerank": lambda references, **more: adequa.rerank(
        CANDIDATES, references, "wer", **more
    ).to_dict(),
}


@pytest.mark.parametrize("call", LAYOUTS.values(), ids=LAYOUTS)
def test_references_have_one_layout_everywhere(call: Callable[..., Any]) -> None:
    with pytest.raises(AdequaError, match="can be read in two ways"):
        call(NESTED)
    with pytest.raises(AdequaError, match='layout must be "segments" or "streams", not \'foo\''):
        call(REFERENCES, layout="foo")
    by_segment = list(zip(*NESTED, strict=True))
    assert call(NESTED, layout="streams") == call(by_segment, layout="segments")
    with pytest.warns(AdequaWarning, match='as sacreBLEU has them.* Say layout="streams"'):
        assert call([REFERENCES]) == call(REFERENCES)


SENTENCES: dict[str, tuple[Callable[[], object], str]] = {
    "set of hypotheses": (
        lambda: adequa.score(set(OUTPUTS), REFERENCES, "wer"),
        "hypotheses must be a list, not one set",
    ),
    "set of references": (
        lambda: adequa.compare(SYSTEMS, frozenset(REFERENCES), "wer"),
        "references must be a list, not one frozenset",
    ),
    "list of metrics": (
        lambda: adequa.score(OUTPUTS, REFERENCES, ["bleu", "chrf"]),  # type: ignore[call-overload]
        r"takes several as metrics=\[",
    ),
    "metric after a frame": (lambda: adequa.score(FRAME, "bleu"), 'metric="chrf"'),
    "missing text in a frame": (
        lambda: adequa.score(FRAME.assign(ref=["a", float("nan")]), metric="wer"),
        r'frame\["ref"\]\[1\] must be a string .* of type float: the text is missing',
    ),
    "missing reference": (
        lambda: adequa.score(OUTPUTS, [None, "a"], "wer"),  # type: ignore[list-item]
        r"references\[0\] must be a string or a list of strings, but it is of type NoneType",
    ),
    "unequal streams": (
        lambda: adequa.score(OUTPUTS, [["a"], ["b"], ["a", "b", "c"]], "wer"),
        "as in sacreBLEU, need 2 strings each; these have 1 to 3",
    ),
    "no references of a segment": (
        lambda: adequa.score(OUTPUTS, [[], []], "wer"),
        "Segment 1 has no reference",
    ),
    "None among metrics": (
        lambda: adequa.score(OUTPUTS, REFERENCES, metrics=[NOTHING]),
        "metric must be a metric's name or a metric, not None",
    ),
    "number as metrics": (
        lambda: adequa.score(OUTPUTS, REFERENCES, metrics=5),  # type: ignore[call-overload]
        "metrics must be a list, not one int",
    ),
    "compare without references": (lambda: adequa.compare(SYSTEMS, NOTHING), "Give references"),
    "rerank without references": (
        lambda: adequa.rerank(CANDIDATES, NOTHING, "wer"),
        "Give references: .* for each list of candidates; or sources",
    ),
    "mbr of nothing": (lambda: adequa.mbr(NOTHING, "wer"), "candidates must be a list"),
    "settings of a comparison as a dictionary": (
        lambda: adequa.compare(SYSTEMS, REFERENCES, "wer", settings={"resamples": 5}),  # type: ignore[arg-type]
        "settings should be an object of type ComparisonSettings",
    ),
    "text as max_drop": (
        lambda: adequa.gate(OUTPUTS, OTHERS, REFERENCES, "wer", max_drop="x"),  # type: ignore[arg-type]
        "max_drop must be a number, not 'x'",
    ),
    "dictionary as rules": (
        lambda: adequa.gate(OUTPUTS, OTHERS, REFERENCES, rules={}),  # type: ignore[arg-type]
        "A file is named by a string or a Path, not {}",
    ),
    "text as a number of settings": (
        lambda: adequa.AnalysisSettings(top="20%"),  # type: ignore[arg-type]
        "top must be a number, not '20%'",
    ),
    "no tokenizer": (lambda: BLEU(tokenize=NOTHING), "tokenize must be a text, not None"),
    "text as a switch": (
        lambda: BLEU(lowercase="yes"),  # type: ignore[arg-type]
        "lowercase must be True or False, not 'yes'",
    ),
    "saved nowhere": (
        lambda: adequa.score(OUTPUTS, REFERENCES, "wer").save(NOTHING),
        "A file is named by a string or a Path, not None",
    ),
    "nothing to fit to": (
        lambda: adequa.Blend(("chrf",)).fit(NOTHING),
        "not an object of type None",
    ),
    "preferences to rate by": (
        lambda: adequa.Blend(("chrf",)).fit(adequa.Preferences({"lp": ("a-b",)}, name="mine")),
        "mine holds preferences; a blend learns from ratings",
    ),
    "unknown encoder": (lambda: adequa.EmbeddingRegressor("all-MiniLM"), "all-MiniLM"),  # type: ignore[arg-type]
    "encoder of nothing": (lambda: adequa.load_encoder(NOTHING), "KIND:PATH, not as None"),
    "dataset of nothing": (lambda: adequa.load_dataset(NOTHING), "Judgements are the name"),
    "missing plan": (lambda: adequa.PairRegressor("no.toml"), "There is no file no.toml"),  # type: ignore[arg-type]
    "vectors by one name": (lambda: adequa.load_token_vectors("foo"), "foo"),
    "plan of nothing": (lambda: adequa.PairRegressor(NOTHING), "A file is named by a string"),
    "parser of nothing": (lambda: adequa.load_parser(NOTHING), "Name a parser as"),
    "number as metrics of a blend": (lambda: adequa.Blend(5), "a list of texts, not 5"),  # type: ignore[arg-type]
    "text as resamples": (
        lambda: adequa.Protocol(resamples="x"),  # type: ignore[arg-type]
        "resamples must be a whole number",
    ),
    "ensemble that is not there": (
        lambda: adequa.Ensemble.load("m1"),
        "There is no file m1/metric.json",
    ),
    "load_metric of nothing": (lambda: adequa.load_metric(NOTHING), "a metric, not None"),
}


@pytest.mark.parametrize(("call", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_wrong_arguments_get_a_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        call()


def test_a_single_text_is_a_list_of_one() -> None:
    assert adequa.DamageSettings(kinds="empty").kinds == ("empty",)  # type: ignore[arg-type]


def test_metrics_learn_from_what_evaluate_takes(tmp_path: Path) -> None:
    rows = 8
    frame = pd.DataFrame(
        {
            "mt": [f"the cat sat {'x ' * row}" for row in range(rows)],
            "ref": [f"the cat sat {row}" for row in range(rows)],
            "score": [float(rows - row) for row in range(rows)],
        }
    )
    path = tmp_path / "ratings.tsv"
    frame.to_csv(path, sep="\t", index=False)
    metrics = [Blend("wer", folds=2, workers=1).fit(data) for data in (frame, path, str(path))]  # type: ignore[arg-type]
    first, *others = [metric.score(["the cat"], ["the cat sat"]).system for metric in metrics]
    assert others == [first, first]
    metrics[0].save(tmp_path / "blend")
    loaded = Blend.load(tmp_path / "blend")
    assert loaded.score(["the cat"], ["the cat sat"]).system == first
    with pytest.raises(AdequaError, match="holds no EmbeddingRegressor but a Blend"):
        adequa.EmbeddingRegressor.load(tmp_path / "blend")


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True, None])
def test_seeds_are_whole_numbers_from_0_on(seed: Any) -> None:
    segments = Segments(("the cat", "a dog"), (("the cat sat",), ("a dog",)))
    ratings = adequa.Ratings(np.array([1.0, 2.0]), {"lp": ("a-b",) * 2}, segments=segments)
    preferences = adequa.Preferences({"lp": ("a-b",) * 2}, better=segments, worse=segments)
    for call in (
        lambda: Blend(("wer",), seed=seed).fit(ratings),
        lambda: adequa.PairwiseRanker(("wer",), seed=seed).fit(preferences),
    ):
        with pytest.raises(AdequaError, match="A seed is a whole number from 0 on"):
            call()


@pytest.mark.parametrize("data", [(OUTPUTS, OTHERS), FRAME.assign(ref=OTHERS)])
def test_robustness_takes_lists_and_frames(data: Any) -> None:
    result = adequa.robustness(data, "chrf", adequa.DamageSettings(kinds=("empty",)))
    assert str(result).startswith("segments: 2 texts")


def test_a_prompt_shows_short_lines() -> None:
    ratings = adequa.Ratings(np.ones(2000), {"lp": ("a-b",) * 2000}, name="mine")
    assert repr(ratings) == "Ratings('mine', 2,000 rows, ids: lp)"
    assert repr(adequa.RatedSystems(ratings)) == "RatedSystems('mine', 2,000 rows, ids: lp)"
    assert repr(adequa.Preferences({"lp": ("a-b",)})) == "Preferences(1 row, ids: lp)"
    assert repr(Progress(note=print)) == "Progress(note)"
    assert adequa.GateRules.__name__ in adequa.__all__


def test_scores_of_a_file_may_be_a_list() -> None:
    ratings = adequa.Ratings([1.0, 2.0, 3.0], {"lp": ("a-b",) * 3})  # type: ignore[arg-type]
    file = adequa.ScoreFile("mine", {}, [1, 2, 3])  # type: ignore[arg-type]
    agreement = adequa.evaluate(ratings, file, adequa.Protocol(statistic="pearson"))
    assert agreement.average.values == pytest.approx([1])


def test_refusals_in_python_name_no_option_of_the_command_line() -> None:
    with pytest.raises(AdequaError, match="at least two systems") as refused:
        adequa.rank({"a": OUTPUTS}, REFERENCES, "wer")
    assert " -t" not in str(refused.value)
    with pytest.raises(AdequaError, match="its ending should be one of") as refused:
        adequa.score(OUTPUTS, REFERENCES, "wer").save("x.docx")
    assert "--format" not in str(refused.value)
