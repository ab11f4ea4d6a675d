"""Conditions on labels as 1.13 parses them: it stops at the first fault, and does not say where it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_objects, get_string, get_string_map, get_strings
from kschedweb.engine.validation.affinity import LABEL_OPERATORS, count_complaint
from kschedweb.engine.validation.golang import parse_int, quote
from kschedweb.engine.validation.labels import name_complaints, value_complaints

SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
# Today's words, and those of 1.13.
WORDS = (
    ("a lowercase RFC 1123 subdomain must", "a DNS-1123 subdomain must"),
    ("a valid label key must", "a qualified name must"),
    (" bytes", " characters"),
)


def find_expressions_fault(expressions: Iterable[Json]) -> str:
    """Return 1.13's error about ``matchExpressions`` of node affinity that it cannot parse; "" if it can."""
    for expression in expressions:
        operator = str(expression.get("operator") or "")
        if operator not in LABEL_OPERATORS:
            return f"{quote(operator)} is not a valid node selector operator"
        if fault := _find_fault(str(expression.get("key") or ""), operator, expression.get("values") or ()):
            return fault
    return ""


def find_selector_fault(selector: Json) -> str:
    """Return the error of 1.13's ``LabelSelectorAsSelector`` about a selector that it cannot parse; "" if it can."""
    for key, value in sorted(get_string_map(selector, "matchLabels").items()):
        if fault := _find_fault(key, "In", (value,)):
            return fault
    for expression in get_objects(selector, "matchExpressions"):
        operator = get_string(expression, "operator")
        if operator not in SELECTOR_OPERATORS:
            return f"{quote(operator)} is not a valid pod selector operator"
        if fault := _find_fault(get_string(expression, "key"), operator, get_strings(expression, "values")):
            return fault
    return ""


def _find_fault(key: str, operator: str, values: Sequence[str]) -> str:
    """Return the first fault that ``labels.NewRequirement`` of 1.13 finds."""
    if complaints := name_complaints(key):
        return f"invalid label key {quote(key)}: {_join_complaints_of_1_13(complaints)}"
    if detail := count_complaint(operator, len(values)):
        return detail
    if operator in ("Gt", "Lt") and parse_int(values[0]) is None:
        return "for 'Gt', 'Lt' operators, the value must be an integer"
    for value in values:
        if complaints := value_complaints(value):
            return f"invalid label value: {quote(value)}: {_join_complaints_of_1_13(complaints)}"
    return ""


def _join_complaints_of_1_13(complaints: Sequence[str]) -> str:
    text = "; ".join(complaints)
    for today, then in WORDS:
        text = text.replace(today, then)
    return text
