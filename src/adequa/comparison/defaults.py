"""What a comparison takes where nothing is asked for; the command line says the same."""

from __future__ import annotations

METRICS = ("bleu", "chrf")  # of `adequa score` too
SEED = 12345  # sacreBLEU's: the same seed and the same numbers of resamples are the same resamples
RESAMPLES = 1000  # of the bootstrap
SWAPS = 10_000  # of approximate randomisation, as sacreBLEU has, and more for many systems
ALPHA = 0.05  # level of tests
CONFIDENCE = 0.95  # of intervals
