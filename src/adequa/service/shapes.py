"""What requests hold, by pydantic: their JSON is checked against it, and described by it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from adequa.comparison.settings import ALPHA, CONFIDENCE, RESAMPLES, SEED
from adequa.service.limits import LONGEST_METRIC, LONGEST_NAME, MOST_ROWS, Limits, Refusal

# Lists end at the first fault, so that a long wrong one costs no more than a short one.
_References = Annotated[
    list[str],
    Field(min_length=1, max_length=100, fail_fast=True),
    BeforeValidator(
        lambda given: [given] if isinstance(given, str) else given,
        json_schema_input_type=str | list[str],
    ),
]
_Texts = Annotated[list[str], Field(max_length=MOST_ROWS, fail_fast=True)]
_Metric = Annotated[str, Field(max_length=LONGEST_METRIC)]
_Metrics = Annotated[list[_Metric], Field(min_length=1, max_length=100, fail_fast=True)]
_Name = Annotated[str, Field(max_length=LONGEST_NAME)]
_Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]
_MOST_KEYS = 50  # of an object other than `systems`; beyond them they are not looked at one by one
_Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Row(_Strict):
    """One hypothesis with its references, as `adequa score -i` reads it from JSON."""

    mt: Annotated[str, Field(description="The hypothesis.")]
    ref: Annotated[_References, Field(description="The reference, or a list of several.")]
    src: Annotated[str | None, Field(description="The source.")] = None
    system: Annotated[_Name | None, Field(description="The system's name.")] = None
    doc: Annotated[_Name | None, Field(description="The document's name.")] = None


class Input(_Strict):
    """Texts: row by row, or as columns of all systems."""

    rows: Annotated[
        Annotated[list[Row], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(description="One object a hypothesis. This, or systems and references."),
    ] = None
    systems: Annotated[
        dict[str, _Texts] | None,
        Field(description="Outputs of each system, one a segment. The first is the baseline."),
    ] = None
    references: Annotated[
        Annotated[list[_References], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(description="One reference a segment, or a list of several."),
    ] = None
    sources: Annotated[_Texts | None, Field(description="One source a segment.")] = None
    documents: Annotated[
        Annotated[list[_Name], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(description="The document of each segment."),
    ] = None


_EXAMPLE: dict[str, Any] = {
    "systems": {
        "old": ["The cat sat on mat.", "He have gone to home."],
        "new": ["The cat sat on the mat.", "He went home."],
    },
    "references": ["The cat sat on a mat.", "He has gone home."],
}


class ScoreRequest(Input):
    """What `adequa score` is asked."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "rows": [{"mt": "The cat sat on a mat.", "ref": "The cat sat on the mat."}],
                    "metrics": ["chrf"],
                },
                {**_EXAMPLE, "metrics": ["chrf", "ter"], "segments": False},
            ]
        }
    )
    metrics: Annotated[_Metrics, Field(description="Metrics, with settings where they have any.")]
    segments: Annotated[bool, Field(description="A score for each segment too.")] = True
    by: Annotated[
        Literal["doc"] | None, Field(description="`doc`: a score for each document too.")
    ] = None


class CompareRequest(Input):
    """What `adequa compare` is asked."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_EXAMPLE, "metrics": ["chrf"], "resamples": 100}]}
    )
    metrics: Annotated[_Metrics, Field(description="Metrics, with settings where they have any.")]
    resamples: Annotated[_Count, Field(description="Of the bootstrap.")] = RESAMPLES
    swaps: Annotated[_Count | None, Field(description="Of approximate randomisation.")] = None
    confidence: Annotated[_Share, Field(description="Of the intervals.")] = CONFIDENCE
    alpha: Annotated[_Share, Field(description="Level of the tests.")] = ALPHA
    clusters: Annotated[
        str, Field(max_length=LONGEST_NAME, description="Ranks are greedy, or separated.")
    ] = "greedy"
    seed: Annotated[_Seed, Field(description="Of all random draws.")] = SEED
    like_sacrebleu: Annotated[bool, Field(description="p-values as sacreBLEU has them.")] = False
    segments: Annotated[bool, Field(description="All segments too.")] = False
    keep: Annotated[
        bool, Field(description="Keep it a while: the answer then has a link that reopens it.")
    ] = False
    title: Annotated[str, Field(max_length=200, description="Of the report.")] = ""


class RankRequest(Input):
    """What `adequa rank` is asked."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_EXAMPLE, "metric": "chrf", "resamples": 100}]}
    )
    metric: Annotated[
        _Metric | None,
        Field(description="A metric; without it, the ranker that comes with adequa."),
    ] = None
    resamples: Annotated[_Count, Field(description="Of the segments, for intervals.")] = 1000
    confidence: Annotated[_Share, Field(description="Of the intervals.")] = CONFIDENCE
    seed: Annotated[_Seed, Field(description="Of all random draws.")] = SEED
    segments: Annotated[
        bool, Field(description="For every segment, how likely each system wins.")
    ] = False


Model = TypeVar("Model", bound=BaseModel)


def parsed(model: type[Model], body: bytes) -> Model:
    """A request from its JSON; a sentence where it is none, or another."""
    try:
        found = model.model_validate_json(body)
        if isinstance(found, Input) and found.systems is not None:
            json.loads(body, object_pairs_hook=_refuse_twice)
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise Refusal(400, f"This is not JSON: {_reason(first)}.") from None
        place = ", ".join(map(_place, first["loc"]))
        raise Refusal(422, f"{place}: {first['msg']}." if place else f"{first['msg']}.") from None
    except RecursionError:
        raise Refusal(400, "This JSON is too deeply nested.") from None


def _refuse_twice(pairs: list[tuple[str, object]]) -> None:
    """Raise where an object has a name twice: of two systems of one name, one would be lost."""
    if len(dict(pairs)) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise Refusal(422, f'"{name[:40]}" is given more than once.')


def check_sizes(body: bytes, limits: Limits) -> None:
    """Raise where a large body has more keys or rows than can be.

    The check of its shape would tell too, but only after seconds in which nothing else is done.
    """
    try:
        given = from_json(body)
    except (ValueError, RecursionError):
        return  # which is told where it is read
    if not isinstance(given, dict):
        return
    _check_keys(given)
    rows, systems = given.get("rows"), given.get("systems")
    if isinstance(systems, dict):
        limits.check_systems(len(systems))
        columns = [column for column in systems.values() if isinstance(column, list)]
        limits.check_segments(sum(map(len, columns)))
    if isinstance(rows, list):
        limits.check_segments(len(rows))
        for row in rows:
            if isinstance(row, dict):
                _check_keys(row)


def _check_keys(given: dict[str, Any]) -> None:
    if len(given) > _MOST_KEYS:
        raise Refusal(422, f"An object has {len(given):,} keys, and no request has so many.")


def _reason(error: Any) -> str:
    """What is wrong with JSON, in the words of its reader."""
    reason = str((error.get("ctx") or {}).get("error") or error["msg"])
    # An escape such as \\ud800 without its partner.
    is_half = "surrogate" in reason or "hex escape" in reason
    return reason + ("; half a character (a surrogate) is no text" if is_half else "")


def _place(part: str | int) -> str:
    """Where in a request: numbers count from 1, as people do."""
    return f"item {part + 1:,}" if isinstance(part, int) else part[:40]
