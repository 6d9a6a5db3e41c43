"""A browser for tests: which one, how it is started, and what it must not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("ADEQUA_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

needs_browser = pytest.mark.skipif(
    BROWSER is None or find_spec("playwright") is None,
    reason="needs playwright, and a browser: apt install chromium, or name one in ADEQUA_BROWSER",
)


@contextmanager
def browser() -> Iterator[Browser]:
    """One browser, which costs a second or two to start."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A sandbox of its own needs rights that containers do not give.
        started = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@dataclass
class Watched:
    """An open page, with what went wrong on it and what it asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def said(self, message: ConsoleMessage) -> None:
        """What the console shows."""
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def failed(self, error: Error) -> None:
        """A script that broke off."""
        self.complaints.append(str(error))

    def asked(self, dialog: Dialog) -> None:
        """A window that a script opens, as only one that should not run would."""
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def texts(self, selector: str) -> list[str]:
        """The text of all elements that a selector finds."""
        return [text.strip() for text in self.page.locator(selector).all_text_contents()]


@contextmanager
def opened(started: Browser, file: Path, **context: object) -> Iterator[Watched]:
    """A page from a file, once it is ready; it must neither complain nor ask for anything."""
    view = started.new_context(**context)  # type: ignore[arg-type]
    page = view.new_page()
    watched = Watched(page)
    page.on("console", watched.said)
    page.on("pageerror", watched.failed)
    page.on("dialog", watched.asked)
    page.on("request", lambda request: watched.requests.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    try:
        yield watched
        assert watched.complaints == []
        assert watched.requests == [file.as_uri()]
    finally:
        view.close()


def violations(page: Page) -> list[str]:
    """Serious and critical barriers of a page, as axe-core finds them."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    outcome = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}"
        for each in outcome["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
