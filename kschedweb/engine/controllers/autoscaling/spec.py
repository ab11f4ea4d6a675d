"""HorizontalPodAutoscalers of autoscaling/v2 and v1, with the defaults of the API server."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
)
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

VERSIONS = ("autoscaling/v2", "autoscaling/v1")
PODS, PERCENT = "Pods", "Percent"
MAX, MIN, DISABLED = "Max", "Min", "Disabled"
# Percent, the target of an autoscaler that names none.
USUAL = 80
# Seconds, the limits of the API's validation.
LONGEST_WINDOW, LONGEST_PERIOD = 3600, 1800
# Defaults of kube-controller-manager: the ratio's distance from 1 that is ignored, and seconds of the window of scaling
# down.
TOLERANCE, WINDOW = 0.1, 300


@dataclass(frozen=True, slots=True)
class Metric:
    """The target of an autoscaler for one resource."""

    resource: str = CPU
    # Percent of requests.
    utilization: int | None = None
    # Milli-units per pod.
    average: int | None = None
    # What the metric is if it cannot be measured here, being neither CPU nor memory of whole pods; else "".
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """The most that is added or removed in a period."""

    # ``PODS`` or ``PERCENT`` of them.
    kind: str
    value: int
    # Seconds.
    period: int


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """The speed of scaling in one direction."""

    policies: tuple[ScalingPolicy, ...]
    # Which policy counts: ``MAX``, ``MIN``, or none (``DISABLED``).
    select: str = MAX
    # Stabilization in seconds; ``None`` for the controller's default.
    window: int | None = None
    # The ratio's distance from 1 that is ignored; ``None`` for the controller's default.
    tolerance: float | None = None

    @property
    def longest_period(self) -> int:
        """The longest period of its policies, in seconds; 0 without any."""
        return max((policy.period for policy in self.policies), default=0)


# The API server's defaults: up by four pods or 100 % in 15 seconds, down by all pods.
UP = ScalingRules((ScalingPolicy(PODS, 4, 15), ScalingPolicy(PERCENT, 100, 15)), window=0)
DOWN = ScalingRules((ScalingPolicy(PERCENT, 100, 15),))


@dataclass(frozen=True, slots=True)
class Behavior:
    up: ScalingRules = UP
    down: ScalingRules = DOWN


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A HorizontalPodAutoscaler."""

    key: str
    # ``namespace/Kind/name`` of the workload that it scales.
    target: str
    max_replicas: int
    min_replicas: int = 1
    metrics: tuple[Metric, ...] = (Metric(utilization=USUAL),)
    # ``None`` where the object has none: older rules hold then, which the API cannot express.
    behavior: Behavior | None = None

    @property
    def tolerances(self) -> tuple[float, float]:
        """The ignored distances from 1, below and above, of the ratio of use to target."""
        rules = (self.behavior.down, self.behavior.up) if self.behavior else (None, None)
        down, up = (
            TOLERANCE if scaling_rules is None or scaling_rules.tolerance is None else scaling_rules.tolerance
            for scaling_rules in rules
        )
        return down, up


def read_autoscaler(raw: Json) -> Autoscaler:
    """Read a raw autoscaler; raises ObjectError."""
    version, metadata, spec = get_string(raw, "apiVersion"), get_mapping(raw, "metadata"), get_mapping(raw, "spec")
    if version not in VERSIONS:
        raise ObjectError(f"apiVersion: is {version or 'missing'}, can be {' or '.join(VERSIONS)}")
    namespace, goal = (
        get_string(metadata, "namespace", "metadata.") or "default",
        get_mapping(spec, "scaleTargetRef", "spec."),
    )
    min_replicas, max_replicas = (
        get_integer(spec, key, default, "spec.") for key, default in (("minReplicas", 1), ("maxReplicas", 0))
    )
    kind, name = (get_string(goal, key, "spec.scaleTargetRef.") for key in ("kind", "name"))
    if not kind or not name:
        raise ObjectError("spec.scaleTargetRef: must have kind and name")
    if max_replicas < 1:
        raise ObjectError("spec.maxReplicas: must be greater than 0")
    if not 0 <= min_replicas <= max_replicas:
        raise ObjectError("spec.minReplicas: must be from 0 to maxReplicas")
    metrics: tuple[Metric, ...] = ()
    behavior = None
    if version == "autoscaling/v1":
        metrics = (_read_v1_metric(spec),)
    else:
        metrics = tuple(_read_metric(entry, path) for entry, path in get_objects_and_paths(spec, "metrics", "spec."))
        if spec.get("behavior") is not None:
            behavior = read_behavior(get_mapping(spec, "behavior", "spec."), "spec.behavior.")
    autoscaler_key = f"{namespace}/{get_string(metadata, 'name', 'metadata.')}"
    usual = (Metric(utilization=USUAL),)
    return Autoscaler(
        autoscaler_key, f"{namespace}/{kind}/{name}", max_replicas, min_replicas, metrics or usual, behavior
    )


def read_behavior(raw: Json, path: str = "") -> Behavior:
    """Read a behavior of autoscaling/v2; raises ObjectError."""
    up, down = (_read_rules(raw, key, usual, path) for key, usual in (("scaleUp", UP), ("scaleDown", DOWN)))
    return Behavior(up, down)


def _read_v1_metric(spec: Json) -> Metric:
    target = get_integer(spec, "targetCPUUtilizationPercentage", USUAL, "spec.")
    if target < 1:
        raise ObjectError("spec.targetCPUUtilizationPercentage: must be greater than 0")
    return Metric(utilization=target)


def _read_metric(raw: Json, path: str) -> Metric:
    kind = get_string(raw, "type", path)
    source = get_mapping(raw, "resource", path)
    resource = get_string(source, "name", f"{path}resource.")
    if kind != "Resource" or resource not in (CPU, MEMORY):
        return Metric(resource, unknown=f"{kind} {resource}".strip() or "none")
    target, path = get_mapping(source, "target", f"{path}resource."), f"{path}resource.target."
    if (value := target.get("averageValue")) is not None:
        average = -(-quantity.read_quantity(value, f"{path}averageValue") // quantity.MILLI)
        return Metric(resource, average=_check_positive(average, f"{path}averageValue"))
    if target.get("averageUtilization") is None:
        raise ObjectError(f"{path}averageUtilization: must set either a target raw value or a target utilization")
    utilization = get_integer(target, "averageUtilization", 0, path)
    return Metric(resource, utilization=_check_positive(utilization, f"{path}averageUtilization"))


def _check_positive(value: int, path: str) -> int:
    if value < 1:
        raise ObjectError(f"{path}: must be greater than 0")
    return value


def _read_rules(raw: Json, key: str, usual: ScalingRules, path: str) -> ScalingRules:
    raw_rules = get_mapping(raw, key, path)
    path = f"{path}{key}."
    select = _check_choice(
        get_string(raw_rules, "selectPolicy", path) or usual.select, (MAX, MIN, DISABLED), f"{path}selectPolicy"
    )
    window = usual.window
    if raw_rules.get("stabilizationWindowSeconds") is not None:
        window = _read_bounded_integer(raw_rules, "stabilizationWindowSeconds", 0, LONGEST_WINDOW, path)
    policies = usual.policies
    if raw_rules.get("policies") is not None:
        policies = tuple(
            _read_policy(raw_policy, policy_path)
            for raw_policy, policy_path in get_objects_and_paths(raw_rules, "policies", path)
        )
        if not policies:
            raise ObjectError(f"{path}policies: must specify at least one Policy")
    tolerance = None
    if raw_rules.get("tolerance") is not None:
        tolerance = quantity.read_quantity(raw_rules["tolerance"], f"{path}tolerance") / quantity.NANO
    return ScalingRules(policies, select, window, tolerance)


def _read_policy(raw: Json, path: str) -> ScalingPolicy:
    kind = _check_choice(get_string(raw, "type", path), (PODS, PERCENT), f"{path}type")
    value = _check_positive(get_integer(raw, "value", 0, path), f"{path}value")
    return ScalingPolicy(kind, value, _read_bounded_integer(raw, "periodSeconds", 1, LONGEST_PERIOD, path))


def _check_choice(value: str, choices: tuple[str, ...], path: str) -> str:
    if value not in choices:
        raise ObjectError(f"{path}: must be one of {', '.join(choices)}")
    return value


def _read_bounded_integer(raw: Json, key: str, minimum: int, maximum: int, path: str) -> int:
    value = get_integer(raw, key, 0, path)
    if not minimum <= value <= maximum:
        raise ObjectError(f"{path}{key}: must be from {minimum} to {maximum}")
    return value
