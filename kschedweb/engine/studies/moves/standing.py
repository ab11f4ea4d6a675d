"""How a cluster stands: how even its nodes are, which of them have work, and what they cost."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.pricing.costs import Cost, Rates
from kschedweb.engine.rebalancing.use import RESOURCES, Use
from kschedweb.engine.state.columns import Floats, Mask
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """How uneven nodes are, in points of percent of their allocatable: the fullest less the emptiest, and deviation.

    These are the measures ``skew`` and ``spread`` at one moment, of requests and of use.
    """

    skew: float
    deviation: float

    @classmethod
    def of(cls, levels: Floats) -> Spread | None:
        """``None`` where no level is known (NaN)."""
        known = levels[~np.isnan(levels)]
        return cls(float(known.max() - known.min()), float(known.std())) if known.size else None


@dataclass(frozen=True, slots=True)
class Standing:
    """``requests`` of all nodes and ``use`` of open ones by resource, those that are known.

    ``nodes`` have pods beside those of DaemonSets.

    ``cost`` is what the nodes with such pods cost an hour.
    """

    requests: dict[str, Spread]
    use: dict[str, Spread]
    nodes: int
    cost: Cost


def standing(snapshot: Snapshot, use: Use, rates: Rates) -> Standing:
    """How the cluster stands now."""
    return standing_of(snapshot, use, rates, at_work(snapshot))


def standing_of(snapshot: Snapshot, use: Use, rates: Rates, busy: Mask) -> Standing:
    """How the cluster stands now, of which the nodes ``busy`` have pods at work."""
    requests = {name: Spread.of(requested(snapshot, name)) for name in RESOURCES}
    open_nodes = snapshot.node_columns.open()
    used = {name: Spread.of(levels[open_nodes]) for name, levels in use.now().items()}
    return Standing(_known(requests), _known(used), int(busy.sum()), rates.now(busy))


def requested(snapshot: Snapshot, resource: str) -> Floats:
    """What is requested, in percent of allocatable, NaN for nodes without any. Shape [nodes]."""
    room = snapshot.amounts(snapshot.allocatable, resource).astype(np.float64)
    taken = snapshot.amounts(snapshot.requested, resource)
    found: Floats = np.divide(100.0 * taken, room, out=np.full(len(room), np.nan), where=room > 0)
    return found


def at_work(snapshot: Snapshot) -> Mask:
    """Which nodes have pods that a drain would move. Shape [nodes]."""
    found: set[int] = set()
    for pod, node in zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True):
        if pod is not None and node not in found and not stays_at_drain(pod):
            found.add(node)
    return np.isin(np.arange(len(snapshot)), list(found))


def _known(spreads: dict[str, Spread | None]) -> dict[str, Spread]:
    return {name: spread for name, spread in spreads.items() if spread is not None}
