"""Write a cluster's changes as records in the format of kube-scheduler-simulator's recorder (records.py).

Only changes that matter to a scenario are written. Heartbeats of nodes, starts of containers and counts in the status
of workloads do not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.studies.document.raw_pods import FINISHED, unbind_pod
from kschedweb.engine.studies.traces.records import ADD, DELETE, UPDATE, parse_seconds, read_records
from kschedweb.engine.studies.traces.table import LineProblems, RowError

# Kind, namespace and name.
Key = tuple[str, str, str]
# Metadata that changes without effect on a scenario.
FLEETING = frozenset({"resourceVersion", "generation", "managedFields", "annotations"})


class Ledger:
    """The known state of a cluster that is recorded from ``start`` on (seconds of the epoch).

    Changes come from a watch at the time ``now``; each method returns the lines that they add. After an interruption,
    the next list shows the changes, and the objects themselves tell the times.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        # Nodes and pods that were added so far.
        self.nodes = self.pods = 0
        # UID and digest of each object. Digests suffice to notice changes, and take far less memory than objects.
        self._known: dict[Key, tuple[str, bytes]] = {}
        # The apiVersion of each kind, for records of deletions.
        self._versions: dict[str, object] = {}

    @classmethod
    def from_lines(cls, start: float, lines: Iterable[str]) -> Ledger:
        """Return the ledger of a recording that ended with ``lines``. Raise TraceError."""
        ledger = cls(start)
        for record in read_records(lines, LineProblems("", [])):
            if record.event == DELETE:
                ledger._known.pop(record.key, None)
            else:
                ledger._remember(record.key, record.raw, new=record.event == ADD)
        return ledger

    def sync_list(self, kind: str, items: Iterable[Json], now: float) -> list[str]:
        """Return the lines for a list of all objects of ``kind``; other known objects of the kind are deleted."""
        by_key = {_object_key(raw): raw for raw in items}
        missing = [key for key in self._known if key[0] == kind and key not in by_key]
        lines = [(now, line) for key in missing for line in self._record_removal(key, now)]
        for key, raw in by_key.items():
            lines += self._sync_object(key, raw, now)
        return [line for _, line in sorted(lines, key=lambda entry: entry[0])]

    def record_change(self, raw: Json, now: float) -> list[str]:
        """Return the lines for ``raw``, which was added or changed."""
        return [line for _, line in self._record_change(_object_key(raw), raw, now, now)]

    def record_removal(self, raw: Json, now: float) -> list[str]:
        """Return the lines for ``raw``, which was deleted."""
        return list(self._record_removal(_object_key(raw), now))

    def _sync_object(self, key: Key, raw: Json, now: float) -> Iterator[tuple[float, str]]:
        """Yield lines for an object of a list; an object that is new since the beginning has its own creation time."""
        created_at = self._clamp_time(get_mapping(raw, "metadata").get("creationTimestamp"), self.start, now)
        known_object = self._known.get(key)
        is_new = known_object is None or known_object[0] != _object_uid(raw)
        if is_new and key[0] == "Pod" and created_at > self.start and get_mapping(raw, "spec").get("nodeName"):
            # The watch missed the pod before it was bound; a replay needs it unbound, as a scheduler bound it.
            yield from self._record_change(key, unbind_pod(raw), created_at, created_at)
            yield from self._record_change(key, raw, self._clamp_time(_binding_time(raw), created_at, now), now)
        else:
            yield from self._record_change(key, raw, created_at if is_new else now, now)

    def _record_change(self, key: Key, raw: Json, at: float, now: float) -> Iterator[tuple[float, str]]:
        known_object = self._known.get(key)
        # Another UID under the same name: the old object was deleted meanwhile.
        if known_object is not None and known_object[0] != _object_uid(raw):
            yield from ((at, line) for line in self._record_removal(key, at))
            known_object = None
        if known_object is None or known_object[1] != digest_object(raw):
            self._remember(key, raw, new=known_object is None)
            yield at, format_record(at, UPDATE if known_object else ADD, raw)

    def _record_removal(self, key: Key, at: float) -> Iterator[str]:
        if (known_object := self._known.pop(key, None)) is not None:
            kind, namespace, name = key
            metadata = {"name": name, "uid": known_object[0]} | ({"namespace": namespace} if namespace else {})
            yield format_record(at, DELETE, {"apiVersion": self._versions[kind], "kind": kind, "metadata": metadata})

    def _remember(self, key: Key, raw: Json, *, new: bool) -> None:
        self._known[key] = _object_uid(raw), digest_object(raw)
        self._versions[key[0]] = raw.get("apiVersion")
        self.nodes += new and key[0] == "Node"
        self.pods += new and key[0] == "Pod"

    @staticmethod
    def _clamp_time(time: object, first: float, last: float) -> float:
        """Return a time in an object, clamped to the possible range; ``first`` if the object has none."""
        try:
            return min(max(parse_seconds(str(time), ""), first), last)
        except RowError:
            return first


def format_record(time: float, event: str, raw: Json) -> str:
    """Format a record as a line without line end; ``time`` is in seconds of the epoch."""
    moment = datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return json.dumps({"time": moment, "event": event, "resource": raw}, separators=(",", ":"), ensure_ascii=False)


def digest_object(raw: Json) -> bytes:
    """Return a digest of the fields that a replay uses."""
    metadata, kind = get_mapping(raw, "metadata"), raw.get("kind")
    matters: object
    if kind == "Pod":
        spec, status = get_mapping(raw, "spec"), get_mapping(raw, "status")
        ended = status.get("phase") in FINISHED
        matters = metadata.get("labels"), spec.get("schedulingGates"), spec.get("nodeName"), ended
    elif kind == "Node":
        spec, status = get_mapping(raw, "spec"), get_mapping(raw, "status")
        conditions = get_objects(status, "conditions", "status.")
        ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
        scheduling_fields = spec.get("taints"), bool(spec.get("unschedulable")), status.get("allocatable")
        matters = metadata.get("labels"), *scheduling_fields, ready
    else:
        lasting = {key: value for key, value in metadata.items() if key not in FLEETING}
        matters = {**raw, "metadata": lasting, "status": None}
    # Sorted keys, so that equal objects have equal digests whatever the order of their fields.
    return hashlib.blake2b(json.dumps(matters, sort_keys=True, default=str).encode(), digest_size=16).digest()


def _object_key(raw: Json) -> Key:
    metadata = raw["metadata"]
    return str(raw["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"])


def _object_uid(raw: Json) -> str:
    return str(get_mapping(raw, "metadata").get("uid") or "")


def _binding_time(raw: Json) -> object:
    """Return the time of binding in the pod's conditions."""
    conditions = get_objects(get_mapping(raw, "status"), "conditions", "status.")
    return next(
        (condition.get("lastTransitionTime") for condition in conditions if condition.get("type") == "PodScheduled"),
        None,
    )
