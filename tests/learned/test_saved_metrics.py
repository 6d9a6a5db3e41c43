"""Saved metrics that were moved, damaged or made by someone else: a sentence, and no code run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.agreement.sources import sources
from adequa.encoders.registry import load_encoder, load_encoders
from adequa.errors import AdequaError
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.metrics import saved
from adequa.metrics.registry import load_metric
from adequa.segments import Segments
from test_cli import adequa
from tiny_encoders import rated, sentences_of, write_vectors, write_words

SENTENCES = sentences_of(rated().segments or Segments((), ()))
SOME = Segments(("hypothesis 1", "hypothesis 5"), (("reference 3.0",), ("reference 1.0",)))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with word vectors, and metrics of one encoder and of two."""
    pytest.importorskip("sklearn", reason="support vectors are trained with scikit-learn")
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADEQUA_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        write_words(Path("words.txt"), SENTENCES)
        write_vectors(Path("vectors.npz"), SENTENCES, dimension=2)
        for name, parts in {"one": ["words.txt"], "two": ["words.txt", "vectors.npz"]}.items():
            encoder = load_encoders(parts)
            EmbeddingRegressor(encoder, folds=2, workers=1, name=name).fit(rated()).save(name)
    return folder


@pytest.fixture(autouse=True)
def _here(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the metrics to damage; the encoders are where they were."""
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    for name in ("one", "two"):
        shutil.copytree(original / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def sentence(specification: str) -> str:
    with pytest.raises(AdequaError) as caught:
        load_metric(specification)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def describe(change: Callable[[dict[str, Any]], object], name: str = "one") -> None:
    path = Path(name, "metric.json")
    described = json.loads(path.read_text())
    change(described)
    path.write_text(json.dumps(described))


def rewrite(content: bytes) -> None:
    """Other weights, of which metric.json says the digest."""
    Path("one/weights.npz").write_bytes(content)
    describe(lambda d: d.update(digest=hashlib.sha256(content).hexdigest()))


def packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def with_arrays(**changed: Any) -> None:
    """The weights with some arrays changed, or left out where they are None."""
    with np.load("one/weights.npz") as weights:
        arrays = {**weights, **changed}
    rewrite(packed(**{name: array for name, array in arrays.items() if array is not None}))


def test_what_is_saved() -> None:
    described = json.loads(Path("two/metric.json").read_text())
    assert (described["kind"], described["format"]) == ("embedding-regressor", 1)
    assert [part["dimension"] for part in described["settings"]["encoder"]] == [3, 2]
    weights = Path("two/weights.npz").read_bytes()
    assert described["digest"] == hashlib.sha256(weights).hexdigest()
    assert described["training"]["data"] == "made-up"
    assert {"adequa", "numpy", "python"} <= set(described["versions"])
    card = Path("two/README.md").read_text()
    digits = described["settings"]["encoder"][1]["fingerprint"][:8]
    assert f"| words.txt.mean, vectors.npz@{digits} |" in card
    figures = described["agreement"]
    assert (figures["settings_tried"], figures["folds"], figures["all"]["rows"]) == (32, 2, 36)
    assert "Means over the 2 folds of the cross-validation. The setting was chosen among 32" in card
    assert f"{figures['criterion_pearson']:.3f}" == f"{figures['all']['pearson']:.3f}"
    pearson, kendall = (figures["all"][name] for name in ("pearson", "kendall"))
    assert f"\n| all | 36 | {pearson:.3f} | {kendall:.3f} |\n" in card
    assert "rows_not_used" not in described["training"]  # all were
    assert "36 ratings: made-up." in card
    assert "\n| cs-en | 18 |\n" in card


def test_a_saved_metric_loads_the_same_and_is_saved_the_same() -> None:
    metric = load_metric("one")
    assert isinstance(metric, EmbeddingRegressor)
    metric.save("again")
    for name in ("weights.npz", "README.md"):
        assert Path("again", name).read_bytes() == Path("one", name).read_bytes()
    again = load_metric("again").score(SOME)
    assert again.segments.tolist() == metric.score(SOME).segments.tolist()
    with pytest.raises(AdequaError, match="again is there already"):
        metric.save("again")


DESCRIPTIONS: dict[str, tuple[str, str]] = {
    "empty": ("", "metric.json describes no metric as adequa saves them"),
    "cut short": ('{"format": 1, ', "metric.json describes no metric"),
    "a list": ("[]", "it says no format"),
    "no format": ("{}", "it says no format"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "not text": ("\udcff", "metric.json describes no metric"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_descriptions_that_are_none(name: str) -> None:
    text, message = DESCRIPTIONS[name]
    Path("one/metric.json").write_bytes(text.encode(errors="surrogateescape"))
    assert message in sentence("one")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "blent"}, 'of the kind "blent", which this version of adequa does not know'),
        ({"kind": "os:system"}, 'of the kind "os:system", which'),
        ({"kind": ["blend"]}, "kind is not as it should be"),
        ({"format": 2}, "metric.json was written by a later version of adequa"),
        ({"format": "1"}, "it says no format"),
        ({"settings": []}, "settings is not as it should be"),
        ({"settings": {}}, "one is a damaged metric"),
        ({"more": 1}, "describes no metric as adequa saves them"),
        ({"digest": "0" * 64}, "weights.npz is not the file that metric.json describes"),
        ({"digest": None}, "digest is not as it should be"),
        ({"name": "a|b"}, "the name holds characters that no signature can show"),
        ({"name": "a\nb"}, "the name holds characters that no signature can show"),
    ],
    ids=str,
)
def test_descriptions_that_are_wrong(change: dict[str, Any], message: str) -> None:
    describe(lambda described: described.update(change))
    assert message in sentence("one")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "tree"}, {"model": 3}, {"model": []},
        {"encoder": "words.txt"}, {"encoder": [{}]}, {"encoder": [3]}, {"encoder": None},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_are_wrong(change: dict[str, Any]) -> None:
    describe(lambda described: described["settings"].update(change))
    assert "damaged metric" in sentence("one") or "is not a value of" in sentence("one")


def test_weights_that_are_missing_or_cut_short() -> None:
    weights = Path("one/weights.npz").read_bytes()
    Path("one/weights.npz").write_bytes(weights[:-1])
    assert "damaged, or of another metric" in sentence("one")
    for content in (weights[: len(weights) // 2], b"", b"\x80\x04N.", npy()):
        rewrite(content)
        assert "weights.npz holds no arrays that can be read" in sentence("one")
    Path("one/weights.npz").unlink()
    assert "There is no file one/weights.npz." in sentence("one")
    Path("one/weights.npz").mkdir()
    assert "one/weights.npz is a folder, not a file." in sentence("one")


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


def test_an_array_that_says_it_is_larger_than_any_memory() -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    content = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("vectors.npy", content + b"\n")
    rewrite(buffer.getvalue())
    assert "weights.npz holds no arrays that can be read" in sentence("one")


class _Code:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return pytest.fail, ("was run",)


def test_pickled_code_is_not_run() -> None:
    objects = np.empty(1, dtype=object)
    objects[0] = _Code()
    with_arrays(vectors=objects)
    message = sentence("one")
    assert "weights.npz holds no arrays that can be read" in message
    assert "pickle" in message


def test_features_of_another_dimension() -> None:
    arrays = {"vectors": np.ones((1, 8)), "coefficients": np.ones(1), "mean": None, "scale": None}
    with_arrays(**arrays)
    message = sentence("one")
    assert "one was trained on 8 features, and words.txt.mean gives 12" in message
    write_vectors(Path("wide.npz"), SENTENCES, dimension=5)
    name = load_encoder("wide.npz").name
    assert f"{name} gives vectors of 5 numbers" in sentence("one:encoder=wide.npz")


def test_vectors_are_named_by_their_content() -> None:
    prints = []
    for dimension in (5, 5, 4):
        encoder = load_encoder(str(write_vectors(Path("wide.npz"), SENTENCES, dimension)))
        assert encoder.name == f"wide.npz@{encoder.fingerprint[:8]}"
        prints.append(encoder.fingerprint)
    assert prints[0] == prints[1] != prints[2]


def test_the_encoder_may_be_moved(original: Path) -> None:
    expected = load_metric("two").score(SOME).segments.tolist()
    shutil.copy(original / "words.txt", "moved.txt")
    shutil.copy(original / "vectors.npz", "moved.npz")
    for written in ("encoder=moved.txt", "encoder=words:moved.txt,cache=no", "encoder2=moved.npz"):
        assert load_metric(f"two:{written}").score(SOME).segments.tolist() == expected
    assert load_metric("two", encoder="moved.txt").score(SOME).segments.tolist() == expected
    vectors = load_encoder(str(original / "words.txt"))
    table = vectors.encode(SENTENCES)  # type: ignore[union-attr]
    np.savez("made.npz", sentences=np.array(SENTENCES), vectors=table)
    scores = load_metric("two:encoder=made.npz").score(SOME).segments
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_an_encoder_that_is_missing_or_another() -> None:
    describe(lambda d: d["settings"]["encoder"][0].update(specification="words:absent.txt"))
    message = sentence("one")
    assert message == (
        "The encoder words.txt.mean that this metric was trained with cannot be loaded, which "
        "-m one:encoder=PATH may help with. The reason: absent.txt is not there; name a GloVe or "
        "word2vec file, text or binary."
    )
    assert "gone.txt" in sentence("one:encoder=gone.txt")
    write_words(Path("other.txt"), ["some other words"])
    assert "is not the encoder that this metric was trained with" in sentence(
        "one:encoder=other.txt"
    )


@pytest.mark.parametrize("written", [",download=true", ",pooling=cls, download = 1"])
def test_an_encoder_is_not_downloaded(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="downloads are by huggingface_hub")
    offline: list[bool] = []

    def spy(*_: object, local_files_only: bool, **__: object) -> str:
        offline.append(local_files_only)
        raise FileNotFoundError("no such model")

    monkeypatch.setattr(hub, "snapshot_download", spy)
    written = f"transformer:nobody/model{written}"
    describe(lambda d: d["settings"]["encoder"][0].update(specification=written))
    assert "There is no folder nobody/model, and no model of that name" in sentence("one")
    assert "There is no folder nobody/other" in sentence("one:encoder=nobody/other")
    assert offline == [True, True]


def test_the_word_vectors_of_an_encoder_may_be_moved() -> None:
    pytest.importorskip("torch", reason="InferSent runs on PyTorch")
    from tiny_infersent import ARRAYS, WORD_SIZE, save

    save(Path("infersent.pkl"), ARRAYS)
    write_words(Path("glove.txt"), SENTENCES, WORD_SIZE)
    encoder = load_encoder("infersent:infersent.pkl,words=glove.txt")
    metric = EmbeddingRegressor(encoder, folds=2, workers=1).fit(rated()).save("three")
    expected = metric.score(SOME).segments.tolist()
    Path("glove.txt").rename("moved.txt")
    assert "cannot be loaded" in sentence("three")
    assert load_metric("three:words=moved.txt").score(SOME).segments.tolist() == expected
    write_words(Path("other.txt"), ["some other words"], WORD_SIZE)
    assert "is not the encoder that this metric was" in sentence("three:words=other.txt")
    assert 'one has no setting named "words"' in sentence("one:words=moved.txt")


def test_settings_of_a_saved_metric() -> None:
    assert 'one has no setting named "encodr". Did you mean "encoder"?' in sentence("one:encodr=x")
    assert 'no setting named "encoder2"' in sentence("one:encoder2=x")
    for name in ("description", "arrays", "folder", "cls", "self"):
        assert f'one has no setting named "{name}"' in sentence(f"one:{name}=x")
    assert "cache must be true or false, not 'perhaps'" in sentence("one:cache=perhaps")
    assert "is not a setting" in sentence("one:cache")
    assert "cache is given more than once" in sentence("one:cache=no,cache=no")


def test_folders_that_hold_no_metric() -> None:
    Path("empty").mkdir()
    assert "empty holds no saved metric: there is no metric.json in it" in sentence("empty")
    assert "absent/metric is no metric: there is no such folder" in sentence("absent/metric")
    assert "words.txt is no metric" in sentence("./words.txt")
    assert 'There is no metric named "absent"' in sentence("absent")


@pytest.mark.parametrize("holds_metric", [False, True])
def test_names_of_metrics_win_over_folders(holds_metric: bool) -> None:
    if holds_metric:
        shutil.copytree("one", "chrf")
        assert load_metric("./chrf").name == "one"
    else:
        Path("chrf").mkdir()
    for written in ("chrf", "chrf:word_order=2"):
        assert load_metric(written).name == "chrf"
        assert [source.name for source in sources([written])] == ["chrf"]


@pytest.mark.parametrize("verb", ["score", "evaluate"])
def test_the_command_line_says_one_sentence(verb: str) -> None:
    Path("r.tsv").write_text("mt\tref\tscore\na\tb\t1\nb\tb\t2\n")
    describe(lambda described: described.update(digest="0"))
    table = ("-i", "r.tsv") if verb == "score" else ("r.tsv",)
    for metric, message in (("one", "is damaged"), ("absent/dir", "absent/dir")):
        process = adequa(verb, *table, "-m", metric, cwd=Path())
        assert (process.returncode, process.stdout) == (2, "")
        assert len(process.stderr.splitlines()) == 1
        assert process.stderr.startswith("adequa: error: ")
        assert message in process.stderr


def test_what_cannot_be_evaluated_with() -> None:
    Path("empty").mkdir()
    describe(lambda described: described.update(kind="other"))
    for written, message in {
        "one": 'of the kind "other"',
        "./one:cache=no": 'of the kind "other"',
        "two:encodr=x": 'Did you mean "encoder"',
        "./empty": "empty",
        "absent/dir": "absent/dir",
    }.items():
        with pytest.raises(AdequaError) as caught:
            sources([written])
        assert message in str(caught.value)


def test_nothing_is_left_behind_where_saving_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = load_metric("one")
    assert isinstance(metric, EmbeddingRegressor)
    monkeypatch.setattr(
        metric,
        "agreement_",
        {**metric.agreement_, "all": {"rows": 1, "pearson": 0, "kendall": 0, "x": float("nan")}},
    )
    with pytest.raises(ValueError, match="JSON compliant"):
        metric.save("deep/new")
    assert not Path("deep").exists()
    assert saved.is_saved("one")
    assert not saved.is_saved("deep/new")


def test_files_outside_the_folder_are_not_opened(tmp_path: Path) -> None:
    for name in ("/dev/zero", "../metric.json", str(tmp_path / "more")):
        described = json.loads(Path("one/metric.json").read_text()) | {"files": {name: "0" * 64}}
        Path("one/metric.json").write_text(json.dumps(described))
        assert "lies outside one, by its name or by a link" in sentence("one")


@pytest.mark.parametrize("name", ["weights.npz", "metric.json", "more"])
def test_links_out_of_the_folder_are_refused(name: str) -> None:
    path = Path("one", name)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
    with pytest.raises(AdequaError, match="lies outside|holds no saved metric"):
        load_metric("one")
    with pytest.raises(AdequaError, match="lies outside"):
        EmbeddingRegressor.load("one")


def test_links_within_the_folder_are_followed() -> None:
    Path("one/weights.npz").rename("one/stored")
    Path("one/weights.npz").symlink_to("stored")
    load_metric("one")


def test_pipes_and_devices_are_refused_at_once() -> None:
    os.mkfifo("one/pipe")
    assert "one/pipe is no regular file but a pipe or a device" in sentence("one")
    describe(lambda described: described.update(files={"pipe": "0" * 64}))
    assert "one/pipe is no regular file but a pipe or a device" in sentence("one")


@pytest.mark.parametrize("number", [np.nan, np.inf, -1e308])
def test_weights_that_are_no_usable_numbers(number: float) -> None:
    with_arrays(coefficients=np.full(3, number))
    assert "weights.npz is damaged: coefficients should hold usable numbers only" in sentence("one")


def test_extreme_weights_give_a_sentence() -> None:
    with np.load("one/weights.npz") as weights:
        with_arrays(coefficients=np.full(weights["coefficients"].shape, 9e99))
    with pytest.raises(AdequaError, match="gives scores that are no usable numbers"):
        load_metric("one").score(Segments(("the cat",) * 2, (("the cat sat",), ("the dog",))))


def test_weights_that_are_no_usable_numbers_are_not_saved(tmp_path: Path) -> None:
    described = saved.Description("blend", "one", {})
    with pytest.raises(AdequaError, match=r"gave no usable weights \(a\)"):
        saved.save(tmp_path / "new", described, {"a": np.array([1.0, np.nan])}, "")
    assert not (tmp_path / "new").exists()
