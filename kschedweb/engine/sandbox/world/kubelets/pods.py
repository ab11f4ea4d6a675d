"""A node's kubelet and its pods: they start, run as long as they say, end, and leave when they are deleted."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers.kubelet import REJECTED, admission
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, annotation, own, time_in
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import silent
from kschedweb.engine.sandbox.world.pods import condition, duration, ended, leaving, ready, share, with_conditions
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM

STARTS, SPREAD = 1.0, 1.0  # seconds until a pod runs, or has ended after its deletion: so many, and up to so many more
VOLUMES_AGAIN = 5.0  # seconds between looks at claims that are not bound
JOB_RUNS = 120.0  # seconds for which a job's pod runs that does not say
TRUE, FALSE = "True", "False"


class PodKubelet:
    """Kubelets, as far as pods see them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # When something that has begun will be done, by uid: beginning anew after a restart does no harm.
        self._starting: dict[str, float] = {}
        self._ending: dict[str, float] = {}

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is POD:
            if change.new is None:
                uid = change.last["metadata"]["uid"]
                self._starting.pop(uid, None)
                self._ending.pop(uid, None)
            elif change.new["spec"].get("nodeName"):
                yield change.key
        elif change.resource is NODE and change.new is not None:
            woke = change.old is None or (silent(change.old) and not silent(change.new))
            if woke:
                for pod in self._context.index.pods_on(change.key[1]):
                    yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        pod = self._context.store.get(POD, *key)
        node = pod and self._context.store.get(NODE, "", pod["spec"].get("nodeName") or "")
        if not pod or not node or silent(node):
            return None
        if leaving(pod):
            return self._end(pod)
        if ended(pod):
            return None
        if pod["status"].get("phase") != "Running":
            return self._start(pod, node)
        if not ready(pod):
            self._recover(pod)
        return self._run(self._context.store.get(POD, *key) or pod)

    def _start(self, pod: Json, node: Json) -> float | None:
        context, uid = self._context, pod["metadata"]["uid"]
        if not self._mounted(pod):
            return context.time + VOLUMES_AGAIN
        due = self._starting.setdefault(uid, context.time + STARTS + SPREAD * share(uid))
        if context.time < due:
            return due
        del self._starting[uid]
        if self._refused(pod, node):
            return None
        status = _running(pod, node, context.stamp())
        runs = self._runs_for(pod)
        ends = {} if runs is None else own(ends_at=f"{context.time + runs:.3f}")
        pod = context.annotate(POD, pod, annotations=ends, status=status)
        names = ", ".join(one["name"] for one in pod["spec"]["containers"])
        self._say(pod, "Started", f"Started container {names}")
        return self._run(pod)

    def _refused(self, pod: Json, node: Json) -> bool:
        """Whether the kubelet does not take the pod in, as with one that named a node without room by itself."""
        present = [raw for raw in self._context.index.pods_on(node["metadata"]["name"]) if not ended(raw)]
        others = [Pod.read(raw) for raw in present if raw["status"].get("startTime")]
        found = admission(Pod.read(pod), Node.read(node), others)
        if found.refusal is not None:
            reason, message = found.refusal.reason, found.refusal.message
            self._fail(pod, reason, message)
            self._say(pod, reason, message.removeprefix(REJECTED), WARNING)
            return True
        gone = {(one.namespace, one.name) for one in found.ended}
        for raw in present:
            if (raw["metadata"]["namespace"], raw["metadata"]["name"]) in gone:
                self._fail(raw, "Preempting", "Preempted in order to admit critical pod")
        return False

    def _fail(self, pod: Json, reason: str, message: str) -> None:
        status = {**pod["status"], "phase": "Failed", "reason": reason, "message": message}
        self._context.objects.change(POD, pod, status=status)

    def _mounted(self, pod: Json) -> bool:
        namespace = pod["metadata"]["namespace"]
        for volume in pod["spec"].get("volumes") or ():
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if volume.get("ephemeral"):
                name = f"{pod['metadata']['name']}-{volume['name']}"
            claim = self._context.store.get(CLAIM, namespace, name) if name else None
            if name and (claim is None or claim["status"].get("phase") != "Bound"):
                return False
        return True

    def _runs_for(self, pod: Json) -> float | None:
        text = annotation(pod, "runs-for")
        if text is not None and (seconds := duration(text)) is not None:
            return seconds
        if text is not None:
            message = f"The annotation sandbox.kschedweb.dev/runs-for is {text!r}, not a duration such as 20m or 90s"
            self._say(pod, "InvalidDuration", message, WARNING)
        owner = controller_of(pod)
        return JOB_RUNS if owner is not None and owner["kind"] == "Job" else None

    def _run(self, pod: Json) -> float | None:
        ends = time_in(pod, "ends-at")
        if ends is None or self._context.time < ends:
            return ends
        now = self._context.stamp()
        self._context.objects.change(POD, pod, status=_succeeded(pod, now))
        return None

    def _recover(self, pod: Json) -> None:
        """The node is back: the pod runs as before."""
        now = self._context.stamp()
        status = with_conditions(pod["status"], now, *(_true(kind) for kind in ("Ready", "ContainersReady")))
        self._context.objects.change(POD, pod, status=status)

    def _end(self, pod: Json) -> float | None:
        context, uid = self._context, pod["metadata"]["uid"]
        if uid not in self._ending:
            grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
            self._ending[uid] = context.time + min(grace, STARTS + SPREAD * share(uid))
            if pod["status"].get("phase") == "Running":
                for one in pod["spec"]["containers"]:
                    self._say(pod, "Killing", f"Stopping container {one['name']}")
        due = self._ending[uid]
        if context.time < due:
            return due
        context.delete(POD, pod, 0)
        return None

    def _say(self, pod: Json, reason: str, message: str, kind: str = "Normal") -> None:
        node = pod["spec"]["nodeName"]
        self._context.recorder.say(POD, pod, reason, message, by="kubelet", kind=kind, host=node)


def _true(kind: str) -> Json:
    return {"type": kind, "status": TRUE, "lastProbeTime": None}


def _running(pod: Json, node: Json, now: str) -> Json:
    """The status of a pod whose containers have started."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    scheduled = condition(pod, "PodScheduled")
    status = {**pod["status"], "conditions": [scheduled] if scheduled is not None else []}
    status = with_conditions(status, now, *(_true(kind) for kind in kinds))
    host = _address(node)
    ip = host if pod["spec"].get("hostNetwork") else _pod_address(pod, node)
    state = {"running": {"startedAt": now}}
    containers = [_container(pod, one, state, up=True) for one in pod["spec"]["containers"]]
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    inits = [_container(pod, one, done, up=False) | {"ready": True} for one in pod["spec"].get("initContainers") or ()]
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


def _container(pod: Json, container: Json, state: Json, *, up: bool) -> Json:
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


def _succeeded(pod: Json, now: str) -> Json:
    """The status of a pod whose containers have all ended well."""
    status = pod["status"]
    started = status.get("startTime") or now
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": now}}
    containers = [
        {**one, "state": done, "ready": False, "started": False} for one in status.get("containerStatuses") or ()
    ]
    why = {"reason": "PodCompleted", "lastProbeTime": None}
    false = [{"type": kind, "status": FALSE, **why} for kind in ("Ready", "ContainersReady")]
    fresh = [*false, {"type": "Initialized", "status": TRUE, **why}]
    fresh.append({"type": "PodReadyToStartContainers", "status": FALSE, "lastProbeTime": None})
    return {**with_conditions(status, now, *fresh), "phase": "Succeeded", "containerStatuses": containers}


def _address(node: Json) -> str:
    addresses = node.get("status", {}).get("addresses") or ()
    return next((str(one["address"]) for one in addresses if one.get("type") == "InternalIP"), "")


def _pod_address(pod: Json, node: Json) -> str:
    """An address within the node's own range, so that it tells where the pod is."""
    third = whole_number(_address(node).rpartition(".")[2]) or 0
    return f"10.244.{third}.{2 + int(252 * share(pod['metadata']['uid']))}"
