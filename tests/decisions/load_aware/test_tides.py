"""Tides on the decision page: every hour, the steps, and the reason if there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import arithmetic
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.decisions.page_parts import Arithmetic
from kschedweb.engine import Pod
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.policies.models import Revision
from kschedweb.watermarks import storage
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from kschedweb.watermarks.models import Resolution
from tests.decisions.conftest import HEAD
from tests.decisions.load_cases import GIB, REPLICA_SET, amounts, decide, node, pod
from tests.support.html import html_of

WEB = "d/Deployment/web"
DAY = [2.0] * 12 + [0.0] * 12
(SIDE,) = (side for side in all_sides() if side.plugin == "TidalCoLocation")


def nodes() -> list[Json]:
    return [node(name, amounts(100_000, GIB), amounts(100_000, GIB)) for name in ("busy", "free")]


def explain_tide(waiting: Json | None = None, *bound: Json, curve: Any = None) -> Arithmetic:
    """The arithmetic on the first node, which has a pod of the workload with this curve."""
    snapshot = EngineSnapshot.from_objects([*nodes(), REPLICA_SET, pod("web-1-a", {}, "busy"), *bound])
    snapshot.watermarks = Watermarks.from_json({"workloads": {WEB: {"cpu": {"hours": curve}}}}, snapshot.names)
    decision = decide(snapshot, Pod.from_json(waiting or pod("asked", {})), SIDE)
    return arithmetic.explain_score(decision, decision.case, 0, "TidalCoLocation")


def test_every_hour_and_every_step_is_shown() -> None:
    explained = explain_tide(curve=DAY)
    assert len(explained.figures) == 24
    assert explained.figures[0].label == "00:00 to 01:00 UTC"
    assert explained.figures[0].value == "pod 2 cores, node 2 %, mean node 1 %"
    assert explained.figures[23].label == "23:00 to 00:00 UTC"
    assert explained.figures[23].value == "pod 0 cores, node 0 %, mean node 0 %"
    assert explained.figures[0].origin == f"pods of {WEB}"
    steps = [(step.label, step.formula, step.result) for step in explained.steps[:7]]
    assert steps == [
        ("Node when the pod works", "sum of pod × node over 24 hours 48 ÷ sum of pod 24", "2 %"),
        ("Mean node when the pod works", "sum of pod × mean node over 24 hours 24 ÷ sum of pod 24", "1 %"),
        ("Node all day", "mean of the 24 hours", "1 %"),
        ("Mean node all day", "mean of the 24 hours", "0.5 %"),
        ("Tide", "(2 − 1) − (1 − 0.5)", "0.5 points"),
        ("Score", "50 − 5 × 0.5", "47.5"),
        ("Rounded", "to the nearest integer, halves away from zero", "48"),
    ]
    assert explained.notes == []


def test_what_is_not_known_is_said() -> None:
    stranger = pod("stranger", {}, "busy")
    del stranger["metadata"]["ownerReferences"]
    explained = explain_tide(None, stranger, curve=[2.0, None, *[0.0] * 22])
    assert explained.notes == [
        "Hours of which nothing is known of the pod: 1 of 24. They count as the mean of the others.",
        "Pods on this node without a curve: 1 of 2. They add nothing to the node's.",
    ]


def test_why_there_is_no_tide_is_said() -> None:
    alone = pod("asked", {})
    del alone["metadata"]["ownerReferences"]
    for explained, note in (
        (explain_tide(), f"No curve of the day is known for {WEB}: none of its pods has run for a whole hour yet."),
        (
            explain_tide(curve=[None] * 24),
            f"No curve of the day is known for {WEB}: none of its pods has run for a whole hour yet.",
        ),
        (explain_tide(curve=[0.0] * 24), f"By the curve of {WEB}, its pods use nothing at any hour."),
        (explain_tide(alone, curve=DAY), "The pod belongs to no workload, so no curve of the day is known."),
    ):
        assert explained.notes == [f"{note} Every node scores 50."]
        assert explained.computed == 50


@pytest.mark.django_db
def test_the_page_shows_what_was_collected(
    store_snapshot: Callable[..., Snapshot], policy: Callable[[str, str], Revision], client_as: Callable[[str], Client]
) -> None:
    plugins = "{score: {disabled: [{name: '*'}], enabled: [{name: TidalCoLocation}]}}"
    policy("tidal", f"{HEAD}profiles: [{{plugins: {plugins}}}]\n")
    snapshot = store_snapshot([*nodes(), REPLICA_SET, pod("web-1-a", {}, "busy"), pod("web-1-x", {})])
    taken_at = int(snapshot.taken_at.timestamp())
    rows = [
        (taken_at // 3600 * 3600 - 3600 * back, {Figure(WORKLOAD, "cpu", "15m"): np.array([4.0 if back < 12 else 0.0])})
        for back in reversed(range(24))
    ]
    storage.samples_store(
        cluster=snapshot.cluster,
        kind=WORKLOAD,
        names=[WEB],
        rows=rows,
        origin="prometheus",
        resolution=Resolution.HOUR,
    )
    use = [(taken_at - 60, {Figure(NODE, "cpu", "15m"): [4.0, 0.0]})]
    storage.samples_store(cluster=snapshot.cluster, kind=NODE, names=["busy", "free"], rows=use, origin="prometheus")
    query = {"policy": "tidal", "node": "busy", "cell": "TidalCoLocation"}
    answer = client_as("viewer").get("/decision/demo/d/web-1-x/", query)
    assert answer.context["arithmetic"].computed == 45  # a tide of 1 point
    assert "pod 4 cores, node 4 %, mean node 2 %" in html_of(answer)
