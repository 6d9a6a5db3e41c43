"""Word vectors and the bag of words: three layouts, a table on disk, means by hand."""

from __future__ import annotations

import gzip
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.encoders import word_vectors
from adequa.encoders.registry import load_encoder
from adequa.encoders.word_vectors import BagOfWords, WordVectors, load_word_vectors
from adequa.errors import AdequaError

WORDS = ["the", "cat", "n't", "do", ".", "Ünï", "cat"]  # a word twice: the first counts
NUMBERS = np.array(
    [[1, 2, 3], [0.5, -1, 0], [4, 4, 4], [2, 0, -2], [0, 0, 1], [7, 8, 9], [-9, -9, -9]],
    dtype=np.float32,
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


def glove(words: list[str] = WORDS, numbers: np.ndarray = NUMBERS) -> bytes:
    rows = zip(words, numbers.tolist(), strict=True)
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows).encode()


def word2vec_text() -> bytes:
    # As the first tool wrote it, with a space at the end of each line.
    return b"7 3\n" + glove().replace(b"\n", b" \n")


def word2vec_binary(ending: bytes = b"\n") -> bytes:
    rows = zip(WORDS, NUMBERS, strict=True)
    return b"7 3\n" + b"".join(word.encode() + b" " + row.tobytes() + ending for word, row in rows)


LAYOUTS = {
    "glove": glove(),
    "glove-windows": glove().replace(b"\n", b"\r\n"),
    "glove-tabs": glove().replace(b" ", b"\t"),
    "glove-without-last-line-end": glove()[:-1],
    "word2vec-text": word2vec_text(),
    "word2vec-binary": word2vec_binary(),
    "word2vec-binary-without-line-ends": word2vec_binary(b""),
}


def written(folder: Path, content: bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def error(action: Callable[[], object]) -> str:
    with pytest.raises(AdequaError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def table_folders(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "word-vectors").iterdir())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["vectors.any", "vectors.any.gz"])
def test_every_layout_gives_the_same_table(tmp_path: Path, layout: str, name: str) -> None:
    table = load_word_vectors(written(tmp_path, LAYOUTS[layout], name))
    rows = table.rows(["cat", "absent", "Ünï", "the", "", "\ud800", "n't"])
    assert rows.tolist() == [1, -1, 5, 0, -1, -1, 2]
    np.testing.assert_array_equal(table.vectors[rows[rows >= 0]], NUMBERS[[1, 5, 0, 2]])
    assert table.vectors.dtype == np.float32
    assert (table.dimension, len(table), table.cased) == (3, 7, True)


def test_blocks_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2, 7, 30):
        monkeypatch.setattr("adequa.encoders.word_vector_files._BLOCK", size)
        for layout in ("glove", "word2vec-text", "word2vec-binary"):
            path = written(tmp_path, LAYOUTS[layout], f"{layout}-{size}")
            np.testing.assert_array_equal(load_word_vectors(path).vectors, NUMBERS)


def test_words_with_spaces_are_read_from_the_right(tmp_path: Path) -> None:
    words = ["the", ". . .", "at name@domain.com", "cat"]
    table = load_word_vectors(written(tmp_path, glove(words, NUMBERS[:4])))
    assert table.rows(words).tolist() == [0, 1, 2, 3]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(blacklist_characters=" \t\n\r", blacklist_categories=["Cs"]),
                    min_size=1),
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            st.floats(width=32, allow_nan=False, allow_infinity=False),
        ),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_what_was_written_is_found(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, float]]
) -> None:
    text = "".join(f"{word} {first!r} {second!r}\n" for word, first, second in rows)
    path = written(tmp_path_factory.mktemp("any"), f"{len(rows)} 2\n{text}".encode())
    first_of: dict[str, list[float]] = {}
    for word, *numbers in rows:
        first_of.setdefault(word, numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADEQUA_CACHE", str(path.parent))
        table = load_word_vectors(path)
    vectors = table.vectors[table.rows(list(first_of))]
    np.testing.assert_allclose(vectors, np.array(list(first_of.values())), rtol=1e-6)


def test_words_that_share_a_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        word_vectors, "_word_hashes", lambda words: np.zeros(len(words), dtype="<u8")
    )
    table = load_word_vectors(written(tmp_path, glove()))
    assert table.rows(["cat", ".", "absent"]).tolist() == [1, 4, -1]


def test_the_table_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, glove())
    first = load_word_vectors(path)
    monkeypatch.setattr(word_vectors, "read_rows", None)
    assert load_word_vectors(path).fingerprint == first.fingerprint


def test_a_changed_file_is_read_again_and_its_old_table_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, glove())
    first = load_word_vectors(path)
    (before,) = table_folders(tmp_path)
    written(tmp_path, glove(["dog"], NUMBERS[:1]))
    second = load_word_vectors(path)
    assert second.rows(["dog", "cat"]).tolist() == [0, -1]
    assert first.fingerprint != second.fingerprint
    (after,) = table_folders(tmp_path)
    assert before != after


@pytest.mark.parametrize(
    "file", ["table.json", "vectors.bin", "hashes.bin", "rows.bin", "ends.bin", "spelling.bin"]
)
@pytest.mark.parametrize("how", ["gone", "cut", "empty"])
def test_a_damaged_table_is_built_again(tmp_path: Path, file: str, how: str) -> None:
    path = written(tmp_path, glove())
    load_word_vectors(path)
    (folder,) = table_folders(tmp_path)
    content = (folder / file).read_bytes()
    (folder / file).unlink()
    if how != "gone":
        (folder / file).write_bytes(content[:-3] if how == "cut" else b"")
    table = load_word_vectors(path)
    np.testing.assert_array_equal(table.vectors[table.rows(["n't"])], NUMBERS[[2]])
    assert table_folders(tmp_path) == [folder]


def test_the_fingerprint_is_of_content(tmp_path: Path) -> None:
    plain = load_word_vectors(written(tmp_path, glove(), "a.txt"))
    packed = load_word_vectors(written(tmp_path, glove(), "b.txt.gz"))
    other = load_word_vectors(written(tmp_path, glove(WORDS[::-1]), "c.txt"))
    assert plain.fingerprint == packed.fingerprint != other.fingerprint


def _rows_of_the(path: str, cache: str) -> list[int]:
    os.environ["ADEQUA_CACHE"] = cache
    table: WordVectors = load_word_vectors(path)
    return [int(row) for row in table.rows(["the", "n't"])]


def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, glove() * 2000)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        arguments = [(str(path), str(tmp_path / "cache"))] * 2
        assert pool.starmap(_rows_of_the, arguments, chunksize=1) == [[0, 2]] * 2
    assert len(table_folders(tmp_path)) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"the cat\n", 'line 1: "cat" is not a number'),
        (b"the\ncat\n", "line 1: there is no vector"),
        (glove() + b"dog 1 2\n", 'line 8: there are not 3 numbers after the word "dog"'),
        (glove() + b"dog 1 2 3 4\n", 'line 8: there are not 3 numbers after the word "dog"'),
        (glove() + b"dog\n", "line 8: there are not 3 numbers"),
        (glove() + b"\n", "line 8: there are not 3 numbers"),
        (glove() + b"dog 1 x 3\n", 'line 8: "x" is not a number'),
        (glove() + b"dog 1 2_0 3\n", 'line 8: "2_0" is not a number'),
        (glove() + b"dog 1 nan 3\n", "line 8: the vector has NaN or infinite"),
        (glove() + b"dog 1 1e60 3\n", "line 8: the vector has NaN or infinite"),
        (b"8 3\n" + glove(), "has 7 words, but its first line says 8"),
        (b"6 3\n" + glove(), "has 7 words, but its first line says 6"),
        (b"7 4\n" + glove(), "line 2: there are not 4 numbers"),
        (word2vec_binary()[:-7], "has 6 words, but its first line says 7"),
        (
            b"1 2\nthe " + np.array([1, np.nan], dtype="<f4").tobytes(),
            "word 1: the vector has NaN or infinite",
        ),
        (b"9 2\nthe \x00\x00" + b"\x01" * 200_000, "is not a word"),
    ],
)
def test_bad_files_are_refused_and_leave_nothing(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = written(tmp_path, content)
    sentence = error(lambda: load_word_vectors(path))
    assert message in sentence
    assert str(path) in sentence
    assert table_folders(tmp_path) == []


def test_files_that_cannot_be_read_or_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not there" in error(lambda: load_word_vectors(tmp_path / "absent"))
    assert "is a folder" in error(lambda: load_word_vectors(tmp_path))
    path = written(tmp_path, glove(), "not-packed.gz")
    path.write_bytes(glove())
    assert "not a whole gzip" in error(lambda: load_word_vectors(path))
    monkeypatch.setenv("ADEQUA_CACHE", str(path))  # a file where a folder should be
    good = written(tmp_path, glove())
    assert "ADEQUA_CACHE" in error(lambda: load_word_vectors(good))


def test_means_by_hand(tmp_path: Path) -> None:
    encoder = BagOfWords.load(str(written(tmp_path, glove())))
    vectors = encoder.encode(["the cat.", "don’t", "unknown words", "", "cat cat the"])
    expected = [
        (NUMBERS[0] + NUMBERS[1] + NUMBERS[4]) / 3,
        (NUMBERS[3] + NUMBERS[2]) / 2,
        np.zeros(3),
        np.zeros(3),
        (2 * NUMBERS[1] + NUMBERS[0]) / 3,
    ]
    np.testing.assert_allclose(vectors, np.stack(expected), rtol=1e-6)
    assert vectors.dtype == np.float32
    assert encoder.encode([]).shape == (0, 3)


def test_means_do_not_depend_on_the_other_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(3)
    words = [f"w{number}" for number in range(50)]
    path = written(tmp_path, glove(words, generator.normal(size=(50, 9))))
    encoder = BagOfWords.load(str(path))
    sentences = [" ".join(generator.choice(words, size=12)) for _ in range(30)]
    together = encoder.encode(sentences)
    monkeypatch.setattr("adequa.encoders.word_vectors._CHUNK", 7)
    np.testing.assert_array_equal(encoder.encode(sentences), together)
    np.testing.assert_array_equal(encoder.encode(sentences[4:5]), together[4:5])


def test_coverage_names_unknown_words(tmp_path: Path) -> None:
    encoder = BagOfWords.load(str(written(tmp_path, glove())))
    coverage = encoder.coverage(["the Brno cat.", "", "flat"])
    assert coverage.word_counts == (4, 0, 1)
    assert coverage.unknown == (("Brno",), (), ("flat",))
    assert coverage.fraction == pytest.approx(3 / 5)


def test_lower_case_where_the_table_has_no_other(tmp_path: Path) -> None:
    cased = written(tmp_path, glove(), "cased")
    lower = written(tmp_path, glove([word.lower() for word in WORDS]), "lower")
    assert BagOfWords.load(str(cased)).coverage(["The Ünï"]).unknown == (("The",),)
    assert BagOfWords.load(str(lower)).coverage(["The Ünï"]).unknown == ((),)
    assert BagOfWords.load(str(cased), lowercase="true").coverage(["The"]).unknown == ((),)
    prints = {
        BagOfWords.load(str(cased), lowercase=lowercase, tokenize=tokenize).fingerprint
        for lowercase in ("auto", "true", "false")
        for tokenize in ("treebank", "none")
    }
    assert len(prints) == 4  # auto is one of the two


def test_tokenizers_and_their_names(tmp_path: Path) -> None:
    path = written(tmp_path, glove())

    def words(tokenize: str, text: str) -> list[str]:
        encoder = BagOfWords.load(str(path), tokenize=tokenize, lowercase="false")
        return encoder.split(text)

    assert words("treebank", "I don't.") == ["I", "do", "n't", "."]
    assert words("13a", "I don't.") == ["I", "don't", "."]
    assert words("intl", "a-b.") == ["a", "-", "b", "."]
    assert words("none", "I don't.") == ["I", "don't."]
    assert "There are treebank" in error(lambda: load_encoder(f"words:{path},tokenize=moses"))
    assert "auto, true or false" in error(lambda: load_encoder(f"words:{path},lowercase=maybe"))


def test_the_specification_loads_the_same(tmp_path: Path) -> None:
    encoder = load_encoder(str(written(tmp_path, glove())))
    again = load_encoder(encoder.specification)
    assert isinstance(again, BagOfWords)
    assert again.fingerprint == encoder.fingerprint
    assert again.is_quick
