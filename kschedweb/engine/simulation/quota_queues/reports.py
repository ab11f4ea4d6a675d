"""Reports of quota queues to the observer of a simulation."""

from __future__ import annotations

from enum import IntEnum

from kschedweb.engine.queueing.quota.amounts import FlavorResource
from kschedweb.engine.values import dataclass


class JobStep(IntEnum):
    """A step in the life of a job."""

    QUEUED = 0
    # It has quota, so its pods may be scheduled.
    ADMITTED = 1
    # All pods that its quota is for are on nodes.
    RUNNING = 2
    # It has to stop, and waits again afterwards.
    EVICTED = 3
    FINISHED = 4
    # Its pods were deleted before it had quota.
    WITHDRAWN = 5


@dataclass(frozen=True, slots=True)
class JobReport:
    """A step of a job."""

    # Its Workload as "namespace/name".
    job: str
    step: JobStep
    # Its ClusterQueue, "" if its LocalQueue is not there.
    queue: str
    priority: int
    # How many pods it has, or has quota for.
    pods: int
    # The reason of an eviction in Kueue's word, and the flavors of an admission.
    text: str = ""
    # The workload for which it is evicted; "" for none.
    preemptor: str = ""


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """The quota of a ClusterQueue for a resource in a flavor, in milli-CPU or whole units."""

    queue: str
    cohort: str
    key: FlavorResource
    nominal: int
    # How much of the nominal quota others of the cohort may use.
    lendable: int


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The quotas, and how much of each is used, from now on."""

    lines: tuple[QuotaLine, ...]
    # By line.
    used: tuple[int, ...]
