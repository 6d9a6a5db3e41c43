"""A corpus in bad hands: killed processes, damaged files, full disks. The same bytes in the end."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.atomic import locked
from adequa.scoring.corpus import CorpusProgress, score_corpus
from adequa.scoring.manifest import FOLDER
from corpora import contents, rows_of, write_corpus, write_jsonl
from dying_worker import die

KILLED = Path(__file__).parent / "killed_scoring.py"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected")
    score_corpus(str(corpus), out, "chrf")
    return contents(out)


# Amid the first shard, when it is told but not yet in its place, amid the second.
@pytest.mark.parametrize(("workers", "rows"), [(1, 20), (1, 36), (1, 46), (2, 30)])
def test_the_driver_is_killed(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, workers: int, rows: int
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, *map(str, (KILLED, corpus, out, workers, rows))]
    found = subprocess.run(command, check=False, capture_output=True)
    assert found.returncode == -signal.SIGKILL
    finished = {path: path.stat().st_ino for path in out.rglob("*.jsonl")}
    assert workers > 1 or len(finished) == (rows - 1) // 36
    assert not (out / FOLDER / "manifest.json").exists()
    score_corpus(str(corpus), out, "chrf")
    assert contents(out) == expected
    if workers == 1:  # what was finished is as it was, and not written again
        assert all(path.stat().st_ino == number for path, number in finished.items())


def test_workers_are_killed(corpus: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    victims: list[int] = []

    def report(_: CorpusProgress) -> None:
        for worker in multiprocessing.active_children()[: 2 - len(victims)]:
            worker.kill()
            victims.append(worker.pid or 0)

    score_corpus(str(corpus), tmp_path / "out", "chrf", workers=2, progress=report)
    assert len(victims) == 2
    assert contents(tmp_path / "out") == expected


def test_workers_that_die_again_and_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard that is too much for any worker stops the job in the end."""
    from adequa.scoring import local

    monkeypatch.setattr(local, "_work", die)
    with pytest.raises(AdequaError, match=r".\.jsonl: the worker was lost 3 times .exit code -9"):
        score_corpus(str(corpus), tmp_path / "out", "wer", workers=2)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("kind", [RuntimeError, AdequaError, MemoryError])
def test_no_row_is_blamed_for_a_metric_that_stops_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    """As on a GPU that is out of memory: no null is written, and the next run makes good."""
    from adequa.metrics.edit_rates import WER

    write_jsonl(tmp_path / "in" / "a.jsonl", rows_of("fluent"))
    write_jsonl(tmp_path / "in" / "b.jsonl", rows_of("literal") * 60)
    working, calls = WER.statistics, 0

    def ailing(self: WER, segments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:  # the check at first, the first shard, and the second's first 1,024 rows
            raise kind("CUDA out of memory.\nTried to allocate")
        return working(self, segments)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(WER, "statistics", ailing)
        with pytest.raises(AdequaError, match=r"b\.jsonl: .*CUDA out of memory"):
            score_corpus(str(tmp_path / "in"), out, "wer")
    assert calls < 20  # not row by row
    assert sorted(contents(out)) == [
        "_adequa/job.json", "_adequa/shards/a.jsonl.json", "a.jsonl",
    ]  # fmt: skip
    assert score_corpus(str(tmp_path / "in"), out, "wer").unscored == 0


def test_a_metric_that_stops_working_after_a_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adequa.metrics.edit_rates import WER

    rows = rows_of("fluent")
    rows[3]["mt"] = "the bad one"
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    working, plain = WER.statistics, 0

    def ailing(self: WER, segments: Any) -> Any:
        nonlocal plain
        if "the bad one" in segments.hypotheses:
            raise ValueError("bad")
        if plain == 2:  # at first, and when the bad row had failed
            raise RuntimeError("gone")
        plain += segments.hypotheses[0].startswith("A cat sat there")
        return working(self, segments)

    monkeypatch.setattr(WER, "statistics", ailing)
    with pytest.raises(AdequaError, match=r"a\.jsonl: wer cannot score so .*RuntimeError: gone\."):
        score_corpus(str(path), tmp_path / "out", "wer")


def test_a_worker_tries_the_metrics_that_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may lack what the driver has."""
    from adequa.metrics.edit_rates import WER
    from adequa.scoring.manifest import make_job
    from adequa.scoring.shard import ShardScorer

    job, loaded = make_job(str(tmp_path / "out"), ("wer",), {})
    monkeypatch.setattr(WER, "segment_scores", lambda _, found: found[:, 0] * float("nan"))
    with pytest.raises(AdequaError, match="wer makes no number of so much as a plain sentence"):
        ShardScorer(job)
    ShardScorer(job, loaded)  # was tried before


def test_settings_that_are_unknown_travel_between_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(UnknownSettingError("There is none.", "chrf", "beat")))
    assert (str(error), error.where, error.key) == ("There is none.", "chrf", "beat")


def test_a_shard_is_cut_short(tmp_path: Path) -> None:
    where, out = tmp_path / "in", tmp_path / "out"
    write_corpus(where)
    pq.write_table(pa.Table.from_pylist(rows_of("literal")), where / "z.parquet")
    whole = {path: path.read_bytes() for path in (where / "fluent.jsonl", where / "z.parquet")}
    for path, content in whole.items():
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(AdequaError) as caught:
        score_corpus(str(where), out, "chrf")
    sentence = str(caught.value)
    assert sentence.startswith("fluent.jsonl, line ")
    assert "is not JSON" in sentence
    assert "1 more shard has faults too. The other shards (2 of 4) are scored" in sentence
    assert sorted(contents(out)) == [
        "_adequa/job.json", "_adequa/shards/literal.jsonl.json",
        "_adequa/shards/more/broken.jsonl.json", "literal.jsonl", "more/broken.jsonl",
    ]  # fmt: skip
    for path, content in whole.items():
        path.write_bytes(content)
    assert score_corpus(str(where), out, "chrf").rows == 4 * 36
    score_corpus(str(where), tmp_path / "fresh", "chrf")
    assert contents(out) == contents(tmp_path / "fresh")


def test_a_damaged_shard_alone(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(AdequaError, match="a.parquet cannot be read as Parquet"):
        score_corpus(str(tmp_path / "a.parquet"), tmp_path / "out", "chrf")


def spoilt(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("fault", ["changed", "removed", "another record"])
def test_a_finished_output_is_damaged(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, fault: str
) -> None:
    out = tmp_path / "out"
    score_corpus(str(corpus), out, "chrf")
    record = out / FOLDER / "shards" / "fluent.jsonl.json"
    match fault:
        case "changed":
            spoilt(out / "fluent.jsonl")
        case "removed":
            (out / "fluent.jsonl").unlink()
        case _:
            record.write_text('{"shard": 3}')
    untouched = (out / "literal.jsonl").stat().st_ino
    score_corpus(str(corpus), out, "chrf")
    assert contents(out) == expected
    assert (out / "literal.jsonl").stat().st_ino == untouched


def test_dates_do_not_count_and_content_does(tmp_path: Path) -> None:
    where, out = tmp_path / "in", tmp_path / "out"
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    write_jsonl(where / "b.jsonl", rows_of("literal"))
    score_corpus(str(where), out, "chrf")
    numbers = {path: path.stat().st_ino for path in out.glob("*.jsonl")}
    os.utime(where / "a.jsonl", (1, 1))
    before = (where / "b.jsonl").stat()
    write_jsonl(where / "b.jsonl", rows_of("broken"))
    os.utime(where / "b.jsonl", (before.st_atime, before.st_mtime))
    score_corpus(str(where), out, "chrf")
    assert (out / "a.jsonl").stat().st_ino == numbers[out / "a.jsonl"]
    assert (out / "b.jsonl").stat().st_ino != numbers[out / "b.jsonl"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_manifest_is_there_when_all_are_finished(tmp_path: Path, scheme: str) -> None:
    where, out = tmp_path / "in", f"{scheme}{tmp_path}/out"
    manifest = tmp_path / "out" / FOLDER / "manifest.json"
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    write_jsonl(where / "b.jsonl", rows_of("literal"))
    score_corpus(str(where), out, "wer")
    whole = contents(tmp_path / "out")
    score_corpus(str(where), out, "wer")  # all is kept
    assert contents(tmp_path / "out") == whole
    write_jsonl(where / "a.jsonl", rows_of("broken"))
    (where / "b.jsonl").write_text("no JSON")
    with pytest.raises(AdequaError, match=r"b\.jsonl, line 1 is not JSON"):
        score_corpus(str(where), out, "wer")
    assert not manifest.exists()
    with pytest.raises(AdequaError, match="of another job"):  # and nothing is touched
        score_corpus(str(where), out, "ter")
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    write_jsonl(where / "b.jsonl", rows_of("literal"))
    score_corpus(str(where), out, "wer")
    assert contents(tmp_path / "out") == whole


@pytest.mark.parametrize(
    ("metrics", "options", "words"),
    [
        (["bleu"], {}, "metrics chrf was chrf|case:mixed|.* then, and is absent now"),
        (["chrf:lowercase=true"], {}, "was chrf|case:mixed|.* then, and is chrf|case:lc"),
        (["chrf", "ter"], {}, "metrics ter was absent then, and is ter|case"),
        (["chrf"], {"columns": {"ref": "mt"}}, "columns ref was absent then, and is mt now"),
        (["chrf"], {"max_characters": 9}, "max_characters was 100000 then, and is 9 now"),
    ],
)
def test_another_metric_into_the_same_folder(
    corpus: Path, tmp_path: Path, metrics: list[str], options: dict[str, object], words: str
) -> None:
    out = tmp_path / "out"
    score_corpus(str(corpus), out, "chrf")
    before = contents(out)
    with pytest.raises(AdequaError, match=words.replace("|", r"\|")) as caught:
        score_corpus(str(corpus), out, metrics, **options)  # type: ignore[arg-type]
    assert "holds the output of another job" in str(caught.value)
    assert contents(out) == before


def test_metrics_in_another_order(corpus: Path, tmp_path: Path) -> None:
    score_corpus(str(corpus), tmp_path / "out", ["chrf", "wer"])
    with pytest.raises(AdequaError, match="the order of metrics was chrf, wer then, and is wer, c"):
        score_corpus(str(corpus), tmp_path / "out", ["wer", "chrf"])


def test_inputs_that_went(tmp_path: Path) -> None:
    write_corpus(tmp_path / "in")
    score_corpus(str(tmp_path / "in"), tmp_path / "out", "wer")
    (tmp_path / "in" / "literal.jsonl").unlink()
    with pytest.raises(AdequaError, match=r"holds scores of literal\.jsonl, which the input has"):
        score_corpus(str(tmp_path / "in"), tmp_path / "out", "wer")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_hidden_shards_go_on_too(tmp_path: Path, scheme: str) -> None:
    write_jsonl(tmp_path / "in" / ".a.jsonl", rows_of("fluent"))
    write_jsonl(tmp_path / "in" / ".more" / ".b.jsonl", rows_of("fluent"))
    for pattern, rows in ((".*.jsonl", 36), (".*/.*.jsonl", 36)):
        for _ in range(2):
            out = f"{scheme}{tmp_path}/out-{len(pattern)}"
            assert score_corpus(f"{scheme}{tmp_path}/in/{pattern}", out, "wer").rows == rows
    (tmp_path / "in" / ".a.jsonl").rename(tmp_path / "in" / ".c.jsonl")
    with pytest.raises(AdequaError, match=r"holds scores of \.a\.jsonl, which the input has not"):
        score_corpus(f"{scheme}{tmp_path}/in/.*.jsonl", f"{scheme}{tmp_path}/out-8", "wer")


def test_files_of_others_are_not_overwritten(corpus: Path, tmp_path: Path) -> None:
    mine = tmp_path / "out" / "more" / "broken.jsonl"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(AdequaError, match=r"broken\.jsonl is there already, and by its records no"):
        score_corpus(str(corpus), tmp_path / "out", "wer")
    assert contents(tmp_path / "out") == {"more/broken.jsonl": b"mine"}
    mine.rename(tmp_path / "mine")
    score_corpus(f"{corpus}/fluent.jsonl", tmp_path / "out", "wer")
    (tmp_path / "out" / "literal.jsonl").write_text("mine")  # later, and there is no record of it
    with pytest.raises(AdequaError, match=r"literal\.jsonl is there already, and by its records"):
        score_corpus(f"{corpus}/*.jsonl", f"file://{tmp_path}/out", "wer")


def test_killed_between_the_record_and_the_scores(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adequa.scoring import shard

    class Killed(BaseException):
        pass

    def write_record(*given: Any) -> None:
        written(*given)
        raise Killed

    from adequa.scoring.manifest import write_record as written

    with monkeypatch.context() as patch:
        patch.setattr(shard, "write_record", write_record)
        with pytest.raises(Killed):
            score_corpus(str(corpus), tmp_path / "out", "chrf")
    assert not (tmp_path / "out" / "fluent.jsonl").exists()
    score_corpus(str(corpus), tmp_path / "out", "chrf")
    assert contents(tmp_path / "out") == expected


def test_a_folder_that_nothing_came_into_is_free(tmp_path: Path) -> None:
    where, out = tmp_path / "a.parquet", tmp_path / "out"
    where.write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(AdequaError, match="cannot be read as Parquet"):
        score_corpus(str(where), out, "chrf")
    pq.write_table(pa.table({"mt": ["a"], "ref": ["a"]}), where)
    assert score_corpus(str(where), out, "wer").rows == 1


def test_a_parquet_shard_that_fails_is_let_go_of_in_silence(tmp_path: Path) -> None:
    """In a process of its own: what is said there when an object goes is no exception."""
    pq.write_table(pa.table({"mt": ["a"] * 9, "ref": ["a"] * 9}), tmp_path / "a.parquet")
    program = (
        "import sys; from adequa.io import parquet; parquet.UNIT_ROWS = 2\n"
        "from adequa.scoring import shard\n"
        "def failing(self, unit, told):\n"
        "    told(unit.count, 0); assert unit.done < .5; return made(self, unit, told)\n"
        "made = shard.RowScorer.new_columns; "
        "shard.RowScorer.new_columns = failing\n"
        "from adequa.scoring.corpus import score_corpus\n"
        "try: score_corpus(sys.argv[1], sys.argv[2], 'wer')\n"
        "except Exception as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a.parquet", tmp_path / "out"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.startswith("a.parquet: AssertionError")
    assert found.stderr == ""


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_one_job_at_a_time_in_a_folder(corpus: Path, tmp_path: Path, scheme: str) -> None:
    of_another = tmp_path / "out" / FOLDER / "unfinished" / "0123456789abcdef.tmp"
    of_another.parent.mkdir(parents=True)
    of_another.touch()
    with locked(tmp_path / "out"), pytest.raises(AdequaError, match="Another adequa is writing to"):
        score_corpus(str(corpus), f"{scheme}{tmp_path}/out", "chrf")
    assert of_another.exists()


def test_the_folder_is_held_until_the_engine_has_ended(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last workers may be writing; and no engine is begun for a folder that others hold."""
    from adequa.scoring import corpus as corpora

    out, holders = tmp_path / "out", []
    begin = corpora._engine

    @contextmanager
    def watched(*given: Any) -> Iterator[Any]:
        with begin(*given) as run:
            yield run
        with locked(out) as holder:
            holders.append(holder)

    monkeypatch.setattr(corpora, "_engine", watched)
    score_corpus(str(corpus), out, "wer")
    assert holders == ["others"]
    with locked(out), pytest.raises(AdequaError, match="Another adequa is writing to"):
        score_corpus(str(corpus), out, "wer")
    assert len(holders) == 1


def test_what_a_killed_writer_left_goes(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    unfinished = tmp_path / "out" / FOLDER / "unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "0123456789abcdef.tmp").write_bytes(b"half a shard")
    other = tmp_path / "out" / "other" / FOLDER / "unfinished" / "of-another-job.tmp"
    other.parent.mkdir(parents=True)
    other.touch()
    score_corpus(str(corpus), tmp_path / "out", "chrf")
    other.unlink()  # it was left alone
    assert contents(tmp_path / "out") == expected


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_disk_is_full(small_disk: Path, tmp_path: Path, ending: str, workers: int) -> None:
    where, out = tmp_path / "in", small_disk / "out"
    write_some(where / f"a{ending}", 10)
    write_some(where / f"b{ending}", 5000)
    # By name the large one, or with two at a time the other, whichever finds the disk full first.
    with pytest.raises(AdequaError, match=r"[ab]\.\S* cannot be written: No space left on device"):
        score_corpus(str(where), out, "wer", workers=workers)
    left = [path for path in contents(out) if not path.startswith(FOLDER)]
    assert left in ([f"a{ending}"], [])  # whole shards alone
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    assert score_corpus(str(where), out, "wer").rows == 5010
    score_corpus(str(where), tmp_path / "fresh", "wer")
    assert contents(out) == contents(tmp_path / "fresh")


def write_some(path: Path, count: int) -> None:
    import gzip
    import json

    rows = [{"mt": os.urandom(9).hex(), "ref": "x"} for _ in range(count)]
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def test_files_may_not_grow_so_large(tmp_path: Path) -> None:
    """As with a quota; also where nothing may be mounted."""
    write_some(tmp_path / "a.jsonl", 2000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(AdequaError, match=r"a\.jsonl cannot be written: File too large"):
            score_corpus(str(tmp_path / "a.jsonl"), tmp_path / "out", "wer")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [*contents(tmp_path / "out")] == ["_adequa/job.json"]
