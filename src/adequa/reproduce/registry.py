"""Tables by name, found when first used."""

from __future__ import annotations

from importlib import import_module

from adequa.errors import AdequaError, nearest
from adequa.reproduce.table import Table

TABLES = {
    "wmt12": "adequa.reproduce.wmt12:TABLE",
    "wmt12-bleucomp": "adequa.reproduce.wmt12_pairwise:BLEUCOMP",
    "wmt12-vectors": "adequa.reproduce.wmt12_pairwise:VECTORS",
    "wmt12-depth": "adequa.reproduce.wmt12_pairwise:DEPTH",
    "wmt12-loss": "adequa.reproduce.wmt12_pairwise:LOSS",
    "wmt16": "adequa.reproduce.wmt16:TABLE",
    "wmt17": "adequa.reproduce.wmt17:TABLE",
    "reval": "adequa.reproduce.reval:TABLE",
    "wmt17-systems": "adequa.reproduce.systems:WMT17",
    "wmt18-systems": "adequa.reproduce.systems:WMT18",
}


def table(name: str) -> Table:
    """The table of this name."""
    if name not in TABLES:
        raise AdequaError(
            f'There is no table named "{name}".{nearest(name, TABLES)} There are:'
            f" {', '.join(TABLES)}."
        )
    module, _, attribute = TABLES[name].partition(":")
    found: Table = getattr(import_module(module), attribute)
    return found
