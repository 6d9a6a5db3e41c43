"""METEOR: one subject a file; `metric.py` puts them together."""

from adequa.metrics.meteor.metric import Meteor

__all__ = ["Meteor"]
