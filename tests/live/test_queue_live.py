"""Pods that the real kube-scheduler tries again when something happens, and when, beside the simulation."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.config import Release
from kschedweb.engine.controllers.admission import TOLERATION_SECONDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.taints import NO_EXECUTE, NOT_READY, UNREACHABLE
from kschedweb.engine.queue.backoff_queue import WINDOW, BackoffQueue, align_to_window
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    Bound,
    NodeChanges,
    NodeLeaves,
    PodArrives,
    PodChanges,
    PodLeaves,
    Rejected,
    Simulation,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import node, pod
from tests.support.kubescheduler import kube_scheduler
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

PODS, NODES, CLASSES = (
    "/api/v1/namespaces/default/pods",
    "/api/v1/nodes",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
)
CONFIG: Json = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 1}
ATTEMPT = re.compile(r'\] "Attempting to schedule pod" .*?pod="default/([^"]+)"')
STAMP = re.compile(r"^I\d{4} (\d\d):(\d\d):(\d\d\.\d+)")
QUIET = 0.4  # seconds in which a scheduler with nothing to do says nothing
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def pinned_pod(name: str, *, on: str, labels: Json | None = None, **spec: Any) -> Json:
    """A pod for one node only, of which it is not known whether the node takes it."""
    spec = {"nodeSelector": {HOST: on}, "terminationGracePeriodSeconds": 0, **spec}
    return pod(name, labels=labels, **spec)


def term(app: str, key: str = HOST) -> Json:
    """A required affinity term about pods with that ``app``."""
    affinity_term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [affinity_term]}


def port(number: int) -> Json:
    return {"ports": [{"containerPort": number, "hostPort": number}]}


def spread(app: str) -> list[Json]:
    rule = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
    return [{**rule, "labelSelector": {"matchLabels": {"app": app}}}]


DEFAULTS = [  # what admission has added, and nobody may take away
    {"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": TOLERATION_SECONDS}
    for key in (NOT_READY, UNREACHABLE)
]
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
CLUSTER = [
    node("full", allocatable={"cpu": "1"}, labels={"x": "1"}),
    node("plain", labels={"x": "1"}),
    node("tainted", taints=[TAINT]),
    node("cordoned", unschedulable=True),
    node("other", labels={ZONE: "z"}),
    node("empty"),
]
BOUND = [
    pinned_pod("fills", on="full", requests={"cpu": "1"}),
    pinned_pod("listens", on="plain", container=port(8080)),
    pinned_pod("shuns", on="plain", labels={"app": "shuns"}, affinity={"podAntiAffinity": term("quiet")}),
    pinned_pod("counted", on="plain", labels={"app": "spread"}),
    pinned_pod("crowd-1", on="plain", labels={"app": "crowd"}),
    pinned_pod("crowd-2", on="plain", labels={"app": "crowd"}),
]
WAITING = [
    pinned_pod("fit", on="full", requests={"cpu": "500m"}),
    pinned_pod("too-large", on="full", requests={"cpu": "3"}),
    pinned_pod("port", on="plain", container=port(8080)),
    pinned_pod("other-port", on="full", container=port(9090), requests={"cpu": "1"}),
    pinned_pod("affinity", on="plain", affinity={"podAffinity": term("friend")}),
    pinned_pod("quiet", on="plain", labels={"app": "quiet"}),
    pinned_pod("anti", on="plain", affinity={"podAntiAffinity": term("shuns")}),
    pinned_pod("spread", on="plain", labels={"app": "spread"}, topologySpreadConstraints=spread("spread")),
    pinned_pod("crowded", on="plain", labels={"app": "crowd"}, topologySpreadConstraints=spread("crowd")),
    pinned_pod("taint", on="tainted"),
    pinned_pod("cordon", on="cordoned"),
    pod("label", nodeSelector={"wanted": "yes"}),
    pod("two-labels", nodeSelector={"wanted": "yes", "too": "yes"}),
    pinned_pod("gate", on="plain", schedulingGates=[{"name": "g"}, {"name": "h"}]),
]


@dataclass
class ClusterChange:
    """Something that happens: on the API server by ``call``, in the simulation as ``event``."""

    title: str
    call: tuple[str, str, Any]
    event: Callable[[float], SimulationEvent]
    tried_pods: set[str] = field(default_factory=set)


def delete(name: str) -> ClusterChange:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    call = ("DELETE", f"{PODS}/{name}", options)
    return ClusterChange(f"pod {name} is deleted", call, lambda now: PodLeaves(now, f"default/{name}"))


def arrive(raw: Json) -> ClusterChange:
    return ClusterChange(
        f"pod {raw['metadata']['name']} arrives", ("POST", PODS, raw), lambda now: PodArrives(now, raw)
    )


def change_pod(raw: Json, patch: Json) -> ClusterChange:
    """``patch`` is merged into the pod ``raw``, with lists replaced."""
    new = {**raw, **{part: {**raw.get(part, {}), **values} for part, values in patch.items()}}
    call = ("PATCH", f"{PODS}/{raw['metadata']['name']}", patch)
    return ClusterChange(f"pod {raw['metadata']['name']} gets {patch}", call, lambda now: PodChanges(now, new))


def change_node(name: str, patch: Json, status: bool = False, **changes: Any) -> ClusterChange:
    call = ("PATCH", f"{NODES}/{name}{'/status' if status else ''}", patch)
    return ClusterChange(f"node {name} gets {patch}", call, lambda now: NodeChanges(now, name, **changes))


def find_by_name(raws: list[Json], name: str) -> Json:
    return next(raw for raw in raws if raw["metadata"]["name"] == name)


def labels(name: str, **values: str) -> ClusterChange:
    return change_node(name, {"metadata": {"labels": values}}, labels=values)


STEPS = [
    labels("plain", unrelated="yes"),
    change_node("full", {"metadata": {"annotations": {"a": "b"}}}),
    change_node("full", {"status": {"allocatable": {"cpu": "1200m"}}}, status=True, allocatable={"cpu": "1200m"}),
    change_node("full", {"status": {"allocatable": {"memory": "9Gi"}}}, status=True, allocatable={"memory": "9Gi"}),
    change_node("full", {"status": {"allocatable": {"cpu": "3"}}}, status=True, allocatable={"cpu": "3"}),
    arrive(pinned_pod("stranger", on="other", labels={"app": "stranger"})),
    arrive(pinned_pod("friend", on="plain", labels={"app": "friend"})),
    change_pod(find_by_name(BOUND, "counted"), {"metadata": {"labels": {"app": "uncounted"}}}),
    change_pod(find_by_name(BOUND, "shuns"), {"metadata": {"labels": {"app": "likes"}}}),
    delete("listens"),
    delete("shuns"),
    delete("fills"),
    change_node("tainted", {"spec": {"taints": [TAINT, {**TAINT, "key": "l"}]}}, taints=(TAINT, {**TAINT, "key": "l"})),
    change_node("tainted", {"spec": {"taints": [TAINT]}}, taints=(TAINT,)),
    change_node("tainted", {"spec": {"taints": None}}, taints=()),
    change_node("other", {"spec": {"unschedulable": True}}, unschedulable=True),
    change_node("cordoned", {"spec": {"unschedulable": False}}, unschedulable=False),
    labels("other", wanted="yes"),
    labels("other", too="yes"),
    change_node("other", {"spec": {"unschedulable": False}}, unschedulable=False),
    change_pod(find_by_name(WAITING, "gate"), {"spec": {"schedulingGates": [{"name": "h"}]}}),
    change_pod(find_by_name(WAITING, "gate"), {"spec": {"schedulingGates": []}}),
    change_pod(find_by_name(WAITING, "too-large"), {"metadata": {"labels": {"new": "label"}}}),
    change_pod(find_by_name(WAITING, "too-large"), {"spec": {"tolerations": [*DEFAULTS, {"operator": "Exists"}]}}),
    ClusterChange("node empty is deleted", ("DELETE", f"{NODES}/empty", None), lambda now: NodeLeaves(now, "empty")),
    delete("too-large"),
    arrive(pinned_pod("urgent", on="full", requests={"cpu": "2900m"}, priorityClassName="urgent")),
    arrive(pinned_pod("late", on="full", requests={"cpu": "200m"})),
    delete("urgent"),
]


class Log:
    """Log of a verbose kube-scheduler."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def attempts(self) -> list[tuple[float, str]]:
        """(second of the day, pod) of every try since the last call, once it has been quiet."""
        size = -1
        while size != (size := self._path.stat().st_size):
            time.sleep(QUIET)
        with self._path.open() as file:
            file.seek(self._read)
            text = file.read()
            self._read = file.tell()
        tries = []
        for line in text.splitlines():
            if (attempt := ATTEMPT.search(line)) and (stamp := STAMP.match(line)):
                hours, minutes, seconds = stamp.groups()
                tries.append((int(hours) * 3600 + int(minutes) * 60 + float(seconds), attempt[1]))
        return tries


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.call("POST", CLASSES, URGENT)
    yield control_plane
    control_plane.wipe()
    control_plane.call("DELETE", f"{CLASSES}/urgent")


@pytest.mark.nightly
def test_the_same_pods_are_tried_again_when_the_same_things_happen(plane: ControlPlane) -> None:
    plane.create_nodes(CLUSTER)
    with kube_scheduler(plane, CONFIG, verbosity=5) as path:
        log = Log(path)
        for raw in BOUND + WAITING:
            plane.call("POST", PODS, raw)
            log.attempts()
        for step in STEPS:
            method, address, body = step.call
            plane.call(method, address, body)
            step.tried_pods = {name for _, name in log.attempts()}
        pods = plane.call("GET", PODS)["items"]
    tried_by_step = {step.title: step.tried_pods for step in STEPS}
    expected, placed = simulated(plane.release)
    assert expected == tried_by_step
    assert placed == {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}
    assert {raw["metadata"]["name"] for raw in WAITING} <= set().union(*tried_by_step.values())


def simulated(release: Release) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Return the pods that the simulation tries in each step, and the nodes of pods at the end."""
    configuration = load(CONFIG, release).configuration
    assert configuration is not None
    begin, interval = 10.0, 20.0
    pods = [PodArrives(float(number) / 10, raw) for number, raw in enumerate(BOUND + WAITING)]
    times = [begin + interval * number for number in range(len(STEPS))]
    events = [step.event(at) for step, at in zip(STEPS, times, strict=True)]
    settings = SimulationSettings(controllers=False)
    simulation = Simulation([*CLUSTER, URGENT], configuration, [*pods, *events], settings)
    result = simulation.run(times[-1] + interval - 1)
    outcomes: list[Bound | Rejected] = [*result.bound, *result.rejected]
    tries = [(outcome.time, outcome.pod.removeprefix("default/")) for outcome in outcomes]
    tried_by_step = {
        step.title: {name for time, name in tries if at <= time < at + interval}
        for step, at in zip(STEPS, times, strict=True)
    }
    return tried_by_step, {life.pod.name: life.pod.node_name for life in simulation.pods.lives.values()}


def test_a_gated_pod_keeps_the_room_that_it_was_promised_or_not(plane: ControlPlane) -> None:
    """It was nominated by a kube-scheduler that ran before; the one that runs now learns of it when it is added."""
    only_node, comes = node("only"), pod("comes", requests={"cpu": "2"})
    gated = pod("gated", requests={"cpu": "3"}, schedulingGates=[{"name": "g"}])
    nominated = {"status": {"nominatedNodeName": "only"}}
    plane.create_nodes([only_node])
    plane.call("POST", PODS, gated)
    plane.call("PATCH", f"{PODS}/gated/status", nominated)
    with kube_scheduler(plane, CONFIG, verbosity=5) as path:
        plane.call("POST", PODS, comes)
        attempted = [name for _, name in Log(path).attempts()]
        stored_pod = plane.call("GET", f"{PODS}/comes")
    configuration = load(CONFIG, plane.release).configuration
    assert configuration is not None
    simulation = Simulation([only_node, gated | nominated], configuration, [PodArrives(1.0, comes)])
    result = simulation.run(20.0)
    assert attempted == ["comes"]
    assert stored_pod["spec"].get("nodeName", "") == next((entry.node for entry in result.bound), "")
    messages = [entry.message for entry in result.rejected]
    assert [
        entry["message"] for entry in stored_pod["status"].get("conditions", []) if entry["status"] == "False"
    ] == messages


@pytest.mark.nightly
def test_a_pod_after_errors_is_tried_when_its_backoff_has_ended(plane: ControlPlane) -> None:
    """A missing node counts as an error: such a pod waits longer each time, and is not taken early."""
    with kube_scheduler(plane, CONFIG, verbosity=5) as path:
        plane.call("POST", PODS, pod("lonely"))
        log, tries = Log(path), list[float]()

        def enough() -> bool:
            tries.extend(second for second, _ in log.attempts())
            return len(tries) >= 5

        wait_until(enough, "five tries", step=0.1)
    backoff = BackoffQueue(1, 10, lambda first, other: False)
    for count, (before, after) in enumerate(pairwise(tries), start=1):
        due = align_to_window(before + backoff.calculate_backoff_duration(count)) + WINDOW
        assert due <= after < due + 0.8, json.dumps(tries)
