"""A small client of the service, which needs nothing but Python."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

from adequa.errors import AdequaError

_BUSY = (429, 503)
_LINES = "application/x-ndjson"


class Client:
    """A server by its address; a server that is busy is asked again when it said to.

    `Client("http://127.0.0.1:8000").score(rows, ["chrf"])` is what `adequa score --segments
    --format json` prints, as dictionaries and lists.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 300.0, patience: float = 60.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise AdequaError(f"{url} is no address of a server, such as http://127.0.0.1:8000.")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout, self._patience = timeout, patience

    def metrics(self) -> dict[str, Any]:
        """What the server scores with, and its limits."""
        return self._asked("GET", "/v1/metrics")

    def score(
        self, rows: Sequence[Mapping[str, Any]], metrics: Sequence[str], **more: Any
    ) -> dict[str, Any]:
        """Scores of rows with `mt` and `ref`, and where they have them `src`, `system`, `doc`."""
        return self._asked("POST", "/v1/score", {"rows": rows, "metrics": metrics, **more})

    def compare(
        self,
        systems: Mapping[str, Sequence[str]],
        references: Sequence[str] | Sequence[Sequence[str]],
        metrics: Sequence[str],
        **more: Any,
    ) -> dict[str, Any]:
        """A comparison of systems; the first is the baseline."""
        asked = {"systems": systems, "references": references, "metrics": metrics, **more}
        return self._asked("POST", "/v1/compare", asked)

    def rank(
        self,
        systems: Mapping[str, Sequence[str]],
        references: Sequence[str] | Sequence[Sequence[str]],
        **more: Any,
    ) -> dict[str, Any]:
        """Systems in order."""
        asked = {"systems": systems, "references": references, **more}
        return self._asked("POST", "/v1/rank", asked)

    def score_stream(
        self, rows: Iterable[Mapping[str, Any]], metrics: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Any number of rows: a dictionary for each as soon as it is there, and one for them all.

        The rows are sent by a thread of their own, as the server takes them.
        """
        query = urlencode([("metric", metric) for metric in metrics])
        body = (json.dumps(row).encode() + b"\n" for row in rows)
        connection = self._kind(self._host, self._port, timeout=self._timeout)
        headers = {**self._headers, "Content-Type": _LINES}
        sending = _Sending(connection, f"{self._base}/v1/score?{query}", body, headers)
        try:
            sending.begin()
            response = sending.response()
            if response.status != 200:  # noqa: PLR2004 - OK
                raise AdequaError(_sentence(response))
            for line in response:
                found: dict[str, Any] = json.loads(line)
                if "error" in found:
                    raise AdequaError(found["error"])
                yield found
        except (OSError, HTTPException) as error:
            raise (sending.failed or self._unreachable(error)) from error
        finally:
            connection.close()

    def _asked(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        body = None if content is None else json.dumps(content).encode()
        headers = {
            **self._headers,
            **({} if body is None else {"Content-Type": "application/json"}),
        }
        until = time.monotonic() + self._patience
        while True:
            connection = self._kind(self._host, self._port, timeout=self._timeout)
            try:
                connection.request(method, self._base + path, body, headers)
                response = connection.getresponse()
                wait = float(response.headers.get("Retry-After") or 1)
                if response.status in _BUSY and time.monotonic() + wait < until:
                    time.sleep(wait)
                    continue
                if response.status != 200:  # noqa: PLR2004 - OK
                    raise AdequaError(_sentence(response))
                found: dict[str, Any] = json.load(response)
                return found
            except (OSError, HTTPException) as error:
                raise self._unreachable(error) from error
            finally:
                connection.close()

    def _unreachable(self, error: Exception) -> AdequaError:
        return AdequaError(f"The server at {self._host} does not answer: {error}.")


class _Sending:
    """A request whose body goes out while the answer comes in."""

    def __init__(
        self,
        connection: HTTPConnection,
        path: str,
        body: Iterator[bytes],
        headers: Mapping[str, str],
    ) -> None:
        self._connection, self._path, self._body = connection, path, body
        self._headers = {**headers, "Transfer-Encoding": "chunked"}
        self.failed: Exception | None = None  # what whoever makes the rows raised

    def begin(self) -> None:
        self._connection.putrequest("POST", self._path)
        for name, value in self._headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        # Not through the connection, which would open another socket once this one is closed.
        Thread(target=self._send, args=[self._connection.sock], daemon=True).start()

    def _send(self, to: socket) -> None:
        try:
            for piece in self._body:
                to.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            to.sendall(b"0\r\n\r\n")
        except OSError:  # the server has answered already, or is gone: reading tells
            pass
        except Exception as error:  # noqa: BLE001 - raised where the answers are read
            self.failed = error
            with suppress(OSError):
                to.shutdown(SHUT_RDWR)

    def response(self) -> HTTPResponse:
        return self._connection.getresponse()


def _sentence(response: HTTPResponse) -> str:
    try:
        return str(json.load(response)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {response.status}."
