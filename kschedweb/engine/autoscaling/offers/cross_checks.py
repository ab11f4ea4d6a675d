"""Faults between NodePools and instance types that are valid on their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.values import dataclass

TYPES, POOLS = "instanceTypes", "nodePools"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its place in the document."""

    # The list: TYPES or POOLS.
    key: str
    # The index in the list.
    place: int
    object_name: str
    # Within the object, "" for all of it.
    path: str
    text: str

    @property
    def at(self) -> str:
        """The path in the document."""
        return f"{self.key}[{self.place}]" + (f".{self.path}" if self.path else "")

    def __str__(self) -> str:
        return f"{self.key}[{self.place}] ({self.object_name}): " + (f"{self.path}: " if self.path else "") + self.text


def find_faults(types: Sequence[InstanceType], pools: Sequence[NodePool]) -> Iterator[Fault]:
    """Yield duplicate names, instance types of unknown NodePools, and NodePools that are offered no type."""
    yield from _find_duplicates(TYPES, "name", [instance_type.name for instance_type in types])
    yield from _find_duplicates(POOLS, "metadata.name", [pool.name for pool in pools])
    names = {pool.name for pool in pools}
    for place, sold in enumerate(types):
        for unknown in [name for name in sold.pools if name not in names]:
            yield Fault(TYPES, place, sold.name, "nodePools", f"there is no NodePool {unknown!r}")
    for place, pool in enumerate(pools):
        if not any(not sold.pools or pool.name in sold.pools for sold in types):
            yield Fault(POOLS, place, f"NodePool {pool.name}", "", "no instance type is offered to it")


def _find_duplicates(key: str, path: str, names: Sequence[str]) -> Iterator[Fault]:
    seen_names: set[str] = set()
    for place, name in enumerate(names):
        if name in seen_names:
            yield Fault(key, place, name, path, "is there twice")
        seen_names.add(name)
