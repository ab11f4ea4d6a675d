"""Fields of a policy's document by their paths: ``profiles[0].plugins.score.enabled[NodeResourcesFit].weight``.

A step is a key, or a place in brackets: a number, or the name of an item (of a plugin, a resource, a profile). What a
document leaves out stands at its default, so setting one argument writes its neighbours' defaults out beside it.
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
_NAMES = ("name", "schedulerName", "topologyKey")  # by which an item of a list is called
SCORE = ("plugins", "score", "enabled")


class PathError(ValueError):
    """A path that leads nowhere; the text says at which step."""


class Name(str):
    """A step in brackets that is no number."""

    __slots__ = ()


def steps(path: str) -> Path:
    """The steps of ``path``; raises PathError where it is not written as one."""
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
    """The profile and the plugin whose weight ``path`` is, ``None`` where it is something else."""
    if len(path) == 7 and path[0] == "profiles" and path[2:5] == SCORE and path[6] == "weight":
        profile, plugin = path[1], path[5]
        if isinstance(profile, int) and isinstance(plugin, Name):
            return profile, str(plugin)
    return None


def value(configuration: Configuration, path: Path) -> Any:
    """What stands at ``path`` when all defaults are filled in; ABSENT where nothing does.

    The weight of a plugin that does not score is 0.
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
    """A copy of ``document`` with a value at each path; ``defaulted`` is the same document after defaults.

    A weight of 0 takes the plugin's score out: kube-scheduler would count it as 1. Raises PathError.
    """
    target = copy.deepcopy(dict(document))
    for path, wanted in changes:
        found = weighed(path)
        if found is not None and wanted == 0:
            _silence(target, *found)
            continue
        if found is not None:
            _speak(target, *found)
        _set(target, defaulted, path, wanted)
    return target


def _set(target: Any, defaulted: Any, path: Path, wanted: Any) -> None:
    inside = False  # the arguments of a plugin, whose defaults are written out
    for place, step in enumerate(path[:-1]):
        default = _child(defaulted, step)
        known = _child(target, step)
        if known is ABSENT or known is None:
            kind: Any = [] if not isinstance(path[place + 1], str) or isinstance(path[place + 1], Name) else {}
            known = copy.deepcopy(default) if inside and isinstance(default, dict | list) else kind
            known = _put(target, step, known)
        elif not isinstance(known, dict | list):
            raise PathError(f"{step} is not something that holds further fields")
        inside = inside or step == "args"
        target, defaulted = known, default
    _put(target, path[-1], wanted)


def _child(holder: Any, step: Step) -> Any:
    return _value(holder, (step,))


def _put(holder: Any, step: Step, wanted: Any) -> Any:
    """Set it; what stands there then."""
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
    """Take the plugin out of scoring."""
    _set(target, {}, ("profiles", profile, "plugins", "score", "disabled", Name(plugin), "name"), plugin)
    score = target["profiles"][profile]["plugins"]["score"]
    _without(score, "enabled", plugin)


def _speak(target: dict[str, Any], profile: int, plugin: str) -> None:
    """Let the plugin score, should the document take it out."""
    score = _value(target, ("profiles", profile, "plugins", "score"))
    if isinstance(score, dict):
        _without(score, "disabled", plugin)


def _without(score: dict[str, Any], key: str, plugin: str) -> None:
    if isinstance(score.get(key), list):
        score[key] = [one for one in score[key] if not isinstance(one, Mapping) or one.get("name") != plugin]
        if not score[key]:
            del score[key]
