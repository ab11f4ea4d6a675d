"""Arguments of plugins as typed form fields, made from the engine's JSON Schema and read back into plain data.

A schema has no references: see ``Tables.schema``.

A blank field is an absent value, which has its default. Invalid input is kept: the engine checks it, and its message is
shown at the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from kschedweb.engine.documents.marked_documents import (
    MarkedDocumentError,
    MarkedProblem,
    Path,
    as_yaml,
    parse_document,
)
from kschedweb.policies.editing.load_aware import Slider, build_slider, given_as_a_whole
from kschedweb.policies.editing.release_tables import Schema
from kschedweb.policies.editing.switches import as_dict, as_list

Posted = Mapping[str, str]

# The value of a blank field. None would not do: it is a value that a document may have.
ABSENT = object()
# Larger lists are edited as YAML.
ROW_LIMIT = 50
# A table may leave out that many fields of an item.
MOST_HIDDEN = 2
# kube-scheduler fills these in, so the form does not ask for them.
_IDENTIFYING = frozenset({"apiVersion", "kind"})


@dataclass
class FormField:
    """An input, or a group or table of inputs."""

    # One of number, boolean, choice, text, long (text of several lines), lines, yaml, table, group.
    kind: str
    # The name that is posted, as "args.NodeResourcesFit.scoringStrategy.type".
    name: str
    label: str
    help: str = ""
    # The text in the input; "" if it is blank.
    value: str = ""
    # The text that is shown in grey while the input is blank.
    default: str = ""
    choices: list[str] = field(default_factory=list)
    # The labels of choices, where they differ from the value.
    labels: dict[str, str] = field(default_factory=dict)
    minimum: int | None = None
    maximum: int | None = None
    # The inputs of a group.
    fields: list[FormField] = field(default_factory=list)
    # The inputs of a table; the last row is blank and adds another.
    rows: list[list[FormField]] = field(default_factory=list)
    # The keys that lead to the value in the document; () if it is not in it yet.
    path: Path = ()
    problems: list[MarkedProblem] = field(default_factory=list)
    slider: Slider | None = None
    schema: Schema = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str:
        return f"f-{self.name}".replace(".", "-")

    @property
    def all_choices(self) -> list[str]:
        return ["true", "false"] if self.kind == "boolean" else self.choices

    @property
    def options(self) -> list[tuple[str, str]]:
        """The choices as (value, label)."""
        return [(choice, self.labels.get(choice, choice)) for choice in self.all_choices]

    @property
    def rows_shown(self) -> int:
        return min(max(self.value.count("\n") + 1, 2), 14)

    @property
    def has_values(self) -> bool:
        return any(item.value for item in self.walk())

    @property
    def differs(self) -> bool:
        """True if a value is given that is not the default."""
        if self.kind == "group":
            return any(item.differs for item in self.fields)
        return bool(self.value) and self.value != self.default

    @property
    def has_problems(self) -> bool:
        """True if the field or one below it has a problem."""
        return any(field.problems for field in self.walk())

    def walk(self) -> list[FormField]:
        """Return this field and all below it."""
        below = [*self.fields, *(cell for row in self.rows for cell in row)]
        return [self, *(field for child in below for field in child.walk())]


def form_field(schema: Schema, name: str, label: str, value: Any, default: Any, path: Path) -> FormField:
    """Return the field that shows ``value`` (``ABSENT``: blank) of ``schema``, with ``default`` in grey."""
    kind = _field_kind(schema)
    if kind == "table" and not _fits_table(value):
        kind = "yaml"
    field = FormField(
        kind,
        name,
        label,
        help=str(schema.get("description", "")),
        default=_format_value(kind, default),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        path=path,
        schema=schema,
    )
    if kind == "group":
        below, below_default = as_dict(value), as_dict(default)
        # Weights of such a group are defaulted together: once one is given, the others count as 0.
        if below and given_as_a_whole(name):
            below_default = dict.fromkeys(_visible_properties(schema), 0)
        field.fields = [
            form_field(item, f"{name}.{key}", key, below.get(key, ABSENT), below_default.get(key, ABSENT), (*path, key))
            for key, item in _visible_properties(schema).items()
        ]
    elif kind == "table":
        field.value = _format_value(kind, value)
        field.rows = _build_rows(schema, name, as_list(value), path)
    else:
        field.value = _format_value(kind, value)
        field.slider = build_slider(schema, name) if kind == "number" else None
        field.choices = [str(choice) for choice in schema.get("enum", ())]
        # An invalid choice stays selectable, so that the form shows what the document says.
        if field.value and kind == "choice" and field.value not in field.choices:
            field.choices.append(field.value)
    return field


def read_value(schema: Schema, name: str, posted: Posted) -> Any:
    """Return the value of the posted fields of ``schema``; ``ABSENT`` if all are blank."""
    kind = _field_kind(schema)
    if kind == "group":
        return _read_group(_visible_properties(schema), name, posted)
    if kind == "table":
        if name in posted:
            return _read_yaml(posted[name])
        item = schema["items"]
        rows = [
            _read_group(_table_columns(item), f"{name}.{index}", posted) for index in range(_row_count(name, posted))
        ]
        return [row for row in rows if row is not ABSENT] or ABSENT
    text = posted.get(name, "")
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()] or ABSENT
    if kind == "yaml":
        return _read_yaml(text)
    text = text.strip()
    return ABSENT if not text else _parse_scalar(kind, text)


def overlay_changes(old: Any, new: Any, current: Any) -> Any:
    """Return ``current`` with the changes from ``old`` to ``new``. ``ABSENT`` is a missing value.

    Values that the fields do not show are in neither of the two, so they stay as in ``current``.
    """
    if old == new:
        return current
    if isinstance(old, list) and isinstance(new, list) and isinstance(current, list) and len(old) == len(current):
        return [_overlay_row(old, item, current, index) for index, item in enumerate(new)]
    if not isinstance(new, dict) or not isinstance(old, dict) or not isinstance(current, dict):
        return ABSENT if new is ABSENT else deepcopy(new)
    merged = dict(current)
    for key in [*new, *(key for key in old if key not in new)]:
        value = overlay_changes(old.get(key, ABSENT), new.get(key, ABSENT), current.get(key, ABSENT))
        if value is ABSENT:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged if merged else ABSENT


def _overlay_row(old: list[Any], item: Any, current: list[Any], index: int) -> Any:
    """Return a row of the table with its hidden values: those of the same item if it moved, else those at its index."""
    if item in old:
        return current[old.index(item)]
    return overlay_changes(old[index], item, current[index]) if index < len(old) else deepcopy(item)


def shown_value(schema: Schema, value: Any) -> Any:
    """Return what :func:`read_value` gives for a form that shows ``value``."""
    fields = form_field(schema, "v", "", value, ABSENT, ()).walk()
    return read_value(
        schema, "v", {field.name: field.value for field in fields if field.kind not in ("group", "table")}
    )


def _field_kind(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), None)
    if kind == "string":
        return "choice" if schema.get("enum") else "long" if schema.get("contentEncoding") else "text"
    if kind == "array":
        item = schema.get("items", {})
        return "lines" if _field_kind(item) in ("text", "choice") else "table" if _is_flat(item) else "yaml"
    if kind == "object" and schema.get("properties"):
        return "group"
    return {"boolean": "boolean", "integer": "number", "number": "number"}.get(str(kind), "yaml")


def _table_columns(schema: Schema) -> Schema:
    """Return the properties of a list's item that fit into a cell."""
    cells = ("number", "text", "choice", "boolean")
    return {key: item for key, item in _visible_properties(schema).items() if _field_kind(item) in cells}


def _is_flat(schema: Schema) -> bool:
    """Return whether most of a list item fits into the cells of a row. The rest is not shown."""
    cells, all_of_it = len(_table_columns(schema)), len(_visible_properties(schema))
    return cells > all_of_it / 2 and all_of_it - cells <= MOST_HIDDEN


def _visible_properties(schema: Schema) -> Schema:
    return {key: item for key, item in as_dict(schema.get("properties")).items() if key not in _IDENTIFYING}


def _fits_table(value: Any) -> bool:
    """Return whether ``value`` can be shown in rows; otherwise it is shown as text."""
    return value is ABSENT or (
        isinstance(value, list) and len(value) < ROW_LIMIT and all(isinstance(item, dict) for item in value)
    )


def _build_rows(schema: Schema, name: str, values: list[Any], path: Path) -> list[list[FormField]]:
    """Return a row of fields for each item, and a blank one to add another."""
    columns = _table_columns(schema["items"])
    return [
        [
            form_field(item, f"{name}.{index}.{key}", key, as_dict(value).get(key, ABSENT), ABSENT, (*path, index, key))
            for key, item in columns.items()
        ]
        for index, value in enumerate([*values, {}])
    ]


def _row_count(name: str, posted: Posted) -> int:
    start = f"{name}."
    indices = (key[len(start) :].partition(".")[0] for key in posted if key.startswith(start))
    # Posted names are not trusted: a large index would mean as many rows.
    return min(max((int(index) + 1 for index in indices if index.isdecimal() and len(index) < 5), default=0), ROW_LIMIT)


def _read_group(properties: Schema, name: str, posted: Posted) -> Any:
    values = {key: read_value(item, f"{name}.{key}", posted) for key, item in properties.items()}
    return {key: value for key, value in values.items() if value is not ABSENT} or ABSENT


def _format_value(kind: str, value: Any) -> str:
    if value is ABSENT or value is None or kind == "group":
        return ""
    if kind == "lines" and isinstance(value, list):
        return "\n".join(str(item) for item in value)
    if kind == "table":
        return ", ".join(_format_cell(item) for item in as_list(value))
    if isinstance(value, str):
        return value
    if kind == "yaml":
        return as_yaml(value)
    return json.dumps(value, ensure_ascii=False)


def _format_cell(item: Any) -> str:
    return " ".join(str(value) for value in item.values()) if isinstance(item, dict) else str(item)


def _parse_scalar(kind: str, text: str) -> Any:
    """Return ``text`` converted to ``kind``, or unchanged if it is invalid."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    return parse_number(text) if kind == "number" else text


def iter_leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """List the path and the text of every leaf of nested values."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from iter_leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from iter_leaves(item, f"{path}[{index}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse_number(text: str) -> Any:
    """Return ``text`` as a number, or unchanged if it is none."""
    try:
        # Longer numbers are beyond int64: they stay text, and kube-scheduler's own error is shown.
        return int(text) if len(text) < 20 else text
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return value if isfinite(value) else text


def _read_yaml(text: str) -> Any:
    if not text.strip():
        return ABSENT
    try:
        value = parse_document(text).data
    except MarkedDocumentError:
        return text
    return ABSENT if value is None else value
