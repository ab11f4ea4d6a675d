"""deploy/: the chart and its Kustomize twin, rendered by helm and kubectl, taken by the real API server."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.rbac import EXTENDER, SCHEDULING, SHADOW, Needs, build_manifests
from tests.originals.charts import CHART, Helm
from tests.support.deploy import COMPONENTS, KUSTOMIZE, kustomize_files, rights_files, stale
from tests.support.openapi import schemas_write
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.originals.kubectl import Kubectl
    from tests.support.controlplane import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVERYTHING = {
    "autoscaling.enabled": "true",
    "ingress.enabled": "true",
    "ingress.className": "nginx",
    "ingress.tlsSecret": "kschedweb-tls",
    "httpRoute.enabled": "true",
    "httpRoute.parentRefs[0].name": "gateway",
    "serviceMonitor.enabled": "true",
    "serviceMonitor.labels.release": "prometheus",
    "serviceMonitor.webTokenSecret.name": "kschedweb-token",
    "rbac.mode": SCHEDULING,
    "rbac.preemption": "evict",
    "rbac.annotations": "true",
    "rbac.metrics": "true",
    "networkPolicy.egress[0].ports[0].port": "9090",
    "settings.KSCHEDWEB_CLUSTER_ALLOWLIST": "10.0.0.0/8",
    "image.digest": "sha256:" + "0" * 64,
}
KINDS = {
    "ClusterRole", "ClusterRoleBinding", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "Ingress", "Job",
    "NetworkPolicy", "Pod", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount", "ServiceMonitor",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, helm: Helm) -> Iterator[ControlPlane]:
    """The API server with the kinds of others that the chart can make, and a namespace of the strictest kind."""
    definitions = [item for item in yaml.safe_load_all(helm.crds.read_text()) if item]
    for item in definitions:
        control_plane.call("POST", CRDS, item)

    def established() -> bool:
        listed = control_plane.call("GET", CRDS)["items"]
        conditions = [condition for item in listed for condition in item["status"]["conditions"] or ()]
        return sum(
            condition["type"] == "Established" and condition["status"] == "True" for condition in conditions
        ) == len(definitions)

    wait_until(established, "the new kinds are served")
    labels = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kschedweb"}})
    control_plane.call("PATCH", "/api/v1/namespaces/kschedweb", {"metadata": {"labels": labels}})
    yield control_plane
    control_plane.call("PATCH", "/api/v1/namespaces/kschedweb", {"metadata": {"labels": dict.fromkeys(labels)}})
    for item in definitions:
        control_plane.call("DELETE", f"{CRDS}/{item['metadata']['name']}")


@pytest.fixture(scope="module")
def schemas(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> str:
    kinds = {"httproute-gateway-v1.json", "servicemonitor-monitoring-v1.json"}
    folders: list[str] = []

    def complete() -> bool:
        folder = tmp_path_factory.mktemp("schemas")
        folders.append(schemas_write(cluster.call("GET", "/openapi/v2"), folder))
        return kinds <= {path.name for path in folder.iterdir()}

    wait_until(complete, "the API server describes the new kinds", step=1)
    return folders[-1]


def conform(helm: Helm, schemas: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [str(helm.kubeconform), "-strict", "-summary", "-schema-location", schemas, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


def applied(kubectl: Kubectl, objects: Iterable[Json]) -> list[str]:
    """Apply ``objects`` on the API server without keeping them; a warning counts as a refusal."""
    manifest = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return kubectl.run(
        "apply", "--dry-run=server", "--warnings-as-errors", "-f", "-", "-o", "name", manifest=manifest
    ).splitlines()


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["as it comes", "everything"])
def test_api_server_takes_the_chart(
    helm: Helm, schemas: str, cluster: ControlPlane, kubectl: Kubectl, values: dict[str, str]
) -> None:
    checked = conform(helm, schemas, helm.text(values))
    assert checked.returncode == 0, checked.stdout
    assert "Invalid: 0, Errors: 0, Skipped: 0" in checked.stdout
    objects = helm.objects(values)
    if values:
        assert {item["kind"] for item in objects} == KINDS
    assert len(applied(kubectl, objects)) == len(objects)


def test_kubeconform_sees_what_is_wrong(helm: Helm, schemas: str) -> None:
    (web,) = [item for item in helm.objects(templates=["web"]) if item["kind"] == "Deployment"]
    for change in ({"replica": 2}, {"replicas": "two"}):
        wrong = copy.deepcopy(web)
        wrong["spec"] |= change
        assert conform(helm, schemas, json.dumps(wrong)).returncode == 1, change


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["as it comes", "everything"])
def test_every_pod_passes_the_restricted_standard(
    helm: Helm, cluster: ControlPlane, kubectl: Kubectl, values: dict[str, str]
) -> None:
    pods = []
    for item in helm.objects(values):
        spec = item["spec"]["template"]["spec"] if item["kind"] in ("Deployment", "Job") else None
        if spec:
            metadata = {"name": item["metadata"]["name"], "namespace": "kschedweb"}
            pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    assert len(pods) == 5
    assert len(applied(kubectl, pods)) == 5
    loose = copy.deepcopy(pods[0])
    loose["spec"]["securityContext"]["runAsNonRoot"] = False
    with pytest.raises(RuntimeError, match="runAsNonRoot"):
        applied(kubectl, [loose])
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["resources"]["limits"]["memory"]
        secret = [entry for entry in container["env"] if "SECRET" in entry["name"] or "URL" in entry["name"]]
        assert all(entry["value"].startswith("/run/secrets/") for entry in secret)


WRONG = {
    "web.replicas": "-1",
    "image.digest": "sha256:short",
    "settings.KSCHEDWEB_SECRET_KEY": "in-the-open",
    "settings.OTHER": "x",
    "rbac.mode": "all",
    "hosts": "",
    "databse": "x",
    "httpRoute.enabled": "true",
}


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_schema_refuses_wrong_values(helm: Helm, name: str, value: str) -> None:
    assert "values don't meet the specifications of the schema" in helm.refused(**{name: value})


def test_migrations_may_reach_the_database_before_they_begin(helm: Helm) -> None:
    hooks = [
        (int(notes.get("helm.sh/hook-weight", "0")), item["kind"])
        for item in helm.objects()
        if "pre-install" in (notes := item["metadata"].get("annotations", {})).get("helm.sh/hook", "")
    ]
    assert [kind for _, kind in sorted(hooks)] == ["NetworkPolicy", "Job"]


def test_chart_passes_helm_s_own_check(helm: Helm) -> None:
    process = helm.run("lint", "--strict", str(CHART))
    assert process.returncode == 0, process.stdout + process.stderr


# Rights: what is given is what the product asks for.

VALUES_AND_NEEDS = [
    ({"rbac.mode": SHADOW}, Needs(SHADOW)),
    ({"rbac.mode": EXTENDER}, Needs(EXTENDER)),
    ({"rbac.mode": EXTENDER, "rbac.binds": "true"}, Needs(EXTENDER, binds=True)),
    ({"rbac.mode": SCHEDULING}, Needs(SCHEDULING, lease="kschedweb-scheduler")),
    (
        {"rbac.mode": SCHEDULING, "rbac.preemption": "delete"},
        Needs(SCHEDULING, lease="kschedweb-scheduler", preemption=True),
    ),
    (
        {
            "rbac.mode": SCHEDULING,
            "rbac.preemption": "evict",
            "rbac.leases[0].name": "kschedweb-batch",
            "rbac.leases[0].namespace": "batch",
        },
        Needs(SCHEDULING, lease="kschedweb-batch", lease_namespace="batch", preemption=True, keep_budgets=True),
    ),
]


@pytest.mark.parametrize(("values", "needs"), VALUES_AND_NEEDS)
def test_chart_gives_exactly_the_rights_of_its_mode(helm: Helm, values: dict[str, str], needs: Needs) -> None:
    assert rules_of(helm.objects(values, ["rbac"])) == rules_of(build_manifests(needs))
    pods = [item["spec"]["template"] for item in helm.objects(values) if item["kind"] == "Deployment"]
    mounted = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod["spec"]["automountServiceAccountToken"]
        for pod in pods
    }
    assert mounted == {"web": True, "worker": True, "scheduler": True, "beat": False}


def rules_of(objects: Iterable[Json]) -> set[tuple[str, ...]]:
    """(namespace, group, resource, name, verb) of every role."""
    return {
        (item["metadata"].get("namespace", ""), group, resource, name, verb)
        for item in objects
        if item["kind"] in ("ClusterRole", "Role")
        for rule in item["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


# Kustomize.


def test_files_are_those_that_chart_and_code_make(helm: Helm) -> None:
    files = rights_files() | kustomize_files(helm)
    folders = [CHART / "rights", KUSTOMIZE / "base", KUSTOMIZE / "components"]
    assert list(stale(files, folders)) == [], "run make deploy"


def kustomize(program: Path, folder: Path) -> list[Json]:
    process = subprocess.run([program, "kustomize", folder], capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    return [item for item in yaml.safe_load_all(process.stdout) if item]


@pytest.mark.parametrize("name", ["none", *COMPONENTS])
def test_api_server_takes_each_component(
    kubectl_program: Path, kubectl: Kubectl, cluster: ControlPlane, name: str, tmp_path: Path
) -> None:
    # Kustomize takes relative paths alone.
    content = {"resources": [relative(tmp_path, KUSTOMIZE / "base")]}
    if name != "none":
        content["components"] = [relative(tmp_path, KUSTOMIZE / "components" / name)]
    (tmp_path / "kustomization.yaml").write_text(json.dumps(content))
    objects = kustomize(kubectl_program, tmp_path)
    assert len(applied(kubectl, objects)) == len(objects)
    mounts = [
        item["spec"]["template"]["spec"]["automountServiceAccountToken"]
        for item in objects
        if item["kind"] == "Deployment"
    ]
    assert sum(mounts) == (3 if name.startswith("rbac-") else 0)


def relative(start: Path, path: Path) -> str:
    return "/".join([".."] * len(start.parts[1:])) + str(path)


def test_example_is_taken_too(kubectl_program: Path, kubectl: Kubectl, cluster: ControlPlane) -> None:
    objects = kustomize(kubectl_program, KUSTOMIZE / "example")
    assert len(applied(kubectl, objects)) == len(objects)
    for item in objects:
        if item["kind"] in ("Deployment", "Job"):
            environment = {
                entry["name"]: entry["value"] for entry in item["spec"]["template"]["spec"]["containers"][0]["env"]
            }
            assert environment["KSCHEDWEB_CLUSTER_ALLOWLIST"] == "10.20.0.0/16"
