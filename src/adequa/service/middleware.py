"""What surrounds every request: access, headers, slow clients, logs and counters.

Logs hold counts and times, never text: of a path only the route that it matched, of a failure only
its type and the places in the code that it went through.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adequa.service.limits import JSON, LINES, ClientDisconnected

LOG = logging.getLogger("adequa.service")
INTERNAL_ERROR = "Something went wrong here, and it is no fault of the request."

# Keys in the scope of a request.
SEGMENTS = "adequa.segments"  # its number of segments, for the log
RESOURCES = "adequa.resources"  # an ExitStack, released when the request is answered
CONNECTION = "adequa.connection"  # its ConnectionState

# Open without a token: health, the empty page and its assets, and the documentation.
_OPEN_PATHS = {"/healthz", "/readyz", "/openapi.json", "/docs", "/"}
_OPEN_FOLDERS = ("/assets/", "/c/")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
_CHUNK = 65536  # bytes of an answer that are sent at a time
_DRAINED_STATUSES = (413, 422, 429)  # refusals that may come before the whole body
_DRAIN_SECONDS = 5.0
_DRAIN_BYTES = 64_000_000
_CLIENT_CLOSED = 499  # as nginx logs a client that has closed the connection
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}

T = TypeVar("T")


def json_response(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(json_bytes(content), status, headers, media_type=JSON)


def error_response(
    status: int,
    sentence: str,
    headers: Mapping[str, str] | None = None,
    question: Mapping[str, Any] | None = None,
) -> Response:
    """An error: one sentence, whatever went wrong, and what a person could decide."""
    content = {"error": sentence, **({} if question is None else {"question": question})}
    return json_response(content, status, headers)


def json_bytes(content: object) -> bytes:
    """Content as JSON."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def json_line(content: object) -> bytes:
    """One line of a stream."""
    return json_bytes(content) + b"\n"


class LineStream(StreamingResponse):
    """Lines that are sent as they are produced, until the client leaves."""

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        super().__init__(lines, media_type=LINES)
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines, one after the other."""
        del receive
        async with aclosing(self._lines):
            await while_connected(scope, self.stream_response(send))


async def while_connected(scope: Scope, work: Awaitable[T]) -> T:
    """Await work for a request; it is cancelled if the client leaves first."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(ConnectionState.of(scope).disconnected.wait())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        for future in (working, watching):
            future.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        if not working.done():
            with suppress(BaseException):
                await working


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """The connection of a request, as our protocol class reports it."""

    abort: Callable[[], None] | None = None
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(cls, scope: Scope) -> ConnectionState:
        """The connection of a request; with another server's protocol it is never disconnected."""
        state: ConnectionState = scope.setdefault(CONNECTION, cls())
        return state

    async def cut(self) -> None:
        """End the connection now, whatever was not sent yet."""
        if self.abort is not None:
            self.abort()
            await self.disconnected.wait()


class Counters:
    """Counts of requests, segments and times for Prometheus; they hold no text."""

    CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
    _SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
    _BATCHES = (1, 2, 4, 8, 16, 32, 48, 64, 128)

    def __init__(self, waiting: Callable[[], int], stored: Callable[[], int]) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "adequa_requests", "Requests answered", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "adequa_request_seconds",
            "Time to answer a request",
            ["route"],
            buckets=self._SECONDS,
            registry=registry,
        )
        self._segments = Counter(
            "adequa_segments", "Segments scored", ["metric"], registry=registry
        )
        self._scoring = Counter(
            "adequa_scoring_seconds", "Time spent scoring", ["metric"], registry=registry
        )
        self._batches = Histogram(
            "adequa_batch_segments",
            "Segments in a batch",
            ["metric"],
            buckets=self._BATCHES,
            registry=registry,
        )
        for name, help_, value in (
            ("adequa_waiting_segments", "Segments waiting to be scored", waiting),
            ("adequa_kept_comparisons", "Comparisons that can be reopened", stored),
        ):
            Gauge(name, help_, registry=registry).set_function(value)

    def count_batch(self, metric: str, segments: int, seconds: float) -> None:
        """Count a scored batch."""
        self._segments.labels(metric).inc(segments)
        self._scoring.labels(metric).inc(seconds)
        self._batches.labels(metric).observe(segments)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def exposition(self) -> bytes:
        """All counts, in the text format of Prometheus."""
        return generate_latest(self._registry)


class ServiceMiddleware:
    """The outermost layer: access control, headers of answers, slow clients, logs."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        only_local: bool,
        counters: Counters,
        timeout: float,
    ) -> None:
        self._app, self._counters, self._only_local = app, counters, only_local
        self._timeout = timeout
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.monotonic()
        connection = ConnectionState.of(scope)
        exchange = _Exchange(receive, send, connection, self._timeout)
        status = 0
        try:
            with ExitStack() as resources:
                scope[RESOURCES] = resources
                await self._dispatch(scope, exchange.receive, exchange.send)
            status = exchange.status
        except ClientDisconnected:
            await connection.cut()
        except Exception as error:  # noqa: BLE001 - the client gets a sentence, the log no text
            log_failure(error)
            if exchange.status:
                await connection.cut()  # a broken answer must not look complete
            else:
                with suppress(ClientDisconnected):
                    response = error_response(500, INTERNAL_ERROR)
                    await response(scope, exchange.receive, exchange.send)
            status = 500
        finally:
            self._log(scope, status or _CLIENT_CLOSED, time.monotonic() - start)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        path = scope["path"]
        is_open = path in _OPEN_PATHS or path.startswith(_OPEN_FOLDERS)
        response: ASGIApp = self._app
        if self._only_local and not is_local(_host_name(headers.get("host", ""))):
            sentence = "This server answers to localhost alone; its operator can name an address."
            response = error_response(421, sentence)
        elif self._token is not None and not is_open and not self._is_authorized(headers):
            sentence = "This server wants a token: Authorization: Bearer TOKEN."
            response = error_response(401, sentence, {"www-authenticate": "Bearer"})
        await response(scope, receive, send)

    def _is_authorized(self, headers: Headers) -> bool:
        """Whether the request has the right token; compared in constant time."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self._token or b"")
        return is_right and scheme.lower() == "bearer"

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "-")
        method = scope["method"] if scope["method"] in _METHODS else "-"
        self._counters.count_request(route, status, seconds)
        LOG.info(
            "%s %s %d, %d segments, %.1f ms",
            *(method, route, status, scope.get(SEGMENTS, 0), 1000 * seconds),
        )


class _Exchange:
    """One request and its answer: adds headers, and gives up on clients that do not read."""

    def __init__(
        self, receive: Receive, send: Send, connection: ConnectionState, timeout: float
    ) -> None:
        self._receive, self._send = receive, send
        self._connection, self._timeout = connection, timeout
        self._is_read = self._drains = False
        self.status = 0  # of the answer, once it has begun

    async def receive(self) -> Message:
        message = await self._receive()
        self._is_read = self._is_read or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            is_closing = headers.get("connection") == "close"
            self._drains = is_closing and self.status in _DRAINED_STATUSES
        for part in _parts(message):
            is_last = part["type"] == "http.response.body" and not part.get("more_body")
            if is_last and self._drains and not self._is_read:
                await self._send_part({**part, "more_body": True})
                await self._drain()
                await self._send_part({**part, "body": b""})
            else:
                await self._send_part(part)

    async def _send_part(self, message: Message) -> None:
        if self._connection.disconnected.is_set():
            raise ClientDisconnected
        try:
            await asyncio.wait_for(self._send(message), self._timeout)
        except (asyncio.TimeoutError, OSError):
            raise ClientDisconnected from None

    async def _drain(self) -> None:
        """Read and drop the rest of a refused body, for a while.

        A client that still sends when its connection is closed may never see the answer.
        """

        async def read() -> None:
            count = 0
            while not self._is_read and count < _DRAIN_BYTES:
                count += len((await self.receive()).get("body", b""))

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(read(), _DRAIN_SECONDS)


def _parts(message: Message) -> Iterator[Message]:
    """A message in parts, each small enough to wait until the client has taken it."""
    body = message.get("body", b"")
    if len(body) <= _CHUNK:
        yield message
        return
    for start in range(0, len(body), _CHUNK):
        more = start + _CHUNK < len(body) or message.get("more_body", False)
        yield {**message, "body": body[start : start + _CHUNK], "more_body": more}


_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::[0-9]*)?")


def is_local(name: str) -> bool:
    """Whether the name or address of a host is this machine's own.

    >>> [is_local(name) for name in ("localhost", "::1", "127.0.0.1", "evil.example")]
    [True, True, True, False]
    """
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """The name in a Host header, in which an IPv6 address has brackets; empty where it has none.

    >>> [_host_name(host) for host in ("localhost:8000", "[::1]", "127.0.0.1:80", "::1:80")]
    ['localhost', '::1', '127.0.0.1', '']
    """
    matched = _HOST.fullmatch(host)
    return (matched[1] or matched[2]).lower() if matched else ""


def log_failure(error: BaseException) -> None:
    """Log the type of a failure and its places in the code, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-8:]))
    LOG.error("failed: %s at %s", type(error).__name__, places)
