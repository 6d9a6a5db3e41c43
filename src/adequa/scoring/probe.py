"""Whether a metric works, here and now: whether it scores a plain sentence.

A worker may lack what the driver has (a GPU, a library, a file), and may lose it amid the work:
then every row would fail, and none of them for its text.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.segments import Segments

_numbers = count(1)  # what a metric remembers of texts would say nothing of how it is now


class SickMetricError(AdequaError):
    """A metric that scores nothing any more: no row and no shard is to blame."""


def check_works(column: str, metric: Metric) -> None:
    """Raise what is wrong with a metric itself, before any row is blamed for it."""
    times = next(_numbers)
    plain = Segments(
        (f"A cat sat there {times} times.",),
        ((f"The cat sat there {times} times.",),),
        ids=dict.fromkeys(metric.columns, ("0.5",)),
    )
    try:
        score = metric.segment_scores(metric.checked_statistics(plain))
    except AdequaError as error:
        raise SickMetricError(str(error)) from error
    except Exception as error:
        raise SickMetricError(
            f"{column} cannot score so much as a plain sentence: {in_words(error)}"
        ) from error
    if not np.isfinite(score).all():
        raise SickMetricError(f"{column} makes no number of so much as a plain sentence.")


def in_words(error: Exception) -> str:
    """What went wrong, on one line and as a sentence.

    >>> in_words(KeyError("dogs"))
    "KeyError: 'dogs'."
    """
    if isinstance(error, AdequaError):
        return str(error)
    first = str(error).strip().partition("\n")[0]
    return ": ".join(filter(None, [type(error).__name__, first])).rstrip(".") + "."
