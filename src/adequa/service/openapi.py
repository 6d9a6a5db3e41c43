"""The OpenAPI document of the service, and the page at `/docs` that shows it.

The page is our own, because Swagger UI needs a content policy that allows inline styles, and more
than a megabyte of script from a CDN or a package; this one needs a few lines.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from adequa.service.limits import JSON, LINES
from adequa.service.schemas import REQUESTS, ErrorAnswer
from adequa.tables import html_text

_REF = "#/components/schemas/"
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


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an endpoint, all of one shape."""
    return {status: {"description": _REASONS[status], "model": ErrorAnswer} for status in statuses}


ACCESS_ERRORS = errors(401, 421)
BODY_ERRORS = errors(400, 401, 408, 413, 415, 421, 422, 429, 503)


def answer(
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


def text_answer(media_type: str) -> dict[int | str, Any]:
    """The result of an endpoint that answers with text."""
    content = {media_type: {"schema": {"type": "string"}}}
    return {200: {"description": "The file.", "content": content}}


def request_body(model: type[BaseModel], *, lines: str = "") -> dict[str, Any]:
    """The description of a body, which the service reads and validates within its limits."""
    content: dict[str, Any] = {JSON: {"schema": {"$ref": _REF + model.__name__}}}
    if lines:
        content[LINES] = {"schema": {"type": "string", "description": lines}}
    return {"requestBody": {"required": True, "content": content}}


def complete_document(app: FastAPI, *, secured: bool) -> None:
    """Add the models of requests to the document of an application that has all its routes."""
    document = app.openapi()
    components = document.setdefault("components", {})
    requests = [(model, "validation") for model in REQUESTS]
    _, definitions = models_json_schema(requests, ref_template=_REF + "{model}")  # type: ignore[arg-type]  # literal modes
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


def documentation(document: Mapping[str, Any], origin: str) -> str:
    """The document as HTML: every operation with an example and a form, and all schemas."""
    operations = [
        _operation(document, path, method, operation, origin)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = document["components"]["schemas"]
    return "\n".join(
        [*operations, "<h2>Schemas</h2>", *(_schema(name, schemas[name]) for name in schemas)]
    )


def _operation(
    document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any], origin: str
) -> str:
    parameters = operation.get("parameters", [])
    content = operation.get("requestBody", {}).get("content", {})
    example = _example(document, content)
    parts = [
        f'<section class="card operation"><h2><code>{method.upper()} {html_text(path)}</code></h2>',
        f"<p>{html_text(operation['summary'])}.</p>",
    ]
    if parameters:
        rows = [
            (
                f"<code>{html_text(each['name'])}</code>",
                f"{each['in']}, {_type(each['schema'])}",
                html_text(each.get("description", "")),
            )
            for each in parameters
        ]
        parts.append(_table(("Parameter", "Type", "Description"), rows))
    if content:
        parts.append(_table(("Body", "Content"), _contents(content)))
    parts += [
        f'<pre tabindex="0" aria-label="Example">{html_text(_curl(origin, path, example))}</pre>',
        _form(path, method, parameters, example),
        _table(("Status", "Description", "Content"), _responses(operation["responses"])),
        "</section>",
    ]
    return "\n".join(parts)


def _example(document: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """The first example of a body, or an empty text."""
    if JSON not in content:
        return ""
    name = content[JSON]["schema"]["$ref"].removeprefix(_REF)
    return json.dumps(document["components"]["schemas"][name]["examples"][0], indent=2)


def _curl(origin: str, path: str, example: str) -> str:
    command = f"curl -s {shlex.quote(origin + path)}"
    if not example:
        return command
    return f"{command} -H 'Content-Type: {JSON}' -d {shlex.quote(example)}"


def _form(path: str, method: str, parameters: Sequence[Mapping[str, Any]], example: str) -> str:
    """A form that sends the request; docs.js shows the answer."""
    label = f"{method.upper()} {html_text(path)}"
    fields = [
        f'<label>{html_text(each["name"])} <input name="{html_text(each["name"])}"></label>'
        for each in parameters
        if each["in"] == "path"
    ]
    if example:
        fields.append(
            f'<textarea name="body" rows="8" spellcheck="false" aria-label="Body of {label}">'
            f"{html_text(example)}</textarea>"
        )
    return (
        f'<form data-method="{method.upper()}" data-path="{html_text(path)}">{"".join(fields)}'
        f'<button aria-label="Send {label}">Send</button>'
        f'<pre tabindex="0" role="status" aria-label="Answer of {label}" hidden></pre></form>'
    )


def _responses(responses: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for status, response in sorted(responses.items()):
        contents = (f"{kind}: {text}" for kind, text in _contents(response.get("content", {})))
        yield status, html_text(response["description"]), "<br>".join(contents)


def _contents(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for media_type, body in content.items():
        schema = body.get("schema", {})
        yield html_text(media_type), html_text(schema.get("description", "")) or _type(schema)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"<code>{html_text(field)}</code>",
            _type(content),
            "required" if field in required else "",
            html_text(content.get("description", "")),
        )
        for field, content in schema["properties"].items()
    ]
    return (
        f'<section class="card" id="{name}"><h3>{name}</h3>'
        f"<p>{html_text(schema.get('description', ''))}</p>"
        f"{_table(('Field', 'Type', '', 'Description'), rows)}</section>"
    )


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "const" in schema:
        return f"<code>{html_text(json.dumps(schema['const']))}</code>"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return html_text(str(schema.get("type", "any")))


def _table(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(
        f'<th scope="col">{heading}</th>' if heading else "<td></td>" for heading in headings
    )
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'
