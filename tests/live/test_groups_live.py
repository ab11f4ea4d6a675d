"""Groups of pods beside the real kube-scheduler 1.37 on a real API server that has them, gang by gang."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import SCHEDULED, PodGroup
from kschedweb.engine.releases import get_release, load, write_gates
from kschedweb.engine.state.snapshot import Snapshot
from tests.engine.builders import CONFIGURATION, node
from tests.engine.gangs import group, member
from tests.support import tiers
from tests.support.controlplane import ControlPlane
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.needs import missing
from tests.support.processes import wait_until

pytestmark = pytest.mark.live


SEED = tiers.seed()
NODES, GANGS = 40, tiers.count(40, 100)
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True, "OpportunisticBatching": False}
SERVED = ["--feature-gates", write_gates({name: on for name, on in GATES.items() if on})]
SERVED += ["--runtime-config", "scheduling.k8s.io/v1beta1=true"]
PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
# What a pod prefers decides before all other scores, so that none of equally good nodes is left to chance.
DECIDES = {"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 1000}]}}
CONFIG = CONFIGURATION | {
    "percentageOfNodesToScore": 100,
    "profiles": [{"schedulerName": "default-scheduler", "plugins": DECIDES}],
}
RACK = "example.com/rack"


@pytest.fixture(scope="module")
def plane(assets: Path) -> Iterator[ControlPlane]:
    """An API server that has PodGroups."""
    with tempfile.TemporaryDirectory(prefix="kschedweb-control-plane-") as folder:
        plane = ControlPlane(assets, Path(folder), flags=SERVED)
        if not plane.release.behaviour.pod_group_entities:
            missing("KUBEBUILDER_ASSETS holds a release without PodGroups")
        with plane.started():
            yield plane


def nodes(random: Random) -> list[Json]:
    """Racks of eight nodes of different sizes."""
    return [
        node(
            f"n{number:02}",
            labels={RACK: f"r{number // 8}", "disk": random.choice(["ssd", "hdd"])},
            taints=[{"key": "spot", "effect": "NoSchedule"}] if number % 9 == 0 else [],
            allocatable={"cpu": f"{8000 + 137 * number}m", "memory": f"{16384 + 301 * number}Mi"},
        )
        for number in range(NODES)
    ]


def preferring(random: Random) -> Json:
    """An affinity that likes each node to a degree of its own."""
    degrees = random.sample(range(1, NODES + 1), NODES)
    return {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": degree,
                    "preference": {
                        "matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [f"n{number:02}"]}]
                    },
                }
                for number, degree in enumerate(degrees)
            ]
        }
    }


def gang(random: Random, number: int) -> tuple[Json, list[Json]]:
    """A group and its pods, which are alike but for their size."""
    name, size = f"gang-{number:03}", random.randint(2, 6)
    whole = {"cpu": random.choice(["300m", "1", "1500m", "30"]), "memory": random.choice(["256Mi", "1Gi", "3Gi"])}
    spec: Json = {"affinity": preferring(random)}
    spec |= {"nodeSelector": {"disk": "ssd"}} if random.random() < 0.3 else {}
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    pods = [member(f"{name}-{place}", name, labels={"gang": name}, requests=whole, **spec) for place in range(size)]
    if random.random() < 0.2:  # one that fits nowhere
        pods[random.randrange(size)]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "40"
    # All of them are needed, so that none is tried before the last one is known.
    return group(name, size, topology=RACK if random.random() < 0.3 else ""), pods


def get_condition(item: Json, kind: str) -> Json:
    """The condition of that kind, without times."""
    conditions = item.get("status", {}).get("conditions", [])
    condition: Json = next((entry for entry in conditions if entry["type"] == kind), {})
    return {"type": kind} | {key: condition.get(key, "") for key in ("status", "reason", "message")}


def test_gangs_go_where_the_engine_says_or_hear_its_words(plane: ControlPlane) -> None:
    random = Random(SEED)
    plane.create_nodes(nodes(random))
    loaded = load(CONFIG, get_release("1.37", GATES))
    assert loaded.configuration is not None, loaded.errors
    listed = plane.call("GET", "/api/v1/nodes")["items"]
    snapshot = Snapshot.from_objects({**item, "apiVersion": "v1", "kind": "Node"} for item in listed)
    engine, outcomes = Scheduler(snapshot, loaded.configuration), Counter[str]()
    with (
        kube_scheduler(plane, CONFIG, gates=write_gates(GATES)),
        contextlib.closing(PodWatch(plane)) as watch,
    ):
        for number in range(GANGS):
            raw, members = gang(random, number)
            outcomes[told_at_last(plane, watch, engine, raw, members)] += 1
    assert outcomes.total() == GANGS
    assert min(outcomes["all"], outcomes["none"]) > GANGS // 10


def told_at_last(plane: ControlPlane, watch: PodWatch, engine: Scheduler, raw: Json, members: list[Json]) -> str:
    """``compare``, again where kube-scheduler tried pods before it had seen all of them, as it may."""
    for attempt in range(3):
        pods = [Pod.from_json(plane.call("POST", PODS, pod)) for pod in members]
        group = PodGroup.from_json(plane.call("POST", GROUPS, raw))
        try:
            return compare(plane, watch, engine, group, pods)
        except TimeoutError:
            states = [plane.call("GET", f"{PODS}/{pod.name}") for pod in pods]
            if attempt == 2 or any(state["spec"].get("nodeName") for state in states):
                raise
            for pod in pods:
                plane.call("DELETE", f"{PODS}/{pod.name}?gracePeriodSeconds=0")
            remove(plane, group.name)
    raise AssertionError


def remove(plane: ControlPlane, name: str) -> None:
    """Take a group away at once, which nobody else does: no controller runs that would lift its protection."""
    plane.call("DELETE", f"{GROUPS}/{name}")
    with contextlib.suppress(RuntimeError):  # one that has no finalizer is gone
        plane.call("PATCH", f"{GROUPS}/{name}", {"metadata": {"finalizers": None}})


def compare(plane: ControlPlane, watch: PodWatch, engine: Scheduler, group: PodGroup, pods: list[Pod]) -> str:
    """Hold what becomes of the group against the engine, and take it away again where it found no place."""
    path = f"{GROUPS}/{group.name}"
    engine.snapshot.objects.groups.put_group(group)
    group_placement = engine.find_group(group, pods)

    def read_condition() -> Json:
        return get_condition(plane.call("GET", path), SCHEDULED)

    # A group that is not in kube-scheduler's snapshot yet ends in an error, and is tried again.
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: read_condition() == group_placement.condition, f"{group.key} is tried", step=0.05)
    assert read_condition() == group_placement.condition, f"seed {SEED}: {group.key}"
    ways = possible(group_placement)
    for place, pod in enumerate(pods):
        ours = [way[place] for way in ways if place < len(way)]
        words = {placement.condition for placement in ours if not placement.node}
        state = watch.wait_for(pod.key, partial(decided, words), f"is not placed and does not hear {words}")
        node = state["spec"].get("nodeName", "")
        ways = [way for way in ways if place < len(way) and way[place].node == node]
        assert ways, f"seed {SEED}: {pod.key} is on {node!r}: {ours}"
        if node:
            engine.bind_pod(pod, node)
        else:
            plane.call("DELETE", f"{PODS}/{pod.name}?gracePeriodSeconds=0")
    if not group_placement.placed:
        remove(plane, group.name)
        return "none"
    return "all"


def possible(group_placement: GroupPlacement) -> list[tuple[Placement, ...]]:
    """List the possible outcomes for the pods: the choice and report of equally good domains is left to chance."""
    best = max((score.total for score in group_placement.scores), default=0)
    good = {score.domain.name for score in group_placement.scores if score.total == best}
    alternatives = [
        attempt.placements
        for attempt in group_placement.tries
        if not group_placement.placed or attempt.domain.name in good
    ]
    return [group_placement.placements, *alternatives]


def decided(words: set[str], pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) or get_condition(pod, "PodScheduled")["message"] in words
