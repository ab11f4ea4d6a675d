"""Compute how many more pods of a shape fit: place clones one by one until none fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE, Explanation
from kschedweb.engine.framework.status import OUTSIDE, CycleError, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.shapes import PodShape
from kschedweb.engine.values import dataclass

# More pods than any cluster runs.
MAX_CLONES = 100_000
# Gets the number of placed clones; False stops.
Check = Callable[[int], bool]


@dataclass(frozen=True)
class FullReason:
    """The reason why some nodes take no more clones."""

    # The plugin that rejects them, with its message.
    plugin: str
    text: str
    # Positions of the nodes, int[nodes].
    nodes: NDArray[np.intp]
    # Number of them that have clones.
    filled: int


@dataclass(frozen=True)
class CapacityFit:
    """The placed clones."""

    # Names of nodes by position.
    names: list[str]
    # Node of each clone, in the order of placement, int[count].
    order: NDArray[np.intp]
    # The most clones that were to be placed.
    limit: int
    # The scheduler's message on the first clone that fits nowhere; "" if the limit came first, or if `check` stopped.
    message: str = ""
    reasons: list[FullReason] = field(default_factory=list)
    # True if `check` stopped the search.
    stopped: bool = False
    # True if the cycle of that clone ended in an error, which tells nothing about room.
    failed: bool = False
    # What such pods would have or lack in a real cluster.
    notes: tuple[str, ...] = ()
    # True if claims are left out that would limit the number.
    unlimited: bool = False

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def exact(self) -> bool:
        """True if exactly so many fit; else ``count`` is a lower bound, or an upper one if it is ``unlimited``."""
        return bool(self.message) and not (self.failed or self.unlimited)

    @property
    def by_node(self) -> Ints:
        """The number of clones on each node. Shape [nodes]."""
        return np.bincount(self.order, minlength=len(self.names)).astype(np.int64)


def fit_clones(
    snapshot: Snapshot,
    configuration: Configuration,
    shape: PodShape,
    *,
    limit: int = MAX_CLONES,
    registry: Mapping[str, PluginFactory] | None = None,
    check: Check | None = None,
) -> CapacityFit:
    """Place clones of ``shape`` in a copy of ``snapshot`` as kube-scheduler does, at most ``limit``.

    There is no preemption, and no pod waits for approval. ``check`` is called before each clone.
    """
    scheduler = Scheduler.from_configuration(snapshot.copy(), configuration, registry)
    index = scheduler.snapshot.index
    order: list[int] = []
    message, failed, reasons, stopped = "", False, [], False
    problems: list[str] = []
    while not message and len(order) < limit:
        clone = shape.clone(len(order) + 1).with_counting(configuration.release.counting)
        pod, problems = scheduler.create_claims(clone)
        if not order and (message := _pre_enqueue_message(scheduler, pod)):
            break
        if check is not None and not check(len(order)):
            stopped = True
            break
        placement = scheduler.place_pod(pod)
        if placement.node:
            order.append(index[placement.node])
        else:
            message, failed = placement.message, placement.is_error or OUTSIDE in placement.message
            reasons = _find_full_reasons(scheduler, pod, np.unique(np.array(order, dtype=np.intp)))
    rows, notes = np.array(order, dtype=np.intp), (*shape.notes, *map(problem_note, problems))
    return CapacityFit(snapshot.names, rows, limit, message, reasons, stopped, failed, notes, bool(shape.left_out))


def problem_note(problem: str) -> str:
    """Return the note that a controller cannot make a claim for such pods."""
    return f"A claim of such a pod cannot be made. {problem}."


def _pre_enqueue_message(scheduler: Scheduler, pod: Pod) -> str:
    """Return the reason why PreEnqueue never lets such a pod be tried; "" if it does."""
    try:
        status = scheduler.framework(pod).pre_enqueue(pod, scheduler.snapshot.objects)
    except CycleError as error:
        return str(error)
    return "" if status.ok else status.message


def _find_full_reasons(scheduler: Scheduler, pod: Pod, holding: NDArray[np.intp]) -> list[FullReason]:
    """Return the reasons that reject the clone ``pod``, those with most nodes first."""
    try:
        explanation = scheduler.explain(pod, as_scheduled=True)
    except CycleError:
        return []
    reasons = [
        FullReason(status.plugin, status.message, nodes, int(np.isin(nodes, holding).sum()))
        for status, nodes in group_rejections(explanation)
    ]
    return sorted(reasons, key=lambda reason: (-len(reason.nodes), reason.text))


def group_rejections(explanation: Explanation) -> list[tuple[Status, NDArray[np.intp]]]:
    """Return the decisive verdicts, each with the positions of its nodes."""
    by_status: dict[Status, list[NDArray[np.intp]]] = {}
    for by in np.unique(explanation.rejected_by).tolist():
        rows = np.flatnonzero(explanation.rejected_by == by)
        if by == FEASIBLE:
            continue
        # Nodes with equal codes of a filter share its verdict, so one of them is asked for the text.
        codes = np.zeros(len(rows), dtype=np.int32) if by == EXCLUDED else explanation.filters[by].codes[rows]
        for code in np.unique(codes).tolist():
            chosen = rows[codes == code]
            status = explanation.verdict_at(int(chosen[0])) or Status()
            by_status.setdefault(status, []).append(chosen)
    return [(status, np.sort(np.concatenate(parts))) for status, parts in by_status.items()]
