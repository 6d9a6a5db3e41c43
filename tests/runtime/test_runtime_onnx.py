"""A scorer of pairs from ONNX: scores as by hand, and the same whatever the neighbours."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime.onnx import OnnxModel, PairScores, PairSession
from adequa.runtime.tokens import Pair, PairTokenizer
from tiny_onnx import WORDS, by_hand, tiny_model, tiny_scorer, tiny_tokenizer

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PAIRS: list[Pair] = [
    ("The cat sat on the mat.", "A cat sat on a mat."),
    ("", "the dog ran"),
    ("cats", ""),
    ("", ""),
    ("the cat sat on the mat and the dog ran far . " * 2, "the cat"),
    ("unheard-of words", "sitting cats"),
]
ROUNDING = 3e-6  # of scores up to 5 in 32 bits
TEXTS = st.lists(st.sampled_from(WORDS[4:]), max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> PairSession:
    return PairSession.open(tiny_scorer(tmp_path_factory.mktemp("scorer")), threads=1)


def expected(pair: Pair, types: bool = True) -> float:
    encoded = tiny_tokenizer().encode(*pair)
    return by_hand(encoded.ids, encoded.type_ids, types)


def test_scores_are_those_worked_out_by_hand(session: PairSession) -> None:
    found = session.score(PAIRS)
    np.testing.assert_allclose(found.scores, [expected(pair) for pair in PAIRS], atol=1e-5)
    assert found.windows.tolist() == [1] * len(PAIRS)
    assert found.scores.dtype == np.float64
    assert len(session.score([])) == 0


@pytest.mark.parametrize(
    "kind",
    [
        {"types": False},
        {"whole": 6},  # int32
        {"output_shape": ("rows", 1)},
    ],
    ids=["no types", "int32", "a column"],
)
def test_models_of_other_forms(tmp_path: Path, kind: dict[str, Any]) -> None:
    found = PairSession.open(tiny_scorer(tmp_path, **kind)).score(PAIRS)
    types = kind.get("types", True)
    np.testing.assert_allclose(found.scores, [expected(pair, types) for pair in PAIRS], atol=1e-5)


@settings(max_examples=50)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20), st.data())
def test_neighbours_change_no_score(
    session: PairSession, pairs: list[Pair], data: st.DataObject
) -> None:
    """Rows alone, rows in another order and together with others."""
    whole = session.score(pairs).scores
    alone = [session.score([pair]).scores[0] for pair in pairs]
    np.testing.assert_allclose(alone, whole, atol=ROUNDING)
    order = data.draw(st.permutations(range(len(pairs))))
    others: list[Pair] = [("the cat " * 40, "sat"), ("the", "")]
    mixed = session.score([*others, *(pairs[at] for at in order)]).scores
    np.testing.assert_allclose(mixed[2:], whole[order], atol=ROUNDING)


def many_pairs() -> list[Pair]:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size)) for size in random.integers(0, 40, size=300)]
    return list(pairwise(texts))


@pytest.mark.parametrize("tokens", [1, 100, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_and_threads_change_no_score(
    session: PairSession, tokens: int, threads: int
) -> None:
    opened = PairSession.open(session.folder, threads=threads)
    other = replace(opened, batch_tokens=tokens)
    found = other.score(many_pairs()).scores
    np.testing.assert_allclose(found, session.score(many_pairs()).scores, atol=ROUNDING)
    assert found.tobytes() == other.score(many_pairs()).scores.tobytes()
    alone = replace(session, batch_tokens=tokens)  # one thread
    assert found.tobytes() == alone.score(many_pairs()).scores.tobytes()


def test_a_row_alone_is_read_twice(session: PairSession, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []

    class Watched:
        def run(self, _: None, fed: dict[str, Any]) -> Any:
            shapes.append(fed["input_ids"].shape)
            return session.model.session.run(None, fed)

    model = OnnxModel(session.model.path, Watched(), session.model.input_dtypes)
    watched = replace(session, model=model)
    assert len(watched.score([("cat", "dog")])) == 1
    assert len(watched.score([("cat", "dog"), ("a cat", "a dog")])) == 2
    assert shapes == [(2, 8), (2, 8)]


def test_another_process_gives_the_same_bits(session: PairSession) -> None:
    program = (
        "import sys; from pathlib import Path; "
        "from adequa.runtime.onnx import PairSession; "
        f"pairs = {PAIRS!r}; "
        "session = PairSession.open(Path(sys.argv[1]), threads=1); "
        "print(session.score(pairs).scores.tobytes().hex()); "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(session.folder)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.split() == [session.score(PAIRS).scores.tobytes().hex()]
    assert found.stderr == ""


def test_a_tokenizer_that_cannot_read_all(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    folder = tiny_scorer(tmp_path)
    Tokenizer(models.WordLevel({"cat": 6}, unk_token="none")).save(str(folder / "tokenizer.json"))
    session = PairSession.open(folder)
    assert session.score([("cat", "cat")]).scores[0] == pytest.approx(by_hand([6, 6], [0, 1]))
    with pytest.raises(AdequaError, match="cannot read a text"):
        session.score([("dog", "cat")])
    Tokenizer(models.WordLevel({}, unk_token="none")).save(str(folder / "tokenizer.json"))
    assert "reads no pairs of texts" in refusal(folder)


def test_identical_pairs_and_texts_are_read_once(
    session: PairSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    read = PairTokenizer._ids

    def counted(self: PairTokenizer, texts: list[str]) -> Any:
        asked.append(texts)
        return read(self, texts)

    monkeypatch.setattr(PairTokenizer, "_ids", counted)
    found = session.score([("a cat", "the cat"), ("a dog", "the cat"), ("a cat", "the cat")])
    assert asked == [["a cat", "the cat", "a dog"]]
    assert found.scores[0] == found.scores[2]


def test_scores_have_six_decimals(session: PairSession) -> None:
    """So that neighbours, which move the eighth, hardly ever show."""
    found = session.score(many_pairs()).scores
    np.testing.assert_array_equal(found, np.round(found, 6))
    assert (found != np.round(found, 5)).mean() > 0.8


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_one_thread_is_one_for_the_tokenizer_too(session: PairSession) -> None:
    program = (
        "import os, sys; from pathlib import Path; "
        "from adequa.runtime.onnx import PairSession; "
        "count = lambda: len(os.listdir('/proc/self/task')); before = count(); "
        "session = PairSession.open(Path(sys.argv[1]), threads=1); "
        "session.score([(f'the cat {n}', 'a dog') for n in range(3000)]); "
        "print(count() - before)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(session.folder)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "RAYON_NUM_THREADS": "4", "TOKENIZERS_PARALLELISM": "true"},
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("0\n", "")
    several = PairSession.open(session.folder, threads=2)
    assert several.tokenizer.parallel
    np.testing.assert_array_equal(several.score(PAIRS).scores, session.score(PAIRS).scores)


def test_a_stream_is_read_as_it_comes(
    session: PairSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adequa.runtime.onnx._CHUNK_PAIRS", 4)
    monkeypatch.setattr("adequa.runtime.onnx._CHUNK_CHARACTERS", 100)
    pairs = [("cat " * (at % 30), "dog") for at in range(50)]
    taken = 0

    def coming() -> Iterator[Pair]:
        nonlocal taken
        for pair in pairs:
            taken += 1
            yield pair

    parts = []
    for part in session.stream(coming()):
        parts.append(part)
        assert taken == sum(map(len, parts))  # nothing is taken before it is needed
        assert len(part) <= 4
    assert [len(part) for part in parts[-3:]] != [4, 4, 4]  # long texts make small chunks
    whole = PairScores.concatenate(parts)
    np.testing.assert_array_equal(whole.scores, session.score(pairs).scores)
    monkeypatch.undo()
    np.testing.assert_allclose(whole.scores, session.score(pairs).scores, atol=ROUNDING)


def test_long_pairs_are_read_in_windows(tmp_path: Path) -> None:
    """Two sentences each, and room for one of each: the mean of the two, by their lengths."""
    session = PairSession.open(tiny_scorer(tmp_path), max_length=17)
    first, second = (
        ("the cat sat on a mat.", "a cat sat on the mat."),
        ("the dog ran.", "a dog ran."),
    )
    long = (f"{first[0]} {second[0]}", f"{first[1]} {second[1]}")
    found = session.score([first, long, second, long])
    assert found.windows.tolist() == [1, 2, 1, 2]
    assert (found.windows > 1).sum() == 2
    mean = (found.scores[0] * 14 + found.scores[2] * 8) / 22
    assert found.scores[1] == pytest.approx(mean, abs=2e-6)  # all three are rounded
    assert found.scores[1] == found.scores[3]


def test_a_model_says_how_much_it_can_read(tmp_path: Path) -> None:
    folder = tiny_scorer(tmp_path, notes={"max_length": "9"})
    assert PairSession.open(folder).tokenizer.max_length == 9
    assert PairSession.open(folder, max_length=7).tokenizer.max_length == 7


def refusal(folder: Path, **settings: Any) -> str:
    with pytest.raises(AdequaError) as caught:
        PairSession.open(folder, **settings).score(PAIRS)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_files_that_are_not_there(tmp_path: Path, name: str) -> None:
    (tiny_scorer(tmp_path) / name).unlink()
    assert f"holds no {name}" in refusal(tmp_path)
    assert "holds no model.onnx" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"no model" * 99, b"\x08\x08"])
def test_files_that_are_no_model(tmp_path: Path, content: bytes) -> None:
    (tiny_scorer(tmp_path) / "model.onnx").write_bytes(content)
    assert "is no ONNX model" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version": 1}', b"\xff\xfe"])
def test_files_that_are_no_tokenizer(tmp_path: Path, content: bytes) -> None:
    (tiny_scorer(tmp_path) / "tokenizer.json").write_bytes(content)
    assert "is no tokenizer" in refusal(tmp_path)


def test_a_model_that_breaks_or_gives_no_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_scorer(tmp_path)
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["beyond"])  # the model has no row for it
    tokenizer.save(str(folder / "tokenizer.json"))
    session = PairSession.open(folder)
    with pytest.raises(AdequaError, match="cannot be run on 1 rows of 8 tokens"):
        session.score([("beyond", "cat")])
    assert capfd.readouterr().err == ""  # the sentence is enough
    model = tiny_model()
    for constant in model.graph.initializer:
        if constant.name == "last_":
            constant.CopyFrom(
                onnx.numpy_helper.from_array(np.full((8, 1), np.nan, np.float32), "last_")
            )
    onnx.save(model, folder / "model.onnx")
    assert "NaN or infinite" in refusal(folder)


@pytest.mark.parametrize("location", ["../secret.bin", "secret", "/dev/zero"])
def test_weights_outside_the_folder_are_not_read(tmp_path: Path, location: str) -> None:
    """A graph may name a file of weights beside it, and neither a path nor a link leads out."""
    (tmp_path / "secret.bin").write_bytes(bytes(1 << 16))
    folder = tiny_scorer(tmp_path / "scorer")
    (folder / "secret").symlink_to(tmp_path / "secret.bin")
    model = onnx.load(folder / "model.onnx")
    weights = next(each for each in model.graph.initializer if each.name == "tokens_")
    length = len(weights.raw_data)
    assert 0 < length < 1 << 16
    onnx.external_data_helper.set_external_data(weights, location, offset=0, length=length)
    weights.ClearField("raw_data")
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(AdequaError, match="is no ONNX model .* [Ee]xternal data"):
        PairSession.open(folder, threads=1)


def test_half_a_character_is_refused(session: PairSession) -> None:
    with pytest.raises(AdequaError, match=r"holds '\\ud800' at character 3"):
        session.score([("fine", "fine"), ("a \ud800", "b")])


def test_devices(tmp_path: Path) -> None:
    import onnxruntime

    assert '"tpu" is no device' in refusal(tiny_scorer(tmp_path), device="tpu")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        assert "has no CUDA" in refusal(tmp_path, device="cuda")


def test_threads_are_those_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.runtime.onnx.available_cpus", lambda: 3)
    session = PairSession.open(tiny_scorer(tmp_path))
    assert session.workers == 3
    assert session.model.session.get_session_options().intra_op_num_threads == 1
    assert PairSession.open(session.folder, threads=2).workers == 2


def test_batches_are_run_by_several_threads_at_once(session: PairSession) -> None:
    together, first = threading.Barrier(3), [1, 2, 3]

    class Watched:
        def run(self, _: None, fed: dict[str, Any]) -> Any:
            if first:
                first.pop()
                together.wait(timeout=60)  # for the two other threads
            return session.model.session.run(None, fed)

    model = OnnxModel(session.model.path, Watched(), session.model.input_dtypes)
    watched = replace(session, model=model, batch_tokens=1, workers=3)
    pairs = many_pairs()[:90]
    before = threading.active_count()
    found = watched.score(pairs)
    assert threading.active_count() == before
    np.testing.assert_allclose(found.scores, session.score(pairs).scores, atol=ROUNDING)


def test_the_first_batch_that_fails_is_told(session: PairSession) -> None:
    lengths: list[int] = []

    class Failing:
        def run(self, _: None, fed: dict[str, Any]) -> Any:
            lengths.append(fed["input_ids"].shape[1])
            raise ValueError("no more memory")

    model = OnnxModel(session.model.path, Failing(), session.model.input_dtypes)
    failing = replace(session, model=model, batch_tokens=1, workers=2)
    with pytest.raises(AdequaError, match=r"cannot be run on \d+ rows of (\d+) tokens: no") as told:
        failing.score(many_pairs())
    assert f"rows of {max(lengths)} tokens" in str(told.value)


def test_onnxruntime_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_scorer(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "needs onnxruntime, which cannot be imported" in refusal(folder)
