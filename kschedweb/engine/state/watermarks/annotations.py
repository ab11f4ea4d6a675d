"""Watermarks in annotations: a short JSON text on each node and each workload.

An example is ``{"updated":"2026-11-21T13:00:00Z","cpu":{"15m":41.3},"memory":{"15m":60.2}}``. ``updated`` is the time
of the figures (RFC 3339). Figures of a node are in percent of allocatable, those of a workload in cores and bytes per
pod. A workload's curve of the day is the list ``hours`` beside its CPU figures: 24 cores per pod, from 00:00 UTC on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object, get_mapping, get_string
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import HOURLY, WORKLOADS, Figures, Watermarks, read_workload
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.objects.node import Node
    from kschedweb.engine.state.cluster_objects import ClusterObjects

PREFIX = "watermarks.kschedweb.dev/"
KEY = f"{PREFIX}use"
SOURCE = "annotations"
# Characters of an annotation that is read; longer ones are refused before they are parsed.
LONGEST = 4096
# Suffix of a figure in percent of capacity.
CAPACITY = "_capacity"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
MEBIBYTE = 2.0**20

# (object, reason).
Problem = tuple[str, str]


@dataclass(frozen=True)
class Grain:
    """The precision of the figures of one resource, and the change from which they are written again.

    A figure has moved if it differs from the written one by more than ``min_change`` and by more than ``share`` of it,
    so small fluctuations cause no writes.
    """

    # Figures are rounded to multiples of it.
    unit: float
    # In the figure's unit.
    min_change: float
    # 0 to 1.
    share: float = 0.0

    def round_value(self, value: float) -> float:
        # A multiple of 0.1 is not always the float of its decimal text, so decimal units are rounded by places.
        return round(value / self.unit) * self.unit if self.unit >= 1 else round(value, round(-math.log10(self.unit)))

    def has_moved(self, old: float, new: float) -> bool:
        # Both are multiples of the unit, so half a unit can only be float rounding.
        return abs(new - old) > max(self.min_change, self.share * old) + self.unit / 2


# Percent of allocatable.
NODE_GRAINS = {CPU: Grain(0.1, 1.0), MEMORY: Grain(0.1, 1.0)}
# Cores and bytes of one pod.
WORKLOAD_GRAINS = {CPU: Grain(0.001, 0.01, 0.05), MEMORY: Grain(MEBIBYTE, 16 * MEBIBYTE, 0.05)}


@dataclass(frozen=True)
class AnnotatedUse:
    """The content of one annotation."""

    # Seconds of the epoch.
    updated: float
    figures: Figures
    # A workload's curve of the day in cores, NaN where unknown; empty if there is none.
    hours: tuple[float, ...] = ()

    def round_figures(self, grains: Mapping[str, Grain]) -> AnnotatedUse:
        """Return the content as it is written.

        Times are whole seconds, figures are rounded by ``grains``, and unknown figures are left out.
        """
        rounded = {
            resource: {
                key: grains[resource].round_value(value) for key, value in values.items() if math.isfinite(value)
            }
            for resource, values in self.figures.items()
        }
        figures = {resource: values for resource, values in rounded.items() if values}
        hours = tuple(grains[CPU].round_value(value) if math.isfinite(value) else math.nan for value in self.hours)
        return AnnotatedUse(math.floor(self.updated), figures, hours)

    def has_moved(self, new: AnnotatedUse, grains: Mapping[str, Grain]) -> bool:
        """Return True if ``new`` has other figures than this content, or one that moved."""
        if _known_keys(self) != _known_keys(new):
            return True
        hours = zip(self.hours, new.hours, strict=True)
        if any(grains[CPU].has_moved(old, other) for old, other in hours if not math.isnan(old)):
            return True
        return any(
            grains[resource].has_moved(value, new.figures[resource][key])
            for resource, values in self.figures.items()
            for key, value in values.items()
        )

    def to_json(self) -> str:
        """Return the text of the annotation. Call ``round_figures`` first."""
        stamp = datetime.fromtimestamp(self.updated, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        listed: Json = {"updated": stamp}
        for resource, values in self.figures.items():
            listed[resource] = {key: _simplify_number(value) for key, value in values.items()}
        if self.hours:
            hours = [None if math.isnan(value) else _simplify_number(value) for value in self.hours]
            listed.setdefault(CPU, {})[HOURLY] = hours
        return json.dumps(listed, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, content: str) -> AnnotatedUse:
        """Read the text ``content``; raise ObjectError, and nothing else, if it cannot be read."""
        if len(content) > LONGEST:
            raise ObjectError(f"is longer than {LONGEST} characters")
        try:
            raw = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise ObjectError("is not JSON") from None
        if not isinstance(raw, dict):
            raise ObjectError("must be a JSON object")
        figures, curve = read_workload(raw)
        hours = () if curve is None else tuple(curve.tolist())
        return cls(_parse_updated(raw), {resource: values for resource, values in figures.items() if values}, hours)


def _known_keys(use: AnnotatedUse) -> tuple[dict[str, frozenset[str]], list[bool]]:
    """Return the keys of the figures, and which hours are unknown."""
    keys = {resource: frozenset(values) for resource, values in use.figures.items()}
    return keys, [math.isnan(value) for value in use.hours]


def _simplify_number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _no_number(word: str) -> float:
    raise ValueError(word)


def _parse_updated(raw: Json) -> float:
    timestamp = get_string(raw, "updated")
    if not timestamp:
        raise ObjectError("updated: is missing; it says when the figures were taken, like 2026-11-21T13:00:00Z")
    try:
        if not TIME.fullmatch(timestamp):
            raise ValueError
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        raise ObjectError(f"updated: {timestamp[:40]!r} is no RFC 3339 time like 2026-11-21T13:00:00Z") from None


@dataclass(frozen=True)
class AnnotatedWatermarks:
    """The watermarks in the annotations of a cluster."""

    # None if no annotation could be read.
    watermarks: Watermarks | None
    # Annotations that cannot be read.
    problems: list[Problem]


def read_annotations(nodes: Sequence[Node], objects: ClusterObjects) -> AnnotatedWatermarks:
    """Return the watermarks in the annotations of ``nodes`` and of the workloads among ``objects``."""
    problems: list[Problem] = []
    of_nodes = dict(_parse_uses((node.raw for node in nodes), problems))
    of_workloads = dict(_parse_uses((raw for kind in sorted(WORKLOADS) for raw in objects.all(kind)), problems))
    if not of_nodes and not of_workloads:
        return AnnotatedWatermarks(None, problems)
    names = [node.name for node in nodes]
    updated = np.array([of_nodes[name].updated if name in of_nodes else math.nan for name in names])
    watermarks = Watermarks(
        names,
        updated,
        build_columns(names, of_nodes),
        {name: use.figures for name, use in of_workloads.items()},
        SOURCE,
        curves={name: np.array(use.hours) for name, use in of_workloads.items() if use.hours},
    )
    return AnnotatedWatermarks(watermarks, problems)


def build_columns(names: Sequence[str], uses: Mapping[str, AnnotatedUse]) -> dict[tuple[str, str], Floats]:
    """Return the figures of ``uses`` by resource and key, NaN where a node has none. Shape [nodes] each."""
    arrays: dict[tuple[str, str], Floats] = {}
    for position, name in enumerate(names):
        for resource, figures in uses[name].figures.items() if name in uses else ():
            for key, value in figures.items():
                if (resource, key) not in arrays:
                    arrays[resource, key] = np.full(len(names), math.nan)
                arrays[resource, key][position] = value
    return arrays


def _parse_uses(listed: Iterable[Any], problems: list[Problem]) -> Iterable[tuple[str, AnnotatedUse]]:
    """Yield the content of each annotation by name of its object (``namespace/Kind/name`` for workloads)."""
    for raw in listed:
        try:
            annotation = get_mapping(get_mapping(raw, "metadata"), "annotations", "metadata.").get(KEY)
            if annotation is None:
                continue
            if not isinstance(annotation, str):
                raise ObjectError("must be a string")
            yield key_of(raw), AnnotatedUse.from_json(annotation)
        except ObjectError as error:
            problems.append((describe_object(raw), f"annotation {KEY}: {error}"))


def key_of(raw: Json) -> str:
    """Return the name of an object in watermarks: a node's name, or ``namespace/Kind/name`` of a workload."""
    metadata = get_mapping(raw, "metadata")
    name, kind = get_string(metadata, "name", "metadata."), get_string(raw, "kind")
    return name if kind == "Node" else f"{get_string(metadata, 'namespace', 'metadata.') or 'default'}/{kind}/{name}"


def node_uses(watermarks: Watermarks) -> dict[str, AnnotatedUse]:
    """Return the rounded content to write on each node that has figures, by name."""
    columns = {
        (resource, key): column.tolist()
        for (resource, key), column in sorted(watermarks.figures.items())
        if resource in NODE_GRAINS and not key.endswith(CAPACITY)
    }
    uses = {}
    for position, (name, updated) in enumerate(zip(watermarks.names, watermarks.updated.tolist(), strict=True)):
        figures: dict[str, dict[str, float]] = {}
        for (resource, key), column in columns.items():
            if math.isfinite(column[position]):
                figures.setdefault(resource, {})[key] = column[position]
        if figures and math.isfinite(updated):
            uses[name] = AnnotatedUse(updated, figures).round_figures(NODE_GRAINS)
    return uses


def workload_uses(watermarks: Watermarks, updated: float) -> dict[str, AnnotatedUse]:
    """Return the rounded content to write on each workload, by ``namespace/Kind/name``.

    ``updated`` is in seconds of the epoch.
    """
    uses = {}
    for name, figures in watermarks.workloads.items():
        selected = {resource: values for resource, values in figures.items() if resource in WORKLOAD_GRAINS}
        curve = watermarks.curves.get(name)
        uses[name] = AnnotatedUse(updated, selected, () if curve is None else tuple(curve.tolist()))
    return {
        name: use
        for name, annotated_use in uses.items()
        if (use := annotated_use.round_figures(WORKLOAD_GRAINS)).figures
    }


def render_if_changed(current: str | None, use: AnnotatedUse, grains: Mapping[str, Grain], renew: float) -> str | None:
    """Return the text to write instead of ``current``; ``None`` if ``current`` may stay.

    It may stay while no figure moved and it is less than ``renew`` seconds older than ``use``.
    """
    try:
        old = None if current is None else AnnotatedUse.from_json(current)
    except ObjectError:
        old = None
    if old is not None and 0 <= use.updated - old.updated < renew and not old.has_moved(use, grains):
        return None
    return use.to_json()
