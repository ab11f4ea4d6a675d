"""Changes that admission makes to a pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.controllers.admission import AdmissionError, admit_pod, apply_classes, merge_tolerations
from kschedweb.engine.objects.taints import Taint, is_tolerated, read_tolerations
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import pod

DEFAULTS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def cluster(*objects: dict) -> ClusterObjects:
    cluster_objects = ClusterObjects()
    for raw in objects:
        cluster_objects.add(raw)
    return cluster_objects


def priority_class(name: str, value: int, **fields: Any) -> dict:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **fields}


def runtime_class(**fields: Any) -> dict:
    return {"kind": "RuntimeClass", "metadata": {"name": "box"}, "handler": "box", **fields}


def admitted(raw: dict, *objects: dict) -> dict:
    before = copy.deepcopy(raw)
    spec = admit_pod(raw, cluster(*objects))["spec"]
    assert raw == before
    return spec


def test_a_plain_pod_gets_priority_0_and_the_default_tolerations() -> None:
    spec = admitted(pod("a"))
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == DEFAULTS
    assert "priorityClassName" not in spec


def test_priority_and_policy_come_from_the_class() -> None:
    spec = admitted(
        pod("a", priorityClassName="high"),
        priority_class("high", 1000, preemptionPolicy="Never"),
        priority_class("x", 5),
    )
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_a_pod_without_a_class_gets_the_default_one_and_of_several_the_lowest() -> None:
    classes = [priority_class(name, value, globalDefault=True) for name, value in (("b", 20), ("a", 10))]
    spec = admitted(pod("a"), *classes)
    assert (spec["priorityClassName"], spec["priority"]) == ("a", 10)


def test_the_system_classes_are_always_there() -> None:
    assert admitted(pod("a", priorityClassName="system-node-critical"))["priority"] == 2_000_001_000


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 7}, "the integer value of priority (7) must not be provided in pod spec"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never) must not be provided"),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass"),
        ({"overhead": {"cpu": "1"}, "runtimeClassName": "box"}, "Pod's Overhead doesn't match RuntimeClass's"),
        (
            {"nodeSelector": {"disk": "hdd"}, "runtimeClassName": "box"},
            "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd",
        ),
    ],
)
def test_what_contradicts_its_classes_is_refused_by_name_and_reason(spec: dict, reason: str) -> None:
    box = runtime_class(overhead={"podFixed": {"cpu": "250m"}}, scheduling={"nodeSelector": {"disk": "ssd"}})
    with pytest.raises(AdmissionError) as refused:
        admitted(pod("a", **spec), box)
    assert str(refused.value).startswith("Pod default/a: ")
    assert reason in str(refused.value)


def test_the_runtime_class_adds_overhead_selector_and_tolerations() -> None:
    toleration = {"key": "box", "operator": "Exists"}
    box = runtime_class(
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"box": "yes"}, "tolerations": [toleration]},
    )
    spec = admitted(pod("a", runtimeClassName="box", nodeSelector={"disk": "ssd"}), box)
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "box": "yes"}
    assert spec["tolerations"] == [*DEFAULTS, toleration]


def test_overhead_written_otherwise_but_the_same_is_no_contradiction() -> None:
    box = runtime_class(overhead={"podFixed": {"cpu": "250m"}})
    assert admitted(pod("a", runtimeClassName="box", overhead={"cpu": "0.25"}), box)["overhead"] == {"cpu": "250m"}


def test_a_toleration_of_ones_own_replaces_the_default() -> None:
    toleration = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    assert admitted(pod("a", tolerations=[toleration]))["tolerations"] == [toleration, DEFAULTS[1]]


def test_a_toleration_of_everything_makes_the_defaults_needless() -> None:
    assert admitted(pod("a", tolerations=[{"operator": "Exists"}]))["tolerations"] == [{"operator": "Exists"}]


TOLERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a", "b"]),
            "operator": st.sampled_from(["Exists", "Equal"]),
            "effect": st.sampled_from(["", "NoSchedule", "NoExecute"]),
        },
        optional={"value": st.sampled_from(["x", "y"]), "tolerationSeconds": st.sampled_from([1, 9])},
    ),
    max_size=6,
)


@given(TOLERATIONS)
def test_merging_tolerations_changes_nothing_that_is_tolerated(tolerations: list[dict]) -> None:
    merged = merge_tolerations(tolerations)
    assert all(toleration in tolerations for toleration in merged)
    for key in "abc":
        for value in ("", "x", "y"):
            for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
                taint = Taint(key, value, effect)
                before, after = (
                    is_tolerated(taint, read_tolerations({"t": listed}, "t")) for listed in (tolerations, merged)
                )
                assert before == after


PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


def with_plugin(name: str, raw: dict, *objects: dict) -> list[dict]:
    return admit_pod(raw, cluster(*objects), (name,))["spec"].get("tolerations", [])


def test_memory_pressure_is_tolerated_by_all_but_best_effort_pods_where_the_plugin_is_on() -> None:
    assert with_plugin("PodTolerationRestriction", pod("a", requests={"cpu": "1"})) == [PRESSURE]
    assert with_plugin("PodTolerationRestriction", pod("a")) == []
    assert PRESSURE not in admitted(pod("a", requests={"cpu": "1"}))["tolerations"]


def test_extended_resources_are_tolerated_in_the_order_of_their_names() -> None:
    raw = pod("a", requests={"example.com/b": "1", "example.com/a": "1", "cpu": "1"})
    keys = [toleration["key"] for toleration in with_plugin("ExtendedResourceToleration", raw)]
    assert keys == ["example.com/a", "example.com/b"]


def test_a_whitelist_that_is_no_list_is_told_with_its_namespace() -> None:
    annotations = {"scheduler.alpha.kubernetes.io/tolerationsWhitelist": "["}
    space = {"kind": "Namespace", "metadata": {"name": "default", "annotations": annotations}}
    with pytest.raises(AdmissionError, match=r"Namespace default: metadata.annotations\[scheduler.alpha"):
        with_plugin("PodTolerationRestriction", pod("a"), space)


def test_classed_gives_only_what_the_runtime_class_says() -> None:
    box = runtime_class(overhead={"podFixed": {"cpu": "1"}})
    spec = apply_classes(pod("a", runtimeClassName="box"), cluster(box))["spec"]
    assert spec["overhead"] == {"cpu": "1"}
    assert "priority" not in spec
    plain = pod("a")
    assert apply_classes(plain, cluster(box)) is plain
