"""Every command with texts that lack what a metric reads, and with sources alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import Plan, StagePlan
from corpora import write_jsonl
from test_cli import EXAMPLES
from tiny_transformer import tiny_ratings, write_tiny_encoder

pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

NO_REFERENCES = "chrf needs references, and there are none: give them (-r, or a column ref)"
NO_SOURCES = "pair-regressor needs sources, and there are none: give them (-s, or a column src)"
COLUMN = 'a.jsonl has no column "{0}", which {1} needs. It has: {2}, mt. Say which one to read'

# Arguments by command. {given} is -s or -r with its file, {part} the text that is given: src or
# ref.
SYSTEMS = "-t fluent.txt literal.txt {given}"
COMMANDS = {
    "score": f"score {SYSTEMS}",
    "score by segment": f"score {SYSTEMS} --segments",
    "score a table": "score -i rated-{part}.jsonl -l de-en",
    "score a corpus": "score -i {part} -o out/ --workers 1",
    "compare": f"compare {SYSTEMS} --swaps 100",
    "compare with a report": f"compare {SYSTEMS} --swaps 100 --report report.html",
    "rank": f"rank {SYSTEMS} --swaps 100",
    "gate": "gate --baseline fluent.txt --candidate literal.txt {given} --report report.html",
    "explain": f"explain {SYSTEMS}",
    "rerank": "rerank -i candidates-{part}.jsonl",
    "mbr": "mbr -i candidates-{part}.jsonl",
    "evaluate": "evaluate rated-{part}.jsonl",
    "evaluate systems": "evaluate rated-{part}.jsonl --level system",
    "differences": "differences rated-{part}.jsonl",
    "robustness": "robustness rated-{part}.jsonl",
    "analyse": "analyse rated-{part}.jsonl -m sentbleu",
    "coverage": "coverage rated-{part}.jsonl",
}

# A sentence by command, where it is not the usual one; None where the command works.
WITHOUT_REFERENCES: dict[str, str | None] = {
    "score a corpus": COLUMN.format("ref", "chrf", "src"),
    "explain": "what differences from the reference cost, and there are no references: give them",
    "rerank": 'candidates-src.jsonl, line 1 has no "ref", which chrf reads; give one, or name',
    "mbr": None,
    "robustness": "Damage is measured against references, and these judgements have sources alone",
    "analyse": "An analysis looks at hypotheses and references, and these ratings have sources",
    "coverage": "Confidence intervals are available for adequa and exported metrics, not for chrf",
}
NEVER = "pair-regressor reads no references, and minimum Bayes risk takes candidates for references"
NO_INTERVALS = "Confidence intervals are available for adequa and exported metrics, not for pair-"
WITHOUT_SOURCES = {
    "score a corpus": COLUMN.format("src", "pair-regressor", "ref"),
    "rerank": 'candidates-ref.jsonl, line 1 has no "src", which pair-regressor reads; give it, or',
    "mbr": NEVER,
    "coverage": NO_INTERVALS,
}
WITH_SOURCES_ALONE = {
    "explain": WITHOUT_REFERENCES["explain"],
    "mbr": NEVER,
    "robustness": WITHOUT_REFERENCES["robustness"],
    "analyse": WITHOUT_REFERENCES["analyse"],
    "coverage": NO_INTERVALS,
}


@pytest.fixture(scope="module")
def by_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pair regressor that was trained to read sources alone."""
    encoder = write_tiny_encoder(tmp_path_factory.mktemp("encoder"))
    rated = tiny_ratings(24)
    assert rated.segments is not None
    sources = tuple(references[0] for references in rated.segments.references)
    texts = replace(rated.segments, references=((),) * len(sources), sources=sources)
    stage = StagePlan("ratings", batch=(8,), epochs=(1.0,), learning_rate=(5e-3,))
    plan = Plan(encoder=str(encoder), inputs=("source",), stage=(stage,))
    folder = tmp_path_factory.mktemp("metrics") / "by-source"
    PairRegressor(plan, device="cpu").fit(replace(rated, segments=texts)).save(folder)
    return f"{folder}:device=cpu"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six segments of two systems, with sources alone (src) and with references alone (ref)."""
    folder = tmp_path_factory.mktemp("texts")
    columns = {
        name: (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()[:6]
        for name in ("fluent", "literal", "reference", "source")
    }
    for name, lines in columns.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pairs = list(zip(columns["fluent"], columns["literal"], strict=True))
    for part, beside in (("src", columns["source"]), ("ref", columns["reference"])):
        rated = [
            {"lp": "de-en", "system": system, "segment": row, "mt": text, part: beside[row],
             "score": 5.0 * row + 50 * (1 - at)}
            for row, both in enumerate(pairs)
            for at, (system, text) in enumerate(zip(("fluent", "literal"), both, strict=True))
        ]  # fmt: skip
        lists = [{part: beside[row], "candidates": both} for row, both in enumerate(pairs)]
        write_jsonl(folder / f"rated-{part}.jsonl", rated)
        write_jsonl(folder / f"candidates-{part}.jsonl", lists)
        corpus = [{part: beside[row], "mt": text} for row, (text, _) in enumerate(pairs)]
        write_jsonl(folder / part / "a.jsonl", corpus)
    return folder


def words(command: str, part: str, metric: str) -> list[str]:
    """The arguments of a command with texts of one kind."""
    given = {"src": "-s source.txt", "ref": "-r reference.txt"}[part]
    return [*COMMANDS[command].format(given=given, part=part).split(), "-m", metric]


def check(arguments: Sequence[str], sentence: str | None) -> None:
    """Run a command, which succeeds, or fails with a sentence and writes nothing."""
    shown = CliRunner().invoke(app, arguments)
    if sentence is None:
        assert shown.exit_code == 0, shown.output
        assert shown.stdout
        return
    assert isinstance(shown.exception, AdequaError), shown.output
    assert sentence in str(shown.exception)
    assert not shown.stdout


@pytest.fixture(autouse=True)
def _here(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in texts.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_metric_of_references_without_references(command: str) -> None:
    check(words(command, "src", "chrf"), WITHOUT_REFERENCES.get(command, NO_REFERENCES))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_metric_of_sources_without_sources(command: str, by_source: str) -> None:
    check(words(command, "ref", by_source), WITHOUT_SOURCES.get(command, NO_SOURCES))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_metric_of_sources_with_sources_alone(command: str, by_source: str) -> None:
    check(words(command, "src", by_source), WITH_SOURCES_ALONE.get(command))


def test_scores_by_sources_are_the_same_by_every_way(by_source: str) -> None:
    shown = CliRunner().invoke(app, [*words("score", "src", by_source), "--format", "json"])
    corpus = CliRunner().invoke(
        app, [*words("score a corpus", "src", by_source), "--format", "json", "-q"]
    )
    scores = [
        json.loads(each.stdout)["metrics"][0]["systems"][0]["score"] for each in (shown, corpus)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
