"""The page of a comparison in a real browser: search, sort, filter, and texts that stay texts."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from adequa import ComparisonSettings, ScoreFile, compare
from adequa.comparison.html import comparison_page
from adequa.languages import TargetLanguage
from browser import needs_browser, opened, violations
from judgements import FOLDER
from marked_words import MARKED
from source_metrics import LengthRatio
from test_cli import EXAMPLES
from test_report import NASTY
from wmt_outputs import outputs_from_archive

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser
SETTINGS = ComparisonSettings(resamples=100, swaps=200)


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


@pytest.mark.parametrize("width", [1400, 1000, 390])
def test_differences_on_subsets_are_not_cut_off(
    chromium: Browser, report: Path, width: int
) -> None:
    with opened(chromium, report, viewport={"width": width, "height": 900}) as seen:
        widths = "cards => cards.map(each => each.scrollWidth - each.clientWidth)"
        assert set(seen.page.locator("#buckets .card").evaluate_all(widths)) == {0}
        names = seen.texts("#system-b option:checked, #system-a option:checked")
        assert sorted(seen.texts("#where-note .system")) == sorted(names)


def test_every_axis_has_two_numbers(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        drawn = "all => all.map(each => each.querySelectorAll('text').length)"
        assert min(seen.page.locator("#scores thead svg").evaluate_all(drawn)) >= 2
        script = resources.files("adequa.comparison") / "assets" / "core.js"
        ranges = [(30.2, 38.4), (0, 1), (0.8123, 0.8124), (-3, 7), (99.9, 100.05), (0, 1e-9)]
        count = f"({[*map(list, ranges)]}).map(([low, high]) => ticks(low, high, 4).length)"
        counts = seen.page.evaluate(f"{script.read_text('utf-8')}\n{count}")
        assert all(2 <= each <= 6 for each in counts), counts


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
        word = max(page.locator("#list dd").nth(1).inner_text().split(), key=len)
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


@pytest.mark.parametrize("documents", [None, ["one"] * 12 + ["two"] * 24])
def test_a_report_without_references(
    chromium: Browser, tmp_path: Path, documents: list[str] | None
) -> None:
    names = ("literal", "fluent", "source")
    systems = {name: (EXAMPLES / f"{name}.txt").read_text("utf-8").splitlines() for name in names}
    source = systems.pop("source")
    comparison = compare(
        systems, sources=source, metrics=[LengthRatio()], documents=documents, settings=SETTINGS
    )
    file = tmp_path / "report.html"
    file.write_text(comparison.to_html(), encoding="utf-8")
    with opened(chromium, file) as seen:
        page = seen.page
        page.select_option("#sort", "order")
        assert seen.texts("#segment-1 dt")[0] == "Source"
        assert seen.texts("#segment-1 dd")[0] == source[0]
        assert len(seen.texts("#segment-1 dt")) == 3
        assert page.locator("#list .more").first.is_visible()
        page.locator("#list .more").first.click()
        headings = page.locator(
            "h2:visible, h3:visible, dt:visible, label:visible"
        ).all_inner_texts()
        assert not [text for text in headings if "reference" in text.lower()]
        assert page.locator("#words").is_hidden()
        assert page.locator("#losses").is_hidden()
        for part in ("#where", "#bucket"):
            assert page.locator(part).is_visible() == (documents is not None)
        assert "reference" not in page.locator("main").inner_text().lower()
        page.select_option("#marks", "other")
        assert page.locator("#list dd mark").count()
        assert violations(page) == []


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
        assert "Source" in card.locator("dt").all_text_contents()
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
        assert "wer" in page.inner_text("#pair .pair-verdict")
        page.locator("#matrix tbody button").first.click()
        pressed = page.locator('#matrix button[aria-pressed="true"]')
        assert pressed.count() == 1
        row, column = (pressed.get_attribute("data-pair") or "").split("-")
        for place in (row, column):
            assert names[int(place)] in page.inner_text("#pair .pair-verdict")
        page.select_option("#system-a", row)  # both the same: they change places
        assert page.input_value("#system-b") == column
        page.locator("#scores thead button").nth(1).click()
        assert page.locator("#scores th[aria-sort=ascending]").count() == 1
        box = page.locator("#scatter .plot svg").bounding_box()
        assert box
        page.select_option("#scatter-what", "gains")
        page.locator("#scatter .plot svg").hover(position={"x": box["width"] / 2, "y": 220})
        assert page.inner_text("#scatter-status").startswith(("Segment ", "Point at"))
        page.select_option("#scatter-what", "scores")
        assert seen.texts("#scatter .legend li") == [names[int(column)], names[int(row)]]


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
        assert page.inner_text("#theme") == "Switch to light"
        page.click("#theme")
        assert page.evaluate(ground) == "rgb(247, 247, 244)"
        assert page.inner_text("#theme") == "Switch to dark"
        page.click("#theme")
        page.emulate_media(media="print")
        for control in (".chooser", ".browser", "#theme", "#export", ".more", ".plot-controls"):
            assert page.locator(control).first.is_hidden()
        assert page.locator("#scores").is_visible()
        assert page.evaluate(ground) == "rgb(255, 255, 255)"  # paper is white


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barriers(chromium: Browser, report: Path, scheme: str, width: int) -> None:
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(chromium, report, **view) as seen:
        seen.page.locator("#list .more").first.click()
        assert violations(seen.page) == []


def test_the_verdict_and_warnings_come_first(chromium: Browser, tmp_path: Path) -> None:
    systems = {"old": ["a b", "a c", "a x"] * 4, "new": ["a b", "a b", "a b d"] * 4}
    comparison = compare(systems, ["a b"] * 12, ["wer", "chrf"], settings=SETTINGS)
    first, second = comparison.metrics
    warned = replace(second, warning="<b>chrf</b> knows no such language.")
    german = TargetLanguage("de", "given", source="cs")
    comparison = replace(
        comparison, metrics=(first, warned), language=german, test_set="news <test>"
    )
    file = tmp_path / "warned.html"
    file.write_text(comparison_page(comparison, day=date(2026, 3, 4)), encoding="utf-8")
    with opened(chromium, file) as seen:
        page = seen.page
        order = page.evaluate("[...document.querySelectorAll('main > *')].map((node) => node.id)")
        assert order[:3] == ["warnings", "overview", "leaderboard"]
        assert "<b>chrf</b> knows no such language." in page.inner_text("#warnings")
        assert page.inner_text("#verdict") == comparison.verdict()
        assert "chrf (language warning)" in page.inner_text("#verdict")
        about = page.inner_text("#about")
        for fact in ("Test set news <test>", "Czech to German", "12 segments", "4 March 2026"):
            assert fact in about
        # A mark at the heading and at each number of chrf, and at none of wer.
        assert page.locator("#scores tbody td:nth-child(2) .caution").count() == 0
        assert page.locator("#scores tbody td:nth-child(3) .caution").count() == 2
        assert "⚠" in seen.texts("#metric option")[1]


def test_a_weak_system_stands_beyond_a_break(chromium: Browser, tmp_path: Path) -> None:
    """Intervals of the others keep their width; the weak one is marked, with its value written."""
    generator = np.random.default_rng(3)
    scores = 50 + generator.normal(0, 5, (4, 100)) + np.array([[0], [1], [2], [-45]])
    texts = [str(row) for row in range(100)]
    systems = {name: [f"{text}." for text in texts] for name in ("one", "two", "three", "weak")}
    file = tmp_path / "weak.html"
    metrics = [ScoreFile("score", {}, scores.ravel())]
    file.write_text(compare(systems, texts, metrics, settings=SETTINGS).to_html())
    with opened(chromium, file) as seen:
        page = seen.page
        rows = page.locator("#scores tbody tr")
        assert rows.locator(".break").count() == 1
        assert rows.last.locator(".break").count() == 1
        assert rows.last.locator(".whisker").count() == 0
        assert "weak (score)" in page.inner_text("#leaderboard-note")
        widths = [
            float(line.get_attribute("x2") or 0) - float(line.get_attribute("x1") or 0)
            for line in rows.locator(".whisker").all()
        ]
        assert len(widths) == 3
        assert min(widths) > 20  # of 168
        assert page.locator("#scores thead svg text").count() >= 2  # numbers of the axis


def test_segments_are_exported_as_filtered(chromium: Browser, tmp_path: Path) -> None:
    references = ['say "hi"\tthere', "two\nlines", "plain", "=1+1"]
    systems = {"old": references, "new": ["x", *references[1:3], "y"]}
    comparison = compare(
        systems, references, ["wer"], sources=references, documents="aabb", settings=SETTINGS
    )
    file = tmp_path / "export.html"
    file.write_text(comparison.to_html(), encoding="utf-8")
    with opened(chromium, file, accept_downloads=True) as seen:
        page = seen.page
        page.select_option("#sort", "order")
        with page.expect_download() as waiting:
            page.click("#export")
        assert waiting.value.suggested_filename == "segments.tsv"
        with Path(waiting.value.path()).open(encoding="utf-8", newline="") as content:
            rows = list(csv.reader(content, delimiter="\t"))
        assert rows[0] == ["segment", "doc", "src", "ref", "old", "new", "wer old", "wer new"]
        assert [row[3] for row in rows[1:]] == references
        assert rows[1][:2] == ["1", "a"]
        page.select_option("#filter", "a")
        assert page.inner_text("#export") == "Download these 2 segments (TSV)"
        with page.expect_download() as waiting:
            page.click("#export")
        lines = Path(waiting.value.path()).read_bytes()
        assert lines.count(b"\r\n") == 3
        page.fill("#query", "no text says this")
        page.locator("#count").filter(has_text="0 segments").wait_for()
        assert page.locator("#export").is_disabled()
        seen.requests[:] = [url for url in seen.requests if not url.startswith("blob:")]


def test_words_bands_and_ngrams_follow_the_selection(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        names = seen.texts("#system-a option")
        assert page.locator("#bands tbody tr").count() == len(names)
        first = page.locator("#ngrams tbody tr").first
        cells = first.locator("td").all_text_contents()
        total, mine, other = map(int, cells[:3])
        assert total >= mine > other
        assert float(cells[3]) == pytest.approx((mine + 1) / (mine + other + 2), abs=0.005)
        a, b = page.input_value("#system-a"), page.input_value("#system-b")
        before = seen.texts("#ngrams tbody th")
        page.select_option("#system-a", b)  # they change places
        assert page.input_value("#system-b") == a
        assert sorted(seen.texts("#ngrams tbody th")) == sorted(before)
        assert seen.texts("#ngrams tbody th") != before
        page.select_option("#measure", "recall")
        assert "Recall" in page.inner_text("#frequencies")
        values = [float(text) for text in seen.texts("#frequencies tbody td:nth-child(3)")]
        assert all(0 <= value <= 1 for value in values)


def test_systems_have_one_colour_and_shape(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        looks = page.evaluate(
            """() => {
              const look = (node) =>
                node.getAttribute("d") + node.style.getPropertyValue("--colour");
              const places = {};
              for (const node of document.querySelectorAll("#scores .system, #matrix .system, "
                  + "#bands .system, #scatter .system")) {
                (places[node.textContent] ||= new Set()).add(look(node.querySelector("path")));
              }
              return Object.entries(places).map(([name, found]) => [name, [...found]]);
            }"""
        )
        assert len(looks) == len(seen.texts("#system-a option"))
        assert all(len(each) == 1 for _, each in looks)
        assert len({each[0] for _, each in looks}) == len(looks)


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
