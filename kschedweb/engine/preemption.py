"""Which pods would have to go, and from which node, for a pod that fits nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kschedweb.engine.disruption import budgets, split
from kschedweb.engine.extender import ExtenderError
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle
from kschedweb.engine.framework.status import Code, CycleError, Status, error, fit_error, unresolvable
from kschedweb.engine.importance import by_importance, earliest_start
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.snapshot import Snapshot

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")


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

    @classmethod
    def of(cls, candidates: list[Candidate]) -> Preemption:
        ordered = sorted(candidates, key=lambda candidate: candidate.violations > 0)
        return cls(tuple(ordered), select(ordered))

    def to_dict(self) -> Json:
        candidates = {candidate.node: candidate.to_dict() for candidate in self.candidates}
        return {"candidates": candidates, "node": self.chosen.node}


def select(candidates: list[Candidate]) -> Candidate:
    """The candidate that disturbs least."""
    return min(candidates, key=disturbance)


def disturbance(candidate: Candidate) -> tuple[float, ...]:
    """How much evicting the victims disturbs: one rule after the other, until a single candidate is left."""
    victims = candidate.victims
    return (
        candidate.violations,
        victims[0].priority,
        sum(victim.priority + 2**31 for victim in victims),
        len(victims),
        -earliest_start(victims),
    )


class Search:
    """The search for nodes where evictions make room for the pod of ``cycle``."""

    def __init__(self, handle: Handle, cycle: Cycle, diagnosis: Diagnosis) -> None:
        self._handle, self._cycle, self._diagnosis = handle, cycle, diagnosis
        self._refusals: list[Status] = []

    def candidates(self, nodes: Iterable[int], wanted: int) -> list[Candidate]:
        """Try the ``nodes`` (positions) in turn until ``wanted`` candidates are found.

        The search goes on beyond ``wanted`` while every candidate would violate a disruption budget.
        """
        world = self._cycle.on(self._cycle.snapshot.copy())
        found: list[Candidate] = []
        for node in nodes:
            if len(found) >= wanted and any(not candidate.violations for candidate in found):
                break
            tried = self._dry_run(world, int(node))
            if isinstance(tried, Status):
                self._refusals.append(tried)
            else:
                found.append(tried)
        return found

    def _dry_run(self, world: Cycle, node: int) -> Candidate | Status:
        """Take out all pods of lower priority, then let back in, in order of importance, whom there is room for."""
        snapshot, pod = world.snapshot, world.pod
        original = snapshot.pods.on(node)
        victims = [other for other in original if other.priority < pod.priority]
        if not victims:
            return NO_VICTIMS
        trial = world.on(snapshot)
        try:
            for victim in victims:
                self._move(trial, victim, node, add=False)
            verdict = self._handle.fits(trial, node)
            if not verdict.ok:
                return verdict
            return self._reprieve(trial, node, by_importance(victims))
        finally:
            _restore(snapshot, node, original)

    def _reprieve(self, trial: Cycle, node: int, victims: list[Pod]) -> Candidate | Status:
        violating, others = split(victims, budgets(trial.snapshot))
        gone: list[Pod] = []
        for victim in violating + others:
            self._move(trial, victim, node, add=True)
            if not self._handle.fits(trial, node).ok:
                self._move(trial, victim, node, add=False)
                gone.append(victim)
        name = trial.snapshot.names[node]
        if not gone:
            return error(no_victim(name))
        kept_by_budget = sum(victim in violating for victim in gone)
        if violating and others:
            gone = by_importance(gone)
        return Candidate(name, tuple(gone), kept_by_budget)

    def _move(self, trial: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        if add:
            trial.snapshot.add_pod(pod, node)
        else:
            trial.snapshot.remove_pod(pod.key)
        self._handle.move_pod(trial, pod, node, add=add)

    def error(self) -> str:
        """What went wrong on the nodes tried, "" where nothing did."""
        said = list(dict.fromkeys(status.message for status in self._refusals if status.code is Code.ERROR))
        return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""

    def message(self) -> str:
        """Why evictions help on no node."""
        size = len(self._cycle.snapshot)
        histogram = Counter(reason for status in self._refusals for reason in status.reasons)
        histogram[NOT_HELPFUL] += size - len(self._refusals)
        return fit_error(size, histogram.items())

    def ask_extenders(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that extenders leave, with the victims that they name. Raises CycleError."""
        left = candidates
        for extender in self._handle.extenders:
            if not left:
                break
            if not extender.preempts or not extender.interested(self._cycle.pod):
                continue
            victims = {candidate.node: (candidate.victims, candidate.violations) for candidate in left}
            try:
                named = extender.preempt(self._cycle, victims)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            empty = [node for node, (victims, _) in named.items() if not victims]
            if empty and not extender.ignorable:
                raise CycleError(no_victim(empty[0]))
            left = [Candidate(node, *answer) for node, answer in named.items() if answer[0]]
        return left


def no_victim(node: str) -> str:
    return f'expected at least one victim pod on node "{node}"'


def _restore(snapshot: Snapshot, node: int, pods: list[Pod]) -> None:
    """Put ``pods`` back on the node, in their order."""
    for other in snapshot.pods.on(node):
        snapshot.remove_pod(other.key)
    for other in pods:
        snapshot.add_pod(other, node)
