"""Groupings of nodes by their labels, as columns for node maps. Labels may change over time.

There are at most MOST_GROUPINGS groupings of MOST_GROUPS groups each, with at most MOST_SHIFTS changes of group.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from django.utils.translation import gettext_noop

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kschedweb.engine.state.columns import Codes, Floats

MOST_GROUPINGS, MOST_GROUPS, MOST_SHIFTS = 24, 200, 20_000
# The value for a missing node in a column of one or two bytes.
NARROW, WIDE = 255, 65_535
# Seconds within which two times are equal.
MOMENT = 1e-6
# Groupings with plain names, and their labels. The first label that a node has counts.
NAMED_GROUPINGS = {
    gettext_noop("zone"): (ZONE, BETA_ZONE),
    gettext_noop("region"): (REGION, BETA_REGION),
    gettext_noop("instance type"): ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
    gettext_noop("pool"): (
        "karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
        "kubernetes.azure.com/agentpool", "agentpool", "nodepool", "node-pool", "pool",
    ),
}  # fmt: skip


class Relabelled(NamedTuple):
    """A change of labels: from ``time`` (seconds) on, the node at position ``node`` has the ``labels``."""

    time: float
    node: int
    labels: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Shifts:
    """Changes of group in order of time. Shape [shifts]."""

    # Seconds.
    times: Floats = field(default_factory=lambda: np.zeros(0))
    # Positions of nodes.
    nodes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # Indices of values.
    codes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))


@dataclass(frozen=True, eq=False)
class Grouping:
    """A grouping of nodes by one label."""

    label: str
    # The names of the groups; "" for nodes without the label.
    values: list[str]
    # The initial group of each node, as an index into ``values``.
    codes: Codes
    shifts: Shifts = field(default_factory=Shifts)

    def to_dict(self) -> Json:
        shifts = {"times": self.shifts.times.tolist()}
        shifts |= {name: pack_column(getattr(self.shifts, name)) for name in ("nodes", "codes")}
        return {"label": self.label, "values": self.values, "codes": pack_column(self.codes), "shifts": shifts}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Grouping:
        """Read what ``to_dict`` returned. Older stored groupings have no shifts."""
        shifts = Shifts()
        if stored_shifts := stored.get("shifts"):
            times = np.array(stored_shifts["times"], dtype=np.float64)
            shifts = Shifts(times, _unpack_codes(stored_shifts["nodes"]), _unpack_codes(stored_shifts["codes"]))
        return cls(stored["label"], list(stored["values"]), _unpack_codes(stored["codes"]), shifts)

    def at_time(self, time: float) -> Grouping:
        """Return the groups of the nodes at ``time`` (seconds)."""
        past = int(np.searchsorted(self.shifts.times, time + MOMENT, side="right"))
        codes = self.codes.copy()
        # With repeated indices numpy keeps the last value, which is the newest shift of a node.
        codes[self.shifts.nodes[:past]] = self.shifts.codes[:past]
        return Grouping(self.label, self.values, codes)

    def group_name(self, code: int) -> str:
        return self.values[code] or f"no {self.label}"


def pack_column(values: NDArray[Any]) -> Json:
    """Encode non-negative integers as base64, one byte each, or two (little-endian) if needed; nan is absent."""
    present = values[~np.isnan(values)]
    wide = bool(present.size and present.max() >= NARROW)
    absent = WIDE if wide else NARROW
    whole = np.where(np.isnan(values), absent, np.clip(np.rint(values), 0, absent - 1))
    raw = whole.astype("<u2" if wide else "u1").tobytes()
    return {"bytes": 2 if wide else 1, "values": base64.b64encode(raw).decode()}


def unpack_column(column: Mapping[str, Any]) -> NDArray[np.uint16]:
    """Return the flat array of stored numbers of ``pack_column``."""
    kind = "<u2" if column["bytes"] == 2 else "u1"
    return np.frombuffer(base64.b64decode(column["values"]), dtype=kind).astype(np.uint16)


def _unpack_codes(column: Mapping[str, Any]) -> Codes:
    return unpack_column(column).astype(np.int32)


def make_named_groupings(labels: Sequence[Mapping[str, str]], later: Sequence[Relabelled] = ()) -> list[Grouping]:
    """Return groupings by zone, region, instance type and pool, as far as ``labels`` have them."""
    return [
        named_grouping
        for name, keys in NAMED_GROUPINGS.items()
        if (named_grouping := _make_grouping(name, keys, labels, later)) is not None
    ]


def make_column_groupings(columns: Mapping[str, Sequence[str]]) -> list[Grouping]:
    """Return a grouping by each of ``columns``, by its label, that has the value of each node; "" for none."""
    groupings = (_group_values(label, list(values)) for label, values in columns.items())
    return [grouping for grouping in groupings if grouping is not None]


def make_groupings(labels: Sequence[Mapping[str, str]], later: Sequence[Relabelled] = ()) -> list[Grouping]:
    """Return groupings by zone, region, instance type and pool, then by every other label that divides the nodes.

    ``labels`` are the initial ones of each node, ``later`` the changes in order of time. A label makes no grouping if
    all nodes have different initial values, or if it has more than MOST_GROUPS values or MOST_SHIFTS changes.
    """
    groupings = make_named_groupings(labels, later)
    named_keys = {key for keys in NAMED_GROUPINGS.values() for key in keys}
    all_keys = {key for node_labels in labels for key in node_labels} | {
        key for change in later for key in change.labels
    }
    for key in sorted(all_keys - named_keys):
        if len(groupings) == MOST_GROUPINGS:
            break
        if (grouping := _make_grouping(key, (key,), labels, later)) and len(grouping.values) > 1:
            groupings.append(grouping)
    return groupings


def _first_label(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((str(labels[key]) for key in keys if labels.get(key)), "")


def _first_labels(labels: Sequence[Mapping[str, str]], keys: Iterable[str]) -> list[str]:
    """Return ``_first_label`` of each node; key by key, which is faster for thousands of nodes."""
    values = [""] * len(labels)
    for key in keys:
        column = [node_labels.get(key) for node_labels in labels]
        if any(column):
            values = [value or str(label or "") for value, label in zip(values, column, strict=True)]
        if all(values):
            break
    return values


def _make_grouping(
    label: str, keys: Iterable[str], labels: Sequence[Mapping[str, str]], later: Sequence[Relabelled]
) -> Grouping | None:
    first = _first_labels(labels, keys)
    now, shifts = list(first), list[tuple[float, int, str]]()
    for time, node, node_labels in later:
        value = _first_label(node_labels, keys)
        if value != now[node]:
            now[node] = value
            shifts.append((time, node, value))
    return _group_values(label, first, shifts)


def _group_values(label: str, first: list[str], shifts: Sequence[tuple[float, int, str]] = ()) -> Grouping | None:
    """Return the grouping by the ``first`` values of the nodes, and the later ones; None if it would group nothing."""
    distinct = sorted({*first, *(value for _, _, value in shifts)})
    # A label with a value of its own for each node, such as the host name, groups nothing.
    telling = any(distinct) and not 2 < len(first) == len(set(first))
    if not telling or len(distinct) > MOST_GROUPS or len(shifts) > MOST_SHIFTS:
        return None
    code = {value: place for place, value in enumerate(distinct)}
    times, nodes, values = zip(*shifts, strict=True) if shifts else ((), (), ())
    moved = Shifts(
        np.array(times, dtype=np.float64),
        np.array(nodes, dtype=np.int32),
        np.array([code[value] for value in values], dtype=np.int32),
    )
    return Grouping(label, distinct, np.array([code[value] for value in first], dtype=np.int32), moved)
