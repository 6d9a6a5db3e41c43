"""Throughput and latency of the service, beside `adequa score` on the same segments in one run.

    ADEQUA_DATA=FOLDER python benchmarks/service.py [--segments N] [--load]

Different pairs of a hypothesis and a reference (WMT16, or generated ones without the data) are
scored with the metric that ships on two threads:

- by one `adequa score` of all pairs, less the time of the same command on one segment;
- by a server with 32 clients; each sends the next 1 to 8 segments when it has an answer;
- by a server with one such client: one request at a time;
- by a server whose requests arrive at random, at half the rate that it answered before: their
  latency, and p99 as a multiple of p50.

Every server is a fresh one, so that it has seen none of the texts. Clients and server share the
CPUs. All but the last take turns, each time on other segments; the median of the rounds counts.

With `--load` instead, requests arrive for two minutes at four times the rate that the server can
answer. All must be answered or refused, memory must stay flat, and the server must answer as before
within seconds. Exits with 1 if a goal is missed.
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

from texts import NEWS_WORDS, TextPair, dataset_pairs

THREADS = 2
CLIENTS = 32
LARGEST = 8  # segments of a request
GOAL_OF_BATCH, GOAL_OF_ONE = 0.8, 4.0
OVERLOAD, MINUTES = 4.0, 2.0
FLAT = 0.1  # by how much memory may grow under load
HALF_LOAD = 40.0  # seconds
SETTLED = 10.0  # seconds after which a server answers as before
OK, BUSY = 200, (429, 503)


@dataclass
class Observations:
    """What clients observed: statuses, and seconds until an answer."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    segments: int = 0  # that were scored


def load_pairs(data: str, count: int, random: Random) -> list[TextPair]:
    """Distinct pairs of texts, in random order."""
    pairs = dataset_pairs(data)
    if pairs is not None:
        random.shuffle(pairs)
        return pairs[:count]

    def text(length: int) -> str:
        return " ".join(random.choices(NEWS_WORDS, k=length))

    lengths = [random.randint(8, 40) for _ in range(count)]
    return [(text(length), text(length)) for length in lengths]


def requests_of(pairs: Sequence[TextPair], random: Random) -> list[tuple[bytes, int]]:
    """Requests of 1 to 8 segments in bytes, each with its number of segments."""
    requests, start = [], 0
    while start < len(pairs):
        end = min(start + random.randint(1, LARGEST), len(pairs))
        rows = [{"mt": text, "ref": reference} for text, reference in pairs[start:end]]
        body = json.dumps({"rows": rows, "metrics": ["adequa"]}).encode()
        head = (
            "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        requests.append((head.encode() + body, end - start))
        start = end
    return requests


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
            status, _ = await request_once(port, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except OSError:
            status = 0
        if status == OK:
            return
        await asyncio.sleep(0.1)


async def request_once(port: int, request: bytes) -> tuple[int, float]:
    """Send a request on a new connection; return its status and seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await exchange(reader, writer, request)
    finally:
        writer.close()


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, float]:
    """Send a request on an open connection; return its status and seconds."""
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
) -> tuple[Observations, float]:
    """Clients that each send the next request when they have an answer."""
    observed, remaining = Observations(), iter(requests)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request, count in remaining:
            status, seconds = await exchange(reader, writer, request)
            observed.statuses[status] += 1
            observed.seconds.append(seconds)
            observed.segments += count if status == OK else 0
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return observed, time.perf_counter() - began


async def open_loop(
    port: int, requests: Sequence[tuple[bytes, int]], rate: float, seconds: float, random: Random
) -> Observations:
    """Requests that arrive at random at a given rate, whether others are answered or not."""
    observed = Observations()
    tasks: set[asyncio.Task[None]] = set()

    async def one(request: bytes, count: int) -> None:
        try:
            status, took = await request_once(port, request)
        except (OSError, asyncio.IncompleteReadError):
            status, took = 0, 0.0  # a connection that broke
        observed.statuses[status] += 1
        if status == OK:
            observed.seconds.append(took)
            observed.segments += count

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
    return observed


def command_line(pairs: Sequence[TextPair]) -> float:
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
    """Resident memory of a process in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99."""
    return float(np.percentile(seconds, 50)), float(np.percentile(seconds, 99))


def throughput(pairs: Sequence[TextPair], random: Random, rounds: int) -> bool:
    """Measure all ways in turn, each time on other segments; return whether the goals are met."""
    rates = []
    for start in range(rounds):
        rates.append(one_round(pairs[start::rounds], random))
        batch, together, alone = rates[-1]
        print(
            f"round {start + 1}: adequa score {batch:.1f} segments a second; server, {CLIENTS} "
            f"clients {together:.1f}, {together / batch:.2f} of that; one request at a time "
            f"{alone:.1f}, {together / alone:.2f} times as many with {CLIENTS} clients"
        )
    of_batch = median(together / batch for batch, together, _ in rates)
    of_one = median(together / alone for _, together, alone in rates)
    print(f"median of rounds: {of_batch:.2f} of one run (goal {GOAL_OF_BATCH}),", end=" ")
    print(f"{of_one:.2f} times one request at a time (goal {GOAL_OF_ONE:g})")
    half_load(pairs, median(together for _, together, _ in rates), random)
    return of_batch >= GOAL_OF_BATCH and of_one >= GOAL_OF_ONE


def one_round(pairs: Sequence[TextPair], random: Random) -> tuple[float, float, float]:
    """Segments a second: of one run, of a server for many clients, and for one of them."""
    requests = requests_of(pairs, random)
    batch = len(pairs) / (command_line(pairs) - command_line(pairs[:1]))
    rates = []
    for selected, clients in ((requests, CLIENTS), (requests[: len(requests) // 3], 1)):
        with server() as (port, _):
            observed, seconds = asyncio.run(closed_loop(port, selected, clients))
        rates.append(observed.segments / seconds)
    return batch, rates[0], rates[1]


def half_load(pairs: Sequence[TextPair], capacity: float, random: Random) -> None:
    """Latency of requests that arrive at random, at half the rate that a server can answer."""
    requests = requests_of(pairs, random)
    rate = capacity / 2 * len(requests) / len(pairs)
    with server() as (port, _):
        half = asyncio.run(open_loop(port, requests, rate, HALF_LOAD, random))
    middle, high = percentiles(half.seconds)
    print(
        f"at half load: p50 {1000 * middle:.0f} ms, p99 {1000 * high:.0f} ms, {high / middle:.1f} "
        f"times p50; statuses {dict(half.statuses)}"
    )


def overload(pairs: Sequence[TextPair], random: Random, minutes: float) -> bool:
    """Send four times what a server can answer; return whether the goals are met."""
    # A further word makes each text new, because a server caches the texts that it has just scored.
    fresh = [
        (f"{text} {random.randrange(10**9)}", reference)
        for _ in range(6)
        for text, reference in pairs
    ]
    requests = requests_of(fresh, random)
    with server() as (port, process):
        warm, rest = requests[:200], requests[200:]
        observed, seconds = asyncio.run(closed_loop(port, warm, CLIENTS))
        rate = len(warm) / seconds
        print(f"capacity: {rate:.1f} requests a second, {observed.segments / seconds:.1f} segments")
        memory: list[int] = []

        async def load() -> Observations:
            async def watch_memory() -> None:
                while True:
                    memory.append(resident(process))
                    await asyncio.sleep(1)

            watching = asyncio.create_task(watch_memory())
            try:
                return await open_loop(port, rest, OVERLOAD * rate, 60 * minutes, random)
            finally:
                watching.cancel()

        observed = asyncio.run(load())
        began = time.perf_counter()
        status, took = asyncio.run(request_once(port, requests_of([("a b", "a c")], random)[0][0]))
        settled = time.perf_counter() - began
    early = memory[len(memory) // 6]  # once queues are full
    growth = max(memory[len(memory) // 6 :]) / early - 1
    statuses = dict(sorted(observed.statuses.items()))
    print(f"statuses: {statuses}; scored {observed.segments:,} segments")
    print(f"memory: {early / 1e6:.0f} MB early, {memory[-1] / 1e6:.0f} MB at the end,", end=" ")
    print(f"{growth:+.1%} at the most")
    print(f"afterwards: status {status} in {took:.2f} s")
    fine = set(observed.statuses) <= {OK, *BUSY}
    return fine and growth <= FLAT and status == OK and settled <= SETTLED


def main() -> None:
    """Measure, and exit with 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="wmt16-da")
    parser.add_argument("--segments", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--load", action="store_true", help="four times the capacity, for two minutes"
    )
    parser.add_argument("--minutes", type=float, default=MINUTES)
    arguments = parser.parse_args()
    random = Random(0)
    pairs = load_pairs(arguments.data, arguments.segments, random)
    print(f"{len(pairs):,} segments, {THREADS} threads; load before: {os.getloadavg()[0]:.1f}")
    if arguments.load:
        met = overload(pairs, random, arguments.minutes)
    else:
        met = throughput(pairs, random, arguments.rounds)
    print("goals met" if met else "a goal is missed")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
