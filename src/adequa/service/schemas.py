"""Requests and answers as pydantic models, and the OpenAPI document that they make up.

Requests are parsed by their models. Answers come from `to_dict()` of results; their models document
the shape, and a test checks answers to generated requests against it. The page at `/docs` is our
own (assets/docs.js), because Swagger UI needs a content policy that allows inline styles, and more
than a megabyte of script.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)
from pydantic.json_schema import models_json_schema
from pydantic_core import ErrorDetails, PydanticCustomError, from_json

from adequa.explanation.pieces import Kind, Severity
from adequa.segments import COLUMN_NAMES
from adequa.service.limits import (
    JSON,
    LINES,
    LONGEST_METRIC,
    LONGEST_NAME,
    MOST_ROWS,
    Limits,
    RequestError,
)
from adequa.statistics.settings import ALPHA, CONFIDENCE, RESAMPLES, SEED

_COMPONENTS = "#/components/schemas/"
_MOST_KEYS = 50  # of an object other than `systems`; more of them are not checked one by one

# What is wrong with a value, by pydantic's type of the error; braces take what pydantic knows.
_PROBLEMS = {
    "missing": "is missing",
    "model_type": "must be an object, not {kind}",
    "dict_type": "must be an object, not {kind}",
    "list_type": "must be a list, not {kind}",
    "references_type": "must be a string or a list of strings, not {kind}",
    "string_type": "must be a string, not {kind}",
    "bool_type": "must be true or false, not {kind}",
    "float_type": "must be a number, not {kind}",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "greater_than": "must be greater than {gt:g}",
    "less_than": "must be less than {lt:g}",
    "greater_than_equal": "must be {ge:,} or more",
    "less_than_equal": "must be {le:,} or less",
    "too_short": "is empty",
    "too_long": "has more than {max_length:,} items",
    "string_too_long": "has more than {max_length:,} characters",
    "literal_error": "must be {expected}",
}
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
# What is wrong with JSON, by how its parser says it.
_SYNTAX_ERRORS = {
    "EOF while parsing": "it ends too early",
    "expected ident": "a word without quotes must be true, false or null",
    "expected value": "a value is missing, or has no quotes",
    "key must be a string": "a key has no double quotes",
    "trailing characters": "something follows its end",
    "trailing comma": "a comma follows the last item",
    "invalid unicode code point": "its bytes are not UTF-8",
    "recursion limit exceeded": "it is too deeply nested",
    "hex escape": "an unpaired surrogate such as \\ud800 is no text",
    "surrogate": "an unpaired surrogate such as \\ud800 is no text",
}
_ROW_NAMES = {*chain.from_iterable(COLUMN_NAMES.values())}  # of texts, with aliases


def _as_list(value: object) -> object:
    """References of a segment, which may be one string."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return value
    raise PydanticCustomError("references_type", "must be a string or a list of strings")


# Lists fail at the first fault, so that a long wrong one costs no more than a short one.
_References = Annotated[
    list[str],
    Field(min_length=1, max_length=100, fail_fast=True),
    BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
]
_Texts = Annotated[list[str], Field(max_length=MOST_ROWS, fail_fast=True)]
_Metric = Annotated[str, Field(max_length=LONGEST_METRIC)]
_Metrics = Annotated[
    list[_Metric],
    Field(
        min_length=1,
        max_length=100,
        fail_fast=True,
        description="Names of metrics, with settings if any: `chrf`, `bleu:lowercase=true`.",
    ),
]
_Name = Annotated[str, Field(max_length=LONGEST_NAME)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]
_Confidence = Annotated[
    float, Field(gt=0, lt=1, allow_inf_nan=False, description="Confidence level of intervals.")
]
_Seed = Annotated[int, Field(ge=0, le=2**63 - 1, description="Seed of all random draws.")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RequestRow(_Strict):
    """One hypothesis with references, a source or both, as `adequa score -i` reads it from JSON."""

    mt: Annotated[
        str,
        Field(
            validation_alias=AliasChoices(*COLUMN_NAMES["mt"]),
            description="The hypothesis; also accepted as `hypothesis` or `translation`.",
        ),
    ]
    ref: Annotated[
        _References | None,
        Field(
            validation_alias=AliasChoices(*COLUMN_NAMES["ref"]),
            description="The reference, or a list of references; also accepted as `reference`. "
            "All rows have it, or none has it and all have `src`.",
        ),
    ] = None
    src: Annotated[
        str | None,
        Field(
            validation_alias=AliasChoices(*COLUMN_NAMES["src"]),
            description="The source; also accepted as `source`.",
        ),
    ] = None
    system: Annotated[_Name | None, Field(description="Name of the system.")] = None
    doc: Annotated[_Name | None, Field(description="Name of the document.")] = None


Role = Literal["hypotheses", "references", "source", "table"]
Quoting = Literal["auto", "rfc4180", "none"]


class RequestFile(_Strict):
    """A file with its content, in any format that the command line reads.

    The ending of the name tells the format: `.sgm`, `.tsv`, `.jsonl.gz`; any other is plain text
    with one segment per line.
    """

    name: Annotated[_Name, Field(min_length=1, description="Name of the file, with its ending.")]
    role: Annotated[
        Role | None,
        Field(
            description="What the file holds; `table` for one file that holds everything, as "
            "`adequa score -i` reads it. Without it, guessed from the name and the content."
        ),
    ] = None
    text: Annotated[str | None, Field(description="The content, if it is text.")] = None
    base64: Annotated[
        str | None, Field(description="The content as base64, if it is not text.")
    ] = None
    system: Annotated[
        _Name | None,
        Field(description="Name of the system; by default that of the file without its ending."),
    ] = None


_Files = Annotated[list[RequestFile], Field(min_length=1, max_length=1_000, fail_fast=True)]
_Columns = Annotated[
    dict[Annotated[str, Field(max_length=20)], _References],
    Field(max_length=20, description="Names of the columns of a table, by field: `mt`, `ref`, …"),
]


_SystemNames = Annotated[
    list[_Name],
    Field(max_length=100, description="Columns of a table that hold one system each."),
]


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class FilesRequest(_Strict):
    """Files of a request, and how to read them."""

    columns: _Columns | None = None
    quoting: Annotated[Quoting, Field(description="How cells of CSV and TSV files are quoted.")] = (
        "auto"
    )
    language: Annotated[
        str | None,
        Field(
            max_length=100,
            description="Target language, or language pair: `de`, `en-de`. Detected by default.",
        ),
    ] = None

    @property
    def uploads(self) -> Sequence[RequestFile]:
        """The files."""
        files: Sequence[RequestFile] | None = getattr(self, "files", None)
        return files or ()

    @property
    def system_columns(self) -> Sequence[str]:
        """Columns of a table that hold one system each."""
        systems = getattr(self, "systems", None)
        return systems if isinstance(systems, list) else ()


class ReadRequest(FilesRequest):
    """A request to read files as the command line does."""

    model_config = _examples(
        {
            "files": [
                {"name": "old.txt", "text": "The cat sat on mat.\nHe have gone to home.\n"},
                {"name": "ref.txt", "text": "The cat sat on a mat.\nHe has gone home.\n"},
            ]
        }
    )
    files: Annotated[_Files, Field(description="Files, with their content.")]
    systems: _SystemNames | None = None
    texts: Annotated[
        bool, Field(description="Include the texts, and not only what was read of each file.")
    ] = True


def _systems_kind(value: object) -> str:
    return _NAMES if isinstance(value, list) else _TEXTS


_NAMES, _TEXTS = "systems: names", "systems: texts"  # tags of pydantic, which no key can be


class TextsRequest(FilesRequest):
    """Texts of a request: row by row, as columns of all systems, or in files."""

    rows: Annotated[
        Annotated[list[RequestRow], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(
            description="One object per hypothesis. Either this, or systems with references or "
            "sources, or files."
        ),
    ] = None
    systems: Annotated[
        Annotated[
            Annotated[dict[str, _Texts], Tag(_TEXTS)] | Annotated[_SystemNames, Tag(_NAMES)],
            Discriminator(_systems_kind),
        ]
        | None,
        Field(
            description="Outputs of each system, one per segment. The first is the baseline. With "
            "files, names of the columns of a table that hold one system each."
        ),
    ] = None
    references: Annotated[
        Annotated[list[_References], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(
            description="One reference per segment, or a list of references. Metrics that need "
            "none can do with sources."
        ),
    ] = None
    sources: Annotated[_Texts | None, Field(description="One source per segment.")] = None
    documents: Annotated[
        Annotated[list[_Name], Field(max_length=MOST_ROWS, fail_fast=True)] | None,
        Field(description="Name of the document of each segment."),
    ] = None
    files: Annotated[
        _Files | None, Field(description="Files in place of texts, as `/v1/read` takes them.")
    ] = None

    @property
    def outputs(self) -> Mapping[str, list[str]]:
        """Outputs of each system, if they are given as columns."""
        return self.systems if isinstance(self.systems, dict) else {}


_EXAMPLE: dict[str, Any] = {
    "systems": {
        "old": ["The cat sat on mat.", "He have gone to home."],
        "new": ["The cat sat on the mat.", "He went home."],
    },
    "references": ["The cat sat on a mat.", "He has gone home."],
}


class ScoreRequest(TextsRequest):
    """A request for scores, as `adequa score` computes them."""

    model_config = _examples(
        {
            "rows": [{"mt": "The cat sat on a mat.", "ref": "The cat sat on the mat."}],
            "metrics": ["chrf"],
        },
        {**_EXAMPLE, "metrics": ["chrf", "ter"], "segments": False},
    )
    metrics: _Metrics
    segments: Annotated[bool, Field(description="Include a score for each segment.")] = True
    by: Annotated[
        Literal["doc"] | None, Field(description="`doc` adds a score for each document.")
    ] = None


class CompareRequest(TextsRequest):
    """A request for a comparison, with the options of `adequa compare`."""

    model_config = _examples({**_EXAMPLE, "metrics": ["chrf"], "resamples": 100})
    metrics: _Metrics
    resamples: Annotated[_Count, Field(description="Number of bootstrap resamples.")] = RESAMPLES
    swaps: Annotated[
        _Count | None, Field(description="Number of swaps of approximate randomisation.")
    ] = None
    confidence: _Confidence = CONFIDENCE
    alpha: Annotated[
        float, Field(gt=0, lt=1, allow_inf_nan=False, description="Level of significance.")
    ] = ALPHA
    clusters: Annotated[
        str,
        Field(max_length=LONGEST_NAME, description="How ranks are formed: greedy or separated."),
    ] = "greedy"
    seed: _Seed = SEED
    like_sacrebleu: Annotated[bool, Field(description="Compute p-values as sacreBLEU does.")] = (
        False
    )
    segments: Annotated[bool, Field(description="Include all segments.")] = False
    keep: Annotated[
        bool,
        Field(description="Store the comparison for a while; the answer then has a link to it."),
    ] = False
    title: Annotated[str, Field(max_length=200, description="Title of the report.")] = ""


class RankRequest(TextsRequest):
    """A request for a ranking, as `adequa rank` computes it."""

    model_config = _examples({**_EXAMPLE, "metric": "chrf", "resamples": 100})
    metric: Annotated[
        _Metric | None,
        Field(description="A metric; without one, the ranker that comes with adequa."),
    ] = None
    resamples: Annotated[_Count, Field(description="Number of resamples for intervals.")] = 1000
    confidence: _Confidence = CONFIDENCE
    seed: _Seed = SEED
    segments: Annotated[
        bool, Field(description="For every segment, the probability that each system wins.")
    ] = False


class ExplainRequest(TextsRequest):
    """A request to say what each difference from the reference costs, as `adequa.explain` does."""

    model_config = _examples(
        {
            "rows": [
                {
                    "mt": "It cost not 300 euros in London.",
                    "ref": "It did not cost 500 euros in Leeds.",
                }
            ],
            "metric": "chrf",
        }
    )
    metric: Annotated[
        _Metric | None,
        Field(
            description="A metric; without one, `adequa` for English and `chrf` for other "
            "languages."
        ),
    ] = None
    worst: Annotated[
        _Count | None,
        Field(description="Number of segments to explain, those with the worst scores; or all."),
    ] = None
    thorough: Annotated[
        bool, Field(description="Take several times as long, for more exact costs.")
    ] = False


REQUESTS: tuple[type[BaseModel], ...] = (
    *(RequestRow, RequestFile, ReadRequest, ScoreRequest, CompareRequest, RankRequest),
    ExplainRequest,
)


class ReadQuestion(BaseModel):
    """What a person can decide so that a file is read."""

    kind: Literal["quoting", "columns", "format"]
    file: str = Field(description="Name of the file.")
    columns: list[str] = Field(default_factory=list, description="Columns of the table.")
    ending: str = Field("", description="The ending that the name should have.")
    role: Role | None = Field(None, description="The role that the file has if it is plain text.")


class ErrorResponse(BaseModel):
    """An error: one sentence."""

    error: str
    question: ReadQuestion | None = Field(None, description="Of files that could not be read.")


class StatusResponse(BaseModel):
    """The state of the server."""

    status: str


class LanguageResponse(BaseModel):
    """The language of translations, and how it is known."""

    code: str | None
    name: str | None
    origin: Literal["given", "column", "detected", "unknown"]
    source: str = Field("", description="Code of the source language, if it is known.")


class FileSummary(BaseModel):
    """What was read of a file."""

    name: str
    format: str
    role: Role
    segments: int
    references: int | None = Field(description="Of one segment; null if the file has none.")
    systems: list[str]
    sources: bool = Field(description="Whether the file has sources.")
    quoting: Literal["rfc4180", "none"] | None = Field(
        description="How cells of a CSV or TSV file were read; null for all others."
    )
    text: str = Field(description="All of this in words.")


class ReadResponse(BaseModel):
    """Texts of files, in the shape of a request for scores or a comparison.

    Without hypotheses among the files, or with neither references nor a source, the texts of the
    others. `references` is empty if there are none.
    """

    files: list[FileSummary]
    columns: list[str] = Field(description="Names of the columns of a table.")
    language: LanguageResponse
    systems: dict[str, list[str]] = Field(default_factory=dict)
    references: list[list[str]] = Field(default_factory=list)
    sources: list[str] | None = None
    documents: list[str] | None = None
    notes: list[str] = Field(default_factory=list)


class GroupScoreResponse(BaseModel):
    """The score of one document."""

    name: str
    score: float | None


class SystemScoresResponse(BaseModel):
    """The scores of one system; groups and segments if they were requested."""

    name: str
    score: float | None = Field(description="null if it is not a finite number.")
    groups: list[GroupScoreResponse] = Field(default_factory=list)
    segments: list[float | None] = Field(default_factory=list)


class MetricScoresResponse(BaseModel):
    """The scores of one metric."""

    name: str
    signature: str
    segment_signature: str = Field("", description="If it differs from that of systems.")
    warning: str = Field("", description="Why the scores mean little for the language, if so.")
    higher_is_better: bool
    systems: list[SystemScoresResponse]


class ScoresResponse(BaseModel):
    """Scores, in the shape of `adequa score --format json`."""

    by: str = Field("", description="The column by which groups were formed, if any.")
    language: LanguageResponse
    metrics: list[MetricScoresResponse]


class ComparedSystem(BaseModel):
    """The score of one system, its interval and its rank."""

    name: str
    score: float | None
    low: float | None
    high: float | None
    rank: int


class ComparedMetric(BaseModel):
    """All systems by one metric, and tests between all pairs of them."""

    name: str
    signature: str
    segment_signature: str
    warning: str = Field("", description="Why the scores mean little for the language, if so.")
    higher_is_better: bool
    systems: list[ComparedSystem]
    pairs: list[dict[str, Any]]


class ComparisonResponse(BaseModel):
    """A comparison, in the shape of `adequa compare --format json`."""

    verdict: str = Field(description="Who beats whom, in one or two sentences.")
    systems: list[str]
    baseline: str
    segment_count: int
    language: LanguageResponse
    settings: dict[str, Any]
    metrics: list[ComparedMetric]
    buckets: list[dict[str, Any]]
    bands: list[dict[str, Any]] = Field(description="Fractions of segments by quality, per metric.")
    words: list[dict[str, Any]] = Field(description="Accuracy of words by frequency.")
    ngrams: list[dict[str, Any]] = Field(description="N-grams matched more often than another.")
    notes: list[str]
    segments: list[dict[str, Any]] = Field(default_factory=list, description="If requested.")
    disagreements: list[dict[str, Any]] = Field(default_factory=list, description="If requested.")
    id: str = Field("", description="With `keep`: the name of the stored comparison.")
    link: str = Field("", description="With `keep`: the path of its page.")
    expires_in: float | None = Field(
        None, description="With `keep`: seconds until it is dropped; null if it stays."
    )


class RecentComparison(BaseModel):
    """A comparison that the server stores."""

    id: str
    link: str = Field(description="Path of its page.")
    title: str
    created: str = Field(description="Date and time, UTC.")
    systems: list[str]
    metrics: list[str]
    segments: int
    language: LanguageResponse
    expires_in: float | None = Field(description="Seconds until it is dropped; null if it stays.")


class RecentResponse(BaseModel):
    """The comparisons that the server stores, the newest first."""

    listed: bool = Field(description="Whether this server lists its comparisons.")
    comparisons: list[RecentComparison]


class IntervalResponse(BaseModel):
    """A value and its interval."""

    value: float | None
    low: float | None
    high: float | None


class RankedSystem(BaseModel):
    """One system of a ranking."""

    rank: int
    system: str
    expected_wins: IntervalResponse
    strength: IntervalResponse
    better_than: dict[str, float]
    segments: list[float] = Field(default_factory=list, description="If requested.")


class RankingResponse(BaseModel):
    """A ranking, in the shape of `adequa rank --format json`."""

    language: LanguageResponse
    warning: str = Field("", description="Why the ranking means little for the language, if so.")
    signature: str
    confidence: float
    systems: list[RankedSystem]


class PieceResponse(BaseModel):
    """A part of a translation that differs from the reference, and what it costs.

    Spans are the first character and the one after the last, counted from 0 in Unicode code
    points. That of an omission in the hypothesis is empty, and so is that of an addition in the
    reference.
    """

    hypothesis: str = Field(description="The text in the hypothesis.")
    reference: str = Field(description="The text in the reference.")
    kind: Kind
    cost: float = Field(
        description="In points of the metric; above 0 if it makes the translation worse."
    )
    severity: Severity
    hypothesis_span: list[int]
    reference_span: list[int]


class ExplainedSegmentResponse(BaseModel):
    """A segment of a system with its pieces, the costliest first."""

    system: str
    segment: int = Field(description="Its number within the system, from 1.")
    score: float
    repaired: float = Field(description="Score with all pieces repaired.")
    penalty: float = Field(
        description="Sum of the severities with the weights of MQM: critical 10, major 5, minor 1."
    )
    reference: int = Field(1, description="Number of the closest reference, if there are several.")
    pieces: list[PieceResponse]


class GroupLossResponse(BaseModel):
    """What pieces of similar kinds cost in a segment."""

    loss: float
    fraction: float = Field(description="Of the loss of the system.")


class SystemLossResponse(BaseModel):
    """Where a system loses its score: means of its segments."""

    system: str
    segments: int = Field(description="Number of explained segments.")
    loss: float
    groups: dict[str, GroupLossResponse]
    severities: dict[str, float] = Field(description="Number of pieces of each severity.")


class LossDifferenceResponse(BaseModel):
    """Whether two systems lose differently by pieces of similar kinds."""

    first: str
    second: str
    group: str
    difference: float = Field(description="Loss of the second less that of the first.")
    p: float
    p_adjusted: float = Field(description="Corrected by Holm.")
    significant: bool


class ExplanationResponse(BaseModel):
    """An explanation: segments with what each of their differences from the reference costs."""

    metric: str
    signature: str
    higher_is_better: bool
    language: LanguageResponse
    warning: str = Field("", description="Why the costs mean little for the language, if so.")
    scored: int = Field(description="Number of segments of the request.")
    systems: list[SystemLossResponse]
    differences: list[LossDifferenceResponse] = Field(
        description="Tests of all pairs of systems, if all their segments are explained."
    )
    segments: list[ExplainedSegmentResponse]
    notes: list[str]


class ServedMetric(BaseModel):
    """A metric of the server, with the settings that requests may change."""

    name: str
    summary: str
    higher_is_better: bool
    lowest: float | None
    highest: float | None
    settings: dict[str, Any]
    signature: str
    everyday: bool = Field(description="Whether most people would choose among it and others.")
    reads: dict[Literal["reference", "source"], Literal["required", "optional"]] = Field(
        description="What it reads of a segment beside the hypothesis."
    )
    languages: list[str] | None = Field(
        description="Codes of the languages that it knows; null for any."
    )


class ServedLanguage(BaseModel):
    """A language that requests may name."""

    code: str
    name: str


class MetricsResponse(BaseModel):
    """The metrics of the server, those it uses by default, and its limits."""

    metrics: list[ServedMetric]
    defaults: list[str]
    limits: dict[str, float]
    languages: list[ServedLanguage]
    formats: list[str] = Field(description="Endings of the names of files that are read.")


RequestModel = TypeVar("RequestModel", bound=BaseModel)


def parse(model: type[RequestModel], body: bytes) -> RequestModel:
    """A request from its JSON; one that cannot be read, or is wrong, is refused by a sentence."""
    try:
        request = model.model_validate_json(body)
        if isinstance(request, TextsRequest) and request.outputs:
            json.loads(body, object_pairs_hook=_refuse_duplicates)
        return request
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            raise RequestError(400, f"This is not JSON: {_syntax_error(first)}.") from None
        raise RequestError(422, f"{_validation_error(model, first)}.") from None
    except RecursionError:
        raise RequestError(400, "This JSON is too deeply nested.") from None


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    """Raise if an object has a key twice: of two systems of one name, one would be lost."""
    if len(dict(pairs)) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise RequestError(422, f'"{name[:40]}" is given more than once.')


def check_sizes(body: bytes, limits: Limits) -> None:
    """Raise if a large body has more keys or rows than any request.

    Validation by the models would find that too, but only after seconds in which nothing else runs.
    """
    try:
        content = from_json(body)
    except (ValueError, RecursionError):
        return  # `parse` reports it
    if not isinstance(content, dict):
        return
    _check_keys(content)
    rows, systems = content.get("rows"), content.get("systems")
    if isinstance(systems, dict):
        limits.check_systems(len(systems))
        columns = [column for column in systems.values() if isinstance(column, list)]
        limits.check_segments(sum(map(len, columns)))
    if isinstance(rows, list):
        limits.check_segments(len(rows))
        for row in rows:
            if isinstance(row, dict):
                _check_keys(row)


def _check_keys(content: dict[str, Any]) -> None:
    if len(content) > _MOST_KEYS:
        raise RequestError(422, f"An object has {len(content):,} keys, more than any request has.")


def _syntax_error(error: ErrorDetails) -> str:
    """What is wrong with JSON, and where."""
    reason, at, place = str(error.get("ctx", {}).get("error", "")).partition(" at line ")
    plain = next((text for words, text in _SYNTAX_ERRORS.items() if words in reason), reason)
    return f"{plain} (line {place.replace(' column', ', column')})" if at else plain


def _validation_error(model: type[BaseModel], error: ErrorDetails) -> str:
    """What is wrong with a request: where, which field, and what it must be.

    The location is written as 'rows, item 1: "mt"'; items count from 1.
    """
    location = [part for part in error["loc"] if part not in (_NAMES, _TEXTS)]
    *parents, last = location or (None,)
    is_row = model is RequestRow or (parents and parents[0] == "rows")
    thing = "row" if is_row else "request"
    if last is None:
        subject = f"A {thing}"
    else:
        subject = f"item {last + 1:,}" if isinstance(last, int) else f'"{last[:40]}"'
    problem = _PROBLEMS.get(error["type"], "")
    if problem:
        kind = _KINDS.get(type(error["input"]), "this")
        problem = problem.format(kind=kind, **error.get("ctx", {}))
    elif error["type"] != "extra_forbidden":
        problem = f"is refused: {error['msg']}"
    elif is_row and last in _ROW_NAMES:
        problem = "is given under another name too; leave one of them out"
    else:
        fields = (RequestRow if is_row else model).model_fields
        problem = f"is not a field of a {thing}; it has: {', '.join(fields)}"
    where = ", ".join(
        f"item {part + 1:,}" if isinstance(part, int) else part[:40] for part in parents
    )
    return f"{where}: {subject} {problem}" if where else f"{subject} {problem}"


_REASONS = {
    400: "The body is not JSON.",
    401: "The server needs a token.",
    404: "There is no such comparison, or no longer.",
    408: "The request did not arrive in time.",
    413: "The request is too large; the sentence names the limit.",
    415: "The content type is not supported.",
    421: "The server answers to localhost alone.",
    422: "The request cannot be fulfilled; the sentence says why.",
    429: "The server is busy; Retry-After says when to try again.",
    503: "The server is not ready.",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an endpoint, all of one shape."""
    return {
        status: {"description": _REASONS[status], "model": ErrorResponse} for status in statuses
    }


ACCESS_ERRORS = error_responses(401, 421)
BODY_ERRORS = error_responses(400, 401, 408, 413, 415, 421, 422, 429, 503)


def json_responses(
    model: type[BaseModel], *, lines: str = "", headers: Mapping[str, str] | None = None
) -> dict[int | str, Any]:
    """The result of an endpoint; `lines` describes it as a stream, where it can be one."""
    response: dict[str, Any] = {"description": "The result.", "model": model}
    if lines:
        response["content"] = {LINES: {"schema": {"type": "string", "description": lines}}}
    if headers:
        response["headers"] = {
            name: {"description": description, "schema": {"type": "string"}}
            for name, description in headers.items()
        }
    return {200: response}


def text_responses(media_type: str) -> dict[int | str, Any]:
    """The result of an endpoint that answers with text."""
    content = {media_type: {"schema": {"type": "string"}}}
    return {200: {"description": "The file.", "content": content}}


def request_body(model: type[BaseModel], *, lines: str = "") -> dict[str, Any]:
    """The description of a body, which the service reads and validates within its limits."""
    content: dict[str, Any] = {JSON: {"schema": {"$ref": _COMPONENTS + model.__name__}}}
    if lines:
        content[LINES] = {"schema": {"type": "string", "description": lines}}
    return {"requestBody": {"required": True, "content": content}}


def complete_document(app: FastAPI, *, secured: bool) -> None:
    """Add the models of requests to the document of an application that has all its routes."""
    document = app.openapi()
    components = document.setdefault("components", {})
    requests = [(model, "validation") for model in REQUESTS]
    _, definitions = models_json_schema(requests, ref_template=_COMPONENTS + "{model}")  # type: ignore[arg-type]  # literal modes
    schemas = {**definitions["$defs"], **components.get("schemas", {})}
    # FastAPI's own errors do not occur: any text is a name in a path.
    components["schemas"] = {
        name: schema for name, schema in schemas.items() if "ValidationError" not in name
    }
    for path, methods in document["paths"].items():
        if "{name}" in path:
            methods["get"]["responses"].pop("422")
    if secured:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    app.openapi_schema = document
