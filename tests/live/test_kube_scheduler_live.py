"""The engine beside the real kube-scheduler process on the real API server, pod by pod."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.evaluator import select_candidate
from kschedweb.engine.releases import load
from kschedweb.engine.state.snapshot import Snapshot
from tests.live.varied import Varied
from tests.support import tiers
from tests.support.kubescheduler import PodWatch, kube_scheduler

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live


SEED = tiers.seed()
NODES, PODS = 200, 500
GROUPS = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "Pod": "/api/v1/pods",
    "Service": "/api/v1/services",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
}
CONFIG: Json = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 100,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
    "profiles": [
        {
            "schedulerName": name,
            "pluginConfig": [
                # So that no candidate is left out by chance.
                {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 100}},
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": strategy}}},
            ],
        }
        for name, strategy in (("default-scheduler", "LeastAllocated"), ("packing", "MostAllocated"))
    ],
}


def path_of(item: Json) -> str:
    """Return the path at which objects of this kind and namespace are created."""
    namespace = item["metadata"].get("namespace")
    head, _, collection = GROUPS[item["kind"]].rpartition("/")
    return f"{head}/namespaces/{namespace}/{collection}" if namespace else f"{head}/{collection}"


@dataclass
class PlacementCheck:
    """The cluster as the API server has it, and the engine's snapshot of it, kept up pod by pod."""

    plane: ControlPlane
    watch: PodWatch
    scheduler: Scheduler
    outcomes: Counter[str] = field(default_factory=Counter)
    messages: set[str] = field(default_factory=set)

    def place(self, raw: Json) -> None:
        """Ask the engine about the pod as the API server would take it; then create it and see what becomes of it."""
        pod = Pod.from_json(self.plane.call("POST", f"{path_of(raw)}?dryRun=All", raw))
        explanation = self.scheduler.explain(pod, preemption=True)
        self.plane.call("POST", path_of(raw), raw)
        state = self.watch.wait_for(pod.key, decided, "is neither placed nor said to be unschedulable")
        if state["spec"].get("nodeName"):
            self.placed(state, explanation)
            return
        assert condition(state)["message"] == explanation.condition, f"seed {SEED}: {pod.key}"
        assert explanation.chosen is None
        self.messages.add(explanation.condition)
        if explanation.preemption is not None:
            self.forced(explanation)
            return
        self.outcomes["unschedulable"] += 1
        # Gone before the next one comes, or an event may let it in at a time of its own.
        self.plane.call("DELETE", f"{path_of(raw)}/{raw['metadata']['name']}")

    def placed(self, raw: Json, explanation: Explanation) -> None:
        best = [explanation.nodes[position] for position in explanation.best]
        node = raw["spec"]["nodeName"]
        assert node in best, f"seed {SEED}: {explanation.pod} is on {node}, best are {best} {explanation.condition}"
        self.run(raw)
        self.outcomes["placed"] += 1

    def run(self, raw: Json) -> None:
        """Let the pod start, and be on its node in the snapshot."""
        pod = Pod.from_json(start(self.plane, raw))
        self.scheduler.bind_pod(pod.on(""), pod.node_name)

    def forced(self, explanation: Explanation) -> None:
        """The pod had others evicted: from a node as good as the engine's, and exactly those; then it is placed."""
        state = self.watch.wait_for(
            explanation.pod, lambda pod: bool(pod["spec"].get("nodeName")), "is not placed at last"
        )
        snapshot = self.scheduler.snapshot
        evicted = {key for key in self.watch.deleted_keys() if key in snapshot.pods.slots}
        candidates = explanation.preemption.candidates
        matching = [candidate for candidate in candidates if {victim.key for victim in candidate.victims} == evicted]
        assert len(matching) == 1, f"seed {SEED}: {explanation.pod}: {evicted} had to go"
        assert select_candidate([*matching, *candidates]) is matching[0], (
            f"seed {SEED}: {explanation.pod}: {matching[0].node} is worse"
        )
        for key in evicted:
            snapshot.remove_pod(key)
        # The room made may be of use elsewhere too, and the pod may be tried before its nomination has come round.
        next_explanation = self.scheduler.explain(Pod.from_json(state).on(""))
        best = [next_explanation.nodes[position] for position in next_explanation.best]
        assert state["spec"]["nodeName"] in [matching[0].node, *best], f"seed {SEED}: {explanation.pod}"
        self.run(state)
        self.outcomes["by force"] += 1


def condition(pod: Json) -> Json:
    """Return the scheduler's condition of a pod that it could not place."""
    conditions = pod["status"].get("conditions", [])
    return next((item for item in conditions if item["type"] == "PodScheduled" and item["status"] == "False"), {})


def decided(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName") or condition(pod))


def create(plane: ControlPlane, item: Json) -> None:
    """Create an object with its status, which not every collection takes at once."""
    created = plane.call("POST", path_of(item), item)
    if item["kind"] == "PodDisruptionBudget":
        body = {"status": item["status"] | {"observedGeneration": created["metadata"]["generation"]}}
        plane.call("PATCH", f"{path_of(item)}/{item['metadata']['name']}/status", body)
    if item["kind"] == "Pod":
        start(plane, item)


def start(plane: ControlPlane, pod: Json) -> Json:
    """Say that the pod runs, as a kubelet would, each at a time of its own: victims are chosen by that."""
    number = int(pod["metadata"]["name"].removeprefix("pod-"))
    status = {"phase": "Running", "startTime": f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"}
    return plane.call("PATCH", f"{path_of(pod)}/{pod['metadata']['name']}/status", {"status": status})


def read_all(plane: ControlPlane) -> Snapshot:
    """The engine's snapshot of everything on the API server."""
    objects = []
    for kind, path in GROUPS.items():
        listed = plane.call("GET", path)
        objects += [item | {"kind": kind, "apiVersion": listed["apiVersion"]} for item in listed["items"]]
    snapshot = Snapshot.from_objects(objects, counting=plane.release.counting)
    assert snapshot.problems == []
    return snapshot


@pytest.fixture
def live(control_plane: ControlPlane) -> Iterator[tuple[PlacementCheck, Varied]]:
    """A varied cluster, read by kube-scheduler and by the engine."""
    varied = Varied(SEED)
    control_plane.create_nodes(varied.nodes(NODES))
    referents = list(varied.referents())
    for kind in GROUPS:  # in an order in which each finds what it refers to
        control_plane.parallel(
            lambda item: create(control_plane, item), [referent for referent in referents if referent["kind"] == kind]
        )
    control_plane.parallel(lambda pod: create(control_plane, pod), list(varied.bound()))
    loaded = load(CONFIG, control_plane.release)
    assert loaded.configuration is not None, loaded.errors
    with kube_scheduler(control_plane, CONFIG), contextlib.closing(PodWatch(control_plane)) as watch:
        yield PlacementCheck(control_plane, watch, Scheduler(read_all(control_plane), loaded.configuration)), varied
    control_plane.wipe()
    for item in referents:
        if item["kind"] != "Namespace":
            control_plane.request("DELETE", f"{path_of(item)}/{item['metadata']['name']}")


def test_each_pod_goes_where_the_engine_says_or_hears_its_words(live: tuple[PlacementCheck, Varied]) -> None:
    world, varied = live
    for pod in varied.pending(PODS):
        world.place(pod)
    assert world.outcomes.total() == PODS
    assert world.outcomes["placed"] > PODS // 2
    assert world.outcomes["unschedulable"] > PODS // 20
    assert world.outcomes["by force"] > 3
    assert len(world.messages) > 20
