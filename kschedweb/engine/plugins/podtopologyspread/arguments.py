"""Arguments of PodTopologySpread and HkePodTopologySpread, in kube-scheduler's words."""

from __future__ import annotations

from kschedweb.engine.config.args import LABEL_SELECTOR, args_struct
from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import INT32, STRING, ListType, Struct, StructField, text
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    child_path,
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
        StructField("maxSkew", INT32, "Largest difference allowed between two domains.", omit_empty=False, minimum=1),
        StructField("topologyKey", STRING, "Node label whose values are the domains.", omit_empty=False),
        StructField(
            "whenUnsatisfiable",
            text("v1.UnsatisfiableConstraintAction"),
            "Refuse the node, or only score it lower.",
            omit_empty=False,
            enum=("DoNotSchedule", "ScheduleAnyway"),
        ),
        StructField(
            "labelSelector", LABEL_SELECTOR, "Must be left out here: it is taken from the pod's owner.", pointer=True
        ),
        StructField("minDomains", INT32, "Fewest domains that must exist, at least 1.", pointer=True),
        StructField(
            "nodeAffinityPolicy",
            _POLICY,
            "Whether only nodes that the pod's affinity allows count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        StructField(
            "nodeTaintsPolicy",
            _POLICY,
            "Whether only nodes whose taints the pod tolerates count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        StructField("matchLabelKeys", ListType(STRING), "Pod labels whose values are added to the selector."),
    ),
    required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
)
POD_TOPOLOGY_SPREAD = args_struct(
    "PodTopologySpreadArgs",
    "Spreading for pods that ask for none themselves.",
    StructField("defaultConstraints", ListType(SPREAD_CONSTRAINT), "Constraints to use; defaultingType must be List."),
    StructField(
        "defaultingType",
        text("v1.PodTopologySpreadConstraintsDefaulting"),
        "System spreads over hosts and zones as Kubernetes does, List uses defaultConstraints.",
        default="System",
        enum=("System", "List"),
    ),
)
HKE = args_struct("HkePodTopologySpreadArgs", POD_TOPOLOGY_SPREAD.help, *POD_TOPOLOGY_SPREAD.fields[2:])


def set_defaults(args: PluginArgs) -> None:
    args["defaultingType"] = args["defaultingType"] or "System"


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    kind, constraints = args["defaultingType"], args["defaultConstraints"] or []
    at = child_path(path, "defaultingType")
    problems: list[Problem] = []
    if kind not in ("System", "List"):
        problems.append(unsupported(at, Typed(kind), ("System", "List")))
    elif kind == "System" and constraints:
        problems.append(invalid(at, Typed(kind), "when .defaultConstraints are not empty"))
    at = child_path(path, "defaultConstraints")
    for index, constraint in enumerate(constraints):
        problems += _constraint_problems(constraint, f"{at}[{index}]")
        key = (constraint["topologyKey"], constraint["whenUnsatisfiable"])
        if any(key == (other["topologyKey"], other["whenUnsatisfiable"]) for other in constraints[:index]):
            problems.append(duplicate(f"{at}[{index}]", f"{{{key[0]}, {key[1]}}}"))
    return problems


def _constraint_problems(constraint: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if constraint["maxSkew"] <= 0:
        problems.append(invalid(f"{path}.maxSkew", constraint["maxSkew"], "not in valid range (0, inf)"))
    key, at = constraint["topologyKey"], f"{path}.topologyKey"
    if key:
        problems += [invalid(at, key, text) for text in name_complaints(key)]
    else:
        problems.append(required(at, "can not be empty"))
    action, at = constraint["whenUnsatisfiable"], f"{path}.whenUnsatisfiable"
    if not action:
        problems.append(required(at, "can not be empty"))
    elif action not in ("DoNotSchedule", "ScheduleAnyway"):
        problems.append(unsupported(at, Typed(action), ("DoNotSchedule", "ScheduleAnyway")))
    if constraint["labelSelector"] is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        problems.append(forbidden(f"{path}.labelSelector", detail))
    return problems
