"""The order in which a ReplicaSet deletes pods, after controller_utils.go and replica_set.go of Kubernetes 1.37."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from kschedweb.engine.controllers.autoscaling.replica_calculator import PENDING, RUNNING
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

COST = "controller.kubernetes.io/pod-deletion-cost"
# The later a phase, the later its pods are deleted.
PHASES = {PENDING: 0, "Unknown": 1, RUNNING: 2}
NANO = 1e9
# As `GetDeletionCostFromPodAnnotations` reads it: no plus sign and no leading zeros.
_COST = re.compile(r"0|[1-9][0-9]{0,18}|-[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class DeletionCandidate:
    """A pod that may be deleted. Times are seconds."""

    key: str
    uid: str
    node: str = ""
    phase: str = RUNNING
    # When it became ready; ``None`` if it is not.
    ready: float | None = None
    # What its annotation says; pods with a lower cost go first.
    cost: int = 0
    created: float = 0.0
    # The most restarts of a regular container, and of a sidecar.
    restarts: tuple[int, int] = (0, 0)


def rank_for_deletion(
    candidates: Iterable[DeletionCandidate], related: Iterable[str], now: float
) -> list[DeletionCandidate]:
    """Return the pods in the order of deletion.

    ``related`` are the nodes of the active pods of the same Deployment.
    """
    ordered = list(candidates)
    crowd = Counter(related)
    # Go's own algorithm: the order of pods that compare equal depends on it.
    sort_slice(ordered, lambda candidate, other: _is_deleted_before(candidate, other, crowd, now))
    return ordered


def deletion_cost(annotations: dict[str, str]) -> int:
    """Return the cost in the annotation; 0 if there is none, or none that can be read."""
    match = _COST.fullmatch(annotations.get(COST, ""))
    cost = int(match[0]) if match else 0
    return cost if -(1 << 31) <= cost < 1 << 31 else 0


def _is_deleted_before(candidate: DeletionCandidate, other: DeletionCandidate, crowd: Counter[str], now: float) -> bool:
    first, second = _rank_key(candidate, crowd), _rank_key(other, crowd)
    if first != second:
        return first < second
    if candidate.ready is not None and other.ready is not None and candidate.ready != other.ready:
        return _is_younger(candidate, other, candidate.ready, other.ready, now)
    if candidate.restarts != other.restarts:
        return candidate.restarts > other.restarts
    return candidate.created != other.created and _is_younger(candidate, other, candidate.created, other.created, now)


def _rank_key(candidate: DeletionCandidate, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    """Return what counts before any time: on a node, phase, ready, cost, and the number of related pods beside it."""
    return (
        bool(candidate.node),
        PHASES.get(candidate.phase, 0),
        candidate.ready is not None,
        candidate.cost,
        -crowd[candidate.node],
    )


def _is_younger(
    candidate: DeletionCandidate, other: DeletionCandidate, first: float, second: float, now: float
) -> bool:
    """Return true if ``candidate`` is younger by the logarithm of its age; pods of about the same age go by uid."""
    ranks = [_log_age(now - time) for time in (first, second)]
    return candidate.uid < other.uid if ranks[0] == ranks[1] else ranks[0] < ranks[1]


def _log_age(age: float) -> int:
    # Ages are nanoseconds in Go: the logarithm makes pods of about the same age equal.
    return int(math.log2(round(age * NANO))) if age > 0 else -1
