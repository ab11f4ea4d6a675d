"""The single objects in the output of tools: kubectl lists, arrays, exports of kube-scheduler-simulator.

`kubectl cluster-info dump` writes one list after the other, with the logs of containers in between, which are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

from kschedweb.engine.json_types import Json

# The keys of a simulator's export, and the kind of the objects under each.
SIMULATOR = {
    "pods": "Pod",
    "nodes": "Node",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "priorityClasses": "PriorityClass",
    "namespaces": "Namespace",
}
SCHEDULER_CONFIG = "schedulerConfig"

LOG_BEGINS = "==== START logs for "
# Bounded, so that a long line without an end costs little.
_LOG_BEGIN = re.compile(rf"{LOG_BEGINS}(container .{{1,800}}) ====[ \r]*$")
_LOG_SECTION = re.compile(rf"^{LOG_BEGINS}(container .{{1,800}}) ====\r?\n.*?==== END logs for \1 ====", re.M | re.S)

# Called with an item that is left out and the reason.
OnProblem = Callable[[str, str], None]


def expand_lists(
    documents: Iterable[Any], on_problem: OnProblem, on_other_key: OnProblem | None = None
) -> Iterator[Json]:
    """Yield the objects in ``documents`` in order.

    ``on_problem`` is called for items that are no object, ``on_other_key`` for other keys of a simulator's export.
    """
    # A stack instead of recursion: lists may be nested to any depth.
    pending = list(documents)[::-1]
    while pending:
        document = pending.pop()
        if isinstance(document, list):
            pending.extend(reversed(document))
        elif not isinstance(document, dict):
            on_problem(f"a {type_name(document)}", "is not a Kubernetes object")
        elif "kind" not in document and SIMULATOR.keys() & document.keys():
            pending.extend(reversed(simulator_objects(document, on_other_key or on_problem)))
        elif "items" in document and is_list_kind(kind := document.get("kind")):
            items = document["items"]
            if isinstance(items, list):
                pending.extend(reversed([name_kind(item, kind[:-4], document.get("apiVersion")) for item in items]))
            elif items is not None:
                on_problem(kind, f"items must be a list, is a {type_name(items)}")
        else:
            yield document


def is_list_kind(kind: Any) -> TypeGuard[str]:
    return isinstance(kind, str) and kind.endswith("List")


def simulator_objects(export: Json, on_other_key: OnProblem) -> list[Any]:
    """Return the objects of a simulator's export; call ``on_other_key`` for the rest."""
    items: list[Any] = []
    for key, value in export.items():
        if key in SIMULATOR and isinstance(value, list):
            items += [name_kind(item, SIMULATOR[key]) for item in value]
        elif key == SCHEDULER_CONFIG and value:
            on_other_key(key, "a scheduler configuration is not part of a cluster: add it under Policies")
        elif value:
            on_other_key(key, "is not part of an export that is known here")
    return items


def name_kind(item: Any, kind: str, version: Any = None) -> Any:
    """Return ``item`` with the kind and version of its list; a plain ``List`` has none to give."""
    if not isinstance(item, dict) or not kind or item.get("kind"):
        return item
    versioned = {"apiVersion": version} if version and not item.get("apiVersion") else {}
    return {**item, "kind": kind, **versioned}


def log_end(line: str) -> str | None:
    """Return the text that ends the log section that ``line`` begins; ``None`` if it begins none."""
    begin = _LOG_BEGIN.match(line)
    return begin and f"==== END logs for {begin[1]} ===="


def drop_logs(text: str) -> str:
    """Return ``text`` without the logs that `kubectl cluster-info dump` writes between its lists."""
    return _LOG_SECTION.sub("", text) if LOG_BEGINS in text else text


def type_name(value: Any) -> str:
    names = {dict: "mapping", list: "list", str: "text", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
