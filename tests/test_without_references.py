"""Sources in place of references, or beside them: score, compare, rank, gate and explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adequa
from adequa import ComparisonSettings
from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.tables import Format
from source_metrics import Both, Either, LengthRatio, register
from test_cli import EXAMPLES

SOURCES = ["Ein Hund bellt laut.", "Die Katze schläft.", "Es regnet heute.", "Guten Tag, Peter!"]
SYSTEMS = {
    "old": ["A dog barks.", "Cat.", "Rain.", "Hello."],
    "new": ["A dog barks loudly.", "The cat is asleep.", "It rains today.", "Good day, Peter!"],
}
REFERENCES = ["A dog is barking.", "The cat sleeps.", "It is raining today.", "Hello, Peter!"]
SETTINGS = ComparisonSettings(resamples=100, swaps=500)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the texts in files, and the metrics of these tests by name."""
    register(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name, lines in {**SYSTEMS, "ref": REFERENCES, "src": SOURCES}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == code, shown.output
    return shown.stdout, " ".join(shown.stderr.split())


def error(*arguments: str) -> str:
    shown = CliRunner().invoke(app, arguments)
    assert isinstance(shown.exception, AdequaError), shown.output
    assert shown.stdout == ""
    return str(shown.exception)


# Scoring


def test_scores_from_sources_alone() -> None:
    result = adequa.score(SYSTEMS["new"], sources=SOURCES, metrics=[LengthRatio(), Either()])
    assert result.segments["length-ratio"].tolist() == result.segments["either"].tolist()
    assert str(result.signatures["either"]).startswith("either|nrefs:0|")
    both = adequa.score(SYSTEMS["new"], REFERENCES, Either(), sources=SOURCES)
    assert both.system != result.system["either"]
    assert str(both.signature).startswith("either|nrefs:1|")


def test_the_signature_says_whether_optional_sources_were_read() -> None:
    with_sources = adequa.score(SYSTEMS["new"], REFERENCES, Either(), sources=SOURCES)
    without = adequa.score(SYSTEMS["new"], REFERENCES, Either())
    assert str(with_sources.signature).startswith("either|nrefs:1|src:yes|")
    assert str(without.signature).startswith("either|nrefs:1|src:no|")
    assert "src" not in str(Both().signature(1, sources=True))


def test_empty_sources_are_refused_by_metrics_that_read_them() -> None:
    sources = ["", *SOURCES[1:]]
    for metric in (LengthRatio(), Either(), Both()):
        with pytest.raises(AdequaError, match="reads sources, and that of .* is empty"):
            adequa.score(SYSTEMS["new"], REFERENCES, metric, sources=sources)
    adequa.score(SYSTEMS["new"], REFERENCES, "chrf", sources=sources)


def test_unread_references_change_neither_score_nor_signature() -> None:
    alone, beside = (
        adequa.score(SYSTEMS["old"], references, LengthRatio(), sources=SOURCES)
        for references in (None, REFERENCES)
    )
    assert alone.segments.tolist() == beside.segments.tolist()
    assert alone.signature == beside.signature


def test_score_on_the_command_line(files: Path) -> None:
    scored, notes = run("score", "-t", "old.txt", "-t", "new.txt", "-s", "src.txt", "-m", "either")
    assert "either ↑" in scored
    assert "reference" not in notes
    content = run(
        "score", "-t", "new.txt", "-s", "src.txt", "-m", "length-ratio", "--segments",
        "--format", "json",
    )[0]  # fmt: skip
    (metric,) = json.loads(content)["metrics"]
    expected = adequa.score(SYSTEMS["new"], sources=SOURCES, metric=LengthRatio())
    assert metric["systems"][0]["segments"] == expected.segments.tolist()


def test_a_table_of_sources_by_document(files: Path) -> None:
    rows = zip(SOURCES, SYSTEMS["new"], "aabb", strict=True)
    table = "src\tmt\tdoc\n" + "".join(f"{'	'.join(row)}\n" for row in rows)
    (files / "t.tsv").write_text(table, encoding="utf-8")
    scored, notes = run("score", "-i", "t.tsv", "-m", "length-ratio", "--by", "doc")
    assert [line.split()[:2] for line in scored.splitlines()[4:6]] == [["t", "a"], ["t", "b"]]
    assert "4 segments" in notes


def test_copies_of_the_source_are_noted() -> None:
    with pytest.warns(adequa.AdequaWarning, match="20 of 20 outputs .* identical to their sources"):
        adequa.score(SOURCES * 5, sources=SOURCES * 5, metric=LengthRatio(), language="en")


def test_outputs_of_another_language_are_noted_once() -> None:
    german = (EXAMPLES / "german.txt").read_text(encoding="utf-8").splitlines()
    with pytest.warns(adequa.LanguageWarning) as caught:
        adequa.score(german, sources=["x"] * len(german), metric=LengthRatio(), language="en")
    assert [str(each.message) for each in caught] == [
        "the outputs of the system look German, and the target language is English."
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-s", "src.txt", "-m", "chrf"), "chrf needs references, and there are none: give them"),
        (("-s", "src.txt", "-m", "nist"), "nist needs references, and there are none: give them"),
        (("-s", "src.txt"), "adequa needs references, and there are none: give them"),
        (("-r", "ref.txt", "-m", "length-ratio"), "length-ratio needs sources, and there are none"),
        (("-r", "ref.txt", "-m", "both"), "both needs sources, and there are none"),
        (("-s", "src.txt", "-m", "both"), "both needs references, and there are none"),
        (("-m", "length-ratio"), "for metrics that need none, the source with -s"),
        (("-s", "src.txt", "--confidence"), "adequa needs references, and there are none"),
    ],
)
def test_what_is_missing_is_a_sentence(
    files: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in error("score", "-t", "new.txt", *arguments)


# Comparison


@pytest.fixture(scope="module")
def comparison() -> adequa.Comparison:
    return adequa.compare(
        SYSTEMS, sources=SOURCES, metrics=[LengthRatio()], documents="aabb", settings=SETTINGS
    )


def test_a_comparison_without_references(comparison: adequa.Comparison) -> None:
    assert comparison.metrics[0].scores[1] > comparison.metrics[0].scores[0]
    assert [dimension.name for dimension in comparison.dimensions] == ["document"]
    content = comparison.to_dict()
    assert content["words"] == content["ngrams"] == []
    assert content["segments"][0]["source"] == SOURCES[0]
    assert content["segments"][0]["references"] == []
    text = "".join(comparison.lines(Format.text))
    assert "    source: Die Katze schläft.\n    old (0.2222): Cat.\n" in text
    assert "reference" not in text
    assert "[" not in text
    for format_ in (Format.markdown, Format.tsv, Format.latex):
        assert "".join(comparison.lines(format_))
    with pytest.raises(AdequaError, match="there are no references"):
        comparison.ngram_differences("old", "new")


def test_data_frames_without_references(comparison: adequa.Comparison) -> None:
    pytest.importorskip("pandas")
    frames = comparison.to_pandas()
    assert frames["words"].empty
    assert frames["ngrams"].empty
    assert len(frames["segments"]) == 8


def test_references_that_are_there_count_as_before() -> None:
    found = adequa.compare(
        SYSTEMS, REFERENCES, [LengthRatio()], sources=SOURCES, settings=SETTINGS, explain=2
    )
    assert found.word_statistics.classes
    assert found.explanation is not None


def test_references_explain_by_a_metric_that_reads_them() -> None:
    found = adequa.compare(
        SYSTEMS, REFERENCES, [LengthRatio(), "chrf"], sources=SOURCES, settings=SETTINGS, explain=2
    )
    assert found.explanation is not None
    assert found.explanation.metric == "chrf"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"explain": 3}, "there are no references: give them"),
        ({"known_words": ["a dog"]}, "there are no references; leave them out"),
        ({"metrics": [LengthRatio(), "chrf"]}, "chrf needs references"),
    ],
)
def test_what_a_comparison_cannot_do(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        adequa.compare(SYSTEMS, sources=SOURCES, **{"metrics": [LengthRatio()], **options})  # type: ignore[arg-type]


def test_compare_and_its_report(files: Path) -> None:
    shown, notes = run(
        "compare", "-t", "old.txt", "-t", "new.txt", "-s", "src.txt", "-m", "length-ratio",
        "--swaps", "200", "--report", "report.html",
    )  # fmt: skip
    assert shown.startswith("No significant difference between new and old: +0.5853")
    assert "reference" not in notes
    assert "src.txt" in (files / "report.html").read_text(encoding="utf-8")


def test_files_of_scores_are_compared_without_references(files: Path) -> None:
    (files / "scores.txt").write_text("".join(f"{score}\n" for score in range(8)))
    shown, _ = run(
        "compare", "-t", "old.txt", "-t", "new.txt", "-s", "src.txt", "-m", "scores.txt",
        "--swaps", "200", "--format", "json", "--segments",
    )  # fmt: skip
    content = json.loads(shown)
    assert content["segments"][3]["source"] == SOURCES[3]
    assert content["metrics"][0]["systems"][0]["score"] == 1.5


# Ranking, gate, explanation


def test_rank(files: Path) -> None:
    ranking = adequa.rank(SYSTEMS, sources=SOURCES, metric=LengthRatio(), settings=SETTINGS)
    assert ranking.systems == ("new", "old")
    systems = ("-t", "old.txt", "-t", "new.txt", "-s", "src.txt")
    shown, _ = run("rank", *systems, "-m", "length-ratio", "--swaps", "200")
    assert "length-ratio|nrefs:0|" in shown
    assert "needs references, and there are none" in error("rank", *systems)
    with pytest.raises(AdequaError, match="both needs references"):
        adequa.rank(SYSTEMS, sources=SOURCES, metric=Both())


def test_gate(files: Path) -> None:
    result = adequa.gate(SYSTEMS["new"], SYSTEMS["old"], None, [LengthRatio()], sources=SOURCES)
    assert result.errors == ()
    assert result.checks[0].drop > 0
    shown, notes = run(
        "gate", "--baseline", "new.txt", "--candidate", "old.txt", "-s", "src.txt", "-m",
        "length-ratio", "--alpha", "0.4", "--report", "report.html", code=1,
    )  # fmt: skip
    assert shown.startswith("REGRESSION: old is worse than new: length-ratio")
    assert "reference" not in notes


def test_an_explanation_needs_references(files: Path) -> None:
    sentence = "there are no references: give them (-r, or a column ref)"
    with pytest.raises(AdequaError) as caught:
        adequa.explain(SYSTEMS["new"], sources=SOURCES, metric=LengthRatio())
    assert sentence in str(caught.value)
    options = ("-t", "new.txt", "-s", "src.txt", "-m", "length-ratio")
    assert sentence in error("explain", *options)
    options = ("-t", "new.txt", "-r", "ref.txt", "-m", "length-ratio")
    assert "length-ratio needs sources" in error("explain", *options)


# Lists of metrics


def test_metrics_lists_what_each_reads(files: Path) -> None:
    rows = {line.split()[0]: line for line in run("metrics")[0].splitlines() if line}
    assert rows["chrf"].split()[1] == "references"
    assert rows["length-ratio"].split()[1] == "sources"
    assert "references, sources or both" in rows["either"]
    assert "references and sources" in rows["both"]
    listed = json.loads(run("metrics", "--format", "json")[0])["metrics"]
    assert {"reads": "references and sources"}.items() <= listed[-1].items()
    described, _ = run("metrics", "length-ratio")
    assert "reads      sources\n" in described
    assert "any number" not in described
    assert "reads       references\n" in run("metrics", "wer")[0]
