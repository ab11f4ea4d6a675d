"""How many more pods of a shape fit: clones are placed one by one until none fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE, Explanation
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.shapes import PodShape

MOST = 100_000  # clones; more pods than any cluster runs
Check = Callable[[int], bool]  # gets the number of placed clones; False stops


@dataclass(frozen=True)
class FullReason:
    """Why some nodes take no more clones: the plugin and its message.

    ``nodes`` are the positions of the nodes; ``filled`` is the number of them that have clones.
    """

    plugin: str
    text: str
    nodes: NDArray[np.intp]
    filled: int


@dataclass(frozen=True)
class Fit:
    """The placed clones; ``order`` int[count] has the node of each, in the order of placement.

    ``message`` is the scheduler's message on the first clone that fits nowhere; "" if the limit came first or ``check``
    ``stopped`` the search. ``failed`` is true if its cycle ended in an error, which says nothing about room.
    """

    names: list[str]
    order: NDArray[np.intp]
    limit: int
    message: str = ""
    reasons: list[FullReason] = field(default_factory=list)
    stopped: bool = False
    failed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def exact(self) -> bool:
        """Whether one more clone would not fit; else ``count`` is only a lower bound."""
        return bool(self.message)

    @property
    def by_node(self) -> Ints:
        """The number of clones on each node. Shape [nodes]."""
        return np.bincount(self.order, minlength=len(self.names)).astype(np.int64)


def fit(
    snapshot: Snapshot,
    configuration: Configuration,
    shape: PodShape,
    *,
    limit: int = MOST,
    registry: Mapping[str, Factory] | None = None,
    check: Check | None = None,
) -> Fit:
    """Place clones of ``shape`` in a copy of ``snapshot`` as kube-scheduler does, at most ``limit``.

    There is no preemption and no approval. ``check`` is called before each clone.
    """
    scheduler = Scheduler.of(snapshot.copy(), configuration, registry)
    index = scheduler.snapshot.index
    order: list[int] = []
    message, failed, reasons, stopped = _held(scheduler, shape), False, [], False
    while not message and len(order) < limit:
        if check is not None and not check(len(order)):
            stopped = True
            break
        pod = shape.clone(len(order) + 1).counted(configuration.release.counting)
        placement = scheduler.place(pod)
        if placement.node:
            order.append(index[placement.node])
        else:
            message, failed = placement.message, placement.error
            reasons = _reasons(scheduler, shape, len(order) + 1, np.unique(np.array(order, dtype=np.intp)))
    rows = np.array(order, dtype=np.intp)
    return Fit(snapshot.names, rows, limit, message, reasons, stopped, failed, shape.notes)


def _held(scheduler: Scheduler, shape: PodShape) -> str:
    """Why PreEnqueue never lets such a pod be tried; "" if it does."""
    pod = shape.clone(1)
    try:
        status = scheduler.framework(pod).pre_enqueue(pod, scheduler.snapshot.objects)
    except CycleError as error:
        return str(error)
    return "" if status.ok else status.message


def _reasons(scheduler: Scheduler, shape: PodShape, number: int, holding: NDArray[np.intp]) -> list[FullReason]:
    """The reasons that reject clone ``number``, those with most nodes first."""
    try:
        explanation = scheduler.explain(shape.clone(number), as_run=True)
    except CycleError:
        return []
    found = [
        FullReason(status.plugin, status.message, nodes, int(np.isin(nodes, holding).sum()))
        for status, nodes in rejections(explanation)
    ]
    return sorted(found, key=lambda reason: (-len(reason.nodes), reason.text))


def rejections(explanation: Explanation) -> list[tuple[Status, NDArray[np.intp]]]:
    """The decisive verdicts, each with the positions of its nodes."""
    by_status: dict[Status, list[NDArray[np.intp]]] = {}
    for by in np.unique(explanation.rejected_by).tolist():
        rows = np.flatnonzero(explanation.rejected_by == by)
        if by == FEASIBLE:
            continue
        codes = np.zeros(len(rows), dtype=np.int32) if by == EXCLUDED else explanation.filters[by].codes[rows]
        for code in np.unique(codes).tolist():
            chosen = rows[codes == code]
            status = explanation.verdict_at(int(chosen[0])) or Status()
            by_status.setdefault(status, []).append(chosen)
    return [(status, np.sort(np.concatenate(parts))) for status, parts in by_status.items()]
