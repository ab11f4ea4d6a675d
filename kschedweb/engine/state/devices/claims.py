"""The cluster's ResourceClaims and DeviceClasses, read once, and what becomes of claims as pods are bound."""

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
        """Keep ``raw`` if it is about devices; raises ObjectError where it cannot be understood."""
        if kind == "ResourceClaim":
            claim = ResourceClaim.read(raw)
            self.claims[claim.namespace, claim.name] = claim
        elif kind == "DeviceClass":
            device_class = DeviceClass.read(raw)
            self.classes[device_class.name] = device_class
            self.__dict__.pop("extended_resources", None)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """The object is gone, if it was about devices."""
        if kind == "ResourceClaim":
            self.claims.pop((namespace, name), None)
        elif kind == "DeviceClass":
            self.classes.pop(name, None)
            self.__dict__.pop("extended_resources", None)

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.claims.get((namespace, name))

    @cached_property
    def extended_resources(self) -> dict[str, str]:
        """Resource name -> the DeviceClass that provides it where no device plugin does.

        Of classes with the same resource the newest counts, then the first by name. kube-scheduler looks at them in
        the order of their names, and forgets the implicit resource of one that comes too late.
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
    """The claims as they are now: those of ``devices``, but for the ones that changed since."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._changed: dict[Key, ResourceClaim | None] = {}

    def copy(self) -> ClaimUse:
        """One that can change without this one changing."""
        other = ClaimUse(self._devices)
        other._changed = self._changed.copy()
        return other

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        key = namespace, name
        return self._changed[key] if key in self._changed else self._devices.get(namespace, name)

    def for_extended_resources(self, name: str, uid: str) -> ResourceClaim | None:
        """The claim that stands for the extended resources of a pod since an earlier attempt to bind it."""
        for key, claim in self._devices.claims.items():
            if claim.for_extended_resources and (name, uid) in claim.owners and (now := self.get(*key)) is not None:
                return now
        return None

    def release(self, namespace: str, names: Iterable[str], uid: str) -> list[tuple[ResourceClaim, ResourceClaim]]:
        """The pod ``uid`` is gone: (before, after) of those of its claims that were reserved for it.

        As the controller of claims does: one that nobody is left to use gives its devices back.
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
        """``claim`` takes the place of the one of its name."""
        self._changed[claim.namespace, claim.name] = claim

    def follow(self, namespace: str, name: str) -> None:
        """The claim of that name changed in the cluster: what was made of it here since is void."""
        self._changed.pop((namespace, name), None)

    def delete(self, claim: ResourceClaim) -> None:
        """``claim`` is gone."""
        self._changed[claim.namespace, claim.name] = None
