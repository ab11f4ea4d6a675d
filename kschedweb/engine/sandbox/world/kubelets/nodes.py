"""A kubelet's reports of its node: it is well, unless it is silent for a while."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.discovery import VERSION
from kschedweb.engine.sandbox.resources import NODE
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.pods import get_condition, parse_duration, uid_fraction, with_conditions
from kschedweb.engine.sandbox.world.recorder import NORMAL, WARNING

# Seconds, as kubelets report without a change.
HEARTBEAT = 300.0
CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def is_silent(node: Json) -> bool:
    """Return true if the node's kubelet is silent."""
    return get_annotation_time(node, "silent-until") is not None or get_annotation(node, "silent-for") is not None


class NodeKubelet:
    """Kubelets, as far as nodes see them.

    The annotation silent-for (15m) makes one silent for so long.
    """

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        # node -> when it last reported
        self._posted: dict[str, float] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is NODE:
            if change.new is None:
                self._posted.pop(change.key[1], None)
            elif change.old is None or is_silent(change.new) or is_silent(change.old):
                yield change.key

    def sync(self, key: Key) -> float | None:
        node = self._context.store.get(NODE, *key)
        if node is None:
            return None
        if get_annotation(node, "silent-for") is not None:
            node = self._fall_silent(node)
        silent_until = get_annotation_time(node, "silent-until")
        if silent_until is not None and self._context.time < silent_until:
            return silent_until
        if silent_until is not None:
            back = own_annotations(silent_until=None, silent_since=None)
            node = self._context.annotate(NODE, node, annotations=back)
        return self._post_status(node)

    def _fall_silent(self, node: Json) -> Json:
        text, time = get_annotation(node, "silent-for") or "", self._context.time
        seconds = parse_duration(text)
        annotations: dict[str, str | None] = {}
        if seconds is None:
            message = f"The annotation sandbox.kschedweb.dev/silent-for is {text!r}, not a duration such as 15m"
            self._record_event(node, "InvalidDuration", message, WARNING)
        else:
            annotations = own_annotations(silent_until=f"{time + seconds:.3f}", silent_since=f"{time:.3f}")
        return self._context.annotate(NODE, node, annotations=own_annotations(silent_for=None) | annotations)

    def _post_status(self, node: Json) -> float:
        """Report the node: at once if it was not well, else as a heartbeat. Returns when to report next."""
        name, time = node["metadata"]["name"], self._context.time
        was = get_condition(node, "Ready")
        well = was is not None and was.get("status") == "True"
        # Spread by the uid, so that after a restart not all nodes report at once.
        posted = self._posted.setdefault(name, time - HEARTBEAT * uid_fraction(node["metadata"]["uid"]))
        if well and time < posted + HEARTBEAT:
            return posted + HEARTBEAT
        self._posted[name] = time
        now = self._context.format_now()
        fresh = [
            {"type": kind, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": now}
            for kind, status, reason, message in CONDITIONS
        ]
        status = with_conditions(_registered_status(node), now, *fresh)
        node = self._context.objects.change_object(NODE, node, status=status)
        if not well:
            self._record_event(node, "NodeReady", f"Node {name} status is now: NodeReady", NORMAL)
        return time + HEARTBEAT

    def _record_event(self, node: Json, reason: str, message: str, kind: str) -> None:
        name = node["metadata"]["name"]
        self._context.recorder.record_event(NODE, node, reason, message, component="kubelet", kind=kind, host=name)


def _registered_status(node: Json) -> Json:
    """Return the status of a registered node, with defaults for what it lacks."""
    name, status = node["metadata"]["name"], node.get("status") or {}
    part = int(256 * uid_fraction(node["metadata"]["uid"]))
    addresses = [{"type": "InternalIP", "address": f"10.0.{part}.{1 + sum(name.encode()) % 254}"}]
    info = {
        "architecture": "amd64",
        "operatingSystem": "linux",
        "kubeletVersion": VERSION["gitVersion"],
        "osImage": "kschedweb sandbox",
        "containerRuntimeVersion": "sandbox://1",
        "systemUUID": node["metadata"]["uid"],
    }
    node_info = {key: text for key, text in (status.get("nodeInfo") or {}).items() if text or key not in info}
    return {
        "addresses": [*addresses, {"type": "Hostname", "address": name}],
        **status,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": info | node_info,
    }
