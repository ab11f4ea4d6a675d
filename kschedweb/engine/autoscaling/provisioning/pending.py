"""Why Karpenter leaves some of the pods alone that wait for nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.volumes import Unprovidable
from kschedweb.engine.autoscaling.cluster.wants import Wants
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.labels import NODEPOOL
from kschedweb.engine.autoscaling.offers.poolchecks import requirement_problems
from kschedweb.engine.autoscaling.offers.requirements import DOES_NOT_EXIST, IN, OPERATORS, Written


def problem(world: World, pod: PodView) -> str:
    """Why Karpenter does not look at a pod that waits, in its words; "" where it does."""
    found = list(_problems(pod.asking.wants, world.known))
    try:
        world.storage.check(pod)
    except Unprovidable as error:
        found.append(str(error))
    return "; ".join(found)


def _problems(wants: Wants, known: frozenset[str]) -> Iterator[str]:
    if (wanted := wants.requirements.get(NODEPOOL)) is not None and wanted.operator == DOES_NOT_EXIST:
        yield f"configured to not run on a Karpenter provisioned node (requirement={NODEPOOL} {DOES_NOT_EXIST})"
    for key, value in wants.selector.items():
        yield from _checked((key, IN, (value,)), known)
    if wants.names_fields:
        yield "node selector term with matchFields is not supported"
    for term in wants.required or ():
        for written in term:
            yield from _checked(written, known)


@lru_cache(maxsize=4096)
def _checked(written: Written, known: frozenset[str]) -> tuple[str, ...]:
    key, operator, _ = written
    unknown = () if operator in OPERATORS else (f"key {key} has an unsupported operator {operator}",)
    return (*unknown, *requirement_problems(written, None, known))
