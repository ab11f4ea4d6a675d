"""The cluster's ResourceClaims, DeviceClasses and ResourceSlices, and how claims change as pods are bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.devices import DeviceTaintRule, ResourceSlice
from kschedweb.engine.objects.resourceclaim import (
    IMPLICIT_PREFIX,
    NO_AMOUNT,
    Allocation,
    DeviceClass,
    DeviceId,
    ResourceClaim,
)
from kschedweb.engine.state.devices.use import DeviceUse

Key = tuple[str, str]  # namespace, name
# kube-scheduler's name for the claim of extended resources before the API server names it.
EXTENDED_NAME = "<extended-resources>"
# Changes kept for readers; a reader that is further behind reads everything anew.
MAX_CHANGES = 4096


class Devices:
    """ResourceClaims by (namespace, name); DeviceClasses, ResourceSlices and DeviceTaintRules by name."""

    def __init__(self) -> None:
        self.claims: dict[Key, ResourceClaim] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.slices: dict[str, ResourceSlice] = {}
        self.taint_rules: dict[str, DeviceTaintRule] = {}
        # Counts changes of all objects but claims.
        self.version = 0
        self.claim_changes = ChangeLog()
        # True if a copy has the same dict of claims: it is copied before the next change.
        self._shared = False

    def copy(self) -> Devices:
        """Return a copy with independent claims; everything else is shared."""
        other = object.__new__(Devices)
        other.__dict__.update(self.__dict__)
        self._shared = other._shared = True
        return other

    def _unshare(self) -> None:
        if self._shared:
            self.claims, self.claim_changes, self._shared = self.claims.copy(), self.claim_changes.copy(), False

    def save_claims(self) -> dict[Key, ResourceClaim]:
        """Return the present claims, for ``restore_claims``."""
        self._shared = True
        return self.claims

    def restore_claims(self, saved: dict[Key, ResourceClaim]) -> None:
        """Undo all changes of claims since they were ``saved``."""
        if self.claims is saved:
            return
        self._unshare()
        for key in self.claims.keys() | saved.keys():
            if self.claims.get(key) is not saved.get(key):
                self.claim_changes.add(key)
        self.claims, self._shared = saved, True

    def put_claim(self, claim: ResourceClaim) -> None:
        """Add the claim, or replace the one with its name."""
        self._unshare()
        self.claims[claim.namespace, claim.name] = claim
        self.claim_changes.add((claim.namespace, claim.name))

    def drop_claim(self, namespace: str, name: str) -> None:
        """Remove a claim, if it is there."""
        self._unshare()
        self.claims.pop((namespace, name), None)
        self.claim_changes.add((namespace, name))

    def add_object(self, kind: str, raw: Json) -> None:
        """Add ``raw`` if it is of one of these kinds; raise ObjectError if it cannot be read."""
        if kind == "ResourceClaim":
            self.put_claim(ResourceClaim.from_json(raw))
        elif kind == "DeviceClass":
            device_class = DeviceClass.from_json(raw)
            self.classes[device_class.name] = device_class
            self.version += 1
            self._forget_resources()
        elif kind == "ResourceSlice":
            listed = ResourceSlice.from_json(raw)
            self.slices[listed.name] = listed
            self.version += 1
        elif kind == "DeviceTaintRule":
            rule = DeviceTaintRule.from_json(raw)
            self.taint_rules[rule.name] = rule
            self.version += 1

    def remove_object(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object if it is of one of these kinds."""
        if kind == "ResourceClaim":
            self.drop_claim(namespace, name)
        elif kind == "DeviceClass":
            self.classes.pop(name, None)
            self.version += 1
            self._forget_resources()
        elif kind == "ResourceSlice":
            self.slices.pop(name, None)
            self.version += 1
        elif kind == "DeviceTaintRule":
            self.taint_rules.pop(name, None)
            self.version += 1

    def _forget_resources(self) -> None:
        for name in ("extended_resources", "all_extended_resources"):
            self.__dict__.pop(name, None)

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.claims.get((namespace, name))

    def list_resource_classes(self, keeps_implicit: bool) -> dict[str, str]:
        """Return, by extended resource, the DeviceClass that provides it on nodes without a device plugin for it.

        Of several classes with one resource the newest counts, then the first by name. ``keeps_implicit``: a class that
        loses provides its implicit resource still, as since 1.38.
        """
        return self.all_extended_resources if keeps_implicit else self.extended_resources

    @cached_property
    def all_extended_resources(self) -> dict[str, str]:
        """The same as ``extended_resources`` with the implicit resources of all classes."""
        return self.extended_resources | {IMPLICIT_PREFIX + name: name for name in self.classes}

    @cached_property
    def extended_resources(self) -> dict[str, str]:
        """Resource name -> DeviceClass. kube-scheduler visits classes by name, and drops the implicit resource of one
        that loses."""
        class_by_resource: dict[str, str] = {}
        for name, device_class in sorted(self.classes.items()):
            other = (
                self.classes.get(class_by_resource.get(device_class.extended_resource, ""))
                if device_class.extended_resource
                else None
            )
            if other is not None and device_class.created <= other.created:
                continue
            if device_class.extended_resource:
                class_by_resource[device_class.extended_resource] = name
            class_by_resource[IMPLICIT_PREFIX + name] = name
        return class_by_resource


def extended_key(namespace: str, uid: str) -> Key:
    """Return the key of devices in flight for the extended resources of the pod ``uid``, which have no claim yet."""
    return namespace, f"{EXTENDED_NAME} {uid}"


class ChangeLog:
    """Keys that changed, for readers that each remember how far they have read."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        # Keys that were recorded before the ones that are kept.
        self._forgotten = 0

    def add(self, key: Key) -> None:
        if len(self._keys) >= MAX_CHANGES:
            self._forgotten += len(self._keys)
            self._keys.clear()
        self._keys.append(key)

    def copy(self) -> ChangeLog:
        """Return an independent copy; readers go on from where they are."""
        other = ChangeLog()
        other._keys, other._forgotten = self._keys.copy(), self._forgotten
        return other

    @property
    def end(self) -> int:
        """The place of a reader that has read everything."""
        return self._forgotten + len(self._keys)

    def changes_since(self, place: int) -> list[Key] | None:
        """Return the keys recorded after ``place``; ``None`` if they are no longer kept."""
        return None if place < self._forgotten else self._keys[place - self._forgotten :]


class InFlight(NamedTuple):
    """Devices chosen for a claim that are not written into it yet."""

    allocation: Allocation
    # Uids of the pods for which they were chosen.
    uids: tuple[str, ...]


class SavedClaims(NamedTuple):
    """The claims and devices in flight at one time."""

    # The cluster's claims.
    claims: dict[Key, ResourceClaim]
    # Claims that differ from the cluster's; None for a deleted one.
    changed: dict[Key, ResourceClaim | None]
    in_flight: dict[Key, InFlight]


class ClaimUse:
    """The current claims: those of the cluster with local changes, and the devices in flight.

    A claim is in flight when its devices are chosen and not written into it yet, as in kube-scheduler's
    `inFlightAllocations`.
    """

    def __init__(self, devices: Devices) -> None:
        # The allocator's own cache of the devices in use here; a copy begins without it.
        self.allocator_cache: object = None
        # Uids of pods that are being placed together as a group, or were last: they share devices in flight.
        self.sharing: frozenset[str] = frozenset()
        self._devices = devices
        # Local changes; None for a deleted claim.
        self._changed: dict[Key, ResourceClaim | None] = {}
        self._in_flight: dict[Key, InFlight] = {}
        self._use: DeviceUse | None = None
        # The allocations of each claim that `_use` counts.
        self._counted: dict[Key, tuple[Allocation, ...]] = {}
        # Claims that changed since `_use` was updated.
        self._stale: set[Key] = set()
        # The place in `Devices.claim_changes` up to which `_use` is updated.
        self._read = 0

    def copy(self, devices: Devices | None = None) -> ClaimUse:
        """Return an independent copy, over ``devices`` if given, which are a copy of the ones before."""
        other = ClaimUse(devices or self._devices)
        other.sharing = self.sharing
        other._changed, other._in_flight = self._changed.copy(), self._in_flight.copy()
        other._use = None if self._use is None else self._use.copy()
        other._counted, other._stale, other._read = self._counted.copy(), self._stale.copy(), self._read
        return other

    def save_claims(self) -> SavedClaims:
        """Return the present claims, for ``restore_claims``."""
        return SavedClaims(self._devices.save_claims(), self._changed.copy(), self._in_flight.copy())

    def restore_claims(self, saved: SavedClaims) -> None:
        """Undo all changes of claims since they were ``saved``."""
        self._devices.restore_claims(saved.claims)
        for now, before in ((self._changed, saved.changed), (self._in_flight, saved.in_flight)):
            self._stale.update(key for key in now.keys() ^ before.keys())
            self._stale.update(key for key in now.keys() & before.keys() if now[key] is not before[key])
        self._changed, self._in_flight = saved.changed.copy(), saved.in_flight.copy()

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        key = namespace, name
        return self._changed[key] if key in self._changed else self._devices.get(namespace, name)

    def __iter__(self) -> Iterator[ResourceClaim]:
        """Iterate over all current claims."""
        for key, claim in self._devices.claims.items():
            if key not in self._changed:
                yield claim
        for changed in self._changed.values():
            if changed is not None:
                yield changed

    @property
    def device_use(self) -> DeviceUse:
        """The devices in use now, written or in flight."""
        noted = None if self._use is None else self._devices.claim_changes.changes_since(self._read)
        if self._use is None or noted is None:
            changed_keys = {*self._devices.claims, *self._changed, *self._in_flight, *self._counted}
        else:
            changed_keys = self._stale.union(noted)
        use = self._use = DeviceUse() if self._use is None else self._use
        for key in changed_keys:
            self._recount_claim(use, key)
        self._stale, self._read = set(), self._devices.claim_changes.end
        return use

    def describe_negative_amounts(self) -> str:
        """Return kube-scheduler's error if allocated claims state that they take negative amounts; "" if none does."""
        if not self.device_use.negative:
            return ""
        problems = sorted(
            f"claim {claim.key}, device {'/'.join(taken.device)}: "
            f'consumed capacity "{taken.negative[0]}" must not be negative, got {taken.negative[1]}'
            for claim in self
            if claim.allocation is not None
            for taken in [next((one for one in claim.allocation.devices if one.negative != NO_AMOUNT), None)]
            if taken is not None
        )
        more = f" (and {len(problems) - 1} more claims with invalid consumed capacity)" if len(problems) > 1 else ""
        return f"{problems[0]}{more}" if problems else ""

    def claims_by_device(self) -> dict[DeviceId, list[str]]:
        """Return the claims (namespace/name) that have each device in use, or a share of it."""
        holders: dict[DeviceId, list[str]] = {}
        for (namespace, name), allocations in sorted(self._counted.items()) if self.device_use else ():
            for allocated_device in (device for allocation in allocations for device in allocation.devices):
                if not allocated_device.admin:
                    holders.setdefault(allocated_device.device, []).append(f"{namespace}/{name}")
        return holders

    def _recount_claim(self, use: DeviceUse, key: Key) -> None:
        """Replace the allocations that ``use`` counts for a claim by its present ones."""
        claim = self.get(*key)
        stored_allocation = None if claim is None else claim.allocation
        chosen = self._in_flight.get(key)
        now = tuple(
            allocation
            for allocation in (stored_allocation, None if chosen is None else chosen.allocation)
            if allocation is not None and allocation.devices
        )
        before = self._counted.pop(key, ())
        if now:
            self._counted[key] = now
        if now != before:
            for allocation in before:
                use.remove_allocation(allocation)
            for allocation in now:
                use.add_allocation(allocation)

    def in_flight(self, namespace: str, name: str) -> InFlight | None:
        """Return the devices chosen for a claim and not written into it yet."""
        return self._in_flight.get((namespace, name))

    def may_use(self, chosen: InFlight, uid: str) -> bool:
        """Return True if the pod ``uid`` may use these devices in flight, too."""
        return uid in chosen.uids or (uid in self.sharing and self.sharing.issuperset(chosen.uids))

    def add_in_flight(self, namespace: str, name: str, allocation: Allocation, uid: str) -> None:
        """Record devices chosen for a claim and the pod ``uid``; those in flight for other pods stay."""
        in_flight = self._in_flight.get((namespace, name))
        chosen = InFlight(allocation, (uid,)) if in_flight is None else in_flight._replace(uids=(*in_flight.uids, uid))
        self._in_flight[namespace, name] = chosen
        self._stale.add((namespace, name))

    def pop_in_flight(self, namespace: str, name: str, uid: str) -> Allocation | None:
        """Remove and return a claim's devices in flight, as they are being written for the pod ``uid``."""
        in_flight = self._in_flight.get((namespace, name))
        if in_flight is None or uid not in in_flight.uids:
            return None
        self._stale.add((namespace, name))
        return self._in_flight.pop((namespace, name)).allocation

    def release_in_flight(self, namespace: str, name: str, uid: str) -> None:
        """Release a claim's devices in flight for the pod ``uid``; they stay while other pods need them."""
        in_flight = self._in_flight.get((namespace, name))
        if in_flight is not None and (remaining_uids := tuple(other for other in in_flight.uids if other != uid)):
            self._in_flight[namespace, name] = in_flight._replace(uids=remaining_uids)
        else:
            self.pop_in_flight(namespace, name, uid)

    def for_extended_resources(self, name: str, uid: str) -> ResourceClaim | None:
        """Return the claim that an earlier attempt made for the pod's extended resources, if any."""
        return next((claim for claim in self if claim.for_extended_resources and (name, uid) in claim.owners), None)

    def release_claims(
        self, namespace: str, names: Iterable[str], uid: str
    ) -> list[tuple[ResourceClaim, ResourceClaim]]:
        """Release the claims reserved for the pod ``uid``, which is gone; return (before, after) of each.

        As the ResourceClaim controller does: a claim without users is deallocated.
        """
        changes = []
        for name in names:
            claim = self.get(namespace, name)
            if claim is not None and uid in claim.reserved_for:
                remaining_uids = tuple(other for other in claim.reserved_for if other != uid)
                now = claim.with_reservations(remaining_uids) if remaining_uids else claim.without_allocation()
                self.update_claim(now)
                changes.append((claim, now))
        return changes

    def update_claim(self, claim: ResourceClaim) -> None:
        """Replace the claim of the same name by ``claim``."""
        self._changed[claim.namespace, claim.name] = claim
        self._stale.add((claim.namespace, claim.name))

    def drop_local_changes(self, namespace: str, name: str) -> None:
        """Drop local changes of a claim, because it changed in the cluster."""
        self._changed.pop((namespace, name), None)
        self._stale.add((namespace, name))
        claim = self._devices.get(namespace, name)
        if claim is None or claim.allocation is not None:
            self._in_flight.pop((namespace, name), None)
        if claim is not None and claim.allocation is not None and claim.for_extended_resources:
            for _, uid in claim.owners:
                self.pop_in_flight(*extended_key(namespace, uid), uid)

    def free_devices(self, namespace: str, name: str, *, generated: bool) -> None:
        """Release the claim's devices; delete a claim that was ``generated`` for extended resources."""
        claim = self.get(namespace, name)
        if claim is not None and generated:
            self.delete_claim(claim)
        elif claim is not None and claim.allocation is not None:
            self.update_claim(claim.without_allocation())

    def delete_claim(self, claim: ResourceClaim) -> None:
        """Delete ``claim``."""
        self._changed[claim.namespace, claim.name] = None
        self._stale.add((claim.namespace, claim.name))
