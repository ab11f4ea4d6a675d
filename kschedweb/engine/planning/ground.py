"""The cluster while a plan is made: moves are tried on a copy, by the scheduler's own cycle, and can be taken back.

An evicted pod takes room on its node until its grace period is over. The pod in its place is made at once, and the
scheduler looks for its node while the old one terminates; only a StatefulSet waits until the old one is gone. A wave
ends when all evicted pods are gone, and those in their places are ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers.budgets import Budgets, EvictionBudget, replaced
from kschedweb.engine.controllers.nodelifecycle import cordoned
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.planning.evictable import Evictable
from kschedweb.engine.simulation.pods import replica, terminating
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

AGAIN = "-moved"
Pulse = Callable[[], None]
Late = Callable[[], bool]


def never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a move: its node, else why not: ``budget`` refused, it came ``back``, or found no node."""

    node: str = ""
    budget: str = ""
    back: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """A move on the ground; ``wave`` counts from 1, ``budget`` is the one that it used up, "" for none."""

    pod: str
    source: str
    target: str
    wave: int
    budget: str


class Ground:
    """``movable`` are the pods that may go, by key; ``stays`` says why others do not.

    The first search for a node begins at the position ``start``. ``rules`` say which pods may go. ``pulse`` is called
    before each try, and what it raises ends the work. Once ``late`` says so searches end with what they have.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        registry: Mapping[str, Factory] | None = None,
        *,
        start: int = 0,
        rules: Evictable | None = None,
        pulse: Pulse | None = None,
        late: Late = never,
    ) -> None:
        self.snapshot = snapshot.copy()
        self.scheduler = Scheduler.of(self.snapshot, configuration, registry)
        self.scheduler.advance(start)
        self.budgets = Budgets(self.snapshot.objects)
        self.moved: list[Moved] = []
        self.wave = 1
        self.late = late
        self._pulse = pulse
        self._undo: list[Callable[[], None]] = []
        self._leaving: list[Pod] = []
        self._used: list[EvictionBudget] = []
        self._heirs: dict[str, Pod] = {}
        self.movable: dict[str, Pod] = {}
        self.stays: dict[str, str] = {}
        known = rules or Evictable(self.scheduler.frameworks)
        for pod in snapshot.pods.pods:
            if pod is not None:
                why = known.stays(pod)
                if why:
                    self.stays[pod.key] = why
                else:
                    self.movable[pod.key] = pod

    # Trying and taking back.

    def mark(self) -> int:
        """The state now, for ``rollback``."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """Take back whatever happened since ``mark``."""
        while len(self._undo) > mark:
            self._undo.pop()()

    @property
    def wave_begun(self) -> bool:
        """Whether pods were evicted in this wave."""
        return bool(self._leaving)

    def look(self, pod: Pod) -> Tried:
        """What would come of a move; nothing changes."""
        mark = self.mark()
        tried = self.move(pod)
        self.rollback(mark)
        return tried

    def move(self, pod: Pod, closed: Collection[str] = ()) -> Tried:
        """Evict the pod and let the scheduler place the one that comes instead; nothing changes where that fails.

        A move to a node of ``closed`` fails.
        """
        if self._pulse is not None:
            self._pulse()
        if self.budgets.refusal(pod):
            names = ", ".join(budget.key for budget in self.budgets.of(pod))
            return Tried(budget=names, message=self.budgets.refusal(pod))
        mark, source = self.mark(), pod.node_name
        gone = self._leave(pod)
        tried = self._place(pod)
        if not tried.node or tried.node == source or tried.node in closed:
            self.rollback(mark)
            return replace(tried, node="", back=tried.node == source) if tried.node else tried
        self._evicted(pod, gone, source, tried.node)
        return tried

    def _leave(self, pod: Pod) -> Pod | None:
        """Let the pod terminate on its node, or be gone at once; returns what is left of it."""
        snapshot, key = self.snapshot, pod.key
        node, time = int(snapshot.pods.node[snapshot.pods.slots[key]]), snapshot.pod_state.placed.get(key)
        left = None if _waits(pod) else terminating(pod, snapshot.now)
        restore_claims = snapshot.save_claims(pod)

        def put(one: Pod) -> None:
            snapshot.add_pod(one, node)
            if time is not None:
                snapshot.pod_state.placed[key] = time

        if left is None:
            self.scheduler.evict(key)
        else:
            snapshot.remove_pod(key)
            put(left)

        def back() -> None:
            if left is not None:
                snapshot.remove_pod(key)
            restore_claims()
            put(pod)

        self._undo.append(back)
        return left

    def _place(self, pod: Pod) -> Tried:
        heir, start = self._heir(pod), self.scheduler.start
        restore_claims = self.snapshot.save_claims(heir)
        placement = self.scheduler.place_new(heir)

        def back() -> None:
            if placement.node:
                self.snapshot.remove_pod(heir.key)
            restore_claims()
            self.scheduler.advance(start - self.scheduler.start)

        self._undo.append(back)
        return Tried(placement.node, message=placement.message)

    def _heir(self, pod: Pod) -> Pod:
        if pod.key not in self._heirs:
            name = pod.name if _waits(pod) else f"{pod.name}{AGAIN}"
            self._heirs[pod.key] = replica(pod, name).counted(self.snapshot.counting)
        return self._heirs[pod.key]

    def _evicted(self, pod: Pod, left: Pod | None, source: str, target: str) -> None:
        budget = self.budgets.evict(pod)
        self.moved.append(Moved(pod.key, source, target, self.wave, budget.key if budget is not None else ""))
        self._leaving.append(left or pod)
        if budget is not None:
            self._used.append(budget)

        def back() -> None:
            self.moved.pop()
            self._leaving.pop()
            if budget is not None:
                self._used.pop()
                replaced(budget)

        self._undo.append(back)

    def end_wave(self) -> None:
        """The evicted pods are gone, and those in their places are ready."""
        leaving, used, snapshot = self._leaving, self._used, self.snapshot
        gone = [pod for pod in leaving if pod.terminating]
        times = {pod.key: snapshot.pod_state.placed.get(pod.key) for pod in gone}
        restore_claims = [snapshot.save_claims(pod) for pod in gone]
        for pod in gone:
            self.scheduler.evict(pod.key)
        for budget in used:
            replaced(budget)
        self._leaving, self._used = [], []
        self.wave += 1

        def back() -> None:
            self.wave -= 1
            self._leaving, self._used = leaving, used
            for budget in used:
                budget.allowed -= 1
                budget.healthy -= 1
            for pod, restore in zip(reversed(gone), reversed(restore_claims), strict=True):
                restore()
                snapshot.add_pod(pod, snapshot.index[pod.node_name])
                if (time := times[pod.key]) is not None:
                    snapshot.pod_state.placed[pod.key] = time

        self._undo.append(back)

    # Nodes.

    def cordon(self, names: Collection[str]) -> None:
        """Let nothing be placed on these nodes any more. Only before the first move."""
        before = [self.snapshot.nodes[self.snapshot.index[name]] for name in names]
        self._swap([cordoned(node) for node in before])
        self._undo.append(lambda: self._swap(before))

    def _swap(self, nodes: list[Node]) -> None:
        self.snapshot = self.snapshot.with_nodes(nodes)
        self.scheduler.use(self.snapshot)

    def on(self) -> dict[str, list[Pod]]:
        """The movable pods that are not moved yet, by node."""
        found: dict[str, list[Pod]] = {name: [] for name in self.snapshot.names}
        moved = {one.pod for one in self.moved}
        for key, pod in self.movable.items():
            if key not in moved:
                found[pod.node_name].append(pod)
        return found

    def staying(self) -> dict[str, int]:
        """How many pods stay, by why."""
        return dict(Counter(self.stays.values()).most_common())


def _waits(pod: Pod) -> bool:
    """Whether the pod's controller makes another only once it is gone: the two have one name."""
    return pod.controller is not None and pod.controller[1] == "StatefulSet"
