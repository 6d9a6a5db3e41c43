"""Scores a corpus and kills itself: python killed_scoring.py INPUT OUTPUT WORKERS ROWS [MIN_SCORE].

With a lowest score it filters the corpus. The kill comes when so many rows are told of; units are
of ten rows, so it may be amid a shard.
"""

from __future__ import annotations

import os
import signal
import sys

from adequa.io import shards
from adequa.scoring.corpus import CorpusProgress, score_corpus
from adequa.scoring.filter import filter_corpus


def main(inputs: str, output: str, workers: str, rows: str, min_score: str = "") -> None:
    def report(tally: CorpusProgress) -> None:
        if tally.rows >= int(rows):
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(shards, "UNIT_ROWS", 10)  # noqa: B010  # mypy knows it as another module's
    if min_score:
        bound = float(min_score)
        filter_corpus(
            inputs, output, "chrf", min_score=bound, workers=int(workers), progress=report
        )
    score_corpus(inputs, output, "chrf", workers=int(workers), progress=report)


if __name__ == "__main__":
    main(*sys.argv[1:])
