"""The v1 Policy: predicates and priorities with weights and arguments, and extenders.

Problems have a path, and kube-scheduler's words if it has some. kube-scheduler ignored unknown fields; here they cause
warnings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kschedweb.engine.config.reading import read
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.objects.access import Json, ObjectError, boolean, each, integer, mapping, text, texts
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.releases.classic.predicates import ARGUED as PREDICATE_ARGUMENTS
from kschedweb.engine.releases.classic.priorities import ARGUED as PRIORITY_ARGUMENTS
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.labels import name_complaints
from kschedweb.engine.values import dataclass

MAX_PRIORITY = 10
MAX_WEIGHT = (2**63 - 1) // MAX_PRIORITY
NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])")
EXTENDER_FIELDS = {
    one.lower(): one
    for one in (
        *("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb", "enableHttps"),
        *("tlsConfig", "httpTimeout", "nodeCacheCapable", "managedResources", "ignorable"),
    )
}
TLS_FIELDS = {
    one.lower(): one
    for one in ("insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")
}
FIELDS = frozenset(
    {"kind", "apiVersion", "metadata", "predicates", "priorities", "extenders"}
    | {"hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates"}
)
EMPTY = {"kind": "Policy", "apiVersion": "v1"}
LISTS = frozenset({"predicates", "priorities", "predicate", "priority"})  # the last two are misspelt
DEFAULT_TIMEOUT = 5 * 10**9
WORDS_OF_THEN = {
    "a lowercase RFC 1123 subdomain": "a DNS-1123 subdomain",
    "a valid label key": "a qualified name",
    " bytes": " characters",
}


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A predicate or a priority of the policy; ``argument`` is (kind, content), or ``None`` for one known by name."""

    name: str
    weight: int = 0
    argument: tuple[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A Policy. ``predicates`` and ``priorities`` are ``None`` if the default provider supplies them.

    ``extenders`` are plain JSON in the form of KubeSchedulerConfiguration. A hard weight of 0 means the default.
    ``document`` is what it was read from.
    """

    predicates: tuple[PolicyRule, ...] | None = None
    priorities: tuple[PolicyRule, ...] | None = None
    extenders: tuple[Json, ...] = ()
    hard_pod_affinity_weight: int = 0
    always_check_all: bool = False
    document: Json = field(default_factory=lambda: dict(EMPTY), compare=False, repr=False)

    @property
    def ignored(self) -> frozenset[str]:
        """The extended resources that only extenders manage."""
        managed = (item for extender in self.extenders for item in extender.get("managedResources") or ())
        return frozenset(item["name"] for item in managed if item.get("ignoredByScheduler"))


@dataclass(frozen=True)
class LoadedPolicy:
    """The result of ``load_policy``: ``policy`` is ``None`` if there are ``problems``."""

    policy: Policy | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(f"{one.path}: {one.text}" if one.path else one.text for one in self.problems)


@dataclass
class _Notes:
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def wrong(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def odd(self, path: str, message: str) -> None:
        self.warnings.append(Problem(path, message))


def is_policy(raw: Any) -> bool:
    """Whether a document is a Policy: by its kind, or by its lists where it says none."""
    if not isinstance(raw, dict):
        return False
    said = raw.get("kind")
    return said == "Policy" if said else bool(LISTS & raw.keys())


def is_policy_text(document: str | bytes) -> bool:
    """The same of a text; one that cannot be read is none."""
    try:
        return is_policy(read(document).value)
    except UnreadableError:
        return False


def load_policy(document: str | bytes | Mapping[str, Any]) -> LoadedPolicy:
    """Read a Policy from JSON or YAML text, or from plain data. Never raises for its content."""
    notes = _Notes()
    try:
        raw = read(document).value
    except UnreadableError as error:
        return LoadedPolicy(None, (Problem("", str(error)),))
    if not isinstance(raw, dict):
        return LoadedPolicy(None, (Problem("", "must be an object of kind Policy"),))
    try:
        policy = _read(raw, notes)
    except ObjectError as error:
        path, _, message = str(error).partition(": ")
        notes.wrong(path, message)
        return LoadedPolicy(None, tuple(notes.problems), tuple(notes.warnings))
    _check(policy, notes)
    return LoadedPolicy(None if notes.problems else policy, tuple(notes.problems), tuple(notes.warnings))


def from_config_map(raw: Json, key: str = "policy.cfg") -> LoadedPolicy:
    """Read the Policy in a ConfigMap's ``data`` under ``key``; kube-scheduler reads ``policy.cfg``."""
    try:
        data = mapping(raw, "data")
        content = text(data, key, "data.") if key in data else None
    except ObjectError as error:
        return LoadedPolicy(None, (Problem("data", str(error)),))
    if content is None:
        return LoadedPolicy(None, (Problem("data", f'missing policy config map value at key "{key}"'),))
    return load_policy(content)


def _read(raw: Json, notes: _Notes) -> Policy:
    kind, version = text(raw, "kind") or "Policy", text(raw, "apiVersion") or "v1"
    if (kind, version) != ("Policy", "v1"):
        where = "kind" if kind != "Policy" else "apiVersion"
        notes.wrong(where, f'no kind "{kind}" is registered for version "{version}"')
    raw = _mended(raw, notes)
    return Policy(
        predicates=_choices(raw, "predicates", PREDICATE_ARGUMENTS, notes),
        priorities=_choices(raw, "priorities", PRIORITY_ARGUMENTS, notes),
        extenders=tuple(_extender(item, at, notes) for item, at in each(raw, "extenders")),
        hard_pod_affinity_weight=integer(raw, "hardPodAffinitySymmetricWeight", bits=64),
        always_check_all=boolean(raw, "alwaysCheckAllPredicates"),
        document=raw,
    )


def _mended(raw: Json, notes: _Notes) -> Json:
    """The document with misspelt fields of published samples corrected; unknown fields are noted."""
    mended = dict(raw)
    for wrong, right in (("predicate", "predicates"), ("priority", "priorities")):
        if wrong in mended and right not in mended:
            mended[right] = mended.pop(wrong)
            said = f'is read as "{right}"; kube-scheduler does not know the field and would take its defaults'
            notes.odd(wrong, said)
    for name in mended:
        if name not in FIELDS:
            notes.odd(name, "kube-scheduler does not know the field: it does nothing")
    return mended


def _choices(raw: Json, key: str, kinds: Mapping[str, Any], notes: _Notes) -> tuple[PolicyRule, ...] | None:
    if raw.get(key) is None:
        return None
    found = []
    for item, at in each(raw, key):
        for name in item:
            if name not in ("name", "argument") and (key, name) != ("priorities", "weight"):
                notes.odd(f"{at}{name}", "kube-scheduler does not know the field: it does nothing")
        weight = integer(item, "weight", path=at, bits=64) if key == "priorities" else 0
        argument = None if item.get("argument") is None else _argument(item, at, key, kinds, notes)
        found.append(PolicyRule(text(item, "name", at), weight, argument))
    return tuple(found)


def _argument(item: Json, at: str, key: str, kinds: Mapping[str, Any], notes: _Notes) -> tuple[str, Json]:
    given = mapping(item, "argument", at)
    present = [kind for kind in kinds if given.get(kind) is not None]
    if len(present) != 1:
        one, name = {"predicates": "predicate", "priorities": "priority"}[key], text(item, "name", at)
        said = f"Exactly 1 {one} argument is required, numArgs: {len(present)}, {one.capitalize()}: {name}"
        notes.wrong(f"{at}argument", said)
        return "", {}
    kind, path = present[0], f"{at}argument.{present[0]}."
    content = mapping(given, kind, f"{at}argument.")
    return kind, _ARGUMENTS[kind](content, path, notes)


def _labels(content: Json, path: str, notes: _Notes) -> Json:
    return {"labels": list(texts(content, "labels", path)), "presence": boolean(content, "presence", path)}


def _label(content: Json, path: str, notes: _Notes) -> Json:
    return {"label": text(content, "label", path), "presence": boolean(content, "presence", path)}


def _shape(content: Json, path: str, notes: _Notes) -> Json:
    points = [
        {name: integer(item, name, path=at, bits=64) for name in ("utilization", "score")}
        for item, at in each(content, "shape", path)
    ]
    for where, problem in _shape_problems([(one["utilization"], one["score"]) for one in points])[:1]:
        notes.wrong(f"{path}shape{where}", f"invalid RequestedToCapacityRatioPriority arguments: {problem}")
    return {"shape": points}


def _shape_problems(points: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    """(path, message) in the order in which the original checks; it stops at the first."""
    if not points:
        return [("", "at least one point must be specified")]
    found = []
    for number in range(1, len(points)):
        before, after = points[number - 1][0], points[number][0]
        if before >= after:
            said = f"Utilization[{number - 1}]=={before} >= Utilization[{number}]=={after}"
            found.append((f"[{number}].utilization", f"utilization values must be sorted. {said}"))
    for number, (utilization, score) in enumerate(points):
        for name, value, most in (("utilization", utilization, 100), ("score", score, MAX_PRIORITY)):
            at, shown = f"[{number}].{name}", f"{name.capitalize()}[{number}]=={value}"
            if value < 0:
                found.append((at, f"{name} values must not be less than 0. {shown}"))
            elif value > most:
                words = "utilization values must not" if name == "utilization" else "score valuses not"
                found.append((at, f"{words} be greater than {most}. {shown}"))
    return found


_ARGUMENTS = {
    "serviceAffinity": _labels,
    "labelsPresence": _labels,
    "serviceAntiAffinity": _label,
    "labelPreference": _label,
    "requestedToCapacityRatioArguments": _shape,
}


def _extender(item: Json, at: str, notes: _Notes) -> Json:
    """The extender in the form of KubeSchedulerConfiguration; the case of its fields does not matter."""
    given = {}
    for name, value in item.items():
        known = EXTENDER_FIELDS.get(name.lower())
        if known is None:
            notes.odd(f"{at}{name}", "kube-scheduler does not know the field: it does nothing")
        else:
            given[known] = value
    found: Json = {
        name: text(given, name, at) for name in ("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")
    }
    found["weight"] = integer(given, "weight", path=at, bits=64)
    found["httpTimeout"] = f"{integer(given, 'httpTimeout', path=at, bits=64) or DEFAULT_TIMEOUT}ns"
    found["enableHTTPS"] = boolean(given, "enableHttps", at)
    found["nodeCacheCapable"] = boolean(given, "nodeCacheCapable", at)
    found["ignorable"] = boolean(given, "ignorable", at)
    if given.get("tlsConfig") is not None:
        tls = mapping(given, "tlsConfig", at)
        found["tlsConfig"] = {
            TLS_FIELDS[name.lower()]: value for name, value in tls.items() if name.lower() in TLS_FIELDS
        }
    found["managedResources"] = [
        {"name": text(one, "name", where), "ignoredByScheduler": boolean(one, "ignoredByScheduler", where)}
        for one, where in each(given, "managedResources", at)
    ]
    return found


def _check(policy: Policy, notes: _Notes) -> None:
    for number, priority in enumerate(policy.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            said = f"Priority {priority.name} should have a positive weight applied to it or it has overflown"
            notes.wrong(f"priorities[{number}].weight", said)
    _check_extenders(policy.extenders, notes)
    weight = policy.hard_pod_affinity_weight
    if weight and not 1 <= weight <= 100:
        said = f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"
        notes.wrong("hardPodAffinitySymmetricWeight", said)
    for key, choices in (("predicates", policy.predicates), ("priorities", policy.priorities)):
        for number, choice in enumerate(choices or ()):
            if choice.argument is not None and not NAME.fullmatch(choice.name):
                said = f'Algorithm name {choice.name} does not match the name validation regexp "^{NAME.pattern}$".'
                notes.wrong(f"{key}[{number}].name", said)


def _check_extenders(extenders: Sequence[Json], notes: _Notes) -> None:
    managed: set[str] = set()
    for number, extender in enumerate(extenders):
        at = f"extenders[{number}]."
        if extender["prioritizeVerb"] and extender["weight"] <= 0:
            said = f"Priority for extender {extender['urlPrefix']} should have a positive weight applied to it"
            notes.wrong(f"{at}weight", said)
        for place, item in enumerate(extender["managedResources"]):
            where, name = f"{at}managedResources[{place}].name", item["name"]
            complaints = [_of_then(complaint) for complaint in name_complaints(name)]
            if not complaints and not is_extended(name):
                complaints = [f"{name} is an invalid extended resource name"]
            for complaint in complaints:
                notes.wrong(where, complaint)
            if name in managed:
                notes.wrong(where, f"Duplicate extender managed resource name {name}")
            managed.add(name)
    binders = [number for number, extender in enumerate(extenders) if extender["bindVerb"]]
    if len(binders) > 1:
        said = f"Only one extender can implement bind, found {len(binders)}"
        notes.wrong(f"extenders[{binders[1]}].bindVerb", said)


def _of_then(complaint: str) -> str:
    """A complaint about a name, in the words of 1.13."""
    for now, then in WORDS_OF_THEN.items():
        complaint = complaint.replace(now, then)
    return complaint
