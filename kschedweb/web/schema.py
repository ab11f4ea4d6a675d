"""Common parts of the OpenAPI schema: problems, idempotency, summaries."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema as BaseAutoSchema
from drf_spectacular.utils import OpenApiParameter

from kschedweb.web.problems import MEDIA_TYPE
from kschedweb.web.rest import IDEMPOTENCY_HEADER, IdempotencyMixin

PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "request_id", "errors"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What went wrong and what to do."},
        "instance": {"type": "string", "format": "uri-reference", "description": "The address that was asked for."},
        "request_id": {"type": "string", "description": "The log names the request by it."},
        "errors": {
            "type": "array",
            "description": "Where in the input, if it is about the input.",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
DATABASE_LIMITS = {2**31 - 1, 2**63 - 1}
REFERENCE = {"$ref": "#/components/responses/Problem"}


class AutoSchema(BaseAutoSchema):
    """Takes summary and description from the method's docstring, and adds the ``Idempotency-Key`` header."""

    def get_override_parameters(self) -> list[Any]:
        if self.method != "POST" or not isinstance(self.view, IdempotencyMixin):
            return []
        description = "Any text of up to 128 characters; the same request with the same key is done only once in a day."
        return [OpenApiParameter(IDEMPOTENCY_HEADER, str, OpenApiParameter.HEADER, description=description)]

    def get_summary(self) -> str | None:
        first_line = self.get_description().strip().splitlines()[:1]
        return first_line[0].rstrip(".") if first_line else None


def drop_database_limits(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook that removes limits of database integers, which differ between databases."""
    for component in result.get("components", {}).get("schemas", {}).values():
        for field in component.get("properties", {}).values():
            if field.get("maximum") in DATABASE_LIMITS:
                field.pop("format", None)
                del field["maximum"]
                if field.get("minimum", 0) < 0:
                    del field["minimum"]
    return result


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook that adds the errors of each operation."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    components.setdefault("responses", {})["Problem"] = {"description": "What went wrong.", "content": content}
    for path, operations in result["paths"].items():
        for operation in operations.values():
            statuses = ["400", "401", "403", *(["404"] if "{" in path else []), "429", "default"]
            for status in statuses:
                operation["responses"].setdefault(status, REFERENCE)
    return result
