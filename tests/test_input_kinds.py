"""The same translations in every kind of file, by every entry point: the same numbers."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import pytest
import sacrebleu
from typer.testing import CliRunner, Result

import adequa
from adequa.cli.main import app
from adequa.io.read import InputSummary
from adequa.io.text import MemoryFile
from adequa.segments import Segments
from adequa.service.app import ServiceSettings
from input_kinds import DOCUMENT, Case, Content, cases
from live_service import Live, served

METRICS = ("chrf", "ter")
CASES = cases()

pytest.importorskip("openpyxl")


@cache
def expected(content_key: str) -> dict[str, dict[str, float]]:
    """What sacreBLEU says of the texts themselves."""
    systems, references = json.loads(content_key)
    by_metric: dict[str, Any] = {"chrf": sacrebleu.corpus_chrf, "ter": sacrebleu.corpus_ter}
    return {
        name: {metric: score(texts, references).score for metric, score in by_metric.items()}
        for name, texts in systems.items()
    }


def scores_of(content: Content) -> dict[str, dict[str, float]]:
    return expected(json.dumps([content.systems, content.references]))


def read_in_memory(case: Case) -> tuple[Segments, list[InputSummary]]:
    """Read a case by `adequa.read`, from memory, as the service does."""
    summaries: list[InputSummary] = []
    by_role: dict[str, list[MemoryFile]] = {}
    for file in case.files():
        by_role.setdefault(file.role, []).append(MemoryFile(file.name, file.data))
    options: dict[str, Any] = {**case.kind.options(case.content), "describe": summaries.append}
    if "table" in by_role:
        return adequa.read(by_role["table"][0], **options), summaries
    segments = adequa.read(
        hypotheses=by_role["hypotheses"],
        references=by_role["references"],
        source=next(iter(by_role.get("source", ())), None),
        language=case.kind.language,
        describe=summaries.append,
    )
    return segments, summaries


@pytest.mark.parametrize("case", CASES, ids=str)
def test_python(case: Case) -> None:
    segments, summaries = read_in_memory(case)
    content = case.content
    texts = tuple(text for name in content.systems for text in content.systems[name])
    assert segments.hypotheses == texts
    assert segments.references == tuple(zip(*content.references, strict=True)) * 2
    assert segments.sources == content.sources * 2
    assert set(segments.ids.get("doc", (DOCUMENT,))) == {DOCUMENT}
    result = adequa.score(segments, metrics=list(METRICS))
    for name, scores in scores_of(content).items():
        for metric, score in scores.items():
            assert result.system[metric][name] == pytest.approx(score)
    assert {each.segments for each in summaries} == {len(content.sources)}
    assert sum(len(each.systems) for each in summaries) == len(content.systems)
    assert sum(each.references or 0 for each in summaries) == len(content.references)


def command_line(case: Case, folder: Path) -> list[str]:
    """The options of `adequa score` for the files of a case."""
    flags = {"table": "-i", "hypotheses": "-t", "references": "-r", "source": "-s"}
    words: list[str] = []
    for file in case.files():
        path = folder / file.name
        path.write_bytes(file.data)
        words += [flags[file.role], str(path)]
    options = case.kind.options(case.content)
    for field, names in options["columns"].items():
        for name in names:
            words += ["--column", f"{field}={name}"]
    if options["systems"]:
        words += ["--systems", ",".join(options["systems"])]
    return words


@pytest.mark.parametrize("case", CASES, ids=str)
def test_command_line(case: Case, tmp_path: Path) -> None:
    arguments = ["score", *command_line(case, tmp_path), "-m", *METRICS, "--format", "json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    scores = {
        system["name"]: {
            metric["name"]: next(
                each["score"] for each in metric["systems"] if each["name"] == system["name"]
            )
            for metric in written["metrics"]
        }
        for system in written["metrics"][0]["systems"]
    }
    for name, by_metric in scores_of(case.content).items():
        assert scores[name] == pytest.approx(by_metric)
    if case.kind.name != "plain text":
        count = len(case.content.sources)
        assert f"{count} segments" in result.stderr


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    pytest.importorskip("adequa.service.reading")
    with served(ServiceSettings(metrics=METRICS, workers=1)) as server:
        yield server


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api(case: Case, live: Live) -> None:
    """POST /v1/read, and what it answers on to /v1/score."""
    files = [
        {"name": file.name, "role": file.role, "base64": base64.b64encode(file.data).decode()}
        for file in case.files()
    ]
    options = case.kind.options(case.content)
    request = {"files": files} | {name: value for name, value in options.items() if value}
    answer = live.post("/v1/read", request)
    assert answer.status == 200, answer.body
    texts = {name: answer.json[name] for name in ("systems", "references", "sources")}
    assert texts["systems"] == {name: list(each) for name, each in case.content.systems.items()}
    assert texts["sources"] == list(case.content.sources)
    scored = live.post("/v1/score", {**texts, "metrics": METRICS})
    assert scored.status == 200, scored.body
    for name, by_metric in scores_of(case.content).items():
        system = {
            metric["name"]: next(
                each["score"] for each in metric["systems"] if each["name"] == name
            )
            for metric in scored.json["metrics"]
        }
        assert system == pytest.approx(by_metric)


# Wide tables, and segments of several systems


WIDE = "src,ref,old,new\n" + "".join(
    f'x,"Number {number}, please.","Number {number} please","Number {number}, please."\n'
    for number in range(8)
)


def invoke(*words: str, text: str = WIDE) -> Result:
    return CliRunner().invoke(app, list(words), input=text)


def test_wide_tables_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(WIDE, encoding="utf-8")
    table = "-i", str(path), "--systems", "old,new", "-m", "chrf", "--format", "json"
    for verb in ("compare", "rank"):
        result = invoke(verb, *table)
        assert result.exit_code == 0, result.output
        assert "8 segments, 2 systems, 1 reference, quoted cells" in result.stderr
    gate = "gate", "-i", str(path), "-m", "chrf", "--baseline"
    assert invoke(*gate, "old", "--candidate", "new").exit_code == 0
    assert invoke(*gate, "new", "--candidate", "old").exit_code == 1


REFUSED = {
    (
        "--systems",
        "old,nwe",
    ): 'has no column "nwe". Did you mean "new"? It has: src, ref, old, new.',
    ("--systems", "old,old"): '--systems names the column "old" twice.',
    ("--systems", "old,ref"): '--systems names "ref", which is the column of references.',
    ("--systems", "old,"): '--systems takes names of columns, such as A,B; "old," has none.',
    ("--systems", "old", "--column", "mt=new"): "leave --column mt= out.",
    (): "Where each system has a column, name them all: --systems old,new",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wide_tables_that_cannot_be_read(options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["score", "-i", "-", "-m", "chrf", *options], input=WIDE)
    with pytest.raises(adequa.AdequaError) as caught:
        raise result.exception or AssertionError(result.output)
    assert REFUSED[options] in str(caught.value)


def test_options_of_tables_need_a_table() -> None:
    result = invoke("score", "-t", "a", "-r", "b", "--systems", "a")
    assert "--systems names columns of an -i file" in str(result.exception)


def test_segments_of_several_systems_in_python(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(WIDE, encoding="utf-8")
    frame = pd.read_csv(path)
    segments = adequa.read(frame, systems=["old", "new"])
    assert segments == adequa.read(path, systems=["old", "new"])
    comparison = adequa.compare(segments, metrics=["chrf"])
    assert comparison.outputs.names == ("old", "new")
    lists = {name: list(frame[name]) for name in ("old", "new")}
    same = adequa.compare(lists, list(frame["ref"]), ["chrf"])
    assert comparison.metrics[0].scores.tolist() == same.metrics[0].scores.tolist()
    assert adequa.rank(segments, metric="chrf").systems[0] == "new"
    assert adequa.gate(segments, metrics=["chrf"]).passed
    long = pd.concat(
        frame[["ref", name]].rename(columns={name: "mt"}).assign(system=name) for name in lists
    )
    assert adequa.compare(long, metrics=["chrf"]).outputs.names == ("old", "new")
    with pytest.raises(adequa.AdequaError, match="those of both systems"):
        adequa.gate(adequa.read(frame, systems=["old"]), metrics=["chrf"])
    with pytest.raises(adequa.AdequaError, match="have their references"):
        adequa.compare(segments, list(frame["ref"]))
    with pytest.raises(adequa.AdequaError, match='row 3 has no "old"'):
        adequa.read(frame.assign(old=["a", "b", None, *"cdefg"]), systems=["old"])


def test_standard_input_and_pipes_are_read_once(tmp_path: Path) -> None:
    """Quoted tables are tried in two ways, and a pipe can be read once."""
    rows = "".join(f'"say ""{number}"" now"\tsay {number} now\n' for number in range(5000))
    quoted = f"mt\tref\nfirst line\tfirst line\n{rows}"
    result = invoke("score", "-i", "-", "-m", "chrf", "--format", "json", text=quoted)
    assert result.exit_code == 0, result.exception
    assert "quoted cells" in result.stderr
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(quoted,), kwargs={"encoding": "utf-8"})
    writer.start()
    segments = adequa.read(pipe)
    writer.join()
    assert len(segments) == 5001
    assert segments.hypotheses[1] == 'say "0" now'
