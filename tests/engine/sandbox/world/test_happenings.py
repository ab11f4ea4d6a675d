"""Happenings of the sandbox: it lives, within bounds, and leaves the cluster as its objects say."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.labels import QUEUE_LABEL
from kschedweb.engine.sandbox.clock_validation import NAME
from kschedweb.engine.sandbox.resources import CLOCK, NODE, POD
from kschedweb.engine.sandbox.store import StoreChange
from kschedweb.engine.sandbox.world.happenings import MOST_PODS
from kschedweb.engine.sandbox.world.pods import get_condition, is_pod_active, is_pod_ready
from kschedweb.engine.sandbox.world.resources import DAEMON_SET, DEPLOYMENT, JOB, STATEFUL_SET
from tests.engine.sandbox.living import Living
from tests.support.tiers import one_of

ALL = ("default-scheduler", "guarded", "extended")


class Watched(Living):
    """A sandbox from the catalogue; what must always hold is looked at with each change."""

    def __init__(self, seed: int) -> None:
        super().__init__(schedulers=ALL, seed=seed, quiet=False, catalogue=True)
        self.nodes: dict[str, str] = {}  # uid of a pod -> its node
        self.seen: Counter[str] = Counter()
        self.most = 0
        self.watch()

    def watch(self) -> None:
        self.version = self.store.version
        self.store.add_listener(self._check)

    def restart(self) -> None:
        super().restart()
        self.watch()

    def _check(self, change: StoreChange) -> None:
        assert change.version == self.version + 1 == int(change.last["metadata"]["resourceVersion"])
        self.version = change.version
        if change.resource is POD:
            metadata, node = change.last["metadata"], change.last["spec"].get("nodeName") or ""
            assert self.nodes.setdefault(metadata["uid"], node) in ("", node), "a pod moved to another node"
            self.nodes[metadata["uid"]] = node
            self.most = max(self.most, self.store.count_objects(POD))
        if change.resource.kind == "Event" and change.new is not None and change.old is None:
            self.seen[change.new.get("reason") or ""] += 1

    def quieten(self) -> None:
        """Nothing happens by itself from now on; what is under way comes to its end."""
        self.merge(CLOCK, NAME, {"spec": {"happenings": False}})
        self.live(45 * 60 / self.world.clock.pace.speed)


def settled(living: Living) -> None:
    for resource in (DEPLOYMENT, STATEFUL_SET):
        for raw in living.all(resource):
            assert raw["status"].get("readyReplicas", 0) == raw["spec"]["replicas"], raw["metadata"]["name"]
    nodes = living.all(NODE)
    for raw in living.all(DAEMON_SET):
        assert raw["status"]["numberReady"] == len(nodes)
    assert all((get_condition(raw, "Ready") or {})["status"] == "True" for raw in nodes)
    assert not any(raw["spec"].get("unschedulable") for raw in nodes)
    names = {raw["metadata"]["name"] for raw in nodes}
    # Jobs that queue for quota go on for longer: others start when one ends.
    queued = {raw["metadata"]["uid"] for raw in living.all(JOB) if QUEUE_LABEL in (raw["metadata"].get("labels") or {})}
    pods = [raw for raw in living.all(POD) if raw["metadata"]["ownerReferences"][0]["uid"] not in queued]
    assert all(raw["spec"].get("nodeName") in names for raw in pods)
    assert all(is_pod_ready(raw) for raw in pods if is_pod_active(raw))
    assert all(raw["metadata"]["uid"] in queued for raw in living.all(JOB))


def test_the_catalogue_comes_to_rest_as_it_says() -> None:
    living = Watched(seed=20)
    living.merge(CLOCK, NAME, {"spec": {"happenings": False}})
    living.live(60.0)
    settled(living)
    assert len(living.all(NODE)) == 40
    assert 140 <= len(living.all(POD)) <= 220
    schedulers = Counter(raw["spec"]["schedulerName"] for raw in living.all(POD))
    assert set(schedulers) == set(ALL)
    assert {raw["metadata"]["namespace"] for raw in living.all(POD) if raw["spec"]["schedulerName"] == "guarded"} == {
        "payments"
    }


@pytest.mark.parametrize(("seed", "speed"), one_of((20, 60), (7, 30)))
def test_much_happens_within_bounds_and_then_all_is_as_wanted(seed: int, speed: int) -> None:
    living = Watched(seed)
    living.merge(CLOCK, NAME, {"spec": {"speed": speed}})
    living.live(2 * 3600 / speed)
    living.restart()
    living.live(3600 / speed)
    happened = ("SuccessfulCreate", "ScalingReplicaSet", "Completed", "FailedScheduling", "NodeNotReady", "NodeReady")
    assert all(living.seen[reason] for reason in happened), living.seen
    assert living.most <= MOST_PODS + 40
    living.quieten()
    settled(living)


def test_a_person_can_follow_it() -> None:
    """At the speed of a clock something visible happens each 10 to 30 seconds on average."""
    living = Watched(seed=20)
    living.live(120.0)
    times: list[float] = []

    def visible(change: StoreChange) -> None:
        if change.resource in (DEPLOYMENT, JOB, POD) and _state(change.old) != _state(change.new):
            times.append(living.now)

    living.store.add_listener(visible)
    living.live(1800.0)
    bursts = 1 + sum(later - earlier > 3.0 for earlier, later in itertools.pairwise(times))
    assert 10 <= 1800 / bursts <= 30


def _state(raw: Json | None) -> object:
    """Return a pod's state as a person sees it; of other objects only whether they are gone."""
    if raw is None or raw["kind"] != POD.kind:
        return raw is None
    return raw["spec"].get("nodeName"), raw["status"].get("phase"), "deletionTimestamp" in raw["metadata"]


def test_the_same_seed_has_the_same_happen() -> None:
    first, second = (Watched(seed=5) for _ in range(2))
    for living in (first, second):
        living.live(240.0)
    assert first.seen == second.seen
    assert [raw["metadata"]["name"] for raw in first.all(POD)] == [raw["metadata"]["name"] for raw in second.all(POD)]
    third = Watched(seed=6)
    third.live(240.0)
    assert third.seen != first.seen


def test_maintenance_cordons_drains_and_ends() -> None:
    living = Watched(seed=20)
    living.merge(CLOCK, NAME, {"spec": {"happenings": False}})
    living.live(60.0)
    name = next(raw["spec"]["nodeName"] for raw in living.all(POD) if raw["metadata"]["namespace"] == "shop")
    note = {"sandbox.kschedweb.dev/maintenance-for": "5m"}
    living.merge(NODE, name, {"metadata": {"annotations": note}})
    living.live(120.0)
    living.restart()
    assert living.get(NODE, name)["spec"]["unschedulable"] is True
    pods_on_node = [raw for raw in living.all(POD) if raw["spec"].get("nodeName") == name]
    assert {raw["metadata"]["ownerReferences"][0]["kind"] for raw in pods_on_node} == {"DaemonSet"}
    living.live(200.0)
    settled(living)
