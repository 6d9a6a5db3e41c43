"""Comparison: which of several systems is better under a metric, how sure we are, and where."""
