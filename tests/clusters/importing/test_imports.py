"""Imports of files: the objects that a scheduler reads, and a reason for each one left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kschedweb.clusters.importing.imports import Import, ImportFailed, files_read
from tests.clusters.conftest import node, pod

LIMIT = 10_000_000


def read(*documents: Any) -> Import:
    return files_read(
        [(f"file-{index}", json.dumps(document)) for index, document in enumerate(documents)], limit=LIMIT
    )


def names(result: Import) -> list[str]:
    return [f"{item['kind']} {item['metadata']['name']}" for item in result.objects]


def reasons(result: Import) -> dict[str, str]:
    return {problem["object"]: problem["reason"] for problem in result.problems}


def test_a_list_of_kubectl_is_taken_apart() -> None:
    result = read({"apiVersion": "v1", "kind": "List", "items": [node(), pod()], "metadata": {"resourceVersion": ""}})
    assert names(result) == ["Node node-1", "Pod pod-1"]


def test_templates_of_resource_claims_are_kept() -> None:
    """Without them no claim can be made for pods to come."""
    metadata = {"name": "single", "namespace": "default"}
    spec: dict[str, Any] = {"spec": {"devices": {}}}
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}
    imported = read({"kind": "List", "items": [node("a"), template]})
    assert template in imported.objects
    assert not imported.problems


def test_a_typed_list_gives_its_items_their_kind() -> None:
    bare = {"metadata": {"name": "pod-2"}, "spec": {}}
    result = read({"apiVersion": "v1", "kind": "PodList", "items": [bare]})
    assert result.objects[0]["apiVersion"] == "v1"
    assert result.objects[0]["metadata"]["namespace"] == "default"
    assert names(result) == ["Pod pod-2"]


def test_several_yaml_documents_and_several_files_come_together() -> None:
    result = files_read(
        [
            ("a.yaml", "---\n".join(yaml.safe_dump(item) for item in (node("a"), node("b")))),
            ("b.json", json.dumps(pod())),
        ],
        limit=LIMIT,
    )
    assert names(result) == ["Node a", "Node b", "Pod pod-1"]


def test_a_simulators_export_is_understood() -> None:
    def bare(item: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}

    result = read(
        {
            "pods": [bare(pod())],
            "nodes": [bare(node())],
            "pvs": [{"metadata": {"name": "pv"}, "spec": {}}],
            "pvcs": [{"metadata": {"name": "claim", "namespace": "default"}}],
            "storageClasses": [{"metadata": {"name": "fast"}}],
            "priorityClasses": None,
            "namespaces": [{"metadata": {"name": "default"}}],
            "schedulerConfig": {"profiles": []},
            "surprise": [1],
        }
    )
    assert [item["kind"] for item in result.objects] == [
        "Pod", "Node", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Namespace",
    ]  # fmt: skip
    assert reasons(result)["schedulerConfig"].endswith("add it under Policies")
    assert "surprise" in reasons(result)
    assert result.objects[4]["apiVersion"] == "storage.k8s.io/v1"


def test_what_is_not_understood_is_listed_and_the_rest_is_taken() -> None:
    bad_taints = node("bad-taints", taints="none")
    bad_cpu = node("bad-cpu")
    bad_cpu["status"]["allocatable"]["cpu"] = "four"
    result = read(
        [
            node(),
            bad_taints,
            bad_cpu,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "data": {"a": "c2VjcmV0"}},
            {"apiVersion": "apps/v1alpha1", "kind": "Deployment", "metadata": {"name": "old"}},
            {"kind": "Pod"},
            {"kind": "Pod", "metadata": {}},
            {"kind": "Pod", "metadata": {"name": "Not A Name"}},
            {"kind": "Pod", "metadata": {"name": "p", "namespace": "a/b"}},
            {"kind": "Pod", "metadata": {"name": "q"}, "spec": []},
            {"metadata": {"name": "nothing"}},
            node(),
            3,
            "text",
            None,
            [[pod("nested")]],
        ]
    )
    assert names(result) == ["Node node-1", "Pod nested"]
    reason_by_object = reasons(result)
    assert "taints" in reason_by_object["Node bad-taints"]
    assert "cpu" in reason_by_object["Node bad-cpu"]
    assert reason_by_object["ConfigMap settings"] == "is of a kind that the scheduler does not read"
    assert "apps/v1 is what is read" in reason_by_object["Deployment old"]
    assert reason_by_object["Pod a/b/p"] == "metadata.namespace is not a name that Kubernetes allows"
    assert reason_by_object["Node node-1"] == "is there twice; the first is kept"
    assert reason_by_object["object nothing"] == "has no kind"
    assert reason_by_object["a number"] == "is not a Kubernetes object"
    assert result.left_out == 15


def test_what_may_hold_secrets_and_is_never_read_is_dropped() -> None:
    item = pod()
    item["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    item["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{…}", "kept": "yes"}
    item["spec"]["containers"][0] |= {"env": [{"name": "PASSWORD", "value": "hunter2"}], "args": ["--token=hunter2"]}
    template = {"spec": {"containers": [{"name": "main", "env": [{"value": "hunter2"}]}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": template},
    }
    result = read([item, deployment])
    assert "hunter2" not in json.dumps(result.objects)
    assert result.objects[0]["metadata"]["annotations"] == {"kept": "yes"}
    assert result.objects[0]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_cluster_wide_kinds_lose_a_namespace_they_cannot_have() -> None:
    item = node()
    item["metadata"]["namespace"] = "default"
    assert "namespace" not in read(item).objects[0]["metadata"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "no node and no pod"),
        ({"kind": "List", "items": []}, "no node and no pod"),
        ({"kind": "List", "items": 3}, "items must be a list"),
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "does not read"),
        ({"anything": "else"}, "has no kind"),
    ],
)
def test_files_without_a_node_or_pod_are_refused(document: Any, message: str) -> None:
    with pytest.raises(ImportFailed, match=message):
        read(document)


def test_a_refusal_names_the_file() -> None:
    with pytest.raises(ImportFailed, match=r"^b\.yaml: Line 1, column 4") as caught:
        files_read([("a.yaml", json.dumps(node())), ("b.yaml", "a: *b")], limit=LIMIT)
    assert caught.value.errors[0]["path"] == "b.yaml"


def test_the_limit_is_for_all_files_together() -> None:
    text = json.dumps(node())
    with pytest.raises(ImportFailed, match="larger than") as caught:
        files_read([("a", text), ("b", text)], limit=len(text) + 1)
    assert caught.value.status == 413


def test_what_an_api_server_would_refuse_is_kept_and_said() -> None:
    spread = {"maxSkew": -1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    odd = pod("odd", tolerations=[{"key": "a", "operator": "Sometimes"}], topologySpreadConstraints=[spread])
    odd["spec"]["containers"] = [{"name": "main", "image": "app:1"}]
    result = read(node(), odd)
    assert names(result) == ["Node node-1", "Pod odd"]
    assert result.left_out == 0
    skew = "spec.topologySpreadConstraints[0].maxSkew: Invalid value: -1: must be greater than zero"
    operator = 'spec.tolerations[0].operator: Unsupported value: "Sometimes": supported values: "Equal", "Exists"'
    assert [problem["reason"] for problem in result.problems] == [
        f'Pod "odd" is invalid: {reason}; it is kept as it stands' for reason in (skew, operator)
    ]


def test_a_negative_quantity_is_left_out_with_its_field() -> None:
    result = read(node(), pod("debt", containers=[{"resources": {"requests": {"cpu": "-500m"}}}]))
    field, path = "spec.containers[0].resources.requests.cpu", "spec.containers[0].resources.requests[cpu]"
    theirs = f'Pod "debt" is invalid: {path}: Invalid value: "-500m": must be greater than or equal to 0'
    assert reasons(result) == {"Pod default/debt": f"{field}: must not be negative, is -500m ({theirs})"}


RUNS = {"containers": [{"name": "main", "image": "main"}]}


def runtime_class(**fields: Any) -> dict[str, Any]:
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    return {**kind, "metadata": {"name": "heavy"}, "handler": "h", **fields}


def test_a_pod_gets_the_overhead_of_its_runtime_class_wherever_that_stands() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"runtimeClassName": "heavy", **RUNS}}
    result = read(bare, runtime_class(overhead={"podFixed": {"cpu": "250m"}}))
    assert result.objects[0]["spec"]["overhead"] == {"cpu": "250m"}
    assert reasons(result) == {
        "Pod default/p": "gets overhead, node selector and tolerations of RuntimeClass heavy",
    }


def test_a_pod_without_a_priority_gets_that_of_its_class() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    spec = {"priorityClassName": "high", **RUNS}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    result = read(bare, high)
    assert result.objects[0]["spec"]["priority"] == 7
    assert reasons(result) == {"Pod default/p": "gets priority 7 of PriorityClass high"}
    admitted = {**bare, "spec": {**spec, "priority": 3}}
    assert read(admitted, high).objects[0]["spec"]["priority"] == 3


def test_a_pod_whose_runtime_class_is_missing_or_differs_is_told() -> None:
    spec = {**RUNS, "runtimeClassName": "heavy", "overhead": {"cpu": "1"}}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    alone = reasons(read(bare))["Pod default/p"]
    assert alone == 'pod rejected: RuntimeClass "heavy" not found; it is kept as it stands'
    result = read(bare, runtime_class(overhead={"podFixed": {"cpu": "250m"}}))
    assert reasons(result)["Pod default/p"].startswith(
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    )
    assert result.objects[0]["spec"]["overhead"] == {"cpu": "1"}


def test_a_pod_that_an_api_server_admitted_stays_as_it_is() -> None:
    spec = {**RUNS, "runtimeClassName": "heavy", "priority": 0}
    stored = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    result = read(stored, runtime_class(overhead={"podFixed": {"cpu": "250m"}}))
    assert result.objects[0]["spec"] == spec
    assert not result.problems
