"""Complaints about node selector terms and label requirements, in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid, unsupported
from kschedweb.engine.validation.golang import parse_int
from kschedweb.engine.validation.labels import name_complaints, value_complaints

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


def selector_problems(selector: Json, path: str) -> list[Problem]:
    """Return the problems of a node selector. Empty terms match nothing and are not checked."""
    terms = selector["nodeSelectorTerms"] or []
    return [p for i, term in enumerate(terms) for p in term_problems(term, f"{path}.nodeSelectorTerms[{i}]")]


def preferred_problems(terms: list[Json], path: str) -> list[Problem]:
    """Return the problems of preferred terms. Terms of weight 0 are not checked."""
    counted = [(i, term["preference"]) for i, term in enumerate(terms) if term["weight"]]
    return [p for i, preference in counted for p in term_problems(preference, f"{path}[{i}]")]


def term_problems(term: Json, path: str) -> list[Problem]:
    """Return the problems of one term, as ``newNodeSelectorTerm`` does."""
    problems: list[Problem] = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        problems += _expression_problems(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.get("matchFields") or ()):
        problems += _field_problems(requirement, f"{path}.matchFields[{index}]")
    return problems


def _field_problems(requirement: Json, path: str) -> list[Problem]:
    operator, values = requirement.get("operator") or "", requirement.get("values")
    if operator not in FIELD_OPERATORS:
        return [unsupported(f"{path}.operator", Typed(operator), FIELD_OPERATORS)]
    if len(values or ()) != 1:
        return [invalid(f"{path}.values", Typed(values), "must have one element")]
    return []


def _expression_problems(requirement: Json, path: str) -> list[Problem]:
    operator = requirement.get("operator") or ""
    if operator not in LABEL_OPERATORS:
        return [unsupported(f"{path}.operator", Typed(operator), LABEL_OPERATORS)]
    return requirement_problems(requirement.get("key") or "", operator, requirement.get("values"), path)


def requirement_problems(key: str, operator: str, values: Sequence[str] | None, path: str = "") -> list[Problem]:
    """Return the problems of a condition on a label by one of LABEL_OPERATORS, as ``labels.NewRequirement`` does."""
    problems: list[Problem] = []
    if complaints := name_complaints(key):
        problems.append(invalid(child_path(path, "key"), key, "; ".join(complaints)))
    at, listed = child_path(path, "values"), values or ()
    if detail := count_complaint(operator, len(listed)):
        problems.append(invalid(at, Typed(values), detail))
    if operator in ("Gt", "Lt"):
        for index, value in enumerate(listed):
            if parse_int(value) is None:
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                problems.append(invalid(f"{at}[{index}]", value, detail))
    for index, value in enumerate(listed):
        if complaints := value_complaints(value):
            problems.append(invalid(f"{at}[{index}][{key}]", value, "; ".join(complaints)))
    return problems


def count_complaint(operator: str, count: int) -> str:
    """Return the problem with the number of values; "" if there is none."""
    if operator in ("In", "NotIn") and count == 0:
        return "for 'in', 'notin' operators, values set can't be empty"
    if operator in ("Exists", "DoesNotExist") and count:
        return "values set must be empty for exists and does not exist"
    if operator in ("Gt", "Lt") and count != 1:
        return "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""
