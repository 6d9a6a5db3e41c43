"""What a training shows at its end: how it was chosen, and how well it agrees with people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adequa.cli.output import aligned
from adequa.errors import printable

if TYPE_CHECKING:
    from adequa.learned.base import LearnedMetric
    from adequa.learned.ensemble import Ensemble


def report(metric: LearnedMetric, folder: str) -> Iterator[str]:
    """The report of a regressor over features that was just trained and saved."""
    from adequa.learned.cards import three_digits

    found, facts = metric.agreement_, metric.training_
    chosen = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value:,}"
        for key, value in facts["chosen"].items()
    )
    yield f"{metric.name}: learnt from {facts['rows']:,} ratings"
    yield f" ({facts['data']})\n" if facts["data"] else "\n"
    count, tried = found["settings_tried"], found.get("tried", "setting")
    yield f"one {tried};" if count == 1 else f"chosen among {count:,} {tried}s by"
    yield " Pearson on what was held out, "
    yield f"{three_digits(found['criterion_pearson'])}: {chosen}\n\n"
    lines = {"all": found["all"]} | found.get("by_language_pair", {})
    rows = [
        ["held out", "ratings", "Pearson", "Kendall"],
        *(
            [name, f"{f['rows']:,}", three_digits(f["pearson"]), three_digits(f["kendall"])]
            for name, f in lines.items()
        ),
    ]
    yield from aligned(lambda: rows, right=(1, 2, 3))
    yield how_to_use(folder)


def ensemble_report(made: Ensemble, folder: str) -> Iterator[str]:
    """The report of an ensemble that was just put together and saved."""
    rows = [
        ["part", "name", "kind", "learnt from", "share"],
        *(
            [
                *(str(number), part.metric.name, part.metric.kind),
                *("; ".join(part.training_data()), f"{part.share:g}"),
            ]
            for number, part in enumerate(made.parts, 1)
        ),
    ]
    yield f"{made.name}: the mean of {len(made.parts)} metrics\n\n"
    yield from aligned(lambda: rows)
    yield how_to_use(folder)


def how_to_use(folder: str) -> str:
    """The last line of every report."""
    from adequa.metrics.registry import METRICS

    # A bare word that is a metric's name would be taken for that metric.
    named = f"./{folder}" if folder in METRICS else folder
    return printable(
        f"saved in {folder}; use it with: adequa score -m {named} -t FILE -r FILE"
    ).join(["\n", "\n"])
