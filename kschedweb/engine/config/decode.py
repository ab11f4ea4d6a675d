"""Strict decoding by Go's rules: the type tables applied to a JSON value.

Type errors do not stop decoding, the first one is reported at the end; unknown and duplicate fields are collected;
errors of values that read themselves (durations) stop at once. Field names are case-sensitive.
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
from kschedweb.engine.documents.types import Field, ListOf, MapOf, Struct, Type
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import Literal, base64_fault, parse_duration, quote
from kschedweb.engine.values import dataclass

MAX_STRICT_ERRORS = 100


class DecodeError(ValueError):
    """The document does not fit the types; ``problem`` has the decoder's own words."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


@dataclass(frozen=True)
class _Place:
    """Where the decoder is: the struct and fields as Go's messages name them, and the path with indices."""

    struct: str = ""
    fields: tuple[str, ...] = ()
    path: str = ""

    def field(self, struct: str, known: Field) -> _Place:
        names = (known.embedded, known.name) if known.embedded else (known.name,)
        path = f"{self.path}.{known.name}" if self.path else known.name
        return _Place(struct, (*self.fields, *names), path)

    def index(self, index: int) -> _Place:
        return _Place(self.struct, self.fields, f"{self.path}[{index}]")


@dataclass
class Decoded:
    """A decoded value with its strict errors (unknown and duplicate fields)."""

    value: Value
    strict: list[Problem] = field(default_factory=list)


def decode(of: Struct, raw: Any) -> Decoded:
    """Decode a JSON value into the struct ``of``. Raises ``DecodeError`` where a type does not fit."""
    decoder = _Decoder()
    value = decoder.value(of, raw, zero(of), _Place())
    if decoder.saved:
        raise DecodeError(decoder.saved)
    return Decoded(value, list(decoder.strict.values())[:MAX_STRICT_ERRORS])


def describe(raw: Any) -> str:
    """Name a JSON value as Go's messages do."""
    if isinstance(raw, bool):
        return "bool"
    if isinstance(raw, str):
        return "string"
    if isinstance(raw, list):
        return "array"
    return "object" if isinstance(raw, dict) else "number"


class _Decoder:
    def __init__(self) -> None:
        self.saved: Problem | None = None
        self.strict: dict[str, Problem] = {}

    def mismatch(self, what: str, go: str, place: _Place) -> Problem:
        into = f"Go struct field {place.struct}.{'.'.join(place.fields)}" if place.fields else "Go value"
        return Problem(place.path, f"json: cannot unmarshal {what} into {into} of type {go}")

    def refuse(self, raw: Any, of: Type, place: _Place, *, exact: bool = False) -> None:
        what = describe(raw)
        if exact and what == "number":
            what = f"number {raw.text if isinstance(raw, Literal) else raw}"
        self.saved = self.saved or self.mismatch(what, go_name(of), place)

    def complain(self, kind: str, path: str) -> None:
        text = f"{kind} field {quote(path)}"
        self.strict.setdefault(text, Problem(path, text))

    def value(self, of: Type, raw: Any, current: Value, place: _Place, *, pointer: bool = False) -> Value:
        """Decode ``raw`` over ``current`` (a repeated field continues where the first one ended)."""
        if raw is None:
            return self.null(of, current, place, pointer=pointer)
        if isinstance(of, Struct):
            return self.struct(of, raw, current, place)
        if isinstance(of, ListOf):
            return self.list(of, raw, current, place)
        if isinstance(of, MapOf):
            return self.map(of, raw, current, place)
        return self.single(of, raw, current, place)

    def null(self, of: Type, current: Value, place: _Place, *, pointer: bool) -> Value:
        if pointer or isinstance(of, ListOf | MapOf):
            return None
        if isinstance(of, GoDuration):
            raise DecodeError(Problem(place.path, 'time: invalid duration ""'))
        return current

    def struct(self, of: Struct, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, dict):
            self.refuse(raw, of, place)
            return current
        value = dict(current) if current is not None else zero(of)
        seen: set[str] = set()
        for name, item in _pairs(raw):
            path = f"{place.path}.{name}" if place.path else name
            known = of.by_name.get(name)
            if known is None:
                self.complain("unknown", path)
                continue
            if name in seen:
                self.complain("duplicate", path)
            seen.add(name)
            inside = place.field(of.short, known)
            value[name] = self.value(known.type, item, value[name], inside, pointer=known.pointer)
        return value

    def list(self, of: ListOf, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, list):
            self.refuse(raw, of, place)
            return current
        return [self.value(of.item, item, zero(of.item), place.index(i)) for i, item in enumerate(raw)]

    def map(self, of: MapOf, raw: Any, current: Value, place: _Place) -> Value:
        if not isinstance(raw, dict):
            self.refuse(raw, of, place)
            return current
        value = dict(current or {})
        seen: set[str] = set()
        for name, item in _pairs(raw):
            path = f"{place.path}.{name}" if place.path else name
            if name in seen:
                self.complain("duplicate", path)
            seen.add(name)
            inside = _Place(place.struct, place.fields, path)
            value[name] = self.value(of.item, item, zero(of.item), inside)
        return value

    def single(self, of: Type, raw: Any, current: Value, place: _Place) -> Value:
        match of, raw:
            case GoDuration(), _:
                return self.duration(raw, place)
            case Bytes(), str():
                return self.bytes(raw, current, place)
            case Number(), int() | float() if not isinstance(raw, bool):
                return self.number(of, raw, current, place)
            case (Raw(), _) | (Text(), str()) | (Flag(), bool()):
                return raw
        self.refuse(raw, of, place)
        return current

    def number(self, of: Number, raw: int | float, current: Value, place: _Place) -> Value:
        if of.whole:
            limit = 1 << (of.bits - of.signed)
            if isinstance(raw, int) and -limit * of.signed <= raw < limit:
                return raw
        else:
            with np.errstate(over="ignore"):
                narrow = _float(raw) if of.bits == 64 else np.float32(raw)
            if np.isfinite(narrow):
                return float(narrow)
        self.refuse(raw, of, place, exact=True)
        return current

    def duration(self, raw: Any, place: _Place) -> int:
        if not isinstance(raw, str):
            raise DecodeError(self.mismatch(describe(raw), "string", place))
        try:
            return parse_duration(raw)
        except ValueError as error:
            raise DecodeError(Problem(place.path, str(error))) from error

    def bytes(self, raw: str, current: Value, place: _Place) -> Value:
        if (at := base64_fault(raw)) is not None:
            self.saved = self.saved or Problem(place.path, f"illegal base64 data at input byte {at}")
            return current
        return base64.b64decode(raw)


def _float(raw: int | float) -> float:
    """``raw`` in 64 bits, infinite where it is out of range."""
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _pairs(raw: dict[str, Any]) -> list[tuple[str, Any]]:
    return raw.pairs if isinstance(raw, JsonObject) else list(raw.items())
