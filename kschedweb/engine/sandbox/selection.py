"""Label and field selectors of lists and watches, as the API server reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError, new_requirement
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.status_errors import bad_request
from kschedweb.engine.values import dataclass

# Fields that every resource can be selected by, and those of single resources.
GENERAL = frozenset({"metadata.name", "metadata.namespace"})
_EVENT = {f"involvedObject.{part}" for part in ("kind", "namespace", "name", "uid")} | {"reason", "type"}
FIELDS = {
    "pods": frozenset(
        {"spec.nodeName", "spec.schedulerName", "spec.restartPolicy", "status.phase", "status.nominatedNodeName"}
    ),
    "nodes": frozenset({"spec.unschedulable"}),
    "namespaces": frozenset({"status.phase"}),
    "events": frozenset(_EVENT),
}
_TERM = re.compile(
    r"\s*(?P<not>!)?\s*(?P<key>[^\s!=<>,()]+)\s*(?:(?P<op>==|=|!=|>|<|\bnotin\b|\bin\b)\s*(?P<value>.*))?"
)


ALL = Selector()


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects of a resource that a request is about."""

    resource: Resource
    # "" for all namespaces.
    namespace: str = ""
    labels: Selector = ALL
    # (path, whether it must be equal, value)
    fields: tuple[tuple[str, bool, str], ...] = ()

    @classmethod
    def from_query(cls, resource: Resource, namespace: str, query: Mapping[str, str]) -> Selection:
        """Read the selectors of a request. Raises ApiRefusal."""
        try:
            labels = _parse_label_selector(query.get("labelSelector", ""))
        except SelectorError as error:
            raise bad_request(f"unable to parse requirement: {error}") from None
        return cls(resource, namespace, labels, _parse_field_selector(resource, query.get("fieldSelector", "")))

    def matches(self, raw: Json | None) -> bool:
        """Return true if the object exists and matches."""
        if raw is None:
            return False
        metadata = raw["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        if not self.labels.matches(metadata.get("labels") or {}):
            return False
        return all((_field_value(raw, path) == value) is equal for path, equal, value in self.fields)


def whole_number(text: str) -> int | None:
    """Read a whole number of 64 bits without a sign; returns ``None`` for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63 else None


def _parse_label_selector(text: str) -> Selector:
    # Commas within parentheses separate values, not requirements.
    terms = [term for term in re.split(r",(?![^()]*\))", text) if term.strip()]
    return Selector(tuple(_parse_requirement(term.strip()) for term in terms))


def _parse_requirement(term: str) -> Requirement:
    match = _TERM.fullmatch(term)
    if match is None:
        raise SelectorError(f"found '{term}'")
    key, operator, value = match["key"], match["op"], (match["value"] or "").strip()
    if operator is None:
        return new_requirement(key, "DoesNotExist" if match["not"] else "Exists", ())
    if operator in ("in", "notin"):
        values = tuple(part.strip() for part in value.strip("()").split(","))
        return new_requirement(key, "In" if operator == "in" else "NotIn", values)
    name = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}[operator]
    return new_requirement(key, name, (value,))


def _parse_field_selector(resource: Resource, text: str) -> tuple[tuple[str, bool, str], ...]:
    requirements = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<path>[^=!]+)(?P<op>==|=|!=)(?P<value>.*)", term)
        if match is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        if match["path"] not in GENERAL | FIELDS.get(resource.plural, frozenset()):
            raise bad_request(f"field label not supported: {match['path']}")
        requirements.append((match["path"], match["op"] != "!=", match["value"]))
    return tuple(requirements)


def _field_value(raw: Json, path: str) -> str:
    value: Any = raw
    if path.startswith("involvedObject.") and "involvedObject" not in raw:
        # An event in the form of events.k8s.io has the same object under another name.
        path = path.replace("involvedObject", "regarding", 1)
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
