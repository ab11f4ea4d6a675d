"""What two releases make of one configuration: its fields, and what they are where it says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases import json_schema, load
from kschedweb.engine.values import dataclass

NEW, GONE, OTHERWISE = "new", "gone", "otherwise"
KEYS = ("name", "schedulerName")
"""What tells the items of a list apart."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that one release alone knows (``NEW``, ``GONE``), or whose value or order is another (``OTHERWISE``)."""

    path: str
    kind: str
    before: Any = None
    after: Any = None


def fields(document: str | bytes | Json | None, first: Release, second: Release) -> list[FieldChange]:
    """What a configuration may say, and what this one (``None``: the defaults) becomes, in each of two releases."""
    known = list(_known(first, second))
    before, after = (load(document, release).defaulted for release in (first, second))
    return [*known, *(() if before is None or after is None else _leaves(before, after, ""))]


def _known(first: Release, second: Release) -> Iterator[FieldChange]:
    before, after = (_named(json_schema(release)) for release in (first, second))
    for kind, one, other in ((NEW, after, before), (GONE, before, after)):
        missing = [path for path in one if path not in other]
        # A new extension point says all of the plugins that run there.
        yield from (
            FieldChange(path, kind) for path in missing if path.partition("[")[0] not in missing or "[" not in path
        )
    for path, default in after.items():
        if path in before and before[path] != default:
            yield FieldChange(path, OTHERWISE, before[path], default)


def _named(schema: Json) -> dict[str, Any]:
    """Each field that the schema has, as "Kind.field", with its default; and the plugins of each extension point."""
    found: dict[str, Any] = {}
    for kind, of in {schema["title"]: schema, **schema["$defs"]}.items():
        _, is_set, point = kind.partition("PluginSet.")
        if is_set:
            plugins = of["properties"]["enabled"]["items"]["properties"]["name"]["anyOf"]
            found |= {f"Plugins.{point}[{one['const']}]": None for one in plugins if "const" in one}
        else:
            found |= {f"{kind}.{name}": field.get("default") for name, field in of.get("properties", {}).items()}
    return found


def _leaves(first: Any, second: Any, path: str) -> Iterator[FieldChange]:
    """Where two documents differ, down to values that are not of one form."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in [*second, *(key for key in first if key not in second)]:
            yield from _leaves(first.get(key), second.get(key), f"{path}.{key}" if path else key)
        return
    before, after = _items(first), _items(second)
    if before is None or after is None:
        if first != second:
            yield FieldChange(path, OTHERWISE, first, second)
        return
    for key in [*after, *(key for key in before if key not in after)]:
        yield from _leaves(before.get(key), after.get(key), f"{path}[{key}]")
    kept = [[key for key in one if key in before and key in after] for one in (before, after)]
    if kept[0] != kept[1]:
        yield FieldChange(f"{path} (order)", OTHERWISE, *map(", ".join, kept))


def _items(value: Any) -> dict[str, Any] | None:
    """The items of a list by their names; ``None`` where they have none, or two have the same."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    key = next((key for key in KEYS if all(isinstance(item.get(key), str) for item in value)), None)
    found = {} if key is None else {item[key]: item for item in value}
    return found if len(found) == len(value) else None
