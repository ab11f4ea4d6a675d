"""Workloads of a scenario: pods named, owned and taken away as their controllers would."""

from __future__ import annotations

import itertools
import re
from typing import Any

from kschedweb.engine.controllers.naming import draw_letters
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import PodArrives, Simulation
from tests.engine.builders import node, pod
from tests.engine.gangs import configured, group
from tests.engine.studies.prepare.test_prepared import owned, prepared, problems, run, zoned

CONTAINER = {"name": "main", "resources": {"requests": {"cpu": "100m"}}}


def manifest(kind: str, name: str = "web", **spec: Any) -> dict:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [CONTAINER], **spec.pop("pod", {})}}
    selector = {"matchLabels": {"app": name}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": name, "namespace": "default"}
    body = {"selector": selector, "template": template, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": body}


def arriving(*objects: dict, **document: Any) -> list[dict]:
    raws = []
    for event in prepared(*objects, **document).events:
        if isinstance(event, PodArrives):
            raws.append(event.pod if isinstance(event.pod, dict) else event.pod.raw)
    return raws


def added(raw: dict, **more: Any) -> list[dict]:
    return arriving(*zoned("a", "b"), changes=[{"addWorkload": {"manifest": raw, **more}}])


def names(pods: list[dict]) -> list[str]:
    return [raw["metadata"]["name"] for raw in pods]


def test_a_deployment_comes_with_a_replica_set_and_its_pods() -> None:
    scenario = prepared(*zoned("a"), changes=[{"addWorkload": {"manifest": manifest("Deployment"), "replicas": 3}}])
    (replica_set,) = (raw for raw in scenario.objects if raw["kind"] == "ReplicaSet")
    pods = added(manifest("Deployment"), replicas=3)
    assert all(re.fullmatch(r"web-[a-z0-9]{10}-[a-z0-9]{5}", name) for name in names(pods))
    assert len(set(names(pods))) == 3
    assert pods[0]["metadata"]["ownerReferences"][0]["name"] == replica_set["metadata"]["name"]
    assert pods[0]["metadata"]["labels"] == replica_set["spec"]["selector"]["matchLabels"]
    assert len(run(scenario).bound) == 3


def test_a_stateful_set_counts_its_pods_and_claims() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    raw = manifest("StatefulSet", replicas=2, volumeClaimTemplates=[claim])
    pods = added(raw)
    assert names(pods) == ["web-0", "web-1"]
    assert pods[1]["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]
    assert names(
        arriving(
            changes=[
                {"addWorkload": {"manifest": raw}},
                {"at": 60, "scaleWorkload": {"workload": "default/StatefulSet/web", "replicas": 4}},
            ]
        )
    ) == [
        *("web-0", "web-1", "web-2", "web-3"),
    ]


def test_jobs_and_bare_pods_come_as_often_as_asked() -> None:
    assert len(added(manifest("Job", parallelism=5, completions=3))) == 3
    assert names(added(pod("p"), replicas=2)) == ["p-1", "p-2"]
    assert names(added(pod("p"))) == ["p"]


def test_a_daemon_set_has_a_pod_on_each_node_that_fits_it_also_on_later_ones() -> None:
    tainted = node("tainted", taints=[{"key": "only", "effect": "NoSchedule"}])
    linux = {"pod": {"nodeSelector": {"os": "linux"}}}
    scenario = prepared(
        *(node(name, labels={"os": "linux"}) for name in ("n0", "n1")),
        {**tainted, "metadata": {"name": "tainted", "labels": {"os": "linux"}}},
        node("other"),
        changes=[
            {"addWorkload": {"manifest": manifest("DaemonSet", "agent", **linux)}},
            {"at": 60, "addNodes": {"like": "n0"}},
        ],
    )
    assert [(bound.time >= 60, bound.node) for bound in run(scenario).bound] == [
        (False, "n0"),
        (False, "n1"),
        (True, "n0-new-1"),
    ]


def test_pods_of_a_daemon_set_whose_letters_are_the_same_have_names_of_their_own() -> None:
    """Of 5,000 nodes there are some in half of all cases: no scenario of that size could run."""
    drawn: dict[str, str] = {}
    for number in itertools.count():
        drawn_before = drawn.setdefault(draw_letters(f"default/agent/node-{number}", 5), f"node-{number}")
        if drawn_before != f"node-{number}":
            break
    nodes = node(drawn_before), node(f"node-{number}")
    pods = arriving(*nodes, changes=[{"addWorkload": {"manifest": manifest("DaemonSet", "agent")}}])
    assert len({*names(pods)}) == 2


def test_scaling_down_takes_pods_without_a_node_then_those_of_crowded_nodes_then_the_newest() -> None:
    pods = [owned(pod(name, on=on), "ReplicaSet", "web") for name, on in (("a", "n0"), ("b", "n1"), ("c", "n0"))]
    pods.append(owned(pod("waiting"), "ReplicaSet", "web"))
    for place, raw in enumerate(pods):
        raw["metadata"]["creationTimestamp"] = f"2024-01-0{place + 1}T00:00:00Z"

    def names_after_scaling(replicas: int) -> list[str]:
        change = {"scaleWorkload": {"workload": "default/ReplicaSet/web", "replicas": replicas}}
        scenario = prepared(*zoned("a", "b"), *pods, changes=[change], run={"place": "pending"})
        bound = [raw["metadata"]["name"] for raw in scenario.objects if raw["kind"] == "Pod"]
        arrivals = [event.pod for event in scenario.events if isinstance(event, PodArrives)]
        return sorted(bound + [pending.name for pending in arrivals if isinstance(pending, Pod)])

    assert [names_after_scaling(3), names_after_scaling(2), names_after_scaling(1)] == [
        ["a", "b", "c"],
        ["a", "b"],
        ["b"],
    ]


def test_a_pod_that_was_evicted_goes_with_its_workload_all_the_same() -> None:
    scenario = prepared(
        *zoned("a", "b"),
        owned(pod("web", on="n0"), "ReplicaSet", "web"),
        changes=[
            {"at": 60, "drainNodes": {"nodes": ["n0"]}},
            {"at": 300, "removeWorkload": {"workload": "default/ReplicaSet/web"}},
        ],
        run={"place": "pending"},
    )
    configuration_end = run(scenario, 3600.0)
    assert [bound.pod for bound in configuration_end.bound] == ["default/web-again1"]
    assert configuration_end.samples[-1].bound == 0


def test_pods_without_their_deployment_are_copied() -> None:
    web = owned(pod("web-abc-1", on="n0", labels={"pod-template-hash": "abc"}), "ReplicaSet", "web-abc")
    change = {"scaleWorkload": {"workload": "default/Deployment/web", "replicas": 3}}
    scenario = prepared(*zoned("a"), web, changes=[change], run={"place": "pending"})
    (first, second) = (event.pod for event in scenario.events if isinstance(event, PodArrives))
    for copied in (first, second):
        assert isinstance(copied, Pod)  # admission completed the one that it was copied from
        assert re.fullmatch(r"web-abc-[a-z0-9]{5}", copied.name)
        assert not copied.node_name


def test_what_cannot_be_scaled_or_added_is_told() -> None:
    problem_texts = problems(
        manifest("DaemonSet", "agent"),
        changes=[
            {"scaleWorkload": {"workload": "default/DaemonSet/agent", "replicas": 3}},
            {"addWorkload": {"manifest": manifest("DaemonSet", "agent")}},
            {"removeWorkload": {"workload": "default/Job/none"}},
        ],
    )
    assert problem_texts == [
        "changes[0].scaleWorkload.workload: a DaemonSet has a pod on each node that fits; it cannot be scaled",
        "changes[1].addWorkload.manifest: there is a workload default/DaemonSet/agent already",
        "changes[2].removeWorkload.workload: there is no workload default/Job/none at this time",
    ]


def test_pods_of_a_workload_may_be_a_group_that_the_scenario_adds() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    pods = {"schedulingGroup": {"podGroupName": "gang"}, "priorityClassName": "high"}
    raw = manifest("Job", name="gang", parallelism=3, completions=3, pod=pods)
    scenario = prepared(
        *zoned("a", "b"),
        objects=[high, group("gang", 3, priorityClassName="high")],
        changes=[{"at": 5, "addWorkload": {"manifest": raw}}],
    )
    (gang,) = (raw for raw in scenario.objects if raw["kind"] == "PodGroup")
    assert gang["spec"]["priority"] == 7
    configuration = configured()
    start = scenario.start_state(configuration.release)
    result = Simulation(start, configuration, scenario.events, scenario.settings).run(60.0)
    assert [(decision.group, decision.placed, decision.message) for decision in result.groups] == [
        ("default/gang", True, "")
    ]
    assert len({binding.time for binding in result.bound}) == 1
    assert len(result.bound) == 3


def test_requests_are_set_for_pods_of_the_beginning_and_later_ones() -> None:
    change = {"workload": "default/Deployment/web", "containers": {"main": {"cpu": "250m", "memory": "1Gi"}}}
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2"}}
    raw = manifest("Deployment", "web", replicas=1, pod={"containers": [{"name": "main", "resources": resources}]})
    scenario = prepared(
        *zoned("a"),
        changes=[
            {"addWorkload": {"manifest": raw}},
            {"setRequests": change},
            {"at": 60, "scaleWorkload": {"workload": "default/Deployment/web", "replicas": 2}},
        ],
    )
    container_resources = [
        (event.pod.raw if isinstance(event.pod, Pod) else event.pod)["spec"]["containers"][0]["resources"]
        for event in scenario.events
        if isinstance(event, PodArrives)
    ]
    assert container_resources == 2 * [{"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": "500m"}}]


def test_requests_that_cannot_be_set_are_told() -> None:
    requests = {"workload": "default/DaemonSet/agent", "containers": {"none": {"cpu": "1"}}}
    problem_texts = problems(
        manifest("DaemonSet", "agent"), changes=[{"setRequests": requests}, {"at": 5, "setRequests": requests}]
    )
    assert problem_texts[0].startswith(
        "changes[0].setRequests.containers.none: there is no container none; containers are "
    )
    assert problem_texts[1] == "changes[1].setRequests: requests are set at the beginning: leave `at` out"
