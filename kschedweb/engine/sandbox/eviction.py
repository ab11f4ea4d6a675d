"""The eviction of a pod: a deletion that budgets may forbid. Source: pkg/registry/core/pod/storage/eviction.go."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.sandbox.api_objects import ApiObjects, format_timestamp
from kschedweb.engine.sandbox.resources import POD, get_resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal, too_many

BUDGET = get_resource("PodDisruptionBudget", "policy/v1")


def evict_pod(objects: ApiObjects, namespace: str, name: str, options: Json, *, dry_run: bool = False) -> None:
    """Delete the pod if its budget allows it now; ``dry_run`` only asks. Raises ApiRefusal."""
    pod = objects.get_object(POD, namespace, name)
    if _is_budget_asked(pod):
        budgets = [budget for budget in objects.store.all(BUDGET, namespace) if _budget_matches(budget, pod)]
        if len(budgets) > 1:
            raise ApiRefusal(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )
        if budgets:
            _use_budget(objects, budgets[0], dry_run=dry_run)
    if dry_run:
        return
    _set_disruption_target(objects, pod)
    objects.delete_object(POD, namespace, name, options)


def _set_disruption_target(objects: ApiObjects, pod: Json) -> None:
    """Write into the pod's status that it leaves because of an eviction."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_timestamp(objects.clock()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    if any(existing.get("type") == condition["type"] for existing in pod["status"].get("conditions") or []):
        return
    conditions = pod["status"].get("conditions") or []
    objects.change_object(POD, pod, status={**pod["status"], "conditions": [*conditions, condition]})


def _is_budget_asked(pod: Json) -> bool:
    """Return true if budgets protect the pod: not if it does not run, or is leaving already."""
    return pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")


def _budget_matches(budget: Json, pod: Json) -> bool:
    return label_selector(budget["spec"].get("selector")).matches(pod["metadata"].get("labels") or {})


def _use_budget(objects: ApiObjects, budget: Json, *, dry_run: bool) -> None:
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
        # Counted at once, so that the next eviction does not rely on the controller's next look.
        objects.change_object(BUDGET, budget, status={**status, "disruptionsAllowed": allowed - 1})
