"""Rows a second of metrics on one device, from which the costs in docs/scale.md are computed.

    python benchmarks/rates.py -m bleu -m chrf -m adequa:threads=1
    python benchmarks/rates.py -m FOLDER --device cuda --rows 200000

Rows are two sentences of the examples with words replaced, against the sentences themselves:
about the length of news, and all different. On a CPU, rows per second of processor time count,
which other work on the machine does not change; on a GPU, those per second of wall-clock time.
"""

from __future__ import annotations

import argparse
import random
import time

from adequa.scoring.manifest import load_with
from adequa.segments import Segments
from texts import SENTENCES, WORDS, with_replaced_words

REPLACED = 0.25  # fraction of the words of a reference
WARM_UP = 64  # rows before the clock starts


def row(draw: random.Random) -> tuple[str, str]:
    """A hypothesis and its reference."""
    words = " ".join(draw.sample(SENTENCES, 2)).split()
    changed = with_replaced_words(draw, words, REPLACED, WORDS)
    return changed, " ".join([*words, str(draw.randrange(10**6))])


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
    print(f"{args.rows:,} rows of {words:.1f} words on average")
    for name in args.metric:
        metric, _ = load_with(name, {"device": args.device})
        metric.score(segments(draw, WARM_UP))
        clock, processor = time.perf_counter(), time.process_time()
        metric.score(texts)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        print(
            f"{name}: {args.rows / clock:,.0f} rows a second of the clock, "
            f"{args.rows / processor:,.0f} a second of processor time"
        )


if __name__ == "__main__":
    main()
