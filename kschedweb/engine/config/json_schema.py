"""The JSON Schema of KubeSchedulerConfiguration v1, from the same tables as the decoder."""

from __future__ import annotations

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import PLUGIN, PLUGIN_CONFIG, PLUGIN_SET, POINT_HELP
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.documents.types import REQUIRED, Struct, StructField, Type
from kschedweb.engine.json_types import Json


def json_schema(release: Release) -> Json:
    """Return the schema of a configuration, with the plugins and arguments of ``release``."""
    builder = _SchemaBuilder(release)
    root = builder.struct_schema(release.schema.configuration)
    return {
        "$schema": DIALECT,
        "title": "KubeSchedulerConfiguration",
        **root,
        "$defs": dict(sorted(builder.definitions.items())),
    }


class _SchemaBuilder(Schemas):
    def __init__(self, release: Release) -> None:
        self.registry, self.plugins = release.registry, release.schema.plugins
        self.definitions: dict[str, Json] = {}

    def type_schema(self, value_type: Type) -> Json:
        return self.make_reference(value_type) if isinstance(value_type, Struct) else super().type_schema(value_type)

    def make_reference(self, struct: Struct) -> Json:
        """Return a reference to ``struct``, and define it on first use."""
        if struct.short_name not in self.definitions:
            # The empty definition ends the recursion if the struct contains itself.
            self.definitions[struct.short_name] = {}
            self.definitions[struct.short_name] = (
                self.plugin_config() if struct is PLUGIN_CONFIG else self.struct_schema(struct)
            )
        return {"$ref": f"#/$defs/{struct.short_name}"}

    def field_schema(self, struct: Struct, field: StructField) -> Json:
        return (
            {**self.plugin_set(field.name), **self.field_annotations(field)}
            if struct is self.plugins
            else super().field_schema(struct, field)
        )

    def describe_field(self, field: StructField) -> str:
        """Return the help with default, range and choices, so that an editor can show all of it in one place."""
        parts = [field.help]
        if field.default not in (None, "", REQUIRED):
            default = str(field.default).lower() if isinstance(field.default, bool) else field.default
            parts.append(f"Default: {default}.")
        if field.minimum is not None and field.maximum is not None:
            parts.append(f"Range: {field.minimum} to {field.maximum}.")
        elif field.minimum is not None:
            parts.append(f"At least {field.minimum}.")
        if len(field.enum) > 1:
            parts.append(f"One of {', '.join(field.enum)}.")
        return " ".join(part for part in parts if part)

    def plugin_set(self, point: str) -> Json:
        """Return the schema of one extension point, which offers the plugins that run there."""
        name = f"PluginSet.{point}"
        specs = [s for s in self.registry.specs.values() if point == "multiPoint" or point in s.points]
        wildcard = {"const": "*", "description": "All default plugins."}
        weighed = point in ("score", "placementScore", "multiPoint")
        items = {
            "enabled": self.plugin_entry(_list_names(specs), weighed),
            "disabled": self.plugin_entry([wildcard, *_list_names(specs)], False),
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

    def plugin_entry(self, names: list[Json], weighed: bool) -> Json:
        schema = self.struct_schema(PLUGIN)
        schema["properties"]["name"]["anyOf"] = names
        if not weighed:
            schema["properties"]["weight"] = {"type": "integer", "description": "Has no effect here."}
        return schema

    def plugin_config(self) -> Json:
        """Return the schema of a pluginConfig entry, whose arguments depend on the plugin's name."""
        schema = self.struct_schema(PLUGIN_CONFIG)
        with_args = [spec for spec in self.registry.specs.values() if spec.args]
        schema["properties"]["name"]["anyOf"] = _list_names(with_args)
        schema["allOf"] = [
            {
                "if": {"properties": {"name": {"const": spec.name}}, "required": ["name"]},
                "then": {"properties": {"args": self.args_reference(spec)}},
            }
            for spec in with_args
        ]
        return schema

    def args_reference(self, spec: PluginSpec) -> Json:
        return self.make_reference(spec.args.struct) if spec.args else {}


def _list_names(specs: list[PluginSpec]) -> list[Json]:
    """Return the plugins to offer. Other names stay possible, because kube-scheduler may be built with more plugins."""
    return [*({"const": spec.name, "description": spec.help} for spec in specs), {"type": "string"}]
