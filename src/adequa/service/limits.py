"""Limits of requests, and the reading of bodies within them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from adequa.errors import AdequaError
from adequa.explanation.explain import CHUNK
from adequa.segments import Segments

JSON = "application/json"
LINES = "application/x-ndjson"

LONGEST_METRIC = 500  # characters of a metric's name and settings
LONGEST_NAME = 200  # characters of the name of a system or a document
MOST_SYSTEMS = 100  # of a request that is not a stream
MOST_ROWS = 1_000_000  # of a request in JSON, whatever a server allows: it is parsed at once

VARIANTS = 12  # hypotheses that are scored to explain a segment, on average
# Upper bound of how many times as many a thorough explanation scores: 346 in place of 44 for a
# segment of 40 differences, the most there are. For the mean segment it is 3 to 5 times as many.
THOROUGH = 8

_SMALLEST_BACKLOG = 200_000  # segments that may wait, where requests are small


class RequestError(Exception):
    """A request that gets no result: the status of the response, one sentence, and headers.

    `question` says what a person could decide so that the request succeeds, for the page.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        question: Mapping[str, Any] | None = None,
        **headers: str,
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.question = status, sentence, question
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class ClientDisconnected(Exception):  # noqa: N818 - nothing went wrong here
    """The client has closed the connection, so that no answer can be sent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server accepts; each refusal names the limit."""

    body: int = 16_000_000  # bytes of a request that is not a stream
    bodies: int = 128_000_000  # bytes of all requests that are not answered yet
    files: int = 200  # files of one request
    unpacked: int = 64_000_000  # bytes of all files of a request, decompressed
    segments: int = 20_000  # hypotheses of a request that is not a stream
    characters: int = 4_000  # of one text
    references: int = 16  # of one segment
    metrics: int = 12  # of one request
    resamples: int = 10_000  # of the bootstrap
    swaps: int = 1_000_000  # of significance tests
    draws: int = 10_000_000_000  # outputs drawn by all resamples and swaps of a request
    test_values: int = 10_000_000_000  # statistics scored by tests between all pairs of systems
    ranking_pairs: int = 50_000_000  # pairs of systems, over all resamples of a ranking
    queue: int = 1_024  # segments that a new request may have to wait for
    comparisons: int = 8  # comparisons and rankings that run or wait
    explanations: int = 8  # explanations that run or wait
    timeout: float = 30.0  # seconds that a client may let the server wait for its next bytes
    pace: int = 10_000  # bytes per second of a body at least, once that time is over

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= MOST_ROWS:
            raise AdequaError(f"A request may have 1 to {MOST_ROWS:,} segments at most.")

    @property
    def backlog(self) -> int:
        """Segments that may wait for all metrics; one request alone never shuts out others."""
        return max(_SMALLEST_BACKLOG, 2 * self.metrics * self.segments)

    @property
    def explained(self) -> int:
        """Segments that a request may explain; it takes as long as to score `segments`."""
        return max(self.segments // VARIANTS, 1)

    def check_body(self, size: int) -> None:
        """Raise if a body is too large."""
        if size > self.body:
            raise RequestError(
                413,
                f"The body is larger than {self.body:,} bytes, the most that this server takes at "
                "once; send fewer segments, or a stream of them to /v1/score.",
                connection="close",
            )

    def check_pace(self, size: int, seconds: float) -> None:
        """Raise if a client sends so slowly that it must be stalling."""
        if seconds > self.timeout + size / self.pace:
            raise RequestError(
                408,
                f"After {seconds:.0f} seconds {size:,} bytes have come, and the request is not "
                "whole; send it faster.",
                connection="close",
            )

    def check_systems(self, count: int) -> None:
        """Raise if there are too many systems."""
        if count > MOST_SYSTEMS:
            raise RequestError(
                422, f"There are {count:,} systems, and this server takes {MOST_SYSTEMS}."
            )

    def check_segments(self, count: int) -> None:
        """Raise if there are too many hypotheses."""
        if count > self.segments:
            raise RequestError(
                413,
                f"There are {count:,} hypotheses, and this server takes {self.segments:,} in one "
                "request at most; send fewer, or a stream of them to /v1/score.",
            )

    def check_texts(self, field: str, texts: Iterable[str], first: int) -> None:
        """Raise if a text is too long; `first` is the number of the first segment."""
        for number, text in enumerate(texts, first):
            if len(text) > self.characters:
                raise RequestError(
                    422,
                    f"{field} {number:,} has {len(text):,} characters, and this server takes "
                    f"{self.characters:,} at most; cut it into shorter segments.",
                )

    def check_draws(
        self, resamples: int, swaps: int, *, segments: int, systems: int = 1, metrics: int = 1
    ) -> None:
        """Raise if resampling so many segments so often would take too long."""
        for name, count in (("resamples", resamples), ("swaps", swaps)):
            most = getattr(self, name)
            if count > most:
                raise RequestError(
                    422, f"{name} is {count:,}, and this server takes {most:,} at most."
                )
        draws = (resamples + swaps) * segments * systems * metrics  # all pairs share the swaps
        if draws > self.draws:
            larger = "resamples" if resamples >= swaps else "swaps"
            raise RequestError(
                422,
                f"This would draw {draws:,} outputs, and this server draws {self.draws:,} at most; "
                f"ask for fewer {larger}, systems, segments or metrics.",
            )

    def check_tests(self, swaps: int, *, systems: int, width: int, metrics: int = 1) -> None:
        """Raise if tests between all pairs, by statistics of this width, would take too long."""
        count = swaps * (systems * (systems - 1) // 2) * width * metrics
        if count > self.test_values:
            raise RequestError(
                422,
                f"Tests between all pairs of {systems:,} systems would score {count:,} numbers "
                f"in {swaps:,} swaps, and this server scores {self.test_values:,} at most; ask for "
                "fewer swaps, systems or metrics.",
            )

    def check_ranking(self, resamples: int, *, systems: int, segments: int) -> None:
        """Raise if so many resamples of a ranking would take too long."""
        self.check_draws(resamples, 0, segments=segments, systems=systems)
        count = resamples * systems**2
        if count > self.ranking_pairs:
            raise RequestError(
                422,
                f"{resamples:,} resamples of {systems:,} systems are {count:,} pairs, and this "
                f"server looks at {self.ranking_pairs:,} at most; ask for fewer resamples or "
                "systems.",
            )

    def check_explanation(
        self,
        systems: Iterable[Segments],
        worst: int | None,
        *,
        thorough: bool,
        needs_whole_corpus: bool = False,
    ) -> int:
        """The number of segments to explain; raises if that would take too long."""
        lengths = sorted(length for segments in systems for length in _lengths(segments))
        count = len(lengths) if worst is None else min(worst, len(lengths))
        kind = "thoroughly " if thorough else ""
        most = self.explained
        if needs_whole_corpus:  # which is scored again for variants of so many segments at a time
            most = min(most, CHUNK * self.segments // max(len(lengths), 1))
        most = max(most // (THOROUGH if thorough else 1), 1)
        if count > most:
            raise RequestError(
                413,
                f"There are {count:,} segments to explain, and this server explains {kind}"
                f'{most:,} in one request at most; with "worst": {most} it explains those with '
                "the worst scores.",
            )
        characters = sum(lengths[len(lengths) - count :])
        most = self.body // VARIANTS // (THOROUGH if thorough else 1)
        if count > 1 and characters > most:
            raise RequestError(
                413,
                f"The texts to explain may have {characters:,} characters, and this server "
                f'explains {kind}{most:,} in one request at most; ask for fewer with "worst".',
            )
        return count


def _lengths(segments: Segments) -> Iterator[int]:
    """Characters of the hypothesis, the references and the source of each segment."""
    sources = segments.sources or ("",) * len(segments)
    rows = zip(segments.hypotheses, segments.references, sources, strict=True)
    for hypothesis, references, source in rows:
        yield len(hypothesis) + sum(map(len, references)) + len(source)


class BodyReader:
    """Reads bodies, and bounds the memory that those of unanswered requests take together."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes = 0

    async def read(self, request: Request, resources: ExitStack) -> bytes:
        """Read a whole body; its bytes count until the `resources` of the request are released."""
        limits, body, start = self._limits, bytearray(), time.monotonic()
        length = request.headers.get("content-length", "")
        if length.isdecimal():
            limits.check_body(int(length))
        try:
            async for chunk in _chunks(request, limits):
                self._reserve(len(chunk))
                body += chunk
                limits.check_body(len(body))
                limits.check_pace(len(body), time.monotonic() - start)
        except BaseException:
            self._release(len(body))
            raise
        resources.callback(self._release, len(body))
        return bytes(body)

    def _reserve(self, count: int) -> None:
        limit = self._limits.bodies
        if self._bytes and self._bytes + count > limit:
            raise RequestError(
                429,
                f"Requests of more than {limit:,} bytes together are being answered; try again "
                "later.",
                retry_after="2",
                connection="close",
            )
        self._bytes += count

    def _release(self, count: int) -> None:
        self._bytes -= count


def content_type(request: Request) -> str:
    """The content type of a request: JSON, or lines of it; any other is refused."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in {JSON, LINES}:
        raise RequestError(
            415, f"The content type of a request is {JSON}, or {LINES} for a stream to /v1/score."
        )
    return declared


async def read_lines(request: Request, limits: Limits) -> AsyncIterator[list[bytes]]:
    """The lines of a body, as many as have arrived at a time, without empty ones."""
    # A line holds a row: texts, escaped at worst as six bytes a character, and their references.
    longest = 12 * limits.characters * (limits.references + 2)
    rest = bytearray()
    async for chunk in _chunks(request, limits):
        rest += chunk
        *complete, rest = rest.split(b"\n")
        if len(rest) > longest:
            raise RequestError(
                422,
                f"A line is longer than {longest:,} bytes, the most that this server takes.",
                connection="close",
            )
        lines = [bytes(line) for line in complete if line.strip()]
        if lines:
            yield lines
    if rest.strip():
        yield [bytes(rest)]


async def _chunks(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """A body as it arrives; raises if the client stalls or disconnects."""
    more = True
    while more:
        try:
            message: Any = await asyncio.wait_for(request.receive(), limits.timeout)
        except asyncio.TimeoutError:
            raise RequestError(
                408,
                f"Nothing has come for {limits.timeout:g} seconds, and the request is not whole.",
                connection="close",
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        more = message.get("more_body", False)
        yield message.get("body", b"")
