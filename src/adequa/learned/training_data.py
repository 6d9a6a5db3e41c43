"""What a metric learns from: ratings with texts, and what is said of them afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Ratings
from adequa.segments import Segments


def rated_texts(ratings: Ratings) -> Segments:
    """The texts of ratings to learn from, or a sentence where there are none."""
    if ratings.segments is None:
        raise AdequaError(
            f"There are no texts in {ratings.name or 'these ratings'}; a metric learns from "
            'ratings with the columns "mt" and "ref".'
        )
    if not len(ratings):
        raise AdequaError("There are no ratings to learn from.")
    if not np.ptp(ratings.scores):
        raise AdequaError(
            f"A metric learns from ratings that differ, and of {len(ratings):,} here each is "
            f"{ratings.scores[0]:g}; give more judgements."
        )
    return ratings.segments


def data_facts(ratings: Ratings) -> dict[str, Any]:
    """What metric.json and the card say of the data: names, rows, language pairs."""
    facts: dict[str, Any] = {"data": ratings.name, "rows": len(ratings)}
    if ratings.kept.unused:
        facts["rows_not_used"] = dict(ratings.kept.unused)
    for column, named in (("dataset", "rows_by_dataset"), ("lp", "rows_by_language_pair")):
        if column in ratings.ids:
            names, counts = np.unique(np.array(ratings.ids[column]), return_counts=True)
            facts[named] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return facts
