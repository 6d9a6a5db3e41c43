"""`adequa serve`: scores, comparisons and rankings over HTTP, and a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adequa.cli.options import CACHE_SIZE, CacheSize, NoCache, complete_metric
from adequa.errors import AdequaError

_MOST_THREADS = 1024
_SHARED_SECONDS = 3600.0  # that a server of several people stores a comparison


def serve(
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on. Default: this machine only."),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 for any free one."),
    ] = 8000,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER",
            help="Metric to serve; repeat for more. Default: all that come with adequa.",
            autocompletion=complete_metric,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MOST_THREADS,
            metavar="N",
            help="Number of threads of trained metrics. Default: as many as CPUs.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File with the token that requests must send."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines connect without a token.")
    ] = False,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Largest request that is not a stream.")
    ] = 16,
    max_segments: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Most hypotheses in a request that is not a stream.",
        ),
    ] = 20_000,
    max_characters: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Longest text.")
    ] = 4_000,
    queue: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Segments that may wait for a metric before requests are refused.",
        ),
    ] = 1_024,
    keep: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="MINUTES",
            help="How long a comparison is stored. Default: as long as the server runs; 60 minutes "
            "if other machines can reach it.",
        ),
    ] = None,
    recent: Annotated[
        bool | None,
        typer.Option(
            "--recent/--no-recent",
            help="List stored comparisons to everyone who can send requests. Default: only if no "
            "other machine can reach the server.",
        ),
    ] = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
) -> None:
    """Serve an API over HTTP, and a web page at /."""
    try:
        from adequa.service.app import ServiceSettings
        from adequa.service.limits import Limits
        from adequa.service.server import Address, check_access, read_token, run_server
    except ImportError as error:
        raise AdequaError(f"To serve needs {error.name}: pip install 'adequa[serve]'.") from error
    address = Address(host, port)
    token = None if token_file is None else read_token(token_file)
    check_access(address, token, insecure=insecure)
    body = max_body * 1_000_000
    limits = Limits(
        body=body,
        bodies=max(Limits().bodies, 2 * body),
        segments=max_segments,
        characters=max_characters,
        queue=queue,
    )
    settings = ServiceSettings(
        metrics=tuple(metric or ()),
        workers=workers,
        token=token,
        only_local=address.is_local and token is None,
        keep_seconds=_keep_seconds(keep, address.is_local),
        lists_comparisons=address.is_local if recent is None else recent,
        score_cache=None if no_cache else _score_cache(cache_size),
        limits=limits,
    )
    run_server(settings, address)


def _keep_seconds(minutes: float | None, is_local: bool) -> float | None:
    """How long a comparison is stored; None as long as the server runs."""
    if minutes is not None:
        return 60 * minutes
    return None if is_local else _SHARED_SECONDS


def _score_cache(megabytes: int) -> tuple[Path, int] | None:
    """The scores on disk that all verbs share, and how large the file may become."""
    from adequa.cli.inputs import SCORES_FILE
    from adequa.io.storage import cache_folder

    try:
        return cache_folder() / SCORES_FILE, megabytes * 1_000_000
    except RuntimeError:  # there is no home folder
        return None
