"""The day of use that the demo comes with."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from django.test import Client

from kschedweb.clusters import demo as generator
from kschedweb.clusters.services import demo_load
from kschedweb.watermarks import demo, selectors
from kschedweb.watermarks.figures import NODE_STATISTICS
from kschedweb.watermarks.inventory import inventory_make
from kschedweb.watermarks.models import Sample

END = 1_795_255_260.0  # 2026-11-21 10:01 UTC


@lru_cache(maxsize=1)
def demo_objects() -> tuple[dict[str, Any], ...]:
    return tuple(generator.generate_cluster())


def record_demo(end: float = END) -> tuple[demo.DemoFigures, demo.DemoFigures]:
    inventory = inventory_make(demo_objects())
    owners = {
        f"{space}/{pod}": inventory.workloads[place] for (space, pod), place in inventory.owners.items() if place >= 0
    }
    return demo.record_day(demo_objects(), owners, end)


def test_the_same_end_gives_the_same_day() -> None:
    for first, second in zip(record_demo(), record_demo(), strict=True):
        assert first.names == second.names
        for key, values in first.figures.items():
            assert np.array_equal(values, second.figures[key])


def test_a_later_day_goes_on_where_the_earlier_one_ended() -> None:
    earlier, later = record_demo()[0], record_demo(END + 3600)[0]
    assert later.times[-1] - earlier.times[-1] == 3600
    assert np.allclose(later.figures["cpu", "15m"][:-12], earlier.figures["cpu", "15m"][12:])


def test_figures_are_those_of_machines() -> None:
    nodes, workloads = record_demo()
    assert len(nodes.times) == 288
    assert nodes.times[-1] == END // 300 * 300
    for resource in ("cpu", "memory"):
        figures = {key: nodes.figures[resource, key] for key in NODE_STATISTICS}
        assert all(((values >= 0) & (values <= 100)).all() for values in figures.values())
        assert (figures["1d_max"] >= figures["1h_max"]).all()
        assert (figures["1h_max"] >= figures["5m"] - 1e-9).all()
        # Longer windows change less from one time to the next.
        steps = [np.abs(np.diff(figures[key], axis=0)).mean() for key in ("5m", "15m", "1h", "1d")]
        assert steps == sorted(steps, reverse=True)
    assert nodes.figures["cpu", "1h"].std(axis=1).min() > 5, "the demo has a skew to see"
    assert set(workloads.names) >= {"shop/Deployment/web", "data/StatefulSet/kafka", "kube-system/DaemonSet/kube-proxy"}
    assert all((values > 0).all() for values in workloads.figures.values())


def test_a_nodes_use_is_that_of_its_pods_and_the_system() -> None:
    minutes = np.arange(60_000_000, 60_060_000, 60)
    pods = [item for item in demo_objects() if item["kind"] == "Pod" and item["spec"].get("nodeName")]
    cpu, memory = demo._compute_demand(pods, minutes, demo.SEED)
    assert (cpu > 0).all()
    limits = np.array([demo._pod_requests(pod)[1] for pod in pods])
    assert (memory <= limits).all(), "memory is limited to what is requested"


@pytest.mark.django_db
def test_the_demo_is_loaded_with_its_day_and_the_pages_show_it(client_as: Callable[[str], Client]) -> None:
    cluster = demo_load()
    table = selectors.load_table(cluster, "node")
    assert table is not None
    assert table.origin == "demo"
    assert len(table.names) == 60
    assert not np.isnan(table.figures["cpu", "1h"]).any()
    assert Sample.objects.filter(series__cluster=cluster, series__kind="workload").exists()
    page = client_as("viewer").get("/usage/?cluster=demo")
    assert page.context["now"]["known"] == 60 - len(page.context["recorded_use"].closed) == 42
    assert "stale" not in page.content.decode()
