"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# No deadline: how long an example takes says more about the machine than about the code.
settings.register_profile("adequa", deadline=None)
settings.load_profile("adequa")

# Some tests import onnxruntime themselves, which would report that to its makers.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a file."""
    from browser import browser

    with browser() as started:
        yield started
