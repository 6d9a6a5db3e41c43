"""`/v1/explain`: the same as `adequa.explain`, within limits, and in turns with other requests."""

from __future__ import annotations

import json
import re
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from adequa import explain
from adequa.errors import AdequaError
from adequa.explanation.costs import MAX_DIFFERENCES
from adequa.metrics.edit_rates import WER
from adequa.metrics.sacrebleu_metrics import CHRF
from adequa.pretrained import ranker_folder
from adequa.segments import FloatArray, Segments
from adequa.service.app import ServiceSettings
from adequa.service.client import Client
from adequa.service.limits import THOROUGH, Limits, RequestError
from live_service import JSON, LINES, Live, served, until
from test_cli import EXAMPLES

NAMES = ("literal", "fluent")
SYSTEMS = {
    name: (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()[:12] for name in NAMES
}
REFERENCES = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()[:12]
REQUEST = {"systems": SYSTEMS, "references": REFERENCES}
ROW = {"mt": "It cost 300 euros.", "ref": "It cost 500 euros."}
LIMITS = Limits(segments=600, body=60_000, explanations=2)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    metrics = ("adequa", "chrf", "wer", "nist", ranker_folder())
    with served(ServiceSettings(metrics=metrics, workers=1, limits=LIMITS)) as server:
        yield server


def explained(live: Live, **request: Any) -> Any:
    answer = live.post("/v1/explain", request)
    assert answer.status == 200, answer.body
    return answer.json


def error(answer: Any, status: int = 422) -> str:
    assert answer.status == status, answer.body
    assert list(answer.json) == ["error"]
    sentence: str = answer.json["error"]
    assert "Traceback" not in sentence
    return sentence


def segments_of(
    systems: Mapping[str, Sequence[str]], references: Sequence[str | Sequence[str]]
) -> Segments:
    """The segments of all systems, as `adequa.explain` takes them."""
    cells = tuple((each,) if isinstance(each, str) else tuple(each) for each in references)
    return Segments(
        tuple(text for texts in systems.values() for text in texts),
        cells * len(systems),
        ids={"system": tuple(name for name, texts in systems.items() for _ in texts)},
    )


def rounded(content: Any) -> Any:
    """Numbers with five decimals, since the sixth of a model may depend on the batch."""
    if isinstance(content, float):
        return round(content, 5)
    if isinstance(content, dict):
        return {key: rounded(value) for key, value in content.items()}
    return [rounded(value) for value in content] if isinstance(content, list) else content


@pytest.mark.parametrize("metric", ["adequa", "chrf", "wer", "nist"])
def test_it_is_what_python_explains(live: Live, metric: str) -> None:
    answer = explained(live, **REQUEST, metric=metric)
    expected = explain(segments_of(SYSTEMS, REFERENCES), metric=metric).to_dict()
    assert rounded(answer) == rounded(json.loads(json.dumps(expected)))
    assert [each["system"] for each in answer["systems"]] == list(NAMES)
    assert len(answer["segments"]) == 24
    assert answer["differences"]


def test_options_are_those_of_python(live: Live) -> None:
    references = [
        [other, text] for text, other in zip(REFERENCES, [*REFERENCES[1:], "X."], strict=True)
    ]
    segments = segments_of(SYSTEMS, references)
    for options in ({"worst": 3}, {"worst": 1, "thorough": True}, {"language": "en-de"}):
        answer = explained(live, systems=SYSTEMS, references=references, metric="chrf", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = explain(segments, metric="chrf", **options)
        assert answer["segments"] == expected.to_dict()["segments"]
        assert len(answer["segments"]) == options.get("worst", 24)
        assert {each["reference_number"] for each in answer["segments"]} == {2}


def test_rows_and_files_are_explained_as_columns(live: Live) -> None:
    columns = explained(live, **REQUEST, metric="chrf", worst=4)
    rows = [
        {"mt": text, "ref": reference, "system": name}
        for texts in zip(*SYSTEMS.values(), REFERENCES, strict=True)
        for name, text in zip(NAMES, texts, strict=False)
        for reference in texts[-1:]
    ]
    assert explained(live, rows=rows, metric="chrf", worst=4) == columns
    files = [{"name": f"{name}.txt", "text": "\n".join(SYSTEMS[name])} for name in NAMES]
    files.append({"name": "ref.txt", "text": "\n".join(REFERENCES)})
    assert explained(live, files=files, metric="chrf", worst=4) == columns


def test_the_metric_is_by_default_one_that_knows_the_language(live: Live) -> None:
    german = ["Das Haus ist nicht so alt, wie wir es alle erwartet haben.", "Das weiß ich nicht."]
    rows = [{"mt": text.replace("nicht ", ""), "ref": text} for text in german]
    assert explained(live, **REQUEST, worst=1)["metric"] == "adequa"
    answer = explained(live, rows=rows)
    assert (answer["metric"], answer["language"]["code"]) == ("chrf", "de")
    assert "warning" not in answer
    assert {piece["kind"] for each in answer["segments"] for piece in each["pieces"]} == {
        "negation"
    }
    answer = explained(live, rows=rows, metric="adequa")
    assert "English" in answer["warning"]
    with served(ServiceSettings(metrics=("wer",))) as other:
        assert explained(other, rows=rows)["metric"] == "wer"


def test_foreign_outputs_are_noted(live: Live) -> None:
    rows = [{"mt": "Das ist nicht so gut, wie wir es alle erwartet haben.", "ref": "It is so."}]
    (note,) = explained(live, rows=rows, metric="adequa", language="en")["notes"]
    assert note.startswith("1 hypothesis of 1 that adequa scored is plainly not in English")


def test_empty_and_equal_texts(live: Live) -> None:
    rows = [{"mt": "", "ref": "A cat."}, {"mt": " ", "ref": "A cat."}, {"mt": "A.", "ref": "A."}]
    for metric in ("adequa", "chrf", "wer"):
        answer = explained(live, rows=rows, metric=metric)
        assert [len(each["pieces"]) for each in answer["segments"]] == [1, 1, 0]
        (piece,) = answer["segments"][0]["pieces"]
        assert (piece["kind"], piece["hypothesis"], piece["reference"]) == (
            "omission",
            "",
            "A cat.",
        )
        assert (piece["hypothesis_span"], piece["reference_span"]) == ([0, 0], [0, 6])


BAD: dict[str, tuple[dict[str, Any], int, str]] = {
    "no texts": ({}, 422, "There are no texts"),
    "no rows": ({"rows": []}, 422, "nothing to score"),
    "no references": ({"systems": SYSTEMS}, 422, "There are no texts: give rows, or systems with"),
    "no reference": ({"rows": [{"mt": "a", "ref": []}]}, 422, '"ref" is empty'),
    "an empty reference": ({"rows": [{"mt": "a", "ref": " "}]}, 422, "has an empty reference"),
    "unequal": ({"systems": SYSTEMS, "references": ["x"]}, 422, "differ in length: 12 and 1"),
    "an unknown metric": ({"rows": [ROW], "metric": "chr"}, 422, 'Did you mean "chrf"?'),
    "metrics": ({"rows": [ROW], "metrics": ["chrf"]}, 422, '"metrics" is not a field of a request'),
    "a ranker": (
        {"rows": [ROW], "metric": "ranker"},
        422,
        "ranks hypotheses of one segment against each other",
    ),
    "none": ({"rows": [ROW], "worst": 0}, 422, '"worst" must be 1 or more'),
    "a switch": ({"rows": [ROW], "thorough": "yes"}, 422, '"thorough" must be true or false'),
    "too many": (
        {"rows": [ROW] * 51},
        413,
        "There are 51 segments to explain, and this server explains 50 in one request at most; "
        'with "worst": 50 it explains those with the worst scores.',
    ),
    "too many of the worst": ({"rows": [ROW] * 60, "worst": 55}, 413, "There are 55 segments"),
    "too many thoroughly": (
        {"rows": [ROW] * 13, "thorough": True},
        413,
        "explains thoroughly 6 in one request",
    ),
    "too long": (
        {"rows": [{"mt": "a " * 1_000, "ref": "b " * 1_000}] * 2, "worst": 2},
        413,
        "may have 8,000 characters, and this server explains 5,000 in one request at most",
    ),
}


@pytest.mark.parametrize(("body", "status", "sentence"), BAD.values(), ids=BAD.keys())
def test_invalid_requests_get_a_sentence(
    live: Live, body: dict[str, Any], status: int, sentence: str
) -> None:
    assert sentence in error(live.post("/v1/explain", body), status)


def test_limits_allow_what_they_say(live: Live) -> None:
    limit = live.get("/v1/metrics").json["limits"]["explained"]
    assert limit == 50
    assert len(explained(live, rows=[ROW] * 50, metric="wer")["segments"]) == 50
    assert len(explained(live, rows=[ROW] * 60, metric="wer", worst=50)["segments"]) == 50
    long = [{"mt": "a " * 1_900, "ref": "b " * 1_900}]  # one segment is never too much
    assert len(explained(live, rows=long, metric="wer")["segments"]) == 1
    assert "takes application/json" in error(live.post("/v1/explain", "", LINES), 415)


def test_a_metric_of_whole_corpora_explains_fewer_segments_of_large_ones() -> None:
    texts = Segments(("a",) * 20_000, (("b",),) * 20_000)
    check = Limits().check_explanation
    assert check([texts], 1_666, thorough=False) == 1_666
    assert check([texts], 64, thorough=False, needs_whole_corpus=True) == 64
    for worst, thorough in ((65, False), (9, True)):
        with pytest.raises(RequestError, match=f"There are {worst} segments"):
            check([texts], worst, thorough=thorough, needs_whole_corpus=True)


def test_the_client_explains(live: Live) -> None:
    client = Client(live.url)
    expected = explained(live, rows=[ROW], metric="chrf")
    for answer in (
        client.explain([ROW["mt"]], [ROW["ref"]], "chrf"),
        client.explain([ROW["mt"]], [[ROW["ref"]]], metric="chrf", layout="streams"),
        client.explain([ROW], "chrf"),
        client.explain(rows=[ROW], metric="chrf"),
    ):
        assert answer == expected
    assert client.explain([ROW])["metric"] == "adequa"
    assert len(client.explain([ROW, ROW], worst=1, language="en")["segments"]) == 1
    segments = segments_of(SYSTEMS, REFERENCES)
    assert client.explain(segments, metric="wer", worst=2)["scored"] == 24
    with pytest.raises(AdequaError, match="There are 51 segments"):
        client.explain([ROW] * 51)
    with pytest.raises(AdequaError, match="differ in length"):
        client.explain([ROW["mt"]], [], "chrf")
    calls: list[Callable[[], object]] = [
        lambda: client.explain([ROW], "chrf", "adequa"),
        lambda: client.score([ROW], ["chrf"], "adequa"),
        lambda: client.score([ROW], ["chrf"], metrics=["adequa"]),
    ]
    for call in calls:
        with pytest.raises(AdequaError, match="the second argument names the metric; give no"):
            call()
    with pytest.raises(AdequaError, match='references as "ref"; leave out references'):
        client.explain(rows=[ROW], references=["It cost 500 euros."])
    with pytest.raises(AdequaError, match='sources as "src"; leave out sources'):
        client.explain(rows=[ROW], sources=["Es kostete 500 Euro."])


def test_progress_is_streamed(live: Live) -> None:
    headers = {**JSON, "Accept": "application/x-ndjson"}
    connection = HTTPConnection("127.0.0.1", live.port, timeout=30)
    with live.service.catalogue.queue("wer").metric_lock:  # nothing is scored until it is released
        connection.request("POST", "/v1/explain", json.dumps({**REQUEST, "metric": "wer"}), headers)
        response = connection.getresponse()
        progress = json.loads(response.readline())["progress"]
    assert progress == {"stage": "Explaining", "scored": 0, "total": 24}
    assert json.loads(response.read().splitlines()[-1])["result"]["metric"] == "wer"
    connection.close()
    bad = live.post("/v1/explain", {**REQUEST, "metric": "wre"}, headers)
    assert 'Did you mean "wer"?' in error(bad)


def test_a_small_request_for_scores_does_not_wait_for_an_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits for a slice of the variants, and not for all of them."""
    answers: list[Any] = []
    batches: list[tuple[str, ...]] = []
    sent: list[int] = []  # the number of the batch during which the small request arrives
    rows = [{"mt": f"w{number} b c d e f", "ref": f"x{number} b y d z f"} for number in range(300)]
    with served(ServiceSettings(metrics=("wer",))) as live:
        queue = live.service.catalogue.queue("wer")
        compute = WER.checked_statistics
        score = {"rows": [ROW], "metrics": ["wer"]}
        scoring = threading.Thread(target=lambda: answers.append(live.post("/v1/score", score)))

        def recorded(metric: WER, segments: Segments) -> Any:
            is_within = any(each.position and each.remaining for each in queue._submissions)
            if is_within and not sent:
                sent.append(len(batches))
                scoring.start()
                until(lambda: len(queue._submissions) == 2)
            batches.append(segments.hypotheses)
            return compute(metric, segments)

        monkeypatch.setattr(WER, "checked_statistics", recorded)
        answers.append(live.post("/v1/explain", {"rows": rows, "metric": "wer"}))
        scoring.join()
    assert [answer.status for answer in answers] == [200, 200]
    turn = next(turn for turn, texts in enumerate(batches) if ROW["mt"] in texts)
    assert turn == sent[0] + 1
    assert len(batches) > turn + 5


@contextmanager
def busy(live: Live, path: str, request: Mapping[str, Any], count: int) -> Iterator[list[Any]]:
    """Post a request so many times while WER is locked; the answers come when it is unlocked."""
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(live.post(path, request)))
        for _ in range(count)
    ]
    with live.service.catalogue.queue("wer").metric_lock:
        for thread in threads:
            thread.start()
        yield answers
    for thread in threads:
        thread.join()


def test_an_explanation_does_not_wait_for_comparisons(live: Live) -> None:
    """Comparisons have their own threads, all of which may be busy."""
    request = {**REQUEST, "metrics": ["wer"], "resamples": 10}
    with busy(live, "/v1/compare", request, LIMITS.comparisons) as compared:
        until(lambda: len(live.service.tasks) == LIMITS.comparisons)
        assert explained(live, rows=[ROW], metric="chrf")["scored"] == 1
        assert not compared


def test_too_many_explanations_are_refused(live: Live) -> None:
    request = {"rows": [ROW], "metric": "wer"}
    with busy(live, "/v1/explain", request, LIMITS.explanations) as answers:
        until(lambda: len(live.service.explanations) == LIMITS.explanations)
        refused = live.post("/v1/explain", request)
        assert "2 explanations are being made or wait" in error(refused, 429)
        assert int(refused.headers["retry-after"]) >= 1
    assert [answer.status for answer in answers] == [200, 200]


@pytest.mark.parametrize("accept", ["application/x-ndjson", "application/json"])
def test_an_explanation_ends_when_its_client_leaves(live: Live, accept: str) -> None:
    queue = live.service.catalogue.queue("wer")
    body = json.dumps({**REQUEST, "metric": "wer"}).encode()
    lines = ["POST /v1/explain HTTP/1.1", "Host: localhost", f"Accept: {accept}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    with queue.metric_lock:
        with socket.create_connection(("127.0.0.1", live.port)) as raw:
            raw.sendall("\r\n".join(lines).encode() + body)
            until(lambda: live.service.catalogue.backlog.count > 0)
        until(lambda: len(live.service.explanations) == 0)
    until(lambda: queue.is_idle)
    assert live.service.catalogue.backlog.count == 0


class CountingCHRF(CHRF):
    """chrF that counts the hypotheses that it scores."""

    scored = 0

    def statistics(self, segments: Segments) -> FloatArray:
        CountingCHRF.scored += len(segments)
        return super().statistics(segments)


def variants(count: int, *, thorough: bool) -> int:
    """How many hypotheses are scored to explain a segment of so many differences."""
    hypothesis = " ".join(f"same{n} wrong{n} same{n}" for n in range(count))
    CountingCHRF.scored = 0
    reference = hypothesis.replace("wrong", "right")
    result = explain([hypothesis], [reference], CountingCHRF(), language="en", thorough=thorough)
    assert len(result.segments[0].pieces) == count
    assert CountingCHRF.scored > count
    return CountingCHRF.scored


@pytest.mark.parametrize("count", [1, 8, MAX_DIFFERENCES])
def test_the_limit_of_thorough_explanations_bounds_their_work(count: int) -> None:
    assert variants(count, thorough=True) <= THOROUGH * variants(count, thorough=False)


def test_a_server_that_only_ranks_explains_nothing() -> None:
    with served(ServiceSettings(metrics=(ranker_folder(),))) as live:
        assert "no metric that scores" in error(live.post("/v1/explain", {"rows": [ROW]}))


def test_explanations_are_counted_and_logged_without_text(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        explained(live, rows=[{"mt": "Geheimtext", "ref": "Klartext"}] * 2, metric="wer")
        until(lambda: "POST /v1/explain 200, 2 segments" in caplog.text)
    assert "Geheimtext" not in caplog.text
    counts = live.get("/metrics").body.decode()
    assert re.search(r'adequa_requests_total\{route="/v1/explain",status="200"\} \d', counts)
