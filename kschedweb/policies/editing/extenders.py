"""Extenders in the form: every field of each, and blank fields to add another."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.release_tables import Schema, Tables
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.editing.yaml_edits import rewrite_yaml

LIMIT = 20
"""The most extenders that are shown as fields; further ones are changed in the YAML only."""


@dataclass(frozen=True)
class ExtenderForm:
    """The fields of one extender."""

    # The place of the extender in the document.
    index: int
    group: FormField
    # True for blank fields, which add another extender.
    is_new: bool

    @property
    def title(self) -> str:
        """The extender's address, which tells it from others."""
        return next((field.value for field in self.group.fields if field.label == "urlPrefix"), "")

    @property
    def has_problems(self) -> bool:
        return any(field.problems for field in self.group.walk())


def build_forms(data: Json, tables: Tables) -> list[ExtenderForm]:
    """Return the fields of each extender of a document. The last are blank while there is room for another."""
    listed = as_list(data.get("extenders"))
    schema = _extender_schema(tables)
    forms = [
        ExtenderForm(index, _build_group(schema, index, item), is_new=False)
        for index, item in enumerate(listed[:LIMIT])
    ]
    if len(listed) < LIMIT:
        forms.append(ExtenderForm(len(listed), _build_group(schema, len(listed), ABSENT), is_new=True))
    return forms


def left_out(data: Json) -> int:
    """Return the number of extenders of the document that the form does not show."""
    return max(len(as_list(data.get("extenders"))) - LIMIT, 0)


def write_extenders(target: Json, base_data: Json, posted: Posted, tables: Tables) -> None:
    """Write what ``posted`` changes of the extenders of ``base_data`` into ``target``."""
    schema, before = _extender_schema(tables), as_list(base_data.get("extenders"))
    extenders = list(as_list(target.get("extenders")))
    # Removed at the end, so that the places found meanwhile stay right.
    removed: list[int] = []
    for index in range(min(len(before) + 1, LIMIT)):
        name = f"extenders.{index}"
        if not any(key.startswith(f"{name}.") for key in posted):
            continue
        was = before[index] if index < len(before) else ABSENT
        old, new = arguments.shown_value(schema, was), arguments.read_value(schema, name, posted)
        if old == new:
            continue
        place = _find_place(extenders, was, index)
        if place is None:
            extenders += [deepcopy(new)] if new is not ABSENT else []
        elif (value := arguments.overlay_changes(old, new, extenders[place])) is ABSENT:
            removed.append(place)
        else:
            extenders[place] = value
    _set_extenders(target, [item for place, item in enumerate(extenders) if place not in removed])


def remove_extender(text: str, index: int) -> str:
    """Return ``text`` without extender ``index``."""
    data = as_dict(parse_document(text).data)
    listed = as_list(data.get("extenders"))
    if index >= len(listed):
        return text
    target = dict(data)
    _set_extenders(target, [item for place, item in enumerate(listed) if place != index])
    return rewrite_yaml(text, target)


def _extender_schema(tables: Tables) -> Schema:
    schema: Schema = tables.properties_of("KubeSchedulerConfiguration")["extenders"]["items"]
    return schema


def _build_group(schema: Schema, index: int, value: Any) -> FormField:
    return arguments.form_field(schema, f"extenders.{index}", "", value, _schema_defaults(schema), ("extenders", index))


def _schema_defaults(schema: Schema) -> Any:
    """Return the defaults of a schema's fields, including those of nested fields."""
    below = {key: _schema_defaults(item) for key, item in schema.get("properties", {}).items()}
    return schema.get("default", {key: value for key, value in below.items() if value is not ABSENT} or ABSENT)


def _find_place(extenders: list[Any], was: Any, index: int) -> int | None:
    """Return the place in ``extenders`` of the form's extender ``was``: where it moved to, else ``index``."""
    if was is ABSENT:
        return None
    if was in extenders:
        return extenders.index(was)
    return index if index < len(extenders) else None


def _set_extenders(target: Json, extenders: list[Any]) -> None:
    if extenders:
        target["extenders"] = extenders
    elif target.get("extenders"):
        del target["extenders"]
