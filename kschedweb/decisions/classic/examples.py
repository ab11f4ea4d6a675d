"""An example for each predicate and priority: a small cluster in which it matters, and the engine's answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.clusters import CLUSTERS
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.engine import Pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic.catalogue import DEFAULT_PRIORITIES, GATES
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS, PREDICATE, RuleDescription
from kschedweb.engine.releases.classic.objects import as_of_then


@dataclass(frozen=True)
class Example:
    """A small cluster, and the decision in it under one predicate or priority."""

    # A sentence about the cluster.
    description: str
    # Raw objects; the last one is the pod.
    objects: list[Json]
    decision: ClassicDecision


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
