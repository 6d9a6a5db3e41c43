"""The page of the service in a real browser: from paste to report, by mouse, keyboard and phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adequa.service.app import ServiceSettings
from adequa.service.limits import Limits
from browser import Watched, browser, needs_browser, violations
from live_service import Live, served, until
from test_cli import EXAMPLES
from test_report import NASTY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

pytestmark = needs_browser
METRICS = ("chrf", "wer", "bleu")
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with served(ServiceSettings(metrics=METRICS, limits=Limits(characters=1_000))) as server:
        yield server


@contextmanager
def visited(started: Browser, live: Live, path: str = "/", **context: Any) -> Iterator[Watched]:
    """The page of a server; it must neither complain nor ask anybody else for anything."""
    view = started.new_context(**context)
    page = view.new_page()
    watched = Watched(page)
    page.on("console", watched.said)
    page.on("pageerror", watched.failed)
    page.on("dialog", watched.asked)
    page.on("request", lambda request: watched.requests.append(request.url))
    page.goto(live.url + path)
    page.wait_for_selector("html[data-page=ready]", timeout=60_000)
    try:
        yield watched
        # A browser writes every answer that is an error to its console, which is no fault.
        faults = [each for each in watched.complaints if "Failed to load resource" not in each]
        assert faults == []
        outside = [url for url in watched.requests if not url.startswith((live.url, "blob:"))]
        assert outside == []
    finally:
        view.close()


def text_of(name: str, lines: int = 12) -> str:
    text = (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    return "\n".join(text.splitlines()[:lines])


def paste(page: Page, systems: dict[str, str], reference: str) -> None:
    page.locator("#references textarea").first.fill(reference)
    for place, (name, text) in enumerate(systems.items()):
        if page.locator("#systems .box").count() <= place:
            page.click("#add-system")
        box = page.locator("#systems .box").nth(place)
        box.locator("input.name").fill(name)
        box.locator("textarea").fill(text)


def compare(page: Page) -> None:
    page.click("#go")
    page.wait_for_selector("html[data-ready]", timeout=60_000)


def saved(page: Page, file: str) -> str:
    with page.expect_download() as waiting:
        page.click(f'[data-file="{file}"]')
    download: Download = waiting.value
    return Path(download.path()).read_text(encoding="utf-8")


def test_from_paste_to_report(chromium: Browser, live: Live, tmp_path: Path) -> None:
    systems = {name: text_of(name) for name in ("literal", "fluent", "broken")}
    with visited(chromium, live, accept_downloads=True) as seen:
        page = seen.page
        assert seen.texts("#metric-list label span")[0].startswith("chrf")
        paste(page, systems, text_of("reference"))
        page.uncheck('#metric-list input[value="bleu"]')
        page.check('#metric-list input[value="wer"]')
        compare(page)
        assert page.title() == "Comparison of 3 systems – adequa"
        assert page.evaluate("document.activeElement.id") == "title"
        assert seen.texts("#scores tbody th")[0] == "fluent"
        assert page.locator("#scores svg").count() > 0  # intervals
        assert page.locator("#matrix tbody button").count() == 6
        assert page.locator("#histograms svg").count() > 0
        assert page.locator("#list .segment").count() == 12
        page.fill("#query", "no text says this")
        page.locator("#count").filter(has_text="0 segments").wait_for()
        address = page.url
        assert re.search(r"/c/[\w-]{20,}$", address)
        content = json.loads(saved(page, "json"))
        assert content["systems"] == list(systems)
        assert saved(page, "pairs.tsv").startswith("metric\tfirst")
        report = saved(page, "report.html")
        assert "Comparison of 3 systems" in report
        # The same code shows the report: so it says the same.
        file = tmp_path / "report.html"
        file.write_text(report, encoding="utf-8")
        other = chromium.new_page()
        other.goto(file.as_uri())
        other.wait_for_selector("html[data-ready]")
        for part in ("#sentences", "#scores", "#matrix", "#methods"):
            assert other.inner_text(part) == page.inner_text(part)
        other.close()
        # The link reopens it, elsewhere too, and so does going back and forth.
        page.go_back()
        assert page.locator("#inputs").is_visible()
        assert page.locator("#references textarea").first.input_value() == text_of("reference")
        page.go_forward()
        page.wait_for_selector("#result:not([hidden])")
    with visited(chromium, live, address.removeprefix(live.url)) as seen:
        assert seen.texts("#scores tbody th")[0] == "fluent"
        assert "stores it for 60 minutes at most" in seen.page.inner_text("#expires")
        seen.page.goto(f"{address}#segment-3")
        seen.page.wait_for_selector("#segment-3.opened")


def test_files_are_dropped_and_chosen(chromium: Browser, live: Live) -> None:
    files = {
        "ref.txt": text_of("reference"),
        "source.txt": text_of("source"),
        "my.old.txt": text_of("literal"),
        "new.txt": text_of("fluent"),
        "third.txt": text_of("broken"),
    }
    with visited(chromium, live) as seen:
        page = seen.page
        hostile = page.evaluate_handle(
            """(files) => {
              const moved = new DataTransfer();
              for (const [name, text] of Object.entries(files))
                moved.items.add(new File([text], name));
              return moved;
            }""",
            files,
        )
        page.dispatch_event("#drop", "dragover", {"dataTransfer": hostile})
        assert page.locator("#inputs.over").count() == 1
        page.dispatch_event("#drop", "drop", {"dataTransfer": hostile})
        page.locator("#status").filter(has_text="third.txt was read").wait_for()
        names = page.locator("#systems input.name").evaluate_all("all => all.map(n => n.value)")
        assert names == ["my.old", "new", "third"]
        assert seen.texts("#references small")[:2] == ["12 lines", "12 lines"]
        page.locator('#systems input[type="file"]').last.set_input_files(
            {"name": "latin.txt", "mimeType": "text/plain", "buffer": b"caf\xe9"}
        )
        page.locator("#problem").filter(has_text="latin.txt is not text in UTF-8").wait_for()
        compare(page)
        assert seen.texts("#scores thead th")[0] == "System"
        page.locator("#list .more").first.click()
        assert "Source" in page.locator("#list .segment").first.locator("dt").all_text_contents()


def drag(page: Page, where: str, data: dict[str, Any]) -> None:
    """Drag and drop as a person does, with what the browser makes of it by itself."""
    page.locator(where).scroll_into_view_if_needed()
    box = page.locator(where).bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    for kind in ("dragEnter", "dragOver", "drop"):
        moved = {"type": kind, **at, "data": {"dragOperationsMask": 1, **data}}
        session.send("Input.dispatchDragEvent", moved)


def test_what_is_dropped_beside_the_form_loses_nothing(
    chromium: Browser, live: Live, tmp_path: Path
) -> None:
    file = tmp_path / "ref.txt"
    file.write_text("A dog.\n")
    link = {"items": [{"mimeType": "text/uri-list", "data": f"{live.url}/healthz"}]}
    text = {"items": [{"mimeType": "text/plain", "data": "A cat."}]}
    with visited(chromium, live) as seen:
        page = seen.page
        reference = page.locator("#references textarea").first
        for where in ("header", "footer"):
            reference.fill("")
            drag(page, where, {"items": [], "files": [str(file)]})
            page.locator("#status").filter(has_text="ref.txt was read").wait_for()
            assert reference.input_value() == "A dog.\n"
            page.evaluate("document.getElementById('status').textContent = ''")
            drag(page, where, link)
        reference.fill("")
        drag(page, "#box-1", text)
        assert reference.input_value() == "A cat."
        assert page.locator("#inputs.over").count() == 0
        page.click("#example")
        compare(page)
        for where in ("#title", "#query"):
            drag(page, where, {"items": [], "files": [str(file)]})
            drag(page, where, link)
        assert page.locator("#result").is_visible()
        assert page.url.startswith(f"{live.url}/c/")


def test_one_system_is_scored(chromium: Browser, live: Live) -> None:
    with visited(chromium, live, accept_downloads=True) as seen:
        page = seen.page
        paste(page, {"mine": "The cat sat.\n\n"}, "A cat sat.\nSo it is.")
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        assert seen.texts("#single-scores tbody th") == ["mine"]
        assert page.locator("#single-segments tbody tr").count() == 2
        with page.expect_download() as waiting:
            page.click("#single-tsv")
        rows = Path(waiting.value.path()).read_text().splitlines()
        assert rows[0] == "system\tsegment\tchrf\tbleu"
        assert len(rows) == 3
        # Scores of before do not stay beside an error.
        page.locator("#systems textarea").first.fill("one line")
        page.click("#go")
        assert page.inner_text("#problem").startswith("mine has 1 line")
        assert page.locator("#single").is_hidden()
        assert page.inner_text("#status") == ""


def test_the_page_shows_language_notes(chromium: Browser) -> None:
    with (
        served(ServiceSettings(metrics=("adequa",), workers=1)) as live,
        visited(chromium, live) as seen,
    ):
        page = seen.page
        note = page.locator("#single-remarks")
        paste(page, {"mine": "Das ist nicht so gut, wie wir es alle erwartet haben."}, "It is so.")
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        assert "plainly not in English" in note.inner_text()
        paste(page, {"mine": "It was so."}, "It is so.")
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        assert note.is_hidden()


def skip(page: Page) -> None:
    """Follow the skip link, and wait until all that this sets off is over."""
    page.evaluate(
        """() => {
          window.moved = new Promise((done) =>
            addEventListener("popstate", () => setTimeout(done), { once: true }));
        }"""
    )
    page.focus("a.skip")
    page.keyboard.press("Enter")
    page.evaluate("window.moved")


def test_the_skip_link_keeps_results_and_problems(chromium: Browser, live: Live) -> None:
    with visited(chromium, live) as seen:
        page = seen.page
        paste(page, {"mine": "The cat sat."}, "A cat sat.")
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        skip(page)
        assert page.url == f"{live.url}/#main"
        assert page.locator("#single").is_visible()
        page.goto(live.url)
        page.wait_for_selector("html[data-page=ready]")
        page.click("#go")
        skip(page)
        assert page.inner_text("#problem").startswith("There is no reference")
        page.click("#example")
        compare(page)
        skip(page)
        assert page.locator("#result").is_visible()
        page.go_back()  # from the fragment
        page.go_back()
        page.wait_for_selector("#inputs:not([hidden])")


def test_the_page_explains_problems(chromium: Browser, live: Live) -> None:
    with visited(chromium, live, "/c/gone") as seen:
        page = seen.page
        problem = page.locator("#problem")
        assert "keeps no such comparison" in problem.inner_text()
        page.click("#go")
        assert problem.inner_text() == "There is no reference: paste it, or drop a file."
        paste(page, {"old": "one\ntwo", "new": "one"}, "one\ntwo")
        page.click("#go")
        assert problem.inner_text().startswith("new has 1 line, and the reference has 2 lines")
        paste(page, {"old": "one\ntwo", "new": "one\n" + "x" * 1_001}, "one\ntwo")
        page.click("#go")
        problem.filter(has_text="segment 2 has 1,001 characters").wait_for()
        assert page.locator("#go").is_enabled()
        paste(page, {"same": "one\ntwo", "new": "one\ntwo"}, "one\ntwo")
        page.locator("#systems input.name").nth(1).fill("same")
        page.click("#go")
        assert problem.inner_text().startswith("Two systems are named same")
        for box in page.locator("#metric-list input").all():
            box.uncheck()
        page.locator("#systems input.name").nth(1).fill("other")
        page.click("#go")
        assert problem.inner_text() == "Choose at least one metric."


def test_the_page_explains_that_a_comparison_is_gone(
    chromium: Browser, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.service.store, "_count", 0)
    with visited(chromium, live) as seen:
        page = seen.page
        page.locator("#systems .box button").first.click()
        page.click("#add-system")
        page.click("#add-system")
        names = page.locator("#systems input.name").evaluate_all("all => all.map(n => n.value)")
        assert names == ["system-2", "system-1", "system-3"]
        page.click("#example")
        page.click("#go")
        page.locator("#problem").filter(has_text="or no longer; compare the texts again").wait_for()
        assert page.url == f"{live.url}/"
        assert page.locator("#inputs").is_visible()
        assert page.locator("#go").is_enabled()


def test_hostile_texts_stay_texts(chromium: Browser, live: Live) -> None:
    hostile = [text.replace("\ud800", "").replace("\u2028", " ") for text in NASTY]
    systems = {"<img src=x onerror=alert(1)>": hostile, "2": hostile[::-1], "1": hostile}
    with visited(chromium, live) as seen:
        page = seen.page
        texts = {name: "\n".join(lines) for name, lines in systems.items()}
        paste(page, texts, "\n".join(hostile))
        compare(page)
        assert seen.texts("#system-a option") == list(systems)
        page.select_option("#sort", "order")
        for button in page.locator("#list .more").all():
            button.click()
        assert page.locator("#segment-1 dd").first.text_content() == hostile[0]
        assert page.locator("main img, main i, main b, main script").count() == 0


def test_by_keyboard_on_a_phone_in_the_dark(chromium: Browser, live: Live) -> None:
    context: dict[str, Any] = {"viewport": PHONE, "color_scheme": "dark", "has_touch": True}
    with visited(chromium, live, **context) as seen:
        page = seen.page
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) <= PHONE["width"]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        page.focus("#example")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "go"
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        assert page.evaluate(width) <= PHONE["width"]
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(chromium: Browser, live: Live, scheme: str) -> None:
    with visited(chromium, live, color_scheme=scheme) as seen:
        page = seen.page
        page.click("#add-source")
        page.click("#go")
        assert violations(page) == []
        page.click("#example")
        compare(page)
        assert violations(page) == []


def test_a_token_is_asked_for(chromium: Browser) -> None:
    token = "0123456789abcdef"
    with (
        served(ServiceSettings(metrics=("wer",), token=token, only_local=False)) as live,
        visited(chromium, live) as seen,
    ):
        page = seen.page
        problem = page.locator("#problem")
        problem.filter(has_text="This server needs a token; enter it above.").wait_for()
        for wrong, words in (
            ("Schlüssel-密码", "A token consists of ASCII letters"),
            ("fedcba9876543210", "This is not the token of this server"),
        ):
            page.fill("#token", wrong)
            page.keyboard.press("Tab")
            problem.filter(has_text=words).wait_for()
        page.fill("#token", f" {token}")  # as it may be pasted
        page.keyboard.press("Tab")
        page.wait_for_selector("#metric-list input")
        assert page.locator("#token").is_hidden()
        assert problem.is_hidden()
        page.click("#example")
        compare(page)
        page.reload()
        page.wait_for_selector("html[data-ready]")


def test_a_comparison_can_be_cancelled(chromium: Browser, live: Live) -> None:
    queue = live.service.catalogue.queue("chrf")
    queue.metric_lock.acquire()  # nothing is scored until it is released
    try:
        with visited(chromium, live) as seen:
            page = seen.page
            page.click("#example")
            page.click("#go")
            page.locator("#status").filter(has_text="Scoring with chrf").wait_for()
            page.click("#cancel")
            assert page.inner_text("#problem") == "Cancelled."
            assert page.locator("#go").is_enabled()
            until(lambda: len(live.service.tasks) == 0)  # nothing is done for nobody
    finally:
        queue.metric_lock.release()


def test_the_documentation_sends_its_examples(chromium: Browser, live: Live) -> None:
    document = live.get("/openapi.json").json
    with visited(chromium, live, "/docs") as seen:
        page = seen.page
        labels = seen.texts(".operation h2")
        assert labels == [
            f"{method.upper()} {path}"
            for path, methods in document["paths"].items()
            for method in methods
        ]
        assert seen.texts(".schema h3") == list(document["components"]["schemas"])
        links = page.locator("main a").evaluate_all("all => all.map(each => each.hash.slice(1))")
        assert set(links) <= set(document["components"]["schemas"])
        for path in ("/v1/score", "/v1/compare", "/v1/rank"):
            card = page.locator(".operation").nth(labels.index(f"POST {path}"))
            assert f"curl -s {live.url}{path} -H" in card.locator("pre").first.inner_text()
            card.locator("button").click()
            answer = card.locator("form pre")
            answer.filter(has_text="systems").wait_for()
            assert answer.inner_text().startswith("200\n{")
        stored = page.locator(".operation").nth(labels.index("GET /v1/comparisons/{name}"))
        stored.locator("input").fill("none/such")
        stored.locator("button").click()
        stored.locator("form pre").filter(has_text="There is nothing here").wait_for()
        assert violations(page) == []


def test_the_documentation_sends_a_token(chromium: Browser) -> None:
    token = "0123456789abcdef"
    settings = ServiceSettings(metrics=("wer",), token=token, only_local=False)
    with served(settings) as live, visited(chromium, live, "/docs") as seen:
        page = seen.page
        card = page.locator(".operation").filter(has_text="GET /v1/metrics")
        card.locator("button").click()
        card.locator("form pre").filter(has_text="wants a token").wait_for()
        page.fill("#token", token)
        card.locator("button").click()
        card.locator("form pre").filter(has_text="word edits per reference word").wait_for()
