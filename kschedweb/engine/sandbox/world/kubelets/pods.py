"""A kubelet's pods: they start, run as long as they say, end, and leave when they are deleted."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.kubelet import REJECTED, admit_to_node
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import is_silent
from kschedweb.engine.sandbox.world.pods import (
    get_condition,
    is_deleting,
    is_pod_ready,
    is_pod_terminal,
    parse_duration,
    uid_fraction,
    with_conditions,
)
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM

# Seconds until a pod runs, or has ended after its deletion: so many, and up to so many more.
STARTS, SPREAD = 1.0, 1.0
# Seconds between looks at claims that are not bound.
VOLUMES_AGAIN = 5.0
# Seconds for which a Job's pod runs that does not say.
JOB_RUNS = 120.0
TRUE, FALSE = "True", "False"


class PodKubelet:
    """Kubelets, as far as pods see them."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        # When something that has begun will be done, by uid. To begin anew after a restart does no harm.
        self._starting: dict[str, float] = {}
        self._ending: dict[str, float] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is POD:
            if change.new is None:
                uid = change.last["metadata"]["uid"]
                self._starting.pop(uid, None)
                self._ending.pop(uid, None)
            elif change.new["spec"].get("nodeName"):
                yield change.key
        elif change.resource is NODE and change.new is not None:
            woke = change.old is None or (is_silent(change.old) and not is_silent(change.new))
            if woke:
                for pod in self._context.index.pods_on_node(change.key[1]):
                    yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        pod = self._context.store.get(POD, *key)
        node = pod and self._context.store.get(NODE, "", pod["spec"].get("nodeName") or "")
        if not pod or not node or is_silent(node):
            return None
        if is_deleting(pod):
            return self._terminate_pod(pod)
        if is_pod_terminal(pod):
            return None
        if pod["status"].get("phase") != "Running":
            return self._start_pod(pod, node)
        if not is_pod_ready(pod):
            self._recover_pod(pod)
        return self._run_pod(self._context.store.get(POD, *key) or pod)

    def _start_pod(self, pod: Json, node: Json) -> float | None:
        context, uid = self._context, pod["metadata"]["uid"]
        if not self._has_bound_volumes(pod):
            return context.time + VOLUMES_AGAIN
        due = self._starting.setdefault(uid, context.time + STARTS + SPREAD * uid_fraction(uid))
        if context.time < due:
            return due
        del self._starting[uid]
        if self._reject_pod(pod, node):
            return None
        status = _running_status(pod, node, context.format_now())
        runs = self._get_run_duration(pod)
        ends = {} if runs is None else own_annotations(ends_at=f"{context.time + runs:.3f}")
        pod = context.annotate(POD, pod, annotations=ends, status=status)
        names = ", ".join(container["name"] for container in pod["spec"]["containers"])
        self._record_event(pod, "Started", f"Started container {names}")
        return self._run_pod(pod)

    def _reject_pod(self, pod: Json, node: Json) -> bool:
        """Fail a pod that the kubelet does not admit, as one that named a node without room; returns true if it did."""
        present = [
            raw for raw in self._context.index.pods_on_node(node["metadata"]["name"]) if not is_pod_terminal(raw)
        ]
        other_pods = [Pod.from_json(raw) for raw in present if raw["status"].get("startTime")]
        admission_result = admit_to_node(Pod.from_json(pod), Node.from_json(node), other_pods)
        if admission_result.refusal is not None:
            reason, message = admission_result.refusal.reason, admission_result.refusal.message
            self._fail_pod(pod, reason, message)
            self._record_event(pod, reason, message.removeprefix(REJECTED), WARNING)
            return True
        preempted = {(victim.namespace, victim.name) for victim in admission_result.ended}
        for raw in present:
            if (raw["metadata"]["namespace"], raw["metadata"]["name"]) in preempted:
                self._fail_pod(raw, "Preempting", "Preempted in order to admit critical pod")
        return False

    def _fail_pod(self, pod: Json, reason: str, message: str) -> None:
        status = {**pod["status"], "phase": "Failed", "reason": reason, "message": message}
        self._context.objects.change_object(POD, pod, status=status)

    def _has_bound_volumes(self, pod: Json) -> bool:
        namespace = pod["metadata"]["namespace"]
        for volume in pod["spec"].get("volumes") or ():
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if volume.get("ephemeral"):
                name = f"{pod['metadata']['name']}-{volume['name']}"
            claim = self._context.store.get(CLAIM, namespace, name) if name else None
            if name and (claim is None or claim["status"].get("phase") != "Bound"):
                return False
        return True

    def _get_run_duration(self, pod: Json) -> float | None:
        text = get_annotation(pod, "runs-for")
        if text is not None and (seconds := parse_duration(text)) is not None:
            return seconds
        if text is not None:
            message = f"The annotation sandbox.kschedweb.dev/runs-for is {text!r}, not a duration such as 20m or 90s"
            self._record_event(pod, "InvalidDuration", message, WARNING)
        owner = get_controller_of(pod)
        return JOB_RUNS if owner is not None and owner["kind"] == "Job" else None

    def _run_pod(self, pod: Json) -> float | None:
        ends = get_annotation_time(pod, "ends-at")
        if ends is None or self._context.time < ends:
            return ends
        now = self._context.format_now()
        self._context.objects.change_object(POD, pod, status=_succeeded_status(pod, now))
        return None

    def _recover_pod(self, pod: Json) -> None:
        """Let a pod be ready again: its node is back."""
        now = self._context.format_now()
        status = with_conditions(pod["status"], now, *(_true_condition(kind) for kind in ("Ready", "ContainersReady")))
        self._context.objects.change_object(POD, pod, status=status)

    def _terminate_pod(self, pod: Json) -> float | None:
        context, uid = self._context, pod["metadata"]["uid"]
        if uid not in self._ending:
            grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
            self._ending[uid] = context.time + min(grace, STARTS + SPREAD * uid_fraction(uid))
            if pod["status"].get("phase") == "Running":
                for container in pod["spec"]["containers"]:
                    self._record_event(pod, "Killing", f"Stopping container {container['name']}")
        due = self._ending[uid]
        if context.time < due:
            return due
        context.delete_object(POD, pod, 0)
        return None

    def _record_event(self, pod: Json, reason: str, message: str, kind: str = "Normal") -> None:
        node = pod["spec"]["nodeName"]
        self._context.recorder.record_event(POD, pod, reason, message, component="kubelet", kind=kind, host=node)


def _true_condition(kind: str) -> Json:
    return {"type": kind, "status": TRUE, "lastProbeTime": None}


def _running_status(pod: Json, node: Json, now: str) -> Json:
    """Return the status of a pod whose containers have started."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    scheduled = get_condition(pod, "PodScheduled")
    status = {**pod["status"], "conditions": [scheduled] if scheduled is not None else []}
    status = with_conditions(status, now, *(_true_condition(kind) for kind in kinds))
    host = _internal_ip(node)
    ip = host if pod["spec"].get("hostNetwork") else _pod_address(pod, node)
    state = {"running": {"startedAt": now}}
    containers = [_container_status(pod, container, state, up=True) for container in pod["spec"]["containers"]]
    terminated = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    inits = [
        _container_status(pod, container, terminated, up=False) | {"ready": True}
        for container in pod["spec"].get("initContainers") or ()
    ]
    return {
        **status,
        "phase": "Running",
        "startTime": now,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "containerStatuses": containers,
        **({"initContainerStatuses": inits} if inits else {}),
    }


def _container_status(pod: Json, container: Json, state: Json, *, up: bool) -> Json:
    uid, image = pod["metadata"]["uid"], str(container.get("image") or "")
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": up,
        "restartCount": 0,
        "image": image,
        "imageID": image,
        "containerID": f"sandbox://{uid.replace('-', '')}{container['name']}",
        "started": up,
    }


def _succeeded_status(pod: Json, now: str) -> Json:
    """Return the status of a pod whose containers have all succeeded."""
    status = pod["status"]
    started = status.get("startTime") or now
    terminated = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": now}}
    containers = [
        {**container, "state": terminated, "ready": False, "started": False}
        for container in status.get("containerStatuses") or ()
    ]
    why = {"reason": "PodCompleted", "lastProbeTime": None}
    false = [{"type": kind, "status": FALSE, **why} for kind in ("Ready", "ContainersReady")]
    fresh = [*false, {"type": "Initialized", "status": TRUE, **why}]
    fresh.append({"type": "PodReadyToStartContainers", "status": FALSE, "lastProbeTime": None})
    return {**with_conditions(status, now, *fresh), "phase": "Succeeded", "containerStatuses": containers}


def _internal_ip(node: Json) -> str:
    addresses = node.get("status", {}).get("addresses") or ()
    return next((str(address["address"]) for address in addresses if address.get("type") == "InternalIP"), "")


def _pod_address(pod: Json, node: Json) -> str:
    """Return an address in the node's own range, so that it tells where the pod is."""
    third = whole_number(_internal_ip(node).rpartition(".")[2]) or 0
    return f"10.244.{third}.{2 + int(252 * uid_fraction(pod['metadata']['uid']))}"
