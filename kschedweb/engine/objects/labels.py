"""Label selectors: parsed once, matched against many label sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kschedweb.engine.objects.access import Json, each, string_map, text, texts

Labels = Mapping[str, str]
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class SelectorError(ValueError):
    """A selector that Kubernetes would not parse."""


@lru_cache(maxsize=65536)
def is_label_value(value: str) -> bool:
    return not value or (len(value) <= 63 and _NAME.fullmatch(value) is not None)


@lru_cache(maxsize=65536)
def is_qualified_name(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return 0 < len(name) <= 63 and _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label; ``operator`` is one of In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        number = parse_int(value)
        if number is None:
            return False
        limit = int(self.values[0])
        return number > limit if self.operator == "Gt" else number < limit


_INT64 = re.compile(r"[+-]?[0-9]+")


@lru_cache(maxsize=65536)
def parse_int(value: str | None) -> int | None:
    """A base-10 int64 as Go's strconv reads it, ``None`` for anything else."""
    if value is None or not _INT64.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold. No requirement matches everything; ``nothing`` matches nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Whether it matches everything."""
        return not self.requirements and not self.nothing

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """Labels that whatever matches must have."""
        return tuple(
            (one.key, one.values[0]) for one in self.requirements if one.operator == "In" and not one.values[1:]
        )

    def matches(self, labels: Labels) -> bool:
        if self.nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - much faster than a generator
            if not requirement.matches(labels):
                return False
        return True

    def narrowed(self, more: tuple[Requirement, ...]) -> Selector:
        """This selector with further requirements; nothing stays nothing."""
        return self if self.nothing else Selector(self.requirements + more)


NOTHING = Selector(nothing=True)


def requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """A checked requirement; raises SelectorError where Kubernetes' parser refuses it."""
    if not is_qualified_name(key):
        raise SelectorError(f'key: Invalid value: "{key}"')
    if problem := _arity(operator, values):
        raise SelectorError(problem)
    for value in values:
        if not is_label_value(value):
            raise SelectorError(f'values: Invalid value: "{value}"')
    return Requirement(key, operator, values)


def _arity(operator: str, values: tuple[str, ...]) -> str:
    """What is wrong with the number or form of ``values``; "" where nothing is."""
    if operator in ("In", "NotIn"):
        return "" if values else "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
    if operator in ("Exists", "DoesNotExist"):
        return "values: Invalid value: values set must be empty for exists and does not exist" if values else ""
    if operator not in ("Gt", "Lt"):
        return f'"{operator}" is not a valid label selector operator'
    if len(values) != 1:
        return "values: Invalid value: for 'Gt', 'Lt' operators, exactly one value is required"
    if parse_int(values[0]) is None:
        return "values[0]: Invalid value: for 'Gt', 'Lt' operators, the value must be an integer"
    return ""


def label_selector(raw: Json | None, path: str = "") -> Selector:
    """A metav1.LabelSelector: ``None`` matches nothing, ``{}`` everything. Raises SelectorError."""
    if raw is None:
        return NOTHING
    requirements = [
        requirement(key, "In", (value,)) for key, value in sorted(string_map(raw, "matchLabels", path).items())
    ]
    for expression, at in each(raw, "matchExpressions", path):
        operator = text(expression, "operator", at)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        requirements.append(requirement(text(expression, "key", at), operator, texts(expression, "values", at)))
    return Selector(tuple(requirements))
