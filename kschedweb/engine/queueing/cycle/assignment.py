"""The assignment of flavors to a workload: modes, reasons, and the flavors that were looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from enum import IntEnum
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.quota.amounts import (
    FlavorResource,
    Quantities,
    Requests,
    add_amounts,
    format_amount,
    subtract_amounts,
)
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.topology.topology_assignments import TopologyAssignment
from kschedweb.engine.queueing.workloads.workload import PodSetAdmission
from kschedweb.engine.queueing.workloads.workload_info import AssignmentState, TopologyUsage
from kschedweb.engine.values import dataclass

# Reasons of KEP-10852 for NoFit, from the mildest to the most severe.
TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
WAITING_FOR_QUOTA = "WaitingForQuota"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR = "NoMatchingFlavor"
_SEVERITIES = ("", TOPOLOGY_PLACEMENT_FAILED, WAITING_FOR_QUOTA, EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR)


class AssignmentMode(IntEnum):
    """The modes of an assignment of flavors, from the worst to the best (`FlavorAssignmentMode`)."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3

    @property
    def text(self) -> str:
        return ("NoFit", "Preempt", "DeferredFit", "Fit")[self]


class PreemptionMode(IntEnum):
    """Ways to assign a flavor, from the worst to the best (`preemptionMode`)."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def possibility(self) -> str | None:
        """The outcome of a preemption, if it takes one."""
        return (None, "NoCandidates", "Preempt", "Reclaim", None)[self]

    @property
    def assignment_mode(self) -> AssignmentMode:
        if self in (PreemptionMode.NO_FIT, PreemptionMode.FIT):
            return AssignmentMode.NO_FIT if self == PreemptionMode.NO_FIT else AssignmentMode.FIT
        return AssignmentMode.PREEMPT


_POSSIBILITIES = ("NoCandidates", "Preempt", "Reclaim")


class FlavorMismatch(NamedTuple):
    """Reason why the pods do not suit a flavor's nodes."""

    kind: str
    # In Kueue's words.
    text: str


MISSING_FLAVOR, UNTOLERATED_TAINT, NO_AFFINITY, NO_TOPOLOGY = "missing", "taint", "affinity", "topology"


@dataclass(frozen=True, slots=True)
class QuotaCheck:
    """The answer of the quota of a resource in a flavor to a request."""

    key: FlavorResource
    # What pod sets before request of it, and what this one does.
    assumed: int
    amount: int
    available: int
    # What the queue could use if nothing else were used.
    capacity: int
    mode: PreemptionMode
    # The height of the smallest tree that lends what is borrowed.
    borrow: int = 0
    # Whether victims were looked for.
    is_preemption_tried: bool = False

    @property
    def requested(self) -> int:
        return add_amounts(self.assumed, self.amount)

    @property
    def missing(self) -> int:
        return max(0, subtract_amounts(self.requested, self.available))

    @property
    def exceeds_capacity(self) -> bool:
        return self.requested > self.capacity

    @property
    def reason(self) -> str:
        """Return the reason why it does not fit at once, in Kueue's words; "" if it does."""
        flavor, resource = self.key
        if self.exceeds_capacity:
            parts = [format_amount(resource, part) for part in (self.assumed, self.amount, self.capacity)]
            return (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({parts[0]}) + current podset request ({parts[1]}) > maximum capacity ({parts[2]})"
            )
        if self.mode == PreemptionMode.FIT:
            return ""
        missing = format_amount(resource, subtract_amounts(self.requested, self.available))
        return f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"

    @property
    def no_fit_reason(self) -> str:
        """The reason of KEP-10852; "" unless the mode is NoFit."""
        if self.mode != PreemptionMode.NO_FIT:
            return ""
        return EXCEEDS_MAX_QUOTA if self.exceeds_capacity else WAITING_FOR_QUOTA


def pick_most_severe(reason: str, other: str) -> str:
    return reason if rank_severity(reason) >= rank_severity(other) else other


def rank_severity(reason: str) -> int:
    return _SEVERITIES.index(reason) if reason in _SEVERITIES else 0


@dataclass
class FlavorChoice:
    """The flavor that a resource got (`FlavorAssignment`)."""

    flavor: str
    mode: AssignmentMode
    borrow: int = 0
    # Index of the flavor at which the search ended, or NO_FLAVORS_LEFT.
    last_flavor: int = 0


# Resource -> flavor.
FlavorChoices = dict[str, FlavorChoice]


@dataclass(frozen=True)
class FlavorAttempt:
    """The result of looking at a flavor for a pod set (`FlavorAssignmentAttempt`)."""

    flavor: str
    mode: AssignmentMode
    borrow: int = 0
    possibility: str | None = None
    reasons: tuple[str, ...] = ()
    no_fit_reason: str = ""
    # What was looked at: its quotas, or why its nodes do not suit.
    checks: tuple[QuotaCheck, ...] = ()
    mismatch: FlavorMismatch | None = None

    def to_json(self) -> Json:
        described: Json = {"flavor": self.flavor, "mode": self.mode.text}
        if self.possibility:
            described["preemption"] = self.possibility
        if self.borrow:
            described["borrow"] = self.borrow
        if self.reasons:
            described["reasons"] = list(self.reasons)
        if self.no_fit_reason:
            described["noFitReason"] = self.no_fit_reason
        return described

    def merge(self, other: FlavorAttempt) -> FlavorAttempt:
        """Return the worse of two attempts for different resources."""
        possibility = self.possibility
        if other.possibility is not None and (
            possibility is None or _POSSIBILITIES.index(other.possibility) < _POSSIBILITIES.index(possibility)
        ):
            possibility = other.possibility
        return FlavorAttempt(
            self.flavor,
            min(self.mode, other.mode),
            max(self.borrow, other.borrow),
            possibility,
            tuple(sorted({*self.reasons, *other.reasons})),
            pick_most_severe(self.no_fit_reason, other.no_fit_reason),
            self.checks + tuple(check for check in other.checks if check not in self.checks),
            self.mismatch or other.mismatch,
        )

    def describe(self) -> str:
        """Return it as events have it."""
        text = self.mode.text if self.possibility is None else f"preemptionMode={self.possibility}"
        parts = [text, *([f"borrow={self.borrow}"] if self.borrow > 0 else []), *self.reasons]
        return f"{self.flavor}({';'.join(parts)})"


@dataclass
class PodSetAssignment:
    """The flavors that a pod set would get."""

    name: str
    count: int
    requests: Requests
    choices: FlavorChoices = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    error: str = ""
    attempts: list[FlavorAttempt] = field(default_factory=list)
    topology: TopologyAssignment | None = None
    delayed: str | None = None

    @property
    def is_fit(self) -> bool:
        return not self.error and not self.reasons

    @property
    def mode(self) -> AssignmentMode:
        """The worst mode of its flavors (`RepresentativeMode`)."""
        if self.is_fit:
            return AssignmentMode.FIT
        if self.error or not self.choices:
            return AssignmentMode.NO_FIT
        return min(choice.mode for choice in self.choices.values())

    def set_mode(self, mode: AssignmentMode) -> None:
        for choice in self.choices.values():
            choice.mode = mode

    def mark_attempt(self, flavor: str, mode: AssignmentMode, reason: str) -> None:
        """Change the attempt of ``flavor``, which pod sets of a group share."""
        for position, attempt in enumerate(self.attempts):
            if attempt.flavor == flavor:
                self.attempts[position] = replace(attempt, mode=mode, no_fit_reason=reason)

    def to_admission(self) -> PodSetAdmission:
        return PodSetAdmission(
            self.name,
            self.count,
            {resource: choice.flavor for resource, choice in self.choices.items()},
            {resource: format_amount(resource, self.requests.get(resource, 0)) for resource in self.choices},
            self.topology,
            self.delayed,
        )


@dataclass
class Assignment:
    """The flavors that a workload would get."""

    state: AssignmentState
    pod_sets: list[PodSetAssignment] = field(default_factory=list)
    # The height of the smallest tree that lends what is borrowed; 0 if nothing is.
    borrowing: int = 0
    quota: Quantities = field(default_factory=dict)
    topology: TopologyUsage = field(default_factory=dict)
    no_fit_reason: str = ""
    ignores_undeclared: bool = False
    # The mode that was set for the whole, or computed once.
    fixed_mode: AssignmentMode | None = None

    @property
    def mode(self) -> AssignmentMode:
        """The worst mode of its pod sets."""
        if not self.pod_sets:
            return AssignmentMode.NO_FIT
        if self.fixed_mode is None:
            self.fixed_mode = min(pod_set.mode for pod_set in self.pod_sets)
        return self.fixed_mode

    def set_mode(self, mode: AssignmentMode) -> None:
        self.fixed_mode = mode
        for pod_set in self.pod_sets:
            pod_set.set_mode(mode)

    def set_pod_set_mode(self, name: str, mode: AssignmentMode) -> None:
        """Set the mode of a pod set; it becomes that of the whole (`updateMode`)."""
        pod_set = self.find_pod_set(name)
        if pod_set is not None:
            pod_set.set_mode(mode)
            self.fixed_mode = mode

    def set_error(self, pod_set: PodSetAssignment, error: str) -> None:
        pod_set.error = error
        self.fixed_mode = None

    def find_pod_set(self, name: str) -> PodSetAssignment | None:
        return next((pod_set for pod_set in self.pod_sets if pod_set.name == name), None)

    @property
    def message(self) -> str:
        parts = []
        for pod_set in self.pod_sets:
            if pod_set.error:
                return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.error}"
            if pod_set.reasons:
                reasons = ", ".join(sorted(pod_set.reasons))
                parts.append(f"couldn't assign flavors to pod set {pod_set.name}: {reasons}")
        return "; ".join(parts)

    @property
    def flavors_in_need(self) -> frozenset[FlavorResource]:
        """The quota that preemption has to free (`flavorResourcesNeedPreemption`)."""
        return frozenset(
            FlavorResource(choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.choices.items()
            if choice.mode == AssignmentMode.PREEMPT
        )

    @property
    def flavors_by_pod_set(self) -> dict[str, dict[str, str]]:
        return {
            pod_set.name: {resource: choice.flavor for resource, choice in pod_set.choices.items()}
            for pod_set in self.pod_sets
        }

    def append(self, requests: Requests, pod_set: PodSetAssignment) -> None:
        """Add what a pod set got, with what it takes of quota."""
        self.pod_sets.append(pod_set)
        for resource, choice in pod_set.choices.items():
            self.borrowing = max(self.borrowing, choice.borrow)
            key = FlavorResource(choice.flavor, resource)
            self.quota[key] = add_amounts(self.quota.get(key, 0), requests.get(resource, 0))
        self.state.last_flavors.append({resource: choice.last_flavor for resource, choice in pod_set.choices.items()})

    def describe_attempts(self) -> str:
        """Return the flavors that were considered, as events have them."""
        parts = []
        for pod_set in self.pod_sets:
            described = [
                attempt.describe()
                for attempt in pod_set.attempts
                if attempt.mode != AssignmentMode.FIT or attempt.borrow != 0
            ]
            if described:
                parts.append(f"{pod_set.name}: {', '.join(described)}")
        return " | ".join(parts)

    def resolve_no_fit_reason(self, queue: ClusterQueueSnapshot) -> None:
        """Set why nothing fits: by resource group the mildest reason, over all groups the most severe."""
        if self.mode != AssignmentMode.NO_FIT:
            return
        overall = ""
        for pod_set in self.pod_sets:
            if pod_set.mode == AssignmentMode.NO_FIT:
                reason = _find_pod_set_reason(pod_set.attempts, queue) if pod_set.attempts else NO_MATCHING_FLAVOR
                overall = pick_most_severe(overall, reason)
        self.no_fit_reason = overall


def _find_pod_set_reason(attempts: Iterable[FlavorAttempt], queue: ClusterQueueSnapshot) -> str:
    mildest: dict[int, str] = {}
    for position, attempt in enumerate(attempts):
        if attempt.mode != AssignmentMode.NO_FIT:
            continue
        groups = [index for index, group in enumerate(queue.groups) if attempt.flavor in group.flavors]
        # A flavor of no group is one by itself.
        for index in groups or [-1 - position]:
            if index not in mildest or rank_severity(attempt.no_fit_reason) < rank_severity(mildest[index]):
                mildest[index] = attempt.no_fit_reason
    reason = ""
    for group_reason in mildest.values():
        reason = pick_most_severe(reason, group_reason)
    return reason
