"""Explanations on the page of the service: asked for segment by segment, and shown as texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adequa import explain
from adequa.segments import Segments
from adequa.service.app import ServiceSettings
from browser import needs_browser, opened, violations
from live_service import Live, served, until
from test_report import NASTY
from test_service_browser import PHONE, compare, paste, visited

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = needs_browser
SYSTEMS = {
    "old": ["😀 it cost 300 euros today", "the dog ran home"],
    "new": ["😀 it cost 500 euros today", "the old dog ran"],
}
REFERENCES = ["😀 it cost 500 euros today", "the old dog ran home"]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with served(ServiceSettings(metrics=("chrf", "wer", "nist"))) as server:
        yield server


def shown_comparison(page: Page) -> None:
    """Compare two systems, and show the segments in their order."""
    paste(page, {name: "\n".join(texts) for name, texts in SYSTEMS.items()}, "\n".join(REFERENCES))
    page.check("#metric-1")
    compare(page)
    page.select_option("#sort", "order")


def stored(live: Live, metrics: list[str], **request: Any) -> str:
    """The address of a comparison that the server has stored."""
    content = {"systems": SYSTEMS, "references": REFERENCES, "metrics": metrics, "resamples": 10}
    answer = live.post("/v1/compare", {**content, "keep": True, **request})
    assert answer.status == 200, answer.body
    link: str = answer.json["link"]
    return link


def test_a_segment_is_explained_for_all_systems(chromium: Browser, live: Live) -> None:
    with visited(chromium, live) as seen:
        page = seen.page
        shown_comparison(page)
        page.locator("#segment-1 .explain").click()
        page.wait_for_selector("#segment-1 mark.piece")
        assert seen.texts("#segment-1 mark.piece") == ["300"]
        assert page.locator("#segment-1 .explain").count() == 0
        assert "in chrf" in page.inner_text("#segment-1 .detail")
        assert page.evaluate("document.activeElement.className") == "more"
        expected = explain(SYSTEMS["old"][:1], REFERENCES[:1], "chrf").segments[0].pieces[0]
        cells = seen.texts("#segment-1 .pieces tbody td")
        assert cells == [expected.severity, "number", f"{expected.cost:.2f}", "300", "500"]
        page.locator("#segment-2 .explain").click()
        page.wait_for_selector("#segment-2 ins.missing")
        assert sorted(seen.texts("#segment-2 ins.missing")) == ["+home", "+old"]
        # Another metric explains anew, and the first is remembered.
        page.select_option("#metric", "1")
        page.locator("#segment-1 .explain").click()
        page.locator("#segment-1 .detail").filter(has_text="in wer").wait_for()
        page.select_option("#metric", "0")
        assert seen.texts("#segment-1 mark.piece") == ["300"]
        assert page.locator("#segment-1 .explain").count() == 0


def test_a_stored_comparison_is_explained_with_its_settings(
    chromium: Browser, live: Live, tmp_path: Path
) -> None:
    link = stored(live, ["chrf:beta=1"], sources=["<i>so</i>", "b"], language="en")
    asked: list[Any] = []
    with visited(chromium, live, link) as seen:
        page = seen.page
        page.wait_for_selector("html[data-ready]")
        page.on("request", lambda each: asked.append(each.post_data) if each.post_data else None)
        page.select_option("#sort", "order")
        page.locator("#segment-1 .explain").click()
        page.wait_for_selector("#segment-1 mark.piece")
        (content,) = map(json.loads, asked)
        assert content == {
            "rows": [
                {"system": name, "mt": texts[0], "ref": REFERENCES[:1], "src": "<i>so</i>"}
                for name, texts in SYSTEMS.items()
            ],
            "metric": "chrf:beta=1",
            "language": "en",
        }
        segments = Segments((SYSTEMS["old"][0],), ((REFERENCES[0],),))
        (piece,) = explain(segments, metric="chrf:beta=1").segments[0].pieces
        assert f"{piece.cost:.2f}" in seen.texts("#segment-1 .pieces td")
    report = live.get(f"/v1/comparisons/{link.removeprefix('/c/')}/report.html").body
    (tmp_path / "report.html").write_bytes(report)
    with opened(chromium, tmp_path / "report.html") as seen:  # which asks no server
        assert seen.page.locator(".explain").count() == 0


def test_a_metric_of_the_whole_test_set_cannot_explain_a_segment(
    chromium: Browser, live: Live
) -> None:
    with visited(chromium, live, stored(live, ["nist"])) as seen:
        page = seen.page
        page.wait_for_selector("html[data-ready]")
        page.locator(".explain").first.click()
        status = page.locator(".explain-status").first
        status.filter(has_text="nist scores a segment by the whole test set").wait_for()


def test_it_waits_and_says_what_failed(chromium: Browser, live: Live) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=429, json={"error": "The server is <b>busy</b>; try again later."})

    with visited(chromium, live) as seen:
        page = seen.page
        shown_comparison(page)
        button, status = (
            page.locator(f"#segment-1 {each}") for each in (".explain", "[role=status]")
        )
        page.route("**/v1/explain", refuse)
        button.click()
        status.filter(has_text="The server is <b>busy</b>; try again later.").wait_for()
        assert button.is_enabled()
        page.unroute("**/v1/explain")
        with live.service.catalogue.queue("chrf").metric_lock:  # nothing is scored meanwhile
            button.click()
            until(lambda: len(live.service.explanations) == 1)
            assert button.is_disabled()
            assert status.inner_text() == "Explaining …"
            page.fill("#query", "cost")  # the list is drawn anew
            page.locator("#count").filter(has_text="1 to 1 of 1").wait_for()
        page.wait_for_selector("#segment-1 mark.piece")
        assert page.evaluate("document.activeElement.id") == "query"


def test_a_single_system_is_explained(chromium: Browser, live: Live) -> None:
    with visited(chromium, live) as seen:
        page = seen.page
        paste(page, {"mine": "\n".join(SYSTEMS["old"])}, "\n".join(REFERENCES))
        page.check("#metric-1")
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        page.get_by_label("Explain segment 1").click()
        page.wait_for_selector("#single-segments mark.piece")
        assert seen.texts("#single-segments mark.piece") == ["300"]
        assert seen.texts("#single-segments .pieces tbody td")[3:] == ["300", "500"]
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == (
            "Differences of segment 1 from the reference, and what each costs in chrf"
        )
        page.select_option("#single-metric", "1")
        assert page.locator("#single .explanation").count() == 0
        page.get_by_label("Explain segment 2").click()
        page.locator("#single .pieces caption").filter(has_text="costs in wer").wait_for()
        page.select_option("#single-metric", "0")
        assert seen.texts("#single-segments mark.piece") == ["300"]


def test_hostile_texts_stay_texts(chromium: Browser, live: Live) -> None:
    hostile = [text.replace("\ud800", "").replace("\u2028", " ") for text in NASTY]
    references = [f"{text} <i>more</i>" for text in hostile[::-1]]
    for systems in ({"<img src=x onerror=alert(1)>": hostile, "1": hostile[::-1]}, {"1": hostile}):
        with visited(chromium, live) as seen:
            page = seen.page
            paste(
                page,
                {name: "\n".join(texts) for name, texts in systems.items()},
                "\n".join(references),
            )
            page.click("#go")
            page.locator("html[data-ready], #single:not([hidden])").first.wait_for()
            where = "#list" if len(systems) > 1 else "#single"
            for _ in hostile:
                page.locator(f"{where} .explain").first.click()
                page.locator(f"{where} .explain:disabled").wait_for(state="detached")
            assert page.locator(f"{where} .pieces").count() >= len(hostile)
            assert page.locator("main img, main i, main b, main script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barriers(chromium: Browser, live: Live, scheme: str) -> None:
    for systems in (SYSTEMS, {"mine": SYSTEMS["old"]}):
        context: dict[str, Any] = {"viewport": PHONE, "color_scheme": scheme}
        with visited(chromium, live, **context) as seen:
            page = seen.page
            texts = {name: "\n".join(lines) for name, lines in systems.items()}
            paste(page, texts, "\n".join(REFERENCES))
            page.click("#go")
            page.locator(".explain").first.click()
            page.wait_for_selector(".pieces")
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
