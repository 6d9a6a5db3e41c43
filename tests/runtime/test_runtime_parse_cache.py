"""The cache of parses: whatever happens to the file, a parse is as it was put there, or missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.runtime.parse_cache import ParseCache, Tree, text_key


def chain(text: str) -> Tree:
    """The words of a text, each below the one before."""
    words = tuple(text.split())
    return words, np.arange(-1, len(words) - 1, dtype=np.int32)


def parses(texts: list[str]) -> dict[bytes, Tree]:
    return {text_key(text): chain(text) for text in texts}


def plain(trees: dict[bytes, Tree]) -> dict[bytes, tuple[tuple[str, ...], list[int]]]:
    return {key: (words, parents.tolist()) for key, (words, parents) in trees.items()}


# No words, a few, and a great many, which take one page and many.
TEXTS = ["", "one", "Bäume wachsen 猫", *(f"{n} " * n for n in (60, 500, 3000))]


@pytest.fixture
def cache(tmp_path: Path) -> ParseCache:
    return ParseCache(tmp_path / "deep" / "a.sqlite")


def rows(cache: ParseCache) -> int:
    with closing(sqlite3.connect(cache.path)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM parses").fetchone()[0])


def changed(cache: ParseCache, statement: str) -> None:
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute(statement)


def test_what_was_put_is_got(cache: ParseCache) -> None:
    texts = [*TEXTS, *(f"text {number}" for number in range(1100))]
    assert cache.get([text_key(text) for text in texts]) == {}
    cache.put(parses(texts[:1000]))
    keys = [text_key(text) for text in [*texts[::-1], texts[0]]]
    assert plain(cache.get(keys)) == plain(parses(texts[:1000]))
    assert all(parents.dtype == np.int32 for _, parents in cache.get(keys).values())
    assert cache.problem is None


words = st.lists(st.text(min_size=1, max_size=200) | st.just("\ud800"), max_size=30)


@settings(max_examples=25)
@given(words, st.data())
def test_any_words_and_parents_are_kept(
    tmp_path_factory: pytest.TempPathFactory, given_words: list[str], data: st.DataObject
) -> None:
    count = len(given_words)
    numbers = st.integers(-(2**31), 2**31 - 1)
    parents = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), dtype=np.int32)
    cache = ParseCache(tmp_path_factory.mktemp("kept") / "a.sqlite")
    kept = {b"0" * 16: (tuple(given_words), parents)}
    cache.put(kept)
    assert plain(cache.get(list(kept))) == plain(kept)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE parses SET value = zeroblob(length(value)) WHERE id = {}",
        "UPDATE parses SET value = substr(value, 1, 7) WHERE id = {}",
        "UPDATE parses SET value = NULL WHERE id = {}",
        "UPDATE parses SET value = (SELECT value FROM parses WHERE id = 1) WHERE id = {}",
        "DELETE FROM parses WHERE id = {}",
    ],
)
def test_a_damaged_page_costs_its_parse_and_is_replaced(cache: ParseCache, damage: str) -> None:
    long = text_key("two " * 500)
    kept = parses(["one", "two " * 500, "three"])
    cache.put(kept)
    pages = rows(cache)
    assert pages > 10
    for page in (2, 5, pages - 1):  # the first page, one in the middle, and the last
        changed(cache, damage.format(page))
        assert plain(cache.get(list(kept))) == plain(
            {key: tree for key, tree in kept.items() if key != long}
        )
        cache.put(kept)
        assert plain(cache.get(list(kept))) == plain(kept)
        changed(cache, "DELETE FROM parses")  # so that pages have the same ids again
        cache.put(kept)


def test_a_parse_that_is_there_stays_as_it_is(cache: ParseCache) -> None:
    key, first, second = text_key("a"), chain("one " * 200), chain("two " * 300)
    cache.put({key: first})
    cache.put({key: second})
    assert plain(cache.get([key])) == plain({key: first})


def test_pages_of_two_parses_are_never_read_together(cache: ParseCache) -> None:
    key = text_key("a")
    cache.put({key: chain("one " * 200)})
    changed(cache, "DELETE FROM parses WHERE id > 1")
    cache.put({key: chain("two " * 200)})  # as many pages, of another parse
    assert cache.get([key]) == {}


@pytest.mark.parametrize("where", [0, 50, 20_000])
def test_a_damaged_file_is_moved_aside(cache: ParseCache, where: int) -> None:
    kept = parses([f"text {number}" for number in range(500)])
    cache.put(kept)
    content = bytearray(cache.path.read_bytes())
    content[where : where + 30_000] = b"\xff" * 30_000
    cache.path.write_bytes(content)
    right = plain(kept)
    assert all(right[key] == tree for key, tree in plain(cache.get(list(kept))).items())
    cache.put(kept)
    cache.put(kept)
    assert plain(cache.get(list(kept))) == right


def test_a_full_file_drops_the_oldest(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path / "a.sqlite", limit=200_000)
    texts = [f"{number} " * 150 for number in range(300)]
    for start in range(0, 300, 50):
        cache.put(parses(texts[start : start + 50]))
    found = cache.get([text_key(text) for text in texts])
    assert text_key(texts[-1]) in found
    assert text_key(texts[0]) not in found
    assert plain(found).items() <= plain(parses(texts)).items()


def test_a_folder_that_cannot_be_made_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ParseCache(tmp_path / "file" / "a.sqlite")
    cache.put(parses(["one"]))
    assert cache.problem is not None
    assert "is of no use as a cache" in cache.problem
    assert cache.get([text_key("one")]) == {}
