"""Which change may help which pod that a plugin rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    DEVICE_CLASS,
    NODE_ADD,
    NODE_DELETE,
    Action,
    ClusterEvent,
    ObjectChange,
    node_changes,
    pod_changes,
)
from kschedweb.engine.objects.node import ZONE, Node
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.queue.hints import Hints, Strategy
from kschedweb.engine.state.cluster import ClusterObjects
from tests.engine.builders import node, pod
from tests.engine.queue.queues import frameworks

Json = dict[str, Any]
HINTS = Hints(frameworks())
NOTHING = ClusterObjects()


Question = Callable[[], bool]


def wakes(plugin: str, raw: Json, event: ClusterEvent, old: Any, new: Any, cluster: ClusterObjects = NOTHING) -> bool:
    """Whether ``event`` makes a pod be tried again that ``plugin`` rejected."""
    queued = QueuedPod(Pod.read(raw), 0.0, rejected_by=frozenset({plugin}))
    return HINTS.strategy(queued, event, ObjectChange(old, new, cluster)) is Strategy.AFTER_BACKOFF


def happens(plugin: str, raw: Json, event: ClusterEvent, old: Any, new: Any) -> Question:
    return lambda: wakes(plugin, raw, event, old, new)


def bound(name: str = "other", **fields: Any) -> Pod:
    return Pod.read(pod(name, on="one", **fields))


def gone(plugin: str, raw: Json, old: Pod) -> Question:
    return happens(plugin, raw, ASSIGNED_POD_DELETE, old, None)


def comes(plugin: str, raw: Json, new: Pod) -> Question:
    return happens(plugin, raw, ASSIGNED_POD_ADD, None, new)


def joins(plugin: str, raw: Json, new: Json) -> Question:
    return happens(plugin, raw, NODE_ADD, None, Node.read(new))


def turns(plugin: str, raw: Json, old: Json, new: Json) -> Question:
    """Does the change of a node from ``old`` to ``new``, by any of the events it amounts to?"""
    before, after = Node.read(old), Node.read(new)
    return lambda: any(wakes(plugin, raw, event, before, after) for event in node_changes(before, after))


def becomes(plugin: str, raw: Json, old: Pod, new: Pod) -> Question:
    return lambda: any(wakes(plugin, raw, event, old, new) for event in pod_changes(old, new))


def term(key: str = ZONE, **labels: str) -> Json:
    wanted = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [wanted]}


def zoned(zone: str | None, **fields: Any) -> Json:
    return node("n", labels={} if zone is None else {ZONE: zone}, **fields)


def spread(**fields: Any) -> list[Json]:
    selector = {"matchLabels": {"app": "a"}}
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**rule, **fields}]


def raw_object(name: str = "c", namespace: str = "default", **fields: Any) -> Json:
    return {"metadata": {"name": name, "namespace": namespace, **fields.pop("metadata", {})}, **fields}


BIG, SMALL = {"cpu": "2"}, {"cpu": "1"}
TAINT, OTHER = {"key": "k", "effect": "NoSchedule"}, {"key": "l", "effect": "NoSchedule"}
TOLERANT: dict[str, Any] = {"tolerations": [{"key": "k", "operator": "Exists"}]}
CORDON: dict[str, Any] = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
ONE, TWO = {"podAffinity": term(app="a")}, {"podAntiAffinity": term(app="a")}
LABELLED = {"app": "a"}


LARGE, TINY = {"memory": "2"}, {"memory": "1"}


def listening(port: int, on: str = "", **fields: Any) -> Json:
    return pod("p" if not on else "other", on=on, container={"ports": [{"hostPort": port, **fields}]})


CASES: dict[str, tuple[bool, Callable[[], bool]]] = {
    "fit: a pod left its node": (True, gone("NodeResourcesFit", pod("p"), bound())),
    "fit: a pod without a node left": (False, gone("NodeResourcesFit", pod("p"), Pod.read(pod("other")))),
    "fit: a pod came": (False, comes("NodeResourcesFit", pod("p"), bound())),
    "fit: a node with room came": (True, joins("NodeResourcesFit", pod("p", requests=BIG), node("n"))),
    "fit: a node without room came": (False, joins("NodeResourcesFit", pod("p", requests={"cpu": "9"}), node("n"))),
    "fit: a node for no pods came": (
        False,
        joins("NodeResourcesFit", pod("p"), node("n", allocatable={"pods": "0"})),
    ),
    "fit: a node has more": (
        True,
        turns("NodeResourcesFit", pod("p", requests=BIG), node("n", allocatable=SMALL), node("n", allocatable=BIG)),
    ),
    "fit: a node has more of something else": (
        False,
        turns("NodeResourcesFit", pod("p", requests=BIG), node("n"), node("n", allocatable={"memory": "9Gi"})),
    ),
    "fit: a node takes more pods": (
        True,
        turns("NodeResourcesFit", pod("p"), node("n"), node("n", allocatable={"pods": "111"})),
    ),
    "fit: a changed taint, for want of better": (
        True,
        turns("NodeResourcesFit", pod("p", requests={"cpu": "9"}), node("n"), node("n", taints=[TAINT])),
    ),
    "fit: another pod asks for less": (
        True,
        becomes("NodeResourcesFit", pod("p", requests=SMALL), bound(requests=BIG), bound(requests=SMALL)),
    ),
    "fit: another pod asks for less of something else": (
        False,
        becomes(
            "NodeResourcesFit",
            pod("p", requests=SMALL),
            bound(requests={"memory": "2"}),
            bound(requests={"memory": "1"}),
        ),
    ),
    "fit: the pod itself asks for less": (
        True,
        becomes("NodeResourcesFit", pod("p"), Pod.read(pod("p", requests=BIG)), Pod.read(pod("p", requests=SMALL))),
    ),
    "fit: devices of a class stand for what is asked for": (
        True,
        happens(
            "NodeResourcesFit",
            pod("p", requests={"example.com/gpu": "1"}),
            ClusterEvent(DEVICE_CLASS, Action.ADD),
            None,
            raw_object(spec={"extendedResourceName": "example.com/gpu"}),
        ),
    ),
    "fit: devices of another class": (
        False,
        happens(
            "NodeResourcesFit",
            pod("p", requests={"example.com/gpu": "1"}),
            ClusterEvent(DEVICE_CLASS, Action.ADD),
            None,
            raw_object(spec={"extendedResourceName": "example.com/other"}),
        ),
    ),
    "taints: a welcoming node came": (True, joins("TaintToleration", pod("p"), node("n"))),
    "taints: an unwelcoming node came": (False, joins("TaintToleration", pod("p"), node("n", taints=[TAINT]))),
    "taints: a tolerated node came": (
        True,
        joins("TaintToleration", pod("p", **TOLERANT), node("n", taints=[TAINT])),
    ),
    "taints: the taint is gone": (
        True,
        turns("TaintToleration", pod("p"), node("n", taints=[TAINT]), node("n")),
    ),
    "taints: a taint that only deters is not in the way": (
        True,
        turns(
            "TaintToleration",
            pod("p"),
            node("n", taints=[TAINT]),
            node("n", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
        ),
    ),
    "taints: one of two taints is gone": (
        False,
        turns("TaintToleration", pod("p"), node("n", taints=[TAINT, {**TAINT, "key": "l"}]), node("n", taints=[TAINT])),
    ),
    "taints: the pod tolerates more": (
        True,
        becomes("TaintToleration", pod("p"), Pod.read(pod("p")), Pod.read(pod("p", **TOLERANT))),
    ),
    "taints: another pod tolerates more": (
        False,
        becomes("TaintToleration", pod("p"), bound(), bound(**TOLERANT)),
    ),
    "cordon: a node is uncordoned": (
        True,
        turns("NodeUnschedulable", pod("p"), node("n", unschedulable=True), node("n")),
    ),
    "cordon: a cordoned node came": (False, joins("NodeUnschedulable", pod("p"), node("n", unschedulable=True))),
    "cordon: the pod tolerates it": (
        True,
        becomes("NodeUnschedulable", pod("p"), Pod.read(pod("p")), Pod.read(pod("p", **CORDON))),
    ),
    "cordon: the pod tolerates something else": (
        False,
        becomes("NodeUnschedulable", pod("p"), Pod.read(pod("p")), Pod.read(pod("p", **TOLERANT))),
    ),
    "name: a node came": (True, joins("NodeName", pod("p"), node("n"))),
    "name: a node went": (False, happens("NodeName", pod("p"), NODE_DELETE, Node.read(node("n")), None)),
    "node affinity: a node that matches came": (
        True,
        joins("NodeAffinity", pod("p", nodeSelector={"x": "y"}), node("n", labels={"x": "y"})),
    ),
    "node affinity: a node that does not match came": (
        False,
        joins("NodeAffinity", pod("p", nodeSelector={"x": "y"}), node("n")),
    ),
    "node affinity: a node matches now": (
        True,
        turns("NodeAffinity", pod("p", nodeSelector={"x": "y"}), node("n"), node("n", labels={"x": "y"})),
    ),
    "node affinity: a node matched before": (
        False,
        turns(
            "NodeAffinity",
            pod("p", nodeSelector={"x": "y"}),
            node("n", labels={"x": "y"}),
            node("n", labels={"x": "y", "z": "z"}),
        ),
    ),
    "ports: whose port it is left": (
        True,
        gone(
            "NodePorts",
            listening(80),
            Pod.read(listening(80, on="one")),
        ),
    ),
    "ports: who uses another port left": (
        False,
        gone(
            "NodePorts",
            listening(80),
            Pod.read(listening(81, on="one")),
        ),
    ),
    "ports: who uses the port for another protocol left": (
        False,
        gone(
            "NodePorts",
            listening(80),
            Pod.read(listening(80, on="one", protocol="UDP")),
        ),
    ),
    "affinity: a friend came": (True, comes("InterPodAffinity", pod("p", affinity=ONE), bound(labels=LABELLED))),
    "affinity: a stranger came": (False, comes("InterPodAffinity", pod("p", affinity=ONE), bound())),
    "affinity: a friend waits, too": (
        False,
        comes("InterPodAffinity", pod("p", affinity=ONE), Pod.read(pod("o", labels=LABELLED))),
    ),
    "affinity: a pod became a friend": (
        True,
        becomes("InterPodAffinity", pod("p", affinity=ONE), bound(), bound(labels=LABELLED)),
    ),
    "affinity: a friend left": (False, gone("InterPodAffinity", pod("p", affinity=ONE), bound(labels=LABELLED))),
    "anti-affinity: a foe left": (True, gone("InterPodAffinity", pod("p", affinity=TWO), bound(labels=LABELLED))),
    "anti-affinity: who hates the pod left": (
        True,
        gone("InterPodAffinity", pod("p", labels=LABELLED), bound(affinity=TWO)),
    ),
    "anti-affinity: a foe became a friend": (
        True,
        becomes("InterPodAffinity", pod("p", affinity=TWO), bound(labels=LABELLED), bound()),
    ),
    "affinity: a node of a zone came": (True, joins("InterPodAffinity", pod("p", affinity=ONE), zoned("z"))),
    "affinity: a node of no zone came": (False, joins("InterPodAffinity", pod("p", affinity=ONE), zoned(None))),
    "anti-affinity: a node of no zone came": (True, joins("InterPodAffinity", pod("p", affinity=TWO), zoned(None))),
    "affinity: a node left its zone": (
        False,
        turns("InterPodAffinity", pod("p", affinity=ONE), zoned("z"), zoned(None)),
    ),
    "anti-affinity: a node left its zone": (
        True,
        turns("InterPodAffinity", pod("p", affinity=TWO), zoned("z"), zoned(None)),
    ),
    "affinity: a node moved": (True, turns("InterPodAffinity", pod("p", affinity=ONE), zoned("z"), zoned("y"))),
    "spread: a counted pod came": (
        True,
        comes("PodTopologySpread", pod("p", topologySpreadConstraints=spread()), bound(labels=LABELLED)),
    ),
    "spread: another pod came": (
        False,
        comes("PodTopologySpread", pod("p", topologySpreadConstraints=spread()), bound()),
    ),
    "spread: a counted pod left": (
        True,
        gone("PodTopologySpread", pod("p", topologySpreadConstraints=spread()), bound(labels=LABELLED)),
    ),
    "spread: a pod counts no longer": (
        True,
        becomes("PodTopologySpread", pod("p", topologySpreadConstraints=spread()), bound(labels=LABELLED), bound()),
    ),
    "spread: soft constraints reject nobody": (
        False,
        comes(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread(whenUnsatisfiable="ScheduleAnyway")),
            bound(labels=LABELLED),
        ),
    ),
    "spread: the pod tolerates more, where taints count": (
        True,
        becomes(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread(nodeTaintsPolicy="Honor")),
            Pod.read(pod("p")),
            Pod.read(pod("p", **TOLERANT)),
        ),
    ),
    "spread: the pod tolerates more, where taints do not count": (
        False,
        becomes(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread()),
            Pod.read(pod("p")),
            Pod.read(pod("p", **TOLERANT)),
        ),
    ),
    "spread: a node of a zone went": (
        True,
        happens(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread()),
            NODE_DELETE,
            Node.read(zoned("z")),
            None,
        ),
    ),
    "spread: a node of no zone went": (
        False,
        happens(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread()),
            NODE_DELETE,
            Node.read(zoned(None)),
            None,
        ),
    ),
    "spread: a node got a zone": (
        True,
        turns("PodTopologySpread", pod("p", topologySpreadConstraints=spread()), zoned(None), zoned("z")),
    ),
    "spread: a node got other labels": (
        False,
        turns(
            "PodTopologySpread",
            pod("p", topologySpreadConstraints=spread()),
            zoned("z"),
            node("n", labels={ZONE: "z", "x": "y"}),
        ),
    ),
    "features: a node came": (True, joins("NodeDeclaredFeatures", pod("p"), node("n"))),
    "features: a node got a label": (
        False,
        turns("NodeDeclaredFeatures", pod("p"), node("n"), node("n", labels={"x": "y"})),
    ),
    "features: the pod needs other ones": (
        True,
        becomes(
            "NodeDeclaredFeatures",
            pod("p"),
            Pod.read(pod("p", hostNetwork=True, hostUsers=False)),
            Pod.read(pod("p")),
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_wakes_whom_it_may_help(case: str) -> None:
    expected, found = CASES[case]
    assert found() == expected
