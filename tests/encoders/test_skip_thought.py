"""Skip-Thought gives what its equations give, whatever the batch, and its converter is safe."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest
import torch

from adequa.encoders.converters import convert_skip_thought, main, read_plain
from adequa.encoders.published import SkipThought, skip_thought_arrays
from adequa.encoders.recurrent import GRU, content_digest, read_arrays, write_arrays
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError
from recurrent_oracles import Array, random_arrays, theano_gru, unit

WORD_SIZE, UNI, BI = 5, 6, 3
WORDS = ("<eos>", "UNK", "the", "cat", "sleep", "Cat", ".", "Ænne\x85")
SENTENCES = ["the cat sleep.", "Cat", "", "the zebra sleep", "cat cat the cat the zebra cat."]


def unit_shapes(prefix: str, size: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{prefix}_W": (WORD_SIZE, 2 * size),
        f"{prefix}_U": (size, 2 * size),
        f"{prefix}_b": (2 * size,),
        f"{prefix}_Wx": (WORD_SIZE, size),
        f"{prefix}_Ux": (size, size),
        f"{prefix}_bx": (size,),
    }


WEIGHTS = {
    "uni": random_arrays(1, unit_shapes("encoder", UNI)),
    "bi": random_arrays(2, unit_shapes("encoder", BI) | unit_shapes("encoder_r", BI)),
}
TABLES = random_arrays(3, dict.fromkeys(("uni", "bi"), (len(WORDS), WORD_SIZE)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the authors publish it, other parameters of their training included."""
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "dictionary.txt").write_bytes("".join(f"{word}\n" for word in WORDS).encode())
    other: dict[str, Any] = {"Wemb": np.ones((3, 5)), "history_errs": np.array([{}], dtype=object)}
    np.savez(folder / "uni_skip.npz", **{**other, **WEIGHTS["uni"]})
    np.savez(folder / "bi_skip.npz", **{**other, **WEIGHTS["bi"]})
    np.save(folder / "utable.npy", TABLES["uni"])
    np.save(folder / "btable.npy", TABLES["bi"])
    return folder


def vectors(model: str, words: str) -> list[Array]:
    rows = [WORDS.index(word) if word in WORDS else 1 for word in words.split()]
    return list(np.float64(TABLES[model][rows]))


def uni(words: str) -> Array:
    return theano_gru(vectors("uni", words), WEIGHTS["uni"], "encoder")


def bi(words: str) -> Array:
    read = vectors("bi", words)
    backwards = theano_gru(read[::-1], WEIGHTS["bi"], "encoder_r")
    return np.concatenate([theano_gru(read, WEIGHTS["bi"], "encoder"), backwards])


def test_modes(folder: Path) -> None:
    words = "the zebra sleep ."  # zebra is unknown and read as UNK
    for mode, expected in (
        ("uni", unit(uni(words))),
        ("bi", unit(bi(words))),
        ("combine", np.concatenate([unit(uni(words)), unit(bi(words))])),
    ):
        encoder = SkipThought.load(str(folder), mode=mode)
        assert encoder.dimension == len(expected)
        assert encoder.name == f"{mode}-skip"
        np.testing.assert_allclose(encoder.encode(["the zebra sleep."])[0], expected, atol=1e-6)


def test_end_of_sentence_and_no_scaling(folder: Path) -> None:
    encoder = SkipThought.load(str(folder), mode="uni", normalize=False, use_eos=True)
    encoded = encoder.encode(["the cat", ""])
    np.testing.assert_allclose(encoded[0], uni("the cat <eos>"), atol=1e-6)
    np.testing.assert_allclose(encoded[1], uni("<eos>"), atol=1e-6)


def test_unit_is_the_gru_of_pytorch(folder: Path) -> None:
    """PyTorch resets the product as well, with r, z and the candidate one below the other."""
    ours = WEIGHTS["uni"]
    theirs = torch.nn.GRU(WORD_SIZE, UNI, batch_first=True)
    state = {
        "weight_ih_l0": np.concatenate([ours["encoder_W"].T, ours["encoder_Wx"].T]),
        "weight_hh_l0": np.concatenate([ours["encoder_U"].T, ours["encoder_Ux"].T]),
        "bias_ih_l0": np.concatenate([ours["encoder_b"], ours["encoder_bx"]]),
        "bias_hh_l0": np.zeros(3 * UNI, dtype=np.float32),
    }
    theirs.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    words = "the cat sleep . Cat the"
    with torch.inference_mode():
        inputs = torch.tensor(np.array(vectors("uni", words)), dtype=torch.float32)[None]
        expected = theirs(inputs)[1][0, 0].numpy()
    encoder = SkipThought.load(str(folder), mode="uni", normalize=False)
    np.testing.assert_allclose(encoder.encode([words])[0], expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["uni", "bi", "combine"])
def test_batches_equal_single_sentences(folder: Path, mode: str) -> None:
    encoder = SkipThought.load(str(folder), mode=mode)
    together = encoder.encode(SENTENCES * 2)
    alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(together, np.concatenate([alone, alone]), atol=1e-6)
    np.testing.assert_array_equal(together, encoder.encode(SENTENCES * 2))
    assert not together[2].any()  # a sentence without words
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_coverage(folder: Path) -> None:
    coverage = SkipThought.load(str(folder)).coverage(["the zebra Cat.", "", "Ænne"])
    assert coverage.word_counts == (4, 0, 1)
    assert coverage.unknown == (("zebra",), (), ())


def test_registry_and_fingerprint(folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"skip-thought:{folder},mode=bi,use_eos=true,normalize=no")
    assert isinstance(encoder, SkipThought)
    assert load_encoder(encoder.specification).fingerprint == encoder.fingerprint
    plain = SkipThought.load(str(folder)).fingerprint
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert SkipThought.load(str(moved)).fingerprint == plain
    fingerprints = {plain, encoder.fingerprint}
    for settings in ({"mode": "uni"}, {"normalize": False}, {"use_eos": True}):
        fingerprints.add(SkipThought.load(str(folder), **settings).fingerprint)
    np.save(moved / "utable.npy", TABLES["uni"] + np.float32(0.5))
    fingerprints.add(SkipThought.load(str(moved)).fingerprint)
    shutil.copy(folder / "utable.npy", moved)
    words = (moved / "dictionary.txt").read_bytes().replace(b"sleep", b"slept")
    (moved / "dictionary.txt").write_bytes(words)
    fingerprints.add(SkipThought.load(str(moved)).fingerprint)
    assert len(fingerprints) == 7


def test_wrong_folders_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    def refused(sentence: str, **settings: Any) -> None:
        with pytest.raises(AdequaError, match=sentence):
            SkipThought.load(str(folder), **settings)

    refused("mode must be uni, bi, combine, not 'tri'", mode="tri")
    with pytest.raises(AdequaError, match=r"is not a folder; Skip-Thought needs one that holds"):
        SkipThought.load(str(tmp_path / "none"))
    np.save(folder / "utable.npy", TABLES["uni"][:, :4])
    refused(r"utable.npy has 4 numbers per word, but \S+uni_skip.npz reads 5")
    np.save(folder / "utable.npy", TABLES["uni"][:4])
    refused(r"dictionary.txt has 8 words, but \S+utable.npy has 4 rows")
    np.save(folder / "utable.npy", np.array(list(TABLES["uni"]), dtype=object))
    refused(r"utable.npy is not a plain NumPy array of numbers; convert the folder with python -m")
    np.save(folder / "utable.npy", np.ones((8, 5), dtype=np.int64))
    refused(r"utable.npy should hold one row of floating-point numbers per word, .* type int64")
    content = (folder / "btable.npy").read_bytes()
    for cut in (b"", b"text", content[:200]):
        (folder / "btable.npy").write_bytes(cut)
        refused(r"btable.npy is not a plain NumPy array of numbers", mode="bi")
    (folder / "btable.npy").unlink()
    refused(r"There is no file \S+btable.npy", mode="bi")


def test_wrong_dictionaries_in_a_sentence(folder: Path) -> None:
    words = (folder / "dictionary.txt").read_bytes()
    for before, after, sentence in (
        (b"UNK", b"unk", 'lacks the word "UNK"'),
        (b"<eos>", b"<end>", 'lacks the word "<eos>"'),
        (b"cat", b"\xff", "is not UTF-8 text"),
    ):
        (folder / "dictionary.txt").write_bytes(words.replace(before, after))
        with pytest.raises(AdequaError, match=rf"dictionary.txt {sentence}"):
            SkipThought.load(str(folder), use_eos=True)
    (folder / "dictionary.txt").unlink()
    with pytest.raises(AdequaError, match=r"There is no file \S+dictionary.txt"):
        SkipThought.load(str(folder))


def test_wrong_weights_in_a_sentence(folder: Path) -> None:
    weights, file = dict(WEIGHTS["uni"]), folder / "uni_skip.npz"
    objects = np.array([{}], dtype=object)
    for changed, sentence in (
        ({"encoder_b": np.full(2 * UNI, np.nan)}, "array encoder_b of .* finite numbers only"),
        ({"encoder_b": np.array(["a"])}, "array encoder_b of .* finite numbers only"),
        ({"encoder_b": objects}, "is not an .npz file of plain NumPy"),
    ):
        np.savez(file, **{**weights, **changed})  # type: ignore[arg-type]
        with pytest.raises(AdequaError, match=sentence):
            SkipThought.load(str(folder), mode="uni")
    weights.pop("encoder_Ux")
    write_arrays(file, weights)
    with pytest.raises(AdequaError, match=r"it has no array encoder_Ux; it must"):
        SkipThought.load(str(folder), mode="uni")
    for content in (b"", b"text", b"PK\x03\x04 cut"):
        file.write_bytes(content)
        with pytest.raises(AdequaError, match=r"uni_skip.npz is not an .npz file"):
            SkipThought.load(str(folder), mode="uni")
    with file.open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(AdequaError, match=r"uni_skip.npz is not an .npz file"):
        SkipThought.load(str(folder), mode="uni")
    file.unlink()
    with pytest.raises(AdequaError, match=r"There is no file \S+uni_skip.npz"):
        SkipThought.load(str(folder), mode="uni")


def by_word(table: Array) -> dict[bytes, Array]:
    """As Python 2 pickled it: words as bytes, which Python 3 reads as one character per byte."""
    return {word.encode(): row for word, row in zip(WORDS, table, strict=True)}


@pytest.mark.parametrize("saved", ["rows", "dictionary", "numbers", "pickle", "plain"])
def test_converter_makes_tables_plain(folder: Path, tmp_path: Path, saved: str) -> None:
    before = SkipThought.load(str(folder))
    expected = before.encode(SENTENCES)
    for file, table in (("utable.npy", TABLES["uni"]), ("btable.npy", TABLES["bi"])):
        rows = np.empty(len(table), dtype=object)
        rows[:] = list(table)
        forms: dict[str, Any] = {
            "rows": rows,
            "dictionary": np.array(by_word(table), dtype=object),
            "numbers": table.astype(object),
            "plain": table.astype(np.float64),
        }
        if saved == "pickle":
            (folder / file).write_bytes(pickle.dumps(by_word(table), protocol=2))
        else:
            np.save(folder / file, forms[saved], allow_pickle=True)
    assert convert_skip_thought(folder, tmp_path / "new") == ("uni", "bi")
    converted = SkipThought.load(str(tmp_path / "new"))
    assert converted.fingerprint == before.fingerprint
    np.testing.assert_array_equal(converted.encode(SENTENCES), expected)


class Opens:
    """What a file of a stranger could run."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.target), "w"))


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("npy", [True, False])
def test_converter_runs_nothing(
    folder: Path, tmp_path: Path, npy: bool, protocol: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for stranger in (Opens(tmp_path / "ran"), os.getcwd, Opens):
        with (folder / "utable.npy").open("wb") as stream:
            if npy:
                header = {"descr": "|O", "fortran_order": False, "shape": ()}
                np.lib.format.write_array_header_1_0(stream, header)
            pickle.dump([stranger], stream, protocol=protocol)
        assert main(["skip-thought", str(folder), str(tmp_path / "new")]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"Error: {folder / 'utable.npy'} is not read: it is a pickle that")
        assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["published"]


def test_converter_refuses_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    table, new = folder / "utable.npy", tmp_path / "new"
    without = {word: row for word, row in by_word(TABLES["uni"]).items() if word != b"cat"}
    for content, sentence in (
        (
            np.array([np.ones(2), np.ones(3)], dtype=object),
            "one vector of the same length per word",
        ),
        (np.ones((3, 5)), "should hold 8 vectors, .* but its shape is 3 × 5"),
        (np.array(without, dtype=object), 'lacks the word "cat" of the dictionary'),
        (np.array("text", dtype=object), "one vector of the same length per word"),
    ):
        np.save(table, content, allow_pickle=True)
        with pytest.raises(AdequaError, match=sentence):
            convert_skip_thought(folder, new)
    for damaged in (b"", b"text", b"\x93NUMPY", b"\x80\x02]q\x00", pickle.dumps({})[:-3]):
        table.write_bytes(damaged)
        with pytest.raises(AdequaError, match=r"utable.npy is neither a NumPy array nor a pickle"):
            convert_skip_thought(folder, new)
    table.unlink()
    with pytest.raises(AdequaError, match=r"There is no file \S+utable.npy"):
        convert_skip_thought(folder, new)
    with pytest.raises(AdequaError, match=r"holds neither uni_skip.npz nor bi_skip.npz"):
        convert_skip_thought(tmp_path, new)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["published"]


def test_converter_as_a_command(folder: Path, tmp_path: Path) -> None:
    (folder / "bi_skip.npz").unlink()
    command = [sys.executable, "-m", "adequa.encoders.converters", "skip-thought"]
    done = run([*command, folder, tmp_path / "new"], capture_output=True, text=True, check=True)
    assert done.stdout == f"Use it as skip-thought:{tmp_path / 'new'},mode=uni\n"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "dictionary.txt",
        "uni_skip.npz",
        "utable.npy",
    ]
    again = run([*command, folder, tmp_path / "new"], capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert again.stderr.startswith("Error: ")
    assert "is there already" in again.stderr


def test_python_2_array_reads(tmp_path: Path) -> None:
    """An array as NumPy under Python 2 pickled it: protocol 2, the numbers as a byte string."""
    numbers = np.array([1.5, -2.0], dtype="<f4").tobytes()
    text = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89U\x08" + numbers + b"tb."
    )
    (tmp_path / "old.npy").write_bytes(text)
    np.testing.assert_array_equal(read_plain(tmp_path / "old.npy"), [1.5, -2.0])


def test_arrays_are_written_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_arrays(tmp_path / name, WEIGHTS["bi"])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    read = read_arrays(tmp_path / "a.npz", skip_thought_arrays("bi"))
    assert content_digest({}, read) == content_digest({}, WEIGHTS["bi"])


def test_states_of_nothing() -> None:
    weights = {
        ours: WEIGHTS["uni"][f"encoder_{theirs}"]
        for ours, theirs in (
            ("word_gates", "W"),
            ("state_gates", "U"),
            ("gate_bias", "b"),
            ("word_candidate", "Wx"),
            ("state_candidate", "Ux"),
            ("candidate_bias", "bx"),
        )
    }
    one = GRU.from_arrays(weights, resets_state=True, device="cpu")
    assert one.last_states(torch.zeros((0, 0, WORD_SIZE)), []).shape == (0, UNI)
