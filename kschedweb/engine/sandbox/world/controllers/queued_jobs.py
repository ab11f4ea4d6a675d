"""Jobs that queue for quota: the Workload of each, and how it runs with what its Workload got."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.labels import (
    MIN_PARALLELISM_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    is_queued,
)
from kschedweb.engine.queueing.workloads.workload import Workload
from kschedweb.engine.sandbox.store import Store, StoreChange
from kschedweb.engine.sandbox.world.context import owner_reference
from kschedweb.engine.sandbox.world.pods import get_condition, is_deleting, template_hash
from kschedweb.engine.sandbox.world.resources import JOB, PRIORITY_CLASS, RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS


def is_relevant(change: StoreChange) -> bool:
    """Return true if a change of a Job is of interest to its Workload."""
    if not is_queued(change.last):
        return False
    old, new = (None if raw is None else _describe_job(raw) for raw in (change.old, change.new))
    return old != new


def _describe_job(job: Json) -> tuple[object, ...]:
    metadata, succeeded = job["metadata"], (job.get("status") or {}).get("succeeded", 0)
    return metadata["uid"], metadata.get("labels"), job["spec"], succeeded, find_end(job), is_deleting(job)


def find_end(job: Json) -> str:
    """Return what a Job that has ended says; "" while it has not."""
    ends = (get_condition(job, kind) for kind in ("Complete", "Failed"))
    return next((str(end.get("message")) for end in ends if end is not None and end.get("status") == "True"), "")


def count_reclaimable(job: Json) -> int:
    """Return how many pods of a Job are no longer needed (`ReclaimablePods`)."""
    spec = job["spec"]
    succeeded: int = (job.get("status") or {}).get("succeeded", 0)
    parallelism: int = spec["parallelism"]
    completions: int | None = spec.get("completions")
    if parallelism == 1 or not succeeded or completions is None:
        return 0
    return max(0, parallelism - (completions - succeeded))


def build_workload(store: Store, job: Json) -> Json:
    """Return the Workload of a Job."""
    metadata, spec = job["metadata"], job["spec"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    pod_set: Json = {"name": "main", "count": spec["parallelism"], "template": spec["template"]}
    minimum = annotations.get(MIN_PARALLELISM_ANNOTATION, "")
    if minimum.isdecimal() and 0 < int(minimum) < spec["parallelism"]:
        pod_set["minCount"] = int(minimum)
    name = f"job-{metadata['name'][:50]}-{template_hash({'uid': metadata['uid']})[:5]}"
    return {
        "metadata": {"name": name, "ownerReferences": [owner_reference(JOB, job)]},
        "spec": {
            "queueName": labels[QUEUE_LABEL],
            "active": True,
            "podSets": [pod_set],
            **_find_priority(store, labels.get(PRIORITY_CLASS_LABEL, ""), spec["template"]["spec"]),
        },
    }


def _find_priority(store: Store, workload_class: str, pod_spec: Json) -> Json:
    """Return the priority of a Workload, and the class that it has it from."""
    sources = (
        (WORKLOAD_PRIORITY_CLASS, workload_class),
        (PRIORITY_CLASS, pod_spec.get("priorityClassName") or ""),
    )
    for resource, name in sources:
        raw = store.get(resource, "", name)
        if raw is not None:
            reference = {"group": resource.group, "kind": resource.kind, "name": name}
            return {"priority": int(raw.get("value") or 0), "priorityClassRef": reference}
    return {"priority": 0}


def build_spec(store: Store, job: Json, workload: Workload) -> Json:
    """Return the spec of a Job as its Workload lets it run, on the nodes of its flavors; suspended without quota."""
    (pod_set,) = workload.pod_sets
    if not runs(workload):
        # The Job gets back what it asked for.
        return {**job["spec"], "suspend": True, "template": pod_set.template, "parallelism": pod_set.count}
    assert workload.status.admission is not None
    assigned = workload.status.admission.find_pod_set(pod_set.name)
    flavors = dict.fromkeys(assigned.flavors.values()) if assigned is not None else {}
    count = pod_set.count if assigned is None or assigned.count is None else assigned.count
    template = _place_template(store, pod_set.template, list(flavors))
    return {**job["spec"], "suspend": False, "template": template, "parallelism": count}


def runs(workload: Workload) -> bool:
    return workload.is_admitted and not workload.is_evicted and not workload.is_finished


def _place_template(store: Store, template: Json, flavors: list[str]) -> Json:
    """Return a template for the nodes of its flavors."""
    spec = dict(template["spec"])
    selector, tolerations = dict(spec.get("nodeSelector") or {}), list(spec.get("tolerations") or ())
    for name in flavors:
        raw = store.get(RESOURCE_FLAVOR, "", name) or {}
        flavor = raw.get("spec") or {}
        selector |= flavor.get("nodeLabels") or {}
        tolerations += [raw for raw in flavor.get("tolerations") or () if raw not in tolerations]
    spec |= {"nodeSelector": selector} if selector else {}
    return {**template, "spec": spec | ({"tolerations": tolerations} if tolerations else {})}
