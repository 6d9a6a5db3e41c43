"""Rows a second of metrics on one device, which the costs in docs/scale.md are worked out from.

    python benchmarks/rates.py -m bleu -m chrf -m adequa:threads=1
    python benchmarks/rates.py -m FOLDER --device cuda --rows 200000

Rows are two sentences of the examples with some words changed, against the sentences as they were:
about the length of news, and all different. On a CPU, rows by second of processor time count: other
work on the machine does not show in them. On a GPU it is the time on the clock.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from adequa.scoring.manifest import load_with
from adequa.segments import Segments

SENTENCES = (
    (Path(__file__).parent.parent / "examples" / "reference.txt")
    .read_text(encoding="utf-8")
    .splitlines()
)
WORDS = " ".join(SENTENCES).split()
_KEPT = 0.75  # of the words of a reference
_WARM = 64  # rows before the clock starts


def row(draw: random.Random) -> tuple[str, str]:
    """A hypothesis and its reference."""
    words = " ".join(draw.sample(SENTENCES, 2)).split()
    changed = [word if draw.random() < _KEPT else draw.choice(WORDS) for word in words]
    return " ".join(changed), " ".join([*words, str(draw.randrange(10**6))])


def segments(draw: random.Random, count: int) -> Segments:
    """So many rows."""
    hypotheses, references = zip(*(row(draw) for _ in range(count)), strict=True)
    return Segments(hypotheses, tuple((reference,) for reference in references))


def main() -> None:
    """Measure each metric."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--metric", action="append", required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--device")
    args = parser.parse_args()
    draw = random.Random(0)
    texts = segments(draw, args.rows)
    words = sum(len(text.split()) for text in texts.hypotheses) / len(texts)
    print(f"{args.rows:,} rows of {words:.1f} words on the average")
    for name in args.metric:
        metric, _ = load_with(name, {"device": args.device})
        metric.score(segments(draw, _WARM))
        clock, processor = time.perf_counter(), time.process_time()
        metric.score(texts)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(
            f"{name}: {args.rows / clock:,.0f} rows a second of the clock, "
            f"{args.rows / processor:,.0f} a second of processor time"
        )


if __name__ == "__main__":
    main()
