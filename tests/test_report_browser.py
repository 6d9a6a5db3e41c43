"""The page of a comparison in a real browser: search, sort, filter, and texts that stay texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adequa import ComparisonSettings, compare
from browser import browser, needs_browser, opened
from judgements import FOLDER
from marked_words import MARKED
from test_cli import EXAMPLES
from test_report import NASTY
from wmt_outputs import outputs_from_archive

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser
SETTINGS = ComparisonSettings(resamples=100, swaps=200)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of WMT17 outputs; of the examples where there are none."""
    if FOLDER:
        systems = outputs_from_archive("cs-en", 4, 150)
    else:
        names = ("literal", "fluent", "broken", "reference", "source")
        systems = {name: (EXAMPLES / f"{name}.txt").read_text().splitlines() for name in names}
    reference, source = systems.pop("reference"), systems.pop("source")
    comparison = compare(systems, reference, ["chrf", "wer"], sources=source, settings=SETTINGS)
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(comparison.to_html("WMT17 Czech to English"), encoding="utf-8")
    return file


def test_a_reader_finds_a_segment(chromium: Browser, report: Path) -> None:
    with opened(chromium, report, viewport={"width": 1280, "height": 900}) as seen:
        page = seen.page
        assert page.title() == "WMT17 Czech to English"
        assert len(seen.texts("#sentences li")) == 2
        total = len(seen.texts("#list .segment"))
        assert total == 20
        # Sort: as in the test set, the first segment comes first.
        page.select_option("#sort", "order")
        assert seen.texts("#list h3")[:2] == ["Segment 1", "Segment 2"]
        page.select_option("#sort", "b")
        gains = [float(text.replace("−", "-")) for text in seen.texts("#list .gain")]
        assert gains == sorted(gains, reverse=True)
        # Search: a word of the first segment's reference finds it, and is marked.
        page.select_option("#sort", "order")
        word = max(page.locator("#list dd").first.inner_text().split(), key=len)
        page.fill("#query", word.upper())
        page.locator("#count").filter(has_text="out of").wait_for()
        assert page.locator("#segment-1").count() == 1
        assert word.lower() in [text.lower() for text in seen.texts("#segment-1 mark.hit")]
        page.fill("#query", "no text says this")
        page.locator("#count").filter(has_text="0 segments, out of").wait_for()
        assert page.locator("#list .segment").count() == 0
        page.fill("#query", "")
        page.locator("#count").filter(has_text="1 to 20 of").wait_for()
        assert page.locator("#list .segment").count() == 20


def test_filters_parts_and_pages(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        page.select_option("#filter", "a")
        assert all(text.startswith("−") for text in seen.texts("#list .gain"))
        page.select_option("#filter", "all")
        page.locator("#buckets button.link").first.click()
        part = page.locator("#buckets tbody tr").first.locator("td").first.inner_text()
        assert page.inner_text("#count").split(" of ")[1].startswith(f"{part} segments")
        page.select_option("#bucket", "")
        page.get_by_role("button", name="Next").click()
        assert page.inner_text("#count").startswith("21 to ")
        assert page.evaluate("document.activeElement.id") == "segments"


def test_a_segment_opens_with_all_systems(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        button = page.locator("#list .more").first
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "true"
        card = page.locator("#list .segment").first
        systems = len(seen.texts("#system-a option"))
        assert card.locator(".detail tbody tr").count() == systems
        assert "Source" in card.locator(".detail dt").all_text_contents()
        assert card.locator("mark.differs").count() > 0
        page.keyboard.press("Enter")
        assert card.locator(".detail").is_hidden()
        page.goto(f"{report.as_uri()}#segment-30")
        page.wait_for_selector("#segment-30.opened")
        seen.requests[:] = seen.requests[:1]


def test_metric_and_systems_can_be_chosen(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        names = seen.texts("#system-a option")
        page.select_option("#metric", "1")
        assert "wer" in page.inner_text("#pair .verdict")
        page.locator("#matrix tbody button").first.click()
        pressed = page.locator('#matrix button[aria-pressed="true"]')
        assert pressed.count() == 1
        row, column = (pressed.get_attribute("data-pair") or "").split("-")
        for place in (row, column):
            assert names[int(place)] in page.inner_text("#pair .verdict")
        page.select_option("#system-a", row)  # both the same: they change places
        assert page.input_value("#system-b") == column
        page.locator("#scores thead button").nth(1).click()
        assert page.locator("#scores th[aria-sort=ascending]").count() == 1
        box = page.locator("#scatter svg").bounding_box()
        assert box
        page.locator("#scatter svg").hover(position={"x": box["width"] / 2, "y": 220})
        assert page.inner_text("#scatter-status").startswith(("Segment ", "Point at"))


def test_texts_of_users_are_shown_as_texts(chromium: Browser, tmp_path: Path) -> None:
    references = [text.replace("\ud800", "") for text in NASTY]
    systems = {"<i>old</i>": references, "new </script>": list(reversed(references))}
    file = tmp_path / "nasty <report>.html"
    comparison = compare(
        systems, references, ["chrf", "wer"], sources=references, settings=SETTINGS
    )
    file.write_text(comparison.to_html(), encoding="utf-8")
    with opened(chromium, file) as seen:
        page = seen.page
        page.select_option("#sort", "order")
        for button in page.locator("#list .more").all():
            button.click()
        shown = page.locator("#segment-1 dd").all_text_contents()
        assert shown[:2] == [references[0], references[0]]
        assert page.locator("#segment-2 dd").first.text_content() == references[1]
        assert page.locator("#segment-3 dd").first.text_content() == references[2]
        assert page.locator("#segment-3 dd").first.get_attribute("dir") == "auto"
        direction = "getComputedStyle(document.querySelector('#segment-3 dd')).direction"
        assert page.evaluate(direction) == "rtl"
        assert page.locator("main img, main i, main b, main script").count() == 0
        assert "<i>old</i>" in seen.texts("#scores tbody th")[0]
        page.fill("#query", "<script>")
        page.wait_for_selector("mark.hit")
        assert seen.texts("mark.hit")[0] == "<script>"


def test_phone_dark_and_print(chromium: Browser, report: Path) -> None:
    phone = {"width": 390, "height": 844}
    with opened(chromium, report, viewport=phone, color_scheme="dark") as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]
        ground = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(ground) == "rgb(20, 22, 26)"
        page.click("#theme")
        assert page.evaluate(ground) == "rgb(247, 247, 244)"
        page.emulate_media(media="print")
        assert page.locator(".chooser").is_hidden()
        assert page.locator("#scores").is_visible()


def test_everything_has_a_name(chromium: Browser, report: Path) -> None:
    """What screen readers need: labels of controls, captions of tables, names of pictures."""
    with opened(chromium, report) as seen:
        missing = seen.page.evaluate(
            """() => {
              const lacks = [];
              for (const node of document.querySelectorAll("select, input")) {
                if (!node.labels.length) lacks.push(node.id);
              }
              for (const node of document.querySelectorAll("main table")) {
                if (!node.querySelector("caption")?.textContent) lacks.push(node.id || "table");
              }
              for (const node of document.querySelectorAll("svg")) {
                const named = node.getAttribute("aria-label");
                if (!named && node.getAttribute("aria-hidden") !== "true") lacks.push("svg");
              }
              for (const node of document.querySelectorAll("button")) {
                if (!node.textContent.trim() && !node.ariaLabel) lacks.push("button");
              }
              const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
              if (new Set(ids).size < ids.length) lacks.push("ids");
              return lacks;
            }"""
        )
        assert missing == []


def test_words_are_marked_as_on_the_command_line(chromium: Browser) -> None:
    script = (resources.files("adequa.comparison") / "assets" / "words.js").read_text(
        encoding="utf-8"
    )
    page = chromium.new_page()
    comparison = page.evaluate(
        f"""(cases) => {{
          {script}
          return cases.map(([text, other]) =>
            compareWords(text, other)
              .map((piece) => (piece.same ? piece.text : `[${{piece.text}}]`))
              .join(""));
        }}""",
        [case[:2] for case in MARKED.values()],
    )
    page.close()
    assert comparison == [case[2] for case in MARKED.values()]


def test_numbers_are_told_as_they_are(chromium: Browser, tmp_path: Path) -> None:
    """A level of 99.5%, a p-value just above alpha, equal systems, and no minus before zero."""
    systems = {"old": ["a b", "a b", "a x"], "new": ["a b", "a b", "a x"], "third": ["x", "x", "x"]}
    settings = ComparisonSettings(resamples=100, swaps=200, confidence=0.995, like_sacrebleu=True)
    comparison = compare(systems, ["a b", "a b", "a b"], "wer", settings=settings)
    (metric,) = comparison.metrics
    pairs = (
        replace(metric.pairs[0], significant=True),
        replace(metric.pairs[1], p_adjusted=0.05004, difference=-0.00001, significant=False),
        replace(metric.pairs[2], p_adjusted=0.00001),
    )
    file = tmp_path / "told.html"
    file.write_text(replace(comparison, metrics=(replace(metric, pairs=pairs),)).to_html())
    with opened(chromium, file) as seen:
        assert "99.5% intervals" in seen.page.inner_text("#leaderboard-note")
        same = seen.page.locator('#matrix [data-pair="1-0"]')
        assert same.get_attribute("class") == "unsure"
        near = seen.page.locator('#matrix [data-pair="2-0"]').inner_text()
        assert "p 0.05004" in near
        assert "0.0000" in near
        assert "−0.0000" not in near
        assert "p <0.0001" in seen.page.locator('#matrix [data-pair="2-1"]').inner_text()
