"""Patterns, which match the files that `glob` finds, each once; and the stores of fsspec."""

from __future__ import annotations

import glob
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from hypothesis import assume, given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io import storage as storage_module
from adequa.io.shards import find_shards, shard_matcher
from adequa.io.storage import (
    LocalStorage,
    Storage,
    is_match,
    is_pattern,
    location,
    storage_of,
)
from corpora import rows_of, write_jsonl

PATHS = [
    "b.jsonl", ".h", "a[1]", "a/a", "a/b.jsonl", "a/.h", "a/d/b.jsonl", "a/d/.h/a", "a/d/a[1]/a",
    ".d/a", ".d/b.jsonl", ".d/.h/.h", "d/a/b.jsonl", "d/.h/b.jsonl",
]  # fmt: skip
PARTS = ("*", "**", "?", "a", "d", "b.jsonl", ".*", ".h", "[ab]*", "[.]h", "*.jsonl", "a[[]1]")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), last=st.sampled_from("/ "))
def test_patterns_stand_for_what_glob_finds(tree: Path, parts: list[str], last: str) -> None:
    pattern = "/".join(parts) + last.strip()
    assume(is_pattern(pattern))
    everything = {*glob.glob(pattern, root_dir=tree, recursive=True)}  # noqa: PTH207
    # Path drops a slash at the end, which only folders may have.
    expected = sorted(path for path in everything if path[-1:] != "/" and (tree / path).is_file())
    found = LocalStorage().glob(f"{tree}/{pattern}")
    assert [path[len(f"{tree}/") :] for path, size in found if size is not None] == expected
    store = Storage(DirFileSystem(str(tree), LocalFileSystem()), "dir://")
    assert [path for path, size in store.glob(pattern) if size is not None] == expected
    if not last.strip():
        assert [path for path in sorted(PATHS) if is_match(path.split("/"), parts)] == expected


def test_hidden_names_are_among_all_files_of_a_folder(tree: Path) -> None:
    files = [path for path, size in LocalStorage().walk(str(tree)) if size is not None]
    assert sorted(path[len(f"{tree}/") :] for path in files) == sorted(PATHS)


def test_paths_stay_as_they_are_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    for pattern in ("*.jsonl", "./*.jsonl", "a/../*.jsonl", "**/b.jsonl", f"/{tree}/*.jsonl"):
        found = [path for path, _ in LocalStorage().glob(pattern)]
        assert found == sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_links_that_lead_round_in_circles(tmp_path: Path, scheme: str) -> None:
    where = tmp_path / "in"
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    write_jsonl(where / "x" / "b.jsonl", rows_of("fluent"))
    write_jsonl(tmp_path / "y" / "c.jsonl", rows_of("fluent"))
    links = {"loop": "../in", "again": ".", "up": "..", "x/over": "../x", "self": "self"}
    for link, target in links.items():
        (where / link).symlink_to(target)
    (where / "y").symlink_to("../y")  # a folder elsewhere, which leads back
    (tmp_path / "y" / "back").symlink_to("../in")
    for given_ in (f"{scheme}{where}", f"{scheme}{where}/**/**/*.jsonl"):
        names = [shard.name for shard in find_shards(given_)]
        assert names == ["a.jsonl", "x/b.jsonl", "y/c.jsonl"]


def test_one_file_by_two_names(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "v2" / "a.jsonl", rows_of("fluent"))
    (tmp_path / "in" / "latest").symlink_to("v2")
    with pytest.raises(AdequaError, match=r"v2/a\.jsonl and .*latest/a\.jsonl are one file"):
        find_shards(f"{tmp_path}/in")
    assert len(find_shards(f"{tmp_path}/in/latest")) == 1


def test_matches_that_are_no_files(tmp_path: Path) -> None:
    where = tmp_path / "in"
    for path in ("a.parquet", "b.parquet/part-0.parquet", "b.parquet/_SUCCESS"):
        (where / path).parent.mkdir(parents=True, exist_ok=True)
        (where / path).touch()
    for scheme in ("", "file://"):
        with pytest.raises(AdequaError, match=r"b\.parquet is a folder, and a pattern takes in"):
            find_shards(f"{scheme}{where}/*.parquet")
        for given_ in (str(where), f"{where}/**/*.parquet"):
            names = [shard.name for shard in find_shards(scheme + given_)]
            assert names == ["a.parquet", "b.parquet/part-0.parquet"]
        assert len(find_shards(f"{scheme}{where}/*.parquet/*.parquet")) == 1


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path, scheme: str) -> None:
    path = write_jsonl(tmp_path / "in" / "x*" / "a[1].jsonl", rows_of("fluent"))
    write_jsonl(tmp_path / "in" / "x1" / "a1.jsonl", rows_of("literal"))
    (shard,) = find_shards(f"{scheme}{path}")
    assert (shard.name, shard.size) == ("a[1].jsonl", path.stat().st_size)
    would_match = shard_matcher(f"{scheme}{path}")
    assert would_match(location(str(path)))
    assert not would_match(location(str(tmp_path / "in" / "x1" / "a1.jsonl")))
    path.unlink()
    (shard,) = find_shards(f"{scheme}{path}")
    assert shard.name == "x1/a1.jsonl"


def test_file_systems_of_pyarrow_where_a_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of S3 and GCS, which pyarrow has built in; the local one stands for them."""

    def not_installed(address: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", not_installed)
    monkeypatch.setattr(storage_module, "_FILE", "no such scheme")
    write_jsonl(tmp_path / "in" / "x" / "a b.jsonl", rows_of("fluent"))
    (shard,) = find_shards(f"file://{tmp_path}/in")
    assert (shard.path, shard.name) == (f"file://{tmp_path}/in/x/a b.jsonl", "x/a b.jsonl")
    assert find_shards(f"file://{tmp_path}/in/*/a*.jsonl") == [replace(shard, name="x/a b.jsonl")]
    store, path = storage_of(f"file://{tmp_path}/out/new")
    with store.replacing(path, f"{tmp_path}/out/unfinished") as file:
        file.write(b"some")
        assert not store.exists(path)
    assert store.read(path) == b"some"
    assert store.content(path) == file.content
    assert [*(tmp_path / "out" / "unfinished").iterdir()] == []
    store.remove(path)
    store.remove(path)
    assert store.read(path) is None
    with pytest.raises(AdequaError, match="is no address that can be used: Install s3fs to acc"):
        storage_of("nowhere://x")
