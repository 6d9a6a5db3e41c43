"""Precomputed vectors from .npz and Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders.precomputed import Precomputed
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError

SENTENCES = ["A cat.", "a cat.", "", "Ünï", "A cat."]  # one twice, with the same vector
VECTORS = np.array([[1, 2], [3, 4], [5, 6], [7, 8.5], [1, 2]], dtype=np.float64)


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{"sentences": np.array(SENTENCES), "vectors": VECTORS, **arrays})
    return path


def parquet(path: Path, sentences: Any = SENTENCES, vectors: Any = None, kind: Any = None) -> Path:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow.parquet import write_table

    column = pa.array(VECTORS.tolist() if vectors is None else vectors, type=kind)
    write_table(pa.table({"sentence": sentences, "vector": column}), path)
    return path


def error(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refused(path: Path) -> str:
    sentence = error(lambda: Precomputed.load(str(path)))
    assert str(path) in sentence
    return sentence


def check_lookup(encoder: Precomputed) -> None:
    vectors = encoder.encode(["Ünï", "A cat.", "", "A cat."])
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[7, 8.5], [1, 2], [5, 6], [1, 2]]
    assert encoder.encode([]).shape == (0, 2)
    assert (encoder.dimension, encoder.is_quick) == (2, True)


def test_vectors_of_an_npz_file(tmp_path: Path) -> None:
    check_lookup(Precomputed.load(str(npz(tmp_path / "a.npz"))))


def test_vectors_of_parquet_files(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    kinds = [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.float64())]
    prints = {Precomputed.load(str(npz(tmp_path / "a.npz"))).fingerprint}
    for at, kind in enumerate(kinds):
        path = parquet(tmp_path / f"{at}.parquet", kind=kind)
        encoder = Precomputed.load(str(path))
        check_lookup(encoder)
        prints.add(encoder.fingerprint)
    assert len(prints) == 1  # the content is the same everywhere


def test_the_fingerprint_is_of_content(tmp_path: Path) -> None:
    first = Precomputed.load(str(npz(tmp_path / "a.npz")))
    (tmp_path / "b").mkdir()
    same = Precomputed.load(str(npz(tmp_path / "b" / "c.npz")))
    numbers = Precomputed.load(str(npz(tmp_path / "d.npz", vectors=VECTORS + 1)))
    texts = np.array([text.upper() if text == "Ünï" else text for text in SENTENCES])
    sentences = Precomputed.load(str(npz(tmp_path / "e.npz", sentences=texts)))
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, numbers.fingerprint, sentences.fingerprint}) == 3


def test_loaded_by_name_and_by_what_it_is(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz")
    encoder = load_encoder(str(path))
    assert isinstance(encoder, Precomputed)
    assert load_encoder(encoder.specification).fingerprint == encoder.fingerprint


def test_sentences_without_a_vector_are_counted(tmp_path: Path) -> None:
    encoder = Precomputed.load(str(npz(tmp_path / "a.npz")))
    sentence = error(lambda: encoder.encode(["A cat.", "B" * 99, "A dog.", "A dog."]))
    assert "2 of 3 different sentences" in sentence
    assert f'"{"B" * 60}…"' in sentence


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": VECTORS[:3]}, "5 sentences but vectors of shape 3 × 2"),
        ({"vectors": VECTORS[:, 0]}, "vectors of shape 5;"),
        ({"vectors": np.array(["a"] * 5)}, "must be numbers"),
        ({"vectors": VECTORS * np.nan}, "row 1: the vector has NaN"),
        ({"vectors": VECTORS * 1e300}, "row 1: the vector has NaN or infinite"),
        ({"vectors": VECTORS + np.arange(5)[:, None]}, "in rows 1 and 5"),
        ({"sentences": np.arange(5)}, "one row of text"),
        ({"sentences": np.array([SENTENCES])}, "one row of text"),
        ({"sentences": np.array(SENTENCES, dtype=object)}, "save plain arrays"),
        ({"sentences": np.array([], dtype=str), "vectors": VECTORS[:0]}, "holds no sentences"),
    ],
)
def test_bad_npz_files(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    assert message in refused(npz(tmp_path / "a.npz", **arrays))


@pytest.mark.parametrize(
    ("sentences", "vectors", "message"),
    [
        (["a", "b"], [[1.0, 2.0], [3.0]], "lists of numbers of one length"),
        (["a", "b"], [[1.0, 2.0], None], "lists of numbers of one length"),
        (["a", "b"], [[1.0], [None]], "row 2: the vector has NaN"),
        (["a", "b"], ["x", "y"], "lists of numbers of one length"),
        (["a", "b"], [["x"], ["y"]], "lists of numbers of one length"),
    ],
)
def test_bad_parquet_files(tmp_path: Path, sentences: Any, vectors: Any, message: str) -> None:
    assert message in refused(parquet(tmp_path / "a.parquet", sentences, vectors))


def test_empty_vectors_in_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    path = parquet(tmp_path / "a.parquet", ["a", "b"], [[], []], pa.list_(pa.float32()))
    assert "vectors of shape 2 × 0" in refused(path)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    assert "There is no file" in refused(tmp_path / "a.npz")
    assert "is a folder" in refused(tmp_path)
    for name, message in (("a.npz", "as .npz"), ("a.parquet", "as Parquet"), ("a.txt", "neither")):
        (tmp_path / name).write_bytes(b"something else" * 9)
        assert message in refused(tmp_path / name)
    np.savez(tmp_path / "b.npz", vectors=VECTORS)
    assert "sentences=" in refused(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", VECTORS)
    (tmp_path / "c.npy").rename(tmp_path / "c.npz")
    assert "cannot be read as .npz" in refused(tmp_path / "c.npz")
    content = npz(tmp_path / "d.npz").read_bytes()
    (tmp_path / "d.npz").write_bytes(content[: len(content) // 2])
    assert "cannot be read as .npz" in refused(tmp_path / "d.npz")
