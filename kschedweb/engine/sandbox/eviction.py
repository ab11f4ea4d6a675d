"""The Eviction of a pod: a deletion that budgets may forbid. Source: pkg/registry/core/pod/storage/eviction.go."""

from __future__ import annotations

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.sandbox.failures import Refusal, too_many
from kschedweb.engine.sandbox.objects import Objects, timestamp
from kschedweb.engine.sandbox.resources import POD, resource

BUDGET = resource("PodDisruptionBudget", "policy/v1")


def evict(objects: Objects, namespace: str, name: str, options: Json, *, dry_run: bool = False) -> None:
    """Delete the pod where its budget allows it now; ``dry_run`` only asks. Raises Refusal."""
    pod = objects.get(POD, namespace, name)
    if _counts(pod):
        budgets = [one for one in objects.store.all(BUDGET, namespace) if _matches(one, pod)]
        if len(budgets) > 1:
            raise Refusal(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )
        if budgets:
            _take(objects, budgets[0], dry_run=dry_run)
    if dry_run:
        return
    _mark(objects, pod)
    objects.delete(POD, namespace, name, options)


def _mark(objects: Objects, pod: Json) -> None:
    """Say in the pod's status that it leaves for an eviction."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(objects.clock()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    if any(one.get("type") == condition["type"] for one in pod["status"].get("conditions") or []):
        return
    kept = pod["status"].get("conditions") or []
    objects.change(POD, pod, status={**pod["status"], "conditions": [*kept, condition]})


def _counts(pod: Json) -> bool:
    """Whether a budget is asked at all: not for pods that do not run, or leave already."""
    return pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")


def _matches(budget: Json, pod: Json) -> bool:
    return label_selector(budget["spec"].get("selector")).matches(pod["metadata"].get("labels") or {})


def _take(objects: Objects, budget: Json, *, dry_run: bool) -> None:
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    allowed = int(status.get("disruptionsAllowed", 0))
    if allowed <= 0:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        cause = {
            "reason": "DisruptionBudget",
            "message": f"The disruption budget {name} needs {needs} healthy pods and has {has} currently",
        }
        refusal = too_many(message)
        refusal.details["causes"] = [cause]
        raise refusal
    if not dry_run:
        objects.change(BUDGET, budget, status={**status, "disruptionsAllowed": allowed - 1})
