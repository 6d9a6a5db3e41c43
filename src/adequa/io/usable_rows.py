"""Which rows of a file can be used, and why the others cannot: counted, never just dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Kept


def kept_rows(name: str, problems: Mapping[str, Sequence[bool]], count: int) -> Kept:
    """The rows without a problem; each of the others counts once, for its first one.

    >>> kept = kept_rows("t.tsv", {"no score": [True, False], "no text": [True, False]}, 2)
    >>> kept.rows, dict(kept.unused)
    (array([1]), {'no score': 1})
    """
    usable = np.ones(count, dtype=bool)
    unused = {}
    for reason, rows in problems.items():
        hit = usable & np.asarray(rows, dtype=bool)
        if hit.any():
            unused[reason] = int(hit.sum())
        usable &= ~hit
    if not usable.any():
        reasons = ", ".join(f"{reason} ({times})" for reason, times in unused.items())
        raise AdequaError(f"{name} has no usable row among {count}: {reasons}.")
    return Kept(np.flatnonzero(usable), count, unused)
