"""Getting one file over the network: streamed, bounded, whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from adequa.datasets.cache import hold_to_record, placed
from adequa.errors import AdequaError
from adequa.io.text import Advance
from adequa.version import __version__

_TIMEOUT = 60  # seconds without a byte
_LIMIT = 4 << 30  # bytes; no archive of the registry comes near it
_BLOCK = 1 << 18
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
            block = answer.read(_BLOCK)
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
