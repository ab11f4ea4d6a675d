"""Types of the documents that kube-scheduler reads: those of every document, and leaf types that only Go has.

A struct that is decoded by Go's rules (``decode.py``) is a plain ``dict`` with every field of its table. An absent
pointer, list or map is ``None``, and an absent plain value is its zero, as in Go. Durations are nanoseconds, byte
strings are ``bytes``.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, TypeAlias

from kschedweb.engine.documents.leaves import DocumentProblem, Flag, Number, Problems, Text, describe_kind
from kschedweb.engine.documents.types import ListType, MapType, Struct, StructField, Type
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.golang import base64_fault, duration_text, number_json, parse_duration
from kschedweb.engine.values import dataclass

__all__ = [
    "BOOL",
    "BYTES",
    "DURATION",
    "FLOAT32",
    "FLOAT64",
    "INT32",
    "INT64",
    "RAW",
    "STRING",
    "Bytes",
    "GoDuration",
    "ListType",
    "MapType",
    "Raw",
    "Struct",
    "StructField",
    "Type",
    "Value",
    "encode",
    "go_name",
    "text",
    "zero",
]
DURATION_PATTERN = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
# A decoded value: what JSON can hold, plus ``bytes``.
Value: TypeAlias = Any


@dataclass(frozen=True)
class GoDuration:
    """Nanoseconds, written as Go does: ``1m30s``."""

    go: ClassVar = "v1.Duration"

    def read(self, raw: Any, path: str, problems: Problems) -> int:
        try:
            return parse_duration(raw if isinstance(raw, str) else "")
        except ValueError:
            actual = repr(raw[:60]) if isinstance(raw, str) else describe_kind(raw)
            problems.append(DocumentProblem(path, f'must be a duration, such as "90s" or "1h30m", is {actual}'))
            return 0

    def schema(self) -> Json:
        return {"type": "string", "pattern": DURATION_PATTERN}


@dataclass(frozen=True)
class Bytes:
    """Bytes, written in base64."""

    go: ClassVar = "[]uint8"

    def read(self, raw: Any, path: str, problems: Problems) -> bytes:
        if isinstance(raw, str) and base64_fault(raw) is None:
            return base64.b64decode(raw)
        problems.append(DocumentProblem(path, "must be text in base64"))
        return b""

    def schema(self) -> Json:
        return {"type": "string", "contentEncoding": "base64"}


@dataclass(frozen=True)
class Raw:
    """Any value, kept as it is written."""

    go: str

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        return raw

    def schema(self) -> Json:
        return {}


def text(go: str) -> Text:
    """Return the type of strings of the Go type ``go``."""
    return Text(max_length=None, go=go)


def _make_integer(bits: int) -> Number:
    return Number(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, whole=True, bits=bits)


STRING = text("string")
BOOL = Flag()
INT32, INT64 = _make_integer(32), _make_integer(64)
FLOAT32, FLOAT64 = Number(bits=32), Number(bits=64)
DURATION = GoDuration()
BYTES = Bytes()
RAW = Raw("runtime.RawExtension")


def go_name(go_type: Type) -> str:
    """Return the name that kube-scheduler's decoder uses for the type."""
    match go_type:
        case ListType():
            return go_type.go or "[]" + go_name(go_type.item)
        case MapType():
            return go_type.go or "map[string]" + go_name(go_type.item)
        case Struct():
            return go_type.name
    assert isinstance(go_type, Text | Number | Flag | GoDuration | Bytes | Raw), go_type
    return go_type.go


def zero(go_type: Type, *, pointer: bool = False) -> Value:
    """Return Go's zero value of type ``go_type``."""
    if pointer:
        return None
    match go_type:
        case Struct():
            return {field.name: zero(field.type, pointer=field.pointer) for field in go_type.fields}
        case Text():
            return ""
        case Number():
            return 0 if go_type.whole else 0.0
        case GoDuration():
            return 0
    return False if isinstance(go_type, Flag) else None


def encode(go_type: Type, value: Value) -> Value:
    """Return the JSON form of a decoded ``value``, as kube-scheduler would write it."""
    if value is None:
        return None
    match go_type:
        case Struct():
            return {f.name: encode(f.type, value[f.name]) for f in go_type.fields if not _is_omitted(f, value[f.name])}
        case ListType():
            return [encode(go_type.item, item) for item in value]
        case MapType():
            return {key: encode(go_type.item, value[key]) for key in sorted(value)}
    return _encode_leaf(go_type, value)


def _encode_leaf(go_type: Type, value: Value) -> Value:
    match go_type:
        case GoDuration():
            return duration_text(value)
        case Bytes():
            return base64.b64encode(value).decode("ascii")
        case Number(whole=False):
            return number_json(value, go_type.bits)
    return value


def _is_omitted(field: StructField, value: Value) -> bool:
    if not field.omit_empty:
        return False
    if field.pointer:
        return value is None
    return not isinstance(field.type, Struct | GoDuration | Raw) and not value
