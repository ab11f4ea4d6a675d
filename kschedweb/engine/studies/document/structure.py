"""Shapes that are made of others: lists, maps, objects with known keys, and choices between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.document.shape import Problem, Problems, Shape, below, kind

REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape
    least: int = 0
    most: int = 100_000

    def read(self, raw: Any, path: str, problems: Problems) -> tuple[Any, ...]:
        if not isinstance(raw, list | tuple):
            problems.append(Problem(path, f"must be a list, is {kind(raw)}"))
            return ()
        if len(raw) < self.least:
            problems.append(Problem(path, "must not be empty"))
        if len(raw) > self.most:
            problems.append(Problem(path, f"has {len(raw):,} entries; at most {self.most:,} are taken"))
            return ()
        return tuple(self.item.read(one, f"{path}[{place}]", problems) for place, one in enumerate(raw))

    def schema(self) -> Json:
        found: Json = {"type": "array", "items": self.item.schema(), "maxItems": self.most}
        return found | ({"minItems": self.least} if self.least else {})


@dataclass(frozen=True, slots=True)
class MapOf:
    item: Shape
    least: int = 0

    def read(self, raw: Any, path: str, problems: Problems) -> Mapping[str, Any]:
        if not isinstance(raw, dict):
            problems.append(Problem(path, f"must be an object, is {kind(raw)}"))
            return {}
        if len(raw) < self.least:
            problems.append(Problem(path, "must not be empty"))
        found = {}
        for key, value in raw.items():
            if isinstance(key, str):
                found[key] = self.item.read(value, below(path, key), problems)
            else:
                problems.append(Problem(path, f"has the key {key!r}, which is no string: write it in quotes"))
        return found

    def schema(self) -> Json:
        found: Json = {"type": "object", "additionalProperties": self.item.schema()}
        return found | ({"minProperties": self.least} if self.least else {})


@dataclass(frozen=True, slots=True)
class Field:
    """``key`` in JSON is the argument ``name`` in Python, by default the same in snake case. Null is as good as absent.

    ``default`` is what Python gets where it is absent.
    """

    key: str
    shape: Shape
    help: str = ""
    default: Any = None
    name: str = ""

    @property
    def argument(self) -> str:
        return self.name or re.sub(r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), self.key)


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with known keys. Of each group in ``one_of`` exactly one key must be there, of ``at_most`` one at most.

    ``make`` gets the fields as arguments once all are well, and raises ValueError with what is wrong between them.
    """

    make: Callable[..., Any]
    fields: Sequence[Field]
    help: str = ""
    one_of: tuple[tuple[str, ...], ...] = field(default=())

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        if not isinstance(raw, dict):
            problems.append(Problem(path, f"must be an object, is {kind(raw)}"))
            return None
        before = len(problems)
        known = {one.key: one for one in self.fields}
        for key in raw:
            if key not in known:
                at = below(path, key) if isinstance(key, str) else path
                problems.append(Problem(at, f"is not known; known are {', '.join(sorted(known))}"))
        values = {}
        for one in self.fields:
            value = raw.get(one.key)
            if value is not None:
                values[one.argument] = one.shape.read(value, below(path, one.key), problems)
            elif one.default is REQUIRED:
                problems.append(Problem(below(path, one.key), "is missing"))
            else:
                values[one.argument] = one.default
        for group in self.one_of:
            self._one(raw, group, path, problems)
        if len(problems) > before:
            return None
        try:
            return self.make(**values)
        except ValueError as error:
            problems.append(Problem(path, str(error)))
            return None

    @staticmethod
    def _one(raw: Json, group: tuple[str, ...], path: str, problems: Problems) -> None:
        there = [key for key in group if raw.get(key) is not None]
        if len(there) != 1:
            told = f"has {' and '.join(there)}" if there else "has none"
            problems.append(Problem(path, f"must have exactly one of {', '.join(group)}; {told}"))

    def schema(self) -> Json:
        properties = {}
        for one in self.fields:
            about: Json = {"description": one.help} if one.help else {}
            if isinstance(one.default, str | int | float | bool):
                about["default"] = one.default
            properties[one.key] = {**one.shape.schema(), **about}
        found: Json = {"type": "object", "properties": properties, "additionalProperties": False}
        if self.help:
            found["description"] = self.help
        required = [one.key for one in self.fields if one.default is REQUIRED]
        if required:
            found["required"] = required
        groups = [{"oneOf": [{"required": [key]} for key in group]} for group in self.one_of]
        return found | ({"allOf": groups} if groups else {})


@dataclass(frozen=True, slots=True)
class Either:
    """``word`` or what ``of`` is; ``value`` is what the word means."""

    word: str
    of: Shape
    value: Any = None

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        return self.value if raw == self.word else self.of.read(raw, path, problems)

    def schema(self) -> Json:
        return {"anyOf": [{"const": self.word}, self.of.schema()]}


@dataclass(frozen=True, slots=True)
class ByType:
    """An object in one form, else a plain value, of which ``make`` makes what is wanted."""

    plain: Shape
    structured: Shape
    make: Callable[[Any], Any] = field(default=lambda value: value)

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        if isinstance(raw, dict):
            return self.structured.read(raw, path, problems)
        return self.make(self.plain.read(raw, path, problems))

    def schema(self) -> Json:
        return {"anyOf": [self.plain.schema(), self.structured.schema()]}
