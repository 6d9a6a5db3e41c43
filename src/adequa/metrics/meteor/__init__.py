"""METEOR: one subject per file; `metric.py` puts them together."""

from adequa.metrics.meteor.metric import METEOR

__all__ = ["METEOR"]
