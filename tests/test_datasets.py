"""Datasets by name: the registry, the mirror folder, the cache, the command."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adequa.cli.datasets import app
from adequa.datasets import archives, download
from adequa.datasets.load import load_dataset
from adequa.datasets.registry import DATASETS, Dataset
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.io.storage import cache_folder
from adequa.judgements import RatedSystems, Ratings
from judgements import FOLDER, needs_judgements
from small_archives import error, known

ROWS = [{"lp": "cs-en", "system": "A", "segment": 1, "mt": "h", "ref": "r", "score": 1.0}]
# Of these sets it is not stated where they come from.
WITHOUT_ORIGIN = {
    "indicmt-mqm", "qe22-da-extra", "qe23-indic-da", "wmt20-enx-da", "wmt21-enx-mqm",
}  # fmt: skip
PREPARED = gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode(), mtime=0)


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def wmt17(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A named dataset whose prepared file is the small one above."""
    digest = hashlib.sha256(PREPARED).hexdigest()
    return known(monkeypatch, replace(DATASETS["wmt17-da"], sha256=digest))


def mirror_of(entry: Dataset, content: bytes = PREPARED) -> Path:
    folder = Path("mirror")
    folder.mkdir(exist_ok=True)
    (folder / entry.mirror_file).write_bytes(content)
    return folder


def test_entries_are_whole() -> None:
    for name, entry in DATASETS.items():
        assert entry.name == name
        assert len(entry.sha256) == 64
        assert (entry.part_of or name).startswith(entry.mirror_file.partition(".")[0])
        assert bool(entry.origin) == ((entry.part_of or name) not in WITHOUT_ORIGIN)
        assert entry.origin.startswith(("http://", "https://") if entry.origin else "")
        assert all(address.startswith(("http://", "https://")) for address in entry.archives)
        assert bool(entry.archives) == (name in archives.CONVERTERS)
    wholes = [entry for entry in DATASETS.values() if not entry.part_of]
    assert len({(entry.sha256, entry.reference) for entry in wholes}) == len(wholes)


def test_a_misspelt_name() -> None:
    assert error(load_dataset, "wmt17da") == (
        'There is no dataset "wmt17da". Did you mean "wmt17-da"? `adequa datasets` lists them all.'
    )
    assert error(load_dataset, "none/wmt17.tsv") == "There is no file none/wmt17.tsv."


def test_a_missing_dataset() -> None:
    assert error(load_dataset, "wmt17-da") == (
        "wmt17-da is not on this machine. `adequa datasets fetch wmt17-da` gets it. With a "
        "folder that holds wmt17-da.jsonl.gz, run `adequa datasets fetch wmt17-da --mirror "
        "FOLDER`, or name the folder in ADEQUA_DATA."
    )
    assert "gets it" not in error(load_dataset, "wmt20-da")
    assert error(download.fetch, "indicmt-mqm").startswith(
        "There is no official archive of indicmt-mqm that adequa could read. With a folder that "
    )


def test_a_mirror_is_read_in_place(wmt17: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mirror_of(wmt17)
    monkeypatch.setenv("ADEQUA_DATA", str(folder))
    assert len(load_dataset("wmt17-da")) == 1  # type: ignore[arg-type]
    assert download.fetch("wmt17-da") == folder
    assert not Path("cache").exists()


def test_fetching_from_a_mirror_copies(wmt17: Dataset) -> None:
    folder = download.fetch("wmt17-da", mirror_of(wmt17))
    assert folder == Path("cache/datasets/wmt17-da").resolve()
    assert [path.name for path in folder.iterdir()] == [wmt17.mirror_file]
    found = load_dataset("wmt17-da")
    assert isinstance(found, Ratings)
    assert found.ids["system"] == ("A",)


def test_a_file_of_another_digest_is_refused(
    wmt17: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = mirror_of(wmt17, b"other")
    actual = hashlib.sha256(b"other").hexdigest()
    sentence = (
        f"mirror/wmt17-da.jsonl.gz is not the file that wmt17-da stands for: its sha256 is "
        f"{actual}, not {wmt17.sha256}. It is damaged or another version: get it again, or give "
        "its path instead of the name to use it as a file of your own."
    )
    assert error(download.fetch, "wmt17-da", folder) == sentence
    assert list(Path("cache").rglob("*.*")) == []  # nothing is left of it
    monkeypatch.setenv("ADEQUA_DATA", str(folder))
    assert error(load_dataset, "wmt17-da") == sentence


def test_a_mirror_without_the_file() -> None:
    Path("empty").mkdir()
    assert error(download.fetch, "wmt17-da", Path("empty")) == (
        "empty holds no wmt17-da.jsonl.gz, the file of wmt17-da, nor its official "
        "wmt17-metrics-task-package.tgz."
    )


def test_nothing_to_fetch_from() -> None:
    assert error(download.fetch, "wmt20-da") == (
        "There is no official archive of wmt20-da that adequa could read; "
        "https://www.statmt.org/wmt20/results.html describes it. With a folder that holds "
        "wmt20-da.jsonl.gz, run `adequa datasets fetch wmt20-da --mirror FOLDER`, or name the "
        "folder in ADEQUA_DATA."
    )


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("ADEQUA_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "adequa"
    monkeypatch.setenv("HOME", str(tmp_path))
    for not_absolute in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", not_absolute)
        assert cache_folder() == tmp_path / ".cache/adequa"


def test_a_cache_that_cannot_be_written(wmt17: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("ADEQUA_CACHE", "file")
    message = error(download.fetch, "wmt17-da", mirror_of(wmt17))
    assert message.startswith("file/datasets/wmt17-da/wmt17-da.jsonl.gz cannot be written: ")
    assert message.endswith("ADEQUA_CACHE names another folder to keep datasets in.")


def test_a_full_disk() -> None:
    def fill() -> None:
        with download.replacing_file(Path("cache/x.tgz")) as handle:
            handle.write(b"half")
            raise OSError(28, "No space left on device")

    assert error(fill).startswith("cache/x.tgz cannot be written: No space left on device. ")
    assert list(Path("cache").iterdir()) == []


def test_a_file_of_ones_own() -> None:
    Path("own.jsonl.gz").write_bytes(PREPARED)
    found = load_dataset(Path("own.jsonl.gz"))
    assert isinstance(found, Ratings)


def test_the_listing(wmt17: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_DATA", str(mirror_of(wmt17)))
    shown = CliRunner().invoke(app, []).stdout.splitlines()
    assert shown[0].split() == ["name", "kind", "rows", "pairs", "from", "found", "in"]
    by_name = {line.split()[0]: line for line in shown[1 : 1 + len(DATASETS)]}
    assert list(by_name) == list(DATASETS)
    assert by_name["wmt17-da"].endswith("  mirror")
    assert by_name["sick"].endswith("  –")


def test_show_and_fetch(wmt17: Dataset) -> None:
    run = CliRunner()
    before = run.invoke(app, ["show", "wmt17-da"]).stdout
    assert "archive   http://ufallab.ms.mff.cuni.cz" in before
    assert "found in  –" in before
    fetched = run.invoke(app, ["fetch", "wmt17-da", "--mirror", str(mirror_of(wmt17))])
    assert fetched.stdout == f"wmt17-da is in {Path('cache/datasets/wmt17-da').resolve()}\n"
    assert "not used  none" in run.invoke(app, ["show", "wmt17-da"]).stdout
    assert isinstance(run.invoke(app, ["show", "wmt99-da"]).exception, AdequaError)


@needs_judgements
@pytest.mark.parametrize(
    "name",
    [
        *("wmt13-da", "wmt17-da", "sick", "stsb", "wmt17-systems", "wmt20-enx-da", "wmt21-enx-mqm"),
        *("indicmt-mqm", "mlqe-pe-qe", "qe22-da-extra", "qe23-indic-da"),
    ],
)
def test_real_datasets_are_what_the_registry_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    found = load_dataset(name)
    rated = found.ratings if isinstance(found, RatedSystems) else found
    assert len(rated) == rated.file_rows.row_count == DATASETS[name].rows
    assert set(rated.ids.get("lp", ())) == set(DATASETS[name].pairs)


@needs_judgements
def test_pinned_digests_are_those_of_the_files() -> None:
    for entry in DATASETS.values():
        assert digest_of(Path(FOLDER or "", entry.mirror_file)) == entry.sha256
