"""What differs between two documents: line by line, and in what they make kube-scheduler do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Loaded, Profile
    from kschedweb.engine.config.registry import PluginRef

CONTEXT_LINES = 3


@dataclass(frozen=True)
class Line:
    """A row of the side-by-side view; ``None`` where that side has no line. ``kind``: same, changed, added, removed."""

    kind: str
    old_number: int | None
    old: str
    new_number: int | None
    new: str


@dataclass(frozen=True)
class Change:
    """One difference in meaning: ``where`` (profile, extension point or field), the value before and after."""

    where: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before or 'absent'} → {self.after or 'absent'}"


def lines(old: str, new: str) -> list[Line]:
    """Both texts side by side, whole."""
    left, right = old.splitlines(), new.splitlines()
    rows: list[Line] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + step, j1 + step
            has_old, has_new = i < i2, j < j2
            kind = "same" if tag == "equal" else "changed" if has_old and has_new else "removed" if has_old else "added"
            rows.append(
                Line(
                    kind,
                    i + 1 if has_old else None,
                    left[i] if has_old else "",
                    j + 1 if has_new else None,
                    right[j] if has_new else "",
                )
            )
    return rows


def folded(rows: list[Line], context: int = CONTEXT_LINES) -> list[Line | int]:
    """``rows`` with stretches of equal lines far from any change replaced by their count."""
    near = [False] * len(rows)
    for index, row in enumerate(rows):
        if row.kind != "same":
            for other in range(max(index - context, 0), min(index + context + 1, len(rows))):
                near[other] = True
    # One line is as short as the note that it was left out.
    for index in range(len(rows)):
        if all(near[index - 1 : index] or [True]) and all(near[index + 1 : index + 2] or [True]):
            near[index] = True
    result: list[Line | int] = []
    for row, keep in zip(rows, near, strict=True):
        if keep:
            result.append(row)
        elif result and isinstance(result[-1], int):
            result[-1] += 1
        else:
            result.append(1)
    return result


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    """A patch as ``diff -u`` writes it; empty where nothing differs."""
    return "".join(
        unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name, n=CONTEXT_LINES)
    )


def changes(old: Loaded | None, new: Loaded | None) -> list[Change]:
    """What ``new`` makes kube-scheduler do otherwise than ``old``; nothing where one of them is not valid."""
    if old is None or new is None or old.configuration is None or new.configuration is None:
        return []
    found = [
        Change("", path, _word(before), _word(after))
        for path, before, after in _leaves(_top(old.configuration.document), _top(new.configuration.document))
    ]
    return [*found, *_profile_changes(old.configuration, new.configuration)]


def _top(defaulted: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in defaulted.items() if key != "profiles"}


def _profile_changes(old: Configuration, new: Configuration) -> Iterator[Change]:
    before = {profile.scheduler_name: profile for profile in old.profiles}
    after = {profile.scheduler_name: profile for profile in new.profiles}
    for name in before.keys() - after.keys():
        yield Change(name, "profile", name, "")
    for name, profile in after.items():
        former = before.get(name)
        if former is None:
            yield Change(name, "profile", "", name)
            continue
        if former.percentage_of_nodes_to_score != profile.percentage_of_nodes_to_score:
            yield Change(
                name,
                "percentageOfNodesToScore",
                _word(former.percentage_of_nodes_to_score),
                _word(profile.percentage_of_nodes_to_score),
            )
        yield from _plugin_changes(name, former, profile)
        # Arguments that come and go with their plugin are no change of their own.
        for plugin in sorted(former.args.keys() & profile.args.keys()):
            for path, was, now in _leaves(former.args[plugin], profile.args[plugin]):
                what = plugin if path in _TELLING else f"{plugin} {path}"
                yield Change(name, what, _word(was), _word(now))


# Fields whose value says by itself what it is about.
_TELLING = frozenset({"scoringStrategy.type"})


def _plugin_changes(name: str, old: Profile, new: Profile) -> Iterator[Change]:
    """Plugins on or off, weights and order; what happens alike at several extension points is said once."""
    points: dict[tuple[str, str, str], list[str]] = {}
    for point in new.points:
        for change in _point_changes(old.points[point], new.points[point], point):
            points.setdefault(change, []).append(point)
    for (what, before, after), where in points.items():
        yield Change(f"{name} · {', '.join(where)}", what, before, after)


def _point_changes(
    old: tuple[PluginRef, ...], new: tuple[PluginRef, ...], point: str
) -> Iterator[tuple[str, str, str]]:
    before = {reference.name: reference.weight for reference in old}
    after = {reference.name: reference.weight for reference in new}
    for name in [*after, *(name for name in before if name not in after)]:
        if name not in before or name not in after:
            yield name, "on" if name in before else "off", "on" if name in after else "off"
        elif point == "score" and before[name] != after[name]:
            yield f"{name} weight", str(before[name]), str(after[name])
    kept_before = [name for name in before if name in after]
    kept_after = [name for name in after if name in before]
    if kept_before != kept_after:
        yield "order", ", ".join(kept_before), ", ".join(kept_after)


def _leaves(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Paths at which the two differ, as deep as both are objects."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(key for key in old if key not in new)]:
            yield from _leaves(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, bool) != isinstance(new, bool) or old != new:
        yield path, old, new


def _word(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
