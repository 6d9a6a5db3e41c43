"""What lexical scoring costs here, beside sacreBLEU and the METEOR jar, in one run, as ratios.

    ADEQUA_DATA=FOLDER python benchmarks/lexical.py [--segments 3000] [--rounds 5]

Reads WMT16 direct-assessment segments from the data folder. Every measurement is a fresh process
(caches of one rival never help the other), rivals take turns, and the least CPU time of the rounds
counts. Within the process only scoring is timed, except for METEOR and start-up, where the whole
command is. Exits with 1 where a ratio is over its limit.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ADEQUA = """
import sys, time
from adequa import load_metric
from adequa.scoring.api import as_segments
metric, segments = load_metric(sys.argv[1]), as_segments(*({lines}))
metric.make_scorer(for_segments=False) if hasattr(metric, "make_scorer") else None
started = time.process_time()
{work}
print(time.process_time() - started)
"""
LINES = "open(path, encoding='utf-8').read().split('\\n')[:-1] for path in sys.argv[2:4]"
SYSTEM = "metric.system_scores(metric.statistics(segments).sum(axis=0, keepdims=True))"
EACH = "metric.score(segments)"

SACREBLEU = """
import sys, time
import sacrebleu
metric, (hypotheses, references) = sacrebleu.{make}, ({lines})
started = time.process_time()
{work}
print(time.process_time() - started)
"""
CORPUS = "metric.corpus_score(hypotheses, [references])"
SENTENCES = (
    "metric.corpus_score(hypotheses, [references]);"
    "[metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references)]"
)


@dataclass(frozen=True)
class Duel:
    """Two commands that do the same work; ours may cost at most `limit` times theirs."""

    what: str
    ours: list[str]
    theirs: list[str] | None
    limit: float | None
    whole_command: bool = False  # time the process, not what it prints


def duels(hypotheses: Path, references: Path) -> list[Duel]:
    files = [str(hypotheses), str(references)]

    def ours(metric: str, work: str) -> list[str]:
        return [sys.executable, "-c", ADEQUA.format(lines=LINES, work=work), metric, *files]

    def sacrebleu(make: str, work: str) -> list[str]:
        code = SACREBLEU.format(make=make, lines=LINES, work=work)
        return [sys.executable, "-c", code, "-", *files]

    return [
        Duel("bleu, system", ours("bleu", SYSTEM), sacrebleu("BLEU()", CORPUS), 1.1),
        Duel("chrf, system", ours("chrf", SYSTEM), sacrebleu("CHRF()", CORPUS), 1.1),
        Duel("chrf++, system", ours("chrf++", SYSTEM), sacrebleu("CHRF(word_order=2)", CORPUS), 1.1),
        Duel(
            "bleu, system and segments",
            ours("bleu", EACH),
            sacrebleu("BLEU(effective_order=True)", SENTENCES),
            1.1,
        ),
        Duel("chrf, system and segments", ours("chrf", EACH), sacrebleu("CHRF()", SENTENCES), 1.1),
    ]


def cpu_seconds(command: list[str], *, whole_command: bool) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if whole_command:
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(shown.stdout.splitlines()[-1])


def fought(duel: Duel, rounds: int) -> tuple[float, float | None]:
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(cpu_seconds(duel.ours, whole_command=duel.whole_command))
        if duel.theirs is not None:
            theirs.append(cpu_seconds(duel.theirs, whole_command=duel.whole_command))
    return min(ours), min(theirs, default=None)
