"""CoNLL-U: what is written is read, and whatever is no tree is said with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.conllu import first_fault, read_conllu, write_conllu

# After the first example of the CoNLL-U description, with all that is not part of the tree.
EXAMPLE = """\
# newdoc id = weblog
# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
4.1\tgran\tgran\tADJ\t_\t_\t_\t_\t5:amod\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\tSpaceAfter=No
"""


def row(number: object, head: object, word: str = "w") -> str:
    return f"{number}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


def rows(*heads: object) -> str:
    return "".join(row(number, head) for number, head in enumerate(heads, start=1))


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "a.conllu"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


word = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), min_size=1, max_size=5
)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Any tree: the words in any order, each but the root below one that came before."""
    words = draw(st.lists(word, max_size=8))
    order = draw(st.permutations(range(len(words))))
    parents = [-1] * len(words)
    for at, place in enumerate(order[1:], start=1):
        parents[place] = order[draw(st.integers(0, at - 1))]
    return words, parents


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conllu")


@settings(max_examples=60)
@given(st.lists(trees(), max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_was_written_is_read(
    folder: Path, sentences: list[tuple[list[str], list[int]]], end: str, marked: bool
) -> None:
    path = folder / "b.conllu"
    write_conllu(path, sentences)
    content = path.read_bytes().replace(b"\n", end.encode())
    path.write_bytes((b"\xef\xbb\xbf" if marked else b"") + content)
    found = read_conllu(path)
    assert len(found) == len(sentences)
    assert list(found.words) == [word for words, _ in sentences for word in words]
    assert found.parents.tolist() == [each for _, parents in sentences for each in parents]
    assert np.diff(found.starts).tolist() == [len(words) for words, _ in sentences]
    texts = [" ".join(" ".join(words).split()) for words, _ in sentences]
    assert list(found.texts) == texts


def test_only_words_and_heads_are_read(tmp_path: Path) -> None:
    found = read_conllu(written(tmp_path, EXAMPLE))
    assert found.words == ("Vamos", "nos", "a", "el", "mar")
    assert found.parents.tolist() == [-1, 0, 4, 4, 0]
    assert found.texts == ("Vámonos al mar",)


def test_a_sentence_without_text_has_its_words_as_written(tmp_path: Path) -> None:
    bare = "".join(line for line in EXAMPLE.splitlines(keepends=True) if line[0] != "#")
    assert read_conllu(written(tmp_path, bare)).texts == ("Vámonos al mar",)


def test_texts_are_written_with_single_spaces(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    write_conllu(path, [(("Ai", "!"), (-1, 0)), ((), ())], [" Ai\n\t! ", " "])
    assert path.read_text("utf-8").splitlines()[0] == "# text = Ai !"
    assert read_conllu(path).texts == ("Ai !", "")


@pytest.mark.parametrize(
    ("content", "lengths"),
    [
        ("", []),
        ("\n\n\n", []),
        ("# a licence\n\n" + rows(0), [1]),  # a comment about the file
        ("# text =\n\n" + rows(0), [0, 1]),  # an empty segment
        ("# sent_id = 7\n\n\n# text = b\n" + rows(0), [0, 1]),
        (rows(0) + "\n \n\n" + rows(2, 0), [1, 2]),  # more than one line in between
        (rows(0) + "# late\n" + row(2, 1), [2]),
        ("#text=a b\n" + rows(2, 0).rstrip("\n"), [2]),  # no line end at the end
    ],
    ids=range(8),
)
def test_blocks_are_sentences(tmp_path: Path, content: str, lengths: list[int]) -> None:
    assert np.diff(read_conllu(written(tmp_path, content)).starts).tolist() == lengths


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress(EXAMPLE.encode()))
    assert len(read_conllu(path).words) == 5


def test_long_and_crossing_trees_are_trees(tmp_path: Path) -> None:
    chain = rows(*range(500))
    crossing = rows(3, 4, 0, 3)  # 1 → 3 and 2 → 4 cross
    found = read_conllu(written(tmp_path, f"{chain}\n{crossing}"))
    assert found.parents.tolist() == [*range(-1, 499), 2, 3, -1, 2]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (rows(0, 0), 2, "words 1 and 2 are both roots (HEAD 0), but a tree has one"),
        (rows(0) + "\n" + rows(2, 1), 3, "no word is the root"),
        ("# text = a\n" + rows(0, 3, 2), 3, "leads in a circle: 2 → 3 → 2."),
        (rows(2, 3, 4, 2, 0), 2, "leads in a circle: 2 → 3 → 4 → 2."),
        (rows(0, *range(3, 10), 2), 2, "in a circle: 2 → 3 → 4 → 5 → 6 → 7 → … → 2."),
        (rows(0, 2), 2, "word 2 is its own head."),
        (rows(0, 4, 1), 2, "the head of word 2 is 4, but the last word is 3."),
        (rows(0) + "\n" + rows(9), 3, "the head of word 1 is 9, but the last word is 1."),
        (rows(0, -1), 2, "HEAD, is '-1'; it should be the number of a word"),
        (rows(0, "_"), 2, "HEAD, is '_'"),
        (rows(0, "9" * 5000), 2, f"HEAD, is '{'9' * 20}…'"),
        (rows(0, "٣"), 2, "HEAD, is '٣'"),
        (rows(0) + row(3, 1), 2, "ID, is '3' where 2 was expected"),
        (rows(0) + rows(0), 2, "an empty line ends a sentence"),
        (row(0, 0), 1, "ID, is '0' where 1 was expected"),
        (row("x", 0), 1, "ID, is 'x'"),
        (row(1, 0, ""), 1, "FORM, is empty"),
        (rows(0) + "2 w _ _ _ _ 1 _ _ _\n", 2, "but here are no tabs."),
        (rows(0) + "2\tw\t1\n", 2, "CoNLL-U has 10 columns, separated by tabs, but here are 3."),
        (rows(0)[:-1] + "\t_\n", 1, "but here are 11."),
    ],
    ids=range(20),
)
def test_what_is_no_tree_is_said(tmp_path: Path, content: str, line: int, words: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(AdequaError) as raised:
        read_conllu(path)
    assert str(raised.value).startswith(f"{path}, line {line}: ")
    assert words in str(raised.value)


def test_a_file_that_is_not_there_is_named() -> None:
    name = r"C:\parses\a.conllu"
    with pytest.raises(AdequaError) as raised:
        read_conllu(name)
    assert str(raised.value) == rf"There is no file {name}."


@pytest.mark.parametrize("word", ["", "a\tb", "a\nb"], ids=range(3))
def test_a_word_that_no_file_can_hold_leaves_no_file(tmp_path: Path, word: str) -> None:
    path = tmp_path / "a.conllu"
    with pytest.raises(AdequaError, match="cannot hold sentence 2: "):
        write_conllu(path, [(("a",), (-1,)), ((word,), (-1,))])
    assert list(tmp_path.iterdir()) == []


def is_tree(parents: list[int]) -> bool:
    """By hand: one root, and from each word as many steps as there are words lead to it."""
    for at in range(len(parents)):
        for _ in parents:
            at = parents[at] if parents[at] != -1 else at  # noqa: PLW2901
        if parents[at] != -1:
            return False
    return parents.count(-1) == (len(parents) > 0)


@given(st.lists(st.integers(1, 5).flatmap(lambda n: st.lists(st.integers(-1, n - 1), max_size=n))))
def test_faults_are_found_wherever_they_are(forest: list[list[int]]) -> None:
    fitting = [[min(each, len(parents) - 1) for each in parents] for parents in forest]
    flat = np.array([each for parents in fitting for each in parents], dtype=np.int32)
    starts = np.cumsum([0, *map(len, fitting)])
    assert (first_fault(flat, starts) is None) == all(map(is_tree, fitting))
