"""What teachers say of the texts that a pair regressor learns from, kept until it is saved.

Several processes share the work, and each has the scores of all in the end.
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
from adequa.io.atomic import atomic_write_bytes
from adequa.learned.base import Training
from adequa.metrics.contract import Metric
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, IntArray, Segments

if TYPE_CHECKING:
    from adequa.learned.pair.processes import Processes

_KEPT = "taught-*.npy"


@dataclass(slots=True)
class Teaching:
    """Teachers that are asked once for each text, even if the training is stopped in between."""

    folder: Path | None  # where scores are kept
    processes: Processes
    training: Training
    signatures: list[str] = field(default_factory=list)  # of the teachers so far

    def __call__(self, names: tuple[str, ...], segments: Segments) -> FloatArray:
        """Scores of texts, higher is better; of several teachers the mean, on a common scale."""
        said = np.empty((len(names), len(segments)))
        for row, name in enumerate(names):
            metric = load_metric(name)
            found = self._said(metric, segments)
            said[row] = found if metric.higher_is_better else -found
        widths = np.ptp(said, axis=1)  # exactly 0 where all is the same, unlike a spread
        if not widths.all():
            raise AdequaError(f"{names[widths.argmin()]} says the same of every text to teach.")
        means, spreads = said.mean(axis=1), said.std(axis=1)
        alike = (said - means[:, None]) / spreads[:, None]
        return np.asarray(alike.mean(axis=0) * spreads.mean() + means.mean())

    def _said(self, metric: Metric, segments: Segments) -> FloatArray:
        signature = str(metric.signature(segments.reference_count))
        self.signatures.append(signature)
        kept = None
        if self.folder is not None:
            kept = self.folder / _KEPT.replace("*", _digest(signature, segments))

        def score(rows: IntArray) -> FloatArray:
            self.training.stage(f"{metric.name} scores {len(rows):,} texts to teach")
            return metric.score(segments.select(rows.tolist())).segments

        before = _read(kept, len(segments)) if kept is not None else None
        # Where texts count on each other, they are not dealt out among processes.
        share = _all_to_first if metric.needs_whole_corpus else _dealt
        found = _shared(self.processes, before, len(segments), score, share)
        if kept is not None and before is None and self.processes.is_first:
            _write(kept, found)
        return found


def forget_taught(folder: Path) -> None:
    """Delete the scores that are kept in a folder."""
    for path in folder.glob(_KEPT):
        path.unlink(missing_ok=True)


def _shared(
    processes: Processes,
    before: FloatArray | None,
    count: int,
    score: Callable[[IntArray], FloatArray],
    share: Callable[[Processes, IntArray], IntArray],
) -> FloatArray:
    """The scores that the first process has from before, or else what all of them find."""
    if processes.count == 1:
        return score(np.arange(count)) if before is None else before
    import torch  # noqa: PLC0415  # an extra, and heavy

    found = torch.zeros(count, dtype=torch.float64, device=processes.device)
    there = torch.tensor([before is not None], dtype=torch.uint8, device=processes.device)
    processes.follow_first([there])  # others may see another folder
    if there.item():
        if before is not None:
            found += torch.from_numpy(before).to(found)
        processes.follow_first([found])
    else:
        own = share(processes, np.arange(count))
        if len(own):
            found[torch.from_numpy(own).to(found.device)] = torch.from_numpy(score(own)).to(found)
        processes.add_up([found])
    return np.asarray(found.cpu().numpy())


def _dealt(processes: Processes, rows: IntArray) -> IntArray:
    return processes.share(rows)


def _all_to_first(processes: Processes, rows: IntArray) -> IntArray:
    return rows if processes.is_first else rows[:0]


def _digest(signature: str, segments: Segments) -> str:
    found = hashlib.sha256(signature.encode("utf-8", "surrogatepass"))
    for hypothesis, references in zip(segments.hypotheses, segments.references, strict=True):
        found.update(f"{(hypothesis, references)!r}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]


def _read(path: Path, count: int) -> FloatArray | None:
    """The scores that are kept, if there are any that can be read."""
    try:
        found = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = isinstance(found, np.ndarray) and found.shape == (count,) and found.dtype == np.float64
    return found if whole and bool(np.isfinite(found).all()) else None


def _write(path: Path, scores: FloatArray) -> None:
    packed = io.BytesIO()
    np.save(packed, scores, allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdequaError(f"{path.parent} cannot be written: {error.strerror or error}.") from error
    atomic_write_bytes(path, packed.getvalue())
