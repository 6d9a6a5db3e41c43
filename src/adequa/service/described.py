"""What the description of the API (OpenAPI) says beside the shapes of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from adequa.service.body import JSON, LINES
from adequa.service.shapes import Row

_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "One sentence."}},
    "required": ["error"],
}
_REASONS = {
    400: "The body is not JSON.",
    401: "The server wants a token.",
    404: "There is no such thing, or no longer.",
    408: "The request did not come whole in time.",
    413: "The request is too large; the sentence names the limit.",
    415: "The body is of another kind.",
    421: "The server answers to localhost alone.",
    422: "The request asks for what cannot be; the sentence says what.",
    429: "Too much is being done already; Retry-After says when to try again.",
    503: "The server is not ready.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that an endpoint may answer with, all of one shape."""
    return {
        status: {"description": _REASONS[status], "content": {JSON: {"schema": _ERROR}}}
        for status in statuses
    }


ALWAYS = refusals(401, 421)
OF_BODIES = refusals(400, 401, 408, 413, 415, 421, 422, 429, 503)


def success(
    schema: dict[str, Any],
    example: object,
    lines: str = "",
    headers: Mapping[str, str] | None = None,
) -> dict[int | str, Any]:
    """The result of an endpoint; `lines` says what it is as a stream, where it can be one."""
    content: dict[str, Any] = {JSON: {"schema": schema, "example": example}}
    if lines:
        content[LINES] = {"schema": {"type": "string", "description": lines}}
    found: dict[str, Any] = {"description": "The result.", "content": content}
    if headers:
        found["headers"] = {
            name: {"description": about, "schema": _TEXT} for name, about in headers.items()
        }
    return {200: found}


def file(kind: str) -> dict[int | str, Any]:
    """The result of an endpoint that is a file of text."""
    content = {kind: {"schema": {"type": "string"}}}
    return {200: {"description": "The file.", "content": content}}


def body(model: type[BaseModel], *, lines: bool = False) -> dict[str, Any]:
    """The description of a body, with its shape written out."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    content: dict[str, Any] = {JSON: {"schema": schema}}
    if lines:
        about = "One row a line: an object as in `rows`. The metrics are in the query."
        content[LINES] = {"schema": {"type": "string", "description": about}}
    return {"requestBody": {"required": True, "content": content}}


def components() -> dict[str, Any]:
    """Shapes that others refer to."""
    return {"Row": Row.model_json_schema()}


def listed(item: dict[str, Any]) -> dict[str, Any]:
    """A list in a schema."""
    return {"type": "array", "items": item}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object in a schema."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


_TEXT: dict[str, Any] = {"type": "string"}
_TRUTH: dict[str, Any] = {"type": "boolean"}
_COUNT: dict[str, Any] = {"type": "integer"}
_FIGURE = record({"value": _NUMBER, "low": _NUMBER, "high": _NUMBER})

SCORES = record(
    {
        "metrics": listed(
            record(
                {
                    "name": _TEXT,
                    "signature": _TEXT,
                    "higher_is_better": _TRUTH,
                    "systems": listed(
                        record(
                            {"name": _TEXT, "score": {"type": "number"}},
                            {
                                "segments": listed({"type": "number"}),
                                "groups": listed(record({"name": _TEXT, "score": _NUMBER})),
                            },
                        )
                    ),
                },
                {"segment_signature": _TEXT},
            )
        )
    },
    {"by": _TEXT},
)
SCORES_EXAMPLE = {
    "metrics": [
        {
            "name": "chrf",
            "signature": "chrf|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
            "higher_is_better": True,
            "systems": [{"name": "system", "score": 71.42, "segments": [71.42]}],
        }
    ]
}
SCORES_HEADERS = {"adequa-notes": "What is to be said of the texts: a JSON list of sentences."}
SCORES_LINES = (
    'One line a row, {"segment": 1, "scores": {"chrf": 71.42}}, then one with the scores of '
    'systems as in JSON; or {"error": ...} as the last one.'
)
COMPARISON = record(
    {
        "systems": listed(_TEXT),
        "baseline": _TEXT,
        "segment_count": _COUNT,
        "settings": {"type": "object"},
        "metrics": listed(
            record(
                {
                    "name": _TEXT,
                    "signature": _TEXT,
                    "segment_signature": _TEXT,
                    "higher_is_better": _TRUTH,
                    "systems": listed(
                        record(
                            {
                                "name": _TEXT,
                                "score": _NUMBER,
                                "low": _NUMBER,
                                "high": _NUMBER,
                                "rank": _COUNT,
                            }
                        )
                    ),
                    "pairs": listed({"type": "object"}),
                }
            )
        ),
        "buckets": listed({"type": "object"}),
        "notes": listed(_TEXT),
    },
    {
        "segments": listed({"type": "object"}),
        "disagreements": listed({"type": "object"}),
        "id": _TEXT,
        "link": _TEXT,
        "expires_in": {"type": "number"},
    },
)
COMPARISON_EXAMPLE = {
    "systems": ["old", "new"],
    "baseline": "old",
    "segment_count": 2,
    "settings": {"resamples": 100},
    "metrics": [],
    "buckets": [],
    "notes": [],
}
COMPARISON_LINES = (
    'Lines {"progress": {"stage": ..., "scored": ..., "total": ...}} while it is made, then '
    '{"result": ...} as in JSON, or {"error": ...}.'
)
RANKING = record(
    {
        "signature": _TEXT,
        "confidence": {"type": "number"},
        "systems": listed(
            record(
                {
                    "rank": _COUNT,
                    "system": _TEXT,
                    "expected_wins": _FIGURE,
                    "strength": _FIGURE,
                    "better_than": {"type": "object", "additionalProperties": {"type": "number"}},
                },
                {"segments": listed({"type": "number"})},
            )
        ),
    }
)
_HALF = {"value": 0.5, "low": 0.0, "high": 1.0}
RANKING_EXAMPLE = {
    "signature": "chrf|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
    "confidence": 0.95,
    "systems": [
        {
            "rank": 1,
            "system": "new",
            "expected_wins": _HALF,
            "strength": {"value": 0.0, "low": -1.0, "high": 1.0},
            "better_than": {"old": 0.5},
        }
    ],
}
METRICS = record(
    {
        "metrics": listed(
            record(
                {
                    "name": _TEXT,
                    "summary": _TEXT,
                    "higher_is_better": _TRUTH,
                    "lowest": _NUMBER,
                    "highest": _NUMBER,
                    "settings": {"type": "object"},
                    "signature": _TEXT,
                }
            )
        ),
        "defaults": listed(_TEXT),
        "limits": {"type": "object", "additionalProperties": {"type": "number"}},
    }
)
METRICS_EXAMPLE = {
    "metrics": [
        {
            "name": "wer",
            "summary": "word edits per reference word",
            "higher_is_better": False,
            "lowest": 0,
            "highest": None,
            "settings": {"tokenize": "13a", "lowercase": False},
            "signature": "wer|nrefs:1|tokenize:13a|lowercase:false|sacrebleu:2.6.0|version:0.1.0",
        }
    ],
    "defaults": ["wer"],
    "limits": {"segments": 20000},
}
STATE = record({"status": _TEXT})
