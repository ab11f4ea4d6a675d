"""The plugins of scheduler-plugins once more: one node after the other, in plain Python, from their documentation.

Nodes, pods and figures are taken as raw objects; CPU in milli-CPU and memory in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.quantity import parse_quantity

UNITS = {"cpu": 10**6, "memory": 10**9}


@dataclass
class Machine:
    """A node with its pods and what is known of its use; ``updated`` None: nothing is."""

    node: Json
    figures: Json = field(default_factory=dict)
    updated: float | None = None
    pods: list[Json] = field(default_factory=list)

    def has(self, resource: str, kind: str = "allocatable") -> int:
        status = self.node["status"]
        return amount(resource, status.get(kind, status["allocatable"]).get(resource, "0"))

    def figure(self, resource: str, key: str) -> float | None:
        value: float | None = self.figures.get(resource, {}).get(key)
        return value


def amount(resource: str, text: str) -> int:
    return -(-parse_quantity(text) // UNITS[resource])


def of_container(container: Json, kind: str, resource: str) -> int | None:
    resources = container.get("resources", {})
    quantity = resources.get(kind, {}).get(resource)
    if quantity is None and kind == "requests":
        quantity = resources.get("limits", {}).get(resource)  # which the API server fills in
    return None if quantity is None else amount(resource, quantity)


def overhead(pod: Json, resource: str) -> int:
    return amount(resource, pod["spec"].get("overhead", {}).get(resource, "0"))


def round_away(value: float) -> int:
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def packing(machine: Machine, pod: Json, target: float = 40.0, start: float | None = None) -> float:
    use, size = machine.figure("cpu", "15m"), machine.has("cpu", "capacity")
    if use is None:
        return 0.0
    total = use / 100 * machine.has("cpu") + expected_use(pod)
    for placed in machine.pods:
        time = scheduled(placed)
        if time is not None and machine.updated is not None and math.floor(machine.updated) - math.floor(time) < 60:
            total += expected_use(placed)
    share = 100 * total / size if size else 0.0
    if share <= target:
        return (100 - target) * share / target + target
    return (target if start is None else start) * (100 - share) / (100 - target) if share <= 100 else 0.0


def expected_use(pod: Json) -> int:
    total = overhead(pod, "cpu")
    for container in pod["spec"]["containers"]:
        limit, request = (of_container(container, kind, "cpu") for kind in ("limits", "requests"))
        total += limit if limit is not None else 1000 if request is None else round_away(request * 1.5)
    return total


def scheduled(pod: Json) -> float | None:
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled":
            return datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()
    return None


def asked_amount(pod: Json, kind: str, resource: str) -> int:
    spec = pod["spec"]
    together = sum(of_container(container, kind, resource) or 0 for container in spec["containers"])
    alone = (of_container(container, kind, resource) or 0 for container in spec.get("initContainers", ()))
    return max([together, *alone]) + overhead(pod, resource)


def clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def variation(machine: Machine, pod: Json, margin: float = 1.0, sensitivity: float = 1.0) -> float:
    scores = []
    for resource in ("cpu", "memory"):
        mean, deviation = machine.figure(resource, "15m"), machine.figure(resource, "15m_std")
        if mean is None and deviation is None:
            continue
        size, request = machine.has(resource), asked_amount(pod, "requests", resource)
        if not size:
            scores.append(0.0)
            continue
        use = clamped(min((mean or 0.0) * size / 100, size) / size + request / size)
        spread = clamped((deviation or 0.0) / 100)
        power = 1 / sensitivity if sensitivity else math.inf
        scores.append((1 - (use + clamped(margin * spread**power)) / 2) * 100)
    return min(scores, default=0.0)


def over_commitment(machine: Machine, pod: Json, weight: float = 0.5, window: int = 5) -> float:
    if machine.updated is None and not any(machine.figures.values()):
        return 0.0
    if not any(asked_amount(pod, kind, resource) for kind in ("requests", "limits") for resource in ("cpu", "memory")):
        return 0.0
    return (1 - max(_risk(machine, pod, resource, weight, window) for resource in ("cpu", "memory"))) * 100


def _risk(machine: Machine, pod: Json, resource: str, weight: float, window: int) -> float:
    size = machine.has(resource)
    requests, limits = _promised(machine.pods, resource)
    more_requests, more_limits = _promised([pod], resource)
    limit, request = limits + more_limits, min(requests + more_requests, size)
    of_limits = (limit - size) / (limit - request) if limit > size else 0.0
    requests = min(requests, size)
    mean, deviation = machine.figure(resource, "15m"), machine.figure(resource, "15m_std")
    of_load = 0.0
    if mean is not None or deviation is not None:
        of_load = 1 - probability_within_requests(
            size, requests, limits, mean or 0.0, (deviation or 0.0) * math.sqrt(window)
        )
    return clamped(weight * of_limits + (1 - weight) * of_load)


def _promised(pods: Iterable[Json], resource: str) -> tuple[int, int]:
    both = [(asked_amount(pod, "requests", resource), asked_amount(pod, "limits", resource)) for pod in pods]
    return sum(request for request, _ in both), sum(max(request, limit) for request, limit in both)


def probability_within_requests(
    size: int, requests: int, limits: int, percent: float, percent_deviation: float
) -> float:
    """The probability that the use is within the requests, given that it is within the limits."""
    if limits == 0 and size > 0:
        return 1.0
    mean = clamped(percent / 100) if size else 0.0
    deviation = min(clamped(percent_deviation / 100), math.sqrt(0.99 * mean * (1 - mean)))
    if mean == 0:
        return 1.0
    threshold = requests / size
    if deviation == 0:
        return float(mean <= threshold)
    variance = deviation**2 + mean**2 - mean**2
    if not 0 < variance < mean * (1 - mean):
        return 0.0
    scale = mean * (1 - mean) / variance - 1
    alpha, beta = mean * scale, (1 - mean) * scale
    below_threshold = incomplete_beta(threshold, alpha, beta)
    below = incomplete_beta(limits / size, alpha, beta) if limits < size else 1.0
    return clamped(below_threshold / below) if below > 0 else below_threshold


def incomplete_beta(x: float, a: float, b: float) -> float:
    """By the power series in x (DLMF 8.17.7), on the side where it converges."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    term = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    ) / a  # fmt: skip
    total, step = term, 0
    while term > total * 1e-17:
        term *= (a + b + step) / (a + 1 + step) * x
        total += term
        step += 1
    return total


def power_rise(machine: Machine, pod: Json, model: Json | None) -> float:
    """In watts."""
    use, size = machine.figure("cpu", "15m"), machine.has("cpu", "capacity")
    if use is None or model is None:
        return 0.0
    share = use * machine.has("cpu") / size if size else use
    asked_for = max(
        sum(of_container(container, "requests", "cpu") or 0 for container in pod["spec"]["containers"]),
        *(of_container(container, "requests", "cpu") or 0 for container in pod["spec"].get("initContainers", ())),
        0,
    )
    asked_for += overhead(pod, "cpu") if asked_for else 0
    after = 100 * (share / 100 * size + asked_for) / size if size else 0.0
    if after > 100:
        return 0.0
    rise: float = model["k1"] * (math.exp(model["k2"] * after) - math.exp(model["k2"] * share))
    return rise
