"""The page of the service in a real browser: from paste to report, by mouse, keyboard and phone."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sacrebleu

from adequa.service.app import ServiceSettings
from adequa.service.limits import Limits
from browser import Watched, needs_browser, violations
from input_kinds import KINDS, Case, cases
from live_service import Live, served, until
from test_cli import EXAMPLES, adequa
from test_report import NASTY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Locator, Page

pytestmark = needs_browser
METRICS = ("chrf", "wer", "bleu")
PHONE = {"width": 390, "height": 844}


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


def drop(page: Page, files: Mapping[str, str | bytes]) -> None:
    """Drop files on the page, and wait until the server has read all of them."""
    contents = {
        name: list(content.encode() if isinstance(content, str) else content)
        for name, content in files.items()
    }
    moved = page.evaluate_handle(
        """(files) => {
          const moved = new DataTransfer();
          for (const [name, bytes] of Object.entries(files))
            moved.items.add(new File([new Uint8Array(bytes)], name));
          return moved;
        }""",
        contents,
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": moved})
    assert page.locator("#drop-veil").is_visible()
    page.dispatch_event("#drop", "drop", {"dataTransfer": moved})
    assert page.locator("#drop-veil").is_hidden()
    settle(page)


def settle(page: Page) -> None:
    """Wait until the server has read all files."""
    page.wait_for_selector(".file.busy", state="detached")


def chip(page: Page, name: str) -> Locator:
    """What the page shows of a file."""
    title = page.locator(".file-name").get_by_text(name, exact=True)
    return page.locator(".file").filter(has=title)


def facts(page: Page) -> dict[str, str]:
    """What was read, by file."""
    return {
        each.locator(".file-name").inner_text(): each.locator(".file-facts").inner_text()
        for each in page.locator(".file").all()
    }


def paste(page: Page, systems: dict[str, str], reference: str) -> None:
    """Paste a reference and outputs, in place of what was pasted before."""
    texts = [("references", "", reference)]
    texts += [("hypotheses", name, text) for name, text in systems.items()]
    for each in page.locator(".file .remove").all()[::-1]:
        each.click()
    for role, name, text in texts:
        page.click("#paste")
        box = page.locator(".file").last
        box.locator("textarea").fill(text)
        box.locator(".file-fields select").select_option(role)
        if name:
            box.locator(".system-name").fill(name)
    page.locator("#go").focus()
    settle(page)


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
        assert page.locator(".file textarea").first.input_value() == text_of("reference")
        page.go_forward()
        page.wait_for_selector("#result:not([hidden])")
    with visited(chromium, live, address.removeprefix(live.url)) as seen:
        assert seen.texts("#scores tbody th")[0] == "fluent"
        assert "stores it for 60 minutes at most" in seen.page.inner_text("#expires")
        seen.page.goto(f"{address}#segment-3")
        seen.page.wait_for_selector("#segment-3.opened")


def sgm(kind: str, name: str) -> str:
    """A WMT file of an example."""
    lines = text_of(name).splitlines()
    segments = "".join(
        f'<seg id="{number}">{html.escape(line, quote=False)}</seg>\n'
        for number, line in enumerate(lines, 1)
    )
    document = f'<doc docid="one" sysid="{name}">\n{segments}</doc>'
    return f'<{kind} setid="x" srclang="de" trglang="en">\n{document}\n</{kind}>\n'


def test_files_are_dropped_and_chosen(chromium: Browser, live: Live, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "news.ref.sgm": sgm("refset", "reference"),
        "news-src.de.txt": text_of("source"),
        "my.old.txt.gz": gzip.compress(text_of("literal").encode()),
        "new.sgm": sgm("tstset", "fluent"),
    }
    with visited(chromium, live) as seen:
        page = seen.page
        drop(page, files)
        assert facts(page) == {
            "news.ref.sgm": "12 segments, 1 reference",
            "news-src.de.txt": "12 segments",
            "my.old.txt.gz": "12 segments",
            "new.sgm": "12 segments",
        }
        roles = page.locator(".file-fields select").evaluate_all("all => all.map(n => n.value)")
        assert roles == ["references", "source", "hypotheses", "hypotheses"]
        assert chip(page, "my.old.txt.gz").locator(".system-name").input_value() == "my.old"
        (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
        (tmp_path / "new.sgm").write_text("<tstset>")
        page.set_input_files("#file-input", [tmp_path / "latin.txt", tmp_path / "new.sgm"])
        settle(page)
        wrong = chip(page, "latin.txt")
        assert "(0xe9) is not UTF-8" in wrong.locator(".file-problem").inner_text()
        page.click("#go")
        assert "(0xe9) is not UTF-8" in page.inner_text("#problem")
        wrong.locator(".remove").click()
        assert chip(page, "new.sgm").last.locator(".system-name").input_value() == "new-2"
        chip(page, "new.sgm").last.locator(".remove").click()
        chip(page, "new.sgm").locator(".system-name").fill("1")
        assert page.inner_text("#overview-line") == "2 systems, 1 reference, 12 segments"
        compare(page)
        assert seen.texts("#system-a option") == ["my.old", "1"]
        page.locator("#list .more").first.click()
        assert "Source" in page.locator("#list .segment").first.locator("dt").all_text_contents()


def test_markup_and_tables_are_never_scored_as_text(chromium: Browser, live: Live) -> None:
    """The page reads WMT files as the command line does, under whatever name they come."""
    reference, output = EXAMPLES / "reference.txt", EXAMPLES / "fluent.txt"
    printed = adequa("score", "-t", output, "-r", reference, "-m", "bleu", "--format", "json")
    expected = json.loads(printed.stdout)["metrics"][0]["systems"][0]["score"]
    with visited(chromium, live) as seen:
        page = seen.page
        lines = len(reference.read_text(encoding="utf-8").splitlines())
        full = {name: text_of(name, lines) for name in ("reference", "fluent")}
        table = "output\tgold\n" + "".join(
            f"{one}\t{other}\n"
            for one, other in zip(
                full["fluent"].split("\n"), full["reference"].split("\n"), strict=True
            )
        )
        drop(page, {"data.txt": table})
        box = chip(page, "data.txt")
        assert "a table by its content" in box.locator(".file-problem").inner_text()
        box.get_by_text("Read it as .tsv").click()
        settle(page)
        box = chip(page, "data.tsv")
        assert box.locator(".file-problem").inner_text().startswith("Which columns of data.tsv")
        box.locator('[data-column="output"]').select_option("mt")
        box.locator('[data-column="gold"]').select_option("ref")
        settle(page)
        assert facts(page) == {"data.tsv": f"{lines} segments, 1 system, 1 reference"}
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        header, scores = seen.texts("#single-scores th"), seen.texts("#single-scores td")
        assert header == ["System", "chrf", "bleu", "data"]
        assert scores[1] == f"{expected:.2f}"
        page.locator(".file .remove").click()
        page.click("#paste")
        page.locator(".file textarea").fill(sgm("refset", "reference"))
        page.get_by_text("Read it as .sgm").click()
        settle(page)
        assert list(facts(page).values()) == ["12 segments, 1 reference"]


def page_cases() -> list[Case]:
    """Every kind of input once, with two references where it can have them, in some variant."""
    listed = cases()
    chosen = [next(each for each in reversed(listed) if each.kind is kind) for kind in KINDS]
    variants = [each for each in listed if each.kind.name == "plain text"]
    return [*chosen, *(each for each in variants if each.variant != "as it is")]


@pytest.fixture(scope="module")
def one_page(chromium: Browser, live: Live) -> Iterator[Watched]:
    """A page for many comparisons in turn."""
    with visited(chromium, live) as seen:
        yield seen


@pytest.mark.parametrize("case", page_cases(), ids=str)
def test_every_kind_of_input_gives_the_same_numbers(
    one_page: Watched, live: Live, case: Case
) -> None:
    """What the page compares is what sacreBLEU says of the texts themselves."""
    page = one_page.page
    page.goto(live.url)
    page.wait_for_selector("html[data-page=ready]")
    drop(page, {file.name: file.data for file in case.files()})
    for file in case.files():
        box = chip(page, file.name)
        if box.get_by_text("It is plain text").is_visible():
            box.get_by_text("It is plain text").click()
            settle(page)
        if box.locator(".file-fields select").input_value() != file.role:
            box.locator(".file-fields select").select_option(file.role)
            settle(page)
    options = case.kind.options(case.content)
    if options["language"]:
        page.select_option("#language-choice", options["language"].rpartition("-")[2])
        settle(page)
    table = page.locator(".table-options")
    for field, names in (*options["columns"].items(), ("mt", options["systems"])):
        for name in names:
            if not table.evaluate("node => node.open"):
                table.locator("summary").click()
            table.locator(f'[data-column="{name}"]').select_option(field)
            settle(page)
    count = len(case.content.references)
    references = "1 reference" if count == 1 else f"{count} references"
    assert page.inner_text("#overview-line") == f"2 systems, {references}, 5 segments"
    compare(page)
    stored = live.get(f"/v1/comparisons/{page.url.rpartition('/')[2]}").json
    (chrf,) = (metric for metric in stored["metrics"] if metric["name"] == "chrf")
    for system in chrf["systems"]:
        texts = case.content.systems[system["name"]]
        expected = sacrebleu.corpus_chrf(list(texts), list(map(list, case.content.references)))
        assert system["score"] == pytest.approx(expected.score)


def test_a_pasted_table_is_no_text(chromium: Browser, live: Live) -> None:
    with visited(chromium, live) as seen:
        page = seen.page
        page.click("#paste")
        page.locator(".file textarea").fill("one\ttwo\nthree\tfour\n")
        settle(page)
        problem = page.locator(".file-problem")
        assert "same number of tabs in every line: is it a table?" in problem.inner_text()
        page.get_by_text("It is plain text").click()
        settle(page)
        assert list(facts(page).values()) == ["2 segments, 1 reference"]


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
        for where in ("header", "footer"):
            drag(page, where, {"items": [], "files": [str(file)]})
            chip(page, "ref.txt").get_by_text("1 segment, 1 reference").wait_for()
            drag(page, where, link)
            page.click(".file .remove")
        page.click("#paste")
        drag(page, ".file textarea", text)
        assert page.locator(".file textarea").input_value() == "A cat."
        assert page.locator("#drop-veil").is_hidden()
        page.click(".file .remove")
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
        page.locator(".file textarea").last.fill("one line")
        page.click("#go")
        page.locator("#problem").filter(has_text="All files need the same number").wait_for()
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


def test_the_page_shows_empty_hypotheses(chromium: Browser, live: Live) -> None:
    """At the file as soon as it is read, and below the scores."""
    with visited(chromium, live) as seen:
        page = seen.page
        drop(page, {"mine.txt": "It was so.\n\n", "ref.txt": "It is so.\nIt is not.\n"})
        note = "empty hypotheses of mine: 1 of 2, scored as they are."
        assert chip(page, "mine.txt").locator(".file-notes").inner_text() == note
        assert chip(page, "ref.txt").locator(".file-notes").is_hidden()
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        assert page.inner_text("#single-remarks") == note


GERMAN = """Der Gemeinderat stimmt nächste Woche über den neuen Haushalt ab.
Sie hatte das Meer vor diesem Sommer noch nie gesehen.
Starker Regen hat im Norden des Landes drei Straßen gesperrt.
Das Museum öffnet um neun Uhr und schließt um sechs.
Er fragte, ob der Zug schon abgefahren sei.
Die Kinder sammeln im Herbst Kastanien im Park."""
CHINESE = """市议会将于下周就新预算进行投票。
那年夏天之前她从未见过大海。
大雨导致该国北部三条道路关闭。
博物馆九点开门，六点关门。
他问火车是否已经开走了。
秋天孩子们在公园里捡栗子。"""


def test_the_language_is_shown_and_can_be_changed(chromium: Browser) -> None:
    settings = ServiceSettings(metrics=("adequa", "chrf", "bleu"), workers=1)
    with served(settings) as live, visited(chromium, live) as seen:
        page = seen.page
        choice, adequa_box = page.locator("#language-choice"), page.locator("input[value=adequa]")
        mark = page.locator("#metric-list .mark").first
        outputs = {"old.txt": GERMAN.replace("Der", "Ein"), "new.txt": GERMAN.replace("noch", "")}
        drop(page, {"ref.txt": GERMAN, **outputs})
        assert choice.locator("option").first.inner_text() == "German (detected)"
        assert mark.inner_text() == "⚠ knows English only, not German"
        assert not adequa_box.is_checked()  # as on the command line
        choice.select_option("en")
        settle(page)
        assert mark.is_hidden()
        assert adequa_box.is_checked()
        choice.select_option("")
        settle(page)
        adequa_box.check()
        compare(page)
        assert "adequa knows English alone" in page.inner_text("#warnings")
        assert "German" in page.inner_text("#about")
        # One system: the warning is beside the number.
        page.goto(live.url)
        page.wait_for_selector("html[data-page=ready]")
        drop(page, {"ref.txt": GERMAN, "new.txt": outputs["new.txt"]})
        adequa_box.check()
        page.click("#go")
        page.wait_for_selector("#single:not([hidden])")
        assert page.inner_text("#single-language") == "Language: German (detected)."
        assert page.locator("#single-scores .mark").count() == 1
        assert "adequa knows English alone" in page.inner_text("#single-remarks")


def test_bleu_takes_the_tokenizer_of_the_language(chromium: Browser, live: Live) -> None:
    with visited(chromium, live, accept_downloads=True) as seen:
        page = seen.page
        drop(page, {"ref.txt": CHINESE, "a.txt": CHINESE.replace("大", "小"), "b.txt": CHINESE})
        compare(page)
        content = json.loads(saved(page, "json"))
        assert content["language"]["code"] == "zh"
        (bleu,) = (metric for metric in content["metrics"] if metric["name"] == "bleu")
        assert "tok:zh" in bleu["signature"]
        assert [system["score"] > 50 for system in bleu["systems"]] == [True, True]


def test_segments_are_exported(chromium: Browser, live: Live) -> None:
    with visited(chromium, live, accept_downloads=True) as seen:
        page = seen.page
        page.click("#example")
        compare(page)
        page.fill("#query", "museum")
        page.locator("#count").filter(has_text="1 segment").wait_for()
        with page.expect_download() as waiting:
            page.click("#export")
        rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
        assert len(rows) == 2
        assert "The museum opens itself at nine and closes at six." in rows[1].split("\t")


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
        page.locator("#problem").filter(has_text="There is nothing to compare").wait_for()
        skip(page)
        assert page.locator("#problem").is_visible()
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
        cases: tuple[tuple[Mapping[str, str | bytes], str], ...] = (
            ({}, "There is nothing to compare yet: drop files, or paste texts."),
            ({"ref.txt": "one"}, "There is no translation: drop its file, or paste it."),
            ({"new.txt": "one"}, "There is no reference: drop its file, or paste it."),
            ({"new.txt": "one", "src.txt": "eins"}, "chrf needs a reference: drop its file, or"),
            ({"new.txt": "one", "ref.txt": "one\ntwo"}, "but new.txt has 1 line, ref.txt has 2"),
            ({"a.tsv": "mt\tref\na\tb", "ref.txt": "a"}, "a.tsv is a table with everything"),
            ({"new.txt": "x" * 1_001, "ref.txt": "one"}, "has 1,001 characters"),
            ({"new.txt": "a", "old.txt": "a", "ref.txt": "a"}, "needs two segments or more"),
            ({"none.txt": ""}, "none.txt is empty"),
            ({"a.tsv.gz": b"no"}, "a.tsv.gz is not a whole gzip file"),
        )
        for texts, sentence in cases:
            for each in page.locator(".file .remove").all()[::-1]:
                each.click()
            if texts:
                drop(page, texts)
            page.click("#go")
            problem.filter(has_text=sentence).wait_for()
            assert page.locator("#go").is_enabled()
        paste(page, {"same": "one\ntwo", "new": "one\ntwo"}, "one\ntwo")
        page.locator(".system-name").last.fill("same")
        page.click("#go")
        problem.filter(has_text="Two systems are named same").wait_for()
        for box in page.locator("#choices input").all():
            box.uncheck()
        page.locator(".system-name").last.fill("other")
        page.click("#go")
        problem.filter(has_text="Choose at least one metric.").wait_for()


def test_the_page_explains_that_a_comparison_is_gone(
    chromium: Browser, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.service.store, "_count", 0)
    with visited(chromium, live) as seen:
        page = seen.page
        page.click("#example")
        page.click("#go")
        page.locator("#problem").filter(has_text="or no longer; compare the texts again").wait_for()
        assert page.url == f"{live.url}/"
        assert page.locator("#inputs").is_visible()
        assert page.locator("#go").is_enabled()


def test_recent_comparisons_are_listed(chromium: Browser) -> None:
    settings = ServiceSettings(metrics=METRICS, keep_seconds=None)
    with served(settings) as live, visited(chromium, live) as seen:
        page = seen.page
        assert page.locator("#recent").is_hidden()
        page.click("#example")
        page.fill("#comparison-title", "<b>Run 17</b>")
        compare(page)
        assert page.inner_text("h1") == "<b>Run 17</b>"
        assert page.inner_text("#expires") == "The server stores it as long as it runs."
        address = page.url
        page.get_by_role("link", name="New comparison").click()
        page.locator("#recent-list li").wait_for()
        assert "2 systems · 6 segments" in page.inner_text("#recent-list li")
        page.get_by_role("link", name="<b>Run 17</b>").click()
        page.wait_for_selector("html[data-ready]")
        assert page.url == address
    with (
        served(ServiceSettings(metrics=METRICS, lists_comparisons=False)) as live,
        visited(chromium, live) as seen,
    ):
        seen.page.click("#example")
        compare(seen.page)
        seen.page.goto(live.url)
        seen.page.wait_for_selector("html[data-page=ready]")
        assert seen.page.locator("#recent").is_hidden()


@pytest.mark.parametrize("size", [{"width": 1400, "height": 900}, PHONE], ids=["desk", "phone"])
def test_compare_and_messages_are_on_the_first_screen(
    chromium: Browser, live: Live, size: dict[str, int]
) -> None:
    with visited(chromium, live, viewport=size) as seen:
        page = seen.page
        page.click("#go")
        page.locator("#problem").filter(has_text="nothing to compare").wait_for()
        for where in ("#go", "#problem", "#choose"):
            box = page.locator(where).bounding_box()
            assert box is not None
            assert 0 <= box["y"] <= box["y"] + box["height"] <= size["height"]


@pytest.mark.parametrize("height", [900, 600])
def test_compare_stays_on_the_screen(chromium: Browser, height: int) -> None:
    """With all metrics unfolded and a long message."""
    metrics = ("chrf", "wer", "bleu", "ter", "per", "cder", "sentbleu", "chrf++", "nist")
    with (
        served(ServiceSettings(metrics=metrics, workers=1)) as live,
        visited(chromium, live, viewport={"width": 1400, "height": height}) as seen,
    ):
        page = seen.page
        page.click("#more-metrics summary")
        page.click("#example")
        settle(page)
        for name in page.locator(".system-name:visible").all():
            name.fill("long " * 40)
        page.click("#go")
        page.locator("#problem").filter(has_text="Two systems are named").wait_for()
        page.evaluate("scrollTo(0, 0)")
        for where in ("#go", "#problem"):
            box = page.locator(where).bounding_box()
            assert box is not None
            assert 0 <= box["y"] <= box["y"] + box["height"] <= height


def test_a_question_on_a_table_fits_a_phone(chromium: Browser, live: Live) -> None:
    with visited(chromium, live, viewport=PHONE) as seen:
        page = seen.page
        drop(page, {"wide.csv": "source,reference,engine a,engine b\ns,r,a,b\n"})
        assert page.locator(".quoting select").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


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
        settle(page)
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        assert page.evaluate(width) <= PHONE["width"]
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(chromium: Browser, live: Live, scheme: str) -> None:
    with visited(chromium, live, color_scheme=scheme) as seen:
        page = seen.page
        assert violations(page) == []
        drop(page, {"ref.sgm": sgm("refset", "reference"), "a.tsv": "one\ttwo\nx\ty\n"})
        page.click("#paste")
        page.click("#go")
        page.locator("#problem").filter(has_text="a.tsv").wait_for()
        assert violations(page) == []
        for each in page.locator(".file .remove").all()[::-1]:
            each.click()
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
        for path in ("/v1/read", "/v1/score", "/v1/compare", "/v1/rank", "/v1/explain"):
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
