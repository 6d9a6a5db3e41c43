"""A corpus in bad hands: killed processes, damaged files, full disks. The same bytes in the end."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adequa.errors import AdequaError
from adequa.io.lock import locked
from adequa.scoring.corpus import Tally, score_corpus
from adequa.scoring.job import FOLDER
from corpora import contents, rows_of, write_corpus, write_jsonl

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

    def told(_: Tally) -> None:
        for worker in multiprocessing.active_children()[: 2 - len(victims)]:
            worker.kill()
            victims.append(worker.pid or 0)

    score_corpus(str(corpus), tmp_path / "out", "chrf", workers=2, told=told)
    assert len(victims) == 2
    assert contents(tmp_path / "out") == expected


def test_workers_that_die_again_and_again(tmp_path: Path) -> None:
    """A shard that is too much for any worker stops the job in the end."""
    for name in "ab":
        write_jsonl(tmp_path / "in" / f"{name}.jsonl", rows_of("fluent") * 300)

    def told(_: Tally) -> None:
        for worker in multiprocessing.active_children():
            worker.kill()

    with pytest.raises(AdequaError, match=r".\.jsonl: the worker was lost 3 times .exit code -9"):
        score_corpus(str(tmp_path / "in"), tmp_path / "out", "wer", workers=2, told=told)
    assert not multiprocessing.active_children()


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
    assert "1 more shards have faults too. The other shards (2 of 4) are scored" in sentence
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


@pytest.mark.parametrize("fault", ["changed", "removed", "no record", "another record"])
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
        case "no record":
            record.unlink()
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
    assert "holds scores that were made otherwise" in str(caught.value)
    assert contents(out) == before


def test_one_job_at_a_time_in_a_folder(corpus: Path, tmp_path: Path) -> None:
    with locked(tmp_path / "out"), pytest.raises(AdequaError, match="Another adequa is writing to"):
        score_corpus(str(corpus), tmp_path / "out", "chrf")


def test_what_a_killed_writer_left_goes(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "out" / "more").mkdir(parents=True)
    (tmp_path / "out" / "more" / ".adequa-0123456789ab.tmp").write_bytes(b"half a shard")
    score_corpus(str(corpus), tmp_path / "out", "chrf")
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
    with pytest.raises(AdequaError, match=r"b\S* cannot be written: No space left on device"):
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
