"""The extension points, one small protocol each.

A plugin answers for many nodes at once. It keeps nothing between pods: what PreFilter and PreScore find out goes
into the cycle's state under the plugin's own key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.events import EventHint
from kschedweb.engine.framework.explanation import FilterColumn
from kschedweb.engine.framework.preparation import FreeClaim, Preparation
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

Memo = TypeVar("Memo")


class PluginScope(IntEnum):
    """How far a plugin looks, beside the pod itself, for its answers about a node."""

    NODE = 0  # the node object, and other objects that are not pods
    ROOM = 1  # also what the node has and what of it is taken: its column of resources
    PODS = 2  # also the pods on that very node
    CLUSTER = 3  # anything


@dataclass(slots=True)
class Cycle:
    """One pod's way through the plugins: what it reads, and the scratchpad it writes.

    ``state`` lives as long as the cycle; ``memo`` is shared by pods of one signature. From Reserve on, ``decision``
    says what was decided, where somebody wants to know. A Permit plugin that lets the pod wait leaves plain data for
    those who are to answer in ``asks``, under its name; one that lets other pods go on which wait for it has their keys
    in ``allows``.
    """

    snapshot: Snapshot
    pod: Pod
    state: dict[str, Any] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)
    decision: Decision | None = None
    asks: dict[str, Json] = field(default_factory=dict)
    allows: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def memoize(self, key: str, compute: Callable[[], Memo]) -> Memo:
        """``compute()``, kept under ``key``: true for all pods of the signature, or updated as pods move."""
        if key not in self.memo:
            self.memo[key] = compute()
        value: Memo = self.memo[key]
        return value

    def with_snapshot(self, snapshot: Snapshot) -> Cycle:
        """The same cycle over another snapshot, with a scratchpad that can change without this one changing."""
        return Cycle(snapshot, self.pod, {key: _clone_value(value) for key, value in self.state.items()})

    def num_rows(self, rows: Rows) -> int:
        """How many nodes ``rows`` are."""
        return len(self.snapshot) if isinstance(rows, slice) else len(rows)


@runtime_checkable
class StateData(Protocol):
    """What a plugin keeps in the cycle's state and changes there."""

    def clone(self) -> StateData:
        """One that can change without this one changing."""


def _clone_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_clone_value(item) for item in value]
    return value.clone() if isinstance(value, StateData) else value


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """``nodes``: the only nodes worth looking at, ``None`` for all."""

    status: Status = SUCCESS
    nodes: frozenset[str] | None = None


PASSED, SKIPPED = PreFilterResult(), PreFilterResult(SKIP)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A filter's answer: ``codes[i]`` indexes ``statuses``; 0 passes (``statuses[0]`` is success)."""

    codes: Codes
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
    """Any plugin: the protocols below say what it can be asked."""

    name: str


@runtime_checkable
class Scoped(Protocol):
    """How far the plugin looks for its filter and score of pods like ``pod``.

    Without this it is ``PluginScope.CLUSTER``. Below ``CLUSTER`` the plugin is asked about a node once for all pods of
    a signature, and again only when the node's pods change. It may then be asked about any node, and normalised scores
    must depend on raw scores only.
    """

    name: str

    def scope(self, pod: Pod) -> PluginScope: ...


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """May the pod enter the queue at all?"""

    name: str

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status: ...


@runtime_checkable
class QueueSortPlugin(Protocol):
    """Which of two (with the times they were queued) comes first? Of pods that are queued as a group, the group."""

    name: str

    def less(self, a: Pod | PodGroup, a_queued: float, b: Pod | PodGroup, b_queued: float) -> bool: ...


@runtime_checkable
class PreFilterPlugin(Protocol):
    """Look at the pod once; reject it, narrow the nodes, or skip the plugin's filter (``Skip``)."""

    name: str

    def pre_filter(self, cycle: Cycle) -> PreFilterResult: ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """Keep what PreFilter found out true while pods come to, or leave, the node at a position: for preemption."""

    name: str

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...


@runtime_checkable
class PodDependent(Protocol):
    """Does the filter's answer about a node depend on whether ``pod`` is on that node?

    Without this method it depends on every pod, unless the plugin's scope says otherwise. The answer must be the same
    in all cycles of pods with one signature.
    """

    name: str

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool: ...


@runtime_checkable
class FilterPlugin(Protocol):
    """Which of the nodes ``rows`` can take the pod?"""

    name: str

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts: ...


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What became of the search for room.

    ``nominated`` is the node that is to be tried first next time, "" takes an earlier nomination away and ``None``
    leaves it; ``victims`` have to go from that node before the pod fits there, and ``frees`` are claims whose devices
    are in the way. ``details`` are for explanations: plain data by their ``to_dict``.
    """

    status: Status
    nominated: str | None = None
    victims: tuple[Pod, ...] = ()
    details: Any = None
    frees: tuple[FreeClaim, ...] = ()


class PreemptingExtender(Protocol):
    """What preemption asks of an extender."""

    ignorable: bool

    @property
    def preempts(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool: ...

    def preempt(
        self, cycle: Cycle, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, tuple[tuple[Pod, ...], int]]: ...


class Handle(Protocol):
    """What a plugin may ask of the cycle that it takes part in: kube-scheduler's handle."""

    extenders: Sequence[PreemptingExtender]  # in the order in which they are asked
    thorough: bool  # look at all nodes, for an explanation, rather than at as many as a decision needs
    explains: bool  # say what would be done, and leave it undone
    elsewhere: bool  # what is to be done is done in the cluster, which then shows it

    def fits(self, cycle: Cycle, node: int) -> Status:
        """Whether the filters pass on the node at a position, with the pods nominated to it and without."""

    def move_pod(self, cycle: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at a position, or left it."""

    def find_crowded_nodes(self, cycle: Cycle) -> frozenset[int]:
        """The nodes with pods nominated to them that the cycle's pod must leave room for."""

    def filters_beyond_room(self, pod: Pod) -> list[FilterPlugin]:
        """The filters for ``pod`` whose scope is wider than ``PluginScope.ROOM``."""

    def refusals(
        self,
        cycle: Cycle,
        nodes: NDArray[np.intp],
        filter_columns: Sequence[FilterColumn],
        farthest: PluginScope = PluginScope.CLUSTER,
    ) -> tuple[Codes, list[Status]]:
        """The first refusal of each of ``nodes`` (positions): codes that index the statuses, 0 where there is none."""

    def have_room(self, cycle: Cycle, nodes: NDArray[np.intp]) -> Mask:
        """Which of ``nodes`` pass the filters that look at what a node has room for."""


@runtime_checkable
class PostFilterPlugin(Protocol):
    """No node fits: can room be made? Success says where; ``Unschedulable`` leaves it to the next plugin."""

    name: str

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult: ...


@runtime_checkable
class PreScorePlugin(Protocol):
    """Look at the feasible nodes (positions ``rows``) once; ``Skip`` leaves the plugin's score out."""

    name: str

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status: ...


@runtime_checkable
class ScorePlugin(Protocol):
    """Raw scores of the nodes ``rows``, int64, same length."""

    name: str

    def score(self, cycle: Cycle, rows: Rows) -> Ints: ...


@runtime_checkable
class NormalizeScorePlugin(Protocol):
    """Raw scores of all feasible nodes to scores from 0 to 100."""

    name: str

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints: ...


@runtime_checkable
class ReservePlugin(Protocol):
    """Claim what the pod needs on ``node``; ``unreserve`` gives it back and must never fail."""

    name: str

    def reserve(self, cycle: Cycle, node: str) -> Status: ...

    def unreserve(self, cycle: Cycle, node: str) -> None: ...


@runtime_checkable
class SelectivePlugin(Protocol):
    """A plugin that has nothing to do in Reserve, PreBind, Bind and PostBind for pods that it does not concern."""

    name: str

    def concerns(self, pod: Pod) -> bool: ...


@runtime_checkable
class PermitPlugin(Protocol):
    """Let the pod go on, reject it, or let it wait (``Wait``, seconds)."""

    name: str

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]: ...


@runtime_checkable
class AskingPlugin(Protocol):
    """A Permit plugin whose waits others end, be it days later: what it asks of them, as plain JSON.

    ``ask`` changes nothing, so that an explanation can tell; ``None``: the pod may go on. ``permit`` leaves the same in
    the cycle's ``asks``, and waits for its ``seconds``. Where its ``onTimeout`` is Allow the pod then goes on.
    """

    name: str

    def ask(self, cycle: Cycle, node: str) -> Json | None: ...


@runtime_checkable
class WeighingMargin(Protocol):
    """An asking plugin that, where ``weighs_margin``, reads the decision's margin: it is worked out for it."""

    weighs_margin: bool


@runtime_checkable
class PreBindPlugin(Protocol):
    """Do what must be done before the pod is bound."""

    name: str

    def pre_bind(self, cycle: Cycle, node: str) -> Status: ...


@runtime_checkable
class Preparing(Protocol):
    """What PreBind would have written to the cluster, for a scheduler that leaves it to others. Raises CycleError."""

    name: str

    def preparations(self, cycle: Cycle, node: str) -> Sequence[Preparation]: ...


@runtime_checkable
class BindPlugin(Protocol):
    """Bind the pod; ``Skip`` leaves it to the next one."""

    name: str

    def bind(self, cycle: Cycle, node: str) -> Status: ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """Take notice that the pod is bound."""

    name: str

    def post_bind(self, cycle: Cycle, node: str) -> None: ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Which events may let a pod be scheduled that the plugin rejected; without this, every event is taken to."""

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
