"""Quick-Thought gives what its equations give, whatever the batch; its converter finds them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adequa.encoders.converters import Checkpoint, convert_quick_thought, main
from adequa.encoders.published import QuickThought
from adequa.encoders.recurrent import write_arrays
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from recurrent_oracles import Array, random_arrays, tensorflow_gru, unit, write_glove

WORD_SIZE, SIZE = 5, 4
WORDS = ("<unk>", "the", "cat", "Cat", "sleep", ".")
SENTENCES = ["the cat sleep.", "Cat", "", "the zebra sleep", "cat cat the cat the zebra cat."]


def shapes(*units: str) -> dict[str, tuple[int, ...]]:
    result: dict[str, tuple[int, ...]] = {}
    for each in units:
        result[f"{each}.gates.kernel"] = (WORD_SIZE + SIZE, 2 * SIZE)
        result[f"{each}.gates.bias"] = (2 * SIZE,)
        result[f"{each}.candidate.kernel"] = (WORD_SIZE + SIZE, SIZE)
        result[f"{each}.candidate.bias"] = (SIZE,)
    return result


BOTH_WAYS = ("f.forward", "f.backward", "g.forward", "g.backward")
WEIGHTS = random_arrays(1, shapes(*BOTH_WAYS) | {"unknown": (WORD_SIZE,)})
ONE_WAY = {name: array for name, array in WEIGHTS.items() if ".backward." not in name}
TABLES = random_arrays(2, dict.fromkeys(("f", "g"), (len(WORDS), WORD_SIZE)))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bi-directional model that learned word vectors of its own, for f and for g."""
    folder = tmp_path / "quick"
    folder.mkdir()
    write_arrays(folder / "quick_thought.npz", WEIGHTS)
    (folder / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    np.save(folder / "f_words.npy", TABLES["f"])
    np.save(folder / "g_words.npy", TABLES["g"])
    return folder


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """A model that reads forwards only, and word vectors from a file of the user's."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    write_arrays(folder / "quick_thought.npz", ONE_WAY)
    write_glove(tmp_path / "glove.txt", dict(zip(WORDS[1:], TABLES["f"][1:], strict=True)))
    return folder


def vectors(encoder: str, words: str) -> list[Array]:
    rows = [WORDS.index(word) if word in WORDS else 0 for word in words.split()]
    return list(np.float64(TABLES[encoder][rows]))


def half(encoder: str, words: str) -> Array:
    read = vectors(encoder, words)
    forwards = tensorflow_gru(read, WEIGHTS, f"{encoder}.forward")
    return np.concatenate([forwards, tensorflow_gru(read[::-1], WEIGHTS, f"{encoder}.backward")])


def test_both_encoders_both_ways(folder: Path) -> None:
    words = "the zebra sleep ."
    encoder = QuickThought.load(str(folder))
    expected = np.concatenate([unit(half("f", words)), unit(half("g", words))])
    assert encoder.dimension == len(expected) == 4 * SIZE
    np.testing.assert_allclose(encoder.encode(["the zebra sleep."])[0], expected, atol=1e-6)
    plain = QuickThought.load(str(folder), normalize=False).encode(["the zebra sleep."])[0]
    np.testing.assert_allclose(
        plain, np.concatenate([half("f", words), half("g", words)]), atol=1e-6
    )


def test_one_way_with_fixed_vectors(fixed: Path, tmp_path: Path) -> None:
    encoder = QuickThought.load(str(fixed), words=str(tmp_path / "glove.txt"), normalize=False)
    read = vectors("f", "the zebra sleep")
    read[1] = np.float64(WEIGHTS["unknown"])
    expected = [tensorflow_gru(read, WEIGHTS, f"{each}.forward") for each in ("f", "g")]
    encoded = encoder.encode(["the zebra sleep"])[0]
    np.testing.assert_allclose(encoded, np.concatenate(expected), atol=1e-6)


def test_one_table_for_both(folder: Path) -> None:
    (folder / "g_words.npy").unlink()
    encoded = QuickThought.load(str(folder), normalize=False).encode(["the cat"])[0]
    read = vectors("f", "the cat")
    expected = tensorflow_gru(read, WEIGHTS, "g.forward")
    np.testing.assert_allclose(encoded[2 * SIZE : 3 * SIZE], expected, atol=1e-6)


def test_batches_equal_single_sentences(folder: Path) -> None:
    encoder = QuickThought.load(str(folder))
    together = encoder.encode(SENTENCES * 2)
    alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(together, np.concatenate([alone, alone]), atol=1e-6)
    np.testing.assert_array_equal(together, encoder.encode(SENTENCES * 2))
    assert not together[2].any()  # a sentence without words
    assert encoder.encode([]).shape == (0, 4 * SIZE)


def test_coverage_and_lower_case(folder: Path) -> None:
    coverage = QuickThought.load(str(folder)).coverage(["The Cat.", ""])
    assert coverage.word_counts == (3, 0)
    assert coverage.unknown == (("The",), ())
    lower = QuickThought.load(str(folder), lowercase=True)
    assert lower.coverage(["The Cat."]).unknown == ((),)
    np.testing.assert_array_equal(lower.encode(["The Cat."]), lower.encode(["the cat."]))


def test_registry_and_fingerprint(folder: Path, fixed: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"quick-thought:{folder},normalize=no,lowercase=yes")
    assert isinstance(encoder, QuickThought)
    assert encoder.name == "quick-thought.quick"
    other = load_encoder(f"quick-thought:{fixed},words={tmp_path / 'glove.txt'}")
    for each in (encoder, other):
        assert load_encoder(each.specification).fingerprint == each.fingerprint
    plain = QuickThought.load(str(folder)).fingerprint
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert QuickThought.load(str(moved)).fingerprint == plain
    fingerprints = {plain, encoder.fingerprint, other.fingerprint}
    np.save(moved / "g_words.npy", TABLES["f"])
    fingerprints.add(QuickThought.load(str(moved)).fingerprint)
    fingerprints.add(QuickThought.load(str(folder), lowercase=True).fingerprint)
    write_arrays(moved / "quick_thought.npz", WEIGHTS | {"f.forward.gates.bias": np.zeros(8)})
    fingerprints.add(QuickThought.load(str(moved)).fingerprint)
    assert len(fingerprints) == 6


def test_wrong_folders_in_a_sentence(folder: Path, fixed: Path, tmp_path: Path) -> None:
    def refused(path: Path, sentence: str, words: str = "") -> None:
        with pytest.raises(AdequaError, match=sentence):
            QuickThought.load(str(path), words=words)

    glove = str(tmp_path / "glove.txt")
    refused(tmp_path / "none", r"is not a folder; Quick-Thought reads one that holds quick_th")
    refused(fixed, r"holds no words.txt, so this model reads fixed word vectors; name their file")
    refused(folder, r"holds word vectors of its own; leave out the setting words", glove)
    thin = write_glove(tmp_path / "thin.txt", {"the": np.ones(3), "cat": np.zeros(3)})
    refused(fixed, r"thin.txt has 3 numbers per word, but .* reads 5", str(thin))
    np.save(folder / "f_words.npy", TABLES["f"][:, :3])
    refused(folder, r"f_words.npy has 3 numbers per word, but .* reads 5")
    np.save(folder / "f_words.npy", TABLES["f"])
    np.save(folder / "g_words.npy", TABLES["g"][:, :3])
    refused(folder, r"g_words.npy has 3 numbers per word, but .* reads 5")
    (folder / "g_words.npy").unlink()
    (folder / "words.txt").write_text("\n".join(["unk", *WORDS[1:]]), encoding="utf-8")
    refused(folder, r'words.txt lacks the word "<unk>"')
    (folder / "f_words.npy").unlink()
    refused(folder, r"There is no file \S+f_words.npy")


def test_wrong_weights_in_a_sentence(fixed: Path, tmp_path: Path) -> None:
    glove, file = str(tmp_path / "glove.txt"), fixed / "quick_thought.npz"
    for changed, sentence in (
        (
            {"f.backward.gates.bias": np.zeros(8)},
            "it has no array f.backward.gates.kernel",
        ),
        ({"unknown": np.full(5, np.inf)}, "array unknown of .* finite numbers only"),
    ):
        write_arrays(file, ONE_WAY | changed)
        with pytest.raises(AdequaError, match=sentence):
            QuickThought.load(str(fixed), words=glove)
    write_arrays(file, {n: a for n, a in ONE_WAY.items() if n != "unknown"})
    with pytest.raises(AdequaError, match=r'lacks the array "unknown", the vector of unknown wo'):
        QuickThought.load(str(fixed), words=glove)
    file.unlink()
    with pytest.raises(AdequaError, match=r"There is no file \S+quick_thought.npz"):
        QuickThought.load(str(fixed), words=glove)


def variables(arrays: Mapping[str, Array], *, old: bool = False) -> dict[str, Array]:
    """The weights as the authors' graph names them, amid what training leaves beside them."""
    variables: dict[str, Array] = {"global_step": np.array(7)}
    kinds = {"kernel": "weights", "bias": "biases"} if old else {}
    two_ways = any(".backward." in name for name in arrays)
    for name, array in arrays.items():
        if name == "unknown":
            continue
        encoder, direction, part, kind = name.split(".")
        way = {"forward": "fw/", "backward": "bw/"}[direction] if two_ways else ""
        scope = {"f": "encoder", "g": "encoder_out"}[encoder]
        variable = f"{scope}/{way}gru_cell/{part}/{kinds.get(kind, kind)}"
        variables |= {variable: array, f"{variable}/Adam": array * 0, f"{variable}/Adam_1": array}
    return variables


LEARNED = {"word_embedding": TABLES["f"], "word_embedding_out": TABLES["g"]}


def checkpoint(arrays: Mapping[str, Array]) -> Checkpoint:
    shapes_of = {name: array.shape for name, array in arrays.items()}
    return Checkpoint(Path("model"), shapes_of, lambda name: np.asarray(arrays[name]))


@pytest.mark.parametrize("old", [False, True])
def test_converter_with_a_vocabulary(folder: Path, tmp_path: Path, old: bool) -> None:
    read = checkpoint(variables(WEIGHTS, old=old) | LEARNED)
    convert_quick_thought(read, tmp_path / "new", vocabulary=folder / "words.txt")
    encoded = QuickThought.load(str(tmp_path / "new")).encode(SENTENCES)
    np.testing.assert_array_equal(encoded, QuickThought.load(str(folder)).encode(SENTENCES))


def test_converter_with_an_expanded_vocabulary(folder: Path, tmp_path: Path) -> None:
    """The words of g's file stand in another order."""
    start = tmp_path / "word_embedding"
    shutil.copy(folder / "words.txt", f"{start}.txt")
    np.save(f"{start}.npy", TABLES["f"])
    Path(f"{start}_out.txt").write_text("\n".join(WORDS[::-1]), encoding="utf-8")
    np.save(f"{start}_out.npy", TABLES["g"][::-1])
    small = {name: table[:2] for name, table in LEARNED.items()}
    convert_quick_thought(
        checkpoint(variables(WEIGHTS) | small), tmp_path / "new", expanded=str(start)
    )
    encoded = QuickThought.load(str(tmp_path / "new")).encode(SENTENCES)
    np.testing.assert_array_equal(encoded, QuickThought.load(str(folder)).encode(SENTENCES))
    Path(f"{start}_out.txt").write_text("\n".join(["<unk>", *WORDS[1:5], "!"]), encoding="utf-8")
    with pytest.raises(AdequaError, match="hold different words"):
        convert_quick_thought(
            checkpoint(variables(WEIGHTS) | small), tmp_path / "no", expanded=str(start)
        )


def test_converter_without_words(fixed: Path, tmp_path: Path) -> None:
    glove = str(tmp_path / "glove.txt")
    table = np.concatenate([WEIGHTS["unknown"][None], TABLES["f"][1:]])
    convert_quick_thought(
        checkpoint(variables(ONE_WAY) | {"word_embedding": table}), tmp_path / "new"
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["quick_thought.npz"]
    new = QuickThought.load(str(tmp_path / "new"), words=glove)
    assert new.fingerprint == QuickThought.load(str(fixed), words=glove).fingerprint


def test_converter_refuses_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    whole = variables(WEIGHTS) | LEARNED
    one_lacking = {n: a for n, a in whole.items() if n != "encoder_out/bw/gru_cell/gates/bias"}
    for arrays, sentence in (
        (one_lacking, "no variable for g.backward.gates.bias"),
        ({"logits/weights": np.zeros(3)}, "no variable for f.forward.gates.kernel"),
        (variables(WEIGHTS), "has no table of word vectors named word_embedding"),
    ):
        with pytest.raises(AdequaError, match=sentence):
            convert_quick_thought(checkpoint(arrays), tmp_path / "new")
    short = tmp_path / "short.txt"
    short.write_text("<unk>\nthe\n", encoding="utf-8")
    with pytest.raises(AdequaError, match=r"short.txt has 2 words and should have the 6 of model"):
        convert_quick_thought(checkpoint(whole), tmp_path / "new", vocabulary=short)
    assert not (tmp_path / "new").exists()


def test_converter_as_a_command(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a stand-in for TensorFlow, of which only the reader of checkpoints is used."""
    new = tmp_path / "new"
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert main(["quick-thought", str(folder), str(new)]) == 2
    assert "TensorFlow is not installed" in capsys.readouterr().err
    arrays = variables(WEIGHTS) | LEARNED

    def load_checkpoint(path: str) -> Any:
        if path == "nowhere":
            raise RuntimeError("Unsuccessful\nlong")
        return SimpleNamespace(
            get_variable_to_shape_map=lambda: {n: list(a.shape) for n, a in arrays.items()},
            get_tensor=arrays.__getitem__,
        )

    stand_in = ModuleType("tensorflow")
    stand_in.__dict__["train"] = SimpleNamespace(load_checkpoint=load_checkpoint)
    monkeypatch.setitem(sys.modules, "tensorflow", stand_in)
    assert main(["quick-thought", "nowhere", str(new)]) == 2
    printed = capsys.readouterr().err
    assert printed == ("Error: nowhere cannot be read as a TensorFlow checkpoint: Unsuccessful.\n")
    assert (
        main(["quick-thought", "train", str(new), "--vocabulary", str(folder / "words.txt")]) == 0
    )
    assert capsys.readouterr().out == f"Use it as quick-thought:{new}\n"
    np.testing.assert_array_equal(
        QuickThought.load(str(new)).encode(SENTENCES),
        QuickThought.load(str(folder)).encode(SENTENCES),
    )
