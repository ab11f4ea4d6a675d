"""A node as the scheduler reads it."""

from __future__ import annotations

import marshal

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.content_cache import ContentCache
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import round_to_units
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, Taint, read_taints
from kschedweb.engine.values import dataclass

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
HOSTNAME = "kubernetes.io/hostname"
# Distinct contents of nodes kept in the cache.
MOST_KNOWN = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of the cluster."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    # Milli-CPU and whole units.
    allocatable: dict[str, int]
    # (names, bytes).
    images: tuple[tuple[tuple[str, ...], int], ...]
    declared_features: frozenset[str]
    # True if no pod is evicted from it to make room for the resize of another one.
    refuses_resizes: bool
    raw: Json

    @property
    def zone(self) -> str:
        """The zone by which the scheduler orders nodes; "" if the node has neither zone nor region."""
        # As `GetZoneKey` does: the beta labels win, and the separator is one that no label can contain.
        zone = self.labels.get(BETA_ZONE, self.labels.get(ZONE, ""))
        region = self.labels.get(BETA_REGION, self.labels.get(REGION, ""))
        return f"{region}:\x00:{zone}" if zone or region else ""

    @property
    def is_ready(self) -> bool:
        """True if no condition denies it; a node without conditions (an export, a plan) counts as ready."""
        conditions = get_mapping(self.raw, "status").get("conditions")
        listed = conditions if isinstance(conditions, list) else []
        return all(
            condition.get("status") == "True"
            for condition in listed
            if isinstance(condition, dict) and condition.get("type") == "Ready"
        )

    @property
    def is_tainted(self) -> bool:
        """True if it has a taint that keeps away pods without a toleration."""
        return any(taint.effect in (NO_SCHEDULE, NO_EXECUTE) for taint in self.taints)

    @property
    def is_open(self) -> bool:
        """True if it is ready and takes any pod: neither cordoned nor tainted."""
        return self.is_ready and not self.unschedulable and not self.is_tainted

    @classmethod
    def from_json(cls, raw: Json) -> Node:
        """Read a v1 Node; raise ObjectError."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        name = get_string(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        get_string_map(metadata, "annotations", "metadata.")
        for condition, at in get_objects_and_paths(status, "conditions", "status."):
            get_string(condition, "type", at), get_string(condition, "status", at)
        labels = get_string_map(metadata, "labels", "metadata.")
        taints, unschedulable, allocatable = _cached_shared(spec, status)
        return cls(
            name=name,
            labels=labels,
            taints=taints,
            unschedulable=unschedulable,
            allocatable=allocatable,
            images=_read_images(status),
            declared_features=_keep_ascending(get_strings(status, "declaredFeatures", "status.")),
            refuses_resizes=bool(get_mapping(spec, "podPreemptionPolicy", "spec.").get("disableResizePreemption")),
            raw=raw,
        )


Shared = tuple[tuple[Taint, ...], bool, dict[str, int]]
_SHARED_CACHE: ContentCache[Shared] = ContentCache(MOST_KNOWN)


def _cached_shared(spec: Json, status: Json) -> Shared:
    """Return the fields that nodes of one kind share, read once: taints, unschedulable, allocatable."""
    try:
        content = marshal.dumps((spec.get("taints"), spec.get("unschedulable"), status.get("allocatable")), 2)
    except ValueError:
        # The content is not JSON; the error names the field.
        return _read_shared(spec, status)
    cached = _SHARED_CACHE.get(content)
    return cached if cached is not None else _SHARED_CACHE.store(content, _read_shared(spec, status))


def _read_shared(spec: Json, status: Json) -> Shared:
    taints, unschedulable = read_taints(spec, "taints", "spec."), get_boolean(spec, "unschedulable", "spec.")
    return taints, unschedulable, round_to_units(read_quantities(status, "allocatable", "status."))


def _read_images(status: Json) -> tuple[tuple[tuple[str, ...], int], ...]:
    return tuple(
        [
            (get_strings(image, "names", at), get_integer(image, "sizeBytes", path=at, bits=64))
            for image, at in get_objects_and_paths(status, "images", "status.")
        ]
    )


def _keep_ascending(names: tuple[str, ...]) -> frozenset[str]:
    """Return the names without those that follow a greater one.

    kube-scheduler reads the list as sorted, in one pass.
    """
    ascending: list[str] = []
    for name in names:
        if not ascending or name > ascending[-1]:
            ascending.append(name)
    return frozenset(ascending)
