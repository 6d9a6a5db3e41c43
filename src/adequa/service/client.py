"""A client of the service, which needs no extra of adequa: HTTP by the standard library."""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import CONTINUE, HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import Event, Lock, Thread
from typing import Any, TypeGuard, cast
from urllib.parse import urlencode, urlsplit

from adequa.errors import AdequaError
from adequa.io.text import FilePath
from adequa.scoring.api import DEFAULT_METRIC
from adequa.segments import Frame, ReferenceLayout, Segments, as_segments

_OK = 200
_BUSY = (429, 503)
_CONTINUE_SECONDS = 2.0  # for a server to refuse a stream before anything of it is sent
_LINES = "application/x-ndjson"


class Client:
    """A client of a server that `adequa serve` runs.

    `Client("http://127.0.0.1:8000").score(hypotheses, references, metrics=["chrf"])` returns what
    `adequa score --segments --format json` prints, as dictionaries and lists. A request that a busy
    server refuses is repeated when the server says so, for up to `patience` seconds.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 300.0, patience: float = 60.0
    ) -> None:
        invalid = AdequaError(f"{url} is no address of a server, such as http://127.0.0.1:8000.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # of the port, or of brackets
            raise invalid from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise invalid
        self._connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, port
        self._base = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout, self._patience = timeout, patience

    def metrics(self) -> dict[str, Any]:
        """The metrics of the server, those it uses by default, and its limits."""
        return self._call("GET", "/v1/metrics")

    def read(
        self,
        table: FilePath | None = None,
        *,
        hypotheses: FilePath | Sequence[FilePath] | Mapping[str, FilePath] = (),
        references: FilePath | Sequence[FilePath] = (),
        source: FilePath | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Read files on the server, with the arguments of `adequa.read`.

        The files are those of this machine, and their content is sent. The result says under
        `files` what was read of each. `systems`, `references`, `sources` and `documents` are what
        `compare` and a request for scores take. Further options are `columns`, `systems`, `quoting`
        and `language`.
        """
        named = hypotheses if isinstance(hypotheses, Mapping) else None
        outputs = _as_paths(hypotheses if named is None else list(named.values()))
        names = [None] * len(outputs) if named is None else list(named)
        parts = [
            *(("table", path, None) for path in _as_paths(table)),
            *(("hypotheses", path, name) for path, name in zip(outputs, names, strict=True)),
            *(("references", path, None) for path in _as_paths(references)),
            *(("source", path, None) for path in _as_paths(source)),
        ]
        files = [_file(role, path, name) for role, path, name in parts]
        return self._call("POST", "/v1/read", {"files": files, **options})

    def score(
        self,
        hypotheses: Iterable[str] | Sequence[Mapping[str, Any]] | Segments | Frame = (),
        references: Iterable[str] | Iterable[Sequence[str]] | None = None,
        metric: str | None = None,
        *,
        metrics: str | Sequence[str] | None = None,
        sources: Iterable[str] | None = None,
        layout: ReferenceLayout | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> ServiceScores:
        """Score translations against references, with the arguments of `adequa.score`.

        In place of hypotheses, rows can be given: dictionaries with `mt`, with `ref` or `src` or
        both, and optionally `system` and `doc`. The metrics may then follow as the second argument:
        `score(rows, ["chrf"])`. Further options are those of a request, such as `segments=False`.
        """
        if metric is not None and metrics is not None:
            raise AdequaError("Give one metric as metric, or several as metrics; not both.")
        names = DEFAULT_METRIC if metric is None and metrics is None else metrics or metric
        if rows is None and _are_rows(hypotheses) and references is not None:
            _check_one_metric(metric, metrics)
            names, references = cast("Sequence[str]", references), None
        content = {
            "rows": _request_rows(rows, hypotheses, references, sources, layout),
            "metrics": [names] if isinstance(names, str) else list(names or ()),
            **options,
        }
        return ServiceScores(self._call("POST", "/v1/score", content))

    def compare(
        self,
        systems: Mapping[str, Sequence[str]],
        references: Sequence[str] | Sequence[Sequence[str]] | None,
        metrics: Sequence[str],
        **options: Any,
    ) -> dict[str, Any]:
        """Compare systems; the first is the baseline.

        `references` may be None where there are `sources`, and the metrics need no reference.
        """
        content = {"systems": systems, "references": references, "metrics": metrics, **options}
        return self._call("POST", "/v1/compare", content)

    def rank(
        self,
        systems: Mapping[str, Sequence[str]],
        references: Sequence[str] | Sequence[Sequence[str]] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Rank systems; without references by `sources`, if the metric needs no reference."""
        content = {"systems": systems, "references": references, **options}
        return self._call("POST", "/v1/rank", content)

    def explain(
        self,
        hypotheses: Iterable[str] | Sequence[Mapping[str, Any]] | Segments | Frame = (),
        references: Iterable[str] | Iterable[Sequence[str]] | None = None,
        metric: str | None = None,
        *,
        sources: Iterable[str] | None = None,
        layout: ReferenceLayout | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Say what each difference from the reference costs; the arguments of `adequa.explain`.

        In place of hypotheses, rows can be given, and the metric may then follow as the second
        argument, as with `score`. Further options are `language`, `worst` and `thorough`. The
        result has the shape of `Explanation.to_dict()`.
        """
        if rows is None and _are_rows(hypotheses) and references is not None:
            _check_one_metric(metric)
            metric, references = cast("str", references), None
        texts = _request_rows(rows, hypotheses, references, sources, layout)
        content = {"rows": texts, "metric": metric, **options}
        return self._call("POST", "/v1/explain", content)

    def score_stream(
        self, rows: Iterable[Mapping[str, Any]], metrics: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Score any number of rows: yield a dictionary for each of them, and one for all at last.

        A thread sends the rows as fast as the server reads them. None is taken from `rows` before
        the server accepts the request, so that it can be repeated if the server is busy.
        """
        query = urlencode([("metric", metric) for metric in metrics])
        body = (json.dumps(row).encode() + b"\n" for row in rows)
        headers = {**self._headers, "Content-Type": _LINES}
        deadline = time.monotonic() + self._patience
        while True:
            connection = self._connection_class(self._host, self._port, timeout=self._timeout)
            upload = _Upload(connection, f"{self._base}/v1/score?{query}", body, headers)
            try:
                response = upload.start()
                if response.status != _OK:
                    wait = _retry_after(response)
                    is_busy = response.status in _BUSY and time.monotonic() + wait < deadline
                    if upload.withdraw() and is_busy:
                        time.sleep(wait)
                        continue
                    raise AdequaError(_error_of(response))
                yield from self._lines(response, upload)
                return
            except (OSError, HTTPException) as error:
                raise (upload.failed or self._unreachable(error)) from error
            finally:
                upload.close()

    def _lines(self, response: HTTPResponse, upload: _Upload) -> Iterator[dict[str, Any]]:
        is_last = False
        for line in response:
            answer = self._parse(line)
            if "error" in answer:
                raise AdequaError(str(answer["error"]))
            is_last = "metrics" in answer
            yield answer
        if not is_last:
            raise upload.failed or AdequaError(
                f"The server at {self._host} broke off before the end of the stream."
            )

    def _call(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        body = None if content is None else json.dumps(content).encode()
        headers = {
            **self._headers,
            **({} if body is None else {"Content-Type": "application/json"}),
        }
        deadline = time.monotonic() + self._patience
        while True:
            connection = self._connection_class(self._host, self._port, timeout=self._timeout)
            try:
                # A server that refuses a body may answer and disconnect before it is sent.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, self._base + path, body, headers)
                response = connection.getresponse()
                wait = _retry_after(response)
                if response.status in _BUSY and time.monotonic() + wait < deadline:
                    time.sleep(wait)
                    continue
                if response.status != _OK:
                    raise AdequaError(_error_of(response))
                return self._parse(response.read())
            except (OSError, HTTPException) as error:
                raise self._unreachable(error) from error
            finally:
                connection.close()

    def _parse(self, text: bytes) -> dict[str, Any]:
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise AdequaError(f"The server at {self._host} answers with something else than JSON.")
        return content

    def _unreachable(self, error: Exception) -> AdequaError:
        return AdequaError(f"The server at {self._host} does not answer: {error}.")


class ServiceScores(dict[str, Any]):
    """The answer to a request for scores: a dictionary of the shape of `--format json`.

    `system` and `segments` hold the scores by metric, as those of `adequa.score` with `metrics` do.
    """

    @property
    def system(self) -> dict[str, Any]:
        """System scores by metric: a number, or where there are several systems, one by system."""
        return self._by_metric("score")

    @property
    def segments(self) -> dict[str, Any]:
        """Segment scores by metric: a list, or where there are several systems, one by system."""
        return self._by_metric("segments")

    def _by_metric(self, key: str) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        for metric in self["metrics"]:
            by_system = {system["name"]: system.get(key, []) for system in metric["systems"]}
            values = list(by_system.values())
            scores[metric["name"]] = values[0] if len(values) == 1 else by_system
        return scores


def _as_paths(paths: object) -> list[FilePath]:
    if paths is None:
        return []
    return [paths] if isinstance(paths, str | os.PathLike) else list(cast("Any", paths))


def _file(role: str, path: FilePath, name: str | None) -> dict[str, Any]:
    """A file with its content, as requests hold it."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error
    file = {"name": Path(path).name, "role": role, "base64": b64encode(content).decode("ascii")}
    return file if name is None else {**file, "system": name}


def _are_rows(texts: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    return isinstance(texts, list | tuple) and bool(texts) and isinstance(texts[0], Mapping)


def _check_one_metric(*others: object) -> None:
    """Raise if a metric is given again where it follows rows as the second argument."""
    if any(other is not None for other in others):
        raise AdequaError(
            "Rows have their references with them, so that the second argument names the metric; "
            "give no other."
        )


def _request_rows(
    rows: Sequence[Mapping[str, Any]] | None,
    hypotheses: Iterable[str] | Sequence[Mapping[str, Any]] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None,
    sources: Iterable[str] | None,
    layout: ReferenceLayout | None,
) -> list[Mapping[str, Any]]:
    """The rows of a request: as they are given, in place of hypotheses too, or those of texts."""
    if rows is None and _are_rows(hypotheses):
        rows = hypotheses
    if rows is not None:
        if references is not None:
            raise AdequaError('Rows have their references as "ref"; leave out references.')
        if sources is not None:
            raise AdequaError('Rows have their sources as "src"; leave out sources.')
        return list(rows)
    texts = cast("Iterable[str] | Segments | Frame", hypotheses)
    return list(_rows(as_segments(texts, references, sources, layout=layout)))


def _rows(segments: Segments) -> list[dict[str, Any]]:
    """Segments as rows of a request."""
    columns: dict[str, Sequence[Any]] = {"mt": segments.hypotheses}
    if segments.has_references:
        columns["ref"] = segments.references
    if segments.sources is not None:
        columns["src"] = segments.sources
    columns |= {name: segments.ids[name] for name in ("system", "doc") if name in segments.ids}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class _ContinuedResponse(HTTPResponse):
    """A response that may be preceded by 100 Continue, when `on_continue` is called."""

    def __init__(self, sock: socket, on_continue: Callable[[], None]) -> None:
        super().__init__(sock, method="POST")
        self._on_continue = on_continue

    def _read_status(self) -> tuple[str, int, str]:
        status: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]  # not in stubs
        if status[1] == CONTINUE:
            self._on_continue()
        return status


class _Upload:
    """A request whose body is sent while the answer is read."""

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
        self._may_send = Event()
        self._lock = Lock()
        self._is_sending = self._is_withdrawn = False
        self._response: HTTPResponse | None = None
        self.failed: Exception | None = None  # raised by the iterator of rows

    def start(self) -> HTTPResponse:
        """Return the answer as soon as its status is known; rows are sent meanwhile."""
        self._connection.putrequest("POST", self._path)
        for name, value in self._headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        # Not by the connection, which would open another socket once this one is closed.
        Thread(target=self._send, args=[self._connection.sock], daemon=True).start()
        response = self._response = _ContinuedResponse(self._connection.sock, self._may_send.set)
        response.begin()
        return response

    def close(self) -> None:
        """Close the connection; its socket stays open as long as an answer is read from it."""
        if self._response is not None:
            self._response.close()
        self._connection.close()

    def withdraw(self) -> bool:
        """Send nothing if nothing was sent yet; return whether that is so."""
        with self._lock:
            self._is_withdrawn = not self._is_sending
        self._may_send.set()
        return self._is_withdrawn

    def _send(self, sock: socket) -> None:
        self._may_send.wait(_CONTINUE_SECONDS)  # proxies may not pass it on
        with self._lock:
            if self._is_withdrawn:
                return
            self._is_sending = True
        try:
            for chunk in self._body:
                sock.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            sock.sendall(b"0\r\n\r\n")
        except OSError:  # the answer tells why, or reading it fails too
            pass
        except Exception as error:  # noqa: BLE001 - raised where the answers are read
            self.failed = error
            with suppress(OSError):
                sock.shutdown(SHUT_RDWR)


def _retry_after(response: HTTPResponse) -> float:
    """Seconds until the time in Retry-After, which is a number of seconds or a date."""
    value = response.headers.get("Retry-After", "")
    if value.strip().isdecimal():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return 1.0
    return max(date.timestamp() - time.time(), 0.0)


def _error_of(response: HTTPResponse) -> str:
    try:
        return str(json.load(response)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {response.status}."
