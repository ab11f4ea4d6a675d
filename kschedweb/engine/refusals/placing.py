"""What the API server refuses of where a pod may go: affinity, spreading, tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.refusals.labels import (
    completed,
    key_problems,
    label_key_problems,
    node_selector_problems,
    node_term_problems,
    selector_problems,
)
from kschedweb.engine.refusals.part import Part
from kschedweb.engine.validation.fields import Problem, Typed, duplicate, invalid, required, unsupported
from kschedweb.engine.validation.labels import dns_label_complaints, value_complaints

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
NOT_POSITIVE = "must be greater than zero"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# Of tolerations. The last two need a feature gate that is off where nobody switches it on.
OPERATORS = ("Equal", "Exists", "Lt", "Gt")


def affinity_problems(affinity: Part, labels: Mapping[str, str]) -> Iterator[Problem]:
    """The affinity of a pod with ``labels``."""
    nodes = affinity["nodeAffinity"]
    if nodes[REQUIRED].given:
        yield from node_selector_problems(nodes[REQUIRED])
    for preferred in nodes[PREFERRED].items:
        yield from _weight_problems(preferred)
        yield from node_term_problems(preferred["preference"], loose=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in affinity[kind][REQUIRED].items:
            yield from _term_problems(completed(term, labels))
        for preferred in affinity[kind][PREFERRED].items:
            yield from _weight_problems(preferred)
            yield from _term_problems(completed(preferred["podAffinityTerm"], labels))


def _weight_problems(preferred: Part) -> Iterator[Problem]:
    weight = preferred["weight"].number
    if not 0 < weight <= 100:
        yield invalid(preferred.to("weight"), weight, "must be in the range 1-100")


def _term_problems(term: Part) -> Iterator[Problem]:
    yield from selector_problems(term["labelSelector"])
    yield from selector_problems(term["namespaceSelector"])
    for name in term["namespaces"].texts:
        yield from (invalid(term.to("namespace"), name, said) for said in dns_label_complaints(name))
    yield from label_key_problems(term)
    key = term["topologyKey"]
    if not key.text:
        yield required(key.path, "can not be empty")
    yield from key_problems(key.path, key.text)


def spread_problems(constraints: Part, labels: Mapping[str, str]) -> Iterator[Problem]:
    """The topology spread constraints of a pod with ``labels``."""
    listed = [completed(one, labels) for one in constraints.items]
    kinds = [(one["topologyKey"].text, one["whenUnsatisfiable"].text) for one in listed]
    for at, constraint in enumerate(listed):
        (key, action), skew = kinds[at], constraint["maxSkew"].number
        if skew <= 0:
            yield invalid(constraint.to("maxSkew"), skew, NOT_POSITIVE)
        if not key:
            yield required(constraint.to("topologyKey"), "can not be empty")
        if action not in ACTIONS:
            yield unsupported(constraint.to("whenUnsatisfiable"), Typed(action), ACTIONS)
        if kinds[at] in kinds[at + 1 :]:
            yield duplicate(constraint.to("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        yield from _domain_problems(constraint["minDomains"], action)
        for policy in (constraint["nodeAffinityPolicy"], constraint["nodeTaintsPolicy"]):
            if policy.given and policy.text not in POLICIES:
                yield unsupported(policy.path, Typed(policy.text), POLICIES)
        yield from label_key_problems(constraint)
        yield from selector_problems(constraint["labelSelector"])


def _domain_problems(least: Part, action: str) -> Iterator[Problem]:
    if not least.given:
        return
    if least.number <= 0:
        yield invalid(least.path, least.number, NOT_POSITIVE)
    if action != ACTIONS[0]:
        said = f"can only use minDomains if whenUnsatisfiable={ACTIONS[0]}, not {action}"
        yield invalid(least.path, least.number, said)


def toleration_problems(tolerations: Part) -> Iterator[Problem]:
    for one in tolerations.items:
        key, operator, effect, value = (one[name].text for name in ("key", "operator", "effect", "value"))
        if key:
            yield from key_problems(one.to("key"), key)
        elif operator != "Exists":
            said = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(one.to("operator"), Typed(operator), said)
        if one["tolerationSeconds"].given and effect != "NoExecute":
            said = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(one.to("effect"), Typed(effect), said)
        yield from _value_problems(one, operator, value)
        if effect and effect not in EFFECTS:
            yield unsupported(one.to("effect"), Typed(effect), EFFECTS)


def _value_problems(one: Part, operator: str, value: str) -> Iterator[Problem]:
    """Whether the value is one that the operator takes."""
    if operator in ("Equal", ""):
        if said := value_complaints(value):
            yield invalid(one.to("operator"), value, ";".join(said))
    elif operator == "Exists":
        if value:
            yield invalid(one.to("operator"), value, "value must be empty when `operator` is 'Exists'")
    else:
        known = OPERATORS if operator in OPERATORS else OPERATORS[:2]
        yield unsupported(one.to("operator"), Typed(operator), known)


def taint_problems(taints: Part, path: str) -> Iterator[Problem]:
    """The taints of a node, which the API server places at ``path``."""
    seen: set[tuple[str, str]] = set()
    for at, taint in enumerate(taints.items):
        key, value, effect = (taint[name].text for name in ("key", "value", "effect"))
        place = f"{path}[{at}]"
        yield from key_problems(f"{place}.key", key)
        if said := value_complaints(value):
            yield invalid(f"{place}.value", value, ";".join(said))
        if not effect:
            yield required(f"{place}.effect")
        elif effect not in EFFECTS:
            yield unsupported(f"{place}.effect", Typed(effect), EFFECTS)
        if (key, effect) in seen:
            whole = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint["timeAdded"].value}
            said_twice = "taints must be unique by key and effect pair"
            yield Problem(place, f"{duplicate(place, whole).text}: {said_twice}")
        seen.add((key, effect))
