"""Extenders in the form: every field of each, and blank fields to add another."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked import parse
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, Posted
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.load_aware import Schema
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.editing.tables import Tables

LIMIT = 20
"""The most extenders that are shown as fields; further ones are changed in the YAML only."""


@dataclass(frozen=True)
class ExtenderForm:
    """The fields of extender ``index`` of the document; ``is_new`` for blank ones, which add another."""

    index: int
    group: Field
    is_new: bool

    @property
    def title(self) -> str:
        """What tells it from others: its address."""
        return next((one.value for one in self.group.fields if one.label == "urlPrefix"), "")

    @property
    def has_problems(self) -> bool:
        return any(one.problems for one in self.group.walk())


def build(data: dict[str, Any], of: Tables) -> list[ExtenderForm]:
    """The fields of each extender of a document's plain data; the last are blank while there is room for another."""
    listed = as_list(data.get("extenders"))
    schema = _schema(of)
    forms = [
        ExtenderForm(index, _group(schema, index, item), is_new=False) for index, item in enumerate(listed[:LIMIT])
    ]
    if len(listed) < LIMIT:
        forms.append(ExtenderForm(len(listed), _group(schema, len(listed), ABSENT), is_new=True))
    return forms


def left_out(data: dict[str, Any]) -> int:
    """How many extenders of the document are not shown."""
    return max(len(as_list(data.get("extenders"))) - LIMIT, 0)


def write(target: dict[str, Any], shown: dict[str, Any], posted: Posted, of: Tables) -> None:
    """Put what ``posted`` changes of the extenders of ``shown`` into ``target``."""
    schema, before = _schema(of), as_list(shown.get("extenders"))
    found = list(as_list(target.get("extenders")))
    gone: list[int] = []
    for index in range(min(len(before) + 1, LIMIT)):
        name = f"extenders.{index}"
        if not any(key.startswith(f"{name}.") for key in posted):
            continue
        was = before[index] if index < len(before) else ABSENT
        old, new = arguments.shown_value(schema, was), arguments.read(schema, name, posted)
        if old == new:
            continue
        place = _place(found, was, index)
        if place is None:
            found += [deepcopy(new)] if new is not ABSENT else []
        elif (value := arguments.overlay(old, new, found[place])) is ABSENT:
            gone.append(place)
        else:
            found[place] = value
    _set(target, [item for place, item in enumerate(found) if place not in gone])


def remove(text: str, index: int) -> str:
    """``text`` without extender ``index``."""
    data = as_dict(parse(text).data)
    listed = as_list(data.get("extenders"))
    if index >= len(listed):
        return text
    target = dict(data)
    _set(target, [item for place, item in enumerate(listed) if place != index])
    return rewrite(text, target)


def _schema(of: Tables) -> Schema:
    schema: Schema = of.properties("KubeSchedulerConfiguration")["extenders"]["items"]
    return schema


def _group(schema: Schema, index: int, value: Any) -> Field:
    return arguments.form_field(schema, f"extenders.{index}", "", value, _usual(schema), ("extenders", index))


def _usual(schema: Schema) -> Any:
    """The defaults of a schema's fields, those of fields within fields too."""
    below = {key: _usual(item) for key, item in schema.get("properties", {}).items()}
    return schema.get("default", {key: value for key, value in below.items() if value is not ABSENT} or ABSENT)


def _place(found: list[Any], was: Any, index: int) -> int | None:
    """Where in ``found`` the extender ``was`` of the form is: the same one if it moved, else that at ``index``."""
    if was is ABSENT:
        return None
    if was in found:
        return found.index(was)
    return index if index < len(found) else None


def _set(target: dict[str, Any], extenders: list[Any]) -> None:
    if extenders:
        target["extenders"] = extenders
    elif target.get("extenders"):
        del target["extenders"]
