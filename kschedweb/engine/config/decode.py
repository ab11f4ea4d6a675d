"""Strict decoding by Go's rules: the type tables applied to a JSON value.

Type errors do not stop decoding; the first one is reported at the end. Unknown and duplicate fields are collected.
Errors of types with their own decoder (durations) stop decoding at once. Field names are case-sensitive.
"""

from __future__ import annotations

import base64
import math
from dataclasses import field
from typing import Any

import numpy as np

from kschedweb.engine.config.source import JsonObject
from kschedweb.engine.config.types import Bytes, GoDuration, Raw, Value, go_name, zero
from kschedweb.engine.documents.leaves import Flag, Number, Text
from kschedweb.engine.documents.types import ListType, MapType, Struct, StructField, Type
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import Literal, base64_fault, parse_duration, quote
from kschedweb.engine.values import dataclass

# As sigs.k8s.io/json: strict errors beyond the first hundred are dropped.
MAX_STRICT_ERRORS = 100


class DecodeError(ValueError):
    """The document does not fit the types; ``problem`` has the decoder's own words."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


@dataclass(frozen=True)
class _Place:
    """The decoder's position in the document."""

    # The innermost struct, by the name that Go's messages use.
    struct: str = ""
    # Field names from the root, embedded structs included, as Go's messages join them.
    fields: tuple[str, ...] = ()
    # Path with indices, for people.
    path: str = ""

    def enter_field(self, struct: str, field: StructField) -> _Place:
        names = (field.embedded, field.name) if field.embedded else (field.name,)
        path = f"{self.path}.{field.name}" if self.path else field.name
        return _Place(struct, (*self.fields, *names), path)

    def enter_index(self, index: int) -> _Place:
        return _Place(self.struct, self.fields, f"{self.path}[{index}]")


@dataclass
class Decoded:
    """A decoded value with its strict errors."""

    value: Value
    # Unknown and duplicate fields.
    strict: list[Problem] = field(default_factory=list)


def decode(struct: Struct, raw: Any) -> Decoded:
    """Decode a JSON value into ``struct``. Raises ``DecodeError`` if a type does not fit."""
    decoder = _Decoder()
    value = decoder.decode_value(struct, raw, zero(struct), _Place())
    if decoder.first_mismatch:
        raise DecodeError(decoder.first_mismatch)
    return Decoded(value, list(decoder.strict.values())[:MAX_STRICT_ERRORS])


def describe_json(raw: Any) -> str:
    """Return the name that Go's messages use for a JSON value's type."""
    if isinstance(raw, bool):
        return "bool"
    if isinstance(raw, str):
        return "string"
    if isinstance(raw, list):
        return "array"
    return "object" if isinstance(raw, dict) else "number"


class _Decoder:
    def __init__(self) -> None:
        self.first_mismatch: Problem | None = None
        # Keyed by text: Go reports the same complaint once, however often the field occurs.
        self.strict: dict[str, Problem] = {}

    def type_mismatch(self, json_type: str, go: str, place: _Place) -> Problem:
        into = f"Go struct field {place.struct}.{'.'.join(place.fields)}" if place.fields else "Go value"
        return Problem(place.path, f"json: cannot unmarshal {json_type} into {into} of type {go}")

    def record_mismatch(self, raw: Any, target: Type, place: _Place, *, exact: bool = False) -> None:
        json_type = describe_json(raw)
        if exact and json_type == "number":
            json_type = f"number {raw.text if isinstance(raw, Literal) else raw}"
        self.first_mismatch = self.first_mismatch or self.type_mismatch(json_type, go_name(target), place)

    def record_strict(self, kind: str, path: str) -> None:
        text = f"{kind} field {quote(path)}"
        self.strict.setdefault(text, Problem(path, text))

    def decode_value(self, target: Type, raw: Any, current: Value, place: _Place, *, pointer: bool = False) -> Value:
        """Decode ``raw`` over ``current``: a repeated field continues where the first one ended, as in Go."""
        if raw is None:
            return self.decode_null(target, current, place, pointer=pointer)
        if isinstance(target, Struct):
            return self.decode_struct(target, raw, current, place)
        if isinstance(target, ListType):
            return self.decode_list(target, raw, current, place)
        if isinstance(target, MapType):
            return self.decode_map(target, raw, current, place)
        return self.decode_single(target, raw, current, place)

    def decode_null(self, target: Type, current: Value, place: _Place, *, pointer: bool) -> Value:
        if pointer or isinstance(target, ListType | MapType):
            # null empties pointers, lists and maps; it leaves plain values as they are.
            return None
        if isinstance(target, GoDuration):
            raise DecodeError(Problem(place.path, 'time: invalid duration ""'))
        return current

    def decode_struct(self, struct: Struct, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, dict):
            self.record_mismatch(raw, struct, place)
            return current
        value = dict(current) if current is not None else zero(struct)
        names: set[str] = set()
        for name, item in _list_pairs(raw):
            path = f"{place.path}.{name}" if place.path else name
            field = struct.by_name.get(name)
            if field is None:
                self.record_strict("unknown", path)
                continue
            if name in names:
                self.record_strict("duplicate", path)
            names.add(name)
            inside = place.enter_field(struct.short_name, field)
            value[name] = self.decode_value(field.type, item, value[name], inside, pointer=field.pointer)
        return value

    def decode_list(self, target: ListType, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, list):
            self.record_mismatch(raw, target, place)
            return current
        return [
            self.decode_value(target.item, item, zero(target.item), place.enter_index(i)) for i, item in enumerate(raw)
        ]

    def decode_map(self, target: MapType, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, dict):
            self.record_mismatch(raw, target, place)
            return current
        value = dict(current or {})
        names: set[str] = set()
        for name, item in _list_pairs(raw):
            path = f"{place.path}.{name}" if place.path else name
            if name in names:
                self.record_strict("duplicate", path)
            names.add(name)
            inside = _Place(place.struct, place.fields, path)
            value[name] = self.decode_value(target.item, item, zero(target.item), inside)
        return value

    def decode_single(self, target: Type, raw: Any, current: Value, place: _Place) -> Value:
        match target, raw:
            case GoDuration(), _:
                return self.decode_duration(raw, place)
            case Bytes(), str():
                return self.decode_bytes(raw, current, place)
            case Number(), int() | float() if not isinstance(raw, bool):
                return self.number(target, raw, current, place)
            case (Raw(), _) | (Text(), str()) | (Flag(), bool()):
                return raw
        self.record_mismatch(raw, target, place)
        return current

    def number(self, target: Number, raw: int | float, current: Value, place: _Place) -> Value:
        if target.whole:
            limit = 1 << (target.bits - target.is_signed)
            if isinstance(raw, int) and -limit * target.is_signed <= raw < limit:
                return raw
        else:
            # A float32 field must hold the number without overflow; Go rounds it to 32 bits.
            with np.errstate(over="ignore"):
                narrow = _to_float(raw) if target.bits == 64 else np.float32(raw)
            if np.isfinite(narrow):
                return float(narrow)
        self.record_mismatch(raw, target, place, exact=True)
        return current

    def decode_duration(self, raw: Any, place: _Place) -> int:
        if not isinstance(raw, str):
            raise DecodeError(self.type_mismatch(describe_json(raw), "string", place))
        try:
            return parse_duration(raw)
        except ValueError as error:
            raise DecodeError(Problem(place.path, str(error))) from error

    def decode_bytes(self, raw: str, current: Value, place: _Place) -> Value:
        if (at := base64_fault(raw)) is not None:
            self.first_mismatch = self.first_mismatch or Problem(place.path, f"illegal base64 data at input byte {at}")
            return current
        return base64.b64decode(raw)


def _to_float(raw: int | float) -> float:
    """Return ``raw`` as a 64-bit float, infinite if it is out of range."""
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _list_pairs(raw: Json) -> list[tuple[str, Any]]:
    return raw.pairs if isinstance(raw, JsonObject) else list(raw.items())
