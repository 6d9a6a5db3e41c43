"""Scores of teachers: metrics whose scores a pair regressor learns by distillation.

Scores are cached until the trained metric is saved. Several processes share the work, and each gets
all scores.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adequa.errors import AdequaError
from adequa.io.arrays import ArrayError, read_npy
from adequa.io.atomic import atomic_write_bytes
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import FloatArray, IntArray, Segments

if TYPE_CHECKING:
    from adequa.learned.pair.devices import Processes

_CACHE_FILES = "taught-*.npy"


@dataclass(slots=True)
class Teachers:
    """Computes and caches the scores of teachers; a resumed training does not score again."""

    cache_folder: Path | None
    processes: Processes
    progress: Progress
    signatures: list[str] = field(default_factory=list)  # of the teachers so far

    def __call__(self, names: tuple[str, ...], segments: Segments) -> FloatArray:
        """Scores of segments, higher is better; for several teachers the mean on a common scale."""
        scores = np.empty((len(names), len(segments)))
        for row, name in enumerate(names):
            metric = load_metric(name)
            values = self._scores(metric, segments)
            scores[row] = values if metric.higher_is_better else -values
        ranges = np.ptp(scores, axis=1)  # exactly 0 for constant scores, unlike the std
        if not ranges.all():
            raise AdequaError(f"{names[ranges.argmin()]} says the same of every text to teach.")
        means, stds = scores.mean(axis=1), scores.std(axis=1)
        standardised = (scores - means[:, None]) / stds[:, None]
        return np.asarray(standardised.mean(axis=0) * stds.mean() + means.mean())

    def _scores(self, metric: Metric, segments: Segments) -> FloatArray:
        """The scores of one teacher, from the cache or computed."""
        signature = str(metric.signature(segments.reference_count))
        self.signatures.append(signature)
        path = None
        if self.cache_folder is not None:
            path = self.cache_folder / _CACHE_FILES.replace("*", _digest(signature, segments))

        def score(rows: IntArray) -> FloatArray:
            self.progress.stage(f"{metric.name} scores {len(rows):,} texts to teach")
            return metric.compute_scores(segments.select(rows.tolist())).segments

        cached = None if path is None else _cached_scores(path)
        scores = self._shared_scores(
            cached, len(segments), score, in_one_process=metric.needs_whole_corpus
        )
        if path is not None and cached is None and self.processes.is_first:
            buffer = io.BytesIO()
            np.save(buffer, scores)
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write_bytes(path, buffer.getvalue())
        return scores

    def _shared_scores(
        self,
        cached: FloatArray | None,
        count: int,
        score: Callable[[IntArray], FloatArray],
        *,
        in_one_process: bool,
    ) -> FloatArray:
        """The cached scores of the first process, or scores that all processes compute together."""
        processes, rows = self.processes, np.arange(count)
        if processes.count == 1:
            return score(rows) if cached is None else cached
        import torch  # noqa: PLC0415  # an extra, and heavy

        scores = torch.zeros(count, dtype=torch.float64, device=processes.device)
        is_cached = torch.tensor([cached is not None], dtype=torch.uint8, device=processes.device)
        processes.broadcast([is_cached])  # the others may see another folder
        if is_cached.item():
            if cached is not None:
                scores += torch.from_numpy(cached).to(scores)
            processes.broadcast([scores])
            return np.asarray(scores.cpu().numpy())
        own = processes.shard(rows)
        if in_one_process:
            own = rows if processes.is_first else rows[:0]
        if len(own):
            index = torch.from_numpy(own).to(scores.device)
            scores[index] = torch.from_numpy(score(own)).to(scores)
        processes.all_reduce([scores])
        return np.asarray(scores.cpu().numpy())


def _cached_scores(path: Path) -> FloatArray | None:
    """The scores in a file whose name tells teacher and texts; None where it holds none."""
    if not path.is_file():
        return None
    try:
        return np.asarray(read_npy(path), dtype=np.float64)
    except ArrayError:  # damaged: they are computed again
        return None


def clear_teacher_cache(folder: Path) -> None:
    """Delete the cached scores in a folder."""
    for path in folder.glob(_CACHE_FILES):
        path.unlink(missing_ok=True)


def _digest(signature: str, segments: Segments) -> str:
    digest = hashlib.sha256(signature.encode("utf-8", "surrogatepass"))
    sources = () if segments.sources is None else (segments.sources,)
    for row in zip(segments.hypotheses, segments.references, *sources, strict=True):
        digest.update(f"{row!r}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
