"""A v1 Policy as JSON Schema: for completion in the editor, and for the fields of arguments."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.releases.classic.catalogue import EDITION, GATES, MORE_PREDICATES, Edition
from kschedweb.engine.releases.classic.policy import EXTENDER_FIELDS, MAX_PRIORITY, TLS_FIELDS
from kschedweb.engine.releases.classic.predicates import ARGUED as PREDICATE_ARGUMENTS
from kschedweb.engine.releases.classic.priorities import ARGUED as PRIORITY_ARGUMENTS

Schema = dict[str, Any]

KINDS = {"predicates": tuple(PREDICATE_ARGUMENTS), "priorities": tuple(PRIORITY_ARGUMENTS)}


def _object(properties: Schema, said: str = "") -> Schema:
    return {"type": "object", "properties": properties} | ({"description": said} if said else {})


def _texts(said: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": said}


def _whole(low: int, high: int, said: str) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high, "description": said}


def _bool(said: str) -> Schema:
    return {"type": "boolean", "description": said}


def _text(said: str) -> Schema:
    return {"type": "string", "description": said}


_POINT = _object(
    {
        "utilization": _whole(0, 100, "Percent of what the node can give."),
        "score": _whole(0, MAX_PRIORITY, "The score at this use."),
    }
)
ARGUMENTS: dict[str, Schema] = {
    "serviceAffinity": _object(
        {"labels": _texts("One a line. Pods of a service go to nodes that have the same values of these labels.")},
        "Pods of a service stay together.",
    ),
    "labelsPresence": _object(
        {
            "labels": _texts("One a line. What counts is whether the node has them, not their values."),
            "presence": _bool("true: nodes must have all of them; false: none."),
        },
        "Nodes that have labels, or do not have them.",
    ),
    "serviceAntiAffinity": _object(
        {"label": _text("Pods of a service are spread over the values of this label.")},
        "Pods of a service are spread.",
    ),
    "labelPreference": _object(
        {
            "label": _text("Nodes with this label are preferred."),
            "presence": _bool("true: nodes that have it; false: nodes that do not."),
        },
        "Nodes that have a label, or do not have it, are preferred.",
    ),
    "requestedToCapacityRatioArguments": _object(
        {"shape": {"type": "array", "items": _POINT, "description": "Points of a broken line, by rising use."}},
        "The score follows a broken line over how much of the node is requested.",
    ),
}
GENERAL: dict[str, Schema] = {
    "hardPodAffinitySymmetricWeight": {
        **_whole(1, 100, "What a required affinity of a pod counts for the pods that it means, in the priority too."),
        "default": EDITION.hard_pod_affinity_weight,
    },
    "alwaysCheckAllPredicates": {
        **_bool("true: all predicates are asked of every node, and all reasons are told."),
        "default": False,
    },
}


def classic_schema() -> Schema:
    """The schema of a Policy, with every name that 1.9 or 1.13 knows."""
    every = Edition(gates=GATES)
    predicates = sorted(EDITION.predicates | every.predicates | every.mandatory | MORE_PREDICATES)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy",
        **_object(
            {
                "kind": {"const": "Policy", "enum": ["Policy"]},
                "apiVersion": {"const": "v1", "enum": ["v1"]},
                "predicates": {"type": "array", "items": _item(predicates, KINDS["predicates"], {})},
                "priorities": {
                    "type": "array",
                    "items": _item(
                        sorted(every.priorities),
                        KINDS["priorities"],
                        {"weight": {"type": "integer", "minimum": 1, "description": "Times the score."}},
                    ),
                },
                "extenders": {"type": "array", "items": _extender()},
                **GENERAL,
            }
        ),
    }


def _item(names: list[str], kinds: tuple[str, ...], more: Schema) -> Schema:
    argument = _object({kind: ARGUMENTS[kind] for kind in kinds})
    return _object({"name": {"type": "string", "enum": names}, **more, "argument": argument})


def _extender() -> Schema:
    flags = {"enableHttps", "nodeCacheCapable", "ignorable"}
    found: Schema = {name: {"type": "boolean" if name in flags else "string"} for name in EXTENDER_FIELDS.values()}
    found |= {name: {"type": "integer"} for name in ("weight", "httpTimeout")}
    found["httpTimeout"]["description"] = "In nanoseconds."
    found["tlsConfig"] = _object(
        {name: {"type": "boolean" if name == "insecure" else "string"} for name in TLS_FIELDS.values()}
    )
    managed = _object({"name": {"type": "string"}, "ignoredByScheduler": {"type": "boolean"}})
    return _object(found | {"managedResources": {"type": "array", "items": managed}})
