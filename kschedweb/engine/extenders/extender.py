"""Extenders: HTTP services that filter, score, preempt or bind, asked as kube-scheduler asks them.

The engine opens no connection. The caller that creates a scheduler may pass in a function that does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.documents.types import Struct, Type
from kschedweb.engine.extenders import messages as wire
from kschedweb.engine.framework.diagnosis import EXTENDER, NO_REASON
from kschedweb.engine.framework.explanation import FilterColumn
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, unresolvable, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes, Ints, Mask
from kschedweb.engine.validation.golang import parse_duration, quote
from kschedweb.engine.values import dataclass

# kube-scheduler's `MaxExtenderPriority`: the highest score that an extender gives.
MAX_PRIORITY = 10
OK = 200
# (url, body, timeout in seconds) -> (HTTP status, body).
Post = Callable[[str, bytes, float], tuple[int, bytes]]
# Node -> (pods to evict, number of them that violate a budget).
Victims = Mapping[str, tuple[Sequence[Pod], int]]


class TransportError(Exception):
    """No answer came; a ``Post`` raises it, and the text says why."""


class ExtenderError(CycleError):
    """An extender failed. If it is ignorable, the cycle goes on without it."""


class NotAskedError(CycleError):
    """An extender has to be asked, and no ``Post`` was given."""


@dataclass(slots=True)
class FilteredNodes:
    """The nodes that extenders left, in the extenders' order."""

    # Positions in the snapshot.
    rows: NDArray[np.intp]
    # Node objects as an extender sent them back, aligned with ``rows``. kube-scheduler scores such nodes as if no pod
    # were on them.
    bare: list[Json] | None = None
    # Rejections by node name.
    statuses: dict[str, Status] = field(default_factory=dict)

    def scored_on(self, cycle: Cycle) -> Cycle:
        """Return the cycle in which these nodes are scored. Raises ExtenderError."""
        if self.bare is None:
            return cycle
        try:
            nodes = {row: Node.from_json(raw) for row, raw in zip(self.rows.tolist(), self.bare, strict=True)}
        except ObjectError as error:
            raise ExtenderError(f"a node that an extender returned cannot be read: {error}") from None
        return replace(cycle, snapshot=cycle.snapshot.with_emptied_nodes(nodes), memo={})

    def in_node_order(self) -> FilteredNodes:
        """Return the same nodes, once each, in node order."""
        rows, places = np.unique(self.rows, return_index=True)
        return FilteredNodes(rows, None if self.bare is None else [self.bare[place] for place in places.tolist()])

    def to_filter_column(self, names: list[str], candidates: NDArray[np.intp]) -> FilterColumn:
        """Return the extenders' rejections of ``candidates`` as the column of one more filter over ``names``."""
        codes: Codes = np.zeros(len(names), dtype=np.int32)
        verdicts = [SUCCESS]
        for row in np.setdiff1d(candidates, self.rows).tolist():
            codes[row] = len(verdicts)
            verdicts.append(self.statuses.get(names[row], NO_REASON).with_plugin(EXTENDER))
        return FilterColumn(EXTENDER, False, codes, verdicts)


class Extender:
    """One extender, by its configuration. Without ``post`` it is known but cannot be asked."""

    def __init__(self, configuration: Json, post: Post | None) -> None:
        self.url: str = configuration.get("urlPrefix") or ""
        self.ignorable = bool(configuration.get("ignorable"))
        self._post = post
        self._verbs = {kind: configuration.get(f"{kind}Verb") or "" for kind in VERBS}
        self._weight = int(configuration.get("weight") or 0)
        # An extender with a node cache gets and returns names instead of node objects.
        self._by_name = bool(configuration.get("nodeCacheCapable"))
        self._managed = frozenset(item["name"] for item in configuration.get("managedResources") or ())
        # Seconds; the duration is in nanoseconds.
        self._timeout = parse_duration(configuration.get("httpTimeout") or "5s") / 1e9

    def has_verb(self, kind: str) -> bool:
        """Return whether it has a verb of this kind: filter, prioritize, preempt or bind."""
        return bool(self._verbs[kind])

    @property
    def preempts(self) -> bool:
        return self.has_verb("preempt")

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the pod asks for a resource that the extender manages; always True if it names none."""
        if not self._managed:
            return True
        spec = get_mapping(pod.raw, "spec")
        for container in [*get_objects(spec, "containers"), *get_objects(spec, "initContainers")]:
            resources = get_mapping(container, "resources")
            if not self._managed.isdisjoint([*get_mapping(resources, "requests"), *get_mapping(resources, "limits")]):
                return True
        return False

    def filter(self, cycle: Cycle, nodes: FilteredNodes) -> FilteredNodes:
        """Return the nodes that it lets pass. Raises CycleError."""
        if not self.has_verb("filter"):
            return FilteredNodes(nodes.rows, nodes.bare)
        result = self._send_request("filter", self._build_arguments(cycle, nodes), wire.FILTER_RESULT)
        if result["Error"]:
            raise ExtenderError(result["Error"])
        passed = self._read_filtered(cycle, nodes, result)
        for name, reason in (result["FailedNodes"] or {}).items():
            passed.statuses[name] = unschedulable(reason or "")
        # Last, because a node in both lists counts as unresolvable.
        for name, reason in (result["FailedAndUnresolvableNodes"] or {}).items():
            passed.statuses[name] = unresolvable(reason or "")
        return passed

    def _read_filtered(self, cycle: Cycle, nodes: FilteredNodes, result: Json) -> FilteredNodes:
        index = cycle.snapshot.index
        if self._by_name and result["NodeNames"] is not None:
            places: dict[Any, int] = {cycle.snapshot.names[row]: place for place, row in enumerate(nodes.rows.tolist())}
            positions: list[int] = []
            for name in result["NodeNames"]:
                if (place := places.get(name)) is None:
                    raise ExtenderError(
                        f"extender {quote(self.url)} claims a filtered node {quote(name or '')} "
                        "which is not found in the input node list"
                    )
                positions.append(place)
            bare = None if nodes.bare is None else [nodes.bare[place] for place in positions]
            return FilteredNodes(nodes.rows[positions], bare)
        returned = [] if result["Nodes"] is None else result["Nodes"]["items"] or []
        names = [str(get_mapping(raw or {}, "metadata").get("name")) for raw in returned]
        for name in names:
            if name not in index:
                raise CycleError(f"extender {quote(self.url)} returned a node {quote(name)} that does not exist")
        return FilteredNodes(np.array([index[name] for name in names], dtype=np.intp), returned)

    def prioritize(self, cycle: Cycle, nodes: FilteredNodes) -> tuple[dict[str, int], int]:
        """Return (score by node name, weight of the scores). Raises CycleError."""
        if not self.has_verb("prioritize"):
            return {cycle.snapshot.names[row]: 0 for row in nodes.rows.tolist()}, 0
        answer = self._send_request("prioritize", self._build_arguments(cycle, nodes), wire.PRIORITIES)
        scores: dict[str, int] = {}
        for item in answer or ():
            host: str = (item or {}).get("Host") or ""
            scores[host] = scores.get(host, 0) + ((item or {}).get("Score") or 0)
        return scores, self._weight

    def preempt(self, cycle: Cycle, victims: Victims) -> dict[str, tuple[tuple[Pod, ...], int]]:
        """Return the nodes and victims that it agrees with. Raises CycleError."""
        arguments: Json = {"Pod": cycle.pod.raw, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self._by_name:
            arguments["NodeNameToMetaVictims"] = {
                node: {"Pods": [{"UID": pod.uid} for pod in pods], "NumPDBViolations": violations}
                for node, (pods, violations) in victims.items()
            }
        else:
            arguments["NodeNameToVictims"] = {
                node: {"Pods": [pod.raw for pod in pods], "NumPDBViolations": violations}
                for node, (pods, violations) in victims.items()
            }
        answer = self._send_request("preempt", arguments, wire.PREEMPTION_RESULT)
        return {
            node: (
                self._convert_to_victims(cycle, node, meta_victims or {}),
                (meta_victims or {}).get("NumPDBViolations") or 0,
            )
            for node, meta_victims in (answer["NodeNameToMetaVictims"] or {}).items()
        }

    def _convert_to_victims(self, cycle: Cycle, node: str, meta_victims: Json) -> tuple[Pod, ...]:
        row = cycle.snapshot.index.get(node)
        if row is None:
            raise ExtenderError(f"nodeinfo not found for node name {quote(node)}")
        pod_by_uid = {pod.uid: pod for pod in cycle.snapshot.pods.pods_on(row)}
        pods = []
        for item in meta_victims.get("Pods") or ():
            uid = (item or {}).get("UID") or ""
            if uid not in pod_by_uid:
                raise ExtenderError(
                    f"extender: {self.url} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, "
                    "but the pod is not found on that node"
                )
            pods.append(pod_by_uid[uid])
        return tuple(pods)

    def bind(self, pod: Pod, node: str) -> None:
        """Ask it to bind the pod. Raises CycleError."""
        arguments = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        result = self._send_request("bind", arguments, wire.BINDING_RESULT)
        if result["Error"]:
            raise ExtenderError(result["Error"])

    def _build_arguments(self, cycle: Cycle, nodes: FilteredNodes) -> Json:
        arguments: Json = {"Pod": cycle.pod.raw, "Nodes": None, "NodeNames": None}
        rows = nodes.rows.tolist()
        if self._by_name:
            arguments["NodeNames"] = [cycle.snapshot.names[row] for row in rows]
        else:
            items = [cycle.snapshot.nodes[row].raw for row in rows] if nodes.bare is None else nodes.bare
            arguments["Nodes"] = {"metadata": {}, "items": items}
        return arguments

    def _send_request(self, kind: str, arguments: Json, answer: Type) -> Any:
        verb = self._verbs[kind]
        url = f"{self.url.rstrip('/')}/{verb}"
        if self._post is None:
            raise NotAskedError(f"outside the simulation: extender {url} is to be asked")
        try:
            status, body = self._post(url, json.dumps(arguments).encode(), self._timeout)
            if status != OK:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
            result = wire.read_message(body, answer)
        except TransportError as error:
            raise ExtenderError(f"Post {quote(url)}: {error}") from None
        except wire.UnreadableError as error:
            raise ExtenderError(str(error)) from None
        return dict.fromkeys(answer.by_name) if result is None and isinstance(answer, Struct) else result


VERBS = ("filter", "prioritize", "preempt", "bind")


class Extenders(Sequence[Extender]):
    """All extenders of a configuration in the order in which they are asked: ignorable ones come last.

    Without ``post`` none can be asked; a cycle that needs one for nodes or victims ends in an error.
    """

    def __init__(self, configurations: Iterable[Json] = (), post: Post | None = None) -> None:
        extenders = [Extender(configuration, post) for configuration in configurations]
        self._all = sorted(extenders, key=lambda extender: extender.ignorable)
        self._asked = post is not None

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, position: Any) -> Any:
        return self._all[position]

    def has_any_verb(self, kind: str) -> bool:
        """Return whether an extender has a verb of this kind."""
        return any(extender.has_verb(kind) for extender in self._all)

    def unasked_urls(self, pod: Pod, *kinds: str) -> list[str]:
        """Return the addresses of extenders with verbs of these ``kinds`` for ``pod``, if they cannot be asked here."""
        extenders = [] if self._asked else [extender for extender in self._all if any(map(extender.has_verb, kinds))]
        return [extender.url for extender in extenders if extender.is_interested(pod)]

    def filter(self, cycle: Cycle, rows: NDArray[np.intp]) -> FilteredNodes:
        """Return the nodes that all extenders let pass. Raises CycleError."""
        passed = FilteredNodes(rows)
        statuses: dict[str, Status] = {}
        for extender in self._list_interested(cycle.pod):
            if not passed.rows.size:
                break
            try:
                passed = extender.filter(cycle, passed)
            except ExtenderError:
                if not extender.ignorable:
                    raise
                continue
            statuses.update(passed.statuses)
        return FilteredNodes(passed.rows, passed.bare, statuses)

    def prioritize(self, cycle: Cycle, nodes: FilteredNodes) -> tuple[Ints, Mask]:
        """Return (score added to the totals, mask of scored nodes), aligned with ``nodes``. Failures add nothing.

        Among equally good nodes kube-scheduler prefers those that an extender scored. Raises CycleError.
        """
        return self._weighted_scores(cycle, nodes, MAX_NODE_SCORE // MAX_PRIORITY)

    def _weighted_scores(self, cycle: Cycle, nodes: FilteredNodes, factor: int) -> tuple[Ints, Mask]:
        """Return the same as ``prioritize``, with each score multiplied by ``factor``."""
        totals: dict[str, int] = {}
        for extender in self._list_interested(cycle.pod):
            try:
                scores, weight = extender.prioritize(cycle, nodes)
            except ExtenderError:
                continue
            for host, score in scores.items():
                totals[host] = totals.get(host, 0) + score * weight * factor
        names = [cycle.snapshot.names[row] for row in nodes.rows.tolist()]
        added = np.array([_wrap_int64(totals.get(name, 0)) for name in names], dtype=np.int64)
        return added, np.array([name in totals for name in names], dtype=np.bool_)

    def create_binder(self, pod: Pod, node: str) -> Callable[[], bool] | None:
        """Return ``bind`` as a function to call later; ``None`` if no extender binds the pod."""
        binds = self._asked and any(extender.has_verb("bind") for extender in self._list_interested(pod))
        return partial(self.bind, pod, node) if binds else None

    def bind(self, pod: Pod, node: str) -> bool:
        """Return whether an extender bound the pod. Raises CycleError if one that is not ignorable failed."""
        for extender in self._list_interested(pod) if self._asked else ():
            if extender.has_verb("bind"):
                try:
                    extender.bind(pod, node)
                except ExtenderError:
                    if not extender.ignorable:
                        raise
                    continue
                return True
        return False

    def _list_interested(self, pod: Pod) -> list[Extender]:
        return [extender for extender in self._all if extender.is_interested(pod)]


def _wrap_int64(number: int) -> int:
    """Return ``number`` as an int64 holds it after an overflow."""
    return (number + 2**63) % 2**64 - 2**63
