"""Types of documents that kube-scheduler reads: those of every document, and single values that only Go has.

Decoded by Go's rules (``decode.py``) a struct is a plain ``dict`` that holds every field of its table: an absent
pointer, list or map is ``None``, an absent single value is its zero (as in Go). Durations are nanoseconds, byte
strings are ``bytes``.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, TypeAlias

from kschedweb.engine.documents.leaves import DocumentProblem, Flag, Number, Problems, Text, kind
from kschedweb.engine.documents.types import Field, ListOf, MapOf, Struct, Type
from kschedweb.engine.objects.access import Json
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
    "Field",
    "GoDuration",
    "ListOf",
    "MapOf",
    "Raw",
    "Struct",
    "Type",
    "Value",
    "encode",
    "go_name",
    "text",
    "zero",
]
DURATION_PATTERN = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
Value: TypeAlias = Any
"""A decoded value: what JSON can hold, plus ``bytes``."""


@dataclass(frozen=True)
class GoDuration:
    """Nanoseconds, written as Go does: ``1m30s``."""

    go: ClassVar = "v1.Duration"

    def read(self, raw: Any, path: str, problems: Problems) -> int:
        try:
            return parse_duration(raw if isinstance(raw, str) else "")
        except ValueError:
            told = repr(raw[:60]) if isinstance(raw, str) else kind(raw)
            problems.append(DocumentProblem(path, f'must be a duration, such as "90s" or "1h30m", is {told}'))
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
    """A string of the Go type ``go``."""
    return Text(most=None, go=go)


def _whole(bits: int) -> Number:
    return Number(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, whole=True, bits=bits)


STRING = text("string")
BOOL = Flag()
INT32, INT64 = _whole(32), _whole(64)
FLOAT32, FLOAT64 = Number(bits=32), Number(bits=64)
DURATION = GoDuration()
BYTES = Bytes()
RAW = Raw("runtime.RawExtension")


def go_name(of: Type) -> str:
    """What kube-scheduler's decoder calls the type."""
    match of:
        case ListOf():
            return of.go or "[]" + go_name(of.item)
        case MapOf():
            return of.go or "map[string]" + go_name(of.item)
        case Struct():
            return of.name
    assert isinstance(of, Text | Number | Flag | GoDuration | Bytes | Raw), of
    return of.go


def zero(of: Type, *, pointer: bool = False) -> Value:
    """Return what Go would hold for an absent value of type ``of``."""
    if pointer:
        return None
    match of:
        case Struct():
            return {field.name: zero(field.type, pointer=field.pointer) for field in of.fields}
        case Text():
            return ""
        case Number():
            return 0 if of.whole else 0.0
        case GoDuration():
            return 0
    return False if isinstance(of, Flag) else None


def encode(of: Type, value: Value) -> Value:
    """Return the JSON form of a decoded ``value``: what kube-scheduler would write."""
    if value is None:
        return None
    match of:
        case Struct():
            return {f.name: encode(f.type, value[f.name]) for f in of.fields if not _omitted(f, value[f.name])}
        case ListOf():
            return [encode(of.item, item) for item in value]
        case MapOf():
            return {key: encode(of.item, value[key]) for key in sorted(value)}
    return _encoded(of, value)


def _encoded(of: Type, value: Value) -> Value:
    match of:
        case GoDuration():
            return duration_text(value)
        case Bytes():
            return base64.b64encode(value).decode("ascii")
        case Number(whole=False):
            return number_json(value, of.bits)
    return value


def _omitted(field: Field, value: Value) -> bool:
    if not field.omit_empty:
        return False
    if field.pointer:
        return value is None
    return not isinstance(field.type, Struct | GoDuration | Raw) and not value
