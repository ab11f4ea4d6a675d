"""The v1 Policy: predicates and priorities with weights and arguments, and extenders.

Problems have a path, and kube-scheduler's words if it has some. kube-scheduler ignored unknown fields; here they cause
warnings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kschedweb.engine.config.reading import read_document
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.releases.classic.predicates import ARGUED as PREDICATE_ARGUMENTS
from kschedweb.engine.releases.classic.priorities import ARGUED as PRIORITY_ARGUMENTS
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.labels import name_complaints
from kschedweb.engine.values import dataclass

# The original's `MaxPriority` and `MaxWeight`: a weight times the highest score must fit into an int64.
MAX_PRIORITY = 10
MAX_WEIGHT = (2**63 - 1) // MAX_PRIORITY
NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])")
EXTENDER_FIELDS = {
    name.lower(): name
    for name in (
        *("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb", "enableHttps"),
        *("tlsConfig", "httpTimeout", "nodeCacheCapable", "managedResources", "ignorable"),
    )
}
TLS_FIELDS = {
    name.lower(): name
    for name in ("insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")
}
FIELDS = frozenset(
    {"kind", "apiVersion", "metadata", "predicates", "priorities", "extenders"}
    | {"hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates"}
)
EMPTY = {"kind": "Policy", "apiVersion": "v1"}
# Lists of a Policy. The last two are misspellings in published samples.
LISTS = frozenset({"predicates", "priorities", "predicate", "priority"})
# Nanoseconds.
DEFAULT_TIMEOUT = 5 * 10**9
WORDS_OF_THEN = {
    "a lowercase RFC 1123 subdomain": "a DNS-1123 subdomain",
    "a valid label key": "a qualified name",
    " bytes": " characters",
}


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A predicate or a priority of the policy."""

    name: str
    weight: int = 0
    # (kind, content); ``None`` for a rule that is known by name.
    argument: tuple[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class ClassicPolicy:
    """A Policy."""

    # ``None`` if the default provider supplies them.
    predicates: tuple[PolicyRule, ...] | None = None
    priorities: tuple[PolicyRule, ...] | None = None
    # Plain JSON in the form of KubeSchedulerConfiguration.
    extenders: tuple[Json, ...] = ()
    # 0 means the default.
    hard_pod_affinity_weight: int = 0
    always_check_all: bool = False
    # The document that it was read from.
    document: Json = field(default_factory=lambda: dict(EMPTY), compare=False, repr=False)

    @property
    def ignored_resources(self) -> frozenset[str]:
        """The extended resources that only extenders manage."""
        managed = (item for extender in self.extenders for item in extender.get("managedResources") or ())
        return frozenset(item["name"] for item in managed if item.get("ignoredByScheduler"))


@dataclass(frozen=True)
class LoadedPolicy:
    """The result of ``load_policy``."""

    # ``None`` if there are problems.
    policy: ClassicPolicy | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(f"{problem.path}: {problem.text}" if problem.path else problem.text for problem in self.problems)


@dataclass
class _Notes:
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def add_problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def add_warning(self, path: str, message: str) -> None:
        self.warnings.append(Problem(path, message))


def is_policy(raw: Any) -> bool:
    """Return whether a document is a Policy: by its kind, or by its lists if it has no kind."""
    if not isinstance(raw, dict):
        return False
    kind = raw.get("kind")
    return kind == "Policy" if kind else bool(LISTS & raw.keys())


def is_policy_text(document: str | bytes) -> bool:
    """Return whether a text is a Policy; False if it cannot be read."""
    try:
        return is_policy(read_document(document).value)
    except UnreadableError:
        return False


def load_policy(document: str | bytes | Mapping[str, Any]) -> LoadedPolicy:
    """Read a Policy from JSON or YAML text, or from plain data. It never raises for the contents."""
    notes = _Notes()
    try:
        raw = read_document(document).value
    except UnreadableError as error:
        return LoadedPolicy(None, (Problem("", str(error)),))
    if not isinstance(raw, dict):
        return LoadedPolicy(None, (Problem("", "must be an object of kind Policy"),))
    try:
        policy = _read_policy(raw, notes)
    except ObjectError as error:
        path, _, message = str(error).partition(": ")
        notes.add_problem(path, message)
        return LoadedPolicy(None, tuple(notes.problems), tuple(notes.warnings))
    _check_policy(policy, notes)
    return LoadedPolicy(None if notes.problems else policy, tuple(notes.problems), tuple(notes.warnings))


def from_config_map(raw: Json, key: str = "policy.cfg") -> LoadedPolicy:
    """Read the Policy in a ConfigMap's ``data`` under ``key``; kube-scheduler reads ``policy.cfg``."""
    try:
        data = get_mapping(raw, "data")
        content = get_string(data, key, "data.") if key in data else None
    except ObjectError as error:
        return LoadedPolicy(None, (Problem("data", str(error)),))
    if content is None:
        return LoadedPolicy(None, (Problem("data", f'missing policy config map value at key "{key}"'),))
    return load_policy(content)


def _read_policy(raw: Json, notes: _Notes) -> ClassicPolicy:
    kind, version = get_string(raw, "kind") or "Policy", get_string(raw, "apiVersion") or "v1"
    if (kind, version) != ("Policy", "v1"):
        key = "kind" if kind != "Policy" else "apiVersion"
        notes.add_problem(key, f'no kind "{kind}" is registered for version "{version}"')
    raw = _correct_misspellings(raw, notes)
    return ClassicPolicy(
        predicates=_read_rules(raw, "predicates", PREDICATE_ARGUMENTS, notes),
        priorities=_read_rules(raw, "priorities", PRIORITY_ARGUMENTS, notes),
        extenders=tuple(_read_extender(item, at, notes) for item, at in get_objects_and_paths(raw, "extenders")),
        hard_pod_affinity_weight=get_integer(raw, "hardPodAffinitySymmetricWeight", bits=64),
        always_check_all=get_boolean(raw, "alwaysCheckAllPredicates"),
        document=raw,
    )


def _correct_misspellings(raw: Json, notes: _Notes) -> Json:
    """Return the document with misspelt fields of published samples corrected. Unknown fields are noted."""
    mended = dict(raw)
    for wrong, right in (("predicate", "predicates"), ("priority", "priorities")):
        if wrong in mended and right not in mended:
            mended[right] = mended.pop(wrong)
            message = f'is read as "{right}"; kube-scheduler does not know the field and would take its defaults'
            notes.add_warning(wrong, message)
    for name in mended:
        if name not in FIELDS:
            notes.add_warning(name, "kube-scheduler does not know the field: it does nothing")
    return mended


def _read_rules(raw: Json, key: str, kinds: Mapping[str, Any], notes: _Notes) -> tuple[PolicyRule, ...] | None:
    if raw.get(key) is None:
        return None
    rules = []
    for item, at in get_objects_and_paths(raw, key):
        for name in item:
            if name not in ("name", "argument") and (key, name) != ("priorities", "weight"):
                notes.add_warning(f"{at}{name}", "kube-scheduler does not know the field: it does nothing")
        weight = get_integer(item, "weight", path=at, bits=64) if key == "priorities" else 0
        argument = None if item.get("argument") is None else _read_argument(item, at, key, kinds, notes)
        rules.append(PolicyRule(get_string(item, "name", at), weight, argument))
    return tuple(rules)


def _read_argument(item: Json, at: str, key: str, kinds: Mapping[str, Any], notes: _Notes) -> tuple[str, Json]:
    arguments = get_mapping(item, "argument", at)
    present = [kind for kind in kinds if arguments.get(kind) is not None]
    if len(present) != 1:
        rule_kind, name = {"predicates": "predicate", "priorities": "priority"}[key], get_string(item, "name", at)
        message = (
            f"Exactly 1 {rule_kind} argument is required, numArgs: {len(present)}, {rule_kind.capitalize()}: {name}"
        )
        notes.add_problem(f"{at}argument", message)
        return "", {}
    kind, path = present[0], f"{at}argument.{present[0]}."
    content = get_mapping(arguments, kind, f"{at}argument.")
    return kind, _ARGUMENTS[kind](content, path, notes)


def _read_labels(content: Json, path: str, notes: _Notes) -> Json:
    return {"labels": list(get_strings(content, "labels", path)), "presence": get_boolean(content, "presence", path)}


def _read_label(content: Json, path: str, notes: _Notes) -> Json:
    return {"label": get_string(content, "label", path), "presence": get_boolean(content, "presence", path)}


def _read_shape(content: Json, path: str, notes: _Notes) -> Json:
    points = [
        {name: get_integer(item, name, path=at, bits=64) for name in ("utilization", "score")}
        for item, at in get_objects_and_paths(content, "shape", path)
    ]
    for suffix, problem in _shape_problems([(point["utilization"], point["score"]) for point in points])[:1]:
        notes.add_problem(f"{path}shape{suffix}", f"invalid RequestedToCapacityRatioPriority arguments: {problem}")
    return {"shape": points}


def _shape_problems(points: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    """Return (path, message) pairs in the order in which the original checks; it stops at the first."""
    if not points:
        return [("", "at least one point must be specified")]
    problems = []
    for number in range(1, len(points)):
        before, after = points[number - 1][0], points[number][0]
        if before >= after:
            detail = f"Utilization[{number - 1}]=={before} >= Utilization[{number}]=={after}"
            problems.append((f"[{number}].utilization", f"utilization values must be sorted. {detail}"))
    for number, (utilization, score) in enumerate(points):
        for name, value, maximum in (("utilization", utilization, 100), ("score", score, MAX_PRIORITY)):
            at, equation = f"[{number}].{name}", f"{name.capitalize()}[{number}]=={value}"
            if value < 0:
                problems.append((at, f"{name} values must not be less than 0. {equation}"))
            elif value > maximum:
                words = "utilization values must not" if name == "utilization" else "score valuses not"
                problems.append((at, f"{words} be greater than {maximum}. {equation}"))
    return problems


_ARGUMENTS = {
    "serviceAffinity": _read_labels,
    "labelsPresence": _read_labels,
    "serviceAntiAffinity": _read_label,
    "labelPreference": _read_label,
    "requestedToCapacityRatioArguments": _read_shape,
}


def _read_extender(item: Json, at: str, notes: _Notes) -> Json:
    """Return the extender in the form of KubeSchedulerConfiguration. Its fields are matched in any letter case."""
    fields = {}
    for name, value in item.items():
        field_name = EXTENDER_FIELDS.get(name.lower())
        if field_name is None:
            notes.add_warning(f"{at}{name}", "kube-scheduler does not know the field: it does nothing")
        else:
            fields[field_name] = value
    extender: Json = {
        name: get_string(fields, name, at)
        for name in ("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")
    }
    extender["weight"] = get_integer(fields, "weight", path=at, bits=64)
    extender["httpTimeout"] = f"{get_integer(fields, 'httpTimeout', path=at, bits=64) or DEFAULT_TIMEOUT}ns"
    extender["enableHTTPS"] = get_boolean(fields, "enableHttps", at)
    extender["nodeCacheCapable"] = get_boolean(fields, "nodeCacheCapable", at)
    extender["ignorable"] = get_boolean(fields, "ignorable", at)
    if fields.get("tlsConfig") is not None:
        tls = get_mapping(fields, "tlsConfig", at)
        extender["tlsConfig"] = {
            TLS_FIELDS[name.lower()]: value for name, value in tls.items() if name.lower() in TLS_FIELDS
        }
    extender["managedResources"] = [
        {
            "name": get_string(resource, "name", path),
            "ignoredByScheduler": get_boolean(resource, "ignoredByScheduler", path),
        }
        for resource, path in get_objects_and_paths(fields, "managedResources", at)
    ]
    return extender


def _check_policy(policy: ClassicPolicy, notes: _Notes) -> None:
    for number, priority in enumerate(policy.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            message = f"Priority {priority.name} should have a positive weight applied to it or it has overflown"
            notes.add_problem(f"priorities[{number}].weight", message)
    _check_extenders(policy.extenders, notes)
    weight = policy.hard_pod_affinity_weight
    if weight and not 1 <= weight <= 100:
        message = f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"
        notes.add_problem("hardPodAffinitySymmetricWeight", message)
    for key, choices in (("predicates", policy.predicates), ("priorities", policy.priorities)):
        for number, choice in enumerate(choices or ()):
            if choice.argument is not None and not NAME.fullmatch(choice.name):
                message = f'Algorithm name {choice.name} does not match the name validation regexp "^{NAME.pattern}$".'
                notes.add_problem(f"{key}[{number}].name", message)


def _check_extenders(extenders: Sequence[Json], notes: _Notes) -> None:
    managed: set[str] = set()
    for number, extender in enumerate(extenders):
        at = f"extenders[{number}]."
        if extender["prioritizeVerb"] and extender["weight"] <= 0:
            message = f"Priority for extender {extender['urlPrefix']} should have a positive weight applied to it"
            notes.add_problem(f"{at}weight", message)
        for place, item in enumerate(extender["managedResources"]):
            path, name = f"{at}managedResources[{place}].name", item["name"]
            complaints = [_reword_for_1_13(complaint) for complaint in name_complaints(name)]
            if not complaints and not is_extended(name):
                complaints = [f"{name} is an invalid extended resource name"]
            for complaint in complaints:
                notes.add_problem(path, complaint)
            if name in managed:
                notes.add_problem(path, f"Duplicate extender managed resource name {name}")
            managed.add(name)
    binders = [number for number, extender in enumerate(extenders) if extender["bindVerb"]]
    if len(binders) > 1:
        message = f"Only one extender can implement bind, found {len(binders)}"
        notes.add_problem(f"extenders[{binders[1]}].bindVerb", message)


def _reword_for_1_13(complaint: str) -> str:
    """Return a complaint about a name in the words of 1.13."""
    for now, then in WORDS_OF_THEN.items():
        complaint = complaint.replace(now, then)
    return complaint
