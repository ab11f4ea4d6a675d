"""Watermarks in annotations: what is written is read back, and no text is ever more than a problem."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.releases import load
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.annotations import (
    KEY,
    LONGEST,
    MEBIBYTE,
    NODE_GRAINS,
    WORKLOAD_GRAINS,
    AnnotatedUse,
    key_of,
    node_uses,
    read_annotations,
    render_if_changed,
    workload_uses,
)
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z
KEYS = ("5m", "15m", "1h", "1d", "15m_std", "1h_max")
TEXT = '{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":41.3},"memory":{"15m":60}}'


def with_annotation(raw: dict[str, Any], annotation: object) -> dict[str, Any]:
    raw["metadata"]["annotations"] = {KEY: annotation}
    return raw


def workload(name: str, annotation: object, kind: str = "Deployment") -> dict[str, Any]:
    version = "apps.kruise.io/v1alpha1" if kind == "CloneSet" else "apps/v1"
    raw = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": {}}
    return with_annotation(raw, annotation)


def read(*objects: dict[str, Any]) -> tuple[Watermarks | None, list[tuple[str, str]]]:
    snapshot = Snapshot.from_objects(objects)
    annotated = read_annotations(snapshot.nodes, snapshot.objects)
    return annotated.watermarks, annotated.problems


def figures(values: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, dict[str, float]]]:
    values_by_key = st.dictionaries(st.sampled_from(KEYS), values, min_size=1)
    return st.fixed_dictionaries({}, optional={"cpu": values_by_key, "memory": values_by_key})


def test_a_text_says_when_and_how_much() -> None:
    use = AnnotatedUse.from_json(TEXT)
    assert use == AnnotatedUse(NOON, {"cpu": {"15m": 41.3}, "memory": {"15m": 60.0}})
    assert use.to_json() == TEXT


def test_figures_of_nodes_and_workloads_are_read_from_a_cluster() -> None:
    watermarks, problems = read(
        with_annotation(node("a"), TEXT),
        node("b"),
        workload("web", '{"updated":"2026-11-21T13:00:00+01:00","cpu":{"15m":0.25},"memory":{"1h":1048576}}'),
        workload("clones", '{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":1}}', "CloneSet"),
    )
    assert problems == []
    assert watermarks is not None
    assert watermarks.source == "annotations"
    assert watermarks.names == ["a", "b"]
    np.testing.assert_equal(watermarks.updated, [NOON, math.nan])
    np.testing.assert_equal(watermarks.column("cpu", "15m"), [41.3, math.nan])
    np.testing.assert_equal(watermarks.column("memory", "1h"), [math.nan, math.nan])
    assert watermarks.workloads == {
        "shop/Deployment/web": {"cpu": {"15m": 0.25}, "memory": {"1h": 1048576.0}},
        "shop/CloneSet/clones": {"cpu": {"15m": 1.0}},
    }


def test_a_cluster_without_annotations_has_no_watermarks() -> None:
    assert read(node("a"), with_annotation(node("b"), None)) == (None, [])


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        ("", "is not JSON"),
        ("[" * 4000, "is not JSON"),
        ("[]", "must be a JSON object"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":NaN}}', "is not JSON"),
        ("{}", "updated: is missing; it says when the figures were taken, like 2026-11-21T13:00:00Z"),
        ('{"updated":1795262400}', "updated: must be a string, is a number"),
        ('{"updated":"today"}', "updated: 'today' is no RFC 3339 time like 2026-11-21T13:00:00Z"),
        ('{"updated":"2026-02-30T12:00:00Z"}', "updated: '2026-02-30T12:00:00Z' is no RFC 3339 time"),
        ('{"updated":"2026-11-21T12:00:00"}', "updated: '2026-11-21T12:00:00' is no RFC 3339 time"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":3}', "cpu: must be an object, is a number"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":"3"}}', "cpu.15m: must be a number, is a string"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":true}}', "cpu.15m: must be a number, is a boolean"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":-1}}', "cpu.15m: must be a finite number of at least 0"),
        ('{"updated":"2026-11-21T12:00:00Z","cpu":{"15m":1e999}}', "cpu.15m: must be a finite number of at least 0"),
        (" " * (LONGEST + 1), f"is longer than {LONGEST} characters"),
        ({"cpu": 1}, "must be a string"),
    ],
)
def test_what_cannot_be_understood_is_a_problem_with_object_and_reason(annotation: object, reason: str) -> None:
    watermarks, problems = read(with_annotation(node("good"), TEXT), workload("web", annotation))
    assert watermarks is not None
    assert watermarks.workloads == {}
    [(object_name, message)] = problems
    assert object_name == "Deployment shop/web"
    assert message.startswith(f"annotation {KEY}: {reason}")


NAMES = st.sampled_from(["updated", "cpu", "memory", "15m"])
LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.just("2026-11-21T12:00:00Z")
ANYTHING = st.recursive(LEAVES, lambda more: st.dictionaries(NAMES, more) | st.lists(more))


@given(st.text() | ANYTHING.map(json.dumps))
def test_any_text_is_read_or_is_one_problem(annotation: str) -> None:
    watermarks, problems = read(with_annotation(node("a"), annotation))
    assert len(problems) == (watermarks is None)
    if watermarks is not None:
        assert all((column >= 0).all() for column in watermarks.figures.values())


@given(st.integers(0, 4_000_000_000), figures(st.floats(0, 200)))
def test_what_is_written_on_a_node_is_read_back(updated: int, figures_by_resource: dict[str, dict[str, float]]) -> None:
    use = AnnotatedUse(updated, figures_by_resource).round_figures(NODE_GRAINS)
    reread = AnnotatedUse.from_json(use.to_json())
    assert reread == use
    assert reread.round_figures(NODE_GRAINS) == reread
    for resource, values in figures_by_resource.items():
        for key, value in values.items():
            assert abs(reread.figures[resource][key] - value) <= 0.05 + 1e-9


@given(st.integers(0, 4_000_000_000), figures(st.floats(0, 1e15)))
def test_what_is_written_on_a_workload_is_read_back(
    updated: int, figures_by_resource: dict[str, dict[str, float]]
) -> None:
    use = AnnotatedUse(updated, figures_by_resource).round_figures(WORKLOAD_GRAINS)
    assert AnnotatedUse.from_json(use.to_json()) == use
    assert use.round_figures(WORKLOAD_GRAINS) == use


@given(figures(st.floats(0, 100)), st.floats(0, 299))
def test_noise_causes_no_write(figures_by_resource: dict[str, dict[str, float]], later: float) -> None:
    old = AnnotatedUse(NOON, figures_by_resource).round_figures(NODE_GRAINS)
    noisy = {
        resource: {key: max(0.0, value + 0.9 * (-1) ** place) for place, (key, value) in enumerate(values.items())}
        for resource, values in figures_by_resource.items()
    }
    new = AnnotatedUse(NOON + later, noisy).round_figures(NODE_GRAINS)
    assert render_if_changed(old.to_json(), new, NODE_GRAINS, renew=300) is None


def test_a_figure_that_moved_appeared_or_went_is_written() -> None:
    old = AnnotatedUse(NOON, {"cpu": {"15m": 40.0, "1h": 30.0}})
    for new in ({"15m": 41.1, "1h": 30.0}, {"15m": 40.0}, {"15m": 40.0, "1h": 30.0, "1d": 5.0}):
        use = AnnotatedUse(NOON + 60, {"cpu": new})
        assert render_if_changed(old.to_json(), use, NODE_GRAINS, renew=300) == use.to_json()
    assert (
        render_if_changed(
            old.to_json(), AnnotatedUse(NOON + 60, {"cpu": {"15m": 41.0, "1h": 29.0}}), NODE_GRAINS, renew=300
        )
        is None
    )


def test_a_text_that_grew_old_is_renewed_and_one_from_the_future_or_nowhere_is_replaced() -> None:
    use = AnnotatedUse(NOON, {"cpu": {"15m": 40.0}})
    for age, is_written in ((0, False), (299, False), (300, True), (-1, True)):
        old = AnnotatedUse(NOON - age, use.figures).to_json()
        assert (render_if_changed(old, use, NODE_GRAINS, renew=300) is not None) is is_written
    assert render_if_changed(None, use, NODE_GRAINS, renew=300) == use.to_json()
    assert render_if_changed("gibberish", use, NODE_GRAINS, renew=300) == use.to_json()


def test_small_workloads_do_not_tremble_and_large_ones_move_by_their_share() -> None:
    cpu, memory = WORKLOAD_GRAINS["cpu"], WORKLOAD_GRAINS["memory"]
    assert not cpu.has_moved(0.010, 0.020)
    assert cpu.has_moved(0.010, 0.021)
    assert not cpu.has_moved(4.0, 4.2)
    assert cpu.has_moved(4.0, 4.21)
    assert not memory.has_moved(10 * MEBIBYTE, 26 * MEBIBYTE)
    assert memory.has_moved(1000 * MEBIBYTE, 1051 * MEBIBYTE)


def test_only_nodes_with_figures_are_written() -> None:
    columns = {("cpu", "15m"): np.array([41.26, math.nan, 7.0]), ("memory", "15m"): np.array([math.nan, math.nan, 3.0])}
    table = Watermarks(["a", "b", "c"], np.array([NOON + 0.7, NOON, math.nan]), columns)
    assert node_uses(table) == {"a": AnnotatedUse(NOON, {"cpu": {"15m": 41.3}})}


def test_only_workloads_with_figures_are_written() -> None:
    listed = {
        "shop/Deployment/web": {"cpu": {"15m": 0.12345}, "memory": {"15m": 1.4 * MEBIBYTE}},
        "shop/Deployment/idle": {"cpu": {"15m": math.nan}},
    }
    table = Watermarks([], np.array([]), {}, listed)
    uses = workload_uses(table, NOON)
    assert uses == {"shop/Deployment/web": AnnotatedUse(NOON, {"cpu": {"15m": 0.123}, "memory": {"15m": MEBIBYTE}})}


ROOM = {"cpu": "16", "memory": "64Gi"}
PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {"score": {"enabled": [{"name": "HheWaterLevelBalance"}], "disabled": [{"name": "*"}]}},
}
WEB = "default/Deployment/web"


def shop(annotations: dict[str, str]) -> list[dict[str, Any]]:
    """Three nodes, and a Deployment whose pods come from a ReplicaSet; annotations by the names of watermarks."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    replicas = {"name": "web-abc", "namespace": "default", "ownerReferences": [owner]}
    objects = [node(name, allocatable=ROOM) for name in "abc"]
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployed = {"name": "web", "namespace": "default"}
    objects.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": replicas, "spec": spec})
    objects.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": deployed, "spec": spec})
    for raw in objects:
        if (annotation := annotations.get(key_of(raw))) is not None:
            with_annotation(raw, annotation)
    return objects


def decided(snapshot: Snapshot) -> dict[str, Any]:
    """Return HheWaterLevelBalance's answers for a pod of the Deployment, and for one whose limits count."""
    loaded = load({**CONFIGURATION, "profiles": [PROFILE]})
    assert loaded.configuration is not None, loaded.errors
    scheduler, limits = Scheduler(snapshot, loaded.configuration), {"limits": {"cpu": "3", "memory": "2Gi"}}
    answers = {}
    for kind, name in (("ReplicaSet", "web-abc"), ("Job", "once")):
        raw = pod(f"{name}-1", container={"resources": limits})
        raw["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": kind, "name": name, "controller": True}]
        answers[kind] = scheduler.explain(Pod.from_json(raw)).to_dict()
    return answers


@given(st.lists(figures(st.floats(0, 100)), min_size=3, max_size=3), figures(st.floats(0, 4)))
def test_a_cluster_with_annotations_decides_as_the_same_figures_given_directly(
    of_nodes: list[dict[str, dict[str, float]]], of_workload: dict[str, dict[str, float]]
) -> None:
    of_workload = {
        resource: {key: value * (2.0**30 if resource == "memory" else 1) for key, value in by_key.items()}
        for resource, by_key in of_workload.items()
    }
    uses = dict(
        zip(
            "abc",
            (AnnotatedUse(NOON, node_figures_of).round_figures(NODE_GRAINS) for node_figures_of in of_nodes),
            strict=True,
        )
    )
    web = AnnotatedUse(NOON, of_workload).round_figures(WORKLOAD_GRAINS)
    annotations = {name: use.to_json() for name, use in uses.items()} | {WEB: web.to_json()}
    read_back = Snapshot.from_objects(shop(annotations))
    direct = Snapshot.from_objects(shop({}))
    assert read_back.doubts == []
    assert direct.watermarks is None
    figures_by_node = {name: {"updated": use.updated, **use.figures} for name, use in uses.items()}
    direct.watermarks = Watermarks.from_json({"nodes": figures_by_node, "workloads": {WEB: web.figures}}, direct.names)
    read_back.now = direct.now = NOON + 30
    assert decided(read_back) == decided(direct)


def test_a_scenario_s_own_figures_go_before_annotations_and_its_time_goes_with_them() -> None:
    annotations = {"a": TEXT, WEB: "[]"}
    given_directly = {"now": NOON, "nodes": {"a": {"updated": NOON, "cpu": {"15m": 7}}}}
    for watermarks, cpu, now in ((None, 41.3, 0.0), ({"now": NOON}, 41.3, NOON), (given_directly, 7.0, NOON)):
        scenario = Scenario.from_text(json.dumps({"objects": shop(annotations), "watermarks": watermarks}))
        assert scenario.snapshot.watermarks is not None
        assert scenario.snapshot.watermarks.column("cpu", "15m")[0] == cpu
        assert scenario.snapshot.now == now
        assert scenario.remarks == (f"Deployment default/web: annotation {KEY}: must be a JSON object",)
