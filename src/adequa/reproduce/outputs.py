"""Scores of whole systems from all their outputs, for tables that compare systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adequa.agreement.evaluate import reference_count
from adequa.agreement.groups import numbered
from adequa.agreement.protocol import Protocol
from adequa.agreement.sources import Texts, sources, text_statistics
from adequa.agreement.system_level import SystemRows, ranked_systems, system_scores
from adequa.errors import AdequaError
from adequa.judgements import Judgements, RatedSystems, identified
from adequa.metrics.base import Metric
from adequa.progress import Progress
from adequa.reproduce.table import Scored, Scores


def of_outputs(made: Callable[[], Metric]) -> Scores:
    """How one metric scores systems: by its system score of all outputs of each.

    The metric is made when a row is measured, so that a table can be listed without it. Its
    signature is what tells others how the scores were made.
    """

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        if not isinstance(judgements, RatedSystems) or judgements.outputs is None:
            raise AdequaError(
                f"{identified(judgements).name} has no outputs of whole systems to score."
            )
        (source,) = sources([made()])
        outputs = judgements.outputs
        keys = list(zip(outputs.ids["lp"], outputs.ids["system"], strict=True))
        corpora = list(map("\t".join, keys))
        texts = Texts(outputs.ids, outputs, judgements.file_rows)
        statistics = text_statistics(source, texts, corpora, progress, repeated=True)
        rows = SystemRows(systems=numbered(corpora)[0], segments=np.arange(len(keys)))
        pairs, systems = zip(*dict.fromkeys(keys), strict=True)
        return Scored(
            scores=system_scores(source, statistics, rows),
            settings=source.signature(reference_count(judgements), "system"),
            ids={"lp": pairs, "system": systems},
        )

    return scored


def of_compared(made: Callable[[], Metric]) -> Scores:
    """How one metric scores systems whose outputs people compared: by all outputs that they saw."""

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        (source,) = sources([made()])
        ranked = ranked_systems(judgements, [source], Protocol(level="system"), progress)
        keys = [(found.name, system) for found in ranked for system in found.systems]
        pairs, systems = zip(*keys, strict=True)
        return Scored(
            scores=np.concatenate([found.scores[0] for found in ranked]),
            settings=source.signature(reference_count(judgements), "system"),
            ids={"lp": pairs, "system": systems},
        )

    return scored
