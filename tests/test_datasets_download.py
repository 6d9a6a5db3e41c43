"""Fetching official archives, over a network that is a server of this test."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from adequa.datasets import download
from adequa.datasets.load import load_dataset
from adequa.datasets.registry import DATASETS, Dataset
from adequa.judgements import Ratings
from small_archives import error, four_files, known, tar_of


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADEQUA_DATA", raising=False)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


class _Answers(BaseHTTPRequestHandler):
    def __init__(self, files: Mapping[str, bytes], *arguments: object) -> None:
        self.files = files
        super().__init__(*arguments)  # type: ignore[arg-type]  # as the server gives them

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        promised = len(content or b"") + (5 if "short" in self.path else 0)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def files() -> dict[str, bytes]:
    """What the server has, by path."""
    return {}


@pytest.fixture
def address(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    server = HTTPServer(("127.0.0.1", 0), partial(_Answers, files))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def wmt15(monkeypatch: pytest.MonkeyPatch, address: str) -> Dataset:
    entry = DATASETS["wmt15-da"]
    entry = replace(entry, archives=(f"{address}/da15.tgz",), pairs=("cs-en", "de-en"))
    return known(monkeypatch, entry)


def kept_files() -> list[str]:
    return sorted(path.name for path in Path().rglob("*") if path.is_file())


def test_an_official_archive_is_fetched_once_and_held_to(
    wmt15: Dataset, files: dict[str, bytes]
) -> None:
    packed = tar_of({**four_files("cs-en"), **four_files("de-en", prefix=""), "../x": "outside"})
    files["/da15.tgz"] = packed
    told: list[int] = []
    folder = download.fetch("wmt15-da", advance=told.append)
    assert sum(told) == len(packed)
    digest = hashlib.sha256(packed).hexdigest()
    assert (folder / "da15.tgz.sha256").read_text() == f"{digest}  da15.tgz\n"
    files.clear()
    assert download.fetch("wmt15-da") == folder  # no need to ask again
    found = load_dataset("wmt15-da")
    assert isinstance(found, Ratings)
    assert found.ids == {"lp": ("cs-en",) * 2 + ("de-en",) * 2, "segment": ("1", "2", "1", "2")}
    assert found.scores.tolist() == [0.5, -1.0, 0.5, -1.0]
    assert found.segments is not None
    assert found.segments.hypotheses == ("h1", "h2") * 2
    assert found.segments.sources == ("s1", "s2") * 2
    assert kept_files() == ["da15.tgz", "da15.tgz.sha256"]  # nothing is unpacked


def test_an_archive_that_changes_is_refused(wmt15: Dataset, files: dict[str, bytes]) -> None:
    files["/da15.tgz"] = b"first"
    folder = download.fetch("wmt15-da")
    (folder / "da15.tgz").unlink()
    files["/da15.tgz"] = b"second"
    first, second = (hashlib.sha256(data).hexdigest() for data in (b"first", b"second"))
    record = folder / "da15.tgz.sha256"
    assert error(download.fetch, "wmt15-da") == (
        f"{wmt15.archives[0]} has changed: its sha256 is {second}, but it was {first} when it was "
        f"first fetched. If the change is known to be right, delete {record} and fetch again."
    )
    assert kept_files() == ["da15.tgz.sha256"]
    record.unlink()
    download.fetch("wmt15-da")
    (folder / "da15.tgz").write_bytes(b"damaged")
    assert "has changed" in error(load_dataset, "wmt15-da")


def test_failures_of_the_network(
    wmt15: Dataset, files: dict[str, bytes], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert error(download.fetch, "wmt15-da") == (
        f"{address}/da15.tgz answers 404 Not Found: the file is not there (any more)."
    )
    known(monkeypatch, replace(wmt15, archives=("http://127.0.0.1:1/x.tgz",)))
    assert error(download.fetch, "wmt15-da").startswith(
        "http://127.0.0.1:1/x.tgz cannot be reached ("
    )
    known(monkeypatch, replace(wmt15, archives=(f"{address}/short.tgz",)))
    files["/short.tgz"] = b"half"
    assert error(download.fetch, "wmt15-da") == (
        f"{address}/short.tgz broke off after 4 of 9 bytes; try again."
    )
    assert not kept_files()


def test_an_official_archive_from_a_mirror(wmt15: Dataset) -> None:
    Path("mirror").mkdir()
    Path("mirror/da15.tgz").write_bytes(tar_of({**four_files("cs-en"), **four_files("de-en")}))
    folder = download.fetch("wmt15-da", Path("mirror"))
    assert sorted(path.name for path in folder.iterdir()) == ["da15.tgz", "da15.tgz.sha256"]
    found = load_dataset("wmt15-da")
    assert isinstance(found, Ratings)
    assert len(found) == 4
