"""Corpora filtered by a score: which rows stay, how they are written, and what is counted."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from adequa import filter_corpus, score_corpus
from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.metrics.registry import METRICS, Entry
from adequa.scoring.filter import FilteredCorpus
from adequa.scoring.manifest import FOLDER, RowCounts
from corpora import contents, read_jsonl, rows_of, write_corpus, write_jsonl
from source_metric import ENTRY, SourceLength

ROWS: list[dict[str, Any]] = [
    {"lp": "de-en", "src": "Ein Haus.", "mt": "A house."},
    {"lp": "de-en", "src": "Zwei alte Häuser.", "mt": "Two"},
    {"lp": "en-fr", "src": "The cat sleeps.", "mt": "Le chat dort."},
    {"lp": "en-fr", "src": " ", "mt": "Le chat dort."},
    {"src": "Ein Haus.", "mt": "x"},
]
KEPT = [0, 2]  # their lengths are alike


@dataclass(frozen=True)
class EnglishLength(SourceLength):
    """As `SourceLength`, of English alone."""

    name = "english-length"
    languages = frozenset({"en"})


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "source-length", ENTRY)
    entry = Entry(f"{__name__}:EnglishLength", "lengths compared")
    monkeypatch.setitem(METRICS, "english-length", entry)


def filtered(path: Path, output: str = "out", **options: Any) -> FilteredCorpus:
    settings: dict[str, Any] = {"min_score": 0.8, **options}
    return filter_corpus(path, path.parent.parent / output, "source-length", **settings)


def error(call: Callable[..., object], *arguments: object, **options: object) -> str:
    with pytest.raises(AdequaError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def test_rows_are_kept_as_they_were_read(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    result = filtered(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    expected = "".join(f"{lines[row]}\n" for row in KEPT)
    assert (tmp_path / "out" / "a.jsonl").read_text(encoding="utf-8") == expected
    assert (result.rows, result.rows_kept, result.rows_removed) == (5, 2, 3)
    assert result.pairs == {
        "": RowCounts(1, 0, 1), "de-en": RowCounts(2, 1, 0), "en-fr": RowCounts(2, 1, 1),
    }  # fmt: skip
    manifest = json.loads((tmp_path / "out" / FOLDER / "manifest.json").read_text())
    assert manifest["filter"] == {"min_score": 0.8, "max_score": None}
    assert manifest["shards"][0]["filtered"]["en-fr"] == {"rows": 2, "kept": 1, "unscored": 1}
    again = filtered(path)
    assert again.corpus.records == result.corpus.records


def test_ends_of_lines_stay(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    filtered(path)
    lines = path.read_bytes().splitlines(keepends=True)
    expected = b"".join(lines[row] for row in KEPT)
    assert (tmp_path / "out" / "a.jsonl").read_bytes() == expected
    assert expected.endswith(b"\r\n")


@pytest.mark.parametrize("ending", ["tsv", "csv", "tsv.gz"])
def test_tables_of_text(tmp_path: Path, ending: str) -> None:
    separator = "," if ending == "csv" else "\t"
    lines = [separator.join(["src", "mt", "note"])]
    lines += [separator.join([row["src"], row["mt"], 'a "b"']) for row in ROWS]
    path = tmp_path / "in" / f"a.{ending}"
    path.parent.mkdir()
    content = "".join(f"{line}\r\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    result = filtered(path)
    written = (tmp_path / "out" / path.name).read_bytes()
    kept = [lines[0], *(lines[row + 1] for row in KEPT)]
    expected = "".join(f"{line}\r\n" for line in kept).encode()
    assert (gzip.decompress(written) if ending.endswith("gz") else written) == expected
    assert result.pairs == {"": RowCounts(5, 2, 1)}


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.parquet"
    path.parent.mkdir()
    table = pa.Table.from_pylist(ROWS).append_column("n", pa.array(range(5), pa.int8()))
    table = table.replace_schema_metadata({b"about": b"this"})
    pq.write_table(table, path, compression="zstd")
    filtered(path)
    written = pq.read_table(tmp_path / "out" / "a.parquet")
    assert written.schema.equals(table.schema, check_metadata=True)
    assert written.to_pylist() == [table.to_pylist()[row] for row in KEPT]
    assert filtered(path, "none", min_score=2).rows_kept == 0
    assert pq.read_table(tmp_path / "none" / "a.parquet").schema.equals(table.schema)


def test_engines_write_the_same_bytes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "in")
    one, two = tmp_path / "one", tmp_path / "two"
    first = filter_corpus(corpus, one, "chrf", min_score=60, workers=1)
    second = filter_corpus(corpus, two, "chrf", min_score=60, workers=2)
    assert contents(one) == contents(two)
    assert first.to_dict() == second.to_dict()
    scored = score_corpus(corpus, tmp_path / "scored", "chrf")
    assert scored.results.system == first.corpus.results.system
    for name in ("fluent.jsonl", "more/broken.jsonl"):
        rows = read_jsonl(tmp_path / "scored" / name)
        assert len(read_jsonl(one / name)) == sum(row["chrf"] >= 60 for row in rows)


@pytest.mark.parametrize("rows", [20, 36, 46])  # in the first shard, at its end, in the second
def test_the_driver_is_killed(tmp_path: Path, rows: int) -> None:
    corpus, out = write_corpus(tmp_path / "in"), tmp_path / "out"
    script = Path(__file__).parent / "killed_scoring.py"
    command = [sys.executable, *map(str, (script, corpus, out, 1, rows, 60))]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(list(out.rglob("*.jsonl"))) == (rows - 1) // 36
    filter_corpus(corpus, out, "chrf", min_score=60)
    filter_corpus(corpus, tmp_path / "expected", "chrf", min_score=60)
    assert contents(out) == contents(tmp_path / "expected")


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "in")
    finished = write_jsonl(corpus / "literal.jsonl", rows_of("literal")).read_text()
    (corpus / "literal.jsonl").write_text("{")
    with pytest.raises(AdequaError, match="The other shards .2 of 3. are scored and stay"):
        filter_corpus(corpus, tmp_path / "out", "chrf", min_score=60)
    (corpus / "literal.jsonl").write_text(finished)
    resumed: list[int] = []
    result = filter_corpus(
        corpus, tmp_path / "out", "chrf", min_score=60,
        progress=lambda state: resumed.append(state.resumed),
    )  # fmt: skip
    assert resumed[-1] == 72
    assert result.rows == 108


def test_a_folder_belongs_to_one_filter(tmp_path: Path) -> None:
    rows = [{"src": row["src"], "mt": row["mt"]} for row in ROWS[:2]]
    path = write_jsonl(tmp_path / "in" / "a.jsonl", rows)
    filtered(path)
    assert "filter min_score was 0.8 then, and is 0.7 now" in error(filtered, path, min_score=0.7)
    assert "filter min_score was 0.8 then, and is absent now" in error(
        score_corpus, path, tmp_path / "out", "source-length"
    )
    score_corpus(path, tmp_path / "scored", "source-length")
    assert "filter min_score was absent then, and is 0.8 now" in error(filtered, path, "scored")


def test_languages_of_rows(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS[:3])
    french = filtered(path, language="fr")
    assert french.pairs == {"de-en": RowCounts(2, 0, 2), "en-fr": RowCounts(1, 1, 0)}
    assert "The segments are of several language pairs: de-en, en-fr." in error(
        filter_corpus, path, tmp_path / "english", "english-length", min_score=0.8
    )


@pytest.mark.parametrize(
    ("metric", "bounds", "sentence"),
    [
        ("source-length", {}, "Give the lowest score of the rows that are kept (--min-score"),
        ("source-length", {"max_score": 1}, "better where it is higher, so that this bound keeps"),
        ("wer", {"min_score": 1}, "wer is better where it is lower, so that this bound keeps the"),
        ("wer", {"min_score": 2, "max_score": 1}, "The lowest score, 2, is above the highest, 1."),
        ("wer", {"max_score": float("nan")}, "The bound of a score must be from -1e"),
        ("chrf", {"min_score": 1}, 'a.jsonl has no column "ref", which chrf needs.'),
    ],
)
def test_sentences(tmp_path: Path, metric: str, bounds: dict[str, float], sentence: str) -> None:
    path = write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    assert sentence in error(filter_corpus, path, tmp_path / "out", metric, **bounds)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "a.jsonl", ROWS)
    words = ["filter", "-i", f"{tmp_path}/in", "-o", f"{tmp_path}/out", "-m", "source-length"]
    shown = CliRunner().invoke(app, [*words, "--min-score", "0.8", "--workers", "1"])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[:7] == [
        "pair   rows  kept  removed  unscored  kept (%)",
        "–         1     0        1         1       0.0",
        "de-en     2     1        1         0      50.0",
        "en-fr     2     1        1         1      50.0",
        "all       5     2        3         2      40.0",
        "",
        "kept: rows with source-length 0.8 or more; removed: all others, of which unscored could "
        "not be scored",
    ]
    assert shown.stderr.splitlines() == [
        f"note: kept 2 of 5 rows in {tmp_path}/out",
        'note: 2 rows could not be scored; the first: a.jsonl, line 4: "src" is empty, and a '
        "metric needs the source.",
    ]
    exact = CliRunner().invoke(app, [*words, "--min-score", "0.8", "-q", "--format", "tsv"])
    assert exact.stdout == (
        "lp\trows\tkept\tremoved\tunscored\n\t1\t0\t1\t1\nde-en\t2\t1\t1\t0\nen-fr\t2\t1\t1\t1\n"
    )


# Pairs of text files


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Text files of the sources and translations of `ROWS`, the latter compressed."""
    sources, translations = tmp_path / "corpus.de", tmp_path / "corpus.en.gz"
    sources.write_bytes("".join(f"{row['src']}\r\n" for row in ROWS).encode())
    lines = "".join(f"{row['mt']}\n" for row in ROWS)
    translations.write_bytes(gzip.compress(lines.encode()))
    return sources, translations


def test_text_files(pair: tuple[Path, Path], tmp_path: Path) -> None:
    sources, translations = pair
    out = tmp_path / "out"
    result = filter_corpus(translations, out, "source-length", source=sources, min_score=0.8)
    assert result.pairs == {"": RowCounts(5, 2, 1)}
    kept = [ROWS[row] for row in KEPT]
    expected = "".join(f"{row['src']}\r\n" for row in kept)
    assert (out / "corpus.de").read_bytes() == expected.encode()
    texts = gzip.decompress((out / "corpus.en.gz").read_bytes()).decode()
    assert texts.splitlines() == [row["mt"] for row in kept]
    assert result.corpus.first_reason == (
        'corpus.en.gz, line 4: "src" is empty, and a metric needs the source.'
    )
    before = contents(out)
    resumed: list[int] = []
    filter_corpus(
        translations, out, "source-length", source=sources, min_score=0.8,
        progress=lambda state: resumed.append(state.resumed),
    )  # fmt: skip
    assert resumed == [5]
    (out / "corpus.de").unlink()  # as if it had been stopped between the two files
    filter_corpus(translations, out, "source-length", source=sources, min_score=0.8)
    assert contents(out) == before


def test_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.io.text_pairs.UNIT_ROWS", 300)
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{row}\n" for row in range(1000)))
    result = filter_corpus(
        tmp_path / "a", tmp_path / "out", "source-length", source=tmp_path / "b", min_score=1
    )
    assert result.rows_kept == 1000
    assert (tmp_path / "out" / "b").read_bytes() == (tmp_path / "b").read_bytes()


def test_sentences_on_text_files(pair: tuple[Path, Path], tmp_path: Path) -> None:
    sources, translations = pair

    def refused(first: Path, second: Path, output: str = "out", **options: Any) -> str:
        settings = {"source": second, "min_score": 0.8, **options}
        return error(filter_corpus, first, tmp_path / output, "source-length", **settings)

    short = tmp_path / "short.en"
    short.write_text("A house.\n")
    assert refused(short, sources) == (
        "short.en ends after line 1, and corpus.de goes on; every line of one file needs its line "
        "in the other."
    )
    assert "There is no file" in refused(tmp_path / "none", sources)
    table = write_jsonl(tmp_path / "a.jsonl", ROWS)
    assert "is a table by its name, and -s and -t take plain text" in refused(table, sources)
    again = tmp_path / "again" / "corpus.de"
    again.parent.mkdir()
    again.write_bytes(sources.read_bytes())
    assert "their names would be the same; rename one of them" in refused(again, sources)
    assert "is in the folder that is written to" in refused(again, sources, "again", source=short)
    assert "by the local engine alone" in refused(translations, sources, engine="ray")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "corpus.de").write_text("mine")
    assert "corpus.de is there already" in refused(translations, sources, "taken")


@pytest.mark.parametrize("given", [[], ["-s", "a"], ["-t", "a"], ["-i", "a", "-s", "b", "-t", "c"]])
def test_what_the_command_reads(given: list[str], tmp_path: Path) -> None:
    words = ["filter", *given, "-o", f"{tmp_path}/out", "-m", "wer", "--max-score", "1"]
    shown = CliRunner().invoke(app, words)
    assert str(shown.exception) == (
        "Give shards with -i, or two text files: the sources -s and their -t."
    )


def test_a_filter_has_one_metric(tmp_path: Path) -> None:
    words = ["filter", "-i", "a.jsonl", "-o", f"{tmp_path}/out", "-m", "chrf", "-m", "bleu"]
    shown = CliRunner().invoke(app, [*words, "--min-score", "1"])
    assert str(shown.exception) == "A filter has one metric, and there are 2: give -m once."
