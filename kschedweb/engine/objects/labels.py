"""Label selectors: parsed once, matched against many label sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_objects_and_paths, get_string, get_string_map, get_strings
from kschedweb.engine.validation.affinity import LABEL_OPERATORS, requirement_problems
from kschedweb.engine.validation.fields import aggregate_problems
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.validation.labels import name_complaints, value_complaints
from kschedweb.engine.values import dataclass

Labels = Mapping[str, str]


class SelectorError(ValueError):
    """Kubernetes cannot parse a selector."""


def is_label_value(value: str) -> bool:
    return not value_complaints(value)


def is_qualified_name(key: str) -> bool:
    return not name_complaints(key)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on one label."""

    key: str
    # In, NotIn, Exists, DoesNotExist, Gt or Lt.
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
    """Return a base-10 int64 as Go's strconv reads it, ``None`` for anything else."""
    if value is None or not _INT64.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Selector:
    """A conjunction of requirements. Without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()
    # True if it matches nothing.
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """True if it matches everything."""
        return not self.requirements and not self.nothing

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """The labels that everything it matches must have."""
        return tuple(
            (requirement.key, requirement.values[0])
            for requirement in self.requirements
            if requirement.operator == "In" and not requirement.values[1:]
        )

    def matches(self, labels: Labels) -> bool:
        if self.nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - much faster than a generator
            if not requirement.matches(labels):
                return False
        return True

    def with_requirements(self, more: tuple[Requirement, ...]) -> Selector:
        """Return this selector with further requirements; one that matches nothing stays as it is."""
        return self if self.nothing else Selector(self.requirements + more)


NOTHING = Selector(nothing=True)


def new_requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """Return a checked requirement; raise SelectorError in the words of Kubernetes' parser."""
    if operator not in LABEL_OPERATORS:
        raise SelectorError(f'"{operator}" is not a valid label selector operator')
    if not _is_valid(key, operator, values):
        raise SelectorError(aggregate_problems(requirement_problems(key, operator, values or None)))
    return Requirement(key, operator, values)


def _is_valid(key: str, operator: str, values: tuple[str, ...]) -> bool:
    """Return True if ``requirement_problems`` would find none; this check is quicker."""
    if not is_qualified_name(key) or not all(map(is_label_value, values)):
        return False
    if operator in ("In", "NotIn"):
        return bool(values)
    if operator in ("Exists", "DoesNotExist"):
        return not values
    return len(values) == 1 and parse_int(values[0]) is not None


def label_selector(raw: Json | None, path: str = "") -> Selector:
    """Read a metav1.LabelSelector: ``None`` matches nothing, ``{}`` everything. Raise SelectorError."""
    if raw is None:
        return NOTHING
    # Sorted, so that selectors with the same labels are equal in whatever order they are written.
    requirements = [
        new_requirement(key, "In", (value,)) for key, value in sorted(get_string_map(raw, "matchLabels", path).items())
    ]
    for expression, at in get_objects_and_paths(raw, "matchExpressions", path):
        operator = get_string(expression, "operator", at)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            raise SelectorError(f"{quote(operator)} is not a valid label selector operator")
        requirements.append(
            new_requirement(get_string(expression, "key", at), operator, get_strings(expression, "values", at))
        )
    return Selector(tuple(requirements))
