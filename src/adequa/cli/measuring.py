"""What verbs that measure metrics by human judgements share: which of these, and the scoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adequa.cli.inputs import MetricLoader

if TYPE_CHECKING:
    from adequa.agreement.selection import Selection
    from adequa.agreement.sources import Source
    from adequa.progress import Progress


def selection_of(lp: Sequence[str] | None, split: str | None) -> Selection:
    """The judgements that --lp and --split choose."""
    from adequa.agreement.selection import Selection
    from adequa.io.rankings import language_pair

    return Selection(
        lp=tuple(language_pair(pair) for pair in lp or ()), split=(split,) if split else ()
    )


@contextmanager
def scoring(
    metrics: Sequence[str], loading: MetricLoader, *, quiet: bool
) -> Iterator[tuple[tuple[Source, ...], Progress]]:
    """Metrics and files of scores, ready to score, and where the work reports to meanwhile."""
    from adequa.agreement.sources import sources
    from adequa.cli.progress import progress

    found = sources(metrics, loading)
    loading.check_device()
    with progress("Scoring", None, quiet=quiet) as work:
        yield found, work
