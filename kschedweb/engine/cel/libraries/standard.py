"""Operators, conversions and the other functions of standard CEL."""

from __future__ import annotations

import re

from kschedweb.engine.cel import operations
from kschedweb.engine.cel.errors import EvaluationError, no_such_overload
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.macros import INSERT, NOT_STRICTLY_FALSE
from kschedweb.engine.cel.syntax import (
    AND,
    BINARY,
    CONDITIONAL,
    IN,
    INDEX,
    NEGATE,
    NOT,
    OR,
)
from kschedweb.engine.cel.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    TYPE_NAMES,
    UINT_MAX,
    Mapping,
    TypeName,
    Uint,
    Value,
    format_double,
)
from kschedweb.engine.validation.golang import parse_float, parse_int

LIBRARY = Library()

_NO_FINITE = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_TWO_TO_64 = 2.0**64


def _binary_forms(kinds: tuple[str, ...], result: str = "") -> list[str]:
    return [f"{kind}, {kind} -> {result or kind}" for kind in kinds]


def size(value: Value) -> int:
    if type(value) in LISTS or type(value) in (str, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return len(value.entries)
    raise EvaluationError("no such overload: size")


def _conversion_error(value: str, kind: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{kind}'")


def to_bool(text: str) -> bool:
    if text not in _TRUE and text not in _FALSE:
        raise _conversion_error(text, "bool")
    return text in _TRUE


def to_int(text: str) -> int:
    number = parse_int(text)
    if number is None:
        raise _conversion_error(text, "int")
    return number


def to_uint(text: str) -> Uint:
    digits = text.lstrip("0") or "0"
    if not re.fullmatch(r"[0-9]+", text, re.ASCII) or len(digits) > len(str(UINT_MAX)) or int(digits) > UINT_MAX:
        raise _conversion_error(text, "uint")
    return Uint(int(digits))


def to_double(text: str) -> float:
    if _NO_FINITE.fullmatch(text):
        return float(text)
    number = parse_float(text)
    if number is None:
        raise _conversion_error(text, "double")
    return number


def double_to_int(number: float) -> int:
    # cel-go excludes both bounds: `float(INT_MAX)` is 2 to the 63, which is out of range.
    if number != number or not float(INT_MIN) < number < float(INT_MAX):
        raise EvaluationError("integer overflow")
    return int(number)


def double_to_uint(number: float) -> Uint:
    if number != number or not 0 <= number < _TWO_TO_64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


def int_to_uint(number: int) -> Uint:
    if number < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def uint_to_int(number: Uint) -> int:
    if number > INT_MAX:
        raise EvaluationError("integer overflow")
    return int(number)


def bytes_to_string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def same_value(value: Value) -> Value:
    return value


def type_name(value: Value) -> TypeName:
    return TypeName(TYPE_NAMES[type(value)])


def text_contains(text: Value, part: Value) -> bool:
    return _require_text(part) in _require_text(text)


def text_starts(text: Value, part: Value) -> bool:
    return _require_text(text).startswith(_require_text(part))


def text_ends(text: Value, part: Value) -> bool:
    return _require_text(text).endswith(_require_text(part))


def _require_text(value: Value) -> str:
    if type(value) is not str:
        raise no_such_overload()
    return value


def _declare_operators() -> None:
    # The order matters for a value whose type is still open: it gets that of the first overload.
    add = LIBRARY.add_whole
    # `plan` computes the first three of these, indexes and optionals.
    for function, form in [
        (CONDITIONAL, "bool, A, A -> A"),
        (AND, "bool, bool -> bool"),
        (OR, "bool, bool -> bool"),
        (NOT_STRICTLY_FALSE, "bool -> bool"),
        (INSERT, "map(K, V), K, V -> map(K, V)"),
        (INSERT, "map(K, V), map(K, V) -> map(K, V)"),
    ]:
        LIBRARY.add_overloads(function, form)
    LIBRARY.add_overloads(INDEX, ["list(A), int -> A", "map(A, B), A -> B"])
    add(NOT, ["bool -> bool"], operations.invert)
    add(BINARY["=="], ["A, A -> bool"], operations.equal)
    add(BINARY["!="], ["A, A -> bool"], operations.equal)
    add(
        BINARY["+"],
        [*_binary_forms(("bytes", "double", "int")), "list(A), list(A) -> list(A)", *_binary_forms(("string", "uint"))],
        operations.add,
    )
    add(BINARY["/"], _binary_forms(("double", "int", "uint")), operations.divide)
    add(BINARY["%"], _binary_forms(("int", "uint")), operations.modulo)
    add(BINARY["*"], _binary_forms(("double", "int", "uint")), operations.multiply)
    add(NEGATE, ["double -> double", "int -> int"], operations.negate)
    add(BINARY["-"], _binary_forms(("double", "int", "uint")), operations.subtract)
    numbers = {"int": ("int", "double", "uint"), "uint": ("uint", "double", "int"), "double": ("double", "int", "uint")}
    mixed = [f"{kind}, {other_kind} -> bool" for kind, other_kinds in numbers.items() for other_kind in other_kinds]
    for sign in ("<", "<=", ">", ">="):
        forms = [*_binary_forms(("bool",), "bool"), *mixed, *_binary_forms(("string", "bytes"), "bool")]
        add(BINARY[sign], forms, operations.make_comparison(sign))
    add(IN, ["A, list(A) -> bool", "A, map(A, B) -> bool"], operations.is_member)


def _declare_functions() -> None:
    sized = ("bytes", "list(A)", "map(A, B)", "string")
    LIBRARY.add_whole("size", [f"{kind} -> int" for kind in sized], size)
    LIBRARY.add_whole("size", [f"{kind} -> int" for kind in sized], size, member=True)
    LIBRARY.add_whole("type", ["A -> type(A)"], type_name)
    LIBRARY.add_whole("dyn", ["A -> dyn"], same_value)
    conversions: dict[str, dict[str, Run]] = {
        "bool": {"bool": same_value, "string": to_bool},
        "bytes": {"bytes": same_value, "string": str.encode},
        "double": {"double": same_value, "int": float, "string": to_double, "uint": float},
        "int": {"int": same_value, "double": double_to_int, "string": to_int, "uint": uint_to_int},
        "string": {
            "string": same_value,
            "bool": lambda value: "true" if value else "false",
            "bytes": bytes_to_string,
            "double": format_double,
            "int": str,
            "uint": str,
        },
        "uint": {"uint": same_value, "double": double_to_uint, "int": int_to_uint, "string": to_uint},
    }
    for name, ways in conversions.items():
        for kind, run in ways.items():
            LIBRARY.add_overloads(name, f"{kind} -> {name}", run)
    for name, run in {"contains": text_contains, "endsWith": text_ends, "startsWith": text_starts}.items():
        LIBRARY.add_overloads(name, "string, string -> bool", run, member=True, guarded=False)


CONVERSIONS = frozenset(("bool", "bytes", "double", "dyn", "int", "string", "type", "uint"))
_declare_operators()
_declare_functions()
