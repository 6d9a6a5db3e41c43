"""Answers: results and errors in JSON, streams of lines, and clients that leave before the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing, suppress
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adequa.service.body import LINES, Gone

Result = TypeVar("Result")


def answer(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A result as JSON."""
    return written(json.dumps(content, ensure_ascii=False, allow_nan=False), status, headers)


def written(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The same where it is JSON already."""
    return Response(text.encode(), status, headers, media_type="application/json")


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error: one sentence, whatever went wrong."""
    return answer({"error": sentence}, status, headers)


def line(content: object) -> bytes:
    """One line of a stream."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode() + b"\n"


class Stream(Response):
    """Lines as they are made, until the client leaves.

    Where the request was not read whole, whether it did is known from its connection, `gone`.
    """

    media_type = LINES

    def __init__(
        self, made: AsyncGenerator[bytes, None], gone: asyncio.Event | None = None
    ) -> None:
        super().__init__(media_type=LINES)
        del self.headers["content-length"]
        self._made, self._gone = made, gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines, one after the other."""
        del scope
        leaving = left(receive) if self._gone is None else self._gone.wait()
        await while_connected(leaving, self._all(send))

    async def _all(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": self.raw_headers},
        )
        async with aclosing(self._made):
            async for piece in self._made:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_connected(leaving: Awaitable[object], work: Awaitable[Result]) -> Result:
    """What the work finds; it is stopped where the client leaves before."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Gone
        return working.result()
    finally:
        for each in (working, watching):
            each.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        if not working.done():
            with suppress(BaseException):
                await working


async def left(receive: Receive) -> None:
    """Wait until the client of a request that was read whole leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
