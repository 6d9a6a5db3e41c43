"""What the verbs that choose among candidates share: options, and how results are written."""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from typing import Annotated

import typer

from adequa.cli.completion import complete_metric

CandidatesInput = Annotated[
    str,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="JSONL: a list under candidates, or one candidate a line under mt with an id.",
    ),
]
MetricOption = Annotated[
    str,
    typer.Option(
        "-m", "--metric", metavar="NAME|FOLDER[:SETTING=VALUE,...]",
        help="What counts as good.", autocompletion=complete_metric,
    ),
]  # fmt: skip


class ChoiceFormat(str, Enum):
    """How choices are written."""

    jsonl = "jsonl"
    text = "text"


ChoiceFormatOption = Annotated[
    ChoiceFormat, typer.Option("--format", help="With text, the best candidate alone, one a line.")
]


def json_line(row: object) -> str:
    """One row of JSONL."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def or_null(score: float) -> float | None:
    """A score as JSON can have it: a number, or null."""
    return score if math.isfinite(score) else None


def text_line(text: str) -> str:
    """A candidate as a line of its own, whatever line ends are in it.

    >>> text_line("a\\r\\nb\\u2028c\\n")
    'a b\\u2028c\\n'
    """
    return re.sub(r"\r\n|\r|\n", " ", text.rstrip("\r\n")) + "\n"
