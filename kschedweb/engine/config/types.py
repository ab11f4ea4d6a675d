"""Descriptions of the configuration's types: one table serves decoding, encoding, JSON Schema and help.

A decoded struct is a plain ``dict`` that holds every field of its table: an absent pointer, list or map is
``None``, an absent scalar is its zero (as in Go). Durations are nanoseconds, byte strings are ``bytes``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from kschedweb.engine.validation.golang import duration_text, number_json

Value: TypeAlias = Any
"""A decoded value: what JSON can hold, plus ``bytes``."""

Kind = Literal["string", "bool", "int", "float", "duration", "bytes", "raw"]
ZERO: dict[Kind, Value] = {
    "string": "",
    "bool": False,
    "int": 0,
    "float": 0.0,
    "duration": 0,
    "bytes": None,
    "raw": None,
}


@dataclass(frozen=True)
class Scalar:
    """A leaf. ``go`` is the name that kube-scheduler's decoder prints, ``bits`` the width of a number."""

    kind: Kind
    go: str
    bits: int = 0


@dataclass(frozen=True)
class ListOf:
    """A list of one type."""

    item: Type

    @property
    def go(self) -> str:
        return "[]" + self.item.go


@dataclass(frozen=True)
class MapOf:
    """A map from string to one type. ``keys`` are those that a form offers; others may stand there as well."""

    item: Type
    keys: tuple[str, ...] = ()

    @property
    def go(self) -> str:
        return "map[string]" + self.item.go


@dataclass(frozen=True)
class Field:
    """One field of a struct.

    ``help`` is one or two sentences for a person; ``default``, ``enum``, ``minimum`` and ``maximum`` are what
    kube-scheduler sets and accepts (``None``: nothing). A ``pointer`` tells "absent" from its zero value; with
    ``omit_empty`` an empty value is left out when written. ``embedded`` is the Go struct that brings the field in.
    """

    name: str
    type: Type
    help: str = ""
    pointer: bool = False
    omit_empty: bool = True
    default: Value = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    examples: tuple[Value, ...] = ()
    embedded: str = ""


@dataclass(frozen=True)
class Struct:
    """An object with named fields; ``go`` is its qualified Go name, as ``v1.PluginSet``."""

    go: str
    help: str
    fields: tuple[Field, ...]
    required: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @property
    def short(self) -> str:
        return self.go.rpartition(".")[2]


Type: TypeAlias = Scalar | ListOf | MapOf | Struct

STRING = Scalar("string", "string")
BOOL = Scalar("bool", "bool")
INT32 = Scalar("int", "int32", 32)
INT64 = Scalar("int", "int64", 64)
FLOAT32 = Scalar("float", "float32", 32)
FLOAT64 = Scalar("float", "float64", 64)
DURATION = Scalar("duration", "v1.Duration")
BYTES = Scalar("bytes", "[]uint8")
RAW = Scalar("raw", "runtime.RawExtension")


def zero(of: Type, *, pointer: bool = False) -> Value:
    """Return what Go would hold for an absent value of type ``of``."""
    if pointer or isinstance(of, ListOf | MapOf):
        return None
    if isinstance(of, Struct):
        return {field.name: zero(field.type, pointer=field.pointer) for field in of.fields}
    return ZERO[of.kind]


def encode(of: Type, value: Value) -> Value:
    """Return the JSON form of a decoded ``value``: what kube-scheduler would write."""
    if value is None:
        return None
    if isinstance(of, Struct):
        return {f.name: encode(f.type, value[f.name]) for f in of.fields if not _omitted(f, value[f.name])}
    if isinstance(of, ListOf):
        return [encode(of.item, item) for item in value]
    if isinstance(of, MapOf):
        return {key: encode(of.item, value[key]) for key in sorted(value)}
    return _encode_scalar(of, value)


def _encode_scalar(of: Scalar, value: Value) -> Value:
    match of.kind:
        case "duration":
            return duration_text(value)
        case "bytes":
            return base64.b64encode(value).decode("ascii")
        case "float":
            return number_json(value, of.bits)
        case _:
            return value


def _omitted(field: Field, value: Value) -> bool:
    if not field.omit_empty:
        return False
    if field.pointer:
        return value is None
    if isinstance(field.type, Struct) or (isinstance(field.type, Scalar) and field.type.kind in ("duration", "raw")):
        return False
    return not value
