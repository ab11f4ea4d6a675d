"""The API server's refusals of affinity, topology spread constraints, tolerations and taints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import (
    complete_label_keys,
    key_problems,
    label_key_problems,
    node_selector_problems,
    node_term_problems,
    selector_problems,
)
from kschedweb.engine.validation.fields import Problem, Typed, duplicate, invalid, required, unsupported
from kschedweb.engine.validation.labels import dns_label_complaints, value_complaints

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
NOT_POSITIVE = "must be greater than zero"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# Operators of tolerations. The last two need a feature gate that is off by default.
OPERATORS = ("Equal", "Exists", "Lt", "Gt")


def affinity_problems(affinity: FieldValue, labels: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the affinity of a pod with ``labels``."""
    nodes = affinity["nodeAffinity"]
    if nodes[REQUIRED].is_given:
        yield from node_selector_problems(nodes[REQUIRED])
    for preferred in nodes[PREFERRED].items:
        yield from _weight_problems(preferred)
        yield from node_term_problems(preferred["preference"], any_value=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in affinity[kind][REQUIRED].items:
            yield from _term_problems(complete_label_keys(term, labels))
        for preferred in affinity[kind][PREFERRED].items:
            yield from _weight_problems(preferred)
            yield from _term_problems(complete_label_keys(preferred["podAffinityTerm"], labels))


def _weight_problems(preferred: FieldValue) -> Iterator[Problem]:
    weight = preferred["weight"].number
    if not 0 < weight <= 100:
        yield invalid(preferred.path_to("weight"), weight, "must be in the range 1-100")


def _term_problems(term: FieldValue) -> Iterator[Problem]:
    yield from selector_problems(term["labelSelector"])
    yield from selector_problems(term["namespaceSelector"])
    for name in term["namespaces"].texts:
        yield from (invalid(term.path_to("namespace"), name, complaint) for complaint in dns_label_complaints(name))
    yield from label_key_problems(term)
    key = term["topologyKey"]
    if not key.text:
        yield required(key.path, "can not be empty")
    yield from key_problems(key.path, key.text)


def spread_problems(constraints: FieldValue, labels: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the topology spread constraints of a pod with ``labels``."""
    listed = [complete_label_keys(constraint, labels) for constraint in constraints.items]
    kinds = [(constraint["topologyKey"].text, constraint["whenUnsatisfiable"].text) for constraint in listed]
    for at, constraint in enumerate(listed):
        (key, action), skew = kinds[at], constraint["maxSkew"].number
        if skew <= 0:
            yield invalid(constraint.path_to("maxSkew"), skew, NOT_POSITIVE)
        if not key:
            yield required(constraint.path_to("topologyKey"), "can not be empty")
        if action not in ACTIONS:
            yield unsupported(constraint.path_to("whenUnsatisfiable"), Typed(action), ACTIONS)
        # The API server reports the earlier of two equal constraints.
        if kinds[at] in kinds[at + 1 :]:
            yield duplicate(constraint.path_to("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        yield from _domain_problems(constraint["minDomains"], action)
        for policy in (constraint["nodeAffinityPolicy"], constraint["nodeTaintsPolicy"]):
            if policy.is_given and policy.text not in POLICIES:
                yield unsupported(policy.path, Typed(policy.text), POLICIES)
        yield from label_key_problems(constraint)
        yield from selector_problems(constraint["labelSelector"])


def _domain_problems(min_domains: FieldValue, action: str) -> Iterator[Problem]:
    if not min_domains.is_given:
        return
    if min_domains.number <= 0:
        yield invalid(min_domains.path, min_domains.number, NOT_POSITIVE)
    if action != ACTIONS[0]:
        message = f"can only use minDomains if whenUnsatisfiable={ACTIONS[0]}, not {action}"
        yield invalid(min_domains.path, min_domains.number, message)


def toleration_problems(tolerations: FieldValue) -> Iterator[Problem]:
    for toleration in tolerations.items:
        key, operator, effect, value = (toleration[name].text for name in ("key", "operator", "effect", "value"))
        if key:
            yield from key_problems(toleration.path_to("key"), key)
        elif operator != "Exists":
            message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(toleration.path_to("operator"), Typed(operator), message)
        if toleration["tolerationSeconds"].is_given and effect != "NoExecute":
            message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(toleration.path_to("effect"), Typed(effect), message)
        yield from _value_problems(toleration, operator, value)
        if effect and effect not in EFFECTS:
            yield unsupported(toleration.path_to("effect"), Typed(effect), EFFECTS)


def _value_problems(toleration: FieldValue, operator: str, value: str) -> Iterator[Problem]:
    """Yield a problem if the operator does not take the value."""
    if operator in ("Equal", ""):
        if complaints := value_complaints(value):
            yield invalid(toleration.path_to("operator"), value, ";".join(complaints))
    elif operator == "Exists":
        if value:
            yield invalid(toleration.path_to("operator"), value, "value must be empty when `operator` is 'Exists'")
    else:
        operators = OPERATORS if operator in OPERATORS else OPERATORS[:2]
        yield unsupported(toleration.path_to("operator"), Typed(operator), operators)


def taint_problems(taints: FieldValue, path: str) -> Iterator[Problem]:
    """Yield the problems of a node's taints, which the API server places at ``path``."""
    seen_taints: set[tuple[str, str]] = set()
    for at, taint in enumerate(taints.items):
        key, value, effect = (taint[name].text for name in ("key", "value", "effect"))
        place = f"{path}[{at}]"
        yield from key_problems(f"{place}.key", key)
        if complaints := value_complaints(value):
            yield invalid(f"{place}.value", value, ";".join(complaints))
        if not effect:
            yield required(f"{place}.effect")
        elif effect not in EFFECTS:
            yield unsupported(f"{place}.effect", Typed(effect), EFFECTS)
        if (key, effect) in seen_taints:
            whole = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint["timeAdded"].value}
            said_twice = "taints must be unique by key and effect pair"
            yield Problem(place, f"{duplicate(place, whole).text}: {said_twice}")
        seen_taints.add((key, effect))
