"""Loops of preemption: workloads that evict each other again and again, while none of them gets anywhere.

Kueue evicts for a workload that does not get the room: its cycles process others first, by shares or by how much they
borrow, so that a victim that comes back takes the room again.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from kschedweb.engine.values import dataclass

# Evictions of a workload by the same other one from which on they are a loop.
FEWEST_EVICTIONS = 3


class LoopStep(Enum):
    """A step of a workload that a loop is made of, or that ends one."""

    ADMITTED = "admitted"
    EVICTED = "evicted"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """A step of a workload; times are in seconds."""

    time: float
    workload: str
    step: LoopStep
    # Of an eviction: for whom, "" for nobody, and the reason in Kueue's word.
    preemptor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LoopEdge:
    """A workload that evicts another one again and again."""

    preemptor: str
    victim: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class PreemptionLoop:
    """Workloads that evict each other without end."""

    edges: tuple[LoopEdge, ...]
    # When the first and the last of its evictions was.
    first: float
    last: float

    @property
    def count(self) -> int:
        """The number of times that it went round."""
        return max(edge.count for edge in self.edges)

    @property
    def members(self) -> tuple[str, ...]:
        """Its workloads, preemptors before their victims."""
        return tuple(dict.fromkeys(key for edge in self.edges for key in (edge.preemptor, edge.victim)))

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.reason for edge in self.edges))

    @property
    def is_mutual(self) -> bool:
        """True if each member is evicted for another one; else one of them never gets the room it evicts for."""
        return {edge.victim for edge in self.edges} == {edge.preemptor for edge in self.edges}


# A preemptor and its victim.
_Pair = tuple[str, str]


@dataclass(slots=True, eq=False)
class _Chain:
    """Evictions of one workload for another one, since either of them finished."""

    reason: str
    first: float
    last: float
    count: int = 0
    # Evictions before which the preemptor had got no quota since the last one.
    stalled: int = 0


def find_loops(steps: Iterable[WorkloadStep]) -> list[PreemptionLoop]:
    """Return the loops in a history of workloads, those that went round most often first."""
    chains: dict[_Pair, _Chain] = {}
    ended: list[tuple[_Pair, _Chain]] = []
    # Places in the history: when a workload got quota last, and a pair's last eviction.
    admitted: dict[str, int] = {}
    evicted: dict[_Pair, int] = {}
    for place, step in enumerate(steps):
        if step.step is LoopStep.ADMITTED:
            admitted[step.workload] = place
        elif step.step is LoopStep.FINISHED:
            for pair in [pair for pair in chains if step.workload in pair]:
                ended.append((pair, chains.pop(pair)))
                del evicted[pair]
        elif step.preemptor:
            pair = step.preemptor, step.workload
            chain = chains.setdefault(pair, _Chain(step.reason, step.time, step.time))
            chain.stalled += pair in evicted and admitted.get(step.preemptor, -1) < evicted[pair]
            chain.count += 1
            chain.last, chain.reason = step.time, step.reason
            evicted[pair] = place
    repeated = {pair: chain for pair, chain in (*ended, *chains.items()) if chain.count >= FEWEST_EVICTIONS}
    loops = [_build_loop(part) for part in _split_connected(repeated) if _goes_round(part)]
    return sorted(loops, key=lambda loop: (-loop.count, loop.members))


def _split_connected(chains: dict[_Pair, _Chain]) -> list[dict[_Pair, _Chain]]:
    """Return the chains that share workloads together."""
    groups: list[dict[_Pair, _Chain]] = []
    for pair, chain in chains.items():
        touching = [group for group in groups if any(not set(pair).isdisjoint(other) for other in group)]
        joined = {pair: chain}
        for group in touching:
            joined |= group
        groups = [group for group in groups if not any(group is other for other in touching)] + [joined]
    return groups


def _goes_round(chains: dict[_Pair, _Chain]) -> bool:
    """Return True if a workload evicts and gets no quota for it, or if workloads evict each other in a ring."""
    if any(chain.stalled >= FEWEST_EVICTIONS - 1 for chain in chains.values()):
        return True
    pairs = set(chains)
    while pairs:
        victims = {victim for _, victim in pairs}
        # Whoever is not evicted in turn is in no ring.
        kept = {pair for pair in pairs if pair[0] in victims}
        if kept == pairs:
            return True
        pairs = kept
    return False


def _build_loop(chains: dict[_Pair, _Chain]) -> PreemptionLoop:
    edges = [LoopEdge(*pair, chain.reason, chain.count) for pair, chain in chains.items()]
    edges.sort(key=lambda edge: (-edge.count, edge.preemptor, edge.victim))
    chain_list = chains.values()
    return PreemptionLoop(
        tuple(edges), min(chain.first for chain in chain_list), max(chain.last for chain in chain_list)
    )
