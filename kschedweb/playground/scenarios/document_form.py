"""The form of a scenario: fields from its document, and fields written back into the document.

A posted form is compared with the document from which it was filled (the base), and only differences are written
into the posted document. So a person can change fields and YAML at once, and neither overwrites the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.documents.marked_documents import MarkedProblem, Path, parse_document
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios import schema
from kschedweb.playground.scenarios.schema import NEW, TITLES, Schema
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.web.translating import gettext_lazy as _

# Value of the field `base` for a cluster without nodes; other values are ids of snapshots.
EMPTY = "empty"
SECTIONS = {"changes": _("Changes"), "arrivals": _("Arrivals")}
# The key of each group of fields in the document; general fields are at the top level.
GROUPS = {"general": "", "use": "use", "run": "run"}
# Changes and arrivals that are shown as forms; a page with more would be slow.
MOST_ITEMS = 100


def _group_shape(name: str) -> Schema:
    """Return the shape of one of GROUPS."""
    fields = schema.form_properties(*([GROUPS[name]] if GROUPS[name] else []))
    # The other fields of the top level have forms of their own.
    properties = {key: fields[key] for key in ("name", "description")} if name == "general" else fields
    return {"type": "object", "properties": properties}


@dataclass
class Item:
    """A change or an arrival as a small form."""

    # Key of SECTIONS.
    section: str
    # Position in the document's list, from 0.
    index: int
    # Key of the item, such as addNodes; "" if it is unknown.
    kind: str
    group: FormField
    # The time of a change; None for an arrival, whose time is one of its own fields.
    at: FormField | None
    problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def title(self) -> str:
        return TITLES.get(self.kind, self.kind or gettext("Not understood"))

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def help(self) -> str:
        return self.group.help

    @property
    def fields(self) -> list[FormField]:
        return [*self.group.fields, *([self.at] if self.at else [])]


@dataclass
class ScenarioForm:
    """The whole form."""

    general: FormField
    base: FormField
    use: FormField
    run: FormField
    items: dict[str, list[Item]]
    # Number of Kubernetes objects in the document, which have no form.
    objects: int
    # Items beyond MOST_ITEMS, which can be edited in the YAML.
    left_out: int

    @property
    def until(self) -> FormField:
        """The time up to which it is run, which most scenarios set."""
        return next(field for field in self.run.fields if field.path == ("run", "until"))

    @property
    def run_options(self) -> list[FormField]:
        return [field for field in self.run.fields if field is not self.until]

    @property
    def has_run_options(self) -> bool:
        return any(field.has_values for field in self.run_options) or bool(self.run.problems)

    @property
    def sections(self) -> list[tuple[str, str, list[Item], list[tuple[str, str]]]]:
        """Name, title and items of each section, and the kinds to add with their titles."""
        return [
            (name, title, self.items[name], [(kind, TITLES[kind]) for kind in schema.item_kinds(name)])
            for name, title in SECTIONS.items()
        ]


def build_form(
    data: Any,
    problems: Sequence[MarkedProblem],
    *,
    snapshots: Mapping[str, str] | None = None,
    files: Sequence[str] = (),
) -> ScenarioForm:
    """Return the form for a document's plain data, with ``problems`` at their fields.

    ``snapshots`` maps ids to labels, ``files`` are the names of the scenario's files.
    """
    data = as_dict(data)
    groups = {
        name: arguments.form_field(
            _with_files(_group_shape(name), files),
            name,
            name,
            data.get(key, ABSENT) if key else data,
            schema.field_defaults(_group_shape(name)["properties"]),
            (key,) if key else (),
        )
        for name, key in GROUPS.items()
    }
    listed = {name: as_list(data.get(name)) for name in SECTIONS}
    form = ScenarioForm(
        **groups,
        base=_base_field(data, snapshots or {}),
        items={
            name: [_build_item(name, index, value, files) for index, value in enumerate(values[:MOST_ITEMS])]
            for name, values in listed.items()
        },
        objects=len(as_list(data.get("objects"))),
        left_out=sum(max(len(values) - MOST_ITEMS, 0) for values in listed.values()),
    )
    place_problems(form, problems)
    return form


def apply_posted(text: str, base: str, posted: Posted) -> str:
    """Return ``text`` with the changes of ``posted`` relative to the form of ``base``.

    Raises ``MarkedDocumentError`` if one of the two is not a YAML document.
    """
    data, base_data = as_dict(parse_document(text).data), as_dict(parse_document(base).data)
    target = deepcopy(data)
    for name in GROUPS:
        # A group without any posted field was not on the page; its fields must not count as emptied.
        if any(key.startswith(f"{name}.") for key in posted):
            _write_group(target, base_data, name, posted)
    if "base" in posted and posted["base"] != _base_value(base_data):
        _write_base(target, posted["base"])
    for section in SECTIONS:
        _write_items(target, base_data, section, posted)
    # The text stays as typed if nothing changed, since rewriting may alter its layout.
    return text if target == data else rewrite_yaml(text, target)


def add_item(text: str, section: str, kind: str) -> str:
    """Return ``text`` with one more change or arrival of ``kind``."""
    data = as_dict(parse_document(text).data)
    if section not in SECTIONS or kind not in schema.item_kinds(section):
        return text
    return rewrite_yaml(text, {**data, section: [*as_list(data.get(section)), {kind: deepcopy(NEW.get(kind, {}))}]})


def remove_item(text: str, section: str, index: int) -> str:
    """Return ``text`` without one of its changes or arrivals."""
    data = as_dict(parse_document(text).data)
    items = as_list(data.get(section))
    if section not in SECTIONS or index >= len(items):
        return text
    remaining = [*items[:index], *items[index + 1 :]]
    if remaining:
        return rewrite_yaml(text, {**data, section: remaining})
    return rewrite_yaml(text, {key: value for key, value in data.items() if key != section})


def move_earlier(text: str, section: str, index: int) -> str:
    """Return ``text`` with item ``index`` moved up by one."""
    data = as_dict(parse_document(text).data)
    items = as_list(data.get(section))
    if section not in SECTIONS or not 0 < index < len(items):
        return text
    items = [*items[: index - 1], items[index], items[index - 1], *items[index + 1 :]]
    return rewrite_yaml(text, {**data, section: items})


# --- fields from values


def _with_files(shape: Schema, files: Sequence[str]) -> Schema:
    """Return ``shape`` with ``files`` as choices of fields for files."""
    if not files:
        return shape
    properties = {
        key: {**item, "enum": list(files)} if key == "file" else item for key, item in shape["properties"].items()
    }
    return {**shape, "properties": properties}


def _build_item(section: str, index: int, value: Any, files: Sequence[str]) -> Item:
    """Return the small form of a change or arrival."""
    kind = _item_kind(section, value)
    prefix = f"{section}.{index}"
    path: Path = (section, index)
    if not kind:
        return Item(section, index, "", FormField("group", prefix, "", path=path), None)
    shape = _with_files(schema.item_kinds(section)[kind], files)
    usual = schema.field_defaults(shape["properties"])
    group = arguments.form_field(shape, f"{prefix}.{kind}", kind, value[kind], usual, (*path, kind))
    at = None
    if section == "changes":
        when = schema.time_shape()
        at_value = value.get("at", ABSENT)
        at = arguments.form_field(when, f"{prefix}.at", "at", at_value, when.get("default", ABSENT), (*path, "at"))
    return Item(section, index, kind, group, at)


def _item_kind(section: str, value: Any) -> str:
    """Return the kind of a change or arrival; "" if it is unknown."""
    return next((key for key in as_dict(value) if key in schema.item_kinds(section)), "")


def _base_value(data: Json) -> str:
    base = as_dict(data.get("base"))
    if base.get("snapshot"):
        return str(base["snapshot"])
    return EMPTY if base.get("empty") is True else ""


def _base_field(data: Json, snapshots: Mapping[str, str]) -> FormField:
    """Return the field for the cluster at the start."""
    value = _base_value(data)
    labels = {EMPTY: gettext("An empty cluster"), **snapshots}
    # A snapshot that was deleted stays a choice, or the form would silently choose another one.
    if value and value not in labels:
        labels[value] = gettext("Snapshot %(snapshot)s") % {"snapshot": value}
    return FormField(
        "choice",
        "base",
        gettext("Starts from"),
        help=gettext("The snapshot of that time. Changes are applied to it."),
        value=value,
        default=gettext("nothing chosen"),
        choices=list(labels),
        labels=labels,
        path=("base",),
    )


def place_problems(form: ScenarioForm, problems: Sequence[MarkedProblem]) -> None:
    """Put each problem at the field whose path is the longest prefix of its path."""
    fields = [leaf for name in GROUPS for top in getattr(form, name).fields for leaf in top.walk()]
    fields.append(form.base)
    for items in form.items.values():
        for item in items:
            fields += item.group.walk() + (item.at.walk() if item.at else [])
    for problem in problems:
        hits = [
            candidate
            for candidate in fields
            if candidate.path and problem.keys[: len(candidate.path)] == candidate.path
        ]
        if hits:
            max(hits, key=lambda candidate: len(candidate.path)).problems.append(problem)
            continue
        # A problem without a field belongs to the whole item.
        for item in form.items.get(str(problem.keys[0]), []) if problem.keys else []:
            if problem.keys[:2] == (item.section, item.index):
                item.problems.append(problem)


# --- values from fields


def _write_group(target: Json, base_data: Json, name: str, posted: Posted) -> None:
    """Write the changed fields of one of GROUPS into ``target``."""
    place = GROUPS[name]
    before = as_dict(base_data.get(place)) if place else base_data
    holder = as_dict(target.get(place)) if place else target
    for key, item in _group_shape(name)["properties"].items():
        old = arguments.shown_value(item, before.get(key, ABSENT))
        new = arguments.read_value(item, f"{name}.{key}", posted)
        if old == new:
            continue
        # Only what differs is written: a field may show less than the document has.
        value = arguments.overlay_changes(old, new, holder.get(key, ABSENT))
        if value is ABSENT:
            holder.pop(key, None)
        else:
            holder[key] = value
    if place and holder:
        target[place] = holder
    elif place:
        target.pop(place, None)


def _write_base(target: Json, value: str) -> None:
    if not value:
        target.pop("base", None)
    else:
        target["base"] = {"empty": True} if value == EMPTY else {"snapshot": value}


def _write_items(target: Json, base_data: Json, section: str, posted: Posted) -> None:
    """Write the changed fields of a section's items into ``target``."""
    items, before = as_list(target.get(section)), as_list(base_data.get(section))
    for index, old_item in enumerate(before[:MOST_ITEMS]):
        kind = _item_kind(section, old_item)
        prefix = f"{section}.{index}"
        # Items are matched by position: one whose kind was changed in the YAML meanwhile is left alone.
        is_posted = any(key.startswith(f"{prefix}.") for key in posted)
        if not kind or not is_posted or index >= len(items) or _item_kind(section, items[index]) != kind:
            continue
        shapes = {kind: schema.item_kinds(section)[kind]}
        if section == "changes":
            shapes["at"] = schema.time_shape()
        for key, item_shape in shapes.items():
            old = arguments.shown_value(item_shape, as_dict(old_item).get(key, ABSENT))
            new = arguments.read_value(item_shape, f"{prefix}.{key}", posted)
            if old != new:
                value = arguments.overlay_changes(old, new, items[index].get(key, ABSENT))
                if value is ABSENT and key != kind:
                    items[index].pop(key, None)
                else:
                    items[index][key] = {} if value is ABSENT else value
