"""JSON Schema (draft 2020-12) of documents, from the tables that they are read by.

It is for completion, help and forms: it describes each field, and leaves rules between fields to the reader.
"""

from __future__ import annotations

from kschedweb.engine.documents.types import ByType, Either, Field, ListOf, MapOf, Struct, Type
from kschedweb.engine.objects.access import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Schemas:
    """The schema of each type, those of its parts within it."""

    def type(self, of: Type) -> Json:
        if isinstance(of, Struct):
            return self.struct(of)
        if isinstance(of, ListOf):
            bounds = {"maxItems": of.most, "minItems": of.least or None}
            return {"type": "array", "items": self.type(of.item), **_present(bounds)}
        if isinstance(of, MapOf):
            offered = {key: self.type(of.item) for key in of.keys}
            named, bound = {"properties": offered or None}, {"minProperties": of.least or None}
            rest = {"additionalProperties": self.type(of.item)}
            return {"type": "object", **_present(named), **rest, **_present(bound)}
        if isinstance(of, Either):
            return {"anyOf": [{"const": of.word}, self.type(of.of)]}
        if isinstance(of, ByType):
            return {"anyOf": [self.type(of.plain), self.type(of.structured)]}
        return of.schema()

    def struct(self, of: Struct) -> Json:
        found: Json = {
            "type": "object",
            "properties": {field.name: self.field(of, field) for field in of.fields},
            "additionalProperties": False,
        }
        if of.help:
            found["description"] = of.help
        if of.needed:
            found["required"] = list(of.needed)
        if of.one_of:
            found["allOf"] = [{"oneOf": [{"required": [key]} for key in group]} for group in of.one_of]
        return found

    def field(self, of: Struct, field: Field) -> Json:
        return {**self.type(field.type), **self.told(field)}

    def told(self, field: Field) -> Json:
        """What is said of the field beside its type."""
        told = {
            "description": self.described(field) or None,
            "enum": list(field.enum) or None,
            "default": field.default if isinstance(field.default, str | int | float | list) else None,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "examples": list(field.examples) or None,
        }
        return _present(told)

    def described(self, field: Field) -> str:
        """What a person is told of the field."""
        return field.help


def _present(said: Json) -> Json:
    return {name: value for name, value in said.items() if value is not None}
