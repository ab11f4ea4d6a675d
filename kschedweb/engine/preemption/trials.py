"""What came of trying to make room on nodes, for pods of one signature.

A trial takes all pods of lower priority off a node, and lets those that fit back in, in order of importance. If the
filters look only at what a node has room for, all nodes are tried at once, as columns: one pod of each node at a time.
The result for a node stays true until its pods change, unless a filter looks beyond the node.
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
VIOLATIONS = 0  # the first row of Trials._keys; then the highest priority, the sum of priorities, the number of victims
FEW = 8


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The victims, the most important first, and how many of them violate a budget; or why evictions do not help."""

    victims: tuple[Pod, ...] = ()
    violations: int = 0
    refusal: Status = SUCCESS


class Trials:
    """The results by node, with columns of what is compared between them.

    ``state`` int8[nodes] is UNTRIED, REFUSED or FOUND. ``affects`` remembers on which kinds of pods filters depend.
    """

    def __init__(self, nodes: int) -> None:
        self.state: NDArray[np.int8] = np.zeros(nodes, dtype=np.int8)
        self.refusals: list[Status] = []
        self._refusal_codes: dict[Status, int] = {}
        self._refused: Codes = np.zeros(nodes, dtype=np.int32)
        self._outcomes: list[TrialResult | None] = [None] * nodes
        self._keys: Ints = np.zeros((4, nodes), dtype=np.int64)
        self._started: NDArray[np.float64] = np.zeros(nodes, dtype=np.float64)
        self.affects: dict[Hashable, bool] = {}
        self._fleeting: set[int] = set()
        self._version = -1

    def refresh_results(self, snapshot: Snapshot) -> None:
        """Forget the results of nodes whose pods have changed, and those that were true for one cycle only."""
        pods = snapshot.pods
        moves = pods.moves_since(self._version) if self._version >= 0 else None
        if moves is None:
            self.state[:] = UNTRIED
        elif moves:
            self.state[[move.node for move in moves]] = UNTRIED
        self._version = pods.version
        self.state[list(self._fleeting)] = UNTRIED
        self._fleeting = set()

    def store_result(self, node: int, outcome: TrialResult, *, fleeting: bool = False) -> None:
        """Keep the result for ``node``; a ``fleeting`` one is kept for this cycle only."""
        self._outcomes[node] = outcome
        if fleeting:
            self._fleeting.add(node)
        if not outcome.victims:
            code = self._refusal_codes.setdefault(outcome.refusal, len(self.refusals))
            if code == len(self.refusals):
                self.refusals.append(outcome.refusal)
            self.state[node], self._refused[node] = REFUSED, code
            return
        victims = outcome.victims
        self.state[node] = HELPFUL
        priorities = sum(victim.priority for victim in victims) + 2**31 * len(victims)
        self._keys[:, node] = outcome.violations, victims[0].priority, priorities, len(victims)
        self._started[node] = earliest_start(victims)

    def find_due_nodes(self, nodes: Rows, num_candidates: int, barred: Mask) -> Rows:
        """The ``nodes`` to try next; none once ``find_candidates`` is known."""
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
        """How many ``able`` nodes end the search: ``num_candidates``, or more until one of them violates no budget."""
        kind = self._keys[VIOLATIONS, able] == 0
        return max(num_candidates, int(kind.argmax()) + 1) if kind.any() else len(able) + 1

    def find_candidates(self, nodes: Rows, num_candidates: int, barred: Mask) -> Rows:
        """The candidates among ``nodes``, up to where the search ends; those that violate no budget come first.

        Nodes in ``barred`` bool[nodes] are no candidates, however much room can be made there.
        """
        able = nodes[(self.state[nodes] == HELPFUL) & ~barred[nodes]]
        able = able[: self._nodes_to_find(able, num_candidates)]
        kind = self._keys[VIOLATIONS, able] == 0
        return able if kind.all() else np.concatenate((able[kind], able[~kind][:num_candidates]))

    def select_best_node(self, nodes: Rows, *, by_start: bool = True) -> int:
        """The node whose evictions disturb least; of equal ones the first. ``by_start``: the last rule counts, too."""
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
        """Why evictions do not help on a node that was tried."""
        return self.refusals[int(self._refused[node])]

    def count_refusals(self, nodes: Rows) -> list[tuple[Status, int]]:
        """The reasons why evictions do not help, each with the number of ``nodes``."""
        numbers = np.bincount(self._refused[nodes[self.state[nodes] == REFUSED]], minlength=len(self.refusals))
        return [(status, number) for status, number in zip(self.refusals, numbers.tolist(), strict=True) if number]


class Rooms:
    """Tries many nodes at once, for filters that look only at what a node has room for.

    ``fits`` says on which ``nodes`` (positions) of a snapshot the pod has room. Of that snapshot only the columns of
    resources and the numbers of pods are valid.
    """

    def __init__(self, snapshot: Snapshot, fits: Callable[[Snapshot, Rows], Mask]) -> None:
        self._snapshot = snapshot.with_own_amounts()
        self._fits = fits
        self._vectors: dict[int, tuple[int, ...]] = {}

    def remove_pods(self, nodes: Rows, victims: Sequence[Sequence[Pod]]) -> Snapshot:
        """Take the pods ``victims`` off ``nodes``, aligned with them."""
        self._account_pods(nodes, victims, -1)
        return self._snapshot

    def reprieve_pods(self, nodes: Rows, queues: Sequence[Sequence[Pod]]) -> list[list[Pod]]:
        """Let the pods of each queue back in, one after the other, where they fit; returns those that do not fit."""
        evicted: list[list[Pod]] = [[] for _ in queues]
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
        sums = np.zeros((len(vectors) + 1, len(vectors[0])), dtype=np.int64)
        np.cumsum(vectors, axis=0, out=sums[1:])
        totals = np.diff(sums[numbers.cumsum()], axis=0).T * sign
        self._snapshot.requested[:, nodes] += totals[:-2]
        self._snapshot.nonzero[:, nodes] += totals[-2:]
        self._snapshot.pod_count[nodes] += numbers[1:] * sign

    def _occupied_vector(self, pod: Pod) -> tuple[int, ...]:
        """What the pod occupies of each resource, then its CPU and memory with defaults."""
        key = id(pod.resources)  # shared by pods of one template, and alive as long as they are
        if key not in self._vectors:
            occupied = pod.occupied
            self._vectors[key] = (*(occupied.get(name, 0) for name in self._snapshot.resources), *pod.occupied_nonzero)
        return self._vectors[key]


def pods_on_each(table: PodTable, nodes: Rows) -> list[list[Pod]]:
    """The pods on each of ``nodes``, in the order of the node's list."""
    if len(nodes) < FEW:
        return [table.pods_on(node) for node in nodes.tolist()]
    # Where in ``nodes`` each node is; the last entry is for free slots.
    places = np.full(int(table.node.max(initial=nodes.max())) + 2, -1, dtype=np.int64)
    places[nodes] = np.arange(len(nodes))
    slots = np.flatnonzero(places[table.node] >= 0)
    pods_by_place: list[list[Pod]] = [[] for _ in range(len(nodes))]
    for slot, place in zip(slots.tolist(), places[table.node[slots]].tolist(), strict=True):
        if (pod := table.pods[slot]) is not None:
            pods_by_place[place].append(pod)
    return pods_by_place
