"""What stands before every request: whom a server answers, and what every answer carries.

Logs hold counts and times, never text: of a path only the route that it matched, of a failure only
its kind and the places in the code that it went through.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adequa.service.answers import refusal
from adequa.service.body import Gone
from adequa.service.connections import link_of
from adequa.service.measured import Measured

LOG = logging.getLogger("adequa.service")
OUR_FAULT = "Something went wrong here, and it is no fault of the request."
SEGMENTS = "adequa.segments"  # in the scope of a request: how many it has
HELD = "adequa.held"  # there too: what is given back when it was answered, an ExitStack

# What anybody may see: whether the server is there, the empty page, and what it is made of.
_OPEN = {"/healthz", "/readyz", "/openapi.json", "/"}
_OPEN_FOLDERS = ("/assets/", "/c/")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
_PIECE = 65536  # bytes of an answer that are sent at a time
_READ_ON = (413, 422, 429)  # refusals of a body that has not come whole
_LINGER = 5.0  # seconds that the rest of it is read on
_DROPPED = 64_000_000  # bytes of it
_LEFT = 499  # as nginx logs a client that has closed the connection
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """The outermost layer of the service."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        only_local: bool,
        measured: Measured,
        patience: float,
    ) -> None:
        self._app, self._measured, self._only_local = app, measured, only_local
        self._patience = patience
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        link, read = link_of(scope), _Reading(receive)
        lingers = False

        async def sent(message: Message) -> None:
            nonlocal status, lingers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                lingers = status in _READ_ON and headers.get("connection") == "close"
            for piece in _pieces(message):
                if link.gone.is_set():
                    raise Gone
                if not lingers or read.whole or _has_more(piece):
                    await self._taken(send, piece)
                    continue
                await self._taken(send, {**piece, "more_body": True})
                await read.drop()
                await self._taken(send, {**piece, "body": b""})

        try:
            with ExitStack() as held:
                scope[HELD] = held
                await self._answered(scope, read, sent)
        except Gone:
            status = _LEFT
            await link.cut()
        except Exception as error:  # noqa: BLE001 - a client is told, and no text is logged
            log_failure(error)
            if status:
                await link.cut()  # what was begun must not look whole
            else:
                with suppress(Gone):
                    await refusal(500, OUR_FAULT)(scope, read, sent)
            status = 500
        finally:
            self._log(scope, status or _LEFT, time.monotonic() - began)

    async def _taken(self, send: Send, message: Message) -> None:
        """Send a part of an answer; a client that does not take it for too long is left."""
        try:
            await asyncio.wait_for(send(message), self._patience)
        except (asyncio.TimeoutError, OSError):
            raise Gone from None

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        path = scope["path"]
        if self._only_local and not _is_local(headers.get("host", "")):
            sentence = "This server answers to localhost alone; its operator can name an address."
            await refusal(421, sentence)(scope, receive, send)
        elif self._token is not None and not _is_open(path) and not self._may(headers):
            sentence = "This server wants a token: Authorization: Bearer TOKEN."
            await refusal(401, sentence, {"www-authenticate": "Bearer"})(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _may(self, headers: Headers) -> bool:
        """Whether the token is the right one; takes as long for a wrong one as for another."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token or b"")
        return right and scheme.lower() == "bearer"

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "-")
        method = scope["method"] if scope["method"] in _METHODS else "-"
        self._measured.request(route, status, seconds)
        LOG.info(
            "%s %s %d, %d segments, %.1f ms",
            *(method, route, status, scope.get(SEGMENTS, 0), 1000 * seconds),
        )


class _Reading:
    """The body of a request, and whether all of it has come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.whole = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.whole = self.whole or not message.get("more_body", False)
        return message

    async def drop(self) -> None:
        """Read on, for a while, what nobody wants.

        A client that still sends when its connection is closed may never see the answer.
        """
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._dropped(), _LINGER)

    async def _dropped(self) -> None:
        count = 0
        while not self.whole and count < _DROPPED:
            count += len((await self()).get("body", b""))


def _has_more(message: Message) -> bool:
    return message["type"] != "http.response.body" or bool(message.get("more_body"))


def _pieces(message: Message) -> Iterator[Message]:
    """A message in parts that are small enough to wait until each of them is taken."""
    body = message.get("body", b"")
    if len(body) <= _PIECE:
        yield message
        return
    for start in range(0, len(body), _PIECE):
        more = start + _PIECE < len(body) or message.get("more_body", False)
        yield {**message, "body": body[start : start + _PIECE], "more_body": more}


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_OPEN_FOLDERS)


def _is_local(host: str) -> bool:
    """Whether a host is this machine; a page elsewhere that points its name here is not.

    >>> [_is_local(host) for host in ("localhost:8000", "[::1]", "127.0.0.1:80", "evil.example")]
    [True, True, True, False]
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def log_failure(error: BaseException) -> None:
    """Log the kind of a failure and its places in the code, and none of its words."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-8:]))
    LOG.error("failed: %s at %s", type(error).__name__, places)
