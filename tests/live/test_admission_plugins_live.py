"""Admission plugins that are off by default, and ResourceQuota: the real API server beside the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.controllers.admission import DEFAULT, OFF_BY_DEFAULT, AdmissionError, admit_pod
from kschedweb.engine.controllers.quotas import Quotas
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import pod
from tests.live.test_admission_live import tolerates
from tests.support import tiers
from tests.support.controlplane import ControlPlane
from tests.support.processes import wait_until

pytestmark = pytest.mark.live
GPU = "nvidia.com/gpu"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ALL = DEFAULT | frozenset(OFF_BY_DEFAULT)
SPACES = {
    "default": {},
    "kept": {"scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key": "team", "operator": "Exists"}]'},
    "strict": {
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": '[{"operator": "Exists", "effect": "NoExecute"},'
        ' {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]'
    },
}


def anti(*keys: str) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [{**term, "topologyKey": key} for key in keys]}
    return {"podAntiAffinity": rules}


def asks(**resources: Json) -> Json:
    return {"container": {"resources": resources}}


SPECS: dict[str, Json] = {
    "best effort": {},
    "burstable": asks(requests={"cpu": "1"}),
    "guaranteed": asks(limits={"cpu": "1", "memory": "1Gi"}),
    "storage alone": asks(requests={"ephemeral-storage": "1Gi"}),
    "as a whole": {"resources": {"requests": {"cpu": "1"}}},
    "tolerates all": asks(requests={"cpu": "1"}) | {"tolerations": [{"operator": "Exists"}]},
    "tolerates pressure": asks(requests={"cpu": "1"})
    | {"tolerations": [tolerates("node.kubernetes.io/memory-pressure", effect="NoSchedule")]},
    "gpu": asks(limits={GPU: "1"}),
    "two kinds": asks(limits={GPU: "1", "example.com/a": "2"}),
    "gpu in an init container": {"initContainers": [{"name": "i", "image": "i", "resources": {"limits": {GPU: "1"}}}]},
    "gpu tolerated": asks(limits={GPU: "1"}) | {"tolerations": [tolerates(GPU, effect="NoSchedule")]},
    "gpu tolerated by value": asks(limits={GPU: "1"})
    | {"tolerations": [tolerates(GPU, "Equal", value="x", effect="NoSchedule")]},
    "anti by host": {"affinity": anti(HOST)},
    "anti by zone": {"affinity": anti(HOST, ZONE)},
    "no schedule": {"tolerations": [tolerates("team", effect="NoSchedule")]},
}


@pytest.fixture(scope="module")
def plugged(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, ClusterObjects]]:
    """An API server with all of the plugins, and the same namespaces for the engine."""
    flags = ["--enable-admission-plugins", ",".join(OFF_BY_DEFAULT)]
    cluster = ClusterObjects()
    with ControlPlane(assets, tmp_path_factory.mktemp("plugins"), flags=flags).started() as server:
        for name, annotations in SPACES.items():
            raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}
            if name != "default":
                server.call("POST", "/api/v1/namespaces", raw)
            cluster.add(raw)
        yield server, cluster


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", SPECS)
def test_the_engine_admits_with_all_plugins_on(
    plugged: tuple[ControlPlane, ClusterObjects], name: str, space: str
) -> None:
    server, cluster = plugged
    raw = pod(
        name.replace(" ", "-"),
        **{**SPECS[name], **({"container": dict(SPECS[name]["container"])} if "container" in SPECS[name] else {})},
    )
    raw["metadata"]["namespace"] = space
    answer = server.request("POST", f"/api/v1/namespaces/{space}/pods?dryRun=All", raw)
    body = answer.json()
    refusal = refused(lambda: admit_pod(raw, cluster, ALL))
    if refusal:
        assert answer.status in (403, 500)
        assert body["message"].endswith(refusal.partition(": ")[2])
    else:
        assert answer.status == 201, body
        assert admit_pod(raw, cluster, ALL)["spec"]["tolerations"] == body["spec"]["tolerations"]


def refused(do: Callable[[], object]) -> str:
    """Return admission's refusal of ``do``, "" if there is none."""
    try:
        do()
    except AdmissionError as problem:
        return str(problem)
    return ""


def test_without_the_plugins_no_pod_tolerates_memory_pressure(control_plane: ControlPlane) -> None:
    raw = pod("burstable", requests={"cpu": "1"})
    admitted = control_plane.call("POST", "/api/v1/namespaces/default/pods?dryRun=All", raw)
    assert admitted["spec"]["tolerations"] == admit_pod(raw, ClusterObjects())["spec"]["tolerations"]
    assert "memory-pressure" not in str(admitted["spec"]["tolerations"])


# Quotas.

QUOTAS: list[Json] = [
    {"hard": {"pods": "6", "requests.cpu": "3"}},
    {"hard": {"cpu": "2500m", "memory": "3Gi", "limits.memory": "4Gi"}},
    {"hard": {"requests.memory": "2Gi", "limits.cpu": "4", f"requests.{GPU}": "2"}},
    {"hard": {"pods": "3"}, "scopes": ["BestEffort"]},
    {"hard": {"pods": "4", "cpu": "2"}, "scopes": ["NotBestEffort", "NotTerminating"]},
    {"hard": {"count/pods": "5"}, "scopes": ["Terminating"]},
    {
        "hard": {"pods": "2"},
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}]
        },
    },
    {"hard": {"pods": "1"}, "scopes": ["CrossNamespacePodAffinity"]},
    {"hard": {"requests.ephemeral-storage": "5G", "services": "1"}},
    {"hard": {"services": "0"}},
]


class Wishes:
    """Pods that ask for a share of quotas."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def pod(self, name: str, space: str) -> Json:
        spec: Json = {"containers": [self.container(f"c{n}") for n in range(self.random.choice([1, 1, 2]))]}
        if self.maybe(0.2):
            spec["initContainers"] = [self.container("init")]
        if self.maybe(0.2):
            spec["activeDeadlineSeconds"] = 60
        if self.maybe(0.2):
            spec["priorityClassName"] = "system-node-critical"
        if self.maybe(0.2):
            term = {"topologyKey": HOST, "labelSelector": {}, "namespaces": ["default"]}
            spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        kind = {"apiVersion": "v1", "kind": "Pod"}
        return {**kind, "metadata": {"name": name, "namespace": space}, "spec": spec}

    def container(self, name: str) -> Json:
        requests, limits = {}, {}  # type: ignore[var-annotated]
        amounts = {
            "cpu": ["100m", "0.5", "1"],
            "memory": ["256Mi", "0.5Gi", "1Gi"],
            "ephemeral-storage": ["1Gi", "2Gi"],
        }
        for resource, listed in amounts.items():
            if self.maybe(0.7):
                requests[resource] = self.random.choice(listed)
            if self.maybe(0.5):
                limits[resource] = requests.get(resource, self.random.choice(listed))
        if self.maybe(0.15):
            limits[GPU] = "1"
        return {"name": name, "image": "i", "resources": {"requests": requests, "limits": limits}}


def quota_of(control_plane: ControlPlane, space: str, name: str, spec: Json) -> Json:
    """A ResourceQuota of which nothing is used; nobody here does what the quota controller does at first."""
    quotas = f"/api/v1/namespaces/{space}/resourcequotas"
    raw = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name, "namespace": space}, "spec": spec}
    control_plane.call("POST", quotas, raw)
    status = {"hard": spec["hard"], "used": dict.fromkeys(spec["hard"], "0")}
    control_plane.call("PATCH", f"{quotas}/{name}/status", {"status": status})
    return raw


@pytest.mark.parametrize("number", range(tiers.count(12, 100)))
def test_quotas_let_in_whom_the_api_server_lets_in(control_plane: ControlPlane, number: int) -> None:
    random, space, cluster = Random(f"{tiers.seed()}/{number}"), f"quotas-{number}", ClusterObjects()
    control_plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    quotas = f"/api/v1/namespaces/{space}/resourcequotas"
    # Of several quotas that refuse a pod, the API server names any one: with one quota there is no choice.
    cluster.add(quota_of(control_plane, space, "q", random.choice(QUOTAS)))
    quota_of(control_plane, space, "seen", {"hard": {"count/configmaps": "0"}})
    # Admission learns of quotas in their order, a moment after they were written.
    probe = {"metadata": {"name": "probe"}}
    asked_maps = f"/api/v1/namespaces/{space}/configmaps?dryRun=All"
    wait_until(lambda: control_plane.request("POST", asked_maps, probe).status == 403, "the quotas are in force")
    engine_quotas, wishes = Quotas(cluster), Wishes(random)
    for turn in range(14):
        wished_pod = wishes.pod(f"pod-{turn}", space)
        answer = control_plane.request("POST", f"/api/v1/namespaces/{space}/pods", wished_pod)
        ours = Pod.from_json(admit_pod(wished_pod, cluster))
        refusal = refused(partial(engine_quotas.check_pod, ours))
        if refusal:
            assert (answer.status, answer.json()["message"].partition("is forbidden: ")[2]) == (403, refusal)
        else:
            assert answer.status == 201, answer.data
            engine_quotas.charge_pod(ours)
        used = control_plane.call("GET", f"{quotas}/q")["status"]["used"]
        (quota,) = engine_quotas.list_quotas(space)
        assert {name: used[name] for name in quota.hard} == {name: str(quota.used.get(name, 0)) for name in quota.hard}
