"""`adequa serve`: scores, comparisons and rankings over HTTP, and a page for people."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.completion import complete_metric
from adequa.errors import AdequaError

_LEAST, _MOST = 1, 1024  # threads


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; by default for this machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any that is free.")
    ] = 8000,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER",
            help="Offer this one, and no others but those named so; repeat for more. Default: all "
            "that come with adequa.",
            autocompletion=complete_metric,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=_LEAST,
            max=_MOST,
            metavar="N",
            help="Threads that trained metrics score with. Default: as many as CPUs.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Requests need the token that is in this file."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines in without a token.")
    ] = False,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Most of a request that is no stream.")
    ] = 16,
    max_segments: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Most hypotheses of such a one.")
    ] = 20_000,
    max_characters: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Most of one text.")
    ] = 4_000,
    queue: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Segments that wait before requests are refused."),
    ] = 1_024,
    keep: Annotated[
        float, typer.Option(min=1, metavar="MINUTES", help="How long a comparison can be reopened.")
    ] = 60,
) -> None:
    """Serve over HTTP: an API for programs, and at / a page for people."""
    try:
        from adequa.service.app import Settings
        from adequa.service.limits import Limits
        from adequa.service.server import Address, check_open, read_token
        from adequa.service.server import serve as run
    except ImportError as error:
        raise AdequaError(f"To serve needs {error.name}: pip install 'adequa[serve]'.") from error
    address = Address(host, port)
    token = None if token_file is None else read_token(token_file)
    check_open(address, token, insecure=insecure)
    body = max_body * 1_000_000
    limits = Limits(
        body=body,
        bodies=max(Limits().bodies, 2 * body),
        segments=max_segments,
        characters=max_characters,
        queue=queue,
    )
    settings = Settings(
        metrics=tuple(metric or ()),
        workers=workers,
        token=token,
        only_local=address.is_local and token is None,
        keep_seconds=60 * keep,
        limits=limits,
    )
    run(settings, address)
