"""Files in requests: read as on the command line, within limits, and refused by a sentence."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from csv import QUOTE_ALL
from csv import writer as csv_writer
from pathlib import Path
from typing import Any

import pytest

from adequa import score as adequa_score
from adequa.errors import AdequaError
from adequa.service.app import ServiceSettings
from adequa.service.client import Client
from adequa.service.limits import Limits
from live_service import Live, served
from test_cli import EXAMPLES, adequa

METRICS = ("chrf", "bleu", "adequa")
LIMITS = Limits(segments=200, characters=1_000, unpacked=100_000)
NAMES = ("literal", "fluent")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    cache = tmp_path_factory.mktemp("cache") / "scores.db", 10_000_000
    settings = ServiceSettings(metrics=METRICS, workers=1, limits=LIMITS, score_cache=cache)
    with served(settings) as server:
        yield server


def lines(name: str) -> list[str]:
    return (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def sgm(kind: str, name: str) -> str:
    segments = "\n".join(
        f'<seg id="{number}">{line}</seg>' for number, line in enumerate(lines(name), 1)
    )
    return f'<{kind} setid="s">\n<doc docid="d" sysid="{name}">\n{segments}\n</doc>\n</{kind}>\n'


def file(name: str, content: str | bytes, **others: str) -> dict[str, str]:
    if isinstance(content, str):
        return {"name": name, "text": content, **others}
    return {"name": name, "base64": base64.b64encode(content).decode(), **others}


def read(live: Live, *files: dict[str, str], **options: Any) -> Any:
    answer = live.post("/v1/read", {"files": files, **options})
    assert answer.status == 200, answer.body
    return answer.json


def refusal(live: Live, *files: dict[str, str], status: int = 422, **options: Any) -> Any:
    answer = live.post("/v1/read", {"files": files, **options})
    assert answer.status == status, answer.body
    assert answer.json["error"].count("Traceback") == 0
    return answer.json


def rows(*names: str) -> list[dict[str, str]]:
    return [
        {"system": name, "mt": output, "ref": reference, "src": source}
        for name in names
        for output, reference, source in zip(
            lines(name), lines("reference"), lines("source"), strict=True
        )
    ]


def table(separator: str) -> str:
    content = [["system", "mt", "ref", "src"], *(list(row.values()) for row in rows(*NAMES))]
    return "".join(separator.join(row) + "\n" for row in content)


PARALLEL = {
    "text": [
        *(file(f"{name}.txt", "\n".join(lines(name))) for name in NAMES),
        file("ref.txt", "\ufeff" + "\r\n".join(lines("reference")) + "\r\n"),
    ],
    "sgm": [
        *(file(f"{name}.sgm", sgm("tstset", name)) for name in NAMES),
        file("news.sgm", sgm("refset", "reference")),
    ],
    "compressed": [
        file("literal.txt.gz", gzip.compress("\n".join(lines("literal")).encode())),
        file("fluent.txt.xz", lzma.compress("\n".join(lines("fluent")).encode())),
        file("reference.sgm.gz", gzip.compress(sgm("refset", "reference").encode())),
    ],
}
TABLES = {
    "tsv": file("all.tsv", table("\t")),
    "jsonl": file("all.jsonl", "".join(json.dumps(row) + "\n" for row in rows(*NAMES))),
    "json": file("all.json.gz", gzip.compress(json.dumps(rows(*NAMES)).encode())),
}


def workbook() -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in [["system", "mt", "ref", "src"], *(list(row.values()) for row in rows(*NAMES))]:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows(*NAMES)), stream)
    return stream.getvalue()


def csv() -> str:
    stream = io.StringIO()
    writer = csv_writer(stream, quoting=QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(["system", "mt", "ref", "src"])
    writer.writerows(list(row.values()) for row in rows(*NAMES))
    return "\ufeff" + stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [("all.xlsx", workbook), ("all.parquet", parquet), ("all.csv", csv)],
    ids=["xlsx", "parquet", "csv"],
)
def test_written_tables_are_read(live: Live, name: str, content: Callable[[], str | bytes]) -> None:
    answer = read(live, file(name, content()))
    assert answer["systems"] == {each: lines(each) for each in NAMES}
    assert answer["references"] == [[text] for text in lines("reference")]
    assert answer["columns"] == ["system", "mt", "ref", "src"]


def tmx(name: str) -> str:
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{source}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{target}</seg></tuv></tu>\n'
        for source, target in zip(lines("source"), lines(name), strict=True)
    )
    header = '<header srclang="de" segtype="sentence" o-tmf="x" adminlang="en" datatype="text"'
    header += ' creationtool="x" creationtoolversion="1"/>'
    return f'<tmx version="1.4">{header}<body>\n{units}</body></tmx>'


def xliff(name: str) -> str:
    units = "".join(
        f'<trans-unit id="{number}"><source>{source}</source><target>{target}</target></trans-unit>'
        for number, (source, target) in enumerate(zip(lines("source"), lines(name), strict=True), 1)
    )
    return (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="x" '
        'source-language="de" target-language="en" datatype="plaintext"><body>'
        f"{units}</body></file></xliff>"
    )


def test_files_of_translation_tools_are_read(live: Live) -> None:
    answer = read(live, file("memory.tmx", tmx("reference")), file("fluent.xlf", xliff("fluent")))
    assert answer["systems"] == {"fluent": lines("fluent")}
    assert answer["references"] == [[text] for text in lines("reference")]
    assert answer["sources"] == lines("source")
    assert [each["role"] for each in answer["files"]] == ["hypotheses", "references"]


@pytest.mark.parametrize("files", PARALLEL.values(), ids=PARALLEL)
def test_parallel_files_are_read_with_guessed_roles(
    live: Live, files: list[dict[str, str]]
) -> None:
    answer = read(live, *files)
    assert answer["systems"] == {name: lines(name) for name in NAMES}
    assert answer["references"] == [[text] for text in lines("reference")]
    assert answer["language"] == {"code": "en", "name": "English", "origin": "detected"}
    reference = answer["files"][-1]
    assert reference["role"] == "references"
    assert reference["text"] == f"{reference['name']}: 36 segments, 1 reference"


@pytest.mark.parametrize("given", TABLES.values(), ids=TABLES)
def test_tables_are_read(live: Live, given: dict[str, str]) -> None:
    answer = read(live, given)
    assert answer["systems"] == {name: lines(name) for name in NAMES}
    assert answer["sources"] == lines("source")
    assert answer["columns"] == ["system", "mt", "ref", "src"]
    assert answer["files"][0]["role"] == "table"
    # What was read can be posted on.
    fields = ("systems", "references", "sources", "documents")
    texts = {name: answer[name] for name in fields}
    scores = live.post("/v1/score", {**texts, "metrics": ["bleu"], "segments": False}).json
    direct = live.post("/v1/score", {"files": [given], "metrics": ["bleu"], "segments": False})
    assert direct.json == scores


def test_files_are_scored_and_compared_as_on_the_command_line(live: Live, tmp_path: Path) -> None:
    paths = {
        f"{name}.sgm": sgm(kind, name)
        for name, kind in (("literal", "tstset"), ("fluent", "tstset"), ("reference", "refset"))
    }
    for name, text in paths.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments: list[str | Path] = ["-t", tmp_path / "literal.sgm", "-t", tmp_path / "fluent.sgm"]
    arguments += ["-r", tmp_path / "reference.sgm", "-m", "bleu", "--format", "json"]
    files = [file(name, text) for name, text in paths.items()]
    for verb, options in (("score", {}), ("compare", {"resamples": 100})):
        shown = adequa(verb, *arguments, *(["--resamples", "100"] if options else []))
        answer = live.post(f"/v1/{verb}", {"files": files, "metrics": ["bleu"], **options})
        expected, scored = json.loads(shown.stdout)["metrics"][0], answer.json["metrics"][0]
        assert scored["signature"] == expected["signature"]
        assert [each["score"] for each in scored["systems"]] == [
            each["score"] for each in expected["systems"]
        ]


def test_empty_hypotheses_are_noted(live: Live) -> None:
    """As `adequa score` notes them: once, whether files are read apart, together, or scored."""
    units = "".join(
        f"<trans-unit id='{number}'><source>{source}</source>{target}</trans-unit>"
        for number, (source, target) in enumerate(
            [("Hund", "<target>A dog.</target>"), ("Katze", ""), ("Maus", "<target> </target>")]
        )
    )
    xliff = (
        "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'><file original='a' "
        "source-language='de' target-language='en' datatype='plaintext'><body>"
        f"{units}</body></file></xliff>"
    )
    files = [
        file("part.xlf", xliff, role="hypotheses"),
        file("ref.txt", "A dog.\nA cat.\nA mouse.\n"),
    ]
    note = "empty hypotheses of part: 2 of 3, scored as they are."
    assert read(live, files[0], texts=False)["notes"] == [note]
    assert read(live, *files)["notes"] == [note]
    scores = live.post("/v1/score", {"files": files, "metrics": ["chrf"]})
    assert json.loads(scores.headers["adequa-notes"]) == [note]
    assert read(live, files[1])["notes"] == []


def test_one_file_is_read_before_the_others_are_there(live: Live) -> None:
    answer = read(live, file("x.ref.de-en.txt", "Ein Haus.\nZwei Häuser.\n"), texts=False)
    assert answer == {
        "files": [
            {
                "name": "x.ref.de-en.txt",
                "format": "text",
                "role": "references",
                "segments": 2,
                "references": 1,
                "systems": [],
                "sources": False,
                "quoting": None,
                "text": "x.ref.de-en.txt: 2 segments, 1 reference",
            }
        ],
        "columns": [],
        "language": {"code": None, "name": None, "origin": "unknown"},
        "notes": [],
    }
    source = read(live, file("a.txt", "Ein Haus.\n", role="source"))
    assert (source["sources"], source["systems"]) == (["Ein Haus."], {})
    system = read(live, file("a.txt", "A house.\n", system="mine"), language="en-de")
    assert system["systems"] == {"mine": ["A house."]}
    assert system["language"]["code"] == "de"
    assert (
        "no references"
        in live.post(
            "/v1/score", {"files": [file("a.txt", "A house.\n")], "metrics": ["bleu"]}
        ).json["error"]
    )


REFUSED = {
    "mark-up as text": (
        [file("out.txt", sgm("tstset", "fluent"))],
        "out.txt is plain text by its name, and mark-up by its content; its name should end in "
        ".sgm.",
        {"kind": "format", "file": "out.txt", "ending": ".sgm", "role": "hypotheses"},
    ),
    "objects as text": (
        [file("out", '{"mt": "a"}\n{"mt": "b"}\n')],
        "out is plain text by its name, and a table by its content",
        {"kind": "format", "file": "out", "ending": ".jsonl", "role": "hypotheses"},
    ),
    "tabs": (
        [file("ref.txt", "a\tb\nc\td\n")],
        "ref.txt is plain text by its name, and a table by its content",
        {"kind": "format", "file": "ref.txt", "ending": ".tsv", "role": "references"},
    ),
    "unknown columns": (
        [file("a.tsv", "output\tgold\nx\ty\n")],
        'a.tsv has no column "mt"',
        {"kind": "columns", "file": "a.tsv", "columns": ["output", "gold"]},
    ),
    "a column for each system": (
        [file("a.csv", 'ref,eng a,"eng,b"\nx,y,z\n')],
        'It has: ref, eng a, eng,b. Say which one to read by "columns": {"mt": NAME}. Where each '
        'system has a column, name them all in "systems".',
        {"kind": "columns", "file": "a.csv", "columns": ["ref", "eng a", "eng,b"]},
    ),
    "two tables": ([TABLES["tsv"], TABLES["jsonl"]], "all.tsv is a table, which holds all", None),
    "two sources": (
        [*PARALLEL["text"], file("src.txt", "a"), file("source.txt", "b")],
        "There is more than one source: src.txt, source.txt.",
        None,
    ),
    "unequal": (
        [file("a.txt", "a\nb\n"), file("ref.txt", "a\n")],
        "a.txt has 2 lines, ref.txt has 1 line",
        None,
    ),
    "one name for two": (
        [file("a.txt", "a\n"), file("A.txt", "a\n", system="a"), file("ref.txt", "a\n")],
        'Two systems are called "a": a.txt and A.txt; give one of them another "system".',
        None,
    ),
    "empty": ([file("a.txt", "")], "a.txt is empty", None),
    "not UTF-8": ([file("a.txt", b"caf\xe9")], "a.txt, line 1: byte 4", None),
    "not base64": ([{"name": "a.txt", "base64": "é"}], "a.txt is not base64", None),
    "no content": ([{"name": "a.txt"}], 'a.txt needs its content, as "text" or', None),
    "two contents": ([{"name": "a.txt", "text": "a", "base64": "YQ=="}], "a.txt needs its", None),
    "broken gzip": ([file("a.txt.gz", b"no")], "a.txt.gz is not a whole gzip file", None),
    "no such role": ([file("a.txt", "a", role="judge")], '"role" must be', None),
    "a table as text": (
        [file("a.tsv", "mt\tref\na\tb\n", role="hypotheses")],
        "a.tsv is a table by its name",
        None,
    ),
    "long": ([file("a.txt", "x" * 1_001), file("ref.txt", "a")], "a.txt, ref.txt: the hyp", None),
}


@pytest.mark.parametrize(("files", "sentence", "question"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_gets_a_sentence(
    live: Live, files: list[dict[str, str]], sentence: str, question: object
) -> None:
    answer = refusal(live, *files)
    assert sentence in answer["error"]
    assert answer.get("question") == question
    # Options of the command line are no use in a request.
    assert not re.search(r" --?[a-z]", answer["error"].partition("iconv")[0])


def test_quoting_and_columns_can_be_chosen(live: Live) -> None:
    uncertain = file("a.tsv", 'mt\tref\n"I agree."\t"I agree."\n')
    refused = refusal(live, uncertain)
    assert 'Say "quoting": "rfc4180" if they enclose cells' in refused["error"]
    assert refused["question"] == {"kind": "quoting", "file": "a.tsv"}
    assert read(live, uncertain, quoting="none")["systems"] == {"a": ['"I agree."']}
    assert read(live, uncertain, quoting="rfc4180")["systems"] == {"a": ["I agree."]}
    wide = file("w.tsv", "a\tb\tgold\n1\t2\t3\n4\t5\t6\n")
    answer = read(live, wide, systems=["a", "b"], columns={"ref": "gold"})
    assert answer["systems"] == {"a": ["1", "4"], "b": ["2", "5"]}
    twice = refusal(live, wide, systems=["a", "a"], columns={"ref": "gold"})
    assert twice["error"] == '"systems" names the column "a" twice.'
    absent = refusal(live, wide, systems=["a", "x"], columns={"ref": "gold"})
    assert absent["error"].endswith('"systems" takes a list of names of columns.')
    scores = live.post(
        "/v1/score",
        {"files": [wide], "systems": ["a", "b"], "columns": {"ref": "gold"}, "metrics": ["chrf"]},
    )
    assert [each["name"] for each in scores.json["metrics"][0]["systems"]] == ["a", "b"]


def test_files_have_limits(live: Live) -> None:
    bomb = file("a.txt.gz", gzip.compress(b"a\n" * 100_000))
    for files in ([bomb], [file(f"{name}.txt", "a\n" * 20_000) for name in ("a", "b", "ref")]):
        assert "more than 100,000 bytes when" in refusal(live, *files, status=413)["error"]
    many = [file("a.txt", "a\n" * 201), file("ref.txt", "a\n" * 201)]
    for files in (many, many[:1], [file("a.jsonl", '{"mt": "a", "ref": "b"}\n' * 201)]):
        assert "this server takes 200" in refusal(live, *files, status=413)["error"]
    crowd = [file(f"{number}.txt", "a") for number in range(201)]
    assert "There are 201 files" in refusal(live, *crowd, status=413)["error"]


def test_texts_that_a_dictionary_repeats_count_as_often(live: Live) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for repeated in (["x" * 900] * 150, [["x" * 900] * 15] * 10):
        stream = io.BytesIO()
        columns = {"mt": ["a"] * len(repeated), "ref": repeated}
        parquet.write_table(pyarrow.table(columns), stream)
        assert len(stream.getvalue()) < 5_000
        bomb = file("a.parquet", stream.getvalue())
        assert "more than 100,000 bytes when" in refusal(live, bomb, status=413)["error"]


def test_no_file_of_the_server_is_read(live: Live, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret\n")
    for name in (str(secret), f"file://{secret}", "-", "/dev/stdin", "../secret.txt"):
        answer = read(live, file(name, "mine\n", role="hypotheses"))
        assert list(answer["systems"].values()) == [["mine"]]
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><dataset>&e;</dataset>'
    assert "secret\n" not in json.dumps(refusal(live, file("a.xml", entity)))


def test_texts_and_files_exclude_each_other(live: Live) -> None:
    files = PARALLEL["text"]
    others: Any
    for others, sentence in (
        ({"rows": []}, "Give files or texts, and not both."),
        ({"systems": {"a": ["b"]}}, "Give files or texts, and not both."),
        ({"references": ["b"]}, "Give files or texts, and not both."),
    ):
        answer = live.post("/v1/score", {"files": files, "metrics": ["bleu"], **others})
        assert (answer.status, answer.json["error"]) == (422, sentence)
    for others, sentence in (
        ({"systems": ["a"]}, "Names of systems are columns of a table, and there are no files."),
        ({"systems": {"a": ["b"]}, "columns": {"mt": "a"}}, "Columns are those of a table"),
    ):
        answer = live.post("/v1/score", {"references": ["b"], "metrics": ["bleu"], **others})
        assert answer.status == 422
        assert answer.json["error"].startswith(sentence)


def test_the_language_is_given_or_detected(live: Live) -> None:
    texts = {"rows": [{"mt": "Das Haus ist groß.", "ref": "Das Haus ist sehr groß."}]}
    request = {**texts, "metrics": ["adequa", "chrf"], "language": "en-de"}
    answer = live.post("/v1/score", request).json
    assert answer["language"]["name"] == "German"
    assert [bool(each.get("warning")) for each in answer["metrics"]] == [True, False]
    wrong = live.post("/v1/score", {**request, "language": "klingonese"})
    assert wrong.status == 422
    assert '"klingonese" is no language' in wrong.json["error"]
    stream = live.post(
        "/v1/score?metric=adequa&language=de",
        json.dumps(texts["rows"][0]),
        {"Content-Type": "application/x-ndjson"},
    )
    assert stream.lines[-1]["language"] == {"code": "de", "name": "German", "origin": "given"}
    assert stream.lines[-1]["metrics"][0]["warning"]


def test_the_client_reads_files_of_its_own_machine(live: Live, tmp_path: Path) -> None:
    client = Client(live.url)
    answer = client.read(
        hypotheses={"old": EXAMPLES / "literal.txt"}, references=str(EXAMPLES / "reference.txt")
    )
    assert answer["systems"] == {"old": lines("literal")}
    path = tmp_path / "all.tsv.gz"
    path.write_bytes(gzip.compress(table("\t").encode()))
    assert list(client.read(path, language="en")["systems"]) == list(NAMES)
    with pytest.raises(AdequaError, match="none.txt cannot be read"):
        client.read(tmp_path / "none.txt")


def test_recent_comparisons_are_listed_newest_first(live: Live) -> None:
    request = {"files": PARALLEL["sgm"], "metrics": ["bleu"], "resamples": 10, "keep": True}
    ids = [
        live.post("/v1/compare", {**request, "title": title}).json["id"] for title in ("one", "two")
    ]
    answer = live.get("/v1/comparisons").json
    assert answer["listed"]
    assert [each["id"] for each in answer["comparisons"]] == ids[::-1]
    newest = answer["comparisons"][0]
    assert newest["title"] == "two"
    assert newest["systems"] == list(NAMES)
    assert newest["segments"] == 36
    assert 3_500 < newest["expires_in"] <= 3_600
    assert live.get(newest["link"]).status == 200


def test_scores_are_cached_on_disk_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server takes scores from the file of the command line, and the other way round."""
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    arguments: list[str | Path] = ["-t", EXAMPLES / "fluent.txt", "-r", EXAMPLES / "reference.txt"]
    shown = adequa("score", *arguments, "-m", "adequa", "--segments", "--format", "json")
    expected = json.loads(shown.stdout)["metrics"][0]["systems"][0]["segments"]
    files = [file("fluent.txt", "\n".join(lines("fluent"))), PARALLEL["text"][-1]]
    settings = ServiceSettings(metrics=("adequa",), score_cache=(tmp_path / "scores.db", 10**7))
    with served(settings) as server:
        queue = server.service.catalogue.queue("adequa")
        packed = queue.metric.packed  # type: ignore[attr-defined]
        monkeypatch.setattr(type(packed.session), "score", refuse_to_compute)
        answer = server.post("/v1/score", {"files": files, "metrics": ["adequa"]})
    assert answer.json["metrics"][0]["systems"][0]["segments"] == expected


def test_requests_at_once_share_the_cache(tmp_path: Path) -> None:
    """Two servers and many requests write to one file at once, and all scores are right."""
    pairs = list(zip(lines("literal"), lines("reference"), strict=True))[:8]
    expected = adequa_score(
        [one for one, _ in pairs], [other for _, other in pairs], metric="adequa"
    )
    settings = ServiceSettings(
        metrics=("adequa",), workers=1, score_cache=(tmp_path / "scores.db", 10**7)
    )
    with served(settings) as one, served(settings) as other, ThreadPoolExecutor(8) as pool:
        requests = [
            {"rows": [{"mt": mt, "ref": ref} for mt, ref in pairs[start:]], "metrics": ["adequa"]}
            for start in range(8)
        ]
        servers = [one, other] * 4
        answers = list(
            pool.map(
                lambda each: each[0].post("/v1/score", each[1]), zip(servers, requests, strict=True)
            )
        )
    for start, answer in enumerate(answers):
        scores = answer.json["metrics"][0]["systems"][0]["segments"]
        assert scores == pytest.approx(expected.segments[start:].tolist(), abs=1e-12)
    with closing(sqlite3.connect(tmp_path / "scores.db")) as database:
        (count,) = database.execute("SELECT count(*) FROM cache").fetchone()
    assert count == len(set(pairs)) + 1  # servers score a text of their own when they start


def refuse_to_compute(*_: object) -> None:
    raise AssertionError("every score is in the cache")
