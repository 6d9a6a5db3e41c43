"""The application: its routes, and the objects that they share.

A request for scores passes, in this order: `StallProtocol` (server.py), which drops stalled
connections; `ServiceMiddleware` (middleware.py), which checks host and token and counts; its route
here; the body, read within its limits (limits.py); its model (schemas.py); the readers of the
command line, if it holds files (reading.py); the catalogue, which finds the metrics and adapts them
to the language (catalogue.py); the queue of each metric, which scores in batches (queue.py);
`RunningScores`, which adds up the statistics by system; and `to_dict()` of the result.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from adequa.comparison import html as report
from adequa.comparison.compare import Outputs
from adequa.comparison.ranking import default_ranker
from adequa.errors import AdequaError
from adequa.io.read import READERS
from adequa.languages import UNKNOWN_LANGUAGE, language_names, parse_language
from adequa.scoring.results import ScoringResult
from adequa.service import schemas
from adequa.service.catalogue import NO_SCORING_METRIC, Catalogue
from adequa.service.comparing import (
    BackgroundTask,
    TaskCancelled,
    TaskPool,
    check_explainable,
    compare_queued,
    comparison_settings,
    explain_queued,
    rank_systems,
)
from adequa.service.limits import (
    JSON,
    LINES,
    BodyReader,
    ClientDisconnected,
    Limits,
    RequestError,
    content_type,
    read_lines,
)
from adequa.service.middleware import (
    INTERNAL_ERROR,
    LOG,
    RESOURCES,
    SEGMENTS,
    Counters,
    LineStream,
    ServiceMiddleware,
    error_response,
    json_bytes,
    json_line,
    json_response,
    log_failure,
    while_connected,
)
from adequa.service.queue import MetricQueue
from adequa.service.reading import read_files
from adequa.service.schemas import (
    CompareRequest,
    ExplainRequest,
    RankRequest,
    ReadRequest,
    RequestModel,
    ScoreRequest,
    TextsRequest,
)
from adequa.service.scoring import (
    RequestedTexts,
    check_reads,
    off_loop,
    request_texts,
    score_lines,
    score_systems,
    text_notes,
    with_language,
)
from adequa.service.store import ComparisonStore, decompress, decompressed_size
from adequa.version import __version__

_LARGE_BODY = 200_000  # bytes; larger JSON is parsed in a thread
_PUBLIC_LIMITS = (
    *("body", "segments", "explained", "characters", "references", "metrics", "resamples"),
)
_REPORT_THREADS = 2
_TSV = "text/tab-separated-values"
_REVALIDATED = {"cache-control": "no-cache"}  # a browser asks whether its copy is current
_SCRIPTS = ("api.js", "inputs.js", "explain.js", "status.js", "page.js")
_STREAM_BODY = "One row per line: an object as in `rows`. The metrics are in the query."
_STREAM_SCORES = (
    'One line per row, {"segment": 1, "scores": {"chrf": 71.42}}, then one with the scores of '
    'systems as in JSON; or {"error": ...} as the last one.'
)
_STREAM_RESULT = (
    'Lines {"progress": {"stage": ..., "scored": ..., "total": ...}} while it is computed, then '
    '{"result": ...} as in JSON, or {"error": ...}.'
)
_METRIC_QUERY = {
    "name": "metric",
    "in": "query",
    "description": "Of a stream: a metric, with settings if any; repeat for more.",
    "schema": {"type": "array", "items": {"type": "string"}},
}

_LANGUAGE_QUERY = {
    "name": "language",
    "in": "query",
    "description": "Of a stream: the target language, or the language pair.",
    "schema": {"type": "string"},
}


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a server."""

    metrics: tuple[str, ...] = ()  # all that come with adequa if there are none
    workers: int | None = None  # threads of models; None for as many as CPUs
    token: str | None = None
    only_local: bool = True  # whether it answers to the names of this machine alone
    keep_seconds: float | None = 3600.0  # None: as long as the server runs
    lists_comparisons: bool = True  # to everyone who may send requests
    score_cache: tuple[Path, int] | None = None  # file of scores on disk, and its size in bytes
    limits: Limits = field(default_factory=Limits)


class Service:
    """The objects that all routes share."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.limits = settings.limits
        self.store = ComparisonStore(seconds=settings.keep_seconds)
        self.counters = Counters(lambda: self.catalogue.backlog.count, lambda: len(self.store))
        self.catalogue = Catalogue(
            settings.metrics,
            self.limits,
            workers=settings.workers,
            score_cache=settings.score_cache,
            on_batch=self.counters.count_batch,
        )
        self.tasks = TaskPool(self.limits.comparisons, "comparisons")
        # Explanations of single segments do not wait for comparisons that resample.
        self.explanations = TaskPool(self.limits.explanations, "explanations")
        self.bodies = BodyReader(self.limits)
        # Reports have threads of their own, so that requests for scores do not wait for them.
        self.report_pool = ThreadPoolExecutor(_REPORT_THREADS, thread_name_prefix="reports")
        self.is_ready = False

    def open(self) -> None:
        """Load the default metrics, so that the first request does not wait for them."""
        for name in self.catalogue.defaults:
            queue = self.catalogue.queue(name)
            try:
                queue.warm_up()
            except AdequaError as error:  # a metric may need more than our text, such as a source
                LOG.warning("%s was not tried before the first request: %s", name, error)
        self.is_ready = True

    def close(self) -> None:
        """Finish scoring what was accepted, and cancel comparisons and explanations."""
        self.is_ready = False
        self.tasks.close()
        self.explanations.close()
        self.report_pool.shutdown(cancel_futures=True)
        self.catalogue.close()

    async def parse(self, model: type[RequestModel], http: Request) -> RequestModel:
        """Read and validate a request in JSON."""
        if content_type(http) == LINES:
            raise RequestError(415, "Only /v1/score takes a stream; this takes application/json.")
        body = await self.bodies.read(http, http.scope[RESOURCES])
        if len(body) < _LARGE_BODY:
            return schemas.parse(model, body)

        def check_and_parse() -> RequestModel:
            schemas.check_sizes(body, self.limits)
            return schemas.parse(model, body)

        return await asyncio.to_thread(check_and_parse)

    async def queues(self, http: Request, metrics: Sequence[str]) -> dict[str, MetricQueue]:
        """The queues of metrics, which stay open until the request is answered."""
        return await self.catalogue.queues(metrics, http.scope[RESOURCES])

    async def texts(
        self, http: Request, request: TextsRequest, metrics: Sequence[str]
    ) -> tuple[RequestedTexts, dict[str, MetricQueue]]:
        """The texts of a request, and the queues of its metrics for their language."""
        queues = await self.queues(http, metrics)
        texts = await request_texts(request, self.limits)
        check_reads(texts.systems, (queue.metric for queue in queues.values()))
        resources = http.scope[RESOURCES]
        return texts, await self.catalogue.queues_for_language(queues, texts.target.code, resources)

    async def default_queue(self, http: Request, texts: RequestedTexts) -> dict[str, MetricQueue]:
        """The queue of the metric of requests for one metric that name none."""
        queues = await self.queues(http, [self.catalogue.default_for(texts.target)])
        check_reads(texts.systems, (queue.metric for queue in queues.values()))
        target = texts.target
        resources = http.scope[RESOURCES]
        return await self.catalogue.queues_for_language(queues, target.code, resources)


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """The application of a server; metrics are loaded when it starts."""
    settings = settings or ServiceSettings()
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.open)
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="adequa",
        version=__version__,
        summary="Scores machine translations the way human raters do.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's page loads its scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.add_middleware(
        ServiceMiddleware,
        token=settings.token,
        only_local=settings.only_local,
        counters=service.counters,
        timeout=settings.limits.timeout,
    )
    for error in (RequestError, AdequaError, TaskCancelled, HTTPException):
        app.add_exception_handler(error, _error_response)
    _add_read(app, service)
    _add_score(app, service)
    _add_compare(app, service)
    _add_explain(app, service)
    _add_rank(app, service)
    _add_comparisons(app, service, listed=settings.lists_comparisons)
    _add_status(app, service)
    _add_pages(app)
    schemas.complete_document(app, secured=settings.token is not None)
    return app


async def _error_response(_: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return error_response(error.status, error.sentence, error.headers, error.question)
    if isinstance(error, HTTPException):
        sentences = {404: "There is nothing here.", 405: "This address takes another method."}
        sentence = sentences.get(error.status_code, "This request cannot be answered.")
        return error_response(error.status_code, sentence, error.headers)
    if isinstance(error, TaskCancelled):
        raise ClientDisconnected
    return error_response(422, str(error))


def _error_line(error: Exception) -> bytes:
    """The last line of a stream that failed; raises if the client has left."""
    if isinstance(error, (ClientDisconnected, TaskCancelled)):
        raise ClientDisconnected from None
    if isinstance(error, (RequestError, AdequaError)):
        return json_line({"error": str(error)})
    log_failure(error)
    return json_line({"error": INTERNAL_ERROR})


def _scores_json(results: ScoringResult) -> bytes:
    return json_bytes(results.to_dict())


def _described(
    request: type[RequestModel], response: type[BaseModel], *, lines: str = ""
) -> dict[str, Any]:
    """The arguments that document a route with a body; `lines` describes its answer as a stream."""
    return {
        "responses": {**schemas.json_responses(response, lines=lines), **schemas.BODY_ERRORS},
        "openapi_extra": schemas.request_body(request),
    }


def _add_read(app: FastAPI, service: Service) -> None:
    @app.post(
        "/v1/read",
        summary="Read files as the command line does",
        **_described(ReadRequest, schemas.ReadResponse),
    )
    async def read(http: Request) -> Response:
        request = await service.parse(ReadRequest, http)

        def work() -> Response:
            texts = read_files(request, service.limits, complete=False)
            return json_response(texts.to_dict(texts=request.texts))

        return await asyncio.to_thread(work)


def _add_score(app: FastAPI, service: Service) -> None:
    limits = service.limits

    async def score_json(http: Request) -> Response:
        request = await service.parse(ScoreRequest, http)
        texts, queues = await service.texts(http, request, request.metrics)
        systems = texts.systems
        work = score_systems(systems, queues, request)
        results = with_language(await while_connected(http.scope, work), queues, texts.target)
        count = http.scope[SEGMENTS] = sum(map(len, systems.values()))
        notes = await off_loop(count, text_notes, texts, results, queues)
        # The shape of scores has no place for notes.
        headers = {"adequa-notes": json.dumps(notes)} if notes else None
        body = await off_loop(count, _scores_json, results)
        return Response(body, 200, headers, media_type=JSON)

    async def score_stream(http: Request, metrics: Sequence[str]) -> Response:
        named = http.query_params.get("language")
        target = UNKNOWN_LANGUAGE if named is None else parse_language(named)
        queues = await service.queues(http, metrics)
        queues = await service.catalogue.queues_for_language(
            queues, target.code, http.scope[RESOURCES]
        )
        for queue in queues.values():
            queue.check_capacity()
        answers = score_lines(read_lines(http, limits), queues, limits, target)
        # An error in the first rows is answered by its status.
        first = await while_connected(http.scope, anext(answers))

        async def lines() -> AsyncGenerator[bytes, None]:
            current, http.scope[SEGMENTS] = first, 0
            async with aclosing(answers):
                try:
                    while not isinstance(current, ScoringResult):
                        http.scope[SEGMENTS] += len(current)
                        yield b"".join(map(json_line, current))
                        current = await anext(answers)
                    yield _scores_json(current) + b"\n"
                except Exception as error:  # noqa: BLE001 - any error is the last line
                    yield _error_line(error)

        return LineStream(lines())

    @app.post(
        "/v1/score",
        summary="Score translations against references, or by their sources",
        responses={
            **schemas.json_responses(
                schemas.ScoresResponse,
                lines=_STREAM_SCORES,
                headers={"adequa-notes": "Notes on the texts: a JSON list of sentences."},
            ),
            **schemas.BODY_ERRORS,
        },
        openapi_extra={
            **schemas.request_body(ScoreRequest, lines=_STREAM_BODY),
            "parameters": [_METRIC_QUERY, _LANGUAGE_QUERY],
        },
    )
    async def score(http: Request) -> Response:
        if content_type(http) == JSON:
            return await score_json(http)
        metrics = http.query_params.getlist("metric") or service.catalogue.defaults
        if not metrics:
            raise AdequaError(NO_SCORING_METRIC)
        return await score_stream(http, metrics)


def _add_compare(app: FastAPI, service: Service) -> None:
    limits = service.limits

    def start(
        request: CompareRequest, texts: RequestedTexts, queues: Mapping[str, MetricQueue]
    ) -> BackgroundTask[dict[str, Any]]:
        outputs = Outputs.of(texts.systems)
        settings = comparison_settings(request, limits, outputs, len(queues))
        for queue in queues.values():
            queue.check_capacity()

        def work(task: BackgroundTask[dict[str, Any]]) -> dict[str, Any]:
            comparison = compare_queued(
                outputs, queues, settings, limits, task, target=texts.target
            )
            comparison = replace(comparison, test_set=texts.test_set)
            task.enter("Writing")
            content = comparison.to_dict(segments=request.segments)
            if request.keep:
                name = service.store.add(comparison, request.title, request.metrics)
                content |= {"id": name, "link": f"/c/{name}", "expires_in": service.store.seconds}
            return content

        return service.tasks.start(work, len(outputs) * len(outputs.names) * len(queues))

    @app.post(
        "/v1/compare",
        summary="Compare systems",
        **_described(CompareRequest, schemas.ComparisonResponse, lines=_STREAM_RESULT),
    )
    async def compare(http: Request) -> Response:
        request = await service.parse(CompareRequest, http)
        texts, queues = await service.texts(http, request, request.metrics)
        task = await asyncio.to_thread(start, request, texts, queues)
        return await _task_response(http, task, may_stream=True)


def _add_explain(app: FastAPI, service: Service) -> None:
    def start(
        request: ExplainRequest, texts: RequestedTexts, queue: MetricQueue
    ) -> BackgroundTask[dict[str, Any]]:
        check_explainable(texts.systems)
        count = service.limits.check_explanation(
            texts.systems.values(),
            request.worst,
            thorough=request.thorough,
            needs_whole_corpus=queue.metric.needs_whole_corpus,
        )
        queue.check_capacity()

        def work(task: BackgroundTask[dict[str, Any]]) -> dict[str, Any]:
            explanation = explain_queued(texts, queue, request, task)
            task.enter("Writing")
            return explanation.to_dict()

        return service.explanations.start(work, count)

    @app.post(
        "/v1/explain",
        summary="Explain scores: what each difference from the reference costs",
        **_described(ExplainRequest, schemas.ExplanationResponse, lines=_STREAM_RESULT),
    )
    async def explain(http: Request) -> Response:
        request = await service.parse(ExplainRequest, http)
        texts, queues = await service.texts(http, request, _named(request.metric))
        if not queues:
            queues = await service.default_queue(http, texts)
        (queue,) = queues.values()
        task = await asyncio.to_thread(start, request, texts, queue)
        return await _task_response(http, task, may_stream=True)


def _add_rank(app: FastAPI, service: Service) -> None:
    limits = service.limits

    def start(
        request: RankRequest, texts: RequestedTexts, queues: Mapping[str, MetricQueue]
    ) -> BackgroundTask[dict[str, Any]]:
        systems, target, *_ = texts
        queue = next(iter(queues.values()), None)
        sizes = list(map(len, systems.values()))
        limits.check_ranking(request.resamples, systems=len(systems), segments=max(sizes))
        if queue is not None:
            queue.check_capacity()

        def work(task: BackgroundTask[dict[str, Any]]) -> dict[str, Any]:
            scorer = service.catalogue.ranker.loaded() if queue is None else queue
            check_reads(systems, [scorer.metric])
            return rank_systems(systems, scorer, request, task, target=target)

        return service.tasks.start(work, sum(sizes))

    @app.post(
        "/v1/rank",
        summary="Rank systems",
        **_described(RankRequest, schemas.RankingResponse),
    )
    async def rank(http: Request) -> Response:
        request = await service.parse(RankRequest, http)
        texts, queues = await service.texts(http, request, _named(request.metric))
        default = default_ranker(texts.target)
        if request.metric is None and default in service.catalogue.entries:
            queues = await service.queues(http, [default])  # the ranker that ships is for English
        task = await asyncio.to_thread(start, request, texts, queues)
        return await _task_response(http, task)


def _named(metric: str | None) -> list[str]:
    """The metrics that a request for one metric names: one, or none."""
    return [] if metric is None else [metric]


async def _task_response(
    http: Request, task: BackgroundTask[dict[str, Any]], *, may_stream: bool = False
) -> Response:
    """The result of a task; or a stream of its progress, if the client wants lines.

    The task is cancelled when the request ends, however it ends.
    """
    http.scope[RESOURCES].callback(task.cancel)
    http.scope[SEGMENTS] = task.total
    if may_stream and LINES in http.headers.get("accept", ""):
        return LineStream(_progress_lines(task))
    content = await while_connected(http.scope, task.wait())
    return await asyncio.to_thread(json_response, content)


async def _progress_lines(task: BackgroundTask[dict[str, Any]]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(task.progress_updates()) as updates:
            async for progress in updates:
                yield json_line({"progress": progress})
        yield await asyncio.to_thread(json_line, {"result": task.result.result()})
    except Exception as error:  # noqa: BLE001 - any error is the last line
        yield _error_line(error)


def _add_comparisons(app: FastAPI, service: Service, *, listed: bool) -> None:
    store = service.store
    path = "/v1/comparisons/{name}"
    refused = {**schemas.ACCESS_ERRORS, **schemas.error_responses(404)}

    def stream(compressed: bytes, media_type: str, headers: dict[str, str]) -> Response:
        headers["content-length"] = str(decompressed_size(compressed))
        return StreamingResponse(decompress(compressed), 200, headers, media_type=media_type)

    @app.get(
        "/v1/comparisons",
        summary="List the stored comparisons, the newest first",
        responses={**schemas.json_responses(schemas.RecentResponse), **schemas.ACCESS_ERRORS},
    )
    async def comparisons() -> Response:
        return json_response({"listed": listed, "comparisons": store.recent() if listed else []})

    @app.get(
        path,
        summary="Get a stored comparison as JSON",
        responses={**schemas.json_responses(schemas.ComparisonResponse), **refused},
    )
    async def comparison_json(name: str) -> Response:
        return stream(store.get(name).content, JSON, _attachment("json"))

    @app.get(
        f"{path}/pairs.tsv",
        summary="Get the pairs of systems of a stored comparison as TSV",
        responses={**schemas.text_responses(_TSV), **refused},
    )
    async def comparison_tsv(name: str) -> Response:
        return stream(store.get(name).pairs, _TSV, _attachment("tsv"))

    @app.get(
        f"{path}/report.html",
        summary="Get the report of a stored comparison, a page that needs no network",
        responses={**schemas.text_responses("text/html"), **refused},
    )
    async def comparison_report(name: str) -> Response:
        loop = asyncio.get_running_loop()
        html = await loop.run_in_executor(service.report_pool, store.get(name).report)
        # The report has a policy of its own, stricter than that of the page.
        headers = {**_attachment("html"), "content-security-policy": "sandbox allow-scripts"}
        return Response(html, 200, headers, media_type="text/html")

    @app.get(f"{path}/page", include_in_schema=False)
    async def comparison_page(name: str) -> Response:
        stored = store.get(name)
        seconds = store.seconds_left(stored)
        headers = {} if seconds is None else {"adequa-expires-in": str(seconds)}
        return stream(stored.page, JSON, headers)


def _attachment(ending: str) -> dict[str, str]:
    return {"content-disposition": f"attachment; filename=comparison.{ending}"}


def _add_status(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/metrics",
        summary="List the metrics of this server",
        responses={**schemas.json_responses(schemas.MetricsResponse), **schemas.ACCESS_ERRORS},
    )
    async def metrics() -> Response:
        content = {
            "metrics": await asyncio.to_thread(service.catalogue.describe),
            "defaults": service.catalogue.defaults,
            "limits": {name: getattr(service.limits, name) for name in _PUBLIC_LIMITS},
            "languages": [{"code": code, "name": name} for code, name in language_names().items()],
            "formats": list(READERS),
        }
        return json_response(content)

    @app.head("/healthz", include_in_schema=False)
    @app.get(
        "/healthz",
        summary="Check whether the server is alive",
        responses={
            **schemas.json_responses(schemas.StatusResponse),
            **schemas.error_responses(421),
        },
    )
    async def healthz() -> Response:
        return json_response({"status": "ok"})

    @app.get(
        "/readyz",
        summary="Check whether the server can score",
        responses={
            **schemas.json_responses(schemas.StatusResponse),
            **schemas.error_responses(421, 503),
        },
    )
    async def readyz() -> Response:
        if not service.is_ready:
            return error_response(503, "The server is starting or ending.", {"retry-after": "2"})
        return json_response({"status": "ready"})

    @app.get(
        "/metrics",
        summary="Get counts for Prometheus",
        responses={**schemas.text_responses("text/plain"), **schemas.ACCESS_ERRORS},
    )
    async def counts() -> Response:
        counters = service.counters
        return Response(counters.exposition(), media_type=counters.CONTENT_TYPE)


def _add_pages(app: FastAPI) -> None:
    """The page at /, which shows comparisons as reports do, and the documentation."""
    html = report.fill_template(
        _asset("page.html"), {"sections": report.sections(), "version": __version__}
    )
    documentation = report.fill_template(_asset("docs.html"), {"version": __version__})
    files = {
        "page.css": (f"{report.style()}\n{_asset('page.css')}", "text/css"),
        # In a block, so that names of the page may be those of the report too.
        "page.js": (report.script("{", *map(_asset, _SCRIPTS), "}"), "text/javascript"),
        "docs.js": (_asset("docs.js"), "text/javascript"),
        "icon.svg": (_asset("icon.svg"), "image/svg+xml"),
    }

    @app.get("/", include_in_schema=False)
    @app.get("/c/{name}", include_in_schema=False)
    async def page() -> Response:
        return Response(html, 200, _REVALIDATED, media_type="text/html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(documentation, 200, _REVALIDATED, media_type="text/html")

    @app.get("/assets/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        text, media_type = files[name]
        return Response(text, 200, _REVALIDATED, media_type=media_type)


def _asset(name: str) -> str:
    path = resources.files("adequa.service") / "assets" / name
    return path.read_text(encoding="utf-8")
