"""Evictions that the API permits, and its words: the real one beside the budgets of drain rehearsals."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.controllers.budgets import EvictionBudgets
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"
CONTAINER = {"name": "main", "image": "main"}


def pod(name: str, labels: Json) -> Json:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [CONTAINER]}}


def budget(name: str, selector: Json, **spec: Any) -> Json:
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**kind, "metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector, **spec}}


def counts(allowed: int, healthy: int, desired: int, observed: int = 1) -> Json:
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": healthy,
        "observedGeneration": observed,
    }


def app(name: str) -> Json:
    return {"matchLabels": {"app": name}}


ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
CASES: dict[str, tuple[list[tuple[Json, Json]], bool | None]] = {
    # name of the pod and its label: (budgets with their status, whether it is ready; None: it is pending)
    "free": ([], True),
    "allowed": ([(budget("allowed", app("allowed")), counts(1, 2, 1))], True),
    "used-up": ([(budget("used-up", app("used-up")), counts(0, 2, 2))], True),
    "behind": ([(budget("behind", app("behind")), counts(1, 2, 1, observed=0))], True),
    "several": ([(budget(f"several-{at}", app("several")), counts(1, 2, 1)) for at in (1, 2)], True),
    "sick": ([(budget("sick", app("sick")), counts(0, 2, 2))], False),
    "sick-in-need": ([(budget("sick-in-need", app("sick-in-need")), counts(0, 1, 2))], False),
    "sick-always": ([(budget("sick-always", app("sick-always"), **ALWAYS), counts(0, 1, 2))], False),
    "not-running": ([(budget("not-running", app("not-running")), counts(0, 1, 2))], None),
    "other": ([(budget("all", {}), counts(0, 2, 2))], True),
}


@pytest.mark.parametrize("name", CASES)
def test_budgets_refuse_whom_the_eviction_api_refuses(control_plane: ControlPlane, name: str) -> None:
    budgets, ready = CASES[name]
    space, call = f"evictions-{name}", control_plane.call
    call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    path = f"/api/v1/namespaces/{space}/pods"
    call("POST", f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "default"}})
    call("POST", path, pod(name, {"app": name}))
    try:
        if ready is not None:
            control_plane.bind(space, name, "a-node")
            conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
            call("PATCH", f"{path}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})
        for document, status in budgets:
            created_budget = call("POST", BUDGETS.format(space), document)
            address = f"{BUDGETS.format(space)}/{created_budget['metadata']['name']}/status"
            call("PATCH", address, {"status": status})
        cluster = ClusterObjects()
        for item in call("GET", BUDGETS.format(space))["items"]:
            cluster.add({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **item})
        eviction_budgets = EvictionBudgets(cluster)
        read = Pod.from_json(call("GET", f"{path}/{name}"))
        refusal_text = eviction_budgets.explain_refusal(read)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": space}}
        answer = control_plane.request("POST", f"{path}/{name}/eviction", eviction)
        assert (answer.status == 201) is (refusal_text == ""), answer.data
        if refusal_text:
            body = answer.json()
            causes = " ".join(cause["message"] for cause in (body.get("details") or {}).get("causes") or [])
            assert refusal_text in f"{body['message']} {causes}".strip()
        else:
            eviction_budgets.evict_pod(read)
            disruptions_allowed = [
                item["status"]["disruptionsAllowed"] for item in call("GET", BUDGETS.format(space))["items"]
            ]
            assert [budget.allowed for budget in eviction_budgets.find_budgets(read)] == disruptions_allowed
    finally:
        control_plane.wipe()
