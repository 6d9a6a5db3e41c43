"""A small client of the service, which needs nothing but Python."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import CONTINUE, HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

from adequa.errors import AdequaError

_OK = 200
_BUSY = (429, 503)
_HESITATION = 2.0  # seconds in which a server can refuse a stream before anything of it is sent
_LINES = "application/x-ndjson"


class Client:
    """A server by its address; a server that is busy is asked again when it said to.

    `Client("http://127.0.0.1:8000").score(rows, ["chrf"])` is what `adequa score --segments
    --format json` prints, as dictionaries and lists.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 300.0, patience: float = 60.0
    ) -> None:
        wrong = AdequaError(f"{url} is no address of a server, such as http://127.0.0.1:8000.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # of a port, or of brackets
            raise wrong from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise wrong
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, port
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

        The rows are sent by a thread of their own, as the server takes them. None is taken from
        `rows` before the server wants them, so that one that is busy can be asked again.
        """
        query = urlencode([("metric", metric) for metric in metrics])
        body = (json.dumps(row).encode() + b"\n" for row in rows)
        headers = {**self._headers, "Content-Type": _LINES}
        until = time.monotonic() + self._patience
        while True:
            connection = self._kind(self._host, self._port, timeout=self._timeout)
            sending = _Sending(connection, f"{self._base}/v1/score?{query}", body, headers)
            try:
                response = sending.answered()
                if response.status != _OK:
                    wait = _wait_of(response)
                    again = response.status in _BUSY and time.monotonic() + wait < until
                    if sending.withdrawn() and again:
                        time.sleep(wait)
                        continue
                    raise AdequaError(_sentence(response))
                yield from self._lines(response, sending)
                return
            except (OSError, HTTPException) as error:
                raise (sending.failed or self._unreachable(error)) from error
            finally:
                sending.close()

    def _lines(self, response: HTTPResponse, sending: _Sending) -> Iterator[dict[str, Any]]:
        is_last = False
        for line in response:
            found = self._read(line)
            if "error" in found:
                raise AdequaError(str(found["error"]))
            is_last = "metrics" in found
            yield found
        if not is_last:
            raise sending.failed or AdequaError(
                f"The server at {self._host} broke off before the end of the stream."
            )

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
                # A server that refuses a body may answer before it is sent, and hang up.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, self._base + path, body, headers)
                response = connection.getresponse()
                wait = _wait_of(response)
                if response.status in _BUSY and time.monotonic() + wait < until:
                    time.sleep(wait)
                    continue
                if response.status != _OK:
                    raise AdequaError(_sentence(response))
                return self._read(response.read())
            except (OSError, HTTPException) as error:
                raise self._unreachable(error) from error
            finally:
                connection.close()

    def _read(self, text: bytes) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise AdequaError(f"The server at {self._host} answers with something else than JSON.")
        return found

    def _unreachable(self, error: Exception) -> AdequaError:
        return AdequaError(f"The server at {self._host} does not answer: {error}.")


class _Expected(HTTPResponse):
    """An answer before which a server may say that it wants the body (100 Continue)."""

    def __init__(self, to: socket, wanted: Callable[[], None]) -> None:
        super().__init__(to, method="POST")
        self._wanted = wanted

    def _read_status(self) -> tuple[str, int, str]:
        found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]  # not in stubs
        if found[1] == CONTINUE:
            self._wanted()
        return found


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
        self._headers = {
            **headers,
            "Transfer-Encoding": "chunked",
            "Expect": "100-continue",
        }
        self._wanted = Event()
        self._lock = Lock()
        self._begun = self._withdrawn = False
        self._response: HTTPResponse | None = None
        self.failed: Exception | None = None  # what whoever makes the rows raised

    def answered(self) -> HTTPResponse:
        """The answer, as soon as its status is known; rows are sent meanwhile."""
        self._connection.putrequest("POST", self._path)
        for name, value in self._headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        # Not through the connection, which would open another socket once this one is closed.
        Thread(target=self._send, args=[self._connection.sock], daemon=True).start()
        response = self._response = _Expected(self._connection.sock, self._wanted.set)
        response.begin()
        return response

    def close(self) -> None:
        """Hang up: a socket stays open as long as an answer is read from it."""
        if self._response is not None:
            self._response.close()
        self._connection.close()

    def withdrawn(self) -> bool:
        """Send nothing, if nothing was sent yet; whether that is so."""
        with self._lock:
            self._withdrawn = not self._begun
        self._wanted.set()
        return self._withdrawn

    def _send(self, to: socket) -> None:
        self._wanted.wait(_HESITATION)  # servers in between may say nothing
        with self._lock:
            if self._withdrawn:
                return
            self._begun = True
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


def _wait_of(response: HTTPResponse) -> float:
    """Seconds after which a server wants to be asked again: a number of them, or a date."""
    said = response.headers.get("Retry-After", "")
    if said.strip().isdecimal():
        return float(said)
    try:
        date = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return 1.0
    return max(date.timestamp() - time.time(), 0.0)


def _sentence(response: HTTPResponse) -> str:
    try:
        return str(json.load(response)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {response.status}."
