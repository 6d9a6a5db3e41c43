"""Corpora of shards: rows a second of both engines as the corpus grows, and the memory it takes.

    python benchmarks/scale.py                  # the local engine and Ray, as the corpus grows
    python benchmarks/scale.py --metric adequa --rows 50000 --shards 8
    python benchmarks/scale.py --memory --rows 10000000 --shards 50

Segments are of 5 to 8 words and all different, so that no cache helps. Ray's cluster is started
before the clock is; workers, which load the metric, are not. What both engines write is compared.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import tempfile
import time
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adequa.runtime.threads import available_cpus
from adequa.scoring.corpus import CorpusScores, score_corpus
from texts import EXAMPLES, with_replaced_words

WORDS = [
    word for path in EXAMPLES.glob("*.txt") for word in path.read_text(encoding="utf-8").split()
]
REPLACED = 0.3  # fraction of the words of a reference
PART = 50_000  # rows that are written at a time


def sentence(draw: random.Random) -> str:
    """A few words, in no sensible order."""
    return " ".join(draw.choices(WORDS, k=draw.randint(5, 8)))


def make_corpus(folder: Path, rows: int, shards: int) -> str:
    """Shards of Parquet with so many rows together."""
    folder.mkdir(parents=True)
    draw = random.Random(0)
    schema = pa.schema([("id", pa.int64()), ("mt", pa.string()), ("ref", pa.string())])
    for shard in range(shards):
        left = range(rows * shard // shards, rows * (shard + 1) // shards)
        with pq.ParquetWriter(folder / f"{shard:05}.parquet", schema) as writer:
            for start in range(0, len(left), PART):
                ids = list(left[start : start + PART])
                references = [sentence(draw) for _ in ids]
                texts = [
                    with_replaced_words(draw, reference.split(), REPLACED, WORDS)
                    for reference in references
                ]
                columns = {"id": ids, "mt": texts, "ref": references}
                writer.write_table(pa.table(columns, schema=schema))
    return str(folder)


def digest(folder: Path) -> str:
    """The digest of all rows that were written."""
    sha256 = hashlib.sha256()
    for path in sorted(folder.glob("*.parquet")):
        sha256.update(path.read_bytes())
    return sha256.hexdigest()[:12]


def timed(inputs: str, output: Path, metric: str, **options: Any) -> tuple[float, CorpusScores]:
    """Seconds that a corpus takes."""
    began = time.perf_counter()
    scored = score_corpus(inputs, output, metric, **options)
    return time.perf_counter() - began, scored


def peak_megabytes() -> float:
    """The peak memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure_memory(folder: Path, rows: int, shards: int, metric: str) -> None:
    """One worker in this process, whose peak memory is printed."""
    inputs = make_corpus(folder / "in", rows, shards)
    before = peak_megabytes()
    seconds, scored = timed(inputs, folder / "out", metric, workers=1)
    print(
        f"{metric}, local, 1 worker: {scored.rows:,} rows in {shards} shards, {seconds:.0f} s, "
        f"{scored.rows / seconds:,.0f} rows a second; memory at most {peak_megabytes():,.0f} MB "
        f"(after making the corpus: {before:,.0f} MB)"
    )


def measure_engines(folder: Path, sizes: list[int], args: argparse.Namespace) -> None:
    """Both engines on corpora of different sizes, one after the other in every round."""
    ray: Any = import_module("ray")  # the local engine needs none
    workers = args.workers or available_cpus()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    print(f"{args.metric}, {workers} workers, {args.shards} shards, {args.rounds} rounds (medians)")
    print(f"{'rows':>9}  {'local rows/s':>12}  {'ray rows/s':>12}  {'ray/local':>9}  same bytes")
    medians: dict[str, dict[int, float]] = {"local": {}, "ray": {}}
    for rows in sizes:
        inputs = make_corpus(folder / f"in-{rows}", rows, args.shards)
        seconds: dict[str, list[float]] = {"local": [], "ray": []}
        digests = set()
        for _ in range(args.rounds):
            for engine, times in seconds.items():
                out = folder / f"{engine}-{rows}"
                times.append(timed(inputs, out, args.metric, engine=engine, workers=workers)[0])
                digests.add(digest(out))
                shutil.rmtree(out)
        for engine, times in seconds.items():
            medians[engine][rows] = median(times)
        rates = [rows / medians[engine][rows] for engine in seconds]
        ratio = median(local / on_ray for local, on_ray in zip(*seconds.values(), strict=True))
        same = "yes" if len(digests) == 1 else "NO"
        print(f"{rows:>9,}  {rates[0]:>12,.0f}  {rates[1]:>12,.0f}  {ratio:>9.2f}  {same}")
        print(f"{'':9}  {paired(seconds)}", flush=True)
    ray.shutdown()
    for engine, of_sizes in medians.items():
        print_line(engine, of_sizes)


def paired(seconds: dict[str, list[float]]) -> str:
    """The seconds of every round."""
    return ", ".join(f"{a:.1f}/{b:.1f} s" for a, b in zip(*seconds.values(), strict=True))


def print_line(engine: str, of_sizes: dict[int, float]) -> None:
    """How far the sizes between the least and the largest are off the line through those two."""
    if len(of_sizes) <= 2:  # noqa: PLR2004  # any two lie on a line
        return
    least, *between, largest = sorted(of_sizes)
    slope = (of_sizes[largest] - of_sizes[least]) / (largest - least)
    start = of_sizes[least] - slope * least
    off = max(abs(of_sizes[rows] / (start + slope * rows) - 1) for rows in between)
    print(f"{engine}: {start:.1f} s and {1 / slope:,.0f} rows a second; at most {off:.0%} off that")


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--metric", default="bleu")
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="adequa-scale-"))
    try:
        if args.memory:
            (rows,) = args.rows or [10_000_000]
            measure_memory(folder, rows, args.shards, args.metric)
        else:
            measure_engines(folder, args.rows or [10_000, 50_000, 200_000], args)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
