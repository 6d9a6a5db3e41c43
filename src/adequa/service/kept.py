"""Comparisons that are kept a while, so that a link reopens them: so many, so large, so long."""

from __future__ import annotations

import gzip
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adequa.comparison.html import PageContent, page_content, render_page
from adequa.comparison.results import Comparison
from adequa.service.limits import Refusal

_LEVEL = 6  # of compression
_ID_BYTES = 16  # random ones: nobody finds a comparison by trying


@dataclass(frozen=True, slots=True)
class KeptComparison:
    """One comparison, compressed, in the forms that it can be had in."""

    expires: float  # on the clock that only goes forward
    shown: bytes  # what a page shows, and what its report is made of
    content: bytes  # JSON, with all segments
    pairs: bytes  # TSV

    @classmethod
    def of(cls, found: Comparison, title: str, expires: float) -> KeptComparison:
        """A comparison, ready to be kept."""
        made = page_content(found, title)
        shown = {
            "title": made.title,
            "summary": made.summary,
            "details": made.details,
            "plain": list(made.plain),
        }
        content = found.to_dict(segments=True)
        tsv = found.long_table().to_tsv()
        return cls(expires, _packed(shown), _packed(content), _squeezed(tsv))

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.shown) + len(self.content) + len(self.pairs)

    def report(self) -> str:
        """The page of HTML that needs no network."""
        shown: dict[str, Any] = json.loads(gzip.decompress(self.shown))
        return render_page(PageContent(**shown))


class Kept:
    """The comparisons that a server keeps."""

    def __init__(
        self,
        *,
        seconds: float,
        count: int = 100,
        size: int = 200_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self._count, self._size, self._clock = count, size, clock
        self._kept: OrderedDict[str, KeptComparison] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            self._let_go()
            return len(self._kept)

    def keep(self, found: Comparison, title: str = "") -> str:
        """Keep a comparison; its name, which nobody can guess. The oldest ones make room."""
        made = KeptComparison.of(found, title, self._clock() + self.seconds)
        if made.size > self._size:
            raise Refusal(
                413,
                f"The comparison takes {made.size:,} bytes, and this server keeps {self._size:,} "
                "in all; ask without keep, or compare fewer segments.",
            )
        name = secrets.token_urlsafe(_ID_BYTES)
        with self._lock:
            self._kept[name] = made
            self._let_go()
        return name

    def get(self, name: str) -> KeptComparison:
        """A comparison by its name; raises where it is not, or no longer, kept."""
        with self._lock:
            self._let_go()
            found = self._kept.get(name)
        if found is None:
            raise Refusal(
                404, "This server keeps no such comparison, or no longer; compare the texts again."
            )
        return found

    def seconds_left(self, kept: KeptComparison) -> int:
        """How long a comparison will be there, unless others need its place."""
        return max(round(kept.expires - self._clock()), 0)

    def _let_go(self) -> None:
        now = self._clock()
        while self._kept and (
            next(iter(self._kept.values())).expires <= now
            or len(self._kept) > self._count
            or sum(each.size for each in self._kept.values()) > self._size
        ):
            self._kept.popitem(last=False)


def _packed(content: object) -> bytes:
    return _squeezed(
        json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    )


def _squeezed(text: str) -> bytes:
    return gzip.compress(text.encode(), compresslevel=_LEVEL, mtime=0)
