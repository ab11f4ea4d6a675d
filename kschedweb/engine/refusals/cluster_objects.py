"""The API server's refusals of nodes, classes, budgets, services and volumes, as far as scheduling reads them."""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator, Sequence

from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals.affinity import NOT_POSITIVE, taint_problems
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import (
    key_problems,
    label_problems,
    node_selector_problems,
    selector_problems,
    subdomain_problems,
)
from kschedweb.engine.refusals.resources import NEGATIVE, parse_amount, quantity_problems, read_amounts
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)

# Kubernetes' `HighestUserDefinablePriority`.
HIGHEST_PRIORITY = 1_000_000_000
# Kubernetes' `SystemPriorityClasses`.
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
# Reclaim policies of volumes; classes do not have Recycle.
RECLAIM = ("Delete", "Recycle", "Retain")
BINDING = ("Immediate", "WaitForFirstConsumer")
PREEMPTION = ("PreemptLowerPriority", "Never")
EVICTION = ("AlwaysAllow", "IfHealthyBudget")
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for"
    " validation is '[0-9]+%')"
)


def node_problems(node: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a Node's taints, which the API server places under ``metadata``, and of its amounts."""
    yield from taint_problems(node["spec"]["taints"], "metadata.taints")
    for field in ("capacity", "allocatable"):
        listed = node["status"][field]
        for name, value in read_amounts(listed).items():
            yield from quantity_problems(f"{listed.path}.{name}", name, value)
    if not node["status"]["allocatable"].is_given:  # it is then taken from the capacity
        listed = node["status"]["capacity"]
        for name, value in read_amounts(listed).items():
            yield from quantity_problems(f"status.allocatable.{name}", name, value)


def node_content(node: Json) -> bytes:
    """Return the bytes on which ``node_problems`` depend. Raises ValueError for a value that is not JSON."""
    spec, status = node.get("spec"), node.get("status")
    taints = spec.get("taints") if isinstance(spec, dict) else None
    amounts = [status.get("capacity"), status.get("allocatable")] if isinstance(status, dict) else None
    return marshal.dumps((taints, amounts), 2)


def priority_class_problems(item: FieldValue) -> Iterator[Problem]:
    """Yield values above the limit for users, and names that are reserved for the system."""
    name, value = item["metadata"]["name"].text, item["value"].number
    if name.startswith("system-"):
        if name not in SYSTEM or value != SYSTEM[name] or item["globalDefault"].value is True:
            yield forbidden("metadata.name", _explain_reserved_name(name, value))
    elif value > HIGHEST_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}")
    policy = item["preemptionPolicy"]
    if policy.is_given and policy.text not in PREEMPTION:
        yield unsupported(policy.path, Typed(policy.text), PREEMPTION) if policy.text else required(policy.path)


def _explain_reserved_name(name: str, value: int) -> str:
    """Return why a class may not have a name of the system's."""
    if name not in SYSTEM:
        why = f"{name} is not a known system priority class"
    elif value != SYSTEM[name]:
        why = f"value of {name} PriorityClass must be {SYSTEM[name]}"
    else:
        why = f"globalDefault of {name} PriorityClass must be false"
    return f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"


def budget_problems(budget: FieldValue) -> Iterator[Problem]:
    """Yield the problems of the bounds and the selector of a PodDisruptionBudget."""
    spec = budget["spec"]
    for bound in (spec["minAvailable"], spec["maxUnavailable"]):
        if isinstance(bound.value, str):
            if not re.fullmatch(r"[0-9]+%", bound.text, re.ASCII):
                yield invalid(bound.path, Typed(bound.text), PERCENT)
            elif int(bound.text[:-1]) > 100:
                yield invalid(bound.path, Typed(bound.text), "must not be greater than 100%")
        elif bound.number < 0:
            yield invalid(bound.path, bound.number, NEGATIVE)
    yield from selector_problems(spec["selector"])
    policy = spec["unhealthyPodEvictionPolicy"]
    if policy.is_given and policy.text not in EVICTION:
        yield unsupported(policy.path, Typed(policy.text), EVICTION)


def service_problems(service: FieldValue) -> Iterator[Problem]:
    yield from label_problems(service["spec"]["selector"])


def storage_class_problems(item: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a StorageClass: its provisioner, policies and allowed topologies."""
    if not item["provisioner"].text:
        yield required("provisioner")
    else:
        # In lower case: the API server accepts capitals in a provisioner's name.
        yield from key_problems("provisioner", item["provisioner"].text.lower())
    for field, allowed in (("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", BINDING)):
        if item[field].text and item[field].text not in allowed:
            yield unsupported(field, Typed(item[field].text), allowed)
    for term in item["allowedTopologies"].items:
        keys: set[str] = set()
        for expression in term["matchLabelExpressions"].items:
            values, key = expression["values"], expression["key"].text
            if not values.texts:
                yield required(values.path)
            for at, value in enumerate(values.texts):
                if value in values.texts[:at]:
                    yield duplicate(f"{values.path}[{at}]", value)
            yield from key_problems(expression.path_to("key"), key)
            if key in keys:
                yield duplicate(expression.path_to("key"), key)
            keys.add(key)


def volume_problems(volume: FieldValue) -> Iterator[Problem]:
    """Yield the problems of capacity, access and node affinity of a PersistentVolume."""
    spec = volume["spec"]
    yield from _mode_problems(spec["accessModes"], "")
    capacity = read_amounts(spec["capacity"])
    if not capacity:
        yield required(spec.path_to("capacity"))
    if set(capacity) != {"storage"}:
        printable = {name: str(value) for name, value in capacity.items()} if spec["capacity"].is_given else None
        yield unsupported(spec.path_to("capacity"), Typed(printable), ("storage",))
    for name, value in capacity.items():
        if value.unscaled < 0:
            yield invalid(spec["capacity"].path_of_key(name), value.nano // 10**9, "must be a valid resource quantity")
        if value.unscaled <= 0:
            yield invalid(spec["capacity"].path_of_key(name), str(value), NOT_POSITIVE)
    policy = spec["persistentVolumeReclaimPolicy"]
    if policy.text and policy.text not in RECLAIM:
        yield unsupported(policy.path, Typed(policy.text), RECLAIM)
    affinity = spec["nodeAffinity"]
    if affinity.is_given and not affinity["required"].is_given:
        yield required(affinity.path_to("required"), "must specify required node constraints")
    elif affinity.is_given:
        yield from node_selector_problems(affinity["required"])
    elif spec["local"].is_given:
        yield required(affinity.path, "Local volume requires node affinity")
    yield from subdomain_problems(spec["storageClassName"])


def claim_problems(claim: FieldValue) -> Iterator[Problem]:
    """Yield the problems of access and size of a PersistentVolumeClaim."""
    spec = claim["spec"]
    yield from _mode_problems(spec["accessModes"], "at least 1 access mode is required")
    yield from selector_problems(spec["selector"])
    request = spec["resources"]["requests"]["storage"]
    size, path = parse_amount(request.value), f"{spec.path}.resources[storage]"
    if size is None:
        yield required(path)
    elif size.unscaled <= 0:
        yield invalid(path, str(size), NOT_POSITIVE)
    yield from subdomain_problems(spec["storageClassName"])


def _mode_problems(modes: FieldValue, missing: str) -> Iterator[Problem]:
    listed: Sequence[str] = modes.texts
    if not listed:
        yield required(modes.path, missing)
    yield from (unsupported(modes.path, Typed(mode), MODES) for mode in listed if mode not in MODES)
    if MODES[-1] in listed and set(listed) & set(MODES[:-1]):
        yield forbidden(modes.path, "may not use ReadWriteOncePod with other access modes")
