"""Which pods would have to go, and from which node, for a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.snapshot import Snapshot

NOT_STARTED = float("inf")  # what has not started yet counts as started now


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node where evicting ``victims`` (the most important first) makes room."""

    node: str
    victims: tuple[Pod, ...]
    violations: int  # how many of them a disruption budget would keep

    def to_dict(self) -> Json:
        return {"pods": [victim.key for victim in self.victims] or None, "pdbViolations": self.violations}


@dataclass(frozen=True, slots=True)
class Preemption:
    """All candidates, and the one that kube-scheduler takes; of equally good ones the first, where it takes any."""

    candidates: tuple[Candidate, ...]
    chosen: Candidate

    def to_dict(self) -> Json:
        candidates = {candidate.node: candidate.to_dict() for candidate in self.candidates}
        return {"candidates": candidates, "node": self.chosen.node}


def preempt(
    framework: Framework, cycle: Cycle, skipped: set[str], nodes: Iterable[int], wanted: int
) -> Preemption | None:
    """Try the ``nodes`` (positions) in turn until ``wanted`` candidates are found; ``None`` where none is.

    The search goes on beyond ``wanted`` while every candidate would violate a disruption budget.
    """
    world = cycle.on(cycle.snapshot.copy())
    budgets = _budgets(cycle.snapshot)
    found: list[Candidate] = []
    for node in nodes:
        if len(found) >= wanted and any(not candidate.violations for candidate in found):
            break
        candidate = _dry_run(framework, world, skipped, node, budgets)
        if candidate is not None:
            found.append(candidate)
    if not found:
        return None
    ordered = [item for item in found if not item.violations] + [item for item in found if item.violations]
    return Preemption(tuple(ordered), select(ordered))


def select(candidates: list[Candidate]) -> Candidate:
    """The candidate that disturbs least: one rule after the other, until a single one is left."""
    rules: tuple[Callable[[Candidate], float], ...] = (
        lambda candidate: candidate.violations,
        lambda candidate: candidate.victims[0].priority,
        lambda candidate: sum(victim.priority + 2**31 for victim in candidate.victims),
        lambda candidate: len(candidate.victims),
        lambda candidate: -_earliest_start(candidate.victims),
    )
    return min(candidates, key=lambda candidate: tuple(rule(candidate) for rule in rules))


def _dry_run(
    framework: Framework, world: Cycle, skipped: set[str], node: int, budgets: list[Budget]
) -> Candidate | None:
    """Take out all pods of lower priority, then let back in, in order of importance, whom there is room for."""
    snapshot, pod = world.snapshot, world.pod
    original = snapshot.pods.on(node)
    victims = [other for other in original if other.priority < pod.priority]
    if not victims:
        return None
    trial = world.on(snapshot)

    def move(other: Pod, *, add: bool) -> None:
        if add:
            snapshot.add_pod(other, node)
        else:
            snapshot.remove_pod(other.key)
        framework.move_pod(trial, skipped, other, node, add=add)

    for victim in victims:
        move(victim, add=False)
    try:
        if not framework.filter_one(trial, skipped, node).ok:
            return None
        violating, others = _split(by_importance(victims), budgets)
        gone: list[Pod] = []
        for victim in violating + others:
            move(victim, add=True)
            if not framework.filter_one(trial, skipped, node).ok:
                move(victim, add=False)
                gone.append(victim)
        kept_by_budget = sum(victim in violating for victim in gone)
        if violating and others:
            gone = by_importance(gone)
        return Candidate(snapshot.names[node], tuple(gone), kept_by_budget)
    finally:
        _restore(snapshot, node, original)


def _restore(snapshot: Snapshot, node: int, pods: list[Pod]) -> None:
    """Put ``pods`` back on the node, in their order."""
    for other in snapshot.pods.on(node):
        snapshot.remove_pod(other.key)
    for other in pods:
        snapshot.add_pod(other, node)


def by_importance(pods: list[Pod]) -> list[Pod]:
    """Higher priority first, then those that have run longer.

    Of pods that have not started the later one comes first: kube-scheduler takes the time anew for each comparison,
    so that the one it looks at first seems to have started earlier, and its sort of short lists goes by insertion.
    """
    ordered: list[Pod] = []
    for pod in pods:
        place = len(ordered)
        while place and _more_important(pod, ordered[place - 1]):
            place -= 1
        ordered.insert(place, pod)
    return ordered


def _more_important(one: Pod, other: Pod) -> bool:
    if one.priority != other.priority:
        return one.priority > other.priority
    start, other_start = started(one), started(other)
    return start < other_start or start == other_start == NOT_STARTED


def started(pod: Pod) -> float:
    """When the pod started, in seconds of the epoch."""
    time = mapping(pod.raw, "status").get("startTime")
    try:
        return datetime.fromisoformat(time).timestamp() if isinstance(time, str) else NOT_STARTED
    except ValueError:
        return NOT_STARTED


def _earliest_start(victims: tuple[Pod, ...]) -> float:
    highest = max(victim.priority for victim in victims)
    return min(started(victim) for victim in victims if victim.priority == highest)


@dataclass(slots=True)
class Budget:
    """A PodDisruptionBudget: how many of the pods it means may still be evicted."""

    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def means(self, pod: Pod) -> bool:
        if pod.namespace != self.namespace or not pod.labels or pod.name in self.disrupted:
            return False
        return not self.selector.empty and self.selector.matches(pod.labels)


def _budgets(snapshot: Snapshot) -> list[Budget]:
    return [_budget(raw) for raw in snapshot.objects.all("PodDisruptionBudget")]


def _budget(raw: Json) -> Budget:
    metadata, status = mapping(raw, "metadata"), mapping(raw, "status")
    try:
        selector = label_selector(mapping(raw, "spec").get("selector"))
    except SelectorError:
        selector = NOTHING
    allowed: Any = status.get("disruptionsAllowed") or 0
    return Budget(
        str(metadata.get("namespace") or "default"), selector, int(allowed), frozenset(mapping(status, "disruptedPods"))
    )


def _split(pods: list[Pod], budgets: list[Budget]) -> tuple[list[Pod], list[Pod]]:
    """(those whose eviction would violate a budget, the others), walking ``pods`` in their order."""
    allowed = [budget.allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        violates = False
        for position, budget in enumerate(budgets):
            if budget.means(pod):
                allowed[position] -= 1
                violates |= allowed[position] < 0
        (violating if violates else others).append(pod)
    return violating, others
