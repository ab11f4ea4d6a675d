"""The arguments of load-aware plugins in the form: numbers with sliders, and groups that are set as a whole."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kschedweb.engine.documents.types import Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT
from kschedweb.policies.editing.release_tables import Schema

# A slider for a wider range would be too coarse.
FARTHEST = 1000


class Slider(NamedTuple):
    low: str
    high: str
    step: str


@cache
def load_aware() -> frozenset[str]:
    """Return the names of plugins of other schedulers than kube-scheduler, or that use watermarks.

    They run beside every release, and are the same there.
    """
    return frozenset(spec.name for spec in CURRENT.registry.specs.values() if spec.origin or spec.load_aware)


def build_slider(schema: Schema, name: str) -> Slider | None:
    """Return the slider of the number field ``name`` ("args.<plugin>.…"); ``None`` if it has none."""
    field = _find_field(name)
    if field is None:
        return None
    low, high = field.usual or (schema.get("minimum"), schema.get("maximum"))
    if low is None or high is None or high - low > FARTHEST:
        return None
    return Slider(f"{low:g}", f"{high:g}", "1" if schema.get("type") == "integer" or high > 10 else "0.05")


def given_as_a_whole(name: str) -> bool:
    """Return whether the group of fields ``name`` ("args.<plugin>.…") is defaulted only as a whole."""
    field = _find_field(name)
    return field is not None and field.whole


def complete_group(plugin: str, args: Json, before: Json, defaults: Json) -> None:
    """Write out a group's other weights when a person sets the first one, so that only that one changes.

    ``before`` has the plugin's arguments in the document before the change.
    """
    spec = CURRENT.registry.find_args(plugin)
    for group in (field.name for field in spec.struct.fields if field.whole) if spec else ():
        if isinstance(args.get(group), dict) and not before.get(group):
            args[group] = {**defaults.get(group, {}), **args[group]}


def _find_field(name: str) -> StructField | None:
    """Return the field ``name`` of a load-aware plugin's arguments; for a value of a map, the map's field."""
    _, _, path = name.partition(".")
    plugin, _, path = path.partition(".")
    if (
        not name.startswith("args.")
        or plugin not in load_aware()
        or (spec := CURRENT.registry.find_args(plugin)) is None
    ):
        return None
    field, struct = None, spec.struct
    while path:
        # Names of fields may contain dots, so the path is matched and not split.
        field = next((candidate for candidate in struct.fields if f"{path}.".startswith(f"{candidate.name}.")), None)
        if field is None or not isinstance(field.type, Struct):
            break
        struct, path = field.type, path[len(field.name) + 1 :]
    return field
