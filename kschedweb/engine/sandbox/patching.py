"""Apply patches to objects: JSON merge patch (RFC 7386), JSON patch (RFC 6902), and strategic merge patch.

Source of the last one's rules: k8s.io/apimachinery/pkg/util/strategicpatch, for the lists that have a merge key.
"""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.status_errors import ApiRefusal, bad_request

MERGE, STRATEGIC, JSON_PATCH = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
)
# Merge keys of lists, by field; lists of other fields are replaced.
MERGE_KEYS = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "port"),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "addresses": ("type",),
    "topologySpreadConstraints": ("topologyKey",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "reservedFor": ("uid",),
}
# Lists of plain values that are joined.
JOINED = frozenset({"finalizers"})
# Directives of strategic merge patches, which kubectl sends.
DIRECTIVE, ORDER, DELETE_PRIMITIVES, RETAIN = "$patch", "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"


def apply_patch(raw: Json, patch: Any, content: str) -> Json:
    """Return ``raw`` with ``patch`` applied, which is of the media type ``content``.

    ``raw`` stays as it is. Raises ApiRefusal.
    """
    if content == JSON_PATCH:
        return _json_patched(raw, patch)
    if not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
    merged = json_merge(raw, patch) if content == MERGE else strategic_merge(raw, patch)
    if not isinstance(merged, dict):
        raise bad_request("a patch must leave an object")
    return merged


def json_merge(value: Any, patch: Any) -> Any:
    """Return ``value`` with a JSON merge patch applied (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = json_merge(result.get(key), change)
    return result


def strategic_merge(value: Any, patch: Json) -> Json:
    """Return ``value`` with a strategic merge patch applied.

    Objects are merged, and so are lists with a merge key; null deletes.
    """
    if patch.get(DIRECTIVE) == "replace":
        return {key: item for key, item in patch.items() if key != DIRECTIVE}
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if key.startswith((ORDER, RETAIN)) or key == DIRECTIVE:
            continue
        if key.startswith(DELETE_PRIMITIVES):
            field = key.removeprefix(DELETE_PRIMITIVES)
            if not isinstance(change, list):
                raise bad_request(f"{key} must be a list")
            result[field] = [item for item in result.get(field) or [] if item not in change]
        elif change is None:
            result.pop(key, None)
        elif isinstance(change, dict):
            result[key] = strategic_merge(result.get(key), change)
        elif isinstance(change, list):
            result[key] = _merge_list(key, result.get(key), change)
        else:
            result[key] = change
    return result


def _merge_list(field: str, value: Any, change: list[Any]) -> list[Any]:
    present = value if isinstance(value, list) else []
    if field in JOINED:
        return [*present, *(item for item in change if item not in present)]
    merge_key = _merge_key(field, [*present, *change])
    if not merge_key or any(isinstance(item, dict) and item.get(DIRECTIVE) == "replace" for item in change):
        return [item for item in change if not (isinstance(item, dict) and item.get(DIRECTIVE) == "replace")]
    result = list(present)
    for item in change:
        place = next((at for at, element in enumerate(result) if element.get(merge_key) == item.get(merge_key)), None)
        if item.get(DIRECTIVE) == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(item)
        else:
            result[place] = strategic_merge(result[place], item)
    return result


def _merge_key(field: str, items: list[Any]) -> str:
    for key in MERGE_KEYS.get(field, ()):
        # A field such as ``ports`` has other keys in containers than in Services: the one that all items have counts.
        if all(isinstance(item, dict) and key in item for item in items):
            return key
    return ""


def _json_patched(raw: Json, patch: Any) -> Json:
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    result: Any = raw
    for step in patch:
        path = str(step.get("path", ""))
        try:
            result = _apply_step(result, step, path)
        except (KeyError, IndexError, ValueError, TypeError, RecursionError):
            raise ApiRefusal(
                422, "Invalid", f"the server rejected our request due to an error in our request: {path}"
            ) from None
    if not isinstance(result, dict):
        raise bad_request("a patch must leave an object")
    return result


def _apply_step(raw: Any, step: Json, path: str) -> Any:
    # In this order, as RFC 6901 says: ``~01`` means ``~1``.
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    match step.get("op"):
        case "add":
            return _set_at(raw, parts, step["value"], insert=True)
        case "replace":
            _resolve(raw, parts)
            return _set_at(raw, parts, step["value"], insert=False)
        case "remove":
            return _remove_at(raw, parts)
        case "test":
            if _resolve(raw, parts) != step.get("value"):
                raise ValueError
            return raw
        case "copy" | "move":
            source = [part.replace("~1", "/").replace("~0", "~") for part in str(step["from"]).split("/")[1:]]
            value = _resolve(raw, source)
            source_removed = _remove_at(raw, source) if step["op"] == "move" else raw
            return _set_at(source_removed, parts, value, insert=True)
    raise ValueError


def _resolve(raw: Any, parts: list[str]) -> Any:
    for part in parts:
        raw = raw[int(part)] if isinstance(raw, list) else raw[part]
    return raw


def _set_at(raw: Any, parts: list[str], value: Any, *, insert: bool) -> Any:
    if not parts:
        return value
    first, tail = parts[0], parts[1:]
    if isinstance(raw, list):
        result = list(raw)
        place = len(result) if first == "-" else int(first)
        if tail:
            result[place] = _set_at(result[place], tail, value, insert=insert)
        elif insert:
            if place > len(result):
                raise IndexError
            result.insert(place, value)
        else:
            result[place] = value
        return result
    below = raw[first] if tail else None
    return {**raw, first: _set_at(below, tail, value, insert=insert)}


def _remove_at(raw: Any, parts: list[str]) -> Any:
    if not parts:
        raise ValueError
    first, tail = parts[0], parts[1:]
    if isinstance(raw, list):
        place = int(first)
        # Raises IndexError for a place that does not exist; a slice would not.
        raw[place]
        return [*raw[:place], *([_remove_at(raw[place], tail)] if tail else []), *raw[place + 1 :]]
    if tail:
        return {**raw, first: _remove_at(raw[first], tail)}
    # Raises KeyError for a field that does not exist.
    raw[first]
    return {key: value for key, value in raw.items() if key != first}
