"""How much a request may ask for, and what it is told where it asks for more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adequa.errors import AdequaError

LONGEST_METRIC = 500  # characters of a metric's name and settings
LONGEST_NAME = 200  # characters of the name of a system or a document
MOST_SYSTEMS = 100  # of a request that is not a stream
MOST_ROWS = 1_000_000  # of a request in JSON, whatever a server allows: what is read at once

_HELD = 200_000  # segments that may wait, where requests are small


class Refusal(Exception):  # noqa: N818 - not all are errors: a full queue is none
    """An answer other than a result: its status, one sentence, and headers."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes; each refusal names the limit."""

    body: int = 16_000_000  # bytes of a request that is not a stream
    bodies: int = 128_000_000  # bytes of all requests that are not answered yet
    segments: int = 20_000  # hypotheses of a request that is not a stream
    characters: int = 4_000  # of one text
    references: int = 16  # of one segment
    metrics: int = 12  # of one request
    resamples: int = 10_000  # of intervals
    swaps: int = 1_000_000  # of tests
    drawn: int = 10_000_000_000  # outputs that are drawn for them and for tests, in all
    tested: int = 10_000_000_000  # numbers that tests between all pairs of systems score
    beaten: int = 50_000_000  # times that a system meets another, in all resamples of a ranking
    queue: int = 1_024  # segments that a newcomer may have to wait for
    comparisons: int = 8  # comparisons and rankings that are made or wait
    patience: float = 30.0  # seconds that a client may let the server wait for its next bytes
    pace: int = 10_000  # bytes a second that a body comes with at least, after that time

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= MOST_ROWS:
            raise AdequaError(f"A request may have 1 to {MOST_ROWS:,} segments at most.")

    @property
    def held(self) -> int:
        """Segments that may wait, of all metrics; one request alone never keeps others out."""
        return max(_HELD, 2 * self.metrics * self.segments)

    def check_body(self, size: int) -> None:
        """Raise where a body is too large, as far as it was read."""
        if size > self.body:
            raise Refusal(
                413,
                f"The body is larger than {self.body:,} bytes, the most that this server takes at "
                "once; send fewer segments, or a stream of them to /v1/score.",
                connection="close",
            )

    def check_systems(self, count: int) -> None:
        """Raise where there are too many systems."""
        if count > MOST_SYSTEMS:
            raise Refusal(
                422, f"There are {count:,} systems, and this server takes {MOST_SYSTEMS}."
            )

    def check_segments(self, count: int) -> None:
        """Raise where there are too many hypotheses."""
        if count > self.segments:
            raise Refusal(
                413,
                f"There are {count:,} hypotheses, and this server takes {self.segments:,} in one "
                "request at most; send fewer, or a stream of them to /v1/score.",
            )

    def check_texts(self, place: str, texts: Iterable[str], first: int) -> None:
        """Raise where a text is too long; `first` is the number of the first of them."""
        for row, text in enumerate(texts, first):
            if len(text) > self.characters:
                raise Refusal(
                    422,
                    f"{place} {row:,} has {len(text):,} characters, and this server takes "
                    f"{self.characters:,} at most; cut it into shorter segments.",
                )

    def check_pace(self, size: int, seconds: float) -> None:
        """Raise where so much of a body took so long that the client must be stalling."""
        if seconds > self.patience + size / self.pace:
            raise Refusal(
                408,
                f"After {seconds:.0f} seconds {size:,} bytes have come, and the request is not "
                "whole; send it faster.",
                connection="close",
            )

    def check_draws(
        self, resamples: int, swaps: int, *, segments: int, systems: int = 1, metrics: int = 1
    ) -> None:
        """Raise where to draw from so many segments so often would take too long."""
        for name, count in (("resamples", resamples), ("swaps", swaps)):
            most = getattr(self, name)
            if count > most:
                raise Refusal(422, f"{name} is {count:,}, and this server takes {most:,} at most.")
        drawn = {
            "resamples": resamples * segments * systems * metrics,
            "swaps": swaps * segments * systems * metrics,  # which all pairs share
        }
        if sum(drawn.values()) > self.drawn:
            many = max(drawn, key=lambda name: drawn[name])
            raise Refusal(
                422,
                f"This would draw {sum(drawn.values()):,} outputs, and this server draws "
                f"{self.drawn:,} at most; ask for fewer {many}, systems, segments or metrics.",
            )

    def check_tests(self, swaps: int, *, systems: int, width: int, metrics: int = 1) -> None:
        """Raise where tests between all pairs, by statistics so wide, would take too long."""
        count = swaps * (systems * (systems - 1) // 2) * width * metrics
        if count > self.tested:
            raise Refusal(
                422,
                f"Tests between all pairs of {systems:,} systems would score {count:,} numbers "
                f"in {swaps:,} swaps, and this server scores {self.tested:,} at most; ask for "
                "fewer swaps, systems or metrics.",
            )

    def check_ranking(self, resamples: int, *, systems: int, segments: int) -> None:
        """Raise where a ranking of so many systems so often would take too long."""
        self.check_draws(resamples, 0, segments=segments, systems=systems)
        count = resamples * systems**2
        if count > self.beaten:
            raise Refusal(
                422,
                f"{resamples:,} resamples of {systems:,} systems are {count:,} pairs, and this "
                f"server looks at {self.beaten:,} at most; ask for fewer resamples or systems.",
            )
