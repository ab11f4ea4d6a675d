"""The extension points, one small protocol each.

A plugin answers for many nodes at once. It keeps nothing between pods: its PreFilter and PreScore store their results
in the cycle's state under the plugin's own key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.events import EventHint
from kschedweb.engine.framework.explanation import FilterColumn
from kschedweb.engine.framework.preparation import FreeClaim, Preparation
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

Memo = TypeVar("Memo")


class PluginScope(IntEnum):
    """The range of objects that a plugin looks at, beyond the pod itself, for its answers about a node."""

    # The node object, and other objects except pods.
    NODE = 0
    # Also the node's allocatable and requested resources.
    ROOM = 1
    # Also the pods on that node.
    PODS = 2
    # Anything.
    CLUSTER = 3


# What plugins write for each other, by key: kube-scheduler's `CycleState`.
CycleState: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Cycle:
    """One pod's way through the plugins: the snapshot that they read and the scratchpad that they write."""

    snapshot: Snapshot
    pod: Pod
    # Lives as long as the cycle.
    state: CycleState = field(default_factory=dict)
    # Shared by all pods of one signature.
    memo: CycleState = field(default_factory=dict)
    # Set from Reserve on, where a listener wants it.
    decision: Decision | None = None
    # Plain data for the people who answer, by the name of the Permit plugin that lets the pod wait.
    approval_requests: dict[str, Json] = field(default_factory=dict)
    # Keys of waiting pods that may go on, by the name of the Permit plugin that allows them.
    allows: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def memoize(self, key: str, compute: Callable[[], Memo]) -> Memo:
        """Return ``compute()``, kept under ``key``. It holds for all pods of the signature, or changes as pods move."""
        if key not in self.memo:
            self.memo[key] = compute()
        value: Memo = self.memo[key]
        return value

    def with_snapshot(self, snapshot: Snapshot) -> Cycle:
        """Return the same cycle over another snapshot, with its own copy of the state."""
        return Cycle(snapshot, self.pod, {key: _clone_value(value) for key, value in self.state.items()})

    def num_rows(self, rows: Rows) -> int:
        """Return the number of nodes in ``rows``."""
        return len(self.snapshot) if isinstance(rows, slice) else len(rows)


@runtime_checkable
class StateData(Protocol):
    """A plugin's entry of the cycle's state that changes during the cycle."""

    def clone(self) -> StateData:
        """Return a copy that can change independently."""


def _clone_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_clone_value(item) for item in value]
    return value.clone() if isinstance(value, StateData) else value


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """The answer of one PreFilter plugin."""

    status: Status = SUCCESS
    # Names of the only nodes worth looking at; ``None`` for all.
    nodes: frozenset[str] | None = None


PASSED, SKIPPED = PreFilterResult(), PreFilterResult(SKIP)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A filter's answer about many nodes."""

    # int32[rows]: indexes ``statuses``; 0 passes.
    codes: Codes
    # Distinct statuses; the first is success.
    statuses: Sequence[Status]

    @classmethod
    def from_mask(cls, rejected: Mask, status: Status) -> Verdicts:
        return cls(rejected.astype(np.int32), (SUCCESS, status))

    @classmethod
    def uniform(cls, size: int, status: Status = SUCCESS) -> Verdicts:
        if status.ok:
            return cls(np.zeros(size, dtype=np.int32), (SUCCESS,))
        return cls(np.ones(size, dtype=np.int32), (SUCCESS, status))


class Plugin(Protocol):
    """Any plugin. The protocols below are the extension points that it may implement."""

    name: str


@runtime_checkable
class Scoped(Protocol):
    """A plugin that declares how far its Filter and Score look for pods like ``pod``.

    Without this it is ``PluginScope.CLUSTER``. Below ``CLUSTER`` the plugin is asked about a node once for all pods of
    a signature, and again only when the node's pods change. It may then be asked about any node, and normalised scores
    must depend on raw scores only.
    """

    name: str

    def scope(self, pod: Pod) -> PluginScope: ...


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """A plugin that decides whether the pod may enter the queue."""

    name: str

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status: ...


@runtime_checkable
class QueueSortPlugin(Protocol):
    """A plugin that orders two pods, or groups, by themselves and the times at which they were queued.

    A pod that is queued as part of a group is represented by the group.
    """

    name: str

    def less(self, a: Pod | PodGroup, a_queued: float, b: Pod | PodGroup, b_queued: float) -> bool: ...


@runtime_checkable
class PreFilterPlugin(Protocol):
    """A plugin that looks at the pod once: it rejects it, narrows the nodes, or skips its own filter (``Skip``)."""

    name: str

    def pre_filter(self, cycle: Cycle) -> PreFilterResult: ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """A plugin that keeps its PreFilter state up to date while preemption adds pods to a node or removes them."""

    name: str

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...


@runtime_checkable
class PodDependent(Protocol):
    """A plugin that tells whether its filter's answer about a node depends on ``pod`` being on that node.

    Without this method it depends on every pod, unless the plugin's scope says otherwise. The answer must be the same
    in all cycles of pods with one signature.
    """

    name: str

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool: ...


@runtime_checkable
class FilterPlugin(Protocol):
    """A plugin that decides which of the nodes ``rows`` can take the pod."""

    name: str

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts: ...


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """The result of a search for room."""

    status: Status
    # The node to try first next time; "" ends an earlier nomination, ``None`` leaves it.
    nominated: str | None = None
    # Pods that have to leave that node before the pod fits there.
    victims: tuple[Pod, ...] = ()
    # For explanations: an object with a ``to_dict``.
    details: Any = None
    # Claims whose devices are in the way.
    frees: tuple[FreeClaim, ...] = ()


class PreemptingExtender(Protocol):
    """The part of an extender that preemption uses."""

    ignorable: bool

    @property
    def preempts(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool: ...

    def preempt(
        self, cycle: Cycle, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, tuple[tuple[Pod, ...], int]]: ...


class Handle(Protocol):
    """The part of its cycle that a plugin may use: kube-scheduler's handle."""

    # In the order in which they are asked.
    extenders: Sequence[PreemptingExtender]
    # Look at all nodes, for an explanation, rather than at as many as a decision needs.
    thorough: bool
    # Report what would be done, and do nothing.
    explains: bool
    # Changes are made in the real cluster, which shows them later, and not in the snapshot.
    elsewhere: bool

    def fits(self, cycle: Cycle, node: int) -> Status:
        """Return whether the filters pass on the node at a position, with the pods nominated to it and without."""

    def move_pod(self, cycle: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at a position, or left it."""

    def find_crowded_nodes(self, cycle: Cycle) -> frozenset[int]:
        """Return the positions of nodes that have nominated pods for which the cycle's pod must leave room."""

    def filters_beyond_room(self, pod: Pod) -> list[FilterPlugin]:
        """Return the filters for ``pod`` whose scope is wider than ``PluginScope.ROOM``."""

    def refusals(
        self,
        cycle: Cycle,
        nodes: NDArray[np.intp],
        filter_columns: Sequence[FilterColumn],
        farthest: PluginScope = PluginScope.CLUSTER,
    ) -> tuple[Codes, list[Status]]:
        """Return the first refusal of each of ``nodes`` (positions): codes that index the statuses, 0 where none
        refuses.
        """

    def have_room(self, cycle: Cycle, nodes: NDArray[np.intp]) -> Mask:
        """Return a mask of the ``nodes`` that pass the filters of scope ``PluginScope.ROOM``."""


@runtime_checkable
class PostFilterPlugin(Protocol):
    """A plugin that makes room where no node fits.

    Success names the node; ``Unschedulable`` leaves it to the next plugin.
    """

    name: str

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult: ...


@runtime_checkable
class PreScorePlugin(Protocol):
    """A plugin that looks at the feasible nodes (positions ``rows``) once. ``Skip`` leaves its Score out."""

    name: str

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status: ...


@runtime_checkable
class ScorePlugin(Protocol):
    """A plugin that scores the nodes ``rows``: raw scores, int64, same length."""

    name: str

    def score(self, cycle: Cycle, rows: Rows) -> Ints: ...


@runtime_checkable
class NormalizeScorePlugin(Protocol):
    """A plugin that turns the raw scores of all feasible nodes into scores from 0 to 100."""

    name: str

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints: ...


@runtime_checkable
class ReservePlugin(Protocol):
    """A plugin that claims what the pod needs on ``node``. ``unreserve`` gives it back and must never fail."""

    name: str

    def reserve(self, cycle: Cycle, node: str) -> Status: ...

    def unreserve(self, cycle: Cycle, node: str) -> None: ...


@runtime_checkable
class SelectivePlugin(Protocol):
    """A plugin that does nothing in Reserve, PreBind, Bind and PostBind for pods that it does not concern."""

    name: str

    def concerns(self, pod: Pod) -> bool: ...


@runtime_checkable
class PermitPlugin(Protocol):
    """A plugin that lets the pod go on, rejects it, or lets it wait (``Wait``, seconds)."""

    name: str

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]: ...


@runtime_checkable
class AskingPlugin(Protocol):
    """A Permit plugin that waits for people, for days if need be, and says in plain JSON what it asks of them.

    ``ask`` changes nothing, so that an explanation can call it; ``None`` means that the pod may go on. ``permit``
    leaves the same in the cycle's ``approval_requests``, and waits for its ``seconds``. If its ``onTimeout`` is Allow,
    the pod then goes on.
    """

    name: str

    def ask(self, cycle: Cycle, node: str) -> Json | None: ...


@runtime_checkable
class WeighingMargin(Protocol):
    """An asking plugin that may read the decision's margin."""

    # The margin is computed only if this is True.
    weighs_margin: bool


@runtime_checkable
class PreBindPlugin(Protocol):
    """A plugin that does what must be done before the pod is bound."""

    name: str

    def pre_bind(self, cycle: Cycle, node: str) -> Status: ...


@runtime_checkable
class Preparing(Protocol):
    """A plugin that lists what its PreBind would write, where others write to the cluster. Raises CycleError."""

    name: str

    def preparations(self, cycle: Cycle, node: str) -> Sequence[Preparation]: ...


@runtime_checkable
class BindPlugin(Protocol):
    """A plugin that binds the pod. ``Skip`` leaves it to the next one."""

    name: str

    def bind(self, cycle: Cycle, node: str) -> Status: ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """A plugin that is informed after the pod is bound."""

    name: str

    def post_bind(self, cycle: Cycle, node: str) -> None: ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    """A plugin that lists the events that may help a pod it rejected. Without this, every event may help."""

    name: str

    def events(self) -> Sequence[EventHint]: ...


POINTS: dict[str, type] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
