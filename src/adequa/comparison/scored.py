"""Every metric's statistics of every output, computed once; what follows is arithmetic on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adequa.agreement.sources import Source
from adequa.comparison.outputs import Outputs
from adequa.errors import AdequaError, nearest
from adequa.io.score_files import ScoreFile
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.progress import Progress
from adequa.segments import FloatArray
from adequa.statistics.arrays import check_finite

# Segments that all systems are scored on before the next ones: metrics keep what they know of
# references that they have just seen.
_BATCH = 1024
_TELLING = {"system", "segment"}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A metric, or a file of scores, with what it says of all systems."""

    source: Source
    statistics: FloatArray | None  # (systems, segments, k), rows add up; None for whole systems
    systems: FloatArray  # one score a system, higher is better

    def score(self, totals: FloatArray) -> FloatArray:
        """One score a row of summed statistics, higher is better."""
        return self.source.system_scores(totals)

    @property
    def segments(self) -> FloatArray | None:
        """Scores (systems, segments), higher is better."""
        return None if self.statistics is None else self.segment_scores(self.statistics)

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """Scores (systems, segments) of statistics (systems, segments, k), higher is better."""
        systems, segments, width = statistics.shape
        flat = self.source.segment_scores(statistics.reshape(-1, width))
        return flat.reshape(systems, segments)


def scored(
    source: Source,
    outputs: Outputs,
    progress: Progress,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Scored:
    """What a metric or a file of scores says of the outputs."""
    if source.metric is not None:
        progress.stage(f"Scoring with {source.name}")
        statistics = _statistics(source.metric, outputs, progress, compute)
        systems = source.system_scores(statistics.sum(axis=1))
        found = Scored(source, statistics, systems)
        check_finite(source.name, systems)
        check_finite(
            source.name, source.segment_scores(statistics.reshape(-1, statistics.shape[2]))
        )
        return found
    if source.file is None:
        raise AdequaError(f"{source.name} is neither a metric nor a file of scores.")
    if source.is_of_systems:
        return Scored(source, None, source.sign * _of_systems(source.path, source.file, outputs))
    scores = _of_segments(source.path, source.file, outputs)
    return Scored(
        source, np.stack([scores, np.ones_like(scores)], axis=2), source.sign * scores.mean(axis=1)
    )


def _statistics(
    metric: Metric, outputs: Outputs, progress: Progress, compute: ComputeStatistics
) -> FloatArray:
    """Statistics (systems, segments, k), batch by batch, in each one system after the other."""
    size = len(outputs) if metric.needs_whole_corpus else _BATCH
    parts: list[list[FloatArray]] = [[] for _ in outputs.names]
    for start in range(0, len(outputs), size):
        rows = slice(start, start + size)
        references = outputs.references[rows]  # one object for all, which metrics know again
        for system, done in enumerate(parts):
            segments = outputs.part(system, rows, references)
            done.append(compute(metric, segments))
            progress.scored(len(segments))
    return np.stack([np.concatenate(done) for done in parts])


def _of_systems(path: str, file: ScoreFile, outputs: Outputs) -> FloatArray:
    of = dict(zip(file.ids["system"], file.scores.tolist(), strict=True))
    for name in outputs.names:
        _refuse_unknown(path, file, name)
    return np.array([of[name] for name in outputs.names])


def _of_segments(path: str, file: ScoreFile, outputs: Outputs) -> FloatArray:
    """Scores (systems, segments): by system and number of the segment, or one a line."""
    shape = (len(outputs.names), len(outputs))
    if file.scores.ndim > 1:
        raise AdequaError(
            f"{path} has two columns of scores, better and worse; a comparison takes one score an "
            "output."
        )
    if not file.ids:
        if len(file) != shape[0] * shape[1]:
            raise AdequaError(
                f"{path} has {len(file):,} scores, but {shape[0]} systems of {shape[1]:,} segments "
                f"need {shape[0] * shape[1]:,}: one a line, one system after the other, or a "
                "header with system, segment and score."
            )
        return file.scores.reshape(shape)
    _refuse_columns(path, file)
    rows = zip(file.ids["system"], file.ids["segment"], strict=True)
    of = dict(zip(rows, file.scores.tolist(), strict=True))
    for name in outputs.names:
        _refuse_unknown(path, file, name)
    numbers = [str(number) for number in range(1, len(outputs) + 1)]
    wanted = ((name, number) for name in outputs.names for number in numbers)
    missing = next((key for key in wanted if key not in of), None)
    if missing is not None:
        raise AdequaError(
            f"{path} has no score for segment {missing[1]} of {missing[0]}; segments are numbered "
            "from 1."
        )
    return np.array([[of[name, number] for number in numbers] for name in outputs.names])


def _refuse_columns(path: str, file: ScoreFile) -> None:
    """Raise unless system and segment, and nothing else, tell the scores apart."""
    lacking = _TELLING - file.ids.keys()
    if lacking:
        raise AdequaError(
            f"{path} has no column {' and no column '.join(sorted(lacking))}; a comparison finds "
            "scores by system and segment, or takes one a line without a header."
        )
    for column, cells in file.ids.items():
        if column not in _TELLING and len(set(cells)) > 1:
            raise AdequaError(
                f"{path} has scores of more than one {column}; choose with {path}:{column}=VALUE."
            )


def _refuse_unknown(path: str, file: ScoreFile, system: str) -> None:
    there = dict.fromkeys(file.ids["system"])
    if system not in there:
        raise AdequaError(
            f'{path} has no system "{system}".{nearest(system, there)} There are: '
            f"{', '.join(there)}."
        )
