"""Messages between the scheduler and its extenders, read as strictly as Go reads them."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.config.decode import describe_json
from kschedweb.engine.config.json_syntax import syntax_error
from kschedweb.engine.config.types import INT64, STRING, Raw, go_name
from kschedweb.engine.documents.leaves import Number, Text
from kschedweb.engine.documents.types import ListType, MapType, Struct, StructField, Type
from kschedweb.engine.json_types import Json


class UnreadableError(ValueError):
    """An answer that cannot be read; the text is Go's."""


def _create_struct(go: str, **fields: Type) -> Struct:
    return Struct(go, "", tuple(StructField(name, field_type) for name, field_type in fields.items()))


# Whole objects, which are not checked.
NODE, POD = Raw("v1.Node"), Raw("v1.Pod")
STRINGS = ListType(STRING)
FAILED = MapType(STRING, go="v1.FailedNodesMap")
NODES = _create_struct("v1.NodeList", items=ListType(NODE))
FILTER_RESULT = _create_struct(
    "v1.ExtenderFilterResult",
    Nodes=NODES,
    NodeNames=STRINGS,
    FailedNodes=FAILED,
    FailedAndUnresolvableNodes=FAILED,
    Error=STRING,
)
PRIORITIES = ListType(_create_struct("v1.HostPriority", Host=STRING, Score=INT64), go="v1.HostPriorityList")
META_PODS = ListType(_create_struct("v1.MetaPod", UID=STRING), go="[]*v1.MetaPod")
META_VICTIMS = MapType(
    _create_struct("v1.MetaVictims", Pods=META_PODS, NumPDBViolations=INT64), go="map[string]*v1.MetaVictims"
)
PREEMPTION_RESULT = _create_struct("v1.ExtenderPreemptionResult", NodeNameToMetaVictims=META_VICTIMS)
BINDING_RESULT = _create_struct("v1.ExtenderBindingResult", Error=STRING)
ARGUMENTS = _create_struct("v1.ExtenderArgs", Pod=POD, Nodes=NODES, NodeNames=STRINGS)
VICTIMS = MapType(
    _create_struct("v1.Victims", Pods=ListType(POD, go="[]*v1.Pod"), NumPDBViolations=INT64),
    go="map[string]*v1.Victims",
)
PREEMPTION_ARGUMENTS = _create_struct(
    "v1.ExtenderPreemptionArgs", Pod=POD, NodeNameToVictims=VICTIMS, NodeNameToMetaVictims=META_VICTIMS
)
BINDING_ARGUMENTS = _create_struct(
    "v1.ExtenderBindingArgs", PodName=STRING, PodNamespace=STRING, PodUID=STRING, Node=STRING
)


def read_message(body: bytes, message_type: Type) -> Any:
    """Return the first JSON value in ``body``, with ``None`` for missing and null values. Raises UnreadableError."""
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise UnreadableError("EOF")
    try:
        value, _ = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)
    except (ValueError, RecursionError):
        raise UnreadableError(_describe_syntax_error(text)) from None
    return _convert_value(message_type, value, "", ())


def _describe_syntax_error(text: str) -> str:
    try:
        error = syntax_error(text)
    except RecursionError:
        return "exceeded max depth"
    return "unexpected EOF" if error == "unexpected end of JSON input" else error


def _refuse_constant(constant: str) -> Any:
    raise ValueError(constant)


def _convert_value(expected: Type, value: Any, struct: str, path: tuple[str, ...]) -> Any:
    match expected, value:
        case (_, None) | (Raw(), dict()) | (Text(), str()):
            return value
        case Struct(), dict():
            return _convert_fields(expected, value, path)
        case ListType(), list():
            return [_convert_value(expected.item, item, struct, path) for item in value]
        case MapType(), dict():
            return {key: _convert_value(expected.item, item, struct, path) for key, item in value.items()}
        case Number(), int() if not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return value
    target = f"Go struct field {struct}.{'.'.join(path)}" if path else "Go value"
    raise UnreadableError(
        f"json: cannot unmarshal {_describe_value(value, expected)} into {target} of type {go_name(expected)}"
    )


def _convert_fields(struct: Struct, value: Json, path: tuple[str, ...]) -> Json:
    """Return the fields by their names, which are matched in any letter case, as in Go."""
    folded = {field.name.lower(): field for field in struct.fields}
    result: Json = dict.fromkeys(struct.by_name)
    for key, item in value.items():
        field = folded.get(key.lower())
        if field is not None:
            result[field.name] = _convert_value(field.type, item, struct.short_name, (*path, field.name))
    return result


def _describe_value(value: Any, expected: Type) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and isinstance(expected, Number):
        return f"number {json.dumps(value)}"
    return describe_json(value)
