"""The same translations in every kind of file, by every entry point: the same numbers."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from typer.testing import CliRunner

import adequa
from adequa.cli.main import app
from adequa.io.read import InputSummary
from adequa.io.text import MemoryFile
from adequa.segments import Segments
from input_kinds import DOCUMENT, Case, Content, cases

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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api(case: Case) -> None:
    """POST /v1/read, and what it answers on to /v1/score."""
    pytest.importorskip("adequa.service.reading")
    files = [
        {
            "name": file.name,
            "role": file.role,
            "base64": base64.b64encode(file.data).decode(),
        }
        for file in case.files()
    ]
    options = case.kind.options(case.content)
    request = {"files": files} | {name: value for name, value in options.items() if value}
    client = service()
    answer = client.post("/v1/read", json=request)
    assert answer.status_code == 200, answer.text
    read = answer.json()
    assert read["systems"] == {name: list(texts) for name, texts in case.content.systems.items()}
    for name, by_metric in scores_of(case.content).items():
        body = {"hypotheses": read["systems"][name], "references": read["references"]}
        scored = client.post("/v1/score", json={**body, "metrics": list(METRICS)})
        assert scored.status_code == 200, scored.text
        system = {each["name"]: each["score"] for each in scored.json()["metrics"]}
        assert system == pytest.approx(by_metric)


@cache
def service() -> Any:
    testing = pytest.importorskip("fastapi.testclient")
    from adequa.service.app import create_app

    return testing.TestClient(create_app())
