"""What a server costs and withstands, beside `adequa score` on the same segments, in one run.

    ADEQUA_DATA=FOLDER python benchmarks/service.py [--segments N] [--load]

Different pairs of a hypothesis and a reference (WMT16, or made-up ones where there are no data) are
scored with the metric that ships on two threads:

- by one `adequa score` of them all, less the time of the same command on one segment;
- by a server, for 32 clients at once; each sends the next 1 to 8 segments when it has an answer;
- by a server, for one such client: one request at a time;
- by a server, for requests that come at random, half as many a second as it answered before: how
  long they take, p99 as a multiple of p50.

Every server is a fresh one, so that it has seen none of the texts. Clients and server share CPUs.
All but the last take turns, each time on other segments, and the median of the rounds counts.

With `--load`, instead: requests come for two minutes at four times what the server can answer. All
are answered or refused, memory stays flat, and the server answers as before within seconds. Exits
with 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

import numpy as np

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Ratings

THREADS = 2
CLIENTS = 32
LARGEST = 8  # segments of a request
GOAL_OF_BATCH, GOAL_OF_ONE = 0.8, 4.0
OVERLOAD, MINUTES = 4.0, 2.0
FLAT = 0.1  # by how much memory may grow under load
HALF_LOAD = 40.0  # seconds
SETTLED = 10.0  # seconds after which a server answers as before
Pair = tuple[str, str]
OK, BUSY = 200, (429, 503)
TEXT = (
    "the minister said on Tuesday that a new agreement between both countries would be signed in "
    "spring although many questions about its costs remain open and the opposition has announced "
    "resistance because it fears for jobs in smaller towns where most factories closed last year"
)


@dataclass
class Seen:
    """What clients saw: statuses, and how long answers took."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    segments: int = 0  # that were scored


def pairs_of(data: str, count: int, random: Random) -> list[Pair]:
    """Different pairs of texts, in random order."""
    try:
        found = load_dataset(data)
    except AdequaError as error:
        print(f"{error} Made-up sentences are scored in their place.")
        found = None
    if isinstance(found, Ratings) and found.segments is not None:
        texts, references = found.segments.hypotheses, found.segments.references
        columns = zip(texts, references, strict=True)
        pairs = list(dict.fromkeys((text, several[0]) for text, several in columns))
        random.shuffle(pairs)
        return pairs[:count]
    lengths = [random.randint(8, 40) for _ in range(count)]
    words = TEXT.split()
    return [
        (" ".join(random.choices(words, k=length)), " ".join(random.choices(words, k=length)))
        for length in lengths
    ]


def requests_of(pairs: Sequence[Pair], random: Random) -> list[tuple[bytes, int]]:
    """Requests of 1 to 8 segments, ready to be sent, with how many they have."""
    found, start = [], 0
    while start < len(pairs):
        end = min(start + random.randint(1, LARGEST), len(pairs))
        rows = [{"mt": text, "ref": reference} for text, reference in pairs[start:end]]
        body = json.dumps({"rows": rows, "metrics": ["adequa"]}).encode()
        head = (
            "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append((head.encode() + body, end - start))
        start = end
    return found


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """A fresh server: its port and its process."""
    command = [sys.executable, "-m", "adequa", "serve", "--port", "0", "-m", "adequa"]
    command += ["--workers", str(THREADS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        port = int(started.stderr.readline().rsplit(":", 1)[1])
        draining = subprocess.Popen(["cat"], stdin=started.stderr, stdout=subprocess.DEVNULL)
        try:
            asyncio.run(ready(port))
            yield port, started.pid
        finally:
            started.terminate()
            started.wait()
            draining.wait()


async def ready(port: int) -> None:
    """Wait until a server can score."""
    while True:
        try:
            status, _ = await asked(port, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except OSError:
            status = 0
        if status == OK:
            return
        await asyncio.sleep(0.1)


async def asked(port: int, request: bytes) -> tuple[int, float]:
    """The status of one request on a connection of its own, and how long it took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await exchanged(reader, writer, request)
    finally:
        writer.close()


async def exchanged(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, float]:
    """The same on a connection that is there."""
    began = time.perf_counter()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1]), time.perf_counter() - began


async def closed_loop(
    port: int, requests: Sequence[tuple[bytes, int]], clients: int
) -> tuple[Seen, float]:
    """Clients that each send the next request when they have an answer."""
    seen, left = Seen(), iter(requests)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request, count in left:
            status, seconds = await exchanged(reader, writer, request)
            seen.statuses[status] += 1
            seen.seconds.append(seconds)
            seen.segments += count if status == OK else 0
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return seen, time.perf_counter() - began


async def open_loop(
    port: int, requests: Sequence[tuple[bytes, int]], rate: float, seconds: float, random: Random
) -> Seen:
    """Requests that come at random, so many a second, whether others are answered or not."""
    seen = Seen()
    tasks: set[asyncio.Task[None]] = set()

    async def one(request: bytes, count: int) -> None:
        try:
            status, took = await asked(port, request)
        except (OSError, asyncio.IncompleteReadError):
            status, took = 0, 0.0  # a connection that broke
        seen.statuses[status] += 1
        if status == OK:
            seen.seconds.append(took)
            seen.segments += count

    end = time.perf_counter() + seconds
    due, number = time.perf_counter(), 0
    while due < end:
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        task = asyncio.create_task(one(*requests[number % len(requests)]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        due += random.expovariate(rate)
        number += 1
    await asyncio.gather(*tasks)
    return seen


def command_line(pairs: Sequence[Pair]) -> float:
    """Seconds of one `adequa score` of all pairs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, column in (("mt", 0), ("ref", 1)):
            lines = [" ".join(pair[column].split()) for pair in pairs]
            Path(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "adequa", "score", "--no-cache", "-q", "--segments"]
        command += ["-m", f"adequa:threads={THREADS}", "-t", f"{folder}/mt", "-r", f"{folder}/ref"]
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


def resident(process: int) -> int:
    """Bytes of memory that a process has."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99."""
    return float(np.percentile(seconds, 50)), float(np.percentile(seconds, 99))


def throughput(pairs: Sequence[Pair], random: Random, rounds: int) -> bool:
    """All ways in turn, each time on other segments; whether the goals are met."""
    measured = []
    for start in range(rounds):
        measured.append(one_round(pairs[start::rounds], random))
        batch, together, alone = measured[-1]
        print(
            f"round {start + 1}: adequa score {batch:.1f} segments a second; server, {CLIENTS} "
            f"clients {together:.1f}, {together / batch:.2f} of that; one request at a time "
            f"{alone:.1f}, {together / alone:.2f} times as many with {CLIENTS} clients"
        )
    of_batch = median(together / batch for batch, together, _ in measured)
    of_one = median(together / alone for _, together, alone in measured)
    print(f"median of rounds: {of_batch:.2f} of one run (goal {GOAL_OF_BATCH}),", end=" ")
    print(f"{of_one:.2f} times one request at a time (goal {GOAL_OF_ONE:g})")
    half_load(pairs, median(together for _, together, _ in measured), random)
    return of_batch >= GOAL_OF_BATCH and of_one >= GOAL_OF_ONE


def one_round(pairs: Sequence[Pair], random: Random) -> tuple[float, float, float]:
    """Segments a second: of one run, of a server for many clients, and for one of them."""
    requests = requests_of(pairs, random)
    batch = len(pairs) / (command_line(pairs) - command_line(pairs[:1]))
    rates = []
    for some, clients in ((requests, CLIENTS), (requests[: len(requests) // 3], 1)):
        with server() as (port, _):
            seen, seconds = asyncio.run(closed_loop(port, some, clients))
        rates.append(seen.segments / seconds)
    return batch, rates[0], rates[1]


def half_load(pairs: Sequence[Pair], capacity: float, random: Random) -> None:
    """How long requests take that come at random, at half of what a server can do."""
    requests = requests_of(pairs, random)
    rate = capacity / 2 * len(requests) / len(pairs)
    with server() as (port, _):
        half = asyncio.run(open_loop(port, requests, rate, HALF_LOAD, random))
    middle, high = percentiles(half.seconds)
    print(
        f"at half load: p50 {1000 * middle:.0f} ms, p99 {1000 * high:.0f} ms, {high / middle:.1f} "
        f"times p50; statuses {dict(half.statuses)}"
    )


def overload(pairs: Sequence[Pair], random: Random, minutes: float) -> bool:
    """Four times what a server can do, and what is left of it; whether the goals are met."""
    # A word more makes each text another one, since a server knows those that it has just seen.
    fresh = [
        (f"{text} {random.randrange(10**9)}", reference)
        for _ in range(6)
        for text, reference in pairs
    ]
    requests = requests_of(fresh, random)
    with server() as (port, process):
        warm, rest = requests[:200], requests[200:]
        seen, seconds = asyncio.run(closed_loop(port, warm, CLIENTS))
        rate = len(warm) / seconds
        print(f"capacity: {rate:.1f} requests a second, {seen.segments / seconds:.1f} segments")
        memory: list[int] = []

        async def watched() -> Seen:
            async def look() -> None:
                while True:
                    memory.append(resident(process))
                    await asyncio.sleep(1)

            looking = asyncio.create_task(look())
            try:
                return await open_loop(port, rest, OVERLOAD * rate, 60 * minutes, random)
            finally:
                looking.cancel()

        seen = asyncio.run(watched())
        began = time.perf_counter()
        status, took = asyncio.run(asked(port, requests_of([("a b", "a c")], random)[0][0]))
        settled = time.perf_counter() - began
    early = memory[len(memory) // 6]  # once queues are full
    growth = max(memory[len(memory) // 6 :]) / early - 1
    print(f"statuses: {dict(sorted(seen.statuses.items()))}; scored {seen.segments:,} segments")
    print(f"memory: {early / 1e6:.0f} MB early, {memory[-1] / 1e6:.0f} MB at the end,", end=" ")
    print(f"{growth:+.1%} at the most")
    print(f"afterwards: status {status} in {took:.2f} s")
    fine = set(seen.statuses) <= {OK, *BUSY}
    return fine and growth <= FLAT and status == OK and settled <= SETTLED


def main() -> None:
    """Measure, and exit with 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="wmt16-da")
    parser.add_argument("--segments", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--load", action="store_true", help="four times too much, for two minutes")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    asked_for = parser.parse_args()
    random = Random(0)
    pairs = pairs_of(asked_for.data, asked_for.segments, random)
    print(f"{len(pairs):,} segments, {THREADS} threads; load before: {os.getloadavg()[0]:.1f}")
    if asked_for.load:
        met = overload(pairs, random, asked_for.minutes)
    else:
        met = throughput(pairs, random, asked_for.rounds)
    print("goals met" if met else "a goal is missed")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
