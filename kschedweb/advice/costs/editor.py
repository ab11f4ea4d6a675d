"""The editor of a price table: its YAML, and its rows as a form; both edit the same document."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from kschedweb.clusters.prices.validation import CheckedPrices, check_prices
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.documents.marked_documents import MarkedDocumentError, MarkedProblem, parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.price_table import DOCUMENT, KIND, VERSION
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.documents import DocumentForm
from kschedweb.policies.editing.editor import build_state
from kschedweb.policies.editing.field_problems import place_problems
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.web.translating import gettext_lazy as _

NEW = f"apiVersion: {VERSION}\nkind: {KIND}\ncurrency: EUR\nprices: []\n"
LISTS = ("prices", "commitments")
LABELS = {
    "currency": _("Currency"),
    "note": _("Note"),
    "perNode": _("Fee for each node, an hour"),
    "prices": _("Prices"),
    "commitments": _("Commitments"),
    "weights": _("Division between CPU and memory"),
    "instanceType": _("Instance type"),
    "capacityType": _("Capacity type"),
    "labels": _("Labels (key=value, …)"),
    "price": _("Price an hour"),
    "nodes": _("Nodes"),
    "discount": _("Discount (%)"),
    "cpu": "CPU",
    "memory": _("Memory"),
}


def json_schema() -> Json:
    """Return the JSON Schema of a price table, for completion in the editor."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct_schema(DOCUMENT)}


def _form_schema() -> Json:
    """Return the schema of the form, in which the labels of a row are one text."""
    schema = json_schema()
    for name in LISTS:
        properties = schema["properties"][name]["items"]["properties"]
        properties["labels"] = {"type": "string", "description": properties["labels"]["description"]}
        properties["capacityType"]["type"] = "string"
    return {"type": "object", "properties": schema["properties"]}


SCHEMA = _form_schema()


@dataclass
class PricesEditor:
    """The editor of a price table."""

    document: str
    # The document from which the form was filled.
    base: str
    checked: CheckedPrices
    fields: list[FormField]

    @property
    def problems(self) -> list[MarkedProblem]:
        """Return the problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def state(self) -> Json:
        """Return the state for the page's script."""
        return build_state(self.document, self.problems, [])


def with_row(document: str, instance_type: str, capacity_type: str) -> PricesEditor:
    """Return the editor with another row, whose price is still to be entered."""
    try:
        data = as_dict(parse_document(document or NEW).data)
    except MarkedDocumentError:
        return FORM.open_editor(document)
    row = {"instanceType": instance_type, "capacityType": capacity_type, "price": None}
    prices = [*as_list(data.get("prices")), {name: value for name, value in row.items() if value != ""}]
    return FORM.open_editor(rewrite_yaml(document or NEW, {**data, "prices": prices}))


def _write_form(target: Json, shown_data: Json, posted: Posted) -> None:
    old, new = arguments.shown_value(SCHEMA, _as_form(shown_data)), arguments.read_value(SCHEMA, "prices", posted)
    merged = arguments.overlay_changes(old, new, _as_form(target))
    target.clear()
    target.update(_from_form({} if merged is ABSENT else merged))


def _build_fields(data: Json, problems: list[MarkedProblem]) -> list[FormField]:
    """Return the fields of the form, with ``problems`` at their cells."""
    group = arguments.form_field(SCHEMA, "prices", "", _as_form(data), ABSENT, ())
    place_problems(problems, group.walk())
    for field in group.walk():
        field.label = LABELS.get(field.label, field.label)
        # The engine's words about prices are plain words already.
        field.problems = [replace(problem, plain="") for problem in field.problems]
    return group.fields


def _as_form(data: Json) -> Json:
    """Return ``data`` with the labels of rows as text, if text can express them."""
    return _map_labels(data, _labels_text)


def _from_form(data: Json) -> Json:
    return _map_labels(data, _labels_read)


def _map_labels(data: Json, change: Any) -> Json:
    converted = deepcopy(data)
    for name in LISTS:
        for row in as_list(converted.get(name)):
            if isinstance(row, dict) and "labels" in row:
                row["labels"] = change(row["labels"])
    return converted


def _labels_text(labels: Any) -> Any:
    if not isinstance(labels, dict):
        return labels
    text = ", ".join(f"{key}={value}" for key, value in labels.items())
    return text if _labels_read(text) == labels else labels


def _labels_read(text: Any) -> Any:
    """Return ``a=1, b=2`` as a mapping; any other value unchanged."""
    if not isinstance(text, str):
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key.strip() and sign for key, sign, _ in pairs):
        return text
    return {key.strip(): value.strip() for key, _, value in pairs}


FORM = DocumentForm(PricesEditor, check_prices, _build_fields, _write_form)
