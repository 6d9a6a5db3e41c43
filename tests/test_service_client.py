"""The client by itself, against servers that are busy, break off, or are no servers of ours."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.client import HTTPConnection
from typing import Any

import pytest

from adequa.errors import AdequaError
from adequa.service.client import Client

ROWS = [{"mt": "a", "ref": "b"}]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LINE = b'{"segment": 1, "scores": {"chrf": 1.0}}\n'
RESULTS = b'{"metrics": []}\n'
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """A server that says this, to one connection after the other, whatever it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            for answer in answers:
                accepted, _ = listening.accept()
                with accepted:
                    accepted.recv(65536)
                    accepted.sendall(answer)
                    accepted.shutdown(socket.SHUT_WR)
                    while accepted.recv(65536):
                        pass

        thread = threading.Thread(target=run)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (CONTINUE + CHUNKED + chunk(LINE), "broke off before the end"),
        (CONTINUE + CHUNKED + chunk(LINE) + b"0\r\n\r\n", "broke off before the end"),
        (CONTINUE + CHUNKED + chunk(LINE[:20]) + b"0\r\n\r\n", "something else than JSON"),
        (CONTINUE + CHUNKED + chunk(b'{"error": "No."}\n') + b"0\r\n\r\n", r"^No\.$"),
        (response(b"<html>", "502 Bad Gateway"), "status 502"),
        (b"nonsense\r\n\r\n", "does not answer"),
    ],
)
def test_a_stream_that_breaks_off_is_an_error(answer: bytes, sentence: str) -> None:
    with answering(answer) as url, pytest.raises(AdequaError, match=sentence):
        list(Client(url).score_stream(iter(ROWS), ["chrf"]))


def test_a_busy_server_is_asked_for_a_stream_again() -> None:
    """No row is taken before the server wants them, so none is lost."""
    busy = response(b'{"error": "Full."}', "429 Too Many Requests", "Retry-After: 0")
    fine = CONTINUE + CHUNKED + chunk(LINE) + chunk(RESULTS) + b"0\r\n\r\n"
    with answering(busy, busy, fine) as url:
        assert len(list(Client(url).score_stream(iter(ROWS), ["chrf"]))) == 2
    taken = []

    def rows() -> Iterator[dict[str, str]]:
        taken.append(True)
        yield ROWS[0]

    with answering(busy) as url, pytest.raises(AdequaError, match="Full"):
        list(Client(url, patience=0).score_stream(rows(), ["chrf"]))
    assert not taken


@pytest.mark.parametrize("when", [formatdate(0, usegmt=True), "0", formatdate(0)])
def test_a_busy_server_may_name_a_date(when: str) -> None:
    busy = response(b"{}", "503 Service Unavailable", f"Retry-After: {when}")
    with answering(busy, response(b'{"metrics": []}')) as url:
        assert Client(url).metrics() == {"metrics": []}


def test_answers_that_are_not_json_are_errors() -> None:
    for body in (b"<html>", b"[]", b"\xff"):
        with answering(response(body)) as url, pytest.raises(AdequaError, match="else than JSON"):
            Client(url).metrics()


def test_a_refusal_is_read_although_the_request_could_not_be_sent_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server answers at the first bytes, and hangs up while the client sends."""
    send = HTTPConnection.request

    def broken(self: HTTPConnection, *arguments: Any) -> None:
        send(self, *arguments)
        raise BrokenPipeError

    monkeypatch.setattr(HTTPConnection, "request", broken)
    refused = response(b'{"error": "Too large."}', "413 X")
    with answering(refused) as url, pytest.raises(AdequaError, match="Too large"):
        Client(url).score(ROWS, ["wer"])
