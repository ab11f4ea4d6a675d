"""JSON Schema (draft 2020-12) of documents, from the tables by which they are read.

It serves completion, help and forms: it describes each field, and leaves rules between fields to the reader.
"""

from __future__ import annotations

from kschedweb.engine.documents.types import ByType, Either, ListType, MapType, Struct, StructField, Type
from kschedweb.engine.json_types import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Schemas:
    """A builder of schemas that writes the schemas of a type's parts within it."""

    def type(self, of: Type) -> Json:
        if isinstance(of, Struct):
            return self.struct_schema(of)
        if isinstance(of, ListType):
            bounds = {"maxItems": of.max_items, "minItems": of.min_items or None}
            return {"type": "array", "items": self.type(of.item), **_drop_none(bounds)}
        if isinstance(of, MapType):
            offered = {key: self.type(of.item) for key in of.keys}
            properties, bound = {"properties": offered or None}, {"minProperties": of.min_items or None}
            additional = {"additionalProperties": self.type(of.item)}
            return {"type": "object", **_drop_none(properties), **additional, **_drop_none(bound)}
        if isinstance(of, Either):
            return {"anyOf": [{"const": of.word}, self.type(of.alternative)]}
        if isinstance(of, ByType):
            return {"anyOf": [self.type(of.plain), self.type(of.structured)]}
        return of.schema()

    def struct_schema(self, struct: Struct) -> Json:
        schema: Json = {
            "type": "object",
            "properties": {field.name: self.field(struct, field) for field in struct.fields},
            "additionalProperties": False,
        }
        if struct.help:
            schema["description"] = struct.help
        if struct.required_names:
            schema["required"] = list(struct.required_names)
        if struct.one_of:
            schema["allOf"] = [{"oneOf": [{"required": [key]} for key in group]} for group in struct.one_of]
        return schema

    def field(self, of: Struct, field: StructField) -> Json:
        return {**self.type(field.type), **self.field_annotations(field)}

    def field_annotations(self, field: StructField) -> Json:
        """Return the keywords of a field beside its type."""
        annotations = {
            "description": self.described(field) or None,
            "enum": list(field.enum) or None,
            "default": field.default if isinstance(field.default, str | int | float | list) else None,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "examples": list(field.examples) or None,
        }
        return _drop_none(annotations)

    def described(self, field: StructField) -> str:
        """Return the field's description for a person."""
        return field.help


def _drop_none(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
