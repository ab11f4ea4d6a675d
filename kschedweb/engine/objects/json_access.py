"""Typed access to Kubernetes JSON: a wrong shape raises an error that names the field."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, NoReturn

from kschedweb.engine.json_types import Json


class ObjectError(ValueError):
    """An object cannot be understood; the text names the field and the problem."""


def describe_object(raw: Any) -> str:
    """Return ``Kind namespace/name`` of a raw object, as far as they are known."""
    if not isinstance(raw, dict):
        return f"a {type(raw).__name__}"
    metadata = raw.get("metadata") if isinstance(raw.get("metadata"), dict) else {}
    parts = [str(metadata[key]) for key in ("namespace", "name") if metadata and metadata.get(key)]
    return f"{raw.get('kind') or 'object'} {'/'.join(parts) or '(no name)'}"


def _raise_not_object(raw: Any, key: str, path: str) -> NoReturn:
    """Raise ObjectError for a container of ``key`` that is no object."""
    raise ObjectError(f"{path.rstrip('.') or key}: must be an object, is a {_json_kind(raw)}")


def get_mapping(raw: Json, key: str, path: str = "") -> Json:
    """Return ``raw[key]`` as an object; missing and null are the empty one."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ObjectError(f"{path}{key}: must be an object, is a {_json_kind(value)}")
    return value


def get_list(raw: Json, key: str, path: str = "") -> list[Any]:
    """Return ``raw[key]`` as a list; missing and null are the empty one."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ObjectError(f"{path}{key}: must be a list, is a {_json_kind(value)}")
    return value


def get_objects(raw: Json, key: str, path: str = "") -> list[Json]:
    """Return ``raw[key]`` as a list of objects."""
    value = get_list(raw, key, path)
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            raise ObjectError(f"{path}{key}[{position}]: must be an object, is a {_json_kind(item)}")
    return value


def get_objects_and_paths(raw: Json, key: str, path: str = "") -> list[tuple[Json, str]]:
    """Return ``raw[key]`` as a list of objects, each with the path of its fields."""
    listed = get_objects(raw, key, path)
    return [(item, f"{path}{key}[{position}].") for position, item in enumerate(listed)] if listed else []


def get_string(raw: Json, key: str, path: str = "") -> str:
    """Return ``raw[key]`` as a string; missing and null are the empty one."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ObjectError(f"{path}{key}: must be a string, is a {_json_kind(value)}")
    return value


def get_strings(raw: Json, key: str, path: str = "") -> tuple[str, ...]:
    """Return ``raw[key]`` as strings."""
    value = get_list(raw, key, path)
    for position, item in enumerate(value):
        if not isinstance(item, str):
            raise ObjectError(f"{path}{key}[{position}]: must be a string, is a {_json_kind(item)}")
    return tuple(value)


def get_integer(raw: Json, key: str, default: int = 0, path: str = "", *, bits: int = 32) -> int:
    """Return ``raw[key]`` as a whole number of ``bits`` bits."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        # JSON may write a whole number as 2.0.
        if not isinstance(value, float) or not value.is_integer():
            raise ObjectError(f"{path}{key}: must be a whole number, is a {_json_kind(value)}")
        value = int(value)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ObjectError(f"{path}{key}: must be a whole number of {bits} bits")
    number: int = value
    return number


def get_number(raw: Json, key: str, path: str = "", minimum: float = -math.inf) -> float | None:
    """Return ``raw[key]`` as a finite number of at least ``minimum``; ``None`` if it is missing or null."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ObjectError(f"{path}{key}: must be a number, is a {_json_kind(value)}")
    try:
        parsed = float(value)
    except OverflowError:
        parsed = math.inf
    if not math.isfinite(parsed) or parsed < minimum:
        bound = f" of at least {minimum:g}" if minimum > -math.inf else ""
        raise ObjectError(f"{path}{key}: must be a finite number{bound}")
    return parsed


def get_time(raw: Json, key: str, path: str = "") -> float | None:
    """Return ``raw[key]`` in seconds of the epoch; ``None`` if it is missing. Raise ObjectError if it is no time."""
    time_text = get_string(raw, key, path)
    if not time_text:
        return None
    try:
        parsed = datetime.fromisoformat(time_text)
    except ValueError:
        raise ObjectError(f"{path}{key}: must be a time such as 2026-01-15T12:00:00Z, is {time_text[:60]!r}") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def get_boolean(raw: Json, key: str, path: str = "") -> bool:
    """Return ``raw[key]`` as true or false; missing and null are false."""
    value = raw.get(key) if isinstance(raw, dict) else _raise_not_object(raw, key, path)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ObjectError(f"{path}{key}: must be true or false, is a {_json_kind(value)}")
    return value


def get_string_map(raw: Json, key: str, path: str = "") -> dict[str, str]:
    """Return ``raw[key]`` as an object of strings, such as labels."""
    value = get_mapping(raw, key, path)
    for name, item in value.items():
        if not isinstance(item, str):
            raise ObjectError(f"{path}{key}[{name!r}]: must be a string, is a {_json_kind(item)}")
    return value


def _json_kind(value: object) -> str:
    return {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}.get(
        type(value), type(value).__name__
    )
