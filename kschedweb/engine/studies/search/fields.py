"""Fields of a policy's document by their paths: ``profiles[0].plugins.score.enabled[NodeResourcesFit].weight``.

In a classic Policy: ``priorities[LeastRequestedPriority].weight``.

A step is a key, or an item in brackets: a number, or the name of a plugin, resource or profile. A field that a document
leaves out has its default. So setting one argument writes out the defaults of its neighbours.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json

Step = str | int
Path = tuple[Step, ...]
# Stands for a field that does not exist, since None may be a value.
ABSENT = object()

_STEP = re.compile(r"(?:^|\.)([A-Za-z0-9_-]+)|\[([^\[\]]+)\]")
# Keys that name an item of a list.
_NAMES = ("name", "schedulerName", "topologyKey")
SCORE = ("plugins", "score", "enabled")
PRIORITIES = "priorities"
# Lists of a Policy that replace their defaults as a whole if they are present.
LISTS = (PRIORITIES, "predicates")


class PathError(ValueError):
    """An invalid path; the message names the step."""


class Name(str):
    """A step in brackets that is not a number."""

    __slots__ = ()


def parse_path(path: str) -> Path:
    """Return the steps of ``path``; raise PathError for a syntax error."""
    steps: list[Step] = []
    at = 0
    for match in _STEP.finditer(path):
        if match.start() != at:
            break
        key, place = match.groups()
        steps.append(key if key is not None else int(place) if place.isdecimal() and len(place) < 6 else Name(place))
        at = match.end()
    if at != len(path) or not path.isprintable() or not steps or not isinstance(steps[0], str):
        raise PathError("must be keys with dots between, and names or numbers in brackets")
    return tuple(steps)


def profile_and_plugin(path: Path) -> tuple[int, str] | None:
    """Return profile and plugin if ``path`` is the weight of a plugin, or of a priority of a Policy, else ``None``."""
    if len(path) == 3 and path[0] == PRIORITIES and isinstance(path[1], Name) and path[2] == "weight":
        return 0, str(path[1])
    if len(path) == 7 and path[0] == "profiles" and path[2:5] == SCORE and path[6] == "weight":
        profile, plugin = path[1], path[5]
        if isinstance(profile, int) and isinstance(plugin, Name):
            return profile, str(plugin)
    return None


def get_value(configuration: Configuration, path: Path) -> Any:
    """Return the value at ``path`` after defaulting; ABSENT if there is none."""
    weight_path = profile_and_plugin(path)
    if weight_path is None:
        return _value_at(configuration.document, path)
    profile, plugin = weight_path
    if profile >= len(configuration.profiles):
        return ABSENT
    references = configuration.profiles[profile].points["score"]
    return next((reference.weight for reference in references if reference.name == plugin), 0)


def _value_at(document: Any, path: Path) -> Any:
    for step in path:
        if isinstance(document, Mapping):
            document = document.get(step, ABSENT) if isinstance(step, str) else ABSENT
        elif isinstance(document, list):
            place = _find_place(document, step)
            document = ABSENT if place is None else document[place]
        else:
            return ABSENT
    return document


def apply_changes(
    document: Mapping[str, Any], defaulted: Mapping[str, Any], changes: Sequence[tuple[Path, Any]]
) -> Any:
    """Return a copy of ``document`` with the ``changes`` applied; ``defaulted`` is the document after defaulting.

    A weight of 0 disables the plugin's score, because kube-scheduler would treat it as 1; it takes a priority out of a
    Policy. Raise PathError.
    """
    target = copy.deepcopy(dict(document))
    for path, value in changes:
        weight_path = profile_and_plugin(path)
        if weight_path is not None and path[0] == PRIORITIES:
            _set_value(target, defaulted, path, value)
            if value == 0:
                target[PRIORITIES] = [
                    priority for priority in target[PRIORITIES] if priority.get("name") != weight_path[1]
                ]
            continue
        if weight_path is not None and value == 0:
            _disable_score(target, *weight_path)
            continue
        if weight_path is not None:
            _enable_score(target, *weight_path)
        _set_value(target, defaulted, path, value)
    return target


def _set_value(target: Any, defaulted: Any, path: Path, value: Any) -> None:
    # True within a plugin's arguments, whose defaults are written out.
    inside = False
    for place, step in enumerate(path[:-1]):
        default = _get_child(defaulted, step)
        child = _get_child(target, step)
        if child is ABSENT or child is None:
            kind: Any = [] if not isinstance(path[place + 1], str) or isinstance(path[place + 1], Name) else {}
            child = copy.deepcopy(default) if (inside or step in LISTS) and isinstance(default, dict | list) else kind
            child = _put_value(target, step, child)
        elif not isinstance(child, dict | list):
            raise PathError(f"{step} is not something that holds further fields")
        inside = inside or step == "args"
        target, defaulted = child, default
    _put_value(target, path[-1], value)


def _get_child(holder: Any, step: Step) -> Any:
    return _value_at(holder, (step,))


def _put_value(holder: Any, step: Step, value: Any) -> Any:
    """Set the step to ``value``, and return the value that is there afterwards."""
    if isinstance(holder, dict) and isinstance(step, str):
        holder[str(step)] = value
        return value
    if not isinstance(holder, list):
        raise PathError(f"[{step}] needs a list")
    place = _find_place(holder, step)
    if place is not None:
        holder[place] = value
    elif isinstance(step, Name):
        value = {"name": str(step), **value} if isinstance(value, dict) else {"name": str(step)}
        holder.append(value)
    elif step == len(holder):
        holder.append(value)
    else:
        raise PathError(f"[{step}] is beyond the end of the list")
    return value


def _find_place(listed: list[Any], step: Step) -> int | None:
    if isinstance(step, int):
        return step if step < len(listed) else None
    if not isinstance(step, Name):
        raise PathError(f"{step} needs an object, and this is a list")
    for place, item in enumerate(listed):
        if isinstance(item, Mapping) and any(item.get(name) == step for name in _NAMES):
            return place
    return None


def _disable_score(target: Json, profile: int, plugin: str) -> None:
    """Disable the plugin's score."""
    _set_value(target, {}, ("profiles", profile, "plugins", "score", "disabled", Name(plugin), "name"), plugin)
    score = target["profiles"][profile]["plugins"]["score"]
    _remove_plugin(score, "enabled", plugin)


def _enable_score(target: Json, profile: int, plugin: str) -> None:
    """Enable the plugin's score if the document disables it."""
    score = _value_at(target, ("profiles", profile, "plugins", "score"))
    if isinstance(score, dict):
        _remove_plugin(score, "disabled", plugin)


def _remove_plugin(score: Json, key: str, plugin: str) -> None:
    if isinstance(score.get(key), list):
        score[key] = [entry for entry in score[key] if not isinstance(entry, Mapping) or entry.get("name") != plugin]
        if not score[key]:
            del score[key]
