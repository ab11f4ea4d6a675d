"""kube-scheduler's errors in plain words, for a person who fills in a form.

The words come from the type and range of the field and from the rules between fields, never from the text of the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.engine.validation.golang import base64_fault
from kschedweb.policies.editing.arguments import FormField, parse_number
from kschedweb.policies.editing.release_tables import Schema
from kschedweb.web.translating import gettext_lazy as _

Place = tuple[Path, list[MarkedProblem]]

# Rules between fields, by the path of the field with indices left out.
_RULES = {
    "leaderElection.leaseDuration": _("Must be longer than renewDeadline."),
    "leaderElection.renewDeadline": _("Must be longer than 0s."),
    "leaderElection.retryPeriod": _("Must be longer than 0s."),
    "podMaxBackoffSeconds": _("Must be at least podInitialBackoffSeconds."),
    "profiles[].schedulerName": _("Each profile needs a name of its own."),
    "profiles[].plugins.queueSort": _("Leave exactly one plugin on at queueSort, the same in every profile."),
    "profiles[].plugins.bind": _("Switch a plugin on at bind, such as DefaultBinder."),
    "profiles[].plugins.placementGenerate": _("Leave at most one plugin on at placementGenerate."),
    "extenders": _("Leave bindVerb in one extender only."),
    "extenders[].weight": _("Must be at least 1 where prioritizeVerb is given."),
    "extenders[].managedResources[].name": (
        _("Must be the name of an extended resource, such as example.com/gpu, that is given once only.")
    ),
    "extenders[].tlsConfig.insecure": _("Leave out the trusted root certificates, or switch insecure off."),
    "extenders[].tlsConfig.caData": _("Must be a PEM block in base64."),
    "extenders[].tlsConfig.certData": _("Must be a PEM block in base64."),
}
# The end of the pattern of a duration in the engine's JSON Schema.
DURATION = "(ns|us|µs|ms|s|m|h))+)$"
_INDEX = re.compile(r"\[\d+\]")


def place_problems(
    problems: Iterable[MarkedProblem], fields: Iterable[FormField], other_places: Iterable[Place] = ()
) -> None:
    """Attach each problem, with plain words, to the part of the form whose path is the longest prefix of its own."""
    places = [(field.path, field.problems, field) for field in fields if field.path]
    all_places: list[tuple[Path, list[MarkedProblem], FormField | None]] = [
        *places,
        *((path, attached, None) for path, attached in other_places),
    ]
    for problem in problems:
        hits = [place for place in all_places if place[0] and problem.keys[: len(place[0])] == place[0]]
        if hits:
            path, attached, field = max(hits, key=lambda place: len(place[0]))
            # The field explains only its own problem: a problem below it may have any reason.
            attached.append(replace(problem, plain=_explain_problem(problem, field if path == problem.keys else None)))


def _explain_problem(problem: MarkedProblem, field: FormField | None) -> str:
    explanation = explain_value(field.kind, field.schema, field.value) if field else ""
    return explanation or _RULES.get(_INDEX.sub("[]", problem.path), "")


def explain_value(kind: str, schema: Schema, text: str) -> str:
    """Return what is wrong with ``text`` as a value of ``schema``; "" if the schema has no objection."""
    if not text:
        # A blank field is absent, which is never wrong.
        return ""
    if kind == "number":
        return _explain_number(schema, parse_number(text.strip()))
    if choices := ["true", "false"] if kind == "boolean" else [str(choice) for choice in schema.get("enum", ())]:
        wrong, message = text not in choices, gettext("Must be one of %(choices)s.") % {"choices": ", ".join(choices)}
    elif schema.get("contentEncoding") == "base64":
        wrong, message = base64_fault(text) is not None, gettext("Must be text in base64.")
    elif str(schema.get("pattern", "")).endswith(DURATION):
        wrong, message = (
            not re.match(schema["pattern"], text),
            gettext("Must be a duration, such as 500ms, 30s or 1h30m."),
        )
    else:
        return ""
    return message if wrong else ""


def _explain_number(schema: Schema, value: Any) -> str:
    whole = _has_type(schema, "integer")
    if isinstance(value, str) or (whole and not isinstance(value, int)):
        return gettext("Must be a whole number.") if whole else gettext("Must be a number.")
    low, high, above = schema.get("minimum"), schema.get("maximum"), schema.get("exclusiveMinimum")
    if above is not None and value <= above:
        return gettext("Must be above %(above)s.") % {"above": f"{above:,}"}
    if (low is None or value >= low) and (high is None or value <= high):
        return ""
    # A very wide range tells nobody anything: only the bound that was crossed is named.
    if low is not None and high is not None and high - low < 1_000_000:
        return gettext("Must be between %(low)s and %(high)s.") % {"low": f"{low:,}", "high": f"{high:,}"}
    return (
        gettext("Must be at least %(low)s.") % {"low": f"{low:,}"}
        if low is not None and value < low
        else gettext("Must be at most %(high)s.") % {"high": f"{high:,}"}
    )


def _has_type(schema: Schema, name: str) -> bool:
    kinds = schema.get("type")
    return name in kinds if isinstance(kinds, list) else kinds == name
