"""All analysed outputs in a file for browsing: TSV, JSONL or a page, by the ending of its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from adequa.agreement.error_analysis import Analysis
from adequa.cli.listing_page import as_page
from adequa.cli.render_analysis import json_row
from adequa.errors import AdequaError, printable


def check_listing(path: str) -> None:
    """Raise unless the file's name says how to write it."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise AdequaError(
            f"{path} should end in .tsv, .jsonl or .html, which says how the outputs are written."
        )


def listing(found: Analysis, path: str) -> Iterator[str]:
    """The analysed outputs as the file's name asks for them."""
    return _WRITERS[Path(path).suffix.lower()](found)


def as_tsv(found: Analysis) -> Iterator[str]:
    """One row an output and a header; scores and percentiles under the names of the metrics."""
    names = [metric.name for metric in found.metrics]
    header = ["row", "lp", "system", "segment", "verdict"]
    header += ["human", *(f"score {name}" for name in names)]
    header += ["percentile human", *(f"percentile {name}" for name in names)]
    header += ["overlap", "words", *["unknown"] * bool(found.vocabularies), "mt", "ref", "src"]
    yield "\t".join(map(printable, header)) + "\n"
    for row in found.rows:
        numbers = (row.human, *row.scores, row.human_percentile, *row.percentiles, row.overlap)
        cells = [str(row.row), row.lp, row.system, row.segment, row.verdict.value]
        cells += [
            *map(repr, numbers),
            str(row.length),
            *[" ".join(row.unknown or ())] * bool(found.vocabularies),
        ]
        yield "\t".join(map(printable, [*cells, row.hypothesis, row.reference, row.source])) + "\n"


def as_jsonl(found: Analysis) -> Iterator[str]:
    """One JSON object an output; the metrics' two scores and percentiles go by their names."""
    names = [metric.name for metric in found.metrics]
    for row in found.rows:
        scores = dict(zip(names, row.scores, strict=True))
        places = dict(zip(names, row.percentiles, strict=True))
        shown = json_row(row) | {"scores": scores, "percentiles": places}
        yield json.dumps(shown, ensure_ascii=False, allow_nan=False) + "\n"


_WRITERS = {".tsv": as_tsv, ".jsonl": as_jsonl, ".html": as_page}
