"""Whatever happens to a cluster, in whatever order it is heard of: nothing is bound twice, forgotten, or believed."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kschedweb.engine import Snapshot
from kschedweb.engine.live import BindPod, HoldPod, Intent, Superseded, WaitAtPermit
from tests.engine.builders import node, pod
from tests.engine.live.loops import CONFIGURATION, HOLDER, HOUR, WAITER, contents, judgements, live
from tests.engine.live.store import Store

NODES, PODS = ["a", "b", "c", "d"], [f"p{number}" for number in range(8)]
NODE_NAMES, POD_NAMES = st.sampled_from(NODES), st.sampled_from(PODS)
KINDS = st.sampled_from(
    ["Node", "Pod", "Service", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode"]
)
REQUESTS = st.sampled_from([{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "3"}, {}])
ZONES = st.sampled_from(["", "east", "west"])
TAINTS = st.sampled_from([[], [{"key": "k", "effect": "NoSchedule"}]])
EXAMPLES = int(os.environ.get("LIVE_EXAMPLES", "40"))
LONG_AGO = "2026-01-01T00:00:00Z"
WEB = {"app": "web"}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
    }
]
ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": WEB}}
        ]
    }
}
EXTRAS: list[dict[str, Any]] = [
    {},
    {"priority": 100},
    {"topologySpreadConstraints": SPREAD},
    {"affinity": ANTI_AFFINITY},
    {"container": {"ports": [{"hostPort": 80, "containerPort": 80}]}},
    {"schedulingGates": [{"name": "closed"}]},
    {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
    {"schedulerName": "another"},
]
PROBES = [
    pod("probe", requests={"cpu": "1"}),
    pod("probe", labels=WEB, topologySpreadConstraints=SPREAD),
    pod("probe", labels=WEB, affinity=ANTI_AFFINITY),
    pod("probe", container={"ports": [{"hostPort": 80, "containerPort": 80}]}),
    pod("probe", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
]


def claim(volume: str) -> dict[str, Any]:
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "annotations": bound},
        "spec": {"storageClassName": "csi", "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {
            "storageClassName": "csi",
            "capacity": {"storage": "2Gi"},
            "csi": {"driver": "csi.example", "volumeHandle": "disk"},
            **affinity,
        },
        "status": {"phase": "Available"},
    }


def make_other_object(kind: str, variant: str) -> dict[str, Any]:
    """An object of ``kind`` that differs by ``variant``, one of the zones."""
    match kind:
        case "PersistentVolumeClaim":
            return claim("disk" if variant == "east" else "")
        case "PersistentVolume":
            return volume(variant)
        case "StorageClass":
            mode = "Immediate" if variant == "west" else "WaitForFirstConsumer"
            return {"kind": kind, "metadata": {"name": "csi"}, "provisioner": "csi.example", "volumeBindingMode": mode}
        case "CSINode":
            drivers = [{"name": "csi.example", "allocatable": {"count": 1 if variant else 9}}]
            return {"kind": kind, "metadata": {"name": "a"}, "spec": {"drivers": drivers}}
        case "Service":
            selector = {"app": variant or "web"}
            return {"kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": selector}}
        case _:
            return {"kind": "Namespace", "metadata": {"name": "default", "labels": {"zone": variant}}}


class Live(RuleBasedStateMachine):
    """A cluster that changes, a live loop that hears of it late, and people who answer or do not."""

    configured = CONFIGURATION

    def __init__(self) -> None:
        super().__init__()
        self.store, self.loop, self.now = Store(), live(self.configured), 1_700_000_000.0
        self.writes: list[BindPod] = []  # bindings on their way
        self.asked: dict[str, HoldPod] = {}  # uid -> the request that is stored
        self.approved: set[str] = set()

    # What the loop wants.

    def take(self, intents: list[Intent]) -> None:
        for intent in intents:
            match intent:
                case BindPod():
                    assert intent.pod.uid not in {write.pod.uid for write in self.writes}, "bound twice at once"
                    assert intent.pod.uid not in self.asked or intent.pod.uid in self.approved, "bound unapproved"
                    self.asked.pop(intent.pod.uid, None)
                    self.writes.append(intent)
                case HoldPod():
                    assert intent.pod.uid not in self.asked, "asked twice"
                    assert intent.ask["node"] == intent.node
                    self.asked[intent.pod.uid] = intent
                    self.approved.discard(intent.pod.uid)
                case Superseded():
                    self.asked.pop(intent.pod.uid, None)
                case WaitAtPermit():
                    pass
                case _:
                    self.store.carry_out(intent)

    @rule()
    def step(self) -> None:
        self.take(self.loop.step(self.now))

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 40.0, 100.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.writes)
    @rule(number=st.integers(0, 7), heard=st.booleans())
    def write(self, number: int, heard: bool) -> None:
        """A binding reaches the server; its watch event may be heard before the answer."""
        intent = self.writes.pop(number % len(self.writes))
        refused = self.store.bind(intent)
        while heard and self.store.streams.get("Pod"):
            self.take(self.store.deliver(self.loop, "Pod", self.now))
        if refused:
            self.take(self.loop.bind_failed(intent.pod.uid, refused, self.now))
        else:
            self.loop.on_bound(intent.pod.uid, self.now)

    @precondition(lambda self: self.asked)
    @rule(number=st.integers(0, 7), yes=st.booleans())
    def answer(self, number: int, yes: bool) -> None:
        uid = list(self.asked)[number % len(self.asked)]
        self._answer(uid, yes)

    def _answer(self, uid: str, yes: bool) -> None:
        if yes:
            self.approved.add(uid)
            self.take(self.loop.allow_pod(uid, HOLDER, self.now))
        else:
            self.asked.pop(uid)
            self.take(self.loop.reject_pod(uid, HOLDER, "not today", self.now))

    @rule()
    def restart(self) -> None:
        """The process dies with everything that it knew but the requests that were stored."""
        self.loop = live(self.configured)
        for kind in list(self.store.objects):
            self.take(self.store.relist(self.loop, kind, self.now))
        for intent in self.writes:  # those of the dead process may still arrive
            self.store.bind(intent)
        self.writes = []
        for uid, held_pod in list(self.asked.items()):
            self.take(self.loop.restore_reservation(uid, held_pod.node, HOLDER, self.now + HOUR, self.now))
            if uid in self.approved and uid in self.asked:
                self._answer(uid, yes=True)

    @rule()
    def leadership_is_lost_and_won(self) -> None:
        self.loop.forget_reservations(self.now)
        self.asked, self.approved = {}, set()
        for intent in self.writes:
            self.store.bind(intent)
        self.writes = []

    # What is heard.

    @rule(kind=KINDS, number=st.integers(1, 5))
    def hear(self, kind: str, number: int) -> None:
        for _ in range(number):
            if self.store.streams.get(kind):
                self.take(self.store.deliver(self.loop, kind, self.now))

    @rule(kind=KINDS)
    def relist(self, kind: str) -> None:
        self.take(self.store.relist(self.loop, kind, self.now))

    @precondition(lambda self: self.store.list_pending_kinds())
    @rule()
    def hear_again(self) -> None:
        """An event is delivered twice."""
        kind = self.store.list_pending_kinds()[0]
        self.store.streams[kind].appendleft(self.store.streams[kind][0])
        self.hear(kind, 2)

    # What happens.

    @initialize()
    def begin(self) -> None:
        for name in NODES[:2]:
            self.store.put(node(name, labels={"zone": "east"}))

    @rule(name=NODE_NAMES, zone=ZONES, taints=TAINTS, cordoned=st.booleans(), cpu=st.sampled_from(["4", "2"]))
    def node_is_written(self, name: str, zone: str, taints: list, cordoned: bool, cpu: str) -> None:
        raw = node(name, labels={"zone": zone}, taints=taints, unschedulable=cordoned, allocatable={"cpu": cpu})
        stored = self.store.objects["Node"].get(f"/{name}")
        if stored is not None:
            raw["metadata"]["uid"] = stored["metadata"]["uid"]
        self.store.put(raw)

    @rule(name=NODE_NAMES)
    def heartbeat(self, name: str) -> None:
        if f"/{name}" in self.store.objects["Node"]:
            condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": str(self.now)}
            self.store.change("Node", f"/{name}", lambda raw: raw["status"].update(conditions=[condition]))

    @rule(name=NODE_NAMES)
    def node_leaves(self, name: str) -> None:
        if f"/{name}" in self.store.objects["Node"]:
            self.store.delete("Node", f"/{name}")

    @rule(
        name=POD_NAMES,
        requests=REQUESTS,
        labels=st.sampled_from([{}, WEB, {HOLDER: "x"}, {WAITER: "x"}, {HOLDER: "x", WAITER: "x"}]),
        extra=st.sampled_from(EXTRAS),
    )
    def pod_is_created(self, name: str, requests: dict, labels: dict, extra: dict) -> None:
        """Instead of one that was there under that name, if there was."""
        if f"default/{name}" in self.store.objects.get("Pod", {}):
            self.store.delete("Pod", f"default/{name}")
        self.store.put(pod(name, requests=requests, labels=labels, **dict(extra)))

    @rule(name=POD_NAMES, on=NODE_NAMES)
    def another_scheduler_binds(self, name: str, on: str) -> None:
        raw = self.store.objects.get("Pod", {}).get(f"default/{name}")
        if raw is not None and not raw["spec"].get("nodeName") and not raw["spec"].get("schedulingGates"):
            self.store.change("Pod", f"default/{name}", lambda raw: raw["spec"].update(nodeName=on))

    @rule(name=POD_NAMES, change=st.sampled_from(["runs", "ends", "labels", "gates", "deleted", "terminating"]))
    def pod_changes(self, name: str, change: str) -> None:
        key = f"default/{name}"
        raw = self.store.objects.get("Pod", {}).get(key)
        if raw is None:
            return
        match change:
            case "runs":
                self.store.change("Pod", key, lambda raw: raw.setdefault("status", {}).update(phase="Running"))
            case "ends" if raw["spec"].get("nodeName"):
                self.store.change("Pod", key, lambda raw: raw.setdefault("status", {}).update(phase="Succeeded"))
            case "labels":
                self.store.change("Pod", key, lambda raw: raw["metadata"]["labels"].update(WEB))
            case "gates":
                self.store.change("Pod", key, lambda raw: raw["spec"].pop("schedulingGates", None))
            case "deleted":
                self.store.delete("Pod", key)
            case "terminating":
                self.store.change(
                    "Pod", key, lambda raw: raw["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z")
                )

    @rule(
        kind=st.sampled_from(
            ["Service", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode"]
        ),
        variant=ZONES,
        is_present=st.booleans(),
    )
    def other_object(self, kind: str, variant: str, is_present: bool) -> None:
        raw = make_other_object(kind, variant)
        name = f"{raw['metadata'].get('namespace') or ''}/{raw['metadata']['name']}"
        if is_present:
            self.store.put(raw)
        elif name in self.store.objects.get(kind, {}):
            self.store.delete(kind, name)

    # What must hold.

    @invariant()
    def nothing_is_bound_twice(self) -> None:
        uids = [uid for uid, _ in self.store.bound]
        assert len(uids) == len(set(uids))

    @invariant()
    def who_is_held_is_known(self) -> None:
        waiting = {waiting_pod.uid: plugins for waiting_pod, _, plugins in self.loop.list_waiting()}
        assert {uid for uid, plugins in waiting.items() if HOLDER in plugins} == set(self.asked) - self.approved

    def teardown(self) -> None:
        """Let everything be heard and answered; then the loop knows what the server knows."""
        for _ in range(60):
            for kind in self.store.list_pending_kinds():
                while self.store.streams[kind]:
                    self.take(self.store.deliver(self.loop, kind, self.now))
            while self.writes:
                self.write(0, heard=True)
            for uid in list(self.asked):
                self._answer(uid, yes=uid not in self.approved)
            for waiting_pod, _, plugins in self.loop.list_waiting():
                if WAITER in plugins:
                    self.take(self.loop.allow_pod(waiting_pod.uid, WAITER, self.now))
            self.now += 20.0
            for _ in range(40):
                self.take(self.loop.step(self.now))
            if not (
                self.store.list_pending_kinds()
                or self.writes
                or self.asked
                or self.loop.depths.waiting
                or self.loop.is_ready
            ):
                break
        else:
            raise AssertionError(f"it never came to rest: {self.loop.depths}")
        assert self.loop.depths.binding == 0
        assert not self.loop.problems
        self._all_are_known()
        fresh = Snapshot.from_objects(self.store.everything())
        live_snapshot = self.loop.snapshot
        assert contents(live_snapshot) == contents(fresh)
        assert judgements(live_snapshot, PROBES) == judgements(fresh, PROBES)

    def _all_are_known(self) -> None:
        """The queue has all pods that wait for a node, and none else."""
        pending = {
            key: bool(raw["metadata"].get("deletionTimestamp"))
            for key, raw in self.store.objects.get("Pod", {}).items()
            if not raw["spec"].get("nodeName")
            and raw["spec"].get("schedulerName", "default-scheduler") == "default-scheduler"
            and raw.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        }
        queued = self._queued()
        assert {key for key, terminating in pending.items() if not terminating} <= queued <= set(pending)

    def _queued(self) -> set[str]:
        queue = self.loop._queue
        parts = (queue.active, queue.backoff, queue.unschedulable)
        return {member.key for part in parts for entity in part for member in entity.members}


SETTINGS = settings(
    max_examples=EXAMPLES, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
Live.TestCase.settings = SETTINGS
TestLive = Live.TestCase
