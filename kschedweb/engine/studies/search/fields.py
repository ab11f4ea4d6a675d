"""Fields of a policy's document by their paths: ``profiles[0].plugins.score.enabled[NodeResourcesFit].weight``.

Of a classic Policy: ``priorities[LeastRequestedPriority].weight``.

A step is a key, or an item in brackets: a number, or the name of a plugin, resource or profile. A field that a document
leaves out has its default. So setting one argument writes out the defaults of its neighbours.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.config import Configuration

Step = str | int
Path = tuple[Step, ...]
ABSENT = object()

_STEP = re.compile(r"(?:^|\.)([A-Za-z0-9_-]+)|\[([^\[\]]+)\]")
_NAMES = ("name", "schedulerName", "topologyKey")  # keys that name an item of a list
SCORE = ("plugins", "score", "enabled")
PRIORITIES = "priorities"
LISTS = (PRIORITIES, "predicates")  # of a Policy: one that is there replaces its defaults as a whole


class PathError(ValueError):
    """An invalid path; the text names the step."""


class Name(str):
    """A step in brackets that is not a number."""

    __slots__ = ()


def steps(path: str) -> Path:
    """The steps of ``path``; raises PathError for a syntax error."""
    found: list[Step] = []
    at = 0
    for match in _STEP.finditer(path):
        if match.start() != at:
            break
        key, place = match.groups()
        found.append(key if key is not None else int(place) if place.isdecimal() and len(place) < 6 else Name(place))
        at = match.end()
    if at != len(path) or not path.isprintable() or not found or not isinstance(found[0], str):
        raise PathError("must be keys with dots between, and names or numbers in brackets")
    return tuple(found)


def weighed(path: Path) -> tuple[int, str] | None:
    """Profile and plugin if ``path`` is the weight of a plugin, or of a priority of a Policy, else ``None``."""
    if len(path) == 3 and path[0] == PRIORITIES and isinstance(path[1], Name) and path[2] == "weight":
        return 0, str(path[1])
    if len(path) == 7 and path[0] == "profiles" and path[2:5] == SCORE and path[6] == "weight":
        profile, plugin = path[1], path[5]
        if isinstance(profile, int) and isinstance(plugin, Name):
            return profile, str(plugin)
    return None


def value(configuration: Configuration, path: Path) -> Any:
    """The value at ``path`` after defaulting; ABSENT if there is none.

    The weight of a plugin that is not enabled for scoring is 0.
    """
    found = weighed(path)
    if found is None:
        return _value(configuration.document, path)
    profile, plugin = found
    if profile >= len(configuration.profiles):
        return ABSENT
    references = configuration.profiles[profile].points["score"]
    return next((one.weight for one in references if one.name == plugin), 0)


def _value(document: Any, path: Path) -> Any:
    for step in path:
        if isinstance(document, Mapping):
            document = document.get(step, ABSENT) if isinstance(step, str) else ABSENT
        elif isinstance(document, list):
            place = _place(document, step)
            document = ABSENT if place is None else document[place]
        else:
            return ABSENT
    return document


def changed(document: Mapping[str, Any], defaulted: Mapping[str, Any], changes: Sequence[tuple[Path, Any]]) -> Any:
    """A copy of ``document`` with the ``changes`` applied; ``defaulted`` is the document after defaulting.

    A weight of 0 disables the plugin's score, because kube-scheduler would treat it as 1; it takes a priority out of a
    Policy. Raises PathError.
    """
    target = copy.deepcopy(dict(document))
    for path, wanted in changes:
        found = weighed(path)
        if found is not None and path[0] == PRIORITIES:
            _set(target, defaulted, path, wanted)
            if wanted == 0:
                target[PRIORITIES] = [one for one in target[PRIORITIES] if one.get("name") != found[1]]
            continue
        if found is not None and wanted == 0:
            _silence(target, *found)
            continue
        if found is not None:
            _speak(target, *found)
        _set(target, defaulted, path, wanted)
    return target


def _set(target: Any, defaulted: Any, path: Path, wanted: Any) -> None:
    inside = False  # whether in a plugin's arguments, whose defaults are written out
    for place, step in enumerate(path[:-1]):
        default = _child(defaulted, step)
        known = _child(target, step)
        if known is ABSENT or known is None:
            kind: Any = [] if not isinstance(path[place + 1], str) or isinstance(path[place + 1], Name) else {}
            known = copy.deepcopy(default) if (inside or step in LISTS) and isinstance(default, dict | list) else kind
            known = _put(target, step, known)
        elif not isinstance(known, dict | list):
            raise PathError(f"{step} is not something that holds further fields")
        inside = inside or step == "args"
        target, defaulted = known, default
    _put(target, path[-1], wanted)


def _child(holder: Any, step: Step) -> Any:
    return _value(holder, (step,))


def _put(holder: Any, step: Step, wanted: Any) -> Any:
    """Set the step to ``wanted``; returns the value that is there afterwards."""
    if isinstance(holder, dict) and isinstance(step, str):
        holder[str(step)] = wanted
        return wanted
    if not isinstance(holder, list):
        raise PathError(f"[{step}] needs a list")
    place = _place(holder, step)
    if place is not None:
        holder[place] = wanted
    elif isinstance(step, Name):
        wanted = {"name": str(step), **wanted} if isinstance(wanted, dict) else {"name": str(step)}
        holder.append(wanted)
    elif step == len(holder):
        holder.append(wanted)
    else:
        raise PathError(f"[{step}] is beyond the end of the list")
    return wanted


def _place(listed: list[Any], step: Step) -> int | None:
    if isinstance(step, int):
        return step if step < len(listed) else None
    if not isinstance(step, Name):
        raise PathError(f"{step} needs an object, and this is a list")
    for place, item in enumerate(listed):
        if isinstance(item, Mapping) and any(item.get(name) == step for name in _NAMES):
            return place
    return None


def _silence(target: dict[str, Any], profile: int, plugin: str) -> None:
    """Disable the plugin's score."""
    _set(target, {}, ("profiles", profile, "plugins", "score", "disabled", Name(plugin), "name"), plugin)
    score = target["profiles"][profile]["plugins"]["score"]
    _without(score, "enabled", plugin)


def _speak(target: dict[str, Any], profile: int, plugin: str) -> None:
    """Enable the plugin's score if the document disables it."""
    score = _value(target, ("profiles", profile, "plugins", "score"))
    if isinstance(score, dict):
        _without(score, "disabled", plugin)


def _without(score: dict[str, Any], key: str, plugin: str) -> None:
    if isinstance(score.get(key), list):
        score[key] = [one for one in score[key] if not isinstance(one, Mapping) or one.get("name") != plugin]
        if not score[key]:
            del score[key]
