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

from kschedweb.engine.objects.access import Json, ObjectError, mapping, reference, text
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import HOURLY, WORKLOADS, Figures, Watermarks, read_workload
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.objects.node import Node
    from kschedweb.engine.state.cluster import ClusterObjects

PREFIX = "watermarks.kschedweb.dev/"
KEY = f"{PREFIX}use"
SOURCE = "annotations"
LONGEST = 4096  # characters
CAPACITY = "_capacity"  # suffix of a figure in percent of capacity
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
MEBIBYTE = 2.0**20

Problem = tuple[str, str]  # object, reason


@dataclass(frozen=True)
class Grain:
    """The precision of the figures of one resource, and the change that makes them be written again.

    A figure has moved if it differs from the written one by more than ``least`` and by more than ``share`` of it. So
    small fluctuations cause no writes.
    """

    unit: float
    least: float
    share: float = 0.0

    def rounded(self, value: float) -> float:
        # A multiple of 0.1 is not always the float of its decimal text, so decimal units are rounded by places.
        return round(value / self.unit) * self.unit if self.unit >= 1 else round(value, round(-math.log10(self.unit)))

    def moved(self, old: float, new: float) -> bool:
        # Both are multiples of the unit, so half a unit can only be float rounding.
        return abs(new - old) > max(self.least, self.share * old) + self.unit / 2


NODE_GRAINS = {CPU: Grain(0.1, 1.0), MEMORY: Grain(0.1, 1.0)}  # percent of allocatable
WORKLOAD_GRAINS = {CPU: Grain(0.001, 0.01, 0.05), MEMORY: Grain(MEBIBYTE, 16 * MEBIBYTE, 0.05)}  # cores, bytes


@dataclass(frozen=True)
class AnnotatedUse:
    """The content of one annotation; ``updated`` is in seconds of the epoch.

    ``hours`` is a workload's curve of the day in cores, NaN where unknown; empty where there is none.
    """

    updated: float
    figures: Figures
    hours: tuple[float, ...] = ()

    def rounded(self, grains: Mapping[str, Grain]) -> AnnotatedUse:
        """The content as it is written: whole seconds, figures rounded by ``grains``, unknown figures left out."""
        known = {
            resource: {key: grains[resource].rounded(value) for key, value in found.items() if math.isfinite(value)}
            for resource, found in self.figures.items()
        }
        figures = {resource: found for resource, found in known.items() if found}
        hours = tuple(grains[CPU].rounded(value) if math.isfinite(value) else math.nan for value in self.hours)
        return AnnotatedUse(math.floor(self.updated), figures, hours)

    def moved(self, new: AnnotatedUse, grains: Mapping[str, Grain]) -> bool:
        """Whether ``new`` has other figures than this one, or one that moved."""
        if _shape(self) != _shape(new):
            return True
        hours = zip(self.hours, new.hours, strict=True)
        if any(grains[CPU].moved(old, other) for old, other in hours if not math.isnan(old)):
            return True
        return any(
            grains[resource].moved(value, new.figures[resource][key])
            for resource, found in self.figures.items()
            for key, value in found.items()
        )

    def text(self) -> str:
        """The text of the annotation. Call ``rounded`` first."""
        stamp = datetime.fromtimestamp(self.updated, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        listed: Json = {"updated": stamp}
        for resource, found in self.figures.items():
            listed[resource] = {key: _plain(value) for key, value in found.items()}
        if self.hours:
            told = [None if math.isnan(value) else _plain(value) for value in self.hours]
            listed.setdefault(CPU, {})[HOURLY] = told
        return json.dumps(listed, separators=(",", ":"), allow_nan=False)

    @classmethod
    def read(cls, written: str) -> AnnotatedUse:
        """Read the text ``written``; raises ObjectError, and nothing else, if it cannot be read."""
        if len(written) > LONGEST:
            raise ObjectError(f"is longer than {LONGEST} characters")
        try:
            raw = json.loads(written, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise ObjectError("is not JSON") from None
        if not isinstance(raw, dict):
            raise ObjectError("must be a JSON object")
        figures, curve = read_workload(raw)
        hours = () if curve is None else tuple(curve.tolist())
        return cls(_updated(raw), {resource: found for resource, found in figures.items() if found}, hours)


def _shape(use: AnnotatedUse) -> tuple[dict[str, frozenset[str]], list[bool]]:
    """Which figures there are, and of which hours something is known."""
    keys = {resource: frozenset(found) for resource, found in use.figures.items()}
    return keys, [math.isnan(value) for value in use.hours]


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _no_number(word: str) -> float:
    raise ValueError(word)


def _updated(raw: Json) -> float:
    written = text(raw, "updated")
    if not written:
        raise ObjectError("updated: is missing; it says when the figures were taken, like 2026-11-21T13:00:00Z")
    try:
        if not TIME.fullmatch(written):
            raise ValueError
        return datetime.fromisoformat(written).timestamp()
    except (ValueError, OverflowError):
        raise ObjectError(f"updated: {written[:40]!r} is no RFC 3339 time like 2026-11-21T13:00:00Z") from None


@dataclass(frozen=True)
class Annotated:
    """The watermarks in the annotations of a cluster, and problems with annotations that cannot be read.

    ``watermarks`` is ``None`` if no annotation could be read.
    """

    watermarks: Watermarks | None
    problems: list[Problem]


def annotated(nodes: Sequence[Node], objects: ClusterObjects) -> Annotated:
    """The watermarks in the annotations of ``nodes`` and of the workloads among ``objects``."""
    problems: list[Problem] = []
    of_nodes = dict(_uses((node.raw for node in nodes), problems))
    of_workloads = dict(_uses((raw for kind in sorted(WORKLOADS) for raw in objects.all(kind)), problems))
    if not of_nodes and not of_workloads:
        return Annotated(None, problems)
    names = [node.name for node in nodes]
    updated = np.array([of_nodes[name].updated if name in of_nodes else math.nan for name in names])
    watermarks = Watermarks(
        names,
        updated,
        columns(names, of_nodes),
        {name: use.figures for name, use in of_workloads.items()},
        SOURCE,
        curves={name: np.array(use.hours) for name, use in of_workloads.items() if use.hours},
    )
    return Annotated(watermarks, problems)


def columns(names: Sequence[str], uses: Mapping[str, AnnotatedUse]) -> dict[tuple[str, str], Floats]:
    """The figures of ``uses`` by resource and key, NaN where a node has none. Shape [nodes] each."""
    found: dict[tuple[str, str], Floats] = {}
    for position, name in enumerate(names):
        for resource, figures in uses[name].figures.items() if name in uses else ():
            for key, value in figures.items():
                if (resource, key) not in found:
                    found[resource, key] = np.full(len(names), math.nan)
                found[resource, key][position] = value
    return found


def _uses(listed: Iterable[Any], problems: list[Problem]) -> Iterable[tuple[str, AnnotatedUse]]:
    """The content of each annotation by name of its object (``namespace/Kind/name`` for workloads)."""
    for raw in listed:
        try:
            written = mapping(mapping(raw, "metadata"), "annotations", "metadata.").get(KEY)
            if written is None:
                continue
            if not isinstance(written, str):
                raise ObjectError("must be a string")
            yield key_of(raw), AnnotatedUse.read(written)
        except ObjectError as error:
            problems.append((reference(raw), f"annotation {KEY}: {error}"))


def key_of(raw: Json) -> str:
    """The name of an object in watermarks: a node's name, or ``namespace/Kind/name`` of a workload."""
    metadata = mapping(raw, "metadata")
    name, kind = text(metadata, "name", "metadata."), text(raw, "kind")
    return name if kind == "Node" else f"{text(metadata, 'namespace', 'metadata.') or 'default'}/{kind}/{name}"


def node_uses(watermarks: Watermarks) -> dict[str, AnnotatedUse]:
    """The rounded content to write on each node that has figures, by name."""
    known = {
        (resource, key): column.tolist()
        for (resource, key), column in sorted(watermarks.figures.items())
        if resource in NODE_GRAINS and not key.endswith(CAPACITY)
    }
    found = {}
    for position, (name, updated) in enumerate(zip(watermarks.names, watermarks.updated.tolist(), strict=True)):
        figures: dict[str, dict[str, float]] = {}
        for (resource, key), column in known.items():
            if math.isfinite(column[position]):
                figures.setdefault(resource, {})[key] = column[position]
        if figures and math.isfinite(updated):
            found[name] = AnnotatedUse(updated, figures).rounded(NODE_GRAINS)
    return found


def workload_uses(watermarks: Watermarks, updated: float) -> dict[str, AnnotatedUse]:
    """The rounded content to write on each workload by ``namespace/Kind/name``; ``updated`` in seconds of the epoch."""
    found = {}
    for name, figures in watermarks.workloads.items():
        known = {resource: of for resource, of in figures.items() if resource in WORKLOAD_GRAINS}
        curve = watermarks.curves.get(name)
        found[name] = AnnotatedUse(updated, known, () if curve is None else tuple(curve.tolist()))
    return {name: use for name, each in found.items() if (use := each.rounded(WORKLOAD_GRAINS)).figures}


def change(written: str | None, use: AnnotatedUse, grains: Mapping[str, Grain], renew: float) -> str | None:
    """The text to write instead of ``written``; ``None`` if ``written`` may stay.

    ``written`` may stay while no figure moved and it is less than ``renew`` seconds older than ``use``.
    """
    try:
        old = None if written is None else AnnotatedUse.read(written)
    except ObjectError:
        old = None
    if old is not None and 0 <= use.updated - old.updated < renew and not old.moved(use, grains):
        return None
    return use.text()
