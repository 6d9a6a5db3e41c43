"""A server: the application on an address, until it is told to end."""

from __future__ import annotations

import logging
import socket
import sys
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from adequa.errors import AdequaError
from adequa.service.app import Settings, create_app
from adequa.service.connections import Connection
from adequa.service.guard import LOG

_SHORTEST_TOKEN = 16  # characters; fewer could be tried one by one
_CONNECTIONS = 1_000  # at once; beyond them clients are told to come back
_LAST_REQUESTS = 60  # seconds that requests are given to end


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The address as browsers take it."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def check_open(address: Address, token: str | None, *, insecure: bool) -> None:
    """Raise where others could reach a server that asks nobody who they are."""
    if token is None and not insecure and not address.is_local:
        raise AdequaError(
            f"{address.host} can be reached from other machines: give --token-file, so that "
            "requests need a token, or --insecure where something else keeps strangers out."
        )


def read_token(path: str) -> str:
    """The token of a file: one line, long enough."""
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


def serve(settings: Settings, address: Address) -> None:
    """Answer requests until a signal comes, and then finish those that are there."""
    server, listening = prepared(settings, address)
    _log_to_standard_error()
    with listening:
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """One that says where it is, once it can be asked."""

    def __init__(self, config: uvicorn.Config, host: str) -> None:
        super().__init__(config)
        self._host = host

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            actual = Address(self._host, each.getsockname()[1])
            LOG.info("adequa serves at %s", actual.url)


def prepared(settings: Settings, address: Address) -> tuple[uvicorn.Server, socket.socket]:
    """A server that has not begun, and the socket that it will listen on."""
    config = uvicorn.Config(
        create_app(settings),
        http=Connection,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_LAST_REQUESTS,
    )
    return _Server(config, address.host), _bound(address)


def _bound(address: Address) -> socket.socket:
    """A socket that listens; a port of 0 is any that is free."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AdequaError(f"{address.url} cannot be listened on: {reason}.") from error


def _log_to_standard_error() -> None:
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("adequa.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [shown]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "adequa.service" else logging.WARNING)
