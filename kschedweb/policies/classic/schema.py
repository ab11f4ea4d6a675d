"""A v1 Policy as JSON Schema: for completion in the editor, and for the fields of arguments."""

from __future__ import annotations

from kschedweb.engine.releases.classic.catalogue import EDITION, GATES, MORE_PREDICATES, Edition
from kschedweb.engine.releases.classic.policy import EXTENDER_FIELDS, MAX_PRIORITY, TLS_FIELDS
from kschedweb.engine.releases.classic.predicates import ARGUED as PREDICATE_ARGUMENTS
from kschedweb.engine.releases.classic.priorities import ARGUED as PRIORITY_ARGUMENTS
from kschedweb.policies.editing.release_tables import Schema

KINDS = {"predicates": tuple(PREDICATE_ARGUMENTS), "priorities": tuple(PRIORITY_ARGUMENTS)}


def _object_schema(properties: Schema, description: str = "") -> Schema:
    return {"type": "object", "properties": properties} | ({"description": description} if description else {})


def _string_list_schema(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _integer_schema(low: int, high: int, description: str) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high, "description": description}


def _boolean_schema(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def _string_schema(description: str) -> Schema:
    return {"type": "string", "description": description}


_POINT = _object_schema(
    {
        "utilization": _integer_schema(0, 100, "Percent of what the node can give."),
        "score": _integer_schema(0, MAX_PRIORITY, "The score at this use."),
    }
)
ARGUMENTS: dict[str, Schema] = {
    "serviceAffinity": _object_schema(
        {
            "labels": _string_list_schema(
                "One a line. Pods of a service go to nodes that have the same values of these labels."
            )
        },
        "Pods of a service stay together.",
    ),
    "labelsPresence": _object_schema(
        {
            "labels": _string_list_schema("One a line. What counts is whether the node has them, not their values."),
            "presence": _boolean_schema("true: nodes must have all of them; false: none."),
        },
        "Nodes that have labels, or do not have them.",
    ),
    "serviceAntiAffinity": _object_schema(
        {"label": _string_schema("Pods of a service are spread over the values of this label.")},
        "Pods of a service are spread.",
    ),
    "labelPreference": _object_schema(
        {
            "label": _string_schema("Nodes with this label are preferred."),
            "presence": _boolean_schema("true: nodes that have it; false: nodes that do not."),
        },
        "Nodes that have a label, or do not have it, are preferred.",
    ),
    "requestedToCapacityRatioArguments": _object_schema(
        {"shape": {"type": "array", "items": _POINT, "description": "Points of a broken line, by rising use."}},
        "The score follows a broken line over how much of the node is requested.",
    ),
}
GENERAL: dict[str, Schema] = {
    "hardPodAffinitySymmetricWeight": {
        **_integer_schema(
            1, 100, "What a required affinity of a pod counts for the pods that it means, in the priority too."
        ),
        "default": EDITION.hard_pod_affinity_weight,
    },
    "alwaysCheckAllPredicates": {
        **_boolean_schema("true: all predicates run on every node, and all reasons are reported."),
        "default": False,
    },
}


def classic_schema() -> Schema:
    """Return the schema of a Policy, with every name that 1.9 or 1.13 knows."""
    edition = Edition(gates=GATES)
    predicates = sorted(EDITION.predicates | edition.predicates | edition.mandatory_predicates | MORE_PREDICATES)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy",
        **_object_schema(
            {
                "kind": {"const": "Policy", "enum": ["Policy"]},
                "apiVersion": {"const": "v1", "enum": ["v1"]},
                "predicates": {"type": "array", "items": _item_schema(predicates, KINDS["predicates"], {})},
                "priorities": {
                    "type": "array",
                    "items": _item_schema(
                        sorted(edition.priorities),
                        KINDS["priorities"],
                        {"weight": {"type": "integer", "minimum": 1, "description": "Times the score."}},
                    ),
                },
                "extenders": {"type": "array", "items": _extender_schema()},
                **GENERAL,
            }
        ),
    }


def _item_schema(names: list[str], kinds: tuple[str, ...], more: Schema) -> Schema:
    argument = _object_schema({kind: ARGUMENTS[kind] for kind in kinds})
    return _object_schema({"name": {"type": "string", "enum": names}, **more, "argument": argument})


def _extender_schema() -> Schema:
    flags = {"enableHttps", "nodeCacheCapable", "ignorable"}
    properties: Schema = {name: {"type": "boolean" if name in flags else "string"} for name in EXTENDER_FIELDS.values()}
    properties |= {name: {"type": "integer"} for name in ("weight", "httpTimeout")}
    properties["httpTimeout"]["description"] = "In nanoseconds."
    properties["tlsConfig"] = _object_schema(
        {name: {"type": "boolean" if name == "insecure" else "string"} for name in TLS_FIELDS.values()}
    )
    managed = _object_schema({"name": {"type": "string"}, "ignoredByScheduler": {"type": "boolean"}})
    return _object_schema(properties | {"managedResources": {"type": "array", "items": managed}})
