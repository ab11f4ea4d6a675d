"""The REST API as a page, made from the same OpenAPI document that programs read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

Json = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A parameter, a member of a body, or an answer; ``shape`` names a component to look up, "" if there is none."""

    name: str
    type: str
    shape: str
    required: bool
    description: SafeString


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    summary: SafeString
    description: SafeString
    parameters: list[Field]
    body: list[Field]
    answers: list[Field]


@dataclass(frozen=True)
class Shape:
    """A component of the schema: an object with fields, or one of a few words."""

    name: str
    description: SafeString
    fields: list[Field]
    words: list[str]


def marked(text: str) -> SafeString:
    """Escaped text whose `quoted` parts are code."""
    parts = text.split("`")
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", p) if n % 2 else p,) for n, p in enumerate(parts))
    )


def type_of(schema: Json) -> tuple[str, str]:
    """The type in words, and the component it refers to ("" where it refers to none)."""
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


def field_of(name: str, schema: Json, required: bool, description: str = "") -> Field:
    words, shape = type_of(schema)
    if schema.get("nullable"):
        words += " or null"
    return Field(name, words, shape, required, marked(description or schema.get("description", "")))


def _answer(status: str, response: Json) -> Field:
    code = int(status) if status.isdigit() else 0
    phrase = HTTPStatus(code).phrase if code else "Any other failure"
    if "$ref" in response:
        return Field(status, "Problem", "Problem", False, marked(phrase))
    schemas = [media.get("schema", {}) for media in response.get("content", {}).values()]
    return field_of(status, schemas[0], False, phrase) if schemas else Field(status, "empty", "", False, marked(phrase))


def _operation(path: str, method: str, operation: Json) -> Operation:
    content = operation.get("requestBody", {}).get("content", {})
    parameters = operation.get("parameters", [])
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=marked(operation.get("summary", "")),
        description=marked(operation.get("description", "")),
        parameters=[
            field_of(item["name"], item["schema"], item.get("required", False), item.get("description", ""))
            for item in sorted(parameters, key=lambda item: item["in"] != "path")
        ],
        body=[field_of(media, value.get("schema", {}), True) for media, value in content.items()],
        answers=[_answer(status, response) for status, response in operation["responses"].items()],
    )


def _shape(name: str, schema: Json) -> Shape:
    required = schema.get("required", [])
    fields = [field_of(key, value, key in required) for key, value in schema.get("properties", {}).items()]
    return Shape(name, marked(schema.get("description", "")), fields, [str(word) for word in schema.get("enum", [])])


@cache
def reference() -> tuple[dict[str, list[Operation]], list[Shape]]:
    """The operations by their tag, and the shapes that they name."""
    schema = SchemaGenerator().get_schema(public=True)
    groups: dict[str, list[Operation]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    return groups, [_shape(name, value) for name, value in sorted(schema["components"]["schemas"].items())]


@require_safe
@requires(Action.VIEW)
def page(request: HttpRequest) -> HttpResponse:
    groups, shapes = reference()
    return render(request, "dashboard/reference.html", {"groups": groups, "shapes": shapes})
