"""Compute how many nodes of a type must be added so that pods fit, by scheduling instead of dividing sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import CSINode
from kschedweb.engine.state.nodematching import match_tolerations, matches_required
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.shapes import NodeShape
from kschedweb.engine.values import dataclass

# New nodes that are tried at most.
MAX_NODES = 1_000
# Resources whose requested shares of new nodes are told.
MEASURED = ("cpu", "memory")
# Called before each pod; may raise to end the work.
Pulse = Callable[[], None]


@dataclass(frozen=True)
class Unfit:
    """Pods that no number of such nodes helps."""

    pods: tuple[str, ...]
    # The scheduler's message for all nodes, and for an empty new node.
    message: str
    on_new: str


@dataclass(frozen=True)
class SizingTrial:
    """The result of a trial with a number of new nodes."""

    # New nodes.
    added: int
    # Pods that fit.
    placed: int
    # Pods that do not fit.
    unplaced: tuple[Pod, ...]
    # The scheduler's message for each of them.
    messages: tuple[str, ...]
    # True if a new node stayed empty in each zone, so that more nodes cannot help.
    spare: bool
    snapshot: Snapshot
    # Positions of the new nodes, in order.
    new: NDArray[np.intp]


@dataclass(frozen=True)
class NewNode:
    """A new node with what it runs."""

    name: str
    zone: str
    # Pods of the question, and pods of DaemonSets.
    pods: int
    daemons: int
    # Requested share by resource, 0 to 1.
    requested: Mapping[str, float]


@dataclass(frozen=True)
class Sizing:
    """The number of nodes that pods need."""

    # Pods in question, and those of them that fit without new nodes.
    pods: int
    fits_now: int
    # The smallest number of new nodes with which all pods fit that can; None if `max_nodes` is too few.
    needed: int | None
    # The largest number of new nodes that was to be tried.
    max_nodes: int
    # Pods that did not fit, by each tried number of nodes.
    unplaced_by_nodes: dict[int, int]
    # Numbers above `needed` with which more pods did not fit: adding nodes does not always help.
    exceptions: tuple[int, ...]
    # Pods that no number of such nodes helps.
    unfit: tuple[Unfit, ...]
    # The new nodes.
    nodes: tuple[NewNode, ...]
    # Nodes that the sum of requests implies, for the pods that fit with `needed` nodes and not now.
    at_least: int

    @property
    def unplaceable_count(self) -> int:
        """The number of pods that no number of such nodes helps."""
        return sum(len(group.pods) for group in self.unfit)


def compute_sizing(
    snapshot: Snapshot,
    configuration: Configuration,
    pods: Sequence[Pod],
    shape: NodeShape,
    *,
    max_nodes: int = MAX_NODES,
    registry: Mapping[str, PluginFactory] | None = None,
    pulse: Pulse | None = None,
) -> Sizing:
    """Find how many nodes of ``shape`` the ``snapshot`` needs for ``pods``, which are scheduled in this order.

    New nodes run the pods of DaemonSets that match them. The number is found by doubling and bisection. Tests, instead
    of assumptions, show that a smaller number is not enough and that larger ones are.
    """
    return _Search(snapshot, configuration, tuple(pods), shape, max_nodes, registry, pulse).run()


@dataclass
class _Search:
    snapshot: Snapshot
    configuration: Configuration
    pods: tuple[Pod, ...]
    shape: NodeShape
    max_nodes: int
    registry: Mapping[str, PluginFactory] | None
    pulse: Pulse | None

    def run(self) -> Sizing:
        self._daemons = list_daemon_pods(self.snapshot)
        self._unplaced_by_nodes: dict[int, int] = {}
        now = self._try_nodes(0)
        if not now.unplaced:
            return self._build_sizing(now, now, 0, now)
        best = self._find_sufficient(max(1, min(self._at_least(now.unplaced), self.max_nodes)))
        if best.unplaced and not best.spare:
            return self._build_sizing(now, best, None, best)
        if len(best.unplaced) == len(now.unplaced):
            return self._build_sizing(now, best, 0, now)
        goal, low, upper = len(best.unplaced), 0, best
        while upper.added - low > 1:
            trial = self._try_nodes((low + upper.added) // 2)
            if len(trial.unplaced) <= goal:
                upper = trial
            else:
                low = trial.added
        # More nodes may fit fewer pods, as scores change. Such numbers are reported as exceptions.
        for more in {upper.added + 1, 2 * upper.added} - set(self._unplaced_by_nodes):
            if more <= self.max_nodes:
                self._try_nodes(more)
        return self._build_sizing(now, best, upper.added, upper)

    def _find_sufficient(self, added: int) -> SizingTrial:
        """Double the number until all pods fit or until more nodes cannot help, and return the last trial."""
        while True:
            trial = self._try_nodes(added)
            if not trial.unplaced or trial.spare or added >= self.max_nodes:
                return trial
            added = min(2 * added, self.max_nodes)

    def _try_nodes(self, added: int) -> SizingTrial:
        new = self.shape.create_nodes(added)
        larger = enlarge_snapshot(self.snapshot, new, self._daemons, self.shape.csi_node)
        scheduler = Scheduler.from_configuration(larger, self.configuration, self.registry)
        unplaced, messages = [], []
        for pod in self.pods:
            if self.pulse is not None:
                self.pulse()
            message = _place_pod(scheduler, pod)
            if message:
                unplaced.append(pod)
                messages.append(message)
        rows = np.array([larger.index[node.name] for node in new], dtype=np.intp)
        placed = {pod.key for pod in self.pods} & set(larger.pods.slots)
        used_rows = {int(larger.pods.node[larger.pods.slots[key]]) for key in placed}
        zones = {node.zone for node in new}
        empty = {larger.nodes[row].zone for row in rows.tolist() if row not in used_rows}
        self._unplaced_by_nodes[added] = len(unplaced)
        placed_count = len(self.pods) - len(unplaced)
        return SizingTrial(
            added, placed_count, tuple(unplaced), tuple(messages), bool(new) and empty == zones, larger, rows
        )

    def _at_least(self, pods: Iterable[Pod]) -> int:
        """Return the number of nodes that the sum of the requests of ``pods`` implies."""
        node, pods = self.shape.create_nodes(1)[0], list(pods)
        sums: dict[str, int] = {"pods": len(pods)}
        for pod in pods:
            for name, amount in pod.requests.items():
                sums[name] = sums.get(name, 0) + amount
        rooms = ((amount, node.allocatable.get(name, 0)) for name, amount in sums.items())
        return max((-(-amount // room) for amount, room in rooms if room > 0), default=0)

    def _build_sizing(self, now: SizingTrial, last: SizingTrial, needed: int | None, chosen: SizingTrial) -> Sizing:
        goal, left_over = len(last.unplaced), {pod.key for pod in last.unplaced}
        above = (
            number
            for number, unplaced in self._unplaced_by_nodes.items()
            if needed is not None and number > needed and unplaced > goal
        )
        return Sizing(
            pods=len(self.pods),
            fits_now=now.placed,
            needed=needed,
            max_nodes=self.max_nodes,
            unplaced_by_nodes=dict(sorted(self._unplaced_by_nodes.items())),
            exceptions=tuple(sorted(above)),
            unfit=self._group_unfit(last) if last.spare else (),
            nodes=tuple(_measure_new_nodes(chosen, {pod.key for pod in self.pods})),
            at_least=self._at_least(pod for pod in now.unplaced if pod.key not in left_over),
        )

    def _group_unfit(self, trial: SizingTrial) -> tuple[Unfit, ...]:
        """Return the reasons why the unplaced pods do not fit an empty new node, grouped by pod signature."""
        used_rows = {int(trial.snapshot.pods.node[trial.snapshot.pods.slots[pod.key]]) for pod in self.pods
                if pod.key in trial.snapshot.pods.slots}  # fmt: skip
        spare = next(row for row in trial.new.tolist() if row not in used_rows)
        scheduler = Scheduler.from_configuration(trial.snapshot, self.configuration, self.registry)
        misfit_by_signature: dict[object, str] = {}
        grouped: dict[tuple[str, str], list[str]] = {}
        for pod, message in zip(trial.unplaced, trial.messages, strict=True):
            if pod.signature not in misfit_by_signature:
                misfit_by_signature[pod.signature] = scheduler.find_misfit_reason(pod, trial.snapshot.names[spare])
            grouped.setdefault((message, misfit_by_signature[pod.signature]), []).append(pod.key)
        return tuple(Unfit(tuple(keys), message, on_new) for (message, on_new), keys in grouped.items())


def _place_pod(scheduler: Scheduler, pod: Pod) -> str:
    """Schedule the pod, and return the message if it gets no node, else ""."""
    pod, _ = scheduler.create_claims(pod)
    try:
        status = scheduler.framework(pod).pre_enqueue(pod, scheduler.snapshot.objects)
    except CycleError as error:
        return str(error)
    if not status.ok:
        return status.message
    return scheduler.place_pod(pod).message


def list_daemon_pods(snapshot: Snapshot) -> list[Json]:
    """Return a nameless pod for each DaemonSet of the cluster."""
    pods = []
    for raw in snapshot.objects.all("DaemonSet"):
        metadata, template = get_mapping(raw, "metadata"), get_mapping(get_mapping(raw, "spec"), "template")
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": metadata.get("name"), "controller": True}
        pod_metadata = {
            "namespace": metadata.get("namespace") or "default",
            "labels": get_mapping(template, "metadata").get("labels") or {},
            "generateName": f"{metadata.get('name')}-",
            "ownerReferences": [owner],
        }
        if get_mapping(template, "spec").get("containers"):
            pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": template["spec"]})
    return pods


def enlarge_snapshot(
    snapshot: Snapshot, nodes: Sequence[Node], daemon_pods: Sequence[Json] = (), csi_node: CSINode | None = None
) -> Snapshot:
    """Return a copy of ``snapshot`` with additional ``nodes``, each with the ``daemon_pods`` that match it.

    ``csi_node`` has the volumes that each of the nodes can attach.
    """
    world = SchedulerCache(snapshot.copy())
    if csi_node is not None:
        storage = world.cluster.storage
        storage.csi_nodes = storage.csi_nodes | {node.name: replace(csi_node, name=node.name) for node in nodes}
    for node in nodes:
        world.set_node(Node.from_json(snapshot.of_today(node.raw)))
    larger = world.snapshot
    larger.pending = list(snapshot.pending)
    for raw in daemon_pods:
        try:
            _add_daemon(larger, nodes, raw)
        except ObjectError:
            continue  # The template is invalid.
    return larger


def _add_daemon(larger: Snapshot, nodes: Sequence[Node], raw: Json) -> None:
    prefix = str(raw["metadata"]["generateName"])
    sample = Pod.from_json({**raw, "metadata": {**raw["metadata"], "name": f"{prefix}sample"}})
    matching = matches_required(larger, sample) & match_tolerations(larger, sample)
    for node in nodes:
        position = larger.index[node.name]
        if matching[position]:
            pod = Pod.from_json({**raw, "metadata": {**raw["metadata"], "name": f"{prefix}{node.name}"}})
            larger.add_pod(pod.on(node.name), position)


def _measure_new_nodes(trial: SizingTrial, keys: set[str]) -> list[NewNode]:
    new_nodes = []
    for row in trial.new.tolist():
        snapshot = trial.snapshot
        on = [pod.key for pod in snapshot.pods.pods_on(row)]
        pod_count = sum(key in keys for key in on)
        shares = {}
        for name in MEASURED:
            room = int(snapshot.resource_row(snapshot.allocatable, name)[row])
            shares[name] = int(snapshot.resource_row(snapshot.requested, name)[row]) / room if room else 0.0
        zone = snapshot.nodes[row].labels.get("topology.kubernetes.io/zone", "")
        new_nodes.append(NewNode(snapshot.names[row], zone, pod_count, len(on) - pod_count, shares))
    return new_nodes
