"""What is wrong with node selector terms, in kube-scheduler's words."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.validation.fields import Problem, Typed, invalid, unsupported
from kschedweb.engine.validation.golang import parse_int
from kschedweb.engine.validation.labels import name_complaints, value_complaints

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
Term = dict[str, Any]


def selector_problems(selector: Term, path: str) -> list[Problem]:
    """Return what is wrong with a node selector; empty terms match nothing and are not looked at."""
    terms = selector["nodeSelectorTerms"] or []
    return [p for i, term in enumerate(terms) for p in _term_problems(term, f"{path}.nodeSelectorTerms[{i}]")]


def preferred_problems(terms: list[Term], path: str) -> list[Problem]:
    """Return what is wrong with preferred terms; those of weight 0 are not looked at."""
    counted = [(i, term["preference"]) for i, term in enumerate(terms) if term["weight"]]
    return [p for i, preference in counted for p in _term_problems(preference, f"{path}[{i}]")]


def _term_problems(term: Term, path: str) -> list[Problem]:
    found: list[Problem] = []
    for index, requirement in enumerate(term["matchExpressions"] or ()):
        found += _expression_problems(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term["matchFields"] or ()):
        found += _field_problems(requirement, f"{path}.matchFields[{index}]")
    return found


def _field_problems(requirement: Term, path: str) -> list[Problem]:
    if requirement["operator"] not in FIELD_OPERATORS:
        return [unsupported(f"{path}.operator", Typed(requirement["operator"]), FIELD_OPERATORS)]
    if len(requirement["values"] or ()) != 1:
        return [invalid(f"{path}.values", Typed(requirement["values"]), "must have one element")]
    return []


def _expression_problems(requirement: Term, path: str) -> list[Problem]:
    key, operator, values = requirement["key"], requirement["operator"], requirement["values"] or []
    if operator not in LABEL_OPERATORS:
        return [unsupported(f"{path}.operator", Typed(operator), LABEL_OPERATORS)]
    found: list[Problem] = []
    if said := name_complaints(key):
        found.append(invalid(f"{path}.key", key, "; ".join(said)))
    if detail := _count_complaint(operator, len(values)):
        found.append(invalid(f"{path}.values", Typed(requirement["values"]), detail))
    if operator in ("Gt", "Lt"):
        for index, value in enumerate(values):
            if parse_int(value) is None:
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                found.append(invalid(f"{path}.values[{index}]", value, detail))
    for index, value in enumerate(values):
        if said := value_complaints(value):
            found.append(invalid(f"{path}.values[{index}][{key}]", value, "; ".join(said)))
    return found


def _count_complaint(operator: str, count: int) -> str:
    if operator in ("In", "NotIn") and count == 0:
        return "for 'in', 'notin' operators, values set can't be empty"
    if operator in ("Exists", "DoesNotExist") and count:
        return "values set must be empty for exists and does not exist"
    if operator in ("Gt", "Lt") and count != 1:
        return "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""
