"""The variable ``device`` of CEL expressions."""

from __future__ import annotations

from collections.abc import Mapping as Readable
from typing import Any

from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.cel.values import DeviceMapping
from kschedweb.engine.cel.versions import Version, parse_version
from kschedweb.engine.json_types import Json


class Unreadable:
    """An attribute that kube-scheduler cannot use: every expression on its device fails with ``words``."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words = words


Attribute = bool | int | str | Version | Unreadable
_NOTHING = DeviceMapping({})


def parse_attribute(raw: Json) -> Attribute:
    """Return the value of one attribute of a device in a ResourceSlice, such as ``{"int": 5}``.

    The forms are ``int``, ``bool``, ``string`` and ``version``. Lists need a feature gate that is off by default, so
    they are unusable here, like an attribute without a value.
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
    """A device with its attributes and capacity.

    The arguments name them as the ResourceSlice does: ``domain/name``, or ``name`` in the driver's domain.
    """

    __slots__ = ("domains", "fields", "problem")

    def __init__(
        self,
        driver: str,
        attributes: Readable[str, Attribute],
        capacity: Readable[str, Quantity],
        allow_multiple: bool,
    ) -> None:
        # The error that every expression gets on this device, in kube-scheduler's words; empty if there is none.
        self.problem = ""
        for name, value in attributes.items():
            if type(value) is Unreadable:
                self.problem = f"attribute {name}: {value.words}"
        # The two maps of `fields`, for the fast reader in `paths`.
        self.domains = {"attributes": _by_domain(driver, attributes), "capacity": _by_domain(driver, capacity)}
        # The variable `device` as a CEL value. An unknown domain gives an empty map, as in kube-scheduler's `mapper`.
        self.fields = DeviceMapping(
            {"driver": driver, "allowMultipleAllocations": allow_multiple}
            | {field: DeviceMapping(by_name, _NOTHING) for field, by_name in self.domains.items()}
        )


def _by_domain(driver: str, values: Readable[str, Any]) -> dict[str, DeviceMapping]:
    """Return the values grouped by domain, then keyed by name."""
    domains: dict[str, DeviceMapping] = {}
    for name, value in values.items():
        domain, separator, identifier = name.partition("/")
        if not separator:
            domain, identifier = driver, name
        domains.setdefault(domain, DeviceMapping({})).entries[identifier] = value
    return domains
