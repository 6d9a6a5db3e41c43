"""Bands of segment scores: publish, check or redo, by two thresholds on the score of any metric.

The thresholds are given, or chosen on rated segments by `adequa.agreement.bands`. Bands by the
probability of a rating, for metrics with a confidence file, are those of `scoring.confidence`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from adequa.errors import AdequaError
from adequa.io.files import read_regular
from adequa.metrics.base import Metric, check_between
from adequa.scoring.confidence import CHECK, PUBLISH, REDO, Bands, content_errors
from adequa.segments import ENVIRONMENT_FIELDS, LARGEST_SCORE, FloatArray, Signature

FORMAT: Final = 1
_KIND: Final = "bands"
_EDGES: Final = ("publish", "redo")  # the bands that have a threshold


@dataclass(frozen=True, slots=True)
class ScoreBands:
    """Thresholds of the bands: a score as good as `publish`, or as bad as `redo`; check between.

    A threshold is None where no score is in its band.

    >>> ScoreBands(0.8, 0.5)(np.array([0.9, 0.8, 0.6, 0.5])).tolist()
    [0, 0, 1, 2]
    >>> ScoreBands(0.2, 0.6, higher_is_better=False)(np.array([0.1, 0.5, 0.6])).tolist()
    [0, 1, 2]
    """

    publish: float | None
    redo: float | None
    higher_is_better: bool = True
    # Which rows of judgements chose them, in words; empty where the user gave them.
    origin: str = ""
    # What the metric read of the segments that chose them, where it can read more than one thing.
    inputs: str = ""

    def __post_init__(self) -> None:
        for name, value in zip(_EDGES, (self.publish, self.redo), strict=True):
            if value is not None:
                check_between(f"The threshold of {name}", value, -LARGEST_SCORE, LARGEST_SCORE)
        if self.publish is None or self.redo is None:
            return
        if self.publish == self.redo or (self.publish > self.redo) != self.higher_is_better:
            better = "above" if self.higher_is_better else "below"
            raise AdequaError(
                f"The threshold of publish, {self.publish:g}, should be {better} that of redo, "
                f"{self.redo:g}."
            )

    def __call__(self, scores: FloatArray) -> Bands:
        """Return the band of each score, an index into `BANDS`."""
        sign = 1 if self.higher_is_better else -1
        good = np.zeros(len(scores), bool)
        poor = good
        if self.publish is not None:
            good = sign * scores >= sign * self.publish
        if self.redo is not None:
            poor = sign * scores <= sign * self.redo
        return np.select([good, poor], [PUBLISH, REDO], CHECK).astype(np.int8)

    def legend(self) -> str:
        """Return the line below a table that says what the bands are."""
        better, worse = ("more", "less") if self.higher_is_better else ("less", "more")
        publish = "no score" if self.publish is None else f"{self.publish:.6g} or {better}"
        redo = "no score" if self.redo is None else f"{self.redo:.6g} or {worse}"
        check = "all others" if self.publish is None or self.redo is None else "between"
        origin = f" (chosen on {self.origin})" if self.origin else ""
        return f"publish: {publish}; redo: {redo}; check: {check}{origin}"

    def warning(self, signature: Signature) -> str | None:
        """Return a sentence if scores of this signature were made from other inputs."""
        inputs = inputs_of(signature)
        if not self.inputs or inputs == self.inputs:
            return None
        return (
            f"the bands of {signature.metric} were chosen on scores from the {self.inputs}, and "
            f"these are from the {inputs}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the thresholds."""
        origin = {"origin": self.origin} if self.origin else {}
        return {"publish": self.publish, "redo": self.redo, **origin}


def bands_of(value: str, metric: Metric) -> ScoreBands:
    """The bands that --bands names for a metric: PUBLISH,REDO, or a file of `train bands`."""
    if Path(value).suffix == ".json":
        return read_bands(Path(value), metric)
    try:
        publish, redo = map(float, value.split(","))
    except ValueError:
        raise AdequaError(
            "--bands takes the thresholds of publish and redo, such as 0.8,0.5, or a .json file of "
            f'`adequa train bands`, not "{value}".'
        ) from None
    return ScoreBands(publish, redo, metric.higher_is_better)


def read_bands(path: Path, metric: Metric) -> ScoreBands:
    """Read a file that `bands_json` wrote, for the metric that it was made for."""
    with content_errors(path, "adequa train bands"):
        content = json.loads(read_regular(path))
        if (content["kind"], content["format"]) != (_KIND, FORMAT):
            raise ValueError(f"its kind is {content['kind']}, format {content['format']}")
        made_for, origin = str(content["metric"]), str(content["origin"])
        inputs = str(content["inputs"])
        values = [content[name] for name in _EDGES]
        thresholds = [None if value is None else float(value) for value in values]
    if made_for != identity(metric):
        raise AdequaError(
            f"{path} was made for {made_for}, and not for {identity(metric)}; make one with "
            "`adequa train bands`."
        )
    publish, redo = thresholds
    return ScoreBands(publish, redo, metric.higher_is_better, origin, inputs)


def bands_json(bands: ScoreBands, metric: Metric, measured: Mapping[str, Any]) -> str:
    """The content of a file of bands, with what was measured on the judgements."""
    content = {
        "kind": _KIND,
        "format": FORMAT,
        "metric": identity(metric),
        "publish": bands.publish,
        "redo": bands.redo,
        "origin": bands.origin,
        "inputs": bands.inputs,
        "measured": measured,
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def inputs_of(signature: Signature) -> str:
    """What a metric read, such as "reference+source"; empty if it always reads the same."""
    return dict(signature.fields).get("inputs", "")


def identity(metric: Metric) -> str:
    """The signature of segment scores, less what may differ between machines and segments."""
    signature = metric.segment_signature(None)
    left_out = {*ENVIRONMENT_FIELDS, "nrefs", "src", "inputs"}
    fields = tuple(each for each in signature.fields if each[0] not in left_out)
    return str(Signature(signature.metric, fields))
