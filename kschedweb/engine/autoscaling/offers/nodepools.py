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
from kschedweb.engine.autoscaling.offers.requirements import IN, OPERATORS, Requirements, Written, requirement
from kschedweb.engine.controllers.autoscaling import cron
from kschedweb.engine.objects.access import Json, ObjectError, each, integer, mapping, string_map, text, texts
from kschedweb.engine.objects.taints import Taint, read_taints
from kschedweb.engine.validation.golang import seconds
from kschedweb.engine.values import dataclass

API_VERSION, KIND = "karpenter.sh/v1", "NodePool"
WHEN_EMPTY, UNDERUTILIZED_TOO, BALANCED = "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
POLICIES = (WHEN_EMPTY, UNDERUTILIZED_TOO, BALANCED)
EMPTY, UNDERUTILIZED = "Empty", "Underutilized"
NEVER = "Never"
UNBOUNDED, MOST_WEIGHT = 2**31 - 1, 100
_NODES = re.compile(r"(?:(?P<percent>100|[0-9]{1,2})%|(?P<number>[0-9]+))")
_DAY_BEGINS = cron.MONDAY.timestamp()


@dataclass(frozen=True, slots=True)
class Budget:
    """How many nodes may go at once, for some reasons (all where ``None``), at some times."""

    nodes: str
    reasons: tuple[str, ...] | None
    schedule: cron.Cron | None
    duration: float | None  # seconds

    def allowed(self, total: int, now: float) -> int:
        """How many of ``total`` nodes may go; without bound while it is not active."""
        if not self.active(now):
            return UNBOUNDED
        found = _NODES.fullmatch(self.nodes)
        assert found is not None
        return math.ceil(int(found["percent"]) * total / 100) if found["percent"] else int(found["number"])

    def active(self, now: float) -> bool:
        if self.schedule is None:
            return True
        due = self.schedule.after(now - _DAY_BEGINS - (self.duration or 0.0), cron.MONDAY)
        return due is not None and due <= now - _DAY_BEGINS


class NodeClassRef(NamedTuple):
    """Which object tells a provider how to make nodes."""

    group: str
    kind: str
    name: str

    @classmethod
    def read(cls, raw: Json, path: str) -> NodeClassRef:
        """The class of the kwok provider where ``raw`` is empty. Raises ObjectError."""
        if not raw:
            return cls(KWOK_GROUP, NODE_CLASS_KIND, "default")
        return cls(*(text(raw, key, path) for key in cls._fields))


@dataclass(frozen=True, slots=True, eq=False)
class NodePool:
    """``written`` are the requirements of its template as they stand there, each with its minValues.

    Any provider's node class will do: whoever asks says what instance types there are, which is what providers make of
    their classes.
    """

    name: str
    weight: int
    static: bool
    terminating: bool
    written: tuple[tuple[Written, int | None], ...]
    labels: dict[str, str]
    node_class: NodeClassRef
    taints: tuple[Taint, ...]
    startup_taints: tuple[Taint, ...]
    limits: Milli
    consolidate_after: float | None  # seconds; None: never
    policy: str
    budgets: tuple[Budget, ...]
    raw: Json = field(repr=False)

    @property
    def all_labels(self) -> dict[str, str]:
        """The labels of its nodes that are certain."""
        label = node_class_label(self.node_class.group, self.node_class.kind)
        return self.labels | {NODEPOOL: self.name, label: self.node_class.name}

    def requirements(self) -> Requirements:
        """What a new node of it is."""
        found = self.own_requirements()
        found.add(Requirements.of_labels(self.all_labels).values())
        found.add(requirement(key, IN, ("true",)) for key in (REGISTERED, INITIALIZED))
        return found

    def own_requirements(self) -> Requirements:
        return Requirements.of(requirement(*one, min_values) for one, min_values in self.written)

    def domains(self) -> Requirements:
        """What of its nodes is known for topology: its requirements and the labels of its template."""
        found = self.own_requirements()
        found.add(Requirements.of_labels(self.labels).values())
        return found

    def allowed_disruptions(self, total: int, reason: str, now: float) -> int:
        """The least that its budgets allow for a reason."""
        counted = (one for one in self.budgets if one.reasons is None or reason in one.reasons)
        return min((one.allowed(total, now) for one in counted), default=UNBOUNDED)

    @classmethod
    def read(cls, raw: Json) -> NodePool:
        """Raises ObjectError."""
        check_kind(raw)
        metadata, spec = mapping(raw, "metadata"), mapping(raw, "spec")
        template, disruption = mapping(spec, "template", "spec."), mapping(spec, "disruption", "spec.")
        inner, at = mapping(template, "spec", "spec.template."), "spec.template.spec."
        name = text(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        policy = text(disruption, "consolidationPolicy", "spec.disruption.") or UNDERUTILIZED_TOO
        if policy not in POLICIES:
            raise ObjectError(f"spec.disruption.consolidationPolicy: must be one of {', '.join(POLICIES)}")
        weight = integer(spec, "weight", path="spec.")
        if spec.get("weight") is not None and not 1 <= weight <= MOST_WEIGHT:
            raise ObjectError(f"spec.weight: must be 1 to {MOST_WEIGHT}, is {weight}")
        read_nillable(inner, "expireAfter", at)
        found = cls(
            name=name,
            weight=weight,
            static=spec.get("replicas") is not None,
            terminating=metadata.get("deletionTimestamp") is not None,
            written=tuple(_written(one, path) for one, path in each(inner, "requirements", at)),
            labels=string_map(mapping(template, "metadata", "spec.template."), "labels", "spec.template.metadata."),
            node_class=NodeClassRef.read(mapping(inner, "nodeClassRef", at), f"{at}nodeClassRef."),
            taints=read_taints(inner, "taints", at),
            startup_taints=read_taints(inner, "startupTaints", at),
            limits=read_milli(spec, "limits", "spec."),
            consolidate_after=read_nillable(disruption, "consolidateAfter", "spec.disruption.", 0.0),
            policy=policy,
            budgets=_budgets(disruption),
            raw=raw,
        )
        _possible(found)
        return found


def check_kind(raw: Mapping[str, Any], kind: str = KIND) -> None:
    """Raises ObjectError for another kind or version."""
    version = raw.get("apiVersion")
    if version != API_VERSION:
        was = f", is {str(version)[:60]!r}" if version else ""
        raise ObjectError(f"apiVersion: must be {API_VERSION}{was}")
    if raw.get("kind") != kind:
        raise ObjectError(f"kind: must be {kind}, is {str(raw.get('kind'))[:60]!r}")


def read_nillable(raw: Json, key: str, path: str, default: float | None = None) -> float | None:
    """A duration in seconds, ``None`` for Never; ``default`` where it is missing. Raises ObjectError."""
    written = text(raw, key, path)
    if key not in raw or raw[key] is None:
        return default
    if written == NEVER:
        return None
    try:
        return seconds(written)
    except ValueError as error:
        raise ObjectError(f"{path}{key}: {error}; write a duration such as 30m, or {NEVER}") from None


def _written(raw: Json, path: str) -> tuple[Written, int | None]:
    found = text(raw, "key", path), text(raw, "operator", path), texts(raw, "values", path)
    if not found[0]:
        raise ObjectError(f"{path}key: is missing")
    if found[1] not in OPERATORS:
        raise ObjectError(f"{path}operator: must be one of {', '.join(OPERATORS)}, is {found[1][:60]!r}")
    if raw.get("minValues") is None:
        return found, None
    least = integer(raw, "minValues", path=path)
    if least < 1:
        raise ObjectError(f"{path}minValues: must be at least 1, is {least}")
    return found, least


def _budgets(disruption: Json) -> tuple[Budget, ...]:
    if disruption.get("budgets") is None:
        return (Budget("10%", None, None, None),)
    return tuple(_budget(raw, path) for raw, path in each(disruption, "budgets", "spec.disruption."))


def _budget(raw: Json, path: str) -> Budget:
    nodes = text(raw, "nodes", path) or "10%"
    if not _NODES.fullmatch(nodes):
        raise ObjectError(f"{path}nodes: must be a number, or a percentage of at most 100%, is {nodes[:60]!r}")
    if (raw.get("schedule") is None) != (raw.get("duration") is None):
        raise ObjectError(f"{path}schedule: must be set with duration, and duration with schedule")
    reasons = None if raw.get("reasons") is None else texts(raw, "reasons", path)
    if raw.get("schedule") is None:
        return Budget(nodes, reasons, None, None)
    try:
        return Budget(nodes, reasons, cron.parse(text(raw, "schedule", path)), seconds(text(raw, "duration", path)))
    except cron.CronError as error:
        raise ObjectError(f"{path}schedule: {error}") from None
    except ValueError as error:
        raise ObjectError(f"{path}duration: {error}") from None


def _possible(pool: NodePool) -> None:
    """Raises ObjectError where requirements rule each other out, so that there can be no node."""
    found = Requirements()
    for place, (written, _) in enumerate(pool.written):
        one = requirement(*written)
        if (known := found.get(one.key)) is not None and not known.meets(one) and not (known.excludes and one.excludes):
            at = f"spec.template.spec.requirements[{place}]"
            raise ObjectError(f"{at}: {one} and {known} rule each other out, so that there can be no node")
        found.add([one])
    for key, value in pool.labels.items():
        if key in found and not found[key].has(value):
            at = f"spec.template.metadata.labels.{key}"
            raise ObjectError(f"{at}: {value!r} and the requirement {found[key]} rule each other out")
