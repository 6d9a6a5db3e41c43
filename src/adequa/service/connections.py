"""Connections of a server: whether a client is still there, and an end to those that wait too long.

One that sends no whole request for too long is closed, and one that takes nothing of its answer is
cut: to close it would wait until the answer is taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0  # seconds for the first line and the headers of a request
_LINK = "adequa.link"  # in the scope of a request


@dataclass(frozen=True, slots=True)
class Link:
    """A connection, as whoever answers its request sees it."""

    abort: Callable[[], None] | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def cut(self) -> None:
        """End it now, whatever was not taken yet."""
        if self.abort is not None:
            self.abort()
            await self.gone.wait()


def link_of(scope: Scope) -> Link:
    """The connection of a request; of another server's, it is not known when it ends."""
    found: Link = scope.setdefault(_LINK, Link())
    return found


class Connection(H11Protocol):
    """uvicorn's, which by itself waits for headers as long as a client likes."""

    _due: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    _left = 0  # bytes of an answer at the last look, where all of it was made
    _link: Link

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.access_log = False  # whatever listens: it would hold paths, and ours holds none
        self._link = Link(transport.abort)
        self.app = self._linked(self.app)
        self._wait_for_headers()
        self._looking = self.loop.call_later(PATIENCE, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._waited()
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)
        self._link.gone.set()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering():
            self._waited()
        elif self._due is None:
            self._wait_for_headers()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; an answer that has begun can only be cut."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _linked(self, app: Any) -> Any:
        async def linked(scope: Scope, receive: Receive, send: Send) -> None:
            scope[_LINK] = self._link
            await app(scope, receive, send)

        return linked

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_headers(self) -> None:
        self._due = self.loop.call_later(PATIENCE, self._give_up)

    def _waited(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._due = None
        if not self._answering() and not self.transport.is_closing():
            self.transport.close()

    def _look(self) -> None:
        """Cut it where nothing of the end of an answer has been taken since the last look."""
        over = self.transport.is_closing() or not self._answering()
        left = self.transport.get_write_buffer_size() if over else 0
        if 0 < self._left <= left:
            self.transport.abort()
            return
        self._left = left
        self._looking = self.loop.call_later(PATIENCE, self._look)
