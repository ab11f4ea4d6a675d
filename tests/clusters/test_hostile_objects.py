"""Objects bent at random: whatever they hold, an import ends in rows, in listed problems, or in a clear refusal."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.clusters import demo
from kschedweb.clusters.importing.imports import ImportFailed, files_read
from kschedweb.clusters.models import NodeRow, PodRow
from kschedweb.clusters.rows import pod_row, rows_of
from kschedweb.engine.json_types import Json
from tests.support import tiers
from tests.support.hostile import places

EXTREMES: list[Any] = [
    None, True, False, 0, -1, 2**31, 2**63 - 1, -(2**63), 1.5, -0.0, 1e308, "", " ", "x" * 5000, "🙂", "\u2028", "0",
    "-1", "1e99", "9999999999999999",
    "99999999999999999999Ei", "1e-9", "-5Gi", "NaN", "2026-13-45T99:99:99Z", "In", "Exists",
    [], [[]], [None], [3], ["x"], {}, {"": ""}, {"a": None}, {"key": "a", "operator": "Gt", "values": ["x"]},
]  # fmt: skip
values = st.sampled_from(EXTREMES) | st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@cache
def originals() -> tuple[Json, ...]:
    """One object of each shape that the demo has: a node and pods of every kind of rule, and each other kind."""
    objects = demo.generate_cluster()
    pods = [item for item in objects if item["kind"] == "Pod" and "nodeName" not in item["spec"]]
    by_kind = {item["kind"]: item for item in objects if item["kind"] != "Pod"}
    bound = next(item for item in objects if item["kind"] == "Pod" and item["spec"].get("volumes"))
    return (*by_kind.values(), *pods, bound)


@st.composite
def bent(draw: st.DrawFn) -> Json:
    item = copy.deepcopy(draw(st.sampled_from(originals())))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(item)))
        parent: Any = item
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = copy.deepcopy(draw(values))
    return item


@settings(max_examples=tiers.count(120, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(bent(), min_size=1, max_size=4))
def test_no_object_breaks_an_import(items: list[Json]) -> None:
    whole = [originals()[0] | {"kind": "Node", "apiVersion": "v1"}, *items]
    try:
        read = files_read([("file", json.dumps(whole))], limit=10_000_000)
    except ImportFailed:
        return
    rows = rows_of(read.objects)
    nodes, pods = [NodeRow(**row) for row in rows.nodes], [PodRow(**pod_row(pod)) for pod in rows.pods]
    assert rows.pending == sum(pod.pending for pod in pods)
    assert len(nodes) <= sum(item["kind"] == "Node" for item in read.objects)
    assert len(pods) <= sum(item["kind"] == "Pod" for item in read.objects)
    for row in (*nodes, *pods):
        row.clean_fields(exclude=["id", "snapshot", "taints", "extended", "created_at"])
    assert all(problem["object"] and problem["reason"] for problem in (*rows.problems, *read.problems))
