"""Label selectors as they are written on command lines: ``zone in (a, b),!gpu``."""

from __future__ import annotations

import re

from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError, new_requirement

# The three forms of a requirement, tried in this order: the last one matches the start of the others.
_SET = re.compile(r"\s*(?P<key>[^\s,()!=<>]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_COMPARED = re.compile(r"\s*(?P<key>[^\s,()!=<>]+)\s*(?P<operator>==|=|!=|>|<)\s*(?P<value>[^\s,()!=<>]*)\s*")
_EXISTS = re.compile(r"\s*(?P<not>!?)\s*(?P<key>[^\s,()!=<>]+)\s*")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt", "in": "In", "notin": "NotIn"}


def parse_selector(text: str) -> Selector:
    """Parse a selector; raise SelectorError."""
    requirements: list[Requirement] = []
    at = 0
    while at < len(text) and text.strip():
        match = next((hit for form in (_SET, _COMPARED, _EXISTS) if (hit := form.match(text, at))), None)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise SelectorError(f"unable to parse requirement: {text[at:][:60]!r}")
        requirements.append(_parse_requirement(match))
        at = match.end() + 1
        if at == len(text):
            raise SelectorError("found '', expected: identifier after ','")
    return Selector(tuple(requirements))


def _parse_requirement(match: re.Match[str]) -> Requirement:
    parts = match.groupdict()
    if "values" in parts:
        values = sorted({value.strip() for value in parts["values"].split(",")})
        return new_requirement(parts["key"], _OPERATORS[parts["operator"]], tuple(values))
    if "value" in parts:
        return new_requirement(parts["key"], _OPERATORS[parts["operator"]], (parts["value"],))
    return new_requirement(parts["key"], "DoesNotExist" if parts["not"] else "Exists", ())
