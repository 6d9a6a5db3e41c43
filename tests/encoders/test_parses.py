"""Parses: one tree per segment, from files or a parser, and through a cache the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.encoders.parses import (
    CachedParser,
    ParsedFiles,
    Parser,
    Parses,
    cached_parser,
    load_parser,
    one_root,
)
from adequa.errors import AdequaError
from adequa.io.conllu import read_conllu

Plain = list[tuple[tuple[str, ...], list[int]]]


class Chains(Parser):
    """A parser that hangs each word from the one before, and remembers what it was asked."""

    specifications = ("chains:here",)
    name = "chains"

    def __init__(self, fingerprint: str = "f1") -> None:
        self.fingerprint = fingerprint
        self.asked: list[str] = []

    def parse(self, texts: Sequence[str]) -> Parses:
        self.asked += texts
        words = [tuple(text.split()) for text in texts]
        return Parses.of([(each, range(-1, len(each) - 1)) for each in words])


def plain(parses: Parses) -> Plain:
    trees = map(parses.tree, range(len(parses)))
    return [(words, parents.tolist()) for words, parents in trees]


@st.composite
def forests(draw: st.DrawFn) -> Plain:
    """Trees in which the words came in any order."""
    forest: Plain = []
    for count in draw(st.lists(st.integers(0, 6), max_size=6)):
        order = draw(st.permutations(range(count)))
        parents = [-1] * count
        for at, place in enumerate(order[1:], start=1):
            parents[place] = order[draw(st.integers(0, at - 1))]
        forest.append((tuple(f"{len(forest)}.{at}" for at in range(count)), parents))
    return forest


@given(forests(), st.data())
def test_rows_are_taken_in_any_order(forest: Plain, data: st.DataObject) -> None:
    parses = Parses.of(forest)
    assert plain(parses) == forest
    rows = data.draw(st.lists(st.integers(0, len(forest) - 1))) if forest else []
    assert plain(parses.take(rows)) == [forest[row] for row in rows]


@given(forests(), st.data())
def test_joined_sentences_hang_from_the_first_root(forest: Plain, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(forest)), max_size=4)))
    cuts = [0, *ends, len(forest)]
    expected: Plain = []
    for start, end in pairwise(cuts):
        words: list[str] = []
        parents: list[int] = []
        for more, heads in forest[start:end]:
            root = parents.index(-1) if parents else -1
            parents += [root if head == -1 else head + len(words) for head in heads]
            words += more
        expected.append((tuple(words), parents))
    assert plain(Parses.of(forest).join(np.diff(cuts))) == expected


def test_arrays_cannot_be_changed() -> None:
    given_parents = np.array([-1, 0])
    parses = Parses(("a", "b"), given_parents, np.array([0, 2]))
    given_parents[0] = 1
    assert parses.parents.tolist() == [-1, 0]
    for array in (parses.parents, parses.starts, parses.tree(0)[1]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_one_root_leaves_trees_alone() -> None:
    starts = np.array([0, 0, 3, 3])
    assert one_root(np.array([1, -1, 1]), starts).tolist() == [1, -1, 1]
    assert one_root(np.array([], dtype=np.int32), np.array([0])).tolist() == []


@given(forests())
def test_written_parses_are_read(tmp_path_factory: pytest.TempPathFactory, forest: Plain) -> None:
    path = tmp_path_factory.getbasetemp() / "written.conllu"
    Parses.of(forest).write(path)
    read = read_conllu(path)
    assert plain(Parses(read.words, read.parents, read.starts)) == forest


def test_a_file_is_checked_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(
        "# text = a b\n1\ta" + "\t_" * 4 + "\t2\t_\t_\t_\n2\tb" + "\t_" * 4 + "\t1\t_\t_\t_"
    )
    with pytest.raises(AdequaError) as raised:
        read_conllu(path)
    assert str(raised.value).startswith(f"{path}, line 2: no word is the root")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two files: sentences with their texts, and the same words under another tree."""
    first, second = tmp_path / "a.conllu", tmp_path / "b.conllu"
    sentences = [(("Do", "n't", "!"), (1, -1, 1)), (("Dogs", "bark"), (1, -1)), (("Do",), (-1,))]
    Parses.of(sentences).write(first, ["Don't!", "Dogs bark", "Do"])
    Parses.of([(("Dogs", "bark"), (-1, 0)), (("Café", "."), (-1, 0))]).write(second)
    return str(first), str(second)


def test_parses_are_found_by_text(files: tuple[str, str]) -> None:
    parser = load_parser(*files)
    texts = ["Dogs  bark", "", "Don't !", "Dogs bark\n", "Cafe\u0301.", " \t"]
    dogs = (("Dogs", "bark"), [1, -1])
    assert plain(parser.parse(texts)) == [
        dogs,
        ((), []),
        (("Do", "n't", "!"), [1, -1, 1]),
        dogs,
        (("Café", "."), [-1, 0]),
        ((), []),
    ]
    assert len(parser.parse([])) == 0
    assert parser.remarks() == (
        "1 sentence occurs again with another tree, and the first is used.",
    )
    assert load_parser(files[0]).remarks() == ()
    assert parser.is_quick
    assert cached_parser(parser) is parser


def test_a_segment_may_be_several_sentences(files: tuple[str, str]) -> None:
    parses = load_parser(f"conllu:{files[0]}").parse(["Don't! Dogs bark Do", "DoDo"])
    assert plain(parses) == [
        (("Do", "n't", "!", "Dogs", "bark", "Do"), [1, -1, 1, 4, 1, 1]),
        (("Do", "Do"), [-1, 0]),
    ]


def test_the_white_space_counts_where_both_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    Parses.of([(("it", "'s"), (-1, 0)), (("it's",), (-1,))]).write(path, ["it 's", "it's"])
    trees = plain(load_parser(str(path)).parse(["it's", "it  's", "it's it's", "i t's"]))
    assert [words for words, _ in trees] == [
        ("it's",),
        ("it", "'s"),
        ("it", "'s", "it", "'s"),
        ("it", "'s"),
    ]


def test_a_text_without_parse_is_named(files: tuple[str, str]) -> None:
    with pytest.raises(AdequaError) as raised:
        load_parser(files[0]).parse(["Do", "Dogs barked", "Dogs barked", "\ud800" * 99])
    assert str(raised.value) == (
        f"{Path(files[0]).resolve()}: there is no parse of 2 of 3 different texts, the first being "
        '"Dogs barked"; parse them too, with each text after `# text =`.'
    )
    with pytest.raises(AdequaError) as again:
        load_parser(files[0]).parse(["\ud800" * 99])
    str(again.value).encode()


def test_a_segment_of_countless_pieces_is_soon_read(tmp_path: Path) -> None:
    """Neither one that fits in very many ways nor one that almost does takes long."""
    path = tmp_path / "a.conllu"
    texts = ["a" * count for count in range(1, 60)]
    Parses.of([((text,), (-1,)) for text in texts]).write(path)
    parser = load_parser(str(path))
    assert plain(parser.parse(["a" * 1000]))[0][0][0] == "a" * 59
    with pytest.raises(AdequaError, match="there is no parse of 1 of 1"):
        parser.parse(["a" * 1000 + "b"])


def test_a_loaded_parser_can_be_loaded_again(files: tuple[str, str]) -> None:
    parser = load_parser(*files)
    again = load_parser(*parser.specifications)
    assert (again.name, again.fingerprint) == (parser.name, parser.fingerprint)
    assert parser.name == f"a.conllu+b.conllu@{parser.fingerprint[:8]}"
    assert load_parser(files[0]).fingerprint != parser.fingerprint


@pytest.mark.parametrize(
    ("specifications", "words"),
    [
        ((), "Name a parser as spacy:MODEL or conllu:FILE."),
        (("spcy:model",), '"spcy:model" names no parser. Did you mean "spacy"? Write spacy:MODEL'),
        (("spacy:",), '"spacy:" names no parser.'),
        (("nowhere",), '"nowhere" names no parser.'),
        (("spacy:a", "spacy:b"), "spacy:a and spacy:b cannot be used together"),
        (("a.conllu", "spacy:b"), "cannot be used together"),
        (("a.conllu",), "There is no file a.conllu."),
        ((r"C:\a b\c.conllu",), r"There is no file C:\a b\c.conllu."),
    ],
    ids=range(8),
)
def test_what_names_no_parser_is_said(specifications: tuple[str, ...], words: str) -> None:
    with pytest.raises(AdequaError) as raised:
        load_parser(*specifications)
    assert words in str(raised.value)


def test_a_file_without_sentences_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.conllu"
    path.write_text("# nothing\n")
    with pytest.raises(AdequaError) as raised:
        ParsedFiles.load(str(path))
    assert str(raised.value) == f"{path}: there is no sentence."


def test_a_cached_parser_parses_a_text_once(tmp_path: Path) -> None:
    texts = ["a b", "", "c", "a b", *(f"w{n} x" for n in range(1500))]
    counts: list[int] = []
    parser = Chains()
    cached = cached_parser(parser, tmp_path, progress=counts.append)
    right = plain(Chains().parse(texts))
    assert plain(cached.parse(texts)) == right
    assert plain(cached.parse(texts[::-1])) == right[::-1]
    assert parser.asked == list(dict.fromkeys(texts))
    assert counts == [1024, 479]
    other = Chains()
    assert plain(cached_parser(other, tmp_path).parse(texts)) == right
    assert other.asked == []
    assert len(cached.parse([])) == 0


def test_parsers_of_other_fingerprints_share_nothing(tmp_path: Path) -> None:
    cached_parser(Chains("f1"), tmp_path).parse(["a"])
    other = Chains("f2")
    cached_parser(other, tmp_path).parse(["a"])
    assert other.asked == ["a"]


def test_a_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    cached = cached_parser(Chains())
    cached.parse(["a"])
    assert (tmp_path / "parses" / "f1.db").is_file()
    assert cached_parser(cached) is cached
    assert (cached.name, cached.specifications) == ("chains", ("chains:here",))


def test_a_broken_cache_costs_no_parse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cached = cached_parser(Chains(), tmp_path / "file")
    assert isinstance(cached, CachedParser)
    assert plain(cached.parse(["a b"])) == [(("a", "b"), [-1, 0])]
    assert [remark for remark in cached.remarks() if "is of no use as a cache" in remark]
