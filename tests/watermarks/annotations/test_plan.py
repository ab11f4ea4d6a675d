"""Plan of annotations: writes for nodes whose figures moved or grew old, and none for absent ones."""

from __future__ import annotations

import math
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.annotations import KEY, AnnotatedUse
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.watermarks.annotations.plan import (
    AnnotationPlan,
    CraneForm,
    OwnForm,
    by_kind,
    combine_forms,
    compute_fractions,
    place_of,
    plan_removals,
)
from kschedweb.watermarks.inventory import inventory_make
from tests.watermarks.conftest import OBJECTS

NOW = 1_795_262_400.0
NODE, DEPLOYMENT = BY_NAME["Node"], BY_NAME["Deployment"]
SHANGHAI = ZoneInfo("Asia/Shanghai")
WEB = "shop/Deployment/web"
INVENTORY = inventory_make(OBJECTS)  # node-a gives 2 of its 4 cores, the others all 4; 8 of 16 GiB each


def table(updated_at: float = NOW, cpu: float = 40.0, **workloads: float) -> Watermarks:
    figures = {(resource, key): np.array([cpu, 60.0, math.nan]) for resource, key in crane.METRICS.values()}
    use_of_workloads = {name.replace("_", "/"): {"cpu": {"15m": value}} for name, value in workloads.items()}
    return Watermarks(
        ["node-a", "node-b", "node-c"], np.array([updated_at, updated_at, math.nan]), figures, use_of_workloads, "test"
    )


def crane_form(watermarks: Watermarks, hot: dict[str, int] | None = None, now: float = NOW) -> CraneForm:
    return CraneForm(watermarks, INVENTORY, hot, SHANGHAI, now)


def own_form(watermarks: Watermarks) -> OwnForm:
    return OwnForm(watermarks, NOW, 300.0)


@pytest.mark.parametrize(("name", "place"), [("node-a", "/node-a"), ("shop/Deployment/web", "shop/web")])
def test_what_watermarks_name_has_a_place_in_the_cluster(name: str, place: str) -> None:
    assert place_of(name) == place


def test_workloads_are_sorted_by_kind() -> None:
    names_by_kind = by_kind([WEB, "shop/CloneSet/clones", "shop/Deployment/other"])
    assert {kind.name: names for kind, names in names_by_kind.items()} == {
        "Deployment": [WEB, "shop/Deployment/other"],
        "CloneSet": ["shop/CloneSet/clones"],
    }


def test_what_is_not_there_is_not_written_and_what_may_stay_stays() -> None:
    form, plan = own_form(table()), AnnotationPlan()
    fresh = form.of_node("node-a", {})[KEY]
    assert fresh is not None
    plan.add_patches(NODE, {"/node-a": {KEY: fresh, "other": "x"}}, ["node-a", "node-b"], form.of_node)
    assert (plan.changes, plan.unchanged, plan.missing) == ([], 1, 1)
    plan.add_patches(NODE, {"/node-b": {}}, ["node-b"], form.of_node)
    [change] = plan.changes
    assert (change.reference, change.path) == ("Node node-b", "/api/v1/nodes/node-b")


def test_a_workload_s_annotation_is_planned_under_its_own_name() -> None:
    form, plan = own_form(table(shop_Deployment_web=0.25)), AnnotationPlan()
    plan.add_patches(DEPLOYMENT, {"shop/web": {}, "shop/idle": {}}, [WEB], form.of_workload)
    [change] = plan.changes
    assert change.path == "/apis/apps/v1/namespaces/shop/deployments/web"
    assert AnnotatedUse.from_json(change.annotations[KEY] or "") == AnnotatedUse(NOW, {"cpu": {"15m": 0.25}})


def test_crane_s_usages_are_fractions_of_the_machine_and_not_of_allocatable() -> None:
    fractions = compute_fractions(table(), INVENTORY)
    assert fractions["node-a"]["cpu_usage_avg_5m"] == pytest.approx(0.4 * 2 / 4)
    assert fractions["node-b"]["cpu_usage_avg_5m"] == pytest.approx(0.6)
    assert fractions["node-b"]["mem_usage_max_avg_1d"] == pytest.approx(0.6 * 8 / 16)
    assert "node-c" not in fractions


def test_nodes_of_unknown_size_have_no_fraction() -> None:
    stranger = Watermarks(["stranger"], np.array([NOW]), {("cpu", "5m"): np.array([40.0])}, {}, "test")
    assert compute_fractions(stranger, INVENTORY) == {}


def test_crane_s_texts_are_written_whole_the_first_time() -> None:
    texts = crane_form(table(), {"node-a": 2}).of_node("node-a", {})
    assert texts["cpu_usage_avg_5m"] == "0.20000,2026-11-21T20:00:00Z"
    assert texts["node_hot_value"] == "2,2026-11-21T20:00:00Z"
    assert set(texts) == {*crane.METRICS, crane.HOT_VALUE}


def texts_there(age: float, cpu: float = 40.0) -> dict[str, str]:
    annotations = crane_form(table(NOW - age, cpu), {"node-a": 2}, NOW - age).of_node("node-a", {})
    return {key: text for key, text in annotations.items() if text is not None}


def test_each_of_crane_s_texts_is_renewed_at_its_own_period() -> None:
    form = crane_form(table(), {"node-a": 2})
    assert form.of_node("node-a", texts_there(179)) == {}
    assert set(form.of_node("node-a", texts_there(180))) == {"cpu_usage_avg_5m", "mem_usage_avg_5m", "node_hot_value"}
    assert {key for key in form.of_node("node-a", texts_there(900)) if "1h" in key}
    assert not {key for key in form.of_node("node-a", texts_there(10_799)) if "1d" in key}
    assert set(form.of_node("node-a", texts_there(10_800))) == {*crane.METRICS, crane.HOT_VALUE}


def test_a_usage_that_moved_is_written_at_once_and_one_that_trembles_is_not() -> None:
    form = crane_form(table(), {"node-a": 2})
    assert form.of_node("node-a", texts_there(60, cpu=41.9)) == {}
    # 43 % of the 2 cores that node-a gives are 21.5 % of its 4, memory the same: 1.5 points more than there.
    assert set(form.of_node("node-a", texts_there(60, cpu=43.0))) == set(crane.METRICS)


@pytest.mark.parametrize("text", ["", "0.2", "NaN,2026-11-21T20:00:00Z", "0.2,2026-11-22T04:00:00Z"])
def test_what_is_no_such_text_or_from_the_future_is_replaced(text: str) -> None:
    present = texts_there(60) | {"cpu_usage_avg_5m": text}
    assert set(crane_form(table(), {"node-a": 2}).of_node("node-a", present)) == {"cpu_usage_avg_5m"}


def test_a_node_that_is_not_hot_is_told_so_once_if_it_was() -> None:
    cold = crane_form(table(), {})
    assert crane.HOT_VALUE not in cold.of_node("node-a", {})
    assert cold.of_node("node-a", texts_there(60))[crane.HOT_VALUE] == "0,2026-11-21T20:00:00Z"
    present = texts_there(60) | {crane.HOT_VALUE: "0,2026-11-21T10:00:00Z"}
    assert crane.HOT_VALUE not in cold.of_node("node-a", present)


def test_hot_values_that_nobody_knows_are_left_alone() -> None:
    assert crane.HOT_VALUE not in crane_form(table()).of_node("node-a", texts_there(10_000))


def test_both_forms_are_one_request_a_node() -> None:
    texts = combine_forms([own_form(table()), crane_form(table(), {})])("node-a", {})
    assert set(texts) == {KEY, *crane.METRICS}


def test_only_annotations_of_the_chosen_form_are_removed() -> None:
    present = {
        "/a": {KEY: "x", "cpu_usage_avg_5m": "y", "kept": "z"},
        "/b": {"kept": "z"},
        "/c": {"node_hot_value": "1"},
    }

    def removals(**forms: bool) -> dict[str, Any]:
        return {change.key: dict(change.annotations) for change in plan_removals(NODE, present, **forms)}

    assert removals(own_form=True, crane_too=False) == {"/a": {KEY: None}}
    assert removals(own_form=False, crane_too=True) == {
        "/a": {"cpu_usage_avg_5m": None},
        "/c": {"node_hot_value": None},
    }
    assert removals(own_form=True, crane_too=True)["/a"] == {KEY: None, "cpu_usage_avg_5m": None}
    # On a workload such a name is somebody else's.
    assert plan_removals(DEPLOYMENT, present, own_form=False, crane_too=True) == []


@given(st.floats(0, 100), st.floats(0, 179), st.integers(0, 5))
def test_writing_twice_writes_once(cpu: float, later: float, hot: int) -> None:
    first = combine_forms([own_form(table(cpu=cpu)), crane_form(table(cpu=cpu), {"node-a": hot})])
    present = {key: text for key, text in first("node-a", {}).items() if text is not None}
    watermarks = table(NOW + later, cpu)
    second = combine_forms([own_form(watermarks), crane_form(watermarks, {"node-a": hot}, NOW + later)])
    assert second("node-a", present) == {}
