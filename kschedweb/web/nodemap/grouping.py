"""Nodes in groups by their labels, as columns that a node map can ask for; labels may change while time passes.

At most MOST_GROUPINGS groupings of MOST_GROUPS groups each, in which nodes change their group MOST_SHIFTS times.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kschedweb.engine.state.columns import Codes, Floats

MOST_GROUPINGS, MOST_GROUPS, MOST_SHIFTS = 24, 200, 20_000
NARROW, WIDE = 255, 65_535  # what a column of bytes, or of pairs of them, says of a node that is not there
MOMENT = 1e-6  # seconds within which two times are the same
# Groupings that have a plain name, and the labels that say them, the first one that a node has.
NAMED = {
    "zone": (ZONE, BETA_ZONE),
    "region": (REGION, BETA_REGION),
    "instance type": ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
    "pool": (
        "karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
        "kubernetes.azure.com/agentpool", "agentpool", "nodepool", "node-pool", "pool",
    ),
}  # fmt: skip


class Relabelled(NamedTuple):
    """From ``time`` (seconds) on the node in place ``node`` has other ``labels``."""

    time: float
    node: int
    labels: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Shifts:
    """Nodes that come into other groups, in the order of time: seconds, nodes, places in values. Shape [shifts]."""

    times: Floats = field(default_factory=lambda: np.zeros(0))
    nodes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    codes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))


@dataclass(frozen=True, eq=False)
class Grouping:
    """The nodes by one label: ``codes`` says which of ``values`` each node has at first ("": it has none)."""

    label: str
    values: list[str]
    codes: Codes
    shifts: Shifts = field(default_factory=Shifts)

    def to_dict(self) -> dict[str, Any]:
        shifts = {"times": self.shifts.times.tolist()}
        shifts |= {name: packed(getattr(self.shifts, name)) for name in ("nodes", "codes")}
        return {"label": self.label, "values": self.values, "codes": packed(self.codes), "shifts": shifts}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Grouping:
        """What ``to_dict`` made; groupings that were stored earlier know of no shifts."""
        shifts = Shifts()
        if known := stored.get("shifts"):
            times = np.array(known["times"], dtype=np.float64)
            shifts = Shifts(times, _codes(known["nodes"]), _codes(known["codes"]))
        return cls(stored["label"], list(stored["values"]), _codes(stored["codes"]), shifts)

    def at(self, time: float) -> Grouping:
        """The groups in which the nodes are at ``time`` (seconds)."""
        past = int(np.searchsorted(self.shifts.times, time + MOMENT, side="right"))
        codes = self.codes.copy()
        codes[self.shifts.nodes[:past]] = self.shifts.codes[:past]  # of several shifts of a node the last one counts
        return Grouping(self.label, self.values, codes)

    def words(self, code: int) -> str:
        return self.values[code] or f"no {self.label}"


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """Whole numbers from 0 on as base64, little-endian, one byte each or two where one is too small; nan: absent."""
    known = values[~np.isnan(values)]
    wide = bool(known.size and known.max() >= NARROW)
    absent = WIDE if wide else NARROW
    whole = np.where(np.isnan(values), absent, np.clip(np.rint(values), 0, absent - 1))
    raw = whole.astype("<u2" if wide else "u1").tobytes()
    return {"bytes": 2 if wide else 1, "values": base64.b64encode(raw).decode()}


def unpacked(column: Mapping[str, Any]) -> NDArray[np.uint16]:
    """The numbers of ``packed`` in one row, as they are there."""
    kind = "<u2" if column["bytes"] == 2 else "u1"
    return np.frombuffer(base64.b64decode(column["values"]), dtype=kind).astype(np.uint16)


def _codes(column: Mapping[str, Any]) -> Codes:
    return unpacked(column).astype(np.int32)


def groupings(labels: Sequence[Mapping[str, str]], later: Sequence[Relabelled] = ()) -> list[Grouping]:
    """By zone, region, instance type and pool, then by every other label that tells nodes apart, by its key.

    ``labels`` are those of each node at first, ``later`` what they become, in the order of time. A label that has a
    value of its own for every node at first, or more than MOST_GROUPS, or that changes more than MOST_SHIFTS times,
    makes no groups.
    """
    found = [one for name, keys in NAMED.items() if (one := _grouping(name, keys, labels, later)) is not None]
    taken = {key for keys in NAMED.values() for key in keys}
    known = {key for own in labels for key in own} | {key for one in later for key in one.labels}
    for key in sorted(known - taken):
        if len(found) == MOST_GROUPINGS:
            break
        if (grouping := _grouping(key, (key,), labels, later)) and len(grouping.values) > 1:
            found.append(grouping)
    return found


def _first(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((str(labels[key]) for key in keys if labels.get(key)), "")


def _grouping(
    label: str, keys: Iterable[str], labels: Sequence[Mapping[str, str]], later: Sequence[Relabelled]
) -> Grouping | None:
    first = [_first(own, keys) for own in labels]
    now, shifts = list(first), list[tuple[float, int, str]]()
    for time, node, own in later:
        value = _first(own, keys)
        if value != now[node]:
            now[node] = value
            shifts.append((time, node, value))
    distinct = sorted({*first, *(value for _, _, value in shifts)})
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
