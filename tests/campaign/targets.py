"""All targets of the campaign."""

from __future__ import annotations

from campaign import arrays, saved_metrics, tables

TARGETS = (*arrays.TARGETS, *saved_metrics.TARGETS, *tables.TARGETS)
