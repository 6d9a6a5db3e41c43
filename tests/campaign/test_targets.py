"""Some trials of every target; `python -m campaign` runs more."""

from __future__ import annotations

import pytest

from campaign.base import Target, trials
from campaign.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_trial_fails(target: Target) -> None:
    reports = [outcome.report for outcome in trials(target, 0, count=200, seconds=5)]
    assert reports
    assert [report for report in reports if report is not None] == []
