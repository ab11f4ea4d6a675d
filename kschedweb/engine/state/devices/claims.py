"""The cluster's ResourceClaims and DeviceClasses, read once, and how claims change as pods are bound."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.resourceclaim import IMPLICIT_PREFIX, DeviceClass, ResourceClaim

Key = tuple[str, str]  # namespace, name


class Devices:
    """Claims by (namespace, name), classes by name."""

    def __init__(self) -> None:
        self.claims: dict[Key, ResourceClaim] = {}
        self.classes: dict[str, DeviceClass] = {}

    def add(self, kind: str, raw: Json) -> None:
        """Add ``raw`` if it is a claim or class of devices; raises ObjectError if it cannot be read."""
        if kind == "ResourceClaim":
            claim = ResourceClaim.read(raw)
            self.claims[claim.namespace, claim.name] = claim
        elif kind == "DeviceClass":
            device_class = DeviceClass.read(raw)
            self.classes[device_class.name] = device_class
            self.__dict__.pop("extended_resources", None)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object if it is a claim or class of devices."""
        if kind == "ResourceClaim":
            self.claims.pop((namespace, name), None)
        elif kind == "DeviceClass":
            self.classes.pop(name, None)
            self.__dict__.pop("extended_resources", None)

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.claims.get((namespace, name))

    @cached_property
    def extended_resources(self) -> dict[str, str]:
        """Resource name -> the DeviceClass that provides it on nodes without a device plugin for it.

        Of classes with the same resource the newest counts, then the first by name. kube-scheduler visits them in the
        order of their names, and drops the implicit resource of a class that comes too late.
        """
        found: dict[str, str] = {}
        for name, one in sorted(self.classes.items()):
            other = self.classes.get(found.get(one.extended_resource, "")) if one.extended_resource else None
            if other is not None and one.created <= other.created:
                continue
            if one.extended_resource:
                found[one.extended_resource] = name
            found[IMPLICIT_PREFIX + name] = name
        return found


class ClaimUse:
    """The current claims: those of ``devices``, with what changed since."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._changed: dict[Key, ResourceClaim | None] = {}

    def copy(self) -> ClaimUse:
        """An independent copy."""
        other = ClaimUse(self._devices)
        other._changed = self._changed.copy()
        return other

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        key = namespace, name
        return self._changed[key] if key in self._changed else self._devices.get(namespace, name)

    def for_extended_resources(self, name: str, uid: str) -> ResourceClaim | None:
        """The claim that an earlier attempt to bind the pod made for its extended resources."""
        for key, claim in self._devices.claims.items():
            if claim.for_extended_resources and (name, uid) in claim.owners and (now := self.get(*key)) is not None:
                return now
        return None

    def release(self, namespace: str, names: Iterable[str], uid: str) -> list[tuple[ResourceClaim, ResourceClaim]]:
        """Release the claims reserved for the pod ``uid``, which is gone; returns (before, after) of each.

        As the claim controller does: a claim without users is deallocated.
        """
        changes = []
        for name in names:
            claim = self.get(namespace, name)
            if claim is not None and uid in claim.reserved_for:
                left = tuple(other for other in claim.reserved_for if other != uid)
                now = claim.reserved(left) if left else claim.deallocated()
                self.change(now)
                changes.append((claim, now))
        return changes

    def change(self, claim: ResourceClaim) -> None:
        """Replace the claim of the same name by ``claim``."""
        self._changed[claim.namespace, claim.name] = claim

    def follow(self, namespace: str, name: str) -> None:
        """Drop local changes of a claim, because it changed in the cluster."""
        self._changed.pop((namespace, name), None)

    def delete(self, claim: ResourceClaim) -> None:
        """Delete ``claim``."""
        self._changed[claim.namespace, claim.name] = None
