"""The API server's refusals of amounts: quantities, names of resources, requests above limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.quantities import Quantity, to_quantity
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.quantity import parse_quantity
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import key_problems
from kschedweb.engine.validation.fields import Problem, forbidden, invalid, required
from kschedweb.engine.validation.labels import is_extended_resource

# The exponent of milli-units.
MILLI = -3
HUGE = "hugepages-"
OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
NEGATIVE, NO_INTEGER = "must be greater than or equal to 0", "must be an integer"
# Names without a prefix that have a meaning for quotas or nodes. Those that count objects take whole numbers.
COUNTS = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
STANDARD = frozenset(
    {
        *OF_CONTAINERS,
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in OF_CONTAINERS),
        *COUNTS,
        *("storage", "requests.storage"),
    }
)
Amounts = Mapping[str, Quantity]
Names = Callable[[str, str], Iterator[Problem]]


def parse_amount(value: Any) -> Quantity | None:
    """Return a quantity in a list of resources, which is stored in milli-units; ``None`` if it cannot be read."""
    try:
        read = to_quantity(_to_text(value))
    except (EvaluationError, ExpressionError):
        return None
    if read.exponent >= MILLI:
        return read
    step = 10 ** (MILLI - read.exponent)
    # Rounded away from zero, as Go's Quantity does.
    rounded = -(-abs(read.unscaled) // step)
    return Quantity(rounded if read.unscaled > 0 else -rounded, MILLI, read.big, read.format)


def _to_text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value)).strip()


def read_amounts(listed: FieldValue) -> dict[str, Quantity]:
    """Return the resources of a list that have a readable quantity."""
    if not isinstance(listed.value, dict):
        return {}
    parsed = {name: parse_amount(value) for name, value in sorted(listed.value.items())}
    return {name: value for name, value in parsed.items() if value is not None}


def find_unreadable(listed: FieldValue) -> Iterator[Problem]:
    """Yield the values of a list of resources that are no quantity.

    An API server then checks nothing else of the object.
    """
    for name, value in listed.value.items() if isinstance(listed.value, dict) else ():
        try:
            to_quantity("0" if value is None else _to_text(value))
        except EvaluationError as error:
            yield Problem(listed.path_of_key(name), str(error))
        except ExpressionError:
            continue  # it is a quantity, but longer than is read here


def quantity_fault(value: Any) -> str:
    """Return why ``value`` is no quantity, in the API server's words; "" if it is one."""
    text = _to_text(value)
    try:
        parse_quantity(text)
    except ObjectError as error:
        try:
            to_quantity(text)
        except EvaluationError as fault:
            return str(fault)
        except ExpressionError:
            pass
        return str(error)  # longer than is read here
    return ""


def container_problems(resources: FieldValue, *, complete: bool) -> Iterator[Problem]:
    """Yield the problems of ``requests`` and ``limits`` of a container; ``complete`` is as in :func:`read_requests`."""
    limits = read_amounts(resources["limits"])
    yield from requirement_problems(
        resources, read_requests(resources, complete=complete), limits, container_name_problems
    )


def read_requests(resources: FieldValue, *, complete: bool) -> dict[str, Quantity]:
    """Return the requests of a container.

    With ``complete``, a resource with a limit and no request requests its limit, as in pods but not in pod templates.
    """
    requests = read_amounts(resources["requests"])
    return {**read_amounts(resources["limits"]), **requests} if complete else requests


def requirement_problems(resources: FieldValue, requests: Amounts, limits: Amounts, names: Names) -> Iterator[Problem]:
    """Yield the problems of completed ``requests`` and ``limits``."""
    yield from list_problems(resources["limits"], limits, names)
    yield from list_problems(resources["requests"], requests, names)
    yield from _limit_problems(resources, requests, limits)
    resource_names = requests.keys() | limits.keys()
    if any(name.startswith(HUGE) for name in resource_names) and not resource_names & {"cpu", "memory"}:
        yield forbidden(resources.path, "HugePages require cpu or memory")


def list_problems(listed: FieldValue, quantities: Amounts, names: Names) -> Iterator[Problem]:
    """Yield the problems of names and amounts in a list of resources."""
    for name, value in quantities.items():
        path = listed.path_of_key(name)
        yield from names(path, name)
        yield from quantity_problems(path, name, value)
        if name.startswith(HUGE) and not _is_divisible(name, value):
            yield invalid(path, str(value), f"{value} is not positive integer multiple of {name}")


def quantity_problems(path: str, name: str, value: Quantity) -> Iterator[Problem]:
    """Yield amounts that are negative, or fractional for a resource that comes in whole units."""
    if value.unscaled < 0:
        yield invalid(path, str(value), NEGATIVE)
    if (name in COUNTS or is_extended_resource(name)) and value.nano % 10**9:
        yield invalid(path, str(value), NO_INTEGER)


def _limit_problems(resources: FieldValue, requests: Amounts, limits: Amounts) -> Iterator[Problem]:
    path = resources.path_to("requests")
    for name, request in requests.items():
        flexible = _is_native(name) and not name.startswith(HUGE)
        if name not in limits:
            if not flexible:
                yield required(resources.path_to("limits"), "Limit must be set for non overcommitable resources")
            continue
        order, limit = request.compare(limits[name]), limits[name]
        # Extended resources and huge pages cannot be overcommitted, so request and limit must be equal.
        if order and not flexible:
            yield invalid(path, str(request), f"must be equal to {name} limit of {limit}")
        elif order > 0:
            yield invalid(path, str(request), f"must be less than or equal to {name} limit of {limit}")


def container_name_problems(path: str, name: str) -> Iterator[Problem]:
    """Yield the problems of a container's resource name."""
    yield from standard_name_problems(path, name)
    if "/" not in name:
        if name not in OF_CONTAINERS and not name.startswith(HUGE):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not _is_native(name) and not is_extended_resource(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def standard_name_problems(path: str, name: str) -> Iterator[Problem]:
    """Yield the problems of any resource name."""
    wrong = list(key_problems(path, name))
    yield from wrong
    standard = name in STANDARD or name.startswith((HUGE, f"requests.{HUGE}"))
    if not wrong and "/" not in name and not standard:
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_divisible(name: str, value: Quantity) -> bool:
    """Return whether an amount of huge pages consists of whole pages."""
    size = parse_amount(name.removeprefix(HUGE))
    if size is None or size.unscaled <= 0 or size.nano % 10**9:
        return False
    # Rounded up to whole bytes, as Quantity.Value does.
    return -(-abs(value.nano) // 10**9) % (size.nano // 10**9) == 0
