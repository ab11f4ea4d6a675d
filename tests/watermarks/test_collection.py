"""One collection: nodes and pods are matched, units converted, and trouble is told figure by figure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kschedweb.clusters.connecting.addresses import CheckedEndpoint
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.watermarks.collection import CollectedFigures, Setup, from_prometheus
from kschedweb.watermarks.figures import BY_NAME
from kschedweb.watermarks.inventory import Inventory, inventory_make
from kschedweb.watermarks.models import Unit
from kschedweb.watermarks.presets import PRESETS
from tests.clusters.conftest import OddServer
from tests.watermarks.conftest import OBJECTS, answer_queries, by_instance, node, vector

CPU, MEMORY = "node/cpu/15m", "node/memory/15m"
PODS, POD_MEMORY = "workload/cpu/15m", "workload/memory/15m"
GIB = 1024**3


@pytest.fixture
def inventory() -> Inventory:
    return inventory_make(OBJECTS)


def collect(server: OddServer, inventory: Inventory, answers: dict[str, Any], **changes: Any) -> CollectedFigures:
    """Each figure's query is its own name, so that the server knows what is asked."""
    answer_queries(server, answers)
    defaults: dict[str, Any] = {"node_label": "instance", "unit": Unit.CAPACITY_PERCENT}
    setup = Setup(
        CheckedEndpoint("http", "127.0.0.1", server.port, "127.0.0.1", ""),
        Secret(server=""),
        queries={name: name for name in answers},
        **defaults | changes,
    )
    return from_prometheus(setup, inventory, at=1_700_000_000, seconds=5)


def values_of(collected: CollectedFigures, name: str) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 6) for value in collected.values[BY_NAME[name]]]


def pods(**values: float) -> dict[str, Any]:
    return vector(*(({"namespace": "shop", "pod": name.replace("_", "-")}, value) for name, value in values.items()))


def test_percent_of_the_machine_becomes_percent_of_allocatable(odd_server: OddServer, inventory: Inventory) -> None:
    figures = collect(odd_server, inventory, {CPU: by_instance(node_a=30, node_b=30), MEMORY: by_instance(node_c=12.5)})
    # Of node-a's 4 cores 2 can be given away, of every node's 16 GiB 8.
    assert values_of(figures, CPU) == [60, 30, None]
    assert values_of(figures, MEMORY) == [None, None, 25]
    report = figures.report.queries[CPU]
    assert (report.series, report.matched, report.missing, report.unit) == (2, 2, 1, "percent")
    assert report.examples == [("node-a", 60.0), ("node-b", 30.0)]
    assert (figures.report.nodes, figures.report.problems) == (3, [])


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        (Unit.CAPACITY_PERCENT, (30, 30), [60, 30]),
        (Unit.CAPACITY_RATIO, (0.3, 0.3), [60, 30]),
        (Unit.ALLOCATABLE_PERCENT, (30, 30), [30, 30]),
        (Unit.ALLOCATABLE_RATIO, (0.3, 0.3), [30, 30]),
        (Unit.ABSOLUTE, (1.2, 1.2), [60, 30]),
    ],
)
def test_every_unit_becomes_percent_of_allocatable(
    odd_server: OddServer, inventory: Inventory, unit: str, values: tuple[float, float], expected: list[float]
) -> None:
    figures = collect(odd_server, inventory, {CPU: by_instance(node_a=values[0], node_b=values[1])}, unit=unit)
    assert values_of(figures, CPU)[:2] == expected
    looks = "" if unit == Unit.ABSOLUTE else "ratios (0-1)" if "ratio" in unit else "percent"
    assert figures.report.queries[CPU].unit == looks


@pytest.mark.parametrize(
    ("name", "unit", "values", "guess"),
    [
        (CPU, Unit.CAPACITY_RATIO, (41, 55), "percent"),
        (MEMORY, Unit.CAPACITY_PERCENT, (0.41, 0.55), "ratios"),
        (MEMORY, Unit.CAPACITY_PERCENT, (8 * GIB, 4 * GIB), "absolute amounts"),
        (CPU, Unit.ABSOLUTE, (1200, 2400), "millicores"),
        (MEMORY, Unit.ABSOLUTE, (0.41, 0.55), "another unit"),
        (CPU, Unit.CAPACITY_PERCENT, (2400, 1200), "absolute amounts"),
    ],
)
def test_a_figure_in_another_unit_is_not_kept_and_said(
    odd_server: OddServer, inventory: Inventory, name: str, unit: str, values: tuple[float, float], guess: str
) -> None:
    figures = collect(odd_server, inventory, {name: by_instance(node_a=values[0], node_b=values[1])}, unit=unit)
    assert not figures.values
    assert f"look like {guess}" in figures.report.queries[name].error
    assert figures.report.problems == [figures.report.queries[name].error]


def test_cpu_that_may_be_idle_or_a_ratio_is_kept_and_asked_about(odd_server: OddServer, inventory: Inventory) -> None:
    figures = collect(odd_server, inventory, {CPU: by_instance(node_a=0.4, node_b=0.5)})
    assert values_of(figures, CPU) == [0.8, 0.5, None]
    assert figures.report.queries[CPU].warnings == ["All values are 1 or less: are they ratios (0-1)?"]


def test_nodes_are_matched_by_name_address_and_with_or_without_a_port(
    odd_server: OddServer, inventory: Inventory
) -> None:
    series = [({"node": "NODE-A"}, 10), ({"node": "10.0.0.2:9100"}, 20), ({"node": "node-c:9100"}, 30)]
    figures = collect(odd_server, inventory, {CPU: vector(*series, ({"node": "10.0.0.9"}, 40))}, node_label="node")
    assert values_of(figures, CPU) == [20, 20, 30]
    assert figures.report.queries[CPU].unmatched == ["10.0.0.9"]
    sixes = inventory_make([node("six", ip="fd00::1")])
    assert [sixes.find_node(name) for name in ("[fd00::1]:9100", "fd00::1", "fd00::2", "six:1", "")] == [
        0,
        0,
        None,
        0,
        None,
    ]


def test_values_that_are_no_numbers_are_left_out_and_counted(odd_server: OddServer, inventory: Inventory) -> None:
    figures = collect(odd_server, inventory, {CPU: by_instance(node_a="NaN", node_b=40, node_c="+Inf")})
    assert values_of(figures, CPU) == [None, 40, None]
    report = figures.report.queries[CPU]
    assert (report.unusable, report.missing) == (2, 2)
    assert report.warnings == ["2 values are NaN, infinite or negative and were left out."]
    nothing = collect(odd_server, inventory, {CPU: by_instance(node_a="NaN", node_b=-1)})
    assert not nothing.values
    assert nothing.report.queries[CPU].error == "All values are NaN, infinite or negative."


def test_of_duplicates_the_highest_counts_and_they_are_said(odd_server: OddServer, inventory: Inventory) -> None:
    twice = vector(({"instance": "node-b:9100", "job": "a"}, 40), ({"instance": "node-b:9101", "job": "b"}, 50))
    figures = collect(odd_server, inventory, {CPU: twice})
    assert values_of(figures, CPU) == [None, 50, None]
    assert figures.report.queries[CPU].duplicates == 1
    assert "1 series are about a node that another series is about too" in figures.report.queries[CPU].warnings[0]


def test_a_query_without_series_without_the_label_or_about_others_says_which(
    odd_server: OddServer, inventory: Inventory
) -> None:
    answers = {
        CPU: vector(),
        MEMORY: vector(({"host": "node-a", "job": "x"}, 40)),
        "node/cpu/1h": vector(({"instance": "elsewhere:9100"}, 40)),
        PODS: vector(({"namespace": "other", "pod": "x"}, 1)),
    }
    figures = collect(odd_server, inventory, answers)
    queries = figures.report.queries
    assert queries[CPU].error == "The query gives nothing: no series has these names and labels."
    assert queries[MEMORY].error == "No series has the label instance: there are host, job."
    assert queries[MEMORY].setting == "node_label"
    assert queries["node/cpu/1h"].error == "1 series, but none is about nodes of this cluster, such as elsewhere:9100."
    assert queries[PODS].error == (
        "1 series, but none is about pods of this cluster, such as {namespace=other, pod=x}."
    )
    assert len(figures.report.problems) == 4


def test_one_bad_query_leaves_the_others_alone(odd_server: OddServer, inventory: Inventory) -> None:
    bad = {"status": "error", "errorType": "bad_data", "error": "parse error: unexpected ')'"}
    figures = collect(odd_server, inventory, {CPU: by_instance(node_b=40), MEMORY: bad})
    assert values_of(figures, CPU) == [None, 40, None]
    assert figures.report.problems == [
        "Node memory, average of 15 minutes: Prometheus says: parse error: unexpected ')' (bad_data)"
    ]


def test_a_server_that_is_away_is_told_once(odd_server: OddServer, inventory: Inventory) -> None:
    odd_server.answer = lambda request: (503, {}, b"")
    setup = Setup(
        CheckedEndpoint("http", "127.0.0.1", odd_server.port, "127.0.0.1", ""), Secret(server=""), "instance",
        Unit.CAPACITY_PERCENT, {CPU: "a", MEMORY: "b", PODS: "c", "nonsense": "d", "node/cpu/1d": "  "},
    )  # fmt: skip
    figures = from_prometheus(setup, inventory, at=1, seconds=5)
    assert set(figures.report.queries) == {CPU, MEMORY, PODS}
    assert figures.report.problems == ["The server answered with status 503."]


def test_pods_are_joined_to_what_made_them_and_a_workload_is_the_mean_of_its_pods(
    odd_server: OddServer, inventory: Inventory
) -> None:
    assert inventory.workloads == (
        "shop/CloneSet/clones", "shop/DaemonSet/agent", "shop/Deployment/web", "shop/StatefulSet/db",
    )  # fmt: skip
    use = pods(web_7f_1=0.2, web_7f_2=0.4, db_0=1.5, clone_1=3, agent_x=0.1, import_1=7, alone=9, gone=5)
    figures = collect(odd_server, inventory, {PODS: use, POD_MEMORY: pods(db_0=2 * GIB)})
    assert values_of(figures, PODS) == [3, 0.1, pytest.approx(0.3), 1.5]
    assert values_of(figures, POD_MEMORY) == [None, None, None, 2 * GIB]
    assert figures.report.queries[PODS].unmatched == ["{namespace=shop, pod=gone}"]
    assert figures.report.workloads == 4


def test_many_pods_that_the_snapshot_does_not_have_are_told(odd_server: OddServer, inventory: Inventory) -> None:
    figures = collect(odd_server, inventory, {PODS: pods(db_0=1, new_1=1, new_2=1)})
    assert figures.report.queries[PODS].warnings == [
        "2 of 3 series are about pods that the newest snapshot does not have: refresh the cluster."
    ]


def test_pods_in_nanoseconds_are_not_taken_for_cores(odd_server: OddServer, inventory: Inventory) -> None:
    figures = collect(odd_server, inventory, {PODS: pods(db_0=2.5e8)})
    assert not figures.values
    assert "too large for cores" in figures.report.queries[PODS].error


def test_a_node_that_does_not_say_its_size_has_no_figure(odd_server: OddServer) -> None:
    bare: dict[str, Any] = {"kind": "Node", "metadata": {"name": "bare"}, "status": {}}
    strange = {"kind": "Node", "metadata": {"name": "odd"}, "status": {"allocatable": {"cpu": "many"}, "capacity": []}}
    only_allocatable = node("plain")
    del only_allocatable["status"]["capacity"]
    figures = collect(
        odd_server,
        inventory_make([bare, strange, only_allocatable]),
        {CPU: by_instance(bare=10, odd=20, plain=30)},
    )
    assert values_of(figures, CPU) == [None, None, 30]


def test_presets_have_a_query_for_every_figure() -> None:
    for preset in PRESETS.values():
        assert set(preset.queries) == set(BY_NAME)
        assert all("{window}" not in query and "{{" not in query for query in preset.queries.values())
        assert max(map(len, preset.queries.values())) < 400


def test_a_large_answer_is_matched_quickly_enough() -> None:
    inventory = inventory_make([node(f"n{index}", ip=f"10.0.{index // 256}.{index % 256}") for index in range(5000)])
    assert [inventory.find_node(f"10.0.{index // 256}.{index % 256}:9100") for index in range(5000)] == list(
        range(5000)
    )
    assert np.nansum(inventory.capacity["cpu"]) == 20_000
