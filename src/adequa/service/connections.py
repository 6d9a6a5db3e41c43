"""Connections of a server: one that sends no whole request for too long is closed."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0  # seconds for the first line and the headers of a request


class Connection(H11Protocol):
    """uvicorn's, which by itself waits for headers as long as a client likes."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.access_log = False  # whatever listens: it would hold paths, and ours holds none
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waited()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering():
            self._waited()
        elif self._due is None:
            self._wait_for_headers()

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
