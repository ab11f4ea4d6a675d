"""The catalogue of predicates and priorities: when each runs, which policies use it, and an evaluated example."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.clusters import CLUSTERS
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.engine import Pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic.catalogue import DEFAULT_PRIORITIES, GATES, ORDER, V1_9, V1_13
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS, PREDICATE, PRIORITY, RuleDescription
from kschedweb.engine.releases.classic.objects import as_of_then
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kschedweb.decisions.page_parts import ArithmeticStep, FilterVerdict, NodeRow

WORDS = {
    "mandatory": _("always"),
    "default": _("by default"),
    "by name": _("if named"),
    "by argument": _("by its argument"),
    "never": _("never"),
}
KINDS = {PREDICATE: _("predicate"), PRIORITY: _("priority")}


@dataclass(frozen=True)
class CatalogueEntry:
    """A predicate or priority with the policies that use it."""

    rule: RuleDescription
    # Its number in the fixed order of predicates, 0 for none.
    place: int
    # Names of the policies.
    policies: list[str]

    @property
    def standings(self) -> dict[str, str]:
        """Return when it runs, by version: "mandatory", "default", "by name", "by argument" or "never"."""
        return {version: self.rule.activation(Edition(version)) for version in (V1_13, V1_9)}

    @property
    def runs(self) -> dict[str, str]:
        """Return ``standings`` in words. A rule behind a feature gate is described as if the gate were on."""
        texts = {}
        for version, when in self.standings.items():
            switched = self.rule.activation(Edition(version, frozenset({self.rule.switch})))
            if when == "never" and switched != "never":
                texts[version] = gettext("%(when)s, where switched on") % {"when": WORDS[switched]}
            else:
                texts[version] = str(WORDS[when])
        return texts

    @property
    def kind(self) -> str:
        """Return its kind in words."""
        return str(KINDS[self.rule.kind])

    @property
    def weight(self) -> int | None:
        """Return the weight of a priority in the default provider, None if it is not there."""
        weights = Edition(gates=frozenset({self.rule.switch})).default_priorities
        return None if self.rule.kind == PREDICATE else weights.get(self.rule.name)


@dataclass(frozen=True)
class Example:
    """A small cluster, and the decision in it under one predicate or priority."""

    # A sentence about the cluster.
    description: str
    # Raw objects; the last one is the pod.
    objects: list[Json]
    decision: ClassicDecision


@dataclass(frozen=True)
class ExampleNode:
    """One node of an example: the verdict of a predicate, or the steps to the score of a priority."""

    row: NodeRow
    verdict: FilterVerdict | None = None
    steps: Sequence[ArithmeticStep] = ()


def list_entries(uses: Mapping[str, list[str]]) -> list[CatalogueEntry]:
    """Return predicates in their order, then priorities; ``uses`` has names of policies by rule."""
    places = {name: number for number, name in enumerate(ORDER, start=1)}
    return [CatalogueEntry(rule, places.get(name, 0), uses.get(name, [])) for name, rule in DESCRIPTIONS.items()]


def explain_example(rule: RuleDescription) -> tuple[Example, list[ExampleNode]]:
    """Return the example of a rule, and the engine's answer for each of its nodes by name."""
    rule_example = build_example(rule.name)
    decision = rule_example.decision
    nodes = sorted(range(len(decision.explanation.nodes)), key=lambda node: decision.explanation.nodes[node])
    lines = []
    for node, row in zip(nodes, decision.rows(nodes), strict=True):
        if rule.kind == PREDICATE:
            rule_verdicts = [verdict for verdict in decision.verdicts(node) if verdict.plugin == rule.name]
            lines.append(ExampleNode(row, rule_verdicts[0]))
        else:
            # Without the last step, the total: an example has only one priority.
            lines.append(ExampleNode(row, steps=decision.compute_arithmetic(node, rule.name).steps[:-1]))
    return rule_example, lines


@lru_cache(maxsize=64)
def build_example(name: str) -> Example:
    """Build the example of the predicate or priority ``name``, whose policy has nothing else."""
    rule = DESCRIPTIONS[name]
    description, objects = CLUSTERS[name]
    snapshot, pod = ClassicSnapshot.from_objects(objects[:-1]), as_of_then(Pod.from_json(objects[-1]))
    loaded = load_policy(_policy_with_rule(rule))
    assert loaded.policy is not None, loaded.errors
    scheduler = ClassicScheduler(snapshot, Registry(_edition_for(rule)).build_algorithm(loaded.policy))
    case = ClassicCase(snapshot, pod, scheduler, scheduler.explain(pod), "")
    return Example(description, objects, ClassicDecision(case))


def _edition_for(rule: RuleDescription) -> Edition:
    if rule.name == "PodFitsPorts":
        return Edition("1.9")
    return Edition(gates=frozenset({rule.switch}) & GATES)


def _policy_with_rule(rule: RuleDescription) -> Json:
    """Return a policy with only this predicate or priority; mandatory predicates need no entry."""
    choice: Json = {"name": rule.name}
    if rule.argument:
        choice["argument"] = {rule.argument: json.loads(rule.shape)}
    policy: Json = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}
    if rule.kind == PREDICATE:
        return policy if rule.name in _edition_for(rule).mandatory_predicates else {**policy, "predicates": [choice]}
    return {**policy, "priorities": [{**choice, "weight": DEFAULT_PRIORITIES.get(rule.name, 1)}]}


def trim_object(raw: Mapping[str, Any]) -> Json:
    """Return an object of an example without its empty fields."""
    return {
        key: value for key, value in ((key, _trim_value(value)) for key, value in raw.items()) if value not in ({}, [])
    }


def _trim_value(value: Any) -> Any:
    if isinstance(value, dict):
        return trim_object(value)
    return [_trim_value(item) for item in value] if isinstance(value, list) else value
