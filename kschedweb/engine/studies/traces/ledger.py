"""Writes a cluster's changes as records in the format of kube-scheduler-simulator's recorder (records.py).

Only changes that matter to a scenario are written. Heartbeats of nodes, starts of containers and counts in the status
of workloads do not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from kschedweb.engine.objects.access import Json, mapping, objects
from kschedweb.engine.studies.document.raw import FINISHED, unbound
from kschedweb.engine.studies.traces.records import ADD, DELETE, UPDATE, records, seconds
from kschedweb.engine.studies.traces.table import Doubts, RowError

Key = tuple[str, str, str]  # kind, namespace, name
FLEETING = frozenset({"resourceVersion", "generation", "managedFields", "annotations"})  # of metadata


class Ledger:
    """The known state of a cluster that is recorded from ``start`` on (seconds of the epoch).

    Changes come from a watch at the time ``now``; each method returns the lines that they add. After an interruption,
    the next list shows what has changed, and the objects themselves name the times.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        self.nodes = self.pods = 0  # numbers added so far
        self._known: dict[Key, tuple[str, bytes]] = {}  # uid and digest
        self._versions: dict[str, object] = {}  # apiVersion by kind

    @classmethod
    def resumed(cls, start: float, lines: Iterable[str]) -> Ledger:
        """The ledger of a recording that ended with ``lines``. Raises TraceError."""
        ledger = cls(start)
        for record in records(lines, Doubts("", [])):
            if record.event == DELETE:
                ledger._known.pop(record.key, None)
            else:
                ledger._keep(record.key, record.raw, new=record.event == ADD)
        return ledger

    def listed(self, kind: str, items: Iterable[Json], now: float) -> list[str]:
        """A list of all objects of ``kind``; other known objects of the kind are gone."""
        found = {_key(raw): raw for raw in items}
        gone = [key for key in self._known if key[0] == kind and key not in found]
        lines = [(now, line) for key in gone for line in self._removed(key, now)]
        for key, raw in found.items():
            lines += self._found(key, raw, now)
        return [line for _, line in sorted(lines, key=lambda one: one[0])]

    def changed(self, raw: Json, now: float) -> list[str]:
        """``raw`` was added or changed."""
        return [line for _, line in self._changed(_key(raw), raw, now, now)]

    def removed(self, raw: Json, now: float) -> list[str]:
        """``raw`` was deleted."""
        return list(self._removed(_key(raw), now))

    def _found(self, key: Key, raw: Json, now: float) -> Iterator[tuple[float, str]]:
        """Lines for an object of a list; if it was created after the beginning, at its own creation time."""
        came = self._within(mapping(raw, "metadata").get("creationTimestamp"), self.start, now)
        known = self._known.get(key)
        is_new = known is None or known[0] != _uid(raw)
        if is_new and key[0] == "Pod" and came > self.start and mapping(raw, "spec").get("nodeName"):
            # The recorder never saw it without a node, but a scheduler did bind it.
            yield from self._changed(key, unbound(raw), came, came)
            yield from self._changed(key, raw, self._within(_scheduled(raw), came, now), now)
        else:
            yield from self._changed(key, raw, came if is_new else now, now)

    def _changed(self, key: Key, raw: Json, at: float, now: float) -> Iterator[tuple[float, str]]:
        known = self._known.get(key)
        if known is not None and known[0] != _uid(raw):
            yield from ((at, line) for line in self._removed(key, at))
            known = None
        if known is None or known[1] != essence(raw):
            self._keep(key, raw, new=known is None)
            yield at, written(at, UPDATE if known else ADD, raw)

    def _removed(self, key: Key, at: float) -> Iterator[str]:
        if (known := self._known.pop(key, None)) is not None:
            kind, namespace, name = key
            metadata = {"name": name, "uid": known[0]} | ({"namespace": namespace} if namespace else {})
            yield written(at, DELETE, {"apiVersion": self._versions[kind], "kind": kind, "metadata": metadata})

    def _keep(self, key: Key, raw: Json, *, new: bool) -> None:
        self._known[key] = _uid(raw), essence(raw)
        self._versions[key[0]] = raw.get("apiVersion")
        self.nodes += new and key[0] == "Node"
        self.pods += new and key[0] == "Pod"

    @staticmethod
    def _within(time: object, first: float, last: float) -> float:
        """A time in an object, clamped to the possible range; ``first`` if the object has none."""
        try:
            return min(max(seconds(str(time), ""), first), last)
        except RowError:
            return first


def written(time: float, event: str, raw: Json) -> str:
    """A record as a line without line end; ``time`` is in seconds of the epoch."""
    moment = datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return json.dumps({"time": moment, "event": event, "resource": raw}, separators=(",", ":"), ensure_ascii=False)


def essence(raw: Json) -> bytes:
    """A digest of the fields that a replay uses."""
    metadata, kind = mapping(raw, "metadata"), raw.get("kind")
    matters: object
    if kind == "Pod":
        spec, status = mapping(raw, "spec"), mapping(raw, "status")
        ended = status.get("phase") in FINISHED
        matters = metadata.get("labels"), spec.get("schedulingGates"), spec.get("nodeName"), ended
    elif kind == "Node":
        spec, status = mapping(raw, "spec"), mapping(raw, "status")
        conditions = objects(status, "conditions", "status.")
        ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
        taken = spec.get("taints"), bool(spec.get("unschedulable")), status.get("allocatable")
        matters = metadata.get("labels"), *taken, ready
    else:
        lasting = {key: value for key, value in metadata.items() if key not in FLEETING}
        matters = {**raw, "metadata": lasting, "status": None}
    return hashlib.blake2b(json.dumps(matters, sort_keys=True, default=str).encode(), digest_size=16).digest()


def _key(raw: Json) -> Key:
    metadata = raw["metadata"]
    return str(raw["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"])


def _uid(raw: Json) -> str:
    return str(mapping(raw, "metadata").get("uid") or "")


def _scheduled(raw: Json) -> object:
    """The time of binding in the pod's conditions."""
    conditions = objects(mapping(raw, "status"), "conditions", "status.")
    return next((one.get("lastTransitionTime") for one in conditions if one.get("type") == "PodScheduled"), None)
