"""Decode JSON as the API server does (sigs.k8s.io/json into Go structs), and as Go would encode it again.

A decoded object has only fields of its kind, each of the right type. Structs are always there, and values that Go never
leaves out have their zero value. So readers of stored objects need not check types again.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

from kschedweb.engine.config.decode import describe_json
from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals.resources import quantity_fault
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.schema.times import normal_time
from kschedweb.engine.sandbox.schema.types import INTEGERS, GoField, GoList, GoMap, Single, Struct, Type, find_struct
from kschedweb.engine.values import dataclass

# Levels of a value without a type of its own, such as the parameters of a driver.
DEEPEST = 100
_ZEROS = {"string": "", "bool": False, "float64": 0.0, "resource.Quantity": "0"}
# Stands for a value that does not fit.
_UNREAD = object()
# What an object of a custom resource may have beside its metadata.
_SECTIONS = ("spec", "status", "value", "description")


class DecodeError(ValueError):
    """A value that does not fit; the text is that of Go's decoder."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in an object, by the struct and the fields that Go's messages name."""

    struct: str = ""
    fields: tuple[str, ...] = ()

    def child(self, parent: Struct, field: GoField) -> _Place:
        return _Place(parent.go.rpartition(".")[2], (*self.fields, *field.place))

    def mismatch(self, found_type: str, go: str) -> str:
        into = f"Go struct field {self.struct}.{'.'.join(self.fields)}" if self.fields else "Go value"
        return f"json: cannot unmarshal {found_type} into {into} of type {go}"


def decode_object(resource: Resource, raw: Json) -> Json:
    """Return the object of ``resource`` as Go would hold it, with kind and apiVersion. Raises DecodeError."""
    # The spec of a custom resource is validated by clock_validation.py, or Kueue's webhooks.
    if resource.is_custom:
        metadata = decode_body("v1.ObjectMeta", raw.get("metadata"), _Place(resource.kind, ("metadata",)))
        sections = {key: _Decoder().decode_untyped(raw[key]) for key in _SECTIONS if raw.get(key) is not None}
        decoded = {"metadata": metadata, **sections}
    else:
        version = resource.version
        type_names = (f"{version}.{resource.kind}@{resource.group.partition('.')[0]}", f"{version}.{resource.kind}")
        decoded = decode_body(next(name for name in type_names if find_struct(name)), raw)
    return {**decoded, "kind": resource.kind, "apiVersion": resource.api_version}


def decode_body(name: str, raw: Any, place: _Place = _Place()) -> Json:  # noqa: B008  it never changes
    """Return ``raw`` as the struct ``name`` of the table holds it; ``None`` is an empty one. Raises DecodeError."""
    struct_type = find_struct(name)
    assert struct_type is not None, name
    decoder = _Decoder()
    decoded = decoder.decode(struct_type, {} if raw is None else raw, place)
    if decoder.saved:
        raise DecodeError(decoder.saved)
    return dict(decoded)


def decode_stored(resource: Resource, raw: Any) -> Json:
    """Return a stored object as it can be kept. Raises DecodeError if a sandbox could not live with it."""
    if not isinstance(raw, dict):
        raise DecodeError("it is no object")
    decoded = decode_object(resource, raw)
    metadata = decoded["metadata"]
    missing = [name for name in ("name", "uid", "creationTimestamp", "resourceVersion") if not metadata.get(name)]
    if resource.namespaced and not metadata.get("namespace"):
        missing.append("namespace")
    if missing:
        raise DecodeError(f"metadata.{missing[0]} is missing")
    return decoded


class _Decoder:
    """Decodes one object.

    Like Go's decoder it goes on after a value of a wrong type, and reports the first one.
    """

    def __init__(self) -> None:
        # The first mismatch; "" for none.
        self.saved = ""

    def decode(self, type_: Type, raw: Any, place: _Place) -> Any:
        match type_:
            case Struct() if isinstance(raw, dict):
                return self._decode_struct(type_, raw, place)
            case GoList() if isinstance(raw, list):
                items = [self._decode_item(type_.item, item, place) for item in raw]
                return [item for item in items if item is not _UNREAD]
            case GoList(item=Single(kind="uint8")) if isinstance(raw, str):
                return self._decode_bytes(raw)
            case GoMap() if isinstance(raw, dict):
                pairs = (
                    (_replace_surrogates(key), self._decode_item(type_.item, item, place)) for key, item in raw.items()
                )
                return {key: item for key, item in pairs if item is not _UNREAD}
            case Single():
                return self._decode_single(type_, raw, place)
        return self._report_mismatch(raw, type_.go, place)

    def _decode_item(self, type_: Type, raw: Any, place: _Place) -> Any:
        return zero_value(type_) if raw is None else self.decode(type_, raw, place)

    def _decode_struct(self, type_: Struct, raw: Json, place: _Place) -> Json:
        decoded: Json = {}
        fields = type_.fields
        for name, item in raw.items():
            field = fields.get(name)
            if field is None or item is None:
                continue
            value = self.decode(field.type, item, place.child(type_, field))
            if value is not _UNREAD and not (field.omit_empty and not field.pointer and _is_empty(field.type, value)):
                decoded[name] = value
        for name, field in fields.items():
            if name not in decoded and not field.pointer and not field.omit_zero and _is_encoded(field):
                decoded[name] = zero_value(field.type)
        return decoded

    def _report_mismatch(self, raw: Any, go: str, place: _Place, *, exact: bool = False) -> object:
        described = describe_json(raw)
        if exact and described == "number":
            described = f"number {json.dumps(raw)}"
        self.saved = self.saved or place.mismatch(described, go)
        return _UNREAD

    def _decode_single(self, type_: Single, raw: Any, place: _Place) -> Any:
        value: Any
        match type_.kind:
            case "resource.Quantity":
                value = self._decode_quantity(raw)
            case "v1.Time" | "v1.MicroTime":
                value = self._decode_time(raw, place, micro=type_.kind == "v1.MicroTime")
            case "intstr.IntOrString":
                value = (
                    _replace_surrogates(raw) if isinstance(raw, str) else self._decode_integer(raw, 32, "int32", place)
                )
            case "v1.FieldsV1" | "runtime.RawExtension":
                value = self.decode_untyped(raw)
            case kind if kind in INTEGERS:
                value = self._decode_integer(raw, INTEGERS[kind], type_.go, place)
            case kind if not _is_of_kind(kind, raw):
                value = self._report_mismatch(raw, type_.go, place)
            case _:
                value = _replace_surrogates(raw) if isinstance(raw, str) else raw
        return value

    def _decode_integer(self, raw: Any, bits: int, go: str, place: _Place) -> Any:
        whole = isinstance(raw, int) and not isinstance(raw, bool)
        if whole and -(1 << (bits - 1)) <= raw < 1 << (bits - 1):
            return raw
        return self._report_mismatch(raw, go, place, exact=True)

    def _decode_quantity(self, raw: Any) -> str:
        if fault := quantity_fault(raw):
            raise DecodeError(fault)
        return _replace_surrogates(raw) if isinstance(raw, str) else json.dumps(raw)

    def _decode_time(self, raw: Any, place: _Place, *, micro: bool) -> Any:
        if not isinstance(raw, str):
            # A type that reads itself stops Go's decoder at once: this mismatch hides earlier ones.
            self.saved = ""
            self._report_mismatch(raw, "string", place)
            raise DecodeError(self.saved)
        try:
            return normal_time(raw, micro=micro)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    @staticmethod
    def _decode_bytes(raw: str) -> str:
        try:
            base64.b64decode(raw, validate=True)
        except (ValueError, binascii.Error):
            raise DecodeError("illegal base64 data at input byte 0") from None
        return raw

    def decode_untyped(self, raw: Any, depth: int = 0) -> Any:
        """Return a value that has no type of its own."""
        if depth > DEEPEST:
            raise DecodeError("json: exceeded max depth")
        if isinstance(raw, dict):
            return {_replace_surrogates(key): self.decode_untyped(item, depth + 1) for key, item in raw.items()}
        if isinstance(raw, list):
            return [self.decode_untyped(item, depth + 1) for item in raw]
        if isinstance(raw, float) and not _is_finite(raw):
            raise DecodeError("json: a number must be finite")
        return _replace_surrogates(raw) if isinstance(raw, str) else raw


def _is_of_kind(kind: str, raw: Any) -> bool:
    if kind == "float64":
        return isinstance(raw, int | float) and not isinstance(raw, bool) and _is_finite(raw)
    return isinstance(raw, bool if kind == "bool" else str)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        # A whole number that no float holds.
        return False


def zero_value(type_: Type) -> Any:
    """Return what Go encodes for a missing value."""
    match type_:
        case Struct():
            return _Decoder().decode(type_, {}, _Place())
        case GoList():
            return []
        case GoMap():
            return {}
    return 0 if type_.kind in INTEGERS else _ZEROS.get(type_.kind)


def _is_encoded(field: GoField) -> bool:
    """Return true if Go always writes the field: a struct, or a field without omitempty."""
    if isinstance(field.type, Struct):
        return True
    if isinstance(field.type, Single) and field.type.kind in ("v1.Time", "v1.MicroTime", "resource.Quantity"):
        return True
    return not field.omit_empty and zero_value(field.type) is not None


def _is_empty(type_: Type, value: Any) -> bool:
    """Return true if Go's omitempty leaves the value out; it never does so with a struct."""
    if isinstance(type_, Single) and type_.kind not in ("string", "bool", "float64", *INTEGERS):
        return False
    return not isinstance(type_, Struct) and not value


def _replace_surrogates(text: str) -> str:
    """Return ``text`` with Go's replacement character in place of half a surrogate pair."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
