"""Types of documents of every kind: lists, maps and objects of other types, and choices between types.

One table of a document gives its reading with every error under its path (``read``), its JSON Schema
(``json_schema.py``), from which forms are built, and, for documents of kube-scheduler, its strict decoding
(``config``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, TypeAlias

from kschedweb.engine.documents.leaves import DocumentProblem, Faulty, Leaf, Problems, describe_kind, key_path
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

# A marker, because None is a possible default.
REQUIRED: Any = object()


@dataclass(frozen=True)
class ListType:
    """A list of one type."""

    item: Type
    min_items: int = 0
    max_items: int | None = None
    # Type in Go, if it has a name of its own.
    go: str = field(default="", kw_only=True)

    def read(self, raw: Any, path: str, problems: Problems) -> tuple[Any, ...]:
        if not isinstance(raw, list | tuple):
            problems.append(DocumentProblem(path, f"must be a list, is {describe_kind(raw)}"))
            return ()
        if len(raw) < self.min_items:
            problems.append(DocumentProblem(path, "must not be empty"))
        if self.max_items is not None and len(raw) > self.max_items:
            problems.append(DocumentProblem(path, f"has {len(raw):,} entries; at most {self.max_items:,} are taken"))
            return ()
        return tuple(self.item.read(item, f"{path}[{place}]", problems) for place, item in enumerate(raw))


@dataclass(frozen=True)
class MapType:
    """A map from strings to one type."""

    item: Type
    # Keys that a form offers; other keys are allowed as well.
    keys: tuple[str, ...] = ()
    min_items: int = 0
    go: str = field(default="", kw_only=True)

    def read(self, raw: Any, path: str, problems: Problems) -> Mapping[str, Any]:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {describe_kind(raw)}"))
            return {}
        if len(raw) < self.min_items:
            problems.append(DocumentProblem(path, "must not be empty"))
        values = {}
        for key, value in raw.items():
            if isinstance(key, str):
                values[key] = self.item.read(value, key_path(path, key), problems)
            else:
                problems.append(DocumentProblem(path, f"has the key {key!r}, which is no string: write it in quotes"))
        return values


@dataclass(frozen=True)
class StructField:
    """One field of a struct."""

    name: str
    type: Type
    # One or two sentences for a person.
    help: str = ""
    # Value of an absent field, or ``REQUIRED`` if ``read`` demands one. For ``read``, null counts as absent.
    default: Any = None
    # Name of the argument in Python; by default the name in snake case.
    argument: str = ""
    # What the rules between fields leave of the type; ``None`` leaves all of it.
    enum: tuple[str, ...] = field(default=(), kw_only=True)
    minimum: int | None = field(default=None, kw_only=True)
    maximum: int | None = field(default=None, kw_only=True)
    examples: tuple[Any, ...] = field(default=(), kw_only=True)
    # In Go: a pointer, which tells "absent" from the zero value.
    pointer: bool = field(default=False, kw_only=True)
    # In Go: an empty value is left out when written.
    omit_empty: bool = field(default=True, kw_only=True)
    # The Go struct that brings the field in.
    embedded: str = field(default="", kw_only=True)
    # The range of sensible values, if more is allowed; of a map, for each value.
    usual: tuple[float, float] | None = field(default=None, kw_only=True)
    # The default of the group holds only if all of it is absent; a field left out of a given group counts as 0.
    whole: bool = field(default=False, kw_only=True)

    @property
    def in_python(self) -> str:
        return self.argument or re.sub(r"(?<=[a-z])([A-Z])", lambda match: "_" + match[1].lower(), self.name)


@dataclass(frozen=True)
class Struct:
    """An object with known fields."""

    # Qualified Go name, such as ``v1.PluginSet``, or the name of the part.
    name: str
    help: str
    fields: tuple[StructField, ...]
    # Required fields beside those whose default is ``REQUIRED``.
    required: tuple[str, ...] = ()
    # Gets the fields as arguments once all are valid. Raises ValueError for a problem between them, or Faulty if it has
    # a place of its own.
    make: Callable[..., Any] = field(default=dict, kw_only=True)
    # Groups of fields of which exactly one must be there.
    one_of: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True)

    @cached_property
    def by_name(self) -> dict[str, StructField]:
        return {field.name: field for field in self.fields}

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    @cached_property
    def required_names(self) -> list[str]:
        """The names of all required fields."""
        return [*(field.name for field in self.fields if field.default is REQUIRED), *self.required]

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {describe_kind(raw)}"))
            return None
        before = len(problems)
        for key in raw:
            if key not in self.by_name:
                at = key_path(path, key) if isinstance(key, str) else path
                problems.append(DocumentProblem(at, f"is not known; known are {', '.join(sorted(self.by_name))}"))
        values = {}
        for struct_field in self.fields:
            value = raw.get(struct_field.name)
            if value is not None:
                values[struct_field.in_python] = struct_field.type.read(
                    value, key_path(path, struct_field.name), problems
                )
            elif struct_field.name in self.required_names:
                problems.append(DocumentProblem(key_path(path, struct_field.name), "is missing"))
            else:
                values[struct_field.in_python] = struct_field.default
        for group in self.one_of:
            self._check_one_of(raw, group, path, problems)
        if len(problems) > before:
            return None
        return self._create_value(values, path, problems)

    def _create_value(self, values: dict[str, object], path: str, problems: Problems) -> Any:
        try:
            return self.make(**values)
        except Faulty as error:
            prefix = f"{path}." if path else ""
            problems += [DocumentProblem(prefix + problem.path, problem.text) for problem in error.problems]
        except ValueError as error:
            problems.append(DocumentProblem(path, str(error)))
        return None

    @staticmethod
    def _check_one_of(raw: Json, group: tuple[str, ...], path: str, problems: Problems) -> None:
        present = [key for key in group if raw.get(key) is not None]
        if len(present) != 1:
            finding = f"has {' and '.join(present)}" if present else "has none"
            problems.append(DocumentProblem(path, f"must have exactly one of {', '.join(group)}; {finding}"))


@dataclass(frozen=True)
class Either:
    """Either a fixed word or a value of another type."""

    word: str
    # Type of any other value.
    alternative: Type
    # Meaning of the word.
    value: Any = None

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        return self.value if raw == self.word else self.alternative.read(raw, path, problems)


@dataclass(frozen=True)
class ByType:
    """An object of one type, or a plain value of another."""

    plain: Type
    structured: Type
    # Converts the plain value.
    make: Callable[[Any], Any] = field(default=lambda value: value)

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        if isinstance(raw, dict):
            return self.structured.read(raw, path, problems)
        return self.make(self.plain.read(raw, path, problems))


Type: TypeAlias = Leaf | ListType | MapType | Struct | Either | ByType
