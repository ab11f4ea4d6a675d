"""The search for nodes where evictions make room for a pod that fits nowhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from kschedweb.engine.extenders.extender import ExtenderError
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle, PodDependent, PreemptingExtender, Scope
from kschedweb.engine.framework.status import Code, CycleError, Status, error, fit_error, unresolvable
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.preemption.disruption import budgets, split
from kschedweb.engine.preemption.importance import by_importance, earliest_start
from kschedweb.engine.preemption.trials import Rooms, Rows, TrialResult, Trials, pods_on_each
from kschedweb.engine.preemption.victims import Victim, ordered, victims_among, violations
from kschedweb.engine.state.columns import ALL, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

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
    """All candidates, and the one that kube-scheduler takes. Where it takes any of several, ``chosen`` is the first."""

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
    """The candidate whose evictions disturb least."""
    return min(candidates, key=disturbance)


def disturbance(candidate: Candidate) -> tuple[float, ...]:
    """How much the evictions disturb: kube-scheduler's rules in order. A later rule counts only between equals."""
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

    def __init__(
        self, handle: Handle, cycle: Cycle, diagnosis: Diagnosis, by_clock: bool, groups: bool = False
    ) -> None:
        """``groups``: pods of groups count as these, and may have to go together."""
        self._handle, self._cycle, self._diagnosis, self._by_clock = handle, cycle, diagnosis, by_clock
        self._groups = groups
        self._beyond_room = handle.filters_beyond_room(cycle.pod)
        self._crowded = handle.crowded(cycle)
        # If a filter does not say which pods its answers depend on, any pod that moves may change them.
        self._selective = [plugin for plugin in self._beyond_room if isinstance(plugin, PodDependent)]
        self._any_pod_counts = len(self._selective) < len(self._beyond_room)
        size = len(cycle.snapshot)
        self._trials = Trials(size) if self._any_pod_counts else cycle.keep("preemption", lambda: Trials(size))
        self._trials.refresh(cycle.snapshot)
        self._barred = self._rejected_beyond_room()
        self._world: Cycle | None = None
        self._nodes: Rows = np.zeros(0, dtype=np.intp)

    def _rejected_beyond_room(self) -> Mask:
        """The nodes that such filters reject: only pods that these filters depend on can change that."""
        barred: Mask = np.zeros(len(self._cycle.snapshot), dtype=np.bool_)
        known = {column.plugin: column.codes for column in self._diagnosis.filters}
        for plugin in () if self._any_pod_counts else self._beyond_room:
            # If PreFilter rejected the pod, the filters have not been asked yet.
            codes = known[plugin.name] if plugin.name in known else plugin.filter(self._cycle, ALL).codes
            barred |= codes != 0
        return barred

    def candidates(self, nodes: Rows, wanted: int) -> Rows:
        """Try ``nodes`` (positions) in turn until ``wanted`` of them are candidates; returns those.

        The search goes on beyond ``wanted`` while every candidate would violate a disruption budget.
        """
        self._nodes = nodes
        self.__dict__.pop("_refused", None)
        while (due := self._trials.due(nodes, wanted, self._barred)).size:
            self._try(due)
        return self._trials.found(nodes, wanted, self._barred)

    def best(self, nodes: Rows) -> Candidate:
        """The candidate among ``nodes`` whose evictions disturb least."""
        return self._candidate(self._trials.best(nodes))

    def listed(self, nodes: Rows) -> list[Candidate]:
        return [self._candidate(node) for node in nodes.tolist()]

    def _candidate(self, node: int) -> Candidate:
        outcome = self._trials.outcome(node)
        return Candidate(self._cycle.snapshot.names[node], outcome.victims, outcome.violations)

    def _try(self, nodes: Rows) -> None:
        pods = pods_on_each(self._cycle.snapshot.pods, nodes)
        victims = [self._lower(there) for there in pods]
        alone = [
            self._any_pod_counts or node in self._crowded or any(map(self._affects, there))
            for node, there in zip(nodes.tolist(), victims, strict=True)
        ]
        if self._groups:
            alone = [one or any(pod.scheduling_group for pod in there) for one, there in zip(alone, pods, strict=True)]
        for node in nodes[alone].tolist():
            self._barred[node] = False
            self._trials.put(node, self._dry_run(node), fleeting=True)
        if not all(alone):
            others = np.flatnonzero(~np.array(alone))
            self._try_rooms(nodes[others], [victims[place] for place in others.tolist()])

    def _affects(self, pod: Pod) -> bool:
        """Whether a filter beyond room depends on the pod being on its node."""
        kind = pod.template, pod.seen_by_selectors, pod.volumes
        for plugin in self._selective:
            key = plugin.name, kind
            if key not in self._trials.affects:
                self._trials.affects[key] = plugin.depends_on(self._cycle, pod)
            if self._trials.affects[key]:
                return True
        return False

    def _try_rooms(self, nodes: Rows, victims: list[list[Pod]]) -> None:
        """Try all ``nodes`` at once: take their victims off, then let them back in one after the other."""
        cycle, handle = self._cycle, self._handle

        def on(snapshot: Snapshot) -> Cycle:
            return replace(cycle, snapshot=snapshot)

        rooms = Rooms(cycle.snapshot, lambda snapshot, rows: handle.have_room(on(snapshot), rows))
        empty = on(rooms.without(nodes, victims))
        codes, statuses = handle.refusals(empty, nodes, self._diagnosis.filters, Scope.ROOM)
        left, parts, lists = [], [], []
        for place, (node, code) in enumerate(zip(nodes.tolist(), codes.tolist(), strict=True)):
            if not victims[place]:
                self._trials.put(node, TrialResult(refusal=NO_VICTIMS))
            elif code:
                self._trials.put(node, TrialResult(refusal=statuses[code].decisive))
            else:
                left.append(node)
                parts.append(self._split(victims[place]))
                lists.append(victims[place])
        gone = rooms.reprieve(np.array(left, dtype=np.intp), [violating + others for violating, others in parts])
        for node, there, (violating, others), those in zip(left, lists, parts, gone, strict=True):
            self._trials.put(node, self._outcome(node, there, violating, others, those))

    def _lower(self, pods: list[Pod]) -> list[Pod]:
        priority = self._cycle.pod.priority
        return [pod for pod in pods if pod.priority < priority]

    def _split(self, victims: list[Pod]) -> tuple[list[Pod], list[Pod]]:
        return split(by_importance(victims, victims, self._by_clock), budgets(self._cycle.snapshot))

    def _outcome(
        self, node: int, listed: list[Pod], violating: list[Pod], others: list[Pod], gone: list[Pod]
    ) -> TrialResult:
        if not gone:
            return TrialResult(refusal=error(no_victim(self._cycle.snapshot.names[node])))
        kept_by_budget = sum(pod in violating for pod in gone) if violating else 0
        ordered = by_importance(gone, listed, self._by_clock) if violating and others else gone
        return TrialResult(tuple(ordered), kept_by_budget)

    def _dry_run(self, node: int) -> TrialResult:
        """Take out all pods of lower priority, then let back in those that fit, in order of importance."""
        checkpoint()
        if self._world is None:
            self._world = self._cycle.on(self._cycle.snapshot.copy())
        world, snapshot = self._world, self._world.snapshot
        original = snapshot.pods.on(node)
        if self._groups and any(pod.scheduling_group for pod in original):
            return self._dry_run_groups(node, original)
        victims = self._lower(original)
        if not victims:
            return TrialResult(refusal=NO_VICTIMS)
        trial = world.on(snapshot)
        try:
            for victim in victims:
                self._move(trial, victim, node, add=False)
            verdict = self._handle.fits(trial, node)
            if not verdict.ok:
                return TrialResult(refusal=verdict)
            violating, others = self._split(victims)
            gone: list[Pod] = []
            for victim in violating + others:
                self._move(trial, victim, node, add=True)
                if not self._handle.fits(trial, node).ok:
                    self._move(trial, victim, node, add=False)
                    gone.append(victim)
            return self._outcome(node, victims, violating, others, gone)
        finally:
            _restore(snapshot, node, original)

    def _dry_run_groups(self, node: int, original: list[Pod]) -> TrialResult:
        """As ``_dry_run``, where pods on other nodes may have to go with those on this one.

        Plugins are told of all of them; filters that look at nodes see only this one without its pods.
        """
        assert self._world is not None
        snapshot, priority = self._world.snapshot, self._cycle.pod.priority
        victims = [one for one in victims_among(original, snapshot) if one.priority < priority]
        if not victims:
            return TrialResult(refusal=NO_VICTIMS)
        trial = self._world.on(snapshot)
        try:
            for victim in victims:
                self._move_all(trial, victim, node, add=False)
            verdict = self._handle.fits(trial, node)
            if not verdict.ok:
                return TrialResult(refusal=verdict)
            listed = ordered(victims)
            kept = dict(zip(listed, violations(listed, budgets(snapshot)), strict=True))
            gone: list[Victim] = []
            for victim in sorted(listed, key=lambda one: not kept[one]):
                self._move_all(trial, victim, node, add=True)
                if not self._handle.fits(trial, node).ok:
                    self._move_all(trial, victim, node, add=False)
                    gone.append(victim)
            if len(set(map(bool, kept.values()))) > 1:
                gone = ordered(gone)
            if not gone:
                return TrialResult(refusal=error(no_victim(snapshot.names[node])))
            return TrialResult(tuple(pod for one in gone for pod in one.pods), sum(kept[one] for one in gone))
        finally:
            _restore(snapshot, node, original)

    def _move_all(self, trial: Cycle, victim: Victim, node: int, *, add: bool) -> None:
        for pod in victim.pods:
            there = trial.snapshot.index[pod.node_name]
            if there == node:
                self._move(trial, pod, node, add=add)
            else:
                self._handle.move_pod(trial, pod, there, add=add)

    def _move(self, trial: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        if add:
            trial.snapshot.add_pod(pod, node)
        else:
            trial.snapshot.remove_pod(pod.key)
        self._handle.move_pod(trial, pod, node, add=add)

    def error(self) -> str:
        """The errors on the nodes that were tried, "" if there were none."""
        said = [status.message for status, _ in self._refused if status.code is Code.ERROR]
        return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""

    def message(self) -> str:
        """Why evictions help on no node."""
        size = len(self._cycle.snapshot)
        histogram = Counter({NOT_HELPFUL: size - len(self._nodes)})
        for status, number in self._refused:
            for reason in status.reasons:
                histogram[reason] += number
        return fit_error(size, histogram.items())

    @cached_property
    def _refused(self) -> list[tuple[Status, int]]:
        """The reasons why evictions do not help, each with the number of nodes."""
        barred = self._nodes[self._barred[self._nodes]]
        if not barred.size:
            return self._trials.refused(self._nodes)
        others = self._nodes[~self._barred[self._nodes]]
        counts = Counter(dict(self._trials.refused(others)))
        victims = [self._lower(pods) for pods in pods_on_each(self._cycle.snapshot.pods, barred)]
        rooms = Rooms(self._cycle.snapshot, lambda snapshot, rows: np.zeros(len(rows), dtype=np.bool_))
        empty = replace(self._cycle, snapshot=rooms.without(barred, victims))
        codes, statuses = self._handle.refusals(empty, barred, self._diagnosis.filters)
        for there, code in zip(victims, codes.tolist(), strict=True):
            counts[statuses[code].decisive if there else NO_VICTIMS] += 1
        return list(counts.items())

    def ask_extenders(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that extenders leave, with the victims that they name. Raises CycleError."""
        left = candidates
        for extender in self.extenders():
            if not left:
                break
            victims = {candidate.node: (candidate.victims, candidate.violations) for candidate in left}
            try:
                named = extender.preempt(self._cycle, victims)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            empty = [node for node, (there, _) in named.items() if not there]
            if empty and not extender.ignorable:
                raise CycleError(no_victim(empty[0]))
            left = [Candidate(node, *answer) for node, answer in named.items() if answer[0]]
        return left

    def extenders(self) -> list[PreemptingExtender]:
        """The extenders that take part in preemption."""
        return [one for one in self._handle.extenders if one.preempts and one.interested(self._cycle.pod)]


def no_victim(node: str) -> str:
    return f'expected at least one victim pod on node "{node}"'


def _restore(snapshot: Snapshot, node: int, pods: list[Pod]) -> None:
    """Put ``pods`` back on the node, in their order."""
    for other in snapshot.pods.on(node):
        snapshot.remove_pod(other.key)
    for other in pods:
        snapshot.add_pod(other, node)
