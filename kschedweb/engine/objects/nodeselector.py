"""Node selectors: the terms of node affinity."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_objects_and_paths, get_string, get_strings
from kschedweb.engine.objects.labels import Labels, Requirement, SelectorError, new_requirement
from kschedweb.engine.validation.affinity import term_problems
from kschedweb.engine.values import dataclass

# The only field of a node that a selector can match.
FIELD_NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Conditions on a node's labels and fields, all of which must hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    # Kubernetes' errors where it cannot parse the term, which then matches no node.
    problems: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.problems

    @property
    def is_empty(self) -> bool:
        return not self.labels and not self.fields and self.valid

    def matches(self, name: str, labels: Labels) -> bool:
        """Return True if a node with this name and labels meets every condition; an empty term matches none."""
        if self.is_empty or not self.valid:
            return False
        # metadata.name is the only field that a node has here; any other one reads as "".
        values_by_field = {field: name if field.key == FIELD_NAME else "" for field in self.fields}
        return all(condition.matches(labels) for condition in self.labels) and all(
            (value == field.values[0]) == (field.operator == "In") for field, value in values_by_field.items()
        )

    def node_names(self) -> frozenset[str] | None:
        """Return the names that ``metadata.name In […]`` allows, ``None`` if the term names no nodes."""
        sets = [frozenset(field.values) for field in self.fields if field.operator == "In" and field.key == FIELD_NAME]
        return frozenset.intersection(*sets) if sets else None


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A preferred term of node affinity with its weight."""

    weight: int
    term: NodeSelectorTerm

    @property
    def has_effect(self) -> bool:
        """True if the scheduler evaluates the term at all."""
        return self.weight != 0 and not self.term.is_empty


def parse_term(raw: Json, path: str = "", place: str = "") -> NodeSelectorTerm:
    """Read a corev1.NodeSelectorTerm; a part that cannot be parsed makes the whole term invalid.

    ``place`` is the name of the term in Kubernetes' errors.
    """
    valid, labels, fields = True, [], []
    for expression, at in get_objects_and_paths(raw, "matchExpressions", path):
        key, operator, values = _read_condition(expression, at)
        try:
            labels.append(new_requirement(key, operator, values))
        except SelectorError:
            valid = False
    for field, at in get_objects_and_paths(raw, "matchFields", path):
        key, operator, values = _read_condition(field, at)
        if operator not in ("In", "NotIn") or len(values) != 1:
            valid = False
        fields.append(Requirement(key, operator, values))
    problems = () if valid else tuple(problem.text for problem in term_problems(raw, place))
    return NodeSelectorTerm(tuple(labels), tuple(fields), problems)


def parse_terms(raw: Json, key: str, path: str = "") -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        parse_term(item, at, f"{key}[{index}]")
        for index, (item, at) in enumerate(get_objects_and_paths(raw, key, path))
    )


def _read_condition(raw: Json, path: str) -> tuple[str, str, tuple[str, ...]]:
    return get_string(raw, "key", path), get_string(raw, "operator", path), get_strings(raw, "values", path)
