"""The cluster's ResourceClaims, DeviceClasses and ResourceSlices, read once; how claims change as pods are bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.devices import DeviceTaintRule, ResourceSlice
from kschedweb.engine.objects.resourceclaim import IMPLICIT_PREFIX, Allocation, DeviceClass, DeviceId, ResourceClaim
from kschedweb.engine.state.devices.use import DeviceUse

Key = tuple[str, str]  # namespace, name
EXTENDED_NAME = "<extended-resources>"
MAX_NOTED = 4096


class Devices:
    """Claims by (namespace, name), classes, slices and rules that taint devices by name.

    ``version`` counts changes of all but claims.
    """

    def __init__(self) -> None:
        self.claims: dict[Key, ResourceClaim] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.slices: dict[str, ResourceSlice] = {}
        self.taint_rules: dict[str, DeviceTaintRule] = {}
        self.version = 0
        self.noted = Notes()
        self._shared = False  # whether a copy has the same claims

    def copy(self) -> Devices:
        """A copy with independent claims; everything else is shared."""
        other = object.__new__(Devices)
        other.__dict__.update(self.__dict__)
        self._shared = other._shared = True
        return other

    def _own(self) -> None:
        if self._shared:
            self.claims, self.noted, self._shared = self.claims.copy(), self.noted.copy(), False

    def save(self) -> dict[Key, ResourceClaim]:
        """The claims as they are now, for ``restore``."""
        self._shared = True
        return self.claims

    def restore(self, saved: dict[Key, ResourceClaim]) -> None:
        """Take back all changes of claims since they were ``saved``."""
        if self.claims is saved:
            return
        self._own()
        for key in self.claims.keys() | saved.keys():
            if self.claims.get(key) is not saved.get(key):
                self.noted.add(key)
        self.claims, self._shared = saved, True

    def put(self, claim: ResourceClaim) -> None:
        """Add the claim, or replace the one of its name."""
        self._own()
        self.claims[claim.namespace, claim.name] = claim
        self.noted.add((claim.namespace, claim.name))

    def drop(self, namespace: str, name: str) -> None:
        """Remove a claim if it is there."""
        self._own()
        self.claims.pop((namespace, name), None)
        self.noted.add((namespace, name))

    def add(self, kind: str, raw: Json) -> None:
        """Add ``raw`` if it is one of these objects; raises ObjectError if it cannot be read."""
        if kind == "ResourceClaim":
            self.put(ResourceClaim.read(raw))
        elif kind == "DeviceClass":
            device_class = DeviceClass.read(raw)
            self.classes[device_class.name] = device_class
            self.version += 1
            self.__dict__.pop("extended_resources", None)
        elif kind == "ResourceSlice":
            listed = ResourceSlice.read(raw)
            self.slices[listed.name] = listed
            self.version += 1
        elif kind == "DeviceTaintRule":
            rule = DeviceTaintRule.read(raw)
            self.taint_rules[rule.name] = rule
            self.version += 1

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object if it is one of these."""
        if kind == "ResourceClaim":
            self.drop(namespace, name)
        elif kind == "DeviceClass":
            self.classes.pop(name, None)
            self.version += 1
            self.__dict__.pop("extended_resources", None)
        elif kind == "ResourceSlice":
            self.slices.pop(name, None)
            self.version += 1
        elif kind == "DeviceTaintRule":
            self.taint_rules.pop(name, None)
            self.version += 1

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


def extended_key(namespace: str, uid: str) -> Key:
    """Under which devices for the extended resources of the pod ``uid`` are in flight, while no claim is for them."""
    return namespace, f"{EXTENDED_NAME} {uid}"


class Notes:
    """Keys that changed, for readers that each remember how far they have read."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._forgotten = 0  # how many keys were noted before those that are kept

    def add(self, key: Key) -> None:
        if len(self._keys) >= MAX_NOTED:
            self._forgotten += len(self._keys)
            self._keys.clear()
        self._keys.append(key)

    def copy(self) -> Notes:
        """An independent copy, in which readers go on where they are."""
        other = Notes()
        other._keys, other._forgotten = self._keys.copy(), self._forgotten
        return other

    @property
    def end(self) -> int:
        """Where a reader is that has read everything."""
        return self._forgotten + len(self._keys)

    def since(self, place: int) -> list[Key] | None:
        """What was noted since a reader was at ``place``; ``None`` where that is no longer known."""
        return None if place < self._forgotten else self._keys[place - self._forgotten :]


class InFlight(NamedTuple):
    """The devices that are chosen for a claim, and the uids of the pods for which they are."""

    allocation: Allocation
    uids: tuple[str, ...]


class SavedClaims(NamedTuple):
    """The claims of a cluster, those that differ from them, and the devices in flight, at one time."""

    claims: dict[Key, ResourceClaim]
    changed: dict[Key, ResourceClaim | None]
    in_flight: dict[Key, InFlight]


class ClaimUse:
    """The current claims: those of ``devices``, with what changed since.

    A claim whose devices are chosen, and not written into it yet, is in flight. ``kept`` is what the choice of devices
    remembers about their use here; a copy begins without it. ``sharing`` are the uids of the pods that are, or were
    last, placed together as a group: these share what is in flight for one of them.
    """

    def __init__(self, devices: Devices) -> None:
        self.kept: object = None
        self.sharing: frozenset[str] = frozenset()
        self._devices = devices
        self._changed: dict[Key, ResourceClaim | None] = {}
        self._in_flight: dict[Key, InFlight] = {}
        self._use: DeviceUse | None = None
        self._counted: dict[Key, tuple[Allocation, ...]] = {}  # what of each claim is in ``_use``
        self._stale: set[Key] = set()  # claims that have changed since
        self._read = 0  # how much of what the devices noted is in ``_use``

    def copy(self, devices: Devices | None = None) -> ClaimUse:
        """An independent copy, over ``devices`` if these are a copy of the ones before."""
        other = ClaimUse(devices or self._devices)
        other.sharing = self.sharing
        other._changed, other._in_flight = self._changed.copy(), self._in_flight.copy()
        other._use = None if self._use is None else self._use.copy()
        other._counted, other._stale, other._read = self._counted.copy(), self._stale.copy(), self._read
        return other

    def save(self) -> SavedClaims:
        """What the claims are now, for ``restore``."""
        return SavedClaims(self._devices.save(), self._changed.copy(), self._in_flight.copy())

    def restore(self, saved: SavedClaims) -> None:
        """Take back all changes of claims since they were ``saved``."""
        self._devices.restore(saved.claims)
        for now, before in ((self._changed, saved.changed), (self._in_flight, saved.in_flight)):
            self._stale.update(key for key in now.keys() ^ before.keys())
            self._stale.update(key for key in now.keys() & before.keys() if now[key] is not before[key])
        self._changed, self._in_flight = saved.changed.copy(), saved.in_flight.copy()

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        key = namespace, name
        return self._changed[key] if key in self._changed else self._devices.get(namespace, name)

    def __iter__(self) -> Iterator[ResourceClaim]:
        """All of them."""
        for key, claim in self._devices.claims.items():
            if key not in self._changed:
                yield claim
        for changed in self._changed.values():
            if changed is not None:
                yield changed

    @property
    def use(self) -> DeviceUse:
        """The devices in use now, in flight or written."""
        noted = None if self._use is None else self._devices.noted.since(self._read)
        if self._use is None or noted is None:
            known = {*self._devices.claims, *self._changed, *self._in_flight, *self._counted}
        else:
            known = self._stale.union(noted)
        use = self._use = DeviceUse() if self._use is None else self._use
        for key in known:
            self._recount(use, key)
        self._stale, self._read = set(), self._devices.noted.end
        return use

    def holders(self) -> dict[DeviceId, list[str]]:
        """The claims (namespace/name) that have each device that is in use, or a share of it."""
        found: dict[DeviceId, list[str]] = {}
        for (namespace, name), allocations in sorted(self._counted.items()) if self.use else ():
            for one in (device for allocation in allocations for device in allocation.devices):
                if not one.admin:
                    found.setdefault(one.device, []).append(f"{namespace}/{name}")
        return found

    def _recount(self, use: DeviceUse, key: Key) -> None:
        claim = self.get(*key)
        written = None if claim is None else claim.allocation
        chosen = self._in_flight.get(key)
        now = tuple(
            one for one in (written, None if chosen is None else chosen.allocation) if one is not None and one.devices
        )
        before = self._counted.pop(key, ())
        if now:
            self._counted[key] = now
        if now != before:
            for allocation in before:
                use.remove(allocation)
            for allocation in now:
                use.add(allocation)

    def in_flight(self, namespace: str, name: str) -> InFlight | None:
        """The devices that are chosen for a claim and not written into it yet."""
        return self._in_flight.get((namespace, name))

    def may_use(self, chosen: InFlight, uid: str) -> bool:
        """Whether devices in flight are there for the pod ``uid``, too."""
        return uid in chosen.uids or (uid in self.sharing and self.sharing.issuperset(chosen.uids))

    def take_off(self, namespace: str, name: str, allocation: Allocation, uid: str) -> None:
        """Devices are chosen for a claim, for the pod ``uid``; those that are in flight for others stay so."""
        found = self._in_flight.get((namespace, name))
        chosen = InFlight(allocation, (uid,)) if found is None else found._replace(uids=(*found.uids, uid))
        self._in_flight[namespace, name] = chosen
        self._stale.add((namespace, name))

    def land(self, namespace: str, name: str, uid: str) -> Allocation | None:
        """The devices chosen for a claim, for the pod ``uid`` and others, are written into it; returns them."""
        found = self._in_flight.get((namespace, name))
        if found is None or uid not in found.uids:
            return None
        self._stale.add((namespace, name))
        return self._in_flight.pop((namespace, name)).allocation

    def give_back(self, namespace: str, name: str, uid: str) -> None:
        """The pod ``uid`` gives the devices chosen for a claim back; they are in flight while others want them."""
        found = self._in_flight.get((namespace, name))
        if found is not None and (left := tuple(other for other in found.uids if other != uid)):
            self._in_flight[namespace, name] = found._replace(uids=left)
        else:
            self.land(namespace, name, uid)

    def for_extended_resources(self, name: str, uid: str) -> ResourceClaim | None:
        """The claim that an earlier attempt to bind the pod made for its extended resources."""
        return next((claim for claim in self if claim.for_extended_resources and (name, uid) in claim.owners), None)

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
        self._stale.add((claim.namespace, claim.name))

    def follow(self, namespace: str, name: str) -> None:
        """Drop local changes of a claim, because it changed in the cluster."""
        self._changed.pop((namespace, name), None)
        self._stale.add((namespace, name))
        claim = self._devices.get(namespace, name)
        if claim is None or claim.allocation is not None:
            self._in_flight.pop((namespace, name), None)
        if claim is not None and claim.allocation is not None and claim.for_extended_resources:
            for _, uid in claim.owners:
                self.land(*extended_key(namespace, uid), uid)

    def free(self, namespace: str, name: str, *, made: bool) -> None:
        """Give the claim's devices back; one that was ``made`` for extended resources goes."""
        claim = self.get(namespace, name)
        if claim is not None and made:
            self.delete(claim)
        elif claim is not None and claim.allocation is not None:
            self.change(claim.deallocated())

    def delete(self, claim: ResourceClaim) -> None:
        """Delete ``claim``."""
        self._changed[claim.namespace, claim.name] = None
        self._stale.add((claim.namespace, claim.name))
