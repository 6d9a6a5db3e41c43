"""The application: routes, and what they need."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from adequa.errors import AdequaError
from adequa.scoring.as_json import as_json
from adequa.scoring.results import Results
from adequa.service import described as told
from adequa.service.answers import Stream, answer, left, line, refusal, while_connected, written
from adequa.service.body import LINES, Gone, Reading, kind_of, lines, whole
from adequa.service.comparing import Piece, Pieces, Rankers, comparison, remarks, settings_of
from adequa.service.connections import link_of
from adequa.service.delegating import Asked, Stopped
from adequa.service.guard import HELD, LOG, OUR_FAULT, SEGMENTS, Guard, log_failure
from adequa.service.kept import Kept
from adequa.service.lane import Lane
from adequa.service.limits import Limits, Refusal
from adequa.service.measured import CONTENT_TYPE, Measured
from adequa.service.offered import Offered
from adequa.service.page import Page
from adequa.service.scoring import MANY, lanes_of, scored, scored_lines
from adequa.service.shapes import (
    CompareRequest,
    Model,
    RankRequest,
    ScoreRequest,
    check_sizes,
    parsed,
)
from adequa.service.texts import outputs_from, systems_of
from adequa.version import __version__

_LARGE = 200_000  # bytes whose JSON is not read between other requests
_SHOWN_LIMITS = ("body", "segments", "characters", "references", "metrics", "resamples")
_PIECE = 64_000  # bytes of what is kept that are sent at a time
_REPORTS = 2  # that are written at a time
_FILE = "attachment; filename=comparison."
_CACHED = {"cache-control": "no-cache"}  # asked for again, and mostly not sent again


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is started."""

    metrics: tuple[str, ...] = ()  # all that come along where there are none
    workers: int | None = None  # threads that models score with; as many as CPUs where None
    token: str | None = None
    only_local: bool = True  # whether it answers to the names of this machine alone
    keep_seconds: float = 3600.0
    limits: Limits = field(default_factory=Limits)


class Service:
    """What all routes share."""

    def __init__(self, settings: Settings) -> None:
        self.limits = settings.limits
        self.kept = Kept(seconds=settings.keep_seconds)
        self.measured = Measured(lambda: self.offered.waiting, lambda: len(self.kept))
        self.offered = Offered(
            settings.metrics, self.limits, workers=settings.workers, seen=self.measured.batch
        )
        self.pieces = Pieces(self.limits)
        self.rankers = Rankers()
        self.reading = Reading(self.limits.bodies)
        # Threads of their own, so that requests for scores do not wait for them.
        self.reports = ThreadPoolExecutor(_REPORTS, thread_name_prefix="reports")
        self.page = Page.made()
        self.ready = False

    def open(self) -> None:
        """Open the metrics that are asked for most, so that the first request does not wait."""
        for name in self.offered.defaults:
            lane = self.offered.lane(name)
            try:
                lane.warm()
            except AdequaError as error:  # of our text: a metric may want more of a request's
                LOG.warning("%s was not tried before the first request: %s", name, error)
        self.ready = True

    def close(self) -> None:
        """Finish what was accepted; comparisons end, for whose answers nobody waits any more."""
        self.ready = False
        self.pieces.close()
        self.reports.shutdown(cancel_futures=True)
        self.offered.close()

    async def request(self, model: type[Model], request: Request) -> Model:
        """A request's JSON, read and checked."""
        if kind_of(request) == LINES:
            raise Refusal(415, "Only /v1/score takes a stream; this takes application/json.")
        return await self.parsed(model, request)

    async def parsed(self, model: type[Model], request: Request) -> Model:
        """The same, whatever kind it says that it is."""
        share = request.scope[HELD].enter_context(self.reading.begun())
        body = await whole(request, self.limits, share)
        if len(body) < _LARGE:
            return parsed(model, body)

        def checked() -> Model:
            check_sizes(body, self.limits)
            return parsed(model, body)

        return await asyncio.to_thread(checked)

    async def lanes(self, request: Request, metrics: Sequence[str]) -> dict[str, Lane]:
        """The lanes of metrics, which stay open until the request is answered."""
        return await lanes_of(self.offered, metrics, self.limits, request.scope[HELD])


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application of a server; metrics are opened when it starts."""
    asked = settings or Settings()
    service = Service(asked)

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
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.add_middleware(
        Guard,
        token=asked.token,
        only_local=asked.only_local,
        measured=service.measured,
        patience=asked.limits.patience,
    )
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(AdequaError, _refused)
    app.add_exception_handler(Stopped, _refused)
    app.add_exception_handler(HTTPException, _refused)
    _add_score(app, service)
    _add_compare(app, service)
    _add_rank(app, service)
    _add_kept(app, service)
    _add_facts(app, service)
    _add_page(app, service)
    _describe(app, secured=asked.token is not None)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    if isinstance(error, Refusal):
        return refusal(error.status, error.sentence, error.headers)
    if isinstance(error, HTTPException):
        sentences = {404: "There is nothing here.", 405: "This address takes another method."}
        sentence = sentences.get(error.status_code, "This request cannot be answered.")
        return refusal(error.status_code, sentence, error.headers)
    if isinstance(error, Stopped):
        raise Gone
    return refusal(422, str(error))


def _last(error: Exception) -> bytes:
    """The last line of a stream that failed; raises where nobody is there to read it."""
    if isinstance(error, (Gone, Stopped)):
        raise Gone from None
    if isinstance(error, (Refusal, AdequaError)):
        return line({"error": str(error)})
    log_failure(error)
    return line({"error": OUR_FAULT})


async def _shown(results: Results) -> str:
    """Results as JSON, made between other requests only where there is little of it."""

    def shown() -> str:
        return "".join(as_json(results))

    is_small = sum(results.segment_counts.values()) < MANY
    return shown() if is_small else await asyncio.to_thread(shown)


async def _notes(asked: ScoreRequest, lanes: Mapping[str, Lane]) -> dict[str, str]:
    """A header for what is to be said of the texts: the shape of scores has no place for it."""
    said = [row.mt for row in asked.rows or ()]
    said += [text for texts in (asked.systems or {}).values() for text in texts]
    is_small = len(said) < MANY
    notes = remarks(said, lanes) if is_small else await asyncio.to_thread(remarks, said, lanes)
    return {"adequa-notes": json.dumps(notes)} if notes else {}


def _add_score(app: FastAPI, service: Service) -> None:
    limits = service.limits

    async def answered(request: Request) -> Response:
        asked = await service.parsed(ScoreRequest, request)
        lanes = await service.lanes(request, asked.metrics)
        work = scored(asked, lanes, limits)
        results = await while_connected(left(request.receive), work)
        request.scope[SEGMENTS] = sum(results.segment_counts.values())
        return written(await _shown(results), headers=await _notes(asked, lanes))

    async def streamed(request: Request, metrics: Sequence[str]) -> Response:
        lanes = await service.lanes(request, metrics)
        for lane in lanes.values():
            lane.check_room()
        gone = link_of(request.scope).gone
        found = scored_lines(lines(request, limits), lanes, limits)
        # What is wrong from the start is told by the status.
        first = await while_connected(gone.wait(), anext(found))

        async def made() -> AsyncGenerator[bytes, None]:
            at, request.scope[SEGMENTS] = first, 0
            async with aclosing(found):
                try:
                    while not isinstance(at, Results):
                        request.scope[SEGMENTS] += len(at)
                        yield b"".join(map(line, at))
                        at = await anext(found)
                    yield line(json.loads(await _shown(at)))
                except Exception as error:  # noqa: BLE001 - a stream ends with a line, whatever it is
                    yield _last(error)

        return Stream(made(), gone)

    query = {
        "name": "metric",
        "in": "query",
        "description": "Of a stream: a metric, with settings where it has any; repeat for more.",
        "schema": {"type": "array", "items": {"type": "string"}},
    }

    @app.post(
        "/v1/score",
        summary="Score translations against references",
        responses={
            **told.success(
                told.SCORES, told.SCORES_EXAMPLE, told.SCORES_LINES, told.SCORES_HEADERS
            ),
            **told.OF_BODIES,
        },
        openapi_extra={**told.body(ScoreRequest, lines=True), "parameters": [query]},
    )
    async def score(request: Request) -> Response:
        if kind_of(request) == LINES:
            named = request.query_params.getlist("metric") or service.offered.defaults
            if not named:
                raise AdequaError("This server ranks, and has no metric that scores.")
            return await streamed(request, named)
        return await answered(request)


def _add_compare(app: FastAPI, service: Service) -> None:
    limits = service.limits

    def begun(asked: CompareRequest, lanes: Mapping[str, Lane]) -> Piece[dict[str, Any]]:
        outputs = outputs_from(asked, limits)
        settings = settings_of(asked, limits, outputs, len(lanes))
        for lane in lanes.values():
            lane.check_room()

        def work(waiting: Asked) -> dict[str, Any]:
            found = comparison(outputs, lanes, settings, limits, waiting)
            waiting.begin("Writing")
            content = found.to_dict(segments=asked.segments)
            if asked.keep:
                name = service.kept.keep(found, asked.title)
                content |= {"id": name, "link": f"/c/{name}", "expires_in": service.kept.seconds}
            return content

        texts = len(outputs) * len(outputs.names)
        return service.pieces.begin(work, texts * len(lanes))

    async def progressing(piece: Piece[dict[str, Any]]) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(piece.moves()) as moves:
                async for said in moves:
                    yield line({"progress": said})
            yield await asyncio.to_thread(line, {"result": piece.done.result()})
        except Exception as error:  # noqa: BLE001 - a stream ends with a line, whatever it is
            yield _last(error)

    @app.post(
        "/v1/compare",
        summary="Compare systems",
        responses={
            **told.success(told.COMPARISON, told.COMPARISON_EXAMPLE, told.COMPARISON_LINES),
            **told.OF_BODIES,
        },
        openapi_extra=told.body(CompareRequest),
    )
    async def compare(request: Request) -> Response:
        asked = await service.request(CompareRequest, request)
        lanes = await service.lanes(request, asked.metrics)
        piece = await asyncio.to_thread(begun, asked, lanes)
        request.scope[HELD].callback(piece.stop)  # however the request ends
        request.scope[SEGMENTS] = piece.total
        if LINES in request.headers.get("accept", ""):
            return Stream(progressing(piece))
        content = await while_connected(left(request.receive), piece.wait())
        return await asyncio.to_thread(answer, content)


def _add_rank(app: FastAPI, service: Service) -> None:
    limits = service.limits

    def begun(asked: RankRequest, lane: Lane | None) -> Piece[dict[str, Any]]:
        systems = systems_of(asked, limits)
        texts = sum(map(len, systems.values()))
        segments = max(map(len, systems.values()))
        limits.check_ranking(asked.resamples, systems=len(systems), segments=segments)
        if lane is not None:
            lane.check_room()
        return service.pieces.begin(
            lambda waiting: service.rankers.ranking(systems, lane, asked, waiting), texts
        )

    @app.post(
        "/v1/rank",
        summary="Put systems in order",
        responses={**told.success(told.RANKING, told.RANKING_EXAMPLE), **told.OF_BODIES},
        openapi_extra=told.body(RankRequest),
    )
    async def rank(request: Request) -> Response:
        asked = await service.request(RankRequest, request)
        lane = None
        if asked.metric is not None:
            (lane,) = (await service.lanes(request, [asked.metric])).values()
        piece = await asyncio.to_thread(begun, asked, lane)
        request.scope[HELD].callback(piece.stop)  # however the request ends
        request.scope[SEGMENTS] = piece.total
        content = await while_connected(left(request.receive), piece.wait())
        return await asyncio.to_thread(answer, content)


def _add_kept(app: FastAPI, service: Service) -> None:
    refused = {**told.ALWAYS, **told.refusals(404)}

    def unpacked(packed: bytes, kind: str, ending: str) -> Response:
        headers = {"content-disposition": _FILE + ending} if ending else {}
        headers["content-length"] = str(int.from_bytes(packed[-4:], "little"))  # as gzip ends
        return StreamingResponse(_in_pieces(packed), 200, headers, media_type=kind)

    @app.get(
        "/v1/comparisons/{name}",
        summary="A comparison that is kept, as JSON",
        responses={**told.success(told.COMPARISON, told.COMPARISON_EXAMPLE), **refused},
    )
    async def kept_json(name: str) -> Response:
        content = service.kept.get(name).content
        return unpacked(content, "application/json", "json")

    @app.get(
        "/v1/comparisons/{name}/pairs.tsv",
        summary="Its pairs of systems, as TSV",
        responses={**told.file("text/tab-separated-values"), **refused},
    )
    async def kept_tsv(name: str) -> Response:
        pairs = service.kept.get(name).pairs
        return unpacked(pairs, "text/tab-separated-values", "tsv")

    @app.get(
        "/v1/comparisons/{name}/report.html",
        summary="Its report, a page that needs no network",
        responses={**told.file("text/html"), **refused},
    )
    async def kept_report(name: str) -> Response:
        kept = service.kept.get(name)
        text = await asyncio.get_running_loop().run_in_executor(service.reports, kept.report)
        headers = {
            "content-disposition": _FILE + "html",
            # It brings a policy of its own, stricter than that of the page.
            "content-security-policy": "sandbox allow-scripts",
        }
        return Response(text, 200, headers, media_type="text/html")

    @app.get("/v1/comparisons/{name}/page", include_in_schema=False)
    async def kept_page(name: str) -> Response:
        kept = service.kept.get(name)
        found = unpacked(kept.shown, "application/json", "")
        found.headers["adequa-expires-in"] = str(service.kept.seconds_left(kept))
        return found


async def _in_pieces(packed: bytes) -> AsyncGenerator[bytes, None]:
    """What is kept, unpacked only as fast as its reader takes it."""
    with gzip.open(BytesIO(packed)) as unpacked:
        while piece := unpacked.read(_PIECE):
            yield piece


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/metrics",
        summary="What this server scores with",
        responses={**told.success(told.METRICS, told.METRICS_EXAMPLE), **told.ALWAYS},
    )
    async def metrics() -> Response:
        content = {
            "metrics": await asyncio.to_thread(service.offered.described),
            "defaults": service.offered.defaults,
            "limits": {name: getattr(service.limits, name) for name in _SHOWN_LIMITS},
        }
        return answer(content)

    @app.head("/healthz", include_in_schema=False)
    @app.get(
        "/healthz",
        summary="Whether the server lives",
        responses={**told.success(told.STATE, {"status": "ok"}), **told.refusals(421)},
    )
    async def healthz() -> Response:
        return answer({"status": "ok"})

    @app.get(
        "/readyz",
        summary="Whether it can score",
        responses={**told.success(told.STATE, {"status": "ready"}), **told.refusals(421, 503)},
    )
    async def readyz() -> Response:
        if not service.ready:
            return refusal(503, "The server is starting or ending.", {"retry-after": "2"})
        return answer({"status": "ready"})

    @app.get(
        "/metrics",
        summary="Counts for Prometheus",
        responses={
            200: {"description": "Counts.", "content": {"text/plain": {}}},
            **told.ALWAYS,
        },
    )
    async def counts() -> Response:
        return Response(service.measured.shown(), media_type=CONTENT_TYPE)


def _add_page(app: FastAPI, service: Service) -> None:
    files = {
        "/assets/page.css": (service.page.style, "text/css"),
        "/assets/page.js": (service.page.script, "text/javascript"),
        "/assets/icon.svg": (service.page.icon, "image/svg+xml"),
    }

    @app.get("/", include_in_schema=False)
    @app.get("/c/{name}", include_in_schema=False)
    async def page() -> Response:
        return Response(service.page.html, 200, _CACHED, media_type="text/html")

    for path, (text, kind) in files.items():
        app.add_api_route(
            path,
            _serving(text, kind),
            include_in_schema=False,
            methods=["GET"],
        )


def _serving(text: str, kind: str) -> Any:
    async def serve() -> Response:
        return Response(text, 200, _CACHED, media_type=kind)

    return serve


def _describe(app: FastAPI, *, secured: bool) -> None:
    """The description of the API, made once, with the shapes that bodies refer to."""
    content = app.openapi()
    parts = content.setdefault("components", {})
    parts["schemas"] = told.components()
    # What FastAPI says of names in a path does not happen: any text is one.
    for path, methods in content["paths"].items():
        if "{name}" in path:
            methods["get"]["responses"].pop("422")
    if secured:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        content["security"] = [{"token": []}]
    app.openapi_schema = content
