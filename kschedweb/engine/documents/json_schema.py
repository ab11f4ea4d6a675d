"""JSON Schema (draft 2020-12) of documents, from the tables by which they are read.

It serves completion, help and forms: it describes each field, and leaves rules between fields to the reader.
"""

from __future__ import annotations

from kschedweb.engine.documents.types import ByType, Either, ListType, MapType, Struct, StructField, Type
from kschedweb.engine.json_types import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Schemas:
    """A builder of schemas that writes the schemas of a type's parts within it."""

    def type_schema(self, value_type: Type) -> Json:
        if isinstance(value_type, Struct):
            return self.struct_schema(value_type)
        if isinstance(value_type, ListType):
            bounds = {"maxItems": value_type.max_items, "minItems": value_type.min_items or None}
            return {"type": "array", "items": self.type_schema(value_type.item), **_drop_none(bounds)}
        if isinstance(value_type, MapType):
            offered = {key: self.type_schema(value_type.item) for key in value_type.keys}
            properties, bound = {"properties": offered or None}, {"minProperties": value_type.min_items or None}
            additional = {"additionalProperties": self.type_schema(value_type.item)}
            return {"type": "object", **_drop_none(properties), **additional, **_drop_none(bound)}
        if isinstance(value_type, Either):
            return {"anyOf": [{"const": value_type.word}, self.type_schema(value_type.alternative)]}
        if isinstance(value_type, ByType):
            return {"anyOf": [self.type_schema(value_type.plain), self.type_schema(value_type.structured)]}
        return value_type.schema()

    def struct_schema(self, struct: Struct) -> Json:
        schema: Json = {
            "type": "object",
            "properties": {field.name: self.field_schema(struct, field) for field in struct.fields},
            "additionalProperties": False,
        }
        if struct.help:
            schema["description"] = struct.help
        if struct.required_names:
            schema["required"] = list(struct.required_names)
        if struct.one_of:
            schema["allOf"] = [{"oneOf": [{"required": [key]} for key in group]} for group in struct.one_of]
        return schema

    def field_schema(self, struct: Struct, field: StructField) -> Json:
        return {**self.type_schema(field.type), **self.field_annotations(field)}

    def field_annotations(self, field: StructField) -> Json:
        """Return the keywords of a field beside its type."""
        annotations = {
            "description": self.describe_field(field) or None,
            "enum": list(field.enum) or None,
            "default": field.default if isinstance(field.default, str | int | float | list) else None,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "examples": list(field.examples) or None,
        }
        return _drop_none(annotations)

    def describe_field(self, field: StructField) -> str:
        """Return the field's description for a person."""
        return field.help


def _drop_none(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
