"""Fields that every scenario has."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.json_types import Json

MODE_EACH, MODE_SEQUENCE = "each", "sequence"


class ScenarioError(ValueError):
    """A scenario that cannot be run; the text says where and why."""


def read_text(text: str) -> Json:
    """Return the scenario in ``text``. Raises ScenarioError."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ScenarioError("must be a JSON object")
    return raw


def read_name(raw: Json) -> str:
    """Return the scenario's name. Raises ScenarioError."""
    name = raw.get("name") or ""
    if not isinstance(name, str):
        raise ScenarioError("name: must be a string")
    return name


def read_mode(raw: Json) -> str:
    """Return MODE_EACH or MODE_SEQUENCE. Raises ScenarioError."""
    mode = raw.get("mode") or MODE_EACH
    if mode not in (MODE_EACH, MODE_SEQUENCE):
        raise ScenarioError(f'mode: must be "{MODE_EACH}" or "{MODE_SEQUENCE}"')
    return str(mode)


def read_preempt(raw: Json) -> bool:
    """Return whether ``schedule`` evicts pods. Raises ScenarioError."""
    preempt = raw.get("preempt")
    if not isinstance(preempt, bool | None):
        raise ScenarioError("preempt: must be true or false")
    return bool(preempt)


def read_list(raw: Json, key: str) -> list[Any]:
    """Return ``raw[key]`` as a list. Raises ScenarioError."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ScenarioError(f"{key}: must be a list")
    return value
