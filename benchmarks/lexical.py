"""Speed of lexical scoring against sacreBLEU and the METEOR jar, in one run, as ratios.

    ADEQUA_DATA=FOLDER python benchmarks/lexical.py [--segments 3000] [--rounds 5]

Reads WMT16 direct-assessment segments from the data folder. Every measurement is a fresh process
(the caches of one rival never help the other), rivals take turns, and the fastest round
counts. Against sacreBLEU it is the CPU time of scoring alone; against the jar, which spreads over
cores, the wall-clock time of the whole command, start-up included. Exits with 1 where a limit is
exceeded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from meteor_jar import jar_command, missing
from timing import command_cpu_seconds

# Each program gets two files and prints the CPU seconds of its work.
TIMED = """
import sys, time
texts = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
hypotheses, references = (text.split("\\n")[:-1] for text in texts)
{prepare}
started = time.process_time()
{work}
print(time.process_time() - started)
"""
OURS = """
from adequa import load_metric
from adequa.segments import as_segments
metric, segments = load_metric("{name}"), as_segments(hypotheses, references)
"""
OUR_SYSTEM = "metric.system_scores(metric.statistics(segments).sum(axis=0, keepdims=True))"
OUR_SEGMENTS = "metric.score(segments)"
THEIRS = "import sacrebleu; metric = sacrebleu.{make}"
THEIR_SYSTEM = "metric.corpus_score(hypotheses, [references])"
THEIR_SEGMENTS = (
    f"{THEIR_SYSTEM}; [metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references)]"
)

METEOR_MODES = ("exact", "exact+stem", "exact+stem+synonym", "exact+stem+synonym+paraphrase")
START_UP_LIMIT = 0.3  # seconds of CPU time


@dataclass(frozen=True)
class Duel:
    """Two commands that do the same work; ours may take at most `limit` times theirs."""

    what: str
    ours: list[str]
    theirs: list[str]
    limit: float
    whole_command: bool = False


def duels(hypotheses: Path, references: Path) -> Iterator[Duel]:
    """Every comparison that has a limit."""
    files = [str(hypotheses), str(references)]

    def timed(prepare: str, work: str) -> list[str]:
        return [sys.executable, "-c", TIMED.format(prepare=prepare, work=work), *files]

    for name, make in (("bleu", "BLEU"), ("chrf", "CHRF")):
        ours = OURS.format(name=name)
        yield Duel(
            f"{name}, system score",
            timed(ours, OUR_SYSTEM),
            timed(THEIRS.format(make=f"{make}()"), THEIR_SYSTEM),
            1.1,
        )
        each = "BLEU(effective_order=True)" if name == "bleu" else "CHRF()"
        yield Duel(
            f"{name}, system and segment scores",
            timed(ours, OUR_SEGMENTS),
            timed(THEIRS.format(make=each), THEIR_SEGMENTS),
            1.1,
        )
    if missing():
        print(f"METEOR is left out: {missing()}.", file=sys.stderr)
        return
    for modules in METEOR_MODES:
        command = [sys.executable, "-m", "adequa", "score", "-t", files[0], "-r", files[1]]
        yield Duel(
            f"meteor, {modules}",
            [*command, "-m", f"meteor:modules={modules}", "--segments"],
            jar_command(hypotheses, references, modules, "-norm"),
            5,
            whole_command=True,
        )


def seconds(duel: Duel, command: list[str]) -> float:
    """Seconds of one run of a command."""
    started = time.perf_counter()
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    if duel.whole_command:
        return time.perf_counter() - started
    return float(finished.stdout)


def shortest_times(duel: Duel, rounds: int) -> tuple[float, float]:
    """Our shortest time and theirs, measured in turns."""
    times = [(seconds(duel, duel.ours), seconds(duel, duel.theirs)) for _ in range(rounds)]
    return min(ours for ours, _ in times), min(theirs for _, theirs in times)


def start_up(rounds: int) -> float:
    """CPU seconds of `adequa --help`."""
    command = [sys.executable, "-m", "adequa", "--help"]
    return min(command_cpu_seconds(command) for _ in range(rounds))


def write_segments(folder: Path, count: int) -> tuple[Path, Path]:
    """The first segments of WMT16 as a file of hypotheses and one of references."""
    data = os.environ.get("ADEQUA_DATA")
    if not data:
        sys.exit("Set ADEQUA_DATA to the folder that holds wmt16-da.jsonl.gz.")
    with gzip.open(Path(data, "wmt16-da.jsonl.gz"), "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in islice(file, count)]
    hypotheses, references = folder / "hypotheses.txt", folder / "references.txt"
    for path, field in ((hypotheses, "mt"), (references, "ref")):
        path.write_text("".join(f"{row[field]}\n" for row in rows), encoding="utf-8", newline="\n")
    return hypotheses, references


def main() -> int:
    """Print the table; 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    succeeds = True
    print(f"{'':42}{'ours s':>9}{'theirs s':>10}{'ratio':>8}{'limit':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for duel in duels(*write_segments(Path(folder), arguments.segments)):
            ours, theirs = shortest_times(duel, arguments.rounds)
            ratio = ours / theirs
            succeeds &= ratio <= duel.limit
            print(
                f"{duel.what:42}{ours:9.2f}{theirs:10.2f}{ratio:8.2f}{duel.limit:8.1f}", flush=True
            )
    start_seconds = start_up(arguments.rounds)
    succeeds &= start_seconds <= START_UP_LIMIT
    print(f"{'start-up, adequa --help, CPU':42}{start_seconds:9.2f}{'':18}{START_UP_LIMIT:8.1f}")
    return 0 if succeeds else 1


if __name__ == "__main__":
    sys.exit(main())
