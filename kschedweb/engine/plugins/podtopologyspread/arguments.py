"""Arguments of PodTopologySpread and HkePodTopologySpread, in kube-scheduler's words."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.args import LABEL_SELECTOR, args_struct
from kschedweb.engine.config.types import INT32, STRING, Field, ListOf, Struct, text
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    child,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kschedweb.engine.validation.labels import name_complaints

_POLICY = text("v1.NodeInclusionPolicy")
SPREAD_CONSTRAINT = Struct(
    "v1.TopologySpreadConstraint",
    "How pods are spread over the values of a node label.",
    (
        Field("maxSkew", INT32, "Largest difference allowed between two domains.", omit_empty=False, minimum=1),
        Field("topologyKey", STRING, "Node label whose values are the domains.", omit_empty=False),
        Field(
            "whenUnsatisfiable",
            text("v1.UnsatisfiableConstraintAction"),
            "Refuse the node, or only score it lower.",
            omit_empty=False,
            enum=("DoNotSchedule", "ScheduleAnyway"),
        ),
        Field(
            "labelSelector", LABEL_SELECTOR, "Must be left out here: it is taken from the pod's owner.", pointer=True
        ),
        Field("minDomains", INT32, "Fewest domains that must exist, at least 1.", pointer=True),
        Field(
            "nodeAffinityPolicy",
            _POLICY,
            "Whether only nodes that the pod's affinity allows count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        Field(
            "nodeTaintsPolicy",
            _POLICY,
            "Whether only nodes whose taints the pod tolerates count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        Field("matchLabelKeys", ListOf(STRING), "Pod labels whose values are added to the selector."),
    ),
    required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
)
POD_TOPOLOGY_SPREAD = args_struct(
    "PodTopologySpreadArgs",
    "Spreading for pods that ask for none themselves.",
    Field("defaultConstraints", ListOf(SPREAD_CONSTRAINT), "Constraints to use; defaultingType must be List."),
    Field(
        "defaultingType",
        text("v1.PodTopologySpreadConstraintsDefaulting"),
        "System spreads over hosts and zones as Kubernetes does, List uses defaultConstraints.",
        default="System",
        enum=("System", "List"),
    ),
)
HKE = args_struct("HkePodTopologySpreadArgs", POD_TOPOLOGY_SPREAD.help, *POD_TOPOLOGY_SPREAD.fields[2:])


def set_defaults(args: dict[str, Any]) -> None:
    args["defaultingType"] = args["defaultingType"] or "System"


def problems(args: dict[str, Any], path: str) -> list[Problem]:
    kind, constraints = args["defaultingType"], args["defaultConstraints"] or []
    at = child(path, "defaultingType")
    found: list[Problem] = []
    if kind not in ("System", "List"):
        found.append(unsupported(at, Typed(kind), ("System", "List")))
    elif kind == "System" and constraints:
        found.append(invalid(at, Typed(kind), "when .defaultConstraints are not empty"))
    at = child(path, "defaultConstraints")
    for index, constraint in enumerate(constraints):
        found += _constraint_problems(constraint, f"{at}[{index}]")
        key = (constraint["topologyKey"], constraint["whenUnsatisfiable"])
        if any(key == (other["topologyKey"], other["whenUnsatisfiable"]) for other in constraints[:index]):
            found.append(duplicate(f"{at}[{index}]", f"{{{key[0]}, {key[1]}}}"))
    return found


def _constraint_problems(constraint: dict[str, Any], path: str) -> list[Problem]:
    found: list[Problem] = []
    if constraint["maxSkew"] <= 0:
        found.append(invalid(f"{path}.maxSkew", constraint["maxSkew"], "not in valid range (0, inf)"))
    key, at = constraint["topologyKey"], f"{path}.topologyKey"
    if key:
        found += [invalid(at, key, text) for text in name_complaints(key)]
    else:
        found.append(required(at, "can not be empty"))
    action, at = constraint["whenUnsatisfiable"], f"{path}.whenUnsatisfiable"
    if not action:
        found.append(required(at, "can not be empty"))
    elif action not in ("DoNotSchedule", "ScheduleAnyway"):
        found.append(unsupported(at, Typed(action), ("DoNotSchedule", "ScheduleAnyway")))
    if constraint["labelSelector"] is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        found.append(forbidden(f"{path}.labelSelector", detail))
    return found
