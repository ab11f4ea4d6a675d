"""Record a run, and build the columns of its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.pricing.price_table import Labels, PriceTable
from kschedweb.engine.simulation import Departure, Observer, Result
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.actors.recording import ActorRecorder
from kschedweb.engine.studies.play.outcome import (
    NO_KINDS,
    NOWHERE,
    Deletions,
    Guards,
    Measures,
    MoveKind,
    NodeLog,
    NodeState,
    PodMoves,
    RunOutcome,
    Samples,
    Tries,
    UseLog,
    list_recorders,
    split_columns,
)
from kschedweb.engine.studies.play.pod_shapes import PodShapes

# Gets virtual seconds, the number of decided pods and the number of known pods; may raise to end the run.
Progress = Callable[[float, int, int], None]
# Steps of the simulation between two reports of progress.
STEPS = 256
# The shortest of these windows that was measured gives the use.
WINDOWS = ("5m", "10m", "15m", "1h")
# Measurements that are kept; then every second one is dropped.
MOST_MEASURED = 4096
# Marks the unknown start of a search.
UNTOLD = -1
# Resource of nodes that pods do not request.
SLOTS = "pods"


class RunRecorder(Observer):
    """Record what the simulation reports, and build the outcome.

    ``budgets`` are the cluster's PodDisruptionBudgets with their names; ``actors`` are the scenario's by their kind.
    """

    def __init__(
        self,
        budgets: Sequence[tuple[str, PodDisruptionBudget]],
        known_pods: int,
        progress: Progress | None = None,
        actors: Mapping[str, ActorSetup] | None = None,
    ) -> None:
        self._budgets, self._progress = budgets, progress
        self._actors = [kind(None if actors is None else actors.get(room)) for room, kind in list_recorders().items()]
        # Those that hear of decisions, of which there are very many.
        self._hearing = [part for part in self._actors if type(part).on_decided is not ActorRecorder.on_decided]
        self._by_report = {report: recorder for recorder in self._actors for report in recorder.reports}
        self._known_pods, self._steps = known_pods, 0
        self._decided: set[str] = set()
        # The row of each life, and the seconds at which rows left.
        self._rows: dict[PodLife, int] = {}
        self._left_at: dict[int, float] = {}
        # The position of each node, and its latest state.
        self.nodes: dict[str, int] = {}
        self.latest_nodes: dict[str, Node] = {}
        self._shapes = PodShapes()
        # The first row of each chain of replacements by key, and for each row.
        self._firsts: dict[str, int] = {}
        self._first: list[int] = []
        self._texts: dict[str, int] = {}
        # Entries of `PodMoves`, then those of `NodeLog`, whose labels stand beside.
        self._moves: list[tuple[float, int, int, int, int]] = []
        self._node_log: list[tuple[float, int, dict[str, int] | None, NodeState]] = []
        self._node_labels: list[Labels | None] = []
        self._measured: list[tuple[float, Watermarks]] = []
        self._measures: list[tuple[float, int]] = []
        # Every so-many-th measurement is kept.
        self._stride = 1
        # Entries of `Tries` by row, and the current try: its row, whether it was skipped, and its key.
        self._tries: list[tuple[float, int, int]] = []
        self._row, self._skips, self._trying = -1, False, ""
        # Skipped tries whose messages are not known, by row: time, and number of moves before.
        self._owed: dict[int, tuple[float, int]] = {}
        self._deletions: list[tuple[float, int, int]] = []
        # Whether the initial state is complete, and whether moves have everything that tries depend on.
        self._begun, self._complete = False, True
        self._guards: list[tuple[float, int, int, bool]] = []
        self._forced: list[tuple[float, int, int, int, int]] = []
        # Keys of the pods that are down, by budget.
        self._down: list[set[str]] = [set() for _ in budgets]

    def passed(self, now: float) -> None:
        self._steps += 1
        if self._progress is not None and self._steps % STEPS == 0:
            self._progress(now, len(self._decided), self._known_pods)

    def mark_initial_complete(self, *, replayed: bool) -> None:
        """Mark the initial pods and nodes as complete.

        With ``replayed``, moves do not suffice to repeat tries. That is so if pods may wait at Permit or come because
        of their load, and if equal nodes are taken in turn.
        """
        self._begun, self._complete = True, not replayed

    def begin_actors(self, scheduler: Scheduler) -> None:
        """Begin to record what actors do in a run with this scheduler."""
        for recorder in self._actors:
            recorder.begin(scheduler)

    def row_of(self, life: PodLife) -> int:
        return self._rows[life]

    def key_of(self, life: PodLife) -> str:
        return first_of(life)

    def arrived(self, life: PodLife, now: float) -> None:
        row = self._rows[life] = len(self._rows)
        self._tries.append((math.nan, 0, UNTOLD))
        key = first_of(life)
        if not life.heirs:
            self._firsts[key] = row
        self._first.append(self._firsts.get(key, row))
        # Replacements and nominated pods depend on more than moves.
        if life.heirs or (self._begun and life.pod.nominated_node):
            self._complete = False
        self._known_pods += life.heirs > 0
        self._shapes.add_pod(life.pod)

    def changed(self, life: PodLife, now: float) -> None:
        if life.leaves is not None and life.why is Departure.ENDED:
            self._deletions.append((now, self._rows[life], len(self._moves)))
        else:
            self._complete = False

    def tries(self, life: PodLife, attempt: int, start: int, now: float) -> None:
        self._row, self._skips, self._trying = self._rows[life], False, first_of(life)
        self._tries[self._row] = now, len(self._moves), start if self._complete else UNTOLD
        self._decided.add(life.pod.key)

    def tries_group(self, group: PodGroup, pods: Sequence[Pod], now: float) -> None:
        self._complete = False  # The placements of its pods do not follow from moves.

    @property
    def works_out(self) -> bool:
        return self._complete

    def skipped(self, life: PodLife, now: float) -> None:
        self._skips = True
        self._owed[self._row] = now, len(self._moves)

    def failed(self, life: PodLife, now: float) -> None:
        if not self._skips:
            self._owed.pop(self._rows[life], None)

    def bound(self, life: PodLife, now: float) -> None:
        # Binding changes their claims, which moves do not record.
        if self._begun and (life.pod.volumes or life.pod.resource_claims):
            self._complete = False
        self._moves.append((now, self._rows[life], self.nodes[life.pod.node_name], MoveKind.BOUND, -1))
        if life.heirs:
            for down in self._down:
                down.discard(first_of(life))

    def evicted(self, life: PodLife, reason: str, now: float) -> None:
        row, node = self._rows[life], self.nodes.get(life.pod.node_name, NOWHERE)
        self._forced.append((now, row, node, int(life.why), self._text_code(reason)))
        for place, (_, budget) in enumerate(self._budgets):
            if budget.covers_pod(life.pod):
                self._down[place].add(first_of(life))
                # Evicted pods are down until a replacement is bound.
                beyond = len(self._down[place]) > budget.allowed
                self._guards.append((now, row, place, beyond))

    def departed(self, life: PodLife, why: Departure, text: str, now: float) -> None:
        row = self._rows[life]
        self._left_at[row] = now
        frees = bool(life.pod.volumes or life.pod.resource_claims)
        self._complete = self._complete and why in (Departure.ENDED, Departure.FAILED) and not frees
        self._moves.append((now, row, self.nodes[life.pod.node_name], int(why), self._text_code(text)))
        if why is Departure.FAILED:
            self._forced.append(self._moves[-1])

    def withdrawn(self, life: PodLife, now: float) -> None:
        row = self._rows[life]
        self._left_at[row] = now
        if life.why is Departure.COLLECTED:
            self._forced.append((now, row, NOWHERE, int(life.why), self._text_code(life.because)))

    def node_set(self, node: Node, now: float) -> None:
        self._complete = self._complete and not self._begun
        place = self.nodes.setdefault(node.name, len(self.nodes))
        self.latest_nodes[node.name] = node
        self._node_log.append((now, place, dict(node.allocatable), _node_state(node)))
        self._node_labels.append(node.labels)

    def node_left(self, name: str, now: float) -> None:
        self._complete = False
        self._node_log.append((now, self.nodes[name], None, NodeState.OPEN))
        self._node_labels.append(None)

    def measured(self, watermarks: Watermarks, now: float) -> None:
        if len(self._measures) % self._stride == 0:
            self._measured.append((now, watermarks))
        self._measures.append((now, len(self._moves)))
        if len(self._measured) >= MOST_MEASURED:
            del self._measured[1::2]
            self._stride *= 2

    def reported(self, report: object, now: float) -> None:
        if (recorder := self._by_report.get(type(report))) is not None:
            recorder.add_report(report, now, self)

    def decided(self, pod: Pod, placement: Placement, now: float) -> None:
        for recorder in self._hearing:
            recorder.on_decided(pod, self._trying, placement.node)

    def _text_code(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts)) if text else -1

    @property
    def owed_messages(self) -> Mapping[int, tuple[float, int]]:
        """Time and number of moves of failed tries whose messages are not known, by row."""
        return self._owed

    def set_messages(self, messages: Mapping[int, str]) -> None:
        """Set messages of failed tries, by row."""
        for row, life in enumerate(self._rows):
            life.message = messages.get(row, life.message)

    # Columns.

    def build_outcome(
        self, result: Result, seed: int, notes: Sequence[str], prices: PriceTable | None = None
    ) -> RunOutcome:
        """Build the outcome of the recorded run with the totals of ``result``; ``prices`` are those of nodes."""
        lives = list(self._rows)
        resources = self._list_resources()
        texts = dict(self._texts)
        messages = [texts.setdefault(life.message, len(texts)) if life.message else -1 for life in lives]
        node = np.full(len(lives), -1, dtype=np.int32)
        workloads: dict[str, int] = {}
        workload = [
            workloads.setdefault(name, len(workloads)) if (name := _workload_name(life)) else -1 for life in lives
        ]
        moves = _move_columns(self._moves)
        is_bound = moves.kind == MoveKind.BOUND
        node[moves.pod[is_bound]] = moves.node[is_bound]
        kinds, kind = self._node_kinds(prices)
        shape, eligible = self._shapes.build_columns([self.latest_nodes[name] for name in self.nodes])
        return RunOutcome(
            pods=[life.pod.key for life in lives],
            nodes=list(self.nodes),
            resources=resources,
            texts=list(texts),
            arrived=_to_floats(life.arrived for life in lives),
            bound=_to_floats(math.nan if life.bound is None else life.bound for life in lives),
            departed=_to_floats(self._left_at.get(row, math.nan) for row in range(len(lives))),
            node=node,
            attempts=_to_codes(life.attempts for life in lives),
            message=_to_codes(messages),
            priority=_to_codes(life.pod.priority for life in lives),
            requests=_request_columns(lives, resources),
            shape=shape,
            eligible=eligible,
            moves=moves,
            node_log=self._node_columns(resources),
            samples=_sample_columns(result),
            use=self._use_columns(),
            guards=_guard_columns(self._guards),
            budgets=[name for name, _ in self._budgets],
            seed=seed,
            end=result.end,
            refused=list(result.refused),
            ignored=list(result.ignored),
            notes=list(notes),
            tries=Tries(*_split_columns(self._tries)),
            measures=Measures(
                _to_floats(time for time, _ in self._measures),
                _to_codes(moves_before for _, moves_before in self._measures),
            ),
            deletions=Deletions(*_split_columns(self._deletions)),
            recorded_forced_moves=_move_columns(self._forced),
            workloads=list(workloads),
            workload=_to_codes(workload),
            first=_to_codes(self._first),
            kinds=kinds,
            kind=kind,
            **split_columns(recorder.build_columns(self) for recorder in self._actors),
        )

    def _node_kinds(self, prices: PriceTable | None) -> tuple[NodeKinds, Codes]:
        """Return the kinds of nodes by price, and the kind of each entry of the node log; both empty without prices."""
        if prices is None:
            return NO_KINDS, np.zeros(0, dtype=np.int32)
        kinds, codes = NodeKinds.from_table(prices, [labels for labels in self._node_labels if labels is not None])
        kind = np.full(len(self._node_labels), -1, dtype=np.int32)
        kind[[labels is not None for labels in self._node_labels]] = codes
        return kinds, kind

    def _list_resources(self) -> list[str]:
        """Return CPU and memory, then the other resources of nodes by name."""
        names = {name for _, _, has, _ in self._node_log for name, amount in (has or {}).items() if amount}
        return [CPU, MEMORY, *sorted(names - {CPU, MEMORY, SLOTS})]

    def _node_columns(self, resources: list[str]) -> NodeLog:
        rows = [
            [math.nan] * len(resources) if has is None else [float(has.get(name, 0)) for name in resources]
            for _, _, has, _ in self._node_log
        ]
        allocatable = np.array(rows, dtype=np.float64).reshape(len(rows), len(resources))
        return NodeLog(
            _to_floats(time for time, _, _, _ in self._node_log),
            _to_codes(node for _, node, _, _ in self._node_log),
            allocatable,
            np.array([state for _, _, _, state in self._node_log], dtype=np.uint8),
        )

    def _use_columns(self) -> UseLog:
        """Return the recorded use, without figures of nodes that never joined."""
        columns = {name: np.full((len(self._measured), len(self.nodes)), np.nan, np.float32) for name in (CPU, MEMORY)}
        for row, (_, watermarks) in enumerate(self._measured):
            known_nodes = [
                (place, self.nodes[name]) for place, name in enumerate(watermarks.names) if name in self.nodes
            ]
            if not known_nodes:
                continue
            places, nodes = np.array(known_nodes, dtype=np.intp).T
            for resource, column in columns.items():
                key = next((key for key in WINDOWS if (resource, key) in watermarks.figures), "")
                column[row, nodes] = watermarks.column(resource, key)[places]
        return UseLog(_to_floats(time for time, _ in self._measured), columns[CPU], columns[MEMORY])


def first_of(life: PodLife) -> str:
    """Return the key that a pod and its replacements share: the name of the first of them."""
    name = life.template.name
    return f"{life.pod.namespace}/{name.rpartition('-again')[0] if life.heirs else name}"


def _workload_name(life: PodLife) -> str:
    """Return the pod's controller as "namespace/Kind/name", "" for none."""
    owner = life.template.controller
    return f"{life.pod.namespace}/{owner[1]}/{owner[2]}" if owner else ""


def _node_state(node: Node) -> NodeState:
    status = node.raw.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == "Ready" and condition.get("status") != "True":
            return NodeState.UNKNOWN if condition.get("status") == "Unknown" else NodeState.NOT_READY
    if node.unschedulable:
        return NodeState.CORDONED
    return NodeState.TAINTED if node.is_tainted else NodeState.OPEN


def _to_floats(values: Any) -> Any:
    return np.fromiter(values, dtype=np.float64)


def _to_codes(values: Any) -> Any:
    return np.fromiter(values, dtype=np.int32)


def _move_columns(listed: list[tuple[float, int, int, int, int]]) -> PodMoves:
    time, pod, node, kind, text = zip(*listed, strict=True) if listed else ((), (), (), (), ())
    return PodMoves(_to_floats(time), _to_codes(pod), _to_codes(node), np.array(kind, dtype=np.uint8), _to_codes(text))


def _split_columns(listed: list[tuple[float, int, int]]) -> tuple[Any, Any, Any]:
    time, second, third = zip(*listed, strict=True) if listed else ((), (), ())
    return _to_floats(time), _to_codes(second), _to_codes(third)


def _guard_columns(listed: list[tuple[float, int, int, bool]]) -> Guards:
    time, pod, budget, beyond = zip(*listed, strict=True) if listed else ((), (), (), ())
    return Guards(_to_floats(time), _to_codes(pod), _to_codes(budget), np.array(beyond, dtype=np.uint8))


def _sample_columns(result: Result) -> Samples:
    names = ("nodes", "bound", "active", "backing_off", "unschedulable", "gated", "unknown")
    columns = {name: _to_codes(getattr(sample, name) for sample in result.samples) for name in names}
    return Samples(time=_to_floats(sample.time for sample in result.samples), **columns)


def _request_columns(lives: list[PodLife], resources: list[str]) -> Any:
    """Return the requests of each pod: i8[resources, pods]."""
    # Pods of one template share their requests, so each template is read once.
    row_by_id: dict[int, int] = {}
    distinct: list[list[int]] = []
    codes = []
    for life in lives:
        requests = life.template.occupied
        if id(requests) not in row_by_id:
            row_by_id[id(requests)] = len(distinct)
            distinct.append([requests.get(name, 0) for name in resources])
        codes.append(row_by_id[id(requests)])
    table = np.array(distinct, dtype=np.int64).reshape(len(distinct), len(resources))
    return np.ascontiguousarray(table[np.array(codes, dtype=np.intp)].T)
