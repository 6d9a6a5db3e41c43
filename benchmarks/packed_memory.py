"""Peak memory of `adequa score` with a packed metric, by number of segments.

    python benchmarks/packed_memory.py [--segments 100000] [--folder FOLDER | --tiny] [--no-cache]

Synthetic sentences, a third of them repeated and a few longer than a model reads at once, go
through the command in a process of its own, with a cache in a new folder. Without a folder the
metric that ships with adequa is measured; `--tiny` measures everything around a model of almost no
size. Exits with 1 where the limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from adequa.pretrained import SHIPPED
from tiny_packed import tiny_packed

LIMIT = 1500  # MB
TEXT = (
    "the a of to and in that it was for on with as his they be at one have this from or had by "
    "word but what some we can out other were all there when up use your how said an each she "
    "which do their time if will way about many then them write would like so these her long make"
)
WORDS = TEXT.split()


def sentences(count: int, seed: int) -> Iterator[str]:
    """Sentences of 8 to 40 words; every third is one of a few hundred that are repeated."""
    random = Random(seed)
    common = [_sentence(random, random.randint(8, 40)) for _ in range(500)]
    for index in range(count):
        if index % 3 == 0:
            yield random.choice(common)
        else:
            yield _sentence(random, random.randint(8, 40) if index % 5000 else 700)


def _sentence(random: Random, length: int) -> str:
    return " ".join(random.choices(WORDS, k=length)) + f" {random.randrange(10**6)}."


def write(path: Path, count: int, seed: int) -> None:
    """A file of sentences."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{sentence}\n" for sentence in sentences(count, seed))


def main() -> int:
    """Measure; return 1 where the limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--folder", default=str(SHIPPED["adequa"]))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--no-cache", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = arguments.folder
        if arguments.tiny:
            folder = str(tiny_packed(Path(directory) / "metric"))
        for name, seed in (("hyp.txt", 1), ("ref.txt", 2)):
            write(Path(directory) / name, arguments.segments, seed)
        command = [sys.executable, "-m", "adequa", "score", "-t", "hyp.txt", "-r", "ref.txt"]
        command += ["-m", folder, *(["--no-cache"] if arguments.no_cache else [])]
        started = time.perf_counter()
        subprocess.run(
            command, cwd=directory, env={**os.environ, "ADEQUA_CACHE": directory}, check=True
        )
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{arguments.segments:,} segments in {seconds:.0f} s: at most {peak:,.0f} MB of {LIMIT:,}"
    )
    return int(peak > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
