"""Clusters from files: kubectl's lists, multi-document YAML, exports of kube-scheduler-simulator.

An unreadable text is refused as a whole. In a readable text, invalid objects are left out and listed with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from kschedweb.clusters.events.collector import EventCollector
from kschedweb.clusters.events.records import API_VERSIONS, read_event
from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read, size_text
from kschedweb.clusters.importing.streams import JsonCursor, decode_pieces
from kschedweb.clusters.kinds import BY_NAME, EVENT, KUEUE, reduce_object
from kschedweb.clusters.rows import MOST_PROBLEMS, Problem, object_problem, snapshot_problem
from kschedweb.clusters.versions import stated_version
from kschedweb.engine.controllers.admission import CLASS_KINDS, AdmissionError, apply_classes
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.api_conversion import upgrade_object
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.objects.lists import (
    LOG_BEGINS,
    SIMULATOR,
    drop_logs,
    expand_lists,
    is_list_kind,
    name_kind,
    simulator_objects,
    type_name,
)
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.object_store import check_object
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.refusals import ApiRefusal, find_refusals
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.web.errors import ApplicationError

# Levels of nesting; no Kubernetes object comes near it.
DEPTH = 64
# Values that are always allowed, and bytes per value beyond these.
LEAST_VALUES, BYTES_A_VALUE = 1_000_000, 12
MOST_OBJECTS = 200_000
# Bytes read at a time.
PIECE = 256 * 1024
NAME = re.compile(r"[a-z0-9]([-a-z0-9.:]{0,251}[a-z0-9])?")
MAP_KEY = re.compile(r"\['([^']*)'\]")
NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ImportFailed(ApplicationError):
    """A refused file. Nothing of it is stored."""


@dataclass
class Import:
    """The content of the files: objects to store, and problems with others."""

    objects: list[Json] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    # Objects that are left out; ``problems`` names only the first ones.
    left_out: int = 0
    # The version of the API server, where a file says it; "" if none does.
    version: str = ""
    events: EventCollector = field(default_factory=EventCollector)

    def leave_out(self, name: str, reason: str) -> None:
        """Record an object that is left out."""
        self.left_out += 1
        self.add_remark(name, reason, left_out=True)

    def add_remark(self, name: str, reason: str, *, left_out: bool = False) -> None:
        """Record a remark on an object."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(snapshot_problem(name, reason, left_out=left_out))


Content = bytes | str | Iterable[bytes]
Heard = Callable[[int], None]


def most_values(limit: int) -> int:
    """Return the limit of values in a text of at most ``limit`` bytes. Values need more memory than the text itself."""
    return max(LEAST_VALUES, limit // BYTES_A_VALUE)


def files_read(files: Iterable[tuple[str, Content]], *, limit: int, heard: Heard | None = None) -> Import:
    """Return the objects of all ``files`` (name, content), which have at most ``limit`` bytes together.

    JSON is read object by object, so that only stored parts are in memory. ``heard`` gets the number of bytes read.
    Raises ``ImportFailed`` if a file cannot be read, or if no file has an object that a scheduler reads.
    """
    result, seen_keys, size = Import(), set[tuple[str, str, str]](), 0

    def count_bytes(content: Content) -> Iterator[bytes]:
        nonlocal size
        for piece in _split_pieces(content):
            size += len(piece)
            if heard is not None:
                heard(size)
            yield piece

    for name, content in files:
        remaining = max(0, limit - size)
        limits = TextLimits(size=remaining, depth=DEPTH, nodes=most_values(limit))
        try:
            for item in _read_items(decode_pieces(count_bytes(content), limits), limits, result):
                if not _take_event(item, result):
                    _take_item(item, result, seen_keys)
        except UntrustedTextError as error:
            message = f"{name}: {error.detail}" if name else error.detail
            raise ImportFailed(
                message, errors=[{"path": name or "text", "message": error.detail}], status=error.status
            ) from None
    _give_classes(result)
    if not any(item["kind"] in ("Node", "Pod") for item in result.objects):
        first = f" The first thing left out: {_first_problem(result)}." if result.problems else ""
        raise ImportFailed(
            "There is no node and no pod in it. Expected are kubectl get … -o json or yaml, several YAML documents, "
            f"or an export of kube-scheduler-simulator.{first}"
        )
    return result


def _give_classes(result: Import) -> None:
    """Fill in what the classes of pods imply, for pods that no API server admitted. A remark names each of them."""
    classes = ClusterObjects()
    for item in result.objects:
        if item["kind"] in CLASS_KINDS:
            # A pod that names a broken class gets the remark that there is no such class.
            with suppress(ObjectError):
                classes.add(item)
    for place, item in enumerate(result.objects):
        spec = item.get("spec") or {}
        if item["kind"] != "Pod" or spec.get("priority") is not None:
            continue
        try:
            classed_item = apply_classes(item, classes)
        except AdmissionError as refused:
            result.add_remark(_reference_to(item), f"{str(refused).partition(': ')[2]}; it is kept as it stands")
        else:
            if classed_item is not item:
                result.add_remark(_reference_to(item), _describe_given(spec, classed_item["spec"]))
                result.objects[place] = classed_item


def _describe_given(before: Json, after: Json) -> str:
    parts = []
    if before.get("priority") != after.get("priority"):
        name = after.get("priorityClassName")
        parts.append(f"gets priority {after['priority']}" + (f" of PriorityClass {name}" if name else ""))
    if any(before.get(field) != after.get(field) for field in ("overhead", "nodeSelector", "tolerations")):
        parts.append(f"gets overhead, node selector and tolerations of RuntimeClass {after['runtimeClassName']}")
    return ", ".join(parts)


def _split_pieces(content: Content) -> Iterable[bytes]:
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    if not isinstance(data, bytes):
        return data
    return (data[start : start + PIECE] for start in range(0, len(data), PIECE))


def _read_items(pieces: Iterator[str], limits: TextLimits, result: Import) -> Iterator[Json]:
    """Return the single objects in a text, JSON or YAML."""
    head = ""
    while not (start := head.lstrip()[:1]) and (piece := next(pieces, "")):
        head += piece
    if start in ("{", "["):
        return _Documents(JsonCursor(chain([head], pieces), limits), result).items()
    text = head + _read_short(pieces, limits, len(head))
    return expand_lists(documents_read(drop_logs(text), limits), result.leave_out)


def _read_short(pieces: Iterator[str], limits: TextLimits, size: int) -> str:
    """Return the whole text, which is kept in memory."""
    chunks = []
    for piece in pieces:
        chunks.append(piece)
        size += len(piece)
        if size > limits.yaml_size:
            raise UntrustedTextError(
                f"This is more than {size_text(limits.yaml_size)} of YAML: send it as JSON (kubectl get … -o json).",
                status=413,
            )
    return "".join(chunks)


class _Documents:
    """Reads JSON documents and expands their lists while reading."""

    def __init__(self, cursor: JsonCursor, result: Import) -> None:
        self._cursor, self._result = cursor, result

    def items(self) -> Iterator[Json]:
        while begins := self._cursor.peek():
            if begins == LOG_BEGINS[0]:
                self._cursor.skip_log()
            else:
                yield from self._read_value(0)

    def _read_value(self, depth: int) -> Iterator[Json]:
        """Yield the objects in the value that begins here."""
        if depth > DEPTH:
            self._cursor.too_deep()
        begins = self._cursor.peek()
        if begins == "[":
            self._cursor.count_values(1)
            for _ in self._cursor.elements():
                yield from self._read_value(depth + 1)
        elif begins == "{":
            self._cursor.count_values(1)
            yield from self._read_mapping(depth)
        else:
            yield from expand_lists([self._cursor.read_value(depth)], self._result.leave_out)

    def _read_mapping(self, depth: int) -> Iterator[Json]:
        """Yield the objects of a list of objects, or of a simulator's export; else the mapping itself."""
        read, late, lists = Json(), list[Json](), set[str]()
        for key in self._cursor.entries():
            kind = _kind_of_items(key, read)
            if kind is None or self._cursor.peek() != "[":
                read[key] = self._cursor.read_value(depth + 1)
                continue
            lists.add(key)
            for item in self._read_elements(depth):
                if kind or item.get("kind"):
                    yield name_kind(item, kind, read.get("apiVersion") if key == "items" else None)
                else:
                    # The list's own kind may come after its items, as kubectl sorts keys by name: such items wait for
                    # it.
                    late.append(item)
        if lists:
            yield from self._read_rest(read, late, lists)
        else:
            yield from expand_lists([read], self._result.leave_out)

    def _read_rest(self, read: Json, late: list[Json], lists: set[str]) -> Iterator[Json]:
        """Yield the rest of a mapping whose ``lists`` were read. Their kind may come after them."""
        kind = str(read.get("kind") or "")
        if kind and (lists != {"items"} or not is_list_kind(kind)):
            raise UntrustedTextError(f"A mapping of kind {kind[:80]} holds a list of objects, which it cannot.")
        if lists != {"items"}:
            simulator_objects(read, self._result.leave_out)
        # "PodList" without its last four letters is the kind of the items.
        for item in late:
            yield name_kind(item, kind[:-4], read.get("apiVersion"))

    def _read_elements(self, depth: int) -> Iterator[Json]:
        """Yield the objects in the list that begins here."""
        self._cursor.count_values(1)
        for _ in self._cursor.elements():
            yield from self._read_value(depth + 2)


def _first_problem(result: Import) -> str:
    problem = result.problems[0]
    return f"{problem['object']}: {problem['reason'].rstrip('.')}"


def _kind_of_items(key: str, read: Json) -> str | None:
    """Return the kind of the objects under ``key``: "" if not known yet, ``None`` if it is not such a list.

    ``read`` is the part of the mapping before it.
    """
    kind = read.get("kind")
    if key != "items":
        return SIMULATOR.get(key) if kind is None else None
    if kind is None:
        return ""
    return kind[:-4] if is_list_kind(kind) else None


def _take_item(item: Json, result: Import, seen_keys: set[tuple[str, str, str]]) -> None:
    """Add ``item`` to ``result``, or record why not."""
    if len(result.objects) + result.left_out >= MOST_OBJECTS:
        raise ImportFailed(f"There are more than {MOST_OBJECTS:,} objects in it.", status=413)
    if "kind" not in item and (version := stated_version(item)):
        result.version = version
        return
    name = _reference_to(item)
    try:
        item = upgrade_object(item)
    except ObjectError as error:
        result.leave_out(name, str(error))
        return
    reason = _unfit_reason(item)
    if reason:
        result.leave_out(name, reason)
        return
    metadata = item["metadata"]
    kind = BY_NAME[item["kind"]]
    if kind.namespaced:
        metadata["namespace"] = metadata.get("namespace") or "default"
    elif "namespace" in metadata:
        del metadata["namespace"]
    key = (item["kind"], metadata.get("namespace") or "", metadata["name"])
    if key in seen_keys:
        result.leave_out(name, "is there twice; the first is kept")
        return
    problem = object_problem(item)
    refused = find_refusals(item, read=problem is None)
    if problem:
        result.leave_out(name, problem["reason"] + _same_refusal(problem["reason"], refused))
        return
    seen_keys.add(key)
    for text in (*(refusal.text for refusal in refused), *(_queue_refusals(item) if kind.group == KUEUE else ())):
        result.add_remark(name, f"{text}; it is kept as it stands")
    item["apiVersion"] = item.get("apiVersion") or kind.api_version
    result.objects.append(reduce_object(item))


def _take_event(item: Json, result: Import) -> bool:
    """Add ``item`` to the Events of ``result`` if it is one; it is no object of the snapshot. Returns whether it is."""
    if item.get("kind") != EVENT.name or item.get("apiVersion", EVENT.api_version) not in API_VERSIONS:
        return False
    event = read_event(item)
    if event is None:
        result.leave_out(_reference_to(item), "names no object, or no time")
    else:
        result.events.add(event)
    return True


def _queue_refusals(item: Json) -> list[str]:
    """Return what Kueue's webhooks would refuse, or why its object cannot be read at all."""
    try:
        check_object(item)
        return find_object_refusals(item, DEFAULT_GATES)
    except (ObjectError, SelectorError) as error:
        return [str(error)]


def _same_refusal(reason: str, refused: Iterable[ApiRefusal]) -> str:
    """Return the API server's words on the field that ``reason`` begins with; "" for none."""
    path = reason.partition(": ")[0]
    match = next((refusal for refusal in refused if MAP_KEY.sub(r".\1", refusal.path) == path), None)
    return f" ({match.text})" if match else ""


def _unfit_reason(item: Json) -> str:
    """Return why a scheduler does not read ``item``; "" if it does."""
    kind = item.get("kind")
    if not isinstance(kind, str) or not kind:
        return "has no kind"
    known_kind = BY_NAME.get(kind)
    if known_kind is None:
        return "is of a kind that the scheduler does not read"
    version = item.get("apiVersion") or known_kind.api_version
    if version != known_kind.api_version:
        return f"has apiVersion {str(version)[:80]}; {known_kind.api_version} is what is read here"
    return _unfit_body(item, namespaced=known_kind.namespaced)


def _unfit_body(item: Json, *, namespaced: bool) -> str:
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        return "has no metadata"
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return "metadata.name is missing or not a name that Kubernetes allows"
    if namespaced and namespace and not (isinstance(namespace, str) and NAMESPACE.fullmatch(namespace)):
        return "metadata.namespace is not a name that Kubernetes allows"
    for part in ("spec", "status"):
        if not isinstance(item.get(part) or {}, dict):
            return f"{part} must be a mapping, is a {type_name(item[part])}"
    return ""


def _reference_to(item: Json) -> str:
    metadata = item.get("metadata") if isinstance(item.get("metadata"), dict) else {}
    name = "/".join(str(metadata[key])[:120] for key in ("namespace", "name") if metadata and metadata.get(key))
    return f"{str(item.get('kind') or 'object')[:80]} {name or '(no name)'}"
