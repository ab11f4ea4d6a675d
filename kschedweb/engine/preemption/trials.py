"""The results of trying to make room on nodes, for pods of one signature.

A trial removes all pods of lower priority from a node, and reprieves those that fit, in order of importance. If the
filters only look at a node's room, all nodes are tried at once, as columns: one pod of each node at a time. The result
for a node stays valid until its pods change, unless a filter looks beyond the node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.importance import earliest_start
from kschedweb.engine.state.columns import Codes, Ints, Mask
from kschedweb.engine.state.pod_table import PodTable
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

Rows = NDArray[np.intp]
UNTRIED, REFUSED, HELPFUL = 0, 1, 2
# The first row of Trials._keys; then the highest priority, the sum of priorities, the number of victims.
VIOLATIONS = 0
# For fewer nodes than this, single look-ups are faster than a pass over the table of pods.
FEW = 8


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result on one node: victims, or why evictions do not help."""

    # The most important first.
    victims: tuple[Pod, ...] = ()
    # The number of victims whose eviction violates a budget.
    violations: int = 0
    refusal: Status = SUCCESS
    # Only an extender refuses the node: it may name the victims.
    left_to_extenders: bool = False


class Trials:
    """The results by node, with columns of what is compared between nodes."""

    def __init__(self, nodes: int) -> None:
        # int8[nodes]: UNTRIED, REFUSED or HELPFUL.
        self.state: NDArray[np.int8] = np.zeros(nodes, dtype=np.int8)
        self.refusals: list[Status] = []
        self._refusal_codes: dict[Status, int] = {}
        self._refused: Codes = np.zeros(nodes, dtype=np.int32)
        self._outcomes: list[TrialResult | None] = [None] * nodes
        self._keys: Ints = np.zeros((4, nodes), dtype=np.int64)
        self._started: NDArray[np.float64] = np.zeros(nodes, dtype=np.float64)
        # Remembers on which kinds of pods filters depend.
        self.affects: dict[Hashable, bool] = {}
        # Nodes whose results hold for one cycle only.
        self._cycle_only_nodes: set[int] = set()
        # The version of the pods for which the results hold.
        self._version = -1

    def refresh_results(self, snapshot: Snapshot) -> None:
        """Forget the results of nodes whose pods have changed, and results for one cycle only."""
        pods = snapshot.pods
        moves = pods.moves_since(self._version) if self._version >= 0 else None
        if moves is None:
            self.state[:] = UNTRIED
        elif moves:
            self.state[[move.node for move in moves]] = UNTRIED
        self._version = pods.version
        self.state[list(self._cycle_only_nodes)] = UNTRIED
        self._cycle_only_nodes = set()

    def store_result(self, node: int, outcome: TrialResult, *, for_this_cycle: bool = False) -> None:
        """Store the result for ``node``; a result ``for_this_cycle`` is forgotten before the next one."""
        self._outcomes[node] = outcome
        if for_this_cycle:
            self._cycle_only_nodes.add(node)
        if outcome.left_to_extenders:
            self.state[node], self._keys[:, node], self._started[node] = HELPFUL, 0, 0.0
            return
        if not outcome.victims:
            code = self._refusal_codes.setdefault(outcome.refusal, len(self.refusals))
            if code == len(self.refusals):
                self.refusals.append(outcome.refusal)
            self.state[node], self._refused[node] = REFUSED, code
            return
        victims = outcome.victims
        self.state[node] = HELPFUL
        # Shifted as in `measure_disturbance`.
        priorities = sum(victim.priority for victim in victims) + 2**31 * len(victims)
        self._keys[:, node] = outcome.violations, victims[0].priority, priorities, len(victims)
        self._started[node] = earliest_start(victims)

    def find_due_nodes(self, nodes: Rows, num_candidates: int, barred: Mask) -> Rows:
        """Return the ``nodes`` to try next; none once ``find_candidates`` can answer."""
        states = self.state[nodes]
        untried = np.flatnonzero(states == UNTRIED)
        if untried.size:
            able = np.flatnonzero((states == HELPFUL) & ~barred[nodes])
            enough = self._nodes_to_find(nodes[able], num_candidates)
            if enough <= len(able):
                untried = untried[untried < able[enough - 1]]
        if untried.size:
            untried = untried[: max(num_candidates - int(np.searchsorted(able, untried[0])), 1)]
        return nodes[untried]

    def _nodes_to_find(self, able: Rows, num_candidates: int) -> int:
        """Return how many ``able`` nodes end the search: ``num_candidates``, or more until one violates no budget."""
        kind = self._keys[VIOLATIONS, able] == 0
        return max(num_candidates, int(kind.argmax()) + 1) if kind.any() else len(able) + 1

    def find_candidates(self, nodes: Rows, num_candidates: int, barred: Mask) -> Rows:
        """Return the candidates among ``nodes`` up to the end of the search, those that violate no budget first.

        Nodes in ``barred`` bool[nodes] are not candidates, however much room can be made there.
        """
        able = nodes[(self.state[nodes] == HELPFUL) & ~barred[nodes]]
        able = able[: self._nodes_to_find(able, num_candidates)]
        kind = self._keys[VIOLATIONS, able] == 0
        return able if kind.all() else np.concatenate((able[kind], able[~kind][:num_candidates]))

    def select_best_node(self, nodes: Rows, *, by_start: bool = True) -> int:
        """Return the node whose evictions disturb least, the first of equals; ``by_start`` includes the last rule."""
        for keys in (*self._keys, -self._started) if by_start else self._keys:
            of_these = keys[nodes]
            nodes = nodes[of_these == of_these.min()]
            if len(nodes) == 1:
                break
        return int(nodes[0])

    def get_result(self, node: int) -> TrialResult:
        result = self._outcomes[node]
        assert result is not None
        return result

    def get_refusal(self, node: int) -> Status:
        """Return why evictions do not help on a node that was tried."""
        return self.refusals[int(self._refused[node])]

    def count_refusals(self, nodes: Rows) -> list[tuple[Status, int]]:
        """Return the reasons why evictions do not help, each with its number of ``nodes``."""
        numbers = np.bincount(self._refused[nodes[self.state[nodes] == REFUSED]], minlength=len(self.refusals))
        return [(status, number) for status, number in zip(self.refusals, numbers.tolist(), strict=True) if number]


class Rooms:
    """Tries many nodes at once, for filters that only look at a node's room.

    ``fits`` returns on which nodes (positions) of a snapshot the pod has room. Only the snapshot's columns of resources
    and pod counts are valid.
    """

    def __init__(self, snapshot: Snapshot, fits: Callable[[Snapshot, Rows], Mask]) -> None:
        self._snapshot = snapshot.with_own_amounts()
        self._fits = fits
        self._vectors: dict[int, tuple[int, ...]] = {}

    def remove_pods(self, nodes: Rows, victims: Sequence[Sequence[Pod]]) -> Snapshot:
        """Remove ``victims`` from ``nodes``, aligned with them."""
        self._account_pods(nodes, victims, -1)
        return self._snapshot

    def reprieve_pods(self, nodes: Rows, queues: Sequence[Sequence[Pod]]) -> list[list[Pod]]:
        """Reprieve the pods of each queue one after the other, if they fit; return those that do not."""
        evicted: list[list[Pod]] = [[] for _ in queues]
        # One turn handles the next pod of every node, so that the filters run once a turn instead of once a pod.
        for turn in range(max(map(len, queues), default=0)):
            waiting = np.array([place for place, queue in enumerate(queues) if turn < len(queue)], dtype=np.intp)
            back = [(queues[place][turn],) for place in waiting.tolist()]
            self._account_pods(nodes[waiting], back, 1)
            full = np.flatnonzero(~self._fits(self._snapshot, nodes[waiting])).tolist()
            self._account_pods(nodes[waiting[full]], [back[place] for place in full], -1)
            for place in full:
                evicted[int(waiting[place])].append(back[place][0])
        return evicted

    def _account_pods(self, nodes: Rows, pods: Sequence[Sequence[Pod]], sign: int) -> None:
        """Add what the pods on each of ``nodes`` occupy, or subtract it."""
        numbers = np.array([0, *map(len, pods)], dtype=np.int64)
        vectors = [self._occupied_vector(pod) for node_pods in pods for pod in node_pods]
        if not vectors:
            return
        # Differences of cumulative sums add up the pods of each node without a loop over nodes.
        sums = np.zeros((len(vectors) + 1, len(vectors[0])), dtype=np.int64)
        np.cumsum(vectors, axis=0, out=sums[1:])
        totals = np.diff(sums[numbers.cumsum()], axis=0).T * sign
        self._snapshot.requested[:, nodes] += totals[:-2]
        self._snapshot.nonzero[:, nodes] += totals[-2:]
        self._snapshot.pod_count[nodes] += numbers[1:] * sign

    def _occupied_vector(self, pod: Pod) -> tuple[int, ...]:
        """Return what the pod occupies of each resource, then its CPU and memory with defaults."""
        # Pods of one template share their resources, which live as long as the pods do.
        key = id(pod.resources)
        if key not in self._vectors:
            occupied = pod.occupied
            self._vectors[key] = (*(occupied.get(name, 0) for name in self._snapshot.resources), *pod.occupied_nonzero)
        return self._vectors[key]


def pods_on_each(table: PodTable, nodes: Rows) -> list[list[Pod]]:
    """Return the pods on each of ``nodes``, in the order of the node's list."""
    if len(nodes) < FEW:
        return [table.pods_on(node) for node in nodes.tolist()]
    # The place of each node within ``nodes``; the last entry is for free slots.
    places = np.full(int(table.node.max(initial=nodes.max())) + 2, -1, dtype=np.int64)
    places[nodes] = np.arange(len(nodes))
    slots = np.flatnonzero(places[table.node] >= 0)
    pods_by_place: list[list[Pod]] = [[] for _ in range(len(nodes))]
    for slot, place in zip(slots.tolist(), places[table.node[slots]].tolist(), strict=True):
        if (pod := table.pods[slot]) is not None:
            pods_by_place[place].append(pod)
    return pods_by_place
