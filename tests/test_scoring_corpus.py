"""A corpus of shards on one machine: the same rows, right scores, whatever the way."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.io import parquet, shards
from adequa.io.read import InputSummary
from adequa.io.read import read as adequa_read
from adequa.io.shards import find_shards
from adequa.scoring import manifest
from adequa.scoring.corpus import CorpusProgress, score_corpus
from adequa.scoring.manifest import FOLDER
from adequa.scoring.shard import attempt_in_halves
from corpora import SYSTEMS, contents, read_jsonl, rows_of, write_corpus, write_jsonl


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


def test_every_row_once_with_sacrebleus_scores(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = score_corpus(corpus, out, ["chrf", "bleu"])  # paths may be Path
    assert found.rows == 3 * 36
    assert found.unscored == 0
    for place, system in zip(("fluent", "literal", "more/broken"), SYSTEMS, strict=True):
        for old, new in zip(rows_of(system), read_jsonl(out / f"{place}.jsonl"), strict=True):
            chrf = sacrebleu.sentence_chrf(old["mt"], [old["ref"]]).score
            bleu = sacrebleu.sentence_bleu(old["mt"], [old["ref"]]).score
            assert new == {**old, "chrf": chrf, "bleu": bleu, "unscored": None}


def test_the_corpus_score_is_that_of_all_rows(corpus: Path, tmp_path: Path) -> None:
    found = score_corpus(str(corpus), tmp_path / "out", ["bleu"])
    rows = [row for system in SYSTEMS for row in rows_of(system)]
    whole = sacrebleu.corpus_bleu([r["mt"] for r in rows], [[r["ref"] for r in rows]])
    (metric,) = found.results.metrics
    assert metric.systems[0].score == pytest.approx(whole.score, abs=1e-9)
    assert str(metric.signature).startswith("bleu|nrefs:1|")


TABLES = {
    "raw.tsv": 'mt\tref\nHe said "yes".\tHe said "yes".\n"No," he said.\t"Yes," he said.\nx\t\n',
    "quoted.tsv": 'mt\tref\r\n"a ""b"" c"\t"a\nb"\r\nd e\td f\r\n',
    "all.tsv.gz": '"mt"\t"ref"\n"a"\t"a\tb"\n',
    "a.csv": 'ref,mt\n"a, b","a ""b"""\nc,\n',
    "b.csv": 'mt;ref\n"a; b";c\n',
    "empty.tsv": "",
}


def test_tables_of_text_stay_as_they_are_written(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    for name, text in TABLES.items():
        data = text.encode()
        (corpus / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    result = score_corpus(corpus, out, ["chrf"])
    assert (result.rows, result.unscored) == (3 + 2 + 1 + 2 + 1, 1)
    for name, text in TABLES.items():
        data = (out / name).read_bytes()
        written = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        if not text:
            assert not written
            continue
        summaries: list[InputSummary] = []
        read = partial(adequa_read, describe=summaries.append)
        if name != "raw.tsv":
            texts, again = read(corpus / name), read(out / name)
            assert (again.hypotheses, again.references) == (texts.hypotheses, texts.references)
            assert summaries[0].quoting == summaries[1].quoting == "rfc4180"
            assert ("\r\n" in written) == ("\r\n" in text)
    raw = (out / "raw.tsv").read_text(encoding="utf-8").splitlines()
    score = sacrebleu.sentence_chrf('"No," he said.', ['"Yes," he said.']).score
    assert raw[:3] == [
        "mt\tref\tchrf\tunscored",
        'He said "yes".\tHe said "yes".\t100.0\t',
        f'"No," he said.\t"Yes," he said.\t{score}\t',
    ]
    assert raw[3].startswith("x\t\t\traw.tsv, line 4: 'ref' is empty")


def test_the_manifest_says_what_was_made_of_what(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    score_corpus(f"{corpus}/*.jsonl", out, ["chrf"])
    manifest = json.loads((out / FOLDER / "manifest.json").read_bytes())
    assert [shard["shard"] for shard in manifest["shards"]] == ["fluent.jsonl", "literal.jsonl"]
    first = manifest["shards"][0]
    digest = subprocess.run(
        ["sha256sum", corpus / "fluent.jsonl", out / "fluent.jsonl"],
        capture_output=True, text=True, check=True,
    ).stdout.split()[::2]  # fmt: skip
    assert [first["input"]["sha256"], first["output"]["sha256"]] == digest
    assert first["input"]["bytes"] == (corpus / "fluent.jsonl").stat().st_size
    assert (manifest["rows"], first["rows"], first["unscored"]) == (72, 36, 0)
    assert manifest["metrics"]["chrf"].startswith("chrf|case:mixed|")
    assert manifest["corpus"]["chrf"]["signature"].startswith("chrf|nrefs:1|")


def test_workers_change_nothing(corpus: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        score_corpus(str(corpus), tmp_path / str(workers), ["chrf", "wer"], workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_the_size_of_shards_changes_no_score(tmp_path: Path) -> None:
    rows = rows_of("literal")[:12]
    for name, size in (("whole", 12), ("parts", 5)):
        for start in range(0, 12, size):
            write_jsonl(tmp_path / name / f"{start:02}.jsonl", rows[start : start + size])
        score_corpus(str(tmp_path / name), tmp_path / f"{name}-out", ["adequa", "ter"])
    whole, parts = (
        [row for path in sorted(tmp_path.glob(f"{name}-out/*.jsonl")) for row in read_jsonl(path)]
        for name in ("whole", "parts")
    )
    assert whole == parts


def test_all_columns_and_types_of_parquet_pass_through(tmp_path: Path) -> None:
    rows = rows_of("fluent")
    columns = {
        "mt": pa.array([row["mt"] for row in rows], pa.large_string()),
        "ref": pa.array([[row["ref"], "Something else."] for row in rows]),
        "small": pa.array(range(36), pa.int8()),
        "when": pa.array([10**15] * 36, pa.timestamp("us", "UTC")),
        "kind": pa.array(["a", None] * 18).dictionary_encode(),
        "deep": pa.array([{"x": [1, None], "y": {"z": b"\x00\xff"}}] * 36),
        "price": pa.array([None, *([1] * 35)], pa.decimal128(9, 2)),
    }
    table = pa.table(columns).replace_schema_metadata({"mine": "kept"})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet", row_group_size=7, compression="zstd")
    score_corpus(str(tmp_path / "in"), tmp_path / "out", ["chrf"])
    found = pq.read_table(tmp_path / "out" / "a.parquet")
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata[b"mine"] == b"kept"
    assert found.column_names[len(columns) :] == ["chrf", "unscored"]
    assert b"chrf|case" in found.schema.field("chrf").metadata[b"signature"]
    about = pq.ParquetFile(tmp_path / "out" / "a.parquet").metadata.row_group(0).column(0)
    assert about.compression == "ZSTD"
    expected = [sacrebleu.sentence_chrf(r["mt"], [r["ref"], "Something else."]).score for r in rows]
    assert found["chrf"].to_pylist() == expected


def test_a_line_passes_through_as_it_was_written(tmp_path: Path) -> None:
    line = (
        '{"mt": "A cat\\u00e9.", "ref": "A cat.", "n": 1.10, "m": 1e400, "n": 12345678901234567 }'
    )
    (tmp_path / "a.jsonl").write_text(f"\ufeff{line}\r\n{line}", encoding="utf-8")
    score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", ["wer"])
    lines = (tmp_path / "out" / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == [line[:-2] + ', "wer": 0.3333333333333333, "unscored": null}'] * 2


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_packed_shards_stay_packed(tmp_path: Path, ending: str) -> None:
    import lzma

    packed = {".gz": gzip, ".xz": lzma}[ending]
    with packed.open(tmp_path / f"a.jsonl{ending}", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows_of("fluent"))
    for name in ("one", "two"):
        score_corpus(f"{tmp_path}/a.jsonl{ending}", tmp_path / name, ["chrf"])
    with packed.open(tmp_path / "one" / f"a.jsonl{ending}", "rt") as file:
        assert len(file.readlines()) == 36
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_units_end_by_rows_or_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"mt": "cat " * (1 + at % 7), "ref": "a cat"} for at in range(100)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=23)
    expected = None
    for most, size in ((8192, 1 << 25), (10, 1 << 25), (1000, 300)):
        monkeypatch.setattr(parquet, "UNIT_ROWS", most)
        monkeypatch.setattr(parquet, "UNIT_BYTES", size)
        out = tmp_path / f"{most}-{size}"
        score_corpus(str(tmp_path / "a.parquet"), out, ["chrf"])
        file = pq.ParquetFile(out / "a.parquet")
        groups = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        assert max(groups) <= most
        assert len(groups) == (1 if most == shards.UNIT_ROWS else 10) or size == 300
        found = file.read().to_pylist()
        expected = expected or found
        assert found == expected


def test_columns_of_other_names_and_a_prefix(tmp_path: Path) -> None:
    row = {"out": "A cat.", "a": "A dog.", "b": "A cat.", "chrf": 1, "src": 5, "system": None}
    write_jsonl(tmp_path / "a.jsonl", [row])
    score_corpus(
        str(tmp_path / "a.jsonl"), tmp_path / "out", "chrf",
        columns={"mt": "out", "ref": ("a", "b")}, prefix="new_",
    )  # fmt: skip
    (found,) = read_jsonl(tmp_path / "out" / "a.jsonl")
    assert found == {**row, "new_chrf": 100.0, "new_unscored": None}


BAD_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"mt": None, "ref": "A cat."}, 'a.jsonl, line 2 has no "mt".'),
    ({"ref": "A cat."}, 'a.jsonl, line 2 has no "mt".'),
    ({"mt": {"text": "A cat."}, "ref": "A cat."}, 'a.jsonl, line 2: "mt" is an object, not text.'),
    ({"mt": "A cat.", "ref": [["A cat."]]}, 'a.jsonl, line 2: "ref" is a list, not text.'),
    (
        {"mt": "A cat.", "ref": " "},
        'a.jsonl, line 2: "ref" is empty; every segment needs reference text.',
    ),
    (
        {"mt": "A \ud800 cat.", "ref": "A cat."},
        'a.jsonl, line 2: "mt" holds half a character (\\ud800), which is no text.',
    ),
    (
        {"mt": "A cat. " * 20_000, "ref": "A cat."},
        'a.jsonl, line 2: "mt" has 140,000 characters, more than the 100,000 of --max-characters.',
    ),
]


@pytest.mark.parametrize(("bad", "reason"), BAD_ROWS)
def test_a_row_that_cannot_be_scored_says_why(
    tmp_path: Path, bad: dict[str, Any], reason: str
) -> None:
    good = {"mt": "A cat.", "ref": "A dog."}
    write_jsonl(tmp_path / "a.jsonl", [good, bad, good])
    found = score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", ["wer"])
    before, row, after = read_jsonl(tmp_path / "out" / "a.jsonl")
    assert row == {**bad, "wer": None, "unscored": reason}
    assert before == after == {**good, "wer": 1 / 3, "unscored": None}
    assert (found.rows, found.unscored, found.first_reason) == (3, 1, reason)
    assert found.results.metrics[0].systems[0].score == pytest.approx(1 / 3)


def test_a_row_that_one_metric_is_not_defined_for(tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "a.jsonl", [{"mt": "A cat.", "ref": ["A cat.", "Cats."]}, *rows_of("fluent")]
    )
    score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", ["wer", "character"])
    row, *others = read_jsonl(tmp_path / "out" / "a.jsonl")
    assert (row["wer"], row["character"]) == (0.0, None)
    assert row["unscored"] == (
        "a.jsonl, line 1: character cannot score it: character is defined for 1 reference a "
        "segment, not 2."
    )
    assert all(other["character"] is not None for other in others)


def test_a_metric_that_fails_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adequa.metrics.edit_rates import WER

    right = WER.statistics

    def failing(self: WER, segments: Any) -> Any:
        if any("dog" in text for text in segments.hypotheses):
            raise KeyError("dogs")
        return right(self, segments)

    monkeypatch.setattr(WER, "statistics", failing)
    rows = [{"mt": f"A {word}.", "ref": "A cat."} for word in ("cat", "dog", "mouse")]
    write_jsonl(tmp_path / "a.jsonl", rows)
    score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", ["wer", "chrf"])
    found = read_jsonl(tmp_path / "out" / "a.jsonl")
    assert [row["wer"] for row in found] == [0.0, None, 1 / 3]
    assert all(row["chrf"] is not None for row in found)
    assert found[1]["unscored"] == "a.jsonl, line 2: wer cannot score it: KeyError: 'dogs'."


@given(st.sets(st.integers(0, 30)), st.integers(0, 31))
def test_sifting_finds_exactly_the_bad_rows(bad: set[int], count: int) -> None:
    def attempt(rows: Any) -> int:
        if bad & {*rows}:
            raise ValueError
        return len(rows)

    parts, failed = attempt_in_halves(range(count), attempt)
    assert {*failed} == {row for row in bad if row < count}
    assert [row for rows, _ in parts for row in rows] == [r for r in range(count) if r not in bad]


@pytest.mark.parametrize("lists", [False, True])
def test_texts_in_dictionaries(tmp_path: Path, lists: bool) -> None:
    texts = pa.array(["A cat.", "A dog."]).dictionary_encode()
    refs = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts) if lists else texts
    pq.write_table(pa.table({"mt": texts, "ref": refs}), tmp_path / "a.parquet")
    score_corpus(tmp_path / "a.parquet", tmp_path / "out", "wer")
    found = pq.read_table(tmp_path / "out" / "a.parquet")
    assert found.schema.field("ref").type == refs.type
    assert found["wer"].to_pylist() == [0.0, 0.0]


def test_null_rows_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"mt": ["A cat.", None], "ref": pa.array([["A cat."], []])})
    pq.write_table(table, tmp_path / "a.parquet")
    score_corpus(str(tmp_path / "a.parquet"), tmp_path / "out", ["chrf"])
    found = pq.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["chrf"] for row in found] == [100.0, None]
    assert found[1]["unscored"] == 'a.parquet, row 2 has no "mt".'


def test_text_that_is_not_utf8_in_parquet(tmp_path: Path) -> None:
    raw = pa.array([b"A cat.", b"A c\xe9t.", b"A cat."], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 3, raw.buffers())  # as it stands in bad files
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts)
    for name, refs in (("a", pa.array(["A cat."] * 3)), ("b", lists)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(
            pa.table({"mt": texts if name == "a" else ["A cat."] * 3, "ref": refs}), path
        )
        found = score_corpus(str(path), tmp_path / "out" / name, ["wer"])
        column = "mt" if name == "a" else "ref"
        assert found.first_reason == (
            f'{name}.parquet, row 2: "{column}" is bytes that are not UTF-8, not text.'
        )
        rows = pq.read_table(tmp_path / "out" / name / f"{name}.parquet", columns=["wer"])
        assert rows["wer"].to_pylist() == [0.0, None, 0.0]


def test_a_fault_that_nobody_thought_of_is_of_its_shard(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adequa.io.shards import JsonlShard

    def failing(self: JsonlShard, _: object) -> Any:
        raise KeyError(self.table.name)

    monkeypatch.setattr(JsonlShard, "units", failing)
    refused(corpus, "fluent.jsonl: KeyError: 'fluent.jsonl'. 2 more shards have", tmp_path / "out")


def test_a_shard_that_changes_while_it_is_read(
    tmp_path: Path,
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))

    def report(_: CorpusProgress) -> None:
        path.write_bytes(path.read_bytes() + b"\n")

    refused(path, "a.jsonl has changed while it was read", tmp_path / "out", progress=report)
    assert not (tmp_path / "out" / "a.jsonl").exists()


def test_empty_rows_at_the_beginning(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{}] * 100 + [{"out": "A cat.", "ref": "A cat."}])
    found = score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", "wer", columns={"mt": "out"})
    assert (found.rows, found.unscored) == (101, 100)


def test_shards_without_rows(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "a.jsonl", [])
    write_jsonl(tmp_path / "in" / "b.jsonl", rows_of("fluent"))
    empty = pa.table({"mt": pa.array([], pa.string()), "ref": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "in" / "c.parquet")
    assert score_corpus(str(tmp_path / "in"), tmp_path / "out", ["chrf"]).rows == 36
    assert (tmp_path / "out" / "a.jsonl").read_bytes() == b""
    assert pq.read_table(tmp_path / "out" / "c.parquet").num_rows == 0


def test_nothing_to_score_is_no_error(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "a.jsonl", [])
    write_jsonl(tmp_path / "in" / "b.jsonl", [{"mt": None, "ref": "A cat."}])
    for names, rows in (("a", 0), ("[ab]", 1)):
        found = score_corpus(f"{tmp_path}/in/{names}.jsonl", tmp_path / names, ["chrf", "wer"])
        assert (found.rows, found.scoreless) == (rows, ("chrf", "wer"))
        manifest = json.loads((tmp_path / names / FOLDER / "manifest.json").read_bytes())
        assert manifest["corpus"]["chrf"]["score"] is None


def test_progress_adds_up(corpus: Path, tmp_path: Path) -> None:
    reports: list[CorpusProgress] = []
    score_corpus(str(corpus), tmp_path / "out", "chrf", workers=2, progress=reports.append)
    size = sum(shard.size for shard in find_shards(str(corpus)))
    assert reports[-1] == CorpusProgress(rows=108, unscored=0, bytes=size)
    score_corpus(str(corpus), tmp_path / "out", "chrf", progress=reports.append)
    assert reports[-1] == CorpusProgress(rows=108, unscored=0, bytes=size, resumed=108)


def test_a_metric_is_loaded_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adequa.metrics.registry import load_metric as load

    asked: list[str] = []

    def loaded(words: str, **settings: Any) -> Any:
        metric = load(words, **settings)  # which may be refused for a setting
        asked.append(words)
        return metric

    monkeypatch.setattr(manifest, "load_metric", loaded)
    score_corpus(str(corpus), tmp_path / "out", "wer")
    assert asked == ["wer"]


def test_devices_are_those_of_metrics_that_have_one(tmp_path: Path) -> None:
    """What job.json says: no lexical score depends on one."""
    path, out = str(write_jsonl(tmp_path / "a.jsonl", rows_of("fluent")[:2])), tmp_path / "out"
    score_corpus(path, out, ["chrf"])
    job = out / FOLDER / "job.json"
    kept = json.loads(job.read_bytes())
    assert not {*kept} & {"device", "devices"}
    job.write_text(json.dumps(kept | {"device": "cuda"}))  # as it was said once
    score_corpus(path, out, ["chrf"])
    refused = "^--device goes with trained metrics, and there is none among these: chrf, ter.$"
    with pytest.raises(AdequaError, match=refused):
        score_corpus(path, out, ["chrf", "ter"], device="cuda")
    score_corpus(path, tmp_path / "trained", ["adequa", "chrf"])
    job = tmp_path / "trained" / FOLDER / "job.json"
    kept = json.loads(job.read_bytes())
    assert kept["devices"] == {"adequa": "cpu"}
    score_corpus(path, tmp_path / "trained", ["adequa:device=cpu", "chrf"])
    del kept["devices"]
    job.write_text(json.dumps(kept | {"device": "cpu"}))
    with pytest.raises(AdequaError, match="devices adequa was absent then, and is cpu now"):
        score_corpus(path, tmp_path / "trained", ["adequa", "chrf"])


def test_settings_are_those_that_the_words_of_a_metric_assign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    given: list[Any] = []
    monkeypatch.setattr(manifest, "load_metric", lambda _, **settings: given.append(settings))
    folder = tmp_path / "threads=2"
    folder.mkdir()
    (folder / "metric.json").touch()
    manifest.load_with(str(folder), {"threads": 4, "device": None})
    manifest.load_with(f"{folder}:threads=3", {"threads": 4, "device": "cpu"})
    assert given == [{"threads": 4}, {"device": "cpu"}]


def test_what_the_command_says_of_nothing_scored(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"mt": None, "ref": "A cat."}])
    words = ["score", "-i", str(path), "-o", f"{tmp_path}/out/", "-m", "wer"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0
    assert "no row at all has a score of wer" in found.stderr
    assert found.stdout.splitlines()[1] == "corpus      –"
    found = CliRunner().invoke(app, [*words, "--format", "json"])
    assert json.loads(found.stdout)["metrics"][0]["systems"] == [{"name": "corpus", "score": None}]


@pytest.mark.parametrize("option", [("--prefix", "x"), ("--max-characters", "9")])
def test_options_of_corpora_alone(tmp_path: Path, option: tuple[str, str]) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))
    found = CliRunner().invoke(app, ["score", "-i", str(path), "-m", "wer", *option])
    assert f"{option[0]} goes with a corpus: -i SHARDS -o FOLDER/." in str(found.exception)


def test_addresses(corpus: Path, tmp_path: Path) -> None:
    """With file:// or without it, the folders of this machine are the same."""
    score_corpus(f"file://{corpus}/**/*.jsonl", f"file://{tmp_path}/there", "chrf")
    score_corpus(f"{corpus}/**/*.jsonl", tmp_path / "here", "chrf")
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    again = score_corpus(f"file://{corpus}", f"file://{tmp_path}/there/", "chrf")
    assert again.rows == 108
    (tmp_path / "there" / FOLDER / "unfinished").mkdir()
    (tmp_path / "there" / FOLDER / "unfinished" / "0123.tmp").write_bytes(b"half")
    score_corpus(f"file://{corpus}", f"file://{tmp_path}/there/", "chrf")
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_addresses_have_no_escapes(tmp_path: Path) -> None:
    """As with fsspec: every character of a path stands for itself."""
    where = write_jsonl(tmp_path / "a b" / "100% [1] é.jsonl", rows_of("fluent")).parent
    score_corpus(f"file://{where}", f"file://{tmp_path}/out%20there", "chrf")
    score_corpus(str(where), tmp_path / "here", "chrf")
    assert contents(tmp_path / "out%20there") == contents(tmp_path / "here")
    assert score_corpus(f"file://{where}/*.jsonl", tmp_path / "out%20there", "chrf").rows == 36


def test_stores_of_fsspec(corpus: Path, tmp_path: Path) -> None:
    """The one in memory stands for all; what it holds is the same, byte for byte."""
    memory = fsspec.filesystem("memory")
    memory.put(str(corpus), "/corpora/in", recursive=True)
    try:
        for inputs in ("memory://corpora/in", "memory://corpora/in/**/*.jsonl"):
            assert score_corpus(inputs, "memory://corpora/out", ["chrf", "wer"]).rows == 108
        reports: list[CorpusProgress] = []
        score_corpus(
            "memory://corpora/in", "memory://corpora/out", ["chrf", "wer"], progress=reports.append
        )
        assert reports[-1].resumed == 108
        score_corpus(corpus, tmp_path / "out", ["chrf", "wer"])
        written = memory.find("/corpora/out")
        found = {path.removeprefix("/corpora/out/"): memory.cat_file(path) for path in written}
        assert found == contents(tmp_path / "out")
        for out in ("memory://corpora/in", "memory://corpora"):
            with pytest.raises(AdequaError, match="is in the folder that is written to"):
                score_corpus("memory://corpora/in", out, "wer")
        with pytest.raises(AdequaError, match="would be among the shards of"):
            score_corpus("memory://corpora/in", "memory://corpora/in/scores", "wer")
        memory.pipe_file("/corpora/mine/fluent.jsonl", b"mine")
        with pytest.raises(
            AdequaError, match=r"fluent\.jsonl is there already, and by its records"
        ):
            score_corpus("memory://corpora/in", "memory://corpora/mine", "wer")
        with pytest.raises(AdequaError, match="matches nothing"):
            find_shards("memory://corpora/none/*.jsonl")
    finally:
        memory.rm("/corpora", recursive=True)


def test_inputs_are_never_written_over(corpus: Path, tmp_path: Path) -> None:
    before = contents(corpus)
    link = tmp_path / "link"
    link.symlink_to(corpus)
    for given_ in (str(corpus), f"file://{corpus}", str(link), f"{corpus}/*.jsonl"):
        for out in (str(corpus), f"file://{corpus}", str(link), f"file://{link}"):
            with pytest.raises(AdequaError, match="is in the folder that is written to"):
                score_corpus(given_, out, "wer")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "more").symlink_to(corpus / "more")
    with pytest.raises(AdequaError, match="is in the folder that is written to"):
        score_corpus(str(corpus), tmp_path / "out", "wer")
    assert contents(corpus) == before


def test_scores_may_not_become_shards(corpus: Path, tmp_path: Path) -> None:
    everything = (str(corpus), f"{corpus}/**/*.jsonl", f"{corpus}/**", f"{corpus}/**/**")
    for given_ in (*everything, f"file://{corpus}", f"file://{corpus}/**"):
        with pytest.raises(AdequaError, match="would be among the shards of"):
            score_corpus(given_, corpus / "out", "wer")
    for _ in range(2):  # what these stand for does not take the scores in
        assert score_corpus(f"{corpus}/*.jsonl", corpus / "out", "wer").rows == 72
        assert score_corpus(str(tmp_path / "corpus" / "more"), corpus / "_out", "wer").rows == 36


def test_which_files_of_a_folder_are_shards(tmp_path: Path) -> None:
    for name in (
        "b.jsonl",
        "a/c.parquet",
        "_adequa/x.jsonl",
        ".h.jsonl",
        "notes.txt",
        "d[1].jsonl",
    ):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    names = ["a/c.parquet", "b.jsonl", "d[1].jsonl"]
    assert [shard.name for shard in find_shards(f"{tmp_path}/in")] == names
    assert [shard.name for shard in find_shards(f"file://{tmp_path}/in/")] == names
    assert [shard.name for shard in find_shards(f"{tmp_path}/in/*.jsonl")] == names[1:]


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ("{}/none/*.jsonl", "matches nothing"),
        ("{}/none", "is not there, or holds no shards"),
        ("{}/a.txt", "is no shard: the names of shards end in .parquet or .jsonl"),
        ("nowhere://x/y", "is no address that can be used"),
    ],
)
def test_no_such_shards(tmp_path: Path, given_: str, words: str) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(AdequaError, match=words):
        find_shards(given_.format(tmp_path))


def refused(where: Path, words: str, out: Path, **options: Any) -> None:
    options = {"metrics": "chrf", **options}
    with pytest.raises(AdequaError) as caught:
        score_corpus(str(where), out, **options)
    assert words in str(caught.value)


def test_shards_of_different_columns(tmp_path: Path) -> None:
    where, out = tmp_path / "in", tmp_path / "out"
    where.mkdir()
    pq.write_table(pa.table({"mt": ["a"], "ref": ["a"], "n": [1]}), where / "a.parquet")
    other = pa.table({"mt": ["a"], "ref": ["a"], "n": ["1"]})
    pq.write_table(other, where / "b.parquet")
    refused(
        where, 'b.parquet differs from a.parquet in its columns: "n" is string here and int64', out
    )
    pq.write_table(other.select(["ref", "mt"]), where / "b.parquet")
    refused(where, '"n" is absent here and int64 there', out)
    pq.write_table(pa.table({"ref": ["a"], "mt": ["a"], "n": [1]}), where / "b.parquet")
    refused(where, "b.parquet has its columns in another order than a.parquet", out)
    assert not out.exists()
    fields = [pa.field(name, pa.string(), nullable=False) for name in ("mt", "ref")]
    strict = pa.schema([*fields, pa.field("n", pa.int64())])
    pq.write_table(pa.table({"mt": ["a"], "ref": ["a"], "n": [1]}, strict), where / "b.parquet")
    assert score_corpus(str(where), out, "wer").rows == 2  # whether nulls may be is no difference


def test_a_column_name_twice_in_one_of_two_shards(tmp_path: Path) -> None:
    twice = pa.table([["a"], ["a"], [1], [2]], names=["mt", "ref", "x", "x"])
    once = twice.select([0, 1, 2])
    (tmp_path / "in").mkdir()
    for tables in ((once, twice), (twice, once), (twice, twice)):
        for name, table in zip(("a", "b"), tables, strict=True):
            pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
        refused(tmp_path / "in", '2 columns of the name "x"', tmp_path / "out")


def test_bad_shards_are_named_before_the_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"mt": ["a"]}), path)
    refused(path, 'a.parquet has no column "ref"', out)
    pq.write_table(pa.table({"mt": [{"text": "a"}], "ref": ["a"]}), path)
    refused(path, 'a.parquet: the column "mt" is struct<text: string>, not text', out)
    pq.write_table(pa.table({"mt": [["a"]], "ref": [["a"]]}), path)
    refused(path, 'a.parquet: the column "mt" is list<', out)
    pq.write_table(pa.table({"mt": ["a"], "ref": ["a"], "chrf": [1.0]}), path)
    refused(path, 'a.parquet has a column "chrf" already', out)
    lines = tmp_path / "b.jsonl"
    write_jsonl(lines, [{"mt": "a"}])
    refused(lines, 'b.jsonl has no column "ref"', out)
    write_jsonl(lines, [{"mt": "a", "ref": "a"}] * 200 + [{"mt": "a", "ref": "a", "chrf": 1}])
    refused(lines, 'b.jsonl, line 201 has "chrf" already', out)
    refused(lines, "nist weighs every segment by all others", out, metrics="nist")
    refused(lines, "There is no metric", out, metrics=[])
    refused(lines, "is no engine", out, engine="dask")
    refused(lines, "one worker or more", out, workers=0)
    refused(lines, "go with the ray engine", out, address="auto")
    refused(tmp_path, "is in the folder that is written to", tmp_path)


def test_mixed_encodings(tmp_path: Path) -> None:
    row = b'{"mt": "caf\xe9", "ref": "caf"}\n'
    (tmp_path / "a.jsonl").write_bytes(row.replace(b"\xe9", "é".encode()) * 150 + row)
    refused(
        tmp_path / "a.jsonl",
        "a.jsonl, line 151: byte 12 of the line (0xe9) is not UTF-8",
        tmp_path / "o",
    )
    assert not list((tmp_path / "o").glob("*.jsonl"))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in /proc")
def test_cells_of_100_megabytes(tmp_path: Path) -> None:
    """In a process of its own, whose memory is that of a few such cells at the most."""
    huge = "x" * 100_000_000
    schema = pa.schema([("mt", pa.string()), ("ref", pa.string())])
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, compression="zstd") as writer:
        for text in ("A cat.", huge, "A cat."):
            writer.write_table(pa.table({"mt": [text], "ref": ["A cat."]}, schema=schema))
    program = (
        "import sys; from adequa.scoring.corpus import score_corpus; "
        "scored = score_corpus(sys.argv[1], sys.argv[2], 'chrf'); "
        "peak = open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]; "
        "print(scored.unscored, int(peak) // 1024)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a.parquet", tmp_path / "out"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert found[0] == "1"
    assert int(found[1]) < 1000
    scores = pq.read_table(tmp_path / "out" / "a.parquet", columns=["chrf", "unscored"]).to_pylist()
    assert [row["chrf"] for row in scores] == [100.0, None, 100.0]
    assert scores[1]["unscored"].startswith('a.parquet, row 2: "mt" has 100,000,000 characters')


def test_python_names() -> None:
    import adequa

    assert adequa.score_corpus is score_corpus
    assert np.isfinite(adequa.score(["a"], ["a"], metric="chrf").system)
