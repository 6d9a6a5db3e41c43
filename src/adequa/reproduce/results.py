"""The file that a measured table is kept in: one row a system and language pair."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.io.atomic import atomic_write
from adequa.reproduce.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what the paper reports and what we measured; None where there is none."""

    system: str
    column: str  # a language pair, or a summary such as `average`
    statistic: str
    paper: float | None
    measured: float | None
    scores: str | None  # the file under `scores/TABLE/` that it comes from
    interval: tuple[float, float] | None = None  # in which it lies with a confidence of 95 percent


@dataclass(frozen=True, slots=True)
class Measurement:
    """How a system's scores were made."""

    command: str
    settings: str


@dataclass(frozen=True, slots=True)
class Results:
    """All figures of one table, and how each system was measured."""

    name: str
    rows: tuple[Row, ...] = ()
    systems: Mapping[str, Measurement] = field(default_factory=dict)

    def with_system(self, name: str, rows: tuple[Row, ...], how: Measurement) -> Results:
        """With new figures of one system in place of its old ones."""
        others = tuple(row for row in self.rows if row.system != name)
        return replace(self, rows=(*others, *rows), systems={**self.systems, name: how})

    def ordered(self, systems: tuple[str, ...]) -> Results:
        """With the systems in the order of the table; those that it no longer has are dropped."""
        return replace(
            self,
            rows=tuple(row for name in systems for row in self.rows if row.system == name),
            systems={name: self.systems[name] for name in systems if name in self.systems},
        )


def results_path(name: str, folder: Path) -> Path:
    """Where a table's figures are kept."""
    return folder / f"{name}.json"


def read_results(table: Table, folder: Path) -> Results:
    """The last figures of a table; none where it was never measured."""
    path = results_path(table.name, folder)
    if not path.exists():
        return Results(table.name)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Results(
            name=kept["name"],
            rows=tuple(map(_row, kept["rows"])),
            systems={name: Measurement(**how) for name, how in kept["systems"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AdequaError(
            f"{path} is not a file of results as `adequa reproduce` writes them; move it away, or "
            "measure the table anew in another folder with --results."
        ) from error
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error


def _row(kept: Mapping[str, Any]) -> Row:
    """A row as it is kept; an interval is a list there."""
    interval = kept.get("interval")
    return Row(**{**kept, "interval": None if interval is None else tuple(interval)})


def write_results(results: Results, folder: Path) -> None:
    """Keep a table's figures, whole or not at all; of intervals those that there are."""
    written = asdict(results)
    for row in written["rows"]:
        if row["interval"] is None:
            del row["interval"]
    with atomic_write(results_path(results.name, folder)) as file:
        file.write(json.dumps(written, ensure_ascii=False, allow_nan=False, indent=1))
        file.write("\n")
