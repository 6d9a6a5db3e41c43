"""The files of datasets: a mirror folder, a cache folder, and downloads into the cache.

Nothing goes over the network except by `fetch`. A file of a dataset is used only if its digest is
the pinned one or, for official archives, the one recorded at the first fetch.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from adequa.datasets.registry import Dataset, dataset
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.io.storage import cache_folder
from adequa.io.text import Advance, ignore
from adequa.version import __version__

_BLOCK = 1 << 18
_TIMEOUT = 60  # seconds without a byte


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """The files of a dataset on this machine: the prepared one, or the official archives."""

    paths: tuple[Path, ...]
    official: bool

    @property
    def folder(self) -> Path:
        """The folder that they are in."""
        return self.paths[0].parent


def mirror_folder() -> Path | None:
    """The folder of prepared files, from the environment variable ADEQUA_DATA."""
    folder = os.environ.get("ADEQUA_DATA")
    return Path(folder) if folder else None


def locate(name: str) -> DatasetFiles | None:
    """The files of a dataset in ADEQUA_DATA, or else in the cache."""
    entry = _whole(name)
    mirror = mirror_folder()
    files = None if mirror is None else _in_folder(entry, mirror)
    return files or _in_folder(entry, _dataset_folder(entry))


def _whole(name: str) -> Dataset:
    """The dataset with the files of this name: of a part, the dataset that it is a part of."""
    return dataset(dataset(name).part_of or name)


def _in_folder(entry: Dataset, folder: Path) -> DatasetFiles | None:
    prepared = folder / entry.mirror_file
    if prepared.is_file():
        return DatasetFiles((prepared,), official=False)
    archives = tuple(folder / archive_name(address) for address in entry.archives)
    if archives and all(path.is_file() for path in archives):
        return DatasetFiles(archives, official=True)
    return None


def fetch(name: str, mirror: Path | None = None, advance: Advance | None = None) -> Path:
    """Get a dataset, and return the folder that it is in.

    A prepared file is copied from `mirror` into the cache, or used from ADEQUA_DATA; otherwise the
    official archives are downloaded into the cache. A part brings the whole dataset.
    """
    entry = _whole(name)
    if mirror is not None:
        return _copied(entry, mirror)
    files = locate(name)
    if files is not None:
        verify(entry, files)
        return files.folder
    if not entry.archives:
        raise AdequaError(
            f"There is no official archive of {entry.name} that adequa could read"
            f"{f'; {entry.origin} describes it' if entry.origin else ''}. {_from_mirror(entry)}"
        )

    folder = _dataset_folder(entry)
    for address in entry.archives:
        target = folder / archive_name(address)
        if not target.is_file():
            download(address, target, advance or ignore)
    return folder


def verify(entry: Dataset, files: DatasetFiles) -> None:
    """Raise where a file is not the one that is pinned or was first fetched."""
    for path in files.paths:
        if not files.official:
            _check_pinned(entry, path, digest_of(path))
        elif recorded_digest(path) is not None:
            check_recorded(str(path), path, digest_of(path))


def _check_pinned(entry: Dataset, path: Path, actual: str) -> None:
    if actual != entry.sha256:
        raise AdequaError(
            f"{path} is not the file that {entry.name} stands for: its sha256 is {actual}, not "
            f"{entry.sha256}. It is damaged or another version: get it again, or give its path "
            "instead of the name to use it as a file of your own."
        )


def check_recorded(origin: str, target: Path, actual: str) -> None:
    """Check an official archive against the digest of its first fetch, or record it."""
    expected = recorded_digest(target)
    if expected is None:
        # In the format of sha256sum.
        _record(target).write_text(f"{actual}  {target.name}\n", encoding="utf-8")
    elif actual != expected:
        raise AdequaError(
            f"{origin} has changed: its sha256 is {actual}, but it was {expected} when it was "
            "first fetched. If the change is known to be right, delete "
            f"{_record(target)} and fetch again."
        )


def archive_name(address: str) -> str:
    """The name of the file at an address.

    >>> archive_name("https://example.org/data/SICK.zip?download=1")
    'SICK.zip'
    """
    return address.partition("?")[0].rpartition("/")[2]


def recorded_digest(path: Path) -> str | None:
    """The digest of an archive at its first fetch."""
    record = _record(path)
    words = record.read_text(encoding="utf-8").split() if record.is_file() else []
    return words[0] if words else None


@contextmanager
def replacing_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its place when it is complete, or leaves nothing behind."""
    part = target.with_name(f".{target.name}-{os.urandom(4).hex()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as handle:
            yield handle
        part.replace(target)
    except OSError as error:
        raise AdequaError(
            f"{target} cannot be written: {error.strerror or error}. ADEQUA_CACHE names another "
            "folder to keep datasets in."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()


def not_at_hand(entry: Dataset) -> AdequaError:
    """An error that says how to get a dataset."""
    official = f"`adequa datasets fetch {entry.name}` gets it. " if entry.archives else ""
    return AdequaError(f"{entry.name} is not on this machine. {official}{_from_mirror(entry)}")


def _from_mirror(entry: Dataset) -> str:
    return (
        f"With a folder that holds {entry.mirror_file}, run `adequa datasets fetch {entry.name} "
        "--mirror FOLDER`, or name the folder in ADEQUA_DATA."
    )


def _dataset_folder(entry: Dataset) -> Path:
    return cache_folder() / "datasets" / entry.name


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _copied(entry: Dataset, mirror: Path) -> Path:
    """Copy a dataset from a mirror folder into the cache."""
    files = _in_folder(entry, mirror)
    if files is None:
        archives = " and ".join(map(archive_name, entry.archives))
        raise AdequaError(
            f"{mirror} holds no {entry.mirror_file}, the file of {entry.name}"
            f"{f', nor its official {archives}' if archives else ''}."
        )
    folder = _dataset_folder(entry)
    for origin in files.paths:
        target = folder / origin.name
        actual = digest_of(origin)
        with replacing_file(target) as handle, origin.open("rb") as stream:
            if files.official:
                check_recorded(str(origin), target, actual)
            else:
                _check_pinned(entry, origin, actual)
            shutil.copyfileobj(stream, handle, _BLOCK)
    return folder


def download(address: str, target: Path, advance: Advance) -> None:
    """Download a file, complete or not at all, and check the digest of its first fetch."""
    digest = hashlib.sha256()
    with replacing_file(target) as handle, closing(_blocks(address)) as blocks:
        for block in blocks:
            digest.update(block)
            handle.write(block)
            advance(len(block))
        check_recorded(address, target, digest.hexdigest())


def _blocks(address: str) -> Generator[bytes, None, None]:
    """The content at an address, with a check of its size."""
    from urllib.request import Request, urlopen  # noqa: PLC0415  # heavy

    request = Request(address, headers={"User-Agent": f"adequa/{__version__}"})  # noqa: S310
    with _failures_in_words(address), urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
        promised = response.headers.get("Content-Length", "")
        received = 0
        while block := response.read(_BLOCK):
            received += len(block)
            yield block
        if promised.isdecimal() and received < int(promised):
            raise AdequaError(
                f"{address} broke off after {received:,} of {int(promised):,} bytes; try again."
            )


@contextmanager
def _failures_in_words(address: str) -> Iterator[None]:
    from http.client import HTTPException  # noqa: PLC0415  # heavy
    from urllib.error import HTTPError, URLError  # noqa: PLC0415

    try:
        yield
    except HTTPError as error:
        error.close()
        raise AdequaError(
            f"{address} answers {error.code} {error.reason}: the file is not there (any more)."
        ) from error
    except URLError as error:
        raise AdequaError(
            f"{address} cannot be reached ({error.reason}); is there a network here?"
        ) from error
    except (HTTPException, OSError) as error:
        raise AdequaError(f"{address} broke off ({error or type(error).__name__}).") from error
