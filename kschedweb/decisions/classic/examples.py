"""A small cluster for each predicate and priority in which it matters; the engine computes the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.clusters import CLUSTERS
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.engine import Pod
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic.catalogue import DEFAULT_PRIORITIES, GATES
from kschedweb.engine.releases.classic.describing import DESCRIBED, PREDICATE, Described
from kschedweb.engine.releases.classic.objects import as_of_then

Json = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """``said`` describes the cluster; ``objects`` are its raw objects, of which the last is the pod."""

    said: str
    objects: list[Json]
    decision: ClassicDecision


@lru_cache(maxsize=64)
def example(name: str) -> Example:
    """The example of the predicate or priority ``name``, whose policy has nothing else."""
    one = DESCRIBED[name]
    said, objects = CLUSTERS[name]
    snapshot, pod = ClassicSnapshot.from_objects(objects[:-1]), as_of_then(Pod.read(objects[-1]))
    loaded = load_policy(_policy(one))
    assert loaded.policy is not None, loaded.errors
    scheduler = ClassicScheduler(snapshot, Registry(_edition(one)).algorithm(loaded.policy))
    case = ClassicCase(snapshot, pod, scheduler, scheduler.explain(pod), "")
    return Example(said, objects, ClassicDecision(case))


def _edition(one: Described) -> Edition:
    if one.name == "PodFitsPorts":
        return Edition("1.9")
    return Edition(gates=frozenset({one.switch}) & GATES)


def _policy(one: Described) -> Json:
    """The policy with the predicate or priority alone; mandatory predicates need no entry."""
    choice: Json = {"name": one.name}
    if one.argument:
        choice["argument"] = {one.argument: json.loads(one.shape)}
    policy: Json = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}
    if one.kind == PREDICATE:
        return policy if one.name in _edition(one).mandatory else {**policy, "predicates": [choice]}
    return {**policy, "priorities": [{**choice, "weight": DEFAULT_PRIORITIES.get(one.name, 1)}]}
