"""The API server's validation of objects. Source: pkg/apis/*/validation of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.kinds import KUEUE
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.refusals import RULES, find_refusals, metadata_problems, owner_problems
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.sandbox.clock_validation import clock_problems as of_clock
from kschedweb.engine.sandbox.limits import find_size_problems
from kschedweb.engine.sandbox.resources import CLOCK, POD, Resource, storage_resource
from kschedweb.engine.sandbox.status_errors import invalid
from kschedweb.engine.validation.fields import Problem, Typed, forbidden
from kschedweb.engine.validation.fields import invalid as invalid_field

WORKLOADS = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
# Fields of a pod's spec that an update may change, within limits.
FREE = frozenset({"tolerations", "activeDeadlineSeconds", "nodeName", "schedulingGates"})
UNCHANGED = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_update(resource: Resource, new: Json, old: Json | None = None, uid: str = "") -> None:
    """Raise ApiRefusal if ``new`` is invalid, or may not replace ``old``. ``uid`` is the one that was sent."""
    problems = [] if old is None else _fresh_problems(resource, new, old)
    if old is not None and uid != old["metadata"]["uid"]:
        problems.append(invalid_field("metadata.uid", uid, "field is immutable"))
    if resource is POD and old is not None:
        problems += _pod_change(old, new)
    elif resource.kind in WORKLOADS:
        problems += _workload_problems(new, old)
    elif resource is CLOCK:
        problems += of_clock(new)
    problems += find_size_problems(resource, new)
    if problems:
        unique = list({problem.text: problem for problem in problems}.values())
        raise invalid(storage_resource(resource), new["metadata"]["name"], unique)


def validate_create(resource: Resource, raw: Json) -> None:
    """Raise ApiRefusal if the API server would not accept ``raw``, as it was sent, for a new object."""
    if problems := _object_problems(resource, raw):
        raise invalid(storage_resource(resource), raw["metadata"]["name"], problems)


def _fresh_problems(resource: Resource, new: Json, old: Json) -> list[Problem]:
    """Return the problems of ``new`` that ``old`` did not have already."""
    # An old problem does not block other changes.
    problems = _object_problems(resource, new)
    old_texts = {problem.text for problem in _object_problems(resource, old)} if problems else set()
    return [problem for problem in problems if problem.text not in old_texts]


def _object_problems(resource: Resource, raw: Json) -> list[Problem]:
    item = FieldValue("", raw)
    common = [] if resource.kind in RULES else list(metadata_problems(item))
    return [
        *common,
        *owner_problems(item["metadata"]["ownerReferences"]),
        *(refusal.problem for refusal in find_refusals(raw)),
        *(_queue_problems(raw) if resource.group == KUEUE else ()),
    ]


def _queue_problems(raw: Json) -> Iterator[Problem]:
    """Yield what Kueue's webhooks refuse."""
    try:
        refusals = find_object_refusals(raw, DEFAULT_GATES)
    except ObjectError as error:
        refusals = [str(error)]
    yield from (Problem(refusal.partition(":")[0], refusal) for refusal in refusals)


def _pod_change(old: Json, new: Json) -> Iterator[Problem]:
    before, after = old["spec"], new["spec"]
    if not _tolerations_kept(before.get("tolerations") or [], after.get("tolerations") or []):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    old_gates = {gate["name"] for gate in before.get("schedulingGates") or []}
    for place, gate in enumerate(after.get("schedulingGates") or []):
        if gate["name"] not in old_gates:
            path = f"spec.schedulingGates[{place}].name"
            yield forbidden(path, f"only deletion is allowed, but found new scheduling gate '{gate['name']}'")
    if _immutable_spec(before) != _immutable_spec(after):
        yield forbidden("spec", UNCHANGED)
    nominated = new["status"].get("nominatedNodeName")
    if after.get("nodeName") and nominated and nominated != old["status"].get("nominatedNodeName"):
        yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def _workload_problems(new: Json, old: Json | None) -> Iterator[Problem]:
    selector, labels = new["spec"].get("selector"), new["spec"]["template"]["metadata"].get("labels") or {}
    if not label_selector(selector).matches(labels):
        detail = "`selector` does not match template `labels`"
        yield invalid_field("spec.template.metadata.labels", Typed(labels), detail)
    if old is not None and old["spec"].get("selector") != selector:
        yield invalid_field("spec.selector", Typed(selector), "field is immutable")


def _tolerations_kept(before: list[Json], after: list[Json]) -> bool:
    """Return true if every toleration of ``before`` still exists, with any tolerationSeconds."""
    parts = [_strip_seconds(toleration) for toleration in after]
    return all(_strip_seconds(toleration) in parts for toleration in before)


def _strip_seconds(toleration: Json) -> Json:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _immutable_spec(spec: Json) -> Json:
    """Return the part of a pod's spec that never changes."""
    immutable = {key: value for key, value in spec.items() if key not in FREE}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            immutable[field] = [
                {key: value for key, value in container.items() if key != "image"} for container in spec[field]
            ]
    return immutable
