"""The engine's JSON Schema of a scenario as shapes of form fields.

The schema has all fields and help texts. This module simplifies it to one input for each value.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.schema import json_schema
from kschedweb.web.translating import gettext_lazy as _

# A JSON Schema.
Schema = Json

# Only kinds with a title can be added in the form.
TITLES = {
    "addNodes": _("Add nodes"),
    "drainNodes": _("Drain nodes"),
    "cordonNodes": _("Cordon nodes"),
    "uncordonNodes": _("Uncordon nodes"),
    "removeNodes": _("Remove nodes"),
    "taintNodes": _("Taint nodes"),
    "labelNodes": _("Label nodes"),
    "resizeNodes": _("Resize nodes"),
    "setConditions": _("Set conditions of nodes"),
    "evictPods": _("Evict pods"),
    "failZone": _("Fail a zone"),
    "scaleWorkload": _("Scale a workload"),
    "addWorkload": _("Add a workload"),
    "removeWorkload": _("Remove a workload"),
    "setRequests": _("Set requests of a workload"),
    "autoscaleWorkload": _("Autoscale a workload"),
    "cronWorkload": _("Scale a workload by cron"),
    "trace": _("Replay a recording"),
    "generate": _("Generate pods"),
}
# The initial content of a new change or arrival.
NEW: dict[str, dict[str, object]] = {
    "addNodes": {"count": 1},
    "scaleWorkload": {"replicas": 1},
    "autoscaleWorkload": {"min": 1, "max": 10, "targetCpu": 80},
    "cronWorkload": {"entries": [{"schedule": "0 8 * * *", "replicas": 10}, {"schedule": "0 20 * * *", "replicas": 2}]},
    "trace": {"format": "openb"},
    "generate": {"perHour": 60, "shapes": [{"cpu": "500m", "memory": "1Gi", "life": "2h"}]},
}
# A row of a table of taints.
_TAINT: Schema = {
    "type": "object",
    "properties": {
        "key": {"type": "string"},
        "value": {"type": "string"},
        "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
    },
}
# The columns of tables; what a table does not show is edited in the YAML.
_TABLES = {"shapes": ("cpu", "memory", "weight", "life"), "entries": ("schedule", "replicas"), "steps": ("at", "cores")}
# Objects that are shown as groups of inputs; other objects are edited as YAML.
_GROUPS = ("tide", "load", "conditions", "admission")


@cache
def form_properties(*path: str) -> dict[str, Schema]:
    """Return the fields at ``path`` of a document, such as ``("changes", "addNodes")``; the path skips lists."""
    part = json_schema()
    for key in path:
        part = part["properties"][key]
        part = part.get("items", part)
    return {key: _simplify_item(key, item) for key, item in part["properties"].items()}


@cache
def item_kinds(section: str) -> dict[str, Schema]:
    """Return the kinds of changes or arrivals, each with the shape of its form."""
    properties = json_schema()["properties"][section]["items"]["properties"]
    return {
        key: {
            "type": "object",
            "description": item.get("description", ""),
            "properties": form_properties(section, key),
        }
        for key, item in properties.items()
        if key in TITLES
    }


@cache
def time_shape() -> Schema:
    """Return the shape of the field for the time of a change."""
    return form_properties("changes")["at"]


def field_defaults(fields: dict[str, Schema]) -> dict[str, object]:
    """Return the default of each field that has one."""
    return {key: item["default"] for key, item in fields.items() if "default" in item}


def _simplify_item(key: str, item: Schema) -> Schema:
    """Return ``item`` as one input, or as a table or group of inputs."""
    common = {name: item[name] for name in ("description", "default") if name in item}
    shape = item
    if key == "taints":
        shape = common | {"type": "array", "items": _TAINT}
    elif key in _TABLES:
        columns = {name: _simplify_item(name, item["items"]["properties"][name]) for name in _TABLES[key]}
        shape = common | {"type": "array", "items": {"type": "object", "properties": columns}}
    elif "enum" in item:
        shape = common | {"type": "string", "enum": item["enum"]}
    # Durations are a number of seconds or a text such as 1h30m; the form has the text.
    elif "anyOf" in item:
        spoken = {"default": spell_duration(item["default"])} if "default" in item else {}
        shape = common | spoken | {"type": "string"}
    elif key in _GROUPS:
        shape = {
            **item,
            "properties": {name: _simplify_item(name, inner) for name, inner in item["properties"].items()},
        }
    elif item.get("type") == "object":
        # Fields with free keys, or too many for a small form, are edited as YAML.
        shape = common | {"type": "object"}
    return shape


def spell_duration(seconds: Any) -> Any:
    """Return seconds as text, ``5400.0`` as ``"1h30m"``; other values are returned as they are."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return seconds
    if seconds < 1 and seconds:
        return f"{seconds * 1000:g}ms"
    hours, remainder = divmod(seconds, 3600)
    minutes, second_count = divmod(remainder, 60)
    parts = [(hours, "h"), (minutes, "m"), (second_count, "s")]
    return "".join(f"{number:g}{unit}" for number, unit in parts if number) or "0s"
