"""Common parts of the OpenAPI schema: problems, idempotency, summaries, examples."""

from __future__ import annotations

from typing import Any

import yaml
from django.conf import settings
from drf_spectacular.openapi import AutoSchema as BaseAutoSchema
from drf_spectacular.utils import OpenApiParameter

from kschedweb.engine.json_types import Json
from kschedweb.web.preconditions import IF_MATCH
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
TEXTS, FILES = ("text/csv", "application/yaml"), ("multipart/form-data", "application/gzip")
# Django's limits of integer fields, which depend on the database.
DATABASE_LIMITS = {2**31 - 1, 2**63 - 1}
CORES, BYTES, SECONDS = "Millicores.", "Bytes.", "Seconds."
SHARE, PERCENT, POINTS = "Thousandths of allocatable.", "Percent.", "Weighted points."
# Units of numbers whose serializers do not say them: by name, or by component and name.
UNITS = {
    **dict.fromkeys(("cpu_allocatable", "cpu_request", "cpu_requested"), CORES),
    **dict.fromkeys(("memory_allocatable", "memory_request", "memory_requested", "size"), BYTES),
    **dict.fromkeys(("cpu_share", "memory_share"), SHARE),
    **dict.fromkeys(("interval", "time", "latency", "waited"), SECONDS),
    **dict.fromkeys(("RunPod.arrived", "RunPod.bound", "RunPod.left"), "Seconds in the simulation."),
    **dict.fromkeys(("SkewPoint.mean", "SkewPoint.hottest", "SkewPoint.coldest", "Bar.low", "Bar.high"), PERCENT),
    **dict.fromkeys(("Distribution.mean", "Distribution.standard_deviation"), PERCENT),
    **dict.fromkeys(("difference", "margin", "Cause.mean", "Measures.most"), POINTS),
    "qps": "Requests a second.",
    "burst": "Requests at once.",
}
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


def drop_database_limits(result: Json, **_: Any) -> Json:
    """Remove limits of database integers, which differ between databases. A hook of drf-spectacular."""
    for component in result.get("components", {}).get("schemas", {}).values():
        for field in component.get("properties", {}).values():
            if field.get("maximum") in DATABASE_LIMITS:
                field.pop("format", None)
                del field["maximum"]
                if field.get("minimum", 0) < 0:
                    del field["minimum"]
    return result


def add_units(result: Json, **_: Any) -> Json:
    """Add the units of numbers. A hook of drf-spectacular."""
    for component, schema in result["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            unit = UNITS.get(f"{component}.{name}", UNITS.get(name))
            if unit and field.get("type") in ("integer", "number"):
                field.setdefault("description", unit)
    return result


def add_examples(result: Json, **_: Any) -> Json:
    """Give each operation with a body its example of ``kschedweb/examples.yaml``. A hook of drf-spectacular."""
    examples = yaml.safe_load((settings.BASE_DIR / "kschedweb" / "examples.yaml").read_text(encoding="utf-8"))
    for operations in result["paths"].values():
        for operation in operations.values():
            example = examples.get(operation["operationId"])
            for kind, media in operation.get("requestBody", {}).get("content", {}).items():
                if example is not None and isinstance(example, str) == (kind in TEXTS) and kind not in FILES:
                    media["example"] = example
    return result


def add_problems(result: Json, **_: Any) -> Json:
    """Add the errors of each operation. A hook of drf-spectacular."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    components.setdefault("responses", {})["Problem"] = {"description": "What went wrong.", "content": content}
    for path, operations in result["paths"].items():
        for operation in operations.values():
            parameter_names = {parameter["name"] for parameter in operation.get("parameters", ())}
            missing = ["404"] if "{" in path else []
            edited = ["412", "428"] if IF_MATCH.name in parameter_names else []
            statuses = ["400", "401", "403", *missing, *edited, "429", "default"]
            for status in statuses:
                operation["responses"].setdefault(status, REFERENCE)
    return result
