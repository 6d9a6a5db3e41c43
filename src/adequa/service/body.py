"""The body of a request: read as far as the limits go, and no slower than a server can wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request

from adequa.service.limits import Limits, Refusal

LINES = "application/x-ndjson"
JSON = "application/json"


class Gone(Exception):  # noqa: N818 - nothing went wrong here
    """The client has gone away; nobody is there to be answered."""


class Reading:
    """Bytes of all requests until they are answered, so that large ones do not fill the memory."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0

    @contextmanager
    def begun(self) -> Iterator[_Share]:
        """The share of one request, which ends with it."""
        share = _Share(self)
        try:
            yield share
        finally:
            share.drop()

    def take(self, count: int) -> None:
        """Count so many more; raise where they are too many."""
        if self._count and self._count + count > self._limit:
            raise Refusal(
                429,
                f"Requests of more than {self._limit:,} bytes together are being answered; try "
                "again later.",
                retry_after="2",
                connection="close",
            )
        self._count += count

    def give(self, count: int) -> None:
        """Count so many less."""
        self._count -= count


class _Share:
    """What one request has of it."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.count = 0

    def take(self, count: int) -> None:
        self._reading.take(count)
        self.count += count

    def drop(self) -> None:
        """Nothing of it is held any more."""
        self._reading.give(self.count)
        self.count = 0


def kind_of(request: Request) -> str:
    """What a request says that its body is: JSON or lines of it; raises where it is neither."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said not in {JSON, LINES}:
        raise Refusal(
            415, f"The content type of a request is {JSON}, or {LINES} for a stream to /v1/score."
        )
    return said


async def whole(request: Request, limits: Limits, share: _Share) -> bytes:
    """All of a body, unless it is too large, or comes too slowly."""
    said = request.headers.get("content-length", "")
    found, began = bytearray(), time.monotonic()
    try:
        if said.isdecimal():
            limits.check_body(int(said))
        async for piece in pieces(request, limits):
            share.take(len(piece))
            found += piece
            limits.check_body(len(found))
            limits.check_pace(len(found), time.monotonic() - began)
    except Refusal:
        share.drop()
        raise
    return bytes(found)


async def pieces(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """A body as it comes; raises where a client lets us wait too long for it, or goes away."""
    more = True
    while more:
        try:
            message: Any = await asyncio.wait_for(request.receive(), limits.patience)
        except asyncio.TimeoutError:
            raise Refusal(
                408,
                f"Nothing has come for {limits.patience:g} seconds, and the request is not whole.",
                connection="close",
            ) from None
        if message["type"] == "http.disconnect":
            raise Gone
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def lines(request: Request, limits: Limits) -> AsyncIterator[list[bytes]]:
    """The lines of a body, as many as have come at a time, without those that are empty."""
    # A line holds a row: texts, escaped at worst as six bytes a character, and their references.
    longest = 12 * limits.characters * (limits.references + 2)
    rest = bytearray()
    async for piece in pieces(request, limits):
        rest += piece
        *complete, last = rest.split(b"\n")
        if len(last) > longest:
            raise Refusal(
                422,
                f"A line is longer than {longest:,} bytes, the most that this server takes.",
                connection="close",
            )
        rest = last
        told = [bytes(line) for line in complete if line.strip()]
        if told:
            yield told
    if rest.strip():
        yield [bytes(rest)]
