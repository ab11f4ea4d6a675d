"""The fixes that are offered for pods of known kinds, the smallest first."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queueing.explaining.queue_state import read_state
from kschedweb.engine.studies.fixes.answers import PodState, answer_pod
from kschedweb.engine.studies.fixes.changes import ChangeKind, Fix
from kschedweb.engine.studies.fixes.devices import LinkState, find_device_chains
from kschedweb.engine.studies.fixes.pending import group_pending
from kschedweb.engine.studies.fixes.search import find_fixes
from tests.engine.builders import node, pod, scheduler
from tests.support.seed_queues import list_objects

GPU = "nvidia.com/gpu"
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
HOST = "kubernetes.io/hostname"
NOW = 1_768_482_000.0  # 2026-01-15, 13:00


def fixes_for(raw: dict[str, Any], *objects: dict[str, Any]) -> list[Fix]:
    return find_fixes(scheduler(*objects), Pod.from_json(raw))


def owned(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """The pod as one of a Deployment."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-abc", "controller": True}
    raw["metadata"] |= {"ownerReferences": [owner], "labels": {"pod-template-hash": "abc"}}
    return raw


def test_a_request_is_lowered_to_what_is_free_and_the_deployment_is_named() -> None:
    full = pod("other", on="a", requests={"cpu": "1500m"})
    (fix,) = fixes_for(owned(pod("web-1", requests={"cpu": "5"}), "web"), node("a"), full)
    (change,) = fix.changes
    assert fix.sentence == "Lower the CPU request of container main from 5 to 2.5: then it fits a."
    assert change.target == ("Deployment", "default", "web")
    assert change.path == "spec.template.spec.containers[main].resources.requests.cpu"
    assert change.command == "kubectl set resources deployment web -n default -c main --requests=cpu=2500m"


def test_a_tenth_of_a_request_is_too_little_to_be_a_fix() -> None:
    full = pod("other", on="a", requests={"cpu": "3800m"})
    assert fixes_for(pod("big", requests={"cpu": "8"}), node("a"), full) == []


def test_a_pod_is_moved_where_it_has_another_node() -> None:
    objects = [
        node("a"),
        node("b"),
        pod("small", on="a", requests={"cpu": "1"}),
        pod("x", on="b", requests={"cpu": "2"}),
    ]
    kinds = {fix.changes[0].kind: fix for fix in fixes_for(pod("new", requests={"cpu": "4"}), *objects)}
    assert kinds[ChangeKind.MOVE_POD].sentence == "Move pod default/small from node a to b: then it fits a."


@pytest.mark.parametrize(
    ("raw", "objects", "sentences"),
    [
        (
            pod("p"),
            [node("a", taints=[TAINT])],
            [
                "Add a toleration for the taint dedicated=gpu:NoSchedule: then it fits a.",
                "Remove the taint dedicated=gpu:NoSchedule from node a: then it fits a.",
                "Add a node like a",
            ][:2],
        ),
        (pod("p"), [node("a", unschedulable=True)], ["Uncordon node a: then it fits a."]),
        (
            pod("p", nodeSelector={"disk": "sdd"}),
            [node("a", labels={"disk": "ssd"})],
            [
                "Change the node selector disk from sdd to ssd: then it fits a.",
                "Label node a with disk=sdd: then it fits a.",
            ],
        ),
        (
            pod("p", nodeSelector={"zone": "x"}),
            [node("a")],
            ["Label node a with zone=x: then it fits a.", "Remove the node selector zone=x: then it fits a."],
        ),
        (
            pod("p", schedulingGates=[{"name": "example.com/hold"}]),
            [node("a")],
            ["Remove the scheduling gate example.com/hold: then it fits a."],
        ),
        (
            pod("p", schedulerName="nobody"),
            [node("a")],
            ["Change schedulerName from nobody to default-scheduler: then it fits a."],
        ),
    ],
)
def test_smallest_change_first(raw: dict[str, Any], objects: list[dict[str, Any]], sentences: list[str]) -> None:
    assert [fix.sentence for fix in fixes_for(raw, *objects)][: len(sentences)] == sentences


def test_all_gates_are_named_that_have_to_go() -> None:
    gates = [{"name": name} for name in ("a.example/hold", "b.example/hold")]
    (fix,) = fixes_for(pod("p", schedulingGates=gates), node("a"))
    assert [change.words["gate"] for change in fix.changes] == ["b.example/hold", "a.example/hold"]
    assert [change.command.partition("/spec")[2][:18] for change in fix.changes] == [
        "/schedulingGates/1",
        "/schedulingGates/0",
    ]


def test_no_change_is_offered_that_does_not_matter() -> None:
    objects = [node("a", taints=[TAINT], labels={"disk": "ssd"}), node("b")]
    for fix in fixes_for(pod("p", nodeSelector={"disk": "ssd"}), *objects):
        assert len(fix.changes) == 1


def test_a_pod_that_fits_needs_no_fix() -> None:
    assert fixes_for(pod("p"), node("a")) == []


def test_a_device_of_another_name_is_offered_in_its_place() -> None:
    mig = "nvidia.com/mig-1g.10gb"
    raw = pod("p", container={"resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}}})
    (fix,) = fixes_for(raw, node("a", allocatable={mig: "2"}))
    assert (fix.changes[0].kind, fix.changes[0].after) == ("replace_resource", mig)


def test_the_chain_of_a_device_says_which_link_is_missing() -> None:
    raw = pod("p", container={"resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}}})
    hardware = {"feature.node.kubernetes.io/pci-10de.present": "true"}
    plugin = {
        "kind": "DaemonSet",
        "metadata": {"name": "nvidia-device-plugin", "namespace": "gpu-operator"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "k8s-device-plugin"}]}}},
        "status": {"numberReady": 0, "desiredNumberScheduled": 1},
    }
    (chain,) = find_device_chains(scheduler(node("a", labels=hardware), plugin).snapshot, Pod.from_json(raw))
    states = {link.name: link.state for link in chain.links}
    assert states["Hardware"] == LinkState.PRESENT
    assert chain.broken_link is not None
    assert chain.broken_link.sentence == "nvidia-device-plugin runs 0 of 1 pods."


def test_pending_pods_with_one_cause_are_one_group() -> None:
    pods = [pod(f"big-{number}", requests={"cpu": str(5 + number)}) for number in range(3)]
    cluster = scheduler(node("a"), *pods, pod("held", schedulingGates=[{"name": "g"}]), pod("small"))
    groups = group_pending(cluster, cluster.snapshot.pending)
    assert [(group.answer.state, len(group.pods)) for group in groups] == [
        (PodState.STUCK, 3),
        (PodState.GATED, 1),
        (PodState.FITS, 1),
    ]
    assert groups[0].answer.fixes


def test_an_answer_says_it_in_a_sentence() -> None:
    cluster = scheduler(node("a"), node("b", taints=[TAINT]))
    answer = answer_pod(cluster, Pod.from_json(pod("p", requests={"cpu": "6"})))
    assert (
        answer.sentence
        == "default/p fits no node: 1 of 2 nodes has the taint dedicated=gpu:NoSchedule; 1 more reason below"
    )
    assert answer.nearest == "a lacks 2 CPU"


def test_a_job_that_waits_for_quota_gets_more_of_it() -> None:
    """The gate of Kueue is not for people to remove; the pod goes to the nodes of the flavor that it then gets."""
    (flavor, *objects) = list_objects(1, pod="train")
    flavor["spec"] = {"nodeLabels": {"pool": "batch"}}
    state = read_state([flavor, *objects], NOW)
    raw = pod("train", requests={"cpu": "3"})
    raw["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    here = scheduler(node("a"), node("b", labels={"pool": "batch"}))
    fixes = find_fixes(here, Pod.from_json(raw), read_queues=lambda: state)
    assert [fix.sentence for fix in fixes] == [
        "Raise the quota of ClusterQueue team-a in flavor any: cpu from 4 to 5: then it fits b."
    ]
    (change,) = fixes[0].changes
    assert (change.target, change.after) == (("ClusterQueue", "", "team-a"), {"cpu": "5"})
    assert '"path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"5"' in change.command
    # Where nothing is known of its queues there is the gate alone.
    (ungated,) = find_fixes(here, Pod.from_json(raw))
    assert ungated.changes[0].kind is ChangeKind.REMOVE_GATE
