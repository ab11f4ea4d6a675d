"""The search for nodes where evictions make room for a pod that fits nowhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from kschedweb.engine.extenders.extender import ExtenderError
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle, PluginScope, PodDependent, PreemptingExtender
from kschedweb.engine.framework.status import Code, CycleError, Status, error, fit_error, unresolvable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.preemption.disruption_budgets import filter_pods_with_pdb_violation, list_budgets
from kschedweb.engine.preemption.importance import by_importance, earliest_start
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.preemption.trials import Rooms, Rows, TrialResult, Trials, pods_on_each
from kschedweb.engine.preemption.victims import Victim, count_violations, sort_victims, victims_among
from kschedweb.engine.state.columns import ALL, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")


@dataclass(frozen=True, slots=True)
class PreemptionCandidate:
    """A node on which evictions make room."""

    node: str
    # The most important first.
    victims: tuple[Pod, ...]
    # The number of victims whose eviction violates a disruption budget.
    violations: int

    def to_dict(self) -> Json:
        return {"pods": [victim.key for victim in self.victims] or None, "pdbViolations": self.violations}


@dataclass(frozen=True, slots=True)
class Preemption:
    """All candidates, and the one that kube-scheduler chooses; if it may choose any of several, the first."""

    candidates: tuple[PreemptionCandidate, ...]
    chosen: PreemptionCandidate

    @classmethod
    def from_candidates(cls, candidates: list[PreemptionCandidate]) -> Preemption:
        # Candidates that violate no budget come first, as the search for candidates returns them.
        ordered = sorted(candidates, key=lambda candidate: candidate.violations > 0)
        return cls(tuple(ordered), select_candidate(ordered))

    def to_dict(self) -> Json:
        candidates = {candidate.node: candidate.to_dict() for candidate in self.candidates}
        return {"candidates": candidates, "node": self.chosen.node}


def select_candidate(candidates: list[PreemptionCandidate]) -> PreemptionCandidate:
    """Return the candidate whose evictions disturb least."""
    return min(candidates, key=measure_disturbance)


def measure_disturbance(candidate: PreemptionCandidate) -> tuple[float, ...]:
    """Return how much the evictions disturb: kube-scheduler's rules in order, each to break ties of those before.

    The order is that of `pickOneNodeForPreemption`.
    """
    victims = candidate.victims
    return (
        candidate.violations,
        victims[0].priority,
        # Shifted, as there, so that priorities below 0 do not make more victims count as less.
        sum(victim.priority + 2**31 for victim in victims),
        len(victims),
        -earliest_start(victims),
    )


class PreemptionEvaluator:
    """The search for nodes on which evictions make room for the pod of ``cycle``."""

    def __init__(self, handle: Handle, cycle: Cycle, diagnosis: Diagnosis, rules: PreemptionRules) -> None:
        self._handle, self._cycle, self._diagnosis, self._rules = handle, cycle, diagnosis, rules
        self._beyond_room = handle.filters_beyond_room(cycle.pod)
        self._crowded = handle.find_crowded_nodes(cycle)
        # A filter that does not say which pods it depends on may change with any pod that moves.
        self._selective = [plugin for plugin in self._beyond_room if isinstance(plugin, PodDependent)]
        self._any_pod_counts = len(self._selective) < len(self._beyond_room)
        size = len(cycle.snapshot)
        # Results outlive the cycle only if it is known what they depend on.
        self._trials = Trials(size) if self._any_pod_counts else cycle.memoize("preemption", lambda: Trials(size))
        self._trials.refresh_results(cycle.snapshot)
        self._barred = self._rejected_beyond_room()
        self._world: Cycle | None = None
        self._nodes: Rows = np.zeros(0, dtype=np.intp)

    def _rejected_beyond_room(self) -> Mask:
        """Return the nodes rejected by filters that look beyond room; only pods that these depend on can change
        that."""
        barred: Mask = np.zeros(len(self._cycle.snapshot), dtype=np.bool_)
        codes_by_plugin = {column.plugin: column.codes for column in self._diagnosis.filters}
        for plugin in () if self._any_pod_counts else self._beyond_room:
            # If PreFilter rejected the pod, the filters have not run yet.
            codes = (
                codes_by_plugin[plugin.name]
                if plugin.name in codes_by_plugin
                else plugin.filter(self._cycle, ALL).codes
            )
            barred |= codes != 0
        return barred

    def find_candidates(self, nodes: Rows, num_candidates: int) -> Rows:
        """Try ``nodes`` (positions) in turn until ``num_candidates`` of them are candidates; return the candidates.

        The search continues beyond ``num_candidates`` while every candidate would violate a disruption budget.
        """
        self._nodes = nodes
        # The counts of refusals are cached; they belong to the nodes of the last call.
        self.__dict__.pop("_refusal_counts", None)
        while (due := self._trials.find_due_nodes(nodes, num_candidates, self._barred)).size:
            self._dry_run_nodes(due)
        return self._trials.find_candidates(nodes, num_candidates, self._barred)

    def select_candidate(self, nodes: Rows) -> PreemptionCandidate:
        """Return the candidate among ``nodes`` whose evictions disturb least."""
        return self._build_candidate(self._trials.select_best_node(nodes))

    def list_candidates(self, nodes: Rows) -> list[PreemptionCandidate]:
        return [self._build_candidate(node) for node in nodes.tolist()]

    def _build_candidate(self, node: int) -> PreemptionCandidate:
        outcome = self._trials.get_result(node)
        return PreemptionCandidate(self._cycle.snapshot.names[node], outcome.victims, outcome.violations)

    def _dry_run_nodes(self, nodes: Rows) -> None:
        pods = pods_on_each(self._cycle.snapshot.pods, nodes)
        victims = [self._lower_priority_pods(node_pods) for node_pods in pods]
        # Only nodes on which nothing but room matters can be tried together, as columns.
        saturated = self._cycle.snapshot.pod_state.saturated
        alone = [
            self._any_pod_counts
            or node in saturated
            or node in self._crowded
            or any(map(self._affects_filters, node_victims))
            for node, node_victims in zip(nodes.tolist(), victims, strict=True)
        ]
        if self._rules.evicts_groups:
            alone = [
                is_alone or any(pod.scheduling_group for pod in node_pods)
                for is_alone, node_pods in zip(alone, pods, strict=True)
            ]
        for node in nodes[alone].tolist():
            self._barred[node] = False
            self._trials.store_result(node, self._dry_run(node), for_this_cycle=True)
        if not all(alone):
            batch_places = np.flatnonzero(~np.array(alone))
            self._try_rooms(nodes[batch_places], [victims[place] for place in batch_places.tolist()])

    def _affects_filters(self, pod: Pod) -> bool:
        """Return whether a filter beyond room depends on the pod being on its node."""
        kind = pod.template, pod.seen_by_selectors, pod.volumes
        for plugin in self._selective:
            key = plugin.name, kind
            if key not in self._trials.affects:
                self._trials.affects[key] = plugin.depends_on(self._cycle, pod)
            if self._trials.affects[key]:
                return True
        return False

    def _try_rooms(self, nodes: Rows, victims: list[list[Pod]]) -> None:
        """Try all ``nodes`` at once: remove their victims, then reprieve them one after the other."""
        cycle, handle = self._cycle, self._handle

        def on_snapshot(snapshot: Snapshot) -> Cycle:
            return replace(cycle, snapshot=snapshot)

        rooms = Rooms(cycle.snapshot, lambda snapshot, rows: handle.have_room(on_snapshot(snapshot), rows))
        empty = on_snapshot(rooms.remove_pods(nodes, victims))
        codes, statuses = handle.refusals(empty, nodes, self._diagnosis.filters, PluginScope.ROOM)
        remaining_nodes, parts, lists = [], [], []
        for place, (node, code) in enumerate(zip(nodes.tolist(), codes.tolist(), strict=True)):
            if not victims[place]:
                self._trials.store_result(node, TrialResult(refusal=NO_VICTIMS))
            elif code:
                self._trials.store_result(node, TrialResult(refusal=statuses[code].decisive))
            else:
                remaining_nodes.append(node)
                parts.append(self._split(victims[place]))
                lists.append(victims[place])
        evicted_by_node = rooms.reprieve_pods(
            np.array(remaining_nodes, dtype=np.intp), [violating + non_violating for violating, non_violating in parts]
        )
        for node, node_victims, (violating, non_violating), evicted in zip(
            remaining_nodes, lists, parts, evicted_by_node, strict=True
        ):
            self._trials.store_result(
                node, self._build_trial_result(node, node_victims, violating, non_violating, evicted)
            )

    def _lower_priority_pods(self, pods: list[Pod]) -> list[Pod]:
        priority = self._cycle.pod.priority
        return [pod for pod in pods if pod.priority < priority]

    def _split(self, victims: list[Pod]) -> tuple[list[Pod], list[Pod]]:
        return filter_pods_with_pdb_violation(
            by_importance(victims, victims, self._rules), list_budgets(self._cycle.snapshot), self._rules
        )

    def _build_trial_result(
        self, node: int, listed: list[Pod], violating: list[Pod], non_violating: list[Pod], evicted: list[Pod]
    ) -> TrialResult:
        if not evicted:
            return self._build_empty_result(node)
        kept_by_budget = sum(pod in violating for pod in evicted) if violating else 0
        ordered = by_importance(evicted, listed, self._rules) if violating and non_violating else evicted
        return TrialResult(tuple(ordered), kept_by_budget)

    def _build_empty_result(self, node: int) -> TrialResult:
        """Return the result for a node on which the pod fits, though nothing has to be evicted: an extender refused
        it."""
        if not self._rules.offers_nodes_without_victims:
            return TrialResult(refusal=error(no_victim(self._cycle.snapshot.names[node])))
        return TrialResult(left_to_extenders=True) if self.preempting_extenders() else TrialResult(refusal=NO_VICTIMS)

    def _dry_run(self, node: int) -> TrialResult:
        """Remove all pods of lower priority, then reprieve those that fit, in order of importance
        (`SelectVictimsOnNode`)."""
        checkpoint()
        if self._world is None:
            self._world = self._cycle.with_snapshot(self._cycle.snapshot.copy())
        world, snapshot = self._world, self._world.snapshot
        original = snapshot.pods.pods_on(node)
        if self._rules.evicts_groups and any(pod.scheduling_group for pod in original):
            return self._dry_run_groups(node, original)
        victims = self._lower_priority_pods(original)
        if not victims:
            return TrialResult(refusal=NO_VICTIMS)
        trial = world.with_snapshot(snapshot)
        try:
            for victim in victims:
                self._move_pod(trial, victim, node, add=False)
            verdict = self._handle.fits(trial, node)
            if not verdict.ok:
                return TrialResult(refusal=verdict)
            violating, non_violating = self._split(victims)
            evicted: list[Pod] = []
            # Pods with a budget are reprieved first, so that as few budgets as possible are violated.
            for victim in violating + non_violating:
                self._move_pod(trial, victim, node, add=True)
                if not self._handle.fits(trial, node).ok:
                    self._move_pod(trial, victim, node, add=False)
                    evicted.append(victim)
            return self._build_trial_result(node, victims, violating, non_violating, evicted)
        finally:
            _restore_pods(snapshot, node, original)

    def _dry_run_groups(self, node: int, original: list[Pod]) -> TrialResult:
        """Do the same as ``_dry_run`` where pods on other nodes may have to go with those on this one.

        Plugins are told of all these pods. Filters that look at nodes only see this node without its pods.
        """
        assert self._world is not None
        snapshot, priority = self._world.snapshot, self._cycle.pod.priority
        among = victims_among(original, snapshot, self._rules)
        victims = [victim for victim in among if victim.priority < priority]
        if not victims:
            return TrialResult(refusal=NO_VICTIMS)
        trial = self._world.with_snapshot(snapshot)
        try:
            for victim in victims:
                self._move_all(trial, victim, node, add=False)
            verdict = self._handle.fits(trial, node)
            if not verdict.ok:
                return TrialResult(refusal=verdict)
            listed = sort_victims(victims, self._rules)
            violations = count_violations(listed, list_budgets(snapshot), self._rules)
            violations_by_victim = dict(zip(listed, violations, strict=True))
            evicted: list[Victim] = []
            for victim in sorted(listed, key=lambda victim: not violations_by_victim[victim]):
                self._move_all(trial, victim, node, add=True)
                if not self._handle.fits(trial, node).ok:
                    self._move_all(trial, victim, node, add=False)
                    evicted.append(victim)
            if len(set(map(bool, violations_by_victim.values()))) > 1:
                evicted = sort_victims(evicted, self._rules)
            if not evicted:
                return self._build_empty_result(node)
            return TrialResult(
                tuple(pod for victim in evicted for pod in victim.pods),
                sum(violations_by_victim[victim] for victim in evicted),
            )
        finally:
            _restore_pods(snapshot, node, original)

    def _move_all(self, trial: Cycle, victim: Victim, node: int, *, add: bool) -> None:
        for pod in victim.pods:
            pod_node = trial.snapshot.index[pod.node_name]
            if pod_node == node:
                self._move_pod(trial, pod, node, add=add)
            else:
                self._handle.move_pod(trial, pod, pod_node, add=add)

    def _move_pod(self, trial: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        if add:
            trial.snapshot.add_pod(pod, node)
        else:
            trial.snapshot.remove_pod(pod.key)
        self._handle.move_pod(trial, pod, node, add=add)

    def error_message(self) -> str:
        """Return the errors on the nodes that were tried, "" if there were none."""
        messages = [status.message for status, _ in self._refusal_counts if status.code is Code.ERROR]
        return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]" if messages else ""

    def build_message(self) -> str:
        """Return why evictions help on no node."""
        size = len(self._cycle.snapshot)
        histogram = Counter({NOT_HELPFUL: size - len(self._nodes)})
        for status, number in self._refusal_counts:
            for reason in status.reasons:
                histogram[reason] += number
        return fit_error(size, histogram.items())

    @cached_property
    def _refusal_counts(self) -> list[tuple[Status, int]]:
        """The reasons why evictions do not help, each with its number of nodes."""
        barred = self._nodes[self._barred[self._nodes]]
        if not barred.size:
            return self._trials.count_refusals(self._nodes)
        unbarred = self._nodes[~self._barred[self._nodes]]
        counts = Counter(dict(self._trials.count_refusals(unbarred)))
        victims = [self._lower_priority_pods(pods) for pods in pods_on_each(self._cycle.snapshot.pods, barred)]
        rooms = Rooms(self._cycle.snapshot, lambda snapshot, rows: np.zeros(len(rows), dtype=np.bool_))
        empty = replace(self._cycle, snapshot=rooms.remove_pods(barred, victims))
        codes, statuses = self._handle.refusals(empty, barred, self._diagnosis.filters)
        for node_victims, code in zip(victims, codes.tolist(), strict=True):
            counts[statuses[code].decisive if node_victims else NO_VICTIMS] += 1
        return list(counts.items())

    def ask_extenders(self, candidates: list[PreemptionCandidate]) -> list[PreemptionCandidate]:
        """Return the candidates that extenders accept, with the victims that they name. Raises CycleError."""
        remaining = candidates
        for extender in self.preempting_extenders():
            if not remaining:
                break
            victims = {candidate.node: (candidate.victims, candidate.violations) for candidate in remaining}
            offered_empty = {candidate.node for candidate in remaining if not candidate.victims}
            try:
                victims_by_node = extender.preempt(self._cycle, victims)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            empty = {node for node, (named_pods, _) in victims_by_node.items() if not named_pods} - offered_empty
            if empty and not extender.ignorable:
                raise CycleError(no_victim(next(node for node in victims_by_node if node in empty)))
            remaining = [
                PreemptionCandidate(node, *answer) for node, answer in victims_by_node.items() if node not in empty
            ]
        return [candidate for candidate in remaining if candidate.victims]

    def preempting_extenders(self) -> list[PreemptingExtender]:
        """Return the extenders that take part in preemption."""
        return [
            extender
            for extender in self._handle.extenders
            if extender.preempts and extender.is_interested(self._cycle.pod)
        ]


def no_victim(node: str) -> str:
    return f'expected at least one victim pod on node "{node}"'


def _restore_pods(snapshot: Snapshot, node: int, pods: list[Pod]) -> None:
    """Put ``pods`` back on the node, in their order."""
    for other in snapshot.pods.pods_on(node):
        snapshot.remove_pod(other.key)
    for other in pods:
        snapshot.add_pod(other, node)
