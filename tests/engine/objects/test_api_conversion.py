"""Objects of older API versions, read as an API server that serves both would answer."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.objects.api_conversion import upgrade_object
from kschedweb.engine.objects.json_access import ObjectError

TEMPLATE = {"metadata": {"labels": {"a": "b"}}}
CPU_AT_60 = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}


def upgraded(kind: str, version: str, **parts: Any) -> tuple[str, dict[str, Any]]:
    raw = upgrade_object({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **parts})
    return raw["apiVersion"], {key: raw[key] for key in raw if key not in ("apiVersion", "kind", "metadata")}


@pytest.mark.parametrize(
    ("kind", "versions"),
    [
        ("Deployment", ("extensions/v1beta1", "apps/v1beta1")),
        ("DaemonSet", ("extensions/v1beta1",)),
        ("ReplicaSet", ("extensions/v1beta1",)),
        ("StatefulSet", ("apps/v1beta1",)),
    ],
)
def test_a_workload_without_selector_has_the_labels_of_its_pods(kind: str, versions: tuple[str, ...]) -> None:
    selector = {"matchLabels": {"a": "b"}}
    for version in versions:
        read = upgraded(kind, version, spec={"template": TEMPLATE})
        assert read == ("apps/v1", {"spec": {"template": TEMPLATE, "selector": selector}})
        spec = {"template": TEMPLATE, "selector": {"matchLabels": {"c": "d"}}}
        assert upgraded(kind, version, spec=spec)[1] == {"spec": spec}
    assert upgraded(kind, "apps/v1beta2", spec={"template": TEMPLATE})[0] == "apps/v1"


def test_an_empty_selector_of_a_beta_budget_selects_no_pod() -> None:
    marker = {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"}
    none = {"matchExpressions": [{**marker, "operator": "Exists"}]}
    everything = {"matchExpressions": [{**marker, "operator": "DoesNotExist"}]}
    for selector, read in (({}, none), (everything, {}), ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}})):
        version, parts = upgraded("PodDisruptionBudget", "policy/v1beta1", spec={"selector": selector})
        assert (version, parts["spec"]["selector"]) == ("policy/v1", read)
    assert upgraded("PodDisruptionBudget", "policy/v1", spec={"selector": {}})[1] == {"spec": {"selector": {}}}


def test_metrics_of_older_autoscalers_are_those_of_v2() -> None:
    beta = {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    version, parts = upgraded("HorizontalPodAutoscaler", "autoscaling/v1", spec={"targetCPUUtilizationPercentage": 60})
    assert (version, parts["spec"]["metrics"]) == ("autoscaling/v2", [CPU_AT_60])
    beta_cpu = {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 60}}
    _, parts = upgraded("HorizontalPodAutoscaler", "autoscaling/v2beta1", spec={"metrics": [beta_cpu, beta]})
    assert parts["spec"]["metrics"] == [CPU_AT_60, {"type": "Resource", "resource": memory}]
    assert upgraded("HorizontalPodAutoscaler", "autoscaling/v2beta2", spec={"metrics": [CPU_AT_60]})[1] == {
        "spec": {"metrics": [CPU_AT_60]}
    }


def test_devices_of_the_first_beta_are_those_of_v1() -> None:
    flat = {"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}
    exact = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}
    either = {"name": "any", "firstAvailable": [{"name": "big", "deviceClassName": "gpu.example.com"}]}
    claim, read = ({"devices": {"requests": [request, either]}} for request in (flat, exact))
    assert upgraded("ResourceClaim", "resource.k8s.io/v1beta1", spec=claim) == ("resource.k8s.io/v1", {"spec": read})
    template = upgraded("ResourceClaimTemplate", "resource.k8s.io/v1beta1", spec={"spec": claim})
    assert template == ("resource.k8s.io/v1", {"spec": {"spec": read}})
    devices = [{"name": "gpu-0", "basic": {"attributes": {"model": {"string": "x"}}}}]
    _, parts = upgraded("ResourceSlice", "resource.k8s.io/v1beta1", spec={"devices": devices})
    assert parts["spec"]["devices"] == [{"name": "gpu-0", "attributes": {"model": {"string": "x"}}}]
    assert upgraded("ResourceClaim", "resource.k8s.io/v1beta2", spec=read) == ("resource.k8s.io/v1", {"spec": read})


def test_a_runtime_class_of_the_alpha_stands_under_its_spec() -> None:
    overhead = {"podFixed": {"cpu": "250m"}}
    alpha_spec = {"runtimeHandler": "kata", "overhead": overhead}
    read = upgraded("RuntimeClass", "node.k8s.io/v1alpha1", spec=alpha_spec)
    assert read == ("node.k8s.io/v1", {"handler": "kata", "overhead": overhead})


def test_what_a_later_version_cannot_say_is_refused() -> None:
    with pytest.raises(ObjectError, match=r"^spec\.deviceSelector\.deviceClassName: is of v1alpha3 alone"):
        upgraded("DeviceTaintRule", "resource.k8s.io/v1alpha3", spec={"deviceSelector": {"deviceClassName": "gpu"}})
    raw = {"apiVersion": "example.com/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    assert upgrade_object(raw) is raw
