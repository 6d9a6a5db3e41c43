"""Stored comparisons, which a link reopens: in memory, and bounded in number, size and time."""

from __future__ import annotations

import gzip
import json
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from io import BytesIO
from typing import Any

from adequa.comparison.html import PageContent, page_content, render_page
from adequa.comparison.results import Comparison
from adequa.service.limits import RequestError

_COMPRESSION = 6
_ID_BYTES = 16  # random bytes of a name: too many to guess
_CHUNK = 64_000  # bytes that are decompressed at a time


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """One comparison, compressed, in the forms in which it is served."""

    about: Mapping[str, Any]  # as the list of comparisons shows it
    expires: float  # by the clock of the store; infinite if it stays
    page: bytes  # JSON of what the page and the report show
    content: bytes  # JSON, with all segments
    pairs: bytes  # TSV

    @classmethod
    def of(
        cls, comparison: Comparison, title: str, metrics: Sequence[str], expires: float
    ) -> StoredComparison:
        """Compress a comparison by these metrics, as requests name them."""
        view = page_content(comparison, title)
        fields = {
            "title": view.title,
            "summary": view.summary,
            "details": view.details,
            "plain": view.plain,
            "specifications": list(metrics),
        }
        content = comparison.to_dict(segments=True)
        tsv = comparison.long_table().to_tsv()
        about = {
            "title": view.title,
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "systems": list(comparison.systems),
            "metrics": [metric.name for metric in comparison.metrics],
            "segments": len(comparison.outputs),
            "language": comparison.language.to_dict(),
        }
        return cls(about, expires, _compress_json(fields), _compress_json(content), _compress(tsv))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.page) + len(self.content) + len(self.pairs)

    def report(self) -> str:
        """The report as one HTML file."""
        fields: dict[str, Any] = json.loads(gzip.decompress(self.page))
        del fields["specifications"]  # a report asks no server
        return render_page(PageContent(**fields))


class ComparisonStore:
    """The comparisons that a server stores; the oldest make room for new ones.

    They expire after so many `seconds`, or stay as long as the server runs if that is None.
    """

    def __init__(
        self,
        *,
        seconds: float | None,
        count: int = 100,
        size: int = 200_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self._count, self._size, self._clock = count, size, clock
        self._comparisons: OrderedDict[str, StoredComparison] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            self._evict()
            return len(self._comparisons)

    def add(self, comparison: Comparison, title: str = "", metrics: Sequence[str] = ()) -> str:
        """Store a comparison, and return its name, which nobody can guess.

        `metrics` are those of the request, by which its segments can be explained.
        """
        seconds = math.inf if self.seconds is None else self.seconds
        stored = StoredComparison.of(comparison, title, metrics, self._clock() + seconds)
        if stored.size > self._size:
            raise RequestError(
                413,
                f"The comparison takes {stored.size:,} bytes, and this server keeps "
                f"{self._size:,} in all; ask without keep, or compare fewer segments.",
            )
        name = secrets.token_urlsafe(_ID_BYTES)
        with self._lock:
            self._comparisons[name] = stored
            self._evict()
        return name

    def get(self, name: str) -> StoredComparison:
        """The comparison of a name; raises if it is unknown or has expired."""
        with self._lock:
            self._evict()
            stored = self._comparisons.get(name)
        if stored is None:
            raise RequestError(
                404, "This server keeps no such comparison, or no longer; compare the texts again."
            )
        return stored

    def seconds_left(self, stored: StoredComparison) -> int | None:
        """Seconds until a comparison expires, unless others need its place before; None: never."""
        if math.isinf(stored.expires):
            return None
        return max(round(stored.expires - self._clock()), 0)

    def recent(self) -> list[dict[str, Any]]:
        """All comparisons as the list of them shows them, the newest first."""
        with self._lock:
            self._evict()
            stored = list(self._comparisons.items())
        return [
            {"id": name, "link": f"/c/{name}", **each.about, "expires_in": self.seconds_left(each)}
            for name, each in reversed(stored)
        ]

    def _evict(self) -> None:
        now = self._clock()
        while self._comparisons and (
            next(iter(self._comparisons.values())).expires <= now
            or len(self._comparisons) > self._count
            or sum(each.size for each in self._comparisons.values()) > self._size
        ):
            self._comparisons.popitem(last=False)


async def decompress(compressed: bytes) -> AsyncGenerator[bytes, None]:
    """The decompressed content in chunks, no faster than its reader takes them."""
    with gzip.open(BytesIO(compressed)) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def decompressed_size(compressed: bytes) -> int:
    """The size of the content, which gzip writes at the end."""
    return int.from_bytes(compressed[-4:], "little")


def _compress_json(content: object) -> bytes:
    return _compress(
        json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    )


def _compress(text: str) -> bytes:
    return gzip.compress(text.encode(), compresslevel=_COMPRESSION, mtime=0)
