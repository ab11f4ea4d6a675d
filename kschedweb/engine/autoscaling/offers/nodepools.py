"""NodePools of karpenter.sh/v1, with the defaults of their custom resource definition."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from kschedweb.engine.autoscaling.offers.amounts import Milli, read_milli
from kschedweb.engine.autoscaling.offers.labels import (
    INITIALIZED,
    KWOK_GROUP,
    NODE_CLASS_KIND,
    NODEPOOL,
    REGISTERED,
    node_class_label,
)
from kschedweb.engine.autoscaling.offers.requirements import (
    IN,
    OPERATORS,
    Requirements,
    WrittenRequirement,
    new_requirement,
)
from kschedweb.engine.controllers.autoscaling import cron
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.taints import Taint, read_taints
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

API_VERSION, KIND = "karpenter.sh/v1", "NodePool"
WHEN_EMPTY, UNDERUTILIZED_TOO, BALANCED = "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
POLICIES = (WHEN_EMPTY, UNDERUTILIZED_TOO, BALANCED)
EMPTY, UNDERUTILIZED = "Empty", "Underutilized"
NEVER = "Never"
# An inactive budget allows math.MaxInt32 nodes. The CRD bounds the weight.
UNBOUNDED, MOST_WEIGHT = 2**31 - 1, 100
# The pattern of the CRD for a budget's `nodes`.
_NODES = re.compile(r"(?:(?P<percent>100|[0-9]{1,2})%|(?P<number>[0-9]+))")
# `Cron.next_after` counts seconds from this time, not from the epoch.
_DAY_BEGINS = cron.MONDAY.timestamp()


@dataclass(frozen=True, slots=True)
class NodePoolBudget:
    """A disruption budget: how many nodes may be disrupted at once."""

    # A number or a percentage, as written.
    nodes: str
    # None for all reasons.
    reasons: tuple[str, ...] | None
    # When it becomes active; None for always active.
    schedule: cron.Cron | None
    # Seconds for which it stays active.
    duration: float | None

    def get_allowed_disruptions(self, total: int, now: float) -> int:
        """Return how many of ``total`` nodes may be disrupted; UNBOUNDED while the budget is not active."""
        if not self.is_active(now):
            return UNBOUNDED
        match = _NODES.fullmatch(self.nodes)
        assert match is not None
        # Percentages round up: "10%" of 3 nodes allows one.
        return math.ceil(int(match["percent"]) * total / 100) if match["percent"] else int(match["number"])

    def is_active(self, now: float) -> bool:
        if self.schedule is None:
            return True
        due = self.schedule.next_after(now - _DAY_BEGINS - (self.duration or 0.0), cron.MONDAY)
        return due is not None and due <= now - _DAY_BEGINS


class NodeClassRef(NamedTuple):
    """A reference to the provider's object that says how to launch nodes."""

    group: str
    kind: str
    name: str

    @classmethod
    def from_json(cls, raw: Json, path: str) -> NodeClassRef:
        """Read a reference; an empty ``raw`` refers to the class of the kwok provider. Raises ObjectError."""
        if not raw:
            return cls(KWOK_GROUP, NODE_CLASS_KIND, "default")
        return cls(*(get_string(raw, key, path) for key in cls._fields))


@dataclass(frozen=True, slots=True, eq=False)
class NodePool:
    """A NodePool. Any provider's node class is accepted, because the instance types are given separately."""

    name: str
    weight: int
    # It has replicas: it keeps a fixed number of nodes, and pods bring no others.
    static: bool
    terminating: bool
    # The template's requirements as written, each with its minValues.
    written_requirements: tuple[tuple[WrittenRequirement, int | None], ...]
    labels: dict[str, str]
    node_class: NodeClassRef
    taints: tuple[Taint, ...]
    startup_taints: tuple[Taint, ...]
    # In milli-units.
    limits: Milli
    # Seconds; None for never.
    consolidate_after: float | None
    policy: str
    budgets: tuple[NodePoolBudget, ...]
    raw: Json = field(repr=False)

    @property
    def all_labels(self) -> dict[str, str]:
        """The labels that all its nodes have."""
        label = node_class_label(self.node_class.group, self.node_class.kind)
        return self.labels | {NODEPOOL: self.name, label: self.node_class.name}

    def build_requirements(self) -> Requirements:
        """Build the requirements of a new node."""
        requirements = self.own_requirements()
        requirements.add(Requirements.of_labels(self.all_labels).values())
        # Daemons may select these labels, which the node will have once it is up.
        requirements.add(new_requirement(key, IN, ("true",)) for key in (REGISTERED, INITIALIZED))
        return requirements

    def own_requirements(self) -> Requirements:
        return Requirements.from_requirements(
            new_requirement(*expression, min_values) for expression, min_values in self.written_requirements
        )

    def domain_requirements(self) -> Requirements:
        """Build the requirements that define topology domains: its own and the labels of its template."""
        requirements = self.own_requirements()
        requirements.add(Requirements.of_labels(self.labels).values())
        return requirements

    def allowed_disruptions(self, total: int, reason: str, now: float) -> int:
        """Return the least that its budgets allow for a reason."""
        counted = (budget for budget in self.budgets if budget.reasons is None or reason in budget.reasons)
        return min((budget.get_allowed_disruptions(total, now) for budget in counted), default=UNBOUNDED)

    @classmethod
    def from_json(cls, raw: Json) -> NodePool:
        """Read a NodePool; raises ObjectError."""
        check_kind(raw)
        metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
        template, disruption = get_mapping(spec, "template", "spec."), get_mapping(spec, "disruption", "spec.")
        inner, at = get_mapping(template, "spec", "spec.template."), "spec.template.spec."
        name = get_string(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        policy = get_string(disruption, "consolidationPolicy", "spec.disruption.") or UNDERUTILIZED_TOO
        if policy not in POLICIES:
            raise ObjectError(f"spec.disruption.consolidationPolicy: must be one of {', '.join(POLICIES)}")
        weight = get_integer(spec, "weight", path="spec.")
        if spec.get("weight") is not None and not 1 <= weight <= MOST_WEIGHT:
            raise ObjectError(f"spec.weight: must be 1 to {MOST_WEIGHT}, is {weight}")
        # Read only to refuse a wrong duration.
        read_nillable(inner, "expireAfter", at)
        pool = cls(
            name=name,
            weight=weight,
            static=spec.get("replicas") is not None,
            terminating=metadata.get("deletionTimestamp") is not None,
            written_requirements=tuple(
                _read_requirement(expression, path)
                for expression, path in get_objects_and_paths(inner, "requirements", at)
            ),
            labels=get_string_map(
                get_mapping(template, "metadata", "spec.template."), "labels", "spec.template.metadata."
            ),
            node_class=NodeClassRef.from_json(get_mapping(inner, "nodeClassRef", at), f"{at}nodeClassRef."),
            taints=read_taints(inner, "taints", at),
            startup_taints=read_taints(inner, "startupTaints", at),
            limits=read_milli(spec, "limits", "spec."),
            consolidate_after=read_nillable(disruption, "consolidateAfter", "spec.disruption.", 0.0),
            policy=policy,
            budgets=_read_budgets(disruption),
            raw=raw,
        )
        _check_possible(pool)
        return pool


def check_kind(raw: Mapping[str, Any], kind: str = KIND) -> None:
    """Raise ObjectError for another kind or version."""
    version = raw.get("apiVersion")
    if version != API_VERSION:
        was = f", is {str(version)[:60]!r}" if version else ""
        raise ObjectError(f"apiVersion: must be {API_VERSION}{was}")
    if raw.get("kind") != kind:
        raise ObjectError(f"kind: must be {kind}, is {str(raw.get('kind'))[:60]!r}")


def read_nillable(raw: Json, key: str, path: str, default: float | None = None) -> float | None:
    """Read a duration in seconds, None for Never; return ``default`` if it is missing. Raises ObjectError."""
    duration = get_string(raw, key, path)
    if key not in raw or raw[key] is None:
        return default
    if duration == NEVER:
        return None
    try:
        return parse_seconds(duration)
    except ValueError as error:
        raise ObjectError(f"{path}{key}: {error}; write a duration such as 30m, or {NEVER}") from None


def _read_requirement(raw: Json, path: str) -> tuple[WrittenRequirement, int | None]:
    expression = get_string(raw, "key", path), get_string(raw, "operator", path), get_strings(raw, "values", path)
    if not expression[0]:
        raise ObjectError(f"{path}key: is missing")
    if expression[1] not in OPERATORS:
        raise ObjectError(f"{path}operator: must be one of {', '.join(OPERATORS)}, is {expression[1][:60]!r}")
    if raw.get("minValues") is None:
        return expression, None
    min_values = get_integer(raw, "minValues", path=path)
    if min_values < 1:
        raise ObjectError(f"{path}minValues: must be at least 1, is {min_values}")
    return expression, min_values


def _read_budgets(disruption: Json) -> tuple[NodePoolBudget, ...]:
    if disruption.get("budgets") is None:
        # The default of the CRD.
        return (NodePoolBudget("10%", None, None, None),)
    return tuple(
        _read_budget(raw, path) for raw, path in get_objects_and_paths(disruption, "budgets", "spec.disruption.")
    )


def _read_budget(raw: Json, path: str) -> NodePoolBudget:
    nodes = get_string(raw, "nodes", path) or "10%"
    if not _NODES.fullmatch(nodes):
        raise ObjectError(f"{path}nodes: must be a number, or a percentage of at most 100%, is {nodes[:60]!r}")
    if (raw.get("schedule") is None) != (raw.get("duration") is None):
        raise ObjectError(f"{path}schedule: must be set with duration, and duration with schedule")
    reasons = None if raw.get("reasons") is None else get_strings(raw, "reasons", path)
    if raw.get("schedule") is None:
        return NodePoolBudget(nodes, reasons, None, None)
    try:
        return NodePoolBudget(
            nodes,
            reasons,
            cron.parse_cron(get_string(raw, "schedule", path)),
            parse_seconds(get_string(raw, "duration", path)),
        )
    except cron.CronError as error:
        raise ObjectError(f"{path}schedule: {error}") from None
    except ValueError as error:
        raise ObjectError(f"{path}duration: {error}") from None


def _check_possible(pool: NodePool) -> None:
    """Raise ObjectError if requirements exclude each other, so that there can be no node."""
    requirements = Requirements()
    for place, (expression, _) in enumerate(pool.written_requirements):
        requirement = new_requirement(*expression)
        if (
            (existing := requirements.get(requirement.key)) is not None
            and not existing.has_intersection(requirement)
            and not (existing.excludes and requirement.excludes)
        ):
            at = f"spec.template.spec.requirements[{place}]"
            raise ObjectError(f"{at}: {requirement} and {existing} rule each other out, so that there can be no node")
        requirements.add([requirement])
    for key, value in pool.labels.items():
        if key in requirements and not requirements[key].has(value):
            at = f"spec.template.metadata.labels.{key}"
            raise ObjectError(f"{at}: {value!r} and the requirement {requirements[key]} rule each other out")
