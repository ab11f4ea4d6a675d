"""Types of the checker, and the rules by which one is assignable to another.

As in cel-go's checker, ``dyn`` and ``any`` fit everything, and a type parameter takes the type that it meets.
"""

from __future__ import annotations

import re
from functools import cache

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the checker."""

    # A simple type's own name, else param, list, map, type, opaque or struct.
    kind: str
    name: str
    # Types of the elements, of keys and values, or of the value inside.
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(param) for param in self.params)})" if self.params else self.name

    @property
    def is_dynamic(self) -> bool:
        return self.kind in ("dyn", "any")


_SIMPLE = ("bool", "bytes", "double", "int", "string", "uint", "dyn", "any", "null_type")
BOOL, BYTES, DOUBLE, INT, STRING, UINT, DYN, ANY, NULL = (Type(name, name) for name in _SIMPLE)
QUANTITY, SEMVER = Type("struct", "kubernetes.Quantity"), Type("struct", "kubernetes.Semver")
DEVICE = Type("struct", "kubernetes.DRADevice")
_TYPES_BY_NAME = {kind.name: kind for kind in (BOOL, BYTES, DOUBLE, INT, STRING, UINT, DYN, ANY, QUANTITY, SEMVER)}
# cel-go lets null stand for these types too.
_NULLABLE = frozenset(("opaque", "struct", "any", NULL.kind))
_PARAM = re.compile(r"[A-Z]")
_WORD = re.compile(r"\s*([A-Za-z._]+|[(),])")


def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", "type", (value,))


def device_fields(attribute: Type) -> dict[str, Type]:
    """Return the types of the fields of ``device``, whose attributes have the type ``attribute``."""
    return {
        "driver": STRING,
        "allowMultipleAllocations": BOOL,
        "attributes": map_of(STRING, map_of(STRING, attribute)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }


@cache
def parse_signature(text: str) -> tuple[tuple[Type, ...], Type]:
    """Return the types of the parameters and the result of a signature.

    It is written as ``"list(A), int -> A"``; single capital letters are type parameters.
    """
    before, after = text.split("->")
    words = _WORD.findall(before)
    params = []
    while words:
        params.append(_parse_type(words))
        if words:
            words.pop(0)
    return tuple(params), _parse_type(_WORD.findall(after))


def _parse_type(words: list[str]) -> Type:
    """Remove one type from the start of ``words`` and return it."""
    name = words.pop(0)
    inner = []
    if words and words[0] == "(":
        while words.pop(0) != ")":
            inner.append(_parse_type(words))
    if _PARAM.fullmatch(name):
        return Type("param", name)
    if inner:
        kind = "opaque" if name == "optional_type" else name
        return Type(kind, name, tuple(inner))
    return _TYPES_BY_NAME[name]


class Bindings:
    """The types bound to type parameters so far; a failed attempt leaves none behind."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        # (parameter, type before), to undo a failed attempt.
        self._trail: list[tuple[Type, Type | None]] = []
        self._count = 0

    def new_type_var(self) -> Type:
        """Return a new type parameter."""
        self._count += 1
        return Type("param", f"_var{self._count}")

    def instantiate(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """Return ``types`` with fresh type parameters, the same ones where they repeat."""
        fresh: dict[Type, Type] = {}
        return tuple(self._substitute_vars(kind, fresh) for kind in types)

    def _substitute_vars(self, kind: Type, fresh: dict[Type, Type]) -> Type:
        if kind.kind == "param":
            if kind not in fresh:
                fresh[kind] = self.new_type_var()
            return fresh[kind]
        if not kind.params:
            return kind
        return Type(kind.kind, kind.name, tuple(self._substitute_vars(param, fresh) for param in kind.params))

    def substitute(self, kind: Type, *, final: bool = False) -> Type:
        """Return ``kind`` with its parameters replaced by their types; if ``final``, unbound ones by dyn."""
        while kind in self._bound:
            kind = self._bound[kind]
        if kind.kind == "param":
            return DYN if final else kind
        if not kind.params:
            return kind
        return Type(kind.kind, kind.name, tuple(self.substitute(param, final=final) for param in kind.params))

    def is_assignable(self, first: Type, second: Type) -> bool:
        """Return True if one type can stand for the other, and bind parameters for it."""
        return self.is_assignable_list((first,), (second,))

    def is_assignable_list(self, first: tuple[Type, ...], second: tuple[Type, ...]) -> bool:
        """Return True if each type of a list can stand for the other list's at its place."""
        start = len(self._trail)
        if self._internal_is_assignable_list(first, second):
            return True
        while len(self._trail) > start:
            param, before = self._trail.pop()
            if before is None:
                del self._bound[param]
            else:
                self._bound[param] = before
        return False

    def _bind_param(self, param: Type, to: Type) -> None:
        self._trail.append((param, self._bound.get(param)))
        self._bound[param] = to

    def _internal_is_assignable_list(self, first: tuple[Type, ...], second: tuple[Type, ...]) -> bool:
        return len(first) == len(second) and all(
            self._internal_is_assignable(first_type, second_type)
            for first_type, second_type in zip(first, second, strict=True)
        )

    def _internal_is_assignable(self, first: Type, second: Type) -> bool:
        if second.kind == "param":
            valid, bound = self._is_valid_type_substitution(first, second)
            if valid or bound:
                return valid
        if first.kind == "param":
            return self._is_valid_type_substitution(second, first)[0]
        if first.is_dynamic or second.is_dynamic:
            return True
        if NULL in (first, second):
            return (second if first == NULL else first).kind in _NULLABLE
        return self._same_sort(first, second)

    def _same_sort(self, first: Type, second: Type) -> bool:
        if first.kind == "type":
            return second.kind == "type"
        if first.kind in ("opaque", "list", "map"):
            return (first.kind, first.name) == (second.kind, second.name) and self._internal_is_assignable_list(
                first.params, second.params
            )
        return first == second

    def _is_valid_type_substitution(self, kind: Type, param: Type) -> tuple[bool, bool]:
        """Return whether ``param`` can stand for ``kind``, and whether it was bound before."""
        if kind == param:
            return True, True
        bound = self._bound.get(param)
        if bound is None:
            free = self._is_free_of(param, kind)
            if free:
                self._bind_param(param, kind)
            return free, False
        if kind == bound:
            return True, True
        if not self._internal_is_assignable(kind, bound):
            return False, True
        general = more_general(kind, bound)
        if self._is_free_of(param, general):
            self._bind_param(param, general)
        return True, True

    def _is_free_of(self, param: Type, container: Type) -> bool:
        """Return True if ``param`` does not occur in ``container``: cel-go's occurs check."""
        if param == container:
            return False
        if container.kind == "param":
            bound = self._bound.get(container)
            return bound is None or self._is_free_of(param, bound)
        return all(self._is_free_of(param, inner) for inner in container.params)


def more_general(first: Type, second: Type) -> Type:
    """Return the less specific one of two types."""
    return first if _is_equal_or_less_specific(first, second) else second


def _is_equal_or_less_specific(first: Type, second: Type) -> bool:
    if first.is_dynamic or first.kind == "param":
        return True
    if second.is_dynamic or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.kind in ("opaque", "list", "map"):
        same = first.name == second.name and len(first.params) == len(second.params)
        return same and all(
            _is_equal_or_less_specific(first_type, second_type)
            for first_type, second_type in zip(first.params, second.params, strict=True)
        )
    return first == second
