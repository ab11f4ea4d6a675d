"""The demo cluster: the same from the same seed, full of every kind of reason, and honest about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from kschedweb.clusters import demo
from kschedweb.clusters.demo_catalog import PENDING, Pending
from kschedweb.clusters.kinds import QUEUE_KINDS
from kschedweb.clusters.models import Cluster, PodRow
from kschedweb.clusters.selectors import snapshot_current, snapshot_objects
from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.releases import load
from tests.support.demo import without_groups

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
FITTING = [entry for entry in PENDING if not entry.plugin]


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    return demo.generate_cluster()


def scheduler(objects: list[dict[str, Any]], **profile: Any) -> Scheduler:
    configuration = load(HEAD | {"profiles": [{"schedulerName": "default-scheduler", **profile}]}).configuration
    assert configuration is not None
    return Scheduler(Snapshot.from_objects(objects), configuration)


def most_allocated() -> dict[str, Any]:
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    return {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": resources}}}


def key(entry: Pending) -> str:
    return f"{entry.namespace}/{entry.name}"


def test_the_same_seed_gives_the_same_cluster(objects: list[dict[str, Any]]) -> None:
    assert demo.generate_cluster() == objects
    assert demo.generate_cluster(demo.SEED + 1) != objects


def test_it_is_a_whole_cluster_that_the_engine_understands(objects: list[dict[str, Any]]) -> None:
    snapshot = Snapshot.from_objects(objects)
    assert snapshot.problems == []
    assert len(snapshot) == 60
    assert len({node.zone for node in snapshot.nodes}) == 3
    assert len(snapshot.pending) == len(PENDING)
    assert sum(item["kind"] == "Pod" and "nodeName" in item["spec"] for item in objects) == 400
    assert (snapshot.requested <= snapshot.allocatable).all()


@pytest.mark.parametrize("entry", [entry for entry in PENDING if entry.plugin], ids=lambda entry: entry.why)
def test_each_pending_pod_is_rejected_by_the_plugin_it_is_there_for(
    objects: list[dict[str, Any]], entry: Pending
) -> None:
    demo_scheduler = scheduler(objects)
    pod = demo_scheduler.snapshot.get_pod(key(entry))
    if entry.plugin == "SchedulingGates":
        assert pod.gates
        return
    explanation = demo_scheduler.explain(pod)
    if entry.plugin == "VolumeBinding":
        return  # Engines that know volumes reject it; what the real scheduler says of it is tested below.
    assert explanation.feasible.size == 0
    rejecting = {column.plugin for column in explanation.filters if not column.skipped and (column.codes > 0).any()}
    decisive = {explanation.filters[index].plugin for index in set(explanation.rejected_by.tolist()) if index >= 0}
    excluded = explanation.pre_filter_nodes is not None or explanation.pre_filter is not None
    assert entry.plugin in rejecting
    assert entry.plugin in decisive or excluded
    condition = pod.raw["status"]["conditions"][0]
    assert condition["message"].startswith("0/60 nodes are available")


@pytest.mark.parametrize("entry", FITTING, ids=lambda entry: entry.name)
def test_the_winner_changes_with_the_scoring_strategy(objects: list[dict[str, Any]], entry: Pending) -> None:
    def winner(**profile: Any) -> int | None:
        demo_scheduler = scheduler(objects, **profile)
        return demo_scheduler.explain(demo_scheduler.snapshot.get_pod(key(entry))).chosen

    assert winner() is not None
    assert winner() != winner(pluginConfig=[most_allocated()])


def test_a_weight_changes_a_winner(objects: list[dict[str, Any]]) -> None:
    def winners(**profile: Any) -> list[int | None]:
        demo_scheduler = scheduler(objects, **profile)
        return [demo_scheduler.explain(demo_scheduler.snapshot.get_pod(key(entry))).chosen for entry in FITTING]

    heavier = {"multiPoint": {"enabled": [{"name": "NodeResourcesBalancedAllocation", "weight": 5}]}}
    assert winners() != winners(plugins=heavier)


def test_the_real_scheduler_says_the_same_of_every_pending_pod(
    objects: list[dict[str, Any]], oracle: Callable[[str, str], Any]
) -> None:
    # Its feature gates for groups of pods are off.
    objects = without_groups(objects)
    pending = {key(entry): entry for entry in PENDING}
    pods = [item for item in objects if item["kind"] == "Pod" and "nodeName" not in item["spec"]]
    scenario = {
        "name": "demo",
        "mode": "each",
        "pending": pods,
        # kube-scheduler reads none of Kueue's kinds.
        "objects": [item for item in objects if item not in pods and item["kind"] not in QUEUE_KINDS],
    }
    answers = oracle("explain", json.dumps(scenario) + "\n")[0]["pods"]
    assert len(answers) == len(pods)
    for pod, answer in zip(pods, answers, strict=True):
        entry = pending[f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"]
        if entry.plugin == "SchedulingGates":
            continue
        message = (pod["status"].get("conditions") or [{}])[0].get("message", "")
        assert message == answer.get("message", "")


@pytest.mark.django_db
def test_loading_it_twice_keeps_the_first() -> None:
    call_command("load_demo", verbosity=0)
    call_command("load_demo", verbosity=0)
    cluster = Cluster.objects.get()
    snapshot = snapshot_current(cluster)
    assert snapshot is not None
    assert snapshot.counts["Node"] == 60
    assert snapshot.counts["pending"] == len(PENDING)
    assert snapshot.problems == []
    assert snapshot_objects(snapshot) == demo.generate_cluster()
    gated = PodRow.objects.get(snapshot=snapshot, gated=True)
    assert gated.name == "quarter-close"
