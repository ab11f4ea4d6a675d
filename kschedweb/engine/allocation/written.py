"""A ResourceClaim's ``status.allocation`` as kube-scheduler writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.taking import Chosen
from kschedweb.engine.objects.access import Json, mapping, objects, texts
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import Allocation, ResourceClaim
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Allocated:
    """The devices ``chosen`` for a claim; ``selector`` is the node selector of its ``allocation``."""

    claim: ResourceClaim
    chosen: Sequence[Chosen]
    allocation: Allocation
    selector: Json | None

    @property
    def waits(self) -> bool:
        """Whether devices have to be made ready before the pod can be bound."""
        return any(one.one.device.binding_conditions for one in self.chosen)

    def written(self, raw: Json, classes: Mapping[str, Json], features: Features) -> Json:
        """The allocation as JSON, but for its time; ``raw`` is the claim, ``classes`` are DeviceClasses by name."""
        spec = mapping(mapping(raw, "spec"), "devices", "spec.")
        shares = [one.share for one in self.allocation.devices]
        results = [_result(one, share, spec) for one, share in zip(self.chosen, shares, strict=True)]
        devices: Json = {"results": results}
        if config := [*self._of_classes(classes), *self._of_claim(spec)]:
            devices["config"] = [self._of_all(one) for one in config] if features.revised else config
        return {"devices": devices} | ({} if self.selector is None else {"nodeSelector": self.selector})

    def _of_all(self, config: Json) -> Json:
        """The configuration, without its requests if these are all that the claim has."""
        named = set(texts(config, "requests"))
        of_all = all(name in named or full in named for name, full, _ in self._answers())
        return {key: value for key, value in config.items() if not (of_all and key == "requests")}

    def _answers(self) -> list[tuple[str, str, str]]:
        """(request, full name, class) of the choice that each request of the claim came to."""
        chosen = {one.request for one in self.chosen}
        return [
            (request.name, request.full_name(choice), choice.device_class)
            for request in self.claim.requests
            for choice in request.choices
            if request.full_name(choice) in chosen
        ]

    def _of_classes(self, classes: Mapping[str, Json]) -> list[Json]:
        requests: dict[str, list[str]] = {}
        for _, full, name in self._answers():
            requests.setdefault(name, []).append(full)
        return [
            {"source": "FromClass", "requests": listed, **config}
            for name, listed in requests.items()
            for config in objects(mapping(classes.get(name, {}), "spec"), "config", "spec.")
        ]

    def _of_claim(self, spec: Json) -> list[Json]:
        answers, found = self._answers(), []
        for config in objects(spec, "config", "spec.devices."):
            wanted = texts(config, "requests")
            uses = sum(name in wanted or full in wanted for name, full, _ in answers) if wanted else 1
            found += [{"source": "FromClaim", **config}] * uses
        return found


def _result(one: Chosen, share: str, spec: Json) -> Json:
    driver, pool, device = one.one.id
    result: Json = {"request": one.request, "driver": driver, "pool": pool, "device": device}
    if one.choice.admin:
        result["adminAccess"] = True
    optional: dict[str, Any] = {
        "tolerations": _tolerations(one, spec),
        "bindingConditions": list(one.one.device.binding_conditions or ()),
        "bindingFailureConditions": list(one.one.device.failure_conditions),
        "shareID": share,
        "consumedCapacity": {name: _quantity(amount) for name, amount in one.consumed.items()},
    }
    return result | {key: value for key, value in optional.items() if value}


def _tolerations(one: Chosen, spec: Json) -> list[Json]:
    """The tolerations of the request that the device answers, as they are written there."""
    name, _, alternative = one.request.partition("/")
    for request in objects(spec, "requests", "spec.devices."):
        if request.get("name") == name:
            if not alternative:
                return objects(mapping(request, "exactly"), "tolerations")
            listed = objects(request, "firstAvailable")
            return next((objects(item, "tolerations") for item in listed if item.get("name") == alternative), [])
    return []


def _quantity(nano: int) -> str:
    return f"{nano}n" if nano % NANO else str(nano // NANO)
