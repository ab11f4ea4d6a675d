"""Which pods a ReplicaSet deletes first, as controller_utils.go and replica_set.go of Kubernetes 1.37 choose them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from kschedweb.engine.controllers.autoscaling.replicas import PENDING, RUNNING
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

COST = "controller.kubernetes.io/pod-deletion-cost"
PHASES = {PENDING: 0, "Unknown": 1, RUNNING: 2}
NANO = 1e9
_COST = re.compile(r"0|[1-9][0-9]{0,18}|-[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod that may go. ``ready`` is when it became ready, ``None`` where it is not; ``created`` and it are seconds.

    ``restarts`` are the most of a regular container, and of a sidecar.
    """

    key: str
    uid: str
    node: str = ""
    phase: str = RUNNING
    ready: float | None = None
    cost: int = 0
    created: float = 0.0
    restarts: tuple[int, int] = (0, 0)


def in_order(candidates: Iterable[Candidate], related: Iterable[str], now: float) -> list[Candidate]:
    """The pods, those that go first in front. ``related`` are the nodes of the active pods of the same Deployment."""
    found = list(candidates)
    crowd = Counter(related)
    sort_slice(found, lambda one, other: _precedes(one, other, crowd, now))
    return found


def deletion_cost(annotations: dict[str, str]) -> int:
    """The cost that the annotation says; 0 where it says none, or none that can be read."""
    found = _COST.fullmatch(annotations.get(COST, ""))
    cost = int(found[0]) if found else 0
    return cost if -(1 << 31) <= cost < 1 << 31 else 0


def _precedes(one: Candidate, other: Candidate, crowd: Counter[str], now: float) -> bool:
    first, second = _class(one, crowd), _class(other, crowd)
    if first != second:
        return first < second
    if one.ready is not None and other.ready is not None and one.ready != other.ready:
        return _younger(one, other, one.ready, other.ready, now)
    if one.restarts != other.restarts:
        return one.restarts > other.restarts
    return one.created != other.created and _younger(one, other, one.created, other.created, now)


def _class(one: Candidate, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    """What counts before any time: on a node, phase, ready, cost, and how many are beside it."""
    return bool(one.node), PHASES.get(one.phase, 0), one.ready is not None, one.cost, -crowd[one.node]


def _younger(one: Candidate, other: Candidate, first: float, second: float, now: float) -> bool:
    """Whether ``one`` is younger by the logarithm of its age; pods of about the same age go by their uid."""
    ranks = [_rank(now - time) for time in (first, second)]
    return one.uid < other.uid if ranks[0] == ranks[1] else ranks[0] < ranks[1]


def _rank(age: float) -> int:
    return int(math.log2(round(age * NANO))) if age > 0 else -1
