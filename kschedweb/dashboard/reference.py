"""The REST API as a page, made from the OpenAPI document that programs read."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString


@dataclass(frozen=True)
class ApiField:
    """A parameter, a member of a body, or an answer."""

    name: str
    type: str
    # The name of a component, "" if there is none.
    shape: str
    required: bool
    description: SafeString
    # "path", "query" or "header" for a parameter.
    place: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation of the API."""

    id: str
    method: str
    path: str
    summary: SafeString
    description: SafeString
    parameters: list[ApiField]
    body: list[ApiField]
    answers: list[ApiField]
    # The media type of the body, and an example of it; both "" without a body.
    sends: str = ""
    example: str = ""

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether method, address and summary contain all ``words``, in any case."""
        text = f"{self.method} {self.path} {self.summary}".lower()
        return all(word in text for word in words)

    @property
    def command(self) -> str:
        """Return the shell command that calls it, with the address of the site in ``$SITE``."""
        words = ["curl", "-H", '"Authorization: Bearer $TOKEN"']
        words += ["-X", self.method] if self.method != "GET" else []
        words += [
            f"-H '{parameter.name}: …'"
            for parameter in self.parameters
            if parameter.place == "header" and parameter.required
        ]
        if self.sends:
            words += ["-H", f"'Content-Type: {self.sends}'", "-d", shlex.quote(self.example)]
        return " ".join([*words, f'"$SITE{self.path}"'])


@dataclass(frozen=True)
class Shape:
    """A component of the schema: an object with fields, or one of a few words."""

    name: str
    description: SafeString
    fields: list[ApiField]
    words: list[str]


def render_code(text: str) -> SafeString:
    """Return escaped text whose `quoted` parts are code."""
    parts = text.split("`")
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", p) if n % 2 else p,) for n, p in enumerate(parts))
    )


def type_of(schema: Json) -> tuple[str, str]:
    """Return the type in words, and the component that it refers to, "" for none."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return name, name
    for union in ("allOf", "oneOf", "anyOf"):
        if schema.get(union):
            return type_of(schema[union][0])
    if schema.get("type") == "array":
        inner, shape = type_of(schema.get("items", {}))
        return f"list of {inner}", shape
    if isinstance(schema.get("additionalProperties"), dict) and "properties" not in schema:
        inner, shape = type_of(schema["additionalProperties"])
        return f"map of {inner}", shape
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"])), ""
    words = [schema.get("type", "any"), schema.get("format", "")]
    return " ".join(word for word in words if word), ""


def field_of(name: str, schema: Json, required: bool, description: str = "") -> ApiField:
    words, shape = type_of(schema)
    if schema.get("nullable"):
        words += " or null"
    return ApiField(name, words, shape, required, render_code(description or schema.get("description", "")))


def _read_answer(status: str, response: Json) -> ApiField:
    code = int(status) if status.isdigit() else 0
    phrase = HTTPStatus(code).phrase if code else "Any other failure"
    if "$ref" in response:
        return ApiField(status, "Problem", "Problem", False, render_code(phrase))
    schemas = [media.get("schema", {}) for media in response.get("content", {}).values()]
    return (
        field_of(status, schemas[0], False, phrase)
        if schemas
        else ApiField(status, "empty", "", False, render_code(phrase))
    )


def _read_operation(path: str, method: str, operation: Json) -> Operation:
    content = operation.get("requestBody", {}).get("content", {})
    parameters = operation.get("parameters", [])
    sends, example = next(((kind, media["example"]) for kind, media in content.items() if "example" in media), ("", ""))
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=render_code(operation.get("summary", "")),
        description=render_code(operation.get("description", "")),
        parameters=[
            replace(
                field_of(item["name"], item["schema"], item.get("required", False), item.get("description", "")),
                place=item["in"],
            )
            for item in sorted(parameters, key=lambda item: item["in"] != "path")
        ],
        body=[field_of(media, value.get("schema", {}), True) for media, value in content.items()],
        answers=[_read_answer(status, response) for status, response in operation["responses"].items()],
        sends=sends,
        example=example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False),
    )


def _read_shape(name: str, schema: Json) -> Shape:
    required = schema.get("required", [])
    fields = [field_of(key, value, key in required) for key, value in schema.get("properties", {}).items()]
    return Shape(
        name, render_code(schema.get("description", "")), fields, [str(word) for word in schema.get("enum", [])]
    )


# The document is slow to generate, and is the same until the process ends.
@cache
def load_reference() -> tuple[dict[str, list[Operation]], list[Shape]]:
    """Return the operations by their tags, and the components that they name."""
    schema = SchemaGenerator().get_schema(public=True)
    groups: dict[str, list[Operation]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_read_operation(path, method, operation))
    return groups, [_read_shape(name, value) for name, value in sorted(schema["components"]["schemas"].items())]


@require_safe
@requires(Action.VIEW)
def show_reference(request: HttpRequest) -> HttpResponse:
    groups, shapes = load_reference()
    search = request.GET.get("search", "").strip()[:100]
    words = search.lower().split()
    matching = {
        tag: [operation for operation in operations if operation.matches(words)] for tag, operations in groups.items()
    }
    context = {
        "groups": {tag: operations for tag, operations in matching.items() if operations},
        "shapes": shapes,
        "search": search,
        "match_count": sum(map(len, matching.values())),
        "total": sum(map(len, groups.values())),
    }
    return render(request, "dashboard/reference.html", context)
