"""Storage of an API server, in memory: versioned objects, and watch events that wait for delivery."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.live import BindPod, EvictPod, Intent, LiveLoop, NominateNode, ReportGroup, ReportPod
from kschedweb.engine.live.intents import PodIntent


class Store:
    """Objects by kind and key. Each kind has its own stream of events: in order, but not with the others."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Json]] = {}
        self.streams: dict[str, deque[tuple[str, Json]]] = {}
        self._version = 0
        self.bound: list[tuple[str, str]] = []  # (uid, node) of each binding that was accepted

    def _stamp(self, raw: Json) -> Json:
        self._version += 1
        raw = copy.deepcopy(raw)
        metadata = raw["metadata"]
        metadata["resourceVersion"] = str(self._version)
        metadata.setdefault("uid", f"uid-{self._version}")
        return raw

    def _tell(self, kind: str, change: str, raw: Json) -> None:
        self.streams.setdefault(kind, deque()).append((change, copy.deepcopy(raw)))

    def put(self, raw: Json) -> Json:
        """Create the object, or write it."""
        raw = self._stamp(raw)
        objects_of_kind = self.objects.setdefault(raw["kind"], {})
        change = "MODIFIED" if key(raw) in objects_of_kind else "ADDED"
        objects_of_kind[key(raw)] = raw
        self._tell(raw["kind"], change, raw)
        return raw

    def change(self, kind: str, name: str, write: Callable[[Json], Any]) -> None:
        raw = copy.deepcopy(self.objects[kind][name])
        write(raw)
        self.put(raw)

    def delete(self, kind: str, name: str) -> None:
        self._tell(kind, "DELETED", self._stamp(self.objects[kind].pop(name)))

    def all(self, kind: str) -> list[Json]:
        return [copy.deepcopy(raw) for raw in self.objects.get(kind, {}).values()]

    def everything(self) -> list[Json]:
        return [raw for kind in self.objects for raw in self.all(kind)]

    def get_pod_by_uid(self, uid: str) -> Json | None:
        return next((raw for raw in self.objects.get("Pod", {}).values() if raw["metadata"]["uid"] == uid), None)

    # What schedulers write.

    def bind(self, intent: BindPod) -> str:
        """ "" where the binding is accepted, else the API server's reason."""
        raw = self.objects["Pod"].get(intent.pod.key)
        if raw is None or raw["metadata"]["uid"] != intent.pod.uid:
            return f'pods "{intent.pod.name}" not found'
        if raw["spec"].get("nodeName"):
            return f'pod {intent.pod.name} is already assigned to node "{raw["spec"]["nodeName"]}"'
        if raw["metadata"].get("deletionTimestamp"):
            return f"pod {intent.pod.name} is being deleted, cannot be assigned to a host"
        if raw["spec"].get("schedulingGates"):
            return f"pod {intent.pod.name} has non-empty .spec.schedulingGates"
        raw = copy.deepcopy(raw)
        raw["spec"]["nodeName"] = intent.node
        raw.setdefault("status", {})["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        self.bound.append((intent.pod.uid, intent.node))
        self.put(raw)
        return ""

    def carry_out(self, intent: Intent) -> None:
        """Reports, nominations and evictions."""
        if isinstance(intent, ReportGroup):
            self._report_group(intent)
            return
        assert isinstance(intent, PodIntent)
        raw = self.objects.get("Pod", {}).get(intent.pod.key)
        if raw is None or raw["metadata"]["uid"] != intent.pod.uid:
            return
        raw = copy.deepcopy(raw)
        status = raw.setdefault("status", {})
        if isinstance(intent, EvictPod):
            self.delete("Pod", intent.pod.key)
        elif isinstance(intent, NominateNode):
            status["nominatedNodeName"] = intent.node
            self.put(raw)
        elif isinstance(intent, ReportPod) and intent.reason and intent.status_changes:
            condition = {"type": "PodScheduled", "status": "False", "reason": intent.reason, "message": intent.message}
            status["conditions"] = [condition]
            if intent.nominated is not None:
                status["nominatedNodeName"] = intent.nominated
            self.put(raw)

    def _report_group(self, intent: ReportGroup) -> None:
        raw = self.objects.get("PodGroup", {}).get(intent.group.key)
        if raw is not None and raw["metadata"]["uid"] == intent.group.uid:
            status = {"status": intent.status, "reason": intent.reason, "message": intent.message}
            condition = {"type": "PodGroupInitiallyScheduled", **status, "observedGeneration": intent.generation}
            self.change("PodGroup", intent.group.key, lambda raw: raw.update(status={"conditions": [condition]}))

    # What is heard of it.

    def deliver(self, loop: LiveLoop, kind: str, now: float) -> list[Intent]:
        """The next event of ``kind``."""
        change, raw = self.streams[kind].popleft()
        return loop.delete_object(kind, raw, now) if change == "DELETED" else loop.apply_object(kind, raw, now)

    def relist(self, loop: LiveLoop, kind: str, now: float) -> list[Intent]:
        """All of ``kind`` as it is now, in place of the events that were not delivered yet."""
        self.streams.pop(kind, None)
        return loop.replace_objects(kind, self.all(kind), now)

    def list_pending_kinds(self) -> list[str]:
        """The kinds with events that are still to be delivered."""
        return [kind for kind, stream in self.streams.items() if stream]


def key(raw: Json) -> str:
    metadata = raw["metadata"]
    return f"{metadata.get('namespace') or ''}/{metadata['name']}"
