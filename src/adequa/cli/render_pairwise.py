"""What the training of a pairwise ranker shows at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adequa.cli.output import aligned
from adequa.errors import printable

if TYPE_CHECKING:
    from adequa.learned.pairwise.metric import PairwiseRanker


def report(metric: PairwiseRanker, folder: str) -> Iterator[str]:
    """What was learnt, how well it agrees with people, and how to use it."""
    from adequa.learned.cards import three_digits

    found, facts = metric.agreement_, metric.training_
    yield f"{metric.name}: learnt from {facts['rows']:,} preferences"
    yield f" ({facts['data']})\n" if facts["data"] else "\n"
    yield f"kept {metric.chosen_epoch} by the strict tau on "
    yield f"{found['held_out_rows']:,} preferences, {three_digits(found['tau'])}\n\n"
    by_pair = found["by_language_pair"]
    rows = [
        ["validated on", "preferences", "tau"],
        *([name or "all", f"{f['rows']:,}", three_digits(f["tau"])] for name, f in by_pair.items()),
    ]
    yield from aligned(lambda: rows, right=(1, 2))
    yield printable(
        f"saved in {folder}; use it with: adequa rank -m {folder} -t FILE -t FILE -r FILE"
    ).join(["\n", "\n"])
