"""JSON Schema (draft 2020-12) of KubeSchedulerConfiguration v1, from the same tables as the decoder.

It is for completion, help and forms: it describes each field, and leaves rules between fields to ``load``.
"""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.registry import installed
from kschedweb.engine.config.schema import CONFIGURATION, PLUGIN, PLUGIN_CONFIG, PLUGIN_SET, PLUGINS, POINT_HELP
from kschedweb.engine.config.specs import PluginSpec, Registry
from kschedweb.engine.config.types import Field, Kind, ListOf, MapOf, Scalar, Struct, Type

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DURATION_PATTERN = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
Schema = dict[str, Any]


def json_schema(registry: Registry | None = None) -> Schema:
    """Return the schema of a configuration; plugin names and arguments are those of ``registry``'s plugins."""
    builder = _Builder(registry or installed())
    root = builder.struct(CONFIGURATION)
    return {
        "$schema": DIALECT,
        "title": "KubeSchedulerConfiguration",
        **root,
        "$defs": dict(sorted(builder.definitions.items())),
    }


class _Builder:
    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.definitions: dict[str, Schema] = {}

    def reference(self, of: Struct) -> Schema:
        """Return a reference to ``of``, whose definition is made on first use."""
        if of.short not in self.definitions:
            self.definitions[of.short] = {}
            self.definitions[of.short] = self.plugin_config() if of is PLUGIN_CONFIG else self.struct(of)
        return {"$ref": f"#/$defs/{of.short}"}

    def struct(self, of: Struct) -> Schema:
        schema: Schema = {
            "type": "object",
            "description": of.help,
            "properties": {field.name: self.field(of, field) for field in of.fields},
            "additionalProperties": False,
        }
        if of.required:
            schema["required"] = list(of.required)
        return schema

    def field(self, of: Struct, field: Field) -> Schema:
        schema = self.plugin_set(field.name) if of is PLUGINS else self.type(field.type)
        schema["description"] = _described(field)
        if field.enum:
            schema["enum"] = list(field.enum)
        for name, value in (("default", field.default), ("minimum", field.minimum), ("maximum", field.maximum)):
            if value is not None:
                schema[name] = value
        if field.examples:
            schema["examples"] = list(field.examples)
        return schema

    def type(self, of: Type) -> Schema:
        if isinstance(of, Struct):
            return self.reference(of)
        if isinstance(of, ListOf):
            return {"type": "array", "items": self.type(of.item)}
        if isinstance(of, MapOf):
            offered = {key: self.type(of.item) for key in of.keys}
            named = {"properties": offered} if offered else {}
            return {"type": "object", **named, "additionalProperties": self.type(of.item)}
        return _scalar(of)

    def plugin_set(self, point: str) -> Schema:
        """Return the schema of one extension point, which offers the plugins that run there."""
        name = f"PluginSet.{point}"
        specs = [s for s in self.registry.specs.values() if point == "multiPoint" or point in s.points]
        every = {"const": "*", "description": "All default plugins."}
        weighed = point in ("score", "placementScore", "multiPoint")
        items = {
            "enabled": self.plugin(_names(specs), weighed),
            "disabled": self.plugin([every, *_names(specs)], False),
        }
        parts = {
            field.name: {"type": "array", "description": field.help, "items": items[field.name]}
            for field in PLUGIN_SET.fields
        }
        self.definitions[name] = {
            "type": "object",
            "description": POINT_HELP[point],
            "properties": parts,
            "additionalProperties": False,
        }
        return {"$ref": f"#/$defs/{name}"}

    def plugin(self, names: list[Schema], weighed: bool) -> Schema:
        schema = self.struct(PLUGIN)
        schema["properties"]["name"]["anyOf"] = names
        if not weighed:
            schema["properties"]["weight"] = {"type": "integer", "description": "Has no effect here."}
        return schema

    def plugin_config(self) -> Schema:
        """Return the schema of a pluginConfig entry, whose arguments follow from the plugin's name."""
        schema = self.struct(PLUGIN_CONFIG)
        with_args = [spec for spec in self.registry.specs.values() if spec.args]
        schema["properties"]["name"]["anyOf"] = _names(with_args)
        schema["allOf"] = [
            {
                "if": {"properties": {"name": {"const": spec.name}}, "required": ["name"]},
                "then": {"properties": {"args": self.args(spec)}},
            }
            for spec in with_args
        ]
        return schema

    def args(self, spec: PluginSpec) -> Schema:
        return self.reference(spec.args.struct) if spec.args else {}


def _names(specs: list[PluginSpec]) -> list[Schema]:
    """Return the plugins to offer; other names stay possible, kube-scheduler may be built with more."""
    return [*({"const": spec.name, "description": spec.help} for spec in specs), {"type": "string"}]


_SCALARS: dict[Kind, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "duration": {"type": "string", "pattern": DURATION_PATTERN},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "raw": {},
}


def _scalar(of: Scalar) -> Schema:
    if of.kind == "int":
        return {"type": "integer", "minimum": -(1 << (of.bits - 1)), "maximum": (1 << (of.bits - 1)) - 1}
    return dict(_SCALARS[of.kind])


def _described(field: Field) -> str:
    """Return the help with default, range and choices, so that an editor can show all in one place."""
    parts = [field.help]
    if field.default not in (None, ""):
        default = str(field.default).lower() if isinstance(field.default, bool) else field.default
        parts.append(f"Default: {default}.")
    if field.minimum is not None and field.maximum is not None:
        parts.append(f"Range: {field.minimum} to {field.maximum}.")
    elif field.minimum is not None:
        parts.append(f"At least {field.minimum}.")
    if len(field.enum) > 1:
        parts.append(f"One of {', '.join(field.enum)}.")
    return " ".join(part for part in parts if part)
