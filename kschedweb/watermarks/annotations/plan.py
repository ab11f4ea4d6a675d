"""Plans the writes of annotations, so that only changed or outdated texts are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import numpy as np

from kschedweb.clusters.annotation_writes import AnnotationsByKey, Patch
from kschedweb.clusters.kinds import BY_NAME, ObjectKind
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.annotations import (
    KEY,
    NODE_GRAINS,
    WORKLOAD_GRAINS,
    node_uses,
    render_if_changed,
    workload_uses,
)
from kschedweb.engine.state.watermarks.lint.crane import CRANE_KEYS, PERIODS
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.watermarks.inventory import Inventory

# Share of the machine; smaller changes are written only as often as crane writes.
MOVED = 0.01
# Seconds; crane writes hot values as often as its most frequent metric.
HOT_PERIOD = 180.0

Texts = dict[str, str | None]
# Makes changes from a name in watermarks and the current annotations.
TextsOf = Callable[[str, Mapping[str, str]], Texts]


@dataclass
class AnnotationPlan:
    """The changes to make, and the numbers of other objects."""

    changes: list[Patch] = field(default_factory=list)
    # Objects that need no change.
    unchanged: int = 0
    # Objects that are gone.
    missing: int = 0

    def add_patches(
        self, kind: ObjectKind, existing: AnnotationsByKey, names: Iterable[str], texts_of: TextsOf
    ) -> None:
        """Plan the objects ``names`` of ``kind``. ``existing`` has the annotations of those that exist."""
        for name in names:
            key = place_of(name)
            if key not in existing:
                self.missing += 1
            elif texts := texts_of(name, existing[key]):
                self.changes.append(Patch(kind, key, texts))
            else:
                self.unchanged += 1


def place_of(name: str) -> str:
    """Return ``namespace/name`` for the watermarks name ``namespace/Kind/name``; ``/name`` for a node."""
    namespace, _, remainder = name.partition("/")
    return f"{namespace}/{remainder.partition('/')[2]}" if remainder else f"/{name}"


def by_kind(names: Iterable[str]) -> dict[ObjectKind, list[str]]:
    """Return the workloads ``names`` by their kind."""
    names_by_kind: dict[ObjectKind, list[str]] = {}
    for name in names:
        names_by_kind.setdefault(BY_NAME[name.split("/")[1]], []).append(name)
    return names_by_kind


class OwnForm:
    """kschedweb's own annotation. After ``renew`` seconds an unchanged text is written again."""

    def __init__(self, watermarks: Watermarks, updated: float, renew: float) -> None:
        self.nodes = node_uses(watermarks)
        self.workloads = workload_uses(watermarks, updated)
        self._renew = renew

    def of_node(self, name: str, annotations: Mapping[str, str]) -> Texts:
        if (use := self.nodes.get(name)) is None:
            return {}
        text = render_if_changed(annotations.get(KEY), use, NODE_GRAINS, self._renew)
        return {} if text is None else {KEY: text}

    def of_workload(self, name: str, annotations: Mapping[str, str]) -> Texts:
        text = render_if_changed(annotations.get(KEY), self.workloads[name], WORKLOAD_GRAINS, self._renew)
        return {} if text is None else {KEY: text}


class CraneForm:
    """crane-scheduler's annotations: fractions of the machine, and hot values.

    ``hot`` has the nodes with a hot value above 0; ``None`` if unknown. ``now`` is in seconds of the epoch.
    """

    def __init__(
        self, watermarks: Watermarks, inventory: Inventory, hot: Mapping[str, int] | None, zone: ZoneInfo, now: float
    ) -> None:
        self.nodes = compute_fractions(watermarks, inventory)
        self._updated = dict(zip(watermarks.names, watermarks.updated.tolist(), strict=True))
        self._hot, self._zone, self._now = hot, zone, now

    def of_node(self, name: str, annotations: Mapping[str, str]) -> Texts:
        texts: Texts = {}
        for metric, value in self.nodes.get(name, {}).items():
            # crane's texts have whole seconds; rounding up would date a value into the future.
            updated = math.floor(self._updated[name])
            if self._is_due(annotations.get(metric), value, updated, PERIODS[crane.METRICS[metric][1]], MOVED):
                texts[metric] = crane.write_usage(value, updated, self._zone)
        if self._hot is not None:
            texts |= self._hot_value(self._hot.get(name, 0), annotations.get(crane.HOT_VALUE))
        return texts

    def _hot_value(self, value: int, current: str | None) -> Texts:
        """Return the text of a hot value, if it is needed. A missing annotation means 0, so 0 is not written then."""
        if current is None and not value:
            return {}
        # A hot value of 0 is true for ever; others expire.
        renew = HOT_PERIOD if value else math.inf
        if not self._is_due(current, value, math.floor(self._now), renew, 0.0):
            return {}
        return {crane.HOT_VALUE: crane.write_hot_value(value, self._now, self._zone)}

    def _is_due(self, current: str | None, value: float, time: float, period: float, threshold: float) -> bool:
        """Return whether ``value`` of ``time`` should replace ``current``, which differs, is outdated, or is
        invalid.
        """
        try:
            old = crane.read_annotation(current or "", self._zone)
        except crane.CraneError:
            return True
        # "not <=" instead of ">", so that NaN counts as a change.
        moved = not abs(round(value, 5) - old.value) <= threshold
        return moved or not 0 <= time - old.time < period


def combine_forms(forms: Iterable[OwnForm | CraneForm]) -> TextsOf:
    """Return a function that gives the changes of all ``forms`` to a node, to write them in one request."""

    def texts_of(name: str, annotations: Mapping[str, str]) -> Texts:
        return {key: text for form in forms for key, text in form.of_node(name, annotations).items()}

    return texts_of


def compute_fractions(watermarks: Watermarks, inventory: Inventory) -> dict[str, dict[str, float]]:
    """Return crane's metrics by node: use as a fraction of the machine, where both are known."""
    places = {name: place for place, name in enumerate(inventory.nodes)}
    rows = np.array([places.get(name, -1) for name in watermarks.names], dtype=np.intp)
    fractions: dict[str, dict[str, float]] = {}
    for metric, (resource, key) in crane.METRICS.items():
        # A place of -1 takes the NaN at the end: nodes of the watermarks that the inventory lacks stay unknown.
        padded = (np.append(amounts[resource], np.nan) for amounts in (inventory.allocatable, inventory.capacity))
        allocatable, capacity = (amounts[rows] for amounts in padded)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = watermarks.column(resource, key) / 100.0 * (allocatable / capacity)
        for place in np.flatnonzero(np.isfinite(values)).tolist():
            fractions.setdefault(watermarks.names[place], {})[metric] = float(values[place])
    return fractions


def plan_removals(kind: ObjectKind, existing: AnnotationsByKey, *, own_form: bool, crane_too: bool) -> list[Patch]:
    """Return the changes that remove the annotations of one form or both from all objects of ``kind``."""
    keys = ({KEY} if own_form else set()) | (CRANE_KEYS if crane_too and kind.name == "Node" else set())
    return [
        Patch(kind, name, dict.fromkeys(sorted(keys & annotations.keys())))
        for name, annotations in existing.items()
        if not keys.isdisjoint(annotations)
    ]
