"""A device as expressions see it."""

from __future__ import annotations

from collections.abc import Mapping as Readable
from typing import Any

from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.cel.values import DeviceMapping
from kschedweb.engine.cel.versions import Version, parse_version
from kschedweb.engine.objects.json_access import Json


class Unreadable:
    """An attribute that kube-scheduler cannot use; ``words`` are what it says of it, to every expression."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words = words


Attribute = bool | int | str | Version | Unreadable
_NOTHING = DeviceMapping({})


def parse_attribute(raw: Json) -> Attribute:
    """An attribute of a ResourceSlice's device: ``{"int": 5}``, ``{"bool": …}``, ``{"string": …}``, ``{"version": …}``.

    Lists are for a feature gate that is off by default: like an attribute without a value, they cannot be used.
    """
    for kind in ("int", "bool", "string"):
        value = raw.get(kind)
        if isinstance(value, bool | int | str):
            return value
    text = raw.get("version")
    if not isinstance(text, str):
        return Unreadable("unsupported attribute value")
    try:
        return parse_version(text)
    except EvaluationError as error:
        return Unreadable(f"parse semantic version: {error}")


class Device:
    """Attributes and capacity by their names in the ResourceSlice: ``domain/name``, or ``name`` in the driver's domain.

    ``fields`` is the device as a value, ``domains`` its two maps, to be read without a detour. ``problem`` is what
    kube-scheduler says of the device, whatever the expression; empty if there is none.
    """

    __slots__ = ("domains", "fields", "problem")

    def __init__(
        self,
        driver: str,
        attributes: Readable[str, Attribute],
        capacity: Readable[str, Quantity],
        allow_multiple: bool,
    ) -> None:
        self.problem = ""
        for name, value in attributes.items():
            if type(value) is Unreadable:
                self.problem = f"attribute {name}: {value.words}"
        self.domains = {"attributes": _by_domain(driver, attributes), "capacity": _by_domain(driver, capacity)}
        self.fields = DeviceMapping(
            {"driver": driver, "allowMultipleAllocations": allow_multiple}
            | {field: DeviceMapping(by_name, _NOTHING) for field, by_name in self.domains.items()}
        )


def _by_domain(driver: str, values: Readable[str, Any]) -> dict[str, DeviceMapping]:
    domains: dict[str, DeviceMapping] = {}
    for name, value in values.items():
        domain, separator, identifier = name.partition("/")
        if not separator:
            domain, identifier = driver, name
        domains.setdefault(domain, DeviceMapping({})).entries[identifier] = value
    return domains
