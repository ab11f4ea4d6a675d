"""The table of Go types, read once: structs with their fields, lists, maps, single values."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from kschedweb.engine.values import dataclass

TABLE = Path(__file__).with_name("types.tsv")
# Bits of Go's types of integers.
INTEGERS = {"int": 64, "int32": 32, "int64": 64, "uint8": 8}
_MAP, _LIST = "map[string]", "[]"


@dataclass(frozen=True, slots=True)
class Single:
    """A single value."""

    # The name of its Go type.
    go: str
    # Go's kind: string, bool, int32, float64, or the name of a type that reads itself.
    kind: str


@dataclass(frozen=True, slots=True)
class GoList:
    go: str
    item: Type


@dataclass(frozen=True, slots=True)
class GoMap:
    go: str
    item: Type


@dataclass(frozen=True, slots=True)
class GoField:
    """A field of a struct."""

    name: str
    type: Type
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    # The names by which Go's errors call it: those of embedded structs, then its own.
    place: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of Go."""

    # Its full name, such as ``v1.PodSpec``.
    go: str
    # Its name in the table, which tells apart types of the same name.
    key: str

    @property
    def fields(self) -> dict[str, GoField]:
        return _struct_fields(self.key)


Type = Single | GoList | GoMap | Struct


@cache
def _read_sections() -> dict[str, list[str]]:
    blocks = TABLE.read_text(encoding="utf-8").strip().split("\n\n")
    return {lines[0]: lines[1:] for lines in (block.split("\n") for block in blocks)}


def find_struct(key: str) -> Struct | None:
    """Return the struct of that name in the table, such as ``v1.Pod``; ``None`` if it has none."""
    return Struct(key.partition("@")[0], key) if key in _read_sections() else None


@cache
def _struct_fields(key: str) -> dict[str, GoField]:
    return {field.name: field for field in map(_parse_field, _read_sections()[key])}


def _parse_field(row: str) -> GoField:
    name, text, marks, inside = (*row.split("\t"), "", "")[:4]
    pointer = text.startswith("*")
    place = (*filter(None, inside.split(".")), name)
    return GoField(name, _parse_type(text.removeprefix("*")), pointer, "e" in marks, "z" in marks, place)


@cache
def _parse_type(text: str) -> Type:
    """Read a type of the table: ``[]T``, ``map[string]T``, ``name~T`` for a name of T, ``!name`` for itself."""
    go, _, plain = text.rpartition("~") if re.match(r"[\w.]+~", text) else ("", "", text)
    if plain.startswith(_LIST):
        item = _parse_type(plain.removeprefix(_LIST))
        return GoList(go or f"[]{item.go}", item)
    if plain.startswith(_MAP):
        item = _parse_type(plain.removeprefix(_MAP))
        return GoMap(go or f"map[string]{item.go}", item)
    if plain.startswith("!"):
        return Single(plain[1:], plain[1:])
    return find_struct(plain) or Single(go or plain, plain)
