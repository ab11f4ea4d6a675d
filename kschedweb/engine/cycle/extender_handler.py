"""The answers of an extender that judges pods by plugins of a profile.

kube-scheduler sends the nodes that pass its own filters. Nodes that are not in the snapshot are newer than it: they
pass, and score 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration, Profile
from kschedweb.engine.documents.types import Type
from kschedweb.engine.extenders import messages as wire
from kschedweb.engine.extenders.extender import MAX_PRIORITY
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Framework, PreFilterOutcome
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

POINTS = ("preFilter", "filter", "preScore", "score")


class ExtenderArgsError(ValueError):
    """A request that cannot be understood; the text has the place."""


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """A pod and the nodes to judge."""

    pod: Pod
    names: list[str]
    # The nodes as they were sent, None if only names were sent.
    items: list[Json] | None = None

    @classmethod
    def from_body(cls, body: bytes) -> ExtenderArgs:
        """Read the body of a filter or prioritize request. Raises ExtenderArgsError."""
        arguments = _parse_body(body, wire.ARGUMENTS)
        pod = _read_pod(arguments)
        if arguments["NodeNames"] is not None:
            return cls(pod, [name or "" for name in arguments["NodeNames"]])
        nodes = arguments["Nodes"]
        items = [item or {} for item in (nodes["items"] if nodes else None) or ()]
        return cls(pod, [_read_name(item) for item in items], items)


@dataclass(frozen=True, slots=True)
class ExtenderPreemptionArgs:
    """A pod, and the nodes on which victims would make room for it."""

    pod: Pod
    # By node: the uids of the victims, and the number of PodDisruptionBudgets violated.
    nodes: dict[str, tuple[tuple[str, ...], int]]

    @classmethod
    def from_body(cls, body: bytes) -> ExtenderPreemptionArgs:
        """Read the body of a preemption request. Raises ExtenderArgsError."""
        arguments = _parse_body(body, wire.PREEMPTION_ARGUMENTS)
        victims_by_node, meta_victims_by_node = arguments["NodeNameToVictims"], arguments["NodeNameToMetaVictims"]
        evictions_by_node = {}
        for node, victims in (
            meta_victims_by_node if meta_victims_by_node is not None else victims_by_node or {}
        ).items():
            pods = (victims or {}).get("Pods") or ()
            uids = tuple(_read_uid(pod or {}, whole=meta_victims_by_node is None) for pod in pods)
            evictions_by_node[node] = uids, (victims or {}).get("NumPDBViolations") or 0
        return cls(_read_pod(arguments), evictions_by_node)

    def to_result(self, nodes: Collection[str]) -> Json:
        """Accept ``nodes``, with the same victims."""
        agreed = {
            node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
            for node, (uids, violations) in self.nodes.items()
            if node in nodes
        }
        return {"NodeNameToMetaVictims": agreed}


@dataclass(frozen=True, slots=True)
class ExtenderBindingArgs:
    """A pod and the node to bind it to."""

    namespace: str
    name: str
    uid: str
    node: str

    @classmethod
    def from_body(cls, body: bytes) -> ExtenderBindingArgs:
        """Read the body of a bind request. Raises ExtenderArgsError."""
        arguments = _parse_body(body, wire.BINDING_ARGUMENTS)
        args = cls(*(arguments[field] or "" for field in ("PodNamespace", "PodName", "PodUID", "Node")))
        if missing := [field for field in ("namespace", "name", "uid", "node") if not getattr(args, field)]:
            raise ExtenderArgsError(f"The {missing[0]} to bind with is missing.")
        return args


def choose_plugins(configuration: Configuration, plugins: Collection[str] = ()) -> frozenset[str]:
    """Return those of ``plugins`` that filter or score in the first profile.

    Without ``plugins``, all of the profile that kube-scheduler does not have.
    """
    points = configuration.profiles[0].points
    plugin_names = {ref.name for point in ("filter", "score") for ref in points.get(point, ())}
    return frozenset(
        plugin_names & set(plugins) if plugins else plugin_names - configuration.release.in_tree_plugins.specs.keys()
    )


def compute_weight(configuration: Configuration, plugins: Collection[str]) -> int:
    """Return the extender's weight at which its scores count as ``plugins`` do in the first profile; at least 1."""
    return max(1, sum(ref.weight for ref in configuration.profiles[0].points.get("score", ()) if ref.name in plugins))


class ExtenderHandler:
    """Answers requests with ``plugins`` of the first profile. It keeps no state and changes no snapshot.

    A score is the weighted total of the plugins, scaled from 0 to 100 times their weights down to 0 to 10, and rounded.
    kube-scheduler multiplies it by ``compute_weight`` and by 10, which gives the total again to within half a step.
    """

    def __init__(self, configuration: Configuration, plugins: Collection[str]) -> None:
        profile = configuration.profiles[0]
        points = {point: tuple(ref for ref in profile.points.get(point, ()) if ref.name in plugins) for point in POINTS}
        reduced = Profile(profile.scheduler_name, None, points, profile.args)
        self._framework = Framework(reduced, configuration.release.factories)
        self._most = MAX_NODE_SCORE * compute_weight(configuration, plugins)

    def filter(self, snapshot: Snapshot, question: ExtenderArgs) -> Json:
        """Return an ExtenderFilterResult: the nodes that pass, in the order of the request, and why the others do
        not."""
        snapshot, pod = _unbind_pod(snapshot, question.pod)
        rows = _find_rows(snapshot, question.names)
        try:
            statuses = self._find_rejections(Cycle(snapshot, pod), rows)
        except CycleError as error:
            return filter_result(question, error=str(error))
        return filter_result(question, {snapshot.names[row]: status for row, status in statuses.items()})

    def prioritize(self, snapshot: Snapshot, question: ExtenderArgs) -> list[Json]:
        """Return a HostPriorityList in the order of the request. Raises CycleError if a plugin fails."""
        snapshot, pod = _unbind_pod(snapshot, question.pod)
        rows = _find_rows(snapshot, question.names)
        scores: dict[str, int] = {}
        if rows.size:
            cycle = Cycle(snapshot, pod)
            if self._framework.pre_filter(cycle).status.ok:
                columns = self._framework.score(cycle, rows, self._framework.pre_score(cycle, rows))
                total = sum((column.weighted for column in columns), np.zeros(len(rows), dtype=np.int64))
                # Rounded division of integers, half up.
                steps = (total * MAX_PRIORITY + self._most // 2) // self._most
                scores = {snapshot.names[row]: score for row, score in zip(rows, steps.tolist(), strict=True)}
        return [{"Host": name, "Score": scores.get(name, 0)} for name in question.names]

    def process_preemption(self, snapshot: Snapshot, offer: ExtenderPreemptionArgs) -> Json:
        """Return an ExtenderPreemptionResult: the nodes on which the pod fits once the victims are gone."""
        snapshot, pod = _unbind_pod(snapshot, offer.pod)
        if not self._framework.points.filter:
            return offer.to_result(offer.nodes)
        trial = snapshot.copy()
        passing = {
            node
            for node, (uids, _) in offer.nodes.items()
            if node not in trial.index or self._passes_without(trial, pod, trial.index[node], frozenset(uids))
        }
        return offer.to_result(passing)

    def _passes_without(self, trial: Snapshot, pod: Pod, row: int, uids: frozenset[str]) -> bool:
        victims = [victim for victim in trial.pods.pods_on(row) if victim.uid in uids]
        for victim in victims:
            trial.remove_pod(victim.key)
        try:
            return not self._find_rejections(Cycle(trial, pod), np.array([row], dtype=np.intp))
        except CycleError:
            # Leave to kube-scheduler what cannot be judged.
            return True
        finally:
            for victim in victims:
                trial.add_pod(victim, row)
            trial.hold_ports(row)

    def _find_rejections(self, cycle: Cycle, rows: NDArray[np.intp]) -> dict[int, Status]:
        """Return why nodes of ``rows`` are rejected, by row. Raises CycleError if a plugin fails."""
        outcome = self._framework.pre_filter(cycle)
        if outcome.status.code is Code.ERROR:
            raise CycleError(outcome.status.message)
        if not outcome.status.ok:
            return dict.fromkeys(rows.tolist(), outcome.status)
        statuses_by_row = _left_out(cycle.snapshot, outcome, rows)
        for column in self._framework.filter(cycle, outcome.skipped, rows) if rows.size else ():
            for place in np.flatnonzero(column.codes).tolist():
                status = column.verdicts[int(column.codes[place])].decisive
                if status.code is Code.ERROR and status.simulated:
                    raise CycleError(status.message)
                if status.simulated:
                    statuses_by_row.setdefault(int(rows[place]), status)
        return statuses_by_row


def filter_result(question: ExtenderArgs, rejected: Mapping[str, Status] | None = None, error: str = "") -> Json:
    """Return an ExtenderFilterResult with the ``rejected`` nodes, or only with ``error``."""
    rejected = rejected or {}
    by_name = question.items is None
    names, items = None, None
    if by_name and not error:
        names = [name for name in question.names if name not in rejected]
    elif not error:
        named_items = zip(question.names, question.items or (), strict=True)
        items = {"metadata": {}, "items": [item for name, item in named_items if name not in rejected]}
    final = {name: status.message for name, status in rejected.items() if status.code is Code.UNRESOLVABLE}
    return {
        "Nodes": items,
        "NodeNames": names,
        "FailedNodes": {name: status.message for name, status in rejected.items() if name not in final},
        "FailedAndUnresolvableNodes": final,
        "Error": error,
    }


def neutral_host_priorities(question: ExtenderArgs) -> list[Json]:
    """Return a HostPriorityList that prefers no node."""
    return [{"Host": name, "Score": 0} for name in question.names]


def _unbind_pod(snapshot: Snapshot, pod: Pod) -> tuple[Snapshot, Pod]:
    """Return the cluster and the pod as if the pod, which may be bound by now, had no node."""
    if pod.key in snapshot.pods.slots:
        snapshot, _ = snapshot.without_pod(pod.key)
    return snapshot, pod.on("") if pod.node_name else pod


def _find_rows(snapshot: Snapshot, names: Collection[str]) -> NDArray[np.intp]:
    """Return the rows of the known nodes, in node order."""
    return np.array(sorted({snapshot.index[name] for name in names if name in snapshot.index}), dtype=np.intp)


def _left_out(snapshot: Snapshot, outcome: PreFilterOutcome, rows: NDArray[np.intp]) -> dict[int, Status]:
    """Return the nodes that PreFilter excludes, with its status."""
    prefilter_nodes = outcome.nodes
    if prefilter_nodes is None:
        return {}
    absent = outcome.absent_status()
    return {
        row: absent for row in rows.tolist() if snapshot.names[row] not in prefilter_nodes and absent is not SUCCESS
    }


def _parse_body(body: bytes, message_type: Type) -> Any:
    try:
        arguments = wire.read_message(body, message_type)
    except wire.UnreadableError as error:
        raise ExtenderArgsError(str(error)) from None
    if arguments is None:
        raise ExtenderArgsError("The body is empty.")
    return arguments


def _read_pod(arguments: Json) -> Pod:
    if arguments["Pod"] is None:
        raise ExtenderArgsError("The pod is missing.")
    try:
        return Pod.from_json(arguments["Pod"])
    except ObjectError as error:
        raise ExtenderArgsError(f"The pod cannot be understood: {error}.") from None


def _read_name(item: Json) -> str:
    try:
        name = get_mapping(item, "metadata").get("name")
    except ObjectError as error:
        raise ExtenderArgsError(f"A node cannot be understood: {error}.") from None
    return name if isinstance(name, str) else ""


def _read_uid(pod: Json, *, whole: bool) -> str:
    try:
        uid = get_mapping(pod, "metadata").get("uid") if whole else pod.get("UID")
    except ObjectError as error:
        raise ExtenderArgsError(f"A victim cannot be understood: {error}.") from None
    return uid if isinstance(uid, str) else ""
