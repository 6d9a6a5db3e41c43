"""A server for tests: the application on a free port of this machine, in a thread."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from adequa.service.app import Service, ServiceSettings
from adequa.service.server import Address, create_server

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class Live:
    """A server that answers."""

    port: int
    service: Service
    server: uvicorn.Server

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self.server.server_state.connections)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request; a body that is neither bytes nor text is sent as JSON."""
        sent = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, sent, JSON if headers is None else headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, path: str, body: object, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("POST", path, body, headers)

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("GET", path, None, headers or {})


def until(come: Callable[[], bool]) -> None:
    """Wait for something that other threads bring about."""
    end = time.monotonic() + 30
    while not come():
        assert time.monotonic() < end
        time.sleep(0.002)


@contextmanager
def served(settings: ServiceSettings) -> Iterator[Live]:
    """A server for the length of a test."""
    server, listening = create_server(settings, Address("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    port = listening.getsockname()[1]
    thread.start()
    app: Any = server.config.app
    live = Live(port, app.state.service, server)
    try:
        until(lambda: live.get("/readyz").status == 200)
        yield live
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
