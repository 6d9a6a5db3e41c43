"""The service with sources in place of references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from adequa.errors import AdequaError
from adequa.metrics.registry import METRICS
from adequa.service.app import ServiceSettings
from adequa.service.client import Client
from browser import needs_browser
from live_service import LINES, Live, served
from source_metric import ENTRY
from test_service_browser import drop, visited

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SOURCES = ["Ein Haus.", "Zwei alte Häuser.", "Die Katze schläft nicht."]
SYSTEMS = {
    "old": ["A house.", "Two houses.", "The cat is not asleep."],
    "new": ["A house.", "Two old houses.", "The cat does not sleep."],
}
METRIC = {"metrics": ["source-length"]}
NEEDS_REFERENCES = (
    'chrf needs references, and there are none: give them ("references", or "ref" of rows), or '
    "name another metric."
)


def score_of(mt: str, src: str) -> float:
    return min(len(mt), len(src)) / max(len(mt), len(src))


EXPECTED = {
    name: [score_of(*pair) for pair in zip(texts, SOURCES, strict=True)]
    for name, texts in SYSTEMS.items()
}
ROWS = [
    {"mt": mt, "src": src, "system": name}
    for name, texts in SYSTEMS.items()
    for mt, src in zip(texts, SOURCES, strict=True)
]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(METRICS, "source-length", ENTRY)
        settings = ServiceSettings(metrics=("source-length", "chrf"), workers=1)
        with served(settings) as server:
            yield server


def file(name: str, texts: list[str], role: str) -> dict[str, str]:
    return {"name": name, "role": role, "text": "".join(f"{text}\n" for text in texts)}


FILES = [
    file("old.txt", SYSTEMS["old"], "hypotheses"),
    file("new.txt", SYSTEMS["new"], "hypotheses"),
    file("src.txt", SOURCES, "source"),
]
TABLE = {
    "name": "all.tsv",
    "text": "system\tmt\tsrc\n"
    + "".join("\t".join([row["system"], row["mt"], row["src"]]) + "\n" for row in ROWS),
}


@pytest.mark.parametrize(
    "texts",
    [
        {"systems": SYSTEMS, "sources": SOURCES},
        {"systems": SYSTEMS, "sources": SOURCES, "references": []},
        {"systems": SYSTEMS, "sources": SOURCES, "documents": ["a", "a", "b"]},
        {"rows": ROWS},
        {"rows": [{**row, "ref": None} for row in ROWS]},
        {"files": FILES},
        {"files": [TABLE]},
    ],
)
def test_scores_by_sources(live: Live, texts: dict[str, Any]) -> None:
    answer = live.post("/v1/score", {**texts, **METRIC})
    assert answer.status == 200, answer.body
    (metric,) = answer.json["metrics"]
    assert metric["signature"].startswith("source-length|nrefs:0|")
    scores = {each["name"]: each["segments"] for each in metric["systems"]}
    assert scores == {name: pytest.approx(expected) for name, expected in EXPECTED.items()}
    refused = live.post("/v1/score", {**texts, "metrics": ["source-length", "chrf"]})
    assert (refused.status, refused.json["error"]) == (422, NEEDS_REFERENCES)


def test_streams_by_sources(live: Live) -> None:
    lines = live.post(
        "/v1/score?metric=source-length", "".join(f"{line}\n" for line in map(_json, ROWS)), LINES
    ).lines
    scores = [line["scores"]["source-length"] for line in lines[:-1]]
    assert scores == pytest.approx([*EXPECTED["old"], *EXPECTED["new"]])
    refused = live.post("/v1/score?metric=chrf", _json(ROWS[0]), LINES)
    assert (refused.status, refused.json["error"]) == (422, NEEDS_REFERENCES)
    mixed = f"{_json(ROWS[0])}\n{_json({**ROWS[1], 'ref': 'A house.'})}"
    last = live.post("/v1/score?metric=source-length", mixed, LINES).lines[-1]
    assert last["error"] == (
        "Line 2: Some rows have ref and others have none; give it to all, or to none."
    )


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"systems": SYSTEMS}, "There are no texts: give rows, or systems with their references"),
        ({"rows": [{"mt": "a"}]}, 'rows, item 1: "ref" is missing. Rows need it, or "src" for'),
        ({"rows": [ROWS[0], {**ROWS[1], "ref": "r"}]}, "Some rows have ref and others have none"),
        ({"rows": [{"mt": "a", "src": " "}]}, "Segment 1 has an empty source, and there is no"),
        ({"systems": SYSTEMS, "sources": SOURCES[:2]}, "numbers differ (hypotheses: 3, "),
        ({"files": FILES[:2]}, "The files hold no references: old.txt, new.txt."),
        ({"rows": [{"mt": "a", "ref": "r"}]}, 'source-length needs sources, and there are none: '
         'give them ("sources", or "src" of rows), or'),
    ],
)  # fmt: skip
def test_what_is_missing(live: Live, texts: dict[str, Any], sentence: str) -> None:
    answer = live.post("/v1/score", {**texts, **METRIC})
    assert answer.status == 422
    assert sentence in answer.json["error"]


@pytest.mark.parametrize("path", ["/v1/compare", "/v1/rank", "/v1/explain"])
def test_metrics_that_need_references(live: Live, path: str) -> None:
    named = {"metrics": ["chrf"]} if path == "/v1/compare" else {"metric": "chrf"}
    answer = live.post(path, {"systems": SYSTEMS, "sources": SOURCES, **named})
    assert (answer.status, answer.json["error"]) == (422, NEEDS_REFERENCES)


def test_an_explanation_needs_references(live: Live) -> None:
    content = {"systems": SYSTEMS, "sources": SOURCES, "metric": "source-length"}
    answer = live.post("/v1/explain", content)
    assert (answer.status, answer.json["error"]) == (
        422,
        "An explanation says what differences from the reference cost, and there are no "
        'references: give them ("references", or "ref" of rows).',
    )


def test_a_file_that_brings_its_sources(live: Live) -> None:
    units = "".join(
        f'<trans-unit id="{row}"><source>{src}</source><target>{mt}</target></trans-unit>'
        for row, (src, mt) in enumerate(zip(SOURCES, SYSTEMS["new"], strict=True))
    )
    xliff = f'<xliff version="1.2"><file original="a"><body>{units}</body></file></xliff>'
    answer = live.post("/v1/score", {"files": [{"name": "new.xlf", "text": xliff}], **METRIC})
    assert answer.status == 200, answer.body
    (system,) = answer.json["metrics"][0]["systems"]
    assert (system["name"], system["segments"]) == ("new", pytest.approx(EXPECTED["new"]))
    read = live.post("/v1/read", {"files": [{"name": "new.xlf", "text": xliff}]}).json
    assert (read["sources"], read["references"]) == (SOURCES, [])


def test_rankings_by_sources(live: Live) -> None:
    content = {"systems": SYSTEMS, "sources": SOURCES, "metric": "source-length"}
    answer = live.post("/v1/rank", {**content, "resamples": 10})
    assert answer.status == 200, answer.body
    assert {each["system"] for each in answer.json["systems"]} == set(SYSTEMS)
    answer = live.post("/v1/rank", {"systems": SYSTEMS, "sources": SOURCES})
    assert answer.status == 422
    assert "needs references, and there are none" in answer.json["error"]


def test_files_are_read(live: Live) -> None:
    read = live.post("/v1/read", {"files": FILES}).json
    assert (read["systems"], read["references"], read["sources"]) == (SYSTEMS, [], SOURCES)
    assert live.post("/v1/read", {"files": [TABLE]}).json["references"] == []
    assert live.post("/v1/read", {"files": FILES[2:]}).json["sources"] == SOURCES


def test_metrics_say_what_they_read(live: Live) -> None:
    reads = {each["name"]: each["reads"] for each in live.get("/v1/metrics").json["metrics"]}
    assert reads == {"source-length": {"source": "required"}, "chrf": {"reference": "required"}}


@needs_browser
def test_the_page_takes_a_source_without_a_reference(chromium: Browser, live: Live) -> None:
    with visited(chromium, live) as seen:
        page = seen.page
        drop(page, {"new.txt": "\n".join(SYSTEMS["new"]), "src.txt": "\n".join(SOURCES)})
        for box in page.locator("#choices input").all():
            box.set_checked(box.get_attribute("value") == "source-length")
        page.click("#go")
        page.locator("#single").filter(has_text="source-length").wait_for()
        assert page.locator("#problem").inner_text() == ""


def test_the_client(live: Live) -> None:
    client = Client(live.url)
    scores = client.score(SYSTEMS["old"], sources=SOURCES, metric="source-length")
    assert list(scores.segments["source-length"]) == pytest.approx(EXPECTED["old"])
    ranking = client.rank(SYSTEMS, sources=SOURCES, metric="source-length", resamples=10)
    assert len(ranking["systems"]) == 2
    with pytest.raises(AdequaError, match="chrf needs references, and there are none"):
        client.compare(SYSTEMS, None, ["chrf"], sources=SOURCES)
