"""Scoring: many segments, many metrics."""
