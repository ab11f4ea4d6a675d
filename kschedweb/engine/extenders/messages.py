"""What goes over the wire between the scheduler and its extenders, read as strictly as Go reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.config.json_syntax import syntax_error


class UnreadableError(ValueError):
    """An answer that cannot be read; the text is Go's."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A Go type: its name, and what JSON becomes of it.

    ``fields`` are those of a struct that are read, ``items`` what a list or a map holds; with neither it is a string,
    a number, or a whole object, which is taken as it is.
    """

    go: str
    fields: dict[str, Kind] = field(default_factory=dict)
    items: Kind | None = None


STRING, INT64, NODE, POD = Kind("string"), Kind("int64"), Kind("v1.Node"), Kind("v1.Pod")
WHOLE = (NODE, POD)
STRINGS = Kind("[]string", items=STRING)
FAILED = Kind("v1.FailedNodesMap", items=STRING)
NODES = Kind("v1.NodeList", {"items": Kind("[]v1.Node", items=NODE)})
FILTER_RESULT = Kind(
    "v1.ExtenderFilterResult",
    {
        "Nodes": NODES,
        "NodeNames": STRINGS,
        "FailedNodes": FAILED,
        "FailedAndUnresolvableNodes": FAILED,
        "Error": STRING,
    },
)
PRIORITIES = Kind("v1.HostPriorityList", items=Kind("v1.HostPriority", {"Host": STRING, "Score": INT64}))
META_PODS = Kind("[]*v1.MetaPod", items=Kind("v1.MetaPod", {"UID": STRING}))
META_VICTIMS = Kind("v1.MetaVictims", {"Pods": META_PODS, "NumPDBViolations": INT64})
PREEMPTION_RESULT = Kind(
    "v1.ExtenderPreemptionResult",
    {"NodeNameToMetaVictims": Kind("map[string]*v1.MetaVictims", items=META_VICTIMS)},
)
BINDING_RESULT = Kind("v1.ExtenderBindingResult", {"Error": STRING})
ARGUMENTS = Kind("v1.ExtenderArgs", {"Pod": POD, "Nodes": NODES, "NodeNames": STRINGS})
VICTIMS = Kind("v1.Victims", {"Pods": Kind("[]*v1.Pod", items=POD), "NumPDBViolations": INT64})
PREEMPTION_ARGUMENTS = Kind(
    "v1.ExtenderPreemptionArgs",
    {
        "Pod": POD,
        "NodeNameToVictims": Kind("map[string]*v1.Victims", items=VICTIMS),
        "NodeNameToMetaVictims": Kind("map[string]*v1.MetaVictims", items=META_VICTIMS),
    },
)
BINDING_ARGUMENTS = Kind(
    "v1.ExtenderBindingArgs", {"PodName": STRING, "PodNamespace": STRING, "PodUID": STRING, "Node": STRING}
)


def read(body: bytes, kind: Kind) -> Any:
    """The first JSON value in ``body``; ``None`` for what is missing or null. Raises UnreadableError."""
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise UnreadableError("EOF")
    try:
        value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
    except (ValueError, RecursionError):
        raise UnreadableError(_said(text)) from None
    return _as(kind, value, "", ())


def _said(text: str) -> str:
    try:
        said = syntax_error(text)
    except RecursionError:
        return "exceeded max depth"
    return "unexpected EOF" if said == "unexpected end of JSON input" else said


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _as(kind: Kind, value: Any, struct: str, path: tuple[str, ...]) -> Any:
    if value is None or (kind in WHOLE and isinstance(value, dict)):
        return value
    if kind.fields:
        if isinstance(value, dict):
            return _struct(kind, value, path)
    elif kind.items is not None and kind.go.startswith(("[]", PRIORITIES.go)):
        if isinstance(value, list):
            return [_as(kind.items, item, struct, path) for item in value]
    elif kind.items is not None:
        if isinstance(value, dict):
            return {key: _as(kind.items, item, struct, path) for key, item in value.items()}
    elif (kind is STRING and isinstance(value, str)) or (
        kind is INT64 and isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    ):
        return value
    where = f"Go struct field {struct}.{'.'.join(path)}" if path else "Go value"
    raise UnreadableError(f"json: cannot unmarshal {_named(value, kind)} into {where} of type {kind.go}")


def _struct(kind: Kind, value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The fields by their names; other spellings of upper and lower case mean the same field."""
    folded = {name.lower(): name for name in kind.fields}
    result: dict[str, Any] = dict.fromkeys(kind.fields)
    for key, item in value.items():
        name = folded.get(key.lower())
        if name is not None:
            result[name] = _as(kind.fields[name], item, kind.go.rpartition(".")[2], (*path, name))
    return result


def _named(value: Any, wanted: Kind) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {json.dumps(value)}" if wanted is INT64 else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
