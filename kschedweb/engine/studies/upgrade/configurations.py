"""Compare one configuration in two releases: the fields that it may have, and their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import json_schema, load
from kschedweb.engine.values import dataclass

NEW, REMOVED, CHANGED = "new", "gone", "otherwise"
# Keys that identify the items of a list.
KEYS = ("name", "schedulerName")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that only one release has, or whose value or order differs."""

    path: str
    # NEW, REMOVED or CHANGED.
    kind: str
    before: Any = None
    after: Any = None


def compare_fields(document: str | bytes | Json | None, first: Release, second: Release) -> list[FieldChange]:
    """Return the differences of two releases in the fields of a configuration, and in this one after defaulting.

    ``None`` stands for a document that leaves everything out.
    """
    schema_changes = list(_compare_schemas(first, second))
    before, after = (load(document, release).defaulted for release in (first, second))
    return [*schema_changes, *(() if before is None or after is None else _compare_leaves(before, after, ""))]


def _compare_schemas(first: Release, second: Release) -> Iterator[FieldChange]:
    before, after = (_index_fields(json_schema(release)) for release in (first, second))
    for kind, present, other in ((NEW, after, before), (REMOVED, before, after)):
        missing = [path for path in present if path not in other]
        # A new extension point stands for all of the plugins that run there.
        yield from (
            FieldChange(path, kind) for path in missing if path.partition("[")[0] not in missing or "[" not in path
        )
    for path, default in after.items():
        if path in before and before[path] != default:
            yield FieldChange(path, CHANGED, before[path], default)


def _index_fields(schema: Json) -> dict[str, object]:
    """Return each field of the schema as "Kind.field" with its default, and the plugins of each extension point."""
    defaults: dict[str, object] = {}
    for kind, definition in {schema["title"]: schema, **schema["$defs"]}.items():
        _, is_set, point = kind.partition("PluginSet.")
        if is_set:
            plugins = definition["properties"]["enabled"]["items"]["properties"]["name"]["anyOf"]
            defaults |= {f"Plugins.{point}[{plugin['const']}]": None for plugin in plugins if "const" in plugin}
        else:
            defaults |= {
                f"{kind}.{name}": field.get("default") for name, field in definition.get("properties", {}).items()
            }
    return defaults


def _compare_leaves(first: Any, second: Any, path: str) -> Iterator[FieldChange]:
    """Yield the differences of two documents, down to values that have no common form."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in [*second, *(key for key in first if key not in second)]:
            yield from _compare_leaves(first.get(key), second.get(key), f"{path}.{key}" if path else key)
        return
    before, after = _index_items(first), _index_items(second)
    if before is None or after is None:
        if first != second:
            yield FieldChange(path, CHANGED, first, second)
        return
    for key in [*after, *(key for key in before if key not in after)]:
        yield from _compare_leaves(before.get(key), after.get(key), f"{path}[{key}]")
    shared_keys = [[key for key in items if key in before and key in after] for items in (before, after)]
    if shared_keys[0] != shared_keys[1]:
        yield FieldChange(f"{path} (order)", CHANGED, *map(", ".join, shared_keys))


def _index_items(value: Any) -> dict[str, Json] | None:
    """Return the items of a list by their names; ``None`` if they have none, or if two have the same."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    key = next((key for key in KEYS if all(isinstance(item.get(key), str) for item in value)), None)
    items_by_name = {} if key is None else {item[key]: item for item in value}
    return items_by_name if len(items_by_name) == len(value) else None
