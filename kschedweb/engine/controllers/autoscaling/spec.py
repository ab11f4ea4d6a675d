"""HorizontalPodAutoscalers of autoscaling/v2 and v1, with the defaults of the API server."""

from __future__ import annotations

from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.access import Json, ObjectError, each, integer, mapping, text
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

VERSIONS = ("autoscaling/v2", "autoscaling/v1")
PODS, PERCENT = "Pods", "Percent"
MAX, MIN, DISABLED = "Max", "Min", "Disabled"
USUAL = 80  # percent, the target of an autoscaler that names none
LONGEST_WINDOW, LONGEST_PERIOD = 3600, 1800  # seconds
TOLERANCE, WINDOW = 0.1, 300  # flags of kube-controller-manager


@dataclass(frozen=True, slots=True)
class Metric:
    """What is aimed at: a ``utilization`` in percent of what is requested, or an ``average`` in milli-units a pod.

    A metric that is neither CPU nor memory of whole pods cannot be measured here; ``unknown`` says what it is.
    """

    resource: str = CPU
    utilization: int | None = None
    average: int | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """So many pods, or percent of them, in ``period`` seconds at most."""

    kind: str
    value: int
    period: int


@dataclass(frozen=True, slots=True)
class Rules:
    """How fast is scaled in one direction; ``window`` is the stabilisation in seconds."""

    policies: tuple[Policy, ...]
    select: str = MAX
    window: int | None = None
    tolerance: float | None = None

    @property
    def longest(self) -> int:
        """The longest period in seconds."""
        return max((policy.period for policy in self.policies), default=0)


UP = Rules((Policy(PODS, 4, 15), Policy(PERCENT, 100, 15)), window=0)
DOWN = Rules((Policy(PERCENT, 100, 15),))


@dataclass(frozen=True, slots=True)
class Behavior:
    up: Rules = UP
    down: Rules = DOWN


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A HorizontalPodAutoscaler; ``target`` is the ``namespace/Kind/name`` that it scales."""

    key: str
    target: str
    most: int
    least: int = 1
    metrics: tuple[Metric, ...] = (Metric(utilization=USUAL),)
    behavior: Behavior | None = None

    @property
    def tolerances(self) -> tuple[float, float]:
        """How far the ratio of what is used to what is aimed at may be below and above 1."""
        rules = (self.behavior.down, self.behavior.up) if self.behavior else (None, None)
        down, up = (TOLERANCE if one is None or one.tolerance is None else one.tolerance for one in rules)
        return down, up


def read(raw: Json) -> Autoscaler:
    """The autoscaler of a raw object; raises ObjectError."""
    version, metadata, spec = text(raw, "apiVersion"), mapping(raw, "metadata"), mapping(raw, "spec")
    if version not in VERSIONS:
        raise ObjectError(f"apiVersion: is {version or 'missing'}, can be {' or '.join(VERSIONS)}")
    namespace, goal = text(metadata, "namespace", "metadata.") or "default", mapping(spec, "scaleTargetRef", "spec.")
    least, most = (integer(spec, key, default, "spec.") for key, default in (("minReplicas", 1), ("maxReplicas", 0)))
    kind, name = (text(goal, key, "spec.scaleTargetRef.") for key in ("kind", "name"))
    if not kind or not name:
        raise ObjectError("spec.scaleTargetRef: must have kind and name")
    if most < 1:
        raise ObjectError("spec.maxReplicas: must be greater than 0")
    if not 0 <= least <= most:
        raise ObjectError("spec.minReplicas: must be from 0 to maxReplicas")
    metrics: tuple[Metric, ...] = ()
    behavior = None
    if version == "autoscaling/v1":
        metrics = (_of_v1(spec),)
    else:
        metrics = tuple(_metric(one, path) for one, path in each(spec, "metrics", "spec."))
        if spec.get("behavior") is not None:
            behavior = read_behavior(mapping(spec, "behavior", "spec."), "spec.behavior.")
    own = f"{namespace}/{text(metadata, 'name', 'metadata.')}"
    usual = (Metric(utilization=USUAL),)
    return Autoscaler(own, f"{namespace}/{kind}/{name}", most, least, metrics or usual, behavior)


def read_behavior(raw: Json, path: str = "") -> Behavior:
    """The behavior of autoscaling/v2; raises ObjectError."""
    up, down = (_rules(raw, key, usual, path) for key, usual in (("scaleUp", UP), ("scaleDown", DOWN)))
    return Behavior(up, down)


def _of_v1(spec: Json) -> Metric:
    target = integer(spec, "targetCPUUtilizationPercentage", USUAL, "spec.")
    if target < 1:
        raise ObjectError("spec.targetCPUUtilizationPercentage: must be greater than 0")
    return Metric(utilization=target)


def _metric(raw: Json, path: str) -> Metric:
    kind = text(raw, "type", path)
    source = mapping(raw, "resource", path)
    resource = text(source, "name", f"{path}resource.")
    if kind != "Resource" or resource not in (CPU, MEMORY):
        return Metric(resource, unknown=f"{kind} {resource}".strip() or "none")
    target, path = mapping(source, "target", f"{path}resource."), f"{path}resource.target."
    if (value := target.get("averageValue")) is not None:
        average = -(-quantity.read(value, f"{path}averageValue") // quantity.MILLI)
        return Metric(resource, average=_positive(average, f"{path}averageValue"))
    if target.get("averageUtilization") is None:
        raise ObjectError(f"{path}averageUtilization: must set either a target raw value or a target utilization")
    utilization = integer(target, "averageUtilization", 0, path)
    return Metric(resource, utilization=_positive(utilization, f"{path}averageUtilization"))


def _positive(value: int, path: str) -> int:
    if value < 1:
        raise ObjectError(f"{path}: must be greater than 0")
    return value


def _rules(raw: Json, key: str, usual: Rules, path: str) -> Rules:
    given = mapping(raw, key, path)
    path = f"{path}{key}."
    select = _among(text(given, "selectPolicy", path) or usual.select, (MAX, MIN, DISABLED), f"{path}selectPolicy")
    window = usual.window
    if given.get("stabilizationWindowSeconds") is not None:
        window = _within(given, "stabilizationWindowSeconds", 0, LONGEST_WINDOW, path)
    policies = usual.policies
    if given.get("policies") is not None:
        policies = tuple(_policy(one, where) for one, where in each(given, "policies", path))
        if not policies:
            raise ObjectError(f"{path}policies: must specify at least one Policy")
    tolerance = None
    if given.get("tolerance") is not None:
        tolerance = quantity.read(given["tolerance"], f"{path}tolerance") / quantity.NANO
    return Rules(policies, select, window, tolerance)


def _policy(raw: Json, path: str) -> Policy:
    kind = _among(text(raw, "type", path), (PODS, PERCENT), f"{path}type")
    value = _positive(integer(raw, "value", 0, path), f"{path}value")
    return Policy(kind, value, _within(raw, "periodSeconds", 1, LONGEST_PERIOD, path))


def _among(value: str, known: tuple[str, ...], path: str) -> str:
    if value not in known:
        raise ObjectError(f"{path}: must be one of {', '.join(known)}")
    return value


def _within(raw: Json, key: str, least: int, most: int, path: str) -> int:
    value = integer(raw, key, 0, path)
    if not least <= value <= most:
        raise ObjectError(f"{path}{key}: must be from {least} to {most}")
    return value
