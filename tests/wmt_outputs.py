"""Outputs of WMT17 systems for tests and benchmarks, from the folder that ADEQUA_DATA names."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

ARCHIVE = Path(os.environ.get("ADEQUA_DATA", ""), "wmt17-systems.tar.xz")


def outputs_from_archive(pair: str, systems: int, segments: int) -> dict[str, list[str]]:
    """Outputs of WMT17, `reference` and `source` among them; read no further than needed."""
    found: dict[str, list[str]] = {}
    with tarfile.open(ARCHIVE, "r|xz") as archive:
        for member in archive:
            folder, _, name = member.name.removeprefix("wmt17-systems/").partition("/")
            if folder != pair and found:
                break
            file = archive.extractfile(member) if folder == pair and name else None
            if file is not None:
                lines = file.read().decode("utf-8").split("\n")
                found[name.removesuffix(".txt")] = lines[:segments]
    given = {name: found.pop(name) for name in ("reference", "source")}
    return dict(list(found.items())[:systems]) | given
