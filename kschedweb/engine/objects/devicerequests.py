"""Requests of a ResourceClaim for devices, and constraints on the devices of several requests."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_boolean,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.quantity import canonicalize_quantity, read_signed_quantity
from kschedweb.engine.objects.taints import Toleration, read_tolerations
from kschedweb.engine.values import dataclass

EXACT_COUNT, ALL = "ExactCount", "All"


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """An exact request for devices of a class, or one of the alternatives of a request."""

    name: str
    device_class: str
    # CEL expressions; None for a selector of another kind.
    selectors: tuple[str | None, ...] = ()
    mode: str = EXACT_COUNT
    count: int = 1
    admin: bool = False
    # True if `adminAccess` is set, to either value.
    sets_admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    # (name, nano-units) that it takes of a device that can be shared; None if not stated.
    capacity: tuple[tuple[str, int], ...] | None = None
    # (name, text) of the amounts among these that are negative.
    negative: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_json(cls, raw: Json, path: str, name: str) -> DeviceChoice:
        # The API server's defaults: the mode, and the count of the mode ExactCount.
        mode = get_string(raw, "allocationMode", path) or EXACT_COUNT
        count = get_integer(raw, "count", path=path, bits=64)
        return cls(
            name=name,
            device_class=get_string(raw, "deviceClassName", path),
            selectors=read_selectors(raw, path),
            mode=mode,
            count=count or (1 if mode == EXACT_COUNT else 0),
            admin=get_boolean(raw, "adminAccess", path),
            sets_admin_access=raw.get("adminAccess") is not None,
            tolerations=read_tolerations(raw, "tolerations", path),
            capacity=None if raw.get("capacity") is None else _read_capacity(raw, path),
            negative=_negative_texts(raw),
        )


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """An exact request, or alternatives in order of preference."""

    name: str
    choices: tuple[DeviceChoice, ...]
    # True for an exact request, which is its only choice.
    exact: bool

    def full_name(self, choice: DeviceChoice) -> str:
        """Return the name that a result for ``choice`` has."""
        return self.name if self.exact else f"{self.name}/{choice.name}"

    @property
    def device_classes(self) -> Iterator[tuple[str, str]]:
        """(full name, DeviceClass) of each choice."""
        return ((self.full_name(choice), choice.device_class) for choice in self.choices)

    @classmethod
    def from_json(cls, raw: Json, path: str) -> DeviceRequest:
        name = get_string(raw, "name", path)
        if raw.get("exactly") is not None:
            exactly = DeviceChoice.from_json(get_mapping(raw, "exactly", path), f"{path}exactly.", name)
            return cls(name, (exactly,), exact=True)
        alternatives = get_objects_and_paths(raw, "firstAvailable", path)
        return cls(
            name,
            tuple(DeviceChoice.from_json(item, at, get_string(item, "name", at)) for item, at in alternatives),
            exact=False,
        )


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """A constraint on the values of one attribute of several devices."""

    # Names of the requests; empty for all requests.
    requests: frozenset[str]
    # None for a constraint of another kind.
    attribute: str | None
    # True if no two devices may have the same value, False if all must have the same one.
    distinct: bool = False

    def concerns_request(self, request: str, full: str) -> bool:
        """Return True if it applies to a request, or to its alternative ``full``."""
        return not self.requests or request in self.requests or full in self.requests

    @classmethod
    def from_json(cls, raw: Json, path: str) -> DeviceConstraint:
        requests = frozenset(get_strings(raw, "requests", path))
        if raw.get("matchAttribute") is not None:
            return cls(requests, get_string(raw, "matchAttribute", path))
        if raw.get("distinctAttribute") is not None:
            return cls(requests, get_string(raw, "distinctAttribute", path), distinct=True)
        return cls(requests, None)


def read_selectors(raw: Json, path: str) -> tuple[str | None, ...]:
    """Read the CEL expressions of ``raw["selectors"]``."""
    return tuple(
        None if item.get("cel") is None else get_string(get_mapping(item, "cel", at), "expression", f"{at}cel.")
        for item, at in get_objects_and_paths(raw, "selectors", path)
    )


def _negative_texts(raw: Json) -> tuple[tuple[str, str], ...]:
    requests = get_mapping(get_mapping(raw, "capacity"), "requests")
    texts = {name: str(value) for name, value in requests.items()}
    return tuple((name, canonicalize_quantity(text)) for name, text in texts.items() if text.startswith("-"))


def _read_capacity(raw: Json, path: str) -> tuple[tuple[str, int], ...]:
    at = f"{path}capacity."
    requests = get_mapping(get_mapping(raw, "capacity", path), "requests", at)
    return tuple((name, read_signed_quantity(value, f"{at}requests.{name}")) for name, value in requests.items())
