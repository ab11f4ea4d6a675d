"""Changes of Kueue's quotas with which the Workload of a pod gets quota, and the pod loses its gate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queueing.explaining.explanation import WaitVerdict, explain_workload
from kschedweb.engine.queueing.explaining.pod_links import GATES, find_pod_workload
from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.explaining.remedies import QuotaChange, Remedy, RemedyKind
from kschedweb.engine.studies.fixes.changes import Change, ChangeKind, ObjectKey, patch_command, replace_at
from kschedweb.engine.studies.fixes.pod_changes import format_quantity

# The kinds of remedies that change a quota, each with the field that it raises.
_RAISED_FIELDS = {
    RemedyKind.NOMINAL_QUOTA: (ChangeKind.RAISE_QUOTA, "nominalQuota"),
    RemedyKind.BORROWING_LIMIT: (ChangeKind.RAISE_BORROWING_LIMIT, "borrowingLimit"),
}
# The verdicts on a Workload that gets quota without a change.
_GETS_QUOTA = frozenset({WaitVerdict.ADMITTED, WaitVerdict.NEXT, WaitVerdict.BEHIND})
# Larger than a change of the pod: others share the quota.
_COST = 3.0


def list_quota_proposals(queues: QueueState, pod: Pod, gate_changes: tuple[Change, ...]) -> list[tuple[Change, ...]]:
    """Return what frees ``pod`` of its gates, in place of ``gate_changes``, which remove all of them.

    Kueue's own gate goes when the Workload of the pod gets quota: where it needs more, a quota of one queue or cohort
    is raised.
    """
    workloads = (raw for raw in queues.objects if raw.get("kind") == "Workload")
    name = find_pod_workload(workloads, pod.raw)
    if not name:
        return [gate_changes]
    explanation = explain_workload(queues, f"{pod.namespace}/{name}")
    other_changes = tuple(change for change in gate_changes if change.before not in GATES)
    assigned = {flavor for pod_set in explanation.pod_sets for flavor in pod_set.flavors.values()}
    if explanation.verdict in _GETS_QUOTA:
        return [tuple(_let_start(change, queues.objects, assigned) for change in other_changes)]
    return [
        (_raise_quota(queues.objects, pod, remedy, {remedy.flavor, *assigned}), *other_changes)
        for remedy in explanation.remedies
        if remedy.kind in _RAISED_FIELDS
        and len({(change.is_cohort, change.node) for change in remedy.quotas}) == 1
        and not remedy.targets
    ]


def _let_start(change: Change, objects: Iterable[Json], flavors: set[str]) -> Change:
    """Return ``change`` of a pod that Kueue starts by itself."""
    specs = _find_flavors(objects, flavors)
    return replace(change, edit=lambda raw: _release(change.edit(raw), specs))


def _find_flavors(objects: Iterable[Json], names: set[str]) -> list[Json]:
    flavors = (raw for raw in objects if raw.get("kind") == "ResourceFlavor")
    return [raw.get("spec") or {} for raw in flavors if raw["metadata"]["name"] in names]


def _raise_quota(objects: Iterable[Json], pod: Pod, remedy: Remedy, flavors: set[str]) -> Change:
    kind, field = _RAISED_FIELDS[remedy.kind]
    quota = remedy.quotas[0]
    target: ObjectKey = ("Cohort" if quota.is_cohort else "ClusterQueue", "", quota.node)
    specs = _find_flavors(objects, flavors)
    amounts = [f"{change.key.resource} from {_write(change.before, change)} to {_write(change.after, change)}"
               for change in remedy.quotas]  # fmt: skip
    return Change(
        kind=kind,
        target=target,
        path=f"spec.resourceGroups.flavors[{remedy.flavor}].resources.{field}",
        before={change.key.resource: _write(change.before, change) for change in remedy.quotas},
        after={change.key.resource: _write(change.after, change) for change in remedy.quotas},
        words={"queue": f"{target[0]} {quota.node}", "flavor": remedy.flavor, "amounts": ", ".join(amounts)},
        cost=_COST,
        subject=("Pod", pod.namespace, pod.name),
        edit=lambda raw: _release(raw, specs),
        command=_write_command(objects, target, remedy, field),
    )


def _write(amount: int | None, change: QuotaChange) -> str:
    return format_quantity(amount, change.key.resource) if amount is not None else "none"


def _release(raw: Json | None, flavors: list[Json]) -> Json:
    """Return a pod as Kueue starts it: without its gates, for the nodes of ``flavors``."""
    spec = (raw or {}).get("spec") or {}
    gates = [gate for gate in spec.get("schedulingGates") or [] if gate.get("name") not in GATES]
    raw = replace_at(raw, ("spec", "schedulingGates"), gates or None)
    for flavor in flavors:
        spec = raw["spec"]
        if labels := flavor.get("nodeLabels"):
            raw = replace_at(raw, ("spec", "nodeSelector"), {**(spec.get("nodeSelector") or {}), **labels})
        if tolerations := flavor.get("tolerations"):
            raw = replace_at(raw, ("spec", "tolerations"), [*(spec.get("tolerations") or []), *tolerations])
    return raw


def _write_command(objects: Iterable[Json], target: ObjectKey, remedy: Remedy, field: str) -> str:
    """Return the command where it is one field of one quota, "" where there are several."""
    if len(remedy.quotas) != 1:
        return ""
    (change,) = remedy.quotas
    (raw,) = [raw for raw in objects if (raw.get("kind"), "", (raw.get("metadata") or {}).get("name")) == target]
    for group, covered in enumerate(raw["spec"].get("resourceGroups") or ()):
        for place, flavor in enumerate(covered["flavors"]):
            for position, resource in enumerate(flavor["resources"]):
                if (flavor["name"], resource["name"]) == change.key:
                    path = ("spec", "resourceGroups", group, "flavors", place, "resources", position, field)
                    return patch_command(target, path, _write(change.after, change))
    return ""
