"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
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


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """PyTorch in one thread.

    The last bit of a sum may depend on who adds up what, threads do not survive a fork, and small
    sums are faster alone.
    """
    import torch

    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, no mirror of datasets, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADEQUA_DATA", raising=False)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
