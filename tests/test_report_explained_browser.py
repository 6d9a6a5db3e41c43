"""Explained segments of a report in a real browser: marks, tables, filters, and the losses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adequa import ComparisonSettings, compare
from adequa.comparison import html
from adequa.explanation.pieces import PENALTIES
from browser import needs_browser, opened, violations
from test_cli import EXAMPLES
from test_report import NASTY

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser
SETTINGS = ComparisonSettings(resamples=100, swaps=200)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems, half of whose segments are explained."""
    names = ("literal", "fluent", "broken", "reference")
    texts = {name: (EXAMPLES / f"{name}.txt").read_text().splitlines() for name in names}
    reference = texts.pop("reference")
    comparison = compare(texts, reference, ["chrf", "wer"], settings=SETTINGS, explain=18)
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(comparison.to_html(), encoding="utf-8")
    return file


def written(folder: Path, systems: dict[str, list[str]], references: list[str]) -> Path:
    """A report with all segments explained by chrf."""
    comparison = compare(systems, references, "chrf", settings=SETTINGS, explain=len(references))
    file = folder / "report.html"
    file.write_text(comparison.to_html(), encoding="utf-8")
    return file


def test_pieces_are_marked_where_they_stand(chromium: Browser, tmp_path: Path) -> None:
    """Also after characters that are two units of a script's strings."""
    references = ["😀😀 it cost 500 euros 🎉 today", "the old dog ran home", "a b", "the end."]
    old = ["😀😀 it cost 300 euros 🎉 today", "the dog ran home", "a b", "the end ."]
    file = written(tmp_path, {"old": old, "new": references}, references)
    with opened(chromium, file) as seen:
        page = seen.page
        assert page.input_value("#marks") == "explained"
        page.select_option("#sort", "order")
        number = page.locator("#segment-1 mark.piece")
        assert number.all_text_contents() == ["300"]
        assert "number, cost " in (number.get_attribute("title") or "")
        assert "the reference has “500”" in (number.get_attribute("title") or "")
        missing = page.locator("#segment-2 ins.missing")
        assert missing.all_text_contents() == ["+old"]
        line = page.locator("#segment-2 dd.explained").first
        assert line.text_content() == "the +old dog ran home"
        assert page.locator("#segment-3 mark, #segment-3 ins").count() == 0
        space = page.locator("#segment-4 mark.piece")
        assert (space.get_attribute("title") or "").endswith("space before “.”")
        page.locator("#segment-1 .more").click()
        cells = seen.texts("#segment-1 .pieces tbody td")
        assert (cells[1], cells[3:]) == ("number", ["300", "500"])
        page.select_option("#marks", "reference")
        assert page.locator("#legend").is_hidden()
        assert seen.texts("#segment-1 mark.differs") == ["300"]


def test_texts_of_users_are_shown_as_texts(chromium: Browser, tmp_path: Path) -> None:
    """Also in marks, missing words, tables and tooltips; and right to left."""
    references = [text.replace("\ud800", "") for text in NASTY]
    systems = {"<i>old</i>": references, "new </script>": list(reversed(references))}
    with opened(chromium, written(tmp_path, systems, references)) as seen:
        page = seen.page
        page.select_option("#sort", "order")
        for button in page.locator("#list .more").all():
            button.click()
        assert page.locator("#list mark.piece, #list ins.missing").count() > 0
        assert page.locator("#list .pieces tbody tr").count() > 0
        assert page.locator("main img, main i, main b, main script").count() == 0
        assert "<i>old</i> loses nothing" in page.inner_text("#loss-sentence")
        page.fill("#query", "alert")
        page.wait_for_selector("mark.piece mark.hit")


def test_paper_has_no_controls(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        page.select_option("#sort", "costliest")
        page.locator("#list .more").first.click()
        page.emulate_media(media="print")
        assert page.locator("#kind").is_hidden()
        assert page.locator("#list details").first.is_hidden()
        assert page.locator("#loss-table").is_visible()
        assert page.locator("#list .pieces").first.is_visible()


def test_explained_segments_are_sorted_and_filtered(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        page.select_option("#sort", "costliest")
        assert page.inner_text("#count") == (
            "1 to 18 of 18 segments, out of 36; only the 18 explained ones are searched"
        )
        for button in page.locator("#list .more").all():
            button.click()
        costs = page.locator("#list .segment").evaluate_all(
            """cards => cards.map(card => Math.max(0,
              ...[...card.querySelectorAll(".outputs > div")].slice(0, 2)
              .flatMap(div => [...div.querySelectorAll("tbody tr:not(.rest) .number")])
              .map(cell => Number(cell.textContent.replace("−", "-")))))"""
        )
        assert costs == sorted(costs, reverse=True)
        page.select_option("#sort", "penalty")
        penalties = page.locator("#list .segment").evaluate_all(
            f"""cards => cards.map(card => [...card.querySelectorAll(".outputs > div:nth-child(2) "
              + ".severity")].reduce((sum, each) =>
                sum + ({json.dumps(PENALTIES)}[each.textContent] ?? 0), 0))"""
        )
        assert penalties[0] == max(penalties) > 0
        page.select_option("#filter", "major")
        titles = "all => all.map(each => each.title)"
        worst = page.locator("#list .texts").locator(".critical, .major")
        kind = worst.first.evaluate("each => each.title").split()[1].rstrip(",")
        page.select_option("#kind", kind)
        assert page.locator("#list .segment").count() > 0
        for card in page.locator("#list .segment").all():
            shown = card.locator(".texts").locator(".critical, .major").evaluate_all(titles)
            assert any(title.split(",")[0].endswith(f" {kind}") for title in shown)
        # A segment that is not explained is reached all the same, and shows the words that differ.
        ids = set(range(1, 37))
        page.select_option("#kind", "")
        page.select_option("#filter", "all")
        explained = {int(text.split()[1]) for text in seen.texts("#list h3")}
        other = min(ids - explained)
        page.evaluate(f"location.hash = '#segment-{other}'")
        page.wait_for_selector(f"#segment-{other}.opened")
        assert page.locator(f"#segment-{other} dd.explained").count() == 0


def test_losses_follow_the_selection(chromium: Browser, report: Path) -> None:
    with opened(chromium, report) as seen:
        page = seen.page
        assert page.locator("#loss-table tbody tr").count() == 3
        fractions = [
            [int(text.removesuffix("%")) for text in row.locator(".fraction").all_text_contents()]
            for row in page.locator("#loss-table tbody tr").all()
        ]
        assert all(97 <= sum(row) <= 103 for row in fractions)
        note = page.inner_text("#loss-note")
        assert "a random sample of 18 of 36 segments" in note
        assert "p ≤ 0.05, approximate randomisation, 200 swaps" in note
        assert "200 swaps are too few for 21 tests of losses" in page.inner_text("#loss-pair")
        a, b = page.input_value("#system-a"), page.input_value("#system-b")
        cells = seen.texts("#loss-pair tbody td:nth-child(4)")
        page.select_option("#system-a", b)  # they change places
        assert page.input_value("#system-b") == a
        opposite = {"+": "−", "−": "+"}
        turned = [opposite.get(cell[0], cell[0]) + cell[1:] for cell in cells]
        assert seen.texts("#loss-pair tbody td:nth-child(4)") == turned
        assert "How the two systems differ" in page.inner_text("#loss-pair")
        assert "What differences cost" in page.inner_text("#methods")


def test_a_page_can_explain_on_demand(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that sets `load` has a button for segments without pieces, and shows what comes."""
    references = ["it cost 500 euros", "the old dog ran"]
    systems = {"old": ["it cost 300 euros", "the dog ran"], "new": references}
    comparison = compare(systems, references, "chrf", settings=SETTINGS)
    explanation = compare(systems, references, "chrf", settings=SETTINGS, explain=2).explanation
    assert explanation is not None
    answer = explanation.to_dict()
    answer["segments"] = [each for each in answer["segments"] if each["segment"] == 1]
    hook = f"""explainOnDemand.load = async (row) => {{
      if (row) throw new Error("The server is <busy>.");
      return {json.dumps(answer)};
    }};"""
    monkeypatch.setattr(html, "script", partial(html.script, hook))
    file = tmp_path / "report.html"
    file.write_text(comparison.to_html(), encoding="utf-8")
    with opened(chromium, file) as seen:
        page = seen.page
        page.select_option("#sort", "order")
        assert page.locator("#kind-choice").is_hidden()
        page.locator("#segment-1 .explain").click()
        page.wait_for_selector("#segment-1 mark.piece")
        assert seen.texts("#segment-1 mark.piece") == ["300"]
        assert page.locator("#segment-1 .explain").count() == 0
        page.locator("#segment-2 .explain").click()
        page.locator("#segment-2 .explain-status").filter(has_text="<busy>").wait_for()
        assert page.locator("#segment-2 .explain").is_enabled()


def test_severities_weigh_as_in_python(chromium: Browser, report: Path) -> None:
    page = chromium.new_page()
    script = report.read_text(encoding="utf-8")
    line = next(line for line in script.splitlines() if line.startswith("const PENALTIES"))
    assert page.evaluate(f"{line}\nPENALTIES") == PENALTIES
    page.close()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barriers(chromium: Browser, report: Path, scheme: str, width: int) -> None:
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(chromium, report, **view) as seen:
        seen.page.select_option("#sort", "costliest")
        seen.page.locator("#list .more").first.click()
        assert violations(seen.page) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
