"""A server: the application on an address, and connections that are closed if clients stall."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from adequa.errors import AdequaError
from adequa.service.app import ServiceSettings, create_app
from adequa.service.middleware import CONNECTION, LOG, ConnectionState, is_local

HEADER_TIMEOUT = 20.0  # seconds for the first line and the headers of a request
_SHORTEST_TOKEN = 16  # characters; shorter ones could be guessed
_MOST_CONNECTIONS = 1_000  # at once; further clients get a 503
_SHUTDOWN_SECONDS = 60  # for requests to end


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_local(self.host)

    @property
    def url(self) -> str:
        """The address for a browser."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def check_access(address: Address, token: str | None, *, insecure: bool) -> None:
    """Raise if other machines could reach a server that has no token."""
    if token is None and not insecure and not address.is_local:
        raise AdequaError(
            f"{address.host} can be reached from other machines: give --token-file, so that "
            "requests need a token, or --insecure where something else keeps strangers out."
        )


def read_token(path: str) -> str:
    """The token in a file: one line, long enough."""
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise AdequaError(f"{path} holds no token: it is no text.") from error
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or len(token.split()) != 1:
        raise AdequaError(
            f"{path} holds no token: one word of {_SHORTEST_TOKEN} ASCII characters or more, such "
            "as `openssl rand -hex 32` makes."
        )
    return token


def run_server(settings: ServiceSettings, address: Address) -> None:
    """Answer requests until a signal comes, and then finish those that have begun."""
    server, listening = create_server(settings, address)
    _log_to_standard_error()
    with listening:
        server.run(sockets=[listening])


def create_server(
    settings: ServiceSettings, address: Address
) -> tuple[uvicorn.Server, socket.socket]:
    """A server that does not run yet, and the socket that it will listen on."""
    config = uvicorn.Config(
        create_app(settings),
        http=StallProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return _Server(config, address.host), _listen(address)


class _Server(uvicorn.Server):
    """A server that logs its address once it accepts requests."""

    def __init__(self, config: uvicorn.Config, host: str) -> None:
        super().__init__(config)
        self._host = host

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            LOG.info("adequa serves at %s", Address(self._host, each.getsockname()[1]).url)


def _listen(address: Address) -> socket.socket:
    """A listening socket; port 0 is any free one."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise AdequaError(
                f"Port {address.port} is in use; choose another with --port."
            ) from error
        reason = getattr(error, "strerror", None) or str(error)
        raise AdequaError(f"{address.url} cannot be listened on: {reason}.") from error


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("adequa.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)


class StallProtocol(H11Protocol):
    """uvicorn's HTTP protocol, which alone would wait for a stalled client for ever.

    A connection without a whole request is closed after a while. One whose client takes nothing of
    an answer is aborted, since closing it would wait until the answer is taken.
    """

    _header_timer: asyncio.TimerHandle | None = None
    _progress_timer: asyncio.TimerHandle | None = None
    _unsent = 0  # bytes of a finished answer at the last check
    _state: ConnectionState

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.access_log = False  # uvicorn's would hold paths; ours holds none
        self._state = ConnectionState(transport.abort)
        self.app = self._with_state(self.app)
        self._start_header_timer()
        self._progress_timer = self.loop.call_later(HEADER_TIMEOUT, self._check_progress)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        if self._progress_timer is not None:
            self._progress_timer.cancel()
        super().connection_lost(exc)
        self._state.disconnected.set()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_header_timer()
        elif self._header_timer is None:
            self._start_header_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; an answer that has begun can only be aborted."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _with_state(self, app: Any) -> Any:
        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            scope[CONNECTION] = self._state
            await app(scope, receive, send)

        return wrapped

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_header_timer(self) -> None:
        self._header_timer = self.loop.call_later(HEADER_TIMEOUT, self._close_idle)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close_idle(self) -> None:
        self._header_timer = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()

    def _check_progress(self) -> None:
        """Abort if the client took nothing of a finished answer since the last check."""
        is_finished = self.transport.is_closing() or not self._is_answering()
        unsent = self.transport.get_write_buffer_size() if is_finished else 0
        if 0 < self._unsent <= unsent:
            self.transport.abort()
            return
        self._unsent = unsent
        self._progress_timer = self.loop.call_later(HEADER_TIMEOUT, self._check_progress)
