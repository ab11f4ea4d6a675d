"""The cluster of a plan: moves are tried on a copy by the scheduler's own cycle, and can be taken back.

An evicted pod occupies its node until its grace period is over. Its replacement is created at once, and the scheduler
finds its node while the old pod terminates; only a StatefulSet waits until the old pod is gone. A wave ends when all
evicted pods are gone and their replacements are ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.budgets import EvictionBudget, EvictionBudgets, restore_disruption
from kschedweb.engine.controllers.nodelifecycle import cordon_node
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.planning.evictable import Evictable
from kschedweb.engine.simulation.pods import make_replica, mark_terminating
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

# Added to the name of a pod's replacement, whose real name the controller chooses.
MOVED_SUFFIX = "-moved"
Pulse = Callable[[], None]
Late = Callable[[], bool]


def never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class MoveOutcome:
    """The result of a move: its node, or why it failed."""

    node: str = ""
    # The disruption budgets that refused the eviction.
    budget: str = ""
    # The replacement came back to the same node.
    back: bool = False
    # Why the eviction was refused, or why the replacement found no node.
    message: str = ""


@dataclass(frozen=True, slots=True)
class TrialMove:
    """A move on the trial cluster."""

    pod: str
    source: str
    target: str
    # Counts from 1.
    wave: int
    # The disruption budget that the eviction used up, "" for none.
    budget: str


class TrialCluster:
    """A copy of a cluster on which moves are tried.

    The first search for a node begins at position ``start``. ``rules`` decide which pods may go. ``pulse`` is called
    before each try; an exception that it raises ends the work. Once ``late`` returns True, searches end with what they
    have.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        registry: Mapping[str, PluginFactory] | None = None,
        *,
        start: int = 0,
        rules: Evictable | None = None,
        pulse: Pulse | None = None,
        late: Late = never,
    ) -> None:
        self.snapshot = snapshot.copy()
        self.scheduler = Scheduler.from_configuration(self.snapshot, configuration, registry)
        self.scheduler.advance_start(start)
        self.budgets = EvictionBudgets(self.snapshot.objects)
        self.moved: list[TrialMove] = []
        self.wave = 1
        self.late = late
        self._pulse = pulse
        # Undo steps in order; `rollback` runs them in reverse.
        self._undo: list[Callable[[], None]] = []
        # Pods evicted in this wave, and the budgets that they used up.
        self._leaving: list[Pod] = []
        self._used: list[EvictionBudget] = []
        # By key of the evicted pod, as a pod is tried many times.
        self._replacements: dict[str, Pod] = {}
        # Pods that may go, by key.
        self.movable: dict[str, Pod] = {}
        # Why other pods stay, by key.
        self.stays: dict[str, str] = {}
        evictable = rules or Evictable(self.scheduler.frameworks)
        for pod in snapshot.pods.pods:
            if pod is not None:
                why = evictable.find_stay_reason(pod)
                if why:
                    self.stays[pod.key] = why
                else:
                    self.movable[pod.key] = pod

    # Trying and taking back.

    def mark(self) -> int:
        """Return a mark of the current state, for ``rollback``."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """Take back everything since ``mark``."""
        while len(self._undo) > mark:
            self._undo.pop()()

    @property
    def wave_begun(self) -> bool:
        """True if pods were evicted in this wave."""
        return bool(self._leaving)

    def preview_move(self, pod: Pod) -> MoveOutcome:
        """Return what a move would result in; nothing changes."""
        mark = self.mark()
        outcome = self.move_pod(pod)
        self.rollback(mark)
        return outcome

    def move_pod(self, pod: Pod, closed: Collection[str] = ()) -> MoveOutcome:
        """Evict the pod and let the scheduler place its replacement; nothing changes if that fails.

        A move to a node of ``closed`` fails.
        """
        if self._pulse is not None:
            self._pulse()
        if self.budgets.explain_refusal(pod):
            names = ", ".join(budget.key for budget in self.budgets.find_budgets(pod))
            return MoveOutcome(budget=names, message=self.budgets.explain_refusal(pod))
        mark, source = self.mark(), pod.node_name
        leaving_pod = self._evict_pod(pod)
        outcome = self._place_replacement(pod)
        if not outcome.node or outcome.node == source or outcome.node in closed:
            self.rollback(mark)
            return replace(outcome, node="", back=outcome.node == source) if outcome.node else outcome
        self._record_eviction(pod, leaving_pod, source, outcome.node)
        return outcome

    def _evict_pod(self, pod: Pod) -> Pod | None:
        """Let the pod terminate on its node, or remove it at once; return the terminating pod, if there is one."""
        snapshot, key = self.snapshot, pod.key
        node, time = int(snapshot.pods.node[snapshot.pods.slots[key]]), snapshot.pod_state.placed.get(key)
        terminating_pod = None if _waits_for_termination(pod) else mark_terminating(pod, snapshot.now)
        restore_claims = snapshot.save_claims(pod)

        def put_pod(placed_pod: Pod) -> None:
            snapshot.add_pod(placed_pod, node)
            if time is not None:
                snapshot.pod_state.placed[key] = time

        if terminating_pod is None:
            self.scheduler.evict_pod(key)
        else:
            snapshot.remove_pod(key)
            put_pod(terminating_pod)

        def undo() -> None:
            if terminating_pod is not None:
                snapshot.remove_pod(key)
            restore_claims()
            put_pod(pod)

        self._undo.append(undo)
        return terminating_pod

    def _place_replacement(self, pod: Pod) -> MoveOutcome:
        replacement, start = self._create_replacement(pod), self.scheduler.start
        restore_claims = self.snapshot.save_claims(replacement)
        placement = self.scheduler.place_new(replacement)

        def undo() -> None:
            if placement.node:
                self.snapshot.remove_pod(replacement.key)
            restore_claims()
            self.scheduler.advance_start(start - self.scheduler.start)

        self._undo.append(undo)
        return MoveOutcome(placement.node, message=placement.message)

    def _create_replacement(self, pod: Pod) -> Pod:
        if pod.key not in self._replacements:
            name = pod.name if _waits_for_termination(pod) else f"{pod.name}{MOVED_SUFFIX}"
            self._replacements[pod.key] = make_replica(pod, name).with_counting(self.snapshot.counting)
        return self._replacements[pod.key]

    def _record_eviction(self, pod: Pod, leaving_pod: Pod | None, source: str, target: str) -> None:
        budget = self.budgets.evict_pod(pod)
        self.moved.append(TrialMove(pod.key, source, target, self.wave, budget.key if budget is not None else ""))
        self._leaving.append(leaving_pod or pod)
        if budget is not None:
            self._used.append(budget)

        def undo() -> None:
            self.moved.pop()
            self._leaving.pop()
            if budget is not None:
                self._used.pop()
                restore_disruption(budget)

        self._undo.append(undo)

    def end_wave(self) -> None:
        """End the wave: the evicted pods are gone, their replacements ready, and their budgets free again."""
        leaving, used, snapshot = self._leaving, self._used, self.snapshot
        terminating_pods = [pod for pod in leaving if pod.terminating]
        times = {pod.key: snapshot.pod_state.placed.get(pod.key) for pod in terminating_pods}
        restore_claims = [snapshot.save_claims(pod) for pod in terminating_pods]
        for pod in terminating_pods:
            self.scheduler.evict_pod(pod.key)
        for budget in used:
            restore_disruption(budget)
        self._leaving, self._used = [], []
        self.wave += 1

        def undo() -> None:
            self.wave -= 1
            self._leaving, self._used = leaving, used
            for budget in used:
                budget.allowed -= 1
                budget.healthy -= 1
            for pod, restore in zip(reversed(terminating_pods), reversed(restore_claims), strict=True):
                restore()
                snapshot.add_pod(pod, snapshot.index[pod.node_name])
                if (time := times[pod.key]) is not None:
                    snapshot.pod_state.placed[pod.key] = time

        self._undo.append(undo)

    # Nodes.

    def cordon_nodes(self, names: Collection[str]) -> None:
        """Cordon these nodes. Allowed only before the first move."""
        before = [self.snapshot.nodes[self.snapshot.index[name]] for name in names]
        self._replace_nodes([cordon_node(node) for node in before])
        self._undo.append(lambda: self._replace_nodes(before))

    def _replace_nodes(self, nodes: list[Node]) -> None:
        self.snapshot = self.snapshot.with_nodes(nodes)
        self.scheduler.use_snapshot(self.snapshot)

    def movable_by_node(self) -> dict[str, list[Pod]]:
        """Return the movable pods that are not moved yet, by node."""
        pods_by_node: dict[str, list[Pod]] = {name: [] for name in self.snapshot.names}
        moved = {move.pod for move in self.moved}
        for key, pod in self.movable.items():
            if key not in moved:
                pods_by_node[pod.node_name].append(pod)
        return pods_by_node

    def count_staying(self) -> dict[str, int]:
        """Return the number of pods that stay, by reason."""
        return dict(Counter(self.stays.values()).most_common())


def _waits_for_termination(pod: Pod) -> bool:
    """Return whether the controller replaces the pod only once it is gone, because both have the same name."""
    return pod.controller is not None and pod.controller[1] == "StatefulSet"
