"""Structures that the arguments of several plugins share (``<Plugin>Args`` of kubescheduler.config.k8s.io/v1)."""

from __future__ import annotations

from typing import TypedDict

from kschedweb.engine.config.schema import API_VERSION
from kschedweb.engine.config.types import INT32, INT64, STRING, ListType, MapType, Struct, StructField, text
from kschedweb.engine.validation.fields import Problem, invalid, required


def args_struct(kind: str, help: str, *fields: StructField) -> Struct:
    """Return the table of an args kind: ``fields`` with the leading ``kind`` and ``apiVersion``."""
    return Struct(
        f"v1.{kind}",
        help,
        (
            StructField("kind", STRING, "Optional: it follows from the plugin's name.", enum=(kind,)),
            StructField("apiVersion", STRING, "Optional.", enum=(API_VERSION,)),
            *fields,
        ),
    )


LABEL_SELECTOR_REQUIREMENT = Struct(
    "v1.LabelSelectorRequirement",
    "A condition on a label.",
    (
        StructField("key", STRING, "Name of the label.", omit_empty=False),
        StructField(
            "operator",
            text("v1.LabelSelectorOperator"),
            "How the label is compared.",
            omit_empty=False,
            enum=("In", "NotIn", "Exists", "DoesNotExist"),
        ),
        StructField("values", ListType(STRING), "Values to compare with."),
    ),
    required=("key", "operator"),
)

LABEL_SELECTOR = Struct(
    "v1.LabelSelector",
    "Conditions on labels, all of which must hold.",
    (
        StructField("matchLabels", MapType(STRING), "Labels with exactly these values."),
        StructField("matchExpressions", ListType(LABEL_SELECTOR_REQUIREMENT), "Further conditions."),
    ),
)

RESOURCE = Struct(
    "v1.ResourceSpec",
    "A resource and its weight.",
    (
        StructField("name", STRING, "Name of the resource, as cpu, memory or example.com/gpu.", omit_empty=False),
        StructField(
            "weight", INT64, "Share of the resource in the score; 0 counts as 1.", default=1, minimum=0, maximum=100
        ),
    ),
    required=("name",),
)

SHAPE_POINT = Struct(
    "v1.UtilizationShapePoint",
    "A point of the scoring function.",
    (
        StructField("utilization", INT32, "Use of the node in percent.", omit_empty=False, minimum=0, maximum=100),
        StructField("score", INT32, "Score there.", omit_empty=False, minimum=0, maximum=10),
    ),
    required=("utilization", "score"),
)


class ResourceSpec(TypedDict):
    """A resource that counts in a score, and its weight."""

    name: str
    weight: int


class UtilizationShapePoint(TypedDict):
    """A point of a scoring function: the node's use in percent, and the score there."""

    utilization: int
    score: int


def default_resources() -> list[ResourceSpec]:
    """Return the resources that count if a document names none."""
    return [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def set_default_weights(resources: list[ResourceSpec]) -> None:
    """Give the resources that have no weight the weight 1."""
    for resource in resources:
        resource["weight"] = resource["weight"] or 1


def shape_problems(shape: list[UtilizationShapePoint], path: str) -> list[Problem]:
    """Return the problems of a scoring function's points."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    problems: list[Problem] = []
    use = [point["utilization"] for point in shape]
    # As `validateFunctionShape`: only the first pair that does not increase is reported.
    if (fall := next((i for i in range(1, len(use)) if use[i - 1] >= use[i]), None)) is not None:
        problems.append(invalid(f"{path}[{fall}].utilization", use[fall], "values must be sorted in increasing order"))
    for index, point in enumerate(shape):
        if not 0 <= point["utilization"] <= 100:
            problems.append(
                invalid(f"{path}[{index}].utilization", point["utilization"], "not in valid range [0, 100]")
            )
        if not 0 <= point["score"] <= 10:
            problems.append(invalid(f"{path}[{index}].score", point["score"], "not in valid range [0, 10]"))
    return problems
