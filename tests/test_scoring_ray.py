"""The Ray engine: the bytes of the local one, also when workers, nodes or the driver are lost.

One small cluster for all tests of this file: to start one takes seconds.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, get_args

import pytest

from adequa.errors import AdequaError
from adequa.scoring.corpus import CorpusProgress, Engine, score_corpus
from adequa.scoring.filter import filter_corpus
from corpora import contents, rows_of, write_corpus, write_german, write_jsonl

pytest.importorskip("ray", reason="needs the extra [ray]")
pytestmark = [
    # Ray leaves sockets and files to be closed by the end of the process, and warns of itself.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

METRICS = ("chrf",)
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, each with room for one worker."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_BACKEND_LOG_LEVEL", "fatal")
        here = os.pathsep.join(filter(None, [*sys.path[:1], os.environ.get("PYTHONPATH")]))
        patch.setenv("PYTHONPATH", here)
        ray = import_module("ray")
        clusters = import_module("ray.cluster_utils")

        logging.getLogger("ray").setLevel(logging.ERROR)
        started = clusters.Cluster(
            initialize_head=True, head_node_args={**NODE, "include_dashboard": False}
        )
        started.second = started.add_node(**NODE)
        ray.init(address=started.address, log_to_driver=False, logging_level=logging.ERROR)
        yield started
        ray.shutdown()
        started.shutdown()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected")
    score_corpus(str(corpus), out, METRICS)
    return contents(out)


def test_a_filter_writes_the_bytes_of_the_local_engine(
    cluster: Any, corpus: Path, tmp_path: Path
) -> None:
    del cluster
    local, ray = (
        filter_corpus(corpus, tmp_path / engine, "chrf", min_score=60, engine=engine, workers=2)
        for engine in get_args(Engine)
    )
    assert ray.to_dict() == local.to_dict()
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


def test_the_bytes_of_the_local_engine(
    cluster: Any, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    reports: list[CorpusProgress] = []
    found = score_corpus(
        str(corpus), tmp_path / "out", METRICS, engine="ray", workers=2, progress=reports.append
    )
    assert contents(tmp_path / "out") == expected
    assert found.rows == reports[-1].rows == 3 * 36


def test_what_actors_notice_is_told(cluster: Any, tmp_path: Path) -> None:
    inputs = str(write_german(tmp_path / "corpus"))
    options = {"engine": "ray", "workers": 2, "address": cluster.address}
    found = score_corpus(inputs, tmp_path / "out", "adequa", language="en", **options)
    (remark,) = found.remarks
    assert remark.startswith("3 hypotheses of 4 that adequa scored are plainly not in English")
    assert found.results.empty_hypotheses == {"corpus": 1}


def test_faults_of_shards_and_disks_are_sentences(
    cluster: Any, corpus: Path, tmp_path: Path
) -> None:
    where = tmp_path / "in"
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    (where / "b.jsonl").write_text('{"mt": "a", "ref": "b"}\n' * 200 + '{"mt": "cut sh')
    with pytest.raises(AdequaError, match=r"b\.jsonl, line 201 is not JSON.*1 of 2\) are scored"):
        score_corpus(str(where), tmp_path / "out", METRICS, engine="ray", workers=1)
    assert (tmp_path / "out" / "a.jsonl").exists()
    assert not (tmp_path / "out" / "b.jsonl").exists()
    (tmp_path / "full" / "_adequa").mkdir(parents=True)
    (tmp_path / "full" / "_adequa" / "shards").touch()  # where a folder should be
    with pytest.raises(AdequaError, match="cannot be written: Not a directory|File exists"):
        score_corpus(str(corpus), tmp_path / "full", METRICS, engine="ray", workers=1)
    with pytest.raises(AdequaError, match="has no worker with 1 GPUs to give"):
        score_corpus(str(corpus), tmp_path / "gpu", METRICS, engine="ray", gpus=1)


def test_a_metric_that_works_on_no_worker_is_a_sentence(
    cluster: Any, corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the driver tries metrics on its CPU, workers do so where they run."""
    if "CUDAExecutionProvider" in import_module("onnxruntime").get_available_providers():
        pytest.skip("needs an onnxruntime without CUDA")
    out = tmp_path / "out"
    with pytest.raises(
        AdequaError, match=r"^A worker on \S+ cannot begin: .* has no CUDA"
    ) as caught:
        score_corpus(str(corpus), out, "adequa", engine="ray", workers=1, device="cuda")
    assert str(caught.value).isprintable()
    assert "Traceback" not in capfd.readouterr().err
    assert [*contents(out)] == ["_adequa/job.json"]


def test_outputs_that_are_not_seen_from_here(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on nodes that share no disk."""
    from adequa.scoring import ray as ray_engine

    where, out = tmp_path / "in", tmp_path / "out"
    write_jsonl(where / "a.jsonl", rows_of("fluent"))
    monkeypatch.setattr(ray_engine, "_OUTPUT_TIMEOUT", 0.1)

    def report(_: CorpusProgress) -> None:
        (out / "a.jsonl").unlink(missing_ok=True)

    with pytest.raises(AdequaError, match="not seen from here in .*Give a folder that all nodes"):
        score_corpus(str(where), out, METRICS, engine="ray", workers=1, progress=report)
    assert not (out / "_adequa" / "manifest.json").exists()


def test_outputs_that_are_seen_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adequa.io.storage import Content
    from adequa.scoring import ray as ray_engine
    from adequa.scoring.manifest import CorpusJob, ShardRecord

    size = 3
    job = CorpusJob(f"file://{tmp_path}/o u t", {}, {})
    record = ShardRecord(
        shard="a", rows=1, unscored=0, first_reason=None, empty=0,
        input=Content(1, ""), output=Content(size, ""), metrics={},
    )  # fmt: skip
    late = tmp_path / "o u t" / "a"
    late.parent.mkdir()

    def wait(_: float) -> None:
        late.write_bytes(b"x" * (late.stat().st_size + 1 if late.exists() else 1))

    monkeypatch.setattr(ray_engine, "sleep", wait)
    ray_engine.await_output(job, record)
    assert late.stat().st_size == size


def test_a_shard_that_costs_too_many_workers_is_told_of(cluster: Any, tmp_path: Path) -> None:
    from adequa.io.shards import find_shards
    from adequa.scoring import ray as ray_engine
    from adequa.scoring.manifest import make_job
    from adequa.scoring.shard import ShardScorer

    ray = import_module("ray")
    (shard,) = find_shards(str(write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))))
    board = ray_engine._start_board(ray, "board")
    for _ in range(ray_engine._ATTEMPTS):
        ray.get(board.begin.remote(shard.name))
    job, _ = make_job(str(tmp_path / "out"), ("wer",), {})
    actor = ray_engine._Actor(job, "board")
    outcome = actor({"shard": asdict(shard)})["outcome"]
    assert outcome.error.startswith("a.jsonl: the worker was lost 5 times")
    assert not outcome.stops
    made = ShardScorer(job)(shard, lambda _: None).record
    kept = actor({"shard": asdict(shard)})["outcome"]  # however often it was begun
    assert (kept.record, kept.resumed) == (made, True)


def test_the_board_is_lost(cluster: Any, tmp_path: Path) -> None:
    """It is begun again; and without it, shards are scored all the same."""
    from adequa.io.shards import find_shards
    from adequa.scoring import ray as ray_engine
    from adequa.scoring.manifest import make_job

    ray = import_module("ray")
    (shard,) = find_shards(str(write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))))
    board = ray_engine._start_board(ray, "another board")
    assert ray.get([board.begin.remote("a"), board.begin.remote("a")]) == [1, 2]
    ray.kill(board, no_restart=False)
    patience = monotonic() + 60
    while ray.get(board.begin.remote("a"), timeout=60) != 1:  # killed it is a little later
        assert monotonic() < patience
    job, _ = make_job(str(tmp_path / "out"), ("wer",), {})
    actor = ray_engine._Actor(job, "another board")
    assert actor._attempts(shard) == 1
    ray.kill(board)
    assert actor._attempts(shard) == 0
    assert actor({"shard": asdict(shard)})["outcome"].record.rows == 36


def test_without_an_address_ray_starts_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever cluster runs, or is named in the environment."""
    from adequa.scoring import ray as ray_engine

    asked: list[Any] = []

    class Ray:
        is_initialized = staticmethod(lambda: False)
        init = staticmethod(lambda **given: asked.append(given["address"]))
        shutdown = staticmethod(lambda: None)

    monkeypatch.setattr(ray_engine, "import_module", lambda _: Ray)
    for address in (None, "auto"):
        with ray_engine._cluster(address):
            pass
    assert asked == ["local", "auto"]


def test_the_driver_needs_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from adequa.metrics.registry import load_metric as load
    from adequa.scoring import manifest

    wished: list[Any] = []

    def loaded(words: str, **settings: Any) -> Any:
        wished.append(settings)
        return load(words, **settings)

    monkeypatch.setattr(manifest, "load_metric", loaded)
    job, metrics = manifest.make_job("/out", ("adequa",), {}, device="cuda", device_here="cpu")
    assert wished == [{"device": "cpu"}]
    assert job.describe(metrics)["devices"] == {"adequa": "cuda"}
    assert job.load()["adequa"].device == "cuda"  # type: ignore[attr-defined]


def test_the_words_of_ray_are_those_of_the_cause() -> None:
    from adequa.scoring.ray import _cause

    error = Exception("pages\nof\nplaces")
    assert _cause(error) == "pages."
    error.cause = ValueError("This is wrong.\nMore")  # type: ignore[attr-defined]
    assert _cause(error) == "This is wrong."
    died = (
        'The actor died, \x1b[36mray::_MapWorker()\x1b[39m (pid=3)\n  File "a.py", line 3\nIt is.'
    )
    assert _cause(Exception(died)) == "It is."
    assert _cause(Exception("\x1b[31mThe actor died:\x1b[39m\n\tpid: 3")) == "The actor died."


LONG = 36 * 115  # rows of a shard, which is told of in parts and can be lost in between


@pytest.fixture(scope="module")
def long_corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Shards that take long enough to be lost in the middle, and what comes of them."""
    folder = tmp_path_factory.mktemp("long")
    for at in range(3):
        write_jsonl(folder / "in" / f"{at}.jsonl", rows_of("literal") * 115)
    score_corpus(str(folder / "in"), folder / "local", METRICS)
    return folder / "in", contents(folder / "local")


def actors() -> list[int]:
    """The processes of our own cluster's workers that score."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}

    def is_ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    scoring = [int(pid) for pid, _, *args in rows if "ray::MapWorker" in "".join(args)]
    return [pid for pid in scoring if is_ours(pid)]


DRIVER = """
import os, signal, sys
from adequa.scoring.corpus import score_corpus
def report(tally):
    if tally.rows:
        os.kill(os.getpid(), signal.SIGKILL)
score_corpus(sys.argv[1], sys.argv[2], "chrf", engine="ray", workers=1, address=sys.argv[3],
             progress=report)
"""


def test_the_driver_is_killed(
    cluster: Any, long_corpus: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    where, out = long_corpus[0], tmp_path / "out"
    found = subprocess.run(
        [sys.executable, "-c", DRIVER, where, out, cluster.address],
        check=False,
        capture_output=True,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr.decode()
    assert not (out / "_adequa" / "manifest.json").exists()
    score_corpus(str(where), out, METRICS, engine="ray", workers=2)
    assert contents(out) == long_corpus[1]


def test_workers_and_nodes_are_lost(
    cluster: Any, long_corpus: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    """A worker is killed amid a shard, and then a node goes with all that is on it."""
    lost: list[str] = []

    def report(tally: CorpusProgress) -> None:
        if not lost and (found := actors()):
            os.kill(found[0], signal.SIGKILL)
            lost.append("worker")
        elif lost == ["worker"] and tally.rows > LONG:
            cluster.remove_node(cluster.second, allow_graceful=False)
            lost.append("node")

    out = tmp_path / "out"
    score_corpus(str(long_corpus[0]), out, METRICS, engine="ray", workers=2, progress=report)
    assert lost == ["worker", "node"]
    # What is cut off from its cluster may write on for a while; the next job would clean up.
    found = {name: file for name, file in contents(out).items() if not name.endswith(".tmp")}
    assert found == long_corpus[1]


def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    """In a process of its own, as this one has a cluster."""
    write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))
    command = ["-m", "adequa", "score", "-i", f"{tmp_path}/a.jsonl", "-o", f"{tmp_path}/out/"]
    found = subprocess.run(
        [sys.executable, *command, "-m", "wer", "--engine", "ray", "--address", "nonsense"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 2
    assert "There is no Ray cluster to be reached at nonsense" in found.stderr
    assert "Traceback" not in found.stderr


def test_nothing_else_imports_ray(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['ray'] = None; from adequa.cli.main import main; "
        "sys.argv[0] = 'adequa'; sys.exit(main())"
    )
    path = write_jsonl(tmp_path / "a.jsonl", rows_of("fluent"))
    words = ["score", "-i", str(path), "-o", f"{tmp_path}/out/", "-m", "wer"]
    run = [sys.executable, "-c", program, *words]
    found = subprocess.run([*run, "--engine", "ray"], check=False, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (
        2,
        "adequa: error: The ray engine needs Ray; install it with: pip install 'adequa[ray]'\n",
    )
    assert not (tmp_path / "out").exists()
    assert subprocess.run(run, check=False, capture_output=True).returncode == 0
