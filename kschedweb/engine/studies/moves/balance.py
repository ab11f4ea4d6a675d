"""Measure how even a cluster's nodes are, which of them have work, and what they cost."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.costs import NodeCost, Rates
from kschedweb.engine.rebalancing.cluster_usage import RESOURCES, ClusterUsage
from kschedweb.engine.state.columns import Floats, Mask
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class LevelSpread:
    """The unevenness of nodes at one moment, in percentage points of their allocatable."""

    # The fullest less the emptiest node, as the measure `skew`.
    skew: float
    # Standard deviation over nodes, as the measure `spread`.
    deviation: float

    @classmethod
    def from_levels(cls, levels: Floats) -> LevelSpread | None:
        """Return the spread of levels; ``None`` if none is known (NaN)."""
        known_levels = levels[~np.isnan(levels)]
        return (
            cls(float(known_levels.max() - known_levels.min()), float(known_levels.std()))
            if known_levels.size
            else None
        )


@dataclass(frozen=True, slots=True)
class ClusterBalance:
    """The balance and the cost of a cluster at one moment."""

    # Requests of all nodes by resource.
    requests: dict[str, LevelSpread]
    # Real use of open nodes by resource, as far as it is known.
    use: dict[str, LevelSpread]
    # Nodes with pods beside those of DaemonSets, and static ones.
    nodes: int
    # Price of an hour of these nodes.
    cost: NodeCost

    def to_dict(self) -> Json:
        """Return plain data, with the cost of an hour and the number of nodes without a price."""
        spreads = {
            name: {resource: asdict(spread) for resource, spread in by_resource.items()}
            for name, by_resource in (("requests", self.requests), ("use", self.use))
        }
        return {**spreads, "nodes": self.nodes, "cost": self.cost.amount, "unpriced": self.cost.unpriced}


def compute_balance(snapshot: Snapshot, use: ClusterUsage, rates: Rates) -> ClusterBalance:
    """Return the balance of the cluster."""
    return compute_balance_of(snapshot, use, rates, find_busy_nodes(snapshot))


def compute_balance_of(snapshot: Snapshot, use: ClusterUsage, rates: Rates, busy: Mask) -> ClusterBalance:
    """Return the balance of the cluster, where the nodes ``busy`` have pods at work."""
    requests = {name: LevelSpread.from_levels(requested_percent(snapshot, name)) for name in RESOURCES}
    open_nodes = snapshot.node_columns.open_nodes()
    used = {name: LevelSpread.from_levels(levels[open_nodes]) for name, levels in use.current_levels().items()}
    return ClusterBalance(_drop_unknown(requests), _drop_unknown(used), int(busy.sum()), rates.cost_per_hour(busy))


def requested_percent(snapshot: Snapshot, resource: str) -> Floats:
    """Return requests in percent of allocatable, NaN for nodes without any. Shape [nodes]."""
    room = snapshot.resource_row(snapshot.allocatable, resource).astype(np.float64)
    amounts = snapshot.resource_row(snapshot.requested, resource)
    percent: Floats = np.divide(100.0 * amounts, room, out=np.full(len(room), np.nan), where=room > 0)
    return percent


def find_busy_nodes(snapshot: Snapshot) -> Mask:
    """Return the nodes with pods that a drain would move. Shape [nodes]."""
    busy_nodes: set[int] = set()
    for pod, node in zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True):
        if pod is not None and node not in busy_nodes and not stays_at_drain(pod):
            busy_nodes.add(node)
    return np.isin(np.arange(len(snapshot)), list(busy_nodes))


def _drop_unknown(spreads: dict[str, LevelSpread | None]) -> dict[str, LevelSpread]:
    return {name: spread for name, spread in spreads.items() if spread is not None}
