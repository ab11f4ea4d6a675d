"""What goes over the wire between the scheduler and its extenders, read as strictly as Go reads it."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.config.decode import describe
from kschedweb.engine.config.json_syntax import syntax_error
from kschedweb.engine.config.types import INT64, STRING, Raw, go_name
from kschedweb.engine.documents.leaves import Number, Text
from kschedweb.engine.documents.types import Field, ListOf, MapOf, Struct, Type


class UnreadableError(ValueError):
    """An answer that cannot be read; the text is Go's."""


def _struct(go: str, **fields: Type) -> Struct:
    return Struct(go, "", tuple(Field(name, of) for name, of in fields.items()))


NODE, POD = Raw("v1.Node"), Raw("v1.Pod")  # whole objects, taken as they are
STRINGS = ListOf(STRING)
FAILED = MapOf(STRING, go="v1.FailedNodesMap")
NODES = _struct("v1.NodeList", items=ListOf(NODE))
FILTER_RESULT = _struct(
    "v1.ExtenderFilterResult",
    Nodes=NODES,
    NodeNames=STRINGS,
    FailedNodes=FAILED,
    FailedAndUnresolvableNodes=FAILED,
    Error=STRING,
)
PRIORITIES = ListOf(_struct("v1.HostPriority", Host=STRING, Score=INT64), go="v1.HostPriorityList")
META_PODS = ListOf(_struct("v1.MetaPod", UID=STRING), go="[]*v1.MetaPod")
META_VICTIMS = MapOf(_struct("v1.MetaVictims", Pods=META_PODS, NumPDBViolations=INT64), go="map[string]*v1.MetaVictims")
PREEMPTION_RESULT = _struct("v1.ExtenderPreemptionResult", NodeNameToMetaVictims=META_VICTIMS)
BINDING_RESULT = _struct("v1.ExtenderBindingResult", Error=STRING)
ARGUMENTS = _struct("v1.ExtenderArgs", Pod=POD, Nodes=NODES, NodeNames=STRINGS)
VICTIMS = MapOf(
    _struct("v1.Victims", Pods=ListOf(POD, go="[]*v1.Pod"), NumPDBViolations=INT64), go="map[string]*v1.Victims"
)
PREEMPTION_ARGUMENTS = _struct(
    "v1.ExtenderPreemptionArgs", Pod=POD, NodeNameToVictims=VICTIMS, NodeNameToMetaVictims=META_VICTIMS
)
BINDING_ARGUMENTS = _struct("v1.ExtenderBindingArgs", PodName=STRING, PodNamespace=STRING, PodUID=STRING, Node=STRING)


def read(body: bytes, of: Type) -> Any:
    """The first JSON value in ``body``; ``None`` for what is missing or null. Raises UnreadableError."""
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise UnreadableError("EOF")
    try:
        value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
    except (ValueError, RecursionError):
        raise UnreadableError(_said(text)) from None
    return _as(of, value, "", ())


def _said(text: str) -> str:
    try:
        said = syntax_error(text)
    except RecursionError:
        return "exceeded max depth"
    return "unexpected EOF" if said == "unexpected end of JSON input" else said


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _as(of: Type, value: Any, struct: str, path: tuple[str, ...]) -> Any:
    match of, value:
        case (_, None) | (Raw(), dict()) | (Text(), str()):
            return value
        case Struct(), dict():
            return _fields(of, value, path)
        case ListOf(), list():
            return [_as(of.item, item, struct, path) for item in value]
        case MapOf(), dict():
            return {key: _as(of.item, item, struct, path) for key, item in value.items()}
        case Number(), int() if not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return value
    where = f"Go struct field {struct}.{'.'.join(path)}" if path else "Go value"
    raise UnreadableError(f"json: cannot unmarshal {_named(value, of)} into {where} of type {go_name(of)}")


def _fields(of: Struct, value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The fields by their names; other spellings of upper and lower case mean the same field."""
    folded = {field.name.lower(): field for field in of.fields}
    result: dict[str, Any] = dict.fromkeys(of.by_name)
    for key, item in value.items():
        field = folded.get(key.lower())
        if field is not None:
            result[field.name] = _as(field.type, item, of.short, (*path, field.name))
    return result


def _named(value: Any, wanted: Type) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and isinstance(wanted, Number):
        return f"number {json.dumps(value)}"
    return describe(value)
