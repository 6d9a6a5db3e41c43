"""Packed metrics: scores as by hand, laws that hold by rule, the map to 0–1, and no PyTorch."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.encoders.surface import surface_features
from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.atomic import digest_of
from adequa.learned.packed.metric import BEND, EDGE, PackedPair, ScoreMap, bend, score_by_rule
from adequa.metrics.registry import load_metric
from adequa.runtime.onnx import PairScores, PairSession, kernel_fields
from adequa.runtime.tokens import Pair
from adequa.segments import Segments
from tiny_onnx import WORDS
from tiny_packed import SETTINGS, packed_by_hand, tiny_packed

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ROUNDING = 3e-6
TEXT = st.lists(st.sampled_from(WORDS[4:]), max_size=10).map(" ".join)
REFERENCE = st.lists(st.sampled_from(WORDS[4:]), min_size=1, max_size=10).map(" ".join)
SPACES = st.sampled_from([" ", "  ", "\t", " \u00a0"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_packed(tmp_path_factory.mktemp("packed") / "metric")


def loaded(folder: Path, **given_: object) -> PackedPair:
    metric = load_metric(str(folder), **given_)
    assert isinstance(metric, PackedPair)
    return metric


@pytest.fixture(scope="module")
def metric(folder: Path) -> PackedPair:
    return loaded(folder, threads=1)


def texts(*pairs: tuple[str, str]) -> Segments:
    return Segments(tuple(h for h, _ in pairs), tuple((r,) for _, r in pairs))


def scores(metric: PackedPair, *pairs: tuple[str, str]) -> list[float]:
    found: list[float] = metric.score(texts(*pairs)).segments.tolist()
    return found


PAIRS = [
    ("the cat sat on a mat.", "a cat sat on the mat."),
    ("The Cat", "the cat"),
    ("dog", "the cat ran far and the dog sat"),
    (" a cat ", "cat a"),
]


def test_scores_are_those_worked_out_by_hand(metric: PackedPair) -> None:
    expected = [packed_by_hand(*pair) for pair in PAIRS]
    np.testing.assert_allclose(scores(metric, *PAIRS), expected, atol=1e-5)
    assert len(set(expected)) == len(PAIRS)
    assert packed_by_hand("cat", "dog sat") != packed_by_hand("dog sat", "cat")


def test_the_system_score_is_the_mean(metric: PackedPair) -> None:
    found = metric.score(texts(*PAIRS))
    assert found.system == pytest.approx(found.segments.mean())
    assert metric.higher_is_better
    assert metric.range == (0, 1)


@settings(max_examples=50)
@given(REFERENCE, SPACES, SPACES)
def test_the_reference_itself_scores_1(
    metric: PackedPair, reference: str, before: str, between: str
) -> None:
    spaced = before + reference.replace(" ", between) + before
    assert scores(metric, (spaced, reference), (reference, spaced)) == [1.0, 1.0]


@settings(max_examples=20)
@given(REFERENCE, st.sampled_from(["", " ", "\t \n", "\u2003"]))
def test_an_empty_hypothesis_scores_0(metric: PackedPair, reference: str, empty: str) -> None:
    assert scores(metric, (empty, reference)) == [0.0]


@settings(max_examples=100)
@given(st.one_of(TEXT, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), REFERENCE)
def test_all_others_lie_between(metric: PackedPair, hypothesis: str, reference: str) -> None:
    if np.isnan(score_by_rule(reference, hypothesis)):
        assert 0 < scores(metric, (hypothesis, reference))[0] < 1


def test_letters_may_be_composed_or_not(metric: PackedPair) -> None:
    """Of the same word in two encodings, and of words between which nothing is to be seen."""
    composed, apart = "caf\u00e9 mat", "cafe\u0301  mat"
    assert scores(metric, (composed, apart), (apart, composed), ("cat \u200b sat", "cat sat")) == [
        1.0, 1.0, 1.0,
    ]  # fmt: skip
    assert 0 < scores(metric, ("cafe mat", composed))[0] < 1


@pytest.mark.parametrize("empty", ["\u200b", "\ufeff \u2060", "\u00ad\u200d\n"])
def test_what_cannot_be_seen_is_empty(metric: PackedPair, empty: str) -> None:
    assert scores(metric, (empty, "the cat"), ("the cat", empty), (empty, "\u200e")) == [
        0.0, pytest.approx(0.5, abs=0.5), 1.0,
    ]  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(TEXT, REFERENCE), min_size=1, max_size=12), st.data())
def test_neighbours_change_no_score(folder: Path, pairs: list[Pair], data: st.DataObject) -> None:
    """Each batch by a metric that has seen nothing before."""
    whole = np.array(scores(loaded(folder), *pairs))
    order = data.draw(st.permutations(range(len(pairs))))
    shuffled = scores(loaded(folder), ("cat " * 30, "dog"), *(pairs[row] for row in order))
    np.testing.assert_allclose(shuffled[1:], whole[order], atol=ROUNDING)
    alone = [scores(loaded(folder), pair)[0] for pair in pairs[:2]]
    np.testing.assert_allclose(alone, whole[:2], atol=ROUNDING)


def test_other_runs_and_threads(folder: Path) -> None:
    first = np.array(scores(loaded(folder, threads=2), *PAIRS))
    assert scores(loaded(folder, threads=2), *PAIRS) == first.tolist()
    assert scores(loaded(folder, threads=1), *PAIRS) == first.tolist()


def test_several_references(folder: Path) -> None:
    of_one = [packed_by_hand("a cat sat", reference) for reference in ("the cat", "a dog sat")]
    several = Segments(("a cat sat", "cat"), (("the cat", "a dog sat"), ("dog", "cat")))
    best = loaded(folder).score(several).segments
    mean = loaded(folder, references="mean").score(several).segments
    assert best.tolist() == [pytest.approx(max(of_one), abs=1e-5), 1.0]
    expected = [np.mean(of_one), (packed_by_hand("cat", "dog") + 1) / 2]
    assert mean.tolist() == pytest.approx(expected, abs=1e-5)
    assert loaded(tiny_of(folder, references="mean")).references == "mean"


def tiny_of(folder: Path, **changes: Any) -> Path:
    """Another folder beside the first."""
    return tiny_packed(folder.with_name(f"other-{len(list(folder.parent.iterdir()))}"), **changes)


def test_some_of_the_surface_features(folder: Path) -> None:
    """A metric names the features that it was made with, and needs no later ones."""
    names, weights = SURFACE_TABLE["names"], np.array(SURFACE_TABLE["weights"])
    chosen = [names.index("length"), names.index("word_case_loss")]
    table = {"names": [names[i] for i in chosen], "weights": weights[chosen].tolist()}
    some = loaded(tiny_of(folder, surface={**table, "offset": 0.25}))
    assert some.surface is not None
    found = some.surface(*zip(*PAIRS, strict=True))
    rows = surface_features(*zip(*PAIRS, strict=True))
    assert found == pytest.approx(rows[:, chosen] @ weights[chosen] + 0.25)
    assert some.surface.table() == {**table, "offset": 0.25}


def test_without_surface_features(folder: Path) -> None:
    plain = loaded(tiny_of(folder, surface=None))
    session = PairSession.open(folder)
    raw = session.score([(reference, hypothesis) for hypothesis, reference in PAIRS[:3]])
    np.testing.assert_array_equal(scores(plain, *PAIRS[:3]), plain.score_map(raw.scores))


def test_texts_are_put_into_lower_case_where_the_folder_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model alone sees them so: surface features are there to see case."""
    asked = watched(monkeypatch)
    lower = loaded(tiny_of(folder, lowercase=True))
    found = scores(lower, ("The Cat", "the cat"), ("THE CAT", "the Cat"))
    assert asked == [("the cat", "the cat")]
    assert found[0] != found[1]


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """The pairs that the model is asked for, from now on."""
    asked: list[Pair] = []
    scored = PairSession._score_distinct

    def counted(self: PairSession, pairs: list[Pair]) -> PairScores:
        asked.extend(pairs)
        return scored(self, pairs)

    monkeypatch.setattr(PairSession, "_score_distinct", counted)
    return asked


def test_a_pair_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch)
    metric = loaded(folder)
    first = scores(metric, ("cat", "dog"), ("cat", "dog"), (" cat", "dog "), ("dog", "dog"))
    assert asked == [("dog", "cat")]
    assert scores(metric, ("a cat", "dog"), ("cat", "dog"))[1] == first[0]
    assert asked == [("dog", "cat"), ("dog", "a cat")]


def test_scores_are_kept_on_disk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = watched(monkeypatch)
    file = tmp_path / "kept" / "scores.db"

    def run(metric: PackedPair) -> list[float]:
        metric.enable_cache(file, 1 << 20)
        return scores(metric, *PAIRS)

    first = run(loaded(folder))
    assert len(asked) == len(PAIRS)
    again = loaded(folder)
    assert run(again) == first
    assert len(asked) == len(PAIRS)
    assert "session" not in vars(again)  # the model was not even opened
    # What is kept is the model's word: other surface features and another map make use of it.
    plain = run(loaded(tiny_of(folder, surface=None)))
    assert plain == scores(loaded(tiny_of(folder, surface=None)), *PAIRS)
    assert len(asked) == 2 * len(PAIRS)
    # Another model, another version of onnxruntime and another processor have their own scores.
    run(loaded(tiny_of(folder, model={"notes": {"max_length": "99"}})))
    assert len(asked) == 3 * len(PAIRS)
    monkeypatch.setattr("adequa.runtime.onnx._onnxruntime_version", lambda: "0.0")
    run(loaded(folder))
    assert len(asked) == 4 * len(PAIRS)
    monkeypatch.setattr("adequa.runtime.onnx._this_instruction_set", lambda: "another")
    run(loaded(folder))
    assert len(asked) == 5 * len(PAIRS)


@pytest.mark.parametrize("content", [b"", b"no database" * 999])
def test_a_damaged_file_of_scores_changes_none(
    folder: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "scores.db"
    file.write_bytes(content)
    metric = loaded(folder)
    metric.enable_cache(file, 1 << 20)
    assert scores(metric, *PAIRS) == scores(loaded(folder), *PAIRS)
    assert bool(metric.remarks()) == bool(content)


def test_windows_are_told_of(folder: Path) -> None:
    metric = loaded(tiny_of(folder, model={"notes": {"max_length": "17"}}))
    first = scores(metric, ("the cat sat", "a cat"))
    assert metric.remarks() == ()
    scores(metric, ("the cat sat on a mat. " * 3, "a cat sat on the mat. " * 3))
    assert metric.remarks() == (
        "tiny read 1 pair of hypothesis and reference in windows, as they are longer than 17 "
        "tokens.",
    )
    scores(metric, ("the dog ran far. " * 5, "a dog ran. " * 5), ("the cat sat", "a cat"))
    assert "tiny read 2 pairs of" in metric.remarks()[0]
    # Each time that it comes, in one call or in several.
    scores(metric, *[("the dog ran far. " * 5, "a dog ran. " * 5)] * 2)
    assert "tiny read 4 pairs of" in metric.remarks()[0]
    assert 0 < first[0] < 1


def test_other_languages_are_told_of(folder: Path) -> None:
    metric = loaded(folder)
    german = "Das ist nicht die Antwort, die ich von dir und deiner Schwester erwartet habe."
    first = metric.score(
        texts(("the cat sat on the mat and ran", "a cat"), (german, "a cat"), ("", "a cat"))
    )
    assert first.remarks == metric.remarks()
    assert first.remarks == (
        "1 hypothesis of 2 that tiny scored is plainly not in English, the one language that it "
        "knows; -m chrf is for every language.",
    )
    # Also those that a rule scores, each time that they come.
    found = metric.score(texts((german, german), (german, "a cat"), ("a cat", "a cat")))
    assert found.remarks[0].startswith("2 hypotheses of 3 that tiny scored are plainly not")


def test_control_tokens_in_a_text_are_text(folder: Path) -> None:
    """Nobody moves where a hypothesis begins by writing [SEP] into it."""
    from tokenizers import Tokenizer

    other = tiny_of(folder)
    tokenizer = Tokenizer.from_file(str(other / "tokenizer.json"))
    tokenizer.add_special_tokens(["[SEP]"])
    tokenizer.save(str(other / "tokenizer.json"))
    described = json.loads((other / "metric.json").read_text())
    described["files"]["tokenizer.json"] = digest_of(other / "tokenizer.json")
    (other / "metric.json").write_text(json.dumps(described))
    pair = ("a cat [SEP] sat", "the cat")
    assert scores(loaded(other), pair) == scores(loaded(folder), pair)


def test_the_signature(folder: Path) -> None:
    from adequa import __version__

    plain, mean = (str(loaded(folder, references=word).signature(1)) for word in ("best", "mean"))
    digest = loaded(folder).digest_[:12]
    (_, runtime), (_, isa) = kernel_fields("cpu")
    assert plain == (
        f"tiny|nrefs:1|references:best|weights:{digest}|onnxruntime:{runtime}|isa:{isa}"
        f"|version:{__version__}"
    )
    assert runtime == version("onnxruntime")
    assert mean == plain.replace("best", "mean")
    other = loaded(tiny_of(folder, map={"unrelated": -2.5, "reference": 3.0}))
    assert other.digest_ != loaded(folder).digest_
    assert str(loaded(folder, threads=1, device="cpu").signature(1)) == plain


def test_neither_torch_nor_onnx_is_imported(folder: Path) -> None:
    program = (
        "import sys; from adequa import score; "
        "print(score(['a cat'], ['the cat'], metric=sys.argv[1]).system); "
        "found = {'torch', 'transformers', 'onnx', 'sklearn', 'pyarrow'} & set(sys.modules); "
        "assert not found, found"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    assert found.stderr == ""
    assert float(found.stdout) == pytest.approx(packed_by_hand("a cat", "the cat"), abs=1e-5)


def refusal(load: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        load()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"device": "tpu"}, '"tpu" is not a value of device; choose one of cpu, cuda.'),
        ({"references": "worst"}, '"worst" is not a value of references'),
        ({"threads": "0"}, "threads must be a whole number from 1 on, not '0'."),
        ({"threads": "9999"}, "threads must be from 1 to 1024, not 9999."),
        ({"precision": "fp32"}, 'has no setting named "precision".'),
    ],
    ids=["device", "references", "no threads", "threads", "unknown"],
)
def test_settings_that_are_wrong(folder: Path, given_: dict[str, str], said: str) -> None:
    assert said in refusal(lambda: loaded(folder, **given_))
    if "precision" in given_:
        with pytest.raises(UnknownSettingError):
            loaded(folder, **given_)


SURFACE_TABLE = SETTINGS["surface"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"map": {"unrelated": 1.0}}, "damaged metric"),
        ({"map": None}, "damaged metric"),
        ({"references": "worst"}, '"worst" is not a value of references'),
        (
            {"surface": {**SURFACE_TABLE, "names": ["size", *SURFACE_TABLE["names"][1:]]}},
            "surface features that this version of adequa does not have: size.",
        ),
        ({"surface": {**SURFACE_TABLE, "names": ["length"]}}, "one weight for each surface"),
    ],
    ids=["half", "no map", "references", "unknown name", "names and weights"],
)
def test_folders_that_are_wrong(folder: Path, changes: dict[str, Any], said: str) -> None:
    assert said in refusal(lambda: loaded(tiny_of(folder, **changes)))


def test_files_that_are_missing_or_others(folder: Path) -> None:
    other = tiny_of(folder)
    (other / "model.onnx").write_bytes(b"other")
    assert "model.onnx is not the file that metric.json describes" in refusal(lambda: loaded(other))
    (other / "model.onnx").unlink()
    assert "There is no file" in refusal(lambda: loaded(other))
    described = json.loads((other / "metric.json").read_text())
    (other / "metric.json").write_text(json.dumps(described | {"files": {}}))
    assert "is a damaged metric" in refusal(lambda: loaded(other))


def test_a_blend_of_packed_metrics(folder: Path, tmp_path: Path) -> None:
    """It passes on where to keep scores, and signs their weights and not their place."""
    from adequa.learned.blend import Blend

    blend = Blend(metrics=(str(folder), "chrf"))
    blend.enable_cache(tmp_path / "scores.db", 1000)
    part = blend.parts[0]
    assert isinstance(part, PackedPair)
    assert part._cache is not None
    assert dict(blend.signature_fields())["metrics"] == f"tiny@{part.digest_[:12]},chrf"


RAW = st.floats(-100, 100)
MAPS = st.builds(
    lambda low, width: ScoreMap(low, low + width), st.floats(-5, 5), st.floats(0.01, 10)
)


def bent_by_hand(x: float) -> float:
    """The definition, case by case."""
    if x > 0.95:
        return 0.95 + 0.05 * (1 - math.exp(-(x - 0.95) / 0.05))
    return x if x >= 0.05 else 0.05 * math.exp((x - 0.05) / 0.05)


@given(st.lists(st.floats(-10, 10), min_size=1))
def test_the_definition(numbers: list[float]) -> None:
    np.testing.assert_allclose(
        bend(np.array(numbers)), [bent_by_hand(x) for x in numbers], atol=1e-15
    )


@given(MAPS, st.lists(RAW, min_size=1))
def test_scores_are_inside_whatever_comes(by: ScoreMap, raw: list[float]) -> None:
    scores = by(np.array(raw))
    assert (scores > 0).all()
    assert (scores < 1).all()


def test_numbers_beyond_all_measure_make_no_warning() -> None:
    scores = ScoreMap(0.0, 1e-3)(np.array([-1e300, 1e300]))
    assert scores.tolist() == [EDGE, 1 - EDGE]


@given(MAPS, st.floats(-3, 3), st.floats(1e-6, 2))
def test_more_is_never_less_and_more_between_the_edges(by: ScoreMap, x: float, more: float) -> None:
    """Beyond the edges, where the bent line comes within `EDGE` of 0 or 1, all are alike."""
    low, high = by(by.unrelated + (by.reference - by.unrelated) * np.array([x, x + more]))
    assert low <= high
    reach = BEND * math.log(BEND / EDGE)
    lowest, highest = BEND - reach, 1 - BEND + reach
    if x + more > lowest + 1e-6 and x < highest - 1e-6:
        assert low < high
    elif abs(x + more - lowest) > 1e-6 and abs(x - highest) > 1e-6:
        assert low == high


@pytest.mark.parametrize("joint", [BEND, 1 - BEND])
def test_there_is_no_corner_where_the_parts_meet(joint: float) -> None:
    step = 1e-6
    before, at, behind = bend(np.array([joint - step, joint, joint + step]))
    assert at == pytest.approx(joint, abs=1e-15)
    assert (at - before) / step == pytest.approx(1, abs=1e-4)
    assert (behind - at) / step == pytest.approx(1, abs=1e-4)


@given(MAPS)
def test_the_middle_is_a_straight_line(by: ScoreMap) -> None:
    shares = np.linspace(0.05, 0.95, 19)
    raw = by.unrelated + shares * (by.reference - by.unrelated)
    np.testing.assert_allclose(by(raw), shares, atol=1e-9)


def test_shapes_are_kept() -> None:
    assert ScoreMap(0.0, 1.0)(np.zeros((2, 3))).shape == (2, 3)
    assert ScoreMap(0.0, 1.0)(np.empty(0)).shape == (0,)
