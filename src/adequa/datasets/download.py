"""Getting one file over the network: streamed, bounded, whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from adequa.datasets.registry import Dataset, dataset
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.io.text import Advance, ignore
from adequa.version import __version__

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Located:
    """The files of a dataset at hand: the prepared one, or the official archives."""

    paths: tuple[Path, ...]
    official: bool

    @property
    def folder(self) -> Path:
        return self.paths[0].parent


def mirror_folder() -> Path | None:
    """The folder of prepared files that the user has named in ADEQUA_DATA."""
    named = os.environ.get("ADEQUA_DATA")
    return Path(named) if named else None


def cache_folder() -> Path:
    """Where fetched files are kept: ADEQUA_CACHE, or the user's cache folder of the platform."""
    named = os.environ.get("ADEQUA_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # as the XDG rule has it
        base = str(Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    return Path(base) / "adequa"


def locate(name: str) -> Located | None:
    """Where the files of a dataset are, looking into ADEQUA_DATA first and then into the cache."""
    entry = dataset(name)
    mirror = mirror_folder()
    found = None if mirror is None else _in_folder(entry, mirror)
    return found or _in_folder(entry, _kept_folder(entry))


def _in_folder(entry: Dataset, folder: Path) -> Located | None:
    prepared = folder / entry.mirror_file
    if prepared.is_file():
        return Located((prepared,), official=False)
    archives = tuple(folder / archive_name(address) for address in entry.archives)
    if archives and all(path.is_file() for path in archives):
        return Located(archives, official=True)
    return None


def fetch(name: str, mirror: Path | None = None, advance: Advance | None = None) -> Path:
    """Get a dataset and say in which folder it is.

    A prepared file comes from `mirror`, into the cache, or is used where ADEQUA_DATA has it;
    otherwise the official archives are downloaded into the cache.
    """
    entry = dataset(name)
    if mirror is not None:
        return _copied(entry, mirror)
    found = locate(name)
    if found is not None:
        verify(entry, found)
        return found.folder
    if not entry.archives:
        raise AdequaError(
            f"There is no official archive of {name} that adequa could read; {entry.origin} "
            f"describes it. {_from_mirror(entry)}"
        )

    folder = _kept_folder(entry)
    for address in entry.archives:
        target = folder / archive_name(address)
        if not target.is_file():
            download(address, target, advance or ignore)
    return folder


def verify(entry: Dataset, found: Located) -> None:
    """Raise where a file is not the one that is pinned or was first fetched."""
    for path in found.paths:
        if not found.official:
            _check_pinned(entry, path, digest_of(path))
        elif recorded_digest(path) is not None:
            hold_to_record(str(path), path, digest_of(path))


def _check_pinned(entry: Dataset, path: Path, actual: str) -> None:
    if actual != entry.sha256:
        raise AdequaError(
            f"{path} is not the file that {entry.name} stands for: its sha256 is {actual}, not "
            f"{entry.sha256}. It is damaged or another version: get it again, or give its path "
            "instead of the name to use it as a file of your own."
        )


def hold_to_record(origin: str, target: Path, actual: str) -> None:
    """Hold an official archive, kept as `target`, to the digest that it had the first time."""
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
    """The digest that an archive had when it was first fetched."""
    record = _record(path)
    words = record.read_text(encoding="utf-8").split() if record.is_file() else []
    return words[0] if words else None


@contextmanager
def placed(target: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its place only when all is written, or leaves nothing behind."""
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
    """What to do about a dataset that is not here."""
    official = f"`adequa datasets fetch {entry.name}` gets it. " if entry.archives else ""
    return AdequaError(f"{entry.name} is not at hand. {official}{_from_mirror(entry)}")


def _from_mirror(entry: Dataset) -> str:
    return (
        f"With a folder that holds {entry.mirror_file}, run `adequa datasets fetch {entry.name} "
        "--mirror FOLDER`, or name the folder in ADEQUA_DATA."
    )


def _kept_folder(entry: Dataset) -> Path:
    return cache_folder() / "datasets" / entry.name


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _copied(entry: Dataset, mirror: Path) -> Path:
    """Bring a dataset from a mirror folder into the cache."""
    found = _in_folder(entry, mirror)
    if found is None:
        archives = " and ".join(map(archive_name, entry.archives))
        raise AdequaError(
            f"{mirror} holds no {entry.mirror_file}, the file of {entry.name}"
            f"{f', nor its official {archives}' if archives else ''}."
        )
    folder = _kept_folder(entry)
    for origin in found.paths:
        target = folder / origin.name
        actual = digest_of(origin)
        with placed(target) as handle, origin.open("rb") as stream:
            if found.official:
                hold_to_record(str(origin), target, actual)
            else:
                _check_pinned(entry, origin, actual)
            shutil.copyfileobj(stream, handle, _BLOCK)
    return folder


_TIMEOUT = 60  # seconds without a byte
_LIMIT = 4 << 30  # bytes; no archive of the registry comes near it
_DOWNLOAD_BLOCK = 1 << 18
_SCHEMES = ("https://", "http://")


def download(address: str, target: Path, advance: Advance) -> None:
    """Store what is at an address under `target`, and hold it to the digest of the first time."""
    if not address.startswith(_SCHEMES):
        raise AdequaError(f"{address} is no address that can be fetched: it needs http or https.")
    digest = hashlib.sha256()
    with placed(target) as handle, closing(_blocks(address)) as blocks:
        for block in blocks:
            digest.update(block)
            handle.write(block)
            advance(len(block))
        hold_to_record(address, target, digest.hexdigest())


def _blocks(address: str) -> Generator[bytes, None, None]:
    """The content at an address, checked for its size as it comes."""
    request = Request(address, headers={"User-Agent": f"adequa/{__version__}"})  # noqa: S310
    with _failures_in_words(address), urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
        promised = answer.headers.get("Content-Length", "")
        got = 0
        while True:
            block = answer.read(_DOWNLOAD_BLOCK)
            got += len(block)
            if max(got, int(promised) if promised.isdecimal() else 0) > _LIMIT:
                raise AdequaError(f"{address} is larger than {_LIMIT >> 30} GiB; it is not kept.")
            if not block:
                break
            yield block
        if promised.isdecimal() and got < int(promised):
            raise AdequaError(
                f"{address} broke off after {got:,} of {int(promised):,} bytes; try again."
            )


@contextmanager
def _failures_in_words(address: str) -> Iterator[None]:
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
    except (http.client.HTTPException, OSError) as error:
        raise AdequaError(f"{address} broke off ({error or type(error).__name__}).") from error
