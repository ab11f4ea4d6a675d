"""The document's schema says the same as its reader, and every error has a path that leads into the document."""

from __future__ import annotations

import copy
import re
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.studies import DocumentProblem, ScenarioError, json_schema, read_scenario
from tests.support import tiers

SCHEMA = jsonschema.Draft202012Validator(json_schema())
WHOLE: dict[str, Any] = {
    "apiVersion": "kschedweb/v1",
    "kind": "Scenario",
    "name": "whole",
    "description": "everything",
    "base": {"snapshot": "0b0e7a3e-4a1e-4a55-9c40-6d5a3b3c3f10"},
    "objects": [{"kind": "Namespace", "metadata": {"name": "a"}}],
    "changes": [
        {"at": "10m", "drainNodes": {"nodes": ["a", "b"]}},
        {"addNodes": {"count": 3, "like": "a"}},
        {"addNodes": {"name": "gpu", "allocatable": {"cpu": 4, "memory": "1Gi"}, "zones": ["a"]}},
        {"addNodes": {"file": "nodes.csv", "format": "openb"}},
        {"cordonNodes": {"selector": {"matchLabels": {"a": "b"}}}},
        {"uncordonNodes": {"zone": "a"}},
        {"removeNodes": {"zone": "a"}},
        {"taintNodes": {"zone": "a", "taints": [{"key": "k", "effect": "NoSchedule"}], "remove": ["old"]}},
        {"labelNodes": {"zone": "a", "labels": {"k": "v", "old": None}}},
        {"resizeNodes": {"zone": "a", "factor": 1.5}},
        {"at": 7200, "failZone": {"zone": "a"}},
        {"scaleWorkload": {"workload": "default/Deployment/web", "replicas": 3}},
        {"removeWorkload": {"workload": "default/Job/once"}},
        {
            "addWorkload": {
                "manifest": {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}},
                "replicas": 2,
                "life": "1h",
            }
        },
    ],
    "arrivals": [
        {"trace": {"file": "f", "format": "csv", "columns": {"time": "t", "cpu": {"column": "c", "factor": 0.01}}}},
        {"trace": {"file": "g", "format": "openb", "speed": 2, "leave": False, "limit": 5}},
        {
            "generate": {
                "perHour": 12,
                "tide": {"low": 0.3, "peak": "14h"},
                "shapes": [{"cpu": "1", "life": {"mean": 60}}],
            }
        },
    ],
    "use": {"from": "trace", "file": "cpu"},
    "run": {"until": "quiet", "place": "pending", "cycle": "1ms", "sample": "60s", "controllers": True},
}


def refused(raw: Any) -> list[DocumentProblem]:
    try:
        read_scenario(raw)
    except ScenarioError as error:
        return error.problems
    return []


def test_a_document_with_every_key_is_read_and_meets_the_schema() -> None:
    read_scenario(WHOLE)
    SCHEMA.validate(WHOLE)
    SCHEMA.check_schema(SCHEMA.schema)


def places(raw: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in ``raw``."""
    inner = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [path, *(inner_path for key, value in inner for inner_path in places(value, (*path, key)))]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["10m", "1Gi", "a", "-1s", "default/Job/a"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=tiers.count(120, 1000), deadline=None)
@given(st.sampled_from(places(WHOLE)[1:]), VALUES, st.booleans())
def test_a_value_in_the_wrong_place_is_told_where_it_stands(place: tuple[Any, ...], value: Any, extra: bool) -> None:
    raw = copy.deepcopy(WHOLE)
    holder = raw
    for key in place[:-1]:
        holder = holder[key]
    if extra and isinstance(holder, dict):
        holder["unheardOf"] = value
    else:
        holder[place[-1]] = value
    refusals = refused(raw)
    if (
        extra
        and isinstance(holder, dict)
        and place[0] in ("run", "use", "arrivals", "base")
        and "life" not in place[:-1]
    ):
        assert refusals, "an unknown key is refused"
    top = {str(key) for key in WHOLE}
    for problem in refusals:
        first = re.split(r"[.\[]", problem.path)[0]
        assert first in top | {"unheardOf"}, problem
        assert first in (place[0], "unheardOf"), f"{problem} is told elsewhere than {place}"


@settings(max_examples=tiers.count(80, 500), deadline=None)
@given(st.sampled_from(places(WHOLE)[1:]), VALUES)
def test_what_the_reader_takes_the_schema_takes_too(place: tuple[Any, ...], value: Any) -> None:
    raw = copy.deepcopy(WHOLE)
    holder = raw
    for key in place[:-1]:
        holder = holder[key]
    if value is None:
        del holder[place[-1]]  # Null is as good as absent to the reader; the schema does not offer it.
    else:
        holder[place[-1]] = value
    if not refused(raw):
        SCHEMA.validate(raw)


@settings(max_examples=tiers.count(60, 500), deadline=None)
@given(
    st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from([*WHOLE, "x"]), inner, max_size=4), max_leaves=8)
)
def test_anything_is_read_or_refused(raw: Any) -> None:
    for problem in refused(raw):
        assert problem.text
