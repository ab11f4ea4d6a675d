"""Topology assignments: how many pods of a pod set go to which domain, and their compressed form in the API."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.values import dataclass

HOSTNAME = "kubernetes.io/hostname"
DomainValues = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DomainAssignment:
    """The pods that go to one domain."""

    values: DomainValues
    count: int


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """Domains for the pods of a pod set."""

    levels: tuple[str, ...]
    domains: tuple[DomainAssignment, ...]

    def to_json(self) -> Json:
        domains = [{"values": list(domain.values), "count": domain.count} for domain in self.domains]
        return {"levels": list(self.levels), "domains": domains}


def domain_id(values: DomainValues) -> str:
    return ",".join(values)


def read_topology_assignment(raw: Json, path: str) -> TopologyAssignment:
    """Read v1beta2's compressed slices, or v1beta1's domains."""
    levels = get_strings(raw, "levels", path)
    domains = [
        DomainAssignment(get_strings(item, "values", at), get_integer(item, "count", path=at))
        for item, at in get_objects_and_paths(raw, "domains", path)
    ]
    for item, at in get_objects_and_paths(raw, "slices", path):
        values_by_level = get_objects(item, "valuesPerLevel", at)
        for position in range(get_integer(item, "domainCount", path=at)):
            values = tuple(_expand_value(values, position, at) for values in values_by_level)
            domains.append(DomainAssignment(values, _expand_count(get_mapping(item, "podCounts", at), position, at)))
    return TopologyAssignment(levels, tuple(domains))


def _expand_value(raw: Json, position: int, path: str) -> str:
    if raw.get("universal") is not None:
        return get_string(raw, "universal", path)
    individual = get_mapping(raw, "individual", path)
    root = get_strings(individual, "roots", path)[position]
    return f"{get_string(individual, 'prefix', path)}{root}{get_string(individual, 'suffix', path)}"


def _expand_count(raw: Json, position: int, path: str) -> int:
    if raw.get("universal") is not None:
        return get_integer(raw, "universal", path=path)
    return int(raw["individual"][position])
