"""The metric `adequa`: a small model, trained on what people said, that comes with the package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

from adequa.errors import AdequaError
from adequa.learned.packed.metric import MAX_THREADS, PackedPair
from adequa.learned.references import Reduction
from adequa.metrics import saved
from adequa.metrics.contract import MeanMetric
from adequa.metrics.registry import check_between, check_choice
from adequa.remarks import Remark
from adequa.runtime.onnx import Device
from adequa.segments import FloatArray, Segments

FOLDER = Path(__file__).parent / "adequa"  # of the weights


# Not slotted: what it opens is kept beside its settings, which never change.
@dataclass(frozen=True)
class Adequa(MeanMetric):
    """What people would say of a translation into English, from 0 to 1.

    A small transformer reads hypothesis and reference together. 1 is for the reference itself, and
    0 for no text at all; the card beside the weights (README.md) says what lies between, and how
    well the scores agree with people. Of several references the best counts, or the mean. Without
    a number of threads, there are as many as CPUs.
    """

    device: str = "cpu"
    references: str = "best"
    threads: int | None = None

    name = "adequa"
    higher_is_better = True
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_choice("device", self.device, get_args(Device))
        check_choice("references", self.references, get_args(Reduction))
        if self.threads is not None:
            check_between("threads", self.threads, 1, MAX_THREADS)

    @cached_property
    def packed(self) -> PackedPair:
        """The metric of the shipped folder, with these settings."""
        if not saved.is_saved(str(FOLDER)):
            raise AdequaError(
                "This copy of adequa was built without the weights of its own metric: install it "
                "from a release, or name other metrics, such as -m bleu -m chrf."
            )
        given = {"device": self.device, "references": self.references}
        if self.threads is not None:
            given["threads"] = str(self.threads)
        metric = saved.load(str(FOLDER), given)
        if not isinstance(metric, PackedPair):
            raise AdequaError(f"{FOLDER} holds another kind of metric than adequa ships.")
        return metric

    def score_segments(self, segments: Segments) -> FloatArray:
        return self.packed.score_segments(segments)

    def keep_scores(self, file: Path, limit: int) -> None:
        self.packed.keep_scores(file, limit)

    def noticed(self) -> tuple[Remark, ...]:
        return self.packed.noticed()

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return self.packed.signature_fields()
