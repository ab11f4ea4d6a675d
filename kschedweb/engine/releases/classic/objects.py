"""Pods as kube-scheduler 1.13 read them: later fields are ignored, and amounts are summed as in 1.13."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED, PodAffinity, PodTerm, read_pod_affinity
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_boolean,
    get_mapping,
    get_objects,
    get_objects_and_paths,
)
from kschedweb.engine.objects.labels import NOTHING
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedweb.engine.objects.pod import Pod, Port, host_ports
from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.resources import CPU, DEFAULT_REQUESTS, EPHEMERAL, MEMORY, Amounts, Container, is_scalar
from kschedweb.engine.releases.classic.parsing import find_selector_fault
from kschedweb.engine.state.pod_table import PodTable
from kschedweb.engine.values import dataclass

# Templates that are cached; beyond this the cache is emptied.
MANY = 1 << 16
BASIC = (CPU, MEMORY, EPHEMERAL)
# The field of a volume source that names the attached volume.
ATTACHED = {
    "awsElasticBlockStore": "volumeID",
    "gcePersistentDisk": "pdName",
    "azureDisk": "diskName",
    "cinder": "volumeID",
}
LABELS_OF_THEN = {ZONE: BETA_ZONE, REGION: BETA_REGION}
# A field of ATTACHED and the volume's name, or "claim" and the claim's.
Source = tuple[str, str]


class Faults(NamedTuple):
    """1.13's errors about selectors that it cannot parse, one for each list of a pod's affinity terms; "" without
    error.

    Such a list counts as empty. 1.13 ends a cycle, or rejects nodes, where it would have compared the list with a pod.
    """

    required: str = ""
    anti_required: str = ""
    preferred: str = ""
    anti_preferred: str = ""


NO_FAULTS = Faults()


@dataclass(frozen=True)
class AffinityOfThen(PodAffinity):
    """Pod affinity as 1.13 read it. It has ``faults`` instead of an error."""

    faults: Faults = NO_FAULTS

    @property
    def is_unreadable(self) -> bool:
        return any(self.faults)


@dataclass(frozen=True, slots=True)
class PodRequests:
    """The requests of a pod, in milli-CPU and whole units. Each container's amounts are rounded up, then summed."""

    # With init containers: must be free on a node.
    requests: Amounts
    # Without init containers: taken from the node.
    occupied: Amounts
    # ``occupied`` with defaults: milli-CPU, bytes.
    nonzero: tuple[int, int]
    limits: Amounts
    # No container requests or limits CPU or memory.
    best_effort: bool
    ports: tuple[Port, ...]
    affinity: PodAffinity

    @property
    def is_empty(self) -> bool:
        """True if all requests are 0: then no resource is checked, however full the node is."""
        return not any(amount or name not in BASIC for name, amount in self.requests.items())


_REQUESTS_BY_TEMPLATE: dict[int, PodRequests] = {}


def as_of_then(pod: Pod) -> Pod:
    """Return ``pod`` as kube-scheduler 1.13 read it.

    ``get_requests`` and ``list_sources`` return the parts that have no field of their own.
    """
    if "asked" in pod.__dict__:
        return pod
    requests = _REQUESTS_BY_TEMPLATE.get(pod.template)
    if requests is None:
        if len(_REQUESTS_BY_TEMPLATE) >= MANY:
            _REQUESTS_BY_TEMPLATE.clear()
        requests = _REQUESTS_BY_TEMPLATE[pod.template] = _compute_requests(pod)
    read = tuple(_read_sources(get_mapping(pod.raw, "spec")))
    # The copy skips Pod's constructor, which would read the JSON again.
    then = object.__new__(Pod)
    then.__dict__.update(
        pod.__dict__,
        asked=requests,
        sources=read,
        owner=_controller_uid(pod.raw),
        requests=requests.requests,
        occupied=requests.occupied,
        occupied_nonzero=requests.nonzero,
        limits=requests.limits,
        host_ports=requests.ports,
        pod_affinity=requests.affinity,
        volumes=tuple(volume for volume in pod.volumes if not volume.ephemeral),
    )
    then.__dict__["signature"] = (pod.signature, read, then.__dict__["owner"])
    return then


def get_requests(pod: Pod) -> PodRequests:
    """Return the requests of ``pod``, which comes from ``as_of_then``."""
    requests: PodRequests = pod.__dict__["asked"]
    return requests


def list_sources(pod: Pod) -> tuple[Source, ...]:
    """Return the claims and attached volumes, in order, of ``pod``, which comes from ``as_of_then``."""
    sources: tuple[Source, ...] = pod.__dict__["sources"]
    return sources


def faults_of(affinity: PodAffinity) -> Faults:
    """Return the faults of pod affinity. Its pod comes from ``as_of_then``."""
    assert isinstance(affinity, AffinityOfThen)
    return affinity.faults


def find_placed_fault(pods: PodTable, *lists: str) -> str:
    """Return the first fault in these lists (fields of Faults) of pods on nodes; "" if there is none."""
    for code in pods.unreadable:
        faults = faults_of(pods.term_sets[code].affinity)
        fault = next(filter(None, (getattr(faults, name) for name in lists)), "")
        if fault and np.any(pods.terms == code):
            return fault
    return ""


def owner_uid(pod: Pod) -> str:
    """Return the uid of the controller of ``pod``, which comes from ``as_of_then``; "" if it has none."""
    owner: str = pod.__dict__["owner"]
    return owner


def _compute_requests(pod: Pod) -> PodRequests:
    containers, inits = pod.resources.containers, pod.resources.init_containers
    occupied = _sum_amounts(container.requests for container in containers)
    spec = get_mapping(pod.raw, "spec")
    ports = host_ports(
        get_objects_and_paths(spec, "containers", "spec."), [], get_boolean(spec, "hostNetwork", "spec.")
    )
    return PodRequests(
        requests=_raise_to_parts(occupied, (container.requests for container in inits)),
        occupied=occupied,
        nonzero=_nonzero_requests(containers),
        limits=_raise_to_parts(
            _sum_amounts(container.limits for container in containers), (container.limits for container in inits)
        ),
        best_effort=not any(
            container.requests.get(name) or container.limits.get(name)
            for container in containers
            for name in (CPU, MEMORY)
        ),
        ports=ports,
        affinity=_read_affinity(pod),
    )


def _sum_amounts(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            if name in BASIC or is_scalar(name):
                total[name] = total.get(name, 0) + round_to_unit(name, amount)
    return total


def _raise_to_parts(total: Amounts, parts: Iterable[Amounts]) -> Amounts:
    raised = dict(total)
    for other in parts:
        for name, amount in other.items():
            if (name in BASIC or is_scalar(name)) and round_to_unit(name, amount) > raised.get(name, 0):
                raised[name] = round_to_unit(name, amount)
    return raised


def _nonzero_requests(containers: tuple[Container, ...]) -> tuple[int, int]:
    cpu, memory = (
        sum(round_to_unit(name, container.requests.get(name, DEFAULT_REQUESTS[name])) for container in containers)
        for name in (CPU, MEMORY)
    )
    return cpu, memory


def _read_affinity(pod: Pod) -> AffinityOfThen:
    """Return the pod's pod affinity, with namespaces by name only, because 1.13 had no namespace selector."""
    affinity, faults = pod.pod_affinity, NO_FAULTS
    if affinity.error:
        raw = _without_namespace_selectors(get_mapping(get_mapping(pod.raw, "spec"), "affinity"))
        affinity, faults = read_pod_affinity(raw, pod.namespace), Faults(*map(_list_fault, _term_lists(raw)))

    def set_namespaces(terms: tuple[PodTerm, ...]) -> tuple[PodTerm, ...]:
        return tuple(
            replace(term, namespaces=term.namespaces or frozenset({pod.namespace}), namespace_selector=NOTHING)
            for term in terms
        )

    return AffinityOfThen(
        required=set_namespaces(affinity.required),
        anti_required=set_namespaces(affinity.anti_required),
        preferred=set_namespaces(affinity.preferred),
        anti_preferred=set_namespaces(affinity.anti_preferred),
        present=affinity.present,
        faults=faults,
    )


def _term_lists(affinity: Json) -> Iterator[list[Json]]:
    """Yield the lists of terms in the order of ``Faults``, each term without its weight."""
    for key in (REQUIRED, PREFERRED):
        for kind in ("podAffinity", "podAntiAffinity"):
            terms = get_objects(get_mapping(affinity, kind), key)
            yield [get_mapping(term, "podAffinityTerm") for term in terms] if key == PREFERRED else list(terms)


def _list_fault(terms: Iterable[Json]) -> str:
    selectors = (get_mapping(term, "labelSelector") for term in terms)
    return next(filter(None, map(find_selector_fault, selectors)), "")


def _without_namespace_selectors(affinity: Json) -> Json:
    affinity = deepcopy(affinity)
    for term in (term for terms in _term_lists(affinity) for term in terms):
        term.pop("namespaceSelector", None)
    return affinity


def _read_sources(spec: Json) -> Iterable[Source]:
    for raw in get_objects(spec, "volumes", "spec."):
        direct = next(attached_sources(raw), None)
        if direct is not None:
            yield direct
        elif raw.get("persistentVolumeClaim") is not None:
            yield "claim", _read_text(raw["persistentVolumeClaim"], "claimName")


def attached_sources(raw: Json) -> Iterator[Source]:
    """Yield the volume that a pod's volume or a PersistentVolume's spec attaches by its own fields."""
    for field, name in ATTACHED.items():
        if raw.get(field) is not None:
            yield field, _read_text(raw[field], name)


def _read_text(raw: Any, key: str) -> str:
    """Return the text under ``key``.

    The engine does not read this field otherwise, so its type has not been checked.
    """
    return str(raw.get(key) or "") if isinstance(raw, dict) else ""


def _controller_uid(raw: Json) -> str:
    for owner in get_objects(get_mapping(raw, "metadata"), "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return _read_text(owner, "uid")
    return ""


def in_zones_of_then(raw: Json) -> Json:
    """Return ``raw`` with the zone and region labels of 1.13 added if it has only today's.

    With these the classic scheduler finds zones in a cluster of today.
    """
    try:
        labels = get_mapping(get_mapping(raw, "metadata"), "labels", "metadata.")
    except ObjectError:  # reported where the object is read
        return raw
    aged = {then: labels[now] for now, then in LABELS_OF_THEN.items() if now in labels and then not in labels}
    return {**raw, "metadata": {**raw["metadata"], "labels": {**labels, **aged}}} if aged else raw
