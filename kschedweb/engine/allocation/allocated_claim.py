"""A ResourceClaim's ``status.allocation`` in the form that kube-scheduler writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.taken_devices import ChosenDevice
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects, get_strings
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import Allocation, ResourceClaim
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """The devices chosen for a claim."""

    claim: ResourceClaim
    # In the order of the allocation's results.
    chosen: Sequence[ChosenDevice]
    allocation: Allocation
    # The node selector of the allocation, None if any node will do.
    selector: Json | None

    @property
    def waits(self) -> bool:
        """True if devices have to be prepared before the pod can be bound."""
        return any(chosen_device.candidate.device.binding_conditions for chosen_device in self.chosen)

    def to_json(self, raw: Json, classes: Mapping[str, Json], features: Features) -> Json:
        """Return the allocation as JSON, without its time; ``raw`` is the claim, ``classes`` are DeviceClasses by
        name."""
        spec = get_mapping(get_mapping(raw, "spec"), "devices", "spec.")
        shares = [device.share for device in self.allocation.devices]
        results = [
            _to_result(chosen_device, share, spec) for chosen_device, share in zip(self.chosen, shares, strict=True)
        ]
        devices: Json = {"results": results}
        if config := [*self._list_class_configs(classes), *self._list_claim_configs(spec)]:
            devices["config"] = (
                [self._without_requests(entry) for entry in config] if features.revised_allocator else config
            )
        return {"devices": devices} | ({} if self.selector is None else {"nodeSelector": self.selector})

    def _without_requests(self, config: Json) -> Json:
        """Return the configuration without its requests, if these are all requests of the claim."""
        request_names = set(get_strings(config, "requests"))
        of_all = all(name in request_names or full in request_names for name, full, _ in self._list_choices())
        return {key: value for key, value in config.items() if not (of_all and key == "requests")}

    def _list_choices(self) -> list[tuple[str, str, str]]:
        """Return (request, full name, class) of the choice that was made for each request of the claim."""
        chosen = {chosen_device.request for chosen_device in self.chosen}
        return [
            (request.name, request.full_name(choice), choice.device_class)
            for request in self.claim.requests
            for choice in request.choices
            if request.full_name(choice) in chosen
        ]

    def _list_class_configs(self, classes: Mapping[str, Json]) -> list[Json]:
        requests: dict[str, list[str]] = {}
        for _, full, name in self._list_choices():
            requests.setdefault(name, []).append(full)
        return [
            {"source": "FromClass", "requests": listed, **config}
            for name, listed in requests.items()
            for config in get_objects(get_mapping(classes.get(name, {}), "spec"), "config", "spec.")
        ]

    def _list_claim_configs(self, spec: Json) -> list[Json]:
        answers, configs = self._list_choices(), []
        for config in get_objects(spec, "config", "spec.devices."):
            request_names = get_strings(config, "requests")
            uses = (
                sum(name in request_names or full in request_names for name, full, _ in answers) if request_names else 1
            )
            configs += [{"source": "FromClaim", **config}] * uses
        return configs


def _to_result(chosen_device: ChosenDevice, share: str, spec: Json) -> Json:
    driver, pool, device = chosen_device.candidate.id
    result: Json = {"request": chosen_device.request, "driver": driver, "pool": pool, "device": device}
    if chosen_device.choice.admin:
        result["adminAccess"] = True
    optional: Json = {
        "tolerations": _find_tolerations(chosen_device, spec),
        "bindingConditions": list(chosen_device.candidate.device.binding_conditions or ()),
        "bindingFailureConditions": list(chosen_device.candidate.device.failure_conditions),
        "shareID": share,
        "consumedCapacity": {name: _format_quantity(amount) for name, amount in chosen_device.consumed.items()},
    }
    return result | {key: value for key, value in optional.items() if value}


def _find_tolerations(chosen_device: ChosenDevice, spec: Json) -> list[Json]:
    """Return the tolerations of the device's request, as written in the claim."""
    name, _, alternative = chosen_device.request.partition("/")
    for request in get_objects(spec, "requests", "spec.devices."):
        if request.get("name") == name:
            if not alternative:
                return get_objects(get_mapping(request, "exactly"), "tolerations")
            listed = get_objects(request, "firstAvailable")
            return next((get_objects(item, "tolerations") for item in listed if item.get("name") == alternative), [])
    return []


def _format_quantity(nano: int) -> str:
    return f"{nano}n" if nano % NANO else str(nano // NANO)
