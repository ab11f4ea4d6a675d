"""Which objects a list or a watch is about: label and field selectors as the API server reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError, requirement
from kschedweb.engine.sandbox.failures import bad
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.values import dataclass

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
    """The objects of a resource in ``namespace`` ("" for all) with these labels and fields."""

    resource: Resource
    namespace: str = ""
    labels: Selector = ALL
    fields: tuple[tuple[str, bool, str], ...] = ()  # path, whether it must be equal, value

    @classmethod
    def of(cls, resource: Resource, namespace: str, query: Mapping[str, str]) -> Selection:
        """Raises Refusal where a selector cannot be read."""
        try:
            labels = _labels(query.get("labelSelector", ""))
        except SelectorError as error:
            raise bad(f"unable to parse requirement: {error}") from None
        return cls(resource, namespace, labels, _fields(resource, query.get("fieldSelector", "")))

    def has(self, raw: Json | None) -> bool:
        """Whether the object is there and one of those."""
        if raw is None:
            return False
        metadata = raw["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        if not self.labels.matches(metadata.get("labels") or {}):
            return False
        return all((_value(raw, path) == value) is equal for path, equal, value in self.fields)


def whole_number(text: str) -> int | None:
    """A whole number of 64 bits without a sign; ``None`` for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63 else None


def _labels(text: str) -> Selector:
    terms = [term for term in re.split(r",(?![^()]*\))", text) if term.strip()]
    return Selector(tuple(_requirement(term.strip()) for term in terms))


def _requirement(term: str) -> Requirement:
    found = _TERM.fullmatch(term)
    if found is None:
        raise SelectorError(f"found '{term}'")
    key, operator, value = found["key"], found["op"], (found["value"] or "").strip()
    if operator is None:
        return requirement(key, "DoesNotExist" if found["not"] else "Exists", ())
    if operator in ("in", "notin"):
        values = tuple(part.strip() for part in value.strip("()").split(","))
        return requirement(key, "In" if operator == "in" else "NotIn", values)
    name = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}[operator]
    return requirement(key, name, (value,))


def _fields(resource: Resource, text: str) -> tuple[tuple[str, bool, str], ...]:
    found = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<path>[^=!]+)(?P<op>==|=|!=)(?P<value>.*)", term)
        if match is None:
            raise bad(f"invalid selector: '{term}'; can't understand '{term}'")
        if match["path"] not in GENERAL | FIELDS.get(resource.plural, frozenset()):
            raise bad(f"field label not supported: {match['path']}")
        found.append((match["path"], match["op"] != "!=", match["value"]))
    return tuple(found)


def _value(raw: Json, path: str) -> str:
    value: Any = raw
    if path.startswith("involvedObject.") and "involvedObject" not in raw:
        path = path.replace("involvedObject", "regarding", 1)
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
