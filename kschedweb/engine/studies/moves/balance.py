"""How a cluster stands: how even its nodes are, which of them have work, and what they cost."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.pricing.costs import NodeCost, Rates
from kschedweb.engine.rebalancing.cluster_usage import RESOURCES, ClusterUsage
from kschedweb.engine.state.columns import Floats, Mask
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class LevelSpread:
    """How uneven nodes are, in points of percent of their allocatable: the fullest less the emptiest, and deviation.

    These are the measures ``skew`` and ``spread`` at one moment, of requests and of use.
    """

    skew: float
    deviation: float

    @classmethod
    def from_levels(cls, levels: Floats) -> LevelSpread | None:
        """``None`` where no level is known (NaN)."""
        known_levels = levels[~np.isnan(levels)]
        return (
            cls(float(known_levels.max() - known_levels.min()), float(known_levels.std()))
            if known_levels.size
            else None
        )


@dataclass(frozen=True, slots=True)
class ClusterBalance:
    """``requests`` of all nodes and ``use`` of open ones by resource, those that are known.

    ``nodes`` have pods beside those of DaemonSets.

    ``cost`` is what the nodes with such pods cost an hour.
    """

    requests: dict[str, LevelSpread]
    use: dict[str, LevelSpread]
    nodes: int
    cost: NodeCost


def compute_balance(snapshot: Snapshot, use: ClusterUsage, rates: Rates) -> ClusterBalance:
    """How the cluster stands now."""
    return compute_balance_of(snapshot, use, rates, find_busy_nodes(snapshot))


def compute_balance_of(snapshot: Snapshot, use: ClusterUsage, rates: Rates, busy: Mask) -> ClusterBalance:
    """How the cluster stands now, of which the nodes ``busy`` have pods at work."""
    requests = {name: LevelSpread.from_levels(requested_percent(snapshot, name)) for name in RESOURCES}
    open_nodes = snapshot.node_columns.open_nodes()
    used = {name: LevelSpread.from_levels(levels[open_nodes]) for name, levels in use.current_levels().items()}
    return ClusterBalance(_drop_unknown(requests), _drop_unknown(used), int(busy.sum()), rates.cost_per_hour(busy))


def requested_percent(snapshot: Snapshot, resource: str) -> Floats:
    """What is requested, in percent of allocatable, NaN for nodes without any. Shape [nodes]."""
    room = snapshot.resource_row(snapshot.allocatable, resource).astype(np.float64)
    amounts = snapshot.resource_row(snapshot.requested, resource)
    percent: Floats = np.divide(100.0 * amounts, room, out=np.full(len(room), np.nan), where=room > 0)
    return percent


def find_busy_nodes(snapshot: Snapshot) -> Mask:
    """Which nodes have pods that a drain would move. Shape [nodes]."""
    busy_nodes: set[int] = set()
    for pod, node in zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True):
        if pod is not None and node not in busy_nodes and not stays_at_drain(pod):
            busy_nodes.add(node)
    return np.isin(np.arange(len(snapshot)), list(busy_nodes))


def _drop_unknown(spreads: dict[str, LevelSpread | None]) -> dict[str, LevelSpread]:
    return {name: spread for name, spread in spreads.items() if spread is not None}
