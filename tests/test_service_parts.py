"""Parts of the service: the catalogue of metrics, the store, tasks, and stalled connections."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import tracemalloc
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from typer.testing import CliRunner

from adequa import ComparisonSettings, compare
from adequa.cli.main import app
from adequa.cli.options import CACHE_SIZE
from adequa.comparison.ranking import Ranking, rank_by_wins
from adequa.comparison.results import Comparison
from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.metrics.edit_rates import word_splitter
from adequa.metrics.meteor.words import stem
from adequa.metrics.registry import METRICS, clear_text_caches, metric_class, settings_of
from adequa.pretrained import lacks_weights
from adequa.segments import Segments
from adequa.service import catalogue, server
from adequa.service.app import ServiceSettings
from adequa.service.catalogue import Catalogue, TextCacheLimit
from adequa.service.comparing import BackgroundTask, TaskCancelled, TaskPool
from adequa.service.limits import Limits, RequestError
from adequa.service.store import ComparisonStore, decompress
from live_service import served
from tiny_packed import tiny_packed


def small_comparison(word: str = "c") -> Comparison:
    systems = {"old": ["a b", "a b"], "new": ["a b", f"a {word}"]}
    return compare(
        systems, ["a b", "a c"], "wer", settings=ComparisonSettings(resamples=10, swaps=10)
    )


def test_all_metrics_are_served_by_default() -> None:
    served = [name for name in METRICS if not lacks_weights(name)]
    assert list(Catalogue((), Limits()).entries) == served
    some = Catalogue(("chrf", "bleu:tokenize=intl"), Limits())
    assert list(some.entries) == ["chrf", "bleu:tokenize=intl"]
    assert some.queue("bleu:tokenize=intl").metric.tokenize == "intl"  # type: ignore[attr-defined]
    assert some.queue("chrf:word_order=2,beta=1") is some.queue("chrf: beta=1, word_order=2")
    with pytest.raises(AdequaError, match='no metric "bleu"'):
        some.queue("bleu")
    with pytest.raises(AdequaError, match="has the settings that this server gives it|no metric"):
        some.queue("bleu:tokenize=intl,lowercase=true")
    some.close()


def test_a_metric_is_opened_once_however_it_is_written() -> None:
    served_metrics = Catalogue(("chrf", "bleu"), Limits())
    for metric, several in (
        ("chrf:beta=3", ("chrf: beta  =  03", "chrf:beta=+3,", " chrf :beta=3, lowercase=no")),
        ("chrf", ("chrf:", "chrf:beta=2", "chrf: , ", "chrf:lowercase=FALSE,char_order=6")),
        ("bleu:smooth_value=0.5", ("bleu:smooth_value=5e-1", "bleu:smooth_value=.5,tokenize=auto")),
        ("bleu", ("bleu:smooth_value=None",)),
        ("chrf:whitespace=true", ("chrf:whitespace=yes", "chrf:whitespace=1")),
    ):
        queue = served_metrics.queue(metric)
        assert all(served_metrics.queue(written) is queue for written in several)
    assert len(served_metrics._metrics) == 5
    assert served_metrics.queue("bleu:smooth_value=0.5").metric.smooth_value == 0.5  # type: ignore[attr-defined]
    for wrong, sentence in (
        ("chrf:beta", "is not a setting"),
        ("chrf:beta=1,beta=1", "more than once"),
        ("chrf:beta=x", "whole number"),
        ("chrf:bta=1", 'Did you mean "beta"'),
        ("bleu:tokenize=flores200", "tokenize that a request may give"),
    ):
        with pytest.raises(AdequaError, match=sentence):
            served_metrics.queue(wrong)
    served_metrics.close()


def test_a_trained_metric_is_served_under_its_name(tmp_path: Path) -> None:
    folder = tiny_packed(tmp_path / "folder", name="mine")
    served_metrics = Catalogue((str(folder), "wer"), Limits(), workers=2)
    assert list(served_metrics.entries) == ["mine", "wer"]
    served_metrics.queue("mine").warm_up()
    for asked in (str(folder), "mine:x=1"):
        with pytest.raises(AdequaError, match="no metric|and no other"):
            served_metrics.queue(asked)
    assert served_metrics.describe()[0]["settings"] == {}
    served_metrics.close()


def test_workers_are_the_threads_of_models() -> None:
    served_metrics = Catalogue(("adequa", "adequa:threads=3", "chrf"), Limits(), workers=2)
    assert served_metrics.queue("adequa").metric.threads == 2  # type: ignore[attr-defined]
    assert served_metrics.queue("adequa:threads=3").metric.threads == 3  # type: ignore[attr-defined]
    assert served_metrics.queue("chrf").metric.name == "chrf"


def test_settings_that_are_free_text_are_closed_to_requests() -> None:
    """A new setting that is a text may be a path, and is closed until somebody looks at it."""
    open_ = {
        (name, key)
        for name in METRICS
        for key, value in settings_of(metric_class(name)).items()
        if isinstance(value, str) and key in catalogue._WORD_SETTINGS
    }
    assert {key for _, key in open_} == catalogue._WORD_SETTINGS
    closed = Catalogue((), Limits())
    for name in closed.entries:
        for key, value in settings_of(metric_class(name)).items():
            if isinstance(value, str) and (name, key) not in open_:
                with pytest.raises(AdequaError, match="set by the operator of the server"):
                    closed.queue(f"{name}:{key}=x")


def test_metrics_with_settings_are_evicted() -> None:
    served_metrics = Catalogue(("wer", "chrf"), Limits())
    for beta in range(1, 60):
        served_metrics.queue(f"chrf:beta={beta}")
    assert len(served_metrics._metrics) <= catalogue._MOST_QUEUES
    assert served_metrics.queue("wer").metric.name == "wer"
    served_metrics.close()


def test_metrics_in_use_are_not_evicted() -> None:
    served_metrics = Catalogue(("chrf",), Limits())
    with ExitStack() as resources:
        most = catalogue._MOST_QUEUES + 1
        loaded = [
            resources.enter_context(served_metrics.use(f"chrf:beta={beta}"))
            for beta in range(1, most + 1)
        ]
        queues = [place.loaded() for place in loaded]
        with pytest.raises(RequestError, match="in use"):
            served_metrics.queue("chrf:beta=100")
        for queue in queues:
            queue.warm_up()  # none of them has ended
    assert served_metrics.queue("chrf:beta=100").metric.name == "chrf"
    with pytest.raises(RequestError, match="ending"):
        queues[0].warm_up()
    served_metrics.close()


def test_a_metric_that_loads_slowly_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    started, go = threading.Event(), threading.Event()
    load = catalogue._load_metric

    def slow(offer: catalogue.CatalogueEntry, settings: str, workers: int | None) -> Metric:
        if settings:
            started.set()
            assert go.wait(30)
        return load(offer, settings, workers)

    monkeypatch.setattr(catalogue, "_load_metric", slow)
    served_metrics = Catalogue(("chrf",), Limits())
    opened: list[object] = []
    opening = [
        threading.Thread(target=lambda: opened.append(served_metrics.queue("chrf:beta=1")))
        for _ in range(2)
    ]
    for each in opening:
        each.start()
    assert started.wait(30)
    assert served_metrics.queue("chrf").metric.name == "chrf"
    go.set()
    for each in opening:
        each.join()
    assert opened[0] is opened[1]


def test_text_caches_are_bounded() -> None:
    text_cache = TextCacheLimit(limit=1_000)
    split = word_splitter("13a", lowercase=False)
    cache_info = Tokenizer13a.__call__.cache_info
    clear_text_caches()
    for number in range(50):
        split(f"{number} " * 20)
        stem(f"{number}ing")
        text_cache.count(20 * len(f"{number} "))
        assert cache_info().currsize <= 25
    clear_text_caches()
    assert (cache_info().currsize, stem.cache_info().currsize) == (0, 0)


def test_scored_characters_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(TextCacheLimit, "count", lambda _, characters: counts.append(characters))
    served_metrics = Catalogue(("wer",), Limits())
    queue = served_metrics.queue("wer")
    queue.submit(Segments(("four",), (("six si", "x"),))).result.result(30)
    served_metrics.close()
    assert counts == [11]


def test_the_store_is_bounded_in_time_number_and_size() -> None:
    now = [0.0]
    store = ComparisonStore(seconds=10, count=3, clock=lambda: now[0])
    first = store.add(small_comparison(), "First")
    assert "<title>First</title>" in store.get(first).report()
    names = [store.add(small_comparison()) for _ in range(3)]
    assert len(set(names)) == 3
    assert min(map(len, names)) >= 22  # 128 bits
    with pytest.raises(RequestError, match="no such comparison"):
        store.get(first)  # the oldest made room
    now[0] = 9.9
    last = store.add(small_comparison())
    now[0] = 10.0
    assert len(store) == 1
    store.get(last)
    size = store.get(last).size
    small = ComparisonStore(seconds=10, size=2 * size + size // 2, clock=lambda: now[0])
    for _ in range(5):
        small.add(small_comparison())
    assert len(small) == 2
    with pytest.raises(RequestError, match="keeps 10 in all"):
        ComparisonStore(seconds=10, size=10).add(small_comparison())


def test_draws_are_counted_for_all_systems_and_metrics() -> None:
    limits = Limits(draws=100)
    limits.check_draws(9, 1, segments=5, systems=2)
    with pytest.raises(
        RequestError, match="draw 200 outputs.*100 at most; ask for fewer resamples"
    ):
        limits.check_draws(9, 1, segments=5, systems=2, metrics=2)
    with pytest.raises(RequestError, match="ask for fewer swaps"):
        limits.check_draws(1, 10, segments=5, systems=2)


def test_cancelled_tasks_stop_computing() -> None:
    """A client that left stops costing, and a server that ends waits for no comparison."""
    pool, started = TaskPool(8, "comparisons"), Barrier(3)
    won = np.full((2, 2, 2), 0.5)

    def work(task: BackgroundTask[Any]) -> Ranking:
        started.wait()
        settings = ComparisonSettings(resamples=10_000_000, swaps=10_000_000)
        return rank_by_wins(["a", "b"], won, settings, done=task.check)

    one, other = (pool.start(work, total=4) for _ in range(2))
    started.wait()
    third = pool.start(lambda _: 3, total=0)
    one.cancel()
    assert third.result.result() == 3
    with pytest.raises(TaskCancelled):
        one.result.result()
    pool.close()
    with pytest.raises(TaskCancelled):
        other.result.result()
    assert len(pool) == 0


def test_stored_content_is_decompressed_as_it_is_read() -> None:
    """A reader that takes little of a long answer costs little memory."""
    text = bytes(50_000_000)

    async def read() -> tuple[int, int]:
        tracemalloc.start()
        try:
            served_metrics = decompress(packed)
            first = len(await anext(served_metrics))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return first + sum([len(piece) async for piece in served_metrics]), peak

    packed = gzip.compress(text)
    count, peak = asyncio.run(read())
    assert count == len(text)
    assert peak < 5_000_000


def test_headers_that_never_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_TIMEOUT", 0.2)
    with served(ServiceSettings(metrics=("wer",))) as live:
        for started in (b"", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
                raw.sendall(started)
                assert raw.recv(100) == b""
        with socket.create_connection(("127.0.0.1", live.port), timeout=30) as raw:
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert raw.recv(20).startswith(b"HTTP/1.1 200")
            raw.sendall(b"GET /healthz HTTP/1.1\r\n")
            while raw.recv(65536):
                pass


def test_an_answer_that_is_read_slowly_is_not_aborted() -> None:
    """Only one of which nothing was taken between two looks."""

    class Transport:
        size, aborted = 0, False

        def is_closing(self) -> bool:
            return True

        def get_write_buffer_size(self) -> int:
            return self.size

        def abort(self) -> None:
            self.aborted = True

    connection = server.StallProtocol.__new__(server.StallProtocol)
    sending: Any = Transport()
    looking: Any = SimpleNamespace(call_later=lambda *_: None)
    connection.transport, connection.loop = sending, looking
    for sending.size in (0, 900, 500, 499, 0, 100):
        connection._check_progress()
        assert not sending.aborted
    connection._check_progress()
    assert sending.aborted


def test_a_server_of_several_people_is_private_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Comparisons are listed, and stay, only where nobody but the user can see them."""
    started: list[ServiceSettings] = []
    monkeypatch.setattr(server, "run_server", lambda settings, _: started.append(settings))
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    shared = ["--host", "0.0.0.0", "--insecure"]
    for options, keep, listed, cached in (
        ([], None, True, True),
        (shared, 3600.0, False, True),
        ([*shared, "--recent", "--keep", "5", "--no-cache"], 300.0, True, False),
        (["--no-recent", "--cache-size", "1"], None, False, True),
    ):
        result = CliRunner().invoke(app, ["serve", *options])
        assert result.exit_code == 0, result.output
        settings = started.pop()
        assert (settings.keep_seconds, settings.lists_comparisons) == (keep, listed)
        size = 1_000_000 if "--cache-size" in options else CACHE_SIZE * 1_000_000
        assert settings.score_cache == ((tmp_path / "scores.db", size) if cached else None)
