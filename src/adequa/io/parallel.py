"""Parallel files: hypotheses, references and sources, each in files of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from adequa.errors import AdequaError
from adequa.io.lockstep import Track, lockstep, system_names
from adequa.io.read import READERS
from adequa.io.tables import BATCH
from adequa.io.text import STDIN, Advance, FilePath, ignore, lines, shown, text_format
from adequa.io.wmt import is_marked_up, read_marked_up
from adequa.segments import Segments


def read_parallel(
    hypotheses: Sequence[FilePath],
    references: Sequence[FilePath],
    source: FilePath | None = None,
    *,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from files that match line by line, one hypothesis file a system.

    Any of them may be a WMT `.sgm` or `.xml` file, which also names documents and may hold
    several systems or references. Every batch comes once a system, with the same references.
    """
    if not hypotheses or not references:
        raise AdequaError("Segments need at least one file of hypotheses and one of references.")
    _refuse_repeats(hypotheses, references, source)
    advance = advance or ignore
    yield from lockstep(
        _system_tracks(hypotheses, advance),
        [_reference_track(path, advance) for path in references],
        None if source is None else _source_track(source, advance),
        batch=batch,
    )


def _plain_track(path: FilePath, advance: Advance) -> Track[str]:
    if text_format(path) in READERS:
        raise AdequaError(
            f"{shown(path)} is a table by its name, and -t, -r and -s take plain text;"
            " give it with -i."
        )
    return Track(shown(path), lines(path, advance=advance))


def _source_track(path: FilePath, advance: Advance) -> Track[str]:
    if is_marked_up(path):
        return read_marked_up(path, advance=advance).source_track()
    return _plain_track(path, advance)


def _reference_track(path: FilePath, advance: Advance) -> Track[tuple[str, ...]]:
    if is_marked_up(path):
        return read_marked_up(path, advance=advance).reference_track()
    plain = _plain_track(path, advance)
    return Track(plain.name, zip(plain.cells))


def _system_tracks(paths: Sequence[FilePath], advance: Advance) -> dict[str, Track[str]]:
    named: list[tuple[FilePath, str]] = []
    tracks: list[Track[str]] = []
    for path in paths:
        if is_marked_up(path):
            systems = read_marked_up(path, advance=advance).system_tracks()
            # A file of one system is named like any other file, whatever it says inside.
            named += [(path, system if len(systems) > 1 else "") for system in systems]
            tracks += systems.values()
        else:
            named.append((path, ""))
            tracks.append(_plain_track(path, advance))
    return dict(zip(system_names(named), tracks, strict=True))


def _refuse_repeats(
    hypotheses: Sequence[FilePath], references: Sequence[FilePath], source: FilePath | None
) -> None:
    given = [*hypotheses, *references, *([] if source is None else [source])]
    if [os.fspath(path) for path in given].count(STDIN) > 1:
        raise AdequaError("Standard input can be read once only, but - is given more than once.")
    for kind, paths in (("hypotheses", hypotheses), ("references", references)):
        times = Counter(map(os.path.realpath, paths))
        for path in paths:
            if times[os.path.realpath(path)] > 1:
                raise AdequaError(f"{shown(path)} is given more than once among the {kind}.")
