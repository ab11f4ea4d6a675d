"""Pods that wait for nodes and that Karpenter ignores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.volumes import Unprovidable
from kschedweb.engine.autoscaling.offers.labels import NODEPOOL
from kschedweb.engine.autoscaling.offers.nodepool_validation import requirement_problems
from kschedweb.engine.autoscaling.offers.requirements import DOES_NOT_EXIST, IN, OPERATORS, WrittenRequirement


def find_problem(world: ClusterState, pod: PodView) -> str:
    """Return why Karpenter ignores a waiting pod, in its words; "" if it does not."""
    problems = list(_find_problems(pod.pod_data.wants, world.well_known_labels))
    try:
        world.storage.validate_claims(pod)
    except Unprovidable as error:
        problems.append(str(error))
    return "; ".join(problems)


def _find_problems(wants: PodConstraints, well_known_labels: frozenset[str]) -> Iterator[str]:
    if (requirement := wants.requirements.get(NODEPOOL)) is not None and requirement.operator == DOES_NOT_EXIST:
        yield f"configured to not run on a Karpenter provisioned node (requirement={NODEPOOL} {DOES_NOT_EXIST})"
    for key, value in wants.selector.items():
        yield from _check_expression((key, IN, (value,)), well_known_labels)
    if wants.names_fields:
        yield "node selector term with matchFields is not supported"
    for term in wants.required or ():
        for expression in term:
            yield from _check_expression(expression, well_known_labels)


# Pods of a cluster share few expressions, and each check builds texts.
@lru_cache(maxsize=4096)
def _check_expression(expression: WrittenRequirement, well_known_labels: frozenset[str]) -> tuple[str, ...]:
    key, operator, _ = expression
    unknown = () if operator in OPERATORS else (f"key {key} has an unsupported operator {operator}",)
    return (*unknown, *requirement_problems(expression, None, well_known_labels))
