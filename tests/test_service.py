"""The service as programs find it: results as on the command line, limits, tokens, and clients."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from adequa.comparison.results import Comparison
from adequa.errors import AdequaError
from adequa.pretrained import ranker_folder
from adequa.scoring.results import RunningScores, ScoringResult
from adequa.segments import as_segments
from adequa.service import catalogue, server
from adequa.service.app import ServiceSettings
from adequa.service.client import Client
from adequa.service.comparing import BackgroundTask
from adequa.service.limits import Limits
from adequa.service.queue import BATCH, MetricQueue
from adequa.service.server import Address, check_access, create_server, read_token
from adequa.service.store import StoredComparison
from live_service import JSON, LINES, Live, served, until
from test_cli import EXAMPLES, adequa

SYSTEMS = {
    name: (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("literal", "fluent")
}
REFERENCES = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()
FILES: list[str | Path] = [*("-t", EXAMPLES / "literal.txt", "-t", EXAMPLES / "fluent.txt")]
FILES += ["-r", EXAMPLES / "reference.txt"]
LIMITS = Limits(body=300_000, segments=500, characters=1_000, draws=10**8, timeout=2.0)
ROW = {"mt": "The cat sat.", "ref": "A cat sat."}


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    metrics = ("chrf", "wer", "nist", "bleu", "meteor", "adequa")
    with served(ServiceSettings(metrics=metrics, workers=1, limits=LIMITS)) as server:
        yield server


def printed(*arguments: str | Path) -> Any:
    shown = adequa(*arguments, "--format", "json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def error(answer: Any, status: int) -> str:
    assert answer.status == status, answer.body
    assert list(answer.json) == ["error"]
    sentence: str = answer.json["error"]
    assert "Traceback" not in sentence
    return sentence


def counted(live: Live, name: str) -> float:
    """One of the counts for Prometheus."""
    shown = live.get("/metrics").body.decode().splitlines()
    return sum(float(line.split()[1]) for line in shown if line.startswith(name))


def test_scores_are_those_of_the_command_line(live: Live) -> None:
    metrics = ["adequa", "chrf", "bleu", "nist", "bleu:lowercase=true"]
    answer = live.post(
        "/v1/score", {"systems": SYSTEMS, "references": REFERENCES, "metrics": metrics}
    ).json
    named_metrics = [word for metric in metrics for word in ("-m", metric)]
    expected = printed("score", *FILES, *named_metrics, "--segments", "--no-cache")
    for mine, theirs in zip(answer["metrics"], expected["metrics"], strict=True):
        for one, other in zip(mine.pop("systems"), theirs.pop("systems"), strict=True):
            # Other texts of a batch may move the sixth decimal of what the model says.
            assert one["score"] == pytest.approx(other["score"], abs=2e-6)
            assert one["segments"] == pytest.approx(other["segments"], abs=2e-6)
        assert mine == theirs
    rows = [
        {"mt": text, "ref": reference, "system": name, "doc": str(place % 2)}
        for name, texts in SYSTEMS.items()
        for place, (text, reference) in enumerate(zip(texts, REFERENCES, strict=True))
    ]
    by_row = live.post(
        "/v1/score", {"rows": rows, "metrics": ["chrf"], "by": "doc", "segments": False}
    ).json
    assert by_row["by"] == "doc"
    (metric,) = by_row["metrics"]
    assert [system["name"] for system in metric["systems"]] == list(SYSTEMS)
    chrf = next(each for each in answer["metrics"] if each["name"] == "chrf")
    assert "systems" not in chrf
    assert [group["name"] for group in metric["systems"][0]["groups"]] == ["0", "1"]


def test_comparisons_are_those_of_the_command_line(live: Live) -> None:
    request = {
        "systems": SYSTEMS,
        "references": REFERENCES,
        "metrics": ["chrf", "wer"],
        "resamples": 200,
        "swaps": 300,
        "segments": True,
    }
    answer = live.post("/v1/compare", request)
    assert answer.status == 200
    options = ["-m", "chrf", "-m", "wer", "--resamples", "200", "--swaps", "300", "--segments"]
    assert answer.json == printed("compare", *FILES, *options)


def test_human_agreement_and_language_notes_as_on_the_command_line(live: Live) -> None:
    small = {name: texts[:12] for name, texts in SYSTEMS.items()}
    request = {"systems": small, "references": REFERENCES[:12], "metrics": ["adequa"]}
    answer = live.post("/v1/compare", {**request, "resamples": 100}).json
    assert answer["metrics"][0]["pairs"][0]["people"]["pairs"] > 0
    assert not any("not in English" in note for note in answer["notes"])
    german = ["Das ist nicht so gut, wie wir es alle erwartet haben."] * 2
    request = {"systems": {"a": german, "b": german}, "references": ["It is so."] * 2}
    answer = live.post("/v1/compare", {**request, "metrics": ["adequa"], "resamples": 10}).json
    assert answer["notes"][-1].startswith("4 hypotheses of 4 that adequa scored are plainly not in")
    rows = [{"mt": german[0], "ref": "It is so."}, {"mt": "It is so.", "ref": "It is so."}]
    content = live.post("/v1/score", {"rows": rows, "metrics": ["adequa", "chrf"]}).headers
    (note,) = json.loads(content["adequa-notes"])
    assert note.startswith("1 hypothesis of 2 that adequa scored is plainly not in English")
    columns = live.post("/v1/score", {**request, "metrics": ["adequa"]}).headers
    assert "4 hypotheses of 4" in columns["adequa-notes"]
    for rest in ({"rows": rows, "metrics": ["chrf"]}, {"rows": rows[1:], "metrics": ["adequa"]}):
        assert "adequa-notes" not in live.post("/v1/score", rest).headers


def test_rankings_are_those_of_the_command_line(live: Live) -> None:
    request = {"systems": SYSTEMS, "references": REFERENCES, "resamples": 100, "segments": True}
    options = ["--resamples", "100", "--segments"]
    for metric in (None, "wer"):
        answer = live.post("/v1/rank", {**request, "metric": metric})
        assert answer.status == 200, answer.body
        named_metrics = [] if metric is None else ["-m", metric]
        assert answer.json == printed("rank", *FILES, *named_metrics, *options)


def test_a_stream_is_scored_line_by_line(live: Live) -> None:
    rows = [
        {"mt": text, "ref": [reference], "system": name}
        for text, other, reference in zip(*SYSTEMS.values(), REFERENCES, strict=True)
        for name, text in (("literal", text), ("fluent", other))
    ] * 8
    body = "\n".join(json.dumps(row) for row in rows)
    answer = live.post("/v1/score?metric=chrf&metric=wer", body, LINES).lines
    assert [line["segment"] for line in answer[:-1]] == list(range(1, len(rows) + 1))
    whole = live.post(
        "/v1/score", {"systems": SYSTEMS, "references": REFERENCES, "metrics": ["chrf", "wer"]}
    ).json
    for streamed, metric in zip(answer[-1]["metrics"], whole["metrics"], strict=True):
        for one, other in zip(streamed["systems"], metric["systems"], strict=True):
            assert one == {"name": other["name"], "score": pytest.approx(other["score"])}
    fluent = whole["metrics"][0]["systems"][1]["segments"]
    assert [line["scores"]["chrf"] for line in answer[1:72:2]] == pytest.approx(fluent)


def test_a_stream_answers_before_it_ends(live: Live) -> None:
    """A client may wait for the score of a row before it sends the next one."""
    head = b"POST /v1/score?metric=wer HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    row = json.dumps(ROW).encode() + b"\n"
    chunk = b"%x\r\n%s\r\n" % (len(row), row)
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        answers = raw.makefile("rb")
        raw.sendall(head)
        for number in range(1, 4):
            raw.sendall(chunk)
            line = b""
            while b'"segment"' not in line:
                line = answers.readline()
                assert line
            assert json.loads(line) == {"segment": number, "scores": {"wer": 0.25}}
        raw.sendall(b"0\r\n\r\n")
        assert b'"metrics"' in answers.read(200)
        answers.close()


def test_texts_and_metrics_have_the_names_of_the_command_line(live: Live) -> None:
    row = {"hypothesis": ROW["mt"], "reference": ROW["ref"], "source": "s"}
    expected = live.post("/v1/score", {"rows": [ROW], "metrics": ["wer", "bleu"]}).json
    answer = live.post("/v1/score", {"rows": [row], "metrics": ["WER", "BLEU"]})
    assert answer.json == expected
    row = {"translation": ROW["mt"], "ref": ROW["ref"]}
    answer = live.post("/v1/score?metric=Wer", json.dumps(row), LINES)
    assert answer.lines[0] == {"segment": 1, "scores": {"wer": 0.25}}
    settings = live.post("/v1/score", {"rows": [ROW], "metrics": ["BLEU:lowercase=true"]})
    assert settings.json["metrics"][0]["name"] == "bleu"


def test_a_stream_ends_with_what_is_wrong_in_it(live: Live) -> None:
    good = json.dumps(ROW) + "\n"
    path = "/v1/score?metric=wer"
    assert "Line 1: This is not JSON" in error(live.post(path, "{\n" + good, LINES), 400)
    first, second = live.post(path, good + "{", LINES).lines
    assert first["segment"] == 1
    assert "Line 2: This is not JSON" in second["error"]
    assert 'Line 1: "ref" is missing.' in error(live.post(path, '{"mt": "a"}', LINES), 422)
    assert "no segments" in error(live.post(path, "\n\n", LINES), 422)
    late = live.post(path, good * 256 + '{"mt": 1, "ref": "a"}', LINES)
    assert late.status == 200
    assert late.lines[255]["segment"] == 256
    assert 'Line 257: "mt" must be a string, not a number.' in late.lines[256]["error"]
    long = good * 300 + json.dumps({"mt": "x" * 2000, "ref": "a"})
    assert "segment 301 has 2,000 characters" in live.post(path, long, LINES).lines[-1]["error"]
    whole = error(live.post("/v1/score?metric=nist", good, LINES), 422)
    assert whole.startswith("nist looks at a whole corpus")


def test_a_stream_is_the_same_however_it_arrives(live: Live) -> None:
    """Rows are held against those before them, whether they came together or not."""
    path = "/v1/score?metric=wer"

    def sent(rows: list[dict[str, str]], *, apart: bool) -> Any:
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        if not apart:
            return live.post(path, b"".join(lines), LINES).lines
        connection = HTTPConnection("127.0.0.1", live.port, timeout=30)
        scored = threading.Event()

        def one_by_one() -> Iterator[bytes]:
            yield lines[0]
            until(scored.is_set)
            yield from lines[1:]

        add = RunningScores.add_statistics

        def noted(running: RunningScores, *arguments: Any) -> None:
            add(running, *arguments)
            scored.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunningScores, "add_statistics", noted)
            connection.request("POST", path, one_by_one(), LINES, encode_chunked=True)
            answer = connection.getresponse().read().splitlines()
        connection.close()
        return [json.loads(line) for line in answer]

    for apart in (False, True):
        answer = sent([{**ROW, "doc": "d"}, ROW, {**ROW, "system": "b", "src": "x"}], apart=apart)
        assert [line.get("segment") for line in answer] == [1, 2, 3, None]
        for first, second in ((ROW, {**ROW, "src": "x"}), ({**ROW, "src": "x"}, ROW)):
            one, error_ = sent([first, second], apart=apart)
            assert one["segment"] == 1
            assert error_["error"].startswith("Line 2: Some rows of a system have src")
    many = [{**ROW, "system": str(number)} for number in range(1_001)]
    answer = sent(many, apart=False)
    assert answer[999]["segment"] == 1000
    assert "Line 1,001: This server takes 1,000 systems" in answer[1000]["error"]


def test_the_client_asks_as_a_program_does(live: Live) -> None:
    client = Client(live.url)
    assert [metric["name"] for metric in client.metrics()["metrics"]][:2] == ["chrf", "wer"]
    (metric,) = client.score([ROW, ROW], ["wer"])["metrics"]
    assert metric["systems"][0]["segments"] == [0.25, 0.25]
    hypotheses, references = [ROW["mt"]] * 2, [ROW["ref"]] * 2
    expected = client.score([ROW, ROW], ["wer", "bleu"])
    for scores in (
        client.score(hypotheses, references, metrics=["wer", "bleu"]),
        client.score(tuple(hypotheses), [references], metrics=["wer", "bleu"], layout="streams"),
        client.score(as_segments(hypotheses, references), metrics=["wer", "bleu"]),
        client.score(rows=[ROW, ROW], metrics=["wer", "bleu"]),
    ):
        assert scores == expected
    assert (expected.system["wer"], expected.segments["wer"]) == (0.25, [0.25, 0.25])
    scores = client.score(hypotheses, references, "WER", sources=["s", "s"], segments=False)
    assert scores.system == {"wer": 0.25}
    rows = [{**ROW, "system": name} for name in "ab"]
    assert client.score(rows, metrics="wer").system == {"wer": {"a": 0.25, "b": 0.25}}
    with pytest.raises(AdequaError, match="differ in length"):
        client.score(hypotheses, references[:1], metrics=["wer"])
    assert client.compare(SYSTEMS, REFERENCES, ["wer"], resamples=100)["baseline"] == "literal"
    assert client.rank(SYSTEMS, REFERENCES, metric="wer")["systems"][0]["system"] == "fluent"
    *lines, last = client.score_stream((ROW for _ in range(1000)), ["wer"])
    assert len(lines) == 1000
    assert last["metrics"][0]["systems"] == [{"name": "system", "score": 0.25}]
    with pytest.raises(AdequaError, match='no metric "comet"'):
        client.score([ROW], ["comet"])
    with pytest.raises(AdequaError, match='Line 1: "ref" is missing'):
        list(client.score_stream([{"mt": "a"}], ["wer"]))
    with pytest.raises(ZeroDivisionError):
        list(client.score_stream(({"mt": 1 / 0} for _ in range(2)), ["wer"]))
    with pytest.raises(AdequaError, match="does not answer"):
        Client("http://127.0.0.1:1").metrics()
    for wrong in ("127.0.0.1:8000", "http://host:port", "http://host:99999", "http://[::1"):
        with pytest.raises(AdequaError, match="no address of a server"):
            Client(wrong)


BAD: dict[str, tuple[object, int, str]] = {
    "no JSON": ("[", 400, "This is not JSON"),
    "a half character": (
        r'{"rows": [{"mt": "\ud800", "ref": "a"}], "metrics": ["wer"]}',
        400,
        "an unpaired surrogate such as \\ud800 is no text (line 1, column 25)",
    ),
    "bytes that are no text": (b'{"rows": [{"mt": "\xff", "ref": "a"}]}', 400, "not JSON"),
    "deep": ("[" * 100_000, 400, "not JSON"),
    "NaN": (
        '{"rows": [{"mt": NaN, "ref": "a"}], "metrics": ["wer"]}',
        422,
        'rows, item 1: "mt" must be a',
    ),
    "a number of many digits": ('{"metrics": ' + "1" * 5000 + "}", 400, "number out of range"),
    "a list": ([], 422, "A request must be an object, not a list."),
    "wrong types": (
        {"rows": [{"mt": 1, "ref": "a"}], "metrics": ["wer"]},
        422,
        'rows, item 1: "mt" must',
    ),
    "no texts": ({"metrics": ["wer"]}, 422, "There are no texts"),
    "both": ({"rows": [ROW], "systems": {}, "metrics": ["wer"]}, 422, "and not both"),
    "no rows": ({"rows": [], "metrics": ["wer"]}, 422, "nothing to score"),
    "an empty reference": ({"rows": [{"mt": "a", "ref": " "}], "metrics": ["wer"]}, 422, "empty"),
    "no reference": ({"rows": [{"mt": "a", "ref": []}], "metrics": ["wer"]}, 422, '"ref" is empty'),
    "a key too many": (
        {"rows": [ROW], "metrics": ["wer"], "file": "x"},
        422,
        '"file" is not a field of a request; it has: columns, quoting, language, rows, systems, '
        "references, sources, documents, files, metrics, segments, by.",
    ),
    "a key too many in a row": (
        {"rows": [ROW, {**ROW, "file": "x"}], "metrics": ["wer"]},
        422,
        'rows, item 2: "file" is not a field of a row; it has: mt, ref, src, system, doc.',
    ),
    "a text twice": (
        {"rows": [{**ROW, "translation": "x"}], "metrics": ["wer"]},
        422,
        'rows, item 1: "translation" is given under another name too; leave one of them out.',
    ),
    "no hypothesis": (
        {"rows": [{"ref": "a"}], "metrics": ["wer"]},
        422,
        'rows, item 1: "mt" is missing.',
    ),
    "a reference that is null": (
        {"rows": [{"mt": "a", "ref": None}], "metrics": ["wer"]},
        422,
        'rows, item 1: "ref" must be a string or a list of strings, not null.',
    ),
    "a reference of null": (
        {"rows": [{"mt": "a", "ref": ["b", None]}], "metrics": ["wer"]},
        422,
        "rows, item 1, ref: item 2 must be a string, not null.",
    ),
    "a switch": ({"rows": [ROW], "metrics": ["wer"], "segments": 1}, 422, "must be true or false"),
    "no value": ('{"metrics": x}', 400, "a value is missing, or has no quotes (line 1, column 13)"),
    "a comma": ('{"metrics": [],}', 400, "This is not JSON: a comma follows the last item"),
    "no metric": ({"rows": [ROW], "metrics": []}, 422, '"metrics" is empty.'),
    "an unknown metric": ({"rows": [ROW], "metrics": ["wre"]}, 422, 'Did you mean "wer"?'),
    "a metric twice": ({"rows": [ROW], "metrics": ["wer", "wer"]}, 422, "more than once"),
    "a setting": ({"rows": [ROW], "metrics": ["wer:tokenize=x"]}, 422, "not a value of tokenize"),
    "a system twice": (
        '{"systems": {"a": ["x"], "b": [], "a": ["y"]}, "references": ["x"], "metrics": ["wer"]}',
        422,
        '"a" is given more than once',
    ),
    "unequal": (
        {"systems": {"a": ["x"]}, "references": ["x", "y"], "metrics": ["wer"]},
        422,
        "a: hypotheses and references differ in length: 1 and 2.",
    ),
    "some sources": (
        {"rows": [ROW, {**ROW, "src": "x"}], "metrics": ["wer"]},
        422,
        "Some rows have src",
    ),
    "a long text": (
        {"rows": [{"mt": "x" * 1001, "ref": "a"}], "metrics": ["wer"]},
        422,
        "The hypothesis of segment 1 has 1,001 characters, and this server takes 1,000 at most",
    ),
    "many references": (
        {"rows": [{"mt": "x", "ref": ["a"] * 17}], "metrics": ["wer"]},
        422,
        "17 references, and this server takes 16",
    ),
    "many rows": ({"rows": [ROW] * 501, "metrics": ["wer"]}, 413, "takes 500 in one request"),
    "a million segments": (
        '{"systems": {"a": [' + '"",' * 60_000 + '""]}, "references": [], "metrics": ["wer"]}',
        413,
        "60,001 hypotheses",
    ),
    "a long name": (
        {"rows": [{**ROW, "system": "x" * 300}], "metrics": ["wer"]},
        422,
        'rows, item 1: "system" has more than 200 characters.',
    ),
    "a long name of a column": (
        {"systems": {"x" * 300: ["a"]}, "references": ["a"], "metrics": ["wer"]},
        422,
        "name of a system has 300 characters",
    ),
    "a long document": (
        {
            "systems": {"a": ["a"]},
            "references": ["a"],
            "documents": ["x" * 201],
            "metrics": ["wer"],
        },
        422,
        "documents: item 1 has more than 200 characters.",
    ),
    "a long metric": ({"rows": [ROW], "metrics": ["wer:" + "x" * 600]}, 422, "more than 500 char"),
    "another group": ({"rows": [ROW], "metrics": ["wer"], "by": "x" * 999}, 422, '"by" must be'),
    "no such group": ({"rows": [ROW], "metrics": ["wer"], "by": "doc"}, 422, "doc"),
}


@pytest.mark.parametrize(("body", "status", "sentence"), BAD.values(), ids=BAD.keys())
def test_invalid_requests_get_a_sentence(
    live: Live, body: object, status: int, sentence: str
) -> None:
    assert sentence in error(live.post("/v1/score", body), status)


def test_no_path_comes_from_a_request(live: Live, tmp_path: Path) -> None:
    (tmp_path / "scores.tsv").write_text("0.5\n")
    for metric in (
        *(f"meteor:tables={tmp_path}", f"meteor:modules=exact,tables={tmp_path}", "meteor:tables="),
        *(str(tmp_path), str(tmp_path / "scores.tsv"), ".", "", "adequa:device=cuda"),
        *("adequa:threads=900", f"{tmp_path}:references=mean"),
    ):
        for path, body in (
            ("/v1/score", {"rows": [ROW], "metrics": [metric]}),
            ("/v1/compare", {"systems": SYSTEMS, "references": REFERENCES, "metrics": [metric]}),
            ("/v1/rank", {"systems": SYSTEMS, "references": REFERENCES, "metric": metric}),
        ):
            sentence = error(live.post(path, body), 422)
            assert "no metric" in sentence or "set by the operator of the server" in sentence
    fine = live.post("/v1/score", {"rows": [ROW], "metrics": ["meteor:normalize=lc_only"]})
    assert fine.status == 200


def test_metrics_that_would_be_downloaded_are_not_for_requests(live: Live) -> None:
    for tokenizer in ("flores101", "flores200", "spm", "spBLEU-1K", "ja-mecab", "ko-mecab"):
        request = {"rows": [ROW], "metrics": [f"bleu:tokenize={tokenizer}"]}
        assert "choose one of 13a, intl" in error(live.post("/v1/score", request), 422)
    # Nor is what a request wrote looked up as a path: this one would be too long for any.
    long = json.dumps(ROW)
    assert "500 characters" in error(
        live.post(f"/v1/score?metric=wer:{'x' * 600}", long, LINES), 422
    )
    fine = {"rows": [ROW], "metrics": ["bleu:" + ",".join([" "] * 150) + "lowercase=true"]}
    assert live.post("/v1/score", fine).status == 200


def test_bodies_count_until_they_are_answered() -> None:
    with served(ServiceSettings(metrics=("wer",), limits=Limits(bodies=1_000))) as live:
        queue = live.service.catalogue.queue("wer")
        body = {"rows": [ROW] * 20, "metrics": ["wer"]}
        answers: list[Any] = []
        with queue.metric_lock:  # nothing is scored until it is released
            asking = threading.Thread(target=lambda: answers.append(live.post("/v1/score", body)))
            asking.start()
            until(lambda: not queue.is_idle)
            assert "more than 1,000 bytes together" in error(live.post("/v1/score", body), 429)
        asking.join()
        assert answers[0].status == 200
        assert live.post("/v1/score", body).status == 200


def test_a_metric_that_is_in_use_stays_open(live: Live) -> None:
    """A stream that waits for its next row keeps its metric, whatever others ask for meanwhile."""

    def rows() -> Iterator[dict[str, str]]:
        yield ROW
        for beta in range(1, 2 + catalogue._MOST_QUEUES):
            request = {"rows": [ROW], "metrics": [f"chrf:beta={beta},char_order=5"]}
            assert live.post("/v1/score", request).status == 200
        yield ROW

    *answer, _ = Client(live.url).score_stream(rows(), ["bleu:lowercase=true"])
    assert [line["segment"] for line in answer] == [1, 2]
    assert len(live.service.catalogue._metrics) <= catalogue._MOST_QUEUES


def test_comparisons_have_limits_too(live: Live) -> None:
    request = {"systems": SYSTEMS, "references": REFERENCES, "metrics": ["wer"]}
    for more, sentence in (
        ({"resamples": 10_001}, "takes 10,000 at most"),
        ({"swaps": 1_000_001}, "swaps is 1,000,001, and this server takes 1,000,000 at most"),
        ({"alpha": 1e-12}, "swaps is 10,000,000, and this server takes 1,000,000 at most"),
        ({"resamples": 0}, '"resamples" must be 1 or more'),
        ({"confidence": 1.0}, '"confidence" must be less than 1'),
        ({"clusters": "none"}, 'no rule "none"'),
        ({"systems": {"one": SYSTEMS["fluent"]}}, "between two systems or more"),
        ({"metrics": ["wer"] * 13}, "13 metrics"),
    ):
        assert sentence in error(live.post("/v1/compare", {**request, **more}), 422)
    assert "NaN" not in error(live.post("/v1/compare", '{"alpha": NaN}'), 422)
    assert "Only /v1/score takes a stream" in error(live.post("/v1/rank", "", LINES), 415)


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({str(at): 0 for at in range(20_000)}, 422, "has 20,001 keys"),
        ({"rows": [{str(at): 0 for at in range(20_000)}]}, 422, "has 20,000 keys"),
        ({"systems": {str(at): [] for at in range(20_000)}}, 422, "are 20,000 systems"),
        ({"systems": {"a": [""] * 60_000}}, 413, "60,000 hypotheses"),
        ({"rows": [{"mt": "", "ref": "a"}] * 9_000}, 413, "9,000 hypotheses"),
        ({"systems": {str(at): [] for at in range(101)}, "references": []}, 422, "101 systems"),
    ],
)
def test_large_bodies_are_refused_by_their_size(
    live: Live, body: dict[str, object], status: int, sentence: str
) -> None:
    """Before each key and each row is looked at, which would take long."""
    assert sentence in error(live.post("/v1/score", {**body, "metrics": ["wer"]}), status)


def test_many_systems_have_limits(live: Live) -> None:
    """Few bytes may ask for much: pairs of systems, by wide statistics, in many swaps."""
    many = {"systems": {str(at): ["a", "b"] for at in range(100)}, "references": ["a"] * 2}
    wide = {"metrics": ["chrf"], "swaps": 150_000}
    for path, more, sentence in (
        ("/v1/compare", {"metrics": ["chrf"]}, "between all pairs of 100 systems.*fewer swaps"),
        ("/v1/compare", wide, "13,365,000,000 numbers in 150,000 swaps.*10,000,000,000 at most"),
        ("/v1/rank", {"metric": "wer", "resamples": 9_000}, "90,000,000 pairs.*50,000,000 at most"),
    ):
        assert re.search(sentence, error(live.post(path, {**many, **more}), 422))


def test_comparisons_that_wait_for_scores_hold_up_no_other() -> None:
    answers: list[Any] = []
    with served(ServiceSettings(metrics=("wer", "chrf"))) as live:
        queue = live.service.catalogue.queue("wer")
        queue.metric_lock.acquire()  # nothing is scored with it until it is released
        request = {"systems": SYSTEMS, "references": REFERENCES, "resamples": 10}
        threads = [
            threading.Thread(
                target=lambda: answers.append(
                    live.post("/v1/compare", {**request, "metrics": ["wer"]})
                )
            )
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(live.service.tasks) == 3)
        assert live.post("/v1/compare", {**request, "metrics": ["chrf"]}).status == 200
        assert not answers
        queue.metric_lock.release()
        for thread in threads:
            thread.join()
    assert [answer.status for answer in answers] == [200] * 3


def test_bodies_have_limits(live: Live) -> None:
    assert "content type" in error(
        live.post("/v1/score", "{}", {"Content-Type": "text/plain"}), 415
    )
    large = live.post("/v1/score", b" " * 300_001)
    assert "larger than 300,000 bytes" in error(large, 413)
    assert large.headers["connection"] == "close"
    # The sentence reaches a client that reads no answer before it has sent all, even of more.
    with pytest.raises(AdequaError, match="larger than 300,000 bytes"):
        Client(live.url).score([{"mt": "x" * 20_000_000, "ref": "y"}], ["wer"])
    # A gigabyte that is only announced, and one of unknown length that stops being read.
    for head in (b"Content-Length: 1000000000", b"Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
            raw.sendall(
                b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n" + head + b"\r\n\r\n"
            )
            if b"chunked" in head:
                try:
                    for _ in range(16_000):
                        raw.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                except OSError:
                    pass  # it hung up, long before the end
                else:
                    pytest.fail("the server read a gigabyte")
            else:
                assert raw.recv(65536).startswith(b"HTTP/1.1 413")


def test_slow_and_half_closed_connections_end(live: Live) -> None:
    """A body that stops coming, and a connection of which one half is closed."""
    head = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(head + b'Content-Length: 100\r\n\r\n{"rows"')
        assert raw.recv(65536).startswith(b"HTTP/1.1 408")
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(head + b"Content-Length: 100000\r\n\r\n")
        raw.settimeout(0.1)
        answer = b""
        while not answer:  # something comes all the time, but too little
            raw.sendall(b" ")
            with suppress(TimeoutError):
                answer = raw.recv(65536)
        raw.settimeout(30)
        while more := raw.recv(65536):
            answer += more
        assert b"send it faster" in answer
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(head + b'Content-Length: 100\r\n\r\n{"rows"')
        raw.shutdown(socket.SHUT_WR)
        assert raw.recv(65536) == b""
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        assert raw.recv(65536).startswith(b"HTTP/1.1 400")
    assert live.get("/healthz").json == {"status": "ok"}


def test_a_client_that_does_not_read_is_left(
    live: Live, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADER_TIMEOUT", 0.2)
    large = StoredComparison({}, float("inf"), b"", gzip.compress(b" " * 30_000_000), b"")
    live.service.store._comparisons["large"] = large
    left = 'route="/v1/comparisons/{name}",status="499"'
    until(lambda: live.connections == 0)
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(b"GET /v1/comparisons/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: left in live.get("/metrics").body.decode())
        until(lambda: live.connections == 0)  # while the client holds its end
    assert len(live.get("/v1/comparisons/large").body) == 30_000_000
    del live.service.store._comparisons["large"]
    # An answer that is sent, but not taken: what is left of it is in the buffers.
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", live.port))
        raw.sendall(b"GET /assets/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        until(lambda: live.connections == 1)
        until(lambda: live.connections == 0)
    assert "ASGI callable" not in caplog.text


def test_a_stream_whose_client_leaves_stops(live: Live) -> None:
    def left() -> float:
        return counted(live, 'adequa_requests_total{route="/v1/score",status="499"}')

    body = (json.dumps(ROW) + "\n").encode() * 1_000
    head = b"POST /v1/score?metric=wer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n"
    queue = live.service.catalogue.queue("wer")
    before = left()
    with queue.metric_lock:  # nothing is scored until it is released
        with socket.create_connection(("127.0.0.1", live.port)) as raw:
            raw.sendall(head + b"Content-Type: application/x-ndjson\r\n\r\n" + body)
            until(lambda: not queue.is_idle)
        until(lambda: left() > before)
        assert live.service.catalogue._metrics["wer"].users == 0
    until(lambda: queue.is_idle)


def test_an_internal_error_is_the_last_line_of_a_stream(
    live: Live, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Geheimtext")

    monkeypatch.setattr(ScoringResult, "to_dict", broken)
    body = json.dumps(ROW)
    answer = live.post("/v1/score?metric=wer", body, LINES)
    assert [list(line) for line in answer.lines] == [["segment", "scores"], ["error"]]
    assert "no fault of the request" in answer.lines[-1]["error"]
    assert "failed: RuntimeError at broken:" in caplog.text
    assert "Geheimtext" not in caplog.text


def test_other_addresses_and_methods(live: Live) -> None:
    assert "nothing here" in error(live.get("/v2/score"), 404)
    wrong = live.get("/v1/score")
    assert "another method" in error(wrong, 405)
    assert wrong.headers["allow"] == "POST"
    for host in ("evil.example", "::1:80", "[::1", "localhost:evil", "localhost:80:80", "", "[]"):
        assert "localhost alone" in error(live.get("/healthz", {"Host": host}), 421)
    for host in ("LOCALHOST", "[::1]:80", "127.0.0.1:", "127.9.9.9"):
        assert live.get("/healthz", {"Host": host}).status == 200
    assert live.get("/readyz").json == {"status": "ready"}
    assert live.get("/healthz/").status == 404
    head = live.ask("HEAD", "/healthz")
    assert (head.status, head.body) == (200, b"")


def test_the_documentation_loads_nothing_from_elsewhere(live: Live) -> None:
    page = live.get("/docs").body.decode()
    paths = re.findall(r'(?:src|href)="([^#"][^"]*)"', page)
    assert {"/assets/docs.js", "/assets/page.css", "/openapi.json"} <= set(paths)
    for path in paths:
        assert live.get(path).status == 200
    assert live.get("/assets/none.js").status == 404


def test_security_headers(live: Live) -> None:
    for path in ("/", "/docs", "/healthz", "/v1/metrics", "/none", "/assets/page.js"):
        headers = live.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_counts_for_prometheus(live: Live) -> None:
    live.post("/v1/score", {"rows": [ROW] * 3, "metrics": ["bleu:smooth_method=floor"]})
    shown = live.get("/metrics")
    assert shown.headers["content-type"].startswith("text/plain")
    text = shown.body.decode()
    assert 'adequa_requests_total{route="/v1/score",status="200"}' in text
    assert 'adequa_segments_total{metric="bleu"}' in text
    assert "adequa_waiting_segments 0.0" in text


def test_logs_hold_counts_and_no_text(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    secret = "Geheimtext"
    with caplog.at_level(logging.DEBUG):
        rows = [{"mt": secret, "ref": secret, "system": secret}]
        live.post("/v1/score", {"rows": rows, "metrics": ["wer"]})
        live.post("/v1/score", {"rows": rows, "metrics": [secret]})
        live.post(f"/v1/score?metric={secret}", json.dumps(rows[0]), LINES)
        live.get(f"/{secret}")
        live.get(f"/v1/comparisons/{secret}")
    assert "POST /v1/score 200, 1 segments" in caplog.text
    assert secret not in caplog.text


def test_internal_errors_reveal_no_text(
    live: Live, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Geheimtext")

    monkeypatch.setattr(live.service.catalogue, "use", broken)
    answer = live.post("/v1/score", {"rows": [ROW], "metrics": ["wer"]})
    assert "no fault of the request" in error(answer, 500)
    assert "failed: RuntimeError at broken:" in caplog.text
    assert "Geheimtext" not in caplog.text


def test_a_stored_comparison_in_all_its_forms(live: Live) -> None:
    request = {"systems": SYSTEMS, "references": REFERENCES, "metrics": ["wer"], "resamples": 100}
    answer = live.post("/v1/compare", {**request, "keep": True, "title": "Both"}).json
    assert answer["link"] == f"/c/{answer['id']}"
    assert answer["expires_in"] == 3600
    stored = live.get(f"/v1/comparisons/{answer['id']}")
    assert stored.json["metrics"] == answer["metrics"]
    assert len(stored.json["segments"]) == len(REFERENCES)
    tsv = live.get(f"/v1/comparisons/{answer['id']}/pairs.tsv").body.decode()
    assert tsv.startswith("metric\tfirst\tsecond")
    report = live.get(f"/v1/comparisons/{answer['id']}/report.html")
    assert "<title>Both</title>" in report.body.decode()
    assert report.headers["content-security-policy"] == "sandbox allow-scripts"
    shown = live.get(f"/v1/comparisons/{answer['id']}/page")
    assert shown.json["summary"]["systems"] == list(SYSTEMS)
    assert 3500 < int(shown.headers["adequa-expires-in"]) <= 3600
    assert live.get(answer["link"]).body == live.get("/").body
    assert "or no longer" in error(live.get("/v1/comparisons/unknown"), 404)


def test_progress_is_streamed(live: Live) -> None:
    request = {"systems": SYSTEMS, "references": REFERENCES, "metrics": ["wer"], "swaps": 100}
    headers = {**JSON, "Accept": "application/x-ndjson"}
    connection = HTTPConnection("127.0.0.1", live.port, timeout=30)
    with live.service.catalogue.queue(
        "wer"
    ).metric_lock:  # nothing is scored until something was told
        connection.request("POST", "/v1/compare", json.dumps(request), headers)
        response = connection.getresponse()
        content = json.loads(response.readline())["progress"]
    assert content["total"] == 2 * len(REFERENCES)
    assert json.loads(response.read().splitlines()[-1])["result"]["baseline"] == "literal"
    connection.close()
    bad = live.post("/v1/compare", {**request, "metrics": ["wre"]}, headers)
    assert 'Did you mean "wer"?' in error(bad, 422)


def test_a_client_that_leaves_stops_costing() -> None:
    """A request that waits behind others is dropped with its connection."""
    with served(ServiceSettings(metrics=("wer",))) as live:
        queue = live.service.catalogue.queue("wer")
        queue.metric_lock.acquire()  # nothing is scored until it is released
        body = json.dumps({"rows": [ROW] * 300, "metrics": ["wer"]}).encode()
        head = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", live.port)) as raw:
            raw.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: live.service.catalogue.backlog.count > 0)
        until(lambda: all(job.result.done() for job in list(queue._submissions)))
        queue.metric_lock.release()
        assert live.post("/v1/score", {"rows": [ROW], "metrics": ["wer"]}).status == 200
        until(lambda: queue.is_idle)
        # The first batch was taken before the client left. One segment was the server's own.
        assert counted(live, 'adequa_segments_total{metric="wer"}') == 2


@pytest.mark.parametrize("accept", ["application/x-ndjson", "application/json"])
def test_a_comparison_ends_when_its_client_leaves(
    live: Live, accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the client leaves before anything of the answer was sent."""
    begin = live.service.tasks.start

    def started(work: Any, total: int) -> Any:
        piece = begin(work, total)
        until(lambda: live.connections == 0)  # the client has left
        return piece

    until(lambda: live.connections == 0)
    monkeypatch.setattr(live.service.tasks, "start", started)
    request = {"systems": SYSTEMS, "references": REFERENCES}
    for path, named_metrics in (
        ("/v1/compare", {"metrics": ["wer"]}),
        ("/v1/rank", {"metric": "wer"}),
    ):
        body = json.dumps({**request, **named_metrics}).encode()
        with live.service.catalogue.queue(
            "wer"
        ).metric_lock:  # nothing is scored until it is released
            with socket.create_connection(("127.0.0.1", live.port)) as raw:
                raw.sendall(_head(path, body, accept) + body)
                until(lambda: len(live.service.tasks) == 1)
            until(lambda: len(live.service.tasks) == 0)


def test_clients_that_leave_are_not_in_the_log(
    live: Live, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that their comparison was stopped, nor what it failed with."""

    def refused(*_: object) -> None:
        raise AdequaError("Geheimtext")

    request = {"systems": SYSTEMS, "references": REFERENCES, "metrics": ["wer"]}
    body = json.dumps(request).encode()
    queue = live.service.catalogue.queue("wer")
    for fails in (False, True):
        with (
            queue.metric_lock,
            socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw,
        ):
            raw.sendall(_head("/v1/compare", body, "application/x-ndjson") + body)
            while b"progress" not in raw.recv(4096):
                pass
            if fails:
                monkeypatch.setattr(BackgroundTask, "cancel", lambda _: None)
                monkeypatch.setattr(Comparison, "to_dict", refused)
        until(lambda: len(live.service.tasks) == 0)
        assert live.get("/healthz").status == 200  # the server has noticed
    gc.collect()
    assert {record.name for record in caplog.records} <= {"adequa.service"}
    assert "Geheimtext" not in caplog.text


def test_a_stream_that_is_no_longer_http_is_cut(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    row = json.dumps(ROW).encode() + b"\n"
    head = b"POST /v1/score?metric=wer HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(head + b"%x\r\n%s\r\n" % (len(row), row))
        while b'"segment"' not in raw.recv(4096):
            pass
        raw.sendall(b"zz\r\nGeheimtext\r\n")
        with suppress(ConnectionResetError):
            while raw.recv(4096):
                pass
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
        raw.sendall(b"no HTTP\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 400 ")
    until(lambda: live.connections == 0)
    assert not [record for record in caplog.records if record.exc_info]
    assert "Geheimtext" not in caplog.text


def _head(path: str, body: bytes, accept: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode()


def test_a_full_server_refuses_and_ends_well() -> None:
    """What was accepted is finished while the server ends; what is too much may come back."""
    answers: list[Any] = []
    with served(ServiceSettings(metrics=("wer",), limits=Limits(queue=4))) as live:
        queue = live.service.catalogue.queue("wer")
        queue.metric_lock.acquire()
        body = {"rows": [ROW] * 2 * BATCH, "metrics": ["wer"]}
        asking = threading.Thread(target=lambda: answers.append(live.post("/v1/score", body)))
        asking.start()
        until(lambda: live.service.catalogue.backlog.count > 0)
        refused = live.post("/v1/score", {"rows": [ROW], "metrics": ["wer"]})
        assert "4 segments wait for wer" in error(refused, 429)
        assert int(refused.headers["retry-after"]) >= 1
        stream = live.post("/v1/score?metric=wer", json.dumps(ROW), LINES)
        assert stream.status == 429
        taken: list[dict[str, str]] = []
        rows = (taken.append(ROW) or ROW for _ in range(2))  # type: ignore[func-returns-value]
        with pytest.raises(AdequaError, match="4 segments wait"):
            list(Client(live.url, patience=0).score_stream(rows, ["wer"]))
        assert not taken  # so that they can be sent again
        threading.Timer(0.2, queue.metric_lock.release).start()
    asking.join()
    assert answers[0].status == 200
    assert len(answers[0].json["metrics"][0]["systems"][0]["segments"]) == 2 * BATCH


def test_a_token_opens_the_server() -> None:
    token = "correct horse battery".replace(" ", "-")
    with served(ServiceSettings(metrics=("wer",), token=token, only_local=False)) as live:
        body = {"rows": [ROW], "metrics": ["wer"]}
        for header in ("", "Bearer wrong", f"Basic {token}", f"Bearer {token}x", "Bearer"):
            refused = live.post("/v1/score", body, {**JSON, "Authorization": header})
            assert "wants a token" in error(refused, 401)
            assert refused.headers["www-authenticate"] == "Bearer"
        for path in ("/metrics", "/v1/metrics", "/v1/comparisons/x", "/healthzz", "//"):
            assert live.get(path).status == 401
        for path in (
            "/healthz",
            "/readyz",
            "/",
            "/c/x",
            "/assets/page.css",
            "/openapi.json",
            "/docs",
        ):
            assert live.get(path, {"Host": "adequa.example"}).status == 200
        right = {**JSON, "Authorization": f"Bearer {token}"}
        assert live.post("/v1/score", body, right).status == 200
        assert Client(live.url, token=token).score([ROW], ["wer"])["metrics"]
        with pytest.raises(AdequaError, match="wants a token"):
            Client(live.url, token="wrong").metrics()


def test_other_machines_need_a_token_by_default(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        check_access(Address(host, 80), None, insecure=False)
    for host in ("0.0.0.0", "::", "192.168.0.1", "adequa.example"):
        with pytest.raises(AdequaError, match="--token-file"):
            check_access(Address(host, 80), None, insecure=False)
        check_access(Address(host, 80), "token", insecure=False)
        check_access(Address(host, 80), None, insecure=True)
    shown = adequa("serve", "--host", "0.0.0.0")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.count("\n") == 1
    assert "other machines" in shown.stderr
    file = tmp_path / "token"
    for content, sentence in (("short", "16 ASCII"), ("two words of some length", "one word")):
        file.write_text(content)
        with pytest.raises(AdequaError, match=sentence):
            read_token(str(file))
    file.write_text("0123456789abcdef\n")
    assert read_token(str(file)) == "0123456789abcdef"
    with pytest.raises(AdequaError, match="No such file"):
        read_token(str(tmp_path / "none"))


def test_a_server_may_have_a_ranker_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It scores no single hypothesis, so that it cannot be tried, nor be a default for scoring."""
    with (
        caplog.at_level(logging.INFO, "adequa.service"),
        served(ServiceSettings(metrics=(ranker_folder(),))) as live,
    ):
        assert f"adequa serves at {live.url}" in caplog.text
        assert live.get("/v1/metrics").json["defaults"] == []
        request = {"systems": SYSTEMS, "references": REFERENCES, "resamples": 10}
        assert live.post("/v1/rank", {**request, "metric": "ranker"}).status == 200
        one = live.post("/v1/score", {"rows": [ROW], "metrics": ["ranker"]})
        assert "ranks hypotheses of one segment against each other" in error(one, 422)
        assert "no metric that scores" in error(live.post("/v1/score", json.dumps(ROW), LINES), 422)


def test_a_metric_that_cannot_be_tried_is_served(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: MetricQueue) -> None:
        raise AdequaError("Every segment needs a source.")

    monkeypatch.setattr(MetricQueue, "warm_up", refused)
    with served(ServiceSettings(metrics=("wer",))) as live:
        assert live.post("/v1/score", {"rows": [ROW], "metrics": ["wer"]}).status == 200
    assert "wer was not tried before the first request: Every segment needs" in caplog.text


def test_a_server_that_cannot_start_says_why(live: Live) -> None:
    shown = adequa("serve", "--keep", "0")
    assert shown.returncode == 2
    assert "--keep must be" in shown.stderr
    shown = adequa("serve", "--port", str(live.port), "-m", "wer")
    assert shown.returncode == 2
    assert f"Port {live.port} is in use; choose another with --port." in shown.stderr
    assert "Traceback" not in shown.stderr
    for metrics, host, sentence in (
        (("wre",), "127.0.0.1", 'Did you mean "wer"?'),
        (("wer", "wer"), "127.0.0.1", "one name"),
        (("wer",), "256.0.0.1", "cannot be listened"),
    ):
        with pytest.raises(AdequaError, match=re.escape(sentence)):
            create_server(ServiceSettings(metrics=metrics), Address(host, 0))


def test_without_its_packages_it_says_which() -> None:
    code = "import sys; sys.modules['fastapi'] = None; sys.argv = ['adequa', 'serve']; "
    code += "from adequa.cli.main import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 2
    assert shown.stderr == "adequa: error: To serve needs fastapi: pip install 'adequa[serve]'.\n"
