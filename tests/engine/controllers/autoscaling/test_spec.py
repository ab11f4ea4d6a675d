"""HorizontalPodAutoscalers as they are read."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.controllers.autoscaling.spec import (
    Behavior,
    Metric,
    ScalingPolicy,
    ScalingRules,
    read_autoscaler,
    read_behavior,
)
from kschedweb.engine.objects.json_access import ObjectError

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def autoscaler(version: str = "autoscaling/v2", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop"}
    return {
        "apiVersion": version,
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec},
    }


def resource(name: str = "cpu", **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def test_what_is_not_said_is_as_the_api_server_has_it() -> None:
    spec = read_autoscaler(autoscaler())
    assert (spec.key, spec.target, spec.min_replicas, spec.max_replicas) == (
        "shop/web",
        "shop/Deployment/web",
        1,
        5,
    )
    assert spec.metrics == (Metric(utilization=80),)
    assert spec.behavior is None
    assert spec.tolerances == (0.1, 0.1)


def test_the_older_version_aims_at_cpu_alone() -> None:
    assert read_autoscaler(autoscaler("autoscaling/v1", targetCPUUtilizationPercentage=50)).metrics == (
        Metric(utilization=50),
    )
    assert read_autoscaler(autoscaler("autoscaling/v1")).metrics == (Metric(utilization=80),)


def test_metrics_that_cannot_be_measured_here_are_told_apart() -> None:
    custom = {"type": "Pods", "pods": {"metric": {"name": "requests"}}}
    metrics = [resource(averageUtilization=60), resource("memory", averageValue="1Gi"), custom]
    cpu, memory, other = read_autoscaler(autoscaler(metrics=metrics)).metrics
    assert cpu == Metric(utilization=60)
    assert memory == Metric("memory", average=(1 << 30) * 1000)
    assert other.unknown == "Pods"


def test_a_behavior_is_filled_up() -> None:
    behavior = read_behavior({"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}})
    assert behavior == Behavior(
        ScalingRules((ScalingPolicy("Pods", 1, 60),), window=0), ScalingRules((ScalingPolicy("Percent", 100, 15),))
    )
    assert read_behavior({"scaleDown": {"tolerance": "0.05"}}).down.tolerance == 0.05


@pytest.mark.parametrize(
    ("raw", "expected_error"),
    [
        (autoscaler("autoscaling/v2beta2"), "apiVersion: is autoscaling/v2beta2, can be autoscaling/v2 or"),
        (autoscaler(maxReplicas=0), "spec.maxReplicas: must be greater than 0"),
        (autoscaler(minReplicas=6), "spec.minReplicas: must be from 0 to maxReplicas"),
        (autoscaler(scaleTargetRef={}), "spec.scaleTargetRef: must have kind and name"),
        (autoscaler(metrics=[resource()]), "spec.metrics[0].resource.target.averageUtilization: must set either"),
        (autoscaler(metrics=[resource(averageUtilization=0)]), "averageUtilization: must be greater than 0"),
        (autoscaler(behavior={"scaleUp": {"selectPolicy": "All"}}), "spec.behavior.scaleUp.selectPolicy: must be one"),
        (autoscaler(behavior={"scaleDown": {"policies": []}}), "spec.behavior.scaleDown.policies: must specify"),
        (
            autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601}}),
            "spec.behavior.scaleDown.stabilizationWindowSeconds: must be from 0 to 3600",
        ),
        (
            autoscaler(behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 0}]}}),
            "spec.behavior.scaleUp.policies[0].periodSeconds: must be from 1 to 1800",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(raw: dict[str, Any], expected_error: str) -> None:
    with pytest.raises(ObjectError) as problem:
        read_autoscaler(raw)
    assert expected_error in str(problem.value)
